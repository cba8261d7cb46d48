"""Compiled RPROP training against hand-worked numbers and plain loops."""

import math

import naive
import numpy as np
import pytest
from networks import make_task, same
from numpy.testing import assert_allclose, assert_array_equal

from pppca_bench.classifiers import early_stopping as stopping
from pppca_bench.classifiers import learning_rules as kernels
from pppca_bench.classifiers.early_stopping import StoppingRule
from pppca_bench.classifiers.lanes import (
    ADD,
    LANES,
    LINEAR,
    SLOPE,
    SOFTSIGN,
    LaneMatrix,
    multiply_by_slopes,
    multiply_matrices,
)
from pppca_bench.classifiers.learning_rules import RpropRule, RpropState
from pppca_bench.classifiers.network import Architecture, network_outputs, pack, unpack
from pppca_bench.classifiers.training import RpropLanes
from pppca_bench.compiled.arrays import aligned_zeros

RPROP = RpropRule(eta_plus=1.2, eta_minus=0.5, step_min=0.0, step_max=50.0)
ARCHITECTURES = [
    Architecture(3, hidden, 2, shortcuts, output)
    for hidden in [(), (3,), (4, 2), (2, 3, 2)]
    for shortcuts in [False, True]
    for output in ["linear", "softsign"]
]
SMOOTH = [
    Architecture(3, (4, 2), 2, shortcuts, "softsign", hidden)
    for shortcuts in [False, True]
    for hidden in ["logistic", "tanh"]
]


def compute_gradient(task, lane=3):
    lanes = RpropLanes([task] * LANES, RPROP, StoppingRule(5, 5.0, 0.1, 10))
    lanes.assign_lanes()
    kernels.compute_gradient(
        lanes.network, lanes.state.weights, lanes.training, lanes.block, lanes.state.gradient
    )
    gradient = unpack(lanes.state.gradient[:, lane], task.architecture, task.architecture)
    return gradient, lanes.block.squared_error[:, lane].sum()


def product_of(A, B, C, mode, values=None):
    """Return C after C = A B, of float64 arrays (rows, columns, LANES)."""
    (height, n, _), width = A.shape, B.shape[1]
    lanes, A, B = (np.ascontiguousarray(matrix).reshape(-1, LANES).copy() for matrix in (C, A, B))
    matrices = LaneMatrix(lanes, 0, width, 1), LaneMatrix(A, 0, n, 1), LaneMatrix(B, 0, 1, width)
    if values is None:
        multiply_matrices(*matrices, height, width, n, mode)
    else:
        multiply_by_slopes(*matrices, values.reshape(-1, LANES), height, width, n, mode)
    return lanes.reshape(C.shape)


def random_product(height, width, n):
    rng = np.random.default_rng(height)
    shapes = [(height, n), (n, width), (height, width)]
    return [rng.normal(size=(*shape, LANES)) for shape in shapes]


