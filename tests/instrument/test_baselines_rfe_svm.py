"""RFESVM: informative features, the order of elimination, and the choice on validation data."""

import numpy as np
import pytest
from sklearn.svm import SVC

from pppca_bench.classifiers.sklearn_classifiers import RFESVMClassifier


@pytest.fixture
def two_of_five():
    """Return training and validation data whose class is the sign of x1 - x3; the other features are noise."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(240, 5)) * [5.0, 1.0, 0.01, 20.0, 1.0]
    y = np.where(X[:, 1] - X[:, 3] / 20.0 > 0, "yes", "no")
    return X[:160], y[:160], X[160:], y[160:]


def test_informative_features_are_kept_at_any_scale(two_of_five):
    classifier = RFESVMClassifier().fit(*two_of_five)
    np.testing.assert_array_equal(classifier.support_, [False, True, False, True, False])
    assert classifier.n_features_ == 2
    assert classifier.score(*two_of_five[2:]) > 0.95
    X = two_of_five[2]
    np.testing.assert_array_equal(classifier.predict(X), classifier.predict(X * [0, 1, 0, 1, 0]))


def test_an_informative_feature_of_the_smallest_unit_is_kept(two_of_five):
    X, y, X_val, y_val = two_of_five
    units = np.array([1.0, 1e-300, 1.0, 1.0, 1.0])
    classifier = RFESVMClassifier().fit(units * X, y, units * X_val, y_val)
    np.testing.assert_array_equal(classifier.support_, [False, True, False, True, False])


def eliminated_one_by_one(X, y, C):
    """Return the features by their order of elimination, the last one to stay at the end."""
    left, order = list(range(X.shape[1])), []
    while left:
        weights = SVC(C=C, kernel="linear").fit(X[:, left], y).coef_
        order.append(left.pop(int(np.argmin((weights**2).sum(axis=0)))))
    return order


@pytest.mark.parametrize("n_features", [1, 2, 3, 4])
def test_each_size_drops_the_least_weight_of_the_machine_one_larger(n_features):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(90, 5)), np.repeat([0, 1, 2], 30)
    X[y == 1, :3] += [1.0, 0.5, 0.2]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    classifier = RFESVMClassifier(C=[0.5], n_features=n_features).fit(X, y, X, y)
    found = set(np.flatnonzero(classifier.support_))
    assert found == set(eliminated_one_by_one(Z, y, 0.5)[-n_features:])


def test_of_equal_validation_errors_the_fewest_features_then_the_least_penalty_win(two_of_five):
    classifier = RFESVMClassifier(C=(1.0, 0.1)).fit(*two_of_five)
    history = classifier.history_
    names = ("validation_error_percent", "n_features", "C")
    rows = list(zip(*(history[name] for name in names), strict=True))
    assert len(rows) == 2 * 5
    assert classifier.measures_ == {"C": classifier.C_}
    error = 100 - 100 * classifier.score(*two_of_five[2:])
    assert min(rows) == (error, classifier.n_features_, classifier.C_)


def test_the_machine_has_seen_the_training_data_alone(two_of_five):
    X, y, X_val, y_val = two_of_five
    classifier = RFESVMClassifier(C=[1.0], n_features=5).fit(X, y, X_val, y_val)
    machine = SVC(C=1.0, kernel="linear").fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    np.testing.assert_allclose(classifier._machine.coef_, machine.coef_)
