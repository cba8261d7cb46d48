"""Escapes of texts in Markdown and CSV."""

from __future__ import annotations

import re

import pandas as pd

from pppca_bench.errors import printable

_FORMULA = re.compile("[=+@\t\r-]")


def in_markdown(text: str) -> str:
    """Return a text for a cell of a Markdown table: separators of cells, HTML and links are escaped."""
    return printable(text).replace("|", r"\|").replace("<", "&lt;").replace("](", r"]\(")


def to_csv(frame: pd.DataFrame, separator: str = ",") -> str:
    """Return a data frame as CSV, in which spreadsheets see no formulas.

    Texts and headers that begin with =, +, -, @, a tab or a carriage return get a leading apostrophe, unless they are
    numbers.
    """
    safe = frame.rename(columns=_without_formula)
    for index, kind in enumerate(safe.dtypes):
        if kind.kind == "O":
            safe.isetitem(
                index,
                pd.Series(map(_without_formula, frame.iloc[:, index]), dtype=object).to_numpy(),
            )
    return safe.to_csv(sep=separator, index=False, lineterminator="\n")


def _without_formula(value: object) -> object:
    if not isinstance(value, str) or not _FORMULA.match(value):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
