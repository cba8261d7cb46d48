"""Neuroevolutionary pseudo-PCA (NE-pPCA)."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le

from pppca_bench.base.genetic import Selection, select
from pppca_bench.base.parameters import (
    Count,
    NotNegative,
    NotNegativeCount,
    ParameterError,
    Probability,
    Tau,
    check_order,
    make_generator,
)
from pppca_bench.base.projection import (
    LinearProjection,
    UnsupervisedMixin,
    max_variances,
    optimality,
    principal_directions,
)
from pppca_bench.compiled.arrays import Floats
from pppca_bench.compiled.linear_algebra import second_moments
from pppca_bench.engines.evolution import Rules
from pppca_bench.engines.population import Individual, Population
from pppca_bench.engines.removal import Limits

_UNIFORMS_PER_BLOCK = 2**18
_LARGEST_SCALE = 1e100
"""Far below 1e154, above which the square of a gene overflows."""


@dataclass(eq=False, repr=False)
class NEpPCA(Selection, UnsupervisedMixin, LinearProjection):
    """Reduce the number of features by neuroevolutionary pseudo-PCA (NE-pPCA).

    A population of linear networks evolves towards orthonormal directions of large variance. Each evaluation of a
    network permanently removes the nodes whose projection variance is more than `tau` times smaller than the largest
    (criterion (1)). Source: slides 'The Neuroevolutionary Algorithm', 'Fitness evaluation' and 'Special crossing
    operator'.

    The defaults of population, selection, crossing and mutation are a joint choice: of about 150 settings, they come
    close to the published dimensionalities, also with other seeds.

    Only the covariance matrix is used, Var(q) = q C qᵀ, so that the cost does not depend on the number of samples.

    Parameters
    ----------
    tau : float, default=10.0
        Threshold of criterion (1), at least 1.
    selection : {"tournament", "roulette", "truncation"}, default="tournament"
        Rule that selects parents, see `GeneticAlgorithm`. Choice: the slides name no selection; a tournament does not
        depend on the scale of the fitness.
    tournament_size : int, default=11
        Networks drawn, with replacement, to select a parent, the fittest of them.
    selection_strength : float or None, default=None
        Strength s > 0, by which exp(s F) replaces the fitness F for "roulette". Choice: F is a share of the total
        variance, which does not depend on the units of the data.
    truncation_share : float, default=0.5
        Share of the networks that "truncation" selects, in (0, 1].
    population_size : int, default=13
        Number of networks. Choice: the slides give no number.
    n_generations : int, default=90
        Number of generations bred and evaluated after the initial population. Choice: the slides give no number; more
        generations leave fewer nodes, especially with little noise.
    n_components : int or None, default=None
        Initial number of nodes of each network, at most n_features. Choice: None, all n_features, since the slides
        remove nodes and never add nodes.
    crossover_probability : float, default=0.98
        Probability that a child is crossed from two parents; otherwise the fitter parent is copied. Choice: the slides
        give no value; 0.7 to 1 give the same dimensionality.
    mutation_scale : float, default=0.003
        Standard deviation of the Gaussian noise on all genes, 0 to 1e100; genes are elements of unit vectors. Choice:
        the slides give no value; several times larger values miss the published dimensionalities by a third.
    min_components : int, default=1
        Least number of nodes that an evaluation keeps, >= 1, by decreasing variance. Source: slide 'Future Research',
        constraints.
    max_components : int or None, default=None
        Largest number of nodes that an evaluation keeps, >= min_components, by decreasing variance; None sets no limit.
        Choice: it takes precedence over the other constraints.
    min_variance_ratio : float, default=0.0
        Smallest share of the total variance, in [0, 1], that the kept nodes retain: an evaluation keeps more nodes by
        decreasing variance until the share is reached. Source: slide 'Future Research', 'criteria from PCA'.
    initial_samples : int or None, default=None
        Number of samples, >= 2, drawn without replacement, whose principal components are the initial nodes, with noise
        of `mutation_scale` in all networks except the first. Choice: all samples if there are fewer. None draws all
        weights at random. Source: 'Hebbian-Based Principal Component Analysis', summary.
    n_iter_no_change : int or None, default=None
        Number of generations, >= 1, after which the evolution stops if the fitness of the fittest network has not grown
        by a share above `tol` and its number of nodes has not changed. None runs all generations.
    tol : float, default=1e-4
        >= 0; see `n_iter_no_change`.
    n_jobs : int, default=1
        Threads that share a generation, at most the number of processors; -1 means all processors. The result does not
        depend on `n_jobs`. Source: slide 'Future Research', parallel fitness. Choice: threads share no generation of
        less than three milliseconds, on fewer than about 135 features.
    result : {"final", "best"}, default="final"
        The fittest network of the last generation, or of all generations. Choice: the slides' step 6 returns "the best
        found individual", which literally is an early individual that still has too many nodes.
    centre : bool, default=True
        True subtracts the training mean (C is the covariance matrix); False does not (C is the autocorrelation matrix
        and a "variance" is a second moment). Choice: the slides say covariance matrix; without centring the mean
        dominates and hardly any node stays.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        Source of all randomness. The numbers drawn for a generation depend neither on `tau` nor on removed nodes, so
        runs with the same seed and different `tau` are paired.

    Attributes
    ----------
    components_ : float64 array of shape (n_components_, n_features)
        Orthonormal rows of the result, by decreasing variance.
    n_components_ : int
        Number of remaining nodes.
    explained_variance_ : float64 array of shape (n_components_,)
        Variance of the training projection on each row. Choice: divisor n_samples; criterion (1) and the
        crossing are ratios and do not depend on it.
    explained_variance_ratio_ : float64 array of shape (n_components_,)
        Share of the total variance, the trace of C.
    mean_ : float64 array of shape (n_features,)
        Training mean; zeros if centre is False.
    fitness_ : float
        Fitness of the result, summed before the last removal.
    n_features_in_, n_samples_seen_ : int
        Number of features and samples seen in `fit`.
    n_generations_ : int
        Number of generations.
    history_ : dict of str to array
        An entry for each of the n_generations_ + 1 evaluations of the population: "dimensionality" (int64),
        "fitness" and "variances" (n_generations_ + 1, initial nodes; NaN for removed nodes) of the fittest network,
        "mean_dimensionality" of the population, and "optimality", the sum of the variances divided by the largest sum
        for as many directions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> NEpPCA(tau=20.0, random_state=0).fit_transform(X).shape
    (150, 2)
    """

    tau: Tau = 10.0
    _: KW_ONLY
    population_size: Annotated[int, Ge(1), Le(100_000)] = 13
    n_generations: NotNegativeCount = 90
    n_components: Count | None = None
    tournament_size: Count = 11
    crossover_probability: Probability = 0.98
    mutation_scale: Annotated[float, Ge(0), Le(_LARGEST_SCALE)] = 0.003
    min_components: Count = 1
    max_components: Count | None = None
    min_variance_ratio: Probability = 0.0
    initial_samples: Annotated[int, Ge(2), Le(1_000_000)] | None = None
    n_iter_no_change: Count | None = None
    tol: NotNegative = 1e-4
    n_jobs: Annotated[int, Ge(-1), Le(1000)] = 1
    result: Literal["final", "best"] = "final"
    centre: bool = True
    random_state: Any = None

    def _learn(self, X: Floats) -> None:
        self.mean_ = X.mean(axis=0) if self.centre else np.zeros(X.shape[1])
        self.n_samples_seen_ = len(X)
        C = self._second_moments(X)
        # Scale by a power of two, without rounding, so that squares of variances neither overflow nor underflow.
        _, exponent = np.frexp(np.trace(C))
        C = np.ldexp(C, -exponent)
        generator = make_generator(self.random_state)
        weights = self._initial_weights(X, generator)
        seed = int(generator.integers(2**64, dtype=np.uint64))
        # More threads than processors would wait for each other.
        n_processors = os.cpu_count() or 1
        n_threads = n_processors if self.n_jobs == -1 else min(int(self.n_jobs), n_processors)
        # Threads start with the first part that they compute.
        with ThreadPoolExecutor(n_threads) as others:
            population = Population(
                weights, C, self._rules(C), seed, self.n_generations, n_threads, others
            )
            best = self._evolve(population, generator, float(np.trace(C)))
        self._set_fitted(population, best, C, exponent)

    def check_agreement(self) -> None:
        """Raise ParameterError if n_jobs is 0, or min_components exceeds max_components."""
        if self.n_jobs == 0:
            raise ParameterError(
                "n_jobs", "a number of threads, or -1 for all processors", self.n_jobs
            )
        check_order(self, "min_components", "max_components")

    def _second_moments(self, X: Floats) -> Floats:
        varies = np.any(X[0] != X[-1]) or np.any(X[0] != X) if self.centre else X.any()
        C = second_moments(X, self.mean_)
        if not varies or not np.trace(C) > 0.0:
            rule = "a feature that varies" if self.centre else "a feature that is not all zero"
            raise ValueError(
                f"X in NEpPCA.fit: expected {rule}, got {X.shape[1]} constant feature(s). "
                "There is no direction of variance: give samples that differ."
            )
        return C

    def _initial_weights(self, X: Floats, generator: np.random.Generator) -> Floats:
        """Draw the initial networks, shape (population_size, n_nodes, n_features).

        Choice: uniform(0, 1); the slides give no distribution, and other distributions give the same results.
        """
        n_nodes = self._n_rows_at_start(X.shape[1])
        if self.initial_samples is None:
            return generator.random((self.population_size, n_nodes, X.shape[1]))
        directions = principal_directions(
            generator, X, self.initial_samples, n_nodes, centre=self.centre
        )
        weights = np.repeat(directions[np.newaxis], self.population_size, axis=0)
        weights[1:] += self.mutation_scale * generator.standard_normal(weights[1:].shape)
        return weights

    def _evolve(
        self, population: Population, generator: np.random.Generator, total_variance: float
    ) -> Individual:
        """Evolve the population, in place, until the last generation or stagnation.

        Return the network that `result` names.
        """
        best = population.fittest()
        n_uniforms = 2 * self.tournament_size + 1
        by_tournament = self.selection == "tournament"
        step_by_step = (
            self.n_iter_no_change is not None or self.result == "best" or not by_tournament
        )
        block = (
            1
            if step_by_step
            else max(1, _UNIFORMS_PER_BLOCK // (self.population_size * n_uniforms))
        )
        while population.n_generations < self.n_generations and not self._stagnates(population):
            n = min(block, self.n_generations - population.n_generations)
            if by_tournament:
                uniforms = generator.random((n, self.population_size, n_uniforms))
            else:
                uniforms = self._select(population.networks.fitness / total_variance, generator)
            population.evolve(uniforms)
            fittest = population.fittest()
            if self.result == "final" or fittest.fitness > best.fitness:
                best = fittest
        return best

    def _select(self, fitness: Floats, generator: np.random.Generator) -> Floats:
        """Select the parents of a generation; return numbers for tournaments in which each parent is alone."""
        n = self.population_size
        parents = np.column_stack([select(self, fitness, n, generator) for _ in range(2)])
        # ⌊u n⌋ is the parent's index for u = (index + 1/2) / n.
        return np.column_stack([(parents + 0.5) / n, generator.random(n)])[np.newaxis]

    def _rules(self, C: Floats) -> Rules:
        most = int(self.max_components or len(C))
        least_variance = float(self.min_variance_ratio * np.trace(C))
        limits = Limits(float(self.tau), int(self.min_components), most, least_variance)
        return Rules(float(self.crossover_probability), float(self.mutation_scale), limits)

    def _stagnates(self, population: Population) -> bool:
        last = population.n_generations
        if self.n_iter_no_change is None or last < self.n_iter_no_change:
            return False
        recent = slice(last - self.n_iter_no_change, last + 1)
        fitness = population.history.fitness[recent]
        nodes = population.history.dimensionality[recent]
        return bool(
            np.all(fitness[1:] <= fitness[0] * (1.0 + self.tol)) and np.all(nodes == nodes[0])
        )

    def _set_fitted(
        self, population: Population, result: Individual, C: Floats, exponent: np.int32
    ) -> None:
        self.n_components_ = len(result.nodes)
        self.components_ = result.nodes
        self.explained_variance_ratio_ = result.variances / np.trace(C)
        self.explained_variance_ = np.ldexp(result.variances, exponent)
        self.fitness_ = float(np.ldexp(result.fitness, exponent))
        self.n_generations_ = population.n_generations
        history = population.history._asdict().items()
        self.history_: dict[str, npt.NDArray[Any]] = {
            name: values[: self.n_generations_ + 1] for name, values in history
        }
        # Σ_i Var(q̂_i) of the fittest network
        retained = np.nansum(self.history_["variances"], axis=1)
        self.history_["optimality"] = optimality(
            retained, self.history_["dimensionality"], max_variances(C)
        )
        for name in ("variances", "fitness"):
            self.history_[name] = np.ldexp(self.history_[name], exponent)
