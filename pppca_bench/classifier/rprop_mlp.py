"""Owns the estimator `RpropMLPClassifier` and `fit_together`, which trains many of them side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import train_test_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from pppca_bench.classifier._parameters import check_parameters, generator
from pppca_bench.classifier._rprop_kernels import RpropRule, StoppingRule
from pppca_bench.classifier._training import Task, TrainedNet, train_nets
from pppca_bench.classifier.network import (
    Activation,
    Architecture,
    Floats,
    network_outputs,
    uniform_per_weight,
)

Labels = NDArray[Any]


class RpropMLPClassifier(ClassifierMixin, BaseEstimator):
    """Classify with a small multi-layer perceptron trained by RPROP with early stopping.

    Proben1 report, section 3.3: full batch, one update an epoch, squared error against targets 0 and 1, hidden
    activation x / (1 + |x|); the result has the weights of the validation minimum; the class is the largest output.

    Choice: on a change of sign RPROP takes the last move back, as first published (Riedmiller & Braun 1993). With it
    and linear outputs all 24 test errors of the report's tables 3, 8 and 10 come out (within one published standard
    deviation or half a point, 60 runs); without it, or with outputs x / (1 + |x|), some do not.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(16, 8)
        Units of each hidden layer, >= 1; () is the linear network.
    shortcuts : bool, default=False
        Whether each layer takes the inputs and all earlier layers, or only the layer before it.
    output_activation : {"linear", "softsign"}, default="linear"
        Softsign is x / (1 + |x|).
    eta_plus, eta_minus : float, default=1.2, 0.5
        Factors of a step size after equal and after opposite signs; > 1 and in (0, 1).
    initial_step_range : (float, float), default=(0.005, 0.02)
        Each weight's first step size is uniform in this range; > 0.
    step_min, step_max : float, default=0.0, 50.0
        Bounds of the step sizes.
    initial_weight_range : float, default=0.01
        Initial weights are uniform in plus or minus this; > 0.
    max_epochs : int, default=3000
        >= 1.
    strip_length : int, default=5
        Epochs from one validation to the next; >= 1.
    generalisation_loss : float, default=5.0
        Stop when GL = 100 (E_va / E_opt - 1) is above this, in percent; >= 0, infinity for never.
    training_progress : float, default=0.1
        Stop when P_k = 1000 (mean / min - 1) of the strip's k training errors is below this; >= 0, 0 for never.
    validation_fraction : float, default=1/3
        Share of the training data held out, stratified, where `fit` gets no validation data; in (0, 1).
        Choice: a third, as Proben1 has 50 % training and 25 % validation data.
    random_state : int, RandomState, Generator or None, default=None
        Source of the initial weights, the initial steps and the held-out share.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    coefs_ : list of float64 ndarrays of shape (n_sources, n_units)
        Weights of each layer; with shortcuts the sources are the inputs, then the hidden layers in order.
    intercepts_ : list of float64 ndarrays of shape (n_units,)
    n_epochs_, best_epoch_ : int
        Epochs trained and the epoch of the validation minimum (the report's total and relevant epochs).
    training_curve_ : float64 ndarray of shape (n_epochs_,)
        Squared error percentage of the weights that each epoch starts from.
    validation_curve_ : float64 ndarray of shape (n_strips,)
        Squared error percentage after each strip.
    stop_reason_ : {"generalisation_loss", "training_progress", "max_epochs"}
    """

    def __init__(
        self,
        hidden_layer_sizes: Sequence[int] = (16, 8),
        *,
        shortcuts: bool = False,
        output_activation: Activation = "linear",
        eta_plus: float = 1.2,
        eta_minus: float = 0.5,
        initial_step_range: tuple[float, float] = (0.005, 0.02),
        step_min: float = 0.0,
        step_max: float = 50.0,
        initial_weight_range: float = 0.01,
        max_epochs: int = 3000,
        strip_length: int = 5,
        generalisation_loss: float = 5.0,
        training_progress: float = 0.1,
        validation_fraction: float = 1 / 3,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.shortcuts = shortcuts
        self.output_activation = output_activation
        self.eta_plus = eta_plus
        self.eta_minus = eta_minus
        self.initial_step_range = initial_step_range
        self.step_min = step_min
        self.step_max = step_max
        self.initial_weight_range = initial_weight_range
        self.max_epochs = max_epochs
        self.strip_length = strip_length
        self.generalisation_loss = generalisation_loss
        self.training_progress = training_progress
        self.validation_fraction = validation_fraction
        self.random_state = random_state

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
            Finite numbers. Without X_val a share of X is held out.
        y, y_val : array-like of shape (n_samples,)
            Class labels.
        classes : array-like, optional
            All classes of the problem, one output each; else those of y and y_val. A class that y lacks keeps
            target 0, so the network has the problem's number of outputs whatever the split.

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
        return network_outputs(self._architecture, self._weights, inputs)

    def _rules(self) -> tuple[RpropRule, StoppingRule]:
        """Return the constants of the training."""
        stopping = StoppingRule(
            int(self.strip_length),
            float(self.generalisation_loss),
            float(self.training_progress),
            int(self.max_epochs),
        )
        rprop = (self.eta_plus, self.eta_minus, self.step_min, self.step_max)
        return RpropRule(*(float(number) for number in rprop)), stopping

    def _prepare(self, data: "TrainingSet", classes: ArrayLike | None) -> Task:
        """Validate the data, set ``classes_`` and draw the initial state."""
        split, rng = self._validated(*data, classes), generator(self.random_state)
        if not len(split.X_val):
            split = _hold_out(split, self.validation_fraction, rng)
        architecture = Architecture(
            split.X.shape[1],
            tuple(int(size) for size in self.hidden_layer_sizes),
            len(self.classes_),
            bool(self.shortcuts),
            self.output_activation,
        )
        return Task(
            architecture,
            split.X,
            _one_hot(split.y, self.classes_),
            split.X_val,
            _one_hot(split.y_val, self.classes_),
            weights=uniform_per_weight(architecture, -self.initial_weight_range, self.initial_weight_range, rng),
            steps=uniform_per_weight(architecture, *self.initial_step_range, rng),
        )

    def _validated(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_val: ArrayLike | None,
        y_val: ArrayLike | None,
        classes: ArrayLike | None,
    ) -> "_Split":
        """Check the data and set ``classes_``."""
        training: tuple[Floats, Labels] = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(training[1])
        if (X_val is None) != (y_val is None):
            raise ValueError(f"validation data of {self}: expected both X_val and y_val, or neither, got one")
        validation = training[0][:0], training[1][:0]
        if X_val is not None:
            validation = validate_data(self, X_val, y_val, dtype=np.float64, reset=False)
        labels = np.concatenate([training[1], validation[1]])
        self.classes_ = np.unique(labels) if classes is None else np.unique(column_or_1d(classes))
        unknown = np.setdiff1d(labels, self.classes_)
        if unknown.size:
            raise ValueError(f"labels of {self}: expected members of classes, got {unknown[0]!r}")
        return _Split(*training, *validation)

    def _store(self, task: Task, net: TrainedNet) -> Self:
        """Take over the result of the training."""
        if net.stop_reason == "not_finite":
            raise ValueError(
                f"training of {self}: expected finite errors, got one that is not in epoch "
                f"{len(net.training_curve)}. Scale the features or lower step_max (now {self.step_max})."
            )
        self._architecture, self._weights = task.architecture, net.weights
        self.coefs_ = [matrix[:, 1:].T for matrix in net.weights]
        self.intercepts_ = [matrix[:, 0] for matrix in net.weights]
        self.n_epochs_ = len(net.training_curve)
        self.best_epoch_ = net.best_epoch
        self.training_curve_ = net.training_curve
        self.validation_curve_ = net.validation_curve
        self.stop_reason_ = net.stop_reason
        return self


TrainingSet = tuple[ArrayLike, ArrayLike, ArrayLike | None, ArrayLike | None]
"""X, y, X_val, y_val as `RpropMLPClassifier.fit` takes them."""


def fit_together(
    classifiers: Sequence[RpropMLPClassifier],
    training_sets: Sequence[TrainingSet],
    *,
    classes: ArrayLike | None = None,
) -> list[RpropMLPClassifier]:
    """Fit many classifiers side by side, each with the same result, to the last bit, as `fit` alone gives.

    Nets with equal numbers of training samples, validation samples and classes share the processor's vectors; the
    number of features may differ.

    Parameters
    ----------
    classifiers : sequence of RpropMLPClassifier
        Equal in all parameters but ``random_state``. They are fitted in place.
    training_sets : sequence of (X, y, X_val, y_val)
        One for each classifier.
    classes : array-like, optional
        As in `RpropMLPClassifier.fit`, for all of them.

    Returns
    -------
    list of RpropMLPClassifier
        The classifiers.

    Raises
    ------
    ValueError
        If the classifiers' parameters differ, or for any of the reasons that `fit` has.
    """
    if len(classifiers) != len(training_sets):
        raise ValueError(
            f"training_sets in fit_together: expected {len(classifiers)}, one for each classifier, "
            f"got {len(training_sets)}"
        )
    _check_alike(classifiers)
    tasks = [classifier._prepare(data, classes) for classifier, data in zip(classifiers, training_sets, strict=True)]
    groups: dict[Any, list[int]] = {}
    for index, task in enumerate(tasks):
        groups.setdefault(task.shape, []).append(index)
    for group in groups.values():
        nets = train_nets([tasks[index] for index in group], *classifiers[0]._rules())
        for index, net in zip(group, nets, strict=True):
            classifiers[index]._store(tasks[index], net)
    return list(classifiers)


def _check_alike(classifiers: Sequence[RpropMLPClassifier]) -> None:
    """Check the parameters, and that they differ in nothing but the random state."""
    for classifier in classifiers:
        check_parameters(classifier.get_params())
    reference = [classifier.get_params() | {"random_state": None} for classifier in classifiers]
    for parameters in reference[1:]:
        for name, value in parameters.items():
            if value != reference[0][name]:
                raise ValueError(
                    f"{name} in fit_together: expected {reference[0][name]!r} for all classifiers, got {value!r}. "
                    "Fit classifiers with different parameters in separate calls."
                )


@dataclass(frozen=True)
class _Split:
    """Hold training and validation data; the latter has no rows where none was given."""

    X: Floats
    y: Labels
    X_val: Floats
    y_val: Labels


def _hold_out(split: _Split, fraction: float, rng: np.random.Generator) -> _Split:
    """Hold out a stratified share for validation.

    Choice: where a class has a single sample, or the share has less samples than there are classes, the draw is not
    stratified; a single sample in all serves both sides.
    """
    X, y = split.X, split.y
    if len(X) == 1:
        return _Split(X, y, X, y)
    counts = np.unique(y, return_counts=True)[1]
    n_val = min(max(round(fraction * len(X)), 1), len(X) - 1)
    stratifies = counts.min() > 1 and len(counts) <= min(n_val, len(X) - n_val)
    seed = int(rng.integers(2**31))
    X, X_val, y, y_val = train_test_split(X, y, test_size=n_val, stratify=y if stratifies else None, random_state=seed)
    return _Split(X, y, X_val, y_val)


def _one_hot(y: Labels, classes: Labels) -> Floats:
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
