"""Texts of the numbers of a cell: ours, published and differences, in the format of the cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pppca_bench.pages.document import EMPTY, quantity_text, true_minus

CellNumbers = Mapping[str, Any]
"""Numbers of a cell by quantity: the rows of the frame as named tuples."""


def number_text(number: Any, value: float, sign: str = "") -> str:
    """Return a value of a printed number in its format, by default that of its quantity.

    By default it has at least as many decimals as the published number.
    """
    return quantity_text(number.quantity, value, sign, form=number.format, beside=number.printed)


def shown_in(cell: CellNumbers) -> tuple[list[str], str]:
    """Return the quantities that a cell prints, the main quantity first, and the form of their texts."""
    shows = [name for name, number in cell.items() if number.shown == "cell"]
    return shows, cell[shows[0]].form


def difference_text(number: Any) -> str:
    """Return ours − published as text; "" for a number that is not compared."""
    if number is None or math.isnan(number.difference):
        return ""
    return number_text(number, number.difference, "+")


def published_texts(shows: Iterable[str], cell: CellNumbers) -> list[str]:
    """Return the published numbers of a cell as printed, in the order of ``shows``; "" for a missing number."""
    return [true_minus(cell[name].printed) if name in cell else "" for name in shows]


def filled(form: str, texts: Sequence[str]) -> str:
    """Fill a format string such as ``"{} ({})"``, up to the last text that is not empty."""
    return "".join(before + text for before, text in filled_parts(form, texts))


def filled_parts(form: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return the parts of `filled`: pairs of the characters before a text, and the text; the last text is empty."""
    n_given = max((n for n, text in enumerate(texts, 1) if text), default=0)
    if not n_given:
        return [("", EMPTY)]
    pieces = form.split("{}")
    end = pieces[n_given] if n_given == len(pieces) - 1 else ""
    given = [text or EMPTY for text in texts[:n_given]]
    return [*zip(pieces, given, strict=False), (end, "")]
