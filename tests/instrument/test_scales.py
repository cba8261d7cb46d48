"""Scales of samples: reducers of X and of s X agree up to the scale, or refuse s X."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from pppca_bench.engines.streaming import CCIPCA, AdaOja, EigenGame, FastSimilarityMatching
from pppca_bench.methods.registry import METHODS
from pppca_bench.reducers.linear_projection import CovariancePCA
from pppca_bench.reducers.nonlinear_projection import Autoencoder

STREAMING = [CCIPCA, FastSimilarityMatching, AdaOja, EigenGame]
# a learning rate for given inputs
OWN_RATE = (*("dgha", "pca_like_dgha", "ccipca_like_dgha", "fsm_like_dgha"), "dgha_without_removal")


def reducer(name):
    module, _, attribute = METHODS[name].estimator.partition(":")
    make = getattr(import_module(module), attribute)
    wanted = {"n_components": 2, "n_features": 2, "random_state": 0}
    wanted |= {"n_generations": 5, "n_epochs": 20}
    return make(**{key: value for key, value in wanted.items() if key in make().get_params()})


def iris():
    X, y = load_iris(return_X_y=True)
    return (X - X.min(axis=0)) / np.ptp(X, axis=0), y


def directions(outputs):
    """Return centred outputs of unit norm."""
    centred = outputs - outputs.mean(axis=0)
    centred /= np.abs(centred).max(axis=0)
    return centred / np.linalg.norm(centred, axis=0)


def lost(model, X):
    """Return the share of variance that reconstructions lose."""
    scale = np.abs(X).max()
    errors = (X - model.inverse_transform(model.transform(X))) / scale
    deviations = (X - X.mean(axis=0)) / scale
    return np.square(errors).sum() / np.square(deviations).sum()


REDUCERS = [name for name, method in METHODS.items() if method.makes == "features"]
REDUCERS = [name for name in REDUCERS if name not in (*OWN_RATE, "hebbian_pca")]


@pytest.mark.parametrize("scale", [1e-100, 1e100])
@pytest.mark.parametrize("name", REDUCERS)
def test_reducers_of_scaled_samples_have_the_same_components_up_to_the_scale(name, scale):
    X, y = iris()
    model, scaled = (reducer(name).fit(own, y) for own in (X, scale * X))
    outputs, of_scaled = directions(model.transform(X)), directions(scaled.transform(scale * X))
    assert_allclose(of_scaled, outputs, atol=1e-3 if name == "autoencoder" else 1e-9)
    if hasattr(model, "explained_variance_ratio_"):
        ratios, variances = model.explained_variance_ratio_, model.explained_variance_ * scale**2
        assert_allclose(scaled.explained_variance_ratio_, ratios, rtol=1e-9)
        assert_allclose(scaled.explained_variance_, variances, rtol=1e-9)
    if hasattr(model, "inverse_transform"):
        assert lost(scaled, scale * X) == pytest.approx(lost(model, X), abs=1e-6)


@given(power=st.integers(-6, 3), kind=st.sampled_from(["linear", "two_layer"]))
@settings(max_examples=8)
@pytest.mark.slow
def test_autoencoder_comes_to_exact_pca_at_any_scale(power, kind):
    X = 10.0**power * iris()[0]
    autoencoder = Autoencoder(2, kind=kind, random_state=0).fit(X)
    assert lost(autoencoder, X) == pytest.approx(lost(CovariancePCA(2).fit(X), X), abs=0.005)


@pytest.mark.parametrize("rule", STREAMING)
@given(seed=st.integers(0, 1000), n=st.integers(2, 60), tail=st.floats(0.1, 10.0))
@settings(max_examples=15)
def test_shares_of_variance_of_a_stream_sum_to_at_most_1(rule, seed, n, tail):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) * rng.exponential(size=(n, 1)) ** tail
    assert rule(random_state=seed).fit(X).explained_variance_ratio_.sum() <= 1.0 + 1e-12


@pytest.mark.parametrize("rule", STREAMING)
def test_a_stream_refuses_samples_beyond_the_scale_of_its_first(rule):
    X = iris()[0]
    said = r"first samples, 1\.\S+e-100, got values up to 1e\+100\. Scale the features"
    with pytest.raises(ValueError, match=said):
        rule().partial_fit(X * 1e-100).partial_fit(X * 1e100)
