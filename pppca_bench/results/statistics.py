"""Statistics of repeats: summaries, correlations, paired tests, and corrections for several tests."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pppca_bench.quantities import DECIMALS, described
from pppca_bench.references.selection import Formula
from pppca_bench.runs import Names, Selector

_DIGITS = 12
"""Digits of a standard deviation, counted from the largest value's: further digits are rounding errors."""

CORRELATED = ("validation_squared_error_percent", "test_squared_error_percent")
"""Quantities whose correlation over the repeats is a quantity of the cell (Proben1 report, tables 8 to 11)."""


class Summary(NamedTuple):
    """Summary of a quantity over ``n`` repeats: mean, sample standard deviation, 95 % interval of the mean.

    The interval is by Student's t distribution; it and the deviation are nan for a single repeat.
    """

    mean: float
    sd: float
    n: int
    low: float
    high: float


def summarise(
    values: Sequence[float],
    statistic: str = "mean",
    *,
    best_of: int = 1,
    more_is_better: bool = False,
) -> Summary:
    """Summarise at least one value by their mean, median, share of 100 among 0 and 100, or best.

    The deviation of other statistics than the mean is their standard error times √n, as if they were means. Choices:
    the standard error of the median is half the distance of the quantiles at 0.5 ± 0.5 / √n; that of a share is of the
    share with two more successes and failures, since 0 and 100 % have errors, too (Agresti and Coull 1998). The best is
    the mean over all subsets of ``best_of`` values, or the best of fewer. The best of ``best_of`` draws with
    replacement has a deviation s, as a single published best has; our mean has the standard error s √(best_of / n).
    """
    n, mean = len(values), math.fsum(values) / len(values)
    if n == 1:
        return Summary(mean, math.nan, 1, math.nan, math.nan)
    if statistic == "mean":
        sd = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
        if largest := max(map(abs, values)):
            sd = round(sd, _DIGITS - math.ceil(math.log10(largest)))
    elif statistic == "median":
        mean = statistics.median(values)
        low, high = np.quantile(values, [0.5 - 0.5 / math.sqrt(n), 0.5 + 0.5 / math.sqrt(n)])
        sd = 0.5 * float(high - low) * math.sqrt(n)
    elif statistic == "share":
        share = (0.01 * mean * n + 2.0) / (n + 4.0)
        sd = 100.0 * math.sqrt(share * (1.0 - share))
    else:
        ranked, m = np.sort(values), min(best_of, n)
        if more_is_better:
            ranked = ranked[::-1]
        subsets = [math.comb(n - rank, m - 1) for rank in range(1, n + 1)]
        mean = float(np.average(ranked, weights=np.array(subsets) / math.comb(n, m)))
        draws = -np.diff((np.arange(n, -1, -1) / n) ** m)
        sd = math.sqrt(m * float(np.average((ranked - ranked @ draws) ** 2, weights=draws)))
    half = student_t(0.975, n - 1) * sd / math.sqrt(n)
    return Summary(mean, sd, n, mean - half, mean + half)


