"""Own NE-pPCA, the neuroevolutionary pseudo-PCA, as a scikit-learn transformer."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pppca_bench.engines._evolution_kernels import (
    BoolArray,
    FloatArray,
    IntArray,
    breed,
    evaluate_population,
    mutate,
    second_moments,
    select_parents,
)
from pppca_bench.engines._parameters import check_integer, check_number, make_generator

History = dict[str, npt.NDArray[Any]]
RandomState = int | np.random.RandomState | np.random.Generator | None

_LEAST_INTEGERS = {"population_size": 1, "n_generations": 0, "tournament_size": 1, "n_elite": 0}


class NEpPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Reduce the number of features by neuroevolutionary pseudo-PCA (NE-pPCA).

    A population of linear networks evolves towards orthonormal directions of large variance; at each
    evaluation a network loses for good the nodes whose projection variance is more than `tau` times smaller
    than its largest (criterion (1)). Source: slides 'The Neuroevolutionary Algorithm', 'Fitness evaluation'
    and 'Special crossing operator'.

    The defaults of `n_generations`, `tournament_size` and the mutation are a joint choice: of some fifty settings
    tried, one of the closest to the published dimensionalities, checked on seeds that had no part in the trial.

    Only the covariance matrix enters, Var(q) = q C qᵀ, so the cost does not depend on the number of samples.

    Parameters
    ----------
    tau : float, default=10.0
        Threshold of criterion (1), at least 1.
    population_size : int, default=20
        Number of networks. Choice: the slides give none.
    n_generations : int, default=53
        Number of times that the population breeds and is evaluated after its first evaluation. Choice: the
        slides give none; with twice as many the dimensionality falls well below the published one.
    n_components : int or None, default=None
        Nodes of each network at the start, at most n_features. Choice: None, all n_features, since the slides
        remove nodes and never add any.
    tournament_size : int, default=8
        Networks drawn, with replacement, for each choice of a parent; the fittest is taken. Choice: the
        slides name no selection; a tournament ignores the scale of the fitness.
    n_elite : int, default=1
        Fittest networks that pass unchanged to the next generation, where they are evaluated again. Choice:
        keeps the best from being lost; 0 to 2 give the same dimensionality.
    crossover_probability : float, default=0.9
        Probability that a child is crossed from two parents; otherwise the fitter parent is copied. Choice: a
        usual value, the slides give none.
    mutation_probability : float, default=1.0
        Probability of each gene to mutate. Choice: the slides give none; with every gene there is one number
        less to choose. The noise has the root mean square of 0.2 with a scale of 0.01.
    mutation_scale : float, default=0.0045
        Standard deviation of the Gaussian noise of a mutation; genes are elements of unit vectors. Choice:
        the slides give none; several times as much misses the published dimensionalities by a third.
    centre : bool, default=True
        True subtracts the training mean (C is the covariance matrix); False does not (C is the
        autocorrelation matrix and a "variance" is a second moment). Choice: the slides say covariance matrix;
        on data that are not centred the mean leads and hardly any node stays.
    random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
        Source of all randomness. The numbers drawn do not depend on `tau` nor on the nodes removed, so runs
        of one seed at several `tau` are paired.

    Attributes
    ----------
    components_ : float64 array of shape (n_components_, n_features)
        Orthonormal rows of the result, by decreasing variance. Choice: the fittest network of the final
        population; the best ever evaluated is an early one that still has too many nodes.
    n_components_ : int
        Number of nodes left.
    explained_variance_ : float64 array of shape (n_components_,)
        Variance of the training projection on each row. Choice: divisor n_samples; criterion (1) and the
        crossing are ratios and do not depend on it.
    explained_variance_ratio_ : float64 array of shape (n_components_,)
        The same as a share of the trace of C.
    mean_ : float64 array of shape (n_features,)
        Training mean; zeros when not centred.
    fitness_ : float
        Fitness of the result, summed before its last removal.
    n_features_in_ : int
        Number of features seen in `fit`.
    history_ : dict of str to array
        One entry per evaluation of the population, n_generations + 1 in all, the first the random start:
        "dimensionality" (int64, of the fittest), "mean_dimensionality" (of the population), "fitness" (of the
        fittest), "variances" (n_generations + 1, nodes at the start) of the fittest, NaN for removed nodes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> NEpPCA(tau=20.0, random_state=0).fit_transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        tau: float = 10.0,
        *,
        population_size: int = 20,
        n_generations: int = 53,
        n_components: int | None = None,
        tournament_size: int = 8,
        n_elite: int = 1,
        crossover_probability: float = 0.9,
        mutation_probability: float = 1.0,
        mutation_scale: float = 0.0045,
        centre: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.tau = tau
        self.population_size = population_size
        self.n_generations = n_generations
        self.n_components = n_components
        self.tournament_size = tournament_size
        self.n_elite = n_elite
        self.crossover_probability = crossover_probability
        self.mutation_probability = mutation_probability
        self.mutation_scale = mutation_scale
        self.centre = centre
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:  # noqa: ARG002 (scikit-learn's signature)
        """Evolve the networks on training inputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), n_samples >= 2
        y : ignored

        Raises
        ------
        ValueError
            When a parameter is out of its range, X has fewer than two samples or values that are not finite,
            or all features are constant (all zero, when not centred).
        TypeError
            When a parameter is of the wrong type.
        """
        self._check_parameters()
        samples: FloatArray = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        n_features = samples.shape[1]
        n_nodes = self._nodes_at_start(n_features)
        self.mean_ = samples.mean(axis=0) if self.centre else np.zeros(n_features)
        C = self._second_moments(samples)
        generator = make_generator(self.random_state)
        population = _Population.random(self.population_size, n_nodes, n_features, generator)
        self.history_ = self._evolve(population, C, generator)
        self._take(population, C)
        return self

    def transform(self, X: npt.ArrayLike) -> FloatArray:
        """Project samples on the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        projections : float64 array of shape (n_samples, n_components_)
        """
        check_is_fitted(self)
        samples: FloatArray = validate_data(self, X, dtype=np.float64, reset=False)
        projections: FloatArray = (samples - self.mean_) @ self.components_.T
        return projections

    def inverse_transform(self, X: npt.ArrayLike) -> FloatArray:
        """Map projections back to the space of the features; what the removed nodes held is lost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)

        Returns
        -------
        samples : float64 array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        samples: FloatArray = np.asarray(X, dtype=np.float64) @ self.components_ + self.mean_
        return samples

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _check_parameters(self) -> None:
        for name, least in _LEAST_INTEGERS.items():
            check_integer("NEpPCA", name, getattr(self, name), low=least)
        for name in ("crossover_probability", "mutation_probability"):
            check_number("NEpPCA", name, getattr(self, name), low=0.0, high=1.0)
        check_number("NEpPCA", "tau", self.tau, low=1.0)
        check_number("NEpPCA", "mutation_scale", self.mutation_scale, low=0.0)
        if self.n_elite > self.population_size:
            raise ValueError(
                f"n_elite in NEpPCA: expected at most population_size = {self.population_size}, "
                f"got {self.n_elite}. Keep fewer or enlarge the population."
            )

    def _second_moments(self, X: FloatArray) -> FloatArray:
        varies = np.any(X[0] != X) if self.centre else np.any(X != 0.0)
        centred = X - self.mean_
        C = second_moments(np.ascontiguousarray(centred))
        if not varies or not np.trace(C) > 0.0:
            rule = "a feature that varies" if self.centre else "a feature that is not all zero"
            raise ValueError(
                f"X in NEpPCA.fit: expected {rule}, got {X.shape[1]} constant feature(s). "
                "There is no direction of variance: give samples that differ."
            )
        return C

    def _nodes_at_start(self, n_features: int) -> int:
        if self.n_components is None:
            return n_features
        check_integer("NEpPCA", "n_components", self.n_components, low=1)
        if self.n_components > n_features:
            raise ValueError(
                f"n_components in NEpPCA: expected at most n_features = {n_features}, got {self.n_components}. "
                "Give fewer, or None for all."
            )
        return int(self.n_components)

    def _evolve(self, population: "_Population", C: FloatArray, generator: np.random.Generator) -> History:
        """Run all generations; the numbers drawn do not depend on removals."""
        n_children = self.population_size - self.n_elite
        per_generation = (self.n_generations, n_children)
        contestants = generator.integers(self.population_size, size=(*per_generation, 2, self.tournament_size))
        crossed = generator.random(per_generation) < self.crossover_probability
        history = _empty_history(self.n_generations + 1, population.variances.shape[1])
        population.evaluate(C, self.tau, history, 0)
        for g in range(self.n_generations):
            population.breed(contestants[g], crossed[g])
            population.mutate(*self._draw_mutations(population, generator), self.n_elite)
            population.evaluate(C, self.tau, history, g + 1)
        return history

    def _draw_mutations(self, population: "_Population", generator: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Draw which genes of the children mutate, as flat indices, and by how much."""
        n_genes = (self.population_size - self.n_elite) * population.weights[0].size
        if self.mutation_probability == 1.0:
            positions = np.arange(n_genes)
        else:
            drawn = generator.random(n_genes, dtype=np.float32)
            positions = np.flatnonzero(drawn < self.mutation_probability)
        return positions, generator.standard_normal(positions.size) * self.mutation_scale

    def _take(self, population: "_Population", C: FloatArray) -> None:
        best = int(np.argmax(population.fitness))
        n_kept = int(population.sizes[best])
        self.n_components_ = n_kept
        self.components_ = population.weights[best, :n_kept].copy()
        self.explained_variance_ = population.variances[best, :n_kept].copy()
        self.explained_variance_ratio_ = self.explained_variance_ / np.trace(C)
        self.fitness_ = float(population.fitness[best])


@dataclass
class _Population:
    """The networks of one generation; rows of `weights` and `variances` beyond `sizes` mean nothing."""

    weights: FloatArray
    variances: FloatArray
    sizes: IntArray
    fitness: FloatArray

    spare: FloatArray
    """Receives the next generation's weights, so that breeding allocates nothing large."""

    @classmethod
    def random(cls, n_individuals: int, n_nodes: int, n_features: int, generator: np.random.Generator) -> "_Population":
        """Draw weights. Choice: uniform(0, 1); the slides give no distribution and it has no effect."""
        weights = generator.random((n_individuals, n_nodes, n_features))
        return cls(
            weights=weights,
            variances=np.zeros((n_individuals, n_nodes)),
            sizes=np.full(n_individuals, n_nodes, dtype=np.int64),
            fitness=np.zeros(n_individuals),
            spare=np.empty_like(weights),
        )

    def evaluate(self, C: FloatArray, tau: float, history: History, generation: int) -> None:
        """Evaluate all networks in place and record the fittest."""
        evaluate_population(self.weights, self.sizes, C, float(tau), self.variances, self.fitness)
        best = self.fitness.argmax()
        n_kept = self.sizes[best]
        history["dimensionality"][generation] = n_kept
        history["mean_dimensionality"][generation] = self.sizes.mean()
        history["fitness"][generation] = self.fitness[best]
        history["variances"][generation, :n_kept] = self.variances[best, :n_kept]

    def breed(self, contestants: IntArray, crossed: BoolArray) -> None:
        """Replace the population: its elite first, by decreasing fitness, then a child of each tournament pair."""
        parents = select_parents(self.fitness, contestants)
        sizes = np.empty_like(self.sizes)
        breed(self.weights, self.variances, self.sizes, parents, crossed, self.spare, sizes)
        self.weights, self.spare, self.sizes = self.spare, self.weights, sizes

    def mutate(self, positions: IntArray, noise: FloatArray, n_elite: int) -> None:
        """Add noise to genes of the children, counted from the first gene after the elite."""
        mutate(self.weights[n_elite:], self.sizes[n_elite:], positions, noise)


def _empty_history(n_evaluations: int, n_nodes: int) -> History:
    return {
        "dimensionality": np.empty(n_evaluations, dtype=np.int64),
        "mean_dimensionality": np.empty(n_evaluations),
        "fitness": np.empty(n_evaluations),
        "variances": np.full((n_evaluations, n_nodes), np.nan),
    }
