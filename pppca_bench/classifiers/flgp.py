"""Layered genetic programming of discriminant functions: the estimator `FLGPClassifier`."""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from pppca_bench.base.genetic import Selection, select
from pppca_bench.base.parameters import Count, PopulationSize, Probability
from pppca_bench.base.samples import validated_samples
from pppca_bench.classifiers.mlp import LargestOutputMixin
from pppca_bench.classifiers.training_data import Split, SplitEstimator
from pppca_bench.compiled.arrays import Flags, Floats

Expression = tuple[str | int | float, ...]
"""Tree in prefix order: name in `OPERATORS` before its two operands, int for a feature, float for a constant."""

Layers = list[list[Expression]]
"""Expressions of each layer, over the features in the first layer, then over the outputs of the previous layer."""

ClassSamples = tuple[Floats, Flags, Floats]
"""Columns, (n_features, n_samples); whether each sample belongs to the class, (n_samples,); sample weights."""

_LEAST_DIVISOR = 1e-6


def _divide(dividend: Floats, divisor: Floats) -> Floats:
    """Divide; the quotient is 1 where the divisor is nearly 0 (Koza's protected division)."""
    is_safe = np.abs(divisor) > _LEAST_DIVISOR
    return np.where(is_safe, dividend / np.where(is_safe, divisor, 1.0), 1.0)


OPERATORS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _divide,
}
"""Functions of two operands, by their name in expressions."""

_NAMES = tuple(OPERATORS)
_LEAF_PROBABILITY = 0.3
_CONSTANT_PROBABILITY = 0.2
_MUTANT_DEPTH = 2
_INITIAL_DEPTH = 4


def evaluate(expression: Expression, columns: Floats) -> Floats:
    """Compute an expression for each sample, (n_samples,), from the columns, (n_features, n_samples).

    Overflow gives infinity, and undefined values are nan.
    """
    operands: list[Any] = []
    with np.errstate(over="ignore", invalid="ignore"):
        for node in reversed(expression):
            if isinstance(node, str):
                operands.append(OPERATORS[node](operands.pop(), operands.pop()))
            else:
                operands.append(columns[node] if isinstance(node, int) else node)
    # An expression of constants is a single number.
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
    end, n_missing = start, 1
    while n_missing > 0:
        # An operator is an operand and needs two further operands.
        n_missing += 1 if isinstance(expression[end], str) else -1
        end += 1
    return slice(start, end)


def replace_subtree(expression: Expression, start: int, branch: Expression) -> Expression:
    """Replace the tree whose root is at `start` by another tree."""
    cut = subtree(expression, start)
    return (*expression[: cut.start], *branch, *expression[cut.stop :])


def cross(first: Expression, second: Expression, rng: np.random.Generator) -> Expression:
    """Replace a random subtree of the first parent by a random subtree of the second parent.

    Choice: a single child, where the lecture notes' figure of genetic programming swaps subtrees and has two.
    """
    branch = second[subtree(second, int(rng.integers(len(second))))]
    return replace_subtree(first, int(rng.integers(len(first))), branch)


def mutate(expression: Expression, n_features: int, rng: np.random.Generator) -> Expression:
    """Replace a random subtree by a new random tree."""
    branch = random_expression(n_features, _MUTANT_DEPTH, rng)
    return replace_subtree(expression, int(rng.integers(len(expression))), branch)


