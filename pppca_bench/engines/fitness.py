"""Evaluation of linear networks in compiled code: orthonormal nodes, variances, fitness, removal by criterion (1).

Sums have a fixed order for every vector width, so that an evolution is the same on all processors.
"""

from typing import Any, NamedTuple

import numpy as np

from pppca_bench.compiled.arrays import (
    Floats,
    Floats1D,
    Floats2D,
    Floats3D,
    Indices1D,
    aligned_zeros,
)
from pppca_bench.compiled.jit import subroutine
from pppca_bench.compiled.linear_algebra import add_products, padded
from pppca_bench.compiled.operation import WIDTH
from pppca_bench.compiled.simd import (
    add,
    broadcast,
    fma,
    gather,
    load,
    multiply,
    reduce_add,
    store,
    zero_tile,
    zeros,
)
from pppca_bench.engines.gram_schmidt import Workspace, orthonormalise
from pppca_bench.engines.removal import Limits, count_kept, sort_decreasing


class Networks(NamedTuple):
    """A population of networks.

    weights (n_individuals, n_panels * depth, 8): nodes in panels, see `orthonormalise`; variances (n_individuals,
    n_panels * 8): decreasing projection variances of evaluated nodes; sizes (n_individuals,): number of nodes, 1 to
    n_features; fitness (n_individuals,): >= 0, squared units of the data. Weights and variances beyond a network's
    size are finite but undefined.
    """

    weights: Floats3D
    variances: Floats2D
    sizes: Indices1D
    fitness: Floats1D


class Moments(NamedTuple):
    """The covariance or autocorrelation matrix C, padded by zeros to (depth, depth), depth a multiple of eight.

    full: C; half: its lower triangle, doubled below the diagonal, so that q C qᵀ = Σ_k q_k Σ_{i≥k} half[i, k] q_i;
    n_features: the size of C.
    """

    full: Floats2D
    half: Floats2D
    n_features: int


def moments_of(C: Floats) -> Moments:
    """Return the moments of C, shape (n_features, n_features), symmetric and positive semidefinite."""
    n_features = len(C)
    depth = padded(n_features)
    full, half = aligned_zeros(depth, depth), aligned_zeros(depth, depth)
    full[:n_features, :n_features] = C
    half[:n_features, :n_features] = np.tril(C) + np.tril(C, -1)
    return Moments(full, half, n_features)


