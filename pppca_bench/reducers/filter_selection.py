"""Owns selection by single scores: mutual information and the chi-squared statistic."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import chi2, mutual_info_classif
from sklearn.utils import Tags

from pppca_bench.classifiers.mlp import Split
from pppca_bench.compiled.arrays import Floats, Indices
from pppca_bench.parameters import Count
from pppca_bench.reducers.path_selector import PathSelector, Step, ranking_of
from pppca_bench.reducers.wrapper_scores import subset, validation_errors


class _ScoredSelector(PathSelector):
    """Keep the features of the highest scores; a subclass scores them.

    Attributes
    ----------
    scores_ : float64 array, shape (n_features,)
        nan where a feature is constant.
    """

    def __init__(self, n_features: Count | None = None, *, estimator: Any = None, random_state: Any = None) -> None:
        self.n_features = n_features
        self.estimator = estimator
        self.random_state = random_state

    def _search(self, split: Split, classifier: Any, rng: np.random.Generator) -> tuple[list[Step], Indices]:
        self.scores_ = self._scores(split.X, split.y, rng)
        # A score that is undefined (a constant feature) comes last; equal scores keep the order of the features.
        order = np.argsort(np.where(np.isnan(self.scores_), np.inf, -self.scores_), kind="stable")
        sizes = range(1, len(order) + 1) if self.n_features is None else [self.n_features]
        errors = validation_errors(classifier, [subset(split, order[:size]) for size in sizes], split)
        path = [Step(tuple(order[:size].tolist()), float(error)) for size, error in zip(sizes, errors, strict=True)]
        return path, ranking_of(order, len(order))

    @abstractmethod
    def _scores(self, X: Floats, y: NDArray[Any], rng: np.random.Generator) -> Floats:
        """Score each feature, the higher the better."""


class MutualInformationSelector(_ScoredSelector):
    """Keep the features that tell most about the class one by one (Mitchell 2006, "Forward1"), by scikit-learn.

    The score is the estimated mutual information in nats: of the counts for a feature of few values,
    Σ P(x, y) log (P(x, y) / (P(x) P(y))), else by distances to nearest neighbours (Ross 2014).

    Parameters
    ----------
    n_features : int or None, default=None
        Number of features, from 1 to all; None: chosen by the validation error.
    n_values : int, default=10
        A feature with at most so many distinct training values is counted; >= 1.
        Choice: 10, as the Proben1 inputs on ordinal scales have; neighbours' distances are ill-defined among ties.
    estimator : classifier or None, default=None
        Unfitted; its validation error chooses the number of features. None: `RpropMLPClassifier` with 16 hidden nodes.
    random_state : int, RandomState, Generator or None, default=None
        Source of the noise that separates equal values, of the held-out share and of the classifier's seed.

    Attributes
    ----------
    scores_ : float64 array, shape (n_features,)
    support_, ranking_, n_features_, history_, mean_
        See `PathSelector`.
    """

    def __init__(
        self,
        n_features: Count | None = None,
        *,
        n_values: Count = 10,
        estimator: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_features, estimator=estimator, random_state=random_state)
        self.n_values = n_values

    def _scores(self, X: Floats, y: NDArray[Any], rng: np.random.Generator) -> Floats:
        columns, counted = X.copy(), np.zeros(X.shape[1], dtype=bool)
        for feature in range(X.shape[1]):
            values, codes = np.unique(X[:, feature], return_inverse=True)
            if len(values) <= self.n_values:
                columns[:, feature], counted[feature] = codes, True
        scores: Floats = mutual_info_classif(
            columns,
            y,
            discrete_features=counted,
            random_state=int(rng.integers(2**31)),
        )
        return scores


class ChiSquaredSelector(_ScoredSelector):
    """Keep the features least independent of the class by the chi-squared statistic (Mitchell 2006), by scikit-learn.

    Parameters
    ----------
    n_features : int or None, default=None
        Number of features, from 1 to all; None: chosen by the validation error.
    estimator : classifier or None, default=None
        Unfitted; its validation error chooses the number of features. None: `RpropMLPClassifier` with 16 hidden nodes.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out share and of the classifier's seed.

    Attributes
    ----------
    scores_ : float64 array, shape (n_features,)
    support_, ranking_, n_features_, history_, mean_
        See `PathSelector`.
    """

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _scores(self, X: Floats, y: NDArray[Any], rng: np.random.Generator) -> Floats:  # noqa: ARG002
        if X.min() < 0.0:
            raise ValueError(
                f"X in ChiSquaredSelector: expected values >= 0, which stand for counts, got {X.min():g}. "
                "Scale the features to [0, 1], or take MutualInformationSelector. Negative values in data passed to "
                "ChiSquaredSelector"
            )
        scores: Floats = chi2(X, y)[0]
        return scores
