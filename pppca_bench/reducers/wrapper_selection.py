"""Feature selection by validation errors: base of selectors; forward, backward, exhaustive, recursive selection."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from pppca_bench.base.parameters import Count, check_limit
from pppca_bench.base.samples import unit_of, validated_projections
from pppca_bench.classifiers import RpropMLPClassifier
from pppca_bench.classifiers.mlp import fit_each
from pppca_bench.classifiers.training_data import (
    SizeRule,
    Split,
    SplitEstimator,
    choose_candidate,
    uses_validation,
)
from pppca_bench.compiled.arrays import Flags, Floats, Indices

MAX_SUBSETS = 2**16 - 1
"""Largest number of subsets of an exhaustive search: all subsets of 16 features."""


class Step(NamedTuple):
    """Subset on a search path: features, and validation error in percent."""

    features: tuple[int, ...]
    error: float


class PathSelector(SelectorMixin, SplitEstimator):
    """Base of selectors that choose the subset of least validation error on a path of subsets.

    Choice: the smallest of subsets with equal errors, since fewer features are the aim; all features are
    divided by a power of ten (`unit_of`), so that their common scale does not matter.

    Attributes
    ----------
    support_ : bool array, shape (n_features,)
    ranking_ : int64 array, shape (n_features,)
        1 for the most important feature; features beyond the path share a rank.
    n_features_ : int
        Number of selected features.
    history_ : dict
        ``n_features`` and ``validation_error_percent`` of the path, in the order of the search.
    mean_ : float64 array, shape (n_features,)
        Training means, which `inverse_transform` substitutes for removed features.
    """

    n_features: int | None
    estimator: Any
    random_state: Any
    size_rule: SizeRule = "least_error"

    def _learn(self, split: Split, rng: np.random.Generator) -> None:
        check_limit(self, "n_features", self.n_features_in_)
        self.mean_, unit = split.X.mean(axis=0), unit_of(split.X)
        split = split._replace(X=split.X / unit, X_val=split.X_val / unit)
        path = self._search(split, candidate_classifier(self.estimator, rng), rng)
        includes = np.array(
            [np.isin(np.arange(self.n_features_in_), step.features) for step in path]
        )
        sizes, errors = includes.sum(axis=1), np.array([step.error for step in path])
        # A feature that fewer subsets lack is more important.
        self.ranking_ = 1 + (~includes).sum(axis=0)
        # The best subset, or the best of the given size.
        n = self.n_features
        wanted = np.arange(len(path)) if n is None else np.flatnonzero(sizes == n)
        best = wanted[
            choose_candidate(errors[wanted], sizes[wanted], len(split.X_val), self.size_rule)
        ]
        self.support_, self.n_features_ = includes[best], int(sizes[best])
        self.history_ = {"n_features": sizes, "validation_error_percent": errors}

    @abstractmethod
    def _search(self, split: Split, classifier: Any, rng: np.random.Generator) -> list[Step]:
        """Return the subsets in the order of the search."""

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return samples with training means in place of removed features.

        Choice: means, not zeros as in scikit-learn, since they have the least squared error (Bishop 1995, eq. 8.18).
        """
        check_is_fitted(self)
        selected = validated_projections(self, X, self.n_features_)
        restored = np.tile(self.mean_, (len(selected), 1))
        restored[:, self.support_] = selected
        return restored

    def _get_support_mask(self) -> Flags:
        check_is_fitted(self)
        return self.support_


def candidate_classifier(estimator: Any, rng: np.random.Generator) -> Any:
    """Return the unfitted classifier for candidates, by default a network, with a seed unless its random_state is set.

    Choice: all candidates use the same random numbers, so that only features differ.
    """
    classifier = RpropMLPClassifier((16,)) if estimator is None else clone(estimator)
    seed = int(rng.integers(2**31))
    if classifier.get_params().get("random_state", 0) is None:
        classifier.set_params(random_state=seed)
    return classifier


def validation_errors(classifier: Any, candidates: Sequence[Split]) -> Floats:
    """Return the validation error of a clone trained on each candidate, in percent, float64 (n_candidates,)."""
    fitted = fit_each([clone(classifier) for _ in candidates], candidates)
    return np.array(
        [
            100.0 * float(np.mean(network.predict(X_val) != y_val))
            for network, (_, _, X_val, y_val) in zip(fitted, candidates, strict=True)
        ]
    )


