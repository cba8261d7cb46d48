"""Sequential search: forward addition and backward elimination of features."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from pppca_bench.classifiers.training_data import Split
from pppca_bench.compiled.arrays import Indices
from pppca_bench.parameters import Count
from pppca_bench.reducers.path_selector import PathSelector, Step, patient, ranking_of
from pppca_bench.reducers.wrapper_scores import subset, validation_errors


class _SequentialSelector(PathSelector):
    """Add or remove the one feature that leaves the smallest validation error, step by step.

    Choice: of equal candidates the first is taken, and a search ends when ``patience`` steps in a row brought nothing
    better: errors of single steps are noisy, so the first rise says little.
    """

    def __init__(
        self,
        n_features: Count | None = None,
        *,
        patience: Count | None = 5,
        estimator: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_features = n_features
        self.patience = patience
        self.estimator = estimator
        self.random_state = random_state

    def _search(
        self,
        split: Split,
        classifier: Any,
        rng: np.random.Generator,  # noqa: ARG002 - the networks' seed is all that is random
    ) -> tuple[list[Step], Indices]:
        steps = self._steps(split, classifier)
        path = patient(steps, self.patience if self.n_features is None else None)
        return path, self._ranking(path, split.X.shape[1])

    @abstractmethod
    def _steps(self, split: Split, classifier: Any) -> Iterator[Step]:
        """Yield the subsets of the search."""

    @abstractmethod
    def _ranking(self, path: list[Step], n_features: int) -> Indices:
        """Rank the features by when they came or went."""


class ForwardSelector(_SequentialSelector):
    """Add features one by one, each rated together with those before it (Mitchell 2006, "Forward2"; Bishop 1995, 8.5).

    Parameters
    ----------
    n_features : int or None, default=None
        Number of features, from 1 to all; None: chosen by the validation error.
    patience : int or None, default=5
        Steps without a better subset after which the search ends, >= 1; None: never. See `_SequentialSelector`.
    estimator : classifier or None, default=None
        Unfitted; its validation error rates the subsets. None: `RpropMLPClassifier` with 16 hidden nodes.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out share and of the classifier's seed.

    Attributes
    ----------
    support_, ranking_, n_features_, history_, mean_
        See `PathSelector`; ranks are the order of addition.
    """

    def _steps(self, split: Split, classifier: Any) -> Iterator[Step]:
        chosen: tuple[int, ...] = ()
        while len(chosen) < (self.n_features or split.X.shape[1]):
            others = [feature for feature in range(split.X.shape[1]) if feature not in chosen]
            step = _best(split, classifier, [(*chosen, feature) for feature in others])
            chosen = step.features
            yield step

    def _ranking(self, path: list[Step], n_features: int) -> Indices:
        return ranking_of(path[-1].features, n_features)


class BackwardSelector(_SequentialSelector):
    """Remove features one by one, each rated by what the others do without it (Mitchell 2006; Bishop 1995, figure 8.8).

    Parameters
    ----------
    n_features : int or None, default=None
        Number of features, from 1 to all; None: chosen by the validation error.
    patience : int or None, default=5
        Steps without a better subset after which the search ends, >= 1; None: never. See `_SequentialSelector`; a
        smaller subset of the same error is a better one.
    estimator : classifier or None, default=None
        Unfitted; its validation error rates the subsets. None: `RpropMLPClassifier` with 16 hidden nodes.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out share and of the classifier's seed.

    Attributes
    ----------
    support_, ranking_, n_features_, history_, mean_
        See `PathSelector`; those that the search never removed have rank 1, the last removed rank 2.
    """

    def _steps(self, split: Split, classifier: Any) -> Iterator[Step]:
        step = _best(split, classifier, [tuple(range(split.X.shape[1]))])
        yield step
        while len(step.features) > (self.n_features or 1):
            kept = step.features
            step = _best(split, classifier, [tuple(f for f in kept if f != feature) for feature in kept])
            yield step

    def _ranking(self, path: list[Step], n_features: int) -> Indices:
        ranking = np.ones(n_features, dtype=np.int64)
        for rank, (larger, smaller) in enumerate(zip(path[-2::-1], path[:0:-1], strict=True), start=2):
            (removed,) = set(larger.features) - set(smaller.features)
            ranking[removed] = rank
        return ranking


def _best(split: Split, classifier: Any, subsets: list[tuple[int, ...]]) -> Step:
    """Train a network for each subset, side by side, and return the best."""
    errors = validation_errors(classifier, [subset(split, features) for features in subsets], split)
    best = int(errors.argmin())
    return Step(subsets[best], float(errors[best]))
