"""Own a population of linear networks that evolves: its generations, and the course that they take."""

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np

from pppca_bench.compiled.arrays import Floats
from pppca_bench.compiled.simd import WIDTH
from pppca_bench.engines.evolution import Course, Rules, evolve, numbers_of_a_child, record, reproduce
from pppca_bench.engines.fitness import Networks, evaluate_networks, moments_of, padded
from pppca_bench.engines.gha_blocked import aligned_zeros


class Population:
    """The networks of one generation, and room for the next.

    Parameters
    ----------
    weights : float64 array of shape (n_individuals, n_nodes, n_features)
        The networks at the start.
    C : float64 array of shape (n_features, n_features)
    rules : Rules
    seed : int, 0 to 2^64 - 1
        Of the mutation's random numbers.
    n_generations : int
        Generations at most.
    n_shares : int
        Shares that `each` works on together.
    each : callable
        `map`, or one that does the same in threads.

    Attributes
    ----------
    networks : Networks
    course : Course
        The evaluations made so far; what lies beyond them means nothing.
    n_generations : int
        Generations made.
    """

    def __init__(
        self,
        weights: Floats,
        C: Floats,
        rules: Rules,
        seed: int,
        n_generations: int,
        n_shares: int,
        each: Callable[..., Iterable[None]],
    ) -> None:
        n_individuals, n_nodes, self._n_features = weights.shape
        self.networks, self._next = _room(weights.shape), _room(weights.shape)
        self.networks.weights[:] = panels_of(weights)
        self.course = _empty_course(n_generations + 1, n_nodes)
        self.n_generations = 0
        self._moments, self._rules = moments_of(C), rules
        self._seed, self._n_drawn = np.array([[seed]], dtype=np.uint64), 0
        self._each = each
        bounds = np.linspace(0, n_individuals, min(n_shares, n_individuals) + 1).astype(int).tolist()
        self._shares = list(pairwise(bounds))
        self._evaluate()

    def _evaluate(self) -> None:
        def evaluate(share: tuple[int, int]) -> None:
            evaluate_networks(self.networks, self._moments, self._rules.limits, *share)

        list(self._each(evaluate, self._shares))
        record(self.networks, self.course, 0)

    def evolve(self, uniforms: Floats) -> None:
        """Make generations: of each the elite first, by decreasing fitness, then the children of tournaments' winners.

        Parameters
        ----------
        uniforms : float64 array of shape (n_generations, n_children, 2 tournament_size + 1), see `select_parents`
        """
        if len(self._shares) == 1:
            drawn = uniforms, self._seed, self._n_drawn
            course = self.course, self.n_generations + 1
            evolve(self.networks, self._next, *drawn, self._rules, self._moments, *course)
            self._count(len(uniforms), uniforms.shape[1])
            return
        for of_generation in uniforms:
            self._reproduce_together(of_generation)
            self._count(1, uniforms.shape[1])
            record(self.networks, self.course, self.n_generations)

    def _reproduce_together(self, uniforms: Floats) -> None:
        def fill(share: tuple[int, int]) -> None:
            drawn = uniforms, self._seed, self._n_drawn
            reproduce(self.networks, *drawn, self._rules, self._moments, self._next, *share)

        list(self._each(fill, self._shares))

    def _count(self, n_generations: int, n_children: int) -> None:
        """Note generations that were made: after an odd number the networks lie in the other room."""
        self.n_generations += n_generations
        self._n_drawn += n_generations * n_children * numbers_of_a_child(self.networks.weights.shape[1])
        if n_generations % 2 == 1:
            self.networks, self._next = self._next, self.networks

    def nodes_of(self, individual: int) -> Floats:
        """Return the nodes of a network as rows, shape (its size, n_features)."""
        weights, size = self.networks.weights[individual], int(self.networks.sizes[individual])
        depth = padded(self._n_features)
        nodes = weights.reshape(-1, depth, WIDTH).swapaxes(1, 2).reshape(-1, depth)
        return np.ascontiguousarray(nodes[:size, : self._n_features])


def panels_of(weights: Floats) -> Floats:
    """Lay nodes, shape (n_individuals, n_nodes, n_features), into panels of eight, see `Networks`."""
    n_individuals, n_nodes, n_features = weights.shape
    bordered = np.zeros((n_individuals, padded(n_nodes), padded(n_features)))
    bordered[:, :n_nodes, :n_features] = weights
    panels = bordered.reshape(n_individuals, -1, WIDTH, padded(n_features)).swapaxes(2, 3)
    return panels.reshape(n_individuals, -1, WIDTH)


def _room(shape: tuple[int, ...]) -> Networks:
    """Allocate networks; each has all nodes."""
    n_individuals, n_nodes, n_features = shape
    n_rows = padded(n_nodes) // WIDTH * padded(n_features)
    weights = aligned_zeros(n_individuals * n_rows, WIDTH).reshape(n_individuals, n_rows, WIDTH)
    sizes = np.full(n_individuals, n_nodes, dtype=np.int64)
    return Networks(weights, np.zeros((n_individuals, padded(n_nodes))), sizes, np.zeros(n_individuals))


def _empty_course(n_evaluations: int, n_nodes: int) -> Course:
    return Course(
        dimensionality=np.zeros(n_evaluations, dtype=np.int64),
        mean_dimensionality=np.zeros(n_evaluations),
        fitness=np.zeros(n_evaluations),
        variances=np.full((n_evaluations, n_nodes), np.nan),
    )
