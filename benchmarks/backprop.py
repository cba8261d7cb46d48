"""Online backpropagation, the slides' network: 30 nets of a cell, against a C loop and JAX."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.compiled import address, load_c
from benchmarks.measuring import Contestant, Row, compare
from benchmarks.rprop import check_agreement, stacked
from pppca_bench.classifiers.early_stopping import StoppingRule
from pppca_bench.classifiers.learning_rules import BackpropRule
from pppca_bench.classifiers.network import Architecture, uniform_per_weight
from pppca_bench.classifiers.training import BackpropLanes, TrainingTask
from pppca_bench.methods.lookup import find_classifier
from pppca_bench.problems import load_problem

Floats = NDArray[np.float64]

PROBLEMS = ("card1", "heart1", "horse1", "soybean1")
"""Of the slides' problems, those whose weights fill many registers."""

N_NETS = 30
EPOCH_SAMPLES = 4000
"""Samples that a net learns in a turn."""


def settings() -> dict[str, Any]:
    """Return the parameters of the slides' network."""
    return dict(find_classifier("slides_mlp").defaults)


def nets_of_a_cell(
    X: Floats, targets: Floats, hidden: tuple[int, ...], n_nets: int
) -> list[TrainingTask]:
    """Return nets to train on standardised inputs, each with a rotation of its own and its own order of samples."""
    rng = np.random.default_rng(0)
    spread = X.std(axis=0)
    standardised = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    architecture = Architecture(X.shape[1], hidden, targets.shape[1], False, "logistic", "softsign")
    limit = settings()["initial_weight_range"]
    tasks = []
    for k in range(n_nets):
        inputs = np.ascontiguousarray(
            standardised @ np.linalg.qr(rng.standard_normal((X.shape[1],) * 2))[0]
        )
        weights = uniform_per_weight(architecture, -limit, limit, rng)
        source = np.random.default_rng(k)
        tasks.append(
            TrainingTask(
                architecture,
                inputs,
                targets,
                inputs[:8],
                targets[:8],
                weights,
                steps=[],
                rng=source,
            )
        )
    return tasks


def cell(problem: str, data: Path) -> list[TrainingTask]:
    """Return the nets of a problem's cell."""
    loaded = load_problem(problem, data)
    targets = (loaded.y_train[:, None] == np.arange(loaded.n_outputs)).astype(np.float64)
    return nets_of_a_cell(loaded.X_train, targets, tuple(settings()["hidden"]), N_NETS)


def epochs_of_a_turn(tasks: Sequence[TrainingTask]) -> int:
    """Return the epochs of a turn."""
    return max(1, EPOCH_SAMPLES // len(tasks[0].X))


def train_ours(tasks: list[TrainingTask], n_epochs: int) -> list[list[Floats]]:
    """Train all nets for n_epochs; return their matrices, the bias in the first column."""
    rule = BackpropRule(settings()["learning_rate"], settings()["decay_epochs"])
    stopping = StoppingRule(n_epochs, math.inf, 0.0, n_epochs)
    nets = BackpropLanes(tasks, rule, stopping, keeps_best=False).train()
    return [net.weights for net in nets]


def jax_trainer(tasks: Sequence[TrainingTask], n_epochs: int) -> Callable[[], list[Any]]:
    """Return a call by which JAX trains all nets, in the orders that ours draw from fresh generators."""
    from benchmarks.jax_peers import backprop

    sources = [np.random.default_rng(k) for k in range(len(tasks))]
    orders = np.array(
        [[rng.permutation(len(tasks[0].X)) for _ in range(n_epochs)] for rng in sources]
    )
    rates = {name: settings()[name] for name in ("learning_rate", "decay_epochs")}
    return backprop(*stacked(tasks), orders, **rates)


def train_c(tasks: Sequence[TrainingTask], n_epochs: int) -> list[list[Floats]]:
    """Train the nets one after another by the C loop; return their matrices."""
    learn, rate, decay = (
        load_c("backprop_loop").learn,
        settings()["learning_rate"],
        settings()["decay_epochs"],
    )
    trained = []
    for k, task in enumerate(tasks):
        rng, layers = np.random.default_rng(k), [matrix.copy() for matrix in task.weights]
        sizes = [ctypes.c_long(size) for size in (*task.X.shape, len(layers[0]), len(layers[1]))]
        for epoch in range(n_epochs):
            arrays = (*layers, task.X, task.targets, rng.permutation(len(task.X)))
            learn(*map(address, arrays), *sizes, ctypes.c_double(rate / (1.0 + epoch / decay)))
        trained.append(layers)
    return trained


def rows(data: Path) -> Iterator[Row]:
    """Measure each problem."""
    for problem in PROBLEMS:
        theirs, tasks = jax_trainer(cell(problem, data), 1)(), cell(problem, data)
        check_agreement("JAX", theirs, train_ours(tasks, 1), 1e-6)
        in_c = [
            np.stack(matrices) for matrices in zip(*train_c(cell(problem, data), 1), strict=True)
        ]
        check_agreement("C loop", in_c, train_ours(cell(problem, data), 1), 1e-6)
        n_epochs = epochs_of_a_turn(tasks)
        calls = {
            "C loop": partial(train_c, tasks, n_epochs),
            "JAX, float64": jax_trainer(tasks, n_epochs),
        }
        ours = Contestant(partial(train_ours, tasks, n_epochs), N_NETS * n_epochs)
        peers = {name: (Contestant(call, N_NETS * n_epochs), None) for name, call in calls.items()}
        what = f"Backpropagation, {problem}, {'+'.join(map(str, tasks[0].architecture.hidden_layer_sizes))}"
        yield from compare(what, ours, peers)
