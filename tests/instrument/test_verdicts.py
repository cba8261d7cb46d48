"""Verdicts on published numbers, against SciPy's tests from the same means, deviations and numbers of runs."""

import math
from typing import Any

import numpy as np
import pytest
from printed_numbers import judged, number_of
from pydantic import ValidationError
from scipy import stats

from pppca_bench.references.numbers import Number, VerdictRule
from pppca_bench.results.statistics import Summary, summarise

NAN = math.nan


def ours(mean: float, sd: float = 1.0, n: int = 240) -> Summary:
    return Summary(mean, sd, n, NAN, NAN)


def contrast(number: Number, own: Summary, rule: VerdictRule) -> Any:
    """Return the only number of a table, judged."""
    (result,) = judged([number_of(number, own, rule)]).itertuples()
    return result


def verdict(number: Number, own: Summary, rule: VerdictRule) -> str:
    return contrast(number, own, rule).verdict


SD = VerdictRule(margin=0.5, unit="sd", runs=60)
TEN = VerdictRule(margin=1, unit="sd", runs=10)
RATIO = VerdictRule(margin=0.5, unit="sd", runs=60, compare="ratios")
RHO = VerdictRule(margin=0.5, unit="sd", runs=60, compare="correlations")
EXACT = VerdictRule(margin=0, compare="values")


class TestMeans:
    # The printed 2.0000000 is rounded so finely that rounding changes nothing.
    @pytest.mark.parametrize(("mean", "sd", "n"), [(2.3, 1.1, 240), (1.4, 0.4, 30), (2.0, 2.0, 5)])
    def test_the_interval_and_p_are_welchs(self, mean, sd, n):
        own = contrast(Number("2.0000000", 0.9), ours(mean, sd, n), SD)
        welch = stats.ttest_ind_from_stats(mean, sd, n, 2.0, 0.9, 60, equal_var=False)
        assert own.p == pytest.approx(welch.pvalue, rel=1e-4)
        error = math.hypot(sd / math.sqrt(n), 0.9 / math.sqrt(60))
        half = stats.t.ppf(0.975, welch_degrees(sd, n, 0.9, 60)) * error
        assert (own.difference_low, own.difference_high) == pytest.approx(
            (mean - 2.0 - half, mean - 2.0 + half)
        )
        assert (own.difference, own.margin) == pytest.approx((mean - 2.0, 0.45))

    @pytest.mark.parametrize("mean", [2.19, 2.21, 1.85, 1.79])
    def test_a_number_is_equivalent_where_both_one_sided_tests_reject(self, mean):
        tests = [
            stats.ttest_ind_from_stats(
                mean, 1.0, 240, 2.0 + edge, 0.9, 60, equal_var=False, alternative=side
            ).pvalue
            for edge, side in ((0.45, "less"), (-0.45, "greater"))
        ]
        found = verdict(Number("2.0000000", 0.9), ours(mean), SD)
        assert (found == "reproduced") == (max(tests) < 0.05)

    def test_without_a_printed_deviation_ours_is_pooled(self):
        rng = np.random.default_rng(1)
        values = list(rng.normal(2.4, 1.0, 30))
        own = summarise(values)
        result = contrast(Number("2.0000000"), own, TEN)
        t = (own.mean - 2.0) / (own.sd * math.sqrt(1 / 30 + 1 / 10))
        assert result.p == pytest.approx(2 * stats.t.sf(abs(t), 29), rel=1e-4)
        assert result.margin == pytest.approx(own.sd)

    def test_without_published_runs_the_number_has_no_sampling_error(self):
        values = [1.0, 2.0, 4.0, 5.5]
        result = contrast(Number("2.0000000"), summarise(values), VerdictRule(margin=1.0))
        assert result.p == pytest.approx(stats.ttest_1samp(values, 2.0).pvalue, rel=1e-4)
        found = contrast(
            Number("2.0"), summarise(values), VerdictRule(margin=10, unit="percent")
        ).margin
        assert found == pytest.approx(0.2)

    def test_numbers_that_round_to_the_published_number_are_equal(self):
        assert contrast(Number("2.3", 0.0), ours(2.349, 1e-9), SD).p == 1.0
        assert contrast(Number("2.3", 0.0), ours(2.4, 1e-9), SD).p < 0.01

    def test_a_deviation_of_0_counts_as_half_its_last_digit(self):
        assert contrast(Number("2.30", 0.0), ours(2.3), SD).margin == pytest.approx(0.0025)
        assert contrast(Number("2.30"), ours(2.3, 0.0), SD).margin == pytest.approx(0.0025)

    @pytest.mark.parametrize(
        ("own", "expected"),
        [
            (ours(2.0), "reproduced"),
            (ours(2.24), "consistent"),
            (ours(3.0), "differs"),
            (ours(-50.0), "differs"),
            (ours(9.0, NAN, 1), "cannot tell"),  # a single run
            (ours(2.0, 8.0), "cannot tell"),  # no mean could be within the margin
            (ours(9.0, 8.0), "differs"),
        ],
    )
    def test_the_verdict_follows_from_equivalence_and_significance(self, own, expected):
        assert verdict(Number("2.00", 0.9), own, SD) == expected


def welch_degrees(sd: float, n: int, other: float, m: int) -> float:
    first, second = sd**2 / n, other**2 / m
    return (first + second) ** 2 / (first**2 / (n - 1) + second**2 / (m - 1))


