"""Owns the compiled forward and backward pass of many nets of one architecture, one block of samples at a time.

Units of a sample lie in one row of a block: the constant 1, the inputs, then each layer's units (without shortcuts a
further constant 1 stands before every hidden layer), so the sources of a layer are always one run of units that starts
with a constant 1, whose weights are the biases.
"""

from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pppca_bench.classifier._lane_instructions import (
    ADD,
    ADD_PRODUCT,
    COPY,
    DIFFERENCE,
    LINEAR,
    SLOPE,
    SOFTSIGN,
    combine_rows,
)
from pppca_bench.classifier._lanes import LaneMatrix, lane_matrix, multiply

SOURCE: Final = 0
N_SOURCES: Final = 1
HIDDEN_SOURCE: Final = 2
UNIT: Final = 3
N_UNITS: Final = 4
WEIGHT: Final = 5
ADDS: Final = 6


class Network(NamedTuple):
    """Describe an architecture to the kernels.

    ``layers`` is int64 (n_layers, 7), one row a layer: first source unit, number of source units, first
    source that is a hidden unit (or the end of the sources), first own unit, number of own units, first
    weight row, 1 where a layer above has put errors into the same hidden sources.
    """

    layers: NDArray[np.int64]
    n_units: int
    n_inputs: int
    output_activation: int


class Samples(NamedTuple):
    """Hold a set of samples: lane arrays with n_inputs and n_outputs rows a sample."""

    inputs: NDArray[np.float64]
    targets: NDArray[np.float64]
    n_samples: int


class Block(NamedTuple):
    """Hold the units' values and errors of a block of samples: lane arrays with n_units rows a sample."""

    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    n_samples: int


@njit(cache=True)
def load_inputs(network: Network, samples: Samples, first: int, n: int, block: Block) -> None:
    """Copy the inputs of samples first .. first + n - 1 into a block, in place."""
    m = network.n_inputs
    for s in range(n):
        unit, row = s * network.n_units + 1, (first + s) * m
        combine_rows(COPY, block.values, unit, samples.inputs, row, samples.inputs, row, m)


@njit(cache=True)
def forward(network: Network, weights: NDArray[np.float64], block: Block, n: int) -> None:
    """Compute the values of all hidden and output units of the block's first n samples, in place."""
    n_layers = network.layers.shape[0]
    for index in range(n_layers):
        layer = network.layers[index]
        activation = network.output_activation if index == n_layers - 1 else SOFTSIGN
        values = lane_matrix(block.values, layer[UNIT], network.n_units, 1)
        sources = lane_matrix(block.values, layer[SOURCE], network.n_units, 1)
        W = lane_matrix(weights, layer[WEIGHT], layer[N_SOURCES], 1)
        multiply(values, sources, W, n, layer[N_UNITS], layer[N_SOURCES], activation)


@njit(cache=True)
def compare_outputs(
    network: Network, samples: Samples, first: int, n: int, block: Block, squared_error: NDArray[np.float64]
) -> None:
    """Store output - target as the output units' errors and add their squares to ``squared_error``, in place.

    Parameters
    ----------
    squared_error : float64 (n_outputs, LANES)
        Sum of squared errors of each output of each net.
    """
    layer = network.layers[-1]
    n_outputs = layer[N_UNITS]
    for s in range(n):
        unit, row = s * network.n_units + layer[UNIT], (first + s) * n_outputs
        combine_rows(DIFFERENCE, block.errors, unit, block.values, unit, samples.targets, row, n_outputs)
        combine_rows(ADD_PRODUCT, squared_error, 0, block.errors, unit, block.errors, unit, n_outputs)


@njit(cache=True)
def backward(
    network: Network,
    weights: NDArray[np.float64],
    block: Block,
    n: int,
    gradient: NDArray[np.float64],
    mode: int,
) -> None:
    """Compute the gradient of half the squared error over the block's first n samples, in place.

    The output units' errors must be in the block; those of the hidden units are computed here.

    Parameters
    ----------
    gradient : float64 (n_weights, LANES)
    mode : int
        ADD to the gradient, or LINEAR to overwrite it.
    """
    n_layers = network.layers.shape[0]
    for index in range(n_layers - 1, -1, -1):
        layer = network.layers[index]
        if index < n_layers - 1 or network.output_activation == SOFTSIGN:
            _multiply_by_derivative(network, layer, block, n)
        errors = lane_matrix(block.errors, layer[UNIT], network.n_units, 1)
        _add_source_errors(network, layer, weights, errors, block, n)
        G = lane_matrix(gradient, layer[WEIGHT], layer[N_SOURCES], 1)
        errors_by_unit = lane_matrix(block.errors, layer[UNIT], 1, network.n_units)
        sources = lane_matrix(block.values, layer[SOURCE], 1, network.n_units)
        multiply(G, errors_by_unit, sources, layer[N_UNITS], layer[N_SOURCES], n, mode)


@njit(cache=True)
def _multiply_by_derivative(network: Network, layer: NDArray[np.int64], block: Block, n: int) -> None:
    """Multiply a layer's errors by the derivative of x / (1 + |x|), (1 - |value|)², in place."""
    for s in range(n):
        unit = s * network.n_units + layer[UNIT]
        combine_rows(SLOPE, block.errors, unit, block.errors, unit, block.values, unit, layer[N_UNITS])


@njit(cache=True)
def _add_source_errors(
    network: Network,
    layer: NDArray[np.int64],
    weights: NDArray[np.float64],
    errors: LaneMatrix,
    block: Block,
    n: int,
) -> None:
    """Pass a layer's errors back to the hidden units among its sources, in place."""
    skipped = layer[HIDDEN_SOURCE] - layer[SOURCE]
    n_hidden = layer[N_SOURCES] - skipped
    source_errors = lane_matrix(block.errors, layer[HIDDEN_SOURCE], network.n_units, 1)
    W_by_source = lane_matrix(weights, layer[WEIGHT] + skipped, 1, layer[N_SOURCES])
    mode = ADD if layer[ADDS] else LINEAR
    multiply(source_errors, errors, W_by_source, n, n_hidden, layer[N_UNITS], mode)
