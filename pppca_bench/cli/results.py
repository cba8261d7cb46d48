"""``pppca list``, ``show``, ``export``, ``merge`` and ``doctor``: stored results, and their state."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import click

from pppca_bench.cli._shared import (
    DATABASE,
    FILE,
    FOLDER,
    STUDIES,
    data_option,
    examples,
    open_store,
    read_store,
    results_option,
    stoppable,
)
from pppca_bench.errors import PppcaError, UnknownNameError, check_known
from pppca_bench.files import atomic_write, to_csv


@click.command("list", epilog=examples("pppca list", "pppca list --failed", "pppca list --text cancer1 > cancer1.yaml"))
@results_option
@click.option("--failed", "only_failed", is_flag=True, help="List the failed runs instead, with their keys and errors.")
@click.option("--text", metavar="CONFIG", help="Print the text of a config as it was last run.")
def list_(results: Path, only_failed: bool, text: str | None) -> None:
    """List the configs that were run, or the runs that failed.

    `pppca show KEY` prints everything about one run.
    """
    from tabulate import tabulate

    from pppca_bench.runs import cause_of

    with read_store(results) as store:
        if text is not None:
            texts = store.config_texts()
            check_known("config", [text], texts)
            click.echo(texts[text], nl=False)
        elif only_failed:
            rows = store.rows(
                "SELECT key, problem, method, repeat, error FROM runs JOIN cells ON cells.id = cell"
                " WHERE status = 'failed' AND key IN (SELECT key FROM plans) ORDER BY cell, repeat"
            )
            failures = [(*row, cause_of(error)) for *row, error in rows]
            click.echo(tabulate(failures, ("key", "problem", "method", "repeat", "error"), disable_numparse=True))
        else:
            rows = store.rows(
                "SELECT name, substr(replace(planned_at, 'T', ' '), 1, 16), count(DISTINCT problem),"
                " count(DISTINCT method), count(DISTINCT cell), count(*)"
                " FROM configs JOIN plans ON plans.config = name JOIN runs ON runs.key = plans.key"
                " JOIN cells ON cells.id = cell GROUP BY name ORDER BY planned_at"
            )
            click.echo(tabulate(rows, ("config", "last run (UTC)", "problems", "methods", "settings", "runs")))


@click.command(epilog=examples("pppca show 3f2a", "pppca show cancer1/cancer1/gha/0", "pppca list --failed"))
@click.argument("run")
@results_option
def show(run: str, results: Path) -> None:
    """Print everything that is known about RUN, as YAML.

    That is its settings, seed, data, numbers and provenance, and its traceback if it failed. RUN is a key, the
    beginning of a key, or CONFIG/PROBLEM/METHOD/REPEAT if that names only one run.
    """
    import yaml

    from pppca_bench.store.export import find_run, run_details

    with read_store(results) as store:
        details = run_details(store, find_run(store, run))
    error = details.pop("error")
    click.echo(yaml.safe_dump(details, sort_keys=False, allow_unicode=True, width=110), nl=False)
    if error:
        click.echo("error: |\n" + textwrap.indent(error.rstrip(), "  "))


@click.command(
    epilog=examples("pppca export --out runs.csv", "pppca export cancer1 --format parquet --out cancer1.parquet")
)
@click.argument("configs", nargs=-1)
@results_option
@click.option("--format", "form", type=click.Choice(("csv", "parquet")), default="csv", show_default=True)
@click.option("--out", type=FILE, help="File to write to [default: print the CSV].")
def export(configs: tuple[str, ...], results: Path, form: str, out: Path | None) -> None:
    """Write all runs as one table, with a row for each run.

    Settings, numbers, seed, status and provenance have a column each. CONFIGS are names of configs that were run (all
    by default). In Python, `pppca_bench.load_results` returns the same table.
    """
    from importlib.util import find_spec

    from pppca_bench.store.export import load_results

    if form == "parquet" and out is None:
        raise click.UsageError("Parquet cannot be printed: name a file with --out.")
    if form == "parquet" and find_spec("pyarrow") is None:
        raise PppcaError("Parquet needs pyarrow, which is not installed: `pip install 'pppca-bench[parquet]'`.")
    runs = load_results(results, configs or None)
    if out is None:
        click.echo(to_csv(runs), nl=False)
        return
    atomic_write(out, runs.to_parquet(index=False) if form == "parquet" else to_csv(runs))
    click.echo(f"Wrote {len(runs)} runs to {out}.", err=True)


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
        from pppca_bench.store.merge import merge as merge_databases

        for folder in folders:  # before a database is created
            if not (folder / DATABASE).exists():
                raise UnknownNameError(f"no results in {folder / DATABASE}: name folders that `pppca run` wrote to.")
        with open_store(results) as store:
            sources = list(dict.fromkeys(folders))
            merged = merge_databases(store, [folder / DATABASE for folder in sources])
            counts = dict(
                store.rows("SELECT status, count(*) FROM runs WHERE key IN (SELECT key FROM plans) GROUP BY 1")
            )
    for folder, (n_new, n_known) in zip(sources, merged, strict=True):
        click.echo(f"{folder}: {n_new} runs taken, {n_known} were there already.", err=True)
    done, failed, planned = (counts.get(status, 0) for status in ("done", "failed", "planned"))
    click.echo(f"{results} has {done} runs done, {failed} failed and {planned} to do.", err=True)


@click.command(epilog=examples("pppca doctor", "pppca doctor --results elsewhere"))
@data_option
@results_option
@click.option("--mend", is_flag=True, help="Remove the rows of results that are damaged, to be computed again.")
def doctor(data_dir: Path | None, results: Path, mend: bool) -> None:
    """Check the installation, the data and the results.

    Each finding comes with its remedy. The exit code is 1 if there is anything to do.
    """
    from pppca_bench.experiments import doctor as checks

    studies = sorted(results.glob(f"{STUDIES}/*/{DATABASE}"))
    for database in (results / DATABASE, *studies) if mend else ():
        if database.exists() and (n_removed := checks.mend(database)):
            click.echo(f"Removed {n_removed} damaged rows from {database}: the next `pppca run` computes them again.")
    n_wrong = 0
    for finding in checks.examine(data_dir, results / DATABASE, studies):
        n_wrong += finding.remedy is not None
        mark = "ok" if finding.remedy is None else "!!"
        click.echo(f"{mark}  {finding.subject}: {finding.text} {finding.remedy or ''}".rstrip())
    if n_wrong:
        click.echo(f"{n_wrong} finding{'s' if n_wrong > 1 else ''} to do something about.")
        sys.exit(1)
    click.echo("All is well.")
