"""Compiled training of networks in lanes, with early stopping: RPROP and online backpropagation."""

from typing import Any, NamedTuple

from pppca_bench.classifiers.early_stopping import Progress, StoppingRule, end_epoch, end_strips
from pppca_bench.classifiers.lanes import ADD, LANES, LINEAR
from pppca_bench.classifiers.passes import (
    N_INPUTS,
    N_UNITS,
    UNIT,
    WEIGHT,
    Block,
    Network,
    Samples,
    backward,
    clear_error,
    compare_outputs,
    compute_percentage,
    forward,
    measure_error,
    n_fitting,
)
from pppca_bench.compiled.arrays import Floats1D, Floats2D, Floats3D, Indices2D, Indices3D
from pppca_bench.compiled.jit import kernel, subroutine
from pppca_bench.compiled.simd import (
    absolute,
    copysign,
    fma,
    load,
    multiply,
    select_less,
    splat,
    store,
    subtract,
    zeros,
)

_LEAST_NUMBER = 5e-324


class RpropRule(NamedTuple):
    """Constants of the RPROP step: η⁺, η⁻, Δmin, Δmax (Riedmiller & Braun 1993)."""

    eta_plus: float
    eta_minus: float
    step_min: float
    step_max: float
    weight_backtracking: bool = True
    improved: bool = False


class RpropState(NamedTuple):
    """State of RPROP: weights, step sizes Δ, and gradients g and g', lane arrays with a row for each weight.

    ``errors``, (2, LANES): squared error before the last step and before this step, for iRPROP+.
    """

    weights: Floats2D
    steps: Floats2D
    gradient: Floats2D
    previous_gradient: Floats2D
    errors: Floats2D


@subroutine
def rprop_step(rule: RpropRule, state: RpropState, error: Floats1D) -> None:
    """Update every weight and its step size Δ from the signs of two successive gradients g' and g, in place.

    ``error``, (LANES,): squared error E of each network before the step.

    Where g' g > 0, Δ ← min(η⁺ Δ, Δmax); where g' g < 0, Δ ← max(η⁻ Δ, Δmin). Then w ← w − sign(g) Δ (RPROP− of Igel &
    Hüsken 2003), except that weight backtracking (Riedmiller & Braun 1993) undoes the last move where g' g < 0, and
    stores 0 for g there, so that the next step does not change Δ. ``previous_gradient`` is zero before the first step.

    ``improved`` (Igel & Hüsken 2000): with weight backtracking (iRPROP+), the move is only undone where E has increased
    since the last step; without (iRPROP−), g ← 0 where g' g < 0, so that the weight does not move.
    """
    for lane in range(LANES):
        state.errors[0, lane] = state.errors[1, lane]
        state.errors[1, lane] = error[lane]
    for k in range(len(state.weights)):
        g, previous, step = (
            load(state.gradient, k, 0),
            load(state.previous_gradient, k, 0),
            load(state.steps, k, 0),
        )
        agreement = multiply(g, previous)
        # Δ ← min(η⁺ Δ, Δmax) where g' g > 0, max(η⁻ Δ, Δmin) where g' g < 0.
        larger, smaller = (
            multiply(step, splat(rule.eta_plus)),
            multiply(step, splat(rule.eta_minus)),
        )
        larger = select_less(splat(rule.step_max), larger, splat(rule.step_max), larger)
        smaller = select_less(smaller, splat(rule.step_min), splat(rule.step_min), smaller)
        size = select_less(zeros(), agreement, larger, step)
        new_step = select_less(agreement, zeros(), smaller, size)
        if rule.weight_backtracking:
            # w ← w − sign(g) Δ; where g' g < 0: w ← w + sign(g') Δ with the old Δ, and g ← 0.
            back = subtract(zeros(), previous)
            if rule.improved:
                # No move where g' g < 0 unless E' < E.
                before, now = load(state.errors, 0, 0), load(state.errors, 1, 0)
                back = select_less(before, now, back, zeros())
            move = _move(size, select_less(agreement, zeros(), back, g))
            g = select_less(agreement, zeros(), zeros(), g)
        else:
            # w ← w − sign(g) Δ with the new Δ; g ← 0 where g' g < 0 if improved.
            if rule.improved:
                g = select_less(agreement, zeros(), zeros(), g)
            move = _move(new_step, g)
        store(state.weights, k, 0, subtract(load(state.weights, k, 0), move))
        store(state.steps, k, 0, new_step)
        store(state.previous_gradient, k, 0, g)


