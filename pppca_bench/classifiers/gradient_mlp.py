"""Networks trained by gradient descent: RPROP (classifier and regressor) and online backpropagation (classifier)."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Gt

from pppca_bench.base.parameters import (
    FINITE,
    Count,
    LayerSizes,
    NotNegative,
    NotNegativeCount,
    NotNegativeOrInfinite,
    OpenShare,
    ParameterError,
    Positive,
    PositivePair,
    check_order,
)
from pppca_bench.base.samples import power_of_two_above
from pppca_bench.classifiers.early_stopping import StoppingRule
from pppca_bench.classifiers.learning_rules import BackpropRule, RpropRule
from pppca_bench.classifiers.mlp import MLP, ClassWeight, MLPClassifier, MLPRegressor
from pppca_bench.classifiers.network import Activation, HiddenActivation, uniform_per_weight
from pppca_bench.classifiers.training import (
    BackpropLanes,
    RpropLanes,
    TrainedNet,
    TrainingTask,
    rule_of,
)
from pppca_bench.compiled.arrays import Floats


@dataclass(eq=False, repr=False)
class RpropTraining(MLP):
    """Base of networks trained by RPROP with early stopping.

    Public constants without an annotation are parameters of some subclasses; other subclasses use these values.
    """

    _remedy = "Scale the features or lower step_max (now {0.step_max})."

    eta_plus = 1.2
    eta_minus = 0.5
    weight_backtracking = True
    improved = False
    step_min = 0.0
    step_max = 50.0
    training_progress = 0.1

    hidden_layer_sizes: LayerSizes = (16, 8)
    _: KW_ONLY
    shortcuts: bool = False
    initial_step_range: PositivePair = (0.005, 0.02)
    initial_weight_range: Positive = 0.01
    max_epochs: Count = 3000
    strip_length: Count = 5
    generalisation_loss: NotNegativeOrInfinite = 5.0
    random_state: Any = None

    def check_agreement(self) -> None:
        """Raise ParameterError unless the bounds of step sizes are in order."""
        low, high = steps = self.initial_step_range
        if low > high:
            raise ParameterError(
                "initial_step_range", "two numbers, the first at most the second", steps
            )
        check_order(self, "step_min", "step_max")

    def _initial_state(self, rng: np.random.Generator) -> tuple[list[Floats], list[Floats]]:
        """Draw initial weights and initial step sizes."""
        weights, _ = super()._initial_state(rng)
        return weights, uniform_per_weight(self._architecture, *self.initial_step_range, rng)

    def _train(self, tasks: Sequence[TrainingTask]) -> list[TrainedNet]:
        return train_by_rprop(tasks, self)


def train_by_rprop(
    tasks: Sequence[TrainingTask], parameters: RpropTraining, **changes: int
) -> list[TrainedNet]:
    """Train networks of the same `TrainingTask.shape` with a network's parameters, and changes of the stopping rule."""
    stop = rule_of(StoppingRule, parameters)._replace(**changes)
    return RpropLanes(tasks, rule_of(RpropRule, parameters), stop).train()


@dataclass(eq=False, repr=False, kw_only=True)
class RpropMLP(RpropTraining):
    """A multi-layer perceptron trained by RPROP with early stopping; see `RpropMLPClassifier`."""

    _updates = "epoch"
    records_curve = False

    hidden_activation: HiddenActivation = "softsign"
    output_activation: Activation = "linear"
    eta_plus: Annotated[float, Gt(1), FINITE] = 1.2
    eta_minus: OpenShare = 0.5
    weight_backtracking: bool = True
    improved: bool = False
    step_min: NotNegative = 0.0
    step_max: Annotated[float, Gt(0)] = 50.0
    successive_increases: NotNegativeCount = 0
    progress_quotient: NotNegative = 0.0
    training_progress: NotNegative = 0.1
    input_scaling: Literal["given", "rms"] = "given"

    def _scaling(self, X: Floats) -> tuple[Floats, Floats | float]:
        if self.input_scaling == "given":
            return super()._scaling(X)
        mean = X.mean(axis=0)
        return mean, float(np.sqrt(np.mean((X - mean) ** 2))) or 1.0

    def _train(self, tasks: Sequence[TrainingTask]) -> list[TrainedNet]:
        stop, rule = rule_of(StoppingRule, self), rule_of(RpropRule, self)
        return RpropLanes(tasks, rule, stop, records=self.records_curve).train()


