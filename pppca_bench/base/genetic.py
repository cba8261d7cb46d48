"""Genetic algorithms on strings: selection of parents, crossover, survival, islands."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Literal, TypeVar

import numpy as np

from pppca_bench.base.parameters import (
    Count,
    NotNegativeCount,
    ParameterError,
    PopulationSize,
    Positive,
    Probability,
    Share,
    check_parameters,
)
from pppca_bench.compiled.arrays import Flags, Floats, Indices

Genes = TypeVar("Genes", Floats, Flags)
"""Strings of real numbers or of bits, (n_strings, length)."""

_LEAST_FITNESS = -1e100
"""Fitness in place of nan and -inf where fitness is scaled."""


@dataclass(eq=False, repr=False, kw_only=True)
class Selection:
    """Base of algorithms that select parents by their fitness; for the parameters see `GeneticAlgorithm`."""

    selection: Literal["tournament", "roulette", "truncation"] = "tournament"
    tournament_size: Count = 4
    selection_strength: Positive | None = None
    truncation_share: Share = 0.5


def select(
    rule: Selection,
    fitness: Floats,
    n_parents: int,
    rng: np.random.Generator,
    copies: Indices | int = 1,
) -> Indices:
    """Return the indices of the parents, (n_parents,).

    Source: lecture notes "Evolutionary Learning", "Parent Selection". Choice: first and second parents are selected
    separately, so that "truncation" shuffles two pools of n_parents strings; the notes shuffle a single pool of all
    strings, and pair neighbours. The fitness, (n_strings,), after scaling, is
    divided by ``copies``, the number of equal strings. Raises ValueError if fitness is negative and the selection
    depends on its ratios.
    """
    if rule.selection_strength is not None:
        least = _LEAST_FITNESS
        fitness = np.nan_to_num(fitness, nan=least, neginf=least)
        # A common factor changes no ratio.
        fitness = np.exp(rule.selection_strength * (fitness - fitness.max()))
    elif (rule.selection == "roulette" or np.ndim(copies)) and fitness.min() < 0.0:
        raise ValueError(
            f"fitness in {type(rule).__name__}: expected numbers >= 0 for roulette and sharing, "
            f"got {fitness.min():g}. Give a selection_strength, which makes them positive."
        )
    fitness = fitness / copies
    if rule.selection == "roulette":
        total = fitness.sum()
        return rng.choice(len(fitness), size=n_parents, p=fitness / total if total else None)
    if rule.selection == "truncation":
        n_kept = max(1, int(rule.truncation_share * len(fitness) + 0.5))
        fittest = np.argsort(-fitness, kind="stable")[:n_kept]
        return rng.permutation(np.resize(fittest, n_parents))
    drawn = rng.integers(len(fitness), size=(n_parents, rule.tournament_size))
    winners: Indices = drawn[np.arange(n_parents), fitness[drawn].argmax(axis=1)]
    return winners


@dataclass(eq=False, repr=False, kw_only=True)
class GeneticAlgorithm(Selection):
    """Genetic algorithm on strings of equal length, without termination.

    Source: lecture notes "Evolutionary Learning", "The Basic Genetic Algorithm". Choice: a pair of parents has a single
    child, as on the slide "Special crossing operator", unless families compete.

    Parameters
    ----------
    selection : {"tournament", "roulette", "truncation"}, default="tournament"
        Rule that selects parents. "tournament": the fittest of `tournament_size` strings, drawn with replacement.
        "roulette": with probabilities in proportion to fitness, formula (10.1). "truncation": the fittest strings, each
        equally often, in random order.
    tournament_size : int, default=4
        Strings of a tournament, >= 1.
    selection_strength : float or None, default=None
        Strength s > 0, by which exp(s F) replaces the fitness F, formula (10.2). None keeps F, which must then be >= 0
        for "roulette" and `fitness_sharing`.
    truncation_share : float, default=0.5
        Share of the strings that "truncation" selects, in (0, 1]; at least a single string.
    population_size : int, default=24
        Strings of a generation, >= 2.
    crossover_probability : float, default=0.9
        Probability that a child has two parents, otherwise it copies the first parent; in [0, 1].
    crossover_points : int or None, default=None
        Number of random points, >= 1, after which genes come from the other parent: 1 is single-point crossover, more
        are multi-point crossover. None is uniform crossover: each gene is from either parent.
    n_elite : int, default=1
        Number of fittest strings that pass unchanged to the next generation (elitism); >= 0.
    family_tournament : bool, default=False
        Whether two children compete with their two parents, and the two fittest survive.
    n_islands : int, default=1
        Number of subpopulations, >= 1, which evolve separately except for migration.
    migration_interval : int, default=10
        Generations between two migrations, >= 1. Choice: the lecture notes say "occasionally".
    n_migrants : int, default=1
        Number of fittest strings of each island, >= 0, whose copies replace the least fit of the next island.
    fitness_sharing : bool, default=False
        Whether the fitness for selection is divided by the number of equal strings on the island.
    """

    population_size: PopulationSize = 24
    crossover_probability: Probability = 0.9
    crossover_points: Count | None = None
    n_elite: NotNegativeCount = 1
    family_tournament: bool = False
    n_islands: Count = 1
    migration_interval: Count = 10
    n_migrants: NotNegativeCount = 1
    fitness_sharing: bool = False

    def check_agreement(self) -> None:
        """Raise ParameterError if an island has no strings besides its elite and migrants."""
        needed = self.n_islands * (max(self.n_elite, self.n_migrants) + 1)
        if self.population_size < needed:
            expected = f"at least {needed}: n_islands times more than n_elite and n_migrants"
            raise ParameterError("population_size", expected, self.population_size)

    def generations(
        self,
        strings: Genes,
        evaluate: Callable[[Genes], Floats],
        mutate: Callable[[Genes, np.random.Generator], Genes],
        rng: np.random.Generator,
    ) -> Iterator[tuple[Genes, Floats]]:
        """Yield generations without end.

        Parameters
        ----------
        strings : bool or float64 array, shape (population_size, length)
            First generation.
        evaluate : function
            Returns the fitness, float64 (n_strings,), of strings (n_strings, length); the larger, the fitter.
        mutate : function
            Returns strings after mutation, which it may change in place, from strings and a random generator.
        rng : Generator
            Source of all randomness.

        Yields
        ------
        strings : array, shape (population_size, length)
            A generation.
        fitness : float64 array, shape (population_size,)
            Its fitness.

        Raises
        ------
        ValueError
            If a parameter is out of its range, or fitness is negative and the selection depends on its ratios.
        """
        check_parameters(self)
        islands = np.array_split(np.arange(len(strings)), self.n_islands)
        for generation in count(1):
            fitness = evaluate(strings)
            yield strings, fitness
            if self.n_islands > 1 and generation % self.migration_interval == 0:
                source = migrate(fitness, islands, self.n_migrants)
                strings, fitness = strings[source], fitness[source]
            strings = np.concatenate(
                [self._breed(strings[i], fitness[i], evaluate, mutate, rng) for i in islands]
            )

    def _breed(
        self,
        strings: Genes,
        fitness: Floats,
        evaluate: Callable[[Genes], Floats],
        mutate: Callable[[Genes, np.random.Generator], Genes],
        rng: np.random.Generator,
    ) -> Genes:
        """Return the next generation of an island: the fittest, then children, or the survivors of families."""
        elite = strings[np.argsort(-fitness, kind="stable")[: self.n_elite]]
        n_missing, length = len(strings) - len(elite), strings.shape[1]
        n_pairs = -(-n_missing // 2) if self.family_tournament else n_missing
        copies = count_copies(strings) if self.fitness_sharing else 1
        first, second = (select(self, fitness, n_pairs, rng, copies) for _ in range(2))
        mothers, fathers = strings[first], strings[second]
        exchanged = exchange(n_pairs, length, self.crossover_points, rng)
        exchanged &= rng.random((n_pairs, 1)) < self.crossover_probability
        children = mutate(np.where(exchanged, fathers, mothers), rng)
        if self.family_tournament:
            twins = mutate(np.where(exchanged, mothers, fathers), rng)
            family = np.stack([mothers, fathers, children, twins], axis=1)
            values = [fitness[first], fitness[second], evaluate(children), evaluate(twins)]
            fittest = np.argsort(-np.stack(values, axis=1), axis=1, kind="stable")[:, :2]
            survivors = np.take_along_axis(family, fittest[:, :, np.newaxis], axis=1)
            children = survivors.reshape(-1, length)[:n_missing]
        return np.concatenate([elite, children])


def exchange(n_children: int, length: int, n_points: int | None, rng: np.random.Generator) -> Flags:
    """Return which genes of each child come from the second parent, (n_children, length).

    After each of ``n_points`` distinct random points between two genes, the other parent gives the genes; at most
    length − 1 points. None draws each gene's parent.
    """
    if n_points is None:
        random_bytes = rng.integers(256, size=(n_children, -(-length // 8)), dtype=np.uint8)
        return np.unpackbits(random_bytes, axis=1, count=length).astype(bool)
    places = np.tile(np.arange(1, length), (n_children, 1))
    points = rng.permuted(places, axis=1)[:, :n_points, np.newaxis]
    n_before = (np.arange(length) >= points).sum(axis=1)
    from_second: Flags = n_before % 2 == 1
    return from_second


def count_copies(strings: Floats | Flags) -> Indices:
    """Return how often each string, a row, occurs among all strings."""
    _, which, counts = np.unique(strings, axis=0, return_inverse=True, return_counts=True)
    copies: Indices = counts[which.ravel()]
    return copies


def migrate(fitness: Floats, islands: list[Indices], n_migrants: int) -> Indices:
    """Return the index of the string that takes each place, (n_strings,).

    Copies of the fittest of an island replace the least fit of the next island.
    """
    source = np.arange(len(fitness))
    ranked = [island[np.argsort(-fitness[island], kind="stable")] for island in islands]
    for sender, receiver in zip(ranked, [*ranked[1:], ranked[0]], strict=True):
        source[receiver[len(receiver) - n_migrants :]] = sender[:n_migrants]
    return source


def flip_bits(strings: Flags, rng: np.random.Generator) -> Flags:
    """Return strings of which each bit is flipped with the probability 1 / length.

    Source: lecture notes "Evolutionary Learning", "Mutation".
    """
    flipped: Flags = strings ^ (rng.random(strings.shape) < 1.0 / strings.shape[1])
    return flipped
