"""Weights of networks in other forms, tasks of trainings, and trainings compared bit by bit."""

import numpy as np

from pppca_bench.classifiers.network import uniform_per_weight
from pppca_bench.classifiers.training import TrainingTask


def make_task(architecture, seed, n_samples=6):
    """Return a training of random weights with random samples of as many classes as outputs."""
    rng = np.random.default_rng(seed)
    sizes = (n_samples, n_samples // 2 + 1)
    X, X_val = (rng.normal(size=(n, architecture.n_inputs)) for n in sizes)
    targets, targets_val = (
        np.eye(architecture.n_outputs)[rng.integers(architecture.n_outputs, size=n)] for n in sizes
    )
    weights = uniform_per_weight(architecture, -0.7, 0.7, rng)
    steps = uniform_per_weight(architecture, 0.05, 0.2, rng)
    return TrainingTask(
        architecture, X, targets, X_val, targets_val, weights, steps, np.random.default_rng(seed)
    )


def weights_of(network):
    """Return all weights of a fitted estimator as a vector."""
    return np.concatenate([matrix.ravel() for matrix in [*network.coefs_, *network.intercepts_]])


def same(one, other):
    """Return whether two trainings gave the same bits."""
    return (
        (one.stop_reason, one.best_epoch) == (other.stop_reason, other.best_epoch)
        and np.array_equal(one.training_curve, other.training_curve)
        and np.array_equal(one.validation_curve, other.validation_curve)
        and all(np.array_equal(a, b) for a, b in zip(one.weights, other.weights, strict=True))
    )
