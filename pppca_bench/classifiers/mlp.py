"""Multi-layer perceptrons as classifiers and regressors, and `fit_together`, which trains them side by side."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from pppca_bench.base.parameters import check_parameters
from pppca_bench.base.samples import is_plain, validated_samples
from pppca_bench.classifiers.early_stopping import generalisation_loss
from pppca_bench.classifiers.network import (
    Architecture,
    HiddenActivation,
    nearest_probabilities,
    network_outputs,
    squared_error_percent,
    uniform_per_weight,
)
from pppca_bench.classifiers.training import TrainedNet, TrainingTask
from pppca_bench.classifiers.training_data import (
    Labels,
    Split,
    SplitEstimator,
    TrainingSet,
    one_hot,
    with_equal_classes,
)
from pppca_bench.compiled.arrays import Floats

ClassWeight = Literal["balanced"] | None
"""Weights of classes in the errors: by their numbers of samples, or equal."""


class MLP(SplitEstimator):
    """Base of multi-layer perceptrons with early stopping; for the attributes see `RpropMLPClassifier`."""

    hidden_layer_sizes: Sequence[int] | int
    hidden_activation: HiddenActivation = "softsign"
    output_activation: Any = "linear"
    shortcuts: bool = False
    strip_length: int
    generalisation_loss: float
    training_progress: float
    successive_increases: int = 0
    progress_quotient: float = 0.0
    max_epochs: int
    initial_weight_range: float
    random_state: Any

    _remedy: ClassVar[str] = "Scale the features."
    """Remedy for a training that diverges, with parameters as "{0.name}"."""

    _updates: ClassVar[Literal["epoch", "sample", "uncounted"]] = "uncounted"
    """Whether weights are updated after each epoch or sample; "uncounted" if epochs do not measure the work."""

    def squared_error_percent(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the squared error percentage of the outputs (Proben1 report, section 2.5).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels, or the targets of an approximation.

        Returns
        -------
        float
            Percentage of the squared range of the targets.
        """
        return squared_error_percent(self._outputs(X), self._targets(np.asarray(y)))

    def error_curve(self, X: ArrayLike, y: ArrayLike) -> Floats:
        """Return the squared error percentages to which stopping after each strip would have led.

        ``records_curve``, an attribute, since it changes no result, must have been true in `fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels, or the targets of an approximation.

        Returns
        -------
        float64 array of shape (n_strips,)
            After each strip, the error of the weights at the validation minimum so far.
        """
        inputs, targets = self._scaled(validated_samples(self, X)), self._targets(np.asarray(y))
        errors = {
            epoch: squared_error_percent(network_outputs(self._architecture, own, inputs), targets)
            for epoch, own in self._minima.items()
        }
        curve, least = np.empty(len(self.validation_curve_)), np.inf
        for strip, error in enumerate(self.validation_curve_):
            if error < least:
                least, epoch = error, min((strip + 1) * self.strip_length, self.n_epochs_)
            curve[strip] = errors[epoch]
        return curve

    def _outputs(self, X: ArrayLike) -> Floats:
        """Validate X and return the network's outputs."""
        check_is_fitted(self)
        inputs = validated_samples(self, X)
        return network_outputs(self._architecture, self._weights, self._scaled(inputs))

    @abstractmethod
    def _targets(self, y: Labels) -> Floats:
        """Return the targets of the outputs, (n_samples, n_outputs)."""

    @abstractmethod
    def _train(self, tasks: Sequence[Any]) -> list[TrainedNet]:
        """Train networks of the same `TrainingTask.shape` together, with the parameters of this network."""

    def _scaling(self, X: Floats) -> tuple[Floats, Floats | float]:
        """Return the mean to subtract from inputs, and the scale by which to divide centred inputs."""
        return np.zeros(X.shape[1]), 1.0

    def _scaled(self, X: Floats) -> Floats:
        return (X - self.mean_) / self.scale_

    def _learn(self, split: Split, rng: np.random.Generator) -> None:
        task = self._make_task(split, rng)
        (net,) = self._train([task])
        self._set_fitted(net, task)

    def _make_task(self, split: Split, rng: np.random.Generator) -> TrainingTask:
        """Return the training task of a complete split, with a random initial state."""
        targets = self._targets(split.y)
        sizes = tuple(np.ravel(self.hidden_layer_sizes).astype(int).tolist())
        self._architecture = Architecture(
            split.X.shape[1],
            sizes,
            targets.shape[1],
            bool(self.shortcuts),
            self.output_activation,
            self.hidden_activation,
        )
        weights, steps = self._initial_state(rng)
        self.mean_, self.scale_ = self._scaling(split.X)
        X, X_val = self._scaled(split.X), self._scaled(split.X_val)
        return TrainingTask(
            self._architecture, X, targets, X_val, self._targets(split.y_val), weights, steps, rng
        )

    def _initial_state(self, rng: np.random.Generator) -> tuple[list[Floats], list[Floats]]:
        """Draw the initial weights and, if the learning rule needs them, step sizes."""
        limit = self.initial_weight_range
        return uniform_per_weight(self._architecture, -limit, limit, rng), []

    def _set_fitted(self, net: TrainedNet, task: TrainingTask) -> None:
        """Set the fitted attributes; raise ValueError if the training diverged."""
        n_epochs, n_validations = len(net.training_curve), len(net.validation_curve)
        if net.stop_reason == "not_finite":
            raise ValueError(
                f"training of {self}: expected finite errors, got nan or infinity in epoch {n_epochs}. "
                f"{self._remedy.format(self)}"
            )
        self._weights = net.weights
        self.coefs_ = [matrix[:, 1:].T for matrix in net.weights]
        self.intercepts_ = [matrix[:, 0] for matrix in net.weights]
        self.n_epochs_ = n_epochs
        self.best_epoch_ = net.best_epoch
        self.training_curve_ = net.training_curve
        self.validation_curve_ = net.validation_curve
        self.stop_reason_ = net.stop_reason
        self._minima = net.minima
        if net.history:
            self.history_ = net.history
        least = float(net.validation_curve.min())
        self.measures_ = {
            "train_squared_error_percent": float(net.training_curve.min()),
            "validation_squared_error_percent": least,
            "overfit_percent": generalisation_loss(float(net.validation_curve[-1]), least),
            "total_epochs": self.n_epochs_,
            "relevant_epochs": self.best_epoch_,
        }
        if self._updates != "uncounted":
            # Proben1 report, section 2.9: forward pass, backward pass and weight update count 1 for each connection.
            n_updates = 1 if self._updates == "epoch" else len(task.X)
            passes = n_epochs * (2 * len(task.X) + n_updates) + n_validations * len(task.X_val)
            self.measures_["connection_traversals"] = passes * sum(
                matrix.size for matrix in net.weights
            )


