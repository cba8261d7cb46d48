"""Epochs of GHA and DGHA in compiled code: removal of rows, history, updates."""

from typing import NamedTuple

import numpy as np

from pppca_bench.compiled.arrays import (
    Flags1D,
    Floats1D,
    Floats2D,
    Indices1D,
    Indices2D,
    Samples2D,
    aligned_zeros,
)
from pppca_bench.compiled.jit import kernel, subroutine
from pppca_bench.engines.gha_blocked import Panels, fast_epoch, make_panels, quadratic_variances
from pppca_bench.engines.gha_literal import (
    count_operations,
    in_place_epoch,
    literal_epoch,
    literal_variances,
)
from pppca_bench.engines.removal import Limits, count_kept, sort_decreasing

FAST, LITERAL, IN_PLACE = 0, 1, 2

DIVERGED_WEIGHT = 1e8
"""Bound of weights: rows converge to unit norm, but a row beyond the bound never recovers, and variances overflow."""


class Schedule(NamedTuple):
    """Samples, rates and rows of each epoch.

    orders (n_epochs, n): samples in the order of learning; rates, decays (n_epochs,): sample s = 0, 1, … learns at
    rate / (1 + decay s); n_started (n_epochs,): number of leading rows that have started to learn, at most all;
    checked (n_epochs,): whether rows are removed before the epoch.
    """

    orders: Indices2D
    rates: Floats1D
    decays: Floats1D
    n_started: Indices1D
    checked: Flags1D


class EpochHistory(NamedTuple):
    """Records before each epoch, after the removal of rows, and at the end.

    dimensionality (n_epochs + 1,): number of rows; variances (n_epochs + 1, l): w C wᵀ of each row, in the column of
    its initial index, NaN for removed rows; direction_variances, of the same shape: w C wᵀ / ‖w‖².
    """

    dimensionality: Indices1D
    variances: Floats2D
    direction_variances: Floats2D


class EpochWorkspace(NamedTuple):
    """Work arrays for l rows of m features, of shapes (l, m), (l,), (m,) and (m, 16), and the panels."""

    rows: Floats2D
    nodes: Indices1D
    order: Indices1D
    variances: Floats1D
    compared: Floats1D
    x: Floats1D
    residual: Floats1D
    y: Floats1D
    strip: Floats2D
    panels: Panels


def make_epoch_workspace(n_rows: int, n_features: int) -> EpochWorkspace:
    """Allocate the work arrays for n_rows rows of n_features features."""
    return EpochWorkspace(
        rows=np.zeros((n_rows, n_features)),
        nodes=np.zeros(n_rows, dtype=np.int64),
        order=np.zeros(n_rows, dtype=np.int64),
        variances=np.zeros(n_rows),
        compared=np.zeros(n_rows),
        x=np.zeros(n_features),
        residual=np.zeros(n_features),
        y=np.zeros(n_rows),
        strip=aligned_zeros(n_features, 16),
        panels=make_panels(n_rows, n_features),
    )


