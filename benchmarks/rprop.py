"""RPROP training of the 30 nets of a cell: against peers that train them at once, and one net at a time."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.compiled import PeerMissingError, address, load_c
from benchmarks.measuring import Contestant, Row, compare
from pppca_bench.classifiers.early_stopping import StoppingRule
from pppca_bench.classifiers.learning_rules import RpropRule
from pppca_bench.classifiers.network import Architecture, uniform_per_weight
from pppca_bench.classifiers.training import RpropLanes, Task
from pppca_bench.problems import load_problem

Floats = NDArray[np.float64]

N_NETS = 30
FIRST_STEP = 0.0125
RULE = RpropRule(1.2, 0.5, 0.0, 50.0)


@dataclass(frozen=True, slots=True)
class Case:
    """A problem, its hidden layers, the number of timed epochs, and the target ratios."""

    problem: str
    hidden: tuple[int, ...]
    n_epochs: int
    jax: float
    torch: float
    fann: float
    torch_shortcuts: float


CASES = (
    Case("cancer1", (4, 2), 400, 4.5, 25.0, 2.5, 20.0),
    Case("horse1", (16, 8), 200, 2.0, 15.0, 5.0, 12.0),
    Case("soybean1", (16, 8), 60, 1.7, 7.0, 8.0, 6.0),
    Case("thyroid1", (16, 8), 20, 2.3, 4.0, 5.0, 4.0),
)


def nets_of_a_cell(X: Floats, targets: Floats, hidden: tuple[int, ...], *, shortcuts: bool, n_nets: int) -> list[Task]:
    """Return nets to train; each has inputs of its own, a rotation, as the projections of a cell's repeats are."""
    rng = np.random.default_rng(0)
    architecture = Architecture(X.shape[1], hidden, targets.shape[1], shortcuts, "linear")
    tasks = []
    for _ in range(n_nets):
        inputs = X @ np.linalg.qr(rng.standard_normal((X.shape[1],) * 2))[0]
        weights = uniform_per_weight(architecture, -0.5, 0.5, rng)
        steps = [np.full_like(matrix, FIRST_STEP) for matrix in weights]
        tasks.append(Task(architecture, inputs, targets, inputs[:8], targets[:8], weights, steps, rng))
    return tasks


def train_ours(tasks: list[Task], n_epochs: int) -> list[list[Floats]]:
    """Train all nets for n_epochs; return their matrices, the bias in the first column."""
    nets = RpropLanes(tasks, RULE, StoppingRule(n_epochs, math.inf, 0.0, n_epochs)).train()
    return [net.weights for net in nets]


def train_torch(task: Task, n_epochs: int) -> list[Floats]:
    """Train one net with PyTorch."""
    from benchmarks.torch_rprop import train

    shortcuts = task.architecture.shortcuts
    return train(task.weights, task.X, task.targets, shortcuts=shortcuts, first_step=FIRST_STEP, n_epochs=n_epochs)


def train_fann(task: Task, n_epochs: int) -> list[Floats]:
    """Train one net with FANN.

    Raises
    ------
    PeerMissingError
        FANN or a C compiler is missing.
    """
    library = load_c("fann_rprop", "doublefann")
    sizes = (task.architecture.n_inputs, *task.architecture.layer_sizes)
    weights = np.concatenate([np.roll(matrix, -1, axis=1).ravel() for matrix in task.weights])
    X, targets = np.ascontiguousarray(task.X), np.ascontiguousarray(task.targets)
    library.train(
        len(sizes), (ctypes.c_uint * len(sizes))(*sizes), int(task.architecture.shortcuts), ctypes.c_double(FIRST_STEP),
        address(weights), len(X), address(X), address(targets), n_epochs,
    )  # fmt: skip
    splits = np.cumsum([matrix.size for matrix in task.weights])[:-1]
    parts = zip(np.split(weights, splits), task.weights, strict=True)
    return [np.roll(part.reshape(matrix.shape), 1, axis=1) for part, matrix in parts]


