"""Base of feature selectors, and the validation errors of classifiers by which they and others compare candidates."""

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy, deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from pppca_bench.classifiers import MLPClassifier, RpropMLPClassifier
from pppca_bench.classifiers.mlp import fit_validated
from pppca_bench.classifiers.training_data import FittedBySplit, SizeRule, Split, chosen_size
from pppca_bench.compiled.arrays import Flags, Floats, Indices
from pppca_bench.parameters import ParameterError

Candidate = tuple[Floats, Floats]
"""Training and validation inputs, as reduced by a candidate."""


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


def ranking_of(order: Sequence[int] | Indices, n_features: int) -> Indices:
    """Rank features by their order, most important first; features not in it share the next rank."""
    ranking = np.full(n_features, len(order) + 1)
    ranking[np.asarray(order, dtype=np.int64)] = np.arange(1, len(order) + 1)
    return ranking


def seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """Return the classifier of the candidates, unfitted: the default for None, with a seed unless it has one.

    Choice: all candidates start from the same random numbers, so that they differ by their features alone.
    """
    classifier = RpropMLPClassifier((16,)) if estimator is None else clone(estimator)
    seed = int(rng.integers(2**31))
    if classifier.get_params().get("random_state", 0) is None:
        classifier.set_params(random_state=seed)
    return classifier


def fit_candidates(classifiers: Sequence[Any], candidates: Sequence[Candidate], split: Split) -> list[Any]:
    """Train a copy of a classifier on each candidate; the project's networks side by side, others one after another.

    Parameters
    ----------
    classifiers : sequence of estimators
        One for each candidate, equal but for their random state; they are not fitted themselves.
    candidates : sequence of (float64 array, float64 array)
        Reduced training and validation inputs.
    split : Split
        The labels.
    """
    # Fitting a network changes no parameter but a generator of random numbers, so a shallow copy is enough, and faster
    # than `clone`. Other classifiers may fit their parameters, as a pipeline does.
    if isinstance(classifiers[0], MLPClassifier):
        networks = [copy(classifier) for classifier in classifiers]
        for network in networks:
            network.random_state = deepcopy(network.random_state)
        splits = [Split(X, split.y, X_val, split.y_val) for X, X_val in candidates]
        fit_validated(networks, splits, np.unique(np.concatenate([split.y, split.y_val])))
        return networks
    copies = [deepcopy(classifier) for classifier in classifiers]
    validates = has_fit_parameter(copies[0], "X_val")
    for classifier, (X, X_val) in zip(copies, candidates, strict=True):
        classifier.fit(X, split.y, *((X_val, split.y_val) if validates else ()))
    return copies


def error_percent(classifier: Any, X_val: Floats, y_val: NDArray[Any]) -> float:
    """Return the share of misclassified samples, in percent."""
    return 100.0 * float(np.mean(classifier.predict(X_val) != y_val))


def validation_errors(classifier: Any, candidates: Sequence[Candidate], split: Split) -> Floats:
    """Return each candidate's validation error in percent, float64 (n_candidates,); the classifier is not fitted."""
    fitted = fit_candidates([classifier] * len(candidates), candidates, split)
    pairs = zip(fitted, candidates, strict=True)
    return np.array([error_percent(network, X_val, split.y_val) for network, (_, X_val) in pairs])


def subset(split: Split, features: Sequence[int] | Indices) -> Candidate:
    """Return the candidate that keeps some of the features."""
    columns = np.asarray(features, dtype=np.int64)
    return np.ascontiguousarray(split.X[:, columns]), np.ascontiguousarray(split.X_val[:, columns])
