"""Training of networks in lanes, by RPROP or online backpropagation, and errors of networks.

Each network has a lane. When a network stops, its lane is assigned to the next pending network.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pppca_bench.classifiers import early_stopping as stopping
from pppca_bench.classifiers import learning_rules as rules
from pppca_bench.classifiers.lanes import LANES, LINEAR, SOFTSIGN
from pppca_bench.classifiers.network import Architecture, pack, unpack
from pppca_bench.classifiers.passes import (
    EXACT_SOFTSIGN,
    LOGISTIC,
    N_CONSTANT,
    N_UNITS,
    SOURCE,
    TANH,
    UNIT,
    Block,
    Network,
    Samples,
    measure_networks,
)
from pppca_bench.compiled.arrays import Flags, Floats, aligned_zeros

LearningRule = TypeVar("LearningRule")

BLOCK_SAMPLES = 32
"""Number of samples in a block, a compromise between the overhead of a pass and the size of the cache."""

MAX_EPOCHS_PER_CALL = 10
"""Number of epochs of online training whose sample orders are in memory at the same time."""

STOP_REASONS = {
    stopping.GENERALISATION_LOSS: "generalisation_loss",
    stopping.NO_PROGRESS: "training_progress",
    stopping.MAX_EPOCHS: "max_epochs",
    stopping.NOT_FINITE: "not_finite",
}


@dataclass(frozen=True)
class TrainingTask:
    """Training task: architecture, data and initial state of a network.

    ``X``, ``X_val``: float64 (n_samples, n_inputs). ``targets``, ``targets_val``: float64 (n_samples, n_outputs).
    ``weights``, ``steps``: initial weights and step sizes, a float64 (n_units, n_sources) matrix for each layer; empty
    if the training draws them. ``rng``: source of random numbers during the training. ``selection``: the task on the
    data for a comparison of networks, if the training compares networks.
    """

    architecture: Architecture
    X: Floats
    targets: Floats
    X_val: Floats
    targets_val: Floats
    weights: list[Floats]
    steps: list[Floats]
    rng: np.random.Generator
    selection: Any = None

    @property
    def shape(self) -> tuple[Architecture, int, int]:
        """Sizes that networks in lanes must share: all except the number of inputs."""
        return replace(self.architecture, n_inputs=1), len(self.X), len(self.X_val)

    def masked(self, masks: Sequence[Flags]) -> "TrainingTask":
        """Return the task with weights and step sizes of 0, which RPROP does not change, outside the masks.

        Each layer has a mask, bool (n_units, n_sources), with the column of biases first.
        """
        weights, steps = (
            [np.where(mask, matrix, 0.0) for mask, matrix in zip(masks, matrices, strict=True)]
            for matrices in (self.weights, self.steps)
        )
        return replace(self, weights=weights, steps=steps)


@dataclass(frozen=True)
class TrainedNet:
    """Trained network: weights and training curves.

    ``kept``: remaining weights or nodes, if the training removes some. ``history``: further curves. ``minima``: the
    weights at each validation minimum, by its epoch, if the training records them.
    """

    weights: list[Floats]
    best_epoch: int
    training_curve: Floats
    validation_curve: Floats
    stop_reason: str
    kept: Any = None
    history: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    minima: Mapping[int, list[Floats]] = field(default_factory=dict)


class Lanes:
    """Base of training in lanes; a subclass has the learning rule.

    Tasks have the same `TrainingTask.shape`. Each network has the result of separate training, to the last bit. With
    ``records``, `_advance` returns after each strip, and the weights at each validation minimum are recorded.
    """

    is_online = False
    training: Any
    state: Any

    def __init__(
        self, tasks: Sequence[TrainingTask], stop: stopping.StoppingRule, *, records: bool = False
    ) -> None:
        self.records = records
        self.minima: dict[int, dict[int, list[Floats]]] = {}
        n_inputs = max(task.architecture.n_inputs for task in tasks)
        self.tasks, self.stop = tasks, stop
        self.architecture = replace(tasks[0].architecture, n_inputs=n_inputs)
        self.network, self.block = network_and_block(self.architecture, is_online=self.is_online)
        self.validation = empty_samples(self.architecture, len(tasks[0].X_val))
        counters, errors = np.zeros((6, LANES), dtype=np.int64), np.zeros((4, LANES))
        best_weights = aligned_zeros(self.architecture.n_weights, LANES)
        n_strips = -(-stop.max_epochs // stop.strip_length)
        curves = [np.zeros((n, LANES)) for n in (stop.max_epochs, n_strips)]
        self.progress = stopping.Progress(*[*counters, *errors, best_weights, *curves])
        self.pending = list(range(len(tasks)))[::-1]
        self.running: dict[int, int] = {}

    def train(self) -> list[TrainedNet]:
        """Train all networks and return their results in the order of the tasks."""
        trained: dict[int, TrainedNet] = {}
        while len(trained) < len(self.tasks):
            self.assign_lanes()
            self._advance()
            if self.records:
                self._record_minima()
            for lane, index in [*self.running.items()]:
                if self.progress.status[lane] != stopping.TRAINING:
                    trained[index] = self._unload(lane, self.tasks[index])
                    del self.running[lane]
        return [trained[index] for index in range(len(self.tasks))]

    def assign_lanes(self) -> None:
        """Assign each free lane to the next pending network."""
        for lane in range(LANES):
            if lane not in self.running and self.pending:
                self.running[lane] = self.pending.pop()
                task = self.tasks[self.running[lane]]
                self._load(lane, task)
                fill(self.validation, lane, task.X_val, task.targets_val)
                stopping.reset_lane(self.progress, lane)
                self.minima[lane] = {}

    def _record_minima(self) -> None:
        """Record the weights at the validation minimum of each network that has reached a new one."""
        for lane, index in self.running.items():
            epoch = int(self.progress.best_epoch[lane])
            if self.progress.n_validations[lane] and epoch not in self.minima[lane]:
                column = self.progress.best_weights[:, lane]
                architecture = self.tasks[index].architecture
                self.minima[lane][epoch] = unpack(column, architecture, self.architecture)

    @abstractmethod
    def _load(self, lane: int, task: TrainingTask) -> None:
        """Copy the training data and initial state of a network to a lane."""

    @abstractmethod
    def _advance(self) -> None:
        """Train the networks in the lanes for some epochs, at most until a network stops."""

    def _final_weights(self) -> Floats:
        return self.progress.best_weights

    def _unload(self, lane: int, task: TrainingTask) -> TrainedNet:
        """Return the result of the network in a lane, and clear the lane.

        A cleared lane computes with zero weights and zero data, which costs no time and cannot overflow.
        """
        progress = self.progress
        net = TrainedNet(
            weights=unpack(self._final_weights()[:, lane], task.architecture, self.architecture),
            best_epoch=int(progress.best_epoch[lane]),
            training_curve=progress.training_curve[: progress.epochs[lane], lane].copy(),
            validation_curve=progress.validation_curve[: progress.n_validations[lane], lane].copy(),
            stop_reason=STOP_REASONS[int(progress.status[lane])],
            minima=self.minima.pop(lane),
        )
        progress.status[lane] = stopping.IDLE
        for rows in (*self.state, *self.training[:2], *self.validation[:2]):
            # A lane is a column of a lane array, but a matrix in the pool of online training.
            rows[(slice(None), lane) if rows.ndim == 2 else lane] = 0.0
        return net


class RpropLanes(Lanes):
    """RPROP training in lanes; the result has the weights at the validation minimum."""

    training: Samples
    state: rules.RpropState

    def __init__(
        self,
        tasks: Sequence[TrainingTask],
        rule: rules.RpropRule,
        stop: stopping.StoppingRule,
        *,
        records: bool = False,
    ) -> None:
        super().__init__(tasks, stop, records=records)
        self.rule = rule
        # No progress is ever enough for the kernel that records, so that it returns after each strip.
        self.kernel_stop = stop._replace(training_progress=math.inf) if records else stop
        self.training = empty_samples(self.architecture, len(tasks[0].X))
        n_rows = [self.architecture.n_weights] * 4 + [2]
        self.state = rules.RpropState(*(aligned_zeros(n, LANES) for n in n_rows))

    def _load(self, lane: int, task: TrainingTask) -> None:
        fill(self.training, lane, task.X, task.targets)
        self.state.weights[:, lane] = pack(task.weights, task.architecture, self.architecture)
        self.state.steps[:, lane] = pack(task.steps, task.architecture, self.architecture)

    def _advance(self) -> None:
        samples = self.training, self.validation
        rules.train_until_any_stops(
            self.network,
            *samples,
            self.block,
            self.rule,
            self.state,
            self.kernel_stop,
            self.progress,
        )
        if self.records:
            self._continue_unless_stopped()

    def _continue_unless_stopped(self) -> None:
        """Continue the networks that only the kernel's own limit of the progress has stopped."""
        progress = self.progress
        for lane in self.running:
            if progress.status[lane] != stopping.NO_PROGRESS:
                continue
            epochs = int(progress.epochs[lane])
            start = (epochs - 1) // self.stop.strip_length * self.stop.strip_length
            errors = progress.training_curve[start:epochs, lane].tolist()
            speed = stopping.training_progress(sum(errors) / len(errors), min(errors))
            if speed >= self.stop.training_progress:
                at_end = epochs == self.stop.max_epochs
                progress.status[lane] = stopping.MAX_EPOCHS if at_end else stopping.TRAINING


