"""Reconstruction error and retained variance against the eigenvalues of exact PCA."""

import numpy as np
import pytest

from pppca_bench.experiments.measures import measure_reconstruction
from pppca_bench.reducers.nonlinear_projection import Autoencoder


class _Rows:
    """A linear method with given orthonormal rows."""

    def __init__(self, rows, mean):
        self.rows, self.mean = rows, mean

    def transform(self, X):
        return (X - self.mean) @ self.rows.T

    def inverse_transform(self, Z):
        return Z @ self.rows + self.mean


class _Blind:
    """A method that cannot rebuild its inputs."""


@pytest.fixture
def inputs():
    return np.random.default_rng(3).standard_normal((60, 5)) * [3.0, 2.0, 1.0, 0.5, 0.1] + 7.0


@pytest.mark.parametrize("n_components", [1, 3, 5])
def test_exact_pca_loses_half_the_sum_of_the_discarded_eigenvalues(inputs, n_components):
    values, vectors = np.linalg.eigh(np.cov(inputs.T, bias=True))
    pca = _Rows(vectors.T[::-1][:n_components], inputs.mean(axis=0))
    lost = values[: 5 - n_components].sum()
    assert measure_reconstruction(pca, inputs, pca.transform(inputs)) == {
        "reconstruction_error": pytest.approx(0.5 * lost, abs=1e-12),
        "retained_variance_percent": pytest.approx(100.0 * (1.0 - lost / values.sum())),
        "optimality_percent": pytest.approx(100.0),
    }


def test_features_of_a_method_without_an_inverse_are_rebuilt_by_the_best_linear_map(inputs):
    mixed = inputs[:, :2] @ [[1.0, 2.0], [0.5, -1.0]] + 3.0
    found = measure_reconstruction(_Blind(), inputs, mixed)
    X = inputs - inputs.mean(axis=0)
    kept = X[:, :2]
    residual = X - kept @ np.linalg.solve(kept.T @ kept, kept.T @ X)
    expected = pytest.approx(0.5 * np.mean(np.sum(residual**2, axis=1)))
    assert found["reconstruction_error"] == expected


def test_constant_inputs_have_no_share_of_variance():
    X = np.full((4, 3), 2.0)
    assert measure_reconstruction(_Blind(), X, X[:, :1]) == {"reconstruction_error": 0.0}


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_measures_beyond_all_numbers_are_left_out():
    X, none = np.array([[1e200], [-1e200], [3e200]]), pytest.approx(0.0, abs=1e-9)
    found = measure_reconstruction(_Rows(np.zeros((1, 1)), X.mean(axis=0)), X, np.zeros((3, 1)))
    assert found == {"retained_variance_percent": none, "optimality_percent": none}
    X = np.array([[1.7e308], [1.7e308], [-1.7e308]])
    assert measure_reconstruction(_Rows(np.ones((1, 1)), np.zeros(1)), X, X) == {}


def test_no_features_have_no_optimality(inputs):
    nothing = _Rows(np.zeros((0, 5)), inputs.mean(axis=0))
    found = measure_reconstruction(nothing, inputs, np.zeros((60, 0)))
    assert found["retained_variance_percent"] == pytest.approx(0.0, abs=1e-9)
    assert "optimality_percent" not in found


def test_optimality_is_retained_variance_over_that_of_as_many_exact_components_by_hand():
    # Variances 4 and 1 along the axes: the second axis retains 20 % of the total where one direction can hold 80 %.
    X = np.array([[2.0, 1.0], [2.0, -1.0], [-2.0, 1.0], [-2.0, -1.0]])
    second = _Rows(np.array([[0.0, 1.0]]), np.zeros(2))
    found = measure_reconstruction(second, X, second.transform(X))
    assert found["retained_variance_percent"] == pytest.approx(20.0)
    assert found["optimality_percent"] == pytest.approx(25.0)
    assert type(found["optimality_percent"]) is float


def test_a_nonlinear_reconstruction_has_no_optimality(inputs):
    network = Autoencoder(n_components=1, kind="nonlinear", n_hidden=4, max_iter=5, random_state=0)
    found = measure_reconstruction(network, inputs, network.fit(inputs).transform(inputs))
    assert set(found) == {"retained_variance_percent", "reconstruction_error"}