@subroutine
def _move(size: Any, direction: Any) -> Any:
    """Return sign(direction) · size."""
    # sign(0) = 0, but copysign(size, 0.0) = size: |direction| below the least number selects 0.
    return select_less(
        absolute(direction), splat(_LEAST_NUMBER), zeros(), copysign(size, direction)
    )


@subroutine
def compute_gradient(
    network: Network, weights: Floats2D, samples: Samples, block: Block, gradient: Floats2D
) -> None:
    """Compute the gradient of half the squared error over all samples, and the squared error in the block, in place."""
    clear_error(block)
    for first in range(0, samples.n_samples, block.n_samples):
        # g = Σ over blocks of ∂(½ Σ (o − t)²) / ∂w; the first block overwrites the old gradient.
        n = n_fitting(block, samples, first)
        forward(network, weights, samples, first, n, block, 0)
        compare_outputs(network, samples, first, n, block)
        backward(
            network, weights, samples, first, n, block, gradient, ADD if first > 0 else LINEAR, 0
        )
    compute_percentage(block, samples.n_samples)


@kernel
def train_until_any_stops(
    network: Network,
    training: Samples,
    validation: Samples,
    block: Block,
    rprop_rule: RpropRule,
    state: RpropState,
    stopping_rule: StoppingRule,
    progress: Progress,
) -> None:
    """Train all lanes, in place, with an RPROP step per epoch, until a network stops.

    Proben1 report, section 3.3. The validation error is measured after each strip and after the last epoch.
    Choice: the training error of an epoch is the error before the step, a by-product of the gradient.
    """
    stopped = False
    while not stopped:
        compute_gradient(network, state.weights, training, block, state.gradient)
        rprop_step(rprop_rule, state, block.percentage)
        if end_epoch(stopping_rule, progress, block.percentage):
            # All lanes are measured; `end_strips` uses the lanes at the end of a strip.
            measure_error(network, state.weights, validation, block)
            stopped = end_strips(stopping_rule, progress, block.percentage, state.weights)


class BackpropRule(NamedTuple):
    """Constants of the step − η ∂E/∂w: η = learning_rate / (1 + epoch / decay_epochs)."""

    learning_rate: float
    decay_epochs: float


class BackpropState(NamedTuple):
    """State of backpropagation: lane arrays.

    weights: a row for each weight; minus_rates: (1, LANES), −η of each network in the current epoch.
    """

    weights: Floats2D
    minus_rates: Floats2D


class Pool(NamedTuple):
    """Training samples of each network, for random access.

    inputs: float64 (LANES, n_samples, n_inputs), the constant 1 of the bias first; targets: float64
    (LANES, n_samples, n_outputs).
    """

    inputs: Floats3D
    targets: Floats3D


@subroutine
def learn(
    network: Network, state: BackpropState, samples: Samples, place: int, block: Block, end: int
) -> None:
    """Update the weights by a sample, in place: w ← w − η ∂E/∂w.

    Rumelhart, Hinton & Williams 1986. E is half the squared error, and the gradient uses the old weights. The errors D
    of all layers are linear in the errors of the outputs, so a factor −η of the latter reaches every gradient.

    The block contains the values of the sample at ``place`` and the errors of the output units, which change. Layers
    before ``end`` get their errors D but are not updated.
    """
    output = network.layers[len(network.layers) - 1]
    # D ← −η D of the outputs: the backward pass then gives −η ∂E/∂w.
    for row in range(output[UNIT], output[UNIT] + output[N_UNITS]):
        store(
            block.errors,
            row,
            0,
            multiply(load(block.errors, row, 0), load(state.minus_rates, 0, 0)),
        )
    # w ← w − η ∂E/∂w at once: `backward` passes errors back before it changes a layer.
    backward(network, state.weights, samples, place, 1, block, state.weights, ADD, end)


@subroutine
def take_samples(pool: Pool, order: Indices2D, position: int, samples: Samples, place: int) -> None:
    """Copy the sample at ``position`` of each network's order to ``place`` of ``samples``, in place."""
    n_inputs, n_outputs = pool.inputs.shape[2], pool.targets.shape[2]
    # Networks take different samples, so the lanes of a vector are filled singly.
    for lane in range(LANES):
        index = order[position, lane]
        for i in range(n_inputs):
            samples.inputs[place * n_inputs + i, lane] = pool.inputs[lane, index, i]
        for j in range(n_outputs):
            samples.targets[place * n_outputs + j, lane] = pool.targets[lane, index, j]


