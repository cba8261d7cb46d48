"""Verdicts on published numbers: a difference with its interval, a test of equivalence, a correction within the table.

The means, standard deviations and numbers of runs of both sides give the difference with Welch's 95 % interval. A
published number is

- *reproduced* if it is equivalent to ours: two one-sided tests at the 5 % level place the difference within the margin
  of its rule (Schuirmann 1987);
- else *differs* if the difference is significant at a false discovery rate of 5 % within the table (Benjamini and
  Hochberg 1995);
- else *consistent*.

Choice: of all numbers that round to the published number, the number nearest to ours counts. Where the source prints no
standard deviation, ours is used for both sides, on the scale of the comparison. A standard deviation of 0.00 counts as
half its last digit, which rounding may have cut off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

from pppca_bench.references.numbers import Number, VerdictRule
from pppca_bench.reporting.statistics import Summary, benjamini_hochberg, student_t

Verdict = Literal["reproduced", "consistent", "differs", "not run", "not compared"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

LEVEL = 0.05
"""Level of the tests of equivalence, and false discovery rate of the differences."""

_NEARLY_1 = 1.0 - 1e-15


class Contrast(NamedTuple):
    """Difference of our mean from a published number, its 95 % interval, the margin, p of no difference, equivalence.

    All but the difference are nan or false if a standard deviation is unknown.
    """

    difference: float
    low: float
    high: float
    margin: float
    p: float
    equivalent: bool


class _Scale(NamedTuple):
    """Scale of a comparison: the transformation, its inverse and its derivative."""

    to: Callable[[float], float]
    back: Callable[[float], float]
    slope: Callable[[float], float]


_IDENTITY = _Scale(float, float, lambda _: 1.0)
_LOGARITHM = _Scale(math.log, math.exp, lambda value: 1.0 / value)
_FISHER = _Scale(
    lambda r: math.atanh(max(-_NEARLY_1, min(_NEARLY_1, r))),
    math.tanh,
    lambda r: 1.0 / max(1.0 - r**2, 1e-15),
)


def contrast(number: Number, ours: Summary, rule: VerdictRule) -> Contrast:
    """Compare our mean with a published number; see this module."""
    difference, half, runs = ours.mean - number.value, number.half_unit, rule.runs or math.inf
    if rule.compare == "values":
        equal = abs(difference) <= max(rule.margin, 1e-9 * max(1.0, abs(number.value)))
        return Contrast(difference, difference, difference, rule.margin, float(equal), equal)
    if ours.n < 2:
        return Contrast(difference, math.nan, math.nan, math.nan, math.nan, equivalent=False)
    scale = _scale(number, ours, rule)
    slope, sd_ours = scale.slope(number.value), ours.sd * scale.slope(ours.mean)
    if scale is _FISHER:  # a correlation has no sd, but an interval
        sd_ours = (
            0.5
            * (scale.to(ours.high) - scale.to(ours.low))
            * math.sqrt(ours.n)
            / student_t(0.975, ours.n - 1)
        )
    sd_theirs = (sd_ours if number.sd is None else number.sd * slope) or half * slope
    squares = sd_ours**2 / ours.n, sd_theirs**2 / runs
    error, degrees = math.sqrt(sum(squares)), ours.n - 1.0
    if number.sd is not None:
        degrees = _welch_degrees(squares, (degrees, runs - 1.0))
    mean, low, high = (
        scale.to(value) for value in (ours.mean, number.value - half, number.value + half)
    )
    apart = mean - min(max(mean, low), high)
    sd = 1.0 if scale is _FISHER else sd_theirs
    unit = {"sd": sd, "points": slope, "percent": 0.01 * abs(number.value) * slope}[rule.unit]
    margin, reach = rule.margin * unit, student_t(0.975, degrees) * error
    return Contrast(
        difference,
        scale.back(mean - reach) - number.value,
        scale.back(mean + reach) - number.value,
        scale.back(scale.to(number.value) + margin) - number.value,
        _two_sided_p(apart, error, degrees),
        abs(apart) + student_t(0.95, degrees) * error <= margin,
    )


def _scale(number: Number, ours: Summary, rule: VerdictRule) -> _Scale:
    if rule.compare == "ratios" and min(ours.mean, number.value - number.half_unit) > 0.0:
        return _LOGARITHM
    return _FISHER if rule.compare == "correlations" else _IDENTITY


def margin_ends(number: Number, ours: Summary, rule: VerdictRule) -> tuple[float, float]:
    """Return the ends of the margin about a published number, nan without one."""
    scale, margin = _scale(number, ours, rule), contrast(number, ours, rule).margin
    centre = scale.to(number.value)
    reach = scale.to(number.value + margin) - centre
    return scale.back(centre - reach), scale.back(centre + reach)


def off_by_margin(number: Number, ours: Summary, rule: VerdictRule) -> Summary:
    """Return the summary of a program whose mean is off by just the margin, for the share of verdicts it would get.

    Our mean is shifted up by the margin in the scale of the rule, in which the sd stays. ``low`` and ``high`` stay:
    `contrast` uses only their distance.
    """
    scale, margin = _scale(number, ours, rule), contrast(number, ours, rule).margin
    shift = scale.to(number.value + margin) - scale.to(number.value)
    mean = scale.back(scale.to(ours.mean) + shift)
    return ours._replace(mean=mean, sd=ours.sd * scale.slope(ours.mean) / scale.slope(mean))


def _welch_degrees(squares: Sequence[float], degrees: Sequence[float]) -> float:
    """Return the degrees of freedom of a sum of squared standard errors (Welch 1947)."""
    total = sum(square**2 / df for square, df in zip(squares, degrees, strict=True) if square)
    return sum(squares) ** 2 / total if total else math.inf


def _two_sided_p(apart: float, error: float, degrees: float) -> float:
    from scipy.special import stdtr

    return 2.0 * float(stdtr(degrees, -abs(apart) / error)) if error else float(apart == 0.0)


def verdicts(contrasts: Sequence[Contrast]) -> list[Verdict]:
    """Return the verdicts on the numbers of a table, given their contrasts."""
    p_values = benjamini_hochberg([each.p for each in contrasts])
    return [
        "reproduced" if each.equivalent else "differs" if p < LEVEL else "consistent"
        for each, p in zip(contrasts, p_values, strict=True)
    ]
