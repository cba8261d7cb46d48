"""Networks that record on a single training where each of 14 stopping criteria ends it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pppca_bench.base.samples import validated_samples
from pppca_bench.classifiers import early_stopping as stopping
from pppca_bench.classifiers.gradient_mlp import RpropMLP
from pppca_bench.classifiers.learning_rules import RpropRule
from pppca_bench.classifiers.mlp import MLPClassifier, MLPRegressor
from pppca_bench.classifiers.network import network_outputs, squared_error_percent, unpack
from pppca_bench.classifiers.training import RpropLanes, TrainedNet, TrainingTask, rule_of
from pppca_bench.compiled.arrays import Floats

CRITERIA: Final[Mapping[str, tuple[float, ...]]] = {
    "GL": (1, 2, 3, 5),
    "PQ": (0.5, 0.75, 1, 2, 3),
    "UP": (2, 3, 4, 6, 8),
}
"""Limits of the criteria: GL above α, GL / P_k above α, and s successive strips that raise the validation error.

Choice: Prechelt 1998 compares 14 criteria of these three classes, but the abstract does not say with which limits.
"""

NAMES: Final = {
    kind: [f"{kind}_{limit:g}" for limit in limits] for kind, limits in CRITERIA.items()
}
"""Names of the criteria of each class, such as ``"PQ_0.5"``, from the fastest to the slowest."""

ALL_NAMES: Final = [name for names in NAMES.values() for name in names]


class Stop(NamedTuple):
    """Stop of a criterion: number of epochs, epoch of the validation minimum, and weights of each layer there."""

    epochs: int
    best_epoch: int
    weights: list[Floats]


def criteria_met(loss: float, progress: float, n_increases: int) -> list[str]:
    """Return the criteria met at the end of a strip, given GL, P_k and the number of successive increases."""
    return [
        name
        for kind, limits in CRITERIA.items()
        for name, limit in zip(NAMES[kind], limits, strict=True)
        if (
            n_increases >= limit
            if kind == "UP"
            else loss > limit * (progress if kind == "PQ" else 1)
        )
    ]


class CriteriaLanes(RpropLanes):
    """RPROP training in lanes that halts after each strip, and records the stops of the criteria.

    ``kept`` of the result has a `Stop` for each criterion; a criterion that is not met stops at the end of training.
    """

    def __init__(
        self, tasks: Sequence[TrainingTask], rule: RpropRule, stop: stopping.StoppingRule
    ) -> None:
        # No progress is ever enough for the kernel, so that it returns after each strip.
        super().__init__(tasks, rule, stop._replace(training_progress=math.inf))
        self.least_progress = stop.training_progress
        self.stops: dict[int, dict[str, Stop]] = {}

    def _load(self, lane: int, task: TrainingTask) -> None:
        super()._load(lane, task)
        self.stops[lane] = {}

    def _advance(self) -> None:
        super()._advance()
        for lane, index in self.running.items():
            if self.progress.status[lane] not in (stopping.TRAINING, stopping.NOT_FINITE):
                self._end_strip(lane, self.tasks[index])

    def _end_strip(self, lane: int, task: TrainingTask) -> None:
        """Record the criteria that stop at the end of a strip, and continue the training unless its own rule stops."""
        progress, epochs = self.progress, int(self.progress.epochs[lane])
        start = (epochs - 1) // self.stop.strip_length * self.stop.strip_length
        errors = progress.training_curve[start:epochs, lane].tolist()
        speed = stopping.training_progress(sum(errors) / len(errors), min(errors))
        error = float(progress.validation_curve[progress.n_validations[lane] - 1, lane])
        loss = stopping.generalisation_loss(error, float(progress.best_error[lane]))
        if progress.status[lane] == stopping.NO_PROGRESS and speed >= self.least_progress:
            at_end = epochs == self.stop.max_epochs
            progress.status[lane] = stopping.MAX_EPOCHS if at_end else stopping.TRAINING
        met = criteria_met(loss, speed, int(progress.n_increases[lane]))
        names = met if progress.status[lane] == stopping.TRAINING else ALL_NAMES
        if new := [name for name in names if name not in self.stops[lane]]:
            column = progress.best_weights[:, lane]
            weights = unpack(column, task.architecture, self.architecture)
            stop = Stop(epochs, int(progress.best_epoch[lane]), weights)
            self.stops[lane] |= dict.fromkeys(new, stop)

    def _unload(self, lane: int, task: TrainingTask) -> TrainedNet:
        return replace(super()._unload(lane, task), kept=self.stops.pop(lane))


class CriteriaMLP(RpropMLP):
    """An RPROP network that records the stops of all criteria; see `CriteriaMLPClassifier`."""

    def _train(self, tasks: Sequence[TrainingTask]) -> list[TrainedNet]:
        stop = rule_of(stopping.StoppingRule, self)
        return CriteriaLanes(tasks, rule_of(RpropRule, self), stop).train()

    def _set_fitted(self, net: TrainedNet, task: TrainingTask) -> None:
        super()._set_fitted(net, task)
        self.stops_: dict[str, Stop] = net.kept
        epochs = {name: float(stop.epochs) for name, stop in net.kept.items()}
        self.measures_ |= {f"epochs_{name}": number for name, number in epochs.items()}
        self.measures_["slowdown"] = slowest_to_fastest(epochs)

    def test_measures(self, X: ArrayLike, y: ArrayLike) -> dict[str, float]:
        """Return the errors of the networks of all criteria, and how much the slowest criteria reduce them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels, or the targets of an approximation.

        Returns
        -------
        dict of str to float
            The squared error percentage of each criterion as ``test_squared_error_percent_NAME``, and ``gain_percent``.
        """
        inputs, targets = self._scaled(validated_samples(self, X)), self._targets(np.asarray(y))
        # Many criteria stop after the same validation minimum.
        weights = {stop.best_epoch: stop.weights for stop in self.stops_.values()}
        errors = {
            epoch: squared_error_percent(
                network_outputs(self._architecture, best_weights, inputs), targets
            )
            for epoch, best_weights in weights.items()
        }
        by_name = {name: errors[self.stops_[name].best_epoch] for name in ALL_NAMES}
        measures = {f"test_squared_error_percent_{name}": error for name, error in by_name.items()}
        return measures | {"gain_percent": 100.0 * (1.0 - slowest_to_fastest(by_name))}


def slowest_to_fastest(values: Mapping[str, float]) -> float:
    """Return the ratio of the slowest to the fastest criterion, the mean over the three classes; nan for a ratio to 0.

    Choice: within a class the criterion with the larger limit never stops earlier, so that "slower" has a meaning that
    no result decides.
    """
    ends = [(values[names[-1]], values[names[0]]) for names in NAMES.values()]
    return float(np.mean([slow / fast if fast else math.nan for slow, fast in ends]))


class CriteriaMLPClassifier(CriteriaMLP, MLPClassifier):
    """Classify with an RPROP network, and record where each of 14 stopping criteria would have ended its training.

    Prechelt 1998, "Early stopping - but when?": the criteria GL_α, PQ_α and UP_s on the same training. The limits are
    those of `CRITERIA`. The training is that of `RpropMLPClassifier` with the same parameters. With the limits of the
    report's search (``generalisation_loss=5``, ``successive_increases=8``, ``progress_quotient=3``) it ends with the
    last criterion. Too little progress (``training_progress``) and ``max_epochs`` stop each criterion as well.

    Parameters
    ----------
    hidden_layer_sizes, shortcuts, ..., random_state
        As in `RpropMLPClassifier`.

    Attributes
    ----------
    stops_ : dict of str to Stop
        Number of epochs, epoch of the validation minimum and weights of each criterion.
    measures_ : dict of str to float
        Those of `RpropMLPClassifier`, ``epochs_NAME`` of each criterion, and ``slowdown``, the ratio of epochs of the
        slowest to the fastest criterion of a class, the mean over the classes.
    """


class CriteriaMLPRegressor(CriteriaMLP, MLPRegressor):
    """Approximate targets with an RPROP network, and record stops of criteria as in `CriteriaMLPClassifier`."""
