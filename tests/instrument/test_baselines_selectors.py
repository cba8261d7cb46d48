"""Feature selectors: scores, searches against brute force, and sizes chosen on validation data."""

import itertools
from collections.abc import Iterator
from typing import ClassVar, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2_contingency, f_oneway, ttest_ind
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import mutual_info_score
from sklearn.neighbors import KNeighborsClassifier

from pppca_bench.classifiers import RpropMLPClassifier
from pppca_bench.classifiers.training_data import choose_candidate
from pppca_bench.reducers.filter_selection import (
    Criterion,
    FilterSelector,
    chi_squared,
    conditional_mutual_information,
    contingency_table,
    cross_validated_accuracy,
    discretise,
    mutual_information,
    score_features,
    stratified_folds,
    variance_ratios,
)
from pppca_bench.reducers.wrapper_selection import (
    BackwardSelector,
    ExhaustiveSelector,
    ForwardSelector,
    NetworkRFE,
    Step,
    candidate_classifier,
    search_path,
    weight_saliency,
)

SMALL = RpropMLPClassifier((3,), max_epochs=30, random_state=0)
TINY = RpropMLPClassifier((1,), max_epochs=5, random_state=0)
SELECTORS = [FilterSelector, ForwardSelector, BackwardSelector, ExhaustiveSelector, NetworkRFE]
SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def noisy():
    """Five features: 1 and 3 determine the class together, 0 is correlated with it, the others are noise."""
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(240, 5))
    y = (X[:, 1] + X[:, 3] > 1.0).astype(int)
    X[:, 0] = 0.9 * X[:, 0] + 0.1 * y
    return X[:160], y[:160], X[160:], y[160:]


def errors_by_size(selector):
    sizes, errors = selector.history_["n_features"], selector.history_["validation_error_percent"]
    return dict(zip(sizes.tolist(), errors.tolist(), strict=True))


# Eight samples of two classes. Feature 0 is the class; of feature 1 (value, class) counts are 3, 1; 1, 3; feature 2 is
# constant; feature 3 is independent of the class.
HAND_Y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
HAND_X = np.column_stack(
    [HAND_Y, [0, 0, 0, 1, 1, 1, 1, 0], np.full(8, 0.3), [0, 1, 0, 1, 0, 1, 0, 1]]
).astype(float)
LITTLE = 2 * 3 / 8 * np.log(3 / 2) + 2 * 1 / 8 * np.log(1 / 2)


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        ("mutual_information", [np.log(2.0), LITTLE, 0.0, 0.0]),
        # Expected counts are 2 in each cell of feature 1: 4 (3 - 2)² / 2 = 2.
        ("chi_squared", [8.0, 2.0, 0.0, 0.0]),
        ("accuracy", [1.0, 6 / 8, 4 / 8, 4 / 8]),
        # Each sample is a fold: without it, its class is the rarer class of features 2 and 3.
        ("cross_validated_accuracy", [1.0, 6 / 8, 0.0, 0.0]),
        # Feature 1 adds nothing to feature 0, which determines the class.
        ("conditional_mutual_information", [np.log(2.0), 0.0, 0.0, 0.0]),
    ],
)
def test_scores_of_tables_by_hand(criterion, expected):
    selector = FilterSelector(1, criterion=criterion, estimator=SMALL).fit(*[HAND_X, HAND_Y] * 2)
    assert_allclose(selector.scores_, expected, atol=1e-12)
    assert selector.ranking_[0] == 1
    assert list(selector.get_support()) == [True, False, False, False]


def test_scores_of_a_given_number_of_features_use_all_rows_and_a_chosen_number_holds_rows_out():
    own = FilterSelector(2, criterion="chi_squared", estimator=SMALL).fit(HAND_X, HAND_Y)
    assert_allclose(own.scores_, [8.0, 2.0, 0.0, 0.0])
    chosen = FilterSelector(criterion="chi_squared", estimator=SMALL).fit(HAND_X, HAND_Y)
    assert chosen.scores_[0] == 5.0, "of the five rows that are not held out"


def test_equal_counts_and_unknown_values_are_decided_by_the_classes_of_the_other_folds():
    counts = np.zeros((3, 2, 2))
    # (value, class, fold): fold 0 holds values 0 and 1, fold 1 values 0 and 2; class 1 is the most frequent.
    counts[0] = [[1, 1], [1, 1]]
    counts[1, 1, 0], counts[2, 0, 1] = 4, 3
    # Fold 0 is predicted as class 0, of 4 in 5 samples of fold 1; fold 1 as class 1, of 5 in 6 samples of fold 0.
    assert cross_validated_accuracy(counts) == (1 + 1) / 11


