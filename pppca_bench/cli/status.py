"""``pppca status``: progress of each config's runs, and an estimate of the time left."""

from __future__ import annotations

import json
import math
import sys
import threading
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import click

from pppca_bench.cli._shared import EXIT_INTERRUPTED, examples, read_store, results_option, workers_option

if TYPE_CHECKING:
    from pppca_bench.store.database import Store

ALL = "all"
"""Name under which the runs of several configs are counted, each once."""


class Standing(NamedTuple):
    """Numbers of a config's runs by their status, and the seconds left; None without a completed run to go by."""

    config: str
    n_done: int
    n_failed: int
    n_to_do: int
    n_under_way: int
    seconds_left: float | None


@click.command(
    epilog=examples("pppca status", "pppca status --results elsewhere --workers 8", "pppca status --watch 30")
)
@results_option
@workers_option
@click.option(
    "--watch",
    "pause_s",
    is_flag=False,
    flag_value=10.0,
    type=click.FloatRange(min=0.1, max=threading.TIMEOUT_MAX),
    metavar="[SECONDS]",
    help="Print again every SECONDS [default: 10], until no run is left to do or Ctrl-C.",
)
def status(results: Path, workers: int | None, pause_s: float | None) -> None:
    """Show for each config how many runs are done, and the time left.

    The time left is for the runs that failed or are still to do. It is estimated from finished runs of the same method
    and problem, with all workers busy; "?" means that there are none yet. The command also works during `pppca run`, on
    any machine that sees the folder.
    """
    from tabulate import tabulate

    from pppca_bench.experiments.executors import available_cores

    headers = ("config", "done", "failed", "to do", "under way", "time left")
    n_workers = available_cores() if workers is None else workers
    try:
        while True:
            with read_store(results) as store:  # each time, to see what other processes wrote
                read = standings(store, n_workers)
            rows = [(*config[:-1], _time(config.seconds_left)) for config in read]
            align = ("left", *["right"] * 5) if rows else None
            click.echo(tabulate(rows, headers, disable_numparse=True, colalign=align))
            if pause_s is None or not any(config.n_to_do or config.n_under_way for config in read):
                return
            threading.Event().wait(pause_s)
            click.echo()
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def standings(store: Store, workers: int) -> list[Standing]:
    """Count the runs of each config, and of all configs if there are several, and estimate the time left.

    A run is taken to last as long as the completed runs of its method on its problem, or of its method on any problem
    if there are none. Choice: timed runs are computed alone, the others by all workers at once; that the last runs
    leave workers idle is ignored, so that the estimate is rather too short.
    """
    from pppca_bench.experiments.queue import is_timed
    from pppca_bench.methods.registry import METHODS
    from pppca_bench.store.file import is_running

    configs, cells, seconds = store.configs(), store.cells(), _mean_seconds(store)
    tallies = {name: Counter[str]() for name in [*configs, ALL]}
    left = dict.fromkeys(tallies, 0.0)
    for name, number, state, n_runs, n_reserved in store.rows(
        "SELECT config, cell, status, count(*), sum(key IN (SELECT value FROM json_each(?)))"
        " FROM (SELECT config, key FROM plans UNION SELECT ?, key FROM plans) JOIN runs USING (key) GROUP BY 1, 2, 3",
        json.dumps([key for key, process in store.reserved() if is_running(process)]),
        ALL,
    ):
        tallies[name][state] += n_runs
        if state != "done":
            cell = cells[number]
            of_method = [mean for (_, method), mean in seconds.items() if method == cell.method]
            mean = seconds.get((cell.problem, cell.method), fmean(of_method) if of_method else math.nan)
            is_alone = cell.method in METHODS and is_timed(cell)
            tallies[name]["under way"] += n_reserved
            left[name] += n_runs * mean / (1 if is_alone else max(workers, 1))
    result = []
    for name in configs if len(configs) < 2 else tallies:
        tally, seconds_left = tallies[name], None if math.isnan(left[name]) else left[name]
        result.append(
            Standing(name, tally["done"], tally["failed"], tally["planned"], tally["under way"], seconds_left)
        )
    return result


def _mean_seconds(store: Store) -> dict[tuple[str, str], float]:
    """Return the mean seconds of a completed run by problem and method; runs of a group share its span equally."""
    rows = store.rows(
        "WITH spans AS (SELECT started_at, duration_ms, duration_ms / count(*) AS mean_ms FROM runs"
        " WHERE status = 'done' AND duration_ms IS NOT NULL GROUP BY 1, 2)"
        " SELECT problem, method, avg(mean_ms) FROM runs JOIN spans USING (started_at, duration_ms)"
        " JOIN cells ON cells.id = cell WHERE status = 'done' GROUP BY 1, 2"
    )
    return {(problem, method): mean_ms / 1e3 for problem, method, mean_ms in rows}


def _time(seconds: float | None) -> str:
    """Return a time in words, rounded up; "–" for no time, "?" for an unknown time."""
    if seconds is None:
        return "?"
    if seconds == 0.0:
        return "–"
    if seconds < 60.0:
        return "under 1 min"
    minutes = -int(-seconds // 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
