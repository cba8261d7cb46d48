"""Networks trained by RPROP: the estimators `RpropMLPClassifier` and `RpropMLPRegressor`."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Gt

from pppca_bench.classifiers.early_stopping import StoppingRule
from pppca_bench.classifiers.mlp import MLP, MLPClassifier, MLPRegressor
from pppca_bench.classifiers.network import Activation, uniform_per_weight
from pppca_bench.classifiers.rprop import RpropRule
from pppca_bench.classifiers.training import RpropLanes, Task, TrainedNet
from pppca_bench.compiled.arrays import Floats
from pppca_bench.parameters import (
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


class RpropMLP(MLP):
    """A multi-layer perceptron trained by RPROP with early stopping; see `RpropMLPClassifier`."""

    _remedy: ClassVar[str] = "Scale the features or lower step_max (now {0.step_max})."
    _updates: ClassVar[Literal["epoch", "sample", "uncounted"]] = "epoch"

    def __init__(
        self,
        hidden_layer_sizes: LayerSizes = (16, 8),
        *,
        shortcuts: bool = False,
        output_activation: Activation = "linear",
        eta_plus: Annotated[float, Gt(1), FINITE] = 1.2,
        eta_minus: OpenShare = 0.5,
        weight_backtracking: bool = True,
        initial_step_range: PositivePair = (0.005, 0.02),
        step_min: NotNegative = 0.0,
        step_max: Annotated[float, Gt(0)] = 50.0,
        initial_weight_range: Positive = 0.01,
        max_epochs: Count = 3000,
        strip_length: Count = 5,
        generalisation_loss: NotNegativeOrInfinite = 5.0,
        successive_increases: NotNegativeCount = 0,
        progress_quotient: NotNegative = 0.0,
        training_progress: NotNegative = 0.1,
        random_state: Any = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.shortcuts = shortcuts
        self.output_activation = output_activation
        self.eta_plus = eta_plus
        self.eta_minus = eta_minus
        self.weight_backtracking = weight_backtracking
        self.initial_step_range = initial_step_range
        self.step_min = step_min
        self.step_max = step_max
        self.initial_weight_range = initial_weight_range
        self.max_epochs = max_epochs
        self.strip_length = strip_length
        self.generalisation_loss = generalisation_loss
        self.successive_increases = successive_increases
        self.progress_quotient = progress_quotient
        self.training_progress = training_progress
        self.random_state = random_state

    def check_agreement(self) -> None:
        """Raise ParameterError unless the bounds of step sizes are in order."""
        low, high = self.initial_step_range
        if low > high:
            raise ParameterError(
                "initial_step_range", "two numbers, the first at most the second", self.initial_step_range
            )
        check_order(self, "step_min", "step_max")

    def _initial_state(self, rng: np.random.Generator) -> tuple[list[Floats], list[Floats]]:
        weights, _ = super()._initial_state(rng)
        return weights, uniform_per_weight(self._architecture, *self.initial_step_range, rng)

    def _train(self, tasks: Sequence[Task]) -> list[TrainedNet]:
        return RpropLanes(tasks, self._rprop_rule(), self._stopping_rule()).train()

    def _stopping_rule(self) -> StoppingRule:
        increases, quotient = int(self.successive_increases), float(self.progress_quotient)
        return super()._stopping_rule()._replace(successive_increases=increases, progress_quotient=quotient)

    def _rprop_rule(self) -> RpropRule:
        return RpropRule(
            float(self.eta_plus),
            float(self.eta_minus),
            float(self.step_min),
            float(self.step_max),
            bool(self.weight_backtracking),
        )


class RpropMLPClassifier(RpropMLP, MLPClassifier):
    """Classify with a small multi-layer perceptron trained by RPROP with early stopping.

    Proben1 report, section 3.3: full batch, one update an epoch, squared error against targets 0 and 1, hidden
    activation x / (1 + |x|); the result has the weights of the validation minimum; the class is the largest output.

    Choice: where the gradient changes its sign RPROP undoes the last move, as first published by Riedmiller & Braun
    1993; the report's numbers fit RPROP without this, and other constants than the report prints (docs/proben1.md).

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
    weight_backtracking : bool, default=True
        Whether a weight whose gradient changes its sign undoes its last move, or moves by the smaller step.
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
    successive_increases : int, default=0
        Do not stop by GL before the validation error has also risen in this many successive strips at least once.
    progress_quotient : float, default=0.0
        Nor before GL / P_k has been above this at least once; >= 0. The search of the report's section 3.3.2 has 8
        and 3.
    training_progress : float, default=0.1
        Stop when P_k = 1000 (mean / min - 1) of the strip's k training errors is below this; >= 0, 0 for never.
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


class RpropMLPRegressor(RpropMLP, MLPRegressor):
    """Approximate one or more targets with a small multi-layer perceptron trained by RPROP with early stopping.

    Proben1 report, section 3.3: the same training as `RpropMLPClassifier`, with the targets as they are. Parameters and
    attributes are those of `RpropMLPClassifier`, except ``classes_``; the held-out share is not stratified.
    """
