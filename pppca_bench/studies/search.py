"""Random and TPE searches by Optuna, and their table and front of trials.

Source: Bergstra et al. 2011, "Algorithms for hyper-parameter optimization"; Akiba et al. 2019, "Optuna".

Optuna's journal lies beside the study's database. Each trial's sampler is seeded by the study's seed and the trial's
number, so that a search that was stopped continues as if it had not been.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pppca_bench.config.plan import Identities, Identity, expand
from pppca_bench.errors import ConfigError
from pppca_bench.experiments import runner
from pppca_bench.experiments.executors import local
from pppca_bench.files import atomic_write
from pppca_bench.runs import Plan, RunResult, RunSpec
from pppca_bench.store.database import Store
from pppca_bench.studies.config import Space, Study, StudyConfig
from pppca_bench.studies.scoring import needed_runs, score_runs

try:
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    from optuna.trial import TrialState
except ImportError:
    message = "pppca study needs Optuna, which is not installed: `pip install 'pppca-bench[optuna]'`."
    raise ConfigError(message) from None

JOURNAL = "optuna.journal"
SHARES = (0.25, 0.5, 1.0)
"""Shares of the repeats after which the TPE search prunes a trial that is worse than the median."""
N_STARTUP = 15
"""Trials of a TPE search that are drawn at random and never pruned."""
N_SHOWN = 20
"""Trials in the Markdown table; the CSV file has all."""


class TrialStore(Store):
    """Results store without learning curves, which no score needs and which would fill the disk."""

    def record(self, results: Sequence[RunResult], *arguments: Any, **keywords: Any) -> None:
        """Append finished runs; see `Store.record`."""
        super().record([replace(result, history={}) for result in results], *arguments, **keywords)


def run_study(
    study: Study,
    store: Store,
    folder: Path,
    *,
    problems: runner.OpenProblems,
    workers: int = 1,
    progress: runner.Progress | None = None,
    stage: runner.Notify | None = None,
    warn: runner.Notify | None = None,
) -> pd.DataFrame:
    """Run the trials that Optuna's journal in ``folder`` lacks.

    Parameters
    ----------
    study : Study
        A study whose cells were checked.
    store : Store
        The study's own; only this process writes to it.
    folder : Path
        Where the journal, ``trials.csv``, ``trials.md`` and the front are written.
    problems : mapping of (str, str) to (ProblemSource, Problem)
        The study's problems, by name and digest.
    workers : int, default 1
        Number of worker processes; 0 computes in this process. No score depends on it.
    progress : callable(n_finished, n_total), optional
        Called with the number of runs that are computed or pruned, and of all.
    stage, warn : callable(text), optional
        See `runner.run`.

    Returns
    -------
    DataFrame
        A row for each trial, the best first, pruned trials last.
    """
    identities: Identities = {name: Identity(name, digest, name) for name, digest in problems}
    n_trials = study.settings.trials
    search = _open_search(study, folder, needed_runs(study, expand(study.config, identities)))
    # The same workers serve all trials: new ones would load the kernels again.
    with local(workers) as backend:
        compute = partial(runner.run, store=store, problems=problems, backend=backend, stage=stage, warn=warn)
        for number in range(n_trials):
            if (trial := _ask(search, number, study.settings)) is None:
                continue
            parameters = {place: _suggest(trial, place, space) for place, space in study.settings.vary.items()}
            config = study.experiment(number, parameters)
            specs = needed_runs(study, expand(config, identities))
            store.plan(Plan(config.name, study.source.sha256, study.source.text, tuple(specs)))

            def shown(n: int, _: int, before: int = number * len(specs), total: int = n_trials * len(specs)) -> None:
                if progress:
                    progress(before + n, total)

            _run_trial(search, trial, study, specs, store, partial(compute, progress=shown))
            _write_trials(study, search, folder)
    table = _write_trials(study, search, folder)
    if len(study.settings.score) > 1:
        from pppca_bench.studies.front_drawing import write_front  # imports matplotlib

        write_front(study, table, folder)
    return table


def _open_search(study: Study, folder: Path, of_base: Sequence[RunSpec]) -> optuna.Study:
    """Open the search in the folder's journal; another base, other ranges or other cells make another search."""
    settings = study.settings
    identity = [[spec.key for spec in of_base], settings.model_dump(exclude={"base", "trials"})]
    digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    is_tpe = settings.sampler == "tpe"
    search = optuna.create_study(
        storage=JournalStorage(JournalFileBackend(str(folder / JOURNAL))),
        study_name=f"{settings.name}-{digest}",
        load_if_exists=True,
        pruner=optuna.pruners.MedianPruner(n_startup_trials=N_STARTUP) if is_tpe else optuna.pruners.NopPruner(),
    )
    if not search.get_trials(deepcopy=False):
        base = study.parameters.items()
        search.enqueue_trial({place: _label(one) if settings.vary[place].choices else one for place, one in base})
    return search


