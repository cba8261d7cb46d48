"""Updates of streaming principal components in compiled code, sample by sample.

The features of rows are padded by zeros to a multiple of eight. The order of all sums is fixed, so that results are the
same on all processors.
"""

import math
from typing import NamedTuple

from pppca_bench.compiled.arrays import Floats1D, Floats2D, Indices1D, Samples2D
from pppca_bench.compiled.jit import kernel, subroutine

CCIPCA, SIMILARITY, ADAOJA, EIGENGAME = 0, 1, 2, 3

BATCH = 8
"""Samples per step of AdaOja."""

_DEPENDENT_BELOW = 1e-12
"""Share of a sample's squared norm below which its residual after projections on the rows is rounding error."""


class Stream(NamedTuple):
    """Learned state of a stream of samples, and work arrays, for l rows of m features; all arrays change in place.

    rows (l, depth): v of CCIPCA, W of similarity matching, otherwise directions of unit norm; mean (1, depth);
    variances (l,): along the rows, but ‖v‖² for CCIPCA; squares (l,): Σ ‖g_j‖² of AdaOja; gram (l, l): M, the mean of
    y yᵀ; inverse (l, l): M⁻¹ of similarity matching, or the identity; total (1,): the mean of ‖x‖²; left (1,): the mean
    of the squared residuals that started no row, with the weights of the variances; x (1, depth), y, z (l,): of the
    current sample; gradients (l, depth): of AdaOja's batch, or the old W of similarity matching.
    """

    rows: Floats2D
    mean: Floats2D
    variances: Floats1D
    squares: Floats1D
    gram: Floats2D
    inverse: Floats2D
    total: Floats1D
    left: Floats1D
    x: Floats2D
    y: Floats1D
    z: Floats1D
    gradients: Floats2D


class Rates(NamedTuple):
    """Learning rule, and rates at sample t: the weight of the sample in means, and the step.

    weight = min(1, (1 + amnesia) / t); step = scale / (t + delay); centred: whether the mean is subtracted;
    samples_per_row: smallest number of samples between the starts of two rows.
    """

    rule: int
    amnesia: float
    scale: float
    delay: float
    centred: bool
    samples_per_row: int


@kernel
def learn_stream(
    X: Samples2D, order: Indices1D, seen: int, n_rows: int, stream: Stream, rates: Rates
) -> int:
    """Learn from samples in a given order, and return the number of rows that have started, at most l.

    A row starts along the residual of a sample after its projection on the earlier rows.

    Parameters
    ----------
    X : float64 array, shape (N, m)
    order : int64 array, shape (n,)
        Indices of samples, each in [0, N).
    seen, n_rows : int
        Number of samples learnt, and of rows started, in earlier calls.
    stream, rates : Stream, Rates
    """
    x = stream.x
    for s in range(len(order)):
        # x ← x − mean, with the mean of all samples so far: the first deviation is 0.
        _centre(X, order[s], stream, 1.0 / float(seen + s + 1) if rates.centred else 0.0)
        n_deviations = seen + s if rates.centred else seen + s + 1
        if n_deviations == 0:
            continue
        t = float(n_deviations)
        weight, step = min(1.0, (1.0 + rates.amnesia) / t), rates.scale / (t + rates.delay)
        # total ← total + (‖x‖² − total) / t
        square = _dot(x, 0, x, 0)
        stream.total[0] += (square - stream.total[0]) / t
        # The rule updates the rows and replaces x by its residual; a row may start along the residual.
        if rates.rule == CCIPCA:
            _ccipca(stream, n_rows, weight)
        elif rates.rule == EIGENGAME:
            _eigengame(stream, n_rows, weight, step)
        elif rates.rule == SIMILARITY:
            _similarity(stream, n_rows, step)
        else:
            _adaoja(stream, n_rows, weight)
            if (seen + s + 1) % BATCH == 0:
                _step_adaoja(stream, n_rows)
        residual = _dot(x, 0, x, 0)
        is_due = n_rows < len(stream.rows) and n_rows * rates.samples_per_row <= n_deviations
        if is_due and residual > _DEPENDENT_BELOW * square:
            _start_row(stream, n_rows, weight * residual, residual, rates.rule)
            n_rows += 1
            residual = 0.0
        # left ← left + w (‖x‖² − left), with the weight w of the rule's variances
        share = step if rates.rule == SIMILARITY else weight
        stream.left[0] += share * (residual - stream.left[0])
    return n_rows


