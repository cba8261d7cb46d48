"""Evolution of linear networks in compiled code: selection, crossing, mutation, evaluation.

The nodes of a network are stored in panels of eight, see `engines.gram_schmidt`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pppca_bench.compiled.arrays import (
    Floats1D,
    Floats2D,
    Floats3D,
    Indices1D,
    Indices2D,
    aligned_zeros,
)
from pppca_bench.compiled.jit import kernel, shared, subroutine
from pppca_bench.compiled.operation import WIDTH
from pppca_bench.compiled.simd import (
    add,
    broadcast,
    divide,
    exponent,
    fma,
    load,
    multiply,
    random_uniform,
    significand,
    splat,
    sqrt,
    store,
    subtract,
    zeros,
)
from pppca_bench.engines.fitness import Moments, Networks, evaluate
from pppca_bench.engines.gram_schmidt import Workspace, make_workspace
from pppca_bench.engines.removal import Limits

RADIUS_BITS = 38
ANGLE_BITS = 64 - RADIUS_BITS

# Coefficients of x², x⁴, … in the series of artanh(x) · 2 / x, sin(x) / x and cos(x).
_LOGARITHM = np.array([[2.0 / n for n in range(1, 14, 2)]])
_SINE = np.array([[(-1.0) ** n / math.factorial(2 * n + 1) for n in range(8)]])
_COSINE = np.array([[(-1.0) ** n / math.factorial(2 * n) for n in range(9)]])
_LN_2 = math.log(2.0)
_SQRT_2 = math.sqrt(2.0)


class Rules(NamedTuple):
    """Probability of crossing, standard deviation of the noise of mutations, limits of removal."""

    crossover_probability: float
    mutation_scale: float
    limits: Limits


class History(NamedTuple):
    """History of an evolution, an entry for each evaluation of the population; see `NEpPCA.history_`."""

    dimensionality: Indices1D
    mean_dimensionality: Floats1D
    fitness: Floats1D
    variances: Floats2D


class ChildWorkspace(NamedTuple):
    """Work arrays of a thread that breeds and evaluates offspring.

    panels (n_panels * depth, 8): the child; steps (2, 8); parents (n_individuals, 2): at first each network is both
    parents of its child; evaluation: work arrays of `evaluate`.
    """

    panels: Floats2D
    steps: Floats2D
    parents: Indices2D
    evaluation: Workspace


def make_child_workspace(networks: Networks, depth: int) -> ChildWorkspace:
    """Allocate the work arrays for the offspring of a population."""
    n_individuals, n_rows, _ = networks.weights.shape
    return ChildWorkspace(
        aligned_zeros(n_rows, WIDTH),
        aligned_zeros(2, WIDTH),
        np.arange(n_individuals).repeat(2).reshape(-1, 2),
        make_workspace(n_rows // depth, depth),
    )


@kernel
def evolve(
    networks: Networks,
    offspring: Networks,
    uniforms: Floats3D,
    seed: np.uint64,
    start: int,
    rules: Rules,
    moments: Moments,
    history: History,
    evaluation: int,
    first: int,
    last: int,
    work: ChildWorkspace,
) -> None:
    """Evolve generations, alternately in two populations, and record them.

    Each child is bred, mutated and evaluated while it is in the first-level cache. Without random numbers, copies of
    the networks are evaluated.

    Parameters
    ----------
    networks, offspring : Networks
        Parents, evaluated unless the first generation has no children, and a population to overwrite.
    uniforms : float64 array of shape (n_generations, n_children, 2 tournament_size + 1), in [0, 1)
        See `select_parents`; n_children is n_individuals, or 0 to evaluate copies.
    seed : uint64
        Seed of the random numbers for mutation.
    start : int
        Index of the first child's first number in the sequence of the seed; each child uses `n_draws`.
    rules : Rules
    moments : Moments
    history : History
    evaluation : int
        Index of the first generation in the history.
    first, last : int
        Range of offspring to compute, up to ``last`` - 1, so that threads can share a generation. Generations are only
        recorded if the range contains all offspring.
    work : ChildWorkspace
        Overwritten.
    """
    depth, panels, parents = len(moments.full), work.panels, work.parents
    n_individuals, n_children = len(networks.sizes), uniforms.shape[1]
    numbers = n_draws(len(panels))
    for g in range(len(uniforms)):
        # Every thread selects all parents, from the same random numbers.
        select_parents(networks.fitness, uniforms[g], rules.crossover_probability, parents)
        for c in range(first, last):
            # (1 + s) w_i − s w_j, then w + scale · N(0, 1), then q̂_i, Var(q̂_i) and f
            n_nodes = breed(networks, parents[c, 0], parents[c, 1], depth, panels, work.steps)
            if n_children > 0:
                # The index of a child's random numbers depends neither on threads nor on the number of calls.
                here = start + (g * n_children + c) * numbers
                n_rows = (n_nodes + WIDTH - 1) // WIDTH * depth
                mutate(panels, n_rows, moments.n_features, depth, seed, here, rules.mutation_scale)
            evaluate(panels, n_nodes, moments, rules.limits, work.evaluation, offspring, c)
        networks, offspring = offspring, networks
        if last - first == n_individuals:
            record(networks, history, evaluation + g)


@shared
def record(networks: Networks, history: History, evaluation: int) -> None:
    """Record an evaluated population, and the variances of its fittest network."""
    best, total = 0, 0
    for p in range(len(networks.sizes)):
        total += networks.sizes[p]
        if networks.fitness[p] > networks.fitness[best]:
            best = p
    history.dimensionality[evaluation] = networks.sizes[best]
    history.mean_dimensionality[evaluation] = total / len(networks.sizes)
    history.fitness[evaluation] = networks.fitness[best]
    for j in range(networks.sizes[best]):
        history.variances[evaluation, j] = networks.variances[best, j]


@shared
def n_draws(n_rows: int) -> int:
    """Return the number of random numbers of a child: sixteen per row of its panels."""
    return 2 * WIDTH * n_rows


@subroutine
def select_parents(
    fitness: Floats1D, uniforms: Floats2D, crossover_probability: float, parents: Indices2D
) -> None:
    """Select the parents of the next generation, the winners of tournaments.

    Among networks of equal fitness the first wins.

    Parameters
    ----------
    fitness : float64 array of shape (n_individuals,)
    uniforms : float64 array of shape (n_children, 2 tournament_size + 1), in [0, 1)
        tournament_size numbers draw the contestants for the first parent, the next numbers the contestants for the
        second parent. The winners cross if the last number is below the probability.
    crossover_probability : float, 0 to 1
    parents : int64 array of shape (n_individuals, 2)
        Receives the parents; without crossing, both are the fitter winner.
    """
    size = uniforms.shape[1] // 2
    for c in range(len(uniforms)):
        u = uniforms[c]
        for k in range(2):
            # Parent k is the fittest of the contestants ⌊u_i n⌋, drawn with replacement.
            winner = int(u[k * size] * len(fitness))
            for i in range(k * size + 1, (k + 1) * size):
                p = int(u[i] * len(fitness))
                if fitness[p] > fitness[winner]:
                    winner = p
            parents[c, k] = winner
        # Without crossing, the child is a copy of the fitter parent.
        if not u[2 * size] < crossover_probability:
            k = 0 if fitness[parents[c, 0]] >= fitness[parents[c, 1]] else 1
            parents[c, 1 - k] = parents[c, k]


@subroutine
def breed(
    networks: Networks, first: int, second: int, depth: int, panels: Floats2D, steps: Floats2D
) -> int:
    """Cross two parents node by node, or copy a network that is both parents; return the number of nodes of the child.

    Choice: a child has as many nodes as the longer parent, with copies of the nodes that the other parent lacks, so
    that only removal shortens networks.

    Parameters
    ----------
    networks : Networks
        Evaluated, unless both parents are the same network.
    first, second : int
        Indices of the parents.
    depth : int
        Rows of a panel.
    panels : float64 array of shape (n_panels * depth, 8)
        Receives the child.
    steps : float64 array of shape (2, 8), overwritten
    """
    # The longer parent first; the child copies all nodes if both parents are the same network.
    if networks.sizes[first] < networks.sizes[second]:
        first, second = second, first
    n_nodes, common = networks.sizes[first], networks.sizes[second] if first != second else 0
    W, others = networks.weights[first], networks.weights[second]
    v, v_others = networks.variances[first], networks.variances[second]
    for node in range(0, n_nodes, WIDTH):
        row = node // WIDTH * depth
        # Copy a panel in which the shorter parent has no node.
        if common <= node:
            for k in range(row, row + depth):
                store(panels, k, 0, load(W, k, 0))
            continue
        _compute_steps(W, others, row, depth, v, v_others, node, common, steps)
        # Formula (2), (1 + s) w_i − s w_j, for eight nodes at once, feature by feature
        first_factor, second_factor = load(steps, 0, 0), load(steps, 1, 0)
        for k in range(row, row + depth):
            store(
                panels,
                k,
                0,
                fma(second_factor, load(others, k, 0), multiply(first_factor, load(W, k, 0))),
            )
    return n_nodes


@subroutine
def _compute_steps(
    W: Floats2D,
    others: Floats2D,
    row: int,
    depth: int,
    v: Floats1D,
    v_others: Floats1D,
    first_node: int,
    common: int,
    steps: Floats2D,
) -> None:
    """Set ``steps`` to the factors of formula (2) for both parents in the panel at ``row``, which has ``depth`` rows.

    Source: slide 'Special crossing operator', formula (2): w_i + s (w_i − w_j) = (1 + s) w_i − s w_j, where
    s = (ṽ_i − ṽ_j) / ‖w_i − w_j‖ with ṽ_i = v_i / (v_i + v_j). The variances v are >= 0. ``first_node`` is that of
    the panel; nodes from ``common`` on, which the other parent lacks, are copied.

    Choice: i is the node of larger variance, so that the step away from node j increases the variance. The first node
    is copied if both nodes are equal (the step has no direction) or without variance (ṽ is undefined).
    """
    # ‖w_i − w_j‖² of eight nodes; two sums halve the wait for previous additions
    a = b = zeros()
    for k in range(row, row + depth, 2):
        x, y = (
            subtract(load(W, k, 0), load(others, k, 0)),
            subtract(load(W, k + 1, 0), load(others, k + 1, 0)),
        )
        a, b = fma(x, x, a), fma(y, y, b)
    store(steps, 0, 0, add(a, b))
    # The factors are 1 + s and −s. With step = −s < 0, w_i is the node of the other parent.
    for i in range(WIDTH):
        step, node = 0.0, first_node + i
        if node < common and steps[0, i] > 0.0 and v[node] + v_others[node] > 0.0:
            step = (v[node] - v_others[node]) / (v[node] + v_others[node]) / math.sqrt(steps[0, i])
        if step >= 0.0:
            steps[0, i], steps[1, i] = 1.0 + step, -step
        else:
            steps[0, i], steps[1, i] = step, 1.0 - step


@subroutine
def mutate(
    panels: Floats2D,
    n_rows: int,
    n_features: int,
    depth: int,
    seed: np.uint64,
    start: int,
    scale: float,
) -> None:
    """Add Gaussian noise to all genes, in place: w + scale · N(0, 1).

    Parameters
    ----------
    panels : float64 array of shape (>= n_rows, 8), changed in place
    n_rows : int
        Rows of all panels of the child.
    n_features, depth : int
        Number of rows of a panel with weights, and of all its rows; the other rows remain zero.
    seed, start : uint64, int
        Random sequence, and index of the child's first number.
    scale : float, >= 0
        Standard deviation of the noise.
    """
    # Each pair of rows has 32 numbers of the sequence, of which eight are used.
    for panel in range(0, n_rows, depth):
        for row in range(panel, panel + n_features, 2):
            first, second = normal_pair(seed, start + 2 * WIDTH * row)
            store(panels, row, 0, fma(splat(scale), first, load(panels, row, 0)))
            # The last row of an odd number of rows has no partner.
            if row + 1 < panel + n_features:
                store(panels, row + 1, 0, fma(splat(scale), second, load(panels, row + 1, 0)))


@subroutine
def normal_pair(seed: np.uint64, start: int) -> tuple[Any, Any]:
    """Return two vectors of independent standard normal numbers.

    Source: Box and Muller 1958, "A note on the generation of random normal deviates": √(−2 ln u) times the cosine and
    the sine of 2 π v.

    Choice: u and v have 38 and 26 of the 64 bits of a random number, so that the noise is at most 7.4 standard
    deviations. Logarithm, sine and cosine are series, exact to 1e-11. Eight numbers of the sequence of the seed are
    used, from ``start`` on.
    """
    u = random_uniform(seed, start, ANGLE_BITS, RADIUS_BITS)
    v = random_uniform(seed, start, 0, ANGLE_BITS)
    # sin h and cos h of half the angle, h = π (v − 1/2), by Horner's rule; the series converge fast near 0
    h = multiply(subtract(v, splat(0.5)), splat(math.pi))
    squared = multiply(h, h)
    sine, cosine = broadcast(_SINE, 0, 7), broadcast(_COSINE, 0, 8)
    for n in range(6, -1, -1):
        sine = fma(sine, squared, broadcast(_SINE, 0, n))
    for n in range(7, -1, -1):
        cosine = fma(cosine, squared, broadcast(_COSINE, 0, n))
    sine = multiply(sine, h)
    # √(−2 ln u) times cos 2h = (c + s)(c − s) and sin 2h = 2 s c, where c = cos h, s = sin h
    logarithm = _minus_logarithm(u)
    radius = sqrt(add(logarithm, logarithm))
    first = multiply(add(cosine, sine), subtract(cosine, sine))
    second = multiply(add(sine, sine), cosine)
    return multiply(radius, first), multiply(radius, second)


@subroutine
def _minus_logarithm(u: Any) -> Any:
    """Return −ln u = −e ln 2 − ln √2 − ln (s / √2) of u = s 2ᵉ in (0, 1), 1 <= s < 2."""
    # −ln (s / √2) = 2 artanh(x) with x = (√2 − s) / (√2 + s), |x| <= 0.18
    s, root = significand(u), splat(_SQRT_2)
    x = divide(subtract(root, s), add(root, s))
    squared = multiply(x, x)
    series = broadcast(_LOGARITHM, 0, 6)
    for n in range(5, -1, -1):
        series = fma(series, squared, broadcast(_LOGARITHM, 0, n))
    return fma(series, x, fma(exponent(u), splat(-_LN_2), splat(-_LN_2 / 2.0)))
