"""Numbers as all tables and sentences print them."""

from __future__ import annotations

from pppca_bench.runs import described

SIGNED = "+.2f"
"""Form of a difference in percentage points."""

_ROUNDING = 1e-12
"""What a reconstruction error of nothing lost comes to."""


def number_text(quantity: str, value: float, sign: str = "") -> str:
    """Return a value of a quantity in the quantity's own form."""
    return printed(0.0 if abs(value) < _ROUNDING else value, f"{sign}{described(quantity).form}")


def printed(value: float, form: str) -> str:
    """Return a number in a form such as ``"+.2f"``, with a true minus sign; what rounds to zero has no sign."""
    text = f"{value:{form}}"
    return true_minus(text.lstrip("+-") if float(text) == 0.0 else text)


def true_minus(number: str) -> str:
    """Return a printed number with a minus sign in the place of the hyphen."""
    return number.replace("-", "−")
