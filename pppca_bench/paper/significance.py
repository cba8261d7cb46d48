"""t-tests of pivot networks against networks without shortcuts: the Proben1 report's table 12 (section 3.3.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, variance
from typing import Any, NamedTuple

from pppca_bench.pages.document import EMPTY, Agreement, Document
from pppca_bench.paper.networks import Better, PublishedTest, published_tests
from pppca_bench.paper.texts import fill
from pppca_bench.results.frames import Runs
from pppca_bench.runs import grouped

PIVOT_CONFIG, NO_SHORTCUTS_CONFIG = "proben1_pivot", "proben1_no_shortcuts"
"""The configs whose runs are compared."""

N_RUNS = 60
"""Number of each network's runs that the report compares: the first of ours count."""

QUANTITY = "test_squared_error_percent"
LEVEL = 0.1
"""Level of significance: the report's confidence level is 90 %."""

NORMALITY_LEVEL = 0.05
"""A sample counts as normal if p of Shapiro and Wilk's test is above this level."""

MAX_OUTLIERS_PERCENT = 10
"""Largest percentage of a sample's values that may be removed as outliers (section 2.8)."""

TARGET = 36 / 42
"""Target for the share of the problems with the published verdict."""


class Sample(NamedTuple):
    """Sample without its outliers: the remaining values, and the numbers of values that were too low and too high.

    If no removal makes the sample pass Shapiro and Wilk's test, nothing is removed, and it is not normal.
    """

    values: tuple[float, ...]
    n_low: int
    n_high: int
    is_normal: bool


class LogTest(NamedTuple):
    """Comparison of the logarithms of two samples of errors: t (negative where the pivots' mean is smaller), and p.

    ``better`` is the sample with the significantly smaller mean.
    """

    better: Better
    t: float
    p: float
    pivot: Sample
    no_shortcut: Sample

    @property
    def is_reliable(self) -> bool:
        """Return whether both samples are normal."""
        return self.pivot.is_normal and self.no_shortcut.is_normal


