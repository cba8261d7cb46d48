"""Recursive feature elimination ranked by the weights of networks."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from pppca_bench.classifiers.size_rules import SizeRule
from pppca_bench.classifiers.training_data import Split
from pppca_bench.compiled.arrays import Floats, Indices
from pppca_bench.parameters import Count
from pppca_bench.reducers.path_selector import PathSelector, Step
from pppca_bench.reducers.wrapper_scores import error_percent, fit_candidates, subset


class NetworkRFE(PathSelector):
    """Remove, again and again, the feature that matters least to the weights of trained networks (Windeatt 2011).

    All features but one are removed, one at a time, networks being trained anew at each size; the validation error
    chooses the size.

    Choice: a feature matters as much as the products of the magnitudes of the weights on all ways from it to the
    outputs add up to, for weights of the first layer alone ignore that a hidden node may count for nothing. Features
    should be of one scale, as those of Proben1, or the classifier standardise.

    Parameters
    ----------
    n_features : int or None, default=None
        Number of features, from 1 to all; None: chosen by the validation error.
    n_networks : int, default=8
        Networks at each size, over which weights and errors are averaged; >= 1. Choice: 8 train in the time of one,
        and small weights of a single network are mostly noise.
    size_rule : {"least_error", "one_standard_error"}, default="least_error"
        Take the smallest number of features of the least validation error, or of an error within one standard error
        of it. Choice: the first, as the source's curves are read at their minimum; those are of test errors, though.
    estimator : classifier or None, default=None
        Unfitted; has a random_state and, after `fit`, ``coefs_``. None: `RpropMLPClassifier` with 16 hidden nodes.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out share and of the networks' seeds.

    Attributes
    ----------
    support_, ranking_, n_features_, history_, mean_
        See `PathSelector`; the last feature left has rank 1.
    """

    def __init__(
        self,
        n_features: Count | None = None,
        *,
        n_networks: Count = 8,
        size_rule: SizeRule = "least_error",
        estimator: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_features = n_features
        self.n_networks = n_networks
        self.size_rule = size_rule
        self.estimator = estimator
        self.random_state = random_state

    def _search(self, split: Split, classifier: Any, rng: np.random.Generator) -> tuple[list[Step], Indices]:
        seeds = [int(seed) for seed in rng.integers(2**31, size=self.n_networks)]
        networks = [clone(classifier).set_params(random_state=seed) for seed in seeds]
        path, ranking = [], np.empty(split.X.shape[1], dtype=np.int64)
        for step, removed in _eliminate(split, networks):
            path.append(step)
            ranking[removed] = len(step.features)
        return path, ranking


def _eliminate(split: Split, networks: list[Any]) -> Iterator[tuple[Step, int]]:
    """Yield each subset with the feature that is removed next."""
    kept = list(range(split.X.shape[1]))
    while kept:
        candidate = subset(split, kept)
        fitted = fit_candidates(networks, [candidate] * len(networks), split)
        error = float(np.mean([error_percent(network, candidate[1], split.y_val) for network in fitted]))
        saliency = np.mean([weight_saliency(network) for network in fitted], axis=0)
        step, weakest = Step(tuple(kept), error), kept[int(saliency.argmin())]
        yield step, weakest
        kept.remove(weakest)


def weight_saliency(network: Any) -> Floats:
    """Sum, for each input, the products of the magnitudes of the weights on all ways to the outputs.

    Parameters
    ----------
    network : estimator
        Fitted; its ``coefs_`` are a float64 array (n_sources, n_units) for each layer. Where its ``shortcuts`` are
        true, a layer's sources are the inputs and the nodes of all layers before.

    Returns
    -------
    float64 array, shape (n_features,)

    Raises
    ------
    ValueError
        When the classifier has no ``coefs_``.
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
