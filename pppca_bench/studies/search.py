"""A random search: run the trials of a study, score each by its distance from published cells, keep their table."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from tabulate import tabulate

from pppca_bench.config.plan import Identity, expand
from pppca_bench.errors import ConfigError
from pppca_bench.experiments import runner
from pppca_bench.experiments.queue import is_timed
from pppca_bench.methods.registry import METHODS
from pppca_bench.references.layout import Scored
from pppca_bench.references.reference import own_references
from pppca_bench.reporting.comparison import Score, holds, score_group
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.reporting.tables import build_tables
from pppca_bench.runs import Plan, ProblemFacts, RunResult, RunSpec, StoredRun
from pppca_bench.store.database import Span, Store
from pppca_bench.studies.config import Cells, Study, Trial

CSV, MARKDOWN = "trials.csv", "trials.md"
N_SHOWN = 20
"""Trials of the terminal's and the Markdown table; the CSV file has all."""

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


@dataclass(frozen=True)
class ScoredTrial:
    """Hold what came of a trial.

    Attributes
    ----------
    trial : Trial
    score : float
        Weighted mean of the parts that decide; infinite where runs failed or cells have no number.
    parts, reported : tuple of Score
        Of the cells that decide, and of those held out, in the order of the file.
    n_cells : int
        Cells of both that were run.
    n_failed : int
        Failed runs, divergences for the most part.
    first_error : str or None
        The first of them in a line.
    """

    trial: Trial
    score: float
    parts: tuple[Score, ...]
    reported: tuple[Score, ...]
    n_cells: int
    n_failed: int
    first_error: str | None


Part = TypeVar("Part")
Planned = tuple[Trial, list[RunSpec]]


def check_cells(study: Study) -> None:
    """Check that the base fills every cell that decides or is reported, and that none does both.

    Raises
    ------
    ConfigError
        It does not; the message names file, line and cell.
    """
    specs = expand(study.trials[0].config, _unopened(study))
    tables = _tables([(spec, None) for spec in specs], {})
    untimed = any(not is_timed(spec.cell) for spec in specs if METHODS[spec.cell.method].timed_by)
    labels, decisive = set[str](), set[tuple[str, str, str, str]]()
    for key, position, entry in _entries(study):
        where = study.where(key, position)
        if entry.label in labels:
            raise ConfigError(f"{where}: expected a name of its own, got {entry.label!r} again. Add the key `name`.")
        labels.add(entry.label)
        if untimed and entry.quantity == "speedup" and entry.ours != "speedup_operations":
            raise ConfigError(f"{where}: expected ours: speedup_operations where base has timed: false, got times.")
        quantity = entry.ours or entry.quantity
        cells = {(table.id, cell.row, cell.column, quantity) for table, cell in _held(entry, tables, where)}
        if key == "score":
            decisive |= cells
        elif shared := sorted(cells & decisive):
            raise ConfigError(f"{where}: expected cells that score leaves out, got {', '.join(shared[0])}.")


def _unopened(study: Study) -> dict[str, Identity]:
    """Return stand-ins for the problems' data, for a plan of which only the settings count."""
    return {name: Identity(name, "", name) for name in study.problems}


def _tables(runs: Iterable[StoredRun], facts: Mapping[str, ProblemFacts]) -> list[Table]:
    return build_tables(Results(runs), facts, own_references(), of_any_config=True)


