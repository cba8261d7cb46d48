"""Literal GHA updates and responses in compiled code: the slide's formula and the notebook's loop."""

from typing import Final

from pppca_bench.compiled.arrays import Floats1D, Floats2D, Indices1D, Samples2D
from pppca_bench.compiled.jit import shared, subroutine

# Sums may be reordered for vectorisation; nan and inf remain, so that divergence is detected.
_REORDERED_SUMS: Final = {"reassoc", "contract", "nsz"}


@subroutine
def literal_epoch(
    W: Floats2D,
    n_rows: int,
    n_learning: int,
    X: Samples2D,
    mean: Floats2D,
    order: Indices1D,
    learning_rate: float,
    decay: float,
    x: Floats1D,
    y: Floats1D,
) -> int:
    """Update W in place by the literal formula, and return the number of multiply-adds.

    Δw_ji = η [y_j x_i − y_j Σ_{k≤j} w_ki y_k], with the whole sum for every (j, i): the cost grows with l². Rows are
    updated from the last to the first, so that the sum reads old rows. Source: slide "Generalized Hebbian Algorithm".

    Choice: rows that do not learn yet are computed, at a rate of 0. The published speed-ups at tau = 5 show the cost of
    all rows, during the same number of epochs for every data fraction.

    Parameters
    ----------
    W : float64 array, shape (>= n_rows, m)
        The rows; changed in place.
    n_rows, n_learning : int
        l, and the number of leading rows that learn, 0 <= n_learning <= l.
    X, mean : float64 arrays, shape (N, m) and (1, m)
        Samples that are not centred, and the mean to subtract.
    order : int64 array, shape (n,)
        Indices of samples, in the order of learning, each in [0, N).
    learning_rate, decay : float
        Sample s = 0, 1, … of the order learns at learning_rate / (1 + decay s); > 0 and >= 0.
    x, y : float64 arrays, shape (m,) and (>= l,), overwritten

    Returns
    -------
    int
        Multiply-adds: 1 for each product y_j x_i, y_j Σ and η [...] of a weight, and for each term of a sum. The
        subtraction of the mean is preprocessing and does not count.
    """
    n_features = W.shape[1]
    n_operations = 0
    for s in range(len(order)):
        rate = learning_rate / (1.0 + decay * s)
        for i in range(n_features):
            x[i] = X[order[s], i] - mean[0, i]
        # y = W x
        for j in range(n_rows):
            response = 0.0
            for i in range(n_features):
                response += W[j, i] * x[i]
            y[j] = response
            n_operations += n_features
        # w_ji += η [y_j x_i − y_j Σ_{k≤j} w_ki y_k], from the last row j to the first
        for j in range(n_rows - 1, -1, -1):
            for i in range(n_features):
                # Σ_{k≤j} w_ki y_k, again for every i and j
                reconstruction = 0.0
                for k in range(j + 1):
                    reconstruction += W[k, i] * y[k]
                    n_operations += 1
                step = rate * (y[j] * x[i] - y[j] * reconstruction)
                W[j, i] += step if j < n_learning else 0.0
                n_operations += 3
    return n_operations


@shared
def count_operations(n_samples: int, n_rows: int, n_features: int) -> int:
    """Return the multiply-adds of `literal_epoch`: 4 m l + m l (l + 1) / 2 per sample."""
    return n_samples * n_features * (4 * n_rows + n_rows * (n_rows + 1) // 2)


@subroutine
def literal_variances(
    W: Floats2D, n_rows: int, X: Samples2D, mean: Floats2D, variances: Floats1D, x: Floats1D
) -> int:
    """Set ``variances`` to each row's projection variance, from its responses to all samples: N l m multiply-adds.

    Source: slide "Dynamical GHA", step 2. The results are variances if ``mean`` is the mean of the samples, and
    second moments if ``mean`` is zero.

    Parameters
    ----------
    W : float64 array, shape (>= n_rows, m)
    n_rows : int
        l.
    X, mean : float64 arrays, shape (N, m), N >= 1, and (1, m)
        Samples that are not centred, and the mean to subtract.
    variances : float64 array, shape (>= l,)
    x : float64 array, shape (m,), overwritten

    Returns
    -------
    int
        Multiply-adds; the squares of the N l responses and the subtraction of the mean do not count.
    """
    n_features = W.shape[1]
    for j in range(n_rows):
        variances[j] = 0.0
    n_operations = 0
    # Var(q̂_j) = Σ_n (w_j (x_n − mean))² / N
    for sample in range(len(X)):
        for i in range(n_features):
            x[i] = X[sample, i] - mean[0, i]
        for j in range(n_rows):
            response = 0.0
            for i in range(n_features):
                response += W[j, i] * x[i]
                n_operations += 1
            variances[j] += response * response
    for j in range(n_rows):
        variances[j] /= len(X)
    return n_operations


@subroutine(fastmath=_REORDERED_SUMS)
def in_place_epoch(
    W: Floats2D,
    n_rows: int,
    X: Samples2D,
    mean: Floats2D,
    order: Indices1D,
    learning_rate: float,
    decay: float,
    x: Floats1D,
    residual: Floats1D,
) -> None:
    """Update W row by row, each row from the updated rows before it.

    Source: "Hebbian-Based Principal Component Analysis", trainNetwork. The result differs from a joint update of rows
    by terms of η², which are visible in the published digits.

    Parameters
    ----------
    W : float64 array, shape (>= n_rows, m)
        The rows that learn are first; changed in place.
    n_rows : int
        l, the number of rows that learn.
    X, mean, order, learning_rate, decay : see `literal_epoch`
    x, residual : float64 arrays, shape (m,), overwritten
    """
    n_features = W.shape[1]
    for s in range(len(order)):
        rate = learning_rate / (1.0 + decay * s)
        for i in range(n_features):
            x[i] = X[order[s], i] - mean[0, i]
            residual[i] = x[i]
        for j in range(n_rows):
            # y_j = w_j x with the sample x, not its residual, since the rows are not orthogonal yet
            output = 0.0
            for i in range(n_features):
                output += W[j, i] * x[i]
            # w_j += η y_j (r − y_j w_j), then r −= y_j w_j: the residual r = x − Σ_{k<j} y_k w_k of updated rows w_k
            for i in range(n_features):
                W[j, i] += rate * output * (residual[i] - output * W[j, i])
                residual[i] -= output * W[j, i]
