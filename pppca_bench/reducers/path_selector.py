"""What selectors of features share: their data, their path of subsets, and the size chosen on it."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from pppca_bench.classifiers.size_rules import SizeRule, chosen_size
from pppca_bench.classifiers.training_data import Split
from pppca_bench.compiled.arrays import Flags, Floats, Indices
from pppca_bench.parameters import ParameterError, check_parameters, make_generator
from pppca_bench.reducers.wrapper_scores import seeded, training_split


class Step(NamedTuple):
    """A subset on the path of a search: its features, and its validation error in percent (nan: not measured)."""

    features: tuple[int, ...]
    error: float


class PathSelector(SelectorMixin, BaseEstimator):
    """Select features by a path of subsets; the one of smallest validation error is chosen.

    Choice: of subsets with equal errors the smaller one is chosen, since fewer features are the aim.

    Attributes
    ----------
    support_ : bool array, shape (n_features,)
    ranking_ : int64 array, shape (n_features,)
        1 for the feature that the path holds dearest; those that a search never told apart share the last rank.
    n_features_ : int
        Number of chosen features.
    history_ : dict
        ``n_features`` and ``validation_error_percent`` of the path, in the order of the search.
    mean_ : float64 array, shape (n_features,)
        Training means, which `inverse_transform` gives to the features that were left out.
    """

    n_features: int | None
    estimator: Any
    random_state: Any
    size_rule: SizeRule = "least_error"

    def fit(self, X: ArrayLike, y: ArrayLike, X_val: ArrayLike | None = None, y_val: ArrayLike | None = None) -> Self:
        """Search on (X, y), and choose by the error on (X_val, y_val).

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
        self._check_size()
        path, self.ranking_ = self._search(split, seeded(self.estimator, rng), rng)
        self._choose(path, len(split.X_val))
        self.mean_ = split.X.mean(axis=0)
        return self

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return samples whose left-out features have their training mean.

        Choice: scikit-learn puts zeros there; the mean is the constant of least squared error (Bishop 1995, eq. 8.18).
        """
        check_is_fitted(self)
        restored: Floats = super().inverse_transform(np.asarray(X, dtype=np.float64))
        restored[:, ~self.support_] = self.mean_[~self.support_]
        return restored

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _get_support_mask(self) -> Flags:
        check_is_fitted(self)
        return self.support_

    def _check_size(self) -> None:
        n, n_most = self.n_features, self.n_features_in_
        if n is not None and n > n_most:
            expected = f"an integer from 1 to {n_most} or null"
            raise ParameterError("n_features", expected, n, where=type(self).__name__)

    @abstractmethod
    def _search(self, split: Split, classifier: Any, rng: np.random.Generator) -> tuple[list[Step], Indices]:
        """Return the path of subsets and the ranking of the features."""

    def _choose(self, path: Sequence[Step], n_validation: int) -> None:
        """Set the support to the best subset, or to the one of the wanted size."""
        wanted = [step for step in path if self.n_features in (None, len(step.features))]
        errors, sizes = [step.error for step in wanted], [len(step.features) for step in wanted]
        best = wanted[chosen_size(errors, sizes, n_validation, self.size_rule)]
        self.support_ = np.isin(np.arange(self.n_features_in_), best.features)
        self.n_features_ = len(best.features)
        self.history_ = {
            "n_features": np.array([len(step.features) for step in path]),
            "validation_error_percent": np.array([step.error for step in path]),
        }


def patient(steps: Iterable[Step], patience: int | None) -> list[Step]:
    """Follow a search until so many steps in a row have not brought a better subset: see `PathSelector`."""
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
    """Rank features by their order, dearest first; those that it lacks share the rank after it."""
    ranking = np.full(n_features, len(order) + 1)
    ranking[np.asarray(order, dtype=np.int64)] = np.arange(1, len(order) + 1)
    return ranking
