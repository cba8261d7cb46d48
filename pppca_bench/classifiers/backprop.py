"""Owns the compiled online backpropagation of many nets at once, each of which takes the samples in its own order."""

from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pppca_bench.classifiers.early_stopping import Progress, StoppingRule, end_epoch, end_strips, percentage
from pppca_bench.classifiers.passes import (
    N_CONSTANT,
    N_INPUTS,
    N_SOURCES,
    N_UNITS,
    SOURCE,
    UNIT,
    WEIGHT,
    Block,
    Network,
    Samples,
    compare_outputs,
)
from pppca_bench.compiled.lane_instructions import ADD, LANES, LINEAR, multiply
from pppca_bench.compiled.lanes import LaneMatrix

IDENTITY: Final = 0
LOGISTIC: Final = 1
SOFTSIGN: Final = 2


class Activations(NamedTuple):
    """Hold what the hidden and the output units compute: IDENTITY, LOGISTIC or SOFTSIGN each."""

    hidden: int
    output: int


class BackpropRule(NamedTuple):
    """Hold the constants of the step: -learning_rate times the gradient, and momentum times the step before."""

    learning_rate: float
    decay_epochs: float
    momentum: float


class BackpropState(NamedTuple):
    """Hold what changes in training: lane arrays with one row a weight; ``step`` is unused without momentum."""

    weights: NDArray[np.float64]
    step: NDArray[np.float64]


class Pool(NamedTuple):
    """Hold the training samples of each net, for samples to be taken in any order.

    ``inputs``: float64 (LANES, n_samples, n_inputs), the constant of the bias first.
    ``targets``: float64 (LANES, n_samples, n_outputs).
    """

    inputs: NDArray[np.float64]
    targets: NDArray[np.float64]


@njit(cache=True, error_model="numpy")
def logistic(x: float) -> float:
    """Return 1 / (1 + exp(-x)), right to 1e-14, in operations that a compiler can spread over a vector.

    Choice: exp(-|x|) is the 256th power of a Taylor polynomial, as the library's function takes one number at a time;
    below -40 the exponent counts as -40, where the result is 4e-18 or 1 to the last bit.
    """
    r = -(40.0 if abs(x) > 40.0 else abs(x)) * (1 / 256)
    power = 1 / 5040 + r * (1 / 40320 + r * (1 / 362880))
    power = 1.0 + r * (1.0 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 + r * power))))))
    power *= power
    power *= power
    power *= power
    power *= power
    power *= power
    power *= power
    power *= power
    power *= power
    small = power / (1.0 + power)
    return small if x < 0.0 else 1.0 - small


@njit(cache=True, error_model="numpy")
def activate(activation: int, lanes: NDArray[np.float64], first: int, n: int) -> None:
    """Replace the sums of n units by their values, in place.

    Parameters
    ----------
    activation : int
        IDENTITY, LOGISTIC or SOFTSIGN.
    lanes : float64 (n_units, LANES)
    first, n : int
        The rows first .. first + n - 1.
    """
    values = lanes[first : first + n].reshape(n * LANES)
    if activation == LOGISTIC:
        for k in range(values.size):
            values[k] = logistic(values[k])
    elif activation == SOFTSIGN:
        for k in range(values.size):
            values[k] /= 1.0 + abs(values[k])


@njit(cache=True)
def multiply_by_slope(
    activation: int, values: NDArray[np.float64], errors: NDArray[np.float64], first: int, n: int
) -> None:
    """Multiply the errors of n units by the derivative of their activation, in place.

    Parameters
    ----------
    activation : int
        IDENTITY; LOGISTIC, whose derivative is value (1 - value); SOFTSIGN, (1 - |value|)².
    values, errors : float64 (n_units, LANES)
    first, n : int
        The rows first .. first + n - 1.
    """
    if activation == LOGISTIC:
        for unit in range(first, first + n):
            for lane in range(LANES):
                errors[unit, lane] *= values[unit, lane] * (1.0 - values[unit, lane])
    elif activation == SOFTSIGN:
        for unit in range(first, first + n):
            for lane in range(LANES):
                root = 1.0 - abs(values[unit, lane])
                errors[unit, lane] *= root * root