def _entries(study: Study) -> Iterator[tuple[str, int, Cells]]:
    for key, entries in (("score", study.settings.score), ("report", study.settings.report)):
        yield from ((key, position, entry) for position, entry in enumerate(entries))


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
        Where `CSV` and `MARKDOWN` are written.
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
    identities = {name: Identity(name, digest, name) for name, digest in problems}
    plans = [(trial, _needed(study, trial, identities)) for trial in study.trials]
    n_total, n_before = sum(len(specs) for _, specs in plans), 0
    scored: list[ScoredTrial] = []
    for batch in _batches(plans, workers):
        specs = list({spec.key: spec for _, plan in batch for spec in plan}.values())
        n_batch = sum(len(plan) for _, plan in batch)
        for trial, plan in batch:
            store.plan(Plan(trial.config.name, trial.source.sha256, trial.source.text, tuple(plan)))
        shown = _shifted(progress, n_before + n_batch, n_total)
        runner.run(specs, store, problems, workers=workers, progress=shown, stage=stage, warn=warn)
        scored += _score_batch(study, batch, store)
        scored.sort(key=lambda one: (one.score, one.trial.number))
        folder.joinpath(CSV).write_text(render(study, scored, "csv"), encoding="utf-8")
        folder.joinpath(MARKDOWN).write_text(render(study, scored, "markdown"), encoding="utf-8")
        n_before += n_batch
    return scored


def _needed(study: Study, trial: Trial, identities: Mapping[str, Identity]) -> list[RunSpec]:
    """List the runs behind the cells that decide or are reported; the base may ask for more."""
    specs = expand(trial.config, identities)
    results = Results((spec, None) for spec in specs)
    groups = [_group(entry) for _, _, entry in _entries(study)]
    keys = set[str]()
    for table in _tables([(spec, None) for spec in specs], {}):
        for cell in table.cells.values():
            if cell.selector and any(holds(group, table, cell) for group in groups):
                keys.update(spec.key for spec, _ in results.select(cell.selector))
    return [spec for spec in specs if spec.key in keys]


def _batches(plans: Sequence[Planned], workers: int) -> Iterator[Sequence[Planned]]:
    wanted = max(RUNS_PER_BATCH, RUNS_PER_WORKER * workers)
    size = math.ceil(wanted / max(len(specs) for _, specs in plans))
    return (plans[start : start + size] for start in range(0, len(plans), size))


def _shifted(progress: runner.Progress | None, n_after: int, n_total: int) -> runner.Progress | None:
    """Count runs of the whole study, those that were there already included."""
    if progress is None:
        return None
    return lambda n_finished, n_missing: progress(n_after - n_missing + n_finished, n_total)


def _score_batch(study: Study, batch: Sequence[Planned], store: Store) -> list[ScoredTrial]:
    stored = {run[0].key: run for run in store.runs([trial.config.name for trial, _ in batch])}
    facts = store.problems()
    scored = []
    for trial, specs in batch:
        runs = [stored[spec.key] for spec in specs]
        scored.append(_score(study, trial, runs, _tables(runs, facts)))
    return scored


def _score(study: Study, trial: Trial, runs: Sequence[StoredRun], tables: Sequence[Table]) -> ScoredTrial:
    parts, reported = (
        tuple(score_group(_group(entry), tables) for entry in entries)
        for entries in (study.settings.score, study.settings.report)
    )
    failures = [(spec, result) for spec, result in runs if result is None or result.status != "done"]
    complete = not failures and all(part.n_run == part.n_cells for part in parts)
    weights = [entry.weight for entry in study.settings.score]
    return ScoredTrial(
        trial,
        _weighted_mean(parts, weights) if complete else math.inf,
        parts,
        reported,
        sum(part.n_run for part in (*parts, *reported)),
        len(failures),
        _described(*failures[0]) if failures else None,
    )


def _weighted_mean(parts: Sequence[Score], weights: Sequence[float]) -> float:
    distances = [math.inf if part.score is None else part.score for part in parts]
    return math.fsum(map(math.prod, zip(weights, distances, strict=True))) / math.fsum(weights)


def _described(spec: RunSpec, result: RunResult | None) -> str:
    cause = (result and result.error) or "unknown cause"
    return f"{spec.cell.problem}, {spec.cell.method}, repeat {spec.repeat}: {cause.strip().splitlines()[-1]}"


def _group(entry: Cells) -> Scored:
    return Scored(
        entry.label, entry.tables, entry.quantity, rows=entry.rows, columns=entry.columns, ours=entry.ours or ""
    )


