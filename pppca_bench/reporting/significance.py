"""t-tests of pivot networks against networks without shortcuts: the Proben1 report's table 12 (section 3.3.4)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, variance
from typing import NamedTuple

from pppca_bench.references.proben1_tables import Better, PublishedTest, published_tests
from pppca_bench.reporting.document import Agreement, Document
from pppca_bench.reporting.number_text import EMPTY, number
from pppca_bench.reporting.summary import Results
from pppca_bench.runs import StoredRun

PIVOT, NO_SHORTCUTS = "proben1_pivot", "proben1_no_shortcuts"
"""The configs whose runs are compared."""

QUANTITY = "test_squared_error_percent"
LEVEL = 0.1
"""Level of significance: the report's confidence level is 90 %."""

NORMAL = 0.05
"""A sample counts as normal where the p of Shapiro and Wilk's test is above this."""

LARGEST_SHARE = 10
"""Percent of a sample's values that may be removed as outliers (section 2.8)."""

TARGET = 36 / 42
"""Target for the share of the problems with the published verdict."""

_LEAST = 1e-300
"""Below this p is not refined."""

LETTERS: Mapping[Better, str] = {"pivot": "P", "no_shortcut": "N", "none": EMPTY}


class Sample(NamedTuple):
    """Sample without its outliers.

    Attributes
    ----------
    values : tuple of float
        The remaining values.
    n_low, n_high : int
        Numbers of removed values, too low and too high.
    is_normal : bool
        Whether the remaining values pass Shapiro and Wilk's test; nothing is removed if no removal makes them pass.
    """

    values: tuple[float, ...]
    n_low: int
    n_high: int
    is_normal: bool


