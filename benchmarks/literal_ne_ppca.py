"""Literal NE-pPCA in compiled code: the slides' steps as plain loops, and the time of each.

The steps are those of `engines.evolution` and `engines.fitness`, with the same random numbers, and agree up to
rounding. They differ in cost: an evaluation computes the responses to all samples, and every step is a loop over nodes,
features or samples, whose sums the compiler may not reorder, so that the times of the steps can be compared.

In `Networks`, nodes are rows: weights (n_individuals, n_nodes, n_features), variances (n_individuals, n_nodes).
"""

import math
import time

import numpy as np

from pppca_bench.compiled.arrays import Floats, Floats2D, Indices1D, Indices2D, Samples2D
from pppca_bench.compiled.jit import kernel, subroutine
from pppca_bench.compiled.linear_algebra import second_moments
from pppca_bench.compiled.operation import WIDTH
from pppca_bench.compiled.simd import random_uniform, store
from pppca_bench.engines.evolution import ANGLE_BITS, RADIUS_BITS, Rules, n_draws, select_parents
from pppca_bench.engines.fitness import Networks
from pppca_bench.engines.ne_ppca import NEpPCA
from pppca_bench.engines.removal import Limits, count_kept, sort_decreasing


def evolve_literally(
    X: Floats, *, tau: float, n_generations: int, seed: int
) -> tuple[Floats, Floats]:
    """Evolve as `NEpPCA` with its defaults; return the variances of the result, and the seconds of the steps.

    The steps are breeding, the Gram–Schmidt process, and the rest of the fitness. The variances are shares of the total
    variance, of the nodes of the fittest network of the last generation.
    """
    samples, like = X - X.mean(axis=0), NEpPCA()
    n, m = like.population_size, X.shape[1]
    C = second_moments(samples, np.zeros(m))
    limits = Limits(tau, 1, m, 0.0)
    rules = Rules(like.crossover_probability, like.mutation_scale, limits)
    generator = np.random.default_rng(seed)
    networks, offspring = (
        Networks(weights, np.zeros((n, m)), np.full(n, m), np.zeros(n))
        for weights in (np.zeros((n, m, m)), generator.random((n, m, m)))
    )
    of_mutation = generator.integers(2**64, dtype=np.uint64)
    parents, work = np.zeros((n, 2), dtype=np.int64), np.zeros((2, 8))
    responses, order = np.zeros((len(X), m)), np.zeros(m, dtype=np.int64)
    times_s = np.zeros(3)
    # the first population is random, so that no time counts as breeding
    for generation in range(-1, n_generations):
        clock = [time.perf_counter()]
        if generation >= 0:
            uniforms = generator.random((n, 2 * like.tournament_size + 1))
            breed_literally(
                networks, offspring, uniforms, of_mutation, generation, rules, parents, work
            )
        clock.append(time.perf_counter())
        orthonormalise_literally(offspring)
        clock.append(time.perf_counter())
        evaluate_literally(offspring, networks, samples, C, limits, responses, order)
        times_s += np.diff([*clock, time.perf_counter()])
    fittest = np.argmax(networks.fitness)
    variances = networks.variances[fittest, : networks.sizes[fittest]]
    return variances / np.trace(C), times_s


