"""Genetic algorithm for weights: errors against a reference, operators, and early stopping."""

import numpy as np
import pytest
from naive import squared_error
from numpy.testing import assert_allclose, assert_array_equal

from pppca_bench.classifiers import RpropMLPClassifier
from pppca_bench.classifiers.genetic_mlp import GAMLPClassifier, mutate
from pppca_bench.classifiers.network import Architecture, unpack
from pppca_bench.classifiers.training import population_errors


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


@pytest.mark.parametrize(
    "parameters",
    [
        {"selection": "roulette", "selection_strength": 0.5},
        {"selection": "truncation", "crossover_points": 2, "family_tournament": True},
        {"n_islands": 3, "migration_interval": 4, "n_elite": 2},
    ],
    ids=str,
)
def test_the_genetic_algorithm_has_other_schemes(iris, parameters):
    given = {"max_generations": 12, "random_state": 3}
    default, other = (GAMLPClassifier((3,), **given, **own).fit(*iris) for own in ({}, parameters))
    assert (np.diff(other.training_curve_) <= 0.0).all()
    assert other.training_curve_[-1] < 0.9 * other.training_curve_[0]
    assert (other.training_curve_ != default.training_curve_).any()


def test_first_generation_may_be_trained_networks(iris):
    settings = {"max_generations": 5, "population_size": 2, "initial_weight_range": 0.01}
    random, trained = (
        GAMLPClassifier((3,), start=start, random_state=5, **settings).fit(*iris)
        for start in ("random", "trained")
    )
    alone = RpropMLPClassifier((3,), random_state=5).fit(*iris)
    first, least = trained.training_curve_[0], alone.training_curve_.min()
    assert first < 1.2 * least < 0.5 * random.training_curve_[0]