def subset(split: Split, features: Sequence[int] | Indices) -> Split:
    """Return the candidate with the given features."""
    return split._replace(
        X=np.take(split.X, features, axis=1), X_val=np.take(split.X_val, features, axis=1)
    )


@dataclass(eq=False, repr=False)
class _SequentialSelector(PathSelector):
    """Base of searches that add or remove features step by step, each with the least validation error.

    Choice: the first of equal candidates; a search ends after ``patience`` successive steps without a better subset,
    since errors of single steps are noisy.
    """

    n_features: Count | None = None
    _: KW_ONLY
    patience: Count | None = 5
    estimator: Any = None
    random_state: Any = None

    def _search(self, split: Split, classifier: Any, rng: np.random.Generator) -> list[Step]:  # noqa: ARG002
        return search_path(
            self._steps(split, classifier), self.patience if self.n_features is None else None
        )

    @abstractmethod
    def _steps(self, split: Split, classifier: Any) -> Iterator[Step]:
        """Yield the subsets of the search, with errors."""


def search_path(steps: Iterable[Step], patience: int | None) -> list[Step]:
    """Return the steps of a search up to the end of ``patience`` successive steps without a better subset."""
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


class ForwardSelector(_SequentialSelector):
    """Add features step by step, each with the least error in addition (Mitchell 2006; Bishop 1995, section 8.5).

    Parameters
    ----------
    n_features : int or None, default=None
        Number of features, from 1 to all; None: chosen by the validation error.
    patience : int or None, default=5
        Successive steps without a better subset after which the search ends, >= 1; None: never.
        Choice: 5, since errors of single steps are noisy.
    estimator : classifier or None, default=None
        Unfitted; its validation error evaluates the subsets. None: `RpropMLPClassifier` with 16 hidden nodes.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out share and of the classifier's seed.

    Attributes
    ----------
    support_, ranking_, n_features_, history_, mean_
        See `PathSelector`; ranks follow the order of addition.
    """

    def _steps(self, split: Split, classifier: Any) -> Iterator[Step]:
        chosen: tuple[int, ...] = ()
        while len(chosen) < (self.n_features or split.X.shape[1]):
            others = [feature for feature in range(split.X.shape[1]) if feature not in chosen]
            step = _best(split, classifier, [(*chosen, feature) for feature in others])
            chosen = step.features
            yield step


class BackwardSelector(_SequentialSelector):
    """Remove features step by step, each with the least error after removal (Mitchell 2006; Bishop 1995, figure 8.8).

    Parameters and attributes are those of `ForwardSelector`, except ranks: features that are never removed have rank 1,
    the last removed feature has rank 2. With equal errors, the smaller subset is better.
    """

    def _steps(self, split: Split, classifier: Any) -> Iterator[Step]:
        step = _best(split, classifier, [tuple(range(split.X.shape[1]))])
        yield step
        while len(step.features) > (self.n_features or 1):
            kept = step.features
            step = _best(
                split, classifier, [tuple(f for f in kept if f != feature) for feature in kept]
            )
            yield step


def _best(split: Split, classifier: Any, subsets: list[tuple[int, ...]]) -> Step:
    """Train a classifier for each subset, networks side by side, and return the best subset."""
    errors = validation_errors(classifier, [subset(split, features) for features in subsets])
    best = int(errors.argmin())
    return Step(subsets[best], float(errors[best]))


