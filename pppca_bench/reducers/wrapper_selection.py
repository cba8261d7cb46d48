"""Feature selection by validation errors: the base of all selectors, forward, backward and recursive selection."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from pppca_bench.classifiers import MLPClassifier, RpropMLPClassifier, fit_together
from pppca_bench.classifiers.training_data import FittedBySplit, SizeRule, Split, chosen_size
from pppca_bench.compiled.arrays import Flags, Floats, Indices
from pppca_bench.parameters import Count, check_limit

Candidate = tuple[Floats, Floats]
"""Training and validation inputs after the reduction by a candidate."""


class Step(NamedTuple):
    """A subset on the path of a search: its features, and its validation error in percent."""

    features: tuple[int, ...]
    error: float


class PathSelector(SelectorMixin, FittedBySplit):
    """Base of selectors that choose the subset of least validation error on a path of nested subsets.

    Choice: of subsets with equal errors the smallest is chosen, since fewer features are the aim.

    Attributes
    ----------
    support_ : bool array, shape (n_features,)
    ranking_ : int64 array, shape (n_features,)
        1 for the most important feature; features that a search does not reach share a rank.
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
        check_limit(self, "n_features", self.n_features_in_)
        path = self._search(split, seeded(self.estimator, rng), rng)
        includes = np.array([np.isin(np.arange(self.n_features_in_), step.features) for step in path])
        sizes, errors = includes.sum(axis=1), np.array([step.error for step in path])
        # The subsets are nested: the fewer of them lack a feature, the more important it is.
        self.ranking_ = 1 + (~includes).sum(axis=0)
        # The best subset, or the best of the given size.
        n = self.n_features
        wanted = np.arange(len(path)) if n is None else np.flatnonzero(sizes == n)
        best = wanted[chosen_size(errors[wanted], sizes[wanted], len(split.X_val), self.size_rule)]
        self.support_, self.n_features_ = includes[best], int(sizes[best])
        self.mean_ = split.X.mean(axis=0)
        self.history_ = {"n_features": sizes, "validation_error_percent": errors}

    @abstractmethod
    def _search(self, split: Split, classifier: Any, rng: np.random.Generator) -> list[Step]:
        """Return the path of subsets, in the order of the search."""

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


def seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """Return the unfitted classifier of the candidates, by default a network; it gets a seed unless it has its own.

    Choice: all candidates start from the same random numbers, so that they differ by their features alone.
    """
    classifier = RpropMLPClassifier((16,)) if estimator is None else clone(estimator)
    seed = int(rng.integers(2**31))
    if classifier.get_params().get("random_state", 0) is None:
        classifier.set_params(random_state=seed)
    return classifier


def fit_candidates(classifiers: Sequence[Any], candidates: Sequence[Candidate], split: Split) -> list[Any]:
    """Fit a clone of each classifier to its candidate; the project's networks train side by side.

    The classifiers are equal but for their random state; ``split`` has the labels of the candidates.
    """
    clones = [clone(classifier) for classifier in classifiers]
    if isinstance(clones[0], MLPClassifier):
        sets = [(X, split.y, X_val, split.y_val) for X, X_val in candidates]
        return fit_together(clones, sets, classes=np.union1d(split.y, split.y_val))
    validates = has_fit_parameter(clones[0], "X_val")
    for classifier, (X, X_val) in zip(clones, candidates, strict=True):
        classifier.fit(X, split.y, *((X_val, split.y_val) if validates else ()))
    return clones


def error_percent(classifier: Any, X_val: Floats, y_val: NDArray[Any]) -> float:
    """Return the share of misclassified samples, in percent."""
    return 100.0 * float(np.mean(classifier.predict(X_val) != y_val))


def validation_errors(classifier: Any, candidates: Sequence[Candidate], split: Split) -> Floats:
    """Return the validation error of each candidate in percent, float64 (n_candidates,)."""
    fitted = fit_candidates([classifier] * len(candidates), candidates, split)
    pairs = zip(fitted, candidates, strict=True)
    return np.array([error_percent(network, X_val, split.y_val) for network, (_, X_val) in pairs])


