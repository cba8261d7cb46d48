"""Compiled updates of the generalized Hebbian algorithm, and the projection variances of its rows."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
_Products = tuple[float, float, float, float, float, float]

# Sums may be reordered so that they vectorise; nan and inf keep their meaning, which shows divergence.
_REORDERED_SUMS = {"reassoc", "contract", "nsz"}


@njit(cache=True, fastmath=_REORDERED_SUMS)
def fast_epoch(W: Floats, X: Floats, mean: Floats, order: Indices, learning_rate: float) -> None:
    """Update W in place with cumulative residuals: 3 l m multiply-adds a sample.

    ΔW = η (y xᵀ − LT(y yᵀ) W), every row from the old W: the residual x − Σ_{k≤j} y_k w_k is carried from
    row to row, so that row k is read before it changes. Source: Sanger 1989; slide "Generalized Hebbian
    Algorithm".

    Choice: four samples at a time, two rows at a time, so that each weight is loaded once for four updates.
    The result is that of one sample at a time, to rounding: what the earlier samples of a block add to a
    later one's output follows from the products of their residuals with it, six numbers carried along.

    Parameters
    ----------
    W : float64 array, shape (l, m)
        The rows that learn; changed in place.
    X : float64 array, shape (N, m)
        The samples, not centred.
    mean : float64 array, shape (m,)
        Subtracted from each sample as it is read, so that X needs no centred copy.
    order : int64 array, shape (n,)
        Indices of samples, in the order in which they are learnt, each in [0, N).
    learning_rate : float
        η, > 0.
    """
    n_rows, n_features = W.shape
    # A row of zeros, or samples of zeros, round a block up; they stay zero and change nothing.
    padded = np.zeros(((n_rows + 1) // 2 * 2, n_features))
    _copy(W, padded)
    x, residuals = np.zeros((4, n_features)), np.zeros((4, n_features))
    for start in range(0, len(order), 4):
        _read_samples(x, residuals, X, mean, order, start)
        _learn_block(padded, x, residuals, learning_rate)
    _copy(padded[:n_rows], W)


@njit(cache=True)
def _copy(source: Floats, target: Floats) -> None:
    """Copy all rows of source to the front of target; loops compile in a tenth of the time of slices."""
    for j in range(source.shape[0]):
        for i in range(source.shape[1]):
            target[j, i] = source[j, i]


@njit(cache=True)
def _read_samples(x: Floats, residuals: Floats, X: Floats, mean: Floats, order: Indices, start: int) -> None:
    """Fill x and residuals, shape (4, >= m), with centred samples, one a row, or zeros past the last one."""
    for q in range(4):
        if start + q >= len(order):
            x[q] = 0.0
            residuals[q] = 0.0
            continue
        sample = order[start + q]
        for i in range(len(mean)):
            x[q, i] = X[sample, i] - mean[i]
            residuals[q, i] = x[q, i]


@njit(cache=True, fastmath=_REORDERED_SUMS)
def _learn_block(W: Floats, x: Floats, r: Floats, learning_rate: float) -> None:
    """Learn four samples x (4, p), their residuals r starting equal to them, by rows W (even l, p)."""
    n_columns = W.shape[1]
    g01 = g02 = g03 = g12 = g13 = g23 = 0.0
    for i in range(n_columns):
        g01 += x[0, i] * x[1, i]
        g02 += x[0, i] * x[2, i]
        g03 += x[0, i] * x[3, i]
        g12 += x[1, i] * x[2, i]
        g13 += x[1, i] * x[3, i]
        g23 += x[2, i] * x[3, i]
    products = (g01, g02, g03, g12, g13, g23)
    for j in range(0, W.shape[0], 2):
        y0 = y1 = y2 = y3 = z0 = z1 = z2 = z3 = 0.0
        for i in range(n_columns):
            w, v = W[j, i], W[j + 1, i]
            y0 += w * x[0, i]
            z0 += v * x[0, i]
            y1 += w * x[1, i]
            z1 += v * x[1, i]
            y2 += w * x[2, i]
            z2 += v * x[2, i]
            y3 += w * x[3, i]
            z3 += v * x[3, i]
        products, y1, y2, y3 = _carry_outputs(products, y0, y1, y2, y3, learning_rate)
        products, z1, z2, z3 = _carry_outputs(products, z0, z1, z2, z3, learning_rate)
        a0, a1, a2, a3 = learning_rate * y0, learning_rate * y1, learning_rate * y2, learning_rate * y3
        b0, b1, b2, b3 = learning_rate * z0, learning_rate * z1, learning_rate * z2, learning_rate * z3
        for i in range(n_columns):
            w, v = W[j, i], W[j + 1, i]
            residual = r[0, i] - y0 * w
            w += a0 * residual
            residual -= z0 * v
            v += b0 * residual
            r[0, i] = residual
            residual = r[1, i] - y1 * w
            w += a1 * residual
            residual -= z1 * v
            v += b1 * residual
            r[1, i] = residual
            residual = r[2, i] - y2 * w
            w += a2 * residual
            residual -= z2 * v
            v += b2 * residual
            r[2, i] = residual
            residual = r[3, i] - y3 * w
            w += a3 * residual
            residual -= z3 * v
            v += b3 * residual
            r[3, i] = residual
            W[j, i], W[j + 1, i] = w, v


@njit(cache=True, fastmath=_REORDERED_SUMS, inline="always")
def _carry_outputs(
    products: _Products, y0: float, y1: float, y2: float, y3: float, learning_rate: float
) -> tuple[_Products, float, float, float]:
    """Turn one row's outputs by its old weights into those after the block's earlier samples.

    `products` holds residual_q · x_s for q < s, over the rows so far; the row is added to them. Sample q
    moves the row by η y_q residual_q, hence its output for sample s by η y_q residual_q · x_s.
    """
    g01, g02, g03, g12, g13, g23 = products
    g01 -= y0 * y1
    g02 -= y0 * y2
    g03 -= y0 * y3
    y1 += learning_rate * y0 * g01
    y2 += learning_rate * y0 * g02
    y3 += learning_rate * y0 * g03
    g12 -= y1 * y2
    g13 -= y1 * y3
    y2 += learning_rate * y1 * g12
    y3 += learning_rate * y1 * g13
    g23 -= y2 * y3
    y3 += learning_rate * y2 * g23
    return (g01, g02, g03, g12, g13, g23), y1, y2, y3


@njit(cache=True, fastmath=_REORDERED_SUMS)
def in_place_epoch(W: Floats, X: Floats, mean: Floats, order: Indices, learning_rate: float) -> None:
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
        η, > 0.
    """
    n_rows, n_features = W.shape
    x = np.empty(n_features)
    residual = np.empty(n_features)
    for sample in order:
        for i in range(n_features):
            x[i] = X[sample, i] - mean[i]
            residual[i] = x[i]
        for j in range(n_rows):
            output = 0.0
            for i in range(n_features):
                output += W[j, i] * x[i]
            for i in range(n_features):
                W[j, i] += learning_rate * output * (residual[i] - output * W[j, i])
                residual[i] -= output * W[j, i]


