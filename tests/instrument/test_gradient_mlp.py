"""RPROP and backpropagation networks: training, fitting together, scaling, held-out shares."""

import numpy as np
import pytest
from networks import weights_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import r2_score

from pppca_bench.classifiers import (
    BackpropMLPClassifier,
    RpropMLPClassifier,
    RpropMLPRegressor,
    fit_together,
)

# ---- RPROP classifier


def test_fitting_together_gives_the_same_bits_as_fitting_alone(iris):
    """Different seeds, widths, projections and sizes, and sets without validation data; nothing gives nothing."""
    X, y, X_val, y_val = iris
    given = {"shortcuts": True, "max_epochs": 40}
    classifiers = [RpropMLPClassifier((4, 2), **given, random_state=seed) for seed in range(12)]
    sets = []
    for seed in range(12):
        W, n = np.random.default_rng(seed).normal(size=(4, 1 + seed % 4)), 90 - seed % 2
        sets.append((X[:n] @ W, y[:n], *((X_val @ W, y_val) if seed % 3 else (None, None))))
    alone = [clone(one).fit(*data) for one, data in zip(classifiers, sets, strict=True)]
    together = fit_together(classifiers, sets)
    assert all(one is other for one, other in zip(together, classifiers, strict=True))
    for one, other in zip(alone, together, strict=True):
        assert_array_equal(weights_of(one), weights_of(other))
        assert_array_equal(one.training_curve_, other.training_curve_)
        assert_array_equal(one.validation_curve_, other.validation_curve_)
    assert fit_together([], []) == []


def test_class_that_only_the_validation_data_have_gets_an_output(iris):
    X, y, X_val, y_val = iris
    few = y != 2
    classifier = RpropMLPClassifier((3,), max_epochs=20, random_state=0).fit(
        X[few], y[few], X_val, y_val
    )
    assert_array_equal(classifier.classes_, [0, 1, 2])
    assert classifier.decision_function(X).shape == (90, 3)


@pytest.mark.parametrize("network", [RpropMLPClassifier, BackpropMLPClassifier])
def test_balanced_classes_have_as_many_samples_as_the_most_frequent_class(iris, network):
    """Of 3, 2 and 1 training samples, and 2 and 1 validation samples; regressors have no classes to balance."""
    X, y = iris[0], iris[1]
    first, second, third = (X[y == number] for number in range(3))
    training = np.concatenate([first[:3], second[:2], third[:1]]), [0, 0, 0, 1, 1, 2]
    validation = np.concatenate([first[5:7], second[5:6]]), [0, 0, 1]
    repeated = np.concatenate([first[:3], second[[0, 1, 0]], third[[0, 0, 0]]])
    validated = np.concatenate([first[5:7], second[[5, 5]]])
    given = {"max_epochs": 20, "random_state": 0}
    plain = network((3,), **given).fit(repeated, np.repeat([0, 1, 2], 3), validated, [0, 0, 1, 1])
    balanced = network((3,), class_weight="balanced", **given).fit(*training, *validation)
    assert_array_equal(weights_of(balanced), weights_of(plain))
    assert_array_equal(balanced.validation_curve_, plain.validation_curve_)
    assert "class_weight" not in RpropMLPRegressor().get_params()


def test_probabilities_are_the_nearest_to_the_outputs(iris):
    classifier = RpropMLPClassifier((), max_epochs=1, random_state=0).fit(*iris)
    classifier._weights = [np.array([[0.9, 0, 0, 0, 0], [0.5, 0, 0, 0, 0], [-0.3, 0, 0, 0, 0]])]
    assert_allclose(classifier.predict_proba(np.zeros((1, 4))), [[0.7, 0.3, 0.0]])
    assert_allclose(
        classifier.predict_log_proba(np.zeros((1, 4))), [[np.log(0.7), np.log(0.3), -np.inf]]
    )


@pytest.mark.parametrize(
    ("given", "sizes"), [([3, 2], (3, 2)), (np.array([3, 2]), (3, 2)), (np.int64(3), (3,))]
)
def test_layer_sizes_may_be_a_list_an_array_or_an_integer(iris, given, sizes):
    networks = [RpropMLPClassifier(one, max_epochs=2, random_state=0) for one in (sizes, given)]
    alone = clone(networks[1]).fit(*iris)
    for other in (alone, fit_together(networks, [iris, iris])[1]):
        assert_array_equal(other.decision_function(iris[0]), networks[0].decision_function(iris[0]))


