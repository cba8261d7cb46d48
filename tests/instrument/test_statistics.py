"""Statistics of repeats: by hand, by the printed formulas, and by SciPy."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pppca_bench.references.selection import Formula
from pppca_bench.results.statistics import (
    Summary,
    benjamini_hochberg,
    corrected_t,
    five_number_summary,
    holm,
    signed_rank,
    summaries_of,
    summarise,
    summary_of,
)
from pppca_bench.runs import Selector


def test_mean_spread_and_interval_are_those_worked_out_by_hand():
    # 1, 2, 3, 4: mean 2.5, sum of squares 2.25 + 0.25 + 0.25 + 2.25 = 5, sd = sqrt(5 / 3);
    # t(0.975, 3 degrees) = 3.182446 (printed tables), half width = 3.182446 * sd / 2 = 2.054260.
    summary = summarise([1.0, 2.0, 3.0, 4.0])
    assert (summary.mean, summary.n) == (2.5, 4)
    assert summary.sd == pytest.approx(1.2909944, abs=1e-7)
    assert summary.low == pytest.approx(2.5 - 2.054260, abs=1e-5)
    assert summary.high == pytest.approx(2.5 + 2.054260, abs=1e-5)


@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40).filter(
        lambda values: max(values) - min(values) > 1e-3
    )
)
def test_the_interval_is_scipys(values):
    summary = summarise(values)
    low, high = stats.t.interval(0.95, len(values) - 1, loc=summary.mean, scale=stats.sem(values))
    assert summary.low == pytest.approx(low, rel=1e-6, abs=1e-6)
    assert summary.high == pytest.approx(high, rel=1e-6, abs=1e-6)
    assert summary.sd == pytest.approx(stats.tstd(values), rel=1e-6)


@given(values=st.lists(st.floats(0, 100), min_size=2, max_size=30), seed=st.randoms())
def test_a_summary_does_not_depend_on_the_order_of_repeats(values, seed):
    shuffled = seed.sample(values, len(values))
    assert summarise(values) == summarise(shuffled)


def test_rounding_errors_are_no_spread():
    assert summarise([100.0, 100.0 + 4e-12, 100.0 - 3e-12]).sd == 0.0
    assert summarise([1e-9, 2e-9, 3e-9]).sd == pytest.approx(1e-9)


def test_a_single_value_has_a_mean_alone():
    nan = pytest.approx(math.nan, nan_ok=True)
    assert summarise([2.3]) == (2.3, nan, 1, nan, nan)


VALIDATION, TEST = [2.0, 1.5, 3.0, 2.5, 1.0], [4.0, 5.0, 6.5, 6.0, 3.0]


def correlation(validation: Sequence[float], test: Sequence[float]) -> Summary | None:
    values = [dict(enumerate(errors)) for errors in (validation, test)]
    return summary_of("correlation", values)


class TestCorrelation:
    """Of the squared errors of validation and test split over the repeats."""

    def test_the_correlation_is_pearsons(self):
        found = correlation(VALIDATION, TEST)
        # Means 2 and 4.9; sums of products 0 + -0.05 + 1.6 + 0.55 + 1.9 = 4, of squares 2.5 and 8.2.
        assert found.mean == pytest.approx(4.0 / math.sqrt(2.5 * 8.2))
        assert (found.n, math.isnan(found.sd)) == (5, True)

    @pytest.mark.parametrize("tails", [math.inf, 5.0])
    def test_the_interval_of_a_correlation_is_as_wide_as_other_runs_spread(self, tails):
        rng, n = np.random.default_rng(1), 240

        def drawn() -> tuple[list[float], list[float]]:
            scale = 1.0 if math.isinf(tails) else np.sqrt(rng.chisquare(tails, n) / tails)
            x, noise = rng.standard_normal((2, n)) / scale
            return x, 0.5 * x + noise

        summaries = [correlation(*drawn()) for _ in range(200)]
        spread = np.std([math.atanh(each.mean) for each in summaries])
        halves = [0.5 * (math.atanh(each.high) - math.atanh(each.low)) for each in summaries]
        assert np.mean(halves) / 1.97 == pytest.approx(spread, rel=0.12)

    @pytest.mark.parametrize("sign", [1, -1])
    def test_collinear_errors_have_correlation_one(self, sign):
        summary = correlation(VALIDATION, [9 + sign * 2 * value for value in VALIDATION])
        found = (summary.mean, summary.low, summary.high)
        assert found == pytest.approx((sign, sign, sign), abs=1e-9)

    @pytest.mark.parametrize(
        "errors",
        [(VALIDATION[:3], TEST[:3]), ([2.0] * 5, TEST), (VALIDATION, [2.0] * 5)],
        ids=["few", "one", "other"],
    )
    def test_few_or_constant_errors_have_no_correlation(self, errors):
        assert correlation(*errors) is None

    def test_repeats_that_lack_one_of_the_errors_do_not_count(self):
        found, expected = correlation([*VALIDATION, 9.0], TEST), correlation(VALIDATION, TEST)
        assert found == pytest.approx(expected, nan_ok=True)


def test_quartiles_by_hand():
    assert five_number_summary([4.0, 1.0, 3.0, 2.0, 5.0]) == (1.0, 2.0, 3.0, 4.0, 5.0)
    assert five_number_summary([4.0]) == (4.0,) * 5


def test_the_corrected_t_test_is_the_formula_of_nadeau_and_bengio():
    # mean 2.5, s² = 5/3; with 1/4 + 25/50 the variance of the mean is 1.25
    differences = [1.0, 3.0, 2.0, 4.0]
    found = corrected_t(differences, 0.5)
    assert found.difference == 2.5
    assert found.p == pytest.approx(2 * stats.t.sf(2.5 / math.sqrt(1.25), 3))
    half = stats.t.ppf(0.975, 3) * math.sqrt(1.25)
    assert (found.low, found.high) == pytest.approx((2.5 - half, 2.5 + half))
    got = corrected_t(differences, 0.0).p
    assert got == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)


def test_the_test_of_seeds_is_wilcoxons_whatever_the_rounding():
    found = signed_rank([1.0, 2.0, -3.0, 4.0, 5.0, 6.0])
    assert found.p == pytest.approx(10 / 64), (
        "rank sum 3 of the negative one: 5 of the 2⁶ signs are at most that, twice"
    )
    ties = [0.1 + 0.2, 0.3, -0.3, 0.5, 0.0]
    assert signed_rank(ties).p == signed_rank([0.3, 0.3, -0.3, 0.5, 0.0]).p


def test_holms_correction_is_that_of_the_paper():
    found = holm([0.01, 0.04, 0.03, math.nan, 0.005])
    assert found == pytest.approx([0.03, 0.06, 0.06, math.nan, 0.02], nan_ok=True)
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@pytest.mark.parametrize("test", [signed_rank, lambda values: corrected_t(values, 0.5)])
def test_constant_differences_are_evidence_of_equality_alone(test):
    assert (test([0.0, 0.0, 0.0]).p, test([0.0, 0.0, 0.0]).high) == (1.0, 0.0)
    assert math.isnan(test([2.0, 2.0, 2.0]).high)
    assert math.isnan(test([2.0]).p)


def test_the_correction_within_a_table_is_benjamini_and_hochbergs():
    p = np.random.default_rng(3).uniform(size=40) ** 3
    corrected = benjamini_hochberg(pd.Series(p)).tolist()
    assert corrected == pytest.approx(stats.false_discovery_control(p))
    known = benjamini_hochberg(pd.Series([0.01, math.nan, 0.04])).tolist()
    assert known == pytest.approx([0.02, math.nan, 0.04], nan_ok=True)


def test_families_are_corrected_apart():
    p = pd.Series([0.01, 0.2, math.nan, 0.03, 0.02])
    families = [pd.Series(["a", "b", "a", "a", "b"]), pd.Series([1, 1, 1, 2, 1])]
    corrected = benjamini_hochberg(p, families).tolist()
    assert corrected == pytest.approx([0.01, 0.2, math.nan, 0.03, 0.04], nan_ok=True)


@pytest.mark.parametrize(
    ("quantity", "statistic"),
    [("correlation", "mean"), ("test_error_percent", "mean"), ("test_error_percent", "median")],
)
def test_the_statistics_of_many_samples_are_those_of_each(quantity, statistic):
    n_quantities = 2 if quantity == "correlation" else 1
    samples = np.random.default_rng(8).uniform(size=(n_quantities, 5, 12))
    samples[:, 2] = 0.1  # no spread
    selection = Formula((Selector("cancer1", "pca"),), statistic=statistic)
    expected = list[Summary]()
    for i in range(5):
        of_sample = [dict(enumerate(values)) for values in samples[:, i]]
        expected.append(summary_of(quantity, of_sample, selection) or (math.nan,) * 5)
    found = summaries_of(quantity, samples, selection)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-15)
