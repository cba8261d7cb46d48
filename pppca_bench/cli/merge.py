"""Command ``pppca merge``: results of several machines in one database."""

from __future__ import annotations

from pathlib import Path

import click

from pppca_bench.cli._shared import (
    DATABASE,
    FOLDER,
    examples,
    results_option,
    stoppable,
    warn_of_emptied,
    warn_of_network,
)
from pppca_bench.errors import UnknownNameError


@click.command(epilog=examples("pppca merge s1 s2 s3 s4 --results all"))
@click.argument("folders", nargs=-1, required=True, type=FOLDER)
@results_option
def merge(folders: tuple[Path, ...], results: Path) -> None:
    """Merge the results of several folders into one database.

    The database is that of --results. It may already hold some of the results: merging them again changes nothing. If
    two folders differ in the numbers of a run (times aside), or in the data, algorithms, seeds or config text of a
    setting, the command says so and merges nothing. FOLDERS are only read.
    """
    with stoppable(results):
        from pppca_bench.store.database import Store
        from pppca_bench.store.merge import merge as merge_databases

        for folder in folders:  # before a database is created
            if not (folder / DATABASE).exists():
                raise UnknownNameError(f"no results in {folder / DATABASE}: name folders that `pppca run` wrote to.")
        warn_of_network(results)
        with Store(results / DATABASE) as store:
            warn_of_emptied(store)
            sources = list(dict.fromkeys(folders))
            merged = merge_databases(store, [folder / DATABASE for folder in sources])
            counts = dict(
                store.rows("SELECT status, count(*) FROM runs WHERE key IN (SELECT key FROM plans) GROUP BY 1")
            )
    for folder, (n_new, n_known) in zip(sources, merged, strict=True):
        click.echo(f"{folder}: {n_new} runs taken, {n_known} were there already.", err=True)
    click.echo(
        f"{results} has {counts.get('done', 0)} runs done, {counts.get('failed', 0)} failed and"
        f" {counts.get('planned', 0)} to do.",
        err=True,
    )
