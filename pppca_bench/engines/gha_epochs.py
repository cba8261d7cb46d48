"""Compiled epochs of GHA and DGHA: checks, records and updates, by the kernel that is asked for."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pppca_bench.compiled.arrays import Floats, Indices
from pppca_bench.compiled.jit import kernel, part
from pppca_bench.engines.gha_blocked import fast_epoch, quadratic_variances
from pppca_bench.engines.gha_literal import in_place_epoch, literal_epoch, literal_variances
from pppca_bench.engines.removal import Removal, keep_rows, surviving_rows

FAST, LITERAL, IN_PLACE = 0, 1, 2


class Samples(NamedTuple):
    """The training samples and their moments.

    X (N, m), not centred; mean (m,); C (m, m), divisor N, or a factor of it, see `quadratic_variances`.
    """

    X: Floats
    mean: Floats
    C: Floats


class Schedule(NamedTuple):
    """What each epoch does.

    orders (n_epochs, n): the samples, in the order in which they are learnt; rates and decays (n_epochs,): sample
    s = 0, 1, … of an epoch learns at rate / (1 + decay s); n_joined (n_epochs,): rows that have joined;
    checked (n_epochs,): whether rows are removed before it.
    """

    orders: Indices
    rates: Floats
    decays: Floats
    n_joined: Indices
    checked: NDArray[np.bool_]


class Rule(NamedTuple):
    """What all epochs have in common.

    removal: how checks remove rows; join_by_node: whether n_joined counts places at the start or among the rows that
    are left; kernel: FAST, LITERAL or IN_PLACE; limit: the largest weight that is not a divergence.
    """

    removal: Removal
    join_by_node: bool
    kernel: int
    limit: float


class History(NamedTuple):
    """What is recorded in each epoch, after its check.

    dimensionality (n_epochs,): number of rows; variances (n_epochs, l): w C wᵀ of each row in the column of its
    place at the start, NaN for removed rows.
    """

    dimensionality: Indices
    variances: Floats


@kernel
def learn_epochs(
    rows: Floats, nodes: Indices, samples: Samples, schedule: Schedule, rule: Rule, history: History
) -> tuple[int, int, int]:
    """Make epochs: remove rows where it is time to, record, and let the rows that have joined learn.

    Source: slide "Dynamical GHA with reduced data set"; plain GHA never checks. With the literal kernel a check takes
    its variances from all N responses, and epochs without one record none, so that recording costs no time there.

    Parameters
    ----------
    rows : float64 array, shape (l, m)
        The rows; those that are left in the end stand in front. Changed in place.
    nodes : int64 array, shape (l,)
        Their places at the start. Changed in place.
    samples, schedule, rule, history
        See these; history is filled.

    Returns
    -------
    n_rows, n_epochs, n_operations : int
        Rows that are left, epochs made before the end or a divergence, and multiply-adds counted by the literal
        kernel.
    """
    n_rows, n_operations = len(rows), 0
    all_variances = np.empty(n_rows)
    for epoch in range(len(schedule.orders)):
        variances = all_variances[:n_rows]
        n_operations += _measure(variances, rows[:n_rows], samples, schedule.checked[epoch], rule.kernel)
        if schedule.checked[epoch]:
            kept = surviving_rows(rows[:n_rows], variances, samples.C, rule.removal)
            keep_rows(kept, rows[:n_rows], nodes[:n_rows], variances)
            n_rows = len(kept)
        _record(history, epoch, nodes[:n_rows], variances)
        n_learning = _count_learning(nodes[:n_rows], schedule.n_joined[epoch], rule.join_by_node)
        learning, order = rows[:n_learning], schedule.orders[epoch]
        rate, decay = schedule.rates[epoch], schedule.decays[epoch]
        if rule.kernel == FAST:
            fast_epoch(learning, samples.X, samples.mean, order, rate, decay)
        elif rule.kernel == LITERAL:
            n_operations += literal_epoch(rows[:n_rows], n_learning, samples.X, samples.mean, order, rate, decay)
        else:
            in_place_epoch(learning, samples.X, samples.mean, order, rate, decay)
        if not _within(rows[:n_rows], rule.limit):
            return n_rows, epoch + 1, n_operations
    return n_rows, len(schedule.orders), n_operations


@part
def _measure(variances: Floats, rows: Floats, samples: Samples, checked: bool, kernel: int) -> int:
    """Compute the rows' variances in the cheapest way, or as the slides do, and return the operations to count."""
    if kernel != LITERAL:
        quadratic_variances(rows, samples.C, variances)
        return 0
    if checked:
        return literal_variances(rows, samples.X, samples.mean, variances)
    variances[:] = np.nan
    return 0


@part
def _count_learning(nodes: Indices, n_joined: int, by_node: bool) -> int:
    """Count the leading rows that have joined, by their places at the start or among those that are left."""
    if not by_node:
        return min(len(nodes), n_joined)
    n_learning = 0
    while n_learning < len(nodes) and nodes[n_learning] < n_joined:
        n_learning += 1
    return n_learning


@part
def _within(rows: Floats, limit: float) -> bool:
    """Tell whether no weight is beyond the limit or nan."""
    for j in range(rows.shape[0]):
        for weight in rows[j]:
            if not abs(weight) <= limit:
                return False
    return True


@part
def _record(history: History, epoch: int, nodes: Indices, variances: Floats) -> None:
    history.dimensionality[epoch] = len(nodes)
    history.variances[epoch] = np.nan
    for j in range(len(nodes)):
        history.variances[epoch, nodes[j]] = variances[j]