@subroutine
def _ccipca(stream: Stream, n_rows: int, weight: float) -> None:
    """Update the rows, and replace x by its residual.

    v ← (1 − w) v + w (x·û) x, û = v / ‖v‖, then x ← x − (x·û) û with the new û. Source: Weng, Zhang and Hwang 2003,
    equations (10) and (11), algorithm 1.
    """
    rows, x, norms = stream.rows, stream.x, stream.variances
    for j in range(n_rows):
        product, square = _dot(rows, j, x, 0), _dot(x, 0, x, 0)
        # v ← a v + b x with a = 1 − w, b = w x·û
        a, b = 1.0 - weight, weight * product / math.sqrt(norms[j])
        if a == b == 0.0:
            # x is orthogonal to v and earlier samples have no weight: keep the direction.
            a = 1.0
        # ‖v‖² and x·v of the new v follow without another sum.
        norms[j] = a * a * norms[j] + 2.0 * a * b * product + b * b * square
        c = (a * product + b * square) / norms[j]
        # x ← x − c v with c = x·v / ‖v‖²
        for k in range(x.shape[1]):
            rows[j, k] = a * rows[j, k] + b * x[0, k]
            x[0, k] -= c * rows[j, k]


@subroutine
def _eigengame(stream: Stream, n_rows: int, weight: float, step: float) -> None:
    """Update the rows, and replace x by its residual.

    g = y_j (x − Σ_{k<j} y_k v_k), y = V x with the old rows, v_j ← v_j + η (g − (g·v_j) v_j), then ‖v_j‖ = 1. Source:
    Gemp et al. 2021, "EigenGame Unloaded", algorithm 1 with one sample per step. Choice: η is divided by the total
    variance, so that results do not depend on the scale of the data.
    """
    rows, x = stream.rows, stream.x
    rate = step / stream.total[0] if stream.total[0] > 0.0 else 0.0
    _compute_outputs(stream, n_rows)
    for j in range(n_rows):
        # v ← (1 − η y p) v + η y r for the residual r after the earlier rows, p = r·v; then r ← r − y v with the old v
        y, p = stream.y[j], _dot(rows, j, x, 0)
        stream.variances[j] += weight * (p * p - stream.variances[j])
        a, b = 1.0 - rate * y * p, rate * y
        for k in range(x.shape[1]):
            old, residual = rows[j, k], x[0, k]
            rows[j, k] = a * old + b * residual
            x[0, k] = residual - y * old
        _normalise(rows, j)


@subroutine
def _similarity(stream: Stream, n_rows: int, step: float) -> None:
    """Update W and M⁻¹, and replace x by its residual x − Wᵀ M⁻¹ y.

    y = M⁻¹ W x; W ← W + η (y xᵀ − W); M ← M + η (y yᵀ − M), M⁻¹ by Sherman and Morrison. Source: Giovannucci, Minden,
    Pehlevan and Chklovskii 2018, algorithm 1.
    """
    rows, x, y, z, inverse = stream.rows, stream.x, stream.y, stream.z, stream.inverse
    # y = M⁻¹ W x, z = M⁻¹ y
    _compute_outputs(stream, n_rows)
    for j in range(n_rows):
        z[j] = y[j]
    _multiply_vector(inverse, z, n_rows, y)
    _multiply_vector(inverse, y, n_rows, z)
    overlap = 0.0
    for j in range(n_rows):
        overlap += y[j] * z[j]
    # M ← (1 − η) M + η y yᵀ, whose inverse is (M⁻¹ − f z zᵀ) / (1 − η) with f = η / (1 − η + η y·z)
    f = step / (1.0 - step + step * overlap)
    for i in range(n_rows):
        for j in range(n_rows):
            stream.gram[i, j] += step * (y[i] * y[j] - stream.gram[i, j])
            inverse[i, j] = (inverse[i, j] - f * z[i] * z[j]) / (1.0 - step)
    # W ← (1 − η) W + η y xᵀ
    old = stream.gradients
    for j in range(n_rows):
        for k in range(x.shape[1]):
            old[j, k] = rows[j, k]
            rows[j, k] = (1.0 - step) * rows[j, k] + step * y[j] * x[0, k]
    # x − Wᵀ z with the old W
    for j in range(n_rows):
        for k in range(x.shape[1]):
            x[0, k] -= z[j] * old[j, k]


