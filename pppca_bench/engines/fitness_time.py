"""Shares of NE-pPCA's time: fitness, Gram–Schmidt process, responses, breeding."""

import time
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from pppca_bench.base.parameters import NotNegativeCount, Tau, make_generator
from pppca_bench.base.projection import UnsupervisedMixin
from pppca_bench.compiled.arrays import Floats
from pppca_bench.compiled.linear_algebra import second_moments
from pppca_bench.engines.evolution import Rules
from pppca_bench.engines.evolution_literal import (
    breed_literally,
    evaluate_literally,
    orthonormalise_literally,
)
from pppca_bench.engines.fitness import Networks
from pppca_bench.engines.ne_ppca import NEpPCA
from pppca_bench.engines.removal import Limits


@dataclass(eq=False, repr=False)
class FitnessTime(UnsupervisedMixin, BaseEstimator):
    """Evolve networks by the slides' literal algorithm, and measure the time of its steps.

    The evolution is that of `NEpPCA` with the same parameters and seed up to rounding, which many generations may
    amplify to a different number of nodes; `engines.evolution_literal` computes it. Fit it on an idle machine, after
    the kernels have been compiled.

    Choice: the fitness is all of the slide 'Fitness evaluation', the Gram–Schmidt process included. Breeding is
    selection, crossing and mutation, with their random numbers. The initial population is drawn before the time starts.

    Parameters
    ----------
    tau, n_generations
        As in `NEpPCA`.
    timed : bool, default True
        If False, operations are counted and no time is reported; other processes may run at the same time.
    random_state : int, Generator, RandomState or None, default None
        Source of all randomness.

    Attributes
    ----------
    explained_variance_ratio_ : float64 array of shape (n_components,)
        Shares of the total variance of the nodes of the fittest network of the last generation.
    measures_ : dict of str to float
        ``dimensionality``: number of these nodes; ``fitness_operations_percent``: share of the fitness in all
        multiply-adds. If timed also, in percent of the time, ``gram_schmidt_time_percent``;
        ``responses_time_percent``: responses, variances, sorting and removal; ``fitness_time_percent``: the sum of
        both; ``breeding_time_percent``; and ``evolution_time_ms``: the time of all.
    """

    tau: Tau = 10.0
    _: KW_ONLY
    n_generations: NotNegativeCount = 90
    timed: bool = True
    random_state: Any = None

    def _learn(self, X: Floats) -> None:
        samples = X - X.mean(axis=0)
        # By a power of two, without rounding, so that squares of variances neither overflow nor underflow.
        samples = np.ldexp(samples, -np.frexp(np.abs(samples).max())[1])
        (n_samples, m), like = samples.shape, NEpPCA()
        C = second_moments(samples, np.zeros(m))
        rules = Rules(
            like.crossover_probability, like.mutation_scale, Limits(float(self.tau), 1, m, 0.0)
        )
        generator, n = make_generator(self.random_state), like.population_size
        networks, offspring = (
            Networks(weights, np.zeros((n, m)), np.full(n, m), np.zeros(n))
            for weights in (np.zeros((n, m, m)), generator.random((n, m, m)))
        )
        seed = generator.integers(2**64, dtype=np.uint64)
        parents, work = np.zeros((n, 2), dtype=np.int64), np.zeros((2, 8))
        responses, order = np.zeros((n_samples, m)), np.zeros(m, dtype=np.int64)
        times_s, operations = np.zeros(3), np.zeros(3)
        for generation in range(self.n_generations + 1):
            clock = [time.perf_counter()]
            if generation > 0:
                uniforms = generator.random((n, 2 * like.tournament_size + 1))
                breed_literally(
                    networks, offspring, uniforms, seed, generation - 1, rules, parents, work
                )
                operations[0] += 4 * m * offspring.sizes.sum()
            clock.append(time.perf_counter())
            orthonormalise_literally(offspring)
            clock.append(time.perf_counter())
            evaluate_literally(offspring, networks, samples, C, rules.limits, responses, order)
            times_s += np.diff([*clock, time.perf_counter()])
            nodes = offspring.sizes
            operations[1:] += m * (nodes**2).sum(), n_samples * (m + 1) * nodes.sum()
        fittest = np.argmax(networks.fitness)
        variances = networks.variances[fittest, : networks.sizes[fittest]]
        self.explained_variance_ratio_ = variances / (np.trace(C) or 1.0)
        self.measures_ = {
            "dimensionality": len(variances),
            "fitness_operations_percent": 100.0 * operations[1:].sum() / operations.sum(),
        }
        if self.timed:
            breeding, gram_schmidt, responding = 100.0 * times_s / times_s.sum()
            self.measures_ |= {
                "fitness_time_percent": gram_schmidt + responding,
                "gram_schmidt_time_percent": gram_schmidt,
                "responses_time_percent": responding,
                "breeding_time_percent": breeding,
                "evolution_time_ms": 1e3 * times_s.sum(),
            }
