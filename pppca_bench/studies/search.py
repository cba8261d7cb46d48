"""Random and TPE searches by Optuna, scored by the distance from published cells.

Source: Bergstra et al. 2011, "Algorithms for hyper-parameter optimization"; Akiba et al. 2019, "Optuna".

Optuna's journal is in the folder of the study's database. Each trial's sampler is seeded by the study's seed and the
trial's number, so that a resumed search draws the same trials as an uninterrupted search.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pppca_bench.config.request import check_run_count, read_request
from pppca_bench.errors import ConfigError
from pppca_bench.experiments import runner
from pppca_bench.experiments.executors import Workers
from pppca_bench.experiments.queue import is_timed
from pppca_bench.files import atomic_write, to_csv
from pppca_bench.methods.lookup import find_method
from pppca_bench.references.layout import Scored
from pppca_bench.references.reference import own_references
from pppca_bench.reporting.comparison import is_scored, score_group
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.table import Table, fill_tables
from pppca_bench.runs import RunSpec, StoredRun, cause_of
from pppca_bench.store.database import Store
from pppca_bench.studies.config import Space, Study

try:
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    from optuna.trial import TrialState
except ImportError:
    message = "pppca study needs Optuna, which is not installed: `pip install 'pppca-bench[optuna]'`."
    raise ConfigError(message) from None

JOURNAL = "optuna.journal"
SHARES = {"random": (1.0,), "tpe": (0.25, 0.5, 1.0)}
"""Shares of the repeats, by sampler; after each share, a trial that is worse than the median is pruned."""
N_STARTUP = 15
"""Trials of a TPE search that are drawn at random and never pruned."""
N_SHOWN = 20
"""Trials in the Markdown table; the CSV file has all."""


def check_cells(study: Study, data_dir: Path | None = None, *, force: bool = False) -> None:
    """Raise ConfigError unless the base fills each cell that is scored or reported, and no cell is both.

    Raise it also if the trials need more runs than a command may have, unless ``force`` is set.
    """
    specs = read_request([study.base], data_dir=data_dir, force=True).specs
    tables = _fill_tables((spec, None) for spec in specs)
    untimed = any(not is_timed(spec.cell) for spec in specs if find_method(spec.cell.method).timed_by)
    names, decisive = {"trial", "score", "cells", "failed runs", "repeats", "error"}, set[tuple[str, ...]]()
    for key in ("score", "report"):
        for position, entry in enumerate(getattr(study.settings, key)):
            where, group = study.source.where((key, position)), entry.group
            if group.name in names:
                raise ConfigError(f"{where}: expected a unique name, got {group.name!r} again. Add the key `name`.")
            names.add(group.name)
            if untimed and group.quantity == "speedup" and group.ours != "speedup_operations":
                raise ConfigError(f"{where}: expected ours: speedup_operations where base has timed: false, got times.")
            cells = {(*place, group.ours or group.quantity) for place in _filled_cells(group, tables, where)}
            if key == "score":
                decisive |= cells
            elif shared := sorted(cells & decisive):
                raise ConfigError(f"{where}: expected cells that score leaves out, got {', '.join(shared[0])}.")
    if not force:
        n_runs = study.settings.trials * len(needed_runs(study, specs))
        check_run_count({study.source.path: n_runs}, fewer="trials")


def _filled_cells(group: Scored, tables: Sequence[Table], where: str) -> list[tuple[str, str, str]]:
    """Return table, row and column of a group's cells; ``where`` begins the messages about cells without runs."""
    layouts = {layout.id: layout for reference in own_references() for layout in reference.layouts}
    for key, text in group.unknown_names(layouts):
        raise ConfigError(f"{where}.{key}: {text}.")
    cells = [(table.id, cell) for table in tables for cell in table.cells.values() if is_scored(group, table, cell)]
    for table_id, cell in cells:
        if not cell.n_planned:
            got = f"{table_id}, {cell.row}, {cell.column}. Name rows or columns, or extend base"
            raise ConfigError(f"{where}: expected cells that base runs, got {got}.")
    if not cells:
        raise ConfigError(f"{where}: expected published cells that runs can fill, got none ({group.name}).")
    return [(table_id, cell.row, cell.column) for table_id, cell in cells]


