"""Scores of wrapper methods: the validation errors of classifiers of candidate features."""

from collections.abc import Sequence
from copy import copy, deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from pppca_bench.classifiers import MLPClassifier, RpropMLPClassifier
from pppca_bench.classifiers.mlp import fit_validated
from pppca_bench.classifiers.training_data import Split
from pppca_bench.compiled.arrays import Floats, Indices

Candidate = tuple[Floats, Floats]
"""Training and validation inputs, as reduced by a candidate."""


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
