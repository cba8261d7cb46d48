"""Removal of rows of small variance by criterion (1) and constraints in compiled code, and sorting."""

from typing import NamedTuple

from pppca_bench.compiled.arrays import Floats1D, Indices1D
from pppca_bench.compiled.jit import subroutine


class Limits(NamedTuple):
    """Threshold of criterion (1), >= 1, smallest and largest number of rows to keep, >= 1, least variance to keep."""

    tau: float
    min_components: int
    max_components: int
    min_variance: float


@subroutine
def count_kept(variances: Floats1D, n: int, limits: Limits) -> int:
    """Return the number of rows to keep, 1 to n, by criterion (1), Var(q̂0) / Var(q̂i) > tau, and the constraints.

    Source: slide "How to decide?", formula (1). Choice: Var(q̂0) > tau Var(q̂i) avoids a division by zero; a row without
    variance is removed at any finite tau, unless no row has variance. The first row always stays.

    The rows of the largest variances stay. Among the constraints, max_components takes precedence over min_components,
    and min_components over min_variance.

    Parameters
    ----------
    variances : float64 array of shape (>= n,), >= 0
        Projection variances, the first n in decreasing order. If ``limits.min_variance`` is above zero, the rows must
        be orthonormal, since the variances are summed.
    n : int, >= 1
    limits : Limits
    """
    kept, retained = 1, variances[0]
    # Row i stays if Var(q̂0) <= tau Var(q̂i), or if Σ_{k<i} Var(q̂k) is below the least variance.
    while kept < n and (
        variances[0] <= limits.tau * variances[kept] or retained < limits.min_variance
    ):
        retained += variances[kept]
        kept += 1
    # max(min_components, …), then min(…, max_components)
    if kept < limits.min_components:
        kept = limits.min_components
    if kept > limits.max_components:
        kept = limits.max_components
    return kept if kept < n else n


@subroutine
def sort_decreasing(values: Floats1D, n: int, order: Indices1D) -> None:
    """Set the first n entries of ``order`` to the indices that sort the first n values in decreasing order.

    Equal values keep their order. Choice: insertion sort, since rows are nearly sorted.
    """
    # Insert each value before all smaller earlier values.
    for i in range(n):
        free = i
        while free > 0 and values[order[free - 1]] < values[i]:
            order[free] = order[free - 1]
            free -= 1
        order[free] = i
