"""Networks trained side by side by RPROP: each has a lane, and the next one waiting takes a lane that becomes free."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from pppca_bench.classifiers import early_stopping as stopping
from pppca_bench.classifiers import rprop as kernels
from pppca_bench.classifiers.lanes import LANES, LINEAR, SOFTSIGN
from pppca_bench.classifiers.network import Architecture, pack, unpack
from pppca_bench.classifiers.passes import N_UNITS, UNIT, Block, Network, Samples
from pppca_bench.compiled.arrays import Floats, Indices, aligned_zeros

BLOCK_SAMPLES = 32
"""Samples that pass through the net before their gradient is added up: enough to spread the cost of a pass, few enough
to stay in the cache."""

STOP_REASONS = {
    stopping.GENERALISATION_LOSS: "generalisation_loss",
    stopping.NO_PROGRESS: "training_progress",
    stopping.MAX_EPOCHS: "max_epochs",
    stopping.NOT_FINITE: "not_finite",
}


@dataclass(frozen=True)
class Task:
    """Hold one net's architecture, data and initial state.

    ``X``, ``X_val``: float64 (n_samples, n_inputs). ``targets``, ``targets_val``: float64 (n_samples, n_outputs).
    ``weights``, ``steps``: one float64 (n_units, n_sources) matrix a layer.
    """

    architecture: Architecture
    X: Floats
    targets: Floats
    X_val: Floats
    targets_val: Floats
    weights: list[Floats]
    steps: list[Floats]

    @property
    def shape(self) -> tuple[Architecture, int, int]:
        """What nets must share to train side by side: all but the number of inputs."""
        return replace(self.architecture, n_inputs=1), len(self.X), len(self.X_val)


@dataclass(frozen=True)
class TrainedNet:
    """Hold the weights of the validation minimum and how the training went."""

    weights: list[Floats]
    best_epoch: int
    training_curve: Floats
    validation_curve: Floats
    stop_reason: str


def train_nets(
    tasks: Sequence[Task], rprop_rule: kernels.RpropRule, stopping_rule: stopping.StoppingRule
) -> list[TrainedNet]:
    """Train nets of one `Task.shape` together, each with the result, to the last bit, of training alone."""
    n_inputs = max(task.architecture.n_inputs for task in tasks)
    lanes = Lanes(tasks[0], n_inputs, stopping_rule)
    waiting = iter(enumerate(tasks))
    seated: dict[int, int] = {}
    trained: dict[int, TrainedNet] = {}
    _seat_waiting(lanes, waiting, seated)
    while seated:
        lanes.train_until_one_stops(rprop_rule, stopping_rule)
        # A net that has stopped leaves its lane to the next one while the others train on.
        left = [lane for lane in seated if lanes.has_stopped(lane)]
        for lane in left:
            index = seated.pop(lane)
            trained[index] = lanes.take_out(lane, tasks[index])
        _seat_waiting(lanes, waiting, seated)
        if seated:
            lanes.empty(set(left) - seated.keys())
    return [trained[index] for index in range(len(tasks))]


def _seat_waiting(lanes: "Lanes", waiting: Iterator[tuple[int, Task]], seated: dict[int, int]) -> None:
    """Give each free lane to the next waiting net."""
    for lane in set(range(LANES)) - seated.keys():
        for index, task in waiting:
            lanes.seat(lane, task)
            seated[lane] = index
            break


class Lanes:
    """Hold the arrays of the nets in training."""

    def __init__(self, task: Task, n_inputs: int, rule: stopping.StoppingRule) -> None:
        self.architecture = replace(task.architecture, n_inputs=n_inputs)
        self.network, self.block = network_and_block(self.architecture)
        self.training = empty_samples(self.architecture, len(task.X))
        self.validation = empty_samples(self.architecture, len(task.X_val))
        n_weights = self.architecture.n_weights
        self.state = kernels.RpropState(*(aligned_zeros(n_weights, LANES) for _ in range(4)))
        self.progress = idle_progress(n_weights, rule)

    def seat(self, lane: int, task: Task) -> None:
        """Put a net into a lane."""
        fill(self.training, lane, task.X, task.targets)
        fill(self.validation, lane, task.X_val, task.targets_val)
        self.state.weights[:, lane] = pack(task.weights, task.architecture, self.architecture)
        self.state.steps[:, lane] = pack(task.steps, task.architecture, self.architecture)
        self.state.previous_gradient[:, lane] = 0.0
        stopping.begin(self.progress, lane)

    def train_until_one_stops(self, rprop_rule: kernels.RpropRule, rule: stopping.StoppingRule) -> None:
        """Train the seated nets until at least one has stopped."""
        samples = self.training, self.validation
        kernels.train_until_one_stops(self.network, *samples, self.block, rprop_rule, self.state, rule, self.progress)

    def has_stopped(self, lane: int) -> bool:
        """Tell whether the net in a lane has stopped."""
        return bool(self.progress.status[lane] != stopping.TRAINING)

    def take_out(self, lane: int, task: Task) -> TrainedNet:
        """Return the result of the net in a lane."""
        progress = self.progress
        net = TrainedNet(
            weights=unpack(progress.best_weights[:, lane], task.architecture, self.architecture),
            best_epoch=int(progress.best_epoch[lane]),
            training_curve=progress.training_curve[: progress.epochs[lane], lane].copy(),
            validation_curve=progress.validation_curve[: progress.n_validations[lane], lane].copy(),
            stop_reason=STOP_REASONS[int(progress.status[lane])],
        )
        progress.status[lane] = stopping.IDLE
        return net

    def empty(self, lanes: Iterable[int]) -> None:
        """Empty lanes: they compute on with zero weights, which costs nothing more and cannot overflow."""
        for lane, rows in product(lanes, (*self.state, *self.training[:2], *self.validation[:2])):
            rows[:, lane] = 0.0


def network_and_block(
    architecture: Architecture, hidden_activation: int = SOFTSIGN, output_activation: int | None = None
) -> tuple[Network, Block]:
    """Return the kernels' description of an architecture and an empty block whose constant units are 1.

    Parameters
    ----------
    architecture : Architecture
    hidden_activation, output_activation : int
        Codes of `passes`; the output's is the architecture's own unless given.
    """
    layers, constants = architecture.layer_table()
    n_units = int(layers[-1, UNIT] + layers[-1, N_UNITS])
    if output_activation is None:
        output_activation = SOFTSIGN if architecture.output_activation == "softsign" else LINEAR
    values, errors = (aligned_zeros(BLOCK_SAMPLES * n_units, LANES) for _ in range(2))
    # The constant 1 of each sample: kernels read it and never write it.
    for unit in constants:
        values[unit::n_units] = 1.0
    network = Network(layers, 1 + architecture.n_inputs, n_units, hidden_activation, output_activation)
    squared_error = aligned_zeros(architecture.n_outputs, LANES)
    return network, Block(values, errors, squared_error, np.zeros(LANES), BLOCK_SAMPLES)


def empty_samples(architecture: Architecture, n_samples: int) -> Samples:
    """Allocate the lanes of a set of samples."""
    inputs = aligned_zeros(n_samples * (1 + architecture.n_inputs), LANES)
    return Samples(inputs, aligned_zeros(n_samples * architecture.n_outputs, LANES), n_samples)


def fill(samples: Samples, lane: int, X: Floats, targets: Floats) -> None:
    """Copy one net's samples into its lane, each after the constant 1; inputs that it lacks are zero."""
    inputs = samples.inputs.reshape(len(X), -1, LANES)
    end = 1 + X.shape[1]
    inputs[:, 0, lane] = 1.0
    inputs[:, 1:end, lane] = X
    # A net with fewer inputs has zeros here, and zero weights for them.
    inputs[:, end:, lane] = 0.0
    samples.targets.reshape(*targets.shape, LANES)[:, :, lane] = targets


def idle_progress(n_weights: int, rule: stopping.StoppingRule) -> stopping.Progress:
    """Allocate the state of early stopping, all lanes idle."""
    n_strips = -(-rule.max_epochs // rule.strip_length)
    return stopping.Progress(
        status=_counters(),
        epochs=_counters(),
        best_epoch=_counters(),
        n_validations=_counters(),
        n_increases=_counters(),
        conditions_met=_counters(),
        best_error=np.zeros(LANES),
        last_error=np.zeros(LANES),
        strip_sum=np.zeros(LANES),
        strip_min=np.zeros(LANES),
        best_weights=aligned_zeros(n_weights, LANES),
        training_curve=np.zeros((rule.max_epochs, LANES)),
        validation_curve=np.zeros((n_strips, LANES)),
    )


def _counters() -> Indices:
    """Allocate one integer a lane."""
    return np.zeros(LANES, dtype=np.int64)
