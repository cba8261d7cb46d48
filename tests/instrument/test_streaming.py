"""Streaming components as estimators: exact PCA, removal, drift."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from pppca_bench.base.projection import max_variances, variance_of_span
from pppca_bench.engines.streaming import CCIPCA, AdaOja, EigenGame, FastSimilarityMatching

RULES = [CCIPCA(), FastSimilarityMatching(), AdaOja(), EigenGame()]
over_rules = pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
SCALES = np.sqrt([9.0, 6.0, 4.0, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.01])


def samples(n=3000, seed=0):
    """Return samples with three large variances, in axes that are turned at random, and the axes as columns."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((len(SCALES), len(SCALES))))[0]
    return rng.standard_normal((n, len(SCALES))) * SCALES @ axes.T + 5.0, axes


def optimality_of(estimator, X):
    C = np.cov(X, rowvar=False, ddof=0)
    return (
        variance_of_span(estimator.components_, C) / max_variances(C)[estimator.n_components_ - 1]
    )


@over_rules
def test_one_pass_removes_what_exact_pca_removes_and_retains_as_much(rule):
    X, _ = samples(6000)
    estimator = clone(rule).set_params(tau=10.0, random_state=0).fit(X)
    assert estimator.n_components_ == 3
    assert estimator._stream.rows.shape[0] == 3  # the others are gone, not hidden
    assert optimality_of(estimator, X) > 0.995
    assert_allclose(estimator.explained_variance_, SCALES[:3] ** 2, rtol=0.2)
    assert_allclose(estimator.mean_, X.mean(axis=0), rtol=1e-12)


@over_rules
@pytest.mark.parametrize("shape", [(3, 1), (10, 1), (30, 4)])
def test_shares_of_as_many_rows_as_features_sum_to_1(rule, shape):
    X = np.random.default_rng(1).standard_normal(shape) * np.arange(1.0, shape[1] + 1.0)
    estimator = clone(rule).set_params(random_state=0).fit(X)
    assert estimator.n_components_ == shape[1]
    assert estimator.explained_variance_ratio_.sum() == pytest.approx(1.0, abs=1e-12)


@over_rules
def test_shares_of_the_leading_rows_are_those_of_exact_pca(rule):
    X, _ = samples(6000)
    shares = SCALES[:2] ** 2 / np.sum(SCALES**2)
    for given in ({"n_components": 2}, {"tau": 10.0}):
        estimator = clone(rule).set_params(**given, random_state=0).fit(X)
        assert_allclose(estimator.explained_variance_ratio_[:2], shares, rtol=0.2)


def test_samples_without_variance_have_a_single_direction_without_variance():
    estimator = CCIPCA(tau=10.0).fit(np.ones((5, 3)))
    assert_array_equal(estimator.components_, [[1.0, 0.0, 0.0]])
    assert_array_equal(estimator.explained_variance_, [0.0])


def test_history_follows_the_optimality_at_powers_of_two():
    X, _ = samples(100)
    estimator = CCIPCA(n_components=3, track_optimality=True, n_samples=300, random_state=0).fit(X)
    assert estimator.history_["samples"].tolist() == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]
    found = estimator.history_["optimality"][-1]
    assert found == pytest.approx(optimality_of(estimator, X), rel=1e-12)


def test_orthogonal_samples_leave_rows_their_directions():
    X = np.vstack([np.zeros(3), np.eye(3), np.eye(3)])
    estimator = CCIPCA(centre=False, amnesia=3.0).partial_fit(X)
    assert np.isfinite(estimator.components_).all()
    assert_allclose(np.abs(estimator.components_ @ estimator.components_.T), np.eye(3), atol=1e-12)
