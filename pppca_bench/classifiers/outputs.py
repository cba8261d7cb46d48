"""What the outputs of networks say: how far they are from the targets, and the probabilities of classes."""

import numpy as np

from pppca_bench.compiled.arrays import Floats


def squared_error_percent(outputs: Floats, targets: Floats) -> float:
    """Return 100 times the mean squared difference, in percent of outputs from 0 to 1 (Proben1 report, section 2.5).

    Parameters
    ----------
    outputs, targets : float64 (n_samples, n_outputs)
    """
    return 100.0 * float(np.mean((outputs - targets) ** 2))


def nearest_probabilities(outputs: Floats) -> Floats:
    """Project each row on the probability simplex (Held, Wolfe & Crowder 1974)."""
    descending = -np.sort(-outputs, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    counts = np.arange(1, outputs.shape[1] + 1)
    n_positive = np.sum(descending * counts > excess, axis=1, keepdims=True)
    shift = np.take_along_axis(excess, n_positive - 1, axis=1) / n_positive
    return np.maximum(outputs - shift, 0.0)
