"""Compiled steps between two evaluations of a population: selection, crossing and mutation of linear networks.

A population is a weight array (n_individuals, n_nodes, n_features) with the number of nodes that each
individual still has; its rows beyond that number mean nothing. Random numbers come from the caller as arrays.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pppca_bench.engines._arrays import Floats, Indices
from pppca_bench.engines._compilation import fused_kernel, fused_part, kernel, part
from pppca_bench.engines._evaluation_kernels import Limits, Networks, evaluate_networks
from pppca_bench.engines._removal_kernels import decreasing_order
from pppca_bench.engines._vectors import (
    WIDTH,
    add,
    add_product,
    divide,
    load_part,
    multiply,
    spread,
    store_part,
    subtract,
    subtract_product,
    sum_up,
    zero,
)

Flags = NDArray[np.bool_]

_HALF_SPACING = 2.0**-54

# Coefficients of AS 241, by increasing power.
_CENTRE = 0.425
_CENTRAL = np.array(
    [
        [
            3.3871328727963665,
            133.14166789178438,
            1971.5909503065513,
            13731.69376550946,
            45921.95393154987,
            67265.7709270087,
            33430.57558358813,
            2509.0809287301227,
        ],
        [
            1.0,
            42.31333070160091,
            687.1870074920579,
            5394.196021424751,
            21213.794301586597,
            39307.89580009271,
            28729.085735721943,
            5226.495278852854,
        ],
    ]
)
_MIDDLE = np.array([[0.5, _CENTRE * _CENTRE]])
_TAIL = (
    1.4234371107496835,
    4.630337846156546,
    5.769497221460691,
    3.6478483247632045,
    1.2704582524523684,
    0.2417807251774506,
    0.022723844989269184,
    0.0007745450142783414,
)
_TAIL_DIVISOR = (
    1.0,
    2.053191626637759,
    1.6763848301838038,
    0.6897673349851,
    0.14810397642748008,
    0.015198666563616457,
    0.0005475938084995345,
    1.0507500716444169e-09,
)
_FAR_TAIL = (
    6.657904643501103,
    5.463784911164114,
    1.7848265399172913,
    0.29656057182850487,
    0.026532189526576124,
    0.0012426609473880784,
    2.7115555687434876e-05,
    2.0103343992922881e-07,
)
_FAR_TAIL_DIVISOR = (
    1.0,
    0.599832206555888,
    0.1369298809227358,
    0.014875361290850615,
    0.0007868691311456133,
    1.8463183175100548e-05,
    1.421511758316446e-07,
    2.0442631033899397e-15,
)


@fused_kernel
def second_moments(X: Floats) -> Floats:
    """Return C = Xᵀ X / N, summed sample by sample, so that it is the same with any BLAS library.

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features), n_samples >= 1

    Returns
    -------
    C : float64 array of shape (n_features, n_features), squared units of the data
    """
    n_samples, n_features = X.shape
    C = np.zeros((n_features, n_features))
    for i in range(n_samples):
        for a in range(n_features):
            factor = X[i, a]
            for b in range(n_features):
                C[a, b] += factor * X[i, b]
    for a in range(n_features):
        for b in range(n_features):
            C[a, b] /= n_samples
    return C


@kernel
def select_parents(fitness: Floats, contestants: Indices) -> Indices:
    """Return the parents of the next generation: each elite network with itself, then the tournaments' winners.

    The elite has as many networks as the children are fewer than the population. Of equal fitness the first wins.

    Parameters
    ----------
    fitness : float64 array of shape (n_individuals,)
    contestants : int64 array of shape (n_children, 2, tournament_size), n_children <= n_individuals
        Indices of individuals, a tournament for each of the two parents.

    Returns
    -------
    parents : int64 array of shape (n_individuals, 2), the fitter parent first
    """
    parents = np.empty((fitness.shape[0], 2), dtype=np.int64)
    n_elite = fitness.shape[0] - contestants.shape[0]
    if n_elite > 0:
        order = decreasing_order(fitness)
        for e in range(n_elite):
            parents[e] = order[e]
    for c in range(contestants.shape[0]):
        first, second = _fittest(fitness, contestants[c, 0]), _fittest(fitness, contestants[c, 1])
        if fitness[second] > fitness[first]:
            first, second = second, first
        parents[n_elite + c, 0], parents[n_elite + c, 1] = first, second
    return parents


@part
def _fittest(fitness: Floats, contestants: Indices) -> int:
    best = contestants[0]
    for p in contestants:
        if fitness[p] > fitness[best]:
            best = p
    return best


class Mutation(NamedTuple):
    """How children mutate: the probability of each gene, and the standard deviation of the noise."""

    probability: float
    scale: float


@kernel
def reproduce(
    networks: Networks,
    parents: Indices,
    crossed: Flags,
    uniforms: Floats,
    mutation: Mutation,
    C: Floats,
    limits: Limits,
    offspring: Networks,
) -> None:
    """Breed, mutate and evaluate one network of the offspring after another, each while it is in the first caches.

    Parameters
    ----------
    networks : Networks
        The evaluated parents.
    parents : int64 array of shape (n_offspring, 2)
        See `breed`.
    crossed : bool array of shape (n_children,), n_children <= n_offspring
        See `breed`: those before the children are copies, which do not mutate.
    uniforms : float64 array of shape (n_children, n_nodes, n_features), in [0, 1)
        See `mutate`.
    mutation : Mutation
    C : float64 array of shape (n_features, n_features)
        Symmetric, non-negative definite.
    limits : Limits
        The rule of removal.
    offspring : Networks
        Overwritten.
    """
    n_copied = len(parents) - len(crossed)
    for c in range(len(parents)):
        one = slice(c, c + 1)
        drawn = slice(max(0, c - n_copied), max(0, c + 1 - n_copied))
        child = Networks(offspring.weights[one], offspring.variances[one], offspring.sizes[one], offspring.fitness[one])
        breed(
            networks.weights,
            networks.variances,
            networks.sizes,
            parents[one],
            crossed[drawn],
            child.weights,
            child.sizes,
        )
        if c >= n_copied:
            mutate(child.weights, child.sizes, uniforms[drawn], mutation.probability, mutation.scale)
        evaluate_networks(child, C, limits)


@kernel
def breed(
    weights: Floats,
    variances: Floats,
    sizes: Indices,
    parents: Indices,
    crossed: Flags,
    offspring: Floats,
    offspring_sizes: Indices,
) -> None:
    """Copy the elite and make one child of each other pair of parents, node by node.

    Choice: a child has as many nodes as its longer parent, the surplus copied from it; removal stays the only
    step that shortens a network.

    Parameters
    ----------
    weights : float64 array of shape (n_individuals, n_nodes, n_features), evaluated
    variances : float64 array of shape (n_individuals, n_nodes)
    sizes : int64 array of shape (n_individuals,)
    parents : int64 array of shape (n_offspring, 2), indices of individuals
    crossed : bool array of shape (<= n_offspring,)
        For the last of the offspring: False makes a copy of the first parent. All before them are copies.
    offspring : float64 array of shape (n_offspring, n_nodes, n_features), overwritten; not weights
    offspring_sizes : int64 array of shape (n_offspring,), overwritten
    """
    n_copied = parents.shape[0] - crossed.shape[0]
    for c in range(parents.shape[0]):
        longer, shorter = parents[c, 0], parents[c, 1]
        if c < n_copied or not crossed[c - n_copied]:
            shorter = longer
        elif sizes[longer] < sizes[shorter]:
            longer, shorter = shorter, longer
        common = sizes[shorter] if shorter != longer else 0
        W, others, child = weights[longer], weights[shorter], offspring[c]
        for k in range(common):
            cross_node(W, others, k, variances[longer, k], variances[shorter, k], child)
        offspring_sizes[c] = sizes[longer]
        for k in range(common, sizes[longer]):
            for i in range(weights.shape[2]):
                child[k, i] = W[k, i]


@kernel
def cross_node(W_i: Floats, W_j: Floats, node: int, v_i: float, v_j: float, child: Floats) -> None:
    """Cross one node of two parents, slide 'Special crossing operator', formula (2).

    Choice: parent i is the one with the larger variance, so the step away from the other parent climbs.

    Choice: equal nodes (‖w_i − w_j‖ = 0) give that node, where the formula's step has no direction; two nodes
    without variance, whose normalised weights are undefined, give the first.

    Parameters
    ----------
    W_i, W_j : float64 array of shape (n_nodes, n_features)
        The parents.
    node : int
        The row that is crossed.
    v_i, v_j : float, >= 0
        Variance of the projection on each parent's node.
    child : float64 array of shape (n_nodes, n_features)
        Its row is overwritten; not a parent.
    """
    if v_i < v_j:
        W_i, W_j, v_i, v_j = W_j, W_i, v_j, v_i
    n = W_i.shape[1]
    squares = zero()
    for k in range(0, n, WIDTH):
        difference = subtract(load_part(W_i, node, k, n - k), load_part(W_j, node, k, n - k))
        squares = add_product(squares, difference, difference)
    squared = sum_up(squares)
    step = 0.0
    if squared > 0.0 and v_i > 0.0:
        step = (v_i - v_j) / (v_i + v_j) / math.sqrt(squared)
    for k in range(0, n, WIDTH):
        w = load_part(W_i, node, k, n - k)
        difference = subtract(w, load_part(W_j, node, k, n - k))
        store_part(child, node, k, n - k, add(w, multiply(difference, step)))


@kernel
def mutate(weights: Floats, sizes: Indices, uniforms: Floats, probability: float, scale: float) -> None:
    """Add Gaussian noise to genes of the nodes that each network has, in place.

    One number decides on a gene: where it is below the probability the gene mutates, and its share of the probability
    is the quantile of the noise.

    Parameters
    ----------
    weights : float64 array of shape (n_individuals, n_nodes, n_features), changed in place
    sizes : int64 array of shape (n_individuals,)
    uniforms : float64 array of the shape of weights, in [0, 1)
    probability : float, 0 to 1
        Of each gene to mutate.
    scale : float, >= 0
        Standard deviation of the noise.
    """
    for p in range(weights.shape[0]):
        n = sizes[p] * weights.shape[2]
        genes, drawn = weights[p].reshape(-1), uniforms[p].reshape(-1)
        if probability == 1.0:
            noise = normal_quantiles(drawn[:n])
            for g in range(n):
                genes[g] += scale * noise[g]
        elif probability > 0.0:
            chosen = np.flatnonzero(drawn[:n] < probability)
            noise = normal_quantiles(drawn[chosen] / probability)
            for m in range(len(chosen)):
                genes[chosen[m]] += scale * noise[m]


@fused_kernel
def normal_quantiles(p: Floats) -> Floats:
    """Return the standard normal distribution's quantiles, to 1e-15 of their size.

    Source: Wichura 1988, "The percentage points of the normal distribution", Applied Statistics 37, algorithm AS 241,
    PPND16. In the tails half of a uniform number's spacing, 2⁻⁵⁴, is added, so that 0 has a quantile too.

    Parameters
    ----------
    p : float64 array of shape (n,), in [0, 1)
    """
    n = len(p)
    quantiles = np.empty(n)
    far = np.empty(n, dtype=np.int64)
    n_far = 0
    _set_central_quantiles(quantiles.reshape((1, n)), p.reshape((1, n)))
    for i in range(n):
        far[n_far] = i
        n_far += abs(p[i] - 0.5) > _CENTRE
    for m in range(n_far):
        i = far[m]
        tail = p[i] + _HALF_SPACING if p[i] < 0.5 else 1.0 - p[i] - _HALF_SPACING
        quantiles[i] = math.copysign(_tail_ratio(math.sqrt(-math.log(tail))), p[i] - 0.5)
    return quantiles


@part
def _set_central_quantiles(quantiles: Floats, p: Floats) -> None:
    """Set quantiles that are right as far as 0.425 from the middle."""
    half, limit = spread(_MIDDLE, 0, 0), spread(_MIDDLE, 0, 1)
    for k in range(0, p.shape[1], WIDTH):
        n = p.shape[1] - k
        q = subtract(load_part(p, 0, k, n), half)
        r = subtract_product(limit, q, q)
        above, below = spread(_CENTRAL, 0, 7), spread(_CENTRAL, 1, 7)
        for power in range(6, -1, -1):
            above = add_product(spread(_CENTRAL, 0, power), above, r)
            below = add_product(spread(_CENTRAL, 1, power), below, r)
        store_part(quantiles, 0, k, n, divide(add_product(zero(), q, above), below))


@part
def _tail_ratio(r: float) -> float:
    if r <= 5.0:
        return _polynomial(_TAIL, r - 1.6) / _polynomial(_TAIL_DIVISOR, r - 1.6)
    return _polynomial(_FAR_TAIL, r - 5.0) / _polynomial(_FAR_TAIL_DIVISOR, r - 5.0)


@fused_part
def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    a, b, c, d, e, f, g, h = coefficients
    return ((((((h * x + g) * x + f) * x + e) * x + d) * x + c) * x + b) * x + a
