"""Systems that train many networks, in NumPy: network after network, full batches by BLAS.

They start from the same weights, draw from the same generators and make the same decisions as the estimators, so that
both sides do the same work. The estimators' own steps in NumPy, breeding and saliencies, are shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from benchmarks.alternatives import rprop_step, stacked_gradients
from pppca_bench.classifiers import RpropMLPClassifier
from pppca_bench.classifiers.genetic_mlp import GAMLPClassifier
from pppca_bench.classifiers.network import network_outputs, unpack
from pppca_bench.classifiers.pruned_mlp import PrunedMLPClassifier, n_connections, optimal_brain_damage, prune_masks
from pppca_bench.classifiers.training import Task
from pppca_bench.reducers.wrapper_selection import weight_saliency

Floats = NDArray[np.float64]
Data = tuple[Floats, NDArray[np.int64], Floats, NDArray[np.int64]]
"""X, y, X_val, y_val."""


@dataclass(frozen=True)
class Net:
    """A layer's matrices, biases first, and the least squared validation error, in percent."""

    weights: list[Floats]
    error: float

    @property
    def coefs_(self) -> list[Floats]:
        """The weights without the biases, a layer's sources as rows."""
        return [matrix[:, 1:].T for matrix in self.weights]


def task_of(network: RpropMLPClassifier, data: Data) -> Task:
    """Return the training data and the initial weights of a network."""
    return network._task(network._validated(data, None))


def squared_error_percent(task: Task, weights: Sequence[Floats]) -> float:
    """Return the squared error percentage on the validation data."""
    return 100.0 * float(np.mean((network_outputs(task.architecture, weights, task.X_val) - task.targets_val) ** 2))


def train(task: Task, n_epochs: int, strip_length: int) -> Net:
    """Train a network by RPROP; return its state of the least validation error, measured after each strip."""
    weights, steps = ([matrix.copy()[np.newaxis] for matrix in part] for part in (task.weights, task.steps))
    previous = [np.zeros_like(W) for W in weights]
    X, targets = task.X[np.newaxis], task.targets[np.newaxis]
    best: Net | None = None
    for epoch in range(1, n_epochs + 1):
        for W, step, G, old in zip(weights, steps, stacked_gradients(weights, X, targets), previous, strict=True):
            rprop_step(W, step, G, old)
        if epoch % strip_length == 0 or epoch == n_epochs:
            now = [W[0] for W in weights]
            error = squared_error_percent(task, now)
            if best is None or error < best.error:
                best = Net([W.copy() for W in now], error)
    assert best is not None
    return best


def prune(network: PrunedMLPClassifier, data: Data) -> Net:
    """Train, delete, train again, and return the network of the least validation error."""
    task, rounds = task_of(network, data), []
    masks = [np.ones(matrix.shape, dtype=bool) for matrix in task.weights]
    weights, n_epochs = task.weights, network.max_epochs
    while True:
        rounds.append(train(replace(task, weights=weights).masked(masks), n_epochs, network.strip_length))
        if n_connections(masks) <= task.architecture.n_outputs:
            return min(reversed(rounds), key=lambda net: net.error)
        weights, n_epochs = rounds[-1].weights, network.retrain_epochs
        saliencies = optimal_brain_damage(task.architecture, weights, task.X, task.targets)
        masks = prune_masks(masks, saliencies, network.prune_fraction)


def one_by_one(task: Task, X: Floats, targets: Floats, population: Floats) -> Floats:
    """Return the squared error percentage of each network."""
    networks = (unpack(weights, task.architecture, task.architecture) for weights in population)
    outputs = (network_outputs(task.architecture, network, X) for network in networks)
    return np.array([100.0 * np.mean((Y - targets) ** 2) for Y in outputs])


def stacked(task: Task, X: Floats, targets: Floats, population: Floats) -> Floats:
    """Return the same from stacks of matrix products, all networks at once."""
    values, start = X[np.newaxis], 0
    sizes = zip(task.architecture.layer_sizes, task.architecture.n_sources, strict=True)
    for k, (n_units, n_sources) in enumerate(sizes):
        W = population[:, start : start + n_units * n_sources].reshape(-1, n_units, n_sources)
        start += n_units * n_sources
        values = values @ W[:, :, 1:].transpose(0, 2, 1) + W[:, np.newaxis, :, 0]
        if k < len(task.architecture.layer_sizes) - 1:
            values = values / (1.0 + np.abs(values))
    return 100.0 * np.mean((values - targets) ** 2, axis=(1, 2))


def evolve(network: GAMLPClassifier, data: Data, measure: Callable[..., Floats]) -> list[float]:
    """Evolve a network for all generations; return the training error of the fittest of each."""
    task = network._task(network._validated(data, None))
    population, course = network._first_generation(task), []
    while True:
        errors = measure(task, task.X, task.targets, population)
        course.append(float(errors.min()))
        is_last = len(course) == network.max_generations
        if is_last or len(course) % network.strip_length == 0:
            measure(task, task.X_val, task.targets_val, population[errors.argmin()][None])
        if is_last:
            return course
        population = network._breed(population, errors, task.rng)


def columns(data: Data, features: Sequence[int]) -> Data:
    """Return the data with some of the features."""
    X, y, X_val, y_val = data
    chosen = list(features)
    return np.ascontiguousarray(X[:, chosen]), y, np.ascontiguousarray(X_val[:, chosen]), y_val


def train_on(network: RpropMLPClassifier, data: Data, features: Sequence[int]) -> tuple[Net, float]:
    """Train a network on some features; return it and its classification error on the validation data."""
    task = task_of(clone(network), columns(data, features))
    net = train(task, network.max_epochs, network.strip_length)
    outputs = network_outputs(task.architecture, net.weights, task.X_val)
    return net, float(np.mean(outputs.argmax(axis=1) != task.targets_val.argmax(axis=1)))


def select_forward(network: RpropMLPClassifier, data: Data, n_features: int) -> tuple[int, ...]:
    """Add the feature of the least validation error, again and again; return the features in this order."""
    chosen: tuple[int, ...] = ()
    while len(chosen) < n_features:
        subsets = [(*chosen, feature) for feature in range(data[0].shape[1]) if feature not in chosen]
        chosen = _best(network, data, subsets)
    return chosen


def select_backward(network: RpropMLPClassifier, data: Data, n_features: int) -> tuple[int, ...]:
    """Remove features one after another; return the features that are left."""
    kept = _best(network, data, [tuple(range(data[0].shape[1]))])
    while len(kept) > n_features:
        kept = _best(network, data, [tuple(other for other in kept if other != feature) for feature in kept])
    return kept


def _best(network: RpropMLPClassifier, data: Data, subsets: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return min(subsets, key=lambda features: train_on(network, data, features)[1])


def eliminate(network: RpropMLPClassifier, data: Data, seeds: Sequence[int]) -> list[int]:
    """Remove the feature of least saliency in the mean of networks, again and again; return the features so removed."""
    kept, removed = list(range(data[0].shape[1])), []
    while kept:
        nets = [train_on(clone(network).set_params(random_state=seed), data, kept)[0] for seed in seeds]
        weakest = kept[int(np.mean([weight_saliency(net) for net in nets], axis=0).argmin())]
        removed.append(weakest)
        kept.remove(weakest)
    return removed