@subroutine
def learn_and_sum(
    network: Network, weights: Floats2D, samples: Samples, learnt: int, new: int, block: Block
) -> None:
    """Add D x of a sample to the first layer's weights, and set its values to the sums W z of a new sample, in place.

    Each weight is read and written once for both, since the weights leave the first-level cache between samples. Only
    inputs feed the layer; the block contains the errors D of the layer for the learnt sample.
    """
    layer = network.layers[0]
    n_inputs, end = layer[N_INPUTS], layer[UNIT] + layer[N_UNITS]
    old_x, new_x = learnt * n_inputs, new * n_inputs
    for unit in range(layer[UNIT], end, 2):
        # w ← w + d x, then Σ w z of the new sample z, for two units at a time, which share the loads of x and z and
        # hide each other's latency.
        paired = unit + 1 < end
        first = layer[WEIGHT] + (unit - layer[UNIT]) * n_inputs
        d, total = load(block.errors, unit, 0), zeros()
        if paired:
            second, e, other = first + n_inputs, load(block.errors, unit + 1, 0), zeros()
            for i in range(n_inputs):
                x, z = load(samples.inputs, old_x + i, 0), load(samples.inputs, new_x + i, 0)
                w, v = (
                    fma(d, x, load(weights, first + i, 0)),
                    fma(e, x, load(weights, second + i, 0)),
                )
                store(weights, first + i, 0, w)
                store(weights, second + i, 0, v)
                total, other = fma(z, w, total), fma(z, v, other)
            store(block.values, unit + 1, 0, other)
        else:
            for i in range(n_inputs):
                w = fma(d, load(samples.inputs, old_x + i, 0), load(weights, first + i, 0))
                store(weights, first + i, 0, w)
                total = fma(load(samples.inputs, new_x + i, 0), w, total)
        store(block.values, unit, 0, total)


@subroutine
def learn_epoch(
    network: Network,
    pool: Pool,
    order: Indices2D,
    state: BackpropState,
    samples: Samples,
    block: Block,
) -> None:
    """Learn from every sample once, in place; the block receives the sum of the squared errors before each update.

    The first layer learns a sample while it sums the next sample, see `learn_and_sum`.

    ``order``, int64 (n_samples, LANES): sample indices of each network; ``samples`` is a buffer for two samples.
    """
    clear_error(block)
    n_late = 0
    for position in range(len(order)):
        slot = position % 2
        take_samples(pool, order, position, samples, slot)
        # The first layer has not yet learnt the previous sample, which is at 1 − slot.
        if n_late > 0:
            learn_and_sum(network, state.weights, samples, 1 - slot, slot, block)
        forward(network, state.weights, samples, slot, 1, block, n_late)
        compare_outputs(network, samples, slot, 1, block)
        n_late = 0 if position + 1 == len(order) else 1
        learn(network, state, samples, slot, block, n_late)
    compute_percentage(block, len(order))


@kernel
def train_epochs(
    network: Network,
    pool: Pool,
    orders: Indices3D,
    samples: Samples,
    validation: Samples,
    block: Block,
    rule: BackpropRule,
    state: BackpropState,
    stopping_rule: StoppingRule,
    progress: Progress,
) -> None:
    """Train all lanes, in place, for the given epochs or until a network stops.

    The validation error is measured at the end of each strip, as with RPROP. The network has no shortcuts. ``orders``,
    int64 (n_epochs, n_samples, LANES), contains the sample indices of each network in the order of learning;
    ``samples`` is a buffer for two samples.
    """
    for epoch in range(len(orders)):
        for lane in range(LANES):
            # −η = −learning_rate / (1 + epoch / decay_epochs): lanes may be in different epochs.
            age = progress.epochs[lane] / rule.decay_epochs
            state.minus_rates[0, lane] = -(rule.learning_rate / (1.0 + age))
        learn_epoch(network, pool, orders[epoch], state, samples, block)
        if end_epoch(stopping_rule, progress, block.percentage):
            measure_error(network, state.weights, validation, block)
            if end_strips(stopping_rule, progress, block.percentage, state.weights):
                break
