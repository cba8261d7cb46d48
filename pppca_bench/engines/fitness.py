"""Compiled evaluation of linear networks: orthonormal nodes, their variances, fitness, removal by criterion (1).

Sums run in a fixed order whatever the processor's vector width, so that an evolution takes the same course on any
processor that rounds a multiply-add once.
"""

from typing import Any, NamedTuple

import numpy as np

from pppca_bench.compiled.arrays import (
    Flags1D,
    Floats,
    Floats1D,
    Floats2D,
    Floats3D,
    Indices1D,
    Samples2D,
    aligned_zeros,
)
from pppca_bench.compiled.jit import kernel, part
from pppca_bench.compiled.operation import WIDTH
from pppca_bench.compiled.simd import (
    add,
    broadcast,
    fma,
    gather,
    load,
    load_tile,
    masked_load,
    multiply,
    reduce_add,
    store,
    store_tile,
    subtract,
    zero_tile,
    zeros,
)
from pppca_bench.engines.gram_schmidt import Scratch, make_scratch, orthonormalise, padded, plus_products
from pppca_bench.engines.removal import Limits, count_kept, sort_decreasing

_BLOCK = 128
"""Samples whose products are summed while they stay in the second cache."""


class Networks(NamedTuple):
    """A population.

    weights: float64 array of shape (n_individuals, n_panels * depth, 8), the nodes in panels as `orthonormalise`
    takes them; variances: float64 array of shape (n_individuals, n_panels * 8), of the projections on evaluated nodes,
    decreasing; sizes: int64 array of shape (n_individuals,), nodes that each network has, 1 to n_features; fitness:
    float64 array of shape (n_individuals,), >= 0, squared units of the data. Weights and variances beyond a network's
    size are finite and mean nothing.
    """

    weights: Floats3D
    variances: Floats2D
    sizes: Indices1D
    fitness: Floats1D


class Moments(NamedTuple):
    """C, the covariance or autocorrelation matrix, as an evaluation reads it.

    full: float64 array of shape (depth, depth), C bordered by zeros, n_features rounded up to a multiple of eight;
    half: float64 array of the same shape, its lower triangle with twice what lies below the diagonal, so that
    q C qᵀ = Σ_k q_k Σ_{i≥k} half[i, k] q_i; n_features: the size of C.
    """

    full: Floats2D
    half: Floats2D
    n_features: int


class Room(NamedTuple):
    """Room that an evaluation works in, for networks of up to n_panels panels.

    scratch: that of `orthonormalise`; lost: bool array of shape (n_panels * 8,); raw: float64 array of shape
    (1, n_panels * 8); order: int64 array of shape (n_panels * 8,); offsets: int64 array of shape (8,); leader: float64
    array of shape (1, depth).
    """

    scratch: Scratch
    lost: Flags1D
    raw: Floats2D
    order: Indices1D
    offsets: Indices1D
    leader: Floats2D


def moments_of(C: Floats) -> Moments:
    """Prepare C, shape (n_features, n_features), symmetric and non-negative definite."""
    n_features = len(C)
    depth = padded(n_features)
    full, half = aligned_zeros(depth, depth), aligned_zeros(depth, depth)
    full[:n_features, :n_features] = C
    half[:n_features, :n_features] = np.tril(C) + np.tril(C, -1)
    return Moments(full, half, n_features)


def make_room(n_panels: int, depth: int) -> Room:
    """Allocate room for the evaluation of networks of up to so many panels."""
    n_nodes = n_panels * WIDTH
    return Room(
        make_scratch(n_panels),
        np.zeros(n_nodes, dtype=np.bool_),
        aligned_zeros(1, n_nodes),
        np.zeros(n_nodes, dtype=np.int64),
        np.zeros(WIDTH, dtype=np.int64),
        aligned_zeros(1, depth),
    )