@lru_cache(4096)
def student_t(share: float, degrees: float) -> float:
    """Return a quantile of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, share))


def measured(quantity: str) -> Names:
    """Return the quantities whose values in single repeats give a quantity of a cell."""
    if quantity == "correlation":
        return CORRELATED
    return (quantity,)


def summary_of(
    quantity: str,
    values: Sequence[Mapping[int, float]],
    selection: Selector | Formula | None = None,
) -> Summary | None:
    """Return the statistics of a quantity, given the values by repeat of the quantities that `measured` names.

    None without a value. A formula has a statistic of its own.
    """
    if quantity == "correlation":
        return correlation(*values)
    (by_repeat,) = values
    listed = list(by_repeat.values())
    if not listed:
        return None
    if not isinstance(selection, Formula):
        return summarise(listed)
    return summarise(
        listed,
        selection.statistic,
        best_of=selection.best_of,
        more_is_better=described(quantity).more_is_better,
    )


def summaries_of(
    quantity: str, samples: NDArray[np.float64], selection: Selector | Formula | None = None
) -> NDArray[np.float64]:
    """Return the statistics of a quantity in many samples; see `summary_of`.

    Parameters
    ----------
    quantity : str
    samples : ndarray of shape (n_quantities, n_samples, n_repeats)
        Values of the quantities that `measured` names.
    selection : Selector or Formula, optional

    Returns
    -------
    ndarray of shape (n_samples, 5)
        The fields of `Summary`; those of a sample without a summary are nan.
    """
    n_samples, n_repeats = samples.shape[1:]
    summaries = np.full((n_samples, len(Summary._fields)), math.nan)
    is_mean = not isinstance(selection, Formula) or selection.statistic == "mean"
    if is_mean and quantity != "correlation" and n_repeats > 1:
        (values,) = samples
        mean, sd = values.mean(axis=1), values.std(axis=1, ddof=1)
        rounding = 10.0**-_DIGITS * np.abs(values).max(axis=1)
        sd = np.where(sd <= rounding, 0.0, sd)
        half = student_t(0.975, n_repeats - 1) * sd / math.sqrt(n_repeats)
        summaries.T[:] = mean, sd, np.full(n_samples, n_repeats), mean - half, mean + half
        return summaries
    if quantity == "correlation":
        return _correlations(*samples)
    for i in range(n_samples):
        of_sample = [dict(enumerate(values.tolist())) for values in samples[:, i]]
        summary = summary_of(quantity, of_sample, selection)
        if summary is not None:
            summaries[i] = summary
    return summaries


def correlation(first: Mapping[int, float], second: Mapping[int, float]) -> Summary | None:
    """Return Pearson's correlation of two quantities over the repeats, with its 95 % interval by Fisher's z.

    Choice: the variance of z is that of the influences of the repeats, not 1 / (n - 3), which supposes normal values:
    the errors of networks have long tails. None with fewer than four repeats, or if a quantity does not vary.
    """
    both = [repeat for repeat in first if repeat in second]
    x = np.array([first[repeat] for repeat in both])
    y = np.array([second[repeat] for repeat in both])
    r, sd, n, low, high = _correlations(x[np.newaxis], y[np.newaxis])[0].tolist()
    return None if math.isnan(r) else Summary(r, sd, int(n), low, high)


def _correlations(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the fields of `correlation` of many samples, each of shape (n_samples, n_repeats)."""
    n_samples, n = x.shape
    summaries = np.full((n_samples, len(Summary._fields)), math.nan)
    if n <= 3:
        return summaries
    varies = (np.ptp(x, axis=1) > 0.0) & (np.ptp(y, axis=1) > 0.0)
    x, y = x[varies], y[varies]
    x = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    y = (y - y.mean(axis=1, keepdims=True)) / y.std(axis=1, keepdims=True)
    r = np.clip(np.mean(x * y, axis=1), -1.0 + 1e-15, 1.0 - 1e-15)
    influences = x * y - 0.5 * r[:, np.newaxis] * (x**2 + y**2)
    sd = influences.std(axis=1, ddof=1) / (1.0 - r**2)
    z, half = np.arctanh(r), student_t(0.975, n - 1) * sd / math.sqrt(n)
    fields = r, np.full_like(r, math.nan), np.full_like(r, n), np.tanh(z - half), np.tanh(z + half)
    summaries[varies] = np.transpose(fields)
    return summaries


def five_number_summary(values: Sequence[float]) -> tuple[float, ...]:
    """Return minimum, lower quartile, median, upper quartile and maximum of at least one value.

    Choice: quartiles lie between the sorted values in proportion to their ranks, the minimum at 0 and the maximum at 1.
    """
    lower = median = upper = statistics.median(values)
    if len(values) > 1:
        lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    return (min(values), lower, median, upper, max(values))


