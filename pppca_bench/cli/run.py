"""The ``pppca run`` command: configs to results, with what was done already left as it is."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pppca_bench.cli._shared import (
    DATABASE,
    progress_bar,
    results_option,
    stoppable,
    tell_what_was_found,
    warn_of_network,
    workers_option,
)
from pppca_bench.cli.data import data_option

if TYPE_CHECKING:
    from pppca_bench.experiments.runner import Outcome
    from pppca_bench.runs import RunSpec
    from pppca_bench.store.database import Store


@click.command()
@click.argument("configs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--repeats", type=click.IntRange(1, 10_000), help="Repeats in place of the config's own.")
@workers_option
@results_option
@data_option
@click.option(
    "--retry", "retries", type=click.IntRange(0, 100), default=0, help="Try failed runs again, so many times."
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first failed run.")
@click.option("--fresh", is_flag=True, help="Compute again what the results already hold.")
@click.option("--dry-run", is_flag=True, help="Say what would be run, and run nothing.")
@click.option("--quiet", is_flag=True, help="No progress bar and no summary.")
def run(
    configs: tuple[Path, ...],
    repeats: int | None,
    workers: int | None,
    results: Path,
    data_dir: Path | None,
    retries: int,
    fail_fast: bool,
    fresh: bool,
    dry_run: bool,
    quiet: bool,
) -> None:
    """Run the experiments that CONFIGS (YAML files) describe, except what the results already hold."""
    with stoppable(results):
        from pppca_bench.config.request import read_request
        from pppca_bench.experiments import runner
        from pppca_bench.store.database import Store

        with progress_bar("file", quiet=quiet) as progress:
            request = read_request(configs, data_dir=data_dir, repeats=repeats, only_plan=dry_run, progress=progress)
        if dry_run:
            _print_dry_run(request.specs, results, fresh)
            return
        warn_of_network(results)
        with Store(results / DATABASE) as store:
            tell_what_was_found(store)
            if not quiet:
                _print_superseded(store, request.specs)
            for plan in request.plans:
                store.plan(plan)
            with progress_bar("run", quiet=quiet) as progress:
                outcome = runner.run(
                    request.specs,
                    store,
                    request.problems,
                    configs={plan.name: plan.sha256 for plan in request.plans},
                    workers=runner.available_cores() if workers is None else workers,
                    fresh=fresh,
                    retries=retries,
                    fail_fast=fail_fast,
                    progress=progress,
                    stage=progress.stage,
                    warn=progress.warn,
                )
    _print_outcome(outcome, results, quiet)
    if outcome.n_failed:
        sys.exit(1)


def _print_superseded(store: Store, specs: Sequence[RunSpec]) -> None:
    from pppca_bench.experiments.provenance import superseded_lines

    done = store.done(spec.key for spec in specs)
    missing = dict.fromkeys(spec.cell for spec in specs if spec.key not in done)
    for line in superseded_lines(store.superseded(missing)):
        click.echo(line, err=True)


def _print_dry_run(specs: Sequence[RunSpec], results: Path, fresh: bool) -> None:
    from pppca_bench.store.database import Store

    missing: Sequence[RunSpec] = specs
    if (results / DATABASE).exists() and not fresh:
        with Store(results / DATABASE, read_only=True) as store:
            done = store.done(spec.key for spec in specs)
            _print_superseded(store, specs)
        missing = [spec for spec in specs if spec.key not in done]
    cells = {spec.cell for spec in missing}
    click.echo(
        f"{len(specs)} runs planned, {len(specs) - len(missing)} done, {len(missing)} to run in {len(cells)} cells."
    )


def _print_outcome(outcome: Outcome, results: Path, quiet: bool) -> None:
    if outcome.n_failed:
        click.echo(
            f"{outcome.n_failed} of {outcome.n_planned} runs failed, the first: {outcome.first_error}",
            err=True,
        )
        if outcome.n_left:
            click.echo(f"Stopped there (--fail-fast), with {outcome.n_left} runs left.", err=True)
        click.echo(f"The tracebacks are in {results / DATABASE}; the next `pppca run` tries them again.", err=True)
    if quiet:
        return
    if outcome.n_reused == outcome.n_planned:
        click.echo(f"Nothing to do: all {outcome.n_planned} runs are in {results}. See `pppca tables`.")
        return
    click.echo(f"{outcome.n_done} runs done, {outcome.n_reused} were there already. See `pppca tables`.")
