"""Owns the compiled forward and backward pass of many nets of one architecture, one block of samples at a time."""

from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pppca_bench.compiled.lane_instructions import (
    ADD,
    ADD_PRODUCT,
    DIFFERENCE,
    LINEAR,
    SLOPE,
    SOFTSIGN,
    combine_rows,
    multiply,
)
from pppca_bench.compiled.lanes import LaneMatrix

N_INPUTS: Final = 0
SOURCE: Final = 1
N_SOURCES: Final = 2
N_CONSTANT: Final = 3
UNIT: Final = 4
N_UNITS: Final = 5
WEIGHT: Final = 6
ADDS: Final = 7


class Network(NamedTuple):
    """Describe an architecture to the kernels.

    A bias is the weight of a constant 1. One stands before the inputs of each sample and, without shortcuts, one
    before the units of each hidden layer, so that what feeds a layer is a run of inputs and a run of units.

    ``layers`` is int64 (n_layers, 8), one row a layer:

    - N_INPUTS: how many inputs feed it, the constant 1 included: all or none;
    - SOURCE, N_SOURCES, N_CONSTANT: the first unit that feeds it, how many do, how many of these are a constant 1;
    - UNIT, N_UNITS: its own first unit and how many it has;
    - WEIGHT: its first weight; a unit's weights are those of the inputs, then those of the units;
    - ADDS: 1 where a layer above has put errors into the units that feed it.

    ``n_inputs`` counts the constant 1, ``n_units`` all units of a sample; ``output_activation`` is LINEAR or SOFTSIGN.
    """

    layers: NDArray[np.int64]
    n_inputs: int
    n_units: int
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
def forward(network: Network, weights: NDArray[np.float64], samples: Samples, first: int, n: int, block: Block) -> None:
    """Compute the block's unit values for samples first .. first + n - 1, in place."""
    n_layers = network.layers.shape[0]
    for index in range(n_layers):
        layer = network.layers[index]
        activation = network.output_activation if index == n_layers - 1 else SOFTSIGN
        n_inputs, n_sources, n_units = layer[N_INPUTS], layer[N_SOURCES], layer[N_UNITS]
        values = LaneMatrix(block.values, layer[UNIT], network.n_units, 1)
        if n_inputs:
            inputs = LaneMatrix(samples.inputs, first * n_inputs, n_inputs, 1)
            W = LaneMatrix(weights, layer[WEIGHT], n_inputs + n_sources, 1)
            multiply(values, inputs, W, n, n_units, n_inputs, LINEAR if n_sources else activation)
        if n_sources:
            sources = LaneMatrix(block.values, layer[SOURCE], network.n_units, 1)
            W = LaneMatrix(weights, layer[WEIGHT] + n_inputs, n_inputs + n_sources, 1)
            multiply(values, sources, W, n, n_units, n_sources, activation | (ADD if n_inputs else LINEAR))


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
    samples: Samples,
    first: int,
    n: int,
    block: Block,
    gradient: NDArray[np.float64],
    mode: int,
) -> None:
    """Compute the gradient of half the squared error over samples first .. first + n - 1, in place.

    The block must hold the values and the output units' errors; those of the hidden units are computed here.

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
            _multiply_by_slope(network, layer, n, block)
        _pass_errors_back(network, layer, weights, n, block)
        n_inputs, n_sources, n_units = layer[N_INPUTS], layer[N_SOURCES], layer[N_UNITS]
        errors = LaneMatrix(block.errors, layer[UNIT], 1, network.n_units)
        inputs = LaneMatrix(samples.inputs, first * n_inputs, 1, n_inputs)
        G = LaneMatrix(gradient, layer[WEIGHT], n_inputs + n_sources, 1)
        multiply(G, errors, inputs, n_units, n_inputs, n, mode)
        sources = LaneMatrix(block.values, layer[SOURCE], 1, network.n_units)
        G = LaneMatrix(gradient, layer[WEIGHT] + n_inputs, n_inputs + n_sources, 1)
        multiply(G, errors, sources, n_units, n_sources, n, mode)


@njit(cache=True)
def _multiply_by_slope(network: Network, layer: NDArray[np.int64], n: int, block: Block) -> None:
    """Multiply a layer's errors by the derivative of x / (1 + |x|), (1 - |value|)², in place."""
    for s in range(n):
        unit = s * network.n_units + layer[UNIT]
        combine_rows(SLOPE, block.errors, unit, block.errors, unit, block.values, unit, layer[N_UNITS])


@njit(cache=True)
def _pass_errors_back(
    network: Network, layer: NDArray[np.int64], weights: NDArray[np.float64], n: int, block: Block
) -> None:
    """Pass a layer's errors back to the hidden units that feed it, in place."""
    errors = LaneMatrix(block.errors, layer[UNIT], network.n_units, 1)
    source_errors = LaneMatrix(block.errors, layer[SOURCE] + layer[N_CONSTANT], network.n_units, 1)
    weight = layer[WEIGHT] + layer[N_INPUTS] + layer[N_CONSTANT]
    W = LaneMatrix(weights, weight, 1, layer[N_INPUTS] + layer[N_SOURCES])
    n_hidden = layer[N_SOURCES] - layer[N_CONSTANT]
    multiply(source_errors, errors, W, n, n_hidden, layer[N_UNITS], ADD if layer[ADDS] else LINEAR)
