"""Networks trained side by side by online backpropagation, each in a lane and in its own order of the samples."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pppca_bench.classifiers import backprop as kernels
from pppca_bench.classifiers.batch_training import (
    STOP_REASONS,
    Task,
    TrainedNet,
    empty_samples,
    fill,
    idle_progress,
    network_and_block,
)
from pppca_bench.classifiers.early_stopping import IDLE, TRAINING, StoppingRule, begin
from pppca_bench.classifiers.lanes import LANES
from pppca_bench.classifiers.network import pack, unpack
from pppca_bench.compiled.arrays import aligned_zeros

MAX_EPOCHS_A_CALL = 10
"""Epochs whose orders are held at once: enough to spread the cost of a call, few enough for the memory."""


@dataclass(frozen=True)
class BackpropTask(Task):
    """Hold one net's architecture, data, initial weights and the source of its samples' order."""

    rng: np.random.Generator


@dataclass(frozen=True)
class Training:
    """What the networks of a group share."""

    hidden_activation: int
    output_activation: int
    rule: kernels.BackpropRule
    stopping_rule: StoppingRule
    keeps_best: bool


def train_by_backprop(tasks: Sequence[BackpropTask], training: Training) -> list[TrainedNet]:
    """Train nets of one `Task.shape` together, each with the result, to the last bit, of training alone."""
    lanes = BackpropLanes(tasks, training)
    trained: dict[int, TrainedNet] = {}
    while len(trained) < len(tasks):
        lanes.seat_waiting()
        lanes.train_strip()
        trained |= lanes.take_out_stopped()
    return [trained[index] for index in range(len(tasks))]


class BackpropLanes:
    """Hold the arrays of the nets in training."""

    def __init__(self, tasks: Sequence[BackpropTask], training: Training) -> None:
        first = tasks[0]
        n_inputs = max(task.architecture.n_inputs for task in tasks)
        self.tasks, self.training = tasks, training
        self.waiting = list(range(len(tasks)))[::-1]
        self.seated: dict[int, int] = {}
        self.architecture = replace(first.architecture, n_inputs=n_inputs)
        activations = training.hidden_activation, training.output_activation
        self.network, self.block = network_and_block(self.architecture, *activations)
        self.pool = kernels.Pool(np.zeros((LANES, len(first.X), 1 + n_inputs)), np.zeros((LANES, *first.targets.shape)))
        self.sample = empty_samples(self.architecture, 1)
        self.validation = empty_samples(self.architecture, len(first.X_val))
        n_weights = self.architecture.n_weights
        weights, step = (aligned_zeros(n_weights, LANES) for _ in range(2))
        self.state = kernels.BackpropState(weights, step, aligned_zeros(1, LANES))
        self.progress = idle_progress(n_weights, training.stopping_rule)

    def seat_waiting(self) -> None:
        """Give each free lane to the next waiting net."""
        for lane in range(LANES):
            if lane not in self.seated and self.waiting:
                self.seated[lane] = self.waiting.pop()
                self._seat(lane, self.tasks[self.seated[lane]])

    def _seat(self, lane: int, task: BackpropTask) -> None:
        """Put a net into a lane."""
        end = 1 + task.architecture.n_inputs
        self.pool.inputs[lane, :, 0] = 1.0
        self.pool.inputs[lane, :, 1:end] = task.X
        self.pool.inputs[lane, :, end:] = 0.0
        self.pool.targets[lane] = task.targets
        fill(self.validation, lane, task.X_val, task.targets_val)
        self.state.weights[:, lane] = pack(task.weights, task.architecture, self.architecture)
        self.state.step[:, lane] = 0.0
        begin(self.progress, lane)

    def train_strip(self) -> None:
        """Train the seated nets to the next end of a strip of one of them, or for the epochs of one call."""
        n_samples = len(self.pool.targets[0])
        n_epochs = min(self._epochs_to_strip_end(), MAX_EPOCHS_A_CALL)
        # Orders come from each net's own generator, so they are those that it would have alone.
        orders = np.zeros((n_epochs, n_samples, LANES), dtype=np.int64)
        for lane, index in self.seated.items():
            for order in orders:
                order[:, lane] = self.tasks[index].rng.permutation(n_samples)
        training = self.training
        kernels.train_epochs(
            self.network,
            self.pool,
            orders,
            self.sample,
            self.validation,
            self.block,
            training.rule,
            self.state,
            training.stopping_rule,
            self.progress,
        )

    def _epochs_to_strip_end(self) -> int:
        """Count the epochs to the next end of a strip of a seated net."""
        rule = self.training.stopping_rule
        ages = [int(self.progress.epochs[lane]) for lane in self.seated]
        return min(min(rule.strip_length - age % rule.strip_length, rule.max_epochs - age) for age in ages)

    def take_out_stopped(self) -> dict[int, TrainedNet]:
        """Return the results of the nets that have stopped, by index, and empty their lanes.

        An empty lane computes on with zero weights and zero data, which costs nothing more and cannot overflow.
        """
        stopped = [lane for lane in self.seated if self.progress.status[lane] != TRAINING]
        trained = {self.seated[lane]: self._take_out(lane) for lane in stopped}
        self.seated = {lane: index for lane, index in self.seated.items() if lane not in stopped}
        return trained

    def _take_out(self, lane: int) -> TrainedNet:
        """Return the result of the net in a lane and empty the lane."""
        progress, task = self.progress, self.tasks[self.seated[lane]]
        weights = progress.best_weights if self.training.keeps_best else self.state.weights
        net = TrainedNet(
            weights=unpack(weights[:, lane], task.architecture, self.architecture),
            best_epoch=int(progress.best_epoch[lane]),
            training_curve=progress.training_curve[: progress.epochs[lane], lane].copy(),
            validation_curve=progress.validation_curve[: progress.n_validations[lane], lane].copy(),
            stop_reason=STOP_REASONS[int(progress.status[lane])],
        )
        progress.status[lane] = IDLE
        for rows in (*self.state[:2], *self.validation[:2]):
            rows[:, lane] = 0.0
        for pool in self.pool:
            pool[lane] = 0.0
        return net
