"""What a finding is, and the measures that verdicts rest on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pppca_bench.reporting.number_text import SIGNED, printed
from pppca_bench.reporting.summary import Summary, summarise

Verdict = Literal["holds", "holds in part", "does not hold", "undecided", "not run"]

MATTERS = 1.0
"""Difference of test errors, in points, that matters: the slides' numbers are reproduced within as much."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Hold what the results say of one claim.

    Attributes
    ----------
    claim : str
        In a sentence.
    place : str
        Where the slides make it.
    verdict : str
    evidence : tuple of str
        Sentences with the measured numbers.
    sources : tuple of str
        Identifiers of the tables and figures that hold them.
    """

    claim: str
    place: str
    verdict: Verdict
    evidence: tuple[str, ...]
    sources: tuple[str, ...]


def paired_difference(one: Mapping[str, float], other: Mapping[str, float]) -> Summary | None:
    """Summarise one − other over the keys that both have; None where they share fewer than two.

    Parameters
    ----------
    one, other : mapping of str to float
        Values by data set.
    """
    shared = [name for name in one if name in other]
    return summarise([one[name] - other[name] for name in shared]) if len(shared) > 1 else None


def no_worse(difference: Summary | None, allowed: float = MATTERS) -> Verdict:
    """Judge that an error is no higher by more than an allowance, by the 95 % interval of the mean difference."""
    if difference is None or math.isnan(difference.high):
        return "not run"
    if difference.high <= allowed:
        return "holds"
    return "does not hold" if difference.low > allowed else "undecided"


def all_of(verdicts: Sequence[Verdict]) -> Verdict:
    """Join the verdicts on the parts of a claim; those of parts that were not run are left out."""
    kinds = set(verdicts) - {"not run"}
    if len(kinds) <= 1:
        return next(iter(kinds), "not run")
    if "holds" in kinds or "holds in part" in kinds:
        return "holds in part"
    return "does not hold" if "does not hold" in kinds else "undecided"


def told(difference: Summary, over: str = "data sets") -> str:
    """Return a mean difference in points with its interval, and what it is a mean over, as a sentence has it."""
    low, mean, high = (printed(value, SIGNED) for value in (difference.low, difference.mean, difference.high))
    return f"{mean} points (95 % interval {low} to {high}, {difference.n} {over})"


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of positive numbers; nan of none."""
    logarithms = [math.log(value) for value in values]
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else math.nan
