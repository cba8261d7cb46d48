"""RPROP regressor: training against plain loops, shapes, scores and errors."""

import numpy as np
import pytest
import reference_classifier as reference
from networks import weights_of
from sklearn.base import clone
from sklearn.metrics import r2_score

from pppca_bench.classifiers import RpropMLPClassifier, RpropMLPRegressor, fit_together
from pppca_bench.classifiers.network import Architecture, uniform_per_weight


def approximation(n_outputs, seed=0, n_samples=30):
    """Return inputs and smooth targets from 0 to 1 of a training and a validation split; one output has no axis."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n_samples + n_samples // 2, 3))
    y = 0.5 + 0.4 * np.sin(X @ rng.normal(size=(3, n_outputs)) + 0.1 * rng.normal(size=(len(X), n_outputs)))
    y = y[:, 0] if n_outputs == 1 else y
    return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:]


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("output", ["linear", "softsign"])
@pytest.mark.parametrize(
    ("hidden", "shortcuts", "limits", "stop_reason"),
    [
        ((), False, {}, "training_progress"),
        ((3,), False, {"max_epochs": 33, "generalisation_loss": np.inf}, "max_epochs"),
        ((3, 2), True, {"generalisation_loss": 0.0}, "generalisation_loss"),
    ],
    ids=["linear", "one layer", "shortcuts"],
)
def test_training_agrees_with_plain_loops(n_outputs, output, hidden, shortcuts, limits, stop_reason):
    X, y, X_val, y_val = approximation(n_outputs)
    rule = {"max_epochs": 300, "generalisation_loss": 5.0} | limits
    network = RpropMLPRegressor(hidden, shortcuts=shortcuts, output_activation=output, random_state=4, **rule)
    network.fit(X, y, X_val, y_val)
    architecture, rng = Architecture(3, hidden, n_outputs, shortcuts, output), np.random.default_rng(4)
    weights = uniform_per_weight(architecture, -0.01, 0.01, rng)
    steps = uniform_per_weight(architecture, 0.005, 0.02, rng)
    expected = reference.train(
        [matrix.tolist() for matrix in weights],
        [matrix.tolist() for matrix in steps],
        (X.tolist(), y.reshape(-1, n_outputs).tolist()),
        (X_val.tolist(), y_val.reshape(-1, n_outputs).tolist()),
        shortcuts=shortcuts,
        output_activation=output,
        max_epochs=rule["max_epochs"],
        loss_limit=rule["generalisation_loss"],
    )
    assert network.stop_reason_ == expected.stop_reason == stop_reason
    assert (network.n_epochs_, network.best_epoch_) == (len(expected.training_curve), expected.best_epoch)
    np.testing.assert_allclose(network.training_curve_, expected.training_curve, rtol=1e-9)
    np.testing.assert_allclose(network.validation_curve_, expected.validation_curve, rtol=1e-9)
    outputs = [reference.forward(expected.weights, x, shortcuts, output)[-1][1] for x in X_val.tolist()]
    np.testing.assert_allclose(network.predict(X_val), np.reshape(outputs, y_val.shape), rtol=1e-9, atol=1e-12)
    for coefs, intercepts, matrix in zip(network.coefs_, network.intercepts_, expected.weights, strict=True):
        np.testing.assert_allclose(np.column_stack([intercepts, coefs.T]), matrix, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("chosen", [np.s_[:, 0], np.s_[:, :1], np.s_[:, :2]], ids=["no axis", "one", "two"])
def test_predictions_are_shaped_as_the_targets(chosen):
    X, y, _, _ = approximation(2)
    network = RpropMLPRegressor((2,), max_epochs=5, random_state=0).fit(X, y[chosen])
    assert network.predict(X).shape == y[chosen].shape
    assert network.predict(X[:7]).shape == y[:7][chosen].shape


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_a_smooth_function_is_approximated_and_the_score_is_its_determination(n_outputs):
    X, y, X_val, y_val = approximation(n_outputs, n_samples=80)
    network = RpropMLPRegressor((6,), random_state=1).fit(X, y, X_val, y_val)
    assert network.score(X_val, y_val) == pytest.approx(r2_score(y_val, network.predict(X_val)))
    assert network.score(X_val, y_val) > 0.8


def test_fitting_together_gives_the_same_bits_as_fitting_alone():
    """Different seeds, widths and sizes, one output with and without an axis, and sets without validation data."""
    networks, sets = [], []
    for seed in range(11):
        X, y, X_val, y_val = approximation(1 + seed % 2, seed, n_samples=30 - seed % 3)
        y, y_val = (y.reshape(len(y), -1), y_val.reshape(len(y_val), -1)) if seed % 4 else (y, y_val)
        width = 1 + seed % 3
        given = (X_val[:, :width], y_val) if seed % 5 else (None, None)
        networks.append(RpropMLPRegressor((4, 2), shortcuts=True, max_epochs=40, random_state=seed))
        sets.append((X[:, :width], y, *given))
    alone = [clone(network).fit(*data) for network, data in zip(networks, sets, strict=True)]
    together = fit_together(networks, sets)
    assert all(one is other for one, other in zip(together, networks, strict=True))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(weights_of(one), weights_of(other))
        np.testing.assert_array_equal(one.training_curve_, other.training_curve_)
        np.testing.assert_array_equal(one.validation_curve_, other.validation_curve_)


def test_a_class_is_learnt_as_a_classifier_learns_it():
    """Targets 0 and 1, one for each class: the same numbers, to the last bit."""
    X, y, X_val, y_val = approximation(1)
    classes, classes_val = (y > 0.5).astype(int), (y_val > 0.5).astype(int)
    classifier = RpropMLPClassifier((3,), random_state=2).fit(X, classes, X_val, classes_val)
    network = RpropMLPRegressor((3,), random_state=2).fit(X, np.eye(2)[classes], X_val, np.eye(2)[classes_val])
    np.testing.assert_array_equal(weights_of(network), weights_of(classifier))
    assert network.measures_ == classifier.measures_


@pytest.mark.parametrize("width", [1, 2])
def test_whole_numbers_are_targets_like_any_others(width):
    """A share that is held out is not stratified by them, though they look like classes."""
    X = approximation(1)[0]
    y = np.column_stack([np.arange(30) % 3, np.r_[np.zeros(29), 1.0]])[:, :width].squeeze()
    one, other = (RpropMLPRegressor((2,), max_epochs=5, random_state=0).fit(X, y.astype(kind)) for kind in (int, float))
    np.testing.assert_array_equal(weights_of(one), weights_of(other))


def test_without_validation_data_a_share_is_held_out():
    X, y, _, _ = approximation(1, n_samples=90)
    network = RpropMLPRegressor((4,), random_state=0).fit(X, y)
    assert network.score(X, y) > 0.8
    assert network.measures_["connection_traversals"] == 21 * (
        network.n_epochs_ * (2 * 60 + 1) + 30 * len(network.validation_curve_)
    )


@pytest.mark.parametrize(
    ("n_outputs", "of_validation", "told"),
    [
        (2, np.s_[:, :1], r"y_val of .*: expected as many outputs as y has, \(2,\), got \(1,\)"),
        (2, np.s_[:, 0], r"y_val of .*: expected as many outputs as y has, \(2,\), got \(\)"),
        (1, np.s_[:, None], r"y_val of .*: expected as many outputs as y has, \(\), got \(1,\)"),
    ],
)
def test_validation_targets_of_another_width_are_refused(n_outputs, of_validation, told):
    X, y, X_val, y_val = approximation(n_outputs)
    with pytest.raises(ValueError, match=told):
        RpropMLPRegressor().fit(X, y, X_val, y_val[of_validation])


def test_classes_are_refused():
    with pytest.raises(ValueError, match=r"classes of RpropMLPRegressor\(\): expected none, .* got some"):
        fit_together([RpropMLPRegressor()], [approximation(1)], classes=[0, 1])


@pytest.mark.parametrize("place", [1, 3], ids=["training", "validation"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_targets_that_are_not_finite_are_refused(place, bad):
    data = list(approximation(2))
    data[place] = data[place].copy()
    data[place][0, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        RpropMLPRegressor().fit(*data)
