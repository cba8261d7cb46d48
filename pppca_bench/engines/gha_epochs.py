"""Compiled epochs of GHA and DGHA: checks, records and updates, by the rule that is asked for."""

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
from pppca_bench.compiled.jit import kernel, part
from pppca_bench.engines.gha_blocked import Panels, fast_epoch, make_panels, quadratic_variances
from pppca_bench.engines.gha_literal import count_operations, in_place_epoch, literal_epoch, literal_variances
from pppca_bench.engines.removal import Limits, count_kept, sort_decreasing, sort_increasing

FAST, LITERAL, IN_PLACE = 0, 1, 2


class Samples(NamedTuple):
    """The training samples and their moments.

    X (N, m), not centred; mean (1, m); C (m, m), divisor N, or a factor of it, see `quadratic_variances`.
    """

    X: Samples2D
    mean: Floats2D
    C: Floats2D


class Schedule(NamedTuple):
    """What each epoch does.

    orders (n_epochs, n): the samples, in the order in which they are learnt; rates and decays (n_epochs,): sample
    s = 0, 1, … of an epoch learns at rate / (1 + decay s); n_joined (n_epochs,): rows that have joined; checked
    (n_epochs,): whether rows are removed before it.
    """

    orders: Indices2D
    rates: Floats1D
    decays: Floats1D
    n_joined: Indices1D
    checked: Flags1D


class Rule(NamedTuple):
    """What all epochs have in common.

    limits: how many rows a check keeps; per_direction: whether it compares variances along the rows' directions or
    those of the outputs; sort: whether it puts the rows in decreasing order of what it compares, so that the first
    ``n_joined`` learn, else those of the first places at the start; update: FAST, LITERAL or IN_PLACE; limit: the
    largest weight that is not a divergence.
    """

    limits: Limits
    per_direction: bool
    sort: bool
    update: int
    limit: float


class History(NamedTuple):
    """What is recorded before each epoch, after its check, and at the end.

    dimensionality (n_epochs + 1,): number of rows; variances (n_epochs + 1, l): w C wᵀ of each row in the column of
    its place at the start, NaN for removed rows; along_directions, of the same shape: the same over ‖w‖².
    """

    dimensionality: Indices1D
    variances: Floats2D
    along_directions: Floats2D


class Room(NamedTuple):
    """Room for l rows of m features: arrays of the shapes (l, m), (l,), (m,) and (m, 16), and that of the panels."""

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


def make_room(n_rows: int, n_features: int) -> Room:
    """Allocate room for so many rows and features."""
    return Room(
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
    samples: Samples,
    schedule: Schedule,
    rule: Rule,
    history: History,
    room: Room,
) -> tuple[int, int, int]:
    """Make epochs: remove rows where it is time to, record, and let the rows that have joined learn.

    Source: slide "Dynamical GHA with reduced data set"; plain GHA never checks. With the literal update a check takes
    its variances from all N responses, and epochs without one record none, so that recording costs no time there.

    Parameters
    ----------
    rows : float64 array, shape (l, m)
        The rows; those that are left in the end stand in front. Changed in place.
    nodes : int64 array, shape (l,)
        Their places at the start. Changed in place.
    samples, schedule, rule, history
        See these; history is filled. Of a schedule without epochs it is the rows as they are.
    room : Room

    Returns
    -------
    n_rows, n_epochs, n_operations : int
        Rows that are left, epochs made before the end or a divergence, and multiply-adds: those that the literal
        update counts, and would count in place of another.
    """
    n_rows, n_operations = len(rows), 0
    X, mean, variances = samples.X, samples.mean, room.variances
    for epoch in range(len(schedule.orders)):
        # Slide "Dynamical GHA", step 2: variances and removal come before the updates of the epoch, of the first too.
        n_operations += _measure(variances, rows, n_rows, samples, schedule.checked[epoch], rule.update, room)
        if schedule.checked[epoch]:
            n_rows = remove_rows(rows, nodes, variances, n_rows, rule, room)
        _record(history, epoch, rows, nodes, variances, n_rows)
        n_learning = _count_learning(nodes, n_rows, schedule.n_joined[epoch], rule.sort)
        # FAST has cumulative residuals (3 l m), LITERAL the formula (l² m), IN_PLACE the notebook's loop.
        order, rate, decay = schedule.orders[epoch], schedule.rates[epoch], schedule.decays[epoch]
        if rule.update == LITERAL:
            n_operations += literal_epoch(rows, n_rows, n_learning, X, mean, order, rate, decay, room.x, room.y)
        else:
            if rule.update == FAST:
                fast_epoch(rows, n_learning, X, mean, order, rate, decay, room.panels)
            else:
                in_place_epoch(rows, n_learning, X, mean, order, rate, decay, room.x, room.residual)
            n_operations += count_operations(len(order), n_rows, rows.shape[1])
        # Rows that diverge never come back: the estimator reports the epoch.
        if not _within(rows, n_rows, rule.limit):
            return n_rows, epoch + 1, n_operations
    # The rows as they are left: measured, but not checked.
    quadratic_variances(rows, n_rows, samples.C, variances, room.strip)
    _record(history, len(schedule.orders), rows, nodes, variances, n_rows)
    return n_rows, len(schedule.orders), n_operations


