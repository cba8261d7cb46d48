"""Compiled removal of rows: formula (1), its constraints, and the order of the rows that are left."""

import math
from typing import NamedTuple

import numpy as np

from pppca_bench.compiled.arrays import Floats, Indices
from pppca_bench.compiled.jit import kernel, part
from pppca_bench.compiled.simd import WIDTH, add_product, load_part, spread, sum_up, zero

# A row that Gram–Schmidt leaves so little of lies in the span of those before it.
_DEPENDENT = 1e-9


class Removal(NamedTuple):
    """How a check removes rows.

    tau: threshold of formula (1); min_components, max_components: rows that stay at least and at most; min_variance:
    the variance that the span of the rows which stay holds at least, 0 for none; per_direction: whether variances
    along the rows' directions are compared or those of the outputs; sort: whether a check puts the rows in decreasing
    order of what it compares.
    """

    tau: float
    min_components: int
    max_components: int
    min_variance: float
    per_direction: bool
    sort: bool


@kernel
def surviving_rows(rows: Floats, variances: Floats, C: Floats, removal: Removal) -> Indices:
    """Return the indices of the rows that a check keeps.

    Formula (1) keeps rows of the largest variances, and so do its constraints: each moves the limit between those
    that stay and those that go. The smallest number of rows comes after the share of variance, the largest last.

    Parameters
    ----------
    rows : float64 array, shape (l, m), l >= 1
        The rows.
    variances : float64 array, shape (l,), >= 0
        Their projection variances, in any order.
    C : float64 array, shape (m, m) or (m, n)
        Covariance or autocorrelation matrix, or a factor of it, see `quadratic_variances`.
    removal : Removal
        The rule.

    Returns
    -------
    int64 array, shape (n,), n >= 1
        Indices of rows, by decreasing variance where the rule sorts, else increasing.
    """
    compared = _per_direction(variances, rows) if removal.per_direction else variances
    order = decreasing_order(compared)
    n_kept = count_by_formula(compared, order, removal.tau)
    if removal.min_variance > 0.0:
        n_kept = max(n_kept, count_spanning(rows, order, C, removal.min_variance))
    n_kept = min(max(n_kept, removal.min_components), removal.max_components, len(order))
    kept = order[:n_kept]
    if not removal.sort:
        _sort(kept)
    return kept


@part
def _sort(indices: Indices) -> None:
    for place in range(1, len(indices)):
        moving, free = indices[place], place
        while free > 0 and indices[free - 1] > moving:
            indices[free] = indices[free - 1]
            free -= 1
        indices[free] = moving


@part
def decreasing_order(variances: Floats) -> Indices:
    """Return the indices that sort variances, shape (l,), in decreasing order; equal ones keep their order.

    By insertion, since rows that learn in order are nearly sorted.
    """
    order = np.empty(len(variances), np.int64)
    for place in range(len(order)):
        order[place] = place
    for place in range(1, len(order)):
        moving, free = order[place], place
        while free > 0 and variances[order[free - 1]] < variances[moving]:
            order[free] = order[free - 1]
            free -= 1
        order[free] = moving
    return order


@part
def count_by_formula(variances: Floats, order: Indices, tau: float) -> int:
    """Count the rows that formula (1) keeps, the first ones in decreasing order.

    Source: slide "How to decide?", formula (1): row i goes when max(variances) / variances[i] > tau.
    Choice: compared as max(variances) > tau variances[i], so that a variance of zero divides nothing: such
    a row goes unless all are zero. The row of the largest variance always stays.

    Parameters
    ----------
    variances : float64 array, shape (l,), l >= 1, >= 0
        Projection variances, in any order.
    order : int64 array, shape (l,)
        Their decreasing order.
    tau : float
        Threshold, >= 1.

    Returns
    -------
    int
        In [1, l].
    """
    n_kept = 1
    while n_kept < len(order) and variances[order[0]] <= tau * variances[order[n_kept]]:
        n_kept += 1
    return n_kept


@part
def count_spanning(rows: Floats, order: Indices, C: Floats, variance: float) -> int:
    """Count the first rows in an order whose span holds a given variance, all if none do.

    The span's variance is the sum of q C qᵀ over an orthonormal basis q of it, here that of Gram and Schmidt: rows
    that still overlap while they learn are not counted twice.

    Parameters
    ----------
    rows : float64 array, shape (l, m), l >= 1
        The rows.
    order : int64 array, shape (l,)
        Indices of rows.
    C : float64 array, shape (m, m) or (m, n)
        Covariance or autocorrelation matrix, or a factor of it, see `quadratic_variances`.
    variance : float
        What the span shall hold, > 0.

    Returns
    -------
    int
        In [1, l].
    """
    basis = np.empty(rows.shape)
    total = 0.0
    for place in range(len(order)):
        for i in range(rows.shape[1]):
            basis[place, i] = rows[order[place], i]
        _orthonormalise(basis, place)
        total += _variance_along(basis, place, C)
        if total >= variance:
            return place + 1
    return len(order)


@part
def _orthonormalise(basis: Floats, place: int) -> None:
    """Make a row orthogonal to those before it, of unit norm, or zero where it depends on them."""
    before = _squared_norm(basis[place])
    # Twice, since once leaves what rounding makes of nearly dependent rows.
    for k in range(2 * place):
        product = zero()
        for i in range(0, basis.shape[1], WIDTH):
            n = basis.shape[1] - i
            product = add_product(product, load_part(basis, k % place, i, n), load_part(basis, place, i, n))
        share = sum_up(product)
        for i in range(basis.shape[1]):
            basis[place, i] -= share * basis[k % place, i]
    after = _squared_norm(basis[place])
    factor = 1.0 / math.sqrt(after) if after > _DEPENDENT**2 * before else 0.0
    for i in range(basis.shape[1]):
        basis[place, i] *= factor


@part
def _variance_along(basis: Floats, place: int, C: Floats) -> float:
    """Return q C qᵀ of a row."""
    total = zero()
    for first in range(0, C.shape[1], WIDTH):
        n, product = C.shape[1] - first, zero()
        for i in range(len(C)):
            product = add_product(product, load_part(C, i, first, n), spread(basis, place, i))
        total = add_product(total, product, product if C.shape[1] < len(C) else load_part(basis, place, first, n))
    return sum_up(total)


@part
def _squared_norm(row: Floats) -> float:
    total = 0.0
    for weight in row:
        total += weight * weight
    return total


@part
def _per_direction(variances: Floats, rows: Floats) -> Floats:
    """Divide variances by the rows' squared norms; a row of zeros has none."""
    result = np.zeros(len(rows))
    for j in range(len(rows)):
        squared_norm = _squared_norm(rows[j])
        if squared_norm > 0.0:
            result[j] = variances[j] / squared_norm
    return result


@part
def keep_rows(kept: Indices, rows: Floats, nodes: Indices, variances: Floats) -> None:
    """Move the kept rows to the front, in their order, with their nodes and variances, in place."""
    old_rows, old_nodes, old_variances = rows.copy(), nodes.copy(), variances.copy()
    for place in range(len(kept)):
        for i in range(rows.shape[1]):
            rows[place, i] = old_rows[kept[place], i]
        nodes[place] = old_nodes[kept[place]]
        variances[place] = old_variances[kept[place]]
