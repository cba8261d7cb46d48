"""RPROP regressor: training against plain loops, shapes, scores and errors."""

import numpy as np
import pytest
from networks import weights_of
from sklearn.metrics import r2_score

from pppca_bench.classifiers import RpropMLPClassifier, RpropMLPRegressor


def approximation(n_outputs, n_samples=30):
    """Return inputs and smooth targets from 0 to 1 of a training and a validation split; one output has no axis."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n_samples + n_samples // 2, 3))
    y = 0.5 + 0.4 * np.sin(
        X @ rng.normal(size=(3, n_outputs)) + 0.1 * rng.normal(size=(len(X), n_outputs))
    )
    y = y[:, 0] if n_outputs == 1 else y
    return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:]


@pytest.mark.parametrize("chosen", [np.s_[:, 0], np.s_[:, :1], np.s_[:, :2]], ids=str)
def test_predictions_are_shaped_as_the_targets(chosen):
    X, y, _, _ = approximation(2)
    network = RpropMLPRegressor((2,), max_epochs=5, random_state=0).fit(X, y[chosen])
    assert network.predict(X[:7]).shape == y[:7][chosen].shape


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_a_smooth_function_is_approximated_and_the_score_is_its_determination(n_outputs):
    X, y, X_val, y_val = approximation(n_outputs, n_samples=80)
    network = RpropMLPRegressor((6,), random_state=1).fit(X, y, X_val, y_val)
    assert network.score(X_val, y_val) == pytest.approx(r2_score(y_val, network.predict(X_val)))
    assert network.score(X_val, y_val) > 0.8


def test_a_class_is_learnt_as_a_classifier_learns_it():
    """Targets 0 and 1, one for each class: the same numbers, to the last bit."""
    X, y, X_val, y_val = approximation(1)
    classes, classes_val = (y > 0.5).astype(int), (y_val > 0.5).astype(int)
    classifier = RpropMLPClassifier((3,), random_state=2).fit(X, classes, X_val, classes_val)
    network = RpropMLPRegressor((3,), random_state=2).fit(
        X, np.eye(2)[classes], X_val, np.eye(2)[classes_val]
    )
    np.testing.assert_array_equal(weights_of(network), weights_of(classifier))
    assert network.measures_ == classifier.measures_


@pytest.mark.parametrize("width", [1, 2])
def test_whole_numbers_are_targets_like_any_others(width):
    """A share that is held out is not stratified by them, though they look like classes."""
    X = approximation(1)[0]
    y = np.column_stack([np.arange(30) % 3, np.r_[np.zeros(29), 1.0]])[:, :width].squeeze()
    one, other = (
        RpropMLPRegressor((2,), max_epochs=5, random_state=0).fit(X, y.astype(kind))
        for kind in (int, float)
    )
    np.testing.assert_array_equal(weights_of(one), weights_of(other))


def test_without_validation_data_a_share_is_held_out():
    X, y, _, _ = approximation(1, n_samples=90)
    network = RpropMLPRegressor((4,), random_state=0).fit(X, y)
    assert network.score(X, y) > 0.8
    found = network.measures_["connection_traversals"]
    assert found == 21 * (network.n_epochs_ * (2 * 60 + 1) + 30 * len(network.validation_curve_))