@kernel
def breed_literally(
    networks: Networks,
    offspring: Networks,
    uniforms: Floats2D,
    seed: np.uint64,
    generation: int,
    rules: Rules,
    parents: Indices2D,
    work: Floats2D,
) -> None:
    """Select parents, cross them by formula (2), and mutate the offspring.

    Source: slides 'The Neuroevolutionary Algorithm', steps 3 and 4, and 'Special crossing operator'. ``uniforms`` are
    the random numbers for `select_parents`, ``generation`` counts from 0; ``parents``, shape (n_individuals, 2), and
    ``work``, shape (2, 8), are overwritten.
    """
    w, v, sizes = networks.weights, networks.variances, networks.sizes
    n_individuals, n_nodes, n_features = w.shape
    depth = (n_features + WIDTH - 1) // WIDTH * WIDTH
    numbers = n_draws((n_nodes + WIDTH - 1) // WIDTH * depth)
    select_parents(networks.fitness, uniforms, rules.crossover_probability, parents)
    for c in range(n_individuals):
        longer, shorter = parents[c, 0], parents[c, 1]
        if sizes[longer] < sizes[shorter]:
            longer, shorter = shorter, longer
        offspring.sizes[c] = sizes[longer]
        for k in range(sizes[longer]):
            # w_i + |ṽ_i − ṽ_j| / ‖w_i − w_j‖ (w_i − w_j), where node i has the larger variance
            i, j, step = longer, longer, 0.0
            if k < sizes[shorter]:
                i, j = (longer, shorter) if v[longer, k] >= v[shorter, k] else (shorter, longer)
                squared = 0.0
                for f in range(n_features):
                    squared += (w[i, k, f] - w[j, k, f]) * (w[i, k, f] - w[j, k, f])
                if squared > 0.0 and v[i, k] > 0.0:
                    step = (v[i, k] - v[j, k]) / (v[i, k] + v[j, k]) / math.sqrt(squared)
            for f in range(n_features):
                offspring.weights[c, k, f] = w[i, k, f] + step * (w[i, k, f] - w[j, k, f])
        start = (generation * n_individuals + c) * numbers
        _mutate(offspring.weights[c], sizes[longer], depth, seed, start, rules.mutation_scale, work)


@subroutine
def _mutate(
    nodes: Floats2D,
    n_nodes: int,
    depth: int,
    seed: np.uint64,
    start: int,
    scale: float,
    work: Floats2D,
) -> None:
    """Add Gaussian noise to all genes of a child, in place, with the numbers of `evolution.normal_pair`."""
    n_features = nodes.shape[1]
    for first in range(0, n_nodes, WIDTH):
        for f in range(0, n_features, 2):
            here = start + 2 * WIDTH * (first // WIDTH * depth + f)
            # Uniform numbers come eight at a time, in the order of `evolution.mutate`.
            store(work, 0, 0, random_uniform(seed, here, ANGLE_BITS, RADIUS_BITS))
            store(work, 1, 0, random_uniform(seed, here, 0, ANGLE_BITS))
            for k in range(first, min(first + WIDTH, n_nodes)):
                radius = scale * math.sqrt(-2.0 * math.log(work[0, k - first]))
                angle = math.tau * (work[1, k - first] - 0.5)
                nodes[k, f] += radius * math.cos(angle)
                if f + 1 < n_features:
                    nodes[k, f + 1] += radius * math.sin(angle)


@kernel
def orthonormalise_literally(networks: Networks) -> None:
    """Orthonormalise the nodes of all networks in their order, in place, by the modified Gram–Schmidt process.

    Source: slide 'Fitness evaluation', step 2. The nodes must be independent.
    """
    n_features = networks.weights.shape[2]
    for p in range(len(networks.sizes)):
        w = networks.weights[p]
        for i in range(networks.sizes[p]):
            # w_i ← w_i − Σ_{j<i} (w_i q_j) q_j, then q_i = w_i / ‖w_i‖
            for j in range(i):
                overlap = 0.0
                for f in range(n_features):
                    overlap += w[i, f] * w[j, f]
                for f in range(n_features):
                    w[i, f] -= overlap * w[j, f]
            squared = 0.0
            for f in range(n_features):
                squared += w[i, f] * w[i, f]
            norm = math.sqrt(squared)
            for f in range(n_features):
                w[i, f] /= norm


@kernel
def evaluate_literally(
    offspring: Networks,
    networks: Networks,
    X: Samples2D,
    C: Floats2D,
    limits: Limits,
    responses: Floats2D,
    order: Indices1D,
) -> None:
    """Evaluate networks with orthonormal nodes, remove nodes by criterion (1), and copy the rest to ``networks``.

    Source: slide 'Fitness evaluation', steps 3 to 6. X, shape (n_samples, n_features), has zero mean; ``responses``,
    shape (n_samples, n_nodes), and ``order``, shape (n_nodes,), are overwritten.
    """
    n_samples, n_features = X.shape
    for p in range(len(networks.sizes)):
        w, n_nodes = offspring.weights[p], offspring.sizes[p]
        raw, variances = offspring.variances[p], networks.variances[p]
        # y = W x for each sample
        for s in range(n_samples):
            for i in range(n_nodes):
                response = 0.0
                for f in range(n_features):
                    response += w[i, f] * X[s, f]
                responses[s, i] = response
        # Var(q̂_i) = Σ y_i² / N
        for i in range(n_nodes):
            raw[i] = 0.0
        for s in range(n_samples):
            for i in range(n_nodes):
                raw[i] += responses[s, i] * responses[s, i]
        sort_decreasing(raw, n_nodes, order)
        total = 0.0
        for i in range(n_nodes):
            variances[i] = raw[order[i]] / n_samples
            total += variances[i]
        # α = (q̂_0 r)², r = C q̂_0 / ‖C q̂_0‖, and f = α Σ_i Var(q̂_i)
        product, squared = 0.0, 0.0
        for e in range(n_features):
            r = 0.0
            for f in range(n_features):
                r += C[e, f] * w[order[0], f]
            product += w[order[0], e] * r
            squared += r * r
        networks.fitness[p] = product * product / squared * total if squared > 0.0 else 0.0
        kept = count_kept(variances, n_nodes, limits)
        networks.sizes[p] = kept
        for i in range(kept):
            for f in range(n_features):
                networks.weights[p, i, f] = w[order[i], f]
