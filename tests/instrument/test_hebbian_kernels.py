"""Compiled Hebbian updates against hand-worked numbers and plain loops."""

from functools import partial

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pppca_bench.engines import gha_blocked, gha_literal
from pppca_bench.engines.gha_epochs import make_epoch_workspace


def fast_epoch(W, X, mean, order, learning_rate, decay):
    work = make_epoch_workspace(*W.shape).panels
    gha_blocked.fast_epoch(W, len(W), X, mean[None], order, learning_rate, decay, work)


def literal_epoch(W, n_learning, X, mean, order, learning_rate, decay):
    work = make_epoch_workspace(*W.shape)
    given = W, len(W), n_learning, X, mean[None], order, learning_rate, decay
    return gha_literal.literal_epoch(*given, work.x, work.y)


def in_place_epoch(W, X, mean, order, learning_rate, decay):
    work = make_epoch_workspace(*W.shape)
    given = W, len(W), X, mean[None], order, learning_rate, decay
    gha_literal.in_place_epoch(*given, work.x, work.residual)


def literal_variances(W, X, mean):
    variances, x = np.empty(len(W)), make_epoch_workspace(*W.shape).x
    gha_literal.literal_variances(W, len(W), X, mean[None], variances, x)
    return variances


# Kernels that update all rows, and their references.
KERNELS = {
    "fast": (fast_epoch, naive.gha_epoch),
    "literal": (lambda W, *given: literal_epoch(W, len(W), *given), naive.gha_epoch),
    "in_place": (in_place_epoch, partial(naive.gha_epoch, in_place=True)),
}
SHAPES = [(1, 1), (1, 5), (3, 3), (2, 9), (9, 9), (5, 17), (13, 13), (18, 33)]


def problem(n_rows, n_features, n_samples=7, seed=0):
    rng = np.random.default_rng(seed)
    W = 0.5 * rng.standard_normal((n_rows, n_features))
    X = rng.uniform(size=(n_samples, n_features))
    return W, X, X.mean(axis=0), rng.permutation(n_samples)


@pytest.mark.parametrize("kernel", ["fast", "literal"])
def test_an_update_equals_the_hand_worked_update(kernel):
    # W = [[1, 0], [1, 1]], x = (2, 1): y = (2, 3). Row 1: 2 x − 2 (2 w1) = (0, 2).
    # Row 2: 3 x − 3 (2 w1 + 3 w2) = (6, 3) − 3 (5, 3) = (−9, −6). η = 0.1.
    W = np.array([[1.0, 0.0], [1.0, 1.0]])
    KERNELS[kernel][0](W, np.array([[2.0, 1.0]]), np.zeros(2), np.array([0]), 0.1, 0.0)
    assert_allclose(W, [[1.0, 0.2], [0.1, 0.4]], rtol=0, atol=1e-15)


@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize("shape", [*SHAPES, *((6, 10, n) for n in range(1, 18))], ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
def test_samples_are_learnt_in_the_given_order_and_number_each_at_its_rate(kernel, shape, decay):
    W, X, mean, order = problem(*shape)
    order = np.append(order, order[:2])
    (learn, learn_naively), expected = KERNELS[kernel], W
    for s, x in enumerate((X - mean)[order]):
        expected = learn_naively(expected, x[None], 0.2 / (1.0 + decay * s))
    learn(W, X, mean, order, 0.2, decay)
    assert_allclose(W, expected, rtol=1e-12, atol=1e-13)


def test_literal_kernel_computes_waiting_rows_at_full_cost_and_moves_the_others_only():
    W, X, mean, order = problem(5, 6)
    before = W.copy()
    counted = literal_epoch(W, 2, X, mean, order, 0.1, 0.0)
    assert_array_equal(W[2:], before[2:])
    assert_allclose(W[:2], naive.gha_epoch(before[:2], (X - mean)[order], 0.1), rtol=1e-12)
    assert counted == len(order) * 6 * (4 * 5 + 5 * 6 / 2)


def test_variances_of_responses_equal_hand_worked_values():
    # Responses of (1, 1) to (1, 2), (3, 0), (2, 4) are 3, 3, 6: mean 4, variance (1 + 1 + 4) / 3 = 2.
    X = np.array([[1.0, 2.0], [3.0, 0.0], [2.0, 4.0]])
    W = np.array([[1.0, 1.0]])
    assert_allclose(literal_variances(W, X, X.mean(axis=0)), 2.0, rtol=1e-15)
    assert_allclose(literal_variances(W, X, np.zeros(2)), (9.0 + 9.0 + 36.0) / 3.0)


@pytest.mark.parametrize("n_samples", [2, 60])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_quadratic_variances_equal_the_variances_of_the_responses(shape, n_samples):
    W, X, mean, _ = problem(*shape, n_samples=n_samples)
    work, variances = make_epoch_workspace(*W.shape), np.empty(len(W))
    C = np.cov(X.T, bias=True).reshape(shape[1], shape[1])
    # The samples over √N are a factor of C, of fewer columns if there are fewer samples than features.
    factor = np.ascontiguousarray((X - mean).T / np.sqrt(n_samples))
    for matrix in [C, factor] if n_samples < shape[1] else [C]:
        gha_blocked.quadratic_variances(W, len(W), matrix, variances, work.strip)
        assert_allclose(variances, literal_variances(W, X, mean), rtol=1e-9)
