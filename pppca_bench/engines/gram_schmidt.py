"""Compiled Gram-Schmidt orthonormalisation of the nodes of a linear network, eight nodes to a register.

A network lies in panels of eight nodes: row k of a panel holds their weights of feature k, one node to a place of the
vector, so that no sum runs across a register. A panel has as many rows as features, rounded up to whole tiles of eight;
those beyond the features are zeros.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pppca_bench.compiled.arrays import Floats
from pppca_bench.compiled.jit import kernel, part
from pppca_bench.compiled.simd import (
    WIDTH,
    add,
    add_product,
    load,
    multiply,
    spread,
    store,
    subtract,
    subtract_product,
    transpose,
    zero,
)
from pppca_bench.engines.gha_blocked import aligned_zeros

Flags = NDArray[np.bool_]

_REPEAT_ABOVE = 50.0
_ONE_BY_ONE_ABOVE = 1e6
_DEPENDENT_BELOW = 1e-10
Tile = tuple[Any, Any, Any, Any, Any, Any, Any, Any]


class Scratch(NamedTuple):
    """Room that `orthonormalise` works in: arrays of shape (n_panels * 8, 8), (8, 8), (8, 8) and (1, 8)."""

    factors: Floats
    gram: Floats
    inverse: Floats
    before: Floats


@kernel
def make_scratch(n_panels: int) -> Scratch:
    """Allocate room for networks of up to so many panels; their nodes then share it."""
    return Scratch(
        aligned_zeros(n_panels * WIDTH, WIDTH),
        aligned_zeros(WIDTH, WIDTH),
        aligned_zeros(WIDTH, WIDTH),
        aligned_zeros(1, WIDTH),
    )


@kernel
def orthonormalise(panels: Floats, depth: int, n_features: int, lost: Flags, scratch: Scratch) -> None:
    """Orthonormalise nodes in their order, in place, slide 'Fitness evaluation', step 2.

    Eight nodes at a time lose their projections on all nodes before them, by two products of matrices, then those on
    each other. These follow from the inner products of the eight, whose Cholesky factor L gives the orthonormal nodes
    L⁻¹ B. They are as far from orthonormal as 1e-16 times the square of what magnifies rounding, see `_invert_factor`.
    Where that is beyond 50 all this is done a second time, which keeps the nodes orthonormal to 1e-11 even when they
    are nearly dependent (Daniel, Gragg, Kaufman and Stewart 1976); beyond a million the eight are computed one by one.

    Choice: a node that depends on the nodes before it (less than 1e-10 of its norm is left) is lost. It has
    no direction of its own; as a zero node it would have no variance and criterion (1) would remove it.

    Choice: where every node is zero the first takes the first coordinate direction, so no network is ever empty.

    Parameters
    ----------
    panels : float64 array of shape (n_panels * depth, 8), n_panels = ceil(n_nodes / 8), finite
        The nodes, see above; what lies in places beyond the last node has no influence and becomes zero.
    depth : int, n_features rounded up to a multiple of eight
    n_features : int
    lost : bool array of shape (n_nodes,), 1 <= n_nodes <= n_features
        Receives which nodes are lost; their weights become zero.
    scratch : Scratch
    """
    n_nodes = len(lost)
    n_lost = 0
    for first in range(0, n_nodes, WIDTH):
        row = first // WIDTH * depth
        n = min(WIDTH, n_nodes - first)
        lost[first : first + n] = False
        magnified = _orthonormalise_eight(panels, row, depth, n_features, n, scratch)
        if magnified > _ONE_BY_ONE_ABOVE:
            n_lost += _orthonormalise_each(panels, row, depth, scratch.before, lost[first : first + n])
        elif magnified > _REPEAT_ABOVE:
            _orthonormalise_eight(panels, row, depth, n_features, n, scratch)
    if n_lost == n_nodes:
        panels[0, 0] = 1.0
        lost[0] = False


@part
def _orthonormalise_eight(panels: Floats, row: int, depth: int, n_features: int, n: int, scratch: Scratch) -> float:
    """Orthonormalise the first n nodes of the panel at a row, in place; return what magnifies rounding.

    Where that is beyond a million they only lose their projections on the nodes of all panels above. Their squared
    norms before stay in the scratch.
    """
    store(scratch.before, 0, 0, _squared_norms(panels, row, depth))
    _project(panels, row, depth, n_features, scratch.factors)
    store_tile(scratch.gram, 0, 0, _overlaps(panels, row, row, n_features))
    magnified = _invert_factor(scratch.gram, scratch.before, n, scratch.inverse)
    if magnified <= _ONE_BY_ONE_ABOVE:
        _combine(panels, row, depth, scratch.inverse)
    return magnified


@part
def _squared_norms(panels: Floats, row: int, depth: int) -> Any:
    """Return the squared norms of the eight nodes of the panel that starts at a row."""
    a = b = c = d = zero()
    for k in range(row, row + depth, 4):
        a = add_product(a, load(panels, k, 0), load(panels, k, 0))
        b = add_product(b, load(panels, k + 1, 0), load(panels, k + 1, 0))
        c = add_product(c, load(panels, k + 2, 0), load(panels, k + 2, 0))
        d = add_product(d, load(panels, k + 3, 0), load(panels, k + 3, 0))
    return add(add(a, b), add(c, d))


@part
def _project(panels: Floats, row: int, depth: int, n_features: int, factors: Floats) -> None:
    """Subtract from the nodes of the panel at a row their projections on those of all panels above it, in place."""
    for other in range(0, row, depth):
        store_tile(factors, other // depth * WIDTH, 0, _overlaps(panels, row, other, n_features))
    if row > 0:
        for k in range(0, depth, WIDTH):
            store_tile(
                panels, row + k, 0, _less_projections(load_tile(panels, row + k, 0), panels, row, depth, k, factors)
            )


@part
def _overlaps(panels: Floats, row: int, other: int, n_features: int) -> Tile:
    """Return the inner products of eight nodes with eight others: vector i holds those with the others' node i."""
    return plus_products(zero_tile(), panels, other, 0, panels, row, 0, n_features)


