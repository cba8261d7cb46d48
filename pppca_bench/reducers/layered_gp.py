"""Owns layered genetic programming: features that are expressions of features."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
from gplearn.genetic import SymbolicTransformer
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from pppca_bench.classifiers.mlp import Labels, Split
from pppca_bench.compiled.arrays import Floats
from pppca_bench.parameters import Count, check_order, check_parameters, make_generator
from pppca_bench.reducers.wrapper_scores import seeded, subset, training_split, validation_errors

_COST_OF_A_NODE = 0.001
"""Fitness that a node of an expression costs: gplearn's default."""


class Layer(NamedTuple):
    """Expressions over the features of the layer before, and the ranges and scales of their training values."""

    programs: list[Any]
    low: Floats
    high: Floats
    mean: Floats
    scale: Floats

    def outputs(self, X: Floats) -> Floats:
        """Return the standardised values of the expressions, float64 (n_samples, n_programs)."""
        values = np.clip(_evaluated(self.programs, X), self.low, self.high)
        return (np.where(np.isnan(values), self.mean, values) - self.mean) / self.scale


class LayeredGP(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Evolve features in layers, each of expressions over the features of the layer before (FLGP; Lin et al. 2008).

    In each layer gplearn's SymbolicTransformer evolves expressions of +, −, × and protected ÷ that correlate with the
    class, and picks those that are the least alike. The last layer's best, as many as do best on the validation data,
    are the features.

    Choice: the fitness is the magnitude of the correlation with the class, of two classes a monotone function of
    Fisher's ratio; of more classes each against the rest, their features taken in turn. An output beyond its training
    range is cut off there, since a division can grow without bound between samples, and outputs are standardised, so
    that constants have the same meaning in each layer.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of features, from 1 to layer_width; None: chosen by the validation error, of equal ones the fewest.
    n_layers : int, default=2
        >= 1.
    layer_width : int, default=20
        Most expressions that a layer hands on, >= 1.
    population_size : int, default=200
        Expressions in a generation, for each class of three or more; >= layer_width.
    n_generations : int, default=10
        >= 1. Choice: population and generations small enough for a second or two a run; fitness has settled by then.
    tournament_size : int, default=10
        >= 1.
    estimator : classifier or None, default=None
        Unfitted; its validation error chooses the number of features. None: `RpropMLPClassifier` with 16 hidden nodes.
    random_state : int, RandomState, Generator or None, default=None
        Source of the evolution, of the held-out share and of the classifier's seed.

    Attributes
    ----------
    n_components_ : int
    n_generations_ : int
        Generations of each layer.
    layers_ : list of Layer
    expressions_ : list of str
        The features, over the outputs of the layer before the last, in prefix notation.
    history_ : dict
        ``n_features`` and ``validation_error_percent`` of the sizes that were tried; ``best_fitness`` of each
        generation, layer after layer.
    """

    def __init__(
        self,
        n_components: Count | None = None,
        *,
        n_layers: Count = 2,
        layer_width: Count = 20,
        population_size: Count = 200,
        n_generations: Count = 10,
        tournament_size: Count = 10,
        estimator: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_layers = n_layers
        self.layer_width = layer_width
        self.population_size = population_size
        self.n_generations = n_generations
        self.tournament_size = tournament_size
        self.estimator = estimator
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, X_val: ArrayLike | None = None, y_val: ArrayLike | None = None) -> Self:
        """Evolve on (X, y), and choose the number of features by the error on (X_val, y_val).

        Parameters
        ----------
        X, X_val : array-like, shape (n_samples, n_features)
            Without X_val a third of X is held out, stratified.
        y, y_val : array-like, shape (n_samples,)
            Class labels.

        Raises
        ------
        ValueError
            When a parameter or the data are out of their range.
        """
        check_parameters(self)
        rng = make_generator(self.random_state)
        split = training_split(self, X, y, X_val, y_val, rng)
        if len(split.X) < 2:
            raise ValueError("X in LayeredGP: expected at least 2 samples, got 1 sample. Give more.")
        outputs = self._evolve_layers(split, rng)
        self._choose(outputs, seeded(self.estimator, rng))
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Evaluate the expressions.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        float64 array, shape (n_samples, n_components_)
        """
        check_is_fitted(self)
        values: Floats = validate_data(self, X, dtype=np.float64, reset=False)
        for layer in self.layers_:
            values = layer.outputs(values)
        return np.ascontiguousarray(values[:, : self.n_components_])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def check_agreement(self) -> None:
        """Check that a layer has room for the features, and a population for a layer.

        Raises
        ------
        ParameterError
            They have not.
        """
        check_order(self, "n_components", "layer_width")
        check_order(self, "layer_width", "population_size")

    def _evolve_layers(self, split: Split, rng: np.random.Generator) -> Split:
        """Evolve the layers one after another; return the last one's outputs."""
        self.layers_: list[Layer] = []
        self._best_fitness: list[float] = []
        self.n_generations_ = self.n_generations
        X, X_val = split.X, split.X_val
        for _ in range(self.n_layers):
            layer = self._evolve_layer(X, split.y, rng)
            self.layers_.append(layer)
            X, X_val = layer.outputs(X), layer.outputs(X_val)
        return Split(X, split.y, X_val, split.y_val)

    def _evolve_layer(self, X: Floats, y: Labels, rng: np.random.Generator) -> Layer:
        targets = _targets(y)
        width = -(-self.layer_width // len(targets))
        populations = [self._evolve(X, target, width, rng) for target in targets]
        in_turn = [program for rank in zip(*populations, strict=True) for program in rank]
        return _layer(in_turn[: self.layer_width], X)

    def _evolve(self, X: Floats, target: Floats, width: int, rng: np.random.Generator) -> list[Any]:
        """Return the least alike of the fittest expressions, the fittest first."""
        symbolic = SymbolicTransformer(
            population_size=self.population_size,
            hall_of_fame=max(self.layer_width, self.population_size // 2),
            n_components=width,
            generations=self.n_generations,
            tournament_size=self.tournament_size,
            parsimony_coefficient=_COST_OF_A_NODE,
            metric="pearson",
            random_state=int(rng.integers(2**31)),
        )
        with _gplearn():
            symbolic.fit(X, target)
        self._best_fitness.extend(symbolic.run_details_["best_fitness"])
        return list(symbolic)

    def _choose(self, outputs: Split, classifier: Any) -> None:
        """Set the number of features; of equal errors the first, so the fewest."""
        width = outputs.X.shape[1]
        sizes = np.arange(1, width + 1) if self.n_components is None else np.array([min(self.n_components, width)])
        errors = validation_errors(classifier, [subset(outputs, np.arange(size)) for size in sizes], outputs)
        self.n_components_ = int(sizes[errors.argmin()])
        self.expressions_ = [str(program) for program in self.layers_[-1].programs[: self.n_components_]]
        self.history_ = {
            "n_features": sizes,
            "validation_error_percent": errors,
            "best_fitness": np.array(self._best_fitness),
        }


def _targets(y: Labels) -> list[Floats]:
    """Return what expressions shall correlate with: of two classes the last, of more each."""
    classes = np.unique(y)
    return [(y == one).astype(np.float64) for one in (classes[-1:] if len(classes) <= 2 else classes)]


def _layer(programs: Sequence[Any], X: Floats) -> Layer:
    """Keep the expressions that vary over the training samples, the first in any case."""
    values = _evaluated(programs, X)
    varying = np.isfinite(values).all(axis=0) & (np.ptp(values, axis=0) > 0.0)
    kept = np.flatnonzero(varying) if varying.any() else np.array([0])
    values, scale = values[:, kept], values[:, kept].std(axis=0)
    return Layer(
        [programs[index] for index in kept],
        values.min(axis=0),
        values.max(axis=0),
        values.mean(axis=0),
        np.where(scale > 0.0, scale, 1.0),
    )


def _evaluated(programs: Sequence[Any], X: Floats) -> Floats:
    with np.errstate(all="ignore"):
        return np.array([program.execute(X) for program in programs], dtype=np.float64).T


@contextmanager
def _gplearn() -> Iterator[None]:
    """Let overflows be (such expressions have fitness 0), and undo gplearn's use of NumPy's global random state."""
    state = np.random.get_state()
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        np.random.set_state(state)
