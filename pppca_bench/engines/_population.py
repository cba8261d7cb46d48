"""Own a population of linear networks that evolves: its generations, and the course that they take."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from pppca_bench.engines._arrays import Floats
from pppca_bench.engines._evaluation_kernels import Networks, evaluate_networks, moments_of, padded
from pppca_bench.engines._evolution_kernels import Rules, numbers_of_a_child, reproduce
from pppca_bench.engines._fast_kernels import aligned_zeros
from pppca_bench.engines._vectors import WIDTH

History = dict[str, npt.NDArray[Any]]


class Population:
    """The networks of one generation, and room for the next.

    Parameters
    ----------
    weights : float64 array of shape (n_individuals, n_nodes, n_features)
        Not evaluated yet.
    C : float64 array of shape (n_features, n_features)
    rules : Rules
    seed : int, 0 to 2^64 - 1
        Of the mutation's random numbers.
    n_shares : int
        Shares that `each` works on together.
    each : callable
        `map`, or one that does the same in threads.
    """

    def __init__(
        self,
        weights: Floats,
        C: Floats,
        rules: Rules,
        seed: int,
        n_shares: int,
        each: Callable[..., Iterable[None]],
    ) -> None:
        n_individuals, self.n_nodes, self._n_features = weights.shape
        self.networks, self._next = _room(weights.shape), _room(weights.shape)
        self.networks.weights[:] = panels_of(weights)
        self._moments, self._rules = moments_of(C), rules
        self._seed, self._n_drawn = np.array([[seed]], dtype=np.uint64), 0
        self._each = each
        bounds = np.linspace(0, n_individuals, min(n_shares, n_individuals) + 1).astype(int)
        self._shares = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))

    def evaluate(self) -> None:
        """Evaluate all networks in place."""

        def evaluate(share: tuple[int, int]) -> None:
            evaluate_networks(self.networks, self._moments, self._rules.limits, *share)

        list(self._each(evaluate, self._shares))

    def reproduce(self, uniforms: Floats) -> None:
        """Replace the population: its elite first, by decreasing fitness, then the children of tournaments' winners.

        Parameters
        ----------
        uniforms : float64 array of shape (n_children, 2 tournament_size + 1), see `select_parents`
        """

        def fill(share: tuple[int, int]) -> None:
            reproduce(
                self.networks, uniforms, self._seed, self._n_drawn, self._rules, self._moments, self._next, *share
            )

        list(self._each(fill, self._shares))
        self._n_drawn += len(uniforms) * numbers_of_a_child(self.networks.weights.shape[1])
        self.networks, self._next = self._next, self.networks

    def record(self, history: History, generation: int) -> None:
        """Record the fittest."""
        _, variances, sizes, fitness = self.networks
        best = fitness.argmax()
        size = sizes[best]
        history["dimensionality"][generation] = size
        history["mean_dimensionality"][generation] = np.add.reduce(sizes) / len(sizes)
        history["fitness"][generation] = fitness[best]
        history["variances"][generation, :size] = variances[best, :size]

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


def empty_history(n_evaluations: int, n_nodes: int) -> History:
    """Allocate an evolution's course; see `NEpPCA.history_`."""
    return {
        "dimensionality": np.empty(n_evaluations, dtype=np.int64),
        "mean_dimensionality": np.empty(n_evaluations),
        "fitness": np.empty(n_evaluations),
        "variances": np.full((n_evaluations, n_nodes), np.nan),
    }
