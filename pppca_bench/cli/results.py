"""``pppca status``, ``list``, ``show``, ``export``, ``merge`` and ``doctor``: stored results and their state."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import click

from pppca_bench.cli._shared import (
    DATABASE,
    FILE,
    FOLDER,
    cli,
    configs_argument,
    data_option,
    notify,
    read_store,
    results_option,
    resume_hint_on_interrupt,
)
from pppca_bench.errors import PppcaError, UnknownNameError, check_known
from pppca_bench.files import atomic_write


@cli.command()
@results_option
def status(results: Path) -> None:
    """Show for each config how many runs are done.

    The command also works during `pppca run`, on any machine with access to the folder. `watch -n 5 pppca status` shows
    the numbers every 5 seconds.

    Examples:
      pppca status
      pppca status --results elsewhere
    """
    from tabulate import tabulate

    with read_store(results) as store:
        rows = store.statuses()
    if not rows:
        notify("No run is planned yet: a new `pppca run` first opens its data.")
    shown = rows if len(rows) > 2 else rows[:1]  # a single config is the sum
    align = ("left", *["right"] * 4) if rows else None
    headers = ("config", "done", "failed", "to do", "under way")
    click.echo(tabulate(shown, headers, disable_numparse=True, colalign=align))


@cli.command("list")
@results_option
@click.option(
    "--failed",
    "only_failed",
    is_flag=True,
    help="List the failed runs instead, with their keys and errors.",
)
@click.option("--text", metavar="CONFIG", help="Print the text of a config as it was last run.")
@click.option(
    "--shipped",
    "only_shipped",
    is_flag=True,
    help="List the configs that come with the package instead: purpose, runs and, where they were run, processor time.",
)
def list_(results: Path, only_failed: bool, text: str | None, only_shipped: bool) -> None:
    """List the configs that were run, or the runs that failed, or the shipped configs.

    `pppca show KEY` prints everything about a run.

    Examples:
      pppca list
      pppca list --shipped
      pppca list --failed
      pppca list --text cancer1 > cancer1.yaml
    """
    from tabulate import tabulate

    from pppca_bench.runs import cause_of

    if only_shipped:
        click.echo(_shipped_table(results))
        return
    with read_store(results) as store:
        if text is not None:
            texts = store.config_texts()
            check_known("config", [text], texts)
            shown = texts[text].removesuffix("\n")
        elif only_failed:
            failures = [(*row, cause_of(error)) for *row, error in store.failures()]
            headers = ("key", "problem", "method", "repeat", "error")
            shown = (
                tabulate(failures, headers, disable_numparse=True) if failures else "No run failed."
            )
        else:
            shown = tabulate(
                store.configs(),
                ("config", "last run (UTC)", "problems", "methods", "settings", "runs"),
            )
    click.echo(shown)


def _shipped_table(results: Path) -> str:
    """Return the shipped configs in a table."""
    from tabulate import tabulate

    from pppca_bench.config.experiment import parse_config
    from pppca_bench.config.plan import count_runs
    from pppca_bench.config.shipped import purpose, shipped_experiments
    from pppca_bench.results.frames import read_runs
    from pppca_bench.results.timings import estimated_s, time_in_words
    from pppca_bench.yaml_files.source import read_yaml

    runs = None
    if (results / DATABASE).exists():
        with read_store(results) as store:
            runs = read_runs(store)
    rows, times = list[list[str]](), list[str]()
    for name, path in shipped_experiments().items():
        n_runs = count_runs(parse_config(read_yaml(path)))
        time_s = estimated_s(runs, name, n_runs) if runs else None
        rows.append([name, purpose(path), str(n_runs)])
        times.append("" if time_s is None else time_in_words(time_s))
    headers, align = ["config", "purpose", "runs"], ["left", "left", "right"]
    if any(times):
        headers.append("processor time")
        align.append("right")
        rows = [[*row, time] for row, time in zip(rows, times, strict=True)]
    return tabulate(rows, headers, disable_numparse=True, colalign=align, maxcolwidths=[None, 50])


@cli.command()
@click.argument("run")
@results_option
def show(run: str, results: Path) -> None:
    """Print all stored information on RUN, as YAML.

    This includes settings, seed, data, numbers, provenance and, if it failed, its traceback. RUN is a key, the
    beginning of a key, or CONFIG/PROBLEM/METHOD/REPEAT if that names a single run.

    Examples:
      pppca show 3f2a
      pppca show cancer1/cancer1/gha/0
      pppca list --failed
    """
    import yaml

    from pppca_bench.store.export import find_run, run_details

    with read_store(results) as store:
        details = run_details(store, find_run(store, run))
    error = details.pop("error")
    click.echo(yaml.safe_dump(details, sort_keys=False, allow_unicode=True, width=110), nl=False)
    if error:
        click.echo("error: |\n" + textwrap.indent(error.rstrip(), "  "))


@cli.command()
@configs_argument
@results_option
@click.option(
    "--format",
    "form",
    type=click.Choice(("csv", "parquet")),
    help="[default: by the suffix of --out]",
)
@click.option("--out", type=FILE, help="File to write to [default: print the CSV].")
def export(configs: tuple[str, ...], results: Path, form: str | None, out: Path | None) -> None:
    """Write all runs that are done or have failed as a table with a row for each run.

    Settings, numbers, seed, status and provenance have a column each. CONFIGS are names of configs that were run (all
    by default). In Python, `pppca_bench.load_results` returns the same table.

    Examples:
      pppca export --out runs.csv
      pppca export cancer1 --out cancer1.parquet
    """
    from importlib.util import find_spec

    from pppca_bench.pages.escapes import to_csv
    from pppca_bench.store.export import runs_table

    form = form or ("csv" if out is None else out.suffix.lower().removeprefix("."))
    if form not in ("csv", "parquet"):
        raise click.UsageError(
            f"expected --out FILE.csv or FILE.parquet, got {out}. Rename it, or add --format."
        )
    if form == "parquet" and out is None:
        raise click.UsageError("Parquet cannot be printed: name a file with --out.")
    if form == "parquet" and find_spec("pyarrow") is None:
        raise PppcaError("Parquet needs pyarrow, which is not installed: `pip install pyarrow`.")
    with read_store(results) as store:
        runs = runs_table(store, configs or None)
    if out is None:
        click.echo(to_csv(runs), nl=False)
        return
    atomic_write(out, runs.to_parquet(index=False) if form == "parquet" else to_csv(runs))
    notify(f"Wrote {len(runs)} runs to {out}.")


@cli.command()
@click.argument("folders", nargs=-1, required=True, type=FOLDER)
@results_option
def merge(folders: tuple[Path, ...], results: Path) -> None:
    """Merge the results of several folders into one database.

    The target is the database of --results. It may already contain some of the results: merging them again changes
    nothing. If two folders have different numbers for a run (except times), or different data, algorithms, seeds or
    config texts for a setting, the command reports an error and merges nothing. FOLDERS are only read.

    Examples:
      pppca merge s1 s2 s3 s4 --results all
    """
    with resume_hint_on_interrupt(results):
        from pppca_bench.store.database import Store
        from pppca_bench.store.merge import merge as merge_databases

        for folder in folders:  # before a database is created
            if not (folder / DATABASE).exists():
                raise UnknownNameError(
                    f"no results in {folder / DATABASE}: name folders that `pppca run` wrote to."
                )
        with Store(results / DATABASE) as store:
            sources = list(dict.fromkeys(folders))
            merged = merge_databases(store, [folder / DATABASE for folder in sources])
            _, done, failed, planned, _ = next(reversed(store.statuses()), ("", 0, 0, 0, 0))
    for folder, (n_new, n_known) in zip(sources, merged, strict=True):
        notify(f"{folder}: {n_new} runs added, {n_known} were already stored.")
    notify(f"{results} has {done} runs done, {failed} failed and {planned} to do.")


@cli.command()
@data_option
@results_option
def doctor(data_dir: Path | None, results: Path) -> None:
    """Check the installation, the data and the results.

    Each check is printed, a failed check with its remedy. The exit code is 1 if a check failed.

    Examples:
      pppca doctor
      pppca doctor --results elsewhere
    """
    from pppca_bench.experiments import doctor as checks

    n_wrong = 0
    for result in checks.examine(data_dir, results / DATABASE):
        n_wrong += result.remedy is not None
        mark = "ok" if result.remedy is None else "!!"
        click.echo(f"{mark}  {result.subject}: {result.text} {result.remedy or ''}".rstrip())
    if n_wrong:
        click.echo(f"{n_wrong} check{'s' if n_wrong > 1 else ''} failed.")
        sys.exit(1)
    click.echo("All checks passed.")
