"""Compiled training of many networks side by side by RPROP, with early stopping."""

from typing import Any, NamedTuple

from pppca_bench.classifiers.early_stopping import Progress, StoppingRule, end_epoch, end_strips
from pppca_bench.classifiers.lanes import ADD, LINEAR
from pppca_bench.classifiers.passes import (
    Block,
    Network,
    Samples,
    backward,
    clear_error,
    compare_outputs,
    compute_percentage,
    fitting,
    forward,
    measure_error,
)
from pppca_bench.compiled.arrays import Floats2D
from pppca_bench.compiled.jit import kernel, part
from pppca_bench.compiled.simd import absolute, copysign, load, multiply, select_less, splat, store, subtract, zeros

_LEAST_NUMBER = 5e-324


class RpropRule(NamedTuple):
    """Constants of the RPROP step: η⁺, η⁻, Δmin, Δmax (Riedmiller & Braun 1993)."""

    eta_plus: float
    eta_minus: float
    step_min: float
    step_max: float
    weight_backtracking: bool = True


class RpropState(NamedTuple):
    """State of RPROP: weights, step sizes Δ, and the gradients g and g', lane arrays with a row for each weight."""

    weights: Floats2D
    steps: Floats2D
    gradient: Floats2D
    previous_gradient: Floats2D


@part
def rprop_step(rule: RpropRule, state: RpropState) -> None:
    """Update every weight and its step size Δ from the signs of two successive gradients g' and g, in place.

    Where g' g > 0, Δ ← min(η⁺ Δ, Δmax); where g' g < 0, Δ ← max(η⁻ Δ, Δmin). Then w ← w − sign(g) Δ (RPROP− of Igel &
    Hüsken 2003), except that weight backtracking (Riedmiller & Braun 1993) undoes the last move where g' g < 0, and
    forgets g there, so that the next step leaves Δ as it is.

    Parameters
    ----------
    rule : RpropRule
    state : RpropState
        ``previous_gradient`` is zero before the first step.
    """
    for k in range(len(state.weights)):
        g, previous, step = load(state.gradient, k, 0), load(state.previous_gradient, k, 0), load(state.steps, k, 0)
        agreement = multiply(g, previous)
        # Δ ← min(η⁺ Δ, Δmax) where g' g > 0, max(η⁻ Δ, Δmin) where g' g < 0.
        size = select_less(zeros(), agreement, _larger(rule, step), step)
        new_step = select_less(agreement, zeros(), _smaller(rule, step), size)
        if rule.weight_backtracking:
            # w ← w − sign(g) Δ; where g' g < 0: w ← w + sign(g') Δ with the old Δ, and g ← 0.
            move = _move(size, select_less(agreement, zeros(), subtract(zeros(), previous), g))
            g = select_less(agreement, zeros(), zeros(), g)
        else:
            # w ← w − sign(g) Δ with the new Δ.
            move = _move(new_step, g)
        store(state.weights, k, 0, subtract(load(state.weights, k, 0), move))
        store(state.steps, k, 0, new_step)
        store(state.previous_gradient, k, 0, g)


@part
def _larger(rule: RpropRule, step: Any) -> Any:
    """Return min(η⁺ Δ, Δmax)."""
    larger = multiply(step, splat(rule.eta_plus))
    return select_less(splat(rule.step_max), larger, splat(rule.step_max), larger)


@part
def _smaller(rule: RpropRule, step: Any) -> Any:
    """Return max(η⁻ Δ, Δmin)."""
    smaller = multiply(step, splat(rule.eta_minus))
    return select_less(smaller, splat(rule.step_min), splat(rule.step_min), smaller)


@part
def _move(size: Any, direction: Any) -> Any:
    """Return sign(direction) · size, to be subtracted from a weight."""
    # sign(0) = 0, but copysign(size, 0.0) = size: |direction| below the least number selects 0.
    return select_less(absolute(direction), splat(_LEAST_NUMBER), zeros(), copysign(size, direction))


@part
def compute_gradient(network: Network, weights: Floats2D, samples: Samples, block: Block, gradient: Floats2D) -> None:
    """Compute the gradient of half the squared error over all samples, and the block's squared error, in place."""
    clear_error(block)
    for first in range(0, samples.n_samples, block.n_samples):
        # g = Σ over blocks of ∂(½ Σ (o − t)²) / ∂w; the first block overwrites the last epoch's gradient, others add.
        n = fitting(block, samples, first)
        forward(network, weights, samples, first, n, block)
        compare_outputs(network, samples, first, n, block)
        backward(network, weights, samples, first, n, block, gradient, ADD if first > 0 else LINEAR)
    compute_percentage(block, samples.n_samples)


@kernel
def train_until_one_stops(
    network: Network,
    training: Samples,
    validation: Samples,
    block: Block,
    rprop_rule: RpropRule,
    state: RpropState,
    stopping_rule: StoppingRule,
    progress: Progress,
) -> None:
    """Train all lanes, an RPROP step an epoch, until at least one network has stopped, in place.

    Proben1 report, section 3.3. The validation error is measured after each strip and after the last epoch.
    Choice: the training error of an epoch is that of the weights it starts from, a by-product of the gradient.
    """
    stopped = False
    while not stopped:
        compute_gradient(network, state.weights, training, block, state.gradient)
        rprop_step(rprop_rule, state)
        if end_epoch(stopping_rule, progress, block.percentage):
            # All lanes pass; `end_strips` reads those that are due.
            measure_error(network, state.weights, validation, block)
            stopped = end_strips(stopping_rule, progress, block.percentage, state.weights)
