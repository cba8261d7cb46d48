"""The score of a trial: how far its cells are from the published ones, and which runs stand behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pppca_bench.config.plan import Identities, Identity, expand
from pppca_bench.config.request import refuse_too_many
from pppca_bench.errors import ConfigError
from pppca_bench.experiments.queue import is_timed
from pppca_bench.methods.lookup import find_method
from pppca_bench.references.layout import Scored
from pppca_bench.references.reference import own_references
from pppca_bench.reporting.comparison import Score, holds, score_group
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.reporting.tables import fill_tables
from pppca_bench.runs import ProblemFacts, RunResult, RunSpec, StoredRun, cause_of
from pppca_bench.store.database import Store
from pppca_bench.studies.config import Cells, Study, Trial

Planned = tuple[Trial, list[RunSpec]]
"""A trial with the runs behind its cells."""


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
    n_repeats : int
        Repeats behind its cells.
    is_pruned : bool
        Whether it was given up after them, for it promised less than others.
    """

    trial: Trial
    score: float
    parts: tuple[Score, ...]
    reported: tuple[Score, ...]
    n_cells: int
    n_failed: int
    first_error: str | None
    n_repeats: int
    is_pruned: bool = False

    @property
    def rank(self) -> tuple[bool, float, int]:
        """Return by what trials are put in order, the best first: a score of fewer repeats says less."""
        return self.is_pruned, self.score, self.trial.number


def check_cells(study: Study) -> None:
    """Check that the base fills every cell that decides or is reported, and that none does both.

    Raises
    ------
    ConfigError
        It does not; the message names file, line and cell.
    """
    specs = expand(study.trials[0].config, _unopened(study))
    tables = _tables([(spec, None) for spec in specs], {})
    untimed = any(not is_timed(spec.cell) for spec in specs if find_method(spec.cell.method).timed_by)
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


def _unopened(study: Study) -> Identities:
    """Return stand-ins for the problems' data, for a plan of which only the settings count."""
    return {name: Identity(name, "", name) for name in study.problems}


def _tables(runs: Iterable[StoredRun], facts: Mapping[str, ProblemFacts]) -> list[Table]:
    return fill_tables(Results.of_runs(runs), facts, own_references(), of_any_config=True)


def _entries(study: Study) -> Iterator[tuple[str, int, Cells]]:
    for key, entries in (("score", study.settings.score), ("report", study.settings.report)):
        yield from ((key, position, entry) for position, entry in enumerate(entries))


def needed_runs(study: Study, trial: Trial, identities: Identities) -> list[RunSpec]:
    """List the runs behind the cells that decide or are reported; the base may ask for more."""
    specs = expand(trial.config, identities)
    results = Results.of_runs((spec, None) for spec in specs)
    groups = [group_of(entry) for _, _, entry in _entries(study)]
    keys = set[str]()
    for table in _tables([(spec, None) for spec in specs], {}):
        for cell in table.cells.values():
            if cell.selector and any(holds(group, table, cell) for group in groups):
                keys.update(spec.key for spec, _ in results.select(cell.selector))
    return [spec for spec in specs if spec.key in keys]


def check_size(study: Study) -> None:
    """Raise ConfigError where the trials need more runs than one command may have, taking each to need as many."""
    identities: Identities = {name: Identity(name, "", name) for name in study.problems}
    n_runs = study.n_trials * len(needed_runs(study, study.trials[0], identities))
    refuse_too_many({study.source.path: n_runs}, fewer="trials")


def score_trials(study: Study, batch: Sequence[Planned], store: Store) -> list[ScoredTrial]:
    """Score trials by those of their runs that are given and that a store holds."""
    stored = store.runs_by_key([spec.key for _, specs in batch for spec in specs])
    facts = store.problems()
    scored = []
    for trial, specs in batch:
        runs = [stored[spec.key] for spec in specs]
        scored.append(_score(study, trial, runs, _tables(runs, facts)))
    return scored


def _score(study: Study, trial: Trial, runs: Sequence[StoredRun], tables: Sequence[Table]) -> ScoredTrial:
    parts, reported = (
        tuple(score_group(group_of(entry), tables) for entry in entries)
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
        1 + max(spec.repeat for spec, _ in runs),
    )


def _weighted_mean(parts: Sequence[Score], weights: Sequence[float]) -> float:
    distances = [math.inf if part.score is None else part.score for part in parts]
    return math.fsum(map(math.prod, zip(weights, distances, strict=True))) / math.fsum(weights)


def _described(spec: RunSpec, result: RunResult | None) -> str:
    cause = cause_of(result.error if result else None)
    return f"{spec.cell.problem}, {spec.cell.method}, repeat {spec.repeat}: {cause}"


def group_of(entry: Cells) -> Scored:
    """Return the group of published cells that an entry of a study names."""
    return Scored(
        name=entry.label,
        tables=entry.tables,
        quantity=entry.quantity,
        rows=entry.rows,
        columns=entry.columns,
        ours=entry.ours or "",
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
    group = group_of(entry)
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
