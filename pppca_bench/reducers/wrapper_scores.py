"""How candidates are compared: a classifier for each, trained side by side, and its validation error."""

from collections.abc import Sequence
from copy import copy, deepcopy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from pppca_bench.classifiers import MLPClassifier, RpropMLPClassifier
from pppca_bench.classifiers.mlp import fit_validated
from pppca_bench.classifiers.training_data import Split, hold_out, validated_split
from pppca_bench.compiled.arrays import Floats, Indices

Candidate = tuple[Floats, Floats]
"""Training and validation inputs as a candidate reduces them."""

VALIDATION_FRACTION = 1 / 3
"""Choice: a third of the training data, as Proben1 has 50 % training and 25 % validation data."""


def training_split(
    transformer: Any,
    X: ArrayLike,
    y: ArrayLike,
    X_val: ArrayLike | None,
    y_val: ArrayLike | None,
    rng: np.random.Generator,
) -> Split:
    """Validate the data of a supervised `fit`; hold out a third, stratified, where there are none for validation.

    Parameters
    ----------
    transformer : estimator
        Gets classes_, n_features_in_ and feature_names_in_.
    X, X_val : array-like, shape (n_samples, n_features)
    y, y_val : array-like, shape (n_samples,)
        Class labels.
    rng : numpy Generator
        Draws what is held out.

    Raises
    ------
    ValueError
        When the data are unfit, or only one of X_val and y_val is given.
    """
    split = validated_split(transformer, X, y, X_val, y_val, None)
    return split if len(split.X_val) else hold_out(split, VALIDATION_FRACTION, rng)


def seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """Return the classifier of the candidates: the default for None, and with a seed where it has none of its own.

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
        One for each candidate, alike but for their random state; they are not fitted themselves.
    candidates : sequence of (float64 array, float64 array)
        Reduced training and validation inputs.
    split : Split
        The labels.
    """
    copies = [_copied(classifier) for classifier in classifiers]
    if isinstance(copies[0], MLPClassifier):
        splits = [Split(X, split.y, X_val, split.y_val) for X, X_val in candidates]
        fit_validated(copies, splits, np.unique(np.concatenate([split.y, split.y_val])))
        return copies
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
    errors = [error_percent(one, X_val, split.y_val) for one, (_, X_val) in zip(fitted, candidates, strict=True)]
    return np.array(errors)


def _copied(classifier: Any) -> Any:
    """Copy a classifier that is not fitted, faster than ``clone`` does.

    Fitting changes no parameter of the project's networks but a generator of random numbers; others may fit what their
    parameters hold, as a pipeline does.
    """
    if not isinstance(classifier, MLPClassifier):
        return deepcopy(classifier)
    another: Any = copy(classifier)
    another.random_state = deepcopy(another.random_state)
    return another


def subset(split: Split, features: Sequence[int] | Indices) -> Candidate:
    """Return the candidate that keeps some of the features."""
    columns = np.asarray(features, dtype=np.int64)
    return np.ascontiguousarray(split.X[:, columns]), np.ascontiguousarray(split.X_val[:, columns])
