"""Owns what perceptrons share as classifiers, and `fit_together`, which trains many of them side by side."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import train_test_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from pppca_bench.classifiers.batch_training import Task, TrainedNet
from pppca_bench.classifiers.early_stopping import StoppingRule
from pppca_bench.compiled.arrays import Floats
from pppca_bench.parameters import check_parameters

Labels = NDArray[Any]
TrainingSet = tuple[ArrayLike, ArrayLike, ArrayLike | None, ArrayLike | None]
"""X, y, X_val, y_val as `MLPClassifier.fit` takes them."""


@dataclass(frozen=True)
class Split:
    """Hold training and validation data; the latter has no rows where none was given."""

    X: Floats
    y: Labels
    X_val: Floats
    y_val: Labels


class MLPClassifier(ClassifierMixin, BaseEstimator):
    """Classify by the largest output of a multi-layer perceptron; a subclass says how it is trained.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    coefs_ : list of float64 ndarrays of shape (n_sources, n_units)
    intercepts_ : list of float64 ndarrays of shape (n_units,)
    n_epochs_, best_epoch_ : int
    training_curve_ : float64 ndarray of shape (n_epochs_,)
    validation_curve_ : float64 ndarray of shape (n_strips,)
    stop_reason_ : {"generalisation_loss", "training_progress", "max_epochs"}
    """

    strip_length: int
    generalisation_loss: float
    training_progress: float
    max_epochs: int

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Train on (X, y) and stop by (X_val, y_val).

        Parameters
        ----------
        X, X_val : array-like of shape (n_samples, n_features)
            Finite numbers. Without X_val a share of X is held out where the training needs it.
        y, y_val : array-like of shape (n_samples,)
            Class labels.
        classes : array-like, optional
            All classes of the problem, one output each; else those of y and y_val. A class that y lacks keeps
            the target of the other classes, so the network has the problem's number of outputs whatever the split.

        Raises
        ------
        ValueError
            If a parameter is out of its range, the data are unfit, or the training is no longer finite.
        """
        return fit_together([self], [(X, y, X_val, y_val)], classes=classes)[0]

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the outputs, (n_samples, n_classes); for two classes the second less the first, (n_samples,)."""
        outputs = self._outputs(X)
        return outputs[:, 1] - outputs[:, 0] if outputs.shape[1] == 2 else outputs

    def predict(self, X: ArrayLike) -> Labels:
        """Return the class with the largest output (winner takes all) for each sample."""
        winners = self._outputs(X).argmax(axis=1)
        return self.classes_[winners]

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return class probabilities, float64 (n_samples, n_classes).

        Choice: the point of the probability simplex nearest to the outputs, which estimate the probabilities by
        least squares but may leave [0, 1]; softmax would press targets 0 and 1 into 0.27 and 0.73.
        """
        return _nearest_probabilities(self._outputs(X))

    def _outputs(self, X: ArrayLike) -> Floats:
        """Validate X and return the network's outputs."""
        check_is_fitted(self)
        inputs: Floats = validate_data(self, X, dtype=np.float64, reset=False)
        return self._network_outputs(inputs)

    @abstractmethod
    def _task(self, split: Split) -> Task:
        """Draw the initial state and say what is to be trained."""

    @abstractmethod
    def _train(self, tasks: Sequence[Any]) -> list[TrainedNet]:
        """Train nets of one `Task.shape` together, by this classifier's parameters."""

    @abstractmethod
    def _network_outputs(self, X: Floats) -> Floats:
        """Return the outputs for valid inputs."""

    @abstractmethod
    def _remedy(self) -> str:
        """Say what helps against a training that is no longer finite."""

    def _stopping_rule(self) -> StoppingRule:
        """Return the constants of early stopping."""
        return StoppingRule(
            int(self.strip_length),
            float(self.generalisation_loss),
            float(self.training_progress),
            int(self.max_epochs),
        )

    def _prepare(self, data: TrainingSet, classes: ArrayLike | None) -> Task:
        """Validate the data, set ``classes_`` and draw the initial state."""
        return self._task(validated_split(self, *data, classes))

    def _store(self, net: TrainedNet) -> None:
        """Take over the result of the training."""
        if net.stop_reason == "not_finite":
            raise ValueError(
                f"training of {self}: expected finite errors, got one that is not in epoch "
                f"{len(net.training_curve)}. {self._remedy()}"
            )
        self._weights = net.weights
        self.coefs_ = [matrix[:, 1:].T for matrix in net.weights]
        self.intercepts_ = [matrix[:, 0] for matrix in net.weights]
        self.n_epochs_ = len(net.training_curve)
        self.best_epoch_ = net.best_epoch
        self.training_curve_ = net.training_curve
        self.validation_curve_ = net.validation_curve
        self.stop_reason_ = net.stop_reason


Classifier = TypeVar("Classifier", bound=MLPClassifier)


