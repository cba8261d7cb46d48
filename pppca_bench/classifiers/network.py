"""Multi-layer perceptron: architecture, weight matrices, initial values, outputs and errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit

from pppca_bench.compiled.arrays import Flags, Floats, Indices

Activation = Literal["linear", "softsign"]
HiddenActivation = Literal["softsign", "logistic", "tanh"]
"""Softsign is x / (1 + |x|), logistic 1 / (1 + exp(−x))."""


@dataclass(frozen=True)
class Architecture:
    """Architecture of a feed-forward network with a bias in every hidden and output unit.

    Parameters
    ----------
    n_inputs, n_outputs : int
        >= 1.
    hidden_layer_sizes : tuple of int
        Units of each hidden layer, >= 1; empty for the linear network.
    shortcuts : bool
        Whether each layer takes the inputs and all earlier layers, or only the layer before it.
    output_activation : {"linear", "softsign", "logistic"}
    hidden_activation : {"softsign", "logistic", "tanh"}
    """

    n_inputs: int
    hidden_layer_sizes: tuple[int, ...]
    n_outputs: int
    shortcuts: bool
    output_activation: Activation | Literal["logistic"]
    hidden_activation: HiddenActivation = "softsign"

    @property
    def layer_sizes(self) -> tuple[int, ...]:
        """Units of each layer that has weights."""
        return (*self.hidden_layer_sizes, self.n_outputs)

    @property
    def n_sources(self) -> tuple[int, ...]:
        """Number of units that feed each layer, including the constant 1 of the bias."""
        before = (self.n_inputs, *self.hidden_layer_sizes)
        if self.shortcuts:
            return tuple(1 + sum(before[: k + 1]) for k in range(len(before)))
        return tuple(1 + size for size in before)

    @property
    def n_weights(self) -> int:
        """Number of weights, including biases."""
        return sum(n * m for n, m in zip(self.layer_sizes, self.n_sources, strict=True))

    def layer_table(self) -> Indices:
        """Return the table of layers for kernels, int64 (n_layers, 8), see `passes.Network`."""
        rows: list[list[int]] = []
        start = weight = source = 0
        for k, (size, n_all) in enumerate(zip(self.layer_sizes, self.n_sources, strict=True)):
            n_inputs = 1 + self.n_inputs if k == 0 or self.shortcuts else 0
            n_sources = n_all - n_inputs
            has_constant = not self.shortcuts and k > 0
            is_hidden = k < len(self.hidden_layer_sizes)
            start += is_hidden and not self.shortcuts  # a constant 1 before the units
            adds = is_hidden and self.shortcuts
            # in the order of the codes N_INPUTS to ADDS of `passes`
            rows.append([n_inputs, source, n_sources, has_constant, start, size, weight, adds])
            source = 0 if self.shortcuts else start - 1
            start += size
            weight += size * n_all
        return np.array(rows, dtype=np.int64)


def uniform_per_weight(
    architecture: Architecture, low: float, high: float, rng: np.random.Generator
) -> list[Floats]:
    """Draw a number for each weight: a float64 (n_units, n_sources) matrix for each layer."""
    shapes = zip(architecture.layer_sizes, architecture.n_sources, strict=True)
    return [rng.uniform(low, high, size=shape) for shape in shapes]


def pack(matrices: Sequence[Floats], narrow: Architecture, wide: Architecture) -> Floats:
    """Flatten the weight matrices of a narrow network, in the layout of a wide network with at least as many inputs.

    Networks of different input sizes can thus share lanes. Weights of the additional inputs are zero.
    """
    indices = [1 + narrow.n_inputs] * (wide.n_inputs - narrow.n_inputs)
    padded = [
        np.insert(matrix, indices, 0.0, axis=1)
        if indices and (k == 0 or narrow.shortcuts)
        else matrix
        for k, matrix in enumerate(matrices)
    ]
    return np.concatenate([matrix.ravel() for matrix in padded])


def unpack(weights: Floats, narrow: Architecture, wide: Architecture) -> list[Floats]:
    """Return the weight matrices of the narrow network from the flat weights of the wide network; inverse of `pack`."""
    matrices, start = [], 0
    for k, (size, n_sources) in enumerate(zip(wide.layer_sizes, wide.n_sources, strict=True)):
        matrix = weights[start : start + size * n_sources].reshape(size, n_sources)
        start += matrix.size
        if narrow.n_inputs < wide.n_inputs and (k == 0 or wide.shortcuts):
            matrix = np.delete(matrix, np.s_[1 + narrow.n_inputs : 1 + wide.n_inputs], axis=1)
        matrices.append(matrix.copy())
    return matrices


def activated(net: Floats, activation: Activation | HiddenActivation) -> Floats:
    """Return the outputs of units for their net inputs, of any shape."""
    if activation == "softsign":
        return net / (1.0 + np.abs(net))
    if activation == "logistic":
        outputs: Floats = expit(net)
        return outputs
    return np.tanh(net) if activation == "tanh" else net


def network_outputs(architecture: Architecture, matrices: Sequence[Floats], X: Floats) -> Floats:
    """Compute the outputs, float64 (n_samples, n_outputs), for inputs X, float64 (n_samples, n_inputs)."""
    sources = X
    for k, matrix in enumerate(matrices):
        is_hidden = k < len(matrices) - 1
        activation = architecture.hidden_activation if is_hidden else architecture.output_activation
        outputs = activated(sources @ matrix[:, 1:].T + matrix[:, 0], activation)
        sources = np.hstack([sources, outputs]) if architecture.shortcuts else outputs
    return outputs


def weight_masks(architecture: Architecture, kept: Flags) -> list[Flags]:
    """Return masks of the remaining weights if only some inputs and hidden nodes are kept.

    ``kept`` has a bool for each input, then for each hidden node. A mask is a bool matrix (n_units, n_sources) for a
    layer, with the column of biases first.
    """
    sizes = (architecture.n_inputs, *architecture.hidden_layer_sizes)
    layers = np.split(kept, np.cumsum(sizes)[:-1])
    units = [*layers[1:], np.ones(architecture.n_outputs, dtype=bool)]
    masks = []
    for number, unit in enumerate(units):
        sources = layers[: number + 1] if architecture.shortcuts else [layers[number]]
        masks.append(np.outer(unit, np.concatenate([[True], *sources])))
    return masks


def connected_inputs(architecture: Architecture, masks: Sequence[Flags]) -> Flags:
    """Return whether a path of weights leads from each input to an output, bool (n_inputs,).

    ``masks`` mark the existing weights, as in `weight_masks`.
    """
    # With weights of 1 and no biases, terms do not cancel: an output is positive exactly if a path leads to it.
    paths = [np.insert(mask[:, 1:].astype(np.float64), 0, 0.0, axis=1) for mask in masks]
    reached: Flags = network_outputs(architecture, paths, np.eye(architecture.n_inputs)) > 0.0
    return np.any(reached, axis=1)


def squared_error_percent(outputs: Floats, targets: Floats) -> float:
    """Return 100 times the mean squared difference between outputs and targets (Proben1 report, section 2.5).

    Both have the shape (n_samples, n_outputs); targets have a range of 1.
    """
    return 100.0 * float(np.mean((outputs - targets) ** 2))


def nearest_probabilities(outputs: Floats) -> Floats:
    """Project each row on the probability simplex (Held, Wolfe & Crowder 1974)."""
    descending = -np.sort(-outputs, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    counts = np.arange(1, outputs.shape[1] + 1)
    n_positive = np.sum(descending * counts > excess, axis=1, keepdims=True)
    shift = np.take_along_axis(excess, n_positive - 1, axis=1) / n_positive
    return np.maximum(outputs - shift, 0.0)