@part
def _measure(
    variances: Floats1D, rows: Floats2D, n_rows: int, samples: Samples, checked: bool, update: int, room: Room
) -> int:
    """Compute the rows' variances in the cheapest way, or as the slides do, and return the operations to count."""
    if update != LITERAL:
        quadratic_variances(rows, n_rows, samples.C, variances, room.strip)
        return len(samples.X) * n_rows * rows.shape[1] if checked else 0
    if checked:
        return literal_variances(rows, n_rows, samples.X, samples.mean, variances, room.x)
    # Literal, and no check is due: nothing is computed, so that the time is that of the updates.
    for j in range(n_rows):
        variances[j] = np.nan
    return 0


@part
def remove_rows(rows: Floats2D, nodes: Indices1D, variances: Floats1D, n_rows: int, rule: Rule, room: Room) -> int:
    """Move the rows that a check keeps to the front, with their places and variances, and return how many they are.

    They come by decreasing variance where the rule sorts, else in the order that they had.

    Parameters
    ----------
    rows : float64 array, shape (>= n_rows, m), changed in place
    nodes : int64 array, shape (>= n_rows,), changed in place
    variances : float64 array, shape (>= n_rows,), >= 0, changed in place
        The rows' projection variances, in any order.
    n_rows : int, >= 1
    rule : Rule
    room : Room
    """
    compared, order = room.compared, room.order
    for j in range(n_rows):
        compared[j] = _along_direction(variances[j], rows, j) if rule.per_direction else variances[j]
    # Criterion (1) reads the variances in decreasing order; it keeps the first n_kept of ``order``.
    sort_decreasing(compared, n_rows, order)
    for place in range(n_rows):
        room.y[place] = compared[order[place]]
    n_kept = count_kept(room.y, n_rows, rule.limits)
    if not rule.sort:
        sort_increasing(order, n_kept)
    # Rows trade places, so they are read from copies; ``compared`` has served and holds variances now.
    for j in range(n_rows):
        room.nodes[j], compared[j] = nodes[j], variances[j]
        for i in range(rows.shape[1]):
            room.rows[j, i] = rows[j, i]
    for place in range(n_kept):
        nodes[place], variances[place] = room.nodes[order[place]], compared[order[place]]
        for i in range(rows.shape[1]):
            rows[place, i] = room.rows[order[place], i]
    return n_kept


@part
def _along_direction(variance: float, rows: Floats2D, j: int) -> float:
    """Return w C wᵀ / ‖w‖², the variance along a row's direction; a row of zeros has none."""
    squared_norm = 0.0
    for i in range(rows.shape[1]):
        squared_norm += rows[j, i] * rows[j, i]
    return variance / squared_norm if squared_norm > 0.0 else 0.0


@part
def _count_learning(nodes: Indices1D, n_rows: int, n_joined: int, sort: bool) -> int:
    """Count the leading rows that have joined: by their order where checks sort, else by their places at the start."""
    if sort:
        return n_joined if n_joined < n_rows else n_rows
    n_learning = 0
    while n_learning < n_rows and nodes[n_learning] < n_joined:
        n_learning += 1
    return n_learning


@part
def _within(rows: Floats2D, n_rows: int, limit: float) -> bool:
    """Tell whether no weight is beyond the limit or nan."""
    for j in range(n_rows):
        for i in range(rows.shape[1]):
            if not abs(rows[j, i]) <= limit:
                return False
    return True


@part
def _record(history: History, epoch: int, rows: Floats2D, nodes: Indices1D, variances: Floats1D, n_rows: int) -> None:
    history.dimensionality[epoch] = n_rows
    # Nodes keep their columns: what is not filled below is of a removed one.
    for j in range(history.variances.shape[1]):
        history.variances[epoch, j] = history.along_directions[epoch, j] = np.nan
    for j in range(n_rows):
        history.variances[epoch, nodes[j]] = variances[j]
        if not np.isnan(variances[j]):
            history.along_directions[epoch, nodes[j]] = _along_direction(variances[j], rows, j)