@dataclass(eq=False, repr=False, kw_only=True)
class RpropMLPClassifier(RpropMLP, MLPClassifier):
    """Classify with a small multi-layer perceptron trained by RPROP with early stopping.

    Proben1 report, section 3.3: full batch, an update per epoch, squared error against targets 0 and 1; the result has
    the weights at the validation minimum; the class is the largest output.

    Choice: RPROP undoes the last move of a weight whose gradient changes its sign (Riedmiller & Braun 1993). Numbers
    in the report fit RPROP without this rule, and other constants than the printed constants (docs/proben1.md).

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, or int, default=(16, 8)
        Units of each hidden layer, >= 1; () is the linear network, and an int a single layer.
    shortcuts : bool, default=False
        Whether each layer takes the inputs and all earlier layers, or only the layer before it.
    initial_step_range : (float, float), default=(0.005, 0.02)
        Range of the uniform initial step sizes; > 0.
    initial_weight_range : float, default=0.01
        Half-width of the uniform distribution of initial weights around 0; > 0.
    max_epochs : int, default=3000
        >= 1.
    strip_length : int, default=5
        Number of epochs between validations; >= 1.
    generalisation_loss : float, default=5.0
        Limit of GL = 100 (E_va / E_opt - 1), in percent, above which training stops; >= 0, may be infinite.
    random_state : int, RandomState, Generator or None, default=None
        Source of the initial weights, the initial steps and the held-out share.
    hidden_activation : {"softsign", "logistic", "tanh"}, default="softsign"
        x / (1 + |x|), 1 / (1 + exp(-x)) or tanh(x). Choice: the report has only the first.
    output_activation : {"linear", "softsign"}, default="linear"
        Softsign is x / (1 + |x|).
    eta_plus, eta_minus : float, default=1.2, 0.5
        Factors of a step size after equal and opposite signs of the gradient; > 1 and in (0, 1).
    weight_backtracking : bool, default=True
        Whether a weight whose gradient changes its sign undoes its last move, or moves by the smaller step.
    improved : bool, default=False
        Whether such a weight undoes its move only if the error has increased (iRPROP+) or, without weight backtracking,
        does not move (iRPROP-): Igel & Hüsken 2000.
    step_min, step_max : float, default=0.0, 50.0
        Bounds of the step sizes.
    successive_increases : int, default=0
        Number of successive strips with rising validation error that must have occurred before GL stops training.
    progress_quotient : float, default=0.0
        Limit that GL / P_k must have exceeded before GL stops training; >= 0. The report's search (section 3.3.2) has 8
        successive increases and the quotient 3.
    training_progress : float, default=0.1
        Limit of P_k = 1000 (mean / min - 1) of the training errors of a strip, below which training stops; >= 0.
    input_scaling : {"given", "rms"}, default="given"
        Whether inputs are unchanged, or centred by the training mean and divided by the root mean square of all centred
        training inputs, a single number. A rotation of the inputs, such as PCA that keeps all components, then changes
        neither origin nor scale.
    class_weight : {"balanced"} or None, default=None
        "balanced" gives each class the same weight in the training error and in the validation error that stops the
        training. Choice: samples of rarer classes are repeated to as many as the most frequent class has, which needs
        no weights in the compiled training; dividing the outputs by the classes' shares was worse on imbalanced data
        (docs/choices.md). `predict_proba` then estimates the probabilities for equally frequent classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    mean_ : float64 ndarray of shape (n_features_in_,)
    scale_ : float
        Mean and root mean square of ``input_scaling``; 0 and 1 for "given".
    coefs_ : list of float64 ndarrays of shape (n_sources, n_units)
        Weights of each layer; with shortcuts, sources are the inputs and then the hidden layers in order.
    intercepts_ : list of float64 ndarrays of shape (n_units,)
    n_epochs_, best_epoch_ : int
        Number of epochs, and epoch of the validation minimum (the report's total and relevant epochs).
    training_curve_ : float64 ndarray of shape (n_epochs_,)
        Squared error percentage of the weights before each epoch.
    validation_curve_ : float64 ndarray of shape (n_strips,)
        Squared error percentage after each strip.
    stop_reason_ : {"generalisation_loss", "training_progress", "max_epochs"}
    measures_ : dict of str to float
        Measures of a run in the Proben1 report: least training and validation error, overfit (generalisation loss at
        the end), total and relevant epochs, connection traversals; with ``class_weight`` over the repeated samples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> RpropMLPClassifier((4,), random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    class_weight: ClassWeight = None


class RpropMLPRegressor(RpropMLP, MLPRegressor):
    """Approximate targets with a small multi-layer perceptron trained by RPROP with early stopping.

    Proben1 report, section 3.3: the same training as `RpropMLPClassifier`, with unchanged targets. Parameters and
    attributes are those of `RpropMLPClassifier`, except ``classes_``; the held-out share is not stratified.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris().data[:, :3] / 10.0, load_iris().data[:, 3] / 10.0
    >>> RpropMLPRegressor((4,), random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """


@dataclass(eq=False, repr=False)
class BackpropMLPClassifier(MLPClassifier):
    """Classify with a multi-layer perceptron trained by online backpropagation.

    Rumelhart, Hinton & Williams 1986: an update after each sample, a new random order of the samples in each epoch,
    half the squared error against targets 0 and 1; the class is the largest output.

    The validation error has no effect, and `fit` holds out no data, if ``keep`` is "last" and ``generalisation_loss``
    infinite.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, or int, default=(16,)
        Units of each hidden layer, >= 1; () has no hidden layer, and an int is a single layer.
    hidden_activation : {"softsign", "logistic", "tanh"}, default="logistic"
        x / (1 + |x|), 1 / (1 + exp(-x)) or tanh(x).
    output_activation : {"linear", "logistic"}, default="linear"
    standardise : bool, default=False
        Whether to standardise features by mean and standard deviation of the training data.
    learning_rate : float, default=0.1
        The step η of the first epoch, > 0.
    decay_epochs : float or None, default=None
        > 0: η = learning_rate / (1 + epoch / decay_epochs), with epochs counted from 0. None: η is constant.
    initial_weight_range, max_epochs, strip_length : float, int, int, default=0.5, 100, 5
        Initial weights and epochs between validations, as in `RpropMLPClassifier`.
    generalisation_loss, training_progress : float, default=inf, 0.0
        Early stopping as in `RpropMLPClassifier`; by default training runs for all epochs.
    keep : {"last", "best"}, default="last"
        Whether the result has the weights after the last epoch or at the validation minimum.
    class_weight : {"balanced"} or None, default=None
        As in `RpropMLPClassifier`.
    random_state : int, RandomState, Generator or None, default=None
        Source of the initial weights, the order of the samples and the held-out share.

    Attributes
    ----------
    mean_, scale_ : float64 ndarrays of shape (n_features_in_,)
        Mean and standard deviation by which features are standardised; 0 and 1 unless ``standardise``.
    training_curve_ : float64 ndarray of shape (n_epochs_,)
        Squared error percentage of each epoch, with the error of each sample before its update.
    classes_, n_features_in_, coefs_, intercepts_, n_epochs_, best_epoch_, validation_curve_, stop_reason_, measures_
        As in `RpropMLPClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> BackpropMLPClassifier((4,), standardise=True, random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    _remedy = "Set standardise, scale the features or lower learning_rate (now {0.learning_rate})."
    _updates = "sample"
    records_curve = False

    hidden_layer_sizes: LayerSizes = (16,)
    _: KW_ONLY
    hidden_activation: HiddenActivation = "logistic"
    output_activation: Literal["linear", "logistic"] = "linear"
    standardise: bool = False
    learning_rate: Positive = 0.1
    decay_epochs: Positive | None = None
    initial_weight_range: Positive = 0.5
    max_epochs: Count = 100
    strip_length: Count = 5
    generalisation_loss: NotNegativeOrInfinite = math.inf
    training_progress: NotNegative = 0.0
    keep: Literal["last", "best"] = "last"
    class_weight: ClassWeight = None
    random_state: Any = None

    @property
    def _uses_validation(self) -> bool:
        return self.keep == "best" or self.generalisation_loss < math.inf

    def _scaling(self, X: Floats) -> tuple[Floats, Floats | float]:
        if not self.standardise:
            return super()._scaling(X)[0], np.ones(X.shape[1])
        mean = X.mean(axis=0)
        unit = power_of_two_above(X, axis=0)
        deviation = (X / unit).std(axis=0) * unit
        # Deviations of constant features are rounding errors; these features are divided by 1.
        rounding = 10.0 * np.finfo(np.float64).eps * np.abs(mean)
        return mean, np.where(deviation > rounding, deviation, 1.0)

    def _train(self, tasks: Sequence[TrainingTask]) -> list[TrainedNet]:
        decay_epochs = math.inf if self.decay_epochs is None else float(self.decay_epochs)
        rule = BackpropRule(float(self.learning_rate), decay_epochs)
        return BackpropLanes(
            tasks,
            rule,
            rule_of(StoppingRule, self),
            keeps_best=self.keep == "best",
            records=self.records_curve,
        ).train()
