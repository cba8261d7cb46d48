"""Compiled Hebbian updates against hand-worked numbers and plain loops."""

import numpy as np
import pytest
import reference_hebbian as reference
from numpy.testing import assert_allclose, assert_array_equal

from pppca_bench.engines import gha_blocked, gha_literal
from pppca_bench.engines.gha_epochs import make_workspace


def fast_epoch(W, X, mean, order, learning_rate, decay):
    work = make_workspace(*W.shape).panels
    gha_blocked.fast_epoch(W, len(W), X, mean[None], order, learning_rate, decay, work)


def literal_epoch(W, n_learning, X, mean, order, learning_rate, decay):
    work = make_workspace(*W.shape)
    given = W, len(W), n_learning, X, mean[None], order, learning_rate, decay
    return gha_literal.literal_epoch(*given, work.x, work.y)


def in_place_epoch(W, X, mean, order, learning_rate, decay):
    work = make_workspace(*W.shape)
    gha_literal.in_place_epoch(W, len(W), X, mean[None], order, learning_rate, decay, work.x, work.residual)


def literal_variances(W, X, mean, variances):
    return gha_literal.literal_variances(W, len(W), X, mean[None], variances, make_workspace(*W.shape).x)


def quadratic_variances(W, C, variances):
    gha_blocked.quadratic_variances(W, len(W), C, variances, make_workspace(*W.shape).strip)


# Kernels that update all rows, and their references.
KERNELS = {
    "fast": (fast_epoch, reference.gha_epoch),
    "literal": (lambda W, *given: literal_epoch(W, len(W), *given), reference.gha_epoch),
    "in_place": (in_place_epoch, lambda *given: reference.in_place_epoch(*given)[0]),
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


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_agrees_with_plain_loops(kernel, shape):
    W, X, mean, order = problem(*shape)
    learn, learn_plainly = KERNELS[kernel]
    expected = learn_plainly(W, (X - mean)[order], 0.1)
    learn(W, X, mean, order, 0.1, 0.0)
    assert_allclose(W, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n_samples", range(1, 18))
def test_fast_kernel_agrees_for_any_number_of_samples(n_samples):
    W, X, mean, order = problem(6, 10, n_samples)
    expected = reference.gha_epoch(W, (X - mean)[order], 0.1)
    fast_epoch(W, X, mean, order, 0.1, 0.0)
    assert_allclose(W, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS)
def test_each_sample_learns_at_a_rate_of_its_own(kernel):
    W, X, mean, order = problem(6, 10, n_samples=19)
    rates = [0.2, *(0.2 / (1.0 + 0.3 * s) for s in range(1, 19))]
    learn, expected = KERNELS[kernel][0], W
    for x, rate in zip((X - mean)[order], rates, strict=True):
        expected = KERNELS[kernel][1](expected, x[None], rate)
    learn(W, X, mean, order, 0.2, 0.3)
    assert_allclose(W, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS)
def test_samples_are_learnt_in_the_given_order_and_number(kernel):
    W, X, mean, _ = problem(3, 4)
    order = np.array([5, 1, 1])
    learn, learn_plainly = KERNELS[kernel]
    expected = learn_plainly(W, (X - mean)[order], 0.1)
    learn(W, X, mean, order, 0.1, 0.0)
    assert_allclose(W, expected, rtol=1e-12, atol=1e-13)


def test_literal_kernel_computes_waiting_rows_at_full_cost_and_moves_the_others_only():
    W, X, mean, order = problem(5, 6)
    before = W.copy()
    counted = literal_epoch(W, 2, X, mean, order, 0.1, 0.0)
    assert_array_equal(W[2:], before[2:])
    assert_allclose(W[:2], reference.gha_epoch(before[:2], (X - mean)[order], 0.1), rtol=1e-12)
    assert counted == len(order) * 6 * (4 * 5 + 5 * 6 / 2)


def test_overflow_shows_as_values_that_are_not_finite():
    W, X, mean, order = problem(3, 4, n_samples=30)
    with np.errstate(all="ignore"):
        fast_epoch(W, 100.0 * X, mean, order, 10.0, 0.0)
    assert not np.isfinite(W).all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_counted_operations_follow_the_cost_formula(shape):
    n_rows, n_features = shape
    W, X, mean, order = problem(n_rows, n_features)
    counted = literal_epoch(W, n_rows, X, mean, order, 0.1, 0.0)
    assert counted == len(order) * n_features * (4 * n_rows + n_rows * (n_rows + 1) / 2)
    assert literal_variances(W, X, mean, np.empty(n_rows)) == len(X) * n_rows * n_features


def test_variances_of_responses_equal_hand_worked_values():
    # Responses of (1, 1) to (1, 2), (3, 0), (2, 4) are 3, 3, 6: mean 4, variance (1 + 1 + 4) / 3 = 2.
    X = np.array([[1.0, 2.0], [3.0, 0.0], [2.0, 4.0]])
    variances = np.empty(1)
    literal_variances(np.array([[1.0, 1.0]]), X, X.mean(axis=0), variances)
    assert variances[0] == pytest.approx(2.0, abs=1e-15)
    literal_variances(np.array([[1.0, 1.0]]), X, np.zeros(2), variances)
    assert variances[0] == pytest.approx((9.0 + 9.0 + 36.0) / 3.0)


def test_quadratic_variances_equal_hand_worked_values():
    # (1, 1) and (2, −1) with C = (4 1; 1 2): 4 + 2 + 2 = 8 and 16 − 4 + 2 = 14.
    variances = np.empty(2)
    quadratic_variances(np.array([[1.0, 1.0], [2.0, -1.0]]), np.array([[4.0, 1.0], [1.0, 2.0]]), variances)
    assert_allclose(variances, [8.0, 14.0], rtol=1e-15)


@pytest.mark.parametrize("n_samples", [2, 60])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_quadratic_variances_equal_the_variances_of_the_responses(shape, n_samples):
    W, X, mean, _ = problem(*shape, n_samples=n_samples)
    expected, variances = np.empty(len(W)), np.empty(len(W))
    literal_variances(W, X, mean, expected)
    C = np.cov(X.T, bias=True).reshape(shape[1], shape[1])
    quadratic_variances(W, C, variances)
    assert_allclose(variances, expected, rtol=1e-9)


def test_a_factor_of_the_covariance_gives_the_same_variances():
    # C = F Fᵀ with F the centred samples over √N, as columns: 5 samples of 21 features.
    W, X, mean, _ = problem(6, 21, n_samples=5)
    from_factor, from_covariance = np.empty(6), np.empty(6)
    quadratic_variances(W, np.ascontiguousarray((X - mean).T / np.sqrt(5.0)), from_factor)
    quadratic_variances(W, np.cov(X.T, bias=True), from_covariance)
    assert_allclose(from_factor, from_covariance, rtol=1e-12)