@given(SEEDS, st.integers(1, 200))
def test_folds_are_equally_large_and_stratified(seed, n_samples):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n_samples)
    folds = stratified_folds(y, rng)
    assert np.ptp(np.bincount(folds, minlength=10)) <= 1
    for label in np.unique(y):
        assert np.ptp(np.bincount(folds[y == label], minlength=10)) <= 3


def test_values_are_counted_as_they_are_or_in_intervals_of_equally_many_samples():
    assert_array_equal(discretise(np.array([0.3, -1.0, 0.3, 2.0]), 3), [1, 0, 1, 2])
    column = np.random.default_rng(0).normal(size=1000)
    codes = discretise(column, 10)
    assert_array_equal(np.bincount(codes), np.full(10, 100))
    assert (np.diff(codes[np.argsort(column)]) >= 0).all()


@settings(max_examples=40)
@given(SEEDS, st.integers(2, 12), st.integers(2, 4))
def test_information_and_the_statistic_of_independence_are_those_of_others(seed, n_bins, n_classes):
    rng = np.random.default_rng(seed)
    column = rng.normal(size=90)
    y = np.append(rng.integers(n_classes, size=90 - n_classes), np.arange(n_classes))
    codes = discretise(column, n_bins)
    counts = contingency_table(codes, y)
    assert mutual_information(counts) == pytest.approx(mutual_info_score(codes, y), abs=1e-12)
    found = chi_squared(counts)
    assert found == pytest.approx(chi2_contingency(counts, correction=False).statistic)


@settings(max_examples=40)
@given(SEEDS)
def test_conditional_information_keeps_the_chain_rule(seed):
    """I(X, Z; Y) = I(Z; Y) + I(X; Y | Z), and information is not negative."""
    x, y, z = (np.random.default_rng(seed).integers(size, size=60) for size in (4, 3, 5))
    conditional = conditional_mutual_information(contingency_table(x, y, z))
    expected = mutual_info_score(5 * x + z, y) - mutual_info_score(z, y)
    assert conditional == pytest.approx(expected, abs=1e-12)
    assert conditional > -1e-12


def test_conditional_scores_are_the_least_gain_over_the_features_before(iris):
    X, y = iris[:2]
    selector = FilterSelector(criterion="conditional_mutual_information", estimator=TINY).fit(*iris)
    order = np.argsort(selector.ranking_)
    codes = [discretise(column, 10) for column in X.T]
    for n, feature in enumerate(order[1:], start=1):
        gains = {}
        for other in order[n:]:
            tables = (contingency_table(codes[other], y, codes[kept]) for kept in order[:n])
            gains[other] = min(map(conditional_mutual_information, tables))
        assert gains[feature] == max(gains.values()) == pytest.approx(selector.scores_[feature])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_p_values_are_those_of_the_t_test_and_of_the_analysis_of_variance(iris, n_classes):
    X, y = iris[0][iris[1] < n_classes], iris[1][iris[1] < n_classes]
    groups = [X[y == label] for label in range(n_classes)]
    expected = -np.log10((ttest_ind if n_classes == 2 else f_oneway)(*groups).pvalue)
    selector = FilterSelector(1, criterion="t_test", estimator=TINY).fit(X, y, X, y)
    assert_allclose(selector.scores_, expected)
    assert selector.ranking_[expected.argmax()] == 1


def test_ratio_of_a_feature_that_is_the_class_is_infinite_and_that_of_a_constant_undefined():
    ratios, df = variance_ratios(HAND_X, HAND_Y)
    # Of feature 1: between the classes 8 / 4² = 1/2, within them 4 · 3/16 · 2 = 3/2.
    assert_allclose(ratios, [np.inf, (1 / 2) / (3 / 2 / 6), np.nan, 0.0])
    assert df == (1, 6)
    selector = FilterSelector(1, criterion="t_test", estimator=SMALL).fit(*[HAND_X, HAND_Y] * 2)
    assert_array_equal(selector.ranking_, [1, 2, 4, 3])


def test_p_values_below_the_smallest_number_still_rank():
    rng = np.random.default_rng(0)
    y = np.arange(4000) % 2
    X = np.column_stack([y + 0.1 * rng.normal(size=4000), y + 0.05 * rng.normal(size=4000)])
    selector = FilterSelector(1, criterion="t_test", estimator=TINY).fit(X, y, X, y)
    assert_array_equal(selector.scores_, [np.inf, np.inf])
    assert_array_equal(selector.ranking_, [2, 1])