@subroutine
def _adaoja(stream: Stream, n_rows: int, weight: float) -> None:
    """Add y xᵀ to the gradients of the batch, and replace x by its residual x − Qᵀ y."""
    rows, x, y, gram, gradients = stream.rows, stream.x, stream.y, stream.gram, stream.gradients
    _compute_outputs(stream, n_rows)
    # M ← M + w (y yᵀ − M)
    for i in range(n_rows):
        for j in range(n_rows):
            gram[i, j] += weight * (y[i] * y[j] - gram[i, j])
    # G ← G + y xᵀ
    for j in range(n_rows):
        for k in range(x.shape[1]):
            gradients[j, k] += y[j] * x[0, k]
    # x ← x − Qᵀ y
    for j in range(n_rows):
        for k in range(x.shape[1]):
            x[0, k] -= y[j] * rows[j, k]


@subroutine
def _step_adaoja(stream: Stream, n_rows: int) -> None:
    """Add g_j / b_j to each row, orthonormalise the rows, and reset the gradients g_j of the batch; b_j² = Σ ‖g_j‖².

    Source: Henriksen and Ward 2019, "AdaOja", algorithm 2, with a rate for each row.
    """
    rows, gradients, squares = stream.rows, stream.gradients, stream.squares
    # b_j² ← b_j² + ‖g_j‖², q_j ← q_j + g_j / b_j, g_j ← 0
    for j in range(n_rows):
        squares[j] += _dot(gradients, j, gradients, j)
        rate = 1.0 / math.sqrt(squares[j]) if squares[j] > 0.0 else 0.0
        for k in range(rows.shape[1]):
            rows[j, k] += rate * gradients[j, k]
            gradients[j, k] = 0.0
    # q_j ← q_j − (q_i·q_j) q_i for all i < j, then ‖q_j‖ = 1
    for j in range(n_rows):
        for i in range(j):
            overlap = _dot(rows, i, rows, j)
            for k in range(rows.shape[1]):
                rows[j, k] -= overlap * rows[i, k]
        _normalise(rows, j)


@subroutine
def _start_row(stream: Stream, j: int, variance: float, residual: float, rule: int) -> None:
    """Start row j along x with the given variance; ``residual`` is ‖x‖²."""
    factor = 1.0 / math.sqrt(residual)
    if rule in (CCIPCA, SIMILARITY):
        factor *= variance
    for k in range(stream.x.shape[1]):
        stream.rows[j, k] = factor * stream.x[0, k]
    stream.variances[j] = variance * variance if rule == CCIPCA else variance
    stream.gram[j, j] = variance
    stream.inverse[j, j] = 1.0 / variance if rule == SIMILARITY else 1.0


@subroutine
def _centre(X: Samples2D, sample: int, stream: Stream, weight: float) -> None:
    """Set mean ← mean + weight (sample − mean), and x to the sample minus the new mean."""
    mean, x = stream.mean, stream.x
    for k in range(X.shape[1]):
        mean[0, k] += weight * (X[sample, k] - mean[0, k])
        x[0, k] = X[sample, k] - mean[0, k]


@subroutine
def _compute_outputs(stream: Stream, n_rows: int) -> None:
    """Set y to the products of the rows with x."""
    for j in range(n_rows):
        stream.y[j] = _dot(stream.rows, j, stream.x, 0)


@subroutine
def _multiply_vector(A: Floats2D, x: Floats1D, n: int, y: Floats1D) -> None:
    """Set y to A x for the first n rows and columns of A."""
    for i in range(n):
        y[i] = 0.0
        for j in range(n):
            y[i] += A[i, j] * x[j]


@subroutine
def _dot(A: Floats2D, i: int, B: Floats2D, j: int) -> float:
    """Return the inner product of row i of A and row j of B."""
    # Four sums do not wait for each other.
    a = b = c = d = 0.0
    for k in range(0, A.shape[1], 4):
        a += A[i, k] * B[j, k]
        b += A[i, k + 1] * B[j, k + 1]
        c += A[i, k + 2] * B[j, k + 2]
        d += A[i, k + 3] * B[j, k + 3]
    return (a + b) + (c + d)


@subroutine
def _normalise(A: Floats2D, i: int) -> None:
    """Divide row i of A by its norm."""
    factor = 1.0 / math.sqrt(_dot(A, i, A, i))
    for k in range(A.shape[1]):
        A[i, k] *= factor
