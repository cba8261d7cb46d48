"""Counterparts of pseudo-PCA with as many components: exact PCA, and learning without removal."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import minmax_scale

from pppca_bench.engines.counterparts import DGHAWithoutRemoval, PCALikeDGHA, PCALikeNEpPCA
from pppca_bench.engines.dgha import DGHA
from pppca_bench.engines.ne_ppca import NEpPCA

WINE = minmax_scale(load_wine().data)


@pytest.mark.parametrize(
    ("like", "pseudo", "settings"),
    [(PCALikeDGHA, DGHA, {"tau": 5.0}), (PCALikeNEpPCA, NEpPCA, {"tau": 3.0, "n_generations": 60})],
)
def test_exact_components_are_as_many_as_the_pseudo_pca_keeps(like, pseudo, settings):
    exact = like(**settings, random_state=4).fit(WINE)
    kept = pseudo(**settings, random_state=4).fit(WINE)
    assert 1 <= exact.n_components_ == kept.n_components_ < WINE.shape[1]
    oracle = PCA(exact.n_components_).fit(WINE)
    assert_allclose(np.abs(np.sum(exact.components_ * oracle.components_, axis=1)), 1.0)
    assert_allclose(np.abs(exact.transform(WINE)), np.abs(oracle.transform(WINE)), atol=1e-10)
    assert_allclose(exact.explained_variance_ratio_, oracle.explained_variance_ratio_)


def test_learning_without_removal_starts_with_the_rows_that_dgha_ends_with():
    steady = DGHAWithoutRemoval(5.0, random_state=4).fit(WINE)
    kept = DGHA(5.0, random_state=4).fit(WINE).n_components_
    assert steady.n_components_ == kept
    assert_array_equal(steady.history_["dimensionality"], kept)
    alone = DGHA(5.0, n_components=kept, min_components=kept, random_state=4).fit(WINE)
    assert_array_equal(steady.components_, alone.components_)
