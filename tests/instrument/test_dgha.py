"""DGHA as an estimator: formula (1), permanent removal, plain-loop runs, operation counts."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import minmax_scale

from pppca_bench.compiled.linear_algebra import orthonormal
from pppca_bench.engines.counterparts import DGHAOperations, LiteralDGHA
from pppca_bench.engines.dgha import DGHA, count_rows_retaining
from pppca_bench.engines.gha import GHA
from pppca_bench.engines.gha_epochs import make_epoch_workspace, remove_rows
from pppca_bench.engines.removal import Limits

WINE = minmax_scale(load_wine().data)
# As the slides are written: all rows learn from the start, and each epoch begins with a check.
PLAIN = {"head_start": 0, "first_check": 0, "initial_norm": 0.64}


def kept_rows(variances, rows=None, **limits):
    """Return what a check keeps, in order, of rows with these variances, the axes unless given."""
    n_rows = len(variances)
    defaults = {"tau": 1e9, "min_components": 1, "max_components": n_rows, "min_variance": 0.0}
    limits = Limits(**defaults | limits)
    rows = np.eye(n_rows) if rows is None else np.array(rows, dtype=float)
    nodes, moved, left = np.arange(n_rows), rows.copy(), np.array(variances, dtype=float)
    n_kept = remove_rows(moved, nodes, left, n_rows, limits, make_epoch_workspace(*rows.shape))
    kept = nodes[:n_kept]
    assert_array_equal(moved[:n_kept], rows[kept])
    assert_array_equal(left[:n_kept], np.array(variances)[kept])
    return list(kept)


# Ratios to the largest variance, 40: 1, 40, 2, 10; the total is 65.
VARIANCES = [40, 1, 20, 4]


@pytest.mark.parametrize(
    ("tau", "constraints", "kept"),
    [
        *((tau, {}, [0, 2]) for tau in (5.0, 9.9)),
        *((tau, {}, [0, 2, 3]) for tau in (10.0, 39.0)),
        (40.0, {}, [0, 2, 3, 1]),
        (5.0, {"min_components": 3}, [0, 2, 3]),
        (5.0, {"min_components": 9}, [0, 2, 3, 1]),
        (5.0, {"max_components": 1}, [0]),
        (5.0, {"min_variance": 60.0}, [0, 2]),
        (5.0, {"min_variance": 60.5}, [0, 2, 3]),
        (5.0, {"min_variance": 1e9}, [0, 2, 3, 1]),
        (5.0, {"min_variance": 1e9, "max_components": 3}, [0, 2, 3]),
    ],
    ids=str,
)
def test_formula_1_removes_ratios_above_tau_only_unless_a_constraint_moves_the_limit(
    tau, constraints, kept
):
    assert kept_rows(VARIANCES, tau=tau, **constraints) == kept


def test_kept_rows_are_sorted_and_rows_without_variance_go_unless_no_row_has_any():
    assert kept_rows([1, 4, 40, 20, 4], tau=10.0) == [2, 3, 1, 4]
    assert kept_rows([0, 1], tau=20.0) == [1]
    assert kept_rows([0, 0, 0], tau=20.0) == [0, 1, 2]
    assert kept_rows([2, 1], rows=[[1, 0], [0, 0]]) == [0], "a row of zeros"


def test_overlapping_rows_count_once_in_the_variance_that_is_kept():
    # Covariance diag(4, 1, 1). Rows along (1, 0, 0), equal in direction, span 4 together; (1, 1, 0) adds 1 to it.
    rows = np.array([[1.0, 0.0, 0.0], [3.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    C = np.diag([4.0, 1.0, 1.0])
    for least, n_rows in ((4.0, 1), (4.5, 3), (9.0, 3)):
        assert count_rows_retaining(rows, C, least) == n_rows


@pytest.mark.parametrize("tau", [2.0, 5.0, 10.0])
def test_run_of_the_defaults_agrees_with_plain_loops(tau):
    dgha = DGHA(tau, data_fraction=30.0, random_state=7).fit(WINE)
    rng = np.random.default_rng(7)
    rows = 2.0 * orthonormal(rng.standard_normal((13, 13)))
    rows = rows[np.argsort(-np.var(WINE @ rows.T, axis=0))]
    options = {"n_started": [1] * 3 + [13] * 33, "checked": [False] * 3 + [True] * 33}
    orders = [rng.permutation(178)[:53] for _ in range(36)]
    W, indices = naive.dgha(WINE, rows, tau=tau, learning_rate=1.2 / 53, orders=orders, **options)
    assert 1 <= len(indices) < 13
    assert_array_equal(dgha.nodes_, indices)
    assert_allclose(dgha.components_, W, rtol=1e-7, atol=1e-9)


def share_of_span(rows):
    basis = np.linalg.qr(rows.T)[0]
    return np.var(WINE @ basis, axis=0).sum() / np.var(WINE, axis=0).sum()


def test_rows_left_are_as_many_and_span_the_share_of_variance_that_is_asked_for():
    free = DGHA(1.5, random_state=0).fit(WINE)
    for ratio in (0.6, 0.8, 0.95):
        bound = DGHA(1.5, min_variance_ratio=ratio, random_state=0).fit(WINE)
        assert share_of_span(free.components_) < ratio <= share_of_span(bound.components_)
        assert bound.n_components_ < 13
    few = DGHA(1e9, max_components=4, first_check=6, random_state=0).fit(WINE)
    assert_array_equal(few.history_["dimensionality"], [13] * 6 + [4] * 31)


def test_removal_is_permanent():
    dgha = DGHA(5.0, random_state=0).fit(WINE)
    gone = np.isnan(dgha.history_["variances"])
    assert (np.diff(dgha.history_["dimensionality"]) <= 0).all()
    assert (gone[1:] | ~gone[:-1]).all()
    assert_array_equal((~gone).sum(axis=1), dgha.history_["dimensionality"])
    assert_array_equal(np.flatnonzero(~gone[-1]), np.sort(dgha.nodes_))


def test_after_long_learning_as_many_rows_remain_as_of_exact_pca():
    eigenvalues = np.linalg.eigvalsh(np.cov(WINE.T, bias=True))[::-1]
    expected = int((eigenvalues[0] / eigenvalues <= 10.0).sum())
    options = {"learning_rate": 9.0, "first_check": 500, "decay_epochs": 100, "n_epochs": 600}
    dgha = DGHA(10.0, random_state=0, **PLAIN | options).fit(WINE)
    assert dgha.n_components_ == expected


@pytest.mark.parametrize(("fraction", "n_drawn"), [(100.0, 150), (25.0, 38), (10.0, 15), (0.1, 1)])
def test_an_epoch_draws_its_share_of_samples(fraction, n_drawn):
    # A quarter of 150 is 37.5, rounded up. One row, one epoch: (4 + 1) m per sample, N m per check.
    given = {"n_components": 1, "n_epochs": 1, "first_check": 0}
    dgha = DGHA(data_fraction=fraction, **given, random_state=0).fit(load_iris().data / 10.0)
    assert dgha.n_operations_ == 4 * 5 * n_drawn + 150 * 4


@pytest.mark.parametrize("kind", [DGHA, LiteralDGHA])
@pytest.mark.parametrize("first_check", [2, 5])
def test_counted_operations_follow_the_history(first_check, kind):
    # Rows that wait for the head start's end are computed too.
    given = {"data_fraction": 50.0, "n_epochs": 30, "first_check": first_check}
    dgha = kind(5.0, **given, random_state=0).fit(WINE)
    rows = dgha.history_["dimensionality"]
    assert len(set(rows)) > 1
    learnt, before_checks = rows[:30], rows[first_check - 1 : 29]
    expected = 89 * 13 * (4 * learnt + learnt * (learnt + 1) / 2).sum()
    assert dgha.n_operations_ == expected + 178 * 13 * before_checks.sum()


def test_autocorrelation_mode_compares_second_moments():
    # Inputs off the origin: the mean's direction holds nearly all of the second moment.
    X = 1.0 + np.random.default_rng(0).uniform(size=(40, 3))
    options = PLAIN | {"learning_rate": 2.0, "n_epochs": 200, "random_state": 0}
    assert DGHA(10.0, centre=False, **options).fit(X).n_components_ == 1
    assert DGHA(10.0, centre=True, **options).fit(X).n_components_ == 3


def test_fewer_samples_than_features_remove_the_same_rows_as_the_literal_kernel():
    X = minmax_scale(np.random.default_rng(3).standard_normal((8, 20)))
    options = {"learning_rate": 0.5, "n_epochs": 20, "random_state": 1}
    fast, literal = (kind(3.0, **options).fit(X) for kind in (DGHA, LiteralDGHA))
    assert 1 < fast.n_components_ < 20
    assert_array_equal(fast.nodes_, literal.nodes_)


@pytest.mark.parametrize("first_check", [2, 6])
def test_gha_is_counted_with_the_settings_and_all_the_samples_that_dgha_has(first_check):
    shared = {"n_components": 5, "n_epochs": 6, "learning_rate": 0.7}
    settings = {**shared, "data_fraction": 50.0, "first_check": first_check, "head_start": 0}
    counted = DGHAOperations(2.0, **settings, random_state=3).fit(WINE)
    dgha = LiteralDGHA(2.0, **settings, random_state=3).fit(WINE)
    gha = GHA(**shared | {"learning_rate": 0.7 / len(WINE)}, random_state=3).fit(WINE)
    assert counted.measures_ == {
        "speedup_operations": gha.n_operations_ / dgha.n_operations_,
        "dimensionality": dgha.n_components_,
    }
    assert (dgha.n_components_ == 5) == (first_check == 6)
