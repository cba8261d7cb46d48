"""Genetic algorithms for networks: weights, with errors against a reference, and inputs and hidden nodes by RPROP."""

import numpy as np
import pytest
from naive import squared_error
from numpy.testing import assert_allclose, assert_array_equal

from pppca_bench.classifiers import RpropMLPClassifier
from pppca_bench.classifiers.genetic_mlp import (
    GAMLPClassifier,
    StructureGAClassifier,
    least_error,
    mutate,
)
from pppca_bench.classifiers.gradient_mlp import train_by_rprop
from pppca_bench.classifiers.network import Architecture, unpack, weight_masks
from pppca_bench.classifiers.training import TrainedNet, population_errors


@pytest.mark.parametrize("hidden", [(), (3, 2)])
@pytest.mark.parametrize("shortcuts", [False, True])
@pytest.mark.parametrize("activation", ["linear", "softsign"])
@pytest.mark.parametrize("n_networks", [1, 11])
def test_errors_of_a_population_are_the_references(hidden, shortcuts, activation, n_networks):
    architecture = Architecture(4, hidden, 3, shortcuts, activation)
    rng = np.random.default_rng(1)
    X, targets = rng.normal(size=(37, 4)), rng.uniform(size=(37, 3))
    population = rng.normal(size=(n_networks, architecture.n_weights))
    unpacked = (unpack(w, architecture, architecture) for w in population)
    errors = [squared_error(own, X, targets, shortcuts, activation) for own in unpacked]
    found = population_errors(architecture, X, targets)(population)
    assert_allclose(found, 100.0 / targets.size * np.array(errors), rtol=1e-12)


def test_mutation_adds_gaussian_noise_to_the_share_of_the_weights():
    children = np.full((500, 200), 3.0)
    mutate(children, 0.05, 0.4, np.random.default_rng(0))
    changed = children[children != 3.0] - 3.0
    assert changed.size / children.size == pytest.approx(0.05, abs=0.003)
    assert changed.std() == pytest.approx(0.4, rel=0.05)
    assert changed.mean() == pytest.approx(0.0, abs=0.03)


def test_the_history_has_training_errors_and_the_fittest_never_gets_worse(iris):
    given = {"mutation_scale": 2.0, "max_generations": 23, "random_state": 0}
    classifier = GAMLPClassifier((3,), **given).fit(*iris)
    best, mean = (classifier.history_[name] for name in ("best_error", "mean_error"))
    assert classifier.n_epochs_ == len(best) == len(mean) == 23
    assert (np.diff(best) <= 0).all()
    assert (mean >= best).all()
    assert_array_equal(best, classifier.training_curve_)


def test_result_is_the_fittest_network_of_the_generation_of_the_least_validation_error(iris):
    X, y, X_val, y_val = iris
    classifier = GAMLPClassifier((4,), random_state=2).fit(X, y, X_val, y_val)
    validation, training = (
        100 * np.mean((classifier.decision_function(inputs) - np.eye(3)[labels]) ** 2)
        for inputs, labels in ((X_val, y_val), (X, y))
    )
    assert validation == pytest.approx(classifier.validation_curve_.min())
    assert classifier.best_epoch_ == 5 * (1 + np.argmin(classifier.validation_curve_))
    assert training == pytest.approx(classifier.history_["best_error"][classifier.best_epoch_ - 1])


def test_evolution_ends_by_patience_or_at_the_last_generation(iris):
    patient, long = (
        GAMLPClassifier((3,), patience=patience, max_generations=limit, random_state=1).fit(*iris)
        for patience, limit in ((20, 2000), (500, 32))
    )
    assert (patient.stop_reason_, long.stop_reason_) == ("patience", "max_generations")
    assert patient.n_epochs_ == patient.best_epoch_ + 20
    assert (long.n_epochs_, len(long.validation_curve_)) == (32, 7)


def test_first_generation_may_be_trained_networks(iris):
    settings = {"max_generations": 5, "population_size": 2, "initial_weight_range": 0.01}
    random, trained = (
        GAMLPClassifier((3,), start=start, random_state=5, **settings).fit(*iris)
        for start in ("random", "trained")
    )
    alone = RpropMLPClassifier((3,), random_state=5).fit(*iris)
    first, least = trained.training_curve_[0], alone.training_curve_.min()
    assert first < 1.2 * least < 0.5 * random.training_curve_[0]


# ---- Inputs and hidden nodes

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
