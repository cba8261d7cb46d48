"""Population of linear networks, with generations and history."""

from collections.abc import Sequence
from concurrent.futures import Executor
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pppca_bench.compiled.arrays import Floats, aligned_zeros
from pppca_bench.compiled.linear_algebra import padded
from pppca_bench.compiled.operation import WIDTH
from pppca_bench.engines.evolution import (
    ChildWorkspace,
    History,
    Rules,
    evolve,
    make_child_workspace,
    n_draws,
    record,
)
from pppca_bench.engines.fitness import Networks, moments_of
from pppca_bench.engines.gram_schmidt import in_panels

MIN_SHARED_OPERATIONS = 5e7
"""Least number of multiply-adds of a generation that threads share: about three milliseconds in a thread. To wake
and await a thread takes about a tenth of this time."""

# First and last (exclusive) network that a thread computes, and its work arrays.
ThreadPart = tuple[int, int, ChildWorkspace]


class Individual(NamedTuple):
    """A network: nodes as rows (size, n_features), their variances (size,), fitness."""

    nodes: Floats
    variances: Floats
    fitness: float


class Population:
    """The networks of a generation, and arrays for the next generation.

    Parameters
    ----------
    weights : float64 array of shape (n_individuals, n_nodes, n_features)
        The initial networks.
    C : float64 array of shape (n_features, n_features)
    rules : Rules
    seed : int, 0 to 2^64 - 1
        Seed of the random numbers for mutation.
    n_generations : int
        Largest number of generations; the attribute ``n_generations`` counts the generations so far.
    n_parts : int
        Number of threads that share a generation of at least `MIN_SHARED_OPERATIONS`. No result depends on it.
    threads : Executor
        Computes all parts except the first, which the calling thread computes.
    """

    def __init__(
        self,
        weights: Floats,
        C: Floats,
        rules: Rules,
        seed: int,
        n_generations: int,
        n_parts: int,
        threads: Executor,
    ) -> None:
        n_individuals, n_nodes, self._n_features = weights.shape
        panels = in_panels(weights)
        self.networks, self._next = (
            Networks(
                weights=weights,
                variances=np.zeros((n_individuals, padded(n_nodes))),
                sizes=np.full(n_individuals, n_nodes),
                fitness=np.zeros(n_individuals),
            )
            for weights in (panels, aligned_zeros(*panels.shape))
        )
        self.history = History(
            dimensionality=np.zeros(n_generations + 1, dtype=np.int64),
            mean_dimensionality=np.zeros(n_generations + 1),
            fitness=np.zeros(n_generations + 1),
            variances=np.full((n_generations + 1, n_nodes), np.nan),
        )
        self.n_generations = -1
        self._moments, self._rules = moments_of(C), rules
        self._seed, self._n_drawn = np.uint64(seed), 0
        self._threads = threads
        # The calling thread gets the largest part, since the other threads must wake first.
        bounds = (
            np.ceil(np.linspace(0, n_individuals, min(n_parts, n_individuals) + 1))
            .astype(int)
            .tolist()
        )
        depth = len(self._moments.full)
        self._parts = [
            (first, last, make_child_workspace(self.networks, depth))
            for first, last in pairwise(bounds)
        ]
        # A generation without children evaluates the initial networks.
        self.evolve(np.zeros((1, 0, 1)))

    def evolve(self, uniforms: Floats) -> None:
        """Evolve generations, with random numbers for `select_parents`, and record them in ``history``."""
        for g in range(len(uniforms)):
            # Networks only shrink: after a generation that is too small to share, all generations are too small.
            if len(self._parts) == 1 or self._n_operations() < MIN_SHARED_OPERATIONS:
                self._evolve_parts(uniforms[g:], [(0, len(self.networks.sizes), self._parts[0][2])])
                return
            self._evolve_parts(uniforms[g : g + 1], self._parts)
            record(self.networks, self.history, self.n_generations)

    def _n_operations(self) -> float:
        """Return the multiply-adds of an evaluation: n² m for Gram–Schmidt and n m² / 2 for variances per network."""
        n, m = self.networks.sizes.astype(np.float64), self._n_features
        return float(np.sum(n * (n + m / 2.0) * m))

    def _evolve_parts(self, uniforms: Floats, parts: Sequence[ThreadPart]) -> None:
        """Evolve generations in parts; a single part, of all networks, also records them."""
        drawn = uniforms, self._seed, self._n_drawn
        history = self.history, self.n_generations + 1

        def evolve_part(part: ThreadPart) -> None:
            evolve(self.networks, self._next, *drawn, self._rules, self._moments, *history, *part)

        others = [self._threads.submit(evolve_part, part) for part in parts[1:]]
        evolve_part(parts[0])
        for other in others:
            other.result()
        n_generations, n_children, _ = uniforms.shape
        self.n_generations += n_generations
        self._n_drawn += n_generations * n_children * n_draws(self.networks.weights.shape[1])
        # After an odd number of generations, the networks are in the other arrays.
        if n_generations % 2 == 1:
            self.networks, self._next = self._next, self.networks

    def fittest(self) -> Individual:
        """Return the fittest network."""
        best = int(np.argmax(self.networks.fitness))
        size, depth = int(self.networks.sizes[best]), padded(self._n_features)
        # Nodes, the columns of the panels, as rows without the padding.
        nodes = (
            self.networks.weights[best].reshape(-1, depth, WIDTH).swapaxes(1, 2).reshape(-1, depth)
        )
        return Individual(
            np.ascontiguousarray(nodes[:size, : self._n_features]),
            self.networks.variances[best, :size].copy(),
            float(self.networks.fitness[best]),
        )
