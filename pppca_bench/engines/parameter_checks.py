"""Checks of the engines' parameters, with messages that name estimator, parameter, rule and value."""

from numbers import Integral, Real
from typing import Any

import numpy as np


def make_generator(random_state: Any) -> np.random.Generator:
    """Return a numpy Generator for an int, a SeedSequence, a Generator, a RandomState or None.

    A Generator is used as it is; a RandomState gives the seed of one.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(random_state)


def check_number(
    where: str, name: str, value: Any, *, low: float, high: float = np.inf, open_low: bool = False
) -> None:
    """Raise unless `value` is a finite real number from `low` (itself excluded where open) to `high`."""
    rule = f"a number {'>' if open_low else '>='} {low:g}" + (f" and <= {high:g}" if high < np.inf else "")
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} in {where}: expected {rule}, got {value!r}. Give a number.")
    number = float(value)
    in_range = (low < number if open_low else low <= number) and number <= high
    if not in_range or not np.isfinite(number):
        raise ValueError(f"{name} in {where}: expected {rule}, got {value!r}. Change {name}.")


def check_integer(where: str, name: str, value: Any, *, low: int) -> None:
    """Raise unless `value` is an integer of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} in {where}: expected an integer >= {low}, got {value!r}. Give an integer.")
    if value < low:
        raise ValueError(f"{name} in {where}: expected an integer >= {low}, got {value!r}. Change {name}.")


def check_choice(where: str, name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise unless `value` is one of `choices`."""
    if value not in choices:
        options = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} in {where}: expected one of {options}, got {value!r}. Change {name}.")