def _held(entry: Cells, tables: Sequence[Table], where: str) -> list[tuple[Table, TableCell]]:
    """Return the cells of an entry, all of which the base has to fill."""
    named = [table for table in tables if table.id in entry.tables]
    keys = {
        "tables": (entry.tables, [table.id for table in tables]),
        "rows": (entry.rows, dict.fromkeys(row for table in named for row, _ in table.cells)),
        "columns": (entry.columns, dict.fromkeys(column for table in named for _, column in table.cells)),
    }
    for key, (names, known) in keys.items():
        for name in names or ():
            if name not in known:
                raise ConfigError(f"{where}.{key}: expected some of {'; '.join(known)}, got {name!r}.")
    group = _group(entry)
    held = [(table, cell) for table in named for cell in table.cells.values() if holds(group, table, cell)]
    if not held:
        raise ConfigError(f"{where}: expected published cells that runs can fill, got none ({entry.label}).")
    for table, cell in held:
        if not cell.n_planned:
            place = f"{table.id}, {cell.row}, {cell.column}"
            raise ConfigError(
                f"{where}: expected cells that base runs, got {place}. Name rows or columns, or extend base."
            )
    return held


def render(study: Study, scored: Sequence[ScoredTrial], form: str) -> str:
    """Render the trials, the best first, as ``csv`` (all), ``markdown`` or ``terminal`` text (the first `N_SHOWN`)."""
    if form == "csv":
        return _csv(study, scored)
    headers = ["trial", *_short(study.settings.vary), "score", *_labels(study), "cells", "failed runs"]
    rows = [_cells(one, "–", 3) for one in scored[:N_SHOWN]]
    grid = tabulate(rows, headers, tablefmt="github" if form == "markdown" else "simple", disable_numparse=True)
    return grid if form == "terminal" else f"{_introduction(study, scored)}\n\n{grid}\n"


def _csv(study: Study, scored: Sequence[ScoredTrial]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["trial", *study.settings.vary, "score", *_labels(study), "cells", "failed runs"])
    writer.writerows(_cells(one, "", 6) for one in scored)
    return text.getvalue()


def _cells(one: ScoredTrial, empty: str, decimals: int) -> list[object]:
    parameters = ["null" if value is None else value for value in one.trial.parameters.values()]
    # Cells without their failed runs would be those of the seeds that did well.
    scores = [None if one.n_failed else part.score for part in (*_several(one.parts), *one.reported)]
    numbers = [empty if score is None else f"{score:.{decimals}f}" for score in scores]
    return [one.trial.number, *parameters, f"{one.score:.{decimals}f}", *numbers, one.n_cells, one.n_failed]


def _labels(study: Study) -> list[str]:
    decisive = [entry.label for entry in _several(study.settings.score)]
    return decisive + [f"{entry.label} (held out)" for entry in study.settings.report]


def _several(parts: Sequence[Part]) -> Sequence[Part]:
    """Return the parts of a score, or none where the only one is the score."""
    return parts if len(parts) > 1 else ()


def _short(places: Iterable[str]) -> list[str]:
    """Return the last key of each place, or all of it where another ends alike."""
    last = {place: place.rpartition(".")[2] for place in places}
    return [name if list(last.values()).count(name) == 1 else place for place, name in last.items()]


def _introduction(study: Study, scored: Sequence[ScoredTrial]) -> str:
    settings = study.settings
    parts = [f"{entry.label} (weight {entry.weight:g})" for entry in settings.score]
    return (
        f"# Study {study.name}\n\n"
        f"{len(scored)} of {len(study.trials)} trials, drawn with seed {settings.seed}; trial 0 is the base."
        f" Repeats of each cell: {study.trials[0].config.methods[0].repeats}."
        f" The score is the weighted mean of: {', '.join(parts)}. Each is a mean over cells: |ln(ours / published)| for"
        " dimensionalities and speed-ups, percentage points for errors. Trials with failed runs score inf."
        f" The best {min(N_SHOWN, len(scored))}; {CSV} has all."
    )
