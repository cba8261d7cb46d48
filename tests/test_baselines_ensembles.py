"""Bagging and AdaBoost: hand-worked weights and votes, and scikit-learn's AdaBoost."""

import numpy as np
import pytest
from networks import weights_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoost
from sklearn.tree import DecisionTreeClassifier

from pppca_bench.classifiers import RpropMLPClassifier, training_data
from pppca_bench.classifiers.ensembles import AdaBoostClassifier, BaggingClassifier
from pppca_bench.classifiers.sklearn_classifiers import MajorityClassifier, StumpClassifier

SMALL = RpropMLPClassifier((3,), max_epochs=100)


BOTH = pytest.mark.parametrize("make", [BaggingClassifier, AdaBoostClassifier])


@BOTH
def test_members_have_different_seeds_and_their_epochs_add_up_and_the_base_is_unchanged(iris, make):
    ensemble = make(SMALL, 3, random_state=0).fit(*iris)
    assert len({net.random_state for net in ensemble.estimators_}) == len(ensemble.estimators_)
    assert SMALL.random_state is None
    assert not hasattr(SMALL, "coefs_")
    assert ensemble.n_epochs_ == sum(len(net.training_curve_) for net in ensemble.estimators_)
    assert ensemble.best_epoch_ == sum(net.best_epoch_ for net in ensemble.estimators_)


def test_majority_is_counted_by_hand():
    outputs = [
        np.array([[0.9, 0.0, 0.0]]),
        np.array([[0.3, 0.2, 0.4]]),
        np.array([[0.0, 0.1, 0.2]]),
    ]
    assert_allclose(BaggingClassifier(vote="majority")._combine(outputs), [[1 / 3, 0.0, 2 / 3]])
    assert_allclose(BaggingClassifier()._combine(outputs), [[0.4, 0.1, 0.2]])


@pytest.fixture
def drawn(iris, monkeypatch):
    """Return a function that returns the training samples of fifty members."""
    sets = []
    monkeypatch.setattr(
        BaggingClassifier, "_fit_members", lambda _self, _split, samples, _rng: sets.extend(samples)
    )

    def draw(**settings):
        BaggingClassifier(n_estimators=50, random_state=0, **settings).fit(*iris)
        return sets

    return draw


def test_bootstrap_samples_are_as_large_as_the_data_and_leave_a_third_of_them_out(drawn):
    samples = drawn()
    assert {len(rows) for rows in samples} == {90}
    assert np.mean([1 - len(np.unique(rows)) / 90 for rows in samples]) == pytest.approx(
        np.exp(-1), abs=0.02
    )


def test_subagging_draws_half_of_the_data_without_replacement(drawn):
    samples = drawn(sample_share=0.5, replace=False)
    assert {(len(rows), len(set(rows))) for rows in samples} == {(45, 45)}
    assert len({tuple(rows) for rows in samples}) == 50
    assert_allclose(np.bincount(np.concatenate(samples)) / 50, 0.5, atol=0.3)


def test_members_learn_from_the_labels_of_their_samples_and_share_the_validation_data(iris):
    X, y, X_val, y_val = iris
    (member,) = BaggingClassifier(SMALL, 1, random_state=0).fit(*iris).estimators_
    rows = np.random.default_rng(0).integers(90, size=90)
    assert_array_equal(
        weights_of(member), weights_of(clone(member).fit(X[rows], y[rows], X_val, y_val))
    )


def test_a_sample_is_never_empty():
    X, y = np.arange(12.0)[:, None], np.arange(12) % 2
    assert (
        len(
            BaggingClassifier(StumpClassifier(), 3, sample_share=0.01, random_state=0)
            .fit(X, y, X, y)
            .estimators_
        )
        == 3
    )


