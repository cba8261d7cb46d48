"""Progress of each config's runs, and an estimate of the time left."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from pppca_bench.experiments.queue import is_timed
from pppca_bench.methods.registry import METHODS
from pppca_bench.runs import Cell
from pppca_bench.store.database import Store
from pppca_bench.store.file import is_running

Durations = Mapping[tuple[str | None, str], float]
"""Mean seconds of a run by problem and method, and by None and method over all problems."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Counts of the runs that a config asks for.

    Attributes
    ----------
    config : str
        Its name; ``"all"`` for the runs of all configs, each once.
    n_done, n_failed, n_to_do : int
        Runs that are done, that failed, and that were not tried yet.
    n_under_way : int
        Those of the runs that are not done which a process has reserved.
    seconds_left : float or None
        Estimated time for the failed runs and those to do; None where a method has no completed run yet.
    """

    config: str
    n_done: int
    n_failed: int
    n_to_do: int
    n_under_way: int
    seconds_left: float | None


def standings(store: Store, workers: int) -> list[Standing]:
    """Count the runs of each config, and estimate the time that the rest takes.

    A run is taken to last as long as the completed ones of its method on its problem, or of its method on any problem
    where there are none. Choice: timed runs are computed alone, the others by all workers at once; that the last ones
    leave workers idle is ignored, so that the estimate is rather too short.

    Parameters
    ----------
    store : Store
        The results; another process may write to them.
    workers : int
        Number of worker processes, 0 for none.

    Returns
    -------
    list of Standing
        One per config, in the order of the plans, then one for all where there are several.
    """
    under_way = json.dumps([key for key, process in store.reserved() if is_running(process)])
    count = "cell, status, count(*), sum(key IN (SELECT value FROM json_each(?)))"
    parts: dict[str, list[Sequence[Any]]] = {name: [] for name in store.configs()}
    by_config = f"SELECT config, {count} FROM plans JOIN runs USING (key) GROUP BY 1, 2, 3"
    for config, *part in store.rows(by_config, under_way):
        parts[config].append(part)
    if len(parts) > 1:
        of_all = f"SELECT {count} FROM runs WHERE key IN (SELECT key FROM plans) GROUP BY 1, 2"
        parts["all"] = store.rows(of_all, under_way)
    cells, durations = store.cells(), _durations(store)
    return [_standing(name, of, cells, durations, max(workers, 1)) for name, of in parts.items()]


def _durations(store: Store) -> Durations:
    means: dict[tuple[str | None, str], float] = {}
    of_method = defaultdict[str, list[float]](list)
    # Runs of a group have one span, which they share.
    for problem, method, mean_ms in store.rows(
        "WITH spans AS (SELECT started_at, duration_ms, duration_ms / count(*) AS mean_ms FROM runs"
        " WHERE status = 'done' AND duration_ms IS NOT NULL GROUP BY 1, 2)"
        " SELECT problem, method, avg(mean_ms) FROM runs JOIN spans USING (started_at, duration_ms)"
        " JOIN cells ON cells.id = cell WHERE status = 'done' GROUP BY 1, 2"
    ):
        means[problem, method] = mean_ms / 1e3
        of_method[method].append(mean_ms / 1e3)
    return means | {(None, method): fmean(seconds) for method, seconds in of_method.items()}


def _standing(
    name: str, parts: Iterable[Sequence[Any]], cells: Mapping[int, Cell], durations: Durations, workers: int
) -> Standing:
    """Sum up counts of runs, each with a cell's number, a status, the number of runs and of those under way."""
    counts = {"done": 0, "failed": 0, "planned": 0}
    n_under_way, seconds_left = 0, 0.0
    is_known = True
    for number, status, n, n_reserved in parts:
        counts[status] += n
        if status == "done":
            continue
        n_under_way += n_reserved
        cell = cells[number]
        seconds = durations.get((cell.problem, cell.method), durations.get((None, cell.method)))
        is_known &= seconds is not None
        is_alone = cell.method in METHODS and is_timed(cell)
        seconds_left += n * (seconds or 0.0) / (1 if is_alone else workers)
    left = seconds_left if is_known else None
    return Standing(name, counts["done"], counts["failed"], counts["planned"], n_under_way, left)