@subroutine
def evaluate(
    panels: Floats2D,
    n_nodes: int,
    moments: Moments,
    limits: Limits,
    work: Workspace,
    networks: Networks,
    p: int,
) -> None:
    """Evaluate a network, remove nodes by criterion (1), and store it as network p of a population.

    Source: slide 'Fitness evaluation': orthonormalise; Var(q̂i) = q̂i C q̂iᵀ; sort by decreasing variance; fitness
    f = α Σ_i Var(q̂i); remove. The remaining nodes are stored orthonormal, in that order.

    Choice: the fitness sums the variances of all nodes, including nodes that are removed afterwards, since the slides
    name the sum before the removal.

    Parameters
    ----------
    panels : float64 array of shape (n_panels * depth, 8), finite
        Nodes of the network, see `orthonormalise`; overwritten.
    n_nodes : int, 1 to n_features
    moments : Moments
    limits : Limits
    work : Workspace
    networks : Networks
        Network p is overwritten; ``panels`` must not be part of it.
    p : int
    """
    depth = len(moments.full)
    raw, order, lost = work.raw, work.order, work.lost
    orthonormalise(panels, n_nodes, depth, moments.n_features, work)
    # Var(q̂_i) = q̂_i C q̂_iᵀ, eight nodes at a time
    for first in range(0, n_nodes, WIDTH):
        store(raw, 0, first, _variances(panels, first // WIDTH * depth, moments))
    # Lost nodes are last in the order; the sum and the criterion exclude them.
    n_left = n_nodes
    for j in range(n_nodes):
        if lost[j]:
            n_left -= 1
            raw[0, j] = -np.inf
    sort_decreasing(raw[0], n_nodes, order)
    # Σ_i Var(q̂_i); rounding may turn a variance of 0 into -1e-16, but criterion (1) requires >= 0.
    variances, weights = networks.variances[p], networks.weights[p]
    total = 0.0
    for j in range(n_left):
        variance = raw[0, order[j]]
        variances[j] = variance if variance > 0.0 else 0.0
        total += variances[j]
    kept = count_kept(variances, n_left, limits)
    for j in range(kept, len(variances)):
        variances[j] = 0.0
    _sort_nodes(panels, depth, order, kept, work.offsets, weights)
    # f = α Σ_i Var(q̂_i)
    networks.sizes[p] = kept
    networks.fitness[p] = alignment(weights, moments.full, work.leader) * total


@subroutine
def _variances(panels: Floats2D, row: int, moments: Moments) -> Any:
    """Return q C qᵀ = Σ_k q_k Σ_{i≥k} half[i, k] q_i of the eight nodes q of the panel that starts at a row."""
    half = moments.half
    total = zeros()
    for k in range(0, len(half), WIDTH):
        # t_k = Σ_{i≥k} half[i, k] q_i for eight features k: half of the multiply-adds of q C
        products = add_products(zero_tile(), half, k, k, panels, row + k, 0, moments.n_features - k)
        t0, t1, t2, t3, t4, t5, t6, t7 = products
        first = row + k
        # Σ_k q_k t_k over even and odd k: two sums halve the wait for previous additions
        even = fma(t2, load(panels, first + 2, 0), multiply(t0, load(panels, first, 0)))
        odd = fma(t3, load(panels, first + 3, 0), multiply(t1, load(panels, first + 1, 0)))
        even = fma(t6, load(panels, first + 6, 0), fma(t4, load(panels, first + 4, 0), even))
        odd = fma(t7, load(panels, first + 7, 0), fma(t5, load(panels, first + 5, 0), odd))
        total = add(total, add(even, odd))
    return total


@subroutine
def _sort_nodes(
    panels: Floats2D, depth: int, order: Indices1D, n: int, offsets: Indices1D, weights: Floats2D
) -> None:
    """Copy the first n nodes of an order to ``weights``; the remaining lanes of the last panel are undefined."""
    for first in range(0, n, WIDTH):
        # Node j is column j mod 8 of panel j // 8. Offsets are relative to row k of the first panel.
        for i in range(WIDTH):
            node = order[first + i] if first + i < n else 0
            offsets[i] = node // WIDTH * depth * WIDTH + node % WIDTH
        # A gather reads one feature k of eight nodes.
        for k in range(depth):
            store(weights, first // WIDTH * depth + k, 0, gather(panels, k, 0, offsets))


@subroutine
def alignment(weights: Floats2D, C: Floats2D, leader: Floats2D) -> float:
    """Return α = (q r)², r = C q / ‖C q‖, for the first node q: 1 if q is an eigenvector of C, otherwise less.

    Source: slide 'The Neuroevolutionary Algorithm'. Choice: 0 if C q = 0, where r has no direction.

    The first column of ``weights``, shape (>= depth, 8), is q; C is `Moments.full`; ``leader``, shape (1, depth),
    receives q.
    """
    depth = len(C)
    # q, the first column of the panel, as a row
    for k in range(depth):
        leader[0, k] = weights[k, 0]
    products, squares = zeros(), zeros()
    # r = C q, eight elements at a time, by rows of C, which is symmetric; q r and r² are summed in lanes
    for k in range(0, depth, WIDTH):
        a = b = c = d = zeros()
        for i in range(0, depth, 4):
            a = fma(load(C, i, k), broadcast(leader, 0, i), a)
            b = fma(load(C, i + 1, k), broadcast(leader, 0, i + 1), b)
            c = fma(load(C, i + 2, k), broadcast(leader, 0, i + 2), c)
            d = fma(load(C, i + 3, k), broadcast(leader, 0, i + 3), d)
        r = add(add(a, b), add(c, d))
        products = fma(r, load(leader, 0, k), products)
        squares = fma(r, r, squares)
    # α = (q r)² = (q C q)² / ‖C q‖²
    product, squared = reduce_add(products), reduce_add(squares)
    return product * product / squared if squared > 0.0 else 0.0
