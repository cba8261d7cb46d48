"""Compiled evaluation of linear networks: orthonormal rows, their variances, fitness, removal by criterion (1).

Sums run in a fixed order whatever the processor's vector width, so that an evolution takes the same course on any
processor that rounds a multiply-add once.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pppca_bench.engines._arrays import Floats, Indices
from pppca_bench.engines._compilation import kernel, part
from pppca_bench.engines._fast_kernels import aligned_zeros, quadratic_variances
from pppca_bench.engines._removal_kernels import decreasing_order
from pppca_bench.engines._vectors import (
    WIDTH,
    add_product,
    load,
    load_part,
    multiply,
    spread,
    store,
    subtract,
    subtract_product,
    sum_up,
    transpose,
    zero,
)

_REPEAT_BELOW = 0.1
_DEPENDENT_BELOW = 1e-10
_Tile = tuple[Any, Any, Any, Any, Any, Any, Any, Any]


class Networks(NamedTuple):
    """A population, or a share of it.

    weights: float64 array of shape (n_individuals, n_nodes, n_features); variances: float64 array of shape
    (n_individuals, n_nodes), of the projections on evaluated nodes, decreasing; sizes: int64 array of shape
    (n_individuals,), nodes that each network has, 1 to n_features; fitness: float64 array of shape (n_individuals,),
    >= 0, squared units of the data. Weights and variances beyond a network's size mean nothing.
    """

    weights: Floats
    variances: Floats
    sizes: Indices
    fitness: Floats


class Limits(NamedTuple):
    """How an evaluation removes nodes.

    tau: threshold of criterion (1); min_components, max_components: nodes that stay at least and at most;
    min_variance: the variance that those which stay hold at least, 0 for none.
    """

    tau: float
    min_components: int
    max_components: int
    min_variance: float


@kernel
def evaluate_networks(networks: Networks, C: Floats, limits: Limits) -> None:
    """Evaluate networks in place, slide 'Fitness evaluation', then remove nodes by criterion (1).

    The nodes that stay are written back orthonormal, by decreasing variance.

    Choice: the fitness sums the variances of all nodes, those about to be removed too. The slides name the
    sum first and the removal after it.

    Parameters
    ----------
    networks : Networks
        Finite weights; all else but the sizes is overwritten.
    C : float64 array of shape (n_features, n_features)
        Symmetric, non-negative definite.
    limits : Limits
        The rule of removal.
    """
    weights, variances, sizes, fitness = networks
    Q = aligned_zeros(_padded(weights.shape[1]), _padded(weights.shape[2]))
    for p in range(weights.shape[0]):
        n_rows = gram_schmidt(weights[p], sizes[p], Q)
        raw = np.empty(n_rows)
        quadratic_variances(Q[:n_rows], C, raw)
        order = decreasing_order(raw)
        total = 0.0
        for j in range(n_rows):
            variances[p, j] = raw[order[j]]
            total += variances[p, j]
        sizes[p] = count_kept(variances[p, :n_rows], limits)
        for j in range(sizes[p]):
            for k in range(weights.shape[2]):
                weights[p, j, k] = Q[order[j], k]
        fitness[p] = alignment(weights[p], C) * total


@part
def _padded(n: int) -> int:
    """Return the size of an array with room for n numbers in whole vectors."""
    return (n + WIDTH - 1) // WIDTH * WIDTH


@kernel
def count_kept(variances: Floats, limits: Limits) -> int:
    """Return how many nodes criterion (1), Var(q0) / Var(qi) > tau, and its constraints leave; at least one.

    The smallest number of nodes comes after the share of variance, the largest last.

    Parameters
    ----------
    variances : float64 array of shape (n,), n >= 1, in decreasing order
    limits : Limits
    """
    kept = 1
    held = variances[0]
    # A product and no quotient: a node without variance is then removed at any finite tau.
    while kept < len(variances) and (variances[0] <= limits.tau * variances[kept] or held < limits.min_variance):
        held += variances[kept]
        kept += 1
    return min(max(kept, limits.min_components), limits.max_components, len(variances))


@kernel
def alignment(W: Floats, C: Floats) -> float:
    """Return alpha = (qᵀ r)² with r = C q / ‖C q‖ of the first node q, slide 'The Neuroevolutionary Algorithm'.

    It is 1 when q is an eigenvector of C and less otherwise.

    Choice: 0 when C q = 0, where r has no direction; such a network explains nothing.

    Parameters
    ----------
    W : float64 array of shape (n_nodes, n_features)
        Its first row has unit norm.
    C : float64 array of shape (n_features, n_features), symmetric
    """
    n = len(C)
    products, squares = zero(), zero()
    for k in range(0, n, WIDTH):
        r = zero()
        for i in range(n):
            r = add_product(r, load_part(C, i, k, n - k), spread(W, 0, i))
        products = add_product(products, r, load_part(W, 0, k, n - k))
        squares = add_product(squares, r, r)
    product, squared = sum_up(products), sum_up(squares)
    return product * product / squared if squared > 0.0 else 0.0


@kernel
def gram_schmidt(W: Floats, n_nodes: int, Q: Floats) -> int:
    """Orthonormalise the first rows of a matrix in their order, slide 'Fitness evaluation', step 2.

    Eight rows at a time lose their projections on all rows before them, by two products of matrices, then those on
    each other. These follow from the inner products of the eight, whose Cholesky factor L gives the orthonormal rows
    L⁻¹ B, unless a row would lose most of its length: then they are computed row by row, and such a row is projected
    a second time, which keeps the rows orthonormal to rounding even when they are nearly dependent (Daniel, Gragg,
    Kaufman and Stewart 1976).

    Choice: a row that depends on the rows before it (less than 1e-10 of its norm is left) is dropped. It has
    no direction of its own; as a zero row it would have no variance and criterion (1) would remove it.

    Choice: where every row is zero the first coordinate direction stands in, so no network is ever empty.

    Parameters
    ----------
    W : float64 array of shape (>= n_nodes, n_features), finite
    n_nodes : int, 1 to n_features
    Q : float64 array of shape (>= n_nodes, >= n_features), both multiples of eight, overwritten

    Returns
    -------
    n_kept : int, 1 to n_nodes
        Number of orthonormal rows at the head of Q; beyond them, and beyond the features, are zeros.
    """
    block = aligned_zeros(WIDTH, Q.shape[1])
    panels = aligned_zeros(len(Q) // WIDTH * Q.shape[1], WIDTH)
    factors = aligned_zeros(WIDTH, len(Q))
    own = aligned_zeros(Q.shape[1], WIDTH)
    gram = np.empty((WIDTH, WIDTH))
    before = np.empty(WIDTH)
    Q[:] = 0.0
    n_kept = 0
    for first in range(0, n_nodes, WIDTH):
        n_rows = min(WIDTH, n_nodes - first)
        _read_rows(block, W, first, n_rows, before)
        _project_block(block, Q, panels, n_kept, factors)
        n_before = n_kept
        _multiply_by_itself(block, own, gram)
        if _factorise(gram, before, n_rows):
            for k in range(0, Q.shape[1], WIDTH):
                _store_tile(Q, n_kept, k, _solve(_load_tile(block, k), gram))
            n_kept += n_rows
            n_rows = 0
        for i in range(n_rows):
            if _normalise(block, i, before[i], Q, n_kept):
                for k in range(0, Q.shape[1], WIDTH):
                    store(Q, n_kept, k, load(block, i, k))
                n_kept += 1
                for later in range(i + 1, n_rows):
                    _subtract_projection(block, later, block, i)
        for j in range(n_before // WIDTH * WIDTH, n_kept, WIDTH):
            for k in range(0, Q.shape[1], WIDTH):
                transpose(panels, j // WIDTH * Q.shape[1] + k, 0, Q, j, k)
    if n_kept == 0:
        Q[0, 0] = 1.0
        n_kept = 1
    return n_kept


@part
def _read_rows(block: Floats, W: Floats, first: int, n_rows: int, norms: Floats) -> None:
    """Copy rows of W and take their norms; beyond the last are zeros."""
    for i in range(WIDTH):
        for k in range(0, block.shape[1], WIDTH):
            store(block, i, k, load_part(W, first + i, k, W.shape[1] - k) if i < n_rows else zero())
        norms[i] = math.sqrt(_inner_product(block, i, block, i))


@part
def _project_block(block: Floats, Q: Floats, panels: Floats, n_kept: int, factors: Floats) -> None:
    """Subtract from eight rows their projections on the first rows of Q, in place.

    The panels hold the same rows transposed, eight to a panel.
    """
    for j in range(0, n_kept, WIDTH):
        _store_tile(factors, 0, j, _multiply(block, panels, j // WIDTH * Q.shape[1]))
    if n_kept > 0:
        for k in range(0, block.shape[1], WIDTH):
            _store_tile(block, 0, k, _subtract_products(_load_tile(block, k), factors, Q, k, n_kept))


@part
def _multiply_by_itself(block: Floats, transposed: Floats, gram: Floats) -> None:
    """Set `gram` to the inner products of eight rows."""
    for k in range(0, block.shape[1], WIDTH):
        transpose(transposed, k, 0, block, 0, k)
    _store_tile(gram, 0, 0, _multiply(block, transposed, 0))


@part
def _factorise(gram: Floats, norms: Floats, n_rows: int) -> bool:
    """Turn a Gram matrix into its Cholesky factor, in the lower triangle, with the diagonal inverted.

    Return False where a row keeps less than a tenth of the norm that it had.
    """
    for i in range(n_rows):
        for j in range(i):
            for k in range(j):
                gram[i, j] -= gram[i, k] * gram[j, k]
            gram[i, j] *= gram[j, j]
            gram[i, i] -= gram[i, j] * gram[i, j]
        if norms[i] == 0.0 or not gram[i, i] >= (_REPEAT_BELOW * norms[i]) ** 2:
            return False
        gram[i, i] = 1.0 / math.sqrt(gram[i, i])
    return True


@part
def _normalise(block: Floats, i: int, before: float, Q: Floats, n_kept: int) -> bool:
    """Give a row that is orthogonal to those of Q unit norm; return False when it depends on them."""
    after = math.sqrt(_inner_product(block, i, block, i))
    if after <= _DEPENDENT_BELOW * before:
        return False
    if after < _REPEAT_BELOW * before:
        for j in range(n_kept):
            _subtract_projection(block, i, Q, j)
        after = math.sqrt(_inner_product(block, i, block, i))
    for k in range(0, block.shape[1], WIDTH):
        store(block, i, k, multiply(load(block, i, k), 1.0 / after))
    return True


@part
def _subtract_projection(A: Floats, i: int, B: Floats, j: int) -> None:
    """Subtract from a row of A its projection on a row of B, which has unit norm, in place."""
    factor = _inner_product(A, i, B, j)
    for k in range(0, A.shape[1], WIDTH):
        store(A, i, k, subtract(load(A, i, k), multiply(load(B, j, k), factor)))


@part
def _inner_product(A: Floats, i: int, B: Floats, j: int) -> float:
    """Return the inner product of a row of A and a row of B, both padded by zeros."""
    total = zero()
    for k in range(0, A.shape[1], WIDTH):
        total = add_product(total, load(A, i, k), load(B, j, k))
    return sum_up(total)


@part
def _multiply(block: Floats, panels: Floats, first: int) -> _Tile:
    """Return eight rows times the panel that starts at a row."""
    t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = zero()
    for k in range(block.shape[1]):
        b = load(panels, first + k, 0)
        t0 = add_product(t0, spread(block, 0, k), b)
        t1 = add_product(t1, spread(block, 1, k), b)
        t2 = add_product(t2, spread(block, 2, k), b)
        t3 = add_product(t3, spread(block, 3, k), b)
        t4 = add_product(t4, spread(block, 4, k), b)
        t5 = add_product(t5, spread(block, 5, k), b)
        t6 = add_product(t6, spread(block, 6, k), b)
        t7 = add_product(t7, spread(block, 7, k), b)
    return t0, t1, t2, t3, t4, t5, t6, t7


@part
def _subtract_products(tile: _Tile, factors: Floats, Q: Floats, column: int, n: int) -> _Tile:
    """Return a tile minus eight rows of factors, the first n of each, times eight columns of Q."""
    t0, t1, t2, t3, t4, t5, t6, t7 = tile
    for j in range(n):
        q = load(Q, j, column)
        t0 = subtract_product(t0, spread(factors, 0, j), q)
        t1 = subtract_product(t1, spread(factors, 1, j), q)
        t2 = subtract_product(t2, spread(factors, 2, j), q)
        t3 = subtract_product(t3, spread(factors, 3, j), q)
        t4 = subtract_product(t4, spread(factors, 4, j), q)
        t5 = subtract_product(t5, spread(factors, 5, j), q)
        t6 = subtract_product(t6, spread(factors, 6, j), q)
        t7 = subtract_product(t7, spread(factors, 7, j), q)
    return t0, t1, t2, t3, t4, t5, t6, t7


@part
def _load_tile(A: Floats, k: int) -> _Tile:
    """Return eight columns of eight rows."""
    return (
        load(A, 0, k),
        load(A, 1, k),
        load(A, 2, k),
        load(A, 3, k),
        load(A, 4, k),
        load(A, 5, k),
        load(A, 6, k),
        load(A, 7, k),
    )


@part
def _store_tile(A: Floats, row: int, k: int, tile: _Tile) -> None:
    """Set eight columns of eight rows."""
    store(A, row, k, tile[0])
    store(A, row + 1, k, tile[1])
    store(A, row + 2, k, tile[2])
    store(A, row + 3, k, tile[3])
    store(A, row + 4, k, tile[4])
    store(A, row + 5, k, tile[5])
    store(A, row + 6, k, tile[6])
    store(A, row + 7, k, tile[7])


@part
def _solve(tile: _Tile, factor: Floats) -> _Tile:
    """Return the tile that a Cholesky factor with inverted diagonal, times it, gives the tile."""
    t0, t1, t2, t3, t4, t5, t6, t7 = tile
    t0 = multiply(t0, factor[0, 0])
    t1 = subtract_product(t1, spread(factor, 1, 0), t0)
    t1 = multiply(t1, factor[1, 1])
    t2 = subtract_product(t2, spread(factor, 2, 0), t0)
    t2 = subtract_product(t2, spread(factor, 2, 1), t1)
    t2 = multiply(t2, factor[2, 2])
    t3 = subtract_product(t3, spread(factor, 3, 0), t0)
    t3 = subtract_product(t3, spread(factor, 3, 1), t1)
    t3 = subtract_product(t3, spread(factor, 3, 2), t2)
    t3 = multiply(t3, factor[3, 3])
    t4 = subtract_product(t4, spread(factor, 4, 0), t0)
    t4 = subtract_product(t4, spread(factor, 4, 1), t1)
    t4 = subtract_product(t4, spread(factor, 4, 2), t2)
    t4 = subtract_product(t4, spread(factor, 4, 3), t3)
    t4 = multiply(t4, factor[4, 4])
    t5 = subtract_product(t5, spread(factor, 5, 0), t0)
    t5 = subtract_product(t5, spread(factor, 5, 1), t1)
    t5 = subtract_product(t5, spread(factor, 5, 2), t2)
    t5 = subtract_product(t5, spread(factor, 5, 3), t3)
    t5 = subtract_product(t5, spread(factor, 5, 4), t4)
    t5 = multiply(t5, factor[5, 5])
    t6 = subtract_product(t6, spread(factor, 6, 0), t0)
    t6 = subtract_product(t6, spread(factor, 6, 1), t1)
    t6 = subtract_product(t6, spread(factor, 6, 2), t2)
    t6 = subtract_product(t6, spread(factor, 6, 3), t3)
    t6 = subtract_product(t6, spread(factor, 6, 4), t4)
    t6 = subtract_product(t6, spread(factor, 6, 5), t5)
    t6 = multiply(t6, factor[6, 6])
    t7 = subtract_product(t7, spread(factor, 7, 0), t0)
    t7 = subtract_product(t7, spread(factor, 7, 1), t1)
    t7 = subtract_product(t7, spread(factor, 7, 2), t2)
    t7 = subtract_product(t7, spread(factor, 7, 3), t3)
    t7 = subtract_product(t7, spread(factor, 7, 4), t4)
    t7 = subtract_product(t7, spread(factor, 7, 5), t5)
    t7 = subtract_product(t7, spread(factor, 7, 6), t6)
    t7 = multiply(t7, factor[7, 7])
    return t0, t1, t2, t3, t4, t5, t6, t7
