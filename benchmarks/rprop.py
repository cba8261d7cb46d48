"""RPROP training of the 30 nets of a cell, against peers that train them at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import Contestant, Row, compare
from pppca_bench.classifiers.early_stopping import StoppingRule
from pppca_bench.classifiers.learning_rules import RpropRule
from pppca_bench.classifiers.network import Architecture, uniform_per_weight
from pppca_bench.classifiers.training import RpropLanes, TrainingTask
from pppca_bench.problems import load_problem

Floats = NDArray[np.float64]

N_NETS = 30
FIRST_STEP = 0.0125
RULE = RpropRule(1.2, 0.5, 0.0, 50.0)


@dataclass(frozen=True, slots=True)
class Case:
    """A problem, its hidden layers, the number of timed epochs, and the ratio to reach against JAX in float64."""

    problem: str
    hidden: tuple[int, ...]
    n_epochs: int
    target: float

    @property
    def described(self) -> str:
        """Name of problem and hidden layers."""
        return f"{self.problem}, {'+'.join(map(str, self.hidden))}"


CASES = (
    Case("cancer1", (4, 2), 400, 4.5),
    Case("horse1", (16, 8), 200, 2.0),
    Case("soybean1", (16, 8), 60, 1.7),
    Case("thyroid1", (16, 8), 20, 2.3),
)

MODULES = {"JAX": "benchmarks.jax_peers", "PyTorch": "benchmarks.torch_rprop"}
DTYPES = (np.float64, np.float32)


def nets_of_a_cell(
    X: Floats, targets: Floats, hidden: tuple[int, ...], *, shortcuts: bool, n_nets: int
) -> list[TrainingTask]:
    """Return nets to train; each has inputs of its own, a rotation, as the projections of a cell's repeats are."""
    rng = np.random.default_rng(0)
    architecture = Architecture(X.shape[1], hidden, targets.shape[1], shortcuts, "linear")
    tasks = []
    for _ in range(n_nets):
        inputs = X @ np.linalg.qr(rng.standard_normal((X.shape[1],) * 2))[0]
        weights = uniform_per_weight(architecture, -0.5, 0.5, rng)
        steps = [np.full_like(matrix, FIRST_STEP) for matrix in weights]
        tasks.append(
            TrainingTask(
                architecture, inputs, targets, inputs[:8], targets[:8], weights, steps, rng
            )
        )
    return tasks


def cell(case: Case, data: Path, *, shortcuts: bool) -> list[TrainingTask]:
    """Return the nets of a case's cell."""
    problem = load_problem(case.problem, data)
    targets = (problem.y_train[:, None] == np.arange(problem.n_outputs)).astype(np.float64)
    return nets_of_a_cell(problem.X_train, targets, case.hidden, shortcuts=shortcuts, n_nets=N_NETS)


def train_ours(tasks: list[TrainingTask], n_epochs: int) -> list[list[Floats]]:
    """Train all nets for n_epochs; return their matrices, the bias in the first column."""
    nets = RpropLanes(tasks, RULE, StoppingRule(n_epochs, math.inf, 0.0, n_epochs)).train()
    return [net.weights for net in nets]


def stacked(tasks: Sequence[TrainingTask], dtype: Any = np.float64) -> tuple[list[Any], Any, Any]:
    """Return what peers train: matrices of each layer (n_nets, n_units, 1 + n_sources), X and targets of all nets."""
    layers = [
        np.stack(matrices, dtype=dtype)
        for matrices in zip(*(task.weights for task in tasks), strict=True)
    ]
    X, targets = (
        np.stack([getattr(task, name) for task in tasks], dtype=dtype) for name in ("X", "targets")
    )
    return layers, X, targets


def together(
    peer: str, tasks: Sequence[TrainingTask], n_epochs: int, dtype: Any = np.float64
) -> Callable[[], list[Any]]:
    """Return a call by which a peer trains all nets at once; it returns the matrices as `stacked` does."""
    shortcuts = tasks[0].architecture.shortcuts
    trainer = import_module(MODULES[peer]).rprop
    call: Callable[[], list[Any]] = trainer(
        *stacked(tasks, dtype), shortcuts=shortcuts, first_step=FIRST_STEP, n_epochs=n_epochs
    )
    return call


def check_agreement(
    peer: str, theirs: Sequence[Floats], ours: Sequence[Sequence[Floats]], step: float
) -> None:
    """Raise unless a peer moves all nets' weights as ours do, but for a hundredth: those whose gradient is nearly zero.

    ``theirs`` has the matrices of all nets by layers, ``ours`` by nets; moves may differ by a third of a step.
    """
    layers = zip(theirs, zip(*ours, strict=True), strict=True)
    apart = np.concatenate([np.abs(matrices - np.stack(own)).ravel() for matrices, own in layers])
    if not np.mean(apart < 0.3 * step) > 0.99:
        raise ValueError(
            f"{peer}: expected the weights of our first epoch, got some {apart.max():g} apart"
        )


def rows(data: Path) -> Iterator[Row]:
    """Measure nets without shortcuts, in both precisions of the peers, and with shortcuts in ours."""
    for case in CASES:
        yield from _rows_of(
            f"RPROP, {case.described}", case, cell(case, data, shortcuts=False), DTYPES
        )
    for case in CASES:
        tasks = cell(case, data, shortcuts=True)
        yield from _rows_of(f"RPROP with shortcuts, {case.described}", case, tasks, DTYPES[:1])


def _rows_of(
    what: str, case: Case, tasks: list[TrainingTask], dtypes: Sequence[Any]
) -> Iterator[Row]:
    """Time the peers and ours on all nets of the cell."""
    n, expected = N_NETS * case.n_epochs, train_ours(tasks, 1)
    peers: dict[str, tuple[Contestant, float | None]] = {}
    for dtype in dtypes:
        for peer in MODULES:
            check_agreement(peer, together(peer, tasks, 1, dtype)(), expected, FIRST_STEP)
            contestant = Contestant(together(peer, tasks, case.n_epochs, dtype), n)
            is_asked = (peer, dtype) == ("JAX", np.float64) and len(dtypes) > 1
            peers[f"{peer}, {dtype.__name__}"] = contestant, case.target if is_asked else None
    yield from compare(what, Contestant(partial(train_ours, tasks, case.n_epochs), n), peers)
