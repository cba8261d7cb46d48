"""Counterparts of pseudo-PCA: exact PCA with as many components, learning without removal, the iris notebook's rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import minmax_scale

from pppca_bench.engines.counterparts import (
    CCIPCALikeDGHA,
    DGHAWithoutRemoval,
    FSMLikeDGHA,
    NotebookGHA,
    NotebookPCA,
    PCALikeDGHA,
    PCALikeNEpPCA,
)
from pppca_bench.engines.dgha import DGHA
from pppca_bench.engines.ne_ppca import NEpPCA
from pppca_bench.engines.streaming import CCIPCA, FastSimilarityMatching
from pppca_bench.problems import load_problem

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


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize(
    ("like", "alone"), [(CCIPCALikeDGHA, CCIPCA), (FSMLikeDGHA, FastSimilarityMatching)]
)
def test_one_pass_learns_as_many_components_as_dgha_keeps(like, alone, centre):
    fitted = like(5.0, centre=centre, random_state=4).fit(WINE)
    kept = DGHA(5.0, centre=centre, random_state=4).fit(WINE).n_components_
    assert 1 <= kept < WINE.shape[1]
    oracle = alone(kept, centre=centre, random_state=4).fit(WINE)
    assert fitted.n_components_ == oracle.n_components_ == kept
    assert fitted.n_samples_seen_ == len(WINE)
    for name in ("components_", "mean_", "explained_variance_", "explained_variance_ratio_"):
        assert_array_equal(getattr(fitted, name), getattr(oracle, name))
    assert_array_equal(fitted.transform(WINE), oracle.transform(WINE))


@pytest.mark.parametrize("like", [CCIPCALikeDGHA, FSMLikeDGHA])
def test_a_generator_gives_dghas_random_numbers_and_then_the_order_of_the_pass(like):
    generator = np.random.default_rng(4)
    kept = DGHA(5.0, random_state=generator).fit(WINE).n_components_
    oracle = like._one_pass(kept, random_state=generator).fit(WINE)
    fitted = like(5.0, random_state=np.random.default_rng(4)).fit(WINE)
    assert_array_equal(fitted.components_, oracle.components_)


def test_learning_without_removal_starts_with_the_rows_that_dgha_ends_with():
    steady = DGHAWithoutRemoval(5.0, random_state=4).fit(WINE)
    kept = DGHA(5.0, random_state=4).fit(WINE).n_components_
    assert steady.n_components_ == kept
    assert_array_equal(steady.history_["dimensionality"], kept)
    alone = DGHA(5.0, n_components=kept, min_components=kept, random_state=4).fit(WINE)
    assert_array_equal(steady.components_, alone.components_)


# Printed in "Hebbian-Based Principal Component Analysis"; of each row the largest weight is made positive.
CENTRED = [
    [0.3868362, -0.03370618, 0.8417560, 0.37670935],
    [0.6365878, 0.71272462, -0.1696528, -0.05774605],
    [0.5986174, -0.54297189, -0.1008112, -0.54043736],
    [0.2621777, -0.36708316, -0.4533275, 0.70828539],
]
ENCODED = [
    [0.4349662, -0.1248902, 0.61242855, 0.64859483],
    [0.4298506, 0.8961971, -0.09053084, -0.03808553],
    [0.7020452, -0.3530506, 0.06045431, -0.61216302],
    [-0.3503979, 0.2245385, 0.78301676, -0.45535006],
]


@pytest.mark.parametrize(
    ("problem", "printed", "error"),
    [("iris_centred", CENTRED, 1.878206), ("iris_encoded", ENCODED, 0.1473655)],
)
def test_rows_and_error_equal_the_printed_digits(problem, printed, error):
    notebook = NotebookGHA(component=3, random_state=1).fit(load_problem(problem).X_train)
    assert_allclose(notebook.components_, printed, rtol=0, atol=1e-7)
    assert notebook.residual_norm_ == pytest.approx(error, rel=1e-6)
    row = [notebook.measures_[f"weight_{i}"] for i in range(1, 5)]
    assert_allclose(row, printed[2], rtol=0, atol=1e-7)


def test_all_samples_of_the_problems_are_for_training_in_their_order():
    centred, encoded = (load_problem(name) for name in ("iris_centred", "iris_encoded"))
    X = load_iris().data
    assert_allclose(centred.X_train, X - X.mean(axis=0), atol=1e-9)
    expected = (pytest.approx(np.full(4, -1.0)), pytest.approx(np.ones(4)))
    assert (encoded.X_train.min(axis=0), encoded.X_train.max(axis=0)) == expected
    for problem in (centred, encoded):
        assert (len(problem.X_train), len(problem.X_validation), len(problem.X_test)) == (150, 0, 0)


def test_a_single_pass_starts_from_the_rows_as_drawn():
    X = load_problem("iris_centred").X_train
    once, twice = (NotebookGHA(n_epochs=n, random_state=0).fit(X).components_ for n in (1, 2))
    assert np.abs(once - twice).max() > 1e-3


@pytest.mark.parametrize(
    ("problem", "third", "opposite", "printed", "aligned"),
    [
        ("iris_centred", [-0.5820299, 0.59791083, 0.07623608, 0.54583143], (2, 4), 1.994868, 0.121),
        ("iris_encoded", [0.7135724, -0.3363160, 0.0659003, -0.611034506], (1, 4), 2.001197, 0.044),
    ],
)
def test_printed_distances_are_to_rows_of_opposite_sign(problem, third, opposite, printed, aligned):
    X = load_problem(problem).X_train
    measures = NotebookPCA(3, opposite=opposite, random_state=0).fit(X).measures_
    row = [measures[f"weight_{i}"] for i in range(1, 5)]
    assert_allclose(row, third, rtol=0, atol=1e-7)
    assert measures["pca_distance"] == pytest.approx(printed, abs=1e-6)
    alike = NotebookPCA(random_state=7).fit(X).measures_["pca_distance"]
    assert alike == pytest.approx(aligned, abs=5e-4)