class Histogram(NamedTuple):
    """Number of values in each bin with any, by the bin's place, and the place of a further number."""

    counts: Mapping[int, int]
    marked: int | None


def histogram(
    values: Sequence[float], marked: float | None = None, *, length: int, width: int
) -> Histogram:
    """Count values, at least one, in bins of ``width`` on an axis of ``length`` units.

    Places are multiples of ``width``. The axis reaches from the least to the greatest number, ``marked`` included. If
    all are equal, their place is the middle.
    """
    shown = [*values] if marked is None else [*values, marked]
    low, high = min(shown), max(shown)

    def place(value: float) -> int:
        if math.isclose(low, high):
            return length // 2 // width * width
        return width * round(length * (value - low) / (high - low) / width)

    counts = Counter(map(place, values))
    return Histogram(dict(sorted(counts.items())), None if marked is None else place(marked))


class PairedTest(NamedTuple):
    """Test of n paired differences: their mean, its 95 % interval, and the two-sided p value.

    Interval and p are nan for fewer than two pairs, or if the differences do not vary.
    """

    n: int
    difference: float
    low: float
    high: float
    p: float


def corrected_t(differences: Sequence[float], ratio: float) -> PairedTest:
    """Test paired differences, one per split, over overlapping splits: the corrected resampled t-test.

    With k splits, t = mean / √((1 / k + ratio) s²) has k − 1 degrees of freedom, where the ratio is n_test / n_train
    (Nadeau and Bengio 2003, section 4): splits share training examples, so that the usual 1 / k alone makes the
    interval too narrow.

    Choice: n_train counts the training split alone, not the validation split used for early stopping, which makes the
    interval wider.
    """
    from scipy.special import stdtr

    n = len(differences)
    mean = statistics.fmean(differences) if n else math.nan
    if n < 2:
        return PairedTest(n, mean, math.nan, math.nan, math.nan)
    error = math.sqrt(1.0 / n + ratio) * statistics.stdev(differences)
    if error <= 10.0**-DECIMALS:  # constant differences: their spread is unknown
        if abs(mean) <= error:
            return PairedTest(n, mean, mean, mean, 1.0)
        return PairedTest(n, mean, math.nan, math.nan, math.nan)
    half = student_t(0.975, n - 1) * error
    p = 2.0 * float(stdtr(n - 1, -abs(mean) / error))
    return PairedTest(n, mean, mean - half, mean + half, p)


def signed_rank(differences: Sequence[float]) -> PairedTest:
    """Test paired differences over the seeds of a split: Wilcoxon's signed-rank test, zeros split between the signs.

    The interval of the mean difference is by Student's t distribution.
    """
    from scipy.stats import wilcoxon

    student = corrected_t(differences, 0.0)
    rounded = [round(value, DECIMALS) for value in differences]
    if len(rounded) < 2:
        return student
    p = 1.0
    if any(rounded):
        p = float(wilcoxon(rounded, zero_method="zsplit").pvalue)
    return student._replace(p=p)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values with Holm's correction (1979); nan stays nan and does not count."""
    p = pd.Series(p_values, dtype=float)
    known = p.dropna().sort_values()
    adjusted = (known * np.arange(len(known), 0, -1)).cummax().clip(upper=1.0)
    return adjusted.reindex(p.index).tolist()


def benjamini_hochberg(
    p: pd.Series[float], families: Sequence[pd.Series[Any]] | None = None
) -> pd.Series[float]:
    """Return p values with the correction of Benjamini and Hochberg (1995); nan stays nan and does not count.

    ``families`` are keys, equal for the p values that are corrected together; by default all are.
    """
    falling = p.dropna().sort_values(ascending=False)
    keys = [0 * falling] if families is None else [key[falling.index] for key in families]
    groups = falling.groupby(keys, sort=False)
    n_tests = groups.transform("size")
    rank = n_tests - groups.cumcount()
    adjusted = (falling * n_tests / rank).groupby(keys, sort=False).cummin()
    return adjusted.reindex(p.index)