@pytest.mark.parametrize("mode", [LINEAR, ADD, SOFTSIGN, ADD | SOFTSIGN, SLOPE, ADD | SLOPE])
@pytest.mark.parametrize("height", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("width", [0, 1, 2, 3, 5, 6, 7, 13])
def test_product_of_lane_matrices_is_the_product_of_each_lane(height, width, mode):
    A, B, C = random_product(height, width, n=5)
    expected = np.einsum("ikl,kjl->ijl", A, B) + (C if mode & ADD else 0.0)
    if mode & SOFTSIGN:
        expected = expected / (1.0 + abs(expected))
    values = np.random.default_rng(1).uniform(-1.0, 1.0, size=C.shape) if mode & SLOPE else None
    if values is not None:
        expected = expected * (1.0 - abs(values)) ** 2
    assert_allclose(product_of(A, B, C, mode & ~SLOPE, values), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("mode", [LINEAR, ADD])
def test_sums_are_bitwise_equal_in_any_tile(mode):
    A, B, C = random_product(7, 17, n=9)
    together = product_of(A, B, C, mode)
    for i, j in np.ndindex(7, 17):
        alone = product_of(A[i : i + 1], B[:, j : j + 1], C[i : i + 1, j : j + 1], mode)
        assert np.array_equal(alone[0, 0], together[i, j])


@pytest.mark.parametrize("architecture", [*ARCHITECTURES, *SMOOTH], ids=str)
def test_gradient_and_error_agree_with_plain_loops(architecture):
    task = make_task(architecture, seed=2, n_samples=37)
    gradient, error = compute_gradient(task)
    network = architecture.shortcuts, architecture.output_activation, architecture.hidden_activation
    given = task.weights, task.X, task.targets, *network
    for computed, matrix in zip(gradient, naive.gradient(*given), strict=True):
        assert_allclose(computed, matrix, rtol=1e-12, atol=1e-12)
    assert error == pytest.approx(naive.squared_error(*given), rel=1e-12)


@pytest.mark.parametrize("architecture", SMOOTH, ids=str)
def test_gradient_agrees_with_finite_differences(architecture):
    task = make_task(architecture, seed=2, n_samples=37)

    def half_error(weights):
        outputs = network_outputs(architecture, weights, task.X)
        return 0.5 * ((outputs - task.targets) ** 2).sum()

    for layer, matrix in enumerate(compute_gradient(task)[0]):
        for place in np.ndindex(matrix.shape):
            errors = []
            for change in (1e-5, -1e-5):
                weights = [own.copy() for own in task.weights]
                weights[layer][place] += change
                errors.append(half_error(weights))
            difference = (errors[0] - errors[1]) / 2e-5
            assert matrix[place] == pytest.approx(difference, rel=1e-6, abs=1e-8)


def follow(rule, gradients, errors=None):
    """Return weight and step size after each of the given gradients, with errors of lane 5 before each step."""
    state = RpropState(*(aligned_zeros(1, LANES) for _ in range(4)), aligned_zeros(2, LANES))
    state.weights[:], state.steps[:] = 1.0, 0.1
    error, path = np.ones(LANES), []
    for gradient, own_error in zip(gradients, errors or np.ones(len(gradients)), strict=True):
        state.gradient[:], error[5] = gradient, own_error
        kernels.rprop_step(rule, state, error)
        path.append((state.weights[0, 5], state.steps[0, 5]))
    return np.array(path)


def test_rprop_follows_hand_worked_numbers():
    path = follow(RPROP, [2.0, 3.0, -1.0, -1.0, -0.5, 0.0, 4.0])
    expected = [
        (0.9, 0.1),  # no gradient before: the step as it is
        (0.78, 0.12),  # same sign: 1.2 times the step
        (0.9, 0.06),  # other sign: back by 0.12, half the step
        (0.96, 0.06),  # the gradient was forgotten: the step as it is
        (1.032, 0.072),
        (1.032, 0.072),  # zero gradient: no move
        (0.96, 0.072),
    ]
    assert_allclose(path, expected, rtol=1e-13)


def test_irprop_plus_undoes_a_move_only_where_the_error_has_increased():
    rule = RPROP._replace(improved=True)
    path = follow(rule, [2.0, 3.0, -1.0, -1.0, 1.0, 1.0], errors=[5.0, 4.0, 3.0, 2.0, 2.5, 1.0])
    expected = [
        (0.9, 0.1),
        (0.78, 0.12),  # same sign: 1.2 times the step
        (0.78, 0.06),  # other sign, smaller error: half the step, no move
        (0.84, 0.06),  # the gradient was forgotten: the step as it is
        (0.78, 0.03),  # other sign, larger error: back by 0.06, half the step
        (0.75, 0.03),
    ]
    assert_allclose(path, expected, rtol=1e-13)


def test_irprop_minus_does_not_move_where_the_gradient_changes_its_sign():
    rule = RPROP._replace(improved=True, weight_backtracking=False)
    path = follow(rule, [2.0, 3.0, -1.0, -1.0, -1.0], errors=[5.0, 4.0, 6.0, 2.0, 1.0])
    expected = [(0.9, 0.1), (0.78, 0.12), (0.78, 0.06), (0.84, 0.06), (0.912, 0.072)]
    assert_allclose(path, expected, rtol=1e-13)


def test_rprop_keeps_steps_within_their_bounds():
    rule = RPROP._replace(step_min=0.08, step_max=0.11)
    path = follow(rule, [1.0, 1.0, -1.0])
    assert_allclose(path, [(0.9, 0.1), (0.79, 0.11), (0.9, 0.08)], rtol=1e-13)


@pytest.mark.parametrize(
    ("errors", "loss", "progress"),
    [
        ((2.0, 2.0), 0.0, 0.0),
        ((0.0, 0.0), 0.0, 0.0),
        ((0.1, 0.0), math.inf, math.inf),
        ((2.1, 2.0), 5.0, 50.0),
    ],
)
def test_loss_and_progress_are_defined_for_equal_errors_and_errors_of_zero(errors, loss, progress):
    assert stopping.generalisation_loss(*errors) == pytest.approx(loss)
    assert stopping.training_progress(*errors) == pytest.approx(progress)


@pytest.mark.parametrize(
    ("architecture", "seed", "max_epochs", "stop_reason"),
    [
        (Architecture(2, (3,), 2, False, "linear"), 0, 60, "generalisation_loss"),
        (Architecture(2, (2, 2), 2, True, "linear"), 2, 60, "generalisation_loss"),
        (Architecture(2, (2,), 2, True, "softsign", "tanh"), 1, 13, "max_epochs"),
        (Architecture(2, (3,), 2, False, "linear", "logistic"), 0, 60, "generalisation_loss"),
        (Architecture(1, (), 2, False, "linear"), 3, 200, "training_progress"),
    ],
    ids=str,
)
@pytest.mark.parametrize("weight_backtracking", [True, False])
@pytest.mark.parametrize("improved", [False, True])
def test_training_agrees_with_plain_loops(
    architecture, seed, max_epochs, stop_reason, weight_backtracking, improved
):
    task = make_task(architecture, seed)
    limit = math.inf if stop_reason != "generalisation_loss" else 5.0
    variant = {"weight_backtracking": weight_backtracking, "improved": improved}
    rule = RPROP._replace(**variant)
    net = RpropLanes([task], rule, StoppingRule(5, limit, 0.1, max_epochs)).train()[0]
    expected = naive.train_by_rprop(task, max_epochs, loss_limit=limit, **variant)
    assert net.stop_reason == expected.stop_reason
    assert net.stop_reason == stop_reason or not weight_backtracking or improved
    assert net.best_epoch == expected.best_epoch
    assert_allclose(net.training_curve, expected.training_curve, rtol=1e-12)
    assert_allclose(net.validation_curve, expected.validation_curve, rtol=1e-12)
    for computed, matrix in zip(net.weights, expected.weights, strict=True):
        assert_allclose(computed, matrix, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("n_increases", "quotient"), [(0, 0.0), (3, 0.0), (0, 40.0), (8, 3.0)])
def test_the_rule_of_the_search_agrees_with_plain_loops(n_increases, quotient):
    """This training ends elsewhere in each case: after 45, 55, 220 and 80 epochs."""
    task = make_task(Architecture(2, (3,), 2, False, "linear"), 0)
    rule = StoppingRule(5, 5.0, 0.1, 400, n_increases, quotient)
    (net,) = RpropLanes([task], RPROP, rule).train()
    limits = {"n_increases": n_increases, "quotient_limit": quotient or None}
    expected = naive.train_by_rprop(task, 400, **limits)
    assert net.stop_reason == expected.stop_reason == "generalisation_loss"
    assert len(net.training_curve) == len(expected.training_curve)
    assert_allclose(net.validation_curve, expected.validation_curve, rtol=1e-9)


@pytest.mark.parametrize("shortcuts", [False, True])
@pytest.mark.parametrize("output", ["linear", "softsign"])
def test_networks_trained_together_equal_single_ones_bit_for_bit(shortcuts, output):
    """More nets than lanes, with different inputs and different numbers of inputs, stopping at different times."""
    widths = [3, 1, 5, 2, 4, 5, 1, 3, 2, 4, 3]
    architectures = [Architecture(m, (3, 2), 2, shortcuts, output) for m in widths]
    tasks = [make_task(own, seed) for seed, own in enumerate(architectures)]
    rule = StoppingRule(5, 5.0, 0.1, 23)
    together = RpropLanes(tasks, RPROP, rule).train()
    assert len({len(net.training_curve) for net in together}) > 1
    for task, net in zip(tasks, together, strict=True):
        assert same(net, RpropLanes([task], RPROP, rule).train()[0])


def test_a_net_that_overflows_does_not_disturb_its_neighbours_or_its_successor():
    tasks = [make_task(Architecture(3, (2,), 2, True, "linear"), seed) for seed in range(11)]
    tasks[1].X[:] = 1e200
    rule = StoppingRule(5, 5.0, 0.1, 20)
    with np.errstate(all="ignore"):
        nets = RpropLanes(tasks, RPROP, rule).train()
        assert nets[1].stop_reason == "not_finite"
        others = [k for k in range(11) if k != 1]
        assert all(same(nets[k], RpropLanes([tasks[k]], RPROP, rule).train()[0]) for k in others)


@pytest.mark.parametrize(
    ("shortcuts", "last", "expected"),
    [
        (False, [5.0, 6.0, 7.0], [1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 7]),
        (True, [5.0, 6.0, 7.0, 8.0], [1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0, 7, 8]),
    ],
)
def test_packed_weights_of_missing_inputs_are_zero(shortcuts, last, expected):
    narrow, wide = (Architecture(m, (2,), 1, shortcuts, "linear") for m in (1, 3))
    matrices = [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([last])]
    packed = pack(matrices, narrow, wide)
    assert_array_equal(packed, expected)
    for matrix, unpacked in zip(matrices, unpack(packed, narrow, wide), strict=True):
        assert_array_equal(matrix, unpacked)