def run_study(
    study: Study,
    store: Store,
    folder: Path,
    *,
    data_dir: Path | None = None,
    workers: int = 1,
    progress: runner.Progress = runner.ignore,
    stage: runner.Notify = runner.ignore,
    warn: runner.Notify = runner.ignore,
) -> pd.DataFrame:
    """Run the trials that Optuna's journal in ``folder`` lacks, and return the table of all trials, the best first.

    ``store`` is the study's own, and ``progress`` counts trials; the other arguments are those of `runner.run`.
    """
    settings, read = study.settings, partial(read_request, data_dir=data_dir, force=True)
    search = _open_search(study, folder, read([study.base]).specs)
    # All trials use the same workers: new workers would load the kernels again.
    with Workers(workers) as backend:
        for number in range(settings.trials):
            if (trial := _ask(search, number, study)) is not None:
                values = {place: _suggest(trial, place, space) for place, space in settings.vary.items()}
                request = read([study.experiment(number, values)])
                specs = needed_runs(study, request.specs)
                store.plan(replace(request.plans[0], specs=tuple(specs), all_repeats=()))
                compute = partial(
                    runner.run, store=store, problems=request.problems, backend=backend, stage=stage, warn=warn
                )
                outcome, is_pruned = _run_trial(study, trial, specs, store, compute)
                labels = {place: _label(value, settings.vary[place]) for place, value in values.items()}
                for key, value in (labels | outcome).items():
                    trial.set_user_attr(key, value)
                state = TrialState.PRUNED if is_pruned else TrialState.COMPLETE
                search.tell(trial, None if is_pruned else outcome["score"], state)
                _write_trials(study, search, folder)
            progress(number + 1, settings.trials)
    return _write_trials(study, search, folder)


def _open_search(study: Study, folder: Path, base_runs: Sequence[RunSpec]) -> optuna.Study:
    """Open the search in the folder's journal; a different base, search space or set of cells gives a new search."""
    settings = study.settings
    identity = [[spec.key for spec in base_runs], settings.model_dump(exclude={"base", "trials"})]
    digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    search = optuna.create_study(
        storage=JournalStorage(JournalFileBackend(str(folder / JOURNAL))),
        study_name=f"{settings.name}-{digest}",
        load_if_exists=True,
        pruner=optuna.pruners.MedianPruner(n_startup_trials=N_STARTUP),
    )
    if not search.get_trials(deepcopy=False):
        search.enqueue_trial({place: _label(own, settings.vary[place]) for place, own in study.parameters.items()})
    return search


def _ask(search: optuna.Study, number: int, study: Study) -> optuna.Trial | None:
    """Begin a trial, or continue an interrupted trial; None if it is finished."""
    seed = int(np.random.SeedSequence([study.settings.seed, number]).generate_state(1)[0])
    if study.settings.sampler == "tpe":
        search.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=N_STARTUP)
    else:
        search.sampler = optuna.samplers.RandomSampler(seed=seed)
    begun = [trial for trial in search.get_trials(deepcopy=False) if trial.state != TrialState.WAITING]
    if number >= len(begun):
        return search.ask()
    return None if begun[number].state.is_finished() else optuna.Trial(search, begun[number]._trial_id)


def _suggest(trial: optuna.Trial, place: str, space: Space) -> Any:
    """Return the parameter's value that Optuna draws, or drew before; floats have four digits, as in the table."""
    if space.choices is not None:
        labels = [_label(choice, space) for choice in space.values]
        return space.values[labels.index(trial.suggest_categorical(place, labels))]
    low, high = space.values
    if space.is_integer:
        return trial.suggest_int(place, low, high, log=space.log)
    return min(max(float(f"{trial.suggest_float(place, low, high, log=space.log):.4g}"), low), high)


def _label(value: Any, space: Space) -> Any:
    """Return a choice as text, since Optuna takes no lists, and a number of a range unchanged."""
    return value if space.choices is None or isinstance(value, str) else json.dumps(value)


