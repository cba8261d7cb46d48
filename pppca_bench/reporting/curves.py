"""Learning curves: the mean over repeats at each step, with its interval, and how removed nodes count in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.reporting.summary import student_t_975

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Hold the mean of a quantity over repeats at each step of a run, as far as there is something to show.

    Attributes
    ----------
    label : str
    mean, low, high : float32 array, shape (n_steps,)
        Mean and its 95 % interval by Student's t distribution (nan for a single repeat). Step 0 is the random start.
    n : int
        Repeats behind every step.
    removed : float32 array, shape (n_steps,), or None
        Of an estimate's variance, the share of the repeats, in [0, 1], that have removed it by then.
    """

    label: str
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    n: int
    removed: FloatArray | None = None

    @property
    def removed_at(self) -> int | None:
        """Return the first step at which half of the repeats have removed the estimate; None where never so many."""
        if self.removed is None or self.removed.max() < 0.5:
            return None
        return int(np.argmax(self.removed >= 0.5))


def summarise_steps(label: str, curves: Sequence[NDArray[Any]]) -> Curve:
    """Average one quantity over repeats, step by step.

    Choice: the band is the 95 % interval of the mean, as in the tables, since the slides show averages. Numbers are
    kept as float32, the precision of the stored curves, so that what is plotted and what is written are the same.

    Parameters
    ----------
    label : str
    curves : sequence of float arrays, shape (n_steps,)
        One a repeat, at least one.
    """
    values = np.stack(curves).astype(np.float64)
    n, mean = len(values), values.mean(axis=0)
    half = np.full_like(mean, np.nan)
    if n > 1:
        half = student_t_975(n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n)
    mean, low, high = (curve.astype(np.float32) for curve in (mean, mean - half, mean + half))
    return Curve(label, mean, low, high, n)


def ranked_variances(variances: NDArray[Any]) -> NDArray[Any]:
    """Sort projection variances, largest first, at each step; a removed node (nan) counts as 0.

    Source: slide "How to decide?": "all eigenvectors estimates are sorted by projection variances".
    Choice: 0, since the mean then runs over the same repeats at every step and the curves add up to the variance that
    is kept; a mean over the repeats that still have the node would rise whenever one of small variance loses it.

    Parameters
    ----------
    variances : float array, shape (n_steps, n_nodes)
        Of one run, nan once a node is removed.
    """
    return np.sort(np.nan_to_num(variances, nan=0.0), axis=1)[:, ::-1]


def summarise_estimate(label: str, variances: Sequence[NDArray[Any]]) -> Curve:
    """Average the variance of one estimate over repeats, up to where no repeat has it any more.

    Parameters
    ----------
    label : str
    variances : sequence of float arrays, shape (n_steps,)
        One a repeat, 0 where it was removed.
    """
    curve = summarise_steps(label, variances)
    n_steps = int(np.max(np.flatnonzero(curve.mean), initial=-1)) + 2
    removed = np.mean(np.stack(variances) == 0.0, axis=0).astype(np.float32)
    ends = {name: getattr(curve, name)[:n_steps] for name in ("mean", "low", "high")}
    return replace(curve, **ends, removed=removed[:n_steps])
