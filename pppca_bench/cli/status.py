"""The ``pppca status`` and ``pppca list`` commands: progress of configs, failed runs."""

from __future__ import annotations

import sys
import threading
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pppca_bench.cli._shared import DATABASE, EXIT_INTERRUPTED, examples, results_option, workers_option

if TYPE_CHECKING:
    from pppca_bench.experiments.time_left import Standing
    from pppca_bench.store.database import Store


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
    from pppca_bench.experiments.executors import available_cores

    n_workers = available_cores() if workers is None else workers
    printed = _print_standings(results, n_workers)
    try:
        while pause_s is not None and any(config.n_to_do or config.n_under_way for config in printed):
            threading.Event().wait(pause_s)
            click.echo()
            printed = _print_standings(results, n_workers)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _print_standings(results: Path, workers: int) -> list[Standing]:
    """Print the progress of each config, as a new connection to the database sees it."""
    from tabulate import tabulate

    from pppca_bench.experiments.time_left import standings
    from pppca_bench.store.database import Store

    with Store(results / DATABASE, read_only=True) as store:
        read = standings(store, workers)
    rows = [(*astuple(config)[:-1], _time(config.seconds_left)) for config in read]
    headers = ("config", "done", "failed", "to do", "under way", "time left")
    click.echo(tabulate(rows, headers, disable_numparse=True, colalign=("left", *["right"] * 5) if rows else None))
    return read


@click.command("list", epilog=examples("pppca list", "pppca list --failed", "pppca list --text cancer1 > cancer1.yaml"))
@results_option
@click.option("--failed", "only_failed", is_flag=True, help="List the failed runs instead, with their keys and errors.")
@click.option("--text", metavar="CONFIG", help="Print the text of a config as it was last run.")
def list_(results: Path, only_failed: bool, text: str | None) -> None:
    """List the configs that were run, or the runs that failed.

    `pppca show KEY` prints everything about one run.
    """
    from tabulate import tabulate

    from pppca_bench.errors import check_known
    from pppca_bench.store.database import Store

    with Store(results / DATABASE, read_only=True) as store:
        if text is not None:
            texts = store.config_texts()
            check_known("config", [text], texts)
            click.echo(texts[text], nl=False)
            return
        if only_failed:
            click.echo(tabulate(_failed(store), ("key", "problem", "method", "repeat", "error"), disable_numparse=True))
            return
        rows = store.rows(
            "SELECT name, substr(replace(planned_at, 'T', ' '), 1, 16), count(DISTINCT problem),"
            " count(DISTINCT method), count(DISTINCT cell), count(*)"
            " FROM configs JOIN plans ON plans.config = name JOIN runs ON runs.key = plans.key"
            " JOIN cells ON cells.id = cell GROUP BY name ORDER BY sequence"
        )
    click.echo(tabulate(rows, ("config", "last run (UTC)", "problems", "methods", "settings", "runs")))


def _failed(store: Store) -> list[tuple[str, str, str, int, str]]:
    from pppca_bench.runs import cause_of

    rows = store.rows(
        "SELECT key, problem, method, repeat, error FROM runs JOIN cells ON cells.id = cell"
        " WHERE status = 'failed' AND key IN (SELECT key FROM plans) ORDER BY cell, repeat"
    )
    return [(*row, cause_of(error)) for *row, error in rows]


def _time(seconds: float | None) -> str:
    """Return a time in words, rounded up; "–" for no time, "?" for an unknown one."""
    if seconds is None:
        return "?"
    if seconds == 0.0:
        return "–"
    if seconds < 60.0:
        return "under 1 min"
    minutes = -int(-seconds // 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