@njit(cache=True)
def literal_epoch(W: Floats, n_learning: int, X: Floats, mean: Floats, order: Indices, learning_rate: float) -> int:
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
        η, > 0.

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
    for sample in order:
        for i in range(n_features):
            x[i] = X[sample, i] - mean[i]
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
                step = learning_rate * (y[j] * x[i] - y[j] * reconstruction)
                W[j, i] += step if j < n_learning else 0.0
                n_operations += 3
    return n_operations


@njit(cache=True)
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
def quadratic_variances(W: Floats, C: Floats, variances: Floats) -> None:
    """Compute w C wᵀ of each row: the projection variance, at a cost that does not depend on N.

    Parameters
    ----------
    W : float64 array, shape (l, m)
        The rows.
    C : float64 array, shape (m, m)
        Covariance or autocorrelation matrix, divisor N.
    variances : float64 array, shape (l,)
        Receives the result.
    """
    n_rows, n_features = W.shape
    for j in range(n_rows):
        total = 0.0
        for a in range(n_features):
            product = 0.0
            for b in range(n_features):
                product += C[a, b] * W[j, b]
            total += W[j, a] * product
        variances[j] = total


@njit(cache=True)
def surviving_rows(variances: Floats, tau: float) -> Indices:
    """Return the indices of the rows that formula (1) keeps, in increasing order.

    Source: slide "How to decide?", formula (1): row i goes when max(variances) / variances[i] > tau.
    Choice: compared as max(variances) > tau variances[i], so that a variance of zero divides nothing: such
    a row goes unless all are zero. The row of the largest variance always stays.

    Parameters
    ----------
    variances : float64 array, shape (l,), l >= 1, >= 0
        Projection variances, in any order.
    tau : float
        Threshold, >= 1.

    Returns
    -------
    int64 array, shape (n,), n >= 1
        Indices into `variances`.
    """
    largest = variances[0]
    for variance in variances:
        largest = max(largest, variance)
    kept = np.empty(len(variances), np.int64)
    n_kept = 0
    for j in range(len(variances)):
        if largest <= tau * variances[j]:
            kept[n_kept] = j
            n_kept += 1
    return kept[:n_kept]


