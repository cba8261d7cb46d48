"""Verdicts on published numbers: operations on the frame of printed numbers.

The means, standard deviations and numbers of runs of both sides give the difference d with Welch's 95 % interval, and
h, half of its 90 % interval. Both are on the scale of the comparison. A published number is

- *reproduced* if it is equivalent to ours, |d| + h ≤ margin: two one-sided tests at the 5 % level place the difference
  within the margin of its rule (Schuirmann 1987);
- else *differs* if the difference is significant at a false discovery rate of 5 % within the table (Benjamini and
  Hochberg 1995);
- else *cannot tell* if h > margin, so that no difference could be within the margin, or with a single run of ours,
  which has no interval and is outside the family of the correction;
- else *consistent*.

Values that are compared exactly are *reproduced* within the margin, and else *differ*.

Choice: of all numbers that round to the published number, the number nearest to ours counts. Where the source prints no
standard deviation, ours is used for both sides, on the scale of the comparison. A standard deviation of 0.00 counts as
half its last digit, which rounding may have cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pppca_bench.results.statistics import benjamini_hochberg

Verdict = Literal["reproduced", "consistent", "differs", "cannot tell", "not run", "not compared"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

LEVEL = 0.05
"""Level of the tests of equivalence, and false discovery rate of the differences."""

_NEARLY_1 = 1.0 - 1e-15

Array = NDArray[np.float64]
Scale = tuple[Callable[[Array], Array], Callable[[Array], Array], Callable[[Array], Array]]
"""Scale of a comparison: the transformation, its inverse and its derivative."""

SCALES: dict[str, Scale] = {
    "identity": (lambda x: x, lambda x: x, np.ones_like),
    "logarithm": (np.log, np.exp, lambda x: 1.0 / x),
    "Fisher's z": (
        lambda r: np.arctanh(np.clip(r, -_NEARLY_1, _NEARLY_1)),
        np.tanh,
        lambda r: 1.0 / np.maximum(1.0 - r**2, 1e-15),
    ),
}


CONTRAST = ["difference", "difference_low", "difference_high", "margin", "p", "beyond", "room"]
"""Columns of `_contrasts`. With the margin, d and h on the scale of the comparison, nan for a single run:

``room`` is margin − h, and ``beyond`` is |d| + h − margin.
"""


def judge(numbers: pd.DataFrame, tables: Sequence[str] = ("table",)) -> pd.DataFrame:
    """Judge published numbers.

    Parameters
    ----------
    numbers : DataFrame
        A row for each printed number: ``published``, ``half_unit`` of its last digit and ``published_sd``, nan where it
        has none; the rule, ``compare`` ("" without a rule), ``rule_margin``, its ``unit`` and the ``published_runs``,
        inf without sampling error; ours, ``mean``, ``sd``, ``n``, ``low`` and ``high``, nan where it was not run.
    tables : sequence of str
        Columns with the same values for the numbers of a table, over which p is corrected.

    Returns
    -------
    DataFrame
        The numbers with ``difference``, our mean minus the published number, the ends of its 95 % interval
        ``difference_low`` and ``difference_high``, ``margin``, ``p`` of no difference before the correction, and
        ``verdict``.
    """
    is_compared = (numbers["compare"] != "") & numbers["mean"].notna()
    compared = numbers[is_compared]
    parts = [
        _contrasts(part, SCALES[str(scale)]) for scale, part in compared.groupby(scale_of(compared))
    ]
    contrasts = pd.concat(parts) if parts else pd.DataFrame(columns=CONTRAST, dtype=float)
    judged = numbers.assign(**contrasts[CONTRAST].reindex(numbers.index))
    corrected = benjamini_hochberg(judged["p"], [judged[name] for name in tables])
    is_exact = judged["compare"] == "values"
    verdict = np.select(
        [
            judged["published"].isna(),
            judged["compare"] == "",
            judged["mean"].isna(),
            judged["beyond"] <= 0.0,
            is_exact | (corrected < LEVEL),
            judged["room"].isna() | (judged["room"] < 0.0),
        ],
        ["", "not compared", "not run", "reproduced", "differs", "cannot tell"],
        "consistent",
    )
    return judged.drop(columns=["beyond", "room"]).assign(verdict=verdict)


def scale_of(numbers: pd.DataFrame) -> pd.Series[str]:
    """Return the scale of each comparison: ratios have logarithms, unless a number is not positive."""
    is_positive = np.minimum(numbers["mean"], numbers["published"] - numbers["half_unit"]) > 0.0
    is_ratio = (numbers["compare"] == "ratios") & is_positive
    is_correlation = numbers["compare"] == "correlations"
    names = np.select([is_ratio, is_correlation], ["logarithm", "Fisher's z"], "identity")
    return pd.Series(names, numbers.index, dtype=object)


@np.errstate(divide="ignore", invalid="ignore")
def _contrasts(numbers: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Return the contrasts of numbers that are compared on the same scale."""
    from scipy.special import stdtr, stdtrit

    to, back, slope = scale
    is_correlation = scale is SCALES["Fisher's z"]
    mean, n, published = (_column(numbers, name) for name in ("mean", "n", "published"))
    half_unit, published_sd = _column(numbers, "half_unit"), _column(numbers, "published_sd")
    has_sd, published_runs = ~np.isnan(published_sd), _column(numbers, "published_runs")
    # standard deviations on the scale
    sd_ours = _column(numbers, "sd") * slope(mean)
    if is_correlation:  # has no sd, but an interval
        width = to(_column(numbers, "high")) - to(_column(numbers, "low"))
        sd_ours = 0.5 * width * np.sqrt(n) / stdtrit(n - 1.0, 0.975)
    sd_theirs = np.where(has_sd, published_sd * slope(published), sd_ours)
    sd_theirs = np.where(sd_theirs == 0.0, half_unit * slope(published), sd_theirs)
    # Welch: the standard error of the difference, and its degrees of freedom
    ours, theirs = sd_ours**2 / n, sd_theirs**2 / published_runs
    error = np.sqrt(ours + theirs)
    degrees = np.where(has_sd, _welch_degrees(ours, n, theirs, published_runs), n - 1.0)
    # of all numbers that round to the published number, the nearest to ours
    nearest = np.clip(to(mean), to(published - half_unit), to(published + half_unit))
    apart = to(mean) - nearest
    reach = stdtrit(degrees, 0.975) * error
    p = np.where(error == 0.0, apart == 0.0, 2.0 * stdtr(degrees, -np.abs(apart) / error))
    of_published = np.abs(published) * slope(published)  # 1 on the logarithmic scale
    unit = np.select(
        [numbers["unit"] == name for name in ("points", "percent", "factor")],
        [slope(published), 0.01 * of_published, of_published],
        1.0 if is_correlation else sd_theirs,
    )
    rule_margin = _column(numbers, "rule_margin")
    margin = unit * np.where(numbers["unit"] == "factor", np.log(rule_margin), rule_margin)
    contrasts = pd.DataFrame(
        {
            "difference": mean - published,
            "difference_low": back(to(mean) - reach) - published,
            "difference_high": back(to(mean) + reach) - published,
            "margin": back(to(published) + margin) - published,
            "p": p,
            "room": margin - stdtrit(degrees, 0.95) * error,
        },
        numbers.index,
    )
    contrasts["beyond"] = np.abs(apart) - contrasts["room"]
    contrasts.loc[n < 2, CONTRAST[1:]] = np.nan
    return _exact(contrasts, numbers)


