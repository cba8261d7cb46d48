"""Linear algebra whose sums have one order: agreement with NumPy's, and digits that no processor changes."""

import hashlib

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_registers import run

from pppca_bench.compiled.linear_algebra import (
    flip_signs,
    orthonormal,
    principal_components,
    project,
    rounded,
    second_moments,
)
from pppca_bench.compiled.operation import INTERPRETED


def random_samples(*shape):
    rng = np.random.default_rng(2)
    return rng.random(shape) * rng.uniform(0.2, 2.0, shape[1])


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (128, 8), (300, 11)])
def test_moments_projections_and_principal_components_agree_with_numpys_and_lapacks(shape):
    X, directions = random_samples(*shape), random_samples(5, shape[1])
    expected = np.atleast_2d(np.cov(X, rowvar=False, bias=True))
    assert_allclose(second_moments(X, X.mean(axis=0)), expected, rtol=1e-12, atol=1e-17)
    expected = (X - X[0]) @ directions.T
    assert_allclose(project(X, X[0], directions), expected, rtol=1e-12, atol=1e-14)
    C = second_moments(X, np.zeros(shape[1]))
    assert_allclose(C, X.T @ X / len(X), rtol=1e-12)
    eigenvalues, rows = principal_components(C)
    assert_allclose(eigenvalues, np.linalg.eigvalsh(C)[::-1], rtol=1e-12, atol=1e-15)
    assert_allclose(rows @ C @ rows.T, np.diag(eigenvalues), atol=1e-13)
    assert_allclose(rows @ rows.T, np.eye(shape[1]), atol=1e-13)


def test_many_features_are_diagonalised_by_lapack_with_the_same_signs():
    eigenvalues, rows = principal_components(np.diag(np.linspace(1.0, 2.0, 257)))
    assert_allclose(eigenvalues, np.linspace(2.0, 1.0, 257))
    assert_allclose(rows, np.eye(257)[::-1], atol=1e-12)


def test_constant_features_have_no_variance():
    eigenvalues, rows = principal_components(np.zeros((3, 3)))
    assert_array_equal(eigenvalues, np.zeros(3))
    assert_array_equal(rows, np.eye(3))


def test_the_first_of_weights_that_tie_decides_a_sign():
    rows = np.array([[0.5, -0.5 - 1e-12], [-0.5 - 1e-12, 0.5], [0.1, -0.9]])
    assert_array_equal(flip_signs(rows), [rows[0], -rows[1], -rows[2]])


def test_rows_become_orthonormal_in_their_order():
    rows = random_samples(4, 6)
    rows[3] = rows[0] + 1e-9 * rows[3]
    ours = orthonormal(rows)
    assert_allclose(ours @ ours.T, np.eye(4), atol=1e-14)
    overlaps = rows @ ours.T
    assert_allclose(np.triu(overlaps, 1), 0.0, atol=1e-14)
    assert (np.diagonal(overlaps) > 0.0).all()


def test_rounding_keeps_thirty_bits_of_the_largest():
    values = np.array([1.5, -0.3, 1e-10])
    ours = rounded(values)
    assert_allclose(ours, values, atol=2.0**-30)
    assert_array_equal(ours * 2.0**29, np.rint(ours * 2.0**29))
    assert_array_equal(rounded(values + 1e-13), ours)
    assert_array_equal(rounded(np.zeros(2)), 0.0)


def digits():
    """Return a digest of results to the last bit."""
    X = random_samples(60, 11)
    C = second_moments(X, X.mean(axis=0))
    eigenvalues, rows = principal_components(C)
    arrays = C, eigenvalues, rows, project(X, X[0], rows), orthonormal(X[:5])
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


@pytest.mark.skipif(INTERPRETED, reason="NumPy rounds a multiply-add twice")
def test_every_processor_computes_the_same_digits():
    assert digits() == "5cd32819a384674808bb90fc7371cef61ce9fe3dc23fd728ad7f6cc22cbf64cc"


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{"OPENBLAS_CORETYPE": "Prescott"}, {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}],
)
def test_another_target_or_blas_computes_the_same_digits(settings, tmp_path):
    program = "from test_linear_algebra_kernels import digits; print(digits())"
    assert run(program, settings, tmp_path) == [digits()]
