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

    def test_most_variance_sums_the_largest_eigenvalues(self):
        assert_allclose(max_variances(self.C), [3.0, 4.0])

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
        found = variance_of_span(np.array(rows), self.C)
        assert found == pytest.approx(variance)
        n = np.array([len(rows)])
        assert_allclose(optimality(np.array([found]), n, max_variances(self.C)), [share])

    def test_rows_that_others_span_and_rows_of_zeros_add_nothing(self):
        for rows in (
            [[1.0, 0.0], [2.0, 0.0]],
            [[1.0, 0.0], [0.0, 0.0]],
            [[1e200, 0.0], [1e-200, 0.0]],
        ):
            assert variance_of_span(np.array(rows), self.C) == pytest.approx(2.0)
        assert variance_of_span(np.zeros((2, 2)), self.C) == 0.0

    def test_optimality_is_nan_without_variance(self):
        assert np.isnan(
            optimality(np.array([0.0]), np.array([1]), max_variances(np.zeros((2, 2))))
        ).all()


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
    for n_rows in range(1, 7):
        n = np.array([n_rows])
        rows = rng.standard_normal((n_rows, 6))
        share = optimality(np.array([variance_of_span(rows, C)]), n, max_variances(C))
        assert 0.0 <= share[0] <= 1.0 + 1e-12
        exact = optimality(np.array([variance_of_span(vectors[:n_rows], C)]), n, max_variances(C))
        assert exact[0] == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("model", [GHA, DGHA])
def test_tracking_optimality_does_not_change_the_fit(model):
    X = inputs()
    settings = {"n_epochs": 12, "learning_rate": 1e-3, "random_state": 3}
    plain, tracked = (model(track_optimality=track, **settings).fit(X) for track in (False, True))
    assert_array_equal(tracked.components_, plain.components_)
    assert "optimality" not in plain.history_
    for name, curve in plain.history_.items():
        assert_array_equal(tracked.history_[name], curve)
    assert (tracked.n_operations_, tracked.n_epochs_) == (plain.n_operations_, plain.n_epochs_)
    constant = model(n_epochs=2, track_optimality=True, random_state=0).fit(np.ones((5, 3)))
    assert np.isnan(constant.history_["optimality"]).all(), "and no warning"
    found = tracked.history_["optimality"]
    assert found.shape == (tracked.n_epochs_ + 1,)
    assert np.all((found > 0.0) & (found <= 1.0 + 1e-12))


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
    assert chunks.history_["optimality"].shape == (4,)
    assert np.all(chunks.history_["optimality"] <= 1.0 + 1e-12), (
        "each is held to the samples seen by then"
    )


class TestResultOfEvolution:
    @pytest.mark.parametrize("seed", range(2))
    def test_the_best_is_the_fittest_of_all_that_were_evaluated(self, seed):
        X = inputs(seed)
        best, final = (
            NEpPCA(tau=5.0, n_generations=25, result=result, random_state=seed).fit(X)
            for result in ("best", "final")
        )
        for name, curve in final.history_.items():
            assert_array_equal(best.history_[name], curve)
        course = final.history_["fitness"]
        assert best.fitness_ == course.max()
        place = int(np.argmax(course))
        assert best.n_components_ == final.history_["dimensionality"][place]
        kept = final.history_["variances"][place]
        assert_array_equal(best.explained_variance_, kept[: best.n_components_])
        assert_allclose(best.transform(X).var(axis=0), best.explained_variance_, rtol=1e-9)
        assert final.fitness_ == course[-1]
        assert final.n_components_ == final.history_["dimensionality"][-1]

    def test_optimality_is_retained_variance_over_the_most(self):
        X = inputs()
        history = NEpPCA(tau=5.0, n_generations=10, random_state=0).fit(X).history_
        most = np.cumsum(np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1])
        expected = np.nansum(history["variances"], axis=1) / most[history["dimensionality"] - 1]
        assert_allclose(history["optimality"], expected, rtol=1e-9)
        assert np.all(history["optimality"] <= 1.0 + 1e-9)