def fit_together(
    classifiers: Sequence[Classifier],
    training_sets: Sequence[TrainingSet],
    *,
    classes: ArrayLike | None = None,
) -> list[Classifier]:
    """Fit many classifiers side by side, each with the same result, to the last bit, as `fit` alone gives.

    Nets with equal numbers of training samples, validation samples and classes share the processor's vectors; the
    number of features may differ.

    Parameters
    ----------
    classifiers : sequence of RpropMLPClassifier, or of BackpropMLPClassifier
        Of one class, and equal in all parameters but ``random_state``. They are fitted in place.
    training_sets : sequence of (X, y, X_val, y_val)
        One for each classifier.
    classes : array-like, optional
        As in their `fit`, for all of them.

    Returns
    -------
    list
        The classifiers.

    Raises
    ------
    ValueError
        If the classifiers differ in class or parameters, or for any of the reasons that `fit` has.
    """
    if len(classifiers) != len(training_sets):
        raise ValueError(
            f"training_sets in fit_together: expected {len(classifiers)}, one for each classifier, "
            f"got {len(training_sets)}"
        )
    _check_alike(classifiers)
    _fit_alike(classifiers, training_sets, classes)
    return list(classifiers)


def _fit_alike(
    classifiers: Sequence[MLPClassifier], training_sets: Sequence[TrainingSet], classes: ArrayLike | None
) -> None:
    """Fit classifiers with the same parameters, those with data of the same shape side by side."""
    tasks = [classifier._prepare(data, classes) for classifier, data in zip(classifiers, training_sets, strict=True)]
    groups: dict[Any, list[int]] = {}
    for index, task in enumerate(tasks):
        groups.setdefault(task.shape, []).append(index)
    for group in groups.values():
        nets = classifiers[0]._train([tasks[index] for index in group])
        for index, net in zip(group, nets, strict=True):
            classifiers[index]._store(net)


def _check_alike(classifiers: Sequence[Any]) -> None:
    """Check the parameters, and that the classifiers differ in nothing but the random state."""
    first: dict[str, Any] = {}
    for classifier in classifiers:
        kind = type(classifiers[0])
        if type(classifier) is not kind:
            raise ValueError(
                f"classifiers in fit_together: expected {kind.__name__} only, got {type(classifier).__name__}. "
                "Fit classifiers of different classes in separate calls."
            )
        values = check_parameters(classifier)
        first = first or values
        for name, value in values.items():
            if name != "random_state" and value != first[name]:
                raise ValueError(
                    f"{name} in fit_together: expected {first[name]!r} for all classifiers, got {value!r}. "
                    "Fit classifiers with different parameters in separate calls."
                )


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
    training: tuple[Floats, Labels] = validate_data(classifier, X, y, dtype=np.float64)
    check_classification_targets(training[1])
    if (X_val is None) != (y_val is None):
        raise ValueError(f"validation data of {classifier}: expected both X_val and y_val, or neither, got one")
    validation = training[0][:0], training[1][:0]
    if X_val is not None:
        validation = validate_data(classifier, X_val, y_val, dtype=np.float64, reset=False)
    labels = np.concatenate([training[1], validation[1]])
    classifier.classes_ = np.unique(labels) if classes is None else np.unique(column_or_1d(classes))
    unknown = np.setdiff1d(labels, classifier.classes_)
    if unknown.size:
        raise ValueError(f"labels of {classifier}: expected members of classes, got {unknown[0]!r}")
    return Split(*training, *validation)


def hold_out(split: Split, fraction: float, rng: np.random.Generator) -> Split:
    """Hold out a stratified share for validation.

    Choice: where a class has a single sample, or the share has less samples than there are classes, the draw is not
    stratified; a single sample in all serves both sides.
    """
    X, y = split.X, split.y
    if len(X) == 1:
        return Split(X, y, X, y)
    counts = np.unique(y, return_counts=True)[1]
    n_val = min(max(round(fraction * len(X)), 1), len(X) - 1)
    stratifies = counts.min() > 1 and len(counts) <= min(n_val, len(X) - n_val)
    seed = int(rng.integers(2**31))
    X, X_val, y, y_val = train_test_split(X, y, test_size=n_val, stratify=y if stratifies else None, random_state=seed)
    return Split(X, y, X_val, y_val)


def one_hot(y: Labels, classes: Labels) -> Floats:
    """Return targets: 1 for the sample's class, 0 for the others, float64 (n_samples, n_classes)."""
    return (y[:, None] == classes).astype(np.float64)


def _nearest_probabilities(outputs: Floats) -> Floats:
    """Project each row on the probability simplex (Held, Wolfe & Crowder 1974)."""
    descending = -np.sort(-outputs, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    counts = np.arange(1, outputs.shape[1] + 1)
    n_positive = np.sum(descending * counts > excess, axis=1, keepdims=True)
    shift = np.take_along_axis(excess, n_positive - 1, axis=1) / n_positive
    return np.maximum(outputs - shift, 0.0)