def _column(numbers: pd.DataFrame, name: str) -> Array:
    return numbers[name].to_numpy(float)


def _exact(contrasts: pd.DataFrame, numbers: pd.DataFrame) -> pd.DataFrame:
    """Return contrasts in which values that are compared exactly are equal up to the margin, or different."""
    is_exact = numbers["compare"] == "values"
    rounding = 1e-9 * np.maximum(1.0, numbers["published"].abs())
    difference = contrasts["difference"]
    exact = {
        "difference_low": difference,
        "difference_high": difference,
        "margin": numbers["rule_margin"],
        "p": np.nan,
        "beyond": difference.abs() - np.maximum(numbers["rule_margin"], rounding),
    }
    for name, values in exact.items():
        contrasts[name] = contrasts[name].where(~is_exact, values)
    return contrasts


def _welch_degrees(ours: Array, n: Array, theirs: Array, runs: Array) -> Array:
    """Return the degrees of freedom of the sum of two squared standard errors (Welch 1947)."""
    parts = np.where(ours == 0.0, 0.0, ours**2 / (n - 1.0))
    parts += np.where(theirs == 0.0, 0.0, theirs**2 / (runs - 1.0))
    return np.where(parts == 0.0, np.inf, (ours + theirs) ** 2 / parts)


def margin_ends(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return ``margin_low`` and ``margin_high``, the ends of the margin about each number, nan without one."""
    columns = ["margin_low", "margin_high"]
    ends = [pd.DataFrame(columns=columns, dtype=float)]
    for scale, part in numbers.groupby(scale_of(numbers)):
        to, back, _ = SCALES[str(scale)]
        published = to(_column(part, "published"))
        reach = to(_column(part, "published") + _column(part, "margin")) - published
        low, high = back(published - reach), back(published + reach)
        ends.append(pd.DataFrame({"margin_low": low, "margin_high": high}, part.index))
    return pd.concat(ends).reindex(numbers.index)


def off_by_half_an_sd(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of a program whose means are off by half a standard deviation of its runs.

    Our mean is shifted up by half our sd on the scale of the comparison, on which the sd stays; a correlation, by half
    the standard deviation of Fisher's z for normal values. ``low`` and ``high`` stay: only their distance is used.
    """
    shifted = []
    for scale, part in numbers.groupby(scale_of(numbers)):
        to, back, slope = SCALES[str(scale)]
        mean = _column(part, "mean")
        sd = np.ones(len(part)) if scale == "Fisher's z" else _column(part, "sd") * slope(mean)
        mean_off = back(to(mean) + 0.5 * sd)
        shifted.append(part.assign(mean=mean_off, sd=sd / slope(mean_off)))
    return pd.concat(shifted).reindex(numbers.index) if shifted else numbers
