"""Online backpropagation, the slides' network: 30 nets of a cell together against PyTorch, one net at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import Contestant, Row, compare
from pppca_bench.classifiers.early_stopping import StoppingRule
from pppca_bench.classifiers.learning_rules import BackpropRule
from pppca_bench.classifiers.network import Architecture, uniform_per_weight
from pppca_bench.classifiers.training import BackpropLanes, Task
from pppca_bench.methods.lookup import find_classifier
from pppca_bench.problems import load_problem

Floats = NDArray[np.float64]

PROBLEMS = ("cancer1", "card1", "diabetes1", "glass1", "heart1", "horse1", "soybean1", "thyroid1")
"""Problems of the slides."""

N_NETS = 30
TARGET = 60.0
EPOCH_SAMPLES = 4000
"""Samples that our nets learn in a turn, each; the peer makes an epoch."""


def settings() -> dict[str, Any]:
    """Return the parameters of the slides' network."""
    return dict(find_classifier("slides_mlp").defaults)


def nets_of_a_cell(X: Floats, targets: Floats, hidden: tuple[int, ...], n_nets: int) -> list[Task]:
    """Return nets to train on standardised inputs, each with a rotation of its own and its own order of samples."""
    rng = np.random.default_rng(0)
    spread = X.std(axis=0)
    standardised = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    architecture = Architecture(X.shape[1], hidden, targets.shape[1], False, "logistic", "softsign")
    limit = settings()["initial_weight_range"]
    tasks = []
    for k in range(n_nets):
        inputs = np.ascontiguousarray(standardised @ np.linalg.qr(rng.standard_normal((X.shape[1],) * 2))[0])
        weights = uniform_per_weight(architecture, -limit, limit, rng)
        source = np.random.default_rng(k)
        tasks.append(Task(architecture, inputs, targets, inputs[:8], targets[:8], weights, steps=[], rng=source))
    return tasks


def train_ours(tasks: list[Task], n_epochs: int) -> list[list[Floats]]:
    """Train all nets for n_epochs; return their matrices, the bias in the first column."""
    rule = BackpropRule(settings()["learning_rate"], settings()["decay_epochs"], 0.0)
    stopping = StoppingRule(n_epochs, math.inf, 0.0, n_epochs)
    nets = BackpropLanes(tasks, rule, stopping, keeps_best=False).train()
    return [net.weights for net in nets]


def train_torch(task: Task, n_epochs: int) -> list[Floats]:
    """Train one net with PyTorch from the same weights, in the order that ours draw from a generator in this state."""
    import torch

    from benchmarks.torch_backprop import build, learn, matrices

    net = build((task.architecture.n_inputs, *task.architecture.layer_sizes))
    layers = [layer for layer in net if isinstance(layer, torch.nn.Linear)]
    with torch.no_grad():
        for layer, matrix in zip(layers, task.weights, strict=True):
            layer.bias.copy_(torch.from_numpy(matrix[:, 0]))
            layer.weight.copy_(torch.from_numpy(matrix[:, 1:]))
    orders = (task.rng.permutation(len(task.X)) for _ in range(n_epochs))
    rates = {name: settings()[name] for name in ("learning_rate", "decay_epochs")}
    learn(net, task.X, task.targets, orders, **rates)
    return matrices(net)


def check_agreement(task: Task) -> None:
    """Raise unless both sides have the same weights after an epoch in the same order, but for rounding."""
    theirs, ours = (replace(task, rng=np.random.default_rng(1)) for _ in range(2))
    pairs = zip(train_torch(theirs, 1), train_ours([ours], 1)[0], strict=True)
    apart = max(float(np.abs(a - b).max()) for a, b in pairs)
    if not apart <= 1e-8:
        raise ValueError(f"torch: expected the weights of our first epoch, got some {apart:g} apart")


def cell(problem: str, data: Path) -> list[Task]:
    """Return the nets of a problem's cell."""
    loaded = load_problem(problem, data)
    targets = (loaded.y_train[:, None] == np.arange(loaded.n_outputs)).astype(np.float64)
    return nets_of_a_cell(loaded.X_train, targets, tuple(settings()["hidden"]), N_NETS)


def epochs_of_ours(tasks: list[Task]) -> int:
    """Return the epochs that ours make in a turn."""
    return max(1, EPOCH_SAMPLES // len(tasks[0].X))


def rows(data: Path) -> Iterator[Row]:
    """Measure each of the slides' problems."""
    from benchmarks.torch_backprop import train

    for problem in PROBLEMS:
        tasks = cell(problem, data)
        check_agreement(tasks[0])
        n_epochs, (task, *_) = epochs_of_ours(tasks), tasks
        ours = Contestant(partial(train_ours, tasks, n_epochs), N_NETS * n_epochs)
        rates = {name: settings()[name] for name in ("learning_rate", "decay_epochs")}
        hidden = task.architecture.hidden_layer_sizes
        peer = Contestant(partial(train, task.X, task.targets, hidden=hidden, n_epochs=1, **rates), 1)
        what = f"Backpropagation, {problem}, {'+'.join(map(str, hidden))}"
        yield from compare(what, "net and epoch", ours, {"torch": (peer, TARGET)}, budget_s=2.0)
