"""Compiled online backpropagation of many networks side by side, each with its own order of the samples."""

from typing import NamedTuple

from pppca_bench.classifiers.early_stopping import Progress, StoppingRule, end_epoch, end_strips
from pppca_bench.classifiers.lanes import ADD, LANES
from pppca_bench.classifiers.passes import (
    N_UNITS,
    UNIT,
    Block,
    Network,
    Samples,
    backward,
    clear_error,
    compare_outputs,
    compute_percentage,
    forward,
    measure_error,
)
from pppca_bench.compiled.arrays import Floats2D, Floats3D, Indices2D, Indices3D
from pppca_bench.compiled.jit import kernel, part
from pppca_bench.compiled.simd import add, load, multiply, splat, store


class BackpropRule(NamedTuple):
    """Constants of the step Δw ← μ Δw − η ∂E/∂w: η = learning_rate / (1 + epoch / decay_epochs); momentum is μ."""

    learning_rate: float
    decay_epochs: float
    momentum: float


class BackpropState(NamedTuple):
    """State of the training: lane arrays.

    weights, step: w and Δw, a row for each weight; ``step`` is unused without momentum. minus_rates: (1, LANES), −η of
    each network in this epoch.
    """

    weights: Floats2D
    step: Floats2D
    minus_rates: Floats2D


class Pool(NamedTuple):
    """Training samples of each network, in random access.

    inputs: float64 (LANES, n_samples, n_inputs), the constant of the bias first; targets: float64
    (LANES, n_samples, n_outputs).
    """

    inputs: Floats3D
    targets: Floats3D


@part
def learn(network: Network, momentum: float, state: BackpropState, sample: Samples, block: Block) -> None:
    """Update all weights from one sample, in place: Δw ← μ Δw − η ∂E/∂w, w ← w + Δw.

    Rumelhart, Hinton & Williams 1986. E is half the squared error, its gradient taken at the old weights. All errors
    are linear in those of the outputs, so the factor −η enters there and is passed down with them.

    Parameters
    ----------
    momentum : float
        In [0, 1).
    sample : Samples
        One sample.
    block : Block
        The sample's values and its output units' errors; the errors change.
    """
    output = network.layers[len(network.layers) - 1]
    # D ← −η D of the outputs: the backward pass then gives −η ∂E/∂w.
    for row in range(output[UNIT], output[UNIT] + output[N_UNITS]):
        store(block.errors, row, 0, multiply(load(block.errors, row, 0), load(state.minus_rates, 0, 0)))
    # Without momentum, w ← w − η ∂E/∂w at once: `backward` passes a layer's errors back before it changes the layer.
    step = state.weights
    if momentum > 0.0:
        # Δw ← μ Δw, to which `backward` adds −η ∂E/∂w.
        step = state.step
        for k in range(len(step)):
            store(step, k, 0, multiply(load(step, k, 0), splat(momentum)))
    backward(network, state.weights, sample, 0, 1, block, step, ADD)
    if momentum > 0.0:
        # w ← w + Δw.
        for k in range(len(step)):
            store(state.weights, k, 0, add(load(state.weights, k, 0), load(step, k, 0)))


@part
def take_samples(pool: Pool, order: Indices2D, position: int, sample: Samples) -> None:
    """Copy each network's sample at a position of its order into the lanes, in place."""
    # Networks take different samples, so the lanes of a vector are filled one after another.
    for lane in range(LANES):
        index = order[position, lane]
        for i in range(pool.inputs.shape[2]):
            sample.inputs[i, lane] = pool.inputs[lane, index, i]
        for j in range(pool.targets.shape[2]):
            sample.targets[j, lane] = pool.targets[lane, index, j]


@part
def learn_epoch(
    network: Network,
    pool: Pool,
    order: Indices2D,
    momentum: float,
    state: BackpropState,
    sample: Samples,
    block: Block,
) -> None:
    """Learn from every sample once, in place; the block's squared error sums those of the samples before their updates.

    Parameters
    ----------
    order : int64 (n_samples, LANES)
        Indices of each network's samples in the order of learning.
    sample : Samples
        Memory for a single sample.
    """
    clear_error(block)
    for position in range(len(order)):
        take_samples(pool, order, position, sample)
        forward(network, state.weights, sample, 0, 1, block)
        compare_outputs(network, sample, 0, 1, block)
        learn(network, momentum, state, sample, block)
    compute_percentage(block, len(order))


@kernel
def train_epochs(
    network: Network,
    pool: Pool,
    orders: Indices3D,
    sample: Samples,
    validation: Samples,
    block: Block,
    rule: BackpropRule,
    state: BackpropState,
    stopping_rule: StoppingRule,
    progress: Progress,
) -> None:
    """Train all lanes for the given epochs, or until at least one network has stopped, in place.

    The validation error is measured at the end of each strip, as in RPROP's training.

    Parameters
    ----------
    network : Network
        Without shortcuts.
    orders : int64 (n_epochs, n_samples, LANES)
        Indices of each network's samples in the order of learning.
    sample : Samples
        Memory for a single sample.
    """
    for epoch in range(len(orders)):
        for lane in range(LANES):
            # −η = −learning_rate / (1 + epoch / decay_epochs), by the age of each network: they started apart.
            age = progress.epochs[lane] / rule.decay_epochs
            state.minus_rates[0, lane] = -(rule.learning_rate / (1.0 + age))
        learn_epoch(network, pool, orders[epoch], rule.momentum, state, sample, block)
        if end_epoch(stopping_rule, progress, block.percentage):
            measure_error(network, state.weights, validation, block)
            if end_strips(stopping_rule, progress, block.percentage, state.weights):
                break
