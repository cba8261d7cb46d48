"""Compiled criterion (1), which removes rows of small variance, and its constraints."""

from typing import NamedTuple

from pppca_bench.compiled.arrays import Floats1D, Indices1D
from pppca_bench.compiled.jit import part


class Limits(NamedTuple):
    """How many rows a check keeps.

    tau: threshold of criterion (1), >= 1; min_components, max_components: rows that stay at least and at most, >= 1;
    min_variance: the variance that those which stay hold at least, 0 for none.
    """

    tau: float
    min_components: int
    max_components: int
    min_variance: float


@part
def count_kept(variances: Floats1D, n: int, limits: Limits) -> int:
    """Count the rows that criterion (1), Var(q̂0) / Var(q̂i) > tau, and its constraints leave, of n rows.

    Source: slide "How to decide?", formula (1). Choice: compared as Var(q̂0) > tau Var(q̂i), so that a variance of
    zero divides nothing: such a row goes at any finite tau unless all are zero. The first row always stays.

    The criterion keeps rows of the largest variances, and so do its constraints: each moves the limit between those
    that stay and those that go. The smallest number of rows comes after the share of variance, the largest last.

    Parameters
    ----------
    variances : float64 array of shape (>= n,), >= 0
        Projection variances, the first n in decreasing order. Where ``limits.min_variance`` is above zero, of
        orthonormal rows: the variance that they hold together is then the sum.
    n : int, >= 1
    limits : Limits

    Returns
    -------
    int
        In [1, n].
    """
    kept, held = 1, variances[0]
    # λ_0 <= tau λ_i keeps row i; so does a share of the variance that is not reached yet.
    while kept < n and (variances[0] <= limits.tau * variances[kept] or held < limits.min_variance):
        held += variances[kept]
        kept += 1
    # The largest number comes after the smallest: where they disagree it decides.
    if kept < limits.min_components:
        kept = limits.min_components
    if kept > limits.max_components:
        kept = limits.max_components
    return kept if kept < n else n


@part
def sort_decreasing(values: Floats1D, n: int, order: Indices1D) -> None:
    """Set the first n entries of ``order`` to the indices that sort as many values in decreasing order.

    Equal values keep their order. By insertion, since rows that learn in order are nearly sorted.
    """
    for place in range(n):
        free = place
        # Smaller values move up; equal ones do not, so they keep their order.
        while free > 0 and values[order[free - 1]] < values[place]:
            order[free] = order[free - 1]
            free -= 1
        order[free] = place


@part
def sort_increasing(indices: Indices1D, n: int) -> None:
    """Sort the first n indices, in place, by insertion."""
    for place in range(1, n):
        moving, free = indices[place], place
        while free > 0 and indices[free - 1] > moving:
            indices[free] = indices[free - 1]
            free -= 1
        indices[free] = moving