@dataclass(eq=False, repr=False)
class FLGPClassifier(LargestOutputMixin, SplitEstimator):
    """Classify by discriminant functions that several populations evolve in layers (FLGP).

    Layered genetic programming (Lin, Ke, Chien & Yang 2008): each population of a layer evolves, by +, −, × and
    protected ÷, a function that is positive for the samples of a class and not for the others. The outputs of a layer's
    functions are the features of the next layer; the last layer has a single population, whose function decides. The
    features on which this function depends are the selected features. Slide 'Comparison', row "FLGP".

    Fitness is the share of training samples that the sign classifies correctly; with equal shares the function of
    fewer features wins, then the shorter function. Parents are chosen by tournament; children are crossed from two
    parents or mutated from the first parent; the fittest passes unchanged to the next generation.

    Choice: only the paper's abstract was available, which leaves the rest open. A population contributes the fittest
    function of the generation with least validation error. The output of a function f is f / (1 + |f|), which has
    the sign of f and is bounded if a divisor is small. Two classes need a single function. With more classes, each
    class has a function, evolved against all other classes with equal total weights, and the largest output decides.
    The abstract does not describe the paper's two ways of selecting features, so only the evolution leaves features
    out. The defaults of layers, population and tournament have the least validation error of eleven settings on the
    three problems of the slide's table; a doubled population has the same error in twice the time.

    Parameters
    ----------
    n_layers : int, default=3
        >= 1.
    n_populations : int, default=5
        Populations of each layer except the last, >= 1.
    population_size : int, default=200
        Expressions of a population, >= 2.
    n_generations : int, default=40
        >= 1.
    tournament_size : int, default=7
        Expressions drawn, with replacement, to choose each parent, >= 1.
    mutation_probability : float, default=0.2
        Probability that a child has a single parent and a random new subtree; in [0, 1].
    max_nodes : int, default=31
        Largest number of operators, features and constants of a child, >= 1; the first parent replaces a larger child.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out share and of every draw of the evolution.

    Attributes
    ----------
    layers_ : list of lists of lists of Expression
        The expressions of each layer of each discriminant function.
    selected_ : int64 ndarray of shape (n_features_,)
        The features that the functions use.
    n_features_ : int
    n_generations_ : int
        Generations of all layers.
    history_ : dict
        ``correct_percent``, float64 (n_generations_,): share correct of the fittest, mean over populations.
    """

    _: KW_ONLY
    n_layers: Count = 3
    n_populations: Count = 5
    population_size: PopulationSize = 200
    n_generations: Count = 40
    tournament_size: Count = 7
    mutation_probability: Probability = 0.2
    max_nodes: Count = 31
    random_state: Any = None

    def _learn(self, split: Split, rng: np.random.Generator) -> None:
        self._curves: list[Floats] = []
        positives = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        self.layers_ = [self._evolve_layers(split, label, rng) for label in positives]
        self.selected_ = np.array(
            sorted(set().union(*map(used_features, self.layers_))), dtype=np.int64
        )
        self.n_features_ = len(self.selected_)
        self.n_generations_ = self.n_layers * self.n_generations
        self.history_ = {
            "correct_percent": np.mean(np.reshape(self._curves, (-1, self.n_generations_)), axis=0)
        }

    def _outputs(self, X: ArrayLike) -> Floats:
        """Return the output of each class's function; with two classes the first class has the output 0."""
        check_is_fitted(self)
        columns = validated_samples(self, X).T
        outputs = [layer_outputs(layers, columns)[0] for layers in self.layers_]
        first = [np.zeros(columns.shape[1])] if len(self.classes_) == 2 else []
        return np.column_stack([*first, *outputs])

    def _evolve_layers(self, split: Split, label: Any, rng: np.random.Generator) -> Layers:
        """Return the layers of the function of a class, and append the curve of each to ``_curves``.

        The outputs of a layer are the features of the next layer; the last has a single population.
        """
        columns, columns_val = split.X.T, split.X_val.T
        is_positive, is_positive_val = split.y == label, split.y_val == label
        weights, weights_val = (self._weights(flags) for flags in (is_positive, is_positive_val))
        layers: Layers = []
        for n_populations in [*[self.n_populations] * (self.n_layers - 1), 1]:
            training = (columns, is_positive, weights)
            validation = (columns_val, is_positive_val, weights_val)
            evolved = [self._evolve(training, validation, rng) for _ in range(n_populations)]
            layers.append([expression for expression, _ in evolved])
            self._curves.append(np.mean([curve for _, curve in evolved], axis=0))
            columns, columns_val = (
                layer_outputs(layers[-1:], values) for values in (columns, columns_val)
            )
        return layers

    def _evolve(
        self, training: ClassSamples, validation: ClassSamples, rng: np.random.Generator
    ) -> tuple[Expression, Floats]:
        """Evolve a population; return its best function by validation, and the fitness curve in percent."""

        def fitness(expression: Expression) -> tuple[float, ...]:
            return (
                share_correct(expression, *training),
                -len(features_of(expression)),
                -len(expression),
            )

        fittest = list(self._generations(fitness, len(training[0]), rng))
        # Among equally good generations the first, whose function had the least time to overfit.
        chosen = max(
            (function for function, _ in fittest),
            key=lambda function: share_correct(function, *validation),
        )
        return chosen, np.array([100.0 * correct for _, (correct, *_) in fittest])

    def _generations(
        self,
        fitness: Callable[[Expression], tuple[float, ...]],
        n_features: int,
        rng: np.random.Generator,
    ) -> Iterator[tuple[Expression, tuple[float, ...]]]:
        """Evolve a population and yield the fittest expression of each generation, with its fitness."""
        fitness = cache(fitness)
        population = [
            random_expression(n_features, _INITIAL_DEPTH, rng) for _ in range(self.population_size)
        ]
        for _ in range(self.n_generations):
            # Ranks by the first entries of fitness, then by the next entries.
            fitnesses = [fitness(expression) for expression in population]
            ranks = np.unique(fitnesses, axis=0, return_inverse=True)[1].astype(np.float64).ravel()
            fittest = population[ranks.argmax()]
            yield fittest, fitnesses[ranks.argmax()]
            selection = Selection(tournament_size=self.tournament_size)
            parents = select(selection, ranks, 2 * (len(population) - 1), rng).reshape(-1, 2)
            population = [
                fittest,
                *(self._child(population[a], population[b], n_features, rng) for a, b in parents),
            ]

    def _child(
        self, first: Expression, second: Expression, n_features: int, rng: np.random.Generator
    ) -> Expression:
        mutates = rng.random() < self.mutation_probability
        child = mutate(first, n_features, rng) if mutates else cross(first, second, rng)
        return child if len(child) <= self.max_nodes else first

    def _weights(self, is_positive: Flags) -> Floats:
        """Return sample weights whose sum is 1; with more than two classes, both sides have equal weight."""
        if len(self.classes_) == 2:
            return np.full(len(is_positive), 1.0 / len(is_positive))
        sizes = np.where(is_positive, is_positive.sum(), (~is_positive).sum())
        return 1.0 / sizes / np.sum(1.0 / sizes)


def share_correct(
    expression: Expression, columns: Floats, is_positive: Flags, weights: Floats
) -> float:
    """Return the total weight, in [0, 1], of the samples that the sign of the expression classifies correctly."""
    return float(weights[(evaluate(expression, columns) > 0.0) == is_positive].sum())


def used_features(layers: Layers) -> set[int]:
    """Return the features on which the first function of the last layer depends, through all layers."""
    used = {0}
    for expressions in reversed(layers):
        used = set().union(*(features_of(expressions[index]) for index in used))
    return used


def layer_outputs(layers: Layers, columns: Floats) -> Floats:
    """Return the outputs f / (1 + |f|) of the last layer's expressions f, (n_expressions, n_samples)."""
    for expressions in layers:
        # Overflow becomes the largest number and undefined values 0, so that all outputs are finite.
        values = np.nan_to_num([evaluate(expression, columns) for expression in expressions])
        columns = values / (1.0 + np.abs(values))
    return columns
