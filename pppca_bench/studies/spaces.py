"""What a study varies: ranges of numbers and lists of values, and how a trial's value is drawn from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

SIGNIFICANT_DIGITS = 4
"""Of a drawn number, so that the table of trials shows exactly what was run."""

Finite = int | Annotated[float, Field(allow_inf_nan=False)]


@dataclass(frozen=True)
class Interval:
    """A range of numbers, drawn evenly, or evenly in the logarithm; of integers where both ends are."""

    low: Finite
    high: Finite
    log: bool = False

    @property
    def extremes(self) -> tuple[object, ...]:
        """Return the values that stand for all when they are validated."""
        return (self.low, self.high)

    @property
    def is_whole(self) -> bool:
        """Whether its numbers are integers."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def holds(self, value: object) -> bool:
        """Tell whether a value is one of the range."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return self.low <= value <= self.high and (not self.is_whole or float(value).is_integer())

    def rounded(self, value: float) -> int | float:
        """Return a number of the range with `SIGNIFICANT_DIGITS`, an integer as it is."""
        drawn = math.floor(value) if self.is_whole else float(f"{value:.{SIGNIFICANT_DIGITS}g}")
        return min(max(drawn, self.low), self.high)

    def draw(self, rng: np.random.Generator) -> object:
        """Return one number of the range."""
        low, above = float(self.low), float(self.high) + self.is_whole
        share = rng.random()
        return self.rounded(low * (above / low) ** share if self.log else low + share * (above - low))


@dataclass(frozen=True)
class Choices:
    """Values of which each is as likely."""

    choices: tuple[Any, ...]

    @property
    def extremes(self) -> tuple[object, ...]:
        """Return the values that stand for all when they are validated."""
        return self.choices

    def holds(self, value: object) -> bool:
        """Tell whether a value is one of them."""
        return value in self.choices

    def draw(self, rng: np.random.Generator) -> object:
        """Return one of the values."""
        return self.choices[math.floor(rng.random() * len(self.choices))]


Space = Interval | Choices