def _ask(search: optuna.Study, number: int, settings: StudyConfig) -> optuna.Trial | None:
    """Begin a trial, or continue one that was interrupted; None for one that is finished."""
    seed = int(np.random.SeedSequence([settings.seed, number]).generate_state(1)[0])
    if settings.sampler == "tpe":
        search.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=N_STARTUP)
    else:
        search.sampler = optuna.samplers.RandomSampler(seed=seed)
    begun = [trial for trial in search.get_trials(deepcopy=False) if trial.state != TrialState.WAITING]
    if number >= len(begun):
        return search.ask()
    return None if begun[number].state.is_finished() else optuna.Trial(search, begun[number]._trial_id)


def _suggest(trial: optuna.Trial, place: str, space: Space) -> Any:
    """Return a parameter's value as Optuna draws it, or has drawn it before."""
    if space.choices is not None:
        labels = list(map(_label, space.extremes))
        return space.extremes[labels.index(trial.suggest_categorical(place, labels))]
    low, high = space.extremes
    if isinstance(low, int) and isinstance(high, int):
        return trial.suggest_int(place, low, high, log=space.log)
    return _rounded(trial.suggest_float(place, low, high, log=space.log), space)


def _rounded(value: Any, space: Space) -> Any:
    """Return a drawn float with four significant digits, as the table shows it; anything else as it is."""
    return min(max(float(f"{value:.4g}"), space.extremes[0]), space.extremes[1]) if isinstance(value, float) else value


def _label(choice: Any) -> str:
    """Return a choice as text, for Optuna takes no lists."""
    return choice if isinstance(choice, str) else json.dumps(choice)


def _run_trial(
    search: optuna.Study,
    trial: optuna.Trial,
    study: Study,
    specs: Sequence[RunSpec],
    store: Store,
    compute: Callable[[Sequence[RunSpec]], object],
) -> None:
    n_all = 1 + max(spec.repeat for spec in specs)
    shares = SHARES if study.settings.sampler == "tpe" else (1.0,)
    for n_repeats in sorted({math.ceil(share * n_all) for share in shares}):
        some = [spec for spec in specs if spec.repeat < n_repeats]
        compute(some)
        runs = store.runs_by_key([spec.key for spec in some])
        outcome = score_runs(study, [runs[spec.key] for spec in some], store.problems())
        is_pruned = math.isinf(outcome["score"])
        if not is_pruned and n_repeats < n_all:
            if n_repeats not in search.trials[trial.number].intermediate_values:
                trial.report(outcome["score"], n_repeats)
            is_pruned = trial.should_prune()
        if is_pruned:
            break
    for key, value in outcome.items():
        trial.set_user_attr(key, value)
    search.tell(trial, None if is_pruned else outcome["score"], TrialState.PRUNED if is_pruned else None)


def _write_trials(study: Study, search: optuna.Study, folder: Path) -> pd.DataFrame:
    """Write the table of trials, the best first, as CSV and Markdown; return the table."""
    finished = [trial for trial in search.trials if trial.state.is_finished()][: study.settings.trials]
    spaces = study.settings.vary
    rows = [
        {"trial": one.number} | {place: _rounded(value, spaces[place]) for place, value in one.params.items()}
        for one in finished
    ]
    table = pd.DataFrame([row | one.user_attrs for row, one in zip(rows, finished, strict=True)])
    table = table.sort_values(["repeats", "score", "trial"], ascending=[False, True, True])
    atomic_write(folder / "trials.csv", table.to_csv(index=False, lineterminator="\n"))
    text = f"""\
# Study {study.settings.name}

{len(table)} of {study.settings.trials} trials by the sampler {study.settings.sampler} with seed {study.settings.seed}.
Trial 0 is the base. The score is the weighted mean of the distances from published cells: |ln(ours / published)| for
dimensionalities and speed-ups, percentage points for errors. It is inf where runs failed. Pruned trials have fewer
repeats and stand last. The best {min(N_SHOWN, len(table))}; trials.csv has all.

{shown_trials(study, table, "github")}
"""
    atomic_write(folder / "trials.md", text)
    return table


def shown_trials(study: Study, table: pd.DataFrame, form: str) -> str:
    """Return the best trials as text in one of tabulate's forms, with the last key of each parameter."""
    short = {place: place.rpartition(".")[2] for place in study.settings.vary}
    best = table.drop(columns="error").head(N_SHOWN).rename(columns=short)
    return str(best.to_markdown(index=False, tablefmt=form, floatfmt=".4g"))
