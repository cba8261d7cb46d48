"""Genetic programming of arithmetic expressions: values, random trees, crossover, mutation, evolution."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pppca_bench.compiled.arrays import Floats

Expression = tuple[str | int | float, ...]
"""A tree in prefix order: a name of `OPERATORS`, before its two operands; an int, a feature; a float, a constant."""

Fitness = Callable[[Expression], tuple[float, ...]]
"""Fitness of an expression: tuples are compared as Python does, the greater is better."""

_LEAST_DIVISOR = 1e-6


def _divide(dividend: Floats, divisor: Floats) -> Floats:
    """Divide, with the quotient 1 where the divisor is nearly 0: Koza's protected division."""
    is_safe = np.abs(divisor) > _LEAST_DIVISOR
    return np.where(is_safe, dividend / np.where(is_safe, divisor, 1.0), 1.0)


OPERATORS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _divide,
}
"""Functions of two operands by their name in expressions."""

_NAMES = tuple(OPERATORS)
_LEAF_PROBABILITY = 0.3
_CONSTANT_PROBABILITY = 0.2
_MUTANT_DEPTH = 2
_INITIAL_DEPTH = 4


def values_of(expression: Expression, columns: Floats) -> Floats:
    """Compute an expression for every sample; overflow gives infinity, and undefined values are nan.

    Parameters
    ----------
    expression : Expression
    columns : float64 array, shape (n_features, n_samples)
        A feature a row.

    Returns
    -------
    float64 array, shape (n_samples,)
    """
    operands: list[Any] = []
    with np.errstate(over="ignore", invalid="ignore"):
        for node in reversed(expression):
            if isinstance(node, str):
                operands.append(OPERATORS[node](operands.pop(), operands.pop()))
            else:
                operands.append(columns[node] if isinstance(node, int) else node)
    # An expression of constants alone is a number.
    return operands[0] if np.ndim(operands[0]) else np.full(columns.shape[1], operands[0])


def features_of(expression: Expression) -> set[int]:
    """Return the features in an expression."""
    return {node for node in expression if isinstance(node, int)}


def random_expression(n_features: int, max_depth: int, rng: np.random.Generator) -> Expression:
    """Grow a random tree with at most `max_depth` operators on each path to a leaf."""
    if max_depth > 0 and rng.random() >= _LEAF_PROBABILITY:
        operands = (random_expression(n_features, max_depth - 1, rng) for _ in range(2))
        return (_NAMES[rng.integers(len(_NAMES))], *next(operands), *next(operands))
    if rng.random() < _CONSTANT_PROBABILITY:
        return (float(rng.uniform(-1.0, 1.0)),)
    return (int(rng.integers(n_features)),)


def subtree(expression: Expression, start: int) -> slice:
    """Return the slice of the tree whose root is at `start`."""
    n_missing = 1
    for end in range(start, len(expression)):
        n_missing += 1 if isinstance(expression[end], str) else -1
        if n_missing == 0:
            return slice(start, end + 1)
    raise ValueError(f"expression: expected an operand for every operator, got {expression!r}")


def replaced(expression: Expression, start: int, branch: Expression) -> Expression:
    """Return an expression with another tree in place of the tree whose root is at `start`."""
    cut = subtree(expression, start)
    return (*expression[: cut.start], *branch, *expression[cut.stop :])


def crossed(first: Expression, second: Expression, rng: np.random.Generator) -> Expression:
    """Return the first parent with a random subtree replaced by a random subtree of the second."""
    branch = second[subtree(second, int(rng.integers(len(second))))]
    return replaced(first, int(rng.integers(len(first))), branch)


def mutated(expression: Expression, n_features: int, rng: np.random.Generator) -> Expression:
    """Return an expression with a random subtree replaced by a new random tree."""
    branch = random_expression(n_features, _MUTANT_DEPTH, rng)
    return replaced(expression, int(rng.integers(len(expression))), branch)


def evolve(
    fitness: Fitness,
    n_features: int,
    rng: np.random.Generator,
    *,
    population_size: int,
    n_generations: int,
    tournament_size: int,
    mutation_probability: float,
    max_nodes: int,
) -> Iterator[tuple[Expression, tuple[float, ...]]]:
    """Evolve a population and yield each generation's fittest expression with its fitness.

    Parents are chosen by tournament; a child is either crossed from two or mutated from one; the fittest passes
    unchanged to the next generation; a child of more than ``max_nodes`` nodes is replaced by its first parent.
    """
    known: dict[Expression, tuple[float, ...]] = {}

    def fitness_of(expression: Expression) -> tuple[float, ...]:
        if expression not in known:
            known[expression] = fitness(expression)
        return known[expression]

    def child_of(first: Expression, second: Expression) -> Expression:
        mutates = rng.random() < mutation_probability
        child = mutated(first, n_features, rng) if mutates else crossed(first, second, rng)
        return child if len(child) <= max_nodes else first

    population = [random_expression(n_features, _INITIAL_DEPTH, rng) for _ in range(population_size)]
    for _ in range(n_generations):
        worths = [fitness_of(expression) for expression in population]
        fittest = max(range(population_size), key=worths.__getitem__)
        yield population[fittest], worths[fittest]
        draws = rng.integers(population_size, size=(population_size - 1, 2, tournament_size)).tolist()
        parents = [[population[max(drawn, key=worths.__getitem__)] for drawn in pair] for pair in draws]
        population = [population[fittest], *(child_of(*pair) for pair in parents)]
