"""Scores of trials: weighted mean distance of the runs' cells from the published ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pppca_bench.config.plan import Identities, Identity, expand
from pppca_bench.config.request import refuse_too_many
from pppca_bench.errors import ConfigError
from pppca_bench.experiments.queue import is_timed
from pppca_bench.methods.lookup import find_method
from pppca_bench.references.layout import Scored
from pppca_bench.references.reference import own_references
from pppca_bench.reporting.comparison import holds, score_group
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.table import Table
from pppca_bench.reporting.tables import fill_tables
from pppca_bench.runs import ProblemFacts, RunSpec, StoredRun, cause_of
from pppca_bench.studies.config import Study


def check_cells(study: Study) -> None:
    """Check that the base fills every cell that decides or is reported, and that none does both.

    Raises
    ------
    ConfigError
        It does not; the message names file, line and cell.
    """
    specs = expand(study.config, _unopened(study))
    tables = _tables([(spec, None) for spec in specs], {})
    untimed = any(not is_timed(spec.cell) for spec in specs if find_method(spec.cell.method).timed_by)
    labels, decisive = {"trial", "score", "cells", "failed runs", "repeats", "error"}, set[tuple[str, ...]]()
    for key in ("score", "report"):
        for position, entry in enumerate(getattr(study.settings, key)):
            where, group = study.where(key, position), entry.group
            if group.name in labels:
                raise ConfigError(f"{where}: expected a unique name, got {group.name!r} again. Add the key `name`.")
            labels.add(group.name)
            if untimed and group.quantity == "speedup" and group.ours != "speedup_operations":
                raise ConfigError(f"{where}: expected ours: speedup_operations where base has timed: false, got times.")
            cells = {(*cell, group.ours or group.quantity) for cell in _filled_cells(group, tables, where)}
            if key == "score":
                decisive |= cells
            elif shared := sorted(cells & decisive):
                raise ConfigError(f"{where}: expected cells that score leaves out, got {', '.join(shared[0])}.")


def _filled_cells(group: Scored, tables: Sequence[Table], where: str) -> list[tuple[str, str, str]]:
    """Return table, row and column of a group's cells, all of which the base has to fill."""
    named = [table for table in tables if table.id in group.tables]
    known = {
        "tables": [table.id for table in tables],
        "rows": [row for table in named for row, _ in table.cells],
        "columns": [column for table in named for _, column in table.cells],
    }
    for key, names in known.items():
        if unknown := [name for name in getattr(group, key) if name not in names]:
            expected = "; ".join(dict.fromkeys(names))
            raise ConfigError(f"{where}.{key}: expected some of {expected}, got {unknown[0]!r}.")
    cells = [(table.id, cell) for table in named for cell in table.cells.values() if holds(group, table, cell)]
    if not cells:
        raise ConfigError(f"{where}: expected published cells that runs can fill, got none ({group.name}).")
    for table, cell in cells:
        if not cell.n_planned:
            place = f"{table}, {cell.row}, {cell.column}"
            raise ConfigError(
                f"{where}: expected cells that base runs, got {place}. Name rows or columns, or extend base."
            )
    return [(table, cell.row, cell.column) for table, cell in cells]


def check_size(study: Study) -> None:
    """Raise ConfigError if the trials need more runs than a command may have; each counts as many as the base."""
    n_runs = study.settings.trials * len(needed_runs(study, expand(study.config, _unopened(study))))
    refuse_too_many({study.source.path: n_runs}, fewer="trials")


def needed_runs(study: Study, specs: Sequence[RunSpec]) -> list[RunSpec]:
    """Return the runs behind the cells that decide or are reported; the base may ask for more."""
    results = Results.of_runs((spec, None) for spec in specs)
    groups = [entry.group for entry in (*study.settings.score, *study.settings.report)]
    keys = set[str]()
    for table in _tables([(spec, None) for spec in specs], {}):
        for cell in table.cells.values():
            if cell.selector and any(holds(group, table, cell) for group in groups):
                keys.update(spec.key for spec, _ in results.select(cell.selector))
    return [spec for spec in specs if spec.key in keys]


def score_runs(study: Study, runs: Sequence[StoredRun], facts: Mapping[str, ProblemFacts]) -> dict[str, Any]:
    """Score the runs of a trial.

    Returns
    -------
    dict
        ``score``, infinite where runs failed or cells have no number; the mean distance of each group of cells by its
        name; numbers of ``cells``, ``failed runs`` and ``repeats``; and the first ``error``, or "".
    """
    tables = _tables(runs, facts)
    parts, reported = (
        [score_group(entry.group, tables) for entry in entries]
        for entries in (study.settings.score, study.settings.report)
    )
    failed = [(spec, result) for spec, result in runs if result is None or result.status != "done"]
    scored = {part.name: part.score for part in parts} | {f"{part.name} (held out)": part.score for part in reported}
    outcome: dict[str, Any] = {"score": math.inf, **(dict.fromkeys(scored) if failed else scored)}
    if not failed and all(part.score is not None and part.n_run == part.n_cells for part in parts):
        weights = [entry.weight for entry in study.settings.score]
        distances = [part.score or 0.0 for part in parts]
        outcome["score"] = math.fsum(map(math.prod, zip(weights, distances, strict=True))) / math.fsum(weights)
    outcome["cells"] = sum(part.n_run for part in (*parts, *reported))
    outcome["failed runs"] = len(failed)
    outcome["repeats"] = 1 + max(spec.repeat for spec, _ in runs)
    outcome["error"] = ""
    for spec, result in failed[:1]:
        cause = cause_of(result.error if result else None)
        outcome["error"] = f"{spec.cell.problem}, {spec.cell.method}, repeat {spec.repeat}: {cause}"
    return outcome


def _unopened(study: Study) -> Identities:
    """Return stand-ins for the problems' data, for a plan of which only the settings count."""
    return {str(name): Identity(str(name), "", str(name)) for name in study.config.problems}


def _tables(runs: Iterable[StoredRun], facts: Mapping[str, ProblemFacts]) -> list[Table]:
    return fill_tables(Results.of_runs(runs), facts, own_references(), of_any_config=True)
