"""Autoencoder: the space of the principal components when linear, a curve when nonlinear."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.optimize import approx_fprime
from sklearn.datasets import load_iris

from pppca_bench.reducers.linear_projection import CovariancePCA
from pppca_bench.reducers.nonlinear_projection import Autoencoder

T = np.linspace(-1.0, 1.0, 100)
PARABOLA = np.column_stack([T, T**2])


def lost(model, X):
    return np.mean((X - model.inverse_transform(model.transform(X))) ** 2)


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_linear_network_spans_the_space_of_the_principal_components(n_components):
    X = load_iris().data
    network = Autoencoder(n_components, tol=1e-9, random_state=0).fit(X)
    rows = CovariancePCA(n_components).fit(X).components_
    assert network.converged_
    assert np.rad2deg(subspace_angles(network.coefs_[1].T, rows.T)).max() < 0.2


def test_curved_data_are_rebuilt_by_the_nonlinear_network_alone():
    X = PARABOLA
    linear = Autoencoder(1, random_state=0).fit(X)
    curved = Autoencoder(1, kind="nonlinear", n_hidden=6, random_state=0).fit(X)
    assert lost(curved, X) < 0.02 * lost(linear, X)


@pytest.mark.parametrize("kind", ["linear", "two_layer", "nonlinear"])
def test_gradient_agrees_with_differences_of_the_loss(kind):
    X, rng = PARABOLA[:7], np.random.default_rng(1)
    model = Autoencoder(1, kind=kind, n_hidden=3 if kind == "nonlinear" else None, max_iter=1).fit(
        X
    )
    layers = [rng.normal(size=(len(W) + 1, W.shape[1])) for W in model.coefs_]
    weights = np.concatenate([layer.ravel() for layer in layers])
    ends = np.cumsum([layer.size for layer in layers])[:-1]

    def loss(weights):
        parts = zip(np.split(weights, ends), layers, strict=True)
        return model._loss([part.reshape(layer.shape) for part, layer in parts], X)

    numeric = approx_fprime(weights, lambda w: loss(w)[0], 1e-7)
    np.testing.assert_allclose(loss(weights)[1], numeric, atol=1e-6)


def test_middle_values_lead_to_the_networks_outputs_even_if_training_has_not_converged():
    X = load_iris().data
    model = Autoencoder(2, kind="nonlinear", max_iter=60, random_state=3).fit(X)
    assert not model.converged_
    values = X - model.mean_
    for layer, (W, bias) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        values = values @ W + bias if layer == 3 else np.tanh(values @ W + bias)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), values + model.mean_)
