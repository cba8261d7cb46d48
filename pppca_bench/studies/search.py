"""A search: run the trials of a study, score each by its distance from published cells, keep their table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pppca_bench.config.plan import Identities, Identity
from pppca_bench.experiments import runner
from pppca_bench.runs import Plan, RunResult
from pppca_bench.store.database import Span, Store
from pppca_bench.studies.config import Study
from pppca_bench.studies.scoring import Planned, ScoredTrial, needed_runs, score_trials
from pppca_bench.studies.tpe import Compute, search_by_tpe
from pppca_bench.studies.trial_table import write_table

RUNS_PER_BATCH, RUNS_PER_WORKER = 1000, 64
"""Runs that go to the processes together: enough to keep all busy, and a table of trials every minute or so."""


class TrialStore(Store):
    """A results database without learning curves, which no score needs and which would fill the disk."""

    def record(
        self, results: Sequence[RunResult], provenance: str, *, replace: bool = False, span: Span | None = None
    ) -> None:
        """Append finished runs; see `Store.record`."""
        super().record([_without_history(result) for result in results], provenance, replace=replace, span=span)


def _without_history(result: RunResult) -> RunResult:
    return replace(result, history={})


def run_study(
    study: Study,
    store: Store,
    folder: Path,
    *,
    problems: runner.OpenProblems,
    workers: int = 1,
    progress: runner.Progress | None = None,
    stage: runner.Tell | None = None,
    warn: runner.Tell | None = None,
) -> list[ScoredTrial]:
    """Run what the store lacks of a study's trials; the table of trials in ``folder`` grows batch by batch.

    Parameters
    ----------
    study : Study
        A study whose cells were checked.
    store : Store
        The study's own; only this process writes to it.
    folder : Path
        Where the table of trials is written.
    problems : mapping of (str, str) to (ProblemSource, Problem)
        The study's problems, by name and digest.
    workers : int, default 1
        Number of worker processes; 0 computes in this process. No score depends on it.
    progress : callable(n_finished, n_total), optional
        Called with the number of runs that are done, and of all.
    stage, warn : callable(text), optional
        See `runner.run`.

    Returns
    -------
    list of ScoredTrial
        The best first.
    """
    identities: Identities = {name: Identity(name, digest, name) for name, digest in problems}
    # The same workers for all trials: new ones would have to load the kernels again.
    with runner.ended(runner.local(workers)) as backend:
        compute = partial(runner.run, store=store, problems=problems, backend=backend, stage=stage, warn=warn)
        if study.settings.sampler == "random":
            return _search_at_random(study, store, folder, identities, compute, progress, workers)
        return search_by_tpe(study, store, folder, identities=identities, compute=compute, progress=progress)


def _search_at_random(
    study: Study,
    store: Store,
    folder: Path,
    identities: Identities,
    compute: Compute,
    progress: runner.Progress | None,
    workers: int,
) -> list[ScoredTrial]:
    plans = [(trial, needed_runs(study, trial, identities)) for trial in study.trials]
    n_total, n_before = sum(len(specs) for _, specs in plans), 0
    scored: list[ScoredTrial] = []
    for batch in _batches(plans, workers):
        specs = list({spec.key: spec for _, plan in batch for spec in plan}.values())
        n_batch = sum(len(plan) for _, plan in batch)
        for trial, plan in batch:
            store.plan(Plan(trial.config.name, trial.source.sha256, trial.source.text, tuple(plan)))
        shown = _shifted(progress, n_before + n_batch, n_total)
        compute(specs, progress=shown)
        scored += score_trials(study, batch, store)
        scored.sort(key=lambda one: one.rank)
        write_table(study, scored, folder)
        n_before += n_batch
    return scored


def _batches(plans: Sequence[Planned], workers: int) -> Iterator[Sequence[Planned]]:
    wanted = max(RUNS_PER_BATCH, RUNS_PER_WORKER * workers)
    size = math.ceil(wanted / max(len(specs) for _, specs in plans))
    return (plans[start : start + size] for start in range(0, len(plans), size))


def _shifted(progress: runner.Progress | None, n_after: int, n_total: int) -> runner.Progress | None:
    """Count runs of the whole study, those that were there already included."""
    if progress is None:
        return None
    return lambda n_finished, n_missing: progress(n_after - n_missing + n_finished, n_total)
