"""Own a population of linear networks that evolves: its generations, and the course that they take."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from pppca_bench.engines._arrays import Floats, Indices
from pppca_bench.engines._evaluation_kernels import Limits, Networks, evaluate_networks
from pppca_bench.engines._evolution_kernels import Flags, Mutation, reproduce, select_parents

History = dict[str, npt.NDArray[Any]]

_NUMBERS_OF_A_SHARE = 8192


class Population:
    """The networks of one generation, and room for the next.

    Parameters
    ----------
    weights : float64 array of shape (n_individuals, n_nodes, n_features)
        Not evaluated yet.
    C : float64 array of shape (n_features, n_features)
    limits : Limits
    mutation : Mutation
    each : callable
        `map`, or one that does the same in threads.
    """

    def __init__(
        self, weights: Floats, C: Floats, limits: Limits, mutation: Mutation, each: Callable[..., Iterable[None]]
    ) -> None:
        self.networks = _room(weights.shape)._replace(weights=weights)
        self._next = _room(weights.shape)
        self._C, self._limits, self._mutation, self._each = C, limits, mutation, each

    def evaluate(self) -> None:
        """Evaluate all networks in place."""

        def evaluate(share: slice) -> None:
            evaluate_networks(_part(self.networks, share), self._C, self._limits)

        list(self._each(evaluate, self._shares(0)))

    def reproduce(self, contestants: Indices, crossed: Flags, generator: np.random.Generator) -> None:
        """Replace the population: its elite first, by decreasing fitness, then a child of each tournament pair."""
        parents = select_parents(self.networks.fitness, contestants)
        n_elite = len(parents) - len(contestants)

        def children(share: slice, of_children: slice, uniforms: Floats) -> None:
            flags, offspring = crossed[of_children], _part(self._next, share)
            reproduce(self.networks, parents[share], flags, uniforms, self._mutation, self._C, self._limits, offspring)

        children(slice(0, n_elite), slice(0, 0), self.networks.weights[:0])
        shares = self._shares(n_elite)
        of_children = (slice(share.start - n_elite, share.stop - n_elite) for share in shares)
        uniforms = (generator.random((share.stop - share.start, *self.networks.weights.shape[1:])) for share in shares)
        list(self._each(children, shares, of_children, uniforms))
        self.networks, self._next = self._next, self.networks

    def _shares(self, first: int) -> list[slice]:
        """Part the networks from the first on; a share's random numbers fit into the second cache, or are a child's."""
        n, size = len(self.networks.sizes), max(1, _NUMBERS_OF_A_SHARE // self.networks.weights[0].size)
        return [slice(start, min(start + size, n)) for start in range(first, n, size)]

    def record(self, history: History, generation: int) -> None:
        """Record the fittest."""
        _, variances, sizes, fitness = self.networks
        best = fitness.argmax()
        history["dimensionality"][generation] = sizes[best]
        history["mean_dimensionality"][generation] = sizes.mean()
        history["fitness"][generation] = fitness[best]
        history["variances"][generation, : sizes[best]] = variances[best, : sizes[best]]


def _room(shape: tuple[int, ...]) -> Networks:
    """Allocate networks; each has all nodes."""
    n_individuals, n_nodes, _ = shape
    sizes = np.full(n_individuals, n_nodes, dtype=np.int64)
    return Networks(np.empty(shape), np.zeros((n_individuals, n_nodes)), sizes, np.zeros(n_individuals))


def _part(networks: Networks, share: slice) -> Networks:
    weights, variances, sizes, fitness = networks
    return Networks(weights[share], variances[share], sizes[share], fitness[share])


def empty_history(n_evaluations: int, n_nodes: int) -> History:
    """Allocate an evolution's course; see `NEpPCA.history_`."""
    return {
        "dimensionality": np.empty(n_evaluations, dtype=np.int64),
        "mean_dimensionality": np.empty(n_evaluations),
        "fitness": np.empty(n_evaluations),
        "variances": np.full((n_evaluations, n_nodes), np.nan),
    }
