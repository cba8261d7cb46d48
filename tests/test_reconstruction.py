"""Reconstruction error and retained variance: exact PCA's eigenvalues are the oracle."""

import numpy as np
import pytest

from pppca_bench.engines import NEpPCA
from pppca_bench.experiments.reconstruction import measure_reconstruction


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
    values, vectors = values[::-1], vectors[:, ::-1]
    pca = _Rows(vectors.T[:n_components], inputs.mean(axis=0))
    found = measure_reconstruction(pca, inputs, pca.transform(inputs))
    assert found["reconstruction_error"] == pytest.approx(0.5 * values[n_components:].sum(), abs=1e-12)
    retained = 100.0 * values[:n_components].sum() / values.sum()
    assert found["retained_variance_percent"] == pytest.approx(retained)


def test_features_of_a_method_without_an_inverse_are_rebuilt_by_the_best_linear_map(inputs):
    mixed = inputs[:, :2] @ [[1.0, 2.0], [0.5, -1.0]] + 3.0
    found = measure_reconstruction(_Blind(), inputs, mixed)
    X = inputs - inputs.mean(axis=0)
    kept = X[:, :2]
    residual = X - kept @ np.linalg.solve(kept.T @ kept, kept.T @ X)
    assert found["reconstruction_error"] == pytest.approx(0.5 * np.mean(np.sum(residual**2, axis=1)))


def test_a_method_that_keeps_all_nodes_loses_nothing(inputs):
    network = NEpPCA(tau=1e12, n_generations=2, random_state=0).fit(inputs)
    found = measure_reconstruction(network, inputs, network.transform(inputs))
    assert found["retained_variance_percent"] == pytest.approx(100.0)


def test_constant_inputs_have_no_share_of_variance():
    X = np.full((4, 3), 2.0)
    assert measure_reconstruction(_Blind(), X, X[:, :1]) == {"reconstruction_error": 0.0}


def test_a_figure_beyond_all_numbers_is_left_out():
    X = np.array([[1e200], [-1e200], [3e200]])
    found = measure_reconstruction(_Rows(np.zeros((1, 1)), X.mean(axis=0)), X, np.zeros((3, 1)))
    assert found == {"retained_variance_percent": pytest.approx(0.0, abs=1e-9)}