class LogTest(NamedTuple):
    """Comparison of two samples of errors.

    Attributes
    ----------
    better : {"pivot", "no_shortcut", "none"}
        The sample with the significantly smaller mean logarithm, "pivot" for the first.
    t, p : float
        Statistic (negative where the first sample's mean is smaller) and two-sided p of `cochran_cox`.
    pivot, no_shortcut : Sample
        The logarithms.
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
    """Remove outliers until a sample passes for normal.

    Choice: the report gives no algorithm. The value farthest from the mean is removed and the mean computed again until
    the p of Shapiro and Wilk's test exceeds `NORMAL`, up to 10 % of the sample (6 of 60); if it never does, no value is
    removed. Constant values never pass.

    Parameters
    ----------
    values : sequence of float, length >= 3
        Such as logarithms of errors.
    """
    left, low, high = sorted(values), 0, 0
    for _ in range(len(values) * LARGEST_SHARE // 100 + 1):
        if _looks_normal(left):
            return Sample(tuple(left), low, high, True)
        mean = fmean(left)
        if mean - left[0] > left[-1] - mean:
            left, low = left[1:], low + 1
        else:
            left, high = left[:-1], high + 1
    return Sample(tuple(sorted(values)), 0, 0, False)


def _looks_normal(values: Sequence[float]) -> bool:
    from scipy.stats import shapiro

    varies = values[-1] - values[0] > 1e-12 * max(1.0, abs(values[0]), abs(values[-1]))
    return varies and float(shapiro(values).pvalue) > NORMAL


def cochran_cox(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Compare two means by Student's t where the variances differ, in Cochran and Cox's approximation (1950).

    With w = s² / n of each sample, t' = (mean₁ − mean₂) / √(w₁ + w₂), and p solves

        |t'| = (w₁ t₁(p) + w₂ t₂(p)) / (w₁ + w₂),

    where tᵢ(p) is the two-sided critical value of Student's distribution with nᵢ − 1 degrees of freedom, as in the
    ttest procedure of SAS, which the report used. For samples of one size t₁ = t₂, so that p is the one of n − 1
    degrees of freedom, whatever the variances.

    Parameters
    ----------
    first, second : sequence of float, length >= 2

    Returns
    -------
    (float, float)
        t' and p; of samples that do not vary, (0, 1) where their means are equal, else (±inf, 0).
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
    # p lies between those that each number of degrees gives alone.
    least, most = sorted(2.0 * float(stdtr(n, -abs(t))) for n in degrees)
    if most - least <= 1e-12 * most or most < _LEAST:
        return t, most

    def excess(log_p: float) -> float:
        critical = [-float(stdtrit(n, math.exp(log_p) / 2.0)) for n in degrees]
        return math.fsum(w * c for w, c in zip(weights, critical, strict=True)) / total - abs(t)

    low, high = math.log(max(least, _LEAST)), math.log(most)
    for end, beyond in ((low, -1.0), (high, 1.0)):
        if beyond * excess(end) >= 0.0:  # the other sample weighs nothing, up to rounding
            return t, math.exp(end)
    return t, math.exp(float(brentq(excess, low, high, xtol=1e-12)))


def compare_errors(pivot: Sequence[float], no_shortcut: Sequence[float]) -> LogTest | None:
    """Compare the logarithms of two samples of errors.

    Parameters
    ----------
    pivot, no_shortcut : sequence of float
        Test errors, squared error percentages.

    Returns
    -------
    LogTest or None
        None where a sample has fewer than three errors, or one without a logarithm.
    """
    if min(len(pivot), len(no_shortcut)) < 3 or min(*pivot, *no_shortcut) <= 0.0:
        return None
    ours, theirs = (without_outliers([math.log(error) for error in errors]) for errors in (pivot, no_shortcut))
    t, p = cochran_cox(ours.values, theirs.values)
    better: Better = "none" if p >= LEVEL else "pivot" if t < 0.0 else "no_shortcut"
    return LogTest(better, t, p, ours, theirs)


def significance_document(results: Results) -> Document:
    """Return P12: for each problem which networks have the smaller test error, beside the published verdict.

    Choice: a verdict is the same where it names the same networks, or neither, whether it is called reliable or not.

    Parameters
    ----------
    results : Results
        Results whose runs of `PIVOT` and `NO_SHORTCUTS` count.
    """
    runs = [_runs_by_problem(results, config) for config in (PIVOT, NO_SHORTCUTS)]
    rows, records, agrees, tests = (
        list[tuple[str, ...]](),
        list[dict[str, object]](),
        list[bool | None](),
        list[LogTest](),
    )
    for problem, theirs in published_tests().items():
        pivot, no_shortcut = (_errors(own.get(problem, ())) for own in runs)
        test = compare_errors(pivot, no_shortcut)
        rows.append((problem, *_texts(test, theirs)))
        counts = {"row": problem, "n_pivot": len(pivot), "n_no_shortcut": len(no_shortcut)}
        records.append(counts | _record(test, theirs))
        agrees.append(test.better == theirs.better if test else None)
        tests += [test] if test else []
    shown = [own[problem] for own in runs for problem in published_tests() if problem in own]
    return Document(
        "P12",
        "t-test comparison of pivot and no-shortcut results",
        "Proben1 report, table 12",
        ("Problem", "ours", "publ.", "same", "p, %", "t'", "outliers P", "outliers N"),
        rows,
        _notes(tests),
        records,
        (Agreement("P12 same verdict", len(agrees), len(tests), agrees.count(True), TARGET),),
        bool(shown),
        sum(len(runs) - len(_errors(runs)) for runs in shown),
        tuple(agrees),
    )


def _runs_by_problem(results: Results, config: str) -> dict[str, Sequence[StoredRun]]:
    """Return the runs of a config by problem, without those of problems with several settings."""
    cells = results.of_config(config)
    n_settings = Counter(cell.problem for cell in cells)
    return {cell.problem: runs for cell, runs in cells.items() if n_settings[cell.problem] == 1}


def _errors(runs: Sequence[StoredRun]) -> list[float]:
    return [result.values[QUANTITY] for _, result in runs if result is not None and QUANTITY in result.values]


def _texts(test: LogTest | None, theirs: PublishedTest) -> list[str]:
    def verdict(better: Better, p_percent: str, *, is_reliable: bool) -> str:
        text = " ".join(filter(None, (LETTERS[better], p_percent)))
        return text if is_reliable else f"({text})"

    printed = verdict(theirs.better, theirs.p_percent, is_reliable=theirs.is_reliable)
    if test is None:
        return [EMPTY, printed, *[EMPTY] * 5]
    significant = f"{100.0 * test.p:.1f}" if test.better != "none" else ""
    return [
        verdict(test.better, significant, is_reliable=test.is_reliable),
        printed,
        "yes" if test.better == theirs.better else "no",
        number(100.0 * test.p, 1),
        number(test.t, 2),
        *(f"{sample.n_low} + {sample.n_high}" for sample in (test.pivot, test.no_shortcut)),
    ]


def _record(test: LogTest | None, theirs: PublishedTest) -> dict[str, object]:
    return {
        "better": test and test.better,
        "p_percent": test and 100.0 * test.p,
        "t": test.t if test and math.isfinite(test.t) else None,
        "is_reliable": test and test.is_reliable,
        "n_low_pivot": test and test.pivot.n_low,
        "n_high_pivot": test and test.pivot.n_high,
        "n_low_no_shortcut": test and test.no_shortcut.n_low,
        "n_high_no_shortcut": test and test.no_shortcut.n_high,
        "published_better": theirs.better,
        "published_p_percent": float(theirs.p_percent) if theirs.p_percent else None,
        "published_is_reliable": theirs.is_reliable,
    }


def _notes(tests: Sequence[LogTest]) -> tuple[str, ...]:
    """Return the legend, and the numbers of outliers as the report counts them."""
    legend = (
        "P: the pivot networks have the smaller mean logarithmic test error, N: those without shortcuts, with p in"
        " percent; a dash: no difference at the 90 % level. Parentheses: a sample is not normal even without its"
        " outliers, so that none was removed. Outliers: too low + too high."
    )
    if not tests:
        return (legend,)
    samples = [[test.pivot for test in tests], [test.no_shortcut for test in tests]]
    (p_low, p_high), (n_low, n_high) = (
        (sum(sample.n_low for sample in own), sum(sample.n_high for sample in own)) for own in samples
    )
    n_removed = p_low + p_high + n_low + n_high
    n_values = sum(len(sample.values) for own in samples for sample in own) + n_removed
    return (
        legend,
        f"Removed as outliers: {n_removed} of {n_values} errors ({100.0 * n_removed / n_values:.1f} %); of the pivot"
        f" networks {p_low} too low and {p_high} too high, of those without shortcuts {n_low} and {n_high}.",
    )