def second_moments(X: Floats, mean: Floats) -> Floats:
    """Return C = (X − mean)ᵀ (X − mean) / N, summed sample by sample, so that it is the same with any BLAS library.

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features), n_samples >= 1, C-contiguous
    mean : float64 array of shape (n_features,)

    Returns
    -------
    C : float64 array of shape (n_features, n_features), squared units of the data
    """
    n_features = X.shape[1]
    depth = padded(n_features)
    upper = aligned_zeros(depth, depth)
    sum_products(X, np.ascontiguousarray(mean)[np.newaxis], aligned_zeros(_BLOCK, depth), upper)
    upper = upper[:n_features, :n_features]
    return np.where(np.tri(n_features, dtype=bool), upper.T, upper) / len(X)


@kernel
def sum_products(X: Samples2D, mean: Floats2D, block: Floats2D, sums: Floats2D) -> None:
    """Add Σ_n (x_n − mean)ᵀ (x_n − mean) to ``sums`` above the diagonal, tile by tile, in the order of the samples.

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features)
    mean : float64 array of shape (1, n_features)
    block : float64 array of shape (128, depth), room for centred samples
    sums : float64 array of shape (depth, depth), ``n_features`` rounded up to a multiple of eight
        Changed in place; tiles below the diagonal are left as they are.
    """
    n_samples, n_features = X.shape
    depth = len(sums)
    # Blocks outermost: 128 centred samples stay in the second cache while every tile takes its products from them.
    for first in range(0, n_samples, _BLOCK):
        n = _BLOCK if first + _BLOCK <= n_samples else n_samples - first
        for i in range(n):
            for k in range(0, depth, WIDTH):
                present = n_features - k
                centred = subtract(masked_load(X, first + i, k, present), masked_load(mean, 0, k, present))
                store(block, i, k, centred)
        # X_Bᵀ X_B by tiles of eight by eight, on and above the diagonal: C is symmetric.
        for row in range(0, depth, WIDTH):
            for column in range(row, depth, WIDTH):
                total = plus_products(load_tile(sums, row, column), block, 0, row, block, 0, column, n)
                store_tile(sums, row, column, total)


