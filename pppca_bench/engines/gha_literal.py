"""Compiled updates and responses as the sources write them: the slides' formula term by term, the notebook's loop."""

import numpy as np
from numba import njit

from pppca_bench.compiled.arrays import Floats, Indices
from pppca_bench.compiled.jit import kernel

# Sums may be reordered so that they vectorise; nan and inf keep their meaning, which shows divergence.
_REORDERED_SUMS = {"reassoc", "contract", "nsz"}


@kernel
def literal_epoch(
    W: Floats, n_learning: int, X: Floats, mean: Floats, order: Indices, learning_rate: float, decay: float
) -> int:
    """Update W in place by the formula as it is written, and count the multiply-adds.

    Δw_ji = η [y_j x_i − y_j Σ_{k≤j} w_ki y_k], the sum anew for every (j, i): the cost grows with l². Rows
    are taken from the last to the first, so that those of the sum are still the old ones. Source: slide
    "Generalized Hebbian Algorithm".

    Choice: rows that wait are computed like the others, at a rate of zero. The published speed-ups at tau = 5
    show the cost of all rows during the same number of epochs for every data fraction.

    Parameters
    ----------
    W : float64 array, shape (l, m)
        The rows; changed in place.
    n_learning : int
        Number of leading rows that learn, in [0, l]; the others wait.
    X : float64 array, shape (N, m)
        The samples, not centred.
    mean : float64 array, shape (m,)
        Subtracted from each sample as it is read.
    order : int64 array, shape (n,)
        Indices of samples, in the order in which they are learnt, each in [0, N).
    learning_rate : float
        η of the first sample, > 0.
    decay : float
        Sample s = 0, 1, … of the order learns at η / (1 + decay s), >= 0.

    Returns
    -------
    int
        Multiply-adds made. The products y_j x_i, y_j Σ and η [...] of a weight count one each, as does
        each term of a sum; the subtraction of the mean is preprocessing and does not count.
    """
    n_rows, n_features = W.shape
    x = np.empty(n_features)
    y = np.empty(n_rows)
    n_operations = 0
    for s in range(len(order)):
        rate = learning_rate / (1.0 + decay * s)
        for i in range(n_features):
            x[i] = X[order[s], i] - mean[i]
        for j in range(n_rows):
            y[j] = 0.0
            for i in range(n_features):
                y[j] += W[j, i] * x[i]
            n_operations += n_features
        for j in range(n_rows - 1, -1, -1):
            for i in range(n_features):
                reconstruction = 0.0
                for k in range(j + 1):
                    reconstruction += W[k, i] * y[k]
                    n_operations += 1
                step = rate * (y[j] * x[i] - y[j] * reconstruction)
                W[j, i] += step if j < n_learning else 0.0
                n_operations += 3
    return n_operations


@kernel
def literal_variances(W: Floats, X: Floats, mean: Floats, variances: Floats) -> int:
    """Compute each row's projection variance from its responses to all samples: N l m multiply-adds.

    Source: slide "Dynamical GHA", step 2. The mean square of the responses to samples from which `mean` is
    subtracted: the variance where that is the samples' mean, the second moment where it is zero.

    Parameters
    ----------
    W : float64 array, shape (l, m)
        The rows.
    X : float64 array, shape (N, m), N >= 1
        The samples, not centred.
    mean : float64 array, shape (m,)
        Subtracted from each sample as it is read.
    variances : float64 array, shape (l,)
        Receives the result.

    Returns
    -------
    int
        Multiply-adds made; the squares of the N l responses and the subtraction of the mean do not count.
    """
    n_rows, n_features = W.shape
    x = np.empty(n_features)
    variances[:] = 0.0
    n_operations = 0
    for sample in range(X.shape[0]):
        for i in range(n_features):
            x[i] = X[sample, i] - mean[i]
        for j in range(n_rows):
            response = 0.0
            for i in range(n_features):
                response += W[j, i] * x[i]
                n_operations += 1
            variances[j] += response * response
    for j in range(n_rows):
        variances[j] /= X.shape[0]
    return n_operations


@njit(cache=True, fastmath=_REORDERED_SUMS)
def in_place_epoch(W: Floats, X: Floats, mean: Floats, order: Indices, learning_rate: float, decay: float) -> None:
    """Update W row by row, each row reading those before it as they have just become.

    Source: "Hebbian-Based Principal Component Analysis", trainNetwork. It differs from the update of all rows
    at once by terms of η², which its published digits show.

    Parameters
    ----------
    W : float64 array, shape (l, m)
        The rows that learn; changed in place.
    X : float64 array, shape (N, m)
        The samples, not centred.
    mean : float64 array, shape (m,)
        Subtracted from each sample as it is read.
    order : int64 array, shape (n,)
        Indices of samples, in the order in which they are learnt, each in [0, N).
    learning_rate : float
        η of the first sample, > 0.
    decay : float
        Sample s = 0, 1, … of the order learns at η / (1 + decay s), >= 0.
    """
    n_rows, n_features = W.shape
    x = np.empty(n_features)
    residual = np.empty(n_features)
    for s in range(len(order)):
        rate = learning_rate / (1.0 + decay * s)
        for i in range(n_features):
            x[i] = X[order[s], i] - mean[i]
            residual[i] = x[i]
        for j in range(n_rows):
            output = 0.0
            for i in range(n_features):
                output += W[j, i] * x[i]
            for i in range(n_features):
                W[j, i] += rate * output * (residual[i] - output * W[j, i])
                residual[i] -= output * W[j, i]