def test_ratios_are_compared_by_their_logarithm():
    result = contrast(Number("100.00000", 20.0), ours(110.0, 25.0), RATIO)
    error = math.hypot(25.0 / 110.0 / math.sqrt(240), 20.0 / 100.0 / math.sqrt(60))
    degrees = welch_degrees(25.0 / 110.0, 240, 0.2, 60)
    half = stats.t.ppf(0.975, degrees) * error
    found = (result.difference_low, result.difference_high)
    assert found == pytest.approx((110.0 * math.exp(-half) - 100.0, 110.0 * math.exp(half) - 100.0))
    assert result.margin == pytest.approx(100.0 * math.expm1(0.1))
    assert result.p == pytest.approx(2 * stats.t.sf(math.log(1.1) / error, degrees), rel=1e-4)
    # 0 has no logarithm
    assert contrast(Number("0.00", 1.0), ours(0.5), RATIO).margin == pytest.approx(0.5)


def correlated(r: float, error: float, n: int = 240) -> Summary:
    """Return the summary of a correlation with this standard error of Fisher's z."""
    half = stats.t.ppf(0.975, n - 1) * error
    return Summary(r, NAN, n, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half))


def test_correlations_are_compared_by_fishers_z():
    result = contrast(Number("0.5000000"), correlated(0.8, 0.1), RHO)
    z = math.atanh(0.8) - math.atanh(0.5)
    # the published correlation has the same spread, of 60 runs
    error = math.hypot(0.1, 0.1 * math.sqrt(240 / 60))
    assert result.p == pytest.approx(2 * stats.t.sf(z / error, 239), rel=1e-4)
    assert result.margin == pytest.approx(math.tanh(math.atanh(0.5) + 0.5) - 0.5)
    assert verdict(Number("0.50"), correlated(0.55, 0.06), RHO) == "reproduced"
    assert verdict(Number("1.00"), correlated(-0.9, 0.1), RHO) == "differs"


@pytest.mark.parametrize(
    ("mean", "expected"), [(8.0, "differs"), (9.0, "reproduced"), (10.0, "differs")]
)
def test_exact_values_must_be_equal(mean, expected):
    assert verdict(Number("9"), ours(mean, NAN, 1), EXACT) == expected


def test_a_factor_reaches_from_the_quotient_to_the_product():
    rule = VerdictRule(compare="ratios", margin=1.5, unit="factor")
    assert contrast(Number("4.0"), ours(3.5, 0.01), rule).margin == pytest.approx(2.0)
    reached = [verdict(Number("4.0"), ours(mean, 0.01), rule) for mean in (2.6, 2.7, 6.0, 6.1)]
    assert reached == ["differs", "reproduced", "reproduced", "differs"]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"compare": "ratios", "unit": "percent", "margin": 50}, "expected a factor, such as 1.5"),
        ({"compare": "means", "unit": "factor", "margin": 2}, "expected compare: ratios and"),
        ({"compare": "ratios", "unit": "factor", "margin": 0.5}, "margin of at least 1"),
    ],
)
def test_a_factor_is_for_ratios_alone(keys, expected):
    with pytest.raises(ValidationError, match=expected):
        VerdictRule(**keys)


def test_a_single_run_and_exact_values_are_outside_the_correction():
    """Beside ten numbers with p = 1, a p of .04 would not be significant."""
    apart = number_of(Number("2.00", 0.9), ours(2.31, 1.0), SD)
    single = number_of(Number("2.00", 0.9), ours(2.0, NAN, 1), SD)
    exact = number_of(Number("9"), ours(9.0, NAN, 1), EXACT)
    found = judged([apart, *[single] * 10, *[exact] * 10])
    assert 0.01 < found["p"].iloc[0] < 0.05
    assert found["verdict"].value_counts().to_dict() == {
        "cannot tell": 10,
        "reproduced": 10,
        "differs": 1,
    }


def test_a_difference_alone_may_differ_and_be_consistent_among_many():
    apart = number_of(Number("2.00", 0.9), ours(2.36), SD)
    alike = number_of(Number("2.00", 0.9), ours(2.0, n=4), SD)
    own = judged([apart])
    assert (own["p"] < 0.05).all()
    assert list(own["verdict"]) == ["differs"]
    assert judged([apart, *[alike] * 9])["verdict"][0] == "consistent"
    apart_tables = judged([apart, *[alike | {"table": "T2"}] * 9])
    assert apart_tables["verdict"][0] == "differs", "p is corrected within a table"


@pytest.mark.parametrize(
    ("runs", "n", "margin", "shift", "expected"),
    [
        (60, 180, 0.5, 0.5, (5, 4, 91)),
        (10, 120, 1.0, 0.0, (74, 26, 0)),
        (10, 120, 1.0, 1.0, (6, 21, 73)),
        (10, 20, 1.0, 0.0, (59, 41, 0)),
        (10, 20, 1.0, 1.0, (4, 37, 59)),
    ],
)
def test_normal_errors_give_these_shares_of_the_verdicts(runs, n, margin, shift, expected):
    rng, rule = np.random.default_rng(5), VerdictRule(margin=margin, unit="sd", runs=runs)
    rows = []
    for table in range(25):  # of forty numbers; the slides print no deviations
        theirs, own = rng.normal(shift, 1.0, (40, runs)), rng.normal(0.0, 1.0, (40, n))
        for published, values in zip(theirs, own.tolist(), strict=True):
            sd = float(published.std(ddof=1)) if n > 30 else None
            number = Number(f"{published.mean():.6f}", sd)
            rows.append(number_of(number, summarise(values), rule, table=f"T{table}"))
    counts = judged(rows)["verdict"].value_counts()
    found = [counts.get(name, 0) / 10 for name in ("reproduced", "consistent", "differs")]
    assert found == pytest.approx(expected, abs=5)
