"""Compiled updates of the generalized Hebbian algorithm and variances of its rows, at half of the machine's limit."""

import math
from typing import Any

import numpy as np

from pppca_bench.compiled.arrays import Floats, Indices
from pppca_bench.compiled.jit import kernel, part
from pppca_bench.compiled.simd import (
    WIDTH,
    add,
    add_product,
    address,
    beyond,
    load,
    load_part,
    multiply,
    spread,
    spread_lane,
    store,
    subtract,
    subtract_product,
    sum_up,
    transpose,
    zero,
)

_BLOCK = WIDTH
_PANEL = 2 * WIDTH
_Pair = tuple[Any, Any]


@kernel
def fast_epoch(W: Floats, X: Floats, mean: Floats, order: Indices, learning_rate: float, decay: float = 0.0) -> None:
    """Update W in place with cumulative residuals: 3 l m multiply-adds a sample.

    ΔW = η (y xᵀ − LT(y yᵀ) W), every row from the old W: the residual x − Σ_{k≤j} y_k w_k is carried from
    row to row, so that row k is read before it changes. Source: Sanger 1989; slide "Generalized Hebbian
    Algorithm".

    Choice: eight samples at a time, the result being that of one at a time, to rounding. The outputs of a block
    follow from those by the old rows, W X_Bᵀ, and the samples' products, X_B X_Bᵀ, alone. Given them, the columns
    of W are independent, so that a panel of sixteen columns takes all updates while it stays in the first cache.

    Choice: samples are multiplied by √η and learnt at a rate of one, which is the same; so one number, the output,
    serves both products of an update, residual − y w and w + y residual, and the rate may change with each sample.

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
        η of the first sample, > 0.
    decay : float
        Sample s = 0, 1, … of the order learns at η / (1 + decay s), >= 0.
    """
    n_rows, n_features = W.shape
    # Rows, columns and samples of zeros round all up to whole blocks; they stay zero and change nothing.
    height = _BLOCK + (n_rows + 3) // 4 * 4
    panels, columns, outputs = _allocate(W, height)
    _copy_rows(W, panels, height)
    for start in range(0, len(order), _BLOCK):
        _read_block(panels, columns, height, X, mean, order, start, learning_rate, decay)
        _compute_outputs(outputs, panels, columns, n_features)
        _carry_outputs(outputs, n_rows)
        for first in range(0, len(panels), height):
            _learn_panel(panels, first, outputs, n_rows)
    for j in range(n_rows):
        for i in range(n_features):
            W[j, i] = panels[i // _PANEL * height + _BLOCK + j, i % _PANEL]


@part
def _allocate(W: Floats, height: int) -> tuple[Floats, Floats, Floats]:
    """Allocate panels of that height, the columns of a block of samples, and the outputs."""
    n_panels = (W.shape[1] + _PANEL - 1) // _PANEL
    return (
        aligned_zeros(n_panels * height, _PANEL),
        aligned_zeros(n_panels * _PANEL, _BLOCK),
        aligned_zeros(height, _BLOCK),
    )


@kernel
def aligned_zeros(n_rows: int, n_columns: int) -> Floats:
    """Allocate zeros, shape (n_rows, n_columns), from a cache line's start: a vector across two takes two loads."""
    buffer = np.zeros(n_rows * n_columns + WIDTH)
    offset = -(address(buffer) // 8) % WIDTH
    return buffer[offset : offset + n_rows * n_columns].reshape((n_rows, n_columns))


@part
def _copy_rows(W: Floats, panels: Floats, height: int) -> None:
    """Copy W to the panels, below the places of the samples."""
    for j in range(W.shape[0]):
        for i in range(W.shape[1]):
            panels[i // _PANEL * height + _BLOCK + j, i % _PANEL] = W[j, i]


@part
def _read_block(
    panels: Floats,
    columns: Floats,
    height: int,
    X: Floats,
    mean: Floats,
    order: Indices,
    start: int,
    learning_rate: float,
    decay: float,
) -> None:
    """Set the first rows of the panels to centred samples times √η, zeros past the last one, and `columns` to their
    transpose (p, 8).
    """
    means = mean.reshape((1, len(mean)))
    for s in range(_BLOCK):
        present = start + s < len(order)
        rate = learning_rate / (1.0 + decay * (start + s)) if decay > 0.0 else learning_rate
        factor = math.sqrt(rate) if present else 0.0
        sample = order[start + s] if present else 0
        for i in range(0, len(mean), WIDTH):
            n = len(mean) - i
            x = subtract(load_part(X, sample, i, n), load_part(means, 0, i, n))
            store(panels, i // _PANEL * height + s, i % _PANEL, multiply(x, factor))
    for i in range(0, len(columns), WIDTH):
        transpose(columns, i, 0, panels, i // _PANEL * height, i % _PANEL)


@part
def _compute_outputs(outputs: Floats, panels: Floats, columns: Floats, n_features: int) -> None:
    """Set `outputs` (h, 8) to the products of the rows of the panels, h each, with the samples in `columns` (p, 8).

    Four rows at a time; even and odd columns are added apart, since an addition waits for the one before it.
    """
    height = len(outputs)
    for j in range(height):
        store(outputs, j, 0, zero())
    for first in range(0, n_features, _PANEL):
        for j in range(0, height, 4):
            row = first // _PANEL * height + j
            a, b, c, d = load(outputs, j, 0), load(outputs, j + 1, 0), load(outputs, j + 2, 0), load(outputs, j + 3, 0)
            e, f, g, h = zero(), zero(), zero(), zero()
            for i in range(0, min(_PANEL, n_features - first), 2):
                x, z = load(columns, first + i, 0), load(columns, first + i + 1, 0)
                a = add_product(a, x, spread(panels, row, i))
                b = add_product(b, x, spread(panels, row + 1, i))
                c = add_product(c, x, spread(panels, row + 2, i))
                d = add_product(d, x, spread(panels, row + 3, i))
                e = add_product(e, z, spread(panels, row, i + 1))
                f = add_product(f, z, spread(panels, row + 1, i + 1))
                g = add_product(g, z, spread(panels, row + 2, i + 1))
                h = add_product(h, z, spread(panels, row + 3, i + 1))
            store(outputs, j, 0, add(a, e))
            store(outputs, j + 1, 0, add(b, f))
            store(outputs, j + 2, 0, add(c, g))
            store(outputs, j + 3, 0, add(d, h))


@part
def _carry_outputs(outputs: Floats, n_rows: int) -> None:
    """Turn outputs by the old rows into those by the rows that each sample of the block meets.

    The first eight rows hold the products of each sample's residual with all samples. A row's outputs are updated as
    its weights are: they are its weights in the directions of the samples.
    """
    r0, r1, r2, r3 = load(outputs, 0, 0), load(outputs, 1, 0), load(outputs, 2, 0), load(outputs, 3, 0)
    r4, r5, r6 = load(outputs, 4, 0), load(outputs, 5, 0), load(outputs, 6, 0)
    for j in range(_BLOCK, _BLOCK + n_rows):
        y = load(outputs, j, 0)
        now = spread_lane(y, 0)
        r0 = subtract_product(r0, now, y)
        y = beyond(0, add_product(y, now, r0), y)
        now = spread_lane(y, 1)
        r1 = subtract_product(r1, now, y)
        y = beyond(1, add_product(y, now, r1), y)
        now = spread_lane(y, 2)
        r2 = subtract_product(r2, now, y)
        y = beyond(2, add_product(y, now, r2), y)
        now = spread_lane(y, 3)
        r3 = subtract_product(r3, now, y)
        y = beyond(3, add_product(y, now, r3), y)
        now = spread_lane(y, 4)
        r4 = subtract_product(r4, now, y)
        y = beyond(4, add_product(y, now, r4), y)
        now = spread_lane(y, 5)
        r5 = subtract_product(r5, now, y)
        y = beyond(5, add_product(y, now, r5), y)
        now = spread_lane(y, 6)
        r6 = subtract_product(r6, now, y)
        y = beyond(6, add_product(y, now, r6), y)
        store(outputs, j, 0, y)


@part
def _learn_panel(panels: Floats, first: int, outputs: Floats, n_rows: int) -> None:
    """Let the rows of the panel that starts at row `first` learn the block of samples above them."""
    r0, r1, r2, r3 = _pair(panels, first), _pair(panels, first + 1), _pair(panels, first + 2), _pair(panels, first + 3)
    first_half = first + 4
    r4, r5 = _pair(panels, first_half), _pair(panels, first_half + 1)
    r6, r7 = _pair(panels, first_half + 2), _pair(panels, first_half + 3)
    for j in range(_BLOCK, _BLOCK + n_rows):
        w = _pair(panels, first + j)
        w, r0 = _learn(w, r0, spread(outputs, j, 0))
        w, r1 = _learn(w, r1, spread(outputs, j, 1))
        w, r2 = _learn(w, r2, spread(outputs, j, 2))
        w, r3 = _learn(w, r3, spread(outputs, j, 3))
        w, r4 = _learn(w, r4, spread(outputs, j, 4))
        w, r5 = _learn(w, r5, spread(outputs, j, 5))
        w, r6 = _learn(w, r6, spread(outputs, j, 6))
        w, r7 = _learn(w, r7, spread(outputs, j, 7))
        store(panels, first + j, 0, w[0])
        store(panels, first + j, WIDTH, w[1])


@part
def _pair(panels: Floats, row: int) -> _Pair:
    """Load a row of a panel."""
    return load(panels, row, 0), load(panels, row, WIDTH)


@part
def _learn(w: _Pair, residual: _Pair, y: Any) -> tuple[_Pair, _Pair]:
    """Return a row after a sample, and the sample's residual after the row."""
    r, s = subtract_product(residual[0], y, w[0]), subtract_product(residual[1], y, w[1])
    return (add_product(w[0], y, r), add_product(w[1], y, s)), (r, s)


@kernel
def quadratic_variances(W: Floats, C: Floats, variances: Floats) -> None:
    """Compute w C wᵀ of each row: the projection variance, at a cost that does not depend on N.

    Parameters
    ----------
    W : float64 array, shape (l, m)
        The rows.
    C : float64 array, shape (m, m) or (m, n)
        Covariance or autocorrelation matrix, divisor N. If n < m, a factor F of it, C = F Fᵀ: the centred samples as
        columns, divided by √N, cost less than C where there are fewer samples than features.
    variances : float64 array, shape (l,)
        Receives the result.
    """
    last = len(W) - 1
    panel = aligned_zeros(len(C), _PANEL)
    for j in range(len(W)):
        variances[j] = 0.0
    for first in range(0, C.shape[1], _PANEL):
        n = C.shape[1] - first
        for i in range(len(C)):
            store(panel, i, 0, load_part(C, i, first, n))
            store(panel, i, WIDTH, load_part(C, i, first + WIDTH, n - WIDTH))
        factor = C.shape[1] < len(C)
        for j in range(0, len(W), 4):
            k, p, q = min(j + 1, last), min(j + 2, last), min(j + 3, last)
            _add_quadratic_forms(variances, W, j, k, p, q, panel, first, factor)


@part
def _add_quadratic_forms(
    variances: Floats, W: Floats, j: int, k: int, p: int, q: int, panel: Floats, first: int, factor: bool
) -> None:
    """Add to the variances of four rows what a panel of C or its factor, the columns from `first` on, contributes.

    Where a row is named again it counts once.
    """
    a = b = c = d = e = f = g = h = zero()
    for i in range(len(panel)):
        left, right = load(panel, i, 0), load(panel, i, WIDTH)
        a = add_product(a, left, spread(W, j, i))
        b = add_product(b, left, spread(W, k, i))
        c = add_product(c, left, spread(W, p, i))
        d = add_product(d, left, spread(W, q, i))
        e = add_product(e, right, spread(W, j, i))
        f = add_product(f, right, spread(W, k, i))
        g = add_product(g, right, spread(W, p, i))
        h = add_product(h, right, spread(W, q, i))
    variances[j] += _weighted_sum(a, e, W, j, first, factor)
    if k > j:
        variances[k] += _weighted_sum(b, f, W, k, first, factor)
    if p > k:
        variances[p] += _weighted_sum(c, g, W, p, first, factor)
    if q > p:
        variances[q] += _weighted_sum(d, h, W, q, first, factor)


@part
def _weighted_sum(left: Any, right: Any, W: Floats, row: int, first: int, factor: bool) -> float:
    """Sum sixteen numbers times a row's weights from `first` on, or their squares where they are of a factor."""
    if factor:
        return sum_up(add_product(add_product(zero(), left, left), right, right))
    n = W.shape[1] - first
    products = add_product(zero(), left, load_part(W, row, first, n))
    return sum_up(add_product(products, right, load_part(W, row, first + WIDTH, n - WIDTH)))
