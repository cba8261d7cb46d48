"""Training and validation data: validation of arguments, held-out share, targets, choice by validation error."""

from abc import abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, has_fit_parameter, validate_data

from pppca_bench.base.parameters import check_parameters, make_generator
from pppca_bench.base.samples import check_scale, is_plain, validated_samples
from pppca_bench.compiled.arrays import Floats

Labels = NDArray[Any]
TrainingSet = tuple[ArrayLike, ArrayLike, ArrayLike | None, ArrayLike | None]
"""Arguments X, y, X_val, y_val of `SplitEstimator.fit`."""

SizeRule = Literal["least_error", "one_standard_error"]

HELD_OUT = 1 / 3
"""Share of the training data to hold out if `fit` gets no validation data.

Choice: a third, since Proben1 has 50 % training and 25 % validation data.
"""


class Split(NamedTuple):
    """Training and validation data; without validation data X_val and y_val have no rows."""

    X: Floats
    y: Labels
    X_val: Floats
    y_val: Labels


class SplitEstimator(BaseEstimator):
    """Base of estimators that learn from training data and use validation data for stopping or choices.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        All classes, in increasing order; not for regressors.
    n_features_in_ : int
    """

    random_state: Any
    _stratified: ClassVar[bool] = True

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Learn from (X, y); stop the training, or choose a candidate, by the errors on (X_val, y_val).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite training samples.
        y : array-like of shape (n_samples,)
            Class labels; for regressors, targets, which may have shape (n_samples, n_outputs).
        X_val : array-like of shape (n_samples, n_features), optional
            Finite validation samples. Without them a third of X is held out, stratified by classes, if validation
            errors stop the training or choose a candidate; otherwise all of X are training samples, and validation
            errors, which decide nothing, are training errors.
        y_val : array-like of shape (n_samples,), optional
            Labels or targets of the validation samples.
        classes : array-like, optional
            All classes of the problem; by default the classes in y and y_val. Not for regressors.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is out of its range, the data are invalid, or the training diverges.
        """
        check_parameters(self)
        self._learn(*self._prepare((X, y, X_val, y_val), classes))
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _prepare(
        self, data: TrainingSet, classes: ArrayLike | None
    ) -> tuple[Split, np.random.Generator]:
        """Validate the arguments of `fit`, and return the split and the random generator.

        Missing validation data are held out if they decide anything. ``n_features_in_`` and the attributes of
        `_check_targets` are set.
        """
        X, y, X_val, y_val = data
        if (X_val is None) != (y_val is None):
            raise ValueError(
                f"validation data of {self}: expected both X_val and y_val, or neither, got one"
            )
        training = self._validated_pair(X, y, reset=True)
        validation = (
            (training[0][:0], training[1][:0])
            if X_val is None
            else self._validated_pair(X_val, y_val)
        )
        self._check_targets(training[1], validation[1], classes)
        split, rng = Split(*training, *validation), make_generator(self.random_state)
        if len(split.X_val):
            return split, rng
        if self._uses_validation:
            return hold_out(split, rng, stratified=self._stratified), rng
        return split._replace(X_val=split.X, y_val=split.y), rng

    def _validated_pair(
        self, X: ArrayLike, y: Any, *, reset: bool = False
    ) -> tuple[Floats, Labels]:
        """Validate X as float64 and labels y; with ``reset``, set ``n_features_in_``."""
        # Integers skip scikit-learn's slow inference of the target type.
        if is_plain(X) and type(y) is np.ndarray and y.dtype.kind == "i" and y.shape == X.shape[:1]:
            return validated_samples(self, X, reset=reset), y
        samples: Floats
        samples, labels = validate_data(self, X, y, dtype=np.float64, reset=reset)
        if reset:
            check_scale(self, samples)
        check_classification_targets(labels)
        return samples, labels

    def _check_targets(self, y: Labels, y_val: Labels, classes: ArrayLike | None) -> None:
        """Set ``classes_``; raise ValueError for labels outside ``classes``."""
        labels = np.concatenate([y, y_val])
        is_array = type(classes) is np.ndarray and classes.ndim == 1
        self.classes_ = np.unique(
            labels if classes is None else classes if is_array else column_or_1d(classes)
        )
        unknown = np.setdiff1d(labels, self.classes_)
        if unknown.size:
            raise ValueError(f"labels of {self}: expected members of classes, got {unknown[0]!r}")

    @property
    def _uses_validation(self) -> bool:
        """Return whether validation errors stop the training or choose a candidate."""
        return True

    @abstractmethod
    def _learn(self, split: Split, rng: np.random.Generator) -> None:
        """Set the fitted attributes."""


def uses_validation(estimator: Any) -> bool:
    """Return whether an unfitted estimator, of this package or another, learns from validation data."""
    if isinstance(estimator, SplitEstimator):
        return estimator._uses_validation
    return bool(has_fit_parameter(estimator, "X_val"))


def hold_out(split: Split, rng: np.random.Generator, *, stratified: bool = True) -> Split:
    """Hold out `HELD_OUT` of the training data for validation.

    Choice: the split is not stratified if a class has a single sample or the share has fewer samples than classes; a
    single sample serves as training and validation data.
    """
    X, y = split.X, split.y
    if len(X) == 1:
        return Split(X, y, X, y)
    n_val = min(max(round(HELD_OUT * len(X)), 1), len(X) - 1)
    if stratified:
        counts = np.unique(y, return_counts=True)[1]
        stratified = counts.min() > 1 and len(counts) <= min(n_val, len(X) - n_val)
    seed = int(rng.integers(2**31))
    from sklearn.model_selection import train_test_split  # imports all metrics and scipy.stats

    X, X_val, y, y_val = train_test_split(
        X, y, test_size=n_val, stratify=y if stratified else None, random_state=seed
    )
    return Split(X, y, X_val, y_val)


def with_equal_classes(split: Split) -> Split:
    """Repeat samples, in training and validation data, to as many of each class as the most frequent class has."""
    training, validation = _repeated(split.X, split.y), _repeated(split.X_val, split.y_val)
    return Split(*training, *validation)


def _repeated(X: Floats, y: Labels) -> tuple[Floats, Labels]:
    _, numbers, counts = np.unique(y, return_inverse=True, return_counts=True)
    rows = []
    for number in range(len(counts)):
        # the samples of the class in turn, again and again
        rows.append(np.resize(np.flatnonzero(numbers == number), counts.max()))
    chosen = np.concatenate(rows)
    return X[chosen], y[chosen]


def one_hot(y: Labels, classes: Labels) -> Floats:
    """Return targets: 1 for the sample's class, 0 for the others, float64 (n_samples, n_classes)."""
    return (y[:, None] == classes).astype(np.float64)


def choose_candidate(errors: ArrayLike, sizes: ArrayLike, n_validation: int, rule: SizeRule) -> int:
    """Return the index of the smallest candidate with low validation error; with equal sizes the best, then the first.

    Parameters
    ----------
    errors : array-like of float, shape (n_candidates,)
        Validation errors in percent.
    sizes : array-like of int, shape (n_candidates,)
        Numbers of features.
    n_validation : int
        Validation samples, >= 1.
    rule : {"least_error", "one_standard_error"}
        A low error is the least error, or also at most a standard error above it: 100 √(s (1 − s) / n_validation)
        points, where s is the least error as a share, as for pruned trees (Breiman, Friedman, Olshen & Stone 1984).
    """
    errors, least = np.asarray(errors), np.min(errors)
    share = least / 100.0
    allowed = (
        100.0 * np.sqrt(share * (1.0 - share) / n_validation)
        if rule == "one_standard_error"
        else 0.0
    )
    eligible = np.flatnonzero(errors <= least + allowed)
    return int(eligible[np.lexsort((errors[eligible], np.asarray(sizes)[eligible]))[0]])
