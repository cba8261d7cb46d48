"""``pppca run``: computation of results and tables."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pppca_bench.cli._shared import (
    DATABASE,
    cli,
    completion,
    data_option,
    notify,
    progress_bar,
    read_store,
    results_option,
    resume_hint_on_interrupt,
)
from pppca_bench.cli.filling import command, results_option_of
from pppca_bench.config.shipped import find_experiment, shipped_experiments
from pppca_bench.errors import ConfigError
from pppca_bench.store import BY_CONFIG

if TYPE_CHECKING:
    from pppca_bench.experiments.executors import Workers
    from pppca_bench.experiments.request import Request
    from pppca_bench.experiments.runner import Outcome
    from pppca_bench.pages.document import Document
    from pppca_bench.pages.snapshot import Snapshot
    from pppca_bench.runs import RunSpec

MAX_PRINTED = 3
"""Largest number of configs whose tables are printed; for more configs, only the folders of the tables are."""


def _read_shard(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[int, int] | None:
    """Return number and count of shards from a text such as 3/8."""
    if text is None:
        return None
    match = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", text)
    if match is None or int(match[1]) > int(match[2]):
        raise click.BadParameter(
            f"expected I/N with 1 ≤ I ≤ N, such as 3/8, got {text!r}.", context, parameter
        )
    return int(match[1]), int(match[2])


@cli.command()
@click.argument(
    "configs",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    shell_complete=completion(shipped_experiments, files=True),
)
@click.option(
    "--repeats", type=click.IntRange(1, 10_000), help="Number of repeats, instead of the config's."
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    help="Seed, instead of the config's, under the same name.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="KEY=VALUE,…",
    help="Take only these runs; KEY is problem, method, a method's parameter, or classifier.KEY (repeatable).",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a value of the config: KEY, classifier.KEY or METHOD.KEY (repeatable). The results are stored under"
    " the name CONFIG+KEY=VALUE.",
)
@click.option(
    "--shard",
    callback=_read_shard,
    metavar="I/N",
    help="Take only the I-th of N parts of the runs, to run on another machine; `pppca merge` merges the parts.",
)
@click.option(
    "--executor",
    type=click.Choice(["processes", "dask"]),
    default="processes",
    show_default=True,
    help="Compute with processes of this machine, or with Dask workers of this machine or of --scheduler.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Address of a running Dask scheduler, such as tcp://node1:8786.",
)
@click.option(
    "--workers",
    type=click.IntRange(0, 1024),
    help="Number of worker processes [default: all cores]; 0 for none, which isolates no third-party code.",
)
@results_option
@data_option
@click.option(
    "--retry",
    "retries",
    type=click.IntRange(0, 100),
    default=0,
    help="Try a failed run again, up to this many times.",
)
@click.option(
    "--timeout",
    type=click.IntRange(1, 10_000_000),
    metavar="SECONDS",
    help="Time limit of a run; a longer run has failed. Networks then do not train side by side.",
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first failed run.")
@click.option("--fresh", is_flag=True, help="Compute all runs again, including completed runs.")
@click.option("--force", is_flag=True, help="Allow more than 200 000 runs.")
@click.option("--dry-run", is_flag=True, help="Count the runs, but run nothing.")
@click.option("--no-tables", is_flag=True, help="Neither print nor write the tables.")
@click.option(
    "--quiet",
    is_flag=True,
    help="Print no progress bar, summary or tables; tables are still written.",
)
def run(
    configs: tuple[Path, ...],
    shard: tuple[int, int] | None,
    executor: str,
    scheduler: str | None,
    workers: int | None,
    results: Path,
    retries: int,
    timeout: int | None,
    fail_fast: bool,
    fresh: bool,
    dry_run: bool,
    no_tables: bool,
    quiet: bool,
    **requested: Any,
) -> None:
    """Run the experiments of CONFIGS, and print their results.

    CONFIGS are YAML files or names of configs. NAME stands for configs/NAME.yaml if this file exists (`pppca init`
    writes such files), and otherwise for the config that comes with the package. Completed runs are not
    repeated.

    A table shows all runs; the published numbers are counted by their verdicts. All tables are written to
    RESULTS/by_config/NAME (Markdown, LaTeX, CSV). With more than 3 configs, only these folders are printed. A shard has
    no tables. Messages go to stderr.

    Examples:
      pppca run cancer1
      pppca run cancer1 --only method=dgha,tau=15 --repeats 5
      pppca run cancer1 --set classifier.learning_rate=0.2 --set dgha.n_epochs=20
      pppca run cancer1 --shard 3/8 --results shard3
      pppca run cancer1 --executor dask --workers 2
    """
    if scheduler and (executor != "dask" or workers is not None):
        raise click.UsageError(
            "expected --scheduler with --executor dask, and without --workers: it has workers."
        )
    from pppca_bench.experiments.executors import adopt_orphans

    with resume_hint_on_interrupt(results):
        if executor == "processes" and not dry_run and (workers != 0 or timeout):
            from pppca_bench.experiments.pool import start_server

            start_server()
        if dry_run and not quiet:
            notify(f"Reading {', '.join(map(str, configs))} and the data.")
        # Imported while the server of the workers starts.
        from pppca_bench.experiments.request import read_request

        request = read_request(list(map(find_experiment, configs)), only_plan=dry_run, **requested)
        if shard is not None:
            request = request.part(*shard)
        for notice in () if quiet else request.notices:
            notify(f"Note: {notice}")
        if dry_run:
            _print_dry_run(request.specs, results, fresh)
            return
        adopt_orphans()
        used = _workers(executor, scheduler, workers, timeout, quiet=quiet)
        tries = {"fresh": fresh, "retries": retries, "fail_fast": fail_fast}
        outcome = _compute(request, used, results, quiet=quiet, **tries)
        names = [plan.name for plan in request.plans]
        _print_results([] if no_tables or shard else names, outcome, results, quiet)
    if outcome.n_failed:
        sys.exit(1)


def _compute(
    request: Request, workers: Workers, results: Path, *, quiet: bool, **options: Any
) -> Outcome:
    """Run a request with a progress bar; ``options`` are those of `runner.run`."""
    from pppca_bench.experiments import runner
    from pppca_bench.store.database import Store

    with workers as used, Store(results / DATABASE) as store, progress_bar(quiet=quiet) as progress:
        return runner.run(
            request.specs,
            store,
            request.problems,
            used,
            plans=request.plans,
            progress=progress,
            stage=progress.stage,
            warn=progress.warn,
            **options,
        )


def _print_results(names: Sequence[str], outcome: Outcome, results: Path, quiet: bool) -> None:
    """Write and print the tables of configs, and print the outcome and the next commands."""
    if not quiet:
        _print_counts(outcome, results)
    compared = list[str]()
    try:
        if names:
            compared = _write_tables(names, results, quiet)
    finally:  # also if the tables cannot be written
        _print_failures(outcome, results)
    if names and not (quiet or outcome.n_failed):
        _print_next(names, compared, results)


def _print_next(names: Sequence[str], compared: Sequence[str], results: Path) -> None:
    """Print commands that show more of configs, of which those ``compared`` have published numbers."""
    lines = [f"{command(results, 'report')} shows all results on one page."]
    if len(names) <= MAX_PRINTED:
        folders = ", ".join(str(results / BY_CONFIG / name) for name in names)
        prints = command(results, f"tables {shlex.join(names)}")
        lines.insert(0, f"{prints} prints all tables, which are also in {folders}.")
    if compared:
        lists = command(results, f"compare {shlex.join(compared)}")
        lines.insert(0, f"{lists} lists the published numbers beside ours.")
    notify("\nNext: " + "\n      ".join(lines))


def _workers(
    executor: str, scheduler: str | None, workers: int | None, timeout: int | None, *, quiet: bool
) -> Workers:
    """Return the workers for the options, which start at the first call."""
    from pppca_bench.experiments.executors import Workers

    if workers is None:
        from joblib import cpu_count

        workers = cpu_count()
    if executor == "processes":
        return Workers(workers, timeout=timeout)
    try:
        from pppca_bench.experiments.dask_cluster import DaskCluster
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--executor dask needs Dask, which is not installed ({error}): `pip install distributed`."
        ) from None

    announce = None if quiet else lambda address: notify(f"Dask's dashboard: {address}")
    return DaskCluster(max(workers, 1), scheduler, announce, timeout=timeout)


def _write_tables(names: Sequence[str], results: Path, quiet: bool) -> list[str]:
    """Write the tables of each config; print its answer or, for many configs, the folders.

    Return the configs of which numbers were compared with published numbers.
    """
    from pppca_bench.cli.tables import write_by_config

    written = {name: write_by_config(name, results) for name in names}
    compared = list[str]()
    for name, (snapshot, tables, folder) in written.items():
        if quiet:
            continue
        if len(names) > MAX_PRINTED:
            click.echo(f"{name}: {len(tables)} tables in {folder}")
        elif tables:
            if len(names) > 1:
                click.echo(f"Results of {name}\n")
            if _print_answer(name, snapshot, tables, results):
                compared.append(name)
        else:
            notify(f"No table shows the runs of {name}.")
    return compared


def _print_answer(name: str, snapshot: Snapshot, tables: Sequence[Document], results: Path) -> bool:
    """Print the runs of a config in a table, the recommended settings and the counts of the verdicts, if any.

    Return whether there are verdicts.
    """
    from pppca_bench.pages.document import render_documents
    from pppca_bench.pages.index_page import verdict_lines
    from pppca_bench.pages.recommendation import recommendations

    shown = _brief(snapshot, tables)
    click.echo(render_documents(shown, "terminal"), nl=False)
    advice = list[str]()
    if "X" in [table.id for table in shown]:
        options = results_option_of(results)
        numbers = snapshot.means("X")[1]
        advice += recommendations(snapshot.runs, snapshot.facts, numbers, options)
    verdicts = verdict_lines(name, snapshot)
    click.echo("".join(f"\n{line}\n" for line in [*advice, *verdicts]), nl=False)
    return bool(verdicts)


def _brief(snapshot: Snapshot, tables: Sequence[Document]) -> list[Document]:
    """Return our own tables of a config or, without them, the published tables with our numbers alone."""
    from pppca_bench.verdicts.own_tables import RETAINED

    shown = [table for table in tables if table.id != RETAINED or len(tables) == 1]
    own = [table for table in shown if table.id not in snapshot.sources]
    if own:
        return own
    return [table._replace(lead="", notes=table.notes[:1], others=()) for table in shown]


def _print_dry_run(specs: Sequence[RunSpec], results: Path, fresh: bool) -> None:
    from pppca_bench.runs import n_trainings

    done = set[str]()
    if (results / DATABASE).exists() and not fresh:
        with read_store(results) as store:
            done = store.done(spec.key for spec in specs)
    missing = [spec for spec in specs if spec.key not in done]
    n_cells = len({spec.cell for spec in missing})
    n_trained = sum(n_trainings(spec.cell) for spec in missing)
    text = f"{len(specs)} runs planned, {len(specs) - len(missing)} done, {len(missing)} to run in {n_cells} cells"
    chosen = f": {n_trained} trainings, including the candidates of runs that choose their settings"
    click.echo(f"{text}{chosen if n_trained > len(missing) else ''}.")


def _print_counts(outcome: Outcome, results: Path) -> None:
    if outcome.n_reused == outcome.n_planned:
        notify(f"Nothing to do: all {outcome.n_planned} runs are in {results}.")
    else:
        notify(f"{outcome.n_done} runs done, {outcome.n_reused} were already stored.")


def _print_failures(outcome: Outcome, results: Path) -> None:
    if not outcome.n_failed:
        return
    notify(
        f"{outcome.n_failed} of {outcome.n_planned} runs failed, the first: {outcome.first_error}"
    )
    if outcome.n_left:
        notify(f"Stopped at this failure (--fail-fast), with {outcome.n_left} runs left.")
    notify(
        f"Their tracebacks are in {results}: {command(results, 'list --failed')} lists the runs,"
        f" {command(results, 'show RUN')} prints a run."
        " The next `pppca run` tries them again."
    )
