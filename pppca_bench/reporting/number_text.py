"""Texts of numbers in tables and sentences."""

from __future__ import annotations

from pppca_bench.runs import described

EMPTY = "–"
"""Text of a missing value."""

SIGNED = "+.2f"
"""Format of a difference in percentage points."""

_ROUNDING = 1e-12
"""A reconstruction error below this is rounding."""


def number_text(quantity: str, value: float, sign: str = "") -> str:
    """Return a value of a quantity in the quantity's own format."""
    return printed(0.0 if abs(value) < _ROUNDING else value, f"{sign}{described(quantity).form}")


def number(value: float | None, decimals: int) -> str:
    """Return a number with so many decimals; a dash for None."""
    return EMPTY if value is None else printed(value, f".{decimals}f")


def printed(value: float, form: str) -> str:
    """Return a number in a format such as ``"+.2f"``, with a true minus sign; zero after rounding has no sign."""
    text = f"{value:{form}}"
    return true_minus(text.lstrip("+-") if float(text) == 0.0 else text)


def true_minus(number: str) -> str:
    """Return a printed number with its hyphens replaced by minus signs."""
    return number.replace("-", "−")
