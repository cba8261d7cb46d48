"""Optimality: hand-worked cases, orthonormal bases, bounds, and tracked fits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pppca_bench.base.projection import max_variances, optimality, variance_of_span
from pppca_bench.engines import DGHA, GHA, NEpPCA

SEEDS = range(3)


def covariance(seed: int, m: int = 6) -> np.ndarray:
    factor = np.random.default_rng(seed).standard_normal((m, m)) * np.geomspace(1.0, 1e-2, m)
    return factor @ factor.T


def inputs(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((80, 5)) @ (
        rng.standard_normal((5, 5)) * np.geomspace(1.0, 0.1, 5)[:, None]
    )


class TestByHand:
    # Eigenvalues 3 along (1, 1) / √2 and 1 along (1, −1) / √2.
    C = np.array([[2.0, 1.0], [1.0, 2.0]])

    @pytest.mark.parametrize(
        ("rows", "variance", "share"),
        [
            ([[1.0, 1.0]], 3.0, 1.0),
            ([[-5.0, 5.0]], 1.0, 1 / 3),
            ([[0.1, 0.0]], 2.0, 2 / 3),
            ([[1.0, 0.0], [1.0, 1e-3]], 4.0, 1.0),
        ],
    )
    def test_variance_and_share(self, rows, variance, share):
        found, n = variance_of_span(np.array(rows), self.C), np.array([len(rows)])
        assert found == pytest.approx(variance)
        assert_allclose(optimality(np.array([found]), n, max_variances(self.C)), [share])

    def test_rows_that_others_span_and_rows_of_zeros_add_nothing(self):
        for rest in ([2.0, 0.0], [0.0, 0.0], [1e-200, 0.0]):
            rows = np.array([[1.0, 0.0], rest])
            assert variance_of_span(rows, self.C) == pytest.approx(2.0)
        assert variance_of_span(np.zeros((2, 2)), self.C) == 0.0
        assert np.isnan(optimality(np.array([0.0]), np.array([1]), np.zeros(2))).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_variance_of_a_span_depends_on_neither_norms_nor_angles_of_rows(seed):
    rng, C = np.random.default_rng([seed, 1]), covariance(seed)
    n_rows = int(rng.integers(1, 7))
    basis = np.linalg.qr(rng.standard_normal((6, n_rows)))[0].T
    norms = rng.choice([1e-120, 1e-3, 1.0, 1e90], size=(n_rows, 1))
    mixed = rng.standard_normal((n_rows, n_rows)) @ basis * norms
    assert variance_of_span(mixed, C) == pytest.approx(np.trace(basis @ C @ basis.T), rel=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_rows_retain_more_than_as_many_exact_components(seed):
    rng, C = np.random.default_rng([seed, 2]), covariance(seed)
    vectors = np.linalg.eigh(C)[1][:, ::-1].T
    for n in range(1, 7):
        drawn, exact = (
            optimality(np.array([variance_of_span(rows, C)]), np.array([n]), max_variances(C))[0]
            for rows in (rng.standard_normal((n, 6)), vectors[:n])
        )
        assert 0.0 <= drawn <= 1.0 + 1e-12
        assert exact == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("model", [GHA, DGHA])
def test_tracking_optimality_does_not_change_the_fit(model):
    X = inputs()
    settings = {"n_epochs": 12, "learning_rate": 1e-3, "random_state": 3}
    plain, tracked = (model(track_optimality=track, **settings).fit(X) for track in (False, True))
    assert_array_equal(tracked.components_, plain.components_)
    assert "optimality" not in plain.history_
    for name, curve in plain.history_.items():
        assert_array_equal(tracked.history_[name], curve)
    constant = model(n_epochs=2, track_optimality=True, random_state=0).fit(np.ones((5, 3)))
    assert np.isnan(constant.history_["optimality"]).all(), "and no warning"
    assert tracked.history_["optimality"].shape == (tracked.n_epochs_ + 1,)


def test_the_last_optimality_is_that_of_the_components():
    X = inputs()
    model = GHA(
        n_components=2, n_epochs=5, learning_rate=1e-3, track_optimality=True, random_state=0
    ).fit(X)
    basis = np.linalg.qr(model.components_.T)[0]
    retained = np.var((X - X.mean(axis=0)) @ basis, axis=0).sum()
    most = np.linalg.eigvalsh(np.cov(X.T, bias=True))[-2:].sum()
    assert model.history_["optimality"][-1] == pytest.approx(retained / most)
    chunks = GHA(n_components=2, learning_rate=1e-4, track_optimality=True, random_state=0)
    for scale in (5.0, 1.0, 0.1):
        chunks.partial_fit(X * scale)
    held_to_samples_seen_by_then = chunks.history_["optimality"] <= 1.0 + 1e-12
    assert_array_equal(held_to_samples_seen_by_then, [True] * 4)


def test_the_best_of_an_evolution_is_the_fittest_of_all_that_were_evaluated():
    X = inputs()
    best, final = (
        NEpPCA(tau=5.0, n_generations=25, result=result, random_state=0).fit(X)
        for result in ("best", "final")
    )
    for name, curve in final.history_.items():
        assert_array_equal(best.history_[name], curve)
    course, variances = final.history_["fitness"], final.history_["variances"]
    place = int(np.argmax(course))
    for model, at in ((best, place), (final, 25)):
        assert model.fitness_ == course[at]
        assert model.n_components_ == final.history_["dimensionality"][at]
        assert_array_equal(model.explained_variance_, variances[at][: model.n_components_])
        assert_allclose(model.transform(X).var(axis=0), model.explained_variance_, rtol=1e-9)
    assert place < 25


def test_optimality_of_an_evolution_is_retained_variance_over_the_most():
    X = inputs()
    history = NEpPCA(tau=5.0, n_generations=10, random_state=0).fit(X).history_
    most = np.cumsum(np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1])
    expected = np.nansum(history["variances"], axis=1) / most[history["dimensionality"] - 1]
    assert_allclose(history["optimality"], expected, rtol=1e-9)
