"""Owns the compiled training of many nets at once: RPROP steps and error measurement."""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pppca_bench.classifiers.early_stopping import Progress, StoppingRule, end_epoch, end_strips, percentage
from pppca_bench.classifiers.passes import (
    N_UNITS,
    Block,
    Network,
    Samples,
    backward,
    compare_outputs,
    forward,
)
from pppca_bench.compiled.lane_instructions import ADD, LANES, LINEAR


class RpropRule(NamedTuple):
    """Hold the constants of the RPROP step (Riedmiller & Braun 1993)."""

    eta_plus: float
    eta_minus: float
    step_min: float
    step_max: float


class RpropState(NamedTuple):
    """Hold what RPROP remembers: lane arrays with one row a weight."""

    weights: NDArray[np.float64]
    steps: NDArray[np.float64]
    gradient: NDArray[np.float64]
    previous_gradient: NDArray[np.float64]


@njit(cache=True)
def rprop_step(rule: RpropRule, state: RpropState) -> None:
    """Update every weight and its step size from the signs of two successive gradients, in place.

    Riedmiller & Braun 1993: same sign, the step grows and the weight moves against the gradient; other sign, the step
    shrinks, the previous move is taken back and the gradient is forgotten; a zero product moves by the step as it is.

    Parameters
    ----------
    rule : RpropRule
    state : RpropState
        ``previous_gradient`` is zero before the first step.
    """
    weights, steps = state.weights.ravel(), state.steps.ravel()
    gradient, previous = state.gradient.ravel(), state.previous_gradient.ravel()
    for k in range(weights.size):
        g, old = gradient[k], previous[k]
        step = steps[k]
        turned = g * old < 0.0
        grown = min(step * rule.eta_plus, rule.step_max) if g * old > 0.0 else step
        direction = -old if turned else g
        move = 0.0 if direction == 0.0 else math.copysign(grown, direction)
        weights[k] -= move
        steps[k] = max(step * rule.eta_minus, rule.step_min) if turned else grown
        previous[k] = 0.0 if turned else g


@njit(cache=True)
def compute_gradient(
    network: Network,
    weights: NDArray[np.float64],
    samples: Samples,
    block: Block,
    gradient: NDArray[np.float64],
    squared_error: NDArray[np.float64],
) -> None:
    """Compute the gradient of half the squared error over all samples, and the squared error, in place."""
    squared_error[:] = 0.0
    for first in range(0, samples.n_samples, block.n_samples):
        n = min(block.n_samples, samples.n_samples - first)
        forward(network, weights, samples, first, n, block)
        compare_outputs(network, samples, first, n, block, squared_error)
        backward(network, weights, samples, first, n, block, gradient, ADD if first > 0 else LINEAR)


@njit(cache=True)
def measure_error(
    network: Network,
    weights: NDArray[np.float64],
    samples: Samples,
    block: Block,
    squared_error: NDArray[np.float64],
) -> None:
    """Compute the squared error over all samples, in place."""
    squared_error[:] = 0.0
    for first in range(0, samples.n_samples, block.n_samples):
        n = min(block.n_samples, samples.n_samples - first)
        forward(network, weights, samples, first, n, block)
        compare_outputs(network, samples, first, n, block, squared_error)


@njit(cache=True)
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
    """Train all lanes, one RPROP step an epoch, until the net of at least one of them has stopped, in place.

    Proben1 report, section 3.3. The validation error is measured after every ``strip_length``-th epoch of a net and
    after its last.
    Choice: the training error of an epoch is that of the weights it starts from, a by-product of the gradient.
    """
    squared_error = np.zeros((network.layers[-1, N_UNITS], LANES))
    stopped = False
    while not stopped:
        compute_gradient(network, state.weights, training, block, state.gradient, squared_error)
        rprop_step(rprop_rule, state)
        if end_epoch(stopping_rule, progress, percentage(squared_error, training.targets)):
            measure_error(network, state.weights, validation, block, squared_error)
            stopped = end_strips(stopping_rule, progress, percentage(squared_error, validation.targets), state.weights)
