"""Base of feature selectors that search along a path of subsets."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from pppca_bench.classifiers.training_data import FittedBySplit, SizeRule, Split, chosen_size
from pppca_bench.compiled.arrays import Flags, Floats, Indices
from pppca_bench.parameters import ParameterError
from pppca_bench.reducers.wrapper_scores import seeded


class Step(NamedTuple):
    """A subset on the path of a search: its features, and its validation error in percent, nan if not measured."""

    features: tuple[int, ...]
    error: float


class PathSelector(SelectorMixin, FittedBySplit):
    """Base of selectors that choose the subset of least validation error on a path.

    Choice: of subsets with equal errors the smallest is chosen, since fewer features are the aim.

    Attributes
    ----------
    support_ : bool array, shape (n_features,)
    ranking_ : int64 array, shape (n_features,)
        1 for the most important feature; features that a search does not compare share the last rank.
    n_features_ : int
        Number of chosen features.
    history_ : dict
        ``n_features`` and ``validation_error_percent`` of the path, in the order of the search.
    mean_ : float64 array, shape (n_features,)
        Training means, which `inverse_transform` puts in place of the removed features.
    """

    n_features: int | None
    estimator: Any
    random_state: Any
    size_rule: SizeRule = "least_error"

    def _learn(self, split: Split, rng: np.random.Generator) -> None:
        n, n_most = self.n_features, self.n_features_in_
        if n is not None and n > n_most:
            expected = f"an integer from 1 to {n_most} or null"
            raise ParameterError("n_features", expected, n, where=type(self).__name__)
        path, self.ranking_ = self._search(split, seeded(self.estimator, rng), rng)
        # The best subset, or the best of the wanted size.
        wanted = [step for step in path if n in (None, len(step.features))]
        errors, sizes = [step.error for step in wanted], [len(step.features) for step in wanted]
        best = wanted[chosen_size(errors, sizes, len(split.X_val), self.size_rule)]
        self.support_ = np.isin(np.arange(n_most), best.features)
        self.n_features_ = len(best.features)
        self.mean_ = split.X.mean(axis=0)
        self.history_ = {
            "n_features": np.array([len(step.features) for step in path]),
            "validation_error_percent": np.array([step.error for step in path]),
        }

    @abstractmethod
    def _search(self, split: Split, classifier: Any, rng: np.random.Generator) -> tuple[list[Step], Indices]:
        """Return the path of subsets and the ranking of the features."""

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return samples whose removed features have their training mean.

        Choice: scikit-learn puts zeros there; the mean is the constant of least squared error (Bishop 1995, eq. 8.18).
        """
        check_is_fitted(self)
        restored: Floats = super().inverse_transform(np.asarray(X, dtype=np.float64))
        restored[:, ~self.support_] = self.mean_[~self.support_]
        return restored

    def _get_support_mask(self) -> Flags:
        check_is_fitted(self)
        return self.support_


def patient(steps: Iterable[Step], patience: int | None) -> list[Step]:
    """Follow a search until ``patience`` successive steps have brought no better subset."""
    path: list[Step] = []
    best, waited = (np.inf, np.inf), 0
    for step in steps:
        path.append(step)
        quality = (step.error, float(len(step.features)))
        waited = 0 if quality < best else waited + 1
        best = min(best, quality)
        if waited == patience:
            break
    return path


def ranking_of(order: Sequence[int] | Indices, n_features: int) -> Indices:
    """Rank features by their order, most important first; features not in it share the next rank."""
    ranking = np.full(n_features, len(order) + 1)
    ranking[np.asarray(order, dtype=np.int64)] = np.arange(1, len(order) + 1)
    return ranking