# One standard error of an error of 10 % in 100 samples is 3 points.
@pytest.mark.parametrize(
    ("errors", "sizes", "rule", "chosen"),
    [
        ([13.1, 12.9, 10.0, 10.0], [1, 2, 3, 4], "least_error", 2),
        ([13.1, 12.9, 10.0, 10.0], [1, 2, 3, 4], "one_standard_error", 1),
        ([12.95, 12.9, 10.0], [1, 2, 3], "one_standard_error", 0),
        ([11.0, 10.5, 10.0], [2, 2, 3], "one_standard_error", 1),
    ],
)
def test_sizes_by_hand(errors, sizes, rule, chosen):
    assert choose_candidate(errors, sizes, 100, rule) == chosen


@pytest.mark.parametrize("make", SELECTORS)
def test_size_is_the_smallest_of_the_least_validation_error(noisy, make):
    selector = make(estimator=SMALL, random_state=0).fit(*noisy)
    errors = errors_by_size(selector)
    n = min(size for size, error in errors.items() if error == min(errors.values()))
    assert selector.n_features_ == selector.get_support().sum() == n
    assert selector.ranking_[selector.support_].max() <= n or make is BackwardSelector


def test_left_out_features_are_restored_by_their_mean(noisy):
    X = noisy[0]
    selector = FilterSelector(2, estimator=SMALL, random_state=0).fit(*noisy)
    restored = selector.inverse_transform(selector.transform(X))
    assert_allclose(restored, np.where(selector.support_, X, X.mean(axis=0)))


def errors_of_subsets(split, subsets):
    """Return the error of the nearest neighbours in percent with each subset of the features, by a plain loop."""
    X, y, X_val, y_val = split
    predictions = [
        KNeighborsClassifier(5).fit(X[:, kept], y).predict(X_val[:, kept]) for kept in subsets
    ]
    return [100 * np.mean(predicted != y_val) for predicted in predictions]


@pytest.mark.parametrize("make", [ForwardSelector, BackwardSelector])
def test_a_search_is_the_greedy_one(iris, make):
    selector = make(estimator=KNeighborsClassifier(5), patience=None).fit(*iris)
    forward, moved = make is ForwardSelector, []
    for _ in range(4 if forward else 3):
        left = [feature for feature in range(4) if feature not in moved]
        subsets = [
            [*moved, one] if forward else [other for other in left if other != one] for one in left
        ]
        errors = errors_of_subsets(iris, subsets)
        moved.append(left[int(np.argmin(errors))])
        assert errors_by_size(selector)[len(subsets[0])] == pytest.approx(min(errors))
    ranked = np.argsort(selector.ranking_)
    assert_array_equal(ranked if forward else ranked[:0:-1], moved)


def test_an_exhaustive_search_has_the_best_subset_of_each_size_of_all_subsets(iris):
    selector = ExhaustiveSelector(estimator=KNeighborsClassifier(5)).fit(*iris)
    best = []
    for size in range(1, 5):
        subsets = [list(kept) for kept in itertools.combinations(range(4), size)]
        errors = errors_of_subsets(iris, subsets)
        assert errors_by_size(selector)[size] == pytest.approx(min(errors))
        best.append(subsets[int(np.argmin(errors))])
    assert np.flatnonzero(selector.support_).tolist() in best
    lacking = [sum(feature not in kept for kept in best) for feature in range(4)]
    assert_array_equal(selector.ranking_, np.add(lacking, 1))
    pair = ExhaustiveSelector(2, estimator=KNeighborsClassifier(5)).fit(*iris)
    assert np.flatnonzero(pair.support_).tolist() == best[1]


@pytest.mark.parametrize(
    ("errors", "patience", "n_steps"),
    [
        ([5, 4, 4, 4, 1], 2, 4),
        ([5, 4, 4, 4, 1], 3, 5),
        ([5, 4, 4, 4, 1], None, 5),
        ([3, 2, 1], 1, 3),
    ],
)
def test_patience_counts_steps_without_a_better_subset(errors, patience, n_steps):
    steps = [Step(tuple(range(size)), float(error)) for size, error in enumerate(errors, start=1)]
    assert len(search_path(steps, patience)) == n_steps


def test_smaller_subset_of_equal_error_counts_as_better():
    steps = [Step(tuple(range(size)), 2.0) for size in (5, 4, 3, 2, 1)]
    assert len(search_path(steps, 1)) == 5


