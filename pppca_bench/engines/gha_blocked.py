"""Fast GHA updates and projection variances in compiled code, at half of the processor's peak speed.

Panels store sixteen columns of W each, two vectors per row, so that an update stays in the first-level cache. Rows 0 to
7 of a panel are the same columns of eight samples, a block; row 8 + j is row j of W.
"""

import math
from typing import Any, NamedTuple

from pppca_bench.compiled.arrays import Floats1D, Floats2D, Indices1D, Samples2D, aligned_zeros
from pppca_bench.compiled.jit import subroutine
from pppca_bench.compiled.operation import FITS_32_VECTORS, WIDTH
from pppca_bench.compiled.simd import (
    add,
    blend,
    broadcast,
    broadcast_lane,
    fma,
    fnma,
    load,
    masked_load,
    multiply,
    reduce_add,
    splat,
    store,
    subtract,
    transpose,
    zeros,
)

_BLOCK = WIDTH
_PANEL = 2 * WIDTH
_Pair = tuple[Any, Any]


class Panels(NamedTuple):
    """Work arrays of `fast_epoch`: W in panels, and a block of samples.

    panels (n_panels * height, 16), where height is 8 plus n_rows rounded up to a multiple of four; columns
    (n_panels * 16, 8): the samples as columns; outputs (height, 8).
    """

    panels: Floats2D
    columns: Floats2D
    outputs: Floats2D


