"""How far each config's runs are, and how long the rest will take."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from pppca_bench.experiments.queue import is_timed
from pppca_bench.methods.registry import METHODS
from pppca_bench.processes import is_running
from pppca_bench.runs import Cell
from pppca_bench.store.database import Store

ALL = "all"


@dataclass(frozen=True, slots=True)
class Standing:
    """Count the runs that a config asks for.

    Attributes
    ----------
    config : str
        Its name; ``"all"`` for the runs of all configs, each once.
    n_done, n_failed, n_to_do : int
        Runs that are done, that failed, and that were not tried yet.
    n_under_way : int
        Those of the runs that are not done which a process has reserved.
    seconds_left : float or None
        Estimated time for what failed and what is to do; None where no run of a method was done yet.
    """

    config: str
    n_done: int
    n_failed: int
    n_to_do: int
    n_under_way: int
    seconds_left: float | None


def standings(store: Store, workers: int) -> list[Standing]:
    """Count the runs of each config, and estimate the time that the rest takes.

    A run is taken to last as long as the done ones of its method on its problem did, or of its method on any problem
    where there are none. Choice: runs whose result is their time are computed alone, the others by all workers at once;
    what the last ones wait for is left out, so that it is rather too short.

    Parameters
    ----------
    store : Store
        The results; another process may write to them.
    workers : int
        Number of worker processes, 0 for none.

    Returns
    -------
    list of Standing
        One a config, in the order of the plans, then one of all where there are several.
    """
    under_way = json.dumps([key for key, process in store.reserved() if is_running(process)])
    count = "cell, status, count(*), sum(key IN (SELECT value FROM json_each(?)))"
    parts: dict[str, list[Any]] = {name: [] for name in store.configs()}
    for config, *part in store.rows(
        f"SELECT config, {count} FROM plans JOIN runs USING (key) GROUP BY 1, 2, 3", under_way
    ):
        parts[config].append(part)
    if len(parts) > 1:
        of_all = f"SELECT {count} FROM runs WHERE key IN (SELECT key FROM plans) GROUP BY 1, 2"
        parts[ALL] = store.rows(of_all, under_way)
    cells, durations = store.cells(), _Durations(store)
    return [_standing(name, of, cells, durations, max(workers, 1)) for name, of in parts.items()]


class _Durations:
    """Mean durations of a run, in seconds, by problem and method."""

    def __init__(self, store: Store) -> None:
        self._of_both: dict[tuple[str, str], float] = {}
        of_method = defaultdict[str, list[float]](list)
        # Runs that were computed together have one span.
        for problem, method, mean_ms in store.rows(
            "WITH spans AS (SELECT started_at, duration_ms, duration_ms / count(*) AS mean_ms FROM runs"
            " WHERE status = 'done' AND duration_ms IS NOT NULL GROUP BY 1, 2)"
            " SELECT problem, method, avg(mean_ms) FROM runs JOIN spans USING (started_at, duration_ms)"
            " JOIN cells ON cells.id = cell WHERE status = 'done' GROUP BY 1, 2"
        ):
            self._of_both[problem, method] = mean_ms / 1e3
            of_method[method].append(mean_ms / 1e3)
        self._of_method = {method: fmean(means) for method, means in of_method.items()}

    def of(self, problem: str, method: str) -> float | None:
        """Return the mean for a method on a problem, or on any; None where none was done."""
        return self._of_both.get((problem, method), self._of_method.get(method))


def _standing(
    name: str, parts: Iterable[Sequence[Any]], cells: Mapping[int, Cell], durations: _Durations, workers: int
) -> Standing:
    """Sum up parts of the runs: a cell's number, one status, how many runs have it, and how many are under way."""
    counts = {"done": 0, "failed": 0, "planned": 0}
    n_under_way, alone, together, is_known = 0, 0.0, 0.0, True
    for number, status, n, n_reserved in parts:
        counts[status] += n
        if status == "done":
            continue
        n_under_way += n_reserved
        cell = cells[number]
        seconds = durations.of(cell.problem, cell.method)
        if seconds is None:
            is_known = False
        elif cell.method in METHODS and is_timed(cell):
            alone += n * seconds
        else:
            together += n * seconds
    left = alone + together / workers if is_known else None
    return Standing(name, counts["done"], counts["failed"], counts["planned"], n_under_way, left)