@kernel
def learn_epochs(
    rows: Floats2D,
    nodes: Indices1D,
    X: Samples2D,
    mean: Floats2D,
    C: Floats2D,
    schedule: Schedule,
    limits: Limits,
    update: int,
    history: EpochHistory,
    work: EpochWorkspace,
) -> tuple[int, int, int]:
    """Learn epochs: remove rows if the epoch has a check, record the rows, update the rows that have started to learn.

    Source: slide "Dynamical GHA with reduced data set"; GHA has no checks. With the literal update, checks compute the
    variances from all N responses, and epochs without a check record no variances, to save time.

    Parameters
    ----------
    rows : float64 array, shape (l, m)
        Changed in place: the remaining rows are first.
    nodes : int64 array, shape (l,)
        Initial indices of the rows, changed in place.
    X, mean : float64 arrays, shape (N, m) and (1, m)
        Samples that are not centred, and the mean to subtract.
    C : float64 array, shape (m, m) or (m, n)
        Covariance or autocorrelation matrix, or a factor of it, see `quadratic_variances`.
    schedule : Schedule
    limits : Limits
        Of the removal.
    update : int
        FAST, LITERAL or IN_PLACE.
    history : EpochHistory
        Filled; a schedule without epochs records the given rows.
    work : EpochWorkspace
        Overwritten.

    Returns
    -------
    n_rows, n_epochs, n_operations : int
        Remaining rows, epochs until the end or a divergence, and multiply-adds that the literal update would take.
    """
    n_rows, n_features, n_operations, variances = len(rows), rows.shape[1], 0, work.variances
    for epoch in range(len(schedule.orders)):
        # Var(q̂_j) = w_j C w_jᵀ, but with LITERAL the variance of all responses; NaN if LITERAL does not check
        checked = schedule.checked[epoch]
        if update != LITERAL:
            quadratic_variances(rows, n_rows, C, variances, work.strip)
            n_operations += len(X) * n_rows * n_features if checked else 0
        elif checked:
            n_operations += literal_variances(rows, n_rows, X, mean, variances, work.x)
        else:
            for j in range(n_rows):
                variances[j] = np.nan
        # Slide "Dynamical GHA", step 2: removal precedes the updates, also in the first epoch.
        if checked:
            n_rows = remove_rows(rows, nodes, variances, n_rows, limits, work)
        _record(history, epoch, rows, nodes, variances, n_rows)
        n_learning = min(n_rows, schedule.n_started[epoch])
        # ΔW = η (y xᵀ − LT(y yᵀ) W): FAST takes 3 l m multiply-adds, LITERAL l² m, IN_PLACE reads updated rows
        order, rate, decay = schedule.orders[epoch], schedule.rates[epoch], schedule.decays[epoch]
        if update == LITERAL:
            n_operations += literal_epoch(
                rows, n_rows, n_learning, X, mean, order, rate, decay, work.x, work.y
            )
        else:
            if update == FAST:
                fast_epoch(rows, n_learning, X, mean, order, rate, decay, work.panels)
            else:
                in_place_epoch(rows, n_learning, X, mean, order, rate, decay, work.x, work.residual)
            n_operations += count_operations(len(order), n_rows, n_features)
        if _has_diverged(rows, n_rows):
            return n_rows, epoch + 1, n_operations
    quadratic_variances(rows, n_rows, C, variances, work.strip)
    _record(history, len(schedule.orders), rows, nodes, variances, n_rows)
    return n_rows, len(schedule.orders), n_operations


@subroutine
def remove_rows(
    rows: Floats2D,
    nodes: Indices1D,
    variances: Floats1D,
    n_rows: int,
    limits: Limits,
    work: EpochWorkspace,
) -> int:
    """Move the rows that formula (1) keeps to the front, with initial indices and variances, and return their number.

    The rows are sorted by decreasing variance. Rows, nodes and variances are changed in place; n_rows >= 1.
    """
    compared, order = work.compared, work.order
    for j in range(n_rows):
        compared[j] = _along_direction(variances[j], rows, j)
    # Formula (1), Var(q̂_0) / Var(q̂_i) > τ, for rows i in decreasing order of variance: the first n_kept rows stay.
    sort_decreasing(compared, n_rows, order)
    for j in range(n_rows):
        work.y[j] = compared[order[j]]
    n_kept = count_kept(work.y, n_rows, limits)
    # Rows may be exchanged, so all rows are copied first; ``compared`` is reused for the variances.
    for j in range(n_rows):
        work.nodes[j], compared[j] = nodes[j], variances[j]
        for i in range(rows.shape[1]):
            work.rows[j, i] = rows[j, i]
    # Row j ← row ``order[j]``
    for j in range(n_kept):
        nodes[j], variances[j] = work.nodes[order[j]], compared[order[j]]
        for i in range(rows.shape[1]):
            rows[j, i] = work.rows[order[j], i]
    return n_kept


@subroutine
def _along_direction(variance: float, rows: Floats2D, j: int) -> float:
    """Return w C wᵀ / ‖w‖², the variance along a row's direction, or 0 for a row of zeros."""
    # ‖w_j‖²
    squared_norm = 0.0
    for i in range(rows.shape[1]):
        squared_norm += rows[j, i] * rows[j, i]
    return variance / squared_norm if squared_norm > 0.0 else 0.0


@subroutine
def _has_diverged(rows: Floats2D, n_rows: int) -> bool:
    """Return whether a weight exceeds `DIVERGED_WEIGHT` or is nan."""
    for j in range(n_rows):
        for i in range(rows.shape[1]):
            # True for nan, too
            if not abs(rows[j, i]) <= DIVERGED_WEIGHT:
                return True
    return False


@subroutine
def _record(
    history: EpochHistory,
    epoch: int,
    rows: Floats2D,
    nodes: Indices1D,
    variances: Floats1D,
    n_rows: int,
) -> None:
    history.dimensionality[epoch] = n_rows
    # NaN stays in the columns of removed rows.
    for j in range(history.variances.shape[1]):
        history.variances[epoch, j] = history.direction_variances[epoch, j] = np.nan
    for j in range(n_rows):
        history.variances[epoch, nodes[j]] = variances[j]
        if not np.isnan(variances[j]):
            history.direction_variances[epoch, nodes[j]] = _along_direction(variances[j], rows, j)
