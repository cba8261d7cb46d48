"""Verdicts on published standard deviations: the test of Bonett (2006) for the ratio of two deviations.

The logarithm of the ratio sd ours / sd published has the variance ¼ Σ (κ − (n − 3) / n) / (n − 1), summed over both
sides, where κ is the kurtosis. Choice: κ is that of our runs on both sides, since single published runs are unknown.
The verdicts are those on means (`verdicts.judge`), with a margin of a factor of `FACTOR`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pppca_bench.results.frames import Runs
from pppca_bench.results.statistics import benjamini_hochberg
from pppca_bench.verdicts.judge import LEVEL
from pppca_bench.verdicts.numbers import repeats_of

FACTOR = 1.5
"""Margin of the ratio of two standard deviations."""

_MIN_RUNS = 4
"""Smallest number of runs on each side: with fewer, the variance may be negative."""


def judge_deviations(numbers: pd.DataFrame, runs: Runs) -> pd.DataFrame:
    """Judge the published standard deviations of means and ratios that have sampling errors.

    Parameters
    ----------
    numbers : DataFrame
        Printed numbers, see `verdicts.numbers.COLUMNS`.
    runs : Runs

    Returns
    -------
    DataFrame
        The numbers with `verdicts.numbers.DEVIATIONS`; nan and "" where no deviation was published.
    """
    from scipy.special import ndtr

    has_sd = numbers["published_sd"].notna() & numbers["compare"].isin(["means", "ratios"])
    judged = numbers[has_sd & (numbers["n"] > 0) & np.isfinite(numbers["published_runs"])]
    kurtosis = pd.Series(
        [_kurtosis_of(number, runs) for number in judged.itertuples()], dtype=float
    )
    kurtosis.index = judged.index
    n, n_published = judged["n"], judged["published_runs"]
    known = np.minimum(n, n_published) >= _MIN_RUNS
    variance = _variance_term(kurtosis, n) + _variance_term(kurtosis, n_published)
    error = np.sqrt(0.25 * variance.where(known))
    # of all deviations that round to the published one, the nearest to ours; 0.00 counts as half its last digit
    ours, half_unit = judged["sd"], judged["half_unit"]
    published = judged["published_sd"].where(judged["published_sd"] > 0.0, half_unit)
    nearest = ours.clip(published - half_unit, published + half_unit)
    with np.errstate(divide="ignore"):
        apart, ratio = np.log(ours / nearest).abs(), np.log(ours / published)
    p = 2.0 * ndtr(-apart / error)
    corrected = benjamini_hochberg(p, [judged["table"]])
    half = 1.6449 * error
    verdict = np.select(
        [apart + half <= np.log(FACTOR), corrected < LEVEL, ~(half <= np.log(FACTOR))],
        ["reproduced", "differs", "cannot tell"],
        "consistent",
    )
    columns = {
        "sd_ratio": np.exp(ratio),
        "sd_low": np.exp(ratio - 1.96 * error),
        "sd_high": np.exp(ratio + 1.96 * error),
        "sd_p": p,
        "sd_verdict": verdict,
    }
    found = pd.DataFrame(columns, judged.index).reindex(numbers.index)
    return numbers.assign(**found.fillna({"sd_verdict": ""}))


def _variance_term(kurtosis: pd.Series[float], n: pd.Series[float]) -> pd.Series[float]:
    """Return (κ − (n − 3) / n) / (n − 1), four times the part of the variance that n runs have."""
    return (kurtosis - (n - 3.0) / n) / (n - 1.0)


def _kurtosis_of(number: Any, runs: Runs) -> float:
    """Return n Σ (x − m)⁴ / (Σ (x − x̄)²)² of our runs; nan for few or constant runs.

    m is the mean without the share 1 / (2 √(n − 4)) of the runs at each end (Bonett 2006).
    """
    values = np.sort(list(repeats_of(runs, number).values()))
    n = len(values)
    if n <= _MIN_RUNS or not np.ptp(values):
        return np.nan
    n_trimmed = int(n / (2.0 * np.sqrt(n - _MIN_RUNS)))
    middle = values[n_trimmed : n - n_trimmed] if 2 * n_trimmed < n else values
    fourth = np.sum((values - middle.mean()) ** 4)
    return float(n * fourth / np.sum((values - values.mean()) ** 2) ** 2)
