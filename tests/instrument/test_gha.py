"""GHA as an estimator: exact PCA, the published iris run, chunks and memory maps."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from pppca_bench.engines.dgha import DGHA
from pppca_bench.engines.gha import GHA
from pppca_bench.problems import known_problems, load_problem

IRIS = load_iris().data


def cosines(rows, others):
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.abs(np.sum(rows * others, axis=1))


def eigenvectors(C):
    """Return them as rows, by decreasing eigenvalue."""
    return np.linalg.eigh(C)[1][:, ::-1].T


def test_autocorrelation_mode_aligns_with_the_eigenvectors_of_second_moments():
    given = {"centre": False, "learning_rate": 0.002, "decay_epochs": 50, "n_epochs": 500}
    gha = GHA(2, **given, random_state=0).fit(IRIS)
    assert cosines(gha.components_, eigenvectors(IRIS.T @ IRIS)[:2]).min() > 0.999
    assert_array_equal(gha.mean_, 0.0)


def test_criterion_1_selects_among_all_rows_after_learning():
    everything = GHA(random_state=0).fit(IRIS)
    # λ1 / λ2 = 17.4 and λ1 / λ3 = 54 for iris
    for tau, n_kept in ((15.0, 1), (20.0, 2), (60.0, 3)):
        gha = GHA(tau=tau, random_state=0).fit(IRIS)
        assert gha.n_components_ == n_kept
        assert_array_equal(gha.components_, everything.components_[:n_kept])
        assert_array_equal(gha.explained_variance_, everything.explained_variance_[:n_kept])
        assert gha.history_["dimensionality"][-1] == 4


def test_selected_rows_are_sorted_by_variance_and_learning_goes_on_with_all():
    X = IRIS[:, ::-1]
    chunks = GHA(tau=1e6, learning_rate=1e-9, random_state=1).partial_fit(X)
    assert (np.diff(chunks.explained_variance_) <= 0.0).all()
    unsorted = GHA(learning_rate=1e-9, random_state=1).partial_fit(X).explained_variance_
    assert (np.diff(unsorted) > 0.0).any()
    for tau, n_kept in ((1.0, 1), (1e6, 4)):
        assert chunks.set_params(tau=tau).partial_fit(X).n_components_ == n_kept


@pytest.mark.parametrize(
    ("decay", "rates"),
    [
        ({"decay_epochs": 2.0}, [0.2, 0.2, 0.4 / 3, 0.4 / 3, 0.1, 0.1]),
        # constant1 = 0.8, constant2 = 4
        ({"decay_samples": 4.0}, [0.8 / (n + 4.0) for n in range(6)]),
    ],
    ids=str,
)
def test_the_learning_rate_decays_by_epochs_or_by_samples(decay, rates):
    # For the sample 1 and a single row, w = a moves by η a (1 − a²).
    given = {"learning_rate": 0.2, "n_epochs": 3, "centre": False, "initial_norm": 0.5}
    a = 0.5
    for rate in rates:
        a += rate * a * (1.0 - a * a)
    gha = GHA(**given, **decay, random_state=0).fit(np.ones((2, 1)))
    assert abs(gha.components_[0, 0]) == pytest.approx(a, rel=1e-12)


def started(**options):
    """Return the rows of unit norm that iris starts from: η = 1e-300 leaves them as they are."""
    still = {"learning_rate": 1e-300, "n_epochs": 1, "initial_norm": 1.0}
    return GHA(**still, **options, random_state=0).fit(IRIS).components_


@pytest.mark.parametrize("centre", [True, False])
def test_a_block_of_all_samples_starts_rows_at_the_eigenvectors_of_its_moments(centre):
    X = IRIS - centre * IRIS.mean(axis=0)
    for n_samples in (150, 999):
        rows = started(initial_samples=n_samples, centre=centre)
        assert_allclose(cosines(rows, eigenvectors(X.T @ X)), 1.0, atol=1e-9)


def test_a_small_block_starts_its_components_and_random_rows_orthogonal_to_them():
    rows = started(initial_samples=3)
    assert_allclose(rows @ rows.T, np.eye(4), atol=1e-12)
    block = IRIS[np.random.default_rng(0).permutation(150)[:3]]
    responses = (block - block.mean(axis=0)) @ rows.T
    assert_allclose(responses[:, 2:], 0.0, atol=1e-12)
    assert (responses[:, 0] ** 2).sum() > (responses[:, 1] ** 2).sum() > 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator", [GHA(10, n_epochs=1, learning_rate=0.01), DGHA(n_components=10, n_epochs=1)]
)
def test_memory_stays_flat_in_the_number_of_samples(estimator, tmp_path):
    # 80 MB of samples: a copy of them all, or of their deviations, would show.
    n_samples, n_features = 50_000, 200
    mapped = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=(n_samples, n_features))
    rng = np.random.default_rng(0)
    for start in range(0, n_samples, 5_000):
        mapped[start : start + 5_000] = 0.05 * rng.standard_normal((5_000, n_features))
    chunks = [mapped[start : start + 5_000] for start in range(0, n_samples, 5_000)]
    estimator.fit(mapped[:100])  # compiled before memory is watched
    tracemalloc.start()
    estimator.fit(mapped)
    in_one = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    for chunk in chunks:
        estimator.partial_fit(chunk)
    in_chunks = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert max(in_one, in_chunks) < 0.2 * mapped.nbytes


def test_inverse_transform_projects_on_the_span_of_the_rows():
    gha = GHA(2, n_epochs=3, learning_rate=0.01, random_state=0).fit(IRIS)
    restored = gha.inverse_transform(gha.transform(IRIS))
    assert_allclose((IRIS - restored) @ gha.components_.T, 0.0, atol=1e-10)
    assert_allclose(gha.inverse_transform(gha.transform(restored)), restored, atol=1e-10)


def settled_cosines(X, gha):
    """Return |cos| of rows to exact eigenvectors, of the first ten whose eigenvalue exceeds the next by a tenth."""
    eigenvalues, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    n = min(10, len(eigenvalues) - 1)
    leading = eigenvalues[::-1][: n + 1]
    return cosines(gha.components_[:n], vectors.T[::-1][:n])[leading[:-1] >= 1.1 * leading[1:]]


@pytest.mark.slow
@pytest.mark.parametrize("name", known_problems("proben1")[::3])  # of which two are permutations
def test_by_default_rows_settle_on_the_leading_eigenvectors_of_every_problem(name):
    X = load_problem(name).X_train
    # A row's updates read the rows before it alone: ten of them learn as they would among all.
    gha = GHA(min(10, X.shape[1]), random_state=0).fit(X)
    assert settled_cosines(X, gha).min() > 0.99


def test_by_default_rows_settle_at_any_scale_of_the_inputs_and_have_the_total_variance():
    for scale in (1e-6, 1.0, 1e6):
        gha = GHA(random_state=0).fit(scale * IRIS)
        assert settled_cosines(scale * IRIS, gha).min() > 0.99
        assert gha.explained_variance_ratio_.sum() == pytest.approx(1.0, abs=1e-3)
        assert_allclose(np.linalg.norm(gha.components_, axis=1), 1.0, atol=0.01)


def assert_the_default_is(rate, X, default_decay, **decay):
    """Check that GHA without a rate learns as with a rate and decay."""
    given = {"n_epochs": 3, "random_state": 0}
    chosen = GHA(**given, **decay).fit(X)
    expected = GHA(learning_rate=rate, **given, **decay | default_decay).fit(X)
    assert_allclose(chosen.components_, expected.components_, rtol=1e-12)


def test_the_default_rate_is_bounded_by_the_trace_and_by_the_longest_sample():
    # Of samples ±a e1, ±b e2 the trace is (a² + b²) / 2 and the longest has length max(a, b).
    for a, b, rate in ((1.0, 1.0, 0.3), (2.0, 0.5, 0.3 / 2.125), (10.0, 0.0, 0.3 / 50.0)):
        X = np.array([[a, 0.0], [-a, 0.0], [0.0, b], [0.0, -b]])
        assert_the_default_is(rate, X, {"decay_epochs": 100.0})
    # deviations 9.9 and 0.1: 1.5 / 98.01 is below 0.3 / 0.99
    far = np.vstack([np.zeros((99, 2)), [[10.0, 0.0]]])
    assert_the_default_is(1.5 / 98.01, far, {}, decay_epochs=5.0)
    assert_the_default_is(1.5 / 98.01, far, {}, decay_samples=50.0)
