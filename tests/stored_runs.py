"""Cells, stored runs and results, made by hand."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

import pandas as pd

from pppca_bench.quantities import QUANTITIES
from pppca_bench.reporting.summary import CellRuns, Results, split_by_cell
from pppca_bench.runs import Cell, Plan, RunResult, RunSpec, Scalar, StoredRun
from pppca_bench.store.columns import PLANNED, to_json
from pppca_bench.store.database import Store

PIVOT: Mapping[str, Scalar] = MappingProxyType(
    {"hidden": "pivot", "rule": "rprop", "shortcuts": True}
)
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


def runs_by_cell(
    runs: Iterable[StoredRun], plans: Mapping[str, Collection[str]] | None = None
) -> dict[Cell, CellRuns]:
    """Return records by cell, in columns, as a database returns its runs.

    Parameters
    ----------
    runs : iterable of (RunSpec, RunResult or None)
    plans : mapping of str to collection of str, optional
        Keys of the runs that each config asks for; by default, a single config asks for all runs.
    """
    asking: dict[str, list[str]] = {}
    for name, keys in (plans or {}).items():
        for key in keys:
            asking.setdefault(key, []).append(name)
    numbers, changed = dict[Cell, int](), dict[Cell, tuple[str, ...]]()
    rows = []
    for spec, result in runs:
        changed[spec.cell] = spec.changed
        number = numbers.setdefault(spec.cell, len(numbers))
        values = dict(result.values) if result else {}
        known = {name: values.pop(name) for name in QUANTITIES if name in values}
        rows.append(
            {
                "key": spec.key,
                "cell": number,
                "repeat": spec.repeat,
                "seed": spec.seed,
                "status": result.status if result else PLANNED,
                "error": result.error if result else None,
                "measures": to_json(values),
                "origin": (result.origin or None) if result else None,
                "configs": "\n".join(asking.get(spec.key, ())),
                **known,
            }
        )
    if not rows:
        return {}
    return split_by_cell(
        pd.DataFrame(rows), {number: (cell, changed[cell]) for cell, number in numbers.items()}
    )


def results_of(
    runs: Iterable[StoredRun], plans: Mapping[str, Collection[str]] | None = None
) -> Results:
    """Return the results of records."""
    return Results(runs_by_cell(runs, plans))


def results_by_config(runs: Mapping[str, Sequence[StoredRun]]) -> Results:
    """Return the results of several configs, which may ask for the same runs."""
    plans = {config: [spec.key for spec, _ in own] for config, own in runs.items()}
    return results_of(dict(run for own in runs.values() for run in own).items(), plans)


def store_runs(store: Store, runs: Mapping[str, Sequence[StoredRun]]) -> None:
    """Plan the runs of several configs, and record what came of them."""
    for name, own in runs.items():
        store.plan(Plan(name, "", "", tuple(spec for spec, _ in own)))
        store.record([result for _, result in own if result is not None], "{}")