def without_outliers(values: Sequence[float]) -> Sample:
    """Remove outliers until a sample counts as normal.

    Choice: the report gives no algorithm. The value farthest from the mean is removed and the mean computed again until
    p of Shapiro and Wilk's test exceeds `NORMALITY_LEVEL`, up to 10 % of the sample (6 of 60); if it never does, no
    value is removed. Constant values never count as normal; at least three values are needed.
    """
    from scipy.stats import shapiro

    left, low, high = sorted(values), 0, 0
    for _ in range(len(values) * MAX_OUTLIERS_PERCENT // 100 + 1):
        varies = left[-1] - left[0] > 1e-12 * max(1.0, abs(left[0]), abs(left[-1]))
        if varies and float(shapiro(left).pvalue) > NORMALITY_LEVEL:
            return Sample(tuple(left), low, high, is_normal=True)
        mean = fmean(left)
        if mean - left[0] > left[-1] - mean:
            left, low = left[1:], low + 1
        else:
            left, high = left[:-1], high + 1
    return Sample(tuple(sorted(values)), 0, 0, is_normal=False)


def cochran_cox(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Compare two means by Student's t where the variances differ, in Cochran and Cox's approximation (1950).

    With w = s² / n of each sample, t' = (mean₁ − mean₂) / √(w₁ + w₂), and p solves

        |t'| = (w₁ t₁(p) + w₂ t₂(p)) / (w₁ + w₂),

    where tᵢ(p) is the two-sided critical value of Student's distribution with nᵢ − 1 degrees of freedom, as in the
    ttest procedure of SAS, which the report used. For samples of equal size t₁ = t₂, and p has n − 1 degrees of
    freedom, whatever the variances.

    Returns t' and p of samples of two values or more; for samples that do not vary, (0, 1) if their means are equal,
    else (±inf, 0).
    """
    from scipy.optimize import brentq
    from scipy.special import stdtr, stdtrit

    difference = fmean(first) - fmean(second)
    weights = [variance(values) / len(values) for values in (first, second)]
    total = math.fsum(weights)
    if total == 0.0:
        return (0.0, 1.0) if difference == 0.0 else (math.copysign(math.inf, difference), 0.0)
    t = difference / math.sqrt(total)
    degrees = [len(values) - 1 for values in (first, second)]
    # p lies between the p values for either number of degrees; below 1e-300 it is not refined.
    least, most = sorted(2.0 * float(stdtr(n, -abs(t))) for n in degrees)
    least = max(least, 1e-300)
    if most - least <= 1e-12 * most:
        return t, most

    def excess(log_p: float) -> float:
        critical = [-float(stdtrit(n, math.exp(log_p) / 2.0)) for n in degrees]
        return math.fsum(w * c for w, c in zip(weights, critical, strict=True)) / total - abs(t)

    # Slightly wider: if a sample has no weight, p is an end of the interval, up to rounding.
    return t, math.exp(
        float(brentq(excess, math.log(least) - 1e-9, math.log(most) + 1e-9, xtol=1e-12))
    )


def compare_errors(pivot: Sequence[float], no_shortcut: Sequence[float]) -> LogTest | None:
    """Compare the logarithms of two samples of test errors (squared error percentages).

    None where a sample has fewer than three errors, or an error without a logarithm.
    """
    if min(len(pivot), len(no_shortcut)) < 3 or min(*pivot, *no_shortcut) <= 0.0:
        return None
    pivot_logs, no_shortcut_logs = (
        without_outliers([math.log(error) for error in errors]) for errors in (pivot, no_shortcut)
    )
    t, p = cochran_cox(pivot_logs.values, no_shortcut_logs.values)
    better: Better = "none" if p >= LEVEL else "pivot" if t < 0.0 else "no_shortcut"
    return LogTest(better, t, p, pivot_logs, no_shortcut_logs)


def significance_document(runs: Runs) -> Document:
    """Return P12: the networks with the smaller test error on each problem, beside the published verdict.

    Choice: verdicts agree if they name the same networks, or no networks, whether they are reliable or not.
    """
    of_configs = [runs.of_configs((config,)) for config in (PIVOT_CONFIG, NO_SHORTCUTS_CONFIG)]
    by_problem = [only_cells_by_problem(each) for each in of_configs]
    records, tests, n_missing = list[dict[str, Any]](), list[LogTest](), 0
    for problem, published in published_tests().items():
        samples = list[list[float]]()
        for each, cells in zip(of_configs, by_problem, strict=True):
            values = each.values(cells[problem], QUANTITY) if problem in cells else {}
            samples.append([error for repeat, error in values.items() if repeat < N_RUNS])
            n_planned = each.counts[cells[problem]]["n_planned"] if problem in cells else 0
            n_missing += min(n_planned, N_RUNS) - len(samples[-1])
        pivot, no_shortcut = samples
        test = compare_errors(pivot, no_shortcut)
        tests += [test] if test else []
        counts = {"row": problem, "n_pivot": len(pivot), "n_no_shortcut": len(no_shortcut)}
        records.append(counts | _record(test, published))
    agrees = tuple(record["_agrees"] for record in records)
    return fill(
        "P12",
        records,
        {"tests": tests},
        agreement=Agreement("P12 same verdict", agrees, TARGET),
        has_runs=not published_tests().keys().isdisjoint(set().union(*by_problem)),
        n_missing=n_missing,
        agrees=agrees,
    )


def only_cells_by_problem(runs: Runs) -> dict[str, int]:
    """Return the number of the cell of each problem; problems with several settings are left out."""
    by_problem = grouped(runs.cells, lambda number: runs.cells[number].problem)
    return {problem: cells[0] for problem, cells in by_problem.items() if len(cells) == 1}


_LETTERS = {"pivot": "P", "no_shortcut": "N"}


def _verdict(better: Better, p_percent: str, is_reliable: bool) -> str:
    text = EMPTY if better == "none" else f"{_LETTERS[better]} {p_percent}"
    return text if is_reliable else f"({text})"


def _record(test: LogTest | None, published: PublishedTest) -> dict[str, Any]:
    """Return the values of our test of a data set and whether it agrees with the published test."""
    counts = {
        f"n_{side}_{name}": test and getattr(getattr(test, name), f"n_{side}")
        for name in _LETTERS
        for side in ("low", "high")
    }
    return {
        "better": test and test.better,
        "p_percent": test and 100.0 * test.p,
        "t": test.t if test and math.isfinite(test.t) else None,
        "is_reliable": test and test.is_reliable,
        **counts,
        "published_better": published.better,
        "published_p_percent": float(published.p_percent) if published.p_percent else None,
        "published_is_reliable": published.is_reliable,
        "_ours": test and _verdict(test.better, f"{100.0 * test.p:.1f}", test.is_reliable),
        "_published": _verdict(*published),
        "_agrees": test and test.better == published.better,
    }
