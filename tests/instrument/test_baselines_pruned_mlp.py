"""Pruned networks: saliencies, removed weights, and the size chosen on validation data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import paths_to_outputs, squared_error
from numpy.testing import assert_array_equal

from pppca_bench.classifiers import RpropMLPClassifier
from pppca_bench.classifiers.network import Architecture, connected_inputs, uniform_per_weight
from pppca_bench.classifiers.pruned_mlp import (
    PrunedMLPClassifier,
    n_remaining,
    optimal_brain_damage,
    prune_masks,
)

ARCHITECTURES = [
    Architecture(3, hidden, 2, shortcuts, activation)
    for hidden in [(), (3,), (3, 2), (2, 2, 2)]
    for shortcuts in (False, True)
    for activation in ("linear", "softsign")
]


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=str)
def test_saliencies_are_those_of_finite_differences(architecture):
    rng = np.random.default_rng(0)
    matrices = uniform_per_weight(architecture, -2.0, 2.0, rng)
    data = rng.normal(size=(7, 3)), rng.uniform(size=(7, 2))
    how = *data, architecture.shortcuts, architecture.output_activation
    h, saliencies = 1e-4, optimal_brain_damage(architecture, matrices, *data)
    for matrix, saliency in zip(matrices, saliencies, strict=True):
        for weight in np.ndindex(saliency.shape):
            errors, w = [], matrix[weight]
            for change in (-h, h, 0.0):
                matrix[weight] = w + change
                errors.append(squared_error(matrices, *how))
            second_derivative = 0.5 * (errors[0] + errors[1] - 2.0 * errors[2]) / h**2
            found = saliency[weight]
            assert found == pytest.approx(0.5 * second_derivative * w**2, rel=1e-5, abs=1e-5)


@settings(max_examples=60)
@given(st.sampled_from(ARCHITECTURES), st.integers(0, 2**32 - 1), st.floats(0.1, 0.9))
def test_inputs_are_connected_where_a_path_leads_to_an_output(architecture, seed, share):
    rng = np.random.default_rng(seed)
    masks = [draws < share for draws in uniform_per_weight(architecture, 0.0, 1.0, rng)]
    found = connected_inputs(architecture, masks).tolist()
    assert found == paths_to_outputs(masks, 3, architecture.shortcuts)


def test_the_least_salient_of_the_remaining_weights_go_and_biases_stay():
    masks = [np.array([[True, True, False], [True, True, True]]), np.array([[True, True, True]])]
    saliencies = [np.array([[0.0, 5.0, 0.1], [0.0, 2.0, 9.0]]), np.array([[0.0, -1.0, 3.0]])]
    left = prune_masks(masks, saliencies, 0.4)
    assert_array_equal(left[0], [[True, True, False], [True, False, True]])
    assert_array_equal(left[1], [[True, False, True]])
    assert (n_remaining(masks), n_remaining(left)) == (5, 3)
    assert n_remaining(prune_masks(masks, saliencies, 0.01)) == 4, "at least one goes"


def test_deleted_weights_are_zero_and_all_others_are_not(iris):
    classifier = PrunedMLPClassifier((6,), random_state=0).fit(*iris)
    assert sum(np.count_nonzero(matrix) for matrix in classifier.coefs_) == classifier.n_weights_
    assert classifier.n_weights_ == classifier.measures_["n_weights"] < 4 * 6 + 6 * 3
    assert all(vector.all() for vector in classifier.intercepts_)


def test_features_are_those_that_change_the_outputs():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 6))
    y = (X[:, 2] > 0).astype(int)
    classifier = PrunedMLPClassifier((2,), random_state=0).fit(X[:120], y[:120], X[120:], y[120:])
    outputs = classifier.decision_function(X)
    changes = [
        not np.array_equal(classifier.decision_function(X + np.eye(6)[i]), outputs)
        for i in range(6)
    ]
    assert classifier.n_features_ == sum(changes) < 6
    assert changes[2]


def test_each_round_deletes_the_fraction_until_there_are_no_more_weights_than_outputs(iris):
    """The first round is the training of the unpruned network."""
    unpruned = RpropMLPClassifier((4,), random_state=3).fit(*iris)
    path = PrunedMLPClassifier((4,), prune_fraction=0.5, random_state=3).fit(*iris)
    assert_array_equal(path.history_["n_weights"], [4 * 4 + 4 * 3, 14, 7, 3])
    assert_array_equal(path.training_curve_[: unpruned.n_epochs_], unpruned.training_curve_)
    assert path.history_["validation_error"][0] == unpruned.validation_curve_.min()


def test_result_is_the_network_of_the_least_validation_error_of_all_rounds(iris):
    X, y, X_val, y_val = iris
    classifier = PrunedMLPClassifier((6,), random_state=1).fit(X, y, X_val, y_val)
    errors, sizes = classifier.history_["validation_error"], classifier.history_["n_weights"]
    error = 100 * np.mean((classifier.decision_function(X_val) - np.eye(3)[y_val]) ** 2)
    assert error == pytest.approx(errors.min(), rel=1e-12)
    assert classifier.n_weights_ == sizes[errors == errors.min()].min()
    assert classifier.validation_curve_.min() == errors.min()
    assert classifier.n_epochs_ == len(classifier.training_curve_) > classifier.best_epoch_


def test_rounds_after_the_first_are_no_longer_than_retraining_may_be(iris):
    long, short = (
        PrunedMLPClassifier((3,), retrain_epochs=n, random_state=1).fit(*iris) for n in (50, 5)
    )
    rounds = len(short.history_["n_weights"]) - 1
    unpruned = RpropMLPClassifier((3,), random_state=1).fit(*iris).n_epochs_
    assert short.n_epochs_ <= unpruned + 5 * rounds
    assert long.n_epochs_ > short.n_epochs_