@njit(cache=True)
def forward(
    network: Network,
    activations: Activations,
    weights: NDArray[np.float64],
    samples: Samples,
    first: int,
    n: int,
    block: Block,
) -> None:
    """Compute the block's unit values for samples first .. first + n - 1, in place.

    Parameters
    ----------
    network : Network
        Without shortcuts: the inputs feed the first layer, each layer the next one.
    weights : float64 (n_weights, LANES)
    first, n : int
        ``n`` is at most ``block.n_samples``.
    """
    n_layers = network.layers.shape[0]
    for index in range(n_layers):
        layer = network.layers[index]
        n_sources, n_units = layer[N_INPUTS] + layer[N_SOURCES], layer[N_UNITS]
        values = LaneMatrix(block.values, layer[UNIT], network.n_units, 1)
        W = LaneMatrix(weights, layer[WEIGHT], n_sources, 1)
        if index == 0:
            inputs = LaneMatrix(samples.inputs, first * n_sources, n_sources, 1)
            multiply(values, inputs, W, n, n_units, n_sources, LINEAR)
        else:
            sources = LaneMatrix(block.values, layer[SOURCE], network.n_units, 1)
            multiply(values, sources, W, n, n_units, n_sources, LINEAR)
        activation = activations.output if index == n_layers - 1 else activations.hidden
        for s in range(n):
            activate(activation, block.values, s * network.n_units + layer[UNIT], n_units)


@njit(cache=True)
def learn(
    network: Network,
    activations: Activations,
    rates: NDArray[np.float64],
    momentum: float,
    state: BackpropState,
    sample: Samples,
    block: Block,
) -> None:
    """Update all weights from one sample, in place: step = momentum * step - rate * gradient; weights += step.

    Rumelhart, Hinton & Williams 1986. The gradient is that of half the squared error at the weights as they were.
    All errors are linear in those of the outputs, so these carry the factor -rate down to the weights.

    Parameters
    ----------
    rates : float64 (LANES,)
        Each net's learning rate, > 0.
    momentum : float
        In [0, 1).
    sample : Samples
        One sample.
    block : Block
        The sample's values and its output units' errors; the errors change.
    """
    n_layers = network.layers.shape[0]
    step = state.weights if momentum == 0.0 else state.step
    if momentum != 0.0:
        _scale(step.ravel(), momentum)
    output = network.layers[-1]
    _scale_lanes(block.errors, output[UNIT], output[N_UNITS], rates)
    for index in range(n_layers - 1, -1, -1):
        layer = network.layers[index]
        activation = activations.output if index == n_layers - 1 else activations.hidden
        multiply_by_slope(activation, block.values, block.errors, layer[UNIT], layer[N_UNITS])
        if index > 0:
            _pass_errors_back(layer, state.weights, block)
        _add_products(layer, sample, block, step)
    if momentum != 0.0:
        _add(state.weights.ravel(), step.ravel())


@njit(cache=True)
def _scale(values: NDArray[np.float64], factor: float) -> None:
    """Multiply a vector, in place."""
    for k in range(values.size):
        values[k] *= factor


@njit(cache=True)
def _add(values: NDArray[np.float64], others: NDArray[np.float64]) -> None:
    """Add a vector, in place."""
    for k in range(values.size):
        values[k] += others[k]


@njit(cache=True)
def _scale_lanes(lanes: NDArray[np.float64], first: int, n: int, rates: NDArray[np.float64]) -> None:
    """Multiply some rows by each lane's negative rate, in place."""
    for row in range(first, first + n):
        for lane in range(LANES):
            lanes[row, lane] *= -rates[lane]


@njit(cache=True)
def _pass_errors_back(layer: NDArray[np.int64], weights: NDArray[np.float64], block: Block) -> None:
    """Pass a layer's errors back to the hidden units that feed it, in place."""
    n_constant, n_sources, n_units = layer[N_CONSTANT], layer[N_SOURCES], layer[N_UNITS]
    errors = LaneMatrix(block.errors, layer[UNIT], 0, 1)
    source_errors = LaneMatrix(block.errors, layer[SOURCE] + n_constant, 0, 1)
    W = LaneMatrix(weights, layer[WEIGHT] + n_constant, 1, n_sources)
    multiply(source_errors, errors, W, 1, n_sources - n_constant, n_units, LINEAR)