@part
def _less_projections(tile: Tile, panels: Floats, row: int, depth: int, k: int, factors: Floats) -> Tile:
    """Return features k to k + 7 of eight nodes less their projections on the nodes of all panels above a row."""
    t0, t1, t2, t3, t4, t5, t6, t7 = tile
    node = 0
    for other in range(k, row + k, depth):
        for i in range(WIDTH):
            f = load(factors, node, 0)
            node += 1
            t0 = subtract_product(t0, spread(panels, other, i), f)
            t1 = subtract_product(t1, spread(panels, other + 1, i), f)
            t2 = subtract_product(t2, spread(panels, other + 2, i), f)
            t3 = subtract_product(t3, spread(panels, other + 3, i), f)
            t4 = subtract_product(t4, spread(panels, other + 4, i), f)
            t5 = subtract_product(t5, spread(panels, other + 5, i), f)
            t6 = subtract_product(t6, spread(panels, other + 6, i), f)
            t7 = subtract_product(t7, spread(panels, other + 7, i), f)
    return t0, t1, t2, t3, t4, t5, t6, t7


@part
def _invert_factor(gram: Floats, before: Floats, n: int, inverse: Floats) -> float:
    """Set `inverse` to the transposed inverse of the Cholesky factor of a Gram matrix, which is overwritten.

    Elimination turns the Gram matrix into an upper triangle and the unit matrix into the factor's inverse, but for the
    square roots of the pivots. What belongs to places beyond the first n is zero.

    Return what magnifies rounding: the length of the longest row of the inverse, were the nodes of unit norm before
    they were projected on others; their squared norms are given. It is at least one over the share that is left of a
    node's norm, and far more where several nodes in a row nearly depend on those before them. Infinity stands for a
    share below a millionth; the inverse is not complete then.
    """
    inverse[:] = 0.0
    for j in range(n):
        if not gram[j, j] * _ONE_BY_ONE_ABOVE**2 > before[0, j]:
            return math.inf
        inverse[j, j] = 1.0
        reciprocal = 1.0 / gram[j, j]
        for i in range(j + 1, n):
            factor = gram[i, j] * reciprocal
            store(gram, i, 0, subtract(load(gram, i, 0), multiply(load(gram, j, 0), factor)))
            store(inverse, i, 0, subtract(load(inverse, i, 0), multiply(load(inverse, j, 0), factor)))
    for j in range(n):
        store(inverse, j, 0, multiply(load(inverse, j, 0), 1.0 / math.sqrt(gram[j, j])))
    transpose(inverse, 0, 0, inverse, 0, 0)
    squares = zero()
    for j in range(n):
        factors = load(inverse, j, 0)
        squares = add_product(squares, multiply(factors, before[0, j]), factors)
    store(gram, 0, 0, squares)
    longest = 0.0
    for j in range(n):
        longest = max(longest, gram[0, j])
    return math.sqrt(longest)


