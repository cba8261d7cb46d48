"""Texts on the shares of the verdicts of correct and wrong programs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pandas as pd

from pppca_bench.methods.lookup import title_of
from pppca_bench.pages.document import EMPTY, Document
from pppca_bench.verdicts.shares import ALL, OURS_PROGRAM, RIGHT, SHARES


def share_paragraphs(shares: pd.DataFrame, methods: Collection[str]) -> tuple[str, str]:
    """Return the placebos that a table does not tell from our program, and the shares of all programs.

    ``methods`` are the methods of the table.
    """
    lines, lead = [], []
    for quantity, rows in shares.groupby("quantity", sort=False):
        start, this, program = f"{quantity}: ", "this", "our program"
        if quantity == ALL:
            start, this = "", "This"
        elif len(methods) == 1:
            program = title_of(*methods)
        ours, *others = rows.to_dict("records")
        n = ours["n"]
        lines.append(
            f"{start}{ours['ours']} of {n} numbers are reproduced, and {ours['ours_differs']} differ."
        )
        texts = []
        for each in others:
            texts.append(f"{each['program']} {counted(each)}" + of_numbers(each, n))
            if each["tells"] == "no":
                counts = f"{each['right']:.1f} against {each['reproduced']:.1f} of {each['n']}"
                lead.append(
                    f"{start}{this} table does not tell {program} from {each['program']}, since {counts} numbers would"
                    " be reproduced."
                )
        if texts:
            lines.append(f"Other programs would reproduce: {'; '.join(texts)}.")
    return " ".join(lead), " ".join(lines)


def counted(share: Mapping[Any, Any], verdict: str = "reproduced") -> str:
    """Return the mean number of a verdict of a program, and its 95 % interval over the draws."""
    low, high = share[f"{verdict}_low"], share[f"{verdict}_high"]
    return f"{share[verdict]:.0f} ({low:.0f} to {high:.0f})"


def of_numbers(share: Mapping[Any, Any], n: int) -> str:
    """Return the number of numbers that a program has, and ours of them, if it is not ``n``."""
    if share["n"] == n:
        return ""
    return f" of {share['n']}, of which ours are {share['ours']}"


def grouped_by(
    shares: pd.DataFrame, columns: list[str]
) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield the texts of two columns and the shares that have them."""
    for texts, rows in shares.groupby(columns, sort=False):
        first, second = map(str, texts)
        yield (first, second), rows


def programs_document(shares: pd.DataFrame, title: str) -> Document:
    """Return the numbers of each source and of its parts that ours, a correct program and wrong programs reproduce.

    A part that is all of its source has no row of its own.
    """
    rows = []
    n_all = dict[str, int]()
    for (source, part), of_part in grouped_by(shares, ["source", "row"]):
        by_program = of_part.set_index("program").to_dict("index")
        ours, right = by_program.pop(OURS_PROGRAM), by_program.pop(RIGHT, None)
        if n_all.setdefault(source, ours["n"]) == ours["n"] and part != ALL:
            continue
        wrong = []
        for name, share in by_program.items():
            wrong.append(f"{name} {counted(share)}{of_numbers(share, ours['n'])}")
        row = [
            source if part == ALL else f"– {part}",
            f"{ours['ours']:,} of {ours['n']:,}",
            f"{ours['ours_differs']:,}",
            counted(right) if right else EMPTY,
            counted(right, "differs") if right else EMPTY,
            "; ".join(wrong) or EMPTY,
        ]
        rows.append(row)
    headers = [
        *("Source", "Reproduced", "Differ", "A correct program would reproduce", "and differ on"),
        "Wrong programs would reproduce",
    ]
    notes = ["Of simulated programs, the mean of the draws and the interval of 95 % of them."]
    return Document("sources", title, "", headers, rows, notes)


def tables_document(shares: pd.DataFrame) -> Document:
    """Return for each table that can be simulated the numbers that each program reproduces, and on which it differs.

    A program without a number that ours has is counted on fewer numbers.
    """
    programs = [name for name in shares["program"].unique() if name != OURS_PROGRAM]
    rows = []
    for (table, quantity), of_table in grouped_by(shares, ["row", "quantity"]):
        by_program = of_table.set_index("program").to_dict("index")
        ours = by_program.pop(OURS_PROGRAM)
        if RIGHT not in by_program:
            continue
        name = table if quantity == ALL else f"{table} {quantity}"
        row = [f"{name} ({ours['n']})"]
        row.append(f"{ours['ours']}/{ours['ours_differs']}")
        for program in programs:
            share = by_program.get(program)
            row.append(f"{share['reproduced']:.0f}/{share['differs']:.0f}" if share else "")
        rows.append(row)
    headers = ["Table (numbers)", OURS_PROGRAM, *programs]
    return Document("programs", "Reproduced and differing numbers by table", "", headers, rows)


def shares_document(shares: pd.DataFrame) -> Document:
    """Return the shares of the verdicts in all published tables as a document."""
    columns = (
        ("table", "{row}"),
        ("quantity", "{quantity}"),
        ("program", "{program}"),
        ("numbers", "{n}"),
        ("reproduced", "{reproduced_text}"),
        ("differ", "{differs_text}"),
        ("ours of these", "{ours_text}"),
        ("distinguished", "{tells}"),
    )
    records = []
    for share in shares.to_dict("records"):
        texts: dict[str, Any] = {"reproduced_text": f"{share['ours']}", "ours_text": None}
        texts["differs_text"] = f"{share['ours_differs']}"
        if share["program"] != OURS_PROGRAM:
            texts = {f"{name}_text": counted(share, name) for name in ("reproduced", "differs")}
            texts["ours_text"] = f"{share['ours']} and {share['ours_differs']}"
        records.append(share | texts)
    title = "Numbers that correct and wrong programs reproduce"
    return Document.of_records(SHARES, title, columns, records)