def subset(split: Split, features: Sequence[int] | Indices) -> Candidate:
    """Return the candidate that keeps some of the features."""
    columns = np.asarray(features, dtype=np.int64)
    return np.ascontiguousarray(split.X[:, columns]), np.ascontiguousarray(split.X_val[:, columns])


@dataclass(eq=False, repr=False)
class _SequentialSelector(PathSelector):
    """Base of searches that add or remove, step by step, the feature whose change gives the least validation error.

    Choice: of equal candidates the first is taken, and a search ends when ``patience`` successive steps have brought
    no better subset: errors of single steps are noisy, so a first rise does not end it.
    """

    n_features: Count | None = None
    _: KW_ONLY
    patience: Count | None = 5
    estimator: Any = None
    random_state: Any = None

    def _search(self, split: Split, classifier: Any, rng: np.random.Generator) -> list[Step]:  # noqa: ARG002
        return patient(self._steps(split, classifier), self.patience if self.n_features is None else None)

    @abstractmethod
    def _steps(self, split: Split, classifier: Any) -> Iterator[Step]:
        """Yield the subsets of the search, each with its error."""


def patient(steps: Iterable[Step], patience: int | None) -> list[Step]:
    """Return the steps of a search until ``patience`` successive steps have brought no better subset."""
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
    """Add features step by step, by the error with the features added before (Mitchell 2006; Bishop 1995, 8.5).

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


class BackwardSelector(_SequentialSelector):
    """Remove features step by step, by the error without the feature (Mitchell 2006; Bishop 1995, figure 8.8).

    Parameters and attributes are those of `ForwardSelector`, except the ranks: features that are never removed have
    rank 1, the last removed rank 2. A smaller subset of the same error is a better subset.
    """

    def _steps(self, split: Split, classifier: Any) -> Iterator[Step]:
        step = _best(split, classifier, [tuple(range(split.X.shape[1]))])
        yield step
        while len(step.features) > (self.n_features or 1):
            kept = step.features
            step = _best(split, classifier, [tuple(f for f in kept if f != feature) for feature in kept])
            yield step


def _best(split: Split, classifier: Any, subsets: list[tuple[int, ...]]) -> Step:
    """Train a network for each subset, side by side, and return the best."""
    errors = validation_errors(classifier, [subset(split, features) for features in subsets], split)
    best = int(errors.argmin())
    return Step(subsets[best], float(errors[best]))


@dataclass(eq=False, repr=False)
class NetworkRFE(PathSelector):
    """Remove, step by step, the least important feature by the weights of trained networks (Windeatt 2011).

    New networks are trained at each size, down to a single feature; the validation error chooses the size.

    Choice: the importance of a feature is the sum, over all paths from it to the outputs, of the products of the
    magnitudes of the weights; the weights of the first layer alone would ignore that a hidden node may have no effect.
    The features need equal scales, as those of Proben1 have, or a classifier that standardises.

    Parameters
    ----------
    n_features : int or None, default=None
        Number of features, from 1 to all; None: chosen by the validation error.
    n_networks : int, default=8
        Networks at each size, over which weights and errors are averaged; >= 1. Choice: 8 train in the time of a single
        network, whose small weights are mostly noise.
    size_rule : {"least_error", "one_standard_error"}, default="least_error"
        Take the fewest features of the least validation error, or of an error within a standard error of the least.
        Choice: the first, since the source reads its curves, of test errors, at their minimum.
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

    def _search(self, split: Split, classifier: Any, rng: np.random.Generator) -> list[Step]:
        seeds = rng.integers(2**31, size=self.n_networks)
        networks = [clone(classifier).set_params(random_state=int(seed)) for seed in seeds]
        kept = list(range(split.X.shape[1]))
        path = list[Step]()
        while kept:
            candidate = subset(split, kept)
            fitted = fit_candidates(networks, [candidate] * len(networks), split)
            error = float(np.mean([error_percent(network, candidate[1], split.y_val) for network in fitted]))
            path.append(Step(tuple(kept), error))
            saliency = np.mean([weight_saliency(network) for network in fitted], axis=0)
            del kept[int(saliency.argmin())]
        return path


def weight_saliency(network: Any) -> Floats:
    """Return the sum, over all paths from each input to the outputs, of the products of the weights' magnitudes.

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
