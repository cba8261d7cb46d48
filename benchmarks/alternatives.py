"""Slower ways to train the nets of a cell: matrix products (BLAS) and plain compiled loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.measuring import Contestant, Row, compare
from benchmarks.rprop import CASES, N_NETS, RULE, cell, train_ours
from pppca_bench.classifiers.training import Task

Array = NDArray[Any]


def train_stacked(tasks: Sequence[Task], n_epochs: int, dtype: type[np.floating[Any]] = np.float64) -> list[Array]:
    """Train all nets at once, each layer a stack of matrix products; return weights (n_nets, n_units, n_sources)."""
    weights = [np.stack([task.weights[k] for task in tasks]).astype(dtype) for k in range(len(tasks[0].weights))]
    steps = [np.stack([task.steps[k] for task in tasks]).astype(dtype) for k in range(len(weights))]
    inputs = np.stack([task.X for task in tasks]).astype(dtype)
    targets = np.stack([task.targets for task in tasks]).astype(dtype)
    previous = [np.zeros_like(W) for W in weights]
    for _ in range(n_epochs):
        for W, step, G, old in zip(weights, steps, stacked_gradients(weights, inputs, targets), previous, strict=True):
            rprop_step(W, step, G, old)
    return weights


def stacked_gradients(weights: Sequence[Array], inputs: Array, targets: Array) -> list[Array]:
    layers = [inputs]
    for k, W in enumerate(weights):
        sums = layers[-1] @ W[:, :, 1:].transpose(0, 2, 1) + W[:, None, :, 0]
        layers.append(sums if k == len(weights) - 1 else sums / (1.0 + np.abs(sums)))
    errors = layers.pop() - targets
    gradients: list[Array] = []
    for W, sources in zip(weights[::-1], layers[::-1], strict=True):
        G = np.concatenate([errors.sum(axis=1)[:, :, None], errors.transpose(0, 2, 1) @ sources], axis=2)
        gradients.insert(0, G)
        errors = errors @ W[:, :, 1:] * np.square(1.0 - np.abs(sources))
    return gradients


def rprop_step(W: Array, step: Array, G: Array, old: Array) -> None:
    """Make the step of `pppca_bench.classifiers.learning_rules.rprop_step` on whole arrays."""
    same = G * old
    turned = same < 0.0
    grown = np.where(same > 0.0, np.minimum(step * RULE.eta_plus, RULE.step_max), step)
    W -= np.sign(np.where(turned, -old, G)) * grown
    step[:] = np.where(turned, np.maximum(step * RULE.eta_minus, RULE.step_min), grown)
    old[:] = np.where(turned, 0.0, G)


def train_by_loops(task: Task, n_epochs: int) -> list[Array]:
    """Train one net, sample by sample and weight by weight, in compiled loops."""
    weights = [matrix.copy() for matrix in task.weights]
    steps = [matrix.copy() for matrix in task.steps]
    previous = [np.zeros_like(matrix) for matrix in weights]
    gradients = [np.empty_like(matrix) for matrix in weights]
    for _ in range(n_epochs):
        for G in gradients:
            G[:] = 0.0
        _add_gradients(*weights, *gradients, task.X, task.targets)
        for W, step, G, old in zip(weights, steps, gradients, previous, strict=True):
            rprop_step(W, step, G, old)
    return weights


@njit(cache=True, fastmath=True)
def _weighted_sums(W: Array, sources: Array, sums: Array) -> None:
    for j in range(W.shape[0]):
        total = W[j, 0]
        for i in range(len(sources)):
            total += W[j, 1 + i] * sources[i]
        sums[j] = total


@njit(cache=True, fastmath=True)
def _add_gradient(G: Array, errors: Array, sources: Array) -> None:
    for j in range(G.shape[0]):
        G[j, 0] += errors[j]
        for i in range(len(sources)):
            G[j, 1 + i] += errors[j] * sources[i]


@njit(cache=True, fastmath=True)
def _pass_back(W: Array, errors: Array, values: Array, passed: Array) -> None:
    for i in range(len(values)):
        total = 0.0
        for j in range(W.shape[0]):
            total += W[j, 1 + i] * errors[j]
        passed[i] = total * (1.0 - abs(values[i])) ** 2


@njit(cache=True, fastmath=True)
def _add_gradients(W1: Array, W2: Array, W3: Array, G1: Array, G2: Array, G3: Array, X: Array, targets: Array) -> None:
    """Add the gradients of a net with two hidden layers over all samples."""
    first, second, outputs = np.empty(len(W1)), np.empty(len(W2)), np.empty(len(W3))
    first_errors, second_errors = np.empty(len(W1)), np.empty(len(W2))
    for s in range(len(X)):
        _weighted_sums(W1, X[s], first)
        for j in range(len(first)):
            first[j] /= 1.0 + abs(first[j])
        _weighted_sums(W2, first, second)
        for j in range(len(second)):
            second[j] /= 1.0 + abs(second[j])
        _weighted_sums(W3, second, outputs)
        for j in range(len(outputs)):
            outputs[j] -= targets[s, j]
        _pass_back(W3, outputs, second, second_errors)
        _pass_back(W2, second_errors, first, first_errors)
        _add_gradient(G3, outputs, second)
        _add_gradient(G2, second_errors, first)
        _add_gradient(G1, first_errors, X[s])


def rows(data: Path) -> Iterator[Row]:
    """Measure our training against each alternative."""
    for case in CASES:
        tasks, n = cell(case, data, shortcuts=False), max(5, case.n_epochs // 4)
        calls = {
            "NumPy, one net at a time": (partial(train_stacked, tasks[:1], n), 1),
            "NumPy, all nets stacked": (partial(train_stacked, tasks, n), N_NETS),
            "the same in float32": (partial(train_stacked, tasks, n, np.float32), N_NETS),
            "Numba, plain loops, one net": (partial(train_by_loops, tasks[0], n), 1),
        }
        peers = {name: (Contestant(call, n * n_nets), None) for name, (call, n_nets) in calls.items()}
        ours = Contestant(partial(train_ours, tasks, n), n * N_NETS)
        yield from compare(f"RPROP, {case.problem}", "net and epoch", ours, peers, budget_s=2.0)