def _run_trial(
    study: Study, trial: optuna.Trial, specs: Sequence[RunSpec], store: Store, compute: Callable[..., object]
) -> tuple[dict[str, Any], bool]:
    """Compute a trial, share by share until Optuna prunes it; return its scores, and whether it is pruned."""
    n_all = 1 + max(spec.repeat for spec in specs)
    for n_repeats in sorted({math.ceil(share * n_all) for share in SHARES[study.settings.sampler]}):
        part = [spec for spec in specs if spec.repeat < n_repeats]
        compute(part)
        store.rows("DELETE FROM histories")  # not needed by any score, and large
        runs = store.runs_by_key([spec.key for spec in part])
        outcome = score_runs(study, [runs[spec.key] for spec in part])
        if math.isinf(outcome["score"]):
            return outcome, True
        if n_repeats < n_all:
            if n_repeats not in trial.study.trials[trial.number].intermediate_values:
                trial.report(outcome["score"], n_repeats)
            if trial.should_prune():
                return outcome, True
    return outcome, False


def needed_runs(study: Study, specs: Sequence[RunSpec]) -> list[RunSpec]:
    """Return the runs that fill the cells of ``score`` and ``report``; the base may ask for more runs."""
    planned = [(spec, None) for spec in specs]
    results = Results.of_runs(planned)
    groups = [entry.group for entry in (*study.settings.score, *study.settings.report)]
    needed = {
        of_runs
        for table in _fill_tables(planned)
        for cell in table.cells.values()
        if cell.selector and any(is_scored(group, table, cell) for group in groups)
        for of_runs in results.matching(cell.selector)
    }
    return [spec for spec in specs if spec.cell in needed]


def score_runs(study: Study, runs: Sequence[StoredRun]) -> dict[str, Any]:
    """Score the runs of a trial.

    Returns
    -------
    dict
        ``score``, infinite if runs failed or cells have no number; the mean distance of each group of cells by its
        name; numbers of ``cells``, ``failed runs`` and ``repeats``; and the first ``error``, or "".
    """
    tables = _fill_tables(runs)
    parts = [score_group(entry.group, tables) for entry in study.settings.score]
    held_out = [score_group(entry.group, tables) for entry in study.settings.report]
    failed = [(spec, result) for spec, result in runs if result is None or result.status != "done"]
    distances = [part.score for part in parts if part.score is not None and part.n_run == part.n_cells]
    score, error = math.inf, ""
    if failed:
        spec, result = failed[0]
        cause = cause_of(result.error if result else None)
        error = f"{spec.cell.problem}, {spec.cell.method}, repeat {spec.repeat}: {cause}"
    elif len(distances) == len(parts):
        weights = [entry.weight for entry in study.settings.score]
        score = math.fsum(map(math.prod, zip(weights, distances, strict=True))) / math.fsum(weights)
    return {
        "score": score,
        **{part.name: None if failed else part.score for part in parts},
        **{f"{part.name} (held out)": None if failed else part.score for part in held_out},
        "cells": sum(part.n_run for part in (*parts, *held_out)),
        "failed runs": len(failed),
        "repeats": 1 + max(spec.repeat for spec, _ in runs),
        "error": error,
    }


def _fill_tables(runs: Iterable[StoredRun]) -> list[Table]:
    return fill_tables(Results.of_runs(runs), {}, own_references(), configs=())


def _write_trials(study: Study, search: optuna.Study, folder: Path) -> pd.DataFrame:
    """Write the table of trials, the best first, as CSV and Markdown; return the table."""
    settings = study.settings
    finished = [trial for trial in search.trials if trial.state.is_finished()][: settings.trials]
    table = pd.DataFrame([{"trial": trial.number, **trial.user_attrs} for trial in finished])
    table = table.sort_values(["repeats", "score", "trial"], ascending=[False, True, True])
    atomic_write(folder / "trials.csv", to_csv(table))
    text = f"""\
# Study {settings.name}

{len(table)} of {settings.trials} trials by the sampler {settings.sampler} with seed {settings.seed}.
Trial 0 is the base. The score is the weighted mean of the distances from published cells: |ln(ours / published)| for
dimensionalities and speed-ups, percentage points for errors; inf if runs failed. Pruned trials have fewer repeats and
come last. The table has the best {min(N_SHOWN, len(table))} trials, trials.csv all of them.

{shown_trials(study, table, "github")}
"""
    atomic_write(folder / "trials.md", text)
    return table


def shown_trials(study: Study, table: pd.DataFrame, form: str) -> str:
    """Return the best trials as text in one of tabulate's forms, with the last key of each parameter."""
    short = {place: place.rpartition(".")[2] for place in study.settings.vary}
    best = table.drop(columns="error").head(N_SHOWN).rename(columns=short)
    return str(best.to_markdown(index=False, tablefmt=form, floatfmt=".4g"))