@dataclass(eq=False, repr=False)
class ExhaustiveSelector(PathSelector):
    """Search all subsets of the features for the least validation error.

    Lecture notes, "Dimensionality Reduction": for d features there are 2^d − 1 subsets, from any single feature to all.

    Choice: the path has the best subset of each size, the first of equal ones. These subsets need not be nested.

    Parameters
    ----------
    n_features : int or None, default=None
        Number of features, from 1 to all, whose subsets are searched; None searches all sizes.
    estimator : classifier or None, default=None
        Unfitted; its validation error evaluates the subsets. None: `RpropMLPClassifier` with 16 hidden nodes.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out share and of the classifier's seed.

    Attributes
    ----------
    support_, n_features_, history_, mean_
        See `PathSelector`.
    ranking_ : int64 array, shape (n_features,)
        1 and the number of best subsets, each of a size, that lack the feature.
    """

    n_features: Count | None = None
    _: KW_ONLY
    estimator: Any = None
    random_state: Any = None

    def _search(self, split: Split, classifier: Any, rng: np.random.Generator) -> list[Step]:  # noqa: ARG002
        n_all = split.X.shape[1]
        sizes = range(1, n_all + 1) if self.n_features is None else [int(self.n_features)]
        n_subsets = sum(comb(n_all, size) for size in sizes)
        if n_subsets > MAX_SUBSETS:
            raise ValueError(
                f"X in ExhaustiveSelector: expected features with at most {MAX_SUBSETS} subsets, got {n_all} with"
                f" {n_subsets:.3g}. Use ForwardSelector, or n_features for subsets of a small size."
            )
        return [_best(split, classifier, list(combinations(range(n_all), size))) for size in sizes]


@dataclass(eq=False, repr=False)
class NetworkRFE(PathSelector):
    """Remove the least important feature by weights of trained networks, step by step (Windeatt 2011).

    New networks are trained at each size, down to a single feature; the validation error chooses the size.

    Choice: the importance of a feature is the sum, over all paths from it to the outputs, of the products of the
    magnitudes of the weights; the weights of the first layer alone would ignore that a hidden node may have no effect.
    The features need equal scales, as in Proben1, or a classifier that standardises.

    Parameters
    ----------
    n_features : int or None, default=None
        Number of features, from 1 to all; None: chosen by the validation error.
    n_networks : int, default=8
        Number of networks at each size, over which importances and errors are averaged; >= 1. Choice: 8 networks train
        in the time of a single network, and small weights of a single network are mostly noise.
    size_rule : {"least_error", "one_standard_error"}, default="least_error"
        Choose the fewest features with the least validation error, or within a standard error of the least.
        Choice: the former, since the source reads its curves, of test errors, at the minimum.
    estimator : classifier or None, default=None
        Unfitted, with random_state and, after `fit`, ``coefs_``. None: `RpropMLPClassifier` with 16 hidden nodes.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out share and the seeds of networks.

    Attributes
    ----------
    support_, ranking_, n_features_, history_, mean_
        See `PathSelector`; the last remaining feature has rank 1.
    """

    n_features: Count | None = None
    _: KW_ONLY
    n_networks: Count = 8
    size_rule: SizeRule = "least_error"
    estimator: Any = None
    random_state: Any = None

    @property
    def _uses_validation(self) -> bool:
        network = RpropMLPClassifier() if self.estimator is None else self.estimator
        return self.n_features is None or uses_validation(network)

    def _search(self, split: Split, classifier: Any, rng: np.random.Generator) -> list[Step]:
        seeds = rng.integers(2**31, size=self.n_networks)
        kept = list(range(split.X.shape[1]))
        path = list[Step]()
        while kept:
            candidate = subset(split, kept)
            networks = [clone(classifier).set_params(random_state=int(seed)) for seed in seeds]
            fitted = fit_each(networks, [candidate] * len(networks))
            # A mean of means would be rounded, and break ties of equal numbers of errors.
            wrong = [network.predict(candidate.X_val) != split.y_val for network in fitted]
            path.append(Step(tuple(kept), 100.0 * float(np.mean(wrong))))
            saliency = np.mean([weight_saliency(network) for network in fitted], axis=0)
            del kept[int(saliency.argmin())]
        return path


def weight_saliency(network: Any) -> Floats:
    """Return the sum, over all paths from each input to the outputs, of products of weight magnitudes.

    ``network`` is a fitted estimator; its ``coefs_`` are a float64 array (n_sources, n_units) for each layer. If its
    ``shortcuts`` is True, the sources of a layer are the inputs and the nodes of all earlier layers.
    """
    if not hasattr(network, "coefs_"):
        raise ValueError(
            f"estimator in NetworkRFE: expected a network with coefs_ after fit, got {type(network).__name__}. "
            "Give an MLP classifier."
        )
    reach = np.eye(len(network.coefs_[0]))
    for coefs in network.coefs_:
        reached = reach @ np.abs(coefs)
        reach = np.hstack([reach, reached]) if getattr(network, "shortcuts", False) else reached
    saliency: Floats = reached.sum(axis=1)
    return saliency
