"""Genetic algorithm for inputs and hidden nodes: masks, fitness, and training by RPROP."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pppca_bench.classifiers import RpropMLPClassifier
from pppca_bench.classifiers.genetic_mlp import StructureGAClassifier, least_error
from pppca_bench.classifiers.gradient_mlp import train_by_rprop
from pppca_bench.classifiers.network import Architecture, weight_masks
from pppca_bench.classifiers.training import TrainedNet

TINY = {"population_size": 8, "max_generations": 3, "max_epochs": 30}


@pytest.fixture(scope="module")
def noisy():
    """Six features: the second and the fourth determine the class, the others are noise."""
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(300, 6))
    y = (X[:, 1] + X[:, 3] > 1.0).astype(int)
    return X[:200], y[:200], X[200:], y[200:]


def test_masks_by_hand():
    # inputs 0 and 2 of 3, node 0 of 2, node 0 of 1
    kept = np.array([True, False, True, True, False, True])
    first, second, last = weight_masks(Architecture(3, (2, 1), 2, False, "linear"), kept)
    assert_array_equal(first, [[1, 1, 0, 1], [0, 0, 0, 0]])
    assert_array_equal(second, [[1, 1, 0]])
    assert_array_equal(last, [[1, 1], [1, 1]])
    *_, last = weight_masks(Architecture(3, (2, 1), 2, True, "linear"), kept)
    assert_array_equal(last, [[1, 1, 0, 1, 1, 0, 1]] * 2)


@pytest.mark.parametrize("shortcuts", [False, True])
def test_weights_of_left_out_nodes_are_zero_after_the_training(noisy, shortcuts):
    net = StructureGAClassifier((4, 2), shortcuts=shortcuts, random_state=0, **TINY).fit(*noisy)
    assert not net.kept_.all()
    for mask, matrix in zip(weight_masks(net._architecture, net.kept_), net._weights, strict=True):
        assert (matrix[~mask] == 0.0).all()
        assert (matrix[mask] != 0.0).any() or not mask.any()


def test_result_is_the_network_that_rprop_gives_without_those_nodes(noisy):
    """A node that is left out and one that never was there are the same to the others."""
    X, y, X_val, y_val = noisy
    net = StructureGAClassifier((), random_state=4, **TINY).fit(*noisy)
    small = RpropMLPClassifier((), max_epochs=30)
    of_full, of_small = (
        one._make_task(*one._prepare(data, None))
        for one, data in (
            (StructureGAClassifier((), random_state=4, **TINY), noisy),
            (small, (X[:, net.kept_], y, X_val[:, net.kept_], y_val)),
        )
    )
    columns = np.concatenate([[True], net.kept_])
    of_small.weights[0][:] = of_full.weights[0][:, columns]
    of_small.steps[0][:] = of_full.steps[0][:, columns]
    (trained,) = train_by_rprop([of_small], small)
    assert_allclose(net._weights[0][:, columns], trained.weights[0], atol=1e-12)
    assert_allclose(net.validation_curve_, trained.validation_curve, rtol=1e-9)


def test_informative_inputs_are_kept(noisy):
    net = StructureGAClassifier((4,), random_state=0).fit(*noisy)
    assert net.kept_[[1, 3]].all()
    assert net.n_features_ < 6
    assert net.score(*noisy[2:]) > 0.9


def test_strings_are_judged_without_the_validation_data(noisy):
    X, y, X_val, y_val = noisy
    one, other = (
        StructureGAClassifier((3,), random_state=0, **TINY).fit(X, y, *validation)
        for validation in ((X_val, y_val), (X_val[::-1] ** 2, 1 - y_val))
    )
    assert_array_equal(one.kept_, other.kept_)
    assert_array_equal(one.history_["best_error"], other.history_["best_error"])


def test_the_fittest_string_never_gets_worse_and_patience_ends_the_evolution(noisy):
    net = StructureGAClassifier((3,), random_state=1, patience=2, max_generations=30).fit(*noisy)
    best = net.history_["best_error"]
    assert (np.diff(best) <= 0.0).all()
    assert len(best) == int(np.argmin(best)) + 3


def test_training_that_broke_down_is_the_worst():
    curve = np.array([3.0, 1.0, 2.0])
    assert least_error(TrainedNet([], 1, curve, curve, "max_epochs")) == 1.0
    assert least_error(TrainedNet([], 1, curve, curve, "not_finite")) == np.inf