class LargestOutputMixin(ClassifierMixin):
    """Mixin for classifiers that predict the class of the largest of ``_outputs``, (n_samples, n_classes)."""

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the outputs; for two classes the second output minus the first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        float64 array of shape (n_samples, n_classes), or (n_samples,) for two classes
            Larger values mean a more likely class.
        """
        outputs = self._outputs(X)
        return outputs[:, 1] - outputs[:, 0] if outputs.shape[1] == 2 else outputs

    def predict(self, X: ArrayLike) -> Labels:
        """Return the class with the largest output for each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        array of shape (n_samples,)
            Class labels.
        """
        winners = self._outputs(X).argmax(axis=1)
        return self.classes_[winners]


class MLPClassifier(LargestOutputMixin, MLP):
    """Base of multi-layer perceptrons as classifiers."""

    class_weight: ClassWeight = None  # a parameter of networks trained by gradient descent

    def _make_task(self, split: Split, rng: np.random.Generator) -> TrainingTask:
        if self.class_weight is not None:
            split = with_equal_classes(split)
        return super()._make_task(split, rng)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probability of each class.

        Choice: the point of the probability simplex nearest to the outputs, which are least-squares estimates of the
        probabilities but may leave [0, 1]; softmax would map targets 0 and 1 to 0.27 and 0.73.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        float64 array of shape (n_samples, n_classes)
            Each row sums to 1.
        """
        return nearest_probabilities(self._outputs(X))

    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        float64 array of shape (n_samples, n_classes)
            Logarithms of `predict_proba`; -inf for a probability of 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _targets(self, y: Labels) -> Floats:
        return one_hot(y, self.classes_)


