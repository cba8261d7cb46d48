"""Texts on the shares of the verdicts of right and wrong programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from pppca_bench.methods.lookup import title_of
from pppca_bench.pages.document import Document
from pppca_bench.verdicts.shares import ALL, OURS_PROGRAM, SHARES


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
                counts = f"{each['right']:.0f} against {each['reproduced']:.0f} of {each['n']}"
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
    title = "Numbers that right and wrong programs reproduce"
    return Document.of_records(SHARES, title, columns, records)
