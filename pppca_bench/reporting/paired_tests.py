"""Tests of paired differences, and Holm's correction of their p values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

import numpy as np

from pppca_bench.reporting.summary import student_t_975

_DECIMALS = 9
"""Decimals of a difference that count: smaller ones are rounding errors, which would break ties."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Result of a test of paired differences.

    Attributes
    ----------
    n : int
        Number of pairs.
    difference, low, high : float
        Mean difference and its 95 % interval; nan where there are too few pairs, or where they do not vary.
    p : float
        Two-sided p value; nan where the pairs allow no test.
    """

    n: int
    difference: float
    low: float
    high: float
    p: float


def corrected_t(differences: Sequence[float], ratio: float) -> PairedTest:
    """Test paired differences over overlapping splits: the corrected resampled t-test.

    With k splits, t = mean / √((1 / k + n_test / n_train) s²) has k − 1 degrees of freedom (Nadeau and Bengio 2003,
    section 4): splits share training examples, so that the usual 1 / k alone makes the interval too narrow.

    Choice: n_train counts the training split alone, not the validation split used for early stopping, which makes the
    interval wider.

    Parameters
    ----------
    differences : sequence of float
        One per split.
    ratio : float
        n_test / n_train.
    """
    return _student(differences, 1.0 / max(1, len(differences)) + ratio)


def signed_rank(differences: Sequence[float]) -> PairedTest:
    """Test paired differences over the seeds of one split: Wilcoxon's signed-rank test, zeros split between the signs.

    The interval is that of the mean difference by Student's t distribution.

    Parameters
    ----------
    differences : sequence of float
        One per repeat.
    """
    from scipy.stats import wilcoxon

    student = _student(differences, 1.0 / max(1, len(differences)))
    rounded = [round(value, _DECIMALS) for value in differences]
    if len(rounded) < 2:
        return student
    p = float(wilcoxon(rounded, zero_method="zsplit").pvalue) if any(rounded) else 1.0
    return replace(student, p=p)


def _student(differences: Sequence[float], factor: float) -> PairedTest:
    """Return mean, interval and p by Student's t distribution, where the variance of the mean is ``factor`` s²."""
    from scipy.special import stdtr

    n = len(differences)
    mean = fmean(differences) if n else math.nan
    if n < 2:
        return PairedTest(n, mean, math.nan, math.nan, math.nan)
    error = math.sqrt(factor) * stdev(differences)
    if error <= 10.0**-_DECIMALS:  # constant differences: their spread is unknown
        return PairedTest(n, mean, mean, mean, 1.0) if abs(mean) <= error else PairedTest(n, mean, *[math.nan] * 3)
    half = student_t_975(n - 1) * error
    return PairedTest(n, mean, mean - half, mean + half, 2.0 * float(stdtr(n - 1, -abs(mean) / error)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values with Holm's correction (1979); nan stays nan and does not count."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]
    adjusted = np.full(len(p), math.nan)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)))
    return list(adjusted.tolist())