def test_inputs_divided_by_their_root_mean_square_do_not_depend_on_origin_and_scale():
    X, y = np.random.default_rng(3).normal(size=(60, 4)), np.arange(60) % 3
    unfitted = RpropMLPClassifier((3,), input_scaling="rms", max_epochs=20, random_state=0)
    network, moved = clone(unfitted).fit(X, y), clone(unfitted).fit(8.0 * X + 64.0, y)
    assert_allclose(network.scale_, np.sqrt(np.mean((X - network.mean_) ** 2)), rtol=0.1)
    assert_allclose(
        moved.decision_function(8.0 * X + 64.0), network.decision_function(X), atol=1e-9
    )
    assert unfitted.fit(np.ones((9, 2)), y[:9]).scale_ == 1.0


# ---- RPROP regressor


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
    assert_array_equal(weights_of(network), weights_of(classifier))
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
    assert_array_equal(weights_of(one), weights_of(other))


def test_without_validation_data_a_share_is_held_out():
    X, y, _, _ = approximation(1, n_samples=90)
    network = RpropMLPRegressor((4,), random_state=0).fit(X, y)
    assert network.score(X, y) > 0.8
    found = network.measures_["connection_traversals"]
    assert found == 21 * (network.n_epochs_ * (2 * 60 + 1) + 30 * len(network.validation_curve_))


# ---- Backpropagation classifier


@pytest.mark.parametrize("activations", [("logistic", "linear"), ("softsign", "logistic")])
def test_outputs_after_training_are_those_that_the_training_measured(iris, activations):
    X, y, X_val, y_val = iris
    X, X_val = (inputs * [1, 10, 100, 1000] + 5 for inputs in (X, X_val))
    names = dict(zip(("hidden_activation", "output_activation"), activations, strict=True))
    given = {"standardise": True, "max_epochs": 12, "random_state": 3} | names
    classifier = BackpropMLPClassifier((4, 3), **given).fit(X, y, X_val, y_val)
    error = np.mean((classifier.decision_function(X_val) - np.eye(3)[y_val]) ** 2)
    assert 100 * error == pytest.approx(classifier.validation_curve_[-1], rel=1e-10)
    assert all(np.all(intercepts != 0) for intercepts in classifier.intercepts_)


@pytest.mark.parametrize("smallest", [2.0, 1e-300])
def test_standardised_features_make_the_scale_of_the_data_indifferent(iris, smallest):
    X, y, X_val, y_val = iris
    shift, factor = np.array([3.0, -1.0, 0.0, 10.0]), np.array([0.1, 5.0, smallest, 30.0])
    one, other = (
        BackpropMLPClassifier((4,), standardise=True, max_epochs=5, random_state=0)
        for _ in range(2)
    )
    one.fit(X, y, X_val, y_val)
    other.fit(X * factor + shift, y, X_val * factor + shift, y_val)
    assert_allclose(weights_of(one), weights_of(other), rtol=1e-9, atol=1e-12)
    assert_allclose(other.mean_, shift + X.mean(axis=0) * factor, atol=1e-12)
    assert_allclose(other.scale_, X.std(axis=0) * factor)


def test_constant_feature_is_only_shifted():
    X = np.column_stack([np.full(20, 0.1), np.arange(20.0)])
    classifier = BackpropMLPClassifier((), standardise=True, max_epochs=2, random_state=0).fit(
        X, np.arange(20) > 9
    )
    assert_allclose(classifier.scale_, [1.0, X[:, 1].std()])


def test_learning_rate_falls_to_half_after_the_decay_epochs():
    """One weight, one sample: the step is rate times error, the error shrinks by 1 - rate."""
    X, y = np.zeros((2, 1)), [0, 0]
    parameters = {"decay_epochs": 1.0, "learning_rate": 0.4, "max_epochs": 2, "random_state": 0}
    classifier = BackpropMLPClassifier((), **parameters).fit(X, y, classes=[0, 1])
    one = BackpropMLPClassifier((), **parameters | {"max_epochs": 1}).fit(X, y, classes=[0, 1])
    shrinkage = (1 - classifier.intercepts_[0][0]) / (1 - one.intercepts_[0][0])
    assert shrinkage == pytest.approx((1 - 0.2) ** 2)


@pytest.mark.parametrize(
    ("rule", "decides"),
    [({}, False), ({"keep": "best"}, True), ({"generalisation_loss": 5.0}, True)],
)
def test_a_share_is_held_out_where_the_validation_error_decides(iris, rule, decides):
    X, y = iris[:2]
    classifier, given = (
        BackpropMLPClassifier((4,), **rule, max_epochs=5, random_state=0).fit(X, y, *validation)
        for validation in ((), (X, y))
    )
    assert np.array_equal(weights_of(classifier), weights_of(given)) != decides