def make_panels(n_rows: int, n_features: int) -> Panels:
    """Allocate panels for at most n_rows rows."""
    n_panels, height = -(-n_features // _PANEL), _BLOCK + -(-n_rows // 4) * 4
    return Panels(
        aligned_zeros(n_panels * height, _PANEL),
        aligned_zeros(n_panels * _PANEL, _BLOCK),
        aligned_zeros(height, _BLOCK),
    )


@subroutine
def fast_epoch(
    W: Floats2D,
    n_rows: int,
    X: Samples2D,
    mean: Floats2D,
    order: Indices1D,
    learning_rate: float,
    decay: float,
    work: Panels,
) -> None:
    """Update the first rows of W in place with cumulative residuals: 3 l m multiply-adds per sample.

    ΔW = η (y xᵀ − LT(y yᵀ) W), where every row uses the old W: the residual x − Σ_{k≤j} y_k w_k is passed from row to
    row, so that row k is read before it changes. Source: Sanger 1989; slide "Generalized Hebbian Algorithm".

    Choice: blocks of eight samples, which agree with single samples up to rounding. The outputs of a block follow from
    the outputs W X_Bᵀ of the old rows and the products X_B X_Bᵀ of the samples. Given the outputs, the columns of W are
    independent, so that all updates of a panel stay in the first-level cache.

    Choice: samples are multiplied by √η and learnt at a rate of 1, which is equivalent. Both products of an update,
    residual − y w and w + y residual, then share the output y, and each sample may have its own rate.

    Parameters
    ----------
    W : float64 array, shape (>= n_rows, m)
        The rows that learn are first; changed in place.
    n_rows : int
        l, the number of rows that learn.
    X, mean : float64 arrays, shape (N, m) and (1, m)
        Samples that are not centred, and the mean to subtract.
    order : int64 array, shape (n,)
        Indices of samples, in the order of learning, each in [0, N).
    learning_rate, decay : float
        η = learning_rate / (1 + decay s) for sample s = 0, 1, … of the order; > 0 and >= 0.
    work : Panels
        Overwritten.
    """
    n_features = W.shape[1]
    # Zeros pad rows, columns and samples to whole blocks; the padding remains zero and has no influence.
    height = _BLOCK + (n_rows + 3) // 4 * 4
    n_panels = (n_features + _PANEL - 1) // _PANEL
    panels, columns, outputs = work.panels, work.columns, work.outputs
    _copy_rows(W, n_rows, panels, height, n_panels)
    for start in range(0, len(order), _BLOCK):
        # X_B = √η (x − mean) of eight samples
        _read_block(panels, columns, height, X, mean, order, start, learning_rate, decay)
        # [X_B; W] X_Bᵀ with the old W
        _compute_outputs(outputs, height, panels, columns, n_features)
        # y_s = W_s x_s, where W_s is W after samples 0 to s − 1 of the block
        _carry_outputs(outputs, n_rows)
        # W ← W + Σ_s (y_s x_sᵀ − LT(y_s y_sᵀ) W_s), panel by panel
        for panel in range(n_panels):
            if FITS_32_VECTORS:
                _learn_panel(panels, panel * height, outputs, n_rows)
            else:
                for part in range(4):
                    _learn_quarter(
                        panels, panel * height, part // 2 * WIDTH, part % 2 * 4, outputs, n_rows
                    )
    # Copy the panels back to W: feature i is column i mod 16 of panel i // 16.
    for j in range(n_rows):
        for i in range(n_features):
            W[j, i] = panels[i // _PANEL * height + _BLOCK + j, i % _PANEL]


@subroutine
def _copy_rows(W: Floats2D, n_rows: int, panels: Floats2D, height: int, n_panels: int) -> None:
    """Copy the first rows of W to the panels, below the samples, and fill the other rows with zeros."""
    n_features = W.shape[1]
    for panel in range(n_panels):
        first = panel * _PANEL
        for j in range(height - _BLOCK):
            # For n <= 0, beyond the rows and features, masked_load returns zeros.
            row, n = panel * height + _BLOCK + j, n_features - first if j < n_rows else 0
            store(panels, row, 0, masked_load(W, j, first, n))
            store(panels, row, WIDTH, masked_load(W, j, first + WIDTH, n - WIDTH))


@subroutine
def _read_block(
    panels: Floats2D,
    columns: Floats2D,
    height: int,
    X: Samples2D,
    mean: Floats2D,
    order: Indices1D,
    start: int,
    learning_rate: float,
    decay: float,
) -> None:
    """Set the first eight rows of the panels to X_B, √η (x − mean) of eight samples, and ``columns`` to X_Bᵀ."""
    for s in range(_BLOCK):
        # Zeros fill the last block; their outputs are zero.
        present = start + s < len(order)
        rate = learning_rate / (1.0 + decay * (start + s)) if decay > 0.0 else learning_rate
        # √η x instead of x, so that y x and y y contain the factor η
        factor = splat(math.sqrt(rate) if present else 0.0)
        sample = order[start + s] if present else 0
        for i in range(0, len(columns), WIDTH):
            n = X.shape[1] - i
            x = subtract(masked_load(X, sample, i, n), masked_load(mean, 0, i, n))
            store(panels, i // _PANEL * height + s, i % _PANEL, multiply(x, factor))
    for i in range(0, len(columns), WIDTH):
        # Each row of ``columns`` is a feature of all eight samples.
        transpose(columns, i, 0, panels, i // _PANEL * height, i % _PANEL)


@subroutine
def _compute_outputs(
    outputs: Floats2D, height: int, panels: Floats2D, columns: Floats2D, n_features: int
) -> None:
    """Set ``outputs`` to [X_B; W] X_Bᵀ, the products of the rows of the panels with the samples in ``columns``.

    Each panel has ``height`` rows, a multiple of four.
    """
    for j in range(height):
        store(outputs, j, 0, zeros())
    # Panel by panel, whose sixteen columns of samples and rows stay in the first-level cache
    for first in range(0, n_features, _PANEL):
        n = _PANEL if first + _PANEL <= n_features else n_features - first
        if not FITS_32_VECTORS:
            for j in range(0, height, 2):
                _add_two_outputs(
                    outputs, j, panels, first // _PANEL * height + j, columns, first, n
                )
            continue
        for j in range(0, height, 4):
            row = first // _PANEL * height + j
            a, b, c, d = (
                load(outputs, j, 0),
                load(outputs, j + 1, 0),
                load(outputs, j + 2, 0),
                load(outputs, j + 3, 0),
            )
            # Lane s of a to d is Σ w_i x_si over even i for four rows w, lane s of e to h over odd i. Two sums per row
            # halve the wait for previous additions.
            e = f = g = h = zeros()
            for i in range(0, n, 2):
                x, z = load(columns, first + i, 0), load(columns, first + i + 1, 0)
                a = fma(x, broadcast(panels, row, i), a)
                b = fma(x, broadcast(panels, row + 1, i), b)
                c = fma(x, broadcast(panels, row + 2, i), c)
                d = fma(x, broadcast(panels, row + 3, i), d)
                e = fma(z, broadcast(panels, row, i + 1), e)
                f = fma(z, broadcast(panels, row + 1, i + 1), f)
                g = fma(z, broadcast(panels, row + 2, i + 1), g)
                h = fma(z, broadcast(panels, row + 3, i + 1), h)
            store(outputs, j, 0, add(a, e))
            store(outputs, j + 1, 0, add(b, f))
            store(outputs, j + 2, 0, add(c, g))
            store(outputs, j + 3, 0, add(d, h))


@subroutine
def _add_two_outputs(
    outputs: Floats2D, j: int, panels: Floats2D, row: int, columns: Floats2D, first: int, n: int
) -> None:
    """Add the products of two rows of a panel with the samples, summed in the order of `_compute_outputs`."""
    # Σ w_i x_si over even i in a and b, over odd i in c and d
    a, b = load(outputs, j, 0), load(outputs, j + 1, 0)
    c = d = zeros()
    for i in range(0, n, 2):
        x, z = load(columns, first + i, 0), load(columns, first + i + 1, 0)
        a = fma(x, broadcast(panels, row, i), a)
        b = fma(x, broadcast(panels, row + 1, i), b)
        c = fma(z, broadcast(panels, row, i + 1), c)
        d = fma(z, broadcast(panels, row + 1, i + 1), d)
    store(outputs, j, 0, add(a, c))
    store(outputs, j + 1, 0, add(b, d))


@subroutine
def _carry_outputs(outputs: Floats2D, n_rows: int) -> None:
    """Replace the outputs of the old rows by the outputs of the rows as updated before each sample of the block.

    r_s = (x_s − Σ_k y_k w_k) X_Bᵀ are the products of the residual of sample s with all samples, at first x_s X_Bᵀ. For
    each row j and each sample s, ``now`` is the output y_s of w_j, lane s of y = w_j X_Bᵀ. Then r_s ← r_s − now y. The
    update adds now times the residual to the row, and now r_s to the outputs of later samples, lanes s + 1 to 7 of y.
    """
    # r_7 is not needed: sample 7 is the last.
    r0, r1, r2, r3 = (
        load(outputs, 0, 0),
        load(outputs, 1, 0),
        load(outputs, 2, 0),
        load(outputs, 3, 0),
    )
    r4, r5, r6 = load(outputs, 4, 0), load(outputs, 5, 0), load(outputs, 6, 0)
    for j in range(_BLOCK, _BLOCK + n_rows):
        y = load(outputs, j, 0)
        # Sample s = 0: r_0 ← r_0 − y_0 y, then y ← y + y_0 r_0 in lanes 1 to 7
        now = broadcast_lane(y, 0)
        r0 = fnma(now, y, r0)
        y = blend(0, y, fma(now, r0, y))
        # The same for samples 1 to 6
        now = broadcast_lane(y, 1)
        r1 = fnma(now, y, r1)
        y = blend(1, y, fma(now, r1, y))
        now = broadcast_lane(y, 2)
        r2 = fnma(now, y, r2)
        y = blend(2, y, fma(now, r2, y))
        now = broadcast_lane(y, 3)
        r3 = fnma(now, y, r3)
        y = blend(3, y, fma(now, r3, y))
        now = broadcast_lane(y, 4)
        r4 = fnma(now, y, r4)
        y = blend(4, y, fma(now, r4, y))
        now = broadcast_lane(y, 5)
        r5 = fnma(now, y, r5)
        y = blend(5, y, fma(now, r5, y))
        now = broadcast_lane(y, 6)
        r6 = fnma(now, y, r6)
        y = blend(6, y, fma(now, r6, y))
        store(outputs, j, 0, y)


@subroutine
def _learn_panel(panels: Floats2D, first: int, outputs: Floats2D, n_rows: int) -> None:
    """Update the rows of the panel at row ``first`` by its block of samples: r ← r − y w, w ← w + y r for each row."""
    # The residuals r_0 to r_7 of the samples, at first x_s, fill sixteen registers, and a row w fills two.
    r0, r1, r2, r3 = (
        _pair(panels, first),
        _pair(panels, first + 1),
        _pair(panels, first + 2),
        _pair(panels, first + 3),
    )
    half = first + 4
    r4, r5, r6, r7 = (
        _pair(panels, half),
        _pair(panels, half + 1),
        _pair(panels, half + 2),
        _pair(panels, half + 3),
    )
    for j in range(_BLOCK, _BLOCK + n_rows):
        w = _pair(panels, first + j)
        # r_s ← r_s − y_s w, w ← w + y_s r_s in the order of the samples s
        w, r0 = _learn(w, r0, broadcast(outputs, j, 0))
        w, r1 = _learn(w, r1, broadcast(outputs, j, 1))
        w, r2 = _learn(w, r2, broadcast(outputs, j, 2))
        w, r3 = _learn(w, r3, broadcast(outputs, j, 3))
        w, r4 = _learn(w, r4, broadcast(outputs, j, 4))
        w, r5 = _learn(w, r5, broadcast(outputs, j, 5))
        w, r6 = _learn(w, r6, broadcast(outputs, j, 6))
        w, r7 = _learn(w, r7, broadcast(outputs, j, 7))
        store(panels, first + j, 0, w[0])
        store(panels, first + j, WIDTH, w[1])


@subroutine
def _learn_quarter(
    panels: Floats2D, first: int, column: int, sample: int, outputs: Floats2D, n_rows: int
) -> None:
    """Apply the updates of `_learn_panel` for four samples from ``sample`` in eight columns from ``column``.

    Samples 0 to 3, then samples 4 to 7, give the same result as all eight samples at once.
    """
    r0, r1 = load(panels, first + sample, column), load(panels, first + sample + 1, column)
    r2, r3 = load(panels, first + sample + 2, column), load(panels, first + sample + 3, column)
    for j in range(_BLOCK, _BLOCK + n_rows):
        # r_s ← r_s − y_s w, w ← w + y_s r_s in the order of the samples s
        w = load(panels, first + j, column)
        y = broadcast(outputs, j, sample)
        r0 = fnma(y, w, r0)
        w = fma(y, r0, w)
        y = broadcast(outputs, j, sample + 1)
        r1 = fnma(y, w, r1)
        w = fma(y, r1, w)
        y = broadcast(outputs, j, sample + 2)
        r2 = fnma(y, w, r2)
        w = fma(y, r2, w)
        y = broadcast(outputs, j, sample + 3)
        r3 = fnma(y, w, r3)
        store(panels, first + j, column, fma(y, r3, w))


@subroutine
def _pair(panels: Floats2D, row: int) -> _Pair:
    return load(panels, row, 0), load(panels, row, WIDTH)


@subroutine
def _learn(w: _Pair, residual: _Pair, y: Any) -> tuple[_Pair, _Pair]:
    """Return the updated row w + y (r − y w), and the residual r − y w of the sample."""
    r, s = fnma(y, w[0], residual[0]), fnma(y, w[1], residual[1])
    return (fma(y, r, w[0]), fma(y, s, w[1])), (r, s)


@subroutine
def quadratic_variances(
    W: Floats2D, n_rows: int, C: Floats2D, variances: Floats1D, strip: Floats2D
) -> None:
    """Set ``variances`` to the projection variances w C wᵀ of the leading rows, at a cost that does not depend on N.

    Parameters
    ----------
    W : float64 array, shape (>= n_rows, m)
    n_rows : int
        l.
    C : float64 array, shape (m, m) or (m, n)
        Covariance or autocorrelation matrix, divisor N. If n < m, a factor F of C = F Fᵀ, such as the centred samples
        as columns, divided by √N: cheaper for fewer samples than features.
    variances : float64 array, shape (>= l,)
    strip : float64 array, shape (m, 16), overwritten
    """
    last = n_rows - 1
    for j in range(n_rows):
        variances[j] = 0.0
    factor = C.shape[1] < len(C)
    # Σ over strips of sixteen columns of C, whose contiguous copy serves all rows from the first-level cache
    for first in range(0, C.shape[1], _PANEL):
        n = C.shape[1] - first
        for i in range(len(C)):
            store(strip, i, 0, masked_load(C, i, first, n))
            store(strip, i, WIDTH, masked_load(C, i, first + WIDTH, n - WIDTH))
        for j in range(0, n_rows, 4):
            # Four rows share each load of the strip; the last row repeats at the end.
            k = j + 1 if j < last else last
            p = j + 2 if j + 1 < last else last
            q = j + 3 if j + 2 < last else last
            _add_quadratic_forms(variances, W, j, k, p, q, strip, first, factor)


@subroutine
def _add_quadratic_forms(
    variances: Floats1D,
    W: Floats2D,
    j: int,
    k: int,
    p: int,
    q: int,
    strip: Floats2D,
    first: int,
    factor: bool,
) -> None:
    """Add Σ_i (w C)_i w_i, or Σ_i (w F)_i² with a factor F, over the strip's columns i to the variances of four rows.

    A repeated row counts once.
    """
    # (w C)_i for four rows w: columns i = 0 to 7 of the strip in a to d, columns 8 to 15 in e to h
    a = b = c = d = e = f = g = h = zeros()
    for i in range(len(strip)):
        left, right = load(strip, i, 0), load(strip, i, WIDTH)
        a = fma(left, broadcast(W, j, i), a)
        b = fma(left, broadcast(W, k, i), b)
        c = fma(left, broadcast(W, p, i), c)
        d = fma(left, broadcast(W, q, i), d)
        e = fma(right, broadcast(W, j, i), e)
        f = fma(right, broadcast(W, k, i), f)
        g = fma(right, broadcast(W, p, i), g)
        h = fma(right, broadcast(W, q, i), h)
    variances[j] += _weighted_sum(a, e, W, j, first, factor)
    if k > j:
        variances[k] += _weighted_sum(b, f, W, k, first, factor)
    if p > k:
        variances[p] += _weighted_sum(c, g, W, p, first, factor)
    if q > p:
        variances[q] += _weighted_sum(d, h, W, q, first, factor)


@subroutine
def _weighted_sum(left: Any, right: Any, W: Floats2D, row: int, first: int, factor: bool) -> float:
    """Return Σ_i (w C)_i w_i over sixteen columns i, from ``first`` on; with a factor, Σ_i (w F)_i².

    ``left`` and ``right`` contain eight columns each of w C, or w F, for the row w of W.
    """
    # C = F Fᵀ: w C wᵀ = ‖w F‖²
    if factor:
        return reduce_add(fma(right, right, multiply(left, left)))
    n = W.shape[1] - first
    products = multiply(left, masked_load(W, row, first, n))
    return reduce_add(fma(right, masked_load(W, row, first + WIDTH, n - WIDTH), products))