FAST, LITERAL, IN_PLACE = 0, 1, 2


class Samples(NamedTuple):
    """The training samples and their moments: X (N, m), not centred, mean (m,) and C (m, m), divisor N."""

    X: Floats
    mean: Floats
    C: Floats


class Schedule(NamedTuple):
    """What each epoch does.

    orders (n_epochs, n): the samples, in the order in which they are learnt; rates (n_epochs,): η;
    n_joined (n_epochs,): rows that have joined; checked (n_epochs,): whether rows are removed before it.
    """

    orders: Indices
    rates: Floats
    n_joined: Indices
    checked: NDArray[np.bool_]


class Rule(NamedTuple):
    """What all epochs have in common.

    tau: threshold of formula (1); per_direction: whether it compares variances along the rows' directions or those
    of the outputs; sort: whether a check puts the rows in decreasing order of what it compares; join_by_node:
    whether n_joined counts places at the start or among the rows that are left; kernel: FAST, LITERAL or IN_PLACE;
    limit: the largest weight that is not a divergence.
    """

    tau: float
    per_direction: bool
    sort: bool
    join_by_node: bool
    kernel: int
    limit: float


class History(NamedTuple):
    """What is recorded in each epoch, after its check.

    dimensionality (n_epochs,): number of rows; variances (n_epochs, l): w C wᵀ of each row in the column of its
    place at the start, NaN for removed rows.
    """

    dimensionality: Indices
    variances: Floats


