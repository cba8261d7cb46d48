"""Texts on the shares of verdicts of right and wrong programs."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from pppca_bench.methods.lookup import title_of
from pppca_bench.pages.document import Document
from pppca_bench.verdicts.shares import ALL, SHARES, SHOWN


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
        n, reproduced = ours["n"], f"{ours['reproduced']:.0f} %"
        lines.append(f"{start}{ours['ours']} of {n} numbers are reproduced ({reproduced}).")
        texts = []
        for each in others:
            name, n_own, share = each["program"], each["n"], each["reproduced"]
            text = f"{name} {share:.0f} %"
            if n_own < n:
                text += f" of {n_own}"
            texts.append(text)
            if each["tells"] == "no":
                counts = f"{each['ours']} against {share * n_own / 100.0:.0f} of {n_own} numbers"
                verb = f"does not tell {program} from {name}, since {counts} are reproduced"
                lead.append(f"{start}{this} table {verb}.")
        if texts:
            lines.append(f"Other programs would get: {', '.join(texts)}.")
    return " ".join(lead), " ".join(lines)


def shares_document(shares: pd.DataFrame) -> Document:
    """Return the shares of the verdicts in all published tables as a document."""
    columns = (
        ("table", "{row}"),
        ("quantity", "{quantity}"),
        ("program", "{program}"),
        ("numbers", "{n}"),
        *((verdict, f"{{{verdict}:.0f}} %") for verdict in SHOWN),
        ("told apart", "{tells}"),
    )
    title = "Shares of the verdicts of right and wrong programs"
    return Document.of_records(SHARES, title, columns, shares.to_dict("records"))