class TargetsMixin(RegressorMixin):
    """Mixin for regressors of one or several targets that predict ``_outputs``, (n_samples, n_outputs)."""

    _stratified = False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: ArrayLike) -> Floats:
        """Return the outputs, in the shape of the targets of `fit`."""
        outputs = self._outputs(X)
        return outputs[:, 0] if self._is_single else outputs

    def _check_targets(self, y: Floats, y_val: Floats, classes: ArrayLike | None) -> None:
        if classes is not None:
            raise ValueError(
                f"classes of {self}: expected None, since targets are numbers, got {classes!r}"
            )
        self._is_single = y.ndim == 1
        if y.shape[1:] != y_val.shape[1:]:
            shapes = y.shape[1:], y_val.shape[1:]
            raise ValueError(
                f"y_val of {self}: expected as many outputs as y has, {shapes[0]}, got {shapes[1]}"
            )

    def _validated_pair(
        self, X: ArrayLike, y: Any, *, reset: bool = False
    ) -> tuple[Floats, Floats]:
        """Validate X and targets y as float64; with ``reset``, set ``n_features_in_``."""
        if is_plain(X) and is_plain(y) and len(X) == len(y):
            return validated_samples(self, X, reset=reset), y
        samples, targets = validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, multi_output=True, reset=reset
        )
        return samples, targets

    def _targets(self, y: Labels) -> Floats:
        return np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64)


class MLPRegressor(TargetsMixin, MLP):
    """Base of multi-layer perceptrons as regressors, for a single or several targets."""


AnyMLP = TypeVar("AnyMLP", bound=MLP)


def fit_together(
    networks: Sequence[AnyMLP],
    training_sets: Sequence[TrainingSet],
    *,
    classes: ArrayLike | None = None,
) -> list[AnyMLP]:
    """Fit networks side by side, with the same results as `fit`, to the last bit.

    Networks with equal numbers of training samples, validation samples and outputs share vector registers; the number
    of features may differ.

    Parameters
    ----------
    networks : sequence of RpropMLPClassifier, RpropMLPRegressor or BackpropMLPClassifier
        Of the same class, and equal in all parameters except ``random_state``; fitted in place.
    training_sets : sequence of (X, y, X_val, y_val)
        A training set for each network.
    classes : array-like, optional
        As in `fit`, for all networks; classifiers only.

    Returns
    -------
    list
        The networks.

    Raises
    ------
    ValueError
        If the networks differ in class or parameters, or for any reason of `fit`.
    """
    if len(networks) != len(training_sets):
        raise ValueError(
            f"training_sets in fit_together: expected {len(networks)}, a set for each network, got {len(training_sets)}"
        )
    _check_alike(networks)
    pairs = zip(networks, training_sets, strict=True)
    tasks = [network._make_task(*network._prepare(data, classes)) for network, data in pairs]
    groups: dict[Any, list[int]] = {}
    for index, task in enumerate(tasks):
        groups.setdefault(task.shape, []).append(index)
    for group in groups.values():
        nets = networks[0]._train([tasks[index] for index in group])
        for index, net in zip(group, nets, strict=True):
            networks[index]._set_fitted(net, tasks[index])
    return list(networks)


def fit_each(members: list[Any], splits: Sequence[Split], **given: Any) -> list[Any]:
    """Fit estimators of the same class, each to its split: networks side by side, others one by one.

    Of the validation data and the arguments ``given``, such as ``classes``, the fit of others gets those that it names.
    """
    if isinstance(members[0], MLP):
        return fit_together(members, splits, **given)
    for member, (X, y, X_val, y_val) in zip(members, splits, strict=True):
        known = {"X_val": X_val, "y_val": y_val, **given}
        member.fit(X, y, **{name: known[name] for name in known if has_fit_parameter(member, name)})
    return members


def _check_alike(networks: Sequence[Any]) -> None:
    """Raise ValueError for invalid parameters, or networks that differ in more than the random state."""
    first = dict[str, Any]()
    for network in networks:
        if type(network) is not type(networks[0]):
            raise ValueError(
                f"networks in fit_together: expected {type(networks[0]).__name__} only, got {type(network).__name__}. "
                "Fit networks of different classes in separate calls."
            )
        values = check_parameters(network)
        first = first or values
        for name, value in values.items():
            if name != "random_state" and value != first[name]:
                raise ValueError(
                    f"{name} in fit_together: expected {first[name]!r} for all networks, got {value!r}. "
                    "Fit networks with different parameters in separate calls."
                )
