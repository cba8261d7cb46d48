"""Recorded times of runs, and the time that all runs of a config take."""

from __future__ import annotations

from statistics import fmean

from pppca_bench.quantities import TIMINGS
from pppca_bench.results.frames import Runs
from pppca_bench.runs import n_trainings


def estimated_s(runs: Runs, config: str, n_runs: int) -> float | None:
    """Return the processor time of a config's runs in seconds, by the recorded times of the same runs.

    The mean times of fit and classifier in a cell count for all its repeats and, if its runs choose their settings, for
    all candidates. Without recorded times of every cell of the ``n_runs`` runs, return None.
    """
    of_config = runs.of_configs((config,))
    n_planned, total_ms = 0, 0.0
    for number, cell in of_config.cells.items():
        times = [of_config.values(number, name) for name in TIMINGS]
        known = [fmean(values.values()) for values in times if values]
        if not known:
            return None
        n_repeats = of_config.counts[number]["n_planned"]
        n_planned += n_repeats
        total_ms += n_repeats * n_trainings(cell) * sum(known)
    return total_ms / 1000.0 if n_planned >= n_runs else None


def time_in_words(seconds: float) -> str:
    """Return a time such as ``"< 1 s"``, ``"40 s"``, ``"12 min"`` or ``"3 h"``."""
    if seconds < 1.0:
        return "< 1 s"
    if seconds < 100.0:
        return f"{seconds:.0f} s"
    if seconds < 6000.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600.0:.0f} h"
