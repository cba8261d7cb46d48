"""Losses: verdicts within data sets and tests over data sets, against SciPy, baycomp and made-up losses."""

import math

import numpy as np
import pytest
from baycomp import SignedRankTest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student
from scipy.stats import ttest_1samp, wilcoxon

from pppca_bench.paper.losses import (
    ONE_POINT,
    OTHER_MARGINS,
    equivalence,
    judge_losses,
    losses,
    multiples,
    sign_test,
    signed_rank_test,
    typical_loss,
    verdict_within,
)
from pppca_bench.results.statistics import corrected_t

TESTS = (sign_test, signed_rank_test)
VALUES = st.lists(
    st.integers(-3000, 3000).filter(lambda own: own != 100), min_size=6, max_size=32, unique_by=abs
).map(lambda own: np.array(own) / 100)
"""Losses without ties, for which the signed-rank test is exact."""


@pytest.mark.parametrize("test", TESTS)
def test_losses_of_minus_50_points_hold_and_of_50_do_not(test):
    mixed = [-49.0, 51.0] * 16  # as far below 1 point as above
    judged = judge_losses([multiples([-50.0] * 32), multiples([50.0] * 32), multiples(mixed)], test)
    assert [verdict for _, verdict in judged] == ["holds", "does not hold", "undecided"]


@pytest.mark.parametrize("test", TESTS)
@given(values=VALUES)
def test_losses_mirrored_at_the_margin_flip_the_verdict(test, values):
    own, mirrored = (judge_losses([multiples(side)], test)[0] for side in (values, 2.0 - values))
    assert own[0] == pytest.approx(mirrored[0])
    flipped = {"holds": "does not hold", "does not hold": "holds", "undecided": "undecided"}
    assert mirrored[1] == flipped[own[1]]


@given(values=VALUES)
@pytest.mark.slow
def test_the_signed_rank_test_is_scipys_of_the_losses_minus_the_margin(values):
    for margin, points in ((ONE_POINT, 1.0), (OTHER_MARGINS["0.25 points"], 0.25)):
        found, _ = signed_rank_test(multiples(values, 10.0, margin))
        beyond = np.round(values / points - 1.0, 9)
        assert found == pytest.approx(wilcoxon(beyond, zero_method="zsplit").pvalue)


@given(values=VALUES)
def test_the_interval_of_the_typical_loss_has_the_losses_that_the_test_does_not_reject(values):
    low, typical, high = typical_loss(values)
    assert typical == np.median([(a + b) / 2 for i, a in enumerate(values) for b in values[i:]])
    for end, outside in ((low, -1e-7), (high, 1e-7)):
        assert wilcoxon(values - end - outside, method="exact").pvalue <= 0.05
        assert wilcoxon(values - end + outside, method="exact").pvalue > 0.05


def test_p_of_holm_is_that_of_the_comparison_times_the_number_of_comparisons():
    found = judge_losses([multiples([-50.0] * 14), multiples([1.0, 1.01] * 7)], sign_test)[0][0]
    assert found == 2 * 2 / 2**14


def test_a_margin_may_be_a_share_of_the_other_error():
    share = OTHER_MARGINS["10 % of the error"]
    found = multiples([1.0, 1.0, 0.0, 2.0], [5.0, 20.0, 0.0, 0.0], share)
    assert list(found) == [2.0, 0.5, 0.0, math.inf]
    endless = multiples([1.0] * 6, [0.0] * 6, share)
    assert signed_rank_test(endless) == (pytest.approx(0.03125, abs=0.02), False)


def test_fewer_than_six_data_sets_are_undecided():
    ((p, verdict),) = judge_losses([multiples([-50.0] * 5)])
    assert (math.isnan(p), verdict) == (True, "undecided")
    assert np.isnan(typical_loss(np.arange(5.0))[::2]).all()


@pytest.mark.parametrize(
    ("n_small", "n", "p"),
    # Two-sided sign test by hand: 8 of 8 2 / 2⁸, 7 of 8 2 (1 + 8) / 2⁸, 6 of 6 2 / 2⁶.
    [
        (8, 8, 2 / 256),
        (7, 8, 18 / 256),
        (0, 8, 2 / 256),
        (4, 8, 1.0),
        (6, 6, 2 / 64),
        (5, 5, math.nan),
    ],
)
def test_the_sign_test_counts_data_sets_with_a_loss_that_does_not_matter(n_small, n, p):
    found, _ = sign_test(multiples([1.0] * n_small + [1.01] * (n - n_small)))
    assert found == pytest.approx(p, nan_ok=True)


@pytest.mark.parametrize("mean", [-1.5, 0.3, 2.0])
def test_the_posterior_is_baycomps(mean):
    values = np.append(np.random.default_rng(1).normal(mean, 1.0, 14).round(1), [1.0, -1.0])
    theirs = SignedRankTest.probs(np.zeros(16), values, rope=1.0, nsamples=5000, random_state=1994)
    half = multiples(values / 2, 10.0, OTHER_MARGINS["0.5 points"])
    for own in (multiples(values), half):
        assert equivalence(own) == pytest.approx(theirs, abs=2e-4)


def test_losses_are_paired_over_the_data_sets_that_both_have():
    found = losses({"a": 3.0, "b": 5.0, "c": 9.0}, {"b": 4.0, "a": 1.0, "d": 0.0})
    assert list(found) == [2.0, 1.0]
    assert list(losses({"a": 3.0, "c": 1.0}, {"b": 1.0})) == []


@given(
    mean=st.floats(-4.0, 4.0),
    spread=st.floats(0.05, 3.0),
    n=st.integers(3, 20),
    seed=st.integers(0, 1000),
)
def test_equivalent_losses_are_those_that_two_one_sided_tests_place_inside(mean, spread, n, seed):
    folds = np.random.default_rng(seed).normal(mean, spread, n)
    inside = [
        ttest_1samp(folds, end, alternative=side).pvalue < 0.05
        for end, side in ((-1.0, "greater"), (1.0, "less"))
    ]
    verdict = verdict_within(corrected_t(list(folds), 0.0))  # without correction, Student's test
    assert (verdict == "equivalent") == all(inside)
    if verdict != "equivalent":
        p = ttest_1samp(folds, 0.0).pvalue
        assert verdict == ("unclear" if p >= 0.05 else "worse" if folds.mean() > 0.0 else "better")


def test_the_verdict_within_a_data_set_has_the_correction_for_overlapping_folds():
    folds = [0.8, 0.4, 0.5, 0.6]
    half = student.ppf(0.95, 3) * np.sqrt((1 / 4 + 0.125) * np.var(folds, ddof=1))
    assert np.mean(folds) + half < 1.0
    assert verdict_within(corrected_t(folds, 0.125)) == "equivalent"
    assert verdict_within(corrected_t(folds, 2.0)) == "unclear"


@pytest.mark.parametrize(("folds", "verdict"), [([0.0] * 3, "equivalent"), ([2.0] * 3, "unclear")])
def test_losses_that_are_equal_in_all_folds_are_equivalent_only_at_zero(folds, verdict):
    assert verdict_within(corrected_t(folds, 0.1)) == verdict
