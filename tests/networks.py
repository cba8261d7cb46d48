"""Weights of networks in other forms, and trainings compared bit by bit."""

import numpy as np


def weights_of(network):
    """Return all weights of a fitted estimator as a vector."""
    return np.concatenate([matrix.ravel() for matrix in [*network.coefs_, *network.intercepts_]])


def as_lists(matrices):
    return [matrix.tolist() for matrix in matrices]


def same(one, other):
    """Return whether two trainings gave the same bits."""
    return (
        (one.stop_reason, one.best_epoch) == (other.stop_reason, other.best_epoch)
        and np.array_equal(one.training_curve, other.training_curve)
        and np.array_equal(one.validation_curve, other.validation_curve)
        and all(np.array_equal(a, b) for a, b in zip(one.weights, other.weights, strict=True))
    )
