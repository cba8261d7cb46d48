"""Compiled steps between two evaluations of a population: selection, crossing and mutation of linear networks.

The nodes of a network lie in panels of eight, see `_orthonormalisation_kernels`.
"""

import math
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from pppca_bench.compiled.arrays import Floats, Indices
from pppca_bench.compiled.jit import kernel, part
from pppca_bench.compiled.random_vectors import random_numbers
from pppca_bench.compiled.simd import WIDTH, add, add_product, load, store, subtract, zero
from pppca_bench.engines.fitness import Limits, Moments, Networks, evaluate, padded
from pppca_bench.engines.gha_blocked import aligned_zeros
from pppca_bench.engines.gram_schmidt import make_scratch
from pppca_bench.engines.noise import Seed, normal_pair
from pppca_bench.engines.removal import decreasing_order


@kernel
def select_parents(fitness: Floats, uniforms: Floats, crossover_probability: float) -> Indices:
    """Return the parents of the next generation: each elite network with itself, then the tournaments' winners.

    The elite has as many networks as the children are fewer than the population. Of equal fitness the first wins.

    Parameters
    ----------
    fitness : float64 array of shape (n_individuals,)
    uniforms : float64 array of shape (n_children, 2 tournament_size + 1), n_children <= n_individuals, in [0, 1)
        Half of them choose the contestants for the first parent, half those for the second; the last one lets them
        cross where it is below the probability.
    crossover_probability : float, 0 to 1

    Returns
    -------
    parents : int64 array of shape (n_individuals, 2)
        A child that is not crossed has its fitter winner twice.
    """
    n_individuals, n_children = len(fitness), len(uniforms)
    parents = np.empty((n_individuals, 2), dtype=np.int64)
    n_elite = n_individuals - n_children
    if n_elite > 0:
        parents[:n_elite] = decreasing_order(fitness)[:n_elite].reshape((n_elite, 1))
    size = uniforms.shape[1] // 2
    for c in range(n_children):
        first, second = _fittest(fitness, uniforms[c, :size]), _fittest(fitness, uniforms[c, size : 2 * size])
        if not uniforms[c, 2 * size] < crossover_probability:
            first = second = first if fitness[first] >= fitness[second] else second
        parents[n_elite + c, 0], parents[n_elite + c, 1] = first, second
    return parents


@part
def _fittest(fitness: Floats, uniforms: Floats) -> int:
    best = -1
    for uniform in uniforms:
        p = int(uniform * len(fitness))
        if best < 0 or fitness[p] > fitness[best]:
            best = p
    return best


class Rules(NamedTuple):
    """How networks reproduce.

    crossover_probability: of two parents to cross; mutation_probability: of each gene to mutate; mutation_scale:
    standard deviation of the noise; limits: how an evaluation removes nodes.
    """

    crossover_probability: float
    mutation_probability: float
    mutation_scale: float
    limits: Limits


class Course(NamedTuple):
    """The course of an evolution, an entry for each evaluation of the population; see `NEpPCA.history_`."""

    dimensionality: Indices
    mean_dimensionality: Floats
    fitness: Floats
    variances: Floats


@kernel
def evolve(
    networks: Networks,
    offspring: Networks,
    uniforms: Floats,
    seed: Seed,
    start: int,
    rules: Rules,
    moments: Moments,
    course: Course,
    first: int,
) -> None:
    """Make generations, each from the one before, in the two populations by turns, and record them.

    Parameters
    ----------
    networks, offspring : Networks
        The evaluated parents of the first generation, and room for it.
    uniforms : float64 array of shape (n_generations, n_children, 2 tournament_size + 1), in [0, 1)
        See `reproduce`.
    seed, start
        See `reproduce`: the place of the first generation's first number.
    rules : Rules
    moments : Moments
    course : Course
    first : int
        The first generation's place in the course.
    """
    numbers = uniforms.shape[1] * numbers_of_a_child(networks.weights.shape[1])
    for g in range(len(uniforms)):
        reproduce(networks, uniforms[g], seed, start + g * numbers, rules, moments, offspring, 0, len(networks.sizes))
        networks, offspring = offspring, networks
        record(networks, course, first + g)


