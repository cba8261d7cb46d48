"""Cells, stored runs and results, made by hand."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pppca_bench.reporting.summary import Results
from pppca_bench.runs import Cell, Plan, RunResult, RunSpec, Scalar, StoredRun
from pppca_bench.store.database import Store

PIVOT: Mapping[str, Scalar] = MappingProxyType({"hidden": "pivot", "rule": "rprop", "shortcuts": True})
NOTHING: Mapping[str, Scalar] = MappingProxyType({})


def cell_of(
    problem: str = "cancer1",
    method: str = "dgha",
    parameters: Mapping[str, Scalar] = NOTHING,
    classifier: Mapping[str, Scalar] = PIVOT,
    *,
    data: str = "a",
    version: int = 1,
) -> Cell:
    """Return a cell with its settings in order."""
    sections = (tuple(sorted(section.items())) for section in (parameters, classifier))
    return Cell(problem, data, method, *sections, ((method, version),))


def run_of(cell: Cell, repeat: int = 0, changed: Sequence[str] = (), **values: float) -> StoredRun:
    """Return a run that is done, or, without values, one that is not."""
    spec = RunSpec(f"{cell} {repeat}", cell, repeat, repeat, tuple(changed))
    return spec, RunResult(spec.key, "done", values=values) if values else None


def results_by_config(runs: Mapping[str, Sequence[StoredRun]]) -> Results:
    """Return the results of several configs, which may ask for the same runs."""
    plans = {config: [spec.key for spec, _ in own] for config, own in runs.items()}
    return Results.of_runs(dict(run for own in runs.values() for run in own).items(), plans)


def store_runs(store: Store, runs: Mapping[str, Sequence[StoredRun]]) -> None:
    """Plan the runs of several configs, and record what came of them."""
    for name, own in runs.items():
        store.plan(Plan(name, "", "", tuple(spec for spec, _ in own)))
        store.record([result for _, result in own if result is not None], "{}")