def together(peer: str, tasks: Sequence[Task], n_epochs: int, dtype: Any) -> Callable[[], list[Any]]:
    """Return a call by which a peer trains all nets, without shortcuts, at once, in float64 or float32.

    The peer takes and returns an array (n_nets, n_units, 1 + n_sources) for each layer, the bias first; its samples
    and targets have the shapes (n_nets, n_samples, n_inputs) and (n_nets, n_samples, n_outputs).

    Raises
    ------
    PeerMissingError
        The peer is not installed.
    """
    try:
        if peer == "JAX":
            from benchmarks.jax_rprop import trainer
        else:
            from benchmarks.torch_rprop import trainer
    except ImportError as missing:
        raise PeerMissingError(str(missing)) from None
    layers = [np.stack(matrices, dtype=dtype) for matrices in zip(*(task.weights for task in tasks), strict=True)]
    X, targets = (np.stack([getattr(task, name) for task in tasks], dtype=dtype) for name in ("X", "targets"))
    return trainer(layers, X, targets, first_step=FIRST_STEP, n_epochs=n_epochs)


def cell(case: Case, data: Path, *, shortcuts: bool) -> list[Task]:
    """Return the nets of a case's cell."""
    problem = load_problem(case.problem, data)
    targets = (problem.y_train[:, None] == np.arange(problem.n_outputs)).astype(np.float64)
    return nets_of_a_cell(problem.X_train, targets, case.hidden, shortcuts=shortcuts, n_nets=N_NETS)


def rows(data: Path) -> Iterator[Row]:
    """Measure nets without shortcuts: first against peers that train them together, then against one net at a time."""
    for case in CASES:
        tasks = cell(case, data, shortcuts=False)
        yield from _compare_together(case, tasks)
        yield from _compare(case, tasks, "RPROP", {"torch": case.torch, "FANN": case.fann})


def shortcut_rows(data: Path) -> Iterator[Row]:
    """Measure nets with shortcuts."""
    for case in CASES:
        tasks = cell(case, data, shortcuts=True)
        yield from _compare(case, tasks, "RPROP with shortcuts", {"torch": case.torch_shortcuts})


def check_agreement(peer: str, theirs: list[Floats], ours: list[Floats]) -> None:
    """Raise unless a peer moves the weights as ours do in the first epoch, but for those whose gradient is nearly zero.

    FANN takes a first step that has grown by a fifth already.
    """
    apart = np.abs(np.concatenate([(a - b).ravel() for a, b in zip(theirs, ours, strict=True)]))
    if np.mean(apart > 0.3 * FIRST_STEP) > 0.01:
        raise ValueError(f"{peer}: expected the weights of our first epoch, got some {apart.max():g} apart")


TOGETHER = {
    f"{peer}, {dtype.__name__}": (peer, dtype)
    for dtype in (np.float64, np.float32)
    for peer in ("JAX", "torch, batched")
}
"""Peers that train all nets of a cell at once."""


def _compare_together(case: Case, tasks: list[Task]) -> Iterator[Row]:
    """Time the peers and ours on all nets of the cell."""
    what, unit, n = _described("RPROP", case), "net and epoch", N_NETS * case.n_epochs
    expected = train_ours(tasks, 1)
    peers = {}
    for name, (peer, dtype) in TOGETHER.items():
        target = case.jax if name == "JAX, float64" else None
        try:
            stacked = together(peer, tasks, 1, dtype)()
        except PeerMissingError as missing:
            yield Row(what, name, unit, target, None, note=f"{peer} missing: {missing}")
            continue
        for k, ours in enumerate(expected):
            check_agreement(name, [matrices[k] for matrices in stacked], ours)
        peers[name] = Contestant(together(peer, tasks, case.n_epochs, dtype), n), target
    if peers:
        yield from compare(what, unit, Contestant(partial(train_ours, tasks, case.n_epochs), n), peers)


def _described(name: str, case: Case) -> str:
    return f"{name}, {case.problem}, {'+'.join(map(str, case.hidden))}"


TRAIN = {"torch": train_torch, "FANN": train_fann}


def _compare(case: Case, tasks: list[Task], name: str, targets: dict[str, float]) -> Iterator[Row]:
    """Time the peers on one net each, ours on all nets of the cell."""
    what = _described(name, case)
    ours = Contestant(partial(train_ours, tasks, case.n_epochs), N_NETS * case.n_epochs)
    peers = {}
    for peer, target in targets.items():
        train = TRAIN[peer]
        try:
            check_agreement(peer, train(tasks[0], 1), train_ours(tasks[:1], 1)[0])
        except PeerMissingError as missing:
            yield Row(what, peer, "net and epoch", target, None, note=f"{peer} missing: {missing}")
            continue
        peers[peer] = Contestant(partial(train, tasks[0], case.n_epochs), case.n_epochs), target
    if peers:
        yield from compare(what, "net and epoch", ours, peers)
