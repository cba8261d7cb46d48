"""What classifiers and regressors are fitted to: checked, with a part held out for validation, classes as targets."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from pppca_bench.compiled.arrays import Floats
from pppca_bench.samples import is_plain, validated_samples

Labels = NDArray[Any]
TrainingSet = tuple[ArrayLike, ArrayLike, ArrayLike | None, ArrayLike | None]
"""X, y, X_val, y_val as `MLPClassifier.fit` and `MLPRegressor.fit` take them."""


@dataclass(frozen=True)
class Split:
    """Hold training and validation data; the latter has no rows where none was given."""

    X: Floats
    y: Labels
    X_val: Floats
    y_val: Labels


def validated_split(
    classifier: Any,
    X: ArrayLike,
    y: ArrayLike,
    X_val: ArrayLike | None,
    y_val: ArrayLike | None,
    classes: ArrayLike | None,
) -> Split:
    """Check what a classifier's `fit` is given, and set its ``classes_`` and ``n_features_in_``.

    Raises
    ------
    ValueError
        If the data are unfit, one of X_val and y_val is missing, or a label is not among the classes.
    """
    training = _labelled(classifier, X, y, reset=True)
    check_both_or_neither(classifier, X_val, y_val)
    validation = training[0][:0], training[1][:0]
    if X_val is not None:
        validation = _labelled(classifier, X_val, y_val)
    labels = np.concatenate([training[1], validation[1]])
    classifier.classes_ = np.unique(labels if classes is None else _one_dimensional(classes))
    unknown = np.setdiff1d(labels, classifier.classes_)
    if unknown.size:
        raise ValueError(f"labels of {classifier}: expected members of classes, got {unknown[0]!r}")
    return Split(*training, *validation)


def _labelled(classifier: Any, X: ArrayLike, y: Any, *, reset: bool = False) -> tuple[Floats, Labels]:
    """Return samples and their labels, checked; integers, a sample each, need no search for what they stand for."""
    if is_plain(X) and type(y) is np.ndarray and y.dtype.kind == "i" and y.shape == X.shape[:1]:
        return validated_samples(classifier, X, reset=reset), y
    samples: Floats
    samples, labels = validate_data(classifier, X, y, dtype=np.float64, reset=reset)
    check_classification_targets(labels)
    return samples, labels


def _one_dimensional(classes: ArrayLike) -> Labels:
    """Return classes as an array of one dimension; a ValueError where they are a matrix."""
    if type(classes) is np.ndarray and classes.ndim == 1:
        return classes
    labels: Labels = column_or_1d(classes)
    return labels


def check_both_or_neither(network: Any, X_val: ArrayLike | None, y_val: ArrayLike | None) -> None:
    """Refuse validation inputs without their classes or targets, and the other way round."""
    if (X_val is None) != (y_val is None):
        raise ValueError(f"validation data of {network}: expected both X_val and y_val, or neither, got one")


def hold_out(split: Split, fraction: float, rng: np.random.Generator, *, stratified: bool = True) -> Split:
    """Hold out a share for validation, stratified unless y are numbers to approximate.

    Choice: where a class has a single sample, or the share has less samples than there are classes, the draw is not
    stratified; a single sample in all serves both sides.
    """
    X, y = split.X, split.y
    if len(X) == 1:
        return Split(X, y, X, y)
    n_val = min(max(round(fraction * len(X)), 1), len(X) - 1)
    if stratified:
        counts = np.unique(y, return_counts=True)[1]
        stratified = counts.min() > 1 and len(counts) <= min(n_val, len(X) - n_val)
    seed = int(rng.integers(2**31))
    from sklearn.model_selection import train_test_split  # brings all metrics, and scipy.stats

    X, X_val, y, y_val = train_test_split(X, y, test_size=n_val, stratify=y if stratified else None, random_state=seed)
    return Split(X, y, X_val, y_val)


def one_hot(y: Labels, classes: Labels) -> Floats:
    """Return targets: 1 for the sample's class, 0 for the others, float64 (n_samples, n_classes)."""
    return (y[:, None] == classes).astype(np.float64)
