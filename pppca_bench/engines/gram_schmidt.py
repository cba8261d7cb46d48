"""Gram–Schmidt orthonormalisation of the nodes of a linear network in compiled code, eight nodes per register.

A network is stored in panels of eight nodes, P = [P_0; P_1; …]. Row k of a panel contains the weights of feature k, a
node per lane, so that no sum crosses lanes. All panels have the same number of rows, the depth: the number of features
rounded up to a multiple of eight. Rows beyond the features are zeros.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pppca_bench.compiled.arrays import Flags1D, Floats, Floats2D, Indices1D, aligned_zeros
from pppca_bench.compiled.jit import subroutine
from pppca_bench.compiled.linear_algebra import Tile, add_products, padded
from pppca_bench.compiled.operation import WIDTH
from pppca_bench.compiled.simd import (
    add,
    broadcast,
    fma,
    fnma,
    load,
    load_tile,
    multiply,
    splat,
    store,
    store_tile,
    subtract,
    transpose,
    zero_tile,
    zeros,
)

_REPEAT_ABOVE = 50.0
_ONE_BY_ONE_ABOVE = 1e6
_DEPENDENT_BELOW = 1e-10


class Workspace(NamedTuple):
    """Work arrays for the evaluation of networks of at most n_nodes nodes, a multiple of eight.

    For `orthonormalise`: factors (n_nodes, 8), gram (8, 8), inverse (8, 8), before (1, 8) and its result, lost
    (n_nodes,). For `fitness.evaluate`: raw (1, n_nodes), order (n_nodes,), offsets (8,) and leader (1, depth).
    """

    factors: Floats2D
    gram: Floats2D
    inverse: Floats2D
    before: Floats2D
    lost: Flags1D
    raw: Floats2D
    order: Indices1D
    offsets: Indices1D
    leader: Floats2D


def make_workspace(n_panels: int, depth: int) -> Workspace:
    """Allocate the work arrays for networks of at most n_panels panels."""
    n_nodes = n_panels * WIDTH
    return Workspace(
        factors=aligned_zeros(n_nodes, WIDTH),
        gram=aligned_zeros(WIDTH, WIDTH),
        inverse=aligned_zeros(WIDTH, WIDTH),
        before=aligned_zeros(1, WIDTH),
        lost=np.zeros(n_nodes, dtype=np.bool_),
        raw=aligned_zeros(1, n_nodes),
        order=np.zeros(n_nodes, dtype=np.int64),
        offsets=np.zeros(WIDTH, dtype=np.int64),
        leader=aligned_zeros(1, depth),
    )


def in_panels(nodes: Floats) -> Floats:
    """Store networks, float64 (…, n_nodes, n_features), in panels, float64 (…, n_panels * depth, 8)."""
    *networks, n_nodes, n_features = nodes.shape
    n_panels, depth = padded(n_nodes) // WIDTH, padded(n_features)
    panels = aligned_zeros(*networks, n_panels * depth, WIDTH)
    by_panel = panels.reshape(*networks, n_panels, depth, WIDTH)
    for first in range(0, n_nodes, WIDTH):
        eight = nodes[..., first : first + WIDTH, :].swapaxes(-1, -2)
        by_panel[..., first // WIDTH, :n_features, : eight.shape[-1]] = eight
    return panels


@subroutine
def orthonormalise(
    panels: Floats2D, n_nodes: int, depth: int, n_features: int, work: Workspace
) -> None:
    """Orthonormalise nodes in their order, in place.

    Source: slide 'Fitness evaluation', step 2.

    For each eight nodes B, two matrix products subtract the projections on all earlier panels, B − Σ_P P (Pᵀ B). With
    G = Bᵀ B = L Lᵀ, the orthonormal nodes are then L⁻¹ B. The error is 1e-16 times the squared amplification of
    rounding errors, see `_invert_factor`. If the amplification exceeds 50, both steps are repeated,
    which keeps the nodes orthonormal to 1e-11 even if they are nearly dependent (Daniel, Gragg, Kaufman and Stewart
    1976). If the amplification exceeds a million, the eight nodes are orthonormalised singly.

    Choice: a node that depends on earlier nodes (less than 1e-10 of its norm remains) is lost, since it adds no
    direction. If all nodes are zero, the first node becomes the first coordinate direction, so that no network is
    empty.

    Parameters
    ----------
    panels : float64 array of shape (n_panels * depth, 8), n_panels >= ceil(n_nodes / 8), finite
        The nodes. Lanes beyond the last node have no influence and become zero.
    n_nodes : int
        From 1 to n_features.
    depth : int
        ``n_features`` rounded up to a multiple of eight.
    n_features : int
    work : Workspace
        ``lost`` receives whether each node is lost; the weights of a lost node become zero.
    """
    n_lost = 0
    # In order: earlier panels are final before a panel is projected on them.
    for first in range(0, n_nodes, WIDTH):
        row = first // WIDTH * depth
        n = WIDTH if first + WIDTH <= n_nodes else n_nodes - first
        for i in range(n):
            work.lost[first + i] = False
        amplification = _orthonormalise_eight(panels, row, depth, n_features, n, work)
        if amplification > _ONE_BY_ONE_ABOVE:
            n_lost += _orthonormalise_each(panels, row, depth, n, work)
        elif amplification > _REPEAT_ABOVE:
            _orthonormalise_eight(panels, row, depth, n_features, n, work)
    if n_lost == n_nodes:
        panels[0, 0] = 1.0
        work.lost[0] = False


@subroutine
def _orthonormalise_eight(
    panels: Floats2D, row: int, depth: int, n_features: int, n: int, work: Workspace
) -> float:
    """Orthonormalise the first n nodes of the panel at ``row``, in place; return the amplification of rounding errors.

    If the amplification exceeds a million, only the projections on earlier panels are subtracted. ``work.before``
    receives the squared norms.
    """
    # ‖b‖², then B ← B − Σ_P P (Pᵀ B)
    store(work.before, 0, 0, _squared_norms(panels, row, depth))
    _project(panels, row, depth, n_features, work.factors)
    # G = Bᵀ B = L Lᵀ, L⁻ᵀ, then B ← L⁻¹ B
    store_tile(
        work.gram, 0, 0, add_products(zero_tile(), panels, row, 0, panels, row, 0, n_features)
    )
    amplification = _invert_factor(work.gram, work.before, n, work.inverse)
    if amplification <= _ONE_BY_ONE_ABOVE:
        _combine(panels, row, depth, work.inverse)
    return amplification


@subroutine
def _squared_norms(panels: Floats2D, row: int, depth: int) -> Any:
    """Return Σ_k b_k² for the eight nodes of the panel at ``row``."""
    # Four sums, each over every fourth feature k: additions to different sums do not wait for each other.
    a = b = c = d = zeros()
    for k in range(row, row + depth, 4):
        a = fma(load(panels, k, 0), load(panels, k, 0), a)
        b = fma(load(panels, k + 1, 0), load(panels, k + 1, 0), b)
        c = fma(load(panels, k + 2, 0), load(panels, k + 2, 0), c)
        d = fma(load(panels, k + 3, 0), load(panels, k + 3, 0), d)
    return add(add(a, b), add(c, d))


@subroutine
def _project(panels: Floats2D, row: int, depth: int, n_features: int, factors: Floats2D) -> None:
    """Set the nodes B of the panel at ``row`` to B − Σ_P P (Pᵀ B) over all earlier panels P."""
    # Pᵀ B of all panels P, with a row for each node of P
    for other in range(0, row, depth):
        overlaps = add_products(zero_tile(), panels, other, 0, panels, row, 0, n_features)
        store_tile(factors, other // depth * WIDTH, 0, overlaps)
    # B − Σ_P P (Pᵀ B), tile by tile, so that each tile of B is read and written once
    if row > 0:
        for k in range(0, depth, WIDTH):
            rest = _subtract_from_tile(
                load_tile(panels, row + k, 0), panels, row, depth, k, factors
            )
            store_tile(panels, row + k, 0, rest)


@subroutine
def _subtract_from_tile(
    x: Tile, panels: Floats2D, row: int, depth: int, k: int, factors: Floats2D
) -> Tile:
    """Return features k to k + 7 of B − Σ_P P (Pᵀ B) over the panels P before ``row``, each of ``depth`` rows.

    The tile x contains these features of B, and ``factors`` contains Pᵀ B of all panels, a row for each node.
    """
    # t_i is feature k + i of the eight nodes of B, f the row of Pᵀ B for a node p of P: t_i ← t_i − p_(k+i) f
    t0, t1, t2, t3, t4, t5, t6, t7 = x
    node = 0
    for feature in range(k, row + k, depth):
        for i in range(WIDTH):
            f = load(factors, node, 0)
            node += 1
            t0 = fnma(broadcast(panels, feature, i), f, t0)
            t1 = fnma(broadcast(panels, feature + 1, i), f, t1)
            t2 = fnma(broadcast(panels, feature + 2, i), f, t2)
            t3 = fnma(broadcast(panels, feature + 3, i), f, t3)
            t4 = fnma(broadcast(panels, feature + 4, i), f, t4)
            t5 = fnma(broadcast(panels, feature + 5, i), f, t5)
            t6 = fnma(broadcast(panels, feature + 6, i), f, t6)
            t7 = fnma(broadcast(panels, feature + 7, i), f, t7)
    return t0, t1, t2, t3, t4, t5, t6, t7


@subroutine
def _invert_factor(gram: Floats2D, before: Floats2D, n: int, inverse: Floats2D) -> float:
    """Set ``inverse`` to L⁻ᵀ, where L Lᵀ is the Gram matrix, and overwrite the latter; return the amplification.

    Elimination turns [G | I] into [U | D L⁻¹], where U is upper triangular and D is diagonal with the square roots of
    the pivots. Rows and columns beyond the first n are zero.

    The amplification of rounding errors is the norm of the longest row of L⁻¹ for nodes of unit norm; ``before`` are
    the squared norms before any projection. It is at least the reciprocal of the remaining share of a node's norm, and
    much larger if several nodes nearly depend on earlier nodes. If a share is below a millionth, infinity is returned
    and the inverse is incomplete.
    """
    # I, whose diagonal is set at each pivot; rows beyond n remain zero.
    for j in range(WIDTH):
        store(inverse, j, 0, zeros())
    for j in range(n):
        # The pivot G_jj is the remaining part of ‖b_j‖².
        if not gram[j, j] * (_ONE_BY_ONE_ABOVE * _ONE_BY_ONE_ABOVE) > before[0, j]:
            return math.inf
        inverse[j, j] = 1.0
        reciprocal = 1.0 / gram[j, j]
        # Row i of [G | I] ← row i − (G_ij / G_jj) row j
        for i in range(j + 1, n):
            factor = splat(gram[i, j] * reciprocal)
            store(gram, i, 0, subtract(load(gram, i, 0), multiply(load(gram, j, 0), factor)))
            store(
                inverse, i, 0, subtract(load(inverse, i, 0), multiply(load(inverse, j, 0), factor))
            )
    # L⁻¹ = D⁻¹ (D L⁻¹), D_jj = √G_jj
    for j in range(n):
        store(inverse, j, 0, multiply(load(inverse, j, 0), splat(1.0 / math.sqrt(gram[j, j]))))
    # L⁻ᵀ, whose row j contains the factors of node j
    transpose(inverse, 0, 0, inverse, 0, 0)
    # Lane i is Σ_j (L⁻¹_ij ‖b_j‖)², the squared norm of row i of L⁻¹ for nodes of unit norm
    squares = zeros()
    for j in range(n):
        factors = load(inverse, j, 0)
        squares = fma(multiply(factors, broadcast(before, 0, j)), factors, squares)
    store(gram, 0, 0, squares)
    longest = 0.0
    for j in range(n):
        if gram[0, j] > longest:
            longest = gram[0, j]
    return math.sqrt(longest)


@subroutine
def _combine(panels: Floats2D, row: int, depth: int, inverse: Floats2D) -> None:
    """Replace the eight nodes B of a panel by L⁻¹ B, in place."""
    c0, c1, c2, c3, c4, c5, c6, c7 = load_tile(inverse, 0, 0)
    for k in range(row, row + depth):
        # Feature k of L⁻¹ B is Σ_j B_kj (L⁻ᵀ)_j, over even j in a and odd j in b.
        a = multiply(broadcast(panels, k, 0), c0)
        b = multiply(broadcast(panels, k, 1), c1)
        a = fma(broadcast(panels, k, 2), c2, a)
        b = fma(broadcast(panels, k, 3), c3, b)
        a = fma(broadcast(panels, k, 4), c4, a)
        b = fma(broadcast(panels, k, 5), c5, b)
        a = fma(broadcast(panels, k, 6), c6, a)
        b = fma(broadcast(panels, k, 7), c7, b)
        store(panels, k, 0, add(a, b))


@subroutine
def _orthonormalise_each(panels: Floats2D, row: int, depth: int, n: int, work: Workspace) -> int:
    """Orthonormalise singly the first n nodes of a panel already projected on earlier panels; count the lost nodes.

    Projections are subtracted twice, since a single subtraction is inexact for nearly dependent nodes.
    """
    # Lanes beyond the last node become zero.
    for k in range(row, row + depth):
        for i in range(n, WIDTH):
            panels[k, i] = 0.0
    n_lost = 0
    for i in range(n):
        # b_i − Σ_{j<i} b_j (b_j b_i) over the nodes of the same panel
        _subtract_projections(panels, row, i, row, depth)
        norm, after = (
            math.sqrt(work.before[0, i]),
            math.sqrt(_inner_product(panels, row, i, row, i, depth)),
        )
        if after <= _DEPENDENT_BELOW * norm:
            for k in range(row, row + depth):
                panels[k, i] = 0.0
            work.lost[row // depth * WIDTH + i] = True
            n_lost += 1
            continue
        # The same over the nodes of all panels, then b_i / ‖b_i‖
        _subtract_projections(panels, row, i, 0, depth)
        after = math.sqrt(_inner_product(panels, row, i, row, i, depth))
        for k in range(row, row + depth):
            panels[k, i] /= after
    return n_lost


@subroutine
def _subtract_projections(panels: Floats2D, row: int, i: int, first: int, depth: int) -> None:
    """Subtract from node i of the panel at ``row`` its projections on earlier nodes of the panels from ``first``.

    The earlier nodes have norm 1, or 0 if they are lost.
    """
    # b_i ← b_i − b_j (b_j b_i) for each earlier node b_j in turn
    for node in range(first // depth * WIDTH, row // depth * WIDTH + i):
        other, j = node // WIDTH * depth, node % WIDTH
        factor = _inner_product(panels, row, i, other, j, depth)
        for k in range(depth):
            panels[row + k, i] -= factor * panels[other + k, j]


@subroutine
def _inner_product(panels: Floats2D, row: int, i: int, other: int, j: int, depth: int) -> float:
    """Return the inner product of node i of the panel at ``row`` and node j of the panel at ``other``."""
    total = 0.0
    for k in range(depth):
        total += panels[row + k, i] * panels[other + k, j]
    return total
