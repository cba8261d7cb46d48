"""Compiled updates of streaming components against plain NumPy and against exact PCA."""

import naive
import numpy as np
import pytest
from sklearn.base import clone

from pppca_bench.engines.streaming import CCIPCA, AdaOja, EigenGame, FastSimilarityMatching

RULES = {
    "ccipca": (CCIPCA(amnesia=2.0), lambda X, n: naive.ccipca(X, n, 2.0)),
    "eigengame": (EigenGame(), lambda X, n: naive.eigengame(X, n, 1.0, 100.0)),
    "fsm": (FastSimilarityMatching(), naive.similarity),
    "adaoja": (AdaOja(), lambda X, n: naive.adaoja(X, n, 8)),
}


def samples(n_samples, n_features):
    rng = np.random.default_rng(0)
    return 3.0 + rng.standard_normal((n_samples, n_features)) * 0.8 ** np.arange(n_features)


@pytest.mark.parametrize(("n_rows", "n_features"), [(1, 1), (2, 5), (3, 17), (9, 9)])
@pytest.mark.parametrize("rule", RULES)
def test_updates_agree_with_the_formulas(rule, n_rows, n_features):
    estimator, expected = RULES[rule]
    X = samples(60, n_features)
    estimator = clone(estimator).set_params(n_components=n_rows).partial_fit(X)
    rows, variances = expected(X, n_rows)
    order = np.argsort(-variances)
    rows = rows[order] / np.linalg.norm(rows[order], axis=1, keepdims=True)
    np.testing.assert_allclose(estimator.explained_variance_, variances[order], rtol=1e-9)
    np.testing.assert_allclose(np.abs(np.sum(rows * estimator.components_, axis=1)), 1.0, rtol=1e-9)