@njit(cache=True)
def _add_products(layer: NDArray[np.int64], sample: Samples, block: Block, step: NDArray[np.float64]) -> None:
    """Add error times source to each weight of a layer, in place."""
    n_sources, n_units = layer[N_INPUTS] + layer[N_SOURCES], layer[N_UNITS]
    rows = LaneMatrix(step, layer[WEIGHT], n_sources, 1)
    errors = LaneMatrix(block.errors, layer[UNIT], 1, 0)
    if layer[N_INPUTS] > 0:
        multiply(rows, errors, LaneMatrix(sample.inputs, 0, 1, 0), n_units, n_sources, 1, ADD)
    else:
        multiply(rows, errors, LaneMatrix(block.values, layer[SOURCE], 1, 0), n_units, n_sources, 1, ADD)


@njit(cache=True)
def take_samples(pool: Pool, order: NDArray[np.int64], sample: Samples) -> None:
    """Copy the sample that each net takes next into the lanes, in place."""
    for lane in range(LANES):
        index = order[lane]
        for i in range(pool.inputs.shape[2]):
            sample.inputs[i, lane] = pool.inputs[lane, index, i]
        for j in range(pool.targets.shape[2]):
            sample.targets[j, lane] = pool.targets[lane, index, j]


@njit(cache=True)
def learn_epoch(
    network: Network,
    activations: Activations,
    pool: Pool,
    order: NDArray[np.int64],
    rates: NDArray[np.float64],
    momentum: float,
    state: BackpropState,
    sample: Samples,
    block: Block,
    squared_error: NDArray[np.float64],
) -> None:
    """Learn from every sample once, in place; add up the squared errors of the outputs before each update.

    Parameters
    ----------
    order : int64 (n_samples, LANES)
        The samples of each net in the order of their learning.
    sample : Samples
        Room for one sample.
    squared_error : float64 (n_outputs, LANES)
    """
    squared_error[:] = 0.0
    for position in range(order.shape[0]):
        take_samples(pool, order[position], sample)
        forward(network, activations, state.weights, sample, 0, 1, block)
        compare_outputs(network, sample, 0, 1, block, squared_error)
        learn(network, activations, rates, momentum, state, sample, block)


@njit(cache=True)
def measure_error(
    network: Network,
    activations: Activations,
    weights: NDArray[np.float64],
    samples: Samples,
    block: Block,
    squared_error: NDArray[np.float64],
) -> None:
    """Compute the squared error over all samples, float64 (n_outputs, LANES), in place."""
    squared_error[:] = 0.0
    for first in range(0, samples.n_samples, block.n_samples):
        n = min(block.n_samples, samples.n_samples - first)
        forward(network, activations, weights, samples, first, n, block)
        compare_outputs(network, samples, first, n, block, squared_error)


@njit(cache=True)
def train_epochs(
    network: Network,
    activations: Activations,
    pool: Pool,
    orders: NDArray[np.int64],
    sample: Samples,
    validation: Samples,
    block: Block,
    rule: BackpropRule,
    state: BackpropState,
    stopping_rule: StoppingRule,
    progress: Progress,
) -> None:
    """Train all lanes for the given epochs, or until the net of at least one of them has stopped, in place.

    The validation error is measured at the end of each strip, as in RPROP's training.

    Parameters
    ----------
    orders : int64 (n_epochs, n_samples, LANES)
        The samples of each net in the order of their learning.
    sample : Samples
        Room for one sample.
    """
    squared_error = np.zeros((network.layers[-1, N_UNITS], LANES))
    for epoch in range(orders.shape[0]):
        rates = rule.learning_rate / (1.0 + progress.epochs / rule.decay_epochs)
        learn_epoch(
            network, activations, pool, orders[epoch], rates, rule.momentum, state, sample, block, squared_error
        )
        if end_epoch(stopping_rule, progress, percentage(squared_error, pool.targets)):
            measure_error(network, activations, state.weights, validation, block, squared_error)
            if end_strips(stopping_rule, progress, percentage(squared_error, validation.targets), state.weights):
                break