@kernel
def record(networks: Networks, course: Course, evaluation: int) -> None:
    """Record an evaluated population; what the course says of variances beyond the fittest's nodes stays."""
    best = networks.fitness.argmax()
    size = networks.sizes[best]
    course.dimensionality[evaluation] = size
    course.mean_dimensionality[evaluation] = networks.sizes.sum() / len(networks.sizes)
    course.fitness[evaluation] = networks.fitness[best]
    course.variances[evaluation, :size] = networks.variances[best, :size]


@kernel
def reproduce(
    networks: Networks,
    uniforms: Floats,
    seed: Seed,
    start: int,
    rules: Rules,
    moments: Moments,
    offspring: Networks,
    first: int,
    last: int,
) -> None:
    """Breed, mutate and evaluate one network of the offspring after another, each while it is in the first caches.

    Parameters
    ----------
    networks : Networks
        The evaluated parents.
    uniforms : float64 array of shape (n_children, 2 tournament_size + 1), n_children <= n_individuals, in [0, 1)
        See `select_parents`; the offspring that are not children, the first ones, are the elite and do not mutate.
    seed : uint64 array of shape (1, 1)
        Of the mutation's random numbers.
    start : int
        Place of the first child's numbers, `numbers_of_a_child` each, in the sequence that the seed begins.
    rules : Rules
    moments : Moments
    offspring : Networks
        Those from `first` to `last` - 1 are overwritten.
    first, last : int
    """
    depth = len(moments.full)
    panels = aligned_zeros(networks.weights.shape[1], WIDTH)
    scratch = make_scratch(len(panels) // depth)
    parents = select_parents(networks.fitness, uniforms, rules.crossover_probability)
    n_elite = len(parents) - len(uniforms)
    for c in range(first, last):
        n_nodes = breed(networks, parents[c, 0], parents[c, 1], depth, panels, scratch.gram)
        if c >= n_elite:
            here = start + (c - n_elite) * numbers_of_a_child(len(panels))
            present = panels[: padded(n_nodes) // WIDTH * depth]
            mutate(present, moments.n_features, depth, seed, here, rules, scratch.gram)
        evaluate(panels, n_nodes, moments, rules.limits, scratch, offspring, c)


@register_jitable
def numbers_of_a_child(n_rows: int) -> int:
    """Return how many numbers of a random sequence are a child's, whose panels have so many rows in all.

    Sixteen to a row, those for the noise and those that choose genes; they do not depend on the nodes that are left.
    """
    return 2 * WIDTH * n_rows


@kernel
def breed(networks: Networks, first: int, second: int, depth: int, panels: Floats, steps: Floats) -> int:
    """Make a child of two parents, node by node; of a network and itself that network.

    Choice: a child has as many nodes as its longer parent, the surplus copied from it; removal stays the only
    step that shortens a network.

    Parameters
    ----------
    networks : Networks
        Evaluated.
    first, second : int
        The parents' indices.
    depth : int
        Rows of a panel.
    panels : float64 array of shape (n_panels * depth, 8)
        Receives the child.
    steps : float64 array of shape (>= 2, 8), scratch

    Returns
    -------
    n_nodes : int
    """
    if networks.sizes[first] < networks.sizes[second]:
        first, second = second, first
    W, others = networks.weights[first], networks.weights[second]
    common = networks.sizes[second] if first != second else 0
    for place in range(0, networks.sizes[first], WIDTH):
        row, n = place // WIDTH * depth, min(common - place, WIDTH)
        if n <= 0:
            panels[row : row + depth] = W[row : row + depth]
            continue
        here = slice(place, place + n)
        find_steps(W, others, row, depth, networks.variances[first, here], networks.variances[second, here], steps)
        of_first, of_second = load(steps, 0, 0), load(steps, 1, 0)
        for k in range(row, row + depth):
            child = add_product(zero(), of_first, load(W, k, 0))
            store(panels, k, 0, add_product(child, of_second, load(others, k, 0)))
    return int(networks.sizes[first])


@kernel
def find_steps(W: Floats, others: Floats, row: int, depth: int, v: Floats, v_others: Floats, steps: Floats) -> None:
    """Find how nodes cross, slide 'Special crossing operator', formula (2): the factors of both parents' nodes.

    w_i + s (w_i − w_j) = (1 + s) w_i − s w_j, where s is the difference of normalised variances over ‖w_i − w_j‖.

    Choice: parent i is the one with the larger variance, so the step away from the other parent climbs.

    Choice: equal nodes (‖w_i − w_j‖ = 0) give that node, where the formula's step has no direction; two nodes
    without variance, whose normalised weights are undefined, give the first.

    Parameters
    ----------
    W, others : float64 array of shape (n_panels * depth, 8)
        The parents.
    row, depth : int
        The panel whose nodes are crossed: its first row and number of rows.
    v, v_others : float64 array of shape (n,), n <= 8, >= 0
        Variances of the projections on the panel's nodes, those that both parents have.
    steps : float64 array of shape (2, 8)
        Receives the factors; where there are no two nodes, those that copy the first.
    """
    a = b = zero()
    for k in range(row, row + depth, 2):
        x, y = subtract(load(W, k, 0), load(others, k, 0)), subtract(load(W, k + 1, 0), load(others, k + 1, 0))
        a, b = add_product(a, x, x), add_product(b, y, y)
    store(steps, 0, 0, add(a, b))
    for i in range(WIDTH):
        step = 0.0
        if i < len(v) and steps[0, i] > 0.0 and v[i] + v_others[i] > 0.0:
            step = (v[i] - v_others[i]) / (v[i] + v_others[i]) / math.sqrt(steps[0, i])
        steps[0, i], steps[1, i] = (1.0 + step, -step) if step >= 0.0 else (step, 1.0 - step)


@kernel
def mutate(panels: Floats, n_features: int, depth: int, seed: Seed, start: int, rules: Rules, scales: Floats) -> None:
    """Add Gaussian noise to genes, in place.

    Parameters
    ----------
    panels : float64 array of shape (n_panels * depth, 8), changed in place
    n_features, depth : int
        Rows of a panel that hold weights, and all.
    seed : uint64 array of shape (1, 1)
    start : int
        Place in the seed's sequence of the first of the `numbers_of_a_child`.
    rules : Rules
    scales : float64 array of shape (>= 2, 8), scratch
    """
    scales[:2] = rules.mutation_scale
    for panel in range(0, len(panels) if rules.mutation_probability > 0.0 else 0, depth):
        for row in range(panel, panel + n_features, 2):
            here = start + 2 * WIDTH * row
            first, second = normal_pair(seed, here)
            if rules.mutation_probability < 1.0:
                _choose(scales, seed, here + WIDTH, rules)
            store(panels, row, 0, add_product(load(panels, row, 0), load(scales, 0, 0), first))
            if row + 1 < panel + n_features:
                store(panels, row + 1, 0, add_product(load(panels, row + 1, 0), load(scales, 1, 0), second))


@part
def _choose(scales: Floats, seed: Seed, start: int, rules: Rules) -> None:
    """Set the scales of two rows' noise: zero for genes that do not mutate."""
    for i in range(2):
        store(scales, i, 0, random_numbers(seed, start + i * WIDTH, 11, 53))
        for place in range(WIDTH):
            scales[i, place] = rules.mutation_scale if scales[i, place] < rules.mutation_probability else 0.0
