"""Compiled evaluation of linear networks: orthonormal nodes, their variances, fitness, removal by criterion (1).

Sums run in a fixed order whatever the processor's vector width, so that an evolution takes the same course on any
processor that rounds a multiply-add once.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from pppca_bench.compiled.arrays import Floats, Indices
from pppca_bench.compiled.jit import kernel, part
from pppca_bench.compiled.simd import (
    WIDTH,
    add,
    add_product,
    collect,
    load,
    load_part,
    spread,
    store,
    subtract,
    sum_up,
    zero,
)
from pppca_bench.engines.gha_blocked import aligned_zeros
from pppca_bench.engines.gram_schmidt import (
    Scratch,
    load_tile,
    make_scratch,
    orthonormalise,
    plus_products,
    store_tile,
    zero_tile,
)
from pppca_bench.engines.removal import decreasing_order

_BLOCK = 128


class Networks(NamedTuple):
    """A population.

    weights: float64 array of shape (n_individuals, n_panels * depth, 8), the nodes in panels as `orthonormalise`
    takes them; variances: float64 array of shape (n_individuals, n_panels * 8), of the projections on evaluated nodes,
    decreasing; sizes: int64 array of shape (n_individuals,), nodes that each network has, 1 to n_features; fitness:
    float64 array of shape (n_individuals,), >= 0, squared units of the data. Weights and variances beyond a network's
    size are finite and mean nothing.
    """

    weights: Floats
    variances: Floats
    sizes: Indices
    fitness: Floats


class Moments(NamedTuple):
    """C, the covariance or autocorrelation matrix, as an evaluation reads it.

    full: float64 array of shape (depth, depth), C bordered by zeros, n_features rounded up to a multiple of eight;
    half: float64 array of the same shape, its lower triangle with twice what lies below the diagonal, so that
    q C qᵀ = Σ_i q_i Σ_{k≤i} half[i, k] q_k; n_features: the size of C.
    """

    full: Floats
    half: Floats
    n_features: int


class Limits(NamedTuple):
    """How an evaluation removes nodes.

    tau: threshold of criterion (1); min_components, max_components: nodes that stay at least and at most;
    min_variance: the variance that those which stay hold at least, 0 for none.
    """

    tau: float
    min_components: int
    max_components: int
    min_variance: float


def moments_of(C: Floats) -> Moments:
    """Prepare C, shape (n_features, n_features), symmetric and non-negative definite."""
    n_features = len(C)
    depth = padded(n_features)
    full, half = aligned_zeros(depth, depth), aligned_zeros(depth, depth)
    full[:n_features, :n_features] = C
    half[:n_features, :n_features] = np.tril(C) + np.tril(C, -1)
    return Moments(full, half, n_features)


@kernel
def second_moments(X: Floats, mean: Floats) -> Floats:
    """Return C = (X − mean)ᵀ (X − mean) / N, summed sample by sample, so that it is the same with any BLAS library.

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features), n_samples >= 1
    mean : float64 array of shape (n_features,)

    Returns
    -------
    C : float64 array of shape (n_features, n_features), squared units of the data
    """
    n_samples, n_features = X.shape
    depth = padded(n_features)
    means, C = mean.reshape((1, n_features)), np.empty((n_features, n_features))
    sums, block = aligned_zeros(depth, depth), aligned_zeros(_BLOCK, depth)
    for first in range(0, n_samples, _BLOCK):
        n = min(_BLOCK, n_samples - first)
        for i in range(n):
            for k in range(0, depth, WIDTH):
                x = load_part(X, first + i, k, n_features - k)
                store(block, i, k, subtract(x, load_part(means, 0, k, n_features - k)))
        for row in range(0, depth, WIDTH):
            for column in range(row, depth, WIDTH):
                tile = load_tile(sums, row, column)
                store_tile(sums, row, column, plus_products(tile, block, 0, row, block, 0, column, n))
    for i in range(n_features):
        for k in range(n_features):
            C[i, k] = sums[min(i, k), max(i, k)] / n_samples
    return C


@register_jitable
def padded(n: int) -> int:
    """Return n rounded up to a multiple of eight."""
    return (n + WIDTH - 1) // WIDTH * WIDTH


@kernel
def evaluate_networks(networks: Networks, moments: Moments, limits: Limits, first: int, last: int) -> None:
    """Evaluate the networks from `first` to `last` - 1 in place, see `evaluate`."""
    panels = aligned_zeros(networks.weights.shape[1], WIDTH)
    scratch = make_scratch(len(panels) // len(moments.full))
    for p in range(first, last):
        panels[:] = networks.weights[p]
        evaluate(panels, networks.sizes[p], moments, limits, scratch, networks, p)


@kernel
def evaluate(
    panels: Floats, n_nodes: int, moments: Moments, limits: Limits, scratch: Scratch, networks: Networks, p: int
) -> None:
    """Evaluate a network, slide 'Fitness evaluation', remove nodes by criterion (1), and make it network p of some.

    The nodes that stay are written orthonormal, by decreasing variance.

    Choice: the fitness sums the variances of all nodes, those about to be removed too. The slides name the
    sum first and the removal after it.

    Parameters
    ----------
    panels : float64 array of shape (n_panels * depth, 8), finite
        The network's nodes as `orthonormalise` takes them; overwritten.
    n_nodes : int, 1 to n_features
    moments : Moments
    limits : Limits
        The rule of removal.
    scratch : Scratch
    networks : Networks
        Its network p is overwritten; not where `panels` lie.
    p : int
    """
    depth = len(moments.full)
    lost = np.empty(n_nodes, np.bool_)
    raw = aligned_zeros(1, padded(n_nodes))
    orthonormalise(panels, depth, moments.n_features, lost, scratch)
    for first in range(0, n_nodes, WIDTH):
        store(raw, 0, first, _variances(panels, first // WIDTH * depth, moments))
    n_found = n_nodes
    for j in range(n_nodes):
        if lost[j]:
            n_found -= 1
            raw[0, j] = -np.inf
    order = decreasing_order(raw[0, :n_nodes])
    variances = networks.variances[p]
    total = 0.0
    for j in range(n_found):
        # Rounding leaves as little as -1e-16 of a node without variance, and ratios of variances want none below zero.
        variances[j] = max(raw[0, order[j]], 0.0)
        total += variances[j]
    kept = count_kept(variances[:n_found], limits)
    variances[kept:] = 0.0
    weights = networks.weights[p]
    _sort_nodes(panels, depth, order[:kept], weights)
    networks.sizes[p] = kept
    networks.fitness[p] = alignment(weights, moments.full) * total


@part
def _variances(panels: Floats, row: int, moments: Moments) -> Any:
    """Return q C qᵀ of the eight nodes q of the panel that starts at a row."""
    half = moments.half
    total = zero()
    for k in range(0, len(half), WIDTH):
        products = plus_products(zero_tile(), half, k, k, panels, row + k, 0, moments.n_features - k)
        t0, t1, t2, t3, t4, t5, t6, t7 = products
        first = row + k
        even = add_product(add_product(zero(), t0, load(panels, first, 0)), t2, load(panels, first + 2, 0))
        odd = add_product(add_product(zero(), t1, load(panels, first + 1, 0)), t3, load(panels, first + 3, 0))
        even = add_product(add_product(even, t4, load(panels, first + 4, 0)), t6, load(panels, first + 6, 0))
        odd = add_product(add_product(odd, t5, load(panels, first + 5, 0)), t7, load(panels, first + 7, 0))
        total = add(total, add(even, odd))
    return total


@part
def _sort_nodes(panels: Floats, depth: int, order: Indices, weights: Floats) -> None:
    """Copy nodes in an order; what comes in places of the last panel that are left over means nothing."""
    offsets = np.zeros(WIDTH, np.int64)
    for first in range(0, len(order), WIDTH):
        for i in range(min(WIDTH, len(order) - first)):
            node = order[first + i]
            offsets[i] = node // WIDTH * depth * WIDTH + node % WIDTH
        for k in range(depth):
            store(weights, first // WIDTH * depth + k, 0, collect(panels, k, offsets))


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
def alignment(weights: Floats, C: Floats) -> float:
    """Return alpha = (qᵀ r)² with r = C q / ‖C q‖ of the first node q, slide 'The Neuroevolutionary Algorithm'.

    It is 1 when q is an eigenvector of C and less otherwise.

    Choice: 0 when C q = 0, where r has no direction; such a network explains nothing.

    Parameters
    ----------
    weights : float64 array of shape (>= depth, 8)
        Its first column is q, of unit norm.
    C : float64 array of shape (depth, depth), symmetric, see `Moments.full`
    """
    depth = len(C)
    q = aligned_zeros(1, depth)
    for k in range(depth):
        q[0, k] = weights[k, 0]
    products, squares = zero(), zero()
    for k in range(0, depth, WIDTH):
        a = b = c = d = zero()
        for i in range(0, depth, 4):
            a = add_product(a, load(C, i, k), spread(q, 0, i))
            b = add_product(b, load(C, i + 1, k), spread(q, 0, i + 1))
            c = add_product(c, load(C, i + 2, k), spread(q, 0, i + 2))
            d = add_product(d, load(C, i + 3, k), spread(q, 0, i + 3))
        r = add(add(a, b), add(c, d))
        products = add_product(products, r, load(q, 0, k))
        squares = add_product(squares, r, r)
    product, squared = sum_up(products), sum_up(squares)
    return product * product / squared if squared > 0.0 else 0.0