@part
def _combine(panels: Floats, row: int, depth: int, inverse: Floats) -> None:
    """Multiply the eight nodes of a panel by the inverse of their Cholesky factor, in place."""
    c0, c1, c2, c3, c4, c5, c6, c7 = load_tile(inverse, 0, 0)
    for k in range(row, row + depth):
        a = add_product(zero(), spread(panels, k, 0), c0)
        b = add_product(zero(), spread(panels, k, 1), c1)
        a = add_product(a, spread(panels, k, 2), c2)
        b = add_product(b, spread(panels, k, 3), c3)
        a = add_product(a, spread(panels, k, 4), c4)
        b = add_product(b, spread(panels, k, 5), c5)
        a = add_product(a, spread(panels, k, 6), c6)
        b = add_product(b, spread(panels, k, 7), c7)
        store(panels, k, 0, add(a, b))


@part
def _orthonormalise_each(panels: Floats, row: int, depth: int, before: Floats, lost: Flags) -> int:
    """Orthonormalise the first nodes of a panel, which are orthogonal to those above, one by one, in place.

    Each is projected twice on all others: so near to dependence, once may leave too much. Return how many are lost.
    """
    panel = panels[row : row + depth]
    panel[:, len(lost) :] = 0.0
    n_lost = 0
    for i in range(len(lost)):
        node = panel[:, i]
        for j in range(i):
            _subtract_projection(node, panel[:, j])
        norm, after = math.sqrt(before[0, i]), math.sqrt(_inner_product(node, node))
        if after <= _DEPENDENT_BELOW * norm:
            node[:] = 0.0
            lost[i] = True
            n_lost += 1
            continue
        for other in range(0, row, depth):
            for j in range(WIDTH):
                _subtract_projection(node, panels[other : other + depth, j])
        for j in range(i):
            _subtract_projection(node, panel[:, j])
        after = math.sqrt(_inner_product(node, node))
        for k in range(depth):
            node[k] /= after
    return n_lost


@part
def _subtract_projection(node: Floats, other: Floats) -> None:
    """Subtract from a node its projection on another, which has unit norm or is zero, in place."""
    factor = _inner_product(node, other)
    for k in range(len(node)):
        node[k] -= factor * other[k]


@part
def _inner_product(node: Floats, other: Floats) -> float:
    total = 0.0
    for k in range(len(node)):
        total += node[k] * other[k]
    return total


@part
def load_tile(A: Floats, row: int, column: int) -> Tile:
    """Return eight rows of eight numbers."""
    return (
        load(A, row, column),
        load(A, row + 1, column),
        load(A, row + 2, column),
        load(A, row + 3, column),
        load(A, row + 4, column),
        load(A, row + 5, column),
        load(A, row + 6, column),
        load(A, row + 7, column),
    )


@part
def store_tile(A: Floats, row: int, column: int, tile: Tile) -> None:
    """Set eight rows of eight numbers."""
    store(A, row, column, tile[0])
    store(A, row + 1, column, tile[1])
    store(A, row + 2, column, tile[2])
    store(A, row + 3, column, tile[3])
    store(A, row + 4, column, tile[4])
    store(A, row + 5, column, tile[5])
    store(A, row + 6, column, tile[6])
    store(A, row + 7, column, tile[7])


@part
def zero_tile() -> Tile:
    """Return eight rows of eight zeros."""
    return zero(), zero(), zero(), zero(), zero(), zero(), zero(), zero()


@part
def plus_products(tile: Tile, A: Floats, row: int, column: int, B: Floats, other: int, place: int, n: int) -> Tile:
    """Return a tile plus Aᵀ B of eight columns each, from `column` and `place` on.

    Of both matrices n rows count, from `row` and `other` on.
    """
    t0, t1, t2, t3, t4, t5, t6, t7 = tile
    for k in range(n):
        i, b = row + k, load(B, other + k, place)
        t0 = add_product(t0, spread(A, i, column), b)
        t1 = add_product(t1, spread(A, i, column + 1), b)
        t2 = add_product(t2, spread(A, i, column + 2), b)
        t3 = add_product(t3, spread(A, i, column + 3), b)
        t4 = add_product(t4, spread(A, i, column + 4), b)
        t5 = add_product(t5, spread(A, i, column + 5), b)
        t6 = add_product(t6, spread(A, i, column + 6), b)
        t7 = add_product(t7, spread(A, i, column + 7), b)
    return t0, t1, t2, t3, t4, t5, t6, t7