def test_saliency_sums_the_products_along_all_ways_with_and_without_shortcuts(iris):
    given = {"max_epochs": 5, "random_state": 0}
    network = RpropMLPClassifier((3, 2), **given).fit(*iris)
    first, second, last = network.coefs_
    for feature in range(4):
        by_hand = sum(
            abs(first[feature, i] * second[i, j] * last[j, k])
            for i, j, k in itertools.product(range(3), range(2), range(3))
        )
        assert weight_saliency(network)[feature] == pytest.approx(by_hand)
    network = RpropMLPClassifier((3,), shortcuts=True, **given).fit(*iris)
    hidden, outputs = (np.abs(coefs) for coefs in network.coefs_)
    expected = (outputs[:4] + hidden @ outputs[4:]).sum(axis=1)
    assert_allclose(weight_saliency(network), expected)


def test_elimination_averages_its_networks(noisy):
    X_val, y_val = noisy[2:]
    selector = NetworkRFE(n_networks=3, estimator=SMALL, random_state=2).fit(*noisy)
    seeds = np.random.default_rng(2).integers(2**31, size=4)[1:]
    networks = [clone(SMALL).set_params(random_state=int(seed)).fit(*noisy) for seed in seeds]
    errors = [np.mean(network.predict(X_val) != y_val) for network in networks]
    assert errors_by_size(selector)[5] == pytest.approx(100 * np.mean(errors))
    weakest = np.mean([weight_saliency(network) for network in networks], axis=0).argmin()
    assert selector.ranking_[weakest] == 5


def test_classifier_keeps_a_seed_of_its_own():
    rng = np.random.default_rng(0)
    assert candidate_classifier(RpropMLPClassifier(random_state=7), rng).random_state == 7
    assert candidate_classifier(RpropMLPClassifier(), rng).random_state is not None
    assert candidate_classifier(KNeighborsClassifier(3), rng).n_neighbors == 3
    assert candidate_classifier(None, rng).hidden_layer_sizes == (16,)


@given(st.sampled_from([1.0, -1.0]), st.integers(2, 20), st.floats(0.55, 0.95), SEEDS)
def test_a_value_that_most_samples_have_is_an_interval_of_its_own(sign, n_bins, share, seed):
    rare = np.arange(200) >= round(200 * share)
    column = sign * np.where(rare, 1.0 + np.random.default_rng(seed).random(200), 0.0)
    codes = discretise(column, n_bins)
    assert len(set(codes[~rare])) == 1
    assert set(codes[~rare]).isdisjoint(codes[rare])
    assert_array_equal(np.unique(codes), np.arange(codes.max() + 1))
    assert codes.max() < n_bins


@given(*[st.integers(1, 40)] * 4)
def test_mutual_information_of_independent_features_is_zero(a, b, c, d):
    assert mutual_information(np.outer([a, b], [c, d]).astype(float)) == 0.0


class _Wrong(ClassifierMixin, BaseEstimator):
    """A stand-in for networks that are wrong on given numbers of validation samples, in the order of their fits."""

    counts: ClassVar[Iterator[int]]

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):  # noqa: ARG002 - scikit-learn's contract
        self.coefs_, self.n_wrong_ = [np.ones((X.shape[1], 1))], next(_Wrong.counts)
        return self

    def predict(self, X):
        return (np.arange(len(X)) < self.n_wrong_).astype(int)


COUNTS = st.lists(st.integers(0, 7), min_size=3, max_size=8)


@given(by_size=COUNTS.flatmap(lambda counts: st.tuples(*[st.permutations(counts)] * 3)))
def test_of_sizes_with_as_many_errors_of_all_networks_the_least_is_chosen(by_size):
    """In other orders, means of 100 k / 7 differ in the last digit."""
    _Wrong.counts = iter(itertools.chain(*by_size))
    X = np.eye(7, 3)
    rfe = NetworkRFE(n_networks=len(by_size[0]), estimator=_Wrong()).fit(
        X, np.arange(7) % 2, X, np.zeros(7, dtype=int)
    )
    assert rfe.n_features_ == 1
    assert len(set(rfe.history_["validation_error_percent"])) == 1


@pytest.mark.parametrize("criterion", sorted({*get_args(Criterion)} - {"accuracy"}))
def test_a_feature_in_another_unit_has_the_same_rank(criterion):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=40), rng.integers(0, 3, 40)
        units = np.column_stack([x, 1.8 * x + 32.0])
        assert score_features(units, y, criterion, 10, rng)[1].tolist() == [0, 1]