def test_stump_accepts_classes_without_samples():
    stump = StumpClassifier().fit([[0.0], [1.0]], [0, 2], classes=range(4))
    assert_array_equal(stump.classes_, range(4))
    assert_array_equal(stump.predict([[0.0], [1.0]]), [0, 2])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosted_stumps_are_scikit_learns(n_classes):
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=0.8, size=X.shape)
    X, y = X[y >= 3 - n_classes], y[y >= 3 - n_classes]
    ours = AdaBoostClassifier(StumpClassifier(), 25, random_state=0).fit(X, y, X, y)
    tree = DecisionTreeClassifier(max_depth=1, criterion="entropy")
    expected = SklearnAdaBoost(tree, n_estimators=25, random_state=0).fit(X, y)
    assert len(ours.estimators_) == 25
    assert_allclose(ours.estimator_weights_, expected.estimator_weights_)
    assert_array_equal(ours.predict(X), expected.predict(X))
    assert ours.score(X, y) > StumpClassifier().fit(X, y).score(X, y) + 0.05


def test_ensemble_of_stumps_has_no_epochs(iris):
    ensemble = AdaBoostClassifier(StumpClassifier(), 5, random_state=0).fit(*iris)
    assert not hasattr(ensemble, "n_epochs_")


class Weak:
    """A network that misclassifies the given samples; its inputs are the samples' numbers."""

    n_epochs_ = best_epoch_ = 1

    def __init__(self, wrong):
        self.wrong = wrong

    def predict(self, X):
        labels = np.arange(len(X)) % 2
        labels[self.wrong] = 1 - labels[self.wrong]
        return labels

    def _outputs(self, X):
        return np.eye(2)[self.predict(X)]


def boosted(monkeypatch, wrong_of_each_round, n_estimators=10):
    """Boost ten samples with networks of known mistakes; return the ensemble and the weights of each round."""
    rounds, chosen = iter(wrong_of_each_round), []

    class Generator:
        def choice(self, n_samples, size, p):
            assert len(p) == n_samples
            chosen.append(p)
            return np.zeros(size, dtype=int)

    monkeypatch.setattr(training_data, "make_generator", lambda _: Generator())
    monkeypatch.setattr(AdaBoostClassifier, "_fit_members", lambda *_: [Weak(next(rounds))])
    X, y = np.arange(10.0)[:, None], np.arange(10) % 2
    return AdaBoostClassifier(n_estimators=n_estimators).fit(X, y, X, y), chosen


def test_boosting_of_ten_samples_by_hand(monkeypatch):
    """Three mistakes a round: ε = 0.30, 0.21, 0.14 and α / 2 = 0.42, 0.65, 0.92, as in Schapire's ten-point example."""
    ensemble, weights = boosted(monkeypatch, [[0, 1, 2], [3, 4, 5], [6, 7, 8]], n_estimators=3)
    assert_allclose(weights[1], [1 / 6] * 3 + [1 / 14] * 7)
    assert_allclose(ensemble.estimator_weights_, np.log([7 / 3, 11 / 3, 19 / 3]))
    assert_array_equal(ensemble.predict(np.zeros((10, 1))), np.arange(10) % 2)


@pytest.mark.parametrize(
    ("wrong", "votes"),
    [([[0], []], [9, 19]), ([[0], [0]], [9]), ([[0, 1, 2, 3, 4, 5]], [np.e])],
    ids=["no errors have a finite vote", "chance is dropped", "the first is kept"],
)
def test_a_network_without_errors_or_no_better_than_chance_ends_the_boosting(
    monkeypatch, wrong, votes
):
    ensemble, _ = boosted(monkeypatch, wrong)
    assert_allclose(ensemble.estimator_weights_, np.log(votes))


def test_a_sample_with_more_than_half_of_the_weight_ends_the_boosting():
    X, y = np.arange(30.0)[:, None] // 10, np.arange(30) // 10
    y[0] = 2  # the only mistake of a network that knows the others; its share becomes (K − 1) / K
    first = AdaBoostClassifier(
        RpropMLPClassifier((4,), initial_weight_range=0.5, random_state=0), 9, random_state=0
    )
    assert len(first.fit(X, y, X, y).estimators_) == 1


def test_the_majority_class_is_predicted_whatever_the_features():
    y = np.array([2, 0, 2, 1, 2, 0])
    fitted = MajorityClassifier().fit(np.arange(12.0).reshape(6, 2), y)
    assert_array_equal(fitted.predict(np.array([[1e9, -1e9], [0.0, 0.0]])), [2, 2])
    assert fitted.n_features_ == 0
    # Three of six.
    assert fitted.score(np.zeros((6, 2)), y) == 0.5
