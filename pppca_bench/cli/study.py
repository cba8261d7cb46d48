"""The ``pppca study`` command: a search over settings, scored by how near they come to published cells."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pppca_bench.cli._shared import (
    DATABASE,
    STUDIES,
    examples,
    progress_bar,
    results_option,
    stoppable,
    tell_what_was_found,
    workers_option,
)
from pppca_bench.cli.completion import complete_studies
from pppca_bench.cli.data import data_option

if TYPE_CHECKING:
    from pppca_bench.studies.scoring import ScoredTrial


@click.command(epilog=examples("pppca study dgha --trials 20"))
@click.argument("config", type=click.Path(path_type=Path), shell_complete=complete_studies)
@click.option("--trials", type=click.IntRange(1, 100_000), help="Number of trials in place of the config's own.")
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

    CONFIG is a YAML file or the name of a study. NAME stands for configs/studies/NAME.yaml, if there is one, and
    otherwise for the study that comes with the package.
    Every trial is run but for what RESULTS/studies/NAME already holds; trials.csv and trials.md there list them, and
    front.png shows what no trial beats where the score has several parts.
    """
    from pppca_bench import problems
    from pppca_bench.config.request import check_fit, check_task
    from pppca_bench.config.shipped import find_study
    from pppca_bench.experiments import runner
    from pppca_bench.studies import front, scoring, tpe, trial_table
    from pppca_bench.studies import search as studies
    from pppca_bench.studies.config import load_study

    loaded = load_study(find_study(config), problems=problems.known_problems(), trials=trials)
    scoring.check_cells(loaded)
    if not force:
        scoring.check_size(loaded)
    if loaded.settings.sampler != "random":
        tpe.import_optuna(loaded)
    folder = results / STUDIES / loaded.name
    with stoppable(folder):
        opened = {name: problems.open_problem(name, data_dir) for name in loaded.problems}
        for index, (name, (_, problem)) in enumerate(opened.items()):
            place = loaded.where("base", "problems", index)
            check_task(place, name, problem.task, loaded.trials[0].config)
            check_fit(place, name, problem, loaded.trials[0].config)
        with studies.TrialStore(folder / DATABASE) as store, progress_bar("run", quiet=quiet) as progress:
            tell_what_was_found(store)
            scored = studies.run_study(
                loaded,
                store,
                folder,
                problems={(name, source.sha256): (source, problem) for name, (source, problem) in opened.items()},
                workers=runner.available_cores() if workers is None else workers,
                progress=progress,
                stage=progress.stage,
                warn=progress.warn,
            )
    drawn = front.write_study_front(loaded, scored, folder)
    if not quiet:
        click.echo(trial_table.render(loaded, scored, "terminal"))
        click.echo(f"\nAll {len(scored)} trials are in {folder / trial_table.CSV}.")
        if drawn:
            click.echo(f"The front of the first two parts of the score is in {drawn[1]}.")
    _tell_failures(scored, quiet)


def _tell_failures(scored: Sequence[ScoredTrial], quiet: bool) -> None:
    failed = [trial for trial in scored if trial.n_failed]
    if failed and not quiet:
        click.echo(
            f"Trials with failed runs: {len(failed)} of {len(scored)}, such as {failed[0].first_error}", err=True
        )
    if len(failed) == len(scored):
        sys.exit(1)