@part
def spanned_variances(panels: Floats2D, n_nodes: int, moments: Moments, room: Room) -> None:
    """Orthonormalise nodes in their order, and set ``room.raw`` to what each adds to the variance of their span.

    The span of the first k nodes holds the sum of the first k; a node that depends on those before it adds nothing.

    Parameters
    ----------
    panels : float64 array of shape (n_panels * depth, 8)
        The nodes as `orthonormalise` takes them; overwritten.
    n_nodes : int, 1 to n_features
    moments : Moments
    room : Room
    """
    depth = len(moments.full)
    orthonormalise(panels, n_nodes, depth, moments.n_features, room.lost, room.scratch)
    # Var(q̂) = q̂ C q̂ᵀ, a panel of eight nodes at a time.
    for first in range(0, n_nodes, WIDTH):
        store(room.raw, 0, first, _variances(panels, first // WIDTH * depth, moments))


@part
def evaluate(
    panels: Floats2D, n_nodes: int, moments: Moments, limits: Limits, room: Room, networks: Networks, p: int
) -> None:
    """Evaluate a network, remove nodes by criterion (1), and make it network p of a population.

    Source: slide 'Fitness evaluation': orthonormalise; Var(q̂i) = q̂i C q̂iᵀ; sort by decreasing variance; fitness
    f = α Σ_i Var(q̂i); remove. The nodes that stay are written orthonormal, in that order.

    Choice: the fitness sums the variances of all nodes, those about to be removed too. The slides name the
    sum first and the removal after it.

    Parameters
    ----------
    panels : float64 array of shape (n_panels * depth, 8), finite
        The network's nodes as `orthonormalise` takes them; overwritten.
    n_nodes : int, 1 to n_features
    moments : Moments
    limits : Limits
    room : Room
    networks : Networks
        Its network p is overwritten; not where ``panels`` lie.
    p : int
    """
    depth = len(moments.full)
    raw, order, lost = room.raw, room.order, room.lost
    spanned_variances(panels, n_nodes, moments, room)
    # Lost nodes go to the end of the order, and no sum or criterion reads them.
    n_found = n_nodes
    for j in range(n_nodes):
        if lost[j]:
            n_found -= 1
            raw[0, j] = -np.inf
    sort_decreasing(raw[0], n_nodes, order)
    variances, weights = networks.variances[p], networks.weights[p]
    total = 0.0
    for j in range(n_found):
        # Rounding leaves as little as -1e-16 of a node without variance, and ratios of variances want none below zero.
        variance = raw[0, order[j]]
        variances[j] = variance if variance > 0.0 else 0.0
        total += variances[j]
    # f = α Σ_i Var(q̂_i) has its sum by now: of all nodes, before the removal.
    kept = count_kept(variances, n_found, limits)
    for j in range(kept, len(variances)):
        variances[j] = 0.0
    _sort_nodes(panels, depth, order, kept, room.offsets, weights)
    networks.sizes[p] = kept
    networks.fitness[p] = alignment(weights, moments.full, room.leader) * total


@part
def _variances(panels: Floats2D, row: int, moments: Moments) -> Any:
    """Return q C qᵀ = Σ_k q_k Σ_{i≥k} half[i, k] q_i of the eight nodes q of the panel that starts at a row.

    Eight features k at a time: their inner sums fill a tile; then they are weighted by q_k, even and odd ones apart,
    since an addition waits for the one before it.
    """
    half = moments.half
    total = zeros()
    for k in range(0, len(half), WIDTH):
        # C's lower triangle, doubled below the diagonal: half of the multiply-adds of q C.
        products = plus_products(zero_tile(), half, k, k, panels, row + k, 0, moments.n_features - k)
        t0, t1, t2, t3, t4, t5, t6, t7 = products
        first = row + k
        even = fma(t2, load(panels, first + 2, 0), multiply(t0, load(panels, first, 0)))
        odd = fma(t3, load(panels, first + 3, 0), multiply(t1, load(panels, first + 1, 0)))
        even = fma(t6, load(panels, first + 6, 0), fma(t4, load(panels, first + 4, 0), even))
        odd = fma(t7, load(panels, first + 7, 0), fma(t5, load(panels, first + 5, 0), odd))
        total = add(total, add(even, odd))
    return total


@part
def _sort_nodes(panels: Floats2D, depth: int, order: Indices1D, n: int, offsets: Indices1D, weights: Floats2D) -> None:
    """Copy the first n nodes of an order; what comes in places of the last panel that are left over means nothing."""
    for first in range(0, n, WIDTH):
        # Node j is column j mod 8 of panel j // 8; offsets count numbers in memory from row k of the first panel.
        for i in range(WIDTH):
            node = order[first + i] if first + i < n else 0
            offsets[i] = node // WIDTH * depth * WIDTH + node % WIDTH
        # Row by row: each gather takes one feature of the eight nodes.
        for k in range(depth):
            store(weights, first // WIDTH * depth + k, 0, gather(panels, k, 0, offsets))


@part
def alignment(weights: Floats2D, C: Floats2D, leader: Floats2D) -> float:
    """Return α = (q r)² with r = C q / ‖C q‖ of the first node q, slide 'The Neuroevolutionary Algorithm'.

    It is 1 when q is an eigenvector of C and less otherwise.

    Choice: 0 when C q = 0, where r has no direction; such a network explains nothing.

    Parameters
    ----------
    weights : float64 array of shape (>= depth, 8)
        Its first column is q, of unit norm.
    C : float64 array of shape (depth, depth), symmetric, see `Moments.full`
    leader : float64 array of shape (1, depth)
        Receives q.
    """
    depth = len(C)
    # q is the first column of the panel; as a row its numbers are neighbours.
    for k in range(depth):
        leader[0, k] = weights[k, 0]
    products, squares = zeros(), zeros()
    # C q eight rows at a time: C is symmetric, so a row of it serves as a column.
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
