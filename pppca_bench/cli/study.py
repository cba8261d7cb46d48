"""The ``pppca study`` command: searches of settings, scored by their distance from published cells."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pppca_bench.cli._shared import (
    STUDIES,
    complete_studies,
    data_option,
    examples,
    open_store,
    progress_bar,
    results_option,
    stoppable,
    workers_option,
)


@click.command(epilog=examples("pppca study dgha --trials 20"))
@click.argument("config", type=click.Path(path_type=Path), shell_complete=complete_studies)
@click.option("--trials", type=click.IntRange(1, 100_000), help="Number of trials; overrides the config's.")
@workers_option
@results_option
@data_option
@click.option("--force", is_flag=True, help="Allow more than 200 000 runs.")
@click.option("--quiet", is_flag=True, help="No progress bar and no table.")
def study(
    config: Path,
    trials: int | None,
    workers: int | None,
    results: Path,
    data_dir: Path | None,
    force: bool,
    quiet: bool,
) -> None:
    """Search for settings that come near published numbers.

    CONFIG is a YAML file or the name of a study. NAME stands for configs/studies/NAME.yaml if this file exists, and
    otherwise for the study that comes with the package.
    The command runs the trials that RESULTS/studies/NAME lacks. trials.csv there lists all trials, the best first, and
    trials.md the best 20.
    """
    from pppca_bench.config.shipped import find_study
    from pppca_bench.experiments.executors import available_cores
    from pppca_bench.studies import search
    from pppca_bench.studies.config import load_study

    loaded = load_study(find_study(config), trials=trials)
    folder = results / STUDIES / loaded.settings.name
    with stoppable(folder):
        search.check_cells(loaded, data_dir, force=force)
        with open_store(folder) as store, progress_bar("trial", quiet=quiet) as progress:
            table = search.run_study(
                loaded,
                store,
                folder,
                data_dir=data_dir,
                workers=available_cores() if workers is None else workers,
                progress=progress,
                stage=progress.stage,
                warn=progress.warn,
            )
    failed = table[table["failed runs"] > 0]
    if not quiet:
        click.echo(search.shown_trials(loaded, table, "simple"))
        click.echo(f"\nAll {len(table)} trials are in {folder / 'trials.csv'}.")
        if len(failed):
            error = failed["error"].iloc[0]
            click.echo(f"Trials with failed runs: {len(failed)} of {len(table)}, such as {error}", err=True)
    if len(failed) == len(table):
        sys.exit(1)