class BackpropLanes(Lanes):
    """Online backpropagation in lanes, with a different order of samples for each network.

    The result has the weights at the validation minimum with ``keeps_best``, else the weights after the last epoch.
    """

    is_online = True
    training: rules.Pool
    state: rules.BackpropState

    def __init__(
        self,
        tasks: Sequence[TrainingTask],
        rule: rules.BackpropRule,
        stop: stopping.StoppingRule,
        *,
        keeps_best: bool,
        records: bool = False,
    ) -> None:
        super().__init__(tasks, stop, records=records)
        self.rule, self.keeps_best = rule, keeps_best
        n_inputs, targets = 1 + self.architecture.n_inputs, tasks[0].targets
        self.training = rules.Pool(
            np.zeros((LANES, len(targets), n_inputs)), np.zeros((LANES, *targets.shape))
        )
        self.samples = empty_samples(self.architecture, 2)
        self.state = rules.BackpropState(
            aligned_zeros(self.architecture.n_weights, LANES), aligned_zeros(1, LANES)
        )

    def _load(self, lane: int, task: TrainingTask) -> None:
        self.training.inputs[lane, :, 0] = 1.0
        self.training.inputs[lane, :, 1 : 1 + task.architecture.n_inputs] = task.X
        self.training.targets[lane] = task.targets
        self.state.weights[:, lane] = pack(task.weights, task.architecture, self.architecture)

    def _advance(self) -> None:
        """Train until a network reaches the end of a strip, for at most `MAX_EPOCHS_PER_CALL` epochs."""
        stop, n_samples = self.stop, len(self.training.targets[0])
        ages = [int(self.progress.epochs[lane]) for lane in self.running]
        to_strip_end = min(
            min(stop.strip_length - age % stop.strip_length, stop.max_epochs - age) for age in ages
        )
        # Each network draws orders from its own generator, as in separate training.
        orders = np.zeros(
            (min(to_strip_end, MAX_EPOCHS_PER_CALL), n_samples, LANES), dtype=np.int64
        )
        for lane, index in self.running.items():
            for order in orders:
                order[:, lane] = self.tasks[index].rng.permutation(n_samples)
        samples = self.training, orders, self.samples, self.validation
        rules.train_epochs(
            self.network, *samples, self.block, self.rule, self.state, stop, self.progress
        )

    def _final_weights(self) -> Floats:
        return self.progress.best_weights if self.keeps_best else self.state.weights