@njit(cache=True)
def learn_epochs(
    rows: Floats, nodes: Indices, samples: Samples, schedule: Schedule, rule: Rule, history: History
) -> tuple[int, int, int]:
    """Make epochs: remove rows where it is time to, record, and let the rows that have joined learn.

    Source: slide "Dynamical GHA with reduced data set"; plain GHA never checks. With the literal kernel a check takes
    its variances from all N responses, and epochs without one record none, so that recording costs no time there.

    Parameters
    ----------
    rows : float64 array, shape (l, m)
        The rows; those that are left in the end stand in front. Changed in place.
    nodes : int64 array, shape (l,)
        Their places at the start. Changed in place.
    samples, schedule, rule, history
        See these; history is filled.

    Returns
    -------
    n_rows, n_epochs, n_operations : int
        Rows that are left, epochs made before the end or a divergence, and multiply-adds counted by the literal
        kernel.
    """
    n_rows, n_operations = len(rows), 0
    variances = np.empty(n_rows)
    for epoch in range(len(schedule.orders)):
        checked = schedule.checked[epoch]
        variances = variances[:n_rows]
        variances[:] = np.nan
        if checked and rule.kernel == LITERAL:
            n_operations += literal_variances(rows[:n_rows], samples.X, samples.mean, variances)
        elif rule.kernel != LITERAL:
            quadratic_variances(rows[:n_rows], samples.C, variances)
        if checked:
            compared = _per_direction(variances, rows[:n_rows]) if rule.per_direction else variances
            kept = surviving_rows(compared, rule.tau)
            if rule.sort:
                _sort_decreasing(kept, compared)
            n_rows = len(kept)
            _keep(kept, rows, nodes, variances)
        _record(history, epoch, nodes[:n_rows], variances)
        n_learning = _count_learning(nodes[:n_rows], schedule.n_joined[epoch], rule.join_by_node)
        learning, order, rate = rows[:n_learning], schedule.orders[epoch], schedule.rates[epoch]
        if rule.kernel == FAST:
            fast_epoch(learning, samples.X, samples.mean, order, rate)
        elif rule.kernel == LITERAL:
            n_operations += literal_epoch(rows[:n_rows], n_learning, samples.X, samples.mean, order, rate)
        else:
            in_place_epoch(learning, samples.X, samples.mean, order, rate)
        if not _within(rows[:n_rows], rule.limit):
            return n_rows, epoch + 1, n_operations
    return n_rows, len(schedule.orders), n_operations


@njit(cache=True)
def _sort_decreasing(kept: Indices, variances: Floats) -> None:
    """Sort indices by decreasing variance in place; equal ones keep their order.

    By insertion, since rows that learn in order are nearly sorted.
    """
    for place in range(1, len(kept)):
        moving, free = kept[place], place
        while free > 0 and variances[kept[free - 1]] < variances[moving]:
            kept[free] = kept[free - 1]
            free -= 1
        kept[free] = moving


@njit(cache=True)
def _keep(kept: Indices, rows: Floats, nodes: Indices, variances: Floats) -> None:
    """Move the kept rows to the front, in their order, with their nodes and variances."""
    old_rows, old_nodes, old_variances = rows.copy(), nodes.copy(), variances.copy()
    for place in range(len(kept)):
        for i in range(rows.shape[1]):
            rows[place, i] = old_rows[kept[place], i]
        nodes[place] = old_nodes[kept[place]]
        variances[place] = old_variances[kept[place]]


@njit(cache=True)
def _per_direction(variances: Floats, rows: Floats) -> Floats:
    result = np.empty(len(rows))
    for j in range(len(rows)):
        squared_norm = 0.0
        for weight in rows[j]:
            squared_norm += weight * weight
        result[j] = variances[j] / squared_norm
    return result


@njit(cache=True)
def _count_learning(nodes: Indices, n_joined: int, by_node: bool) -> int:
    """Count the leading rows that have joined, by their places at the start or among those that are left."""
    if not by_node:
        return min(len(nodes), n_joined)
    n_learning = 0
    while n_learning < len(nodes) and nodes[n_learning] < n_joined:
        n_learning += 1
    return n_learning


@njit(cache=True)
def _within(rows: Floats, limit: float) -> bool:
    """Tell whether no weight is beyond the limit or nan."""
    for j in range(rows.shape[0]):
        for weight in rows[j]:
            if not abs(weight) <= limit:
                return False
    return True


@njit(cache=True)
def _record(history: History, epoch: int, nodes: Indices, variances: Floats) -> None:
    history.dimensionality[epoch] = len(nodes)
    history.variances[epoch] = np.nan
    for j in range(len(nodes)):
        history.variances[epoch, nodes[j]] = variances[j]
