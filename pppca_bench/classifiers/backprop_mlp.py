"""A network trained by online backpropagation: the estimator `BackpropMLPClassifier`."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Lt

from pppca_bench.classifiers.backprop import BackpropRule
from pppca_bench.classifiers.mlp import MLPClassifier
from pppca_bench.classifiers.training import BackpropLanes, Task, TrainedNet
from pppca_bench.classifiers.training_data import Split
from pppca_bench.compiled.arrays import Floats
from pppca_bench.parameters import Count, LayerSizes, NotNegative, NotNegativeOrInfinite, Positive


class BackpropMLPClassifier(MLPClassifier):
    """Classify with a multi-layer perceptron trained by online backpropagation.

    Rumelhart, Hinton & Williams 1986: one update after each sample, the samples in a new random order in each epoch,
    half the squared error against targets 0 and 1; the class is the largest output.

    Choice: where `fit` gets no validation data and the validation error decides nothing (``keep`` is "last" and
    ``generalisation_loss`` infinite), nothing is held out, and the training data serve as validation data.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(16,)
        Units of each hidden layer, >= 1; () has no hidden layer.
    hidden_activation : {"logistic", "softsign"}, default="logistic"
        1 / (1 + exp(-x)) or x / (1 + |x|).
    output_activation : {"linear", "logistic"}, default="linear"
    standardise : bool, default=False
        Whether features are first standardised by the training data.
    learning_rate : float, default=0.1
        The step η of the first epoch, > 0.
    decay_epochs : float or None, default=None
        > 0: η becomes learning_rate / (1 + epoch / decay_epochs), epochs counted from 0. None: η is constant.
    momentum : float, default=0.0
        Share of the previous step in the next step, in [0, 1).
    initial_weight_range : float, default=0.5
        Initial weights are uniform in plus or minus this; > 0.
    max_epochs : int, default=100
        >= 1.
    strip_length : int, default=5
        Epochs from one validation to the next; >= 1.
    generalisation_loss : float, default=inf
        Stop when GL = 100 (E_va / E_opt - 1) is above this, in percent; >= 0, infinity for never.
    training_progress : float, default=0.0
        Stop when P_k = 1000 (mean / min - 1) of the strip's k training errors is below this; >= 0, 0 for never.
    keep : {"last", "best"}, default="last"
        Whether the result has the weights after the last epoch or those of the validation minimum.
    random_state : int, RandomState, Generator or None, default=None
        Source of the initial weights, the order of the samples and the held-out share.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    mean_, scale_ : float64 ndarrays of shape (n_features_in_,)
        Mean and standard deviation by which features are standardised; 0 and 1 unless ``standardise``.
    coefs_ : list of float64 ndarrays of shape (n_sources, n_units)
        Weights of each layer.
    intercepts_ : list of float64 ndarrays of shape (n_units,)
    n_epochs_, best_epoch_ : int
        Epochs trained and the epoch of the validation minimum.
    training_curve_ : float64 ndarray of shape (n_epochs_,)
        Squared error percentage of each epoch, with each sample's error before its update.
    validation_curve_ : float64 ndarray of shape (n_strips,)
        Squared error percentage after each strip.
    stop_reason_ : {"generalisation_loss", "training_progress", "max_epochs"}
    """

    _remedy: ClassVar[str] = "Set standardise, scale the features or lower learning_rate (now {0.learning_rate})."
    _updates: ClassVar[Literal["epoch", "sample", "uncounted"]] = "sample"

    def __init__(
        self,
        hidden_layer_sizes: LayerSizes = (16,),
        *,
        hidden_activation: Literal["logistic", "softsign"] = "logistic",
        output_activation: Literal["linear", "logistic"] = "linear",
        standardise: bool = False,
        learning_rate: Positive = 0.1,
        decay_epochs: Positive | None = None,
        momentum: Annotated[float, Ge(0), Lt(1)] = 0.0,
        initial_weight_range: Positive = 0.5,
        max_epochs: Count = 100,
        strip_length: Count = 5,
        generalisation_loss: NotNegativeOrInfinite = math.inf,
        training_progress: NotNegative = 0.0,
        keep: Literal["last", "best"] = "last",
        random_state: Any = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.hidden_activation = hidden_activation
        self.output_activation = output_activation
        self.standardise = standardise
        self.learning_rate = learning_rate
        self.decay_epochs = decay_epochs
        self.momentum = momentum
        self.initial_weight_range = initial_weight_range
        self.max_epochs = max_epochs
        self.strip_length = strip_length
        self.generalisation_loss = generalisation_loss
        self.training_progress = training_progress
        self.keep = keep
        self.random_state = random_state

    def _hold_out(self, split: Split, rng: np.random.Generator) -> Split:
        if self.keep == "best" or self.generalisation_loss < math.inf:
            return super()._hold_out(split, rng)
        return replace(split, X_val=split.X, y_val=split.y)

    def _started(self, split: Split, rng: np.random.Generator) -> Task:
        n_features = split.X.shape[1]
        self.mean_ = split.X.mean(axis=0) if self.standardise else np.zeros(n_features)
        deviation = split.X.std(axis=0) if self.standardise else np.ones(n_features)
        # A constant feature deviates by rounding at most; it is divided by 1.
        rounding = 10.0 * np.finfo(np.float64).eps * np.abs(self.mean_)
        self.scale_ = np.where(deviation > rounding, deviation, 1.0)
        return super()._started(split, rng)

    def _scaled(self, X: Floats) -> Floats:
        return (X - self.mean_) / self.scale_

    def _train(self, tasks: Sequence[Task]) -> list[TrainedNet]:
        decay_epochs = math.inf if self.decay_epochs is None else float(self.decay_epochs)
        rule = BackpropRule(float(self.learning_rate), decay_epochs, float(self.momentum))
        return BackpropLanes(tasks, rule, self._stopping_rule(), keeps_best=self.keep == "best").train()
