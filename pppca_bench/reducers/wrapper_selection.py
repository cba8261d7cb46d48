"""Wrapper selection: forward addition, backward elimination, and elimination by the weights of networks."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from pppca_bench.classifiers.training_data import SizeRule, Split
from pppca_bench.compiled.arrays import Floats, Indices
from pppca_bench.parameters import Count
from pppca_bench.reducers.selection import (
    PathSelector,
    Step,
    error_percent,
    fit_candidates,
    ranking_of,
    subset,
    validation_errors,
)


@dataclass(eq=False, repr=False)
class _SequentialSelector(PathSelector):
    """Base of searches that add or remove, step by step, the feature whose change gives the least validation error.

    Choice: of equal candidates the first is taken, and a search ends when ``patience`` successive steps have brought
    no better subset: errors of single steps are noisy, so the first rise says little.
    """

    n_features: Count | None = None
    _: KW_ONLY
    patience: Count | None = 5
    estimator: Any = None
    random_state: Any = None

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
        """Yield the subsets of the search, each with its error."""

    @abstractmethod
    def _ranking(self, path: list[Step], n_features: int) -> Indices:
        """Rank the features by their step."""


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


class ForwardSelector(_SequentialSelector):
    """Add features step by step, each rated with those added before (Mitchell 2006, "Forward2"; Bishop 1995, 8.5).

    Parameters
    ----------
    n_features : int or None, default=None
        Number of features, from 1 to all; None: chosen by the validation error.
    patience : int or None, default=5
        Successive steps without a better subset after which the search ends, >= 1; None: never.
        Choice: 5, since errors of single steps are noisy.
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
    """Remove features step by step, each rated by the error without it (Mitchell 2006; Bishop 1995, figure 8.8).

    Parameters and attributes are those of `ForwardSelector`, but for the ranks: features that are never removed have
    rank 1, the last removed rank 2. A smaller subset of the same error is a better subset.
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


@dataclass(eq=False, repr=False)
class NetworkRFE(PathSelector):
    """Remove features step by step, each the least important by the weights of trained networks (Windeatt 2011).

    New networks are trained at each size, down to a single feature; the validation error chooses the size.

    Choice: the importance of a feature is the sum, over all paths from it to the outputs, of the products of the
    magnitudes of the weights; the weights of the first layer alone would ignore that a hidden node may have no effect.
    The features need equal scales, as those of Proben1 have, or a classifier that standardises.

    Parameters
    ----------
    n_features : int or None, default=None
        Number of features, from 1 to all; None: chosen by the validation error.
    n_networks : int, default=8
        Networks at each size, over which weights and errors are averaged; >= 1. Choice: 8 train in the time of one,
        and small weights of a single network are mostly noise.
    size_rule : {"least_error", "one_standard_error"}, default="least_error"
        Take the fewest features of the least validation error, or of an error within a standard error of it.
        Choice: the first, as the source's curves, of test errors though, are read at their minimum.
    estimator : classifier or None, default=None
        Unfitted; has a random_state and, after `fit`, ``coefs_``. None: `RpropMLPClassifier` with 16 hidden nodes.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out share and of the networks' seeds.

    Attributes
    ----------
    support_, ranking_, n_features_, history_, mean_
        See `PathSelector`; the last feature left has rank 1.
    """

    n_features: Count | None = None
    _: KW_ONLY
    n_networks: Count = 8
    size_rule: SizeRule = "least_error"
    estimator: Any = None
    random_state: Any = None

    def _search(self, split: Split, classifier: Any, rng: np.random.Generator) -> tuple[list[Step], Indices]:
        seeds = rng.integers(2**31, size=self.n_networks)
        networks = [clone(classifier).set_params(random_state=int(seed)) for seed in seeds]
        kept = list(range(split.X.shape[1]))
        path, ranking = [], np.empty(len(kept), dtype=np.int64)
        while kept:
            candidate = subset(split, kept)
            fitted = fit_candidates(networks, [candidate] * len(networks), split)
            error = float(np.mean([error_percent(network, candidate[1], split.y_val) for network in fitted]))
            path.append(Step(tuple(kept), error))
            saliency = np.mean([weight_saliency(network) for network in fitted], axis=0)
            weakest = kept[int(saliency.argmin())]
            ranking[weakest] = len(kept)
            kept.remove(weakest)
        return path, ranking


def weight_saliency(network: Any) -> Floats:
    """Return for each input the sum, over all paths to the outputs, of the products of the weights' magnitudes.

    Parameters
    ----------
    network : estimator
        Fitted; its ``coefs_`` are a float64 array (n_sources, n_units) for each layer. If its ``shortcuts`` is
        True, a layer's sources are the inputs and the nodes of all earlier layers.

    Returns
    -------
    float64 array, shape (n_features,)

    Raises
    ------
    ValueError
        If the classifier has no ``coefs_``.
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