def population_errors(
    architecture: Architecture, X: Floats, targets: Floats
) -> Callable[[Floats], Floats]:
    """Return a function from weights (n_networks, n_weights) to squared error percentages on the samples."""
    network, block = network_and_block(architecture)
    samples = empty_samples(architecture, len(X))
    weights = aligned_zeros(architecture.n_weights, LANES)
    for lane in range(LANES):
        fill(samples, lane, X, targets)

    def measure(population: Floats) -> Floats:
        errors = np.empty(len(population))
        for first in range(0, len(population), LANES):
            networks = population[first : first + LANES]
            weights[:, : len(networks)] = networks.T
            measure_networks(network, weights, samples, block)
            errors[first : first + LANES] = block.percentage[: len(networks)]
        return errors

    return measure


def rule_of(kind: type[LearningRule], network: object) -> LearningRule:
    """Return the constants of a rule for kernels, each from the network's parameter of the same name."""
    return kind(
        **{name: convert(getattr(network, name)) for name, convert in kind.__annotations__.items()}
    )


def network_and_block(
    architecture: Architecture, *, is_online: bool = False
) -> tuple[Network, Block]:
    """Return the layout of an architecture for kernels, and an empty block whose constant units are 1.

    In online training each softsign has a division; otherwise four softsigns share one (`lanes.write_softsigns`).
    """
    layers = architecture.layer_table()
    n_units = int(layers[-1, UNIT] + layers[-1, N_UNITS])
    values, errors = (aligned_zeros(BLOCK_SAMPLES * n_units, LANES) for _ in range(2))
    # The constant 1 of each sample, which kernels never overwrite.
    for unit in layers[layers[:, N_CONSTANT] > 0, SOURCE]:
        values[unit::n_units] = 1.0
    codes = {
        "linear": LINEAR,
        "logistic": LOGISTIC,
        "tanh": TANH,
        "softsign": EXACT_SOFTSIGN if is_online else SOFTSIGN,
    }
    activations = codes[architecture.hidden_activation], codes[architecture.output_activation]
    network = Network(layers, 1 + architecture.n_inputs, n_units, *activations)
    squared_error = aligned_zeros(architecture.n_outputs, LANES)
    return network, Block(values, errors, squared_error, np.zeros(LANES), BLOCK_SAMPLES)


def empty_samples(architecture: Architecture, n_samples: int) -> Samples:
    """Allocate the lanes of a set of samples."""
    inputs = aligned_zeros(n_samples * (1 + architecture.n_inputs), LANES)
    return Samples(inputs, aligned_zeros(n_samples * architecture.n_outputs, LANES), n_samples)


def fill(samples: Samples, lane: int, X: Floats, targets: Floats) -> None:
    """Copy the samples of a network to a lane, each after the constant 1; missing inputs remain zero."""
    inputs = samples.inputs.reshape(len(X), -1, LANES)
    inputs[:, 0, lane] = 1.0
    inputs[:, 1 : 1 + X.shape[1], lane] = X
    samples.targets.reshape(*targets.shape, LANES)[:, :, lane] = targets
