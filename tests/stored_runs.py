"""Cells, stored runs and results, made by hand."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

import pandas as pd

from pppca_bench.methods.lookup import title_of
from pppca_bench.results.frames import Runs, sorted_by_cell
from pppca_bench.runs import Cell, Label, Plan, RunResult, RunSpec, Scalar, Settings, StoredRun
from pppca_bench.store.columns import PLANNED, RUN_COLUMNS
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
    choose: Settings = NOTHING,
) -> Cell:
    """Return a cell."""
    algorithms = ((method, version),)
    return Cell(problem, data, method, dict(parameters), dict(classifier), algorithms, dict(choose))


def label_of(cell: Cell) -> Label:
    """Return the label of a cell if a config gives all parameters of its method that are not null."""
    given = sorted(item for item in cell.parameters.items() if item[1] is not None)
    return Label(title_of(cell.method), tuple(given))


def run_of(cell: Cell, repeat: int = 0, label: Label | None = None, **values: float) -> StoredRun:
    """Return a run that is done, or, without values, one that is not; its label is that of `label_of` by default."""
    spec = RunSpec(f"{cell} {repeat}", cell, repeat, repeat, label or label_of(cell))
    return spec, RunResult(spec.key, "done", values=values) if values else None


def results_of(
    runs: Iterable[StoredRun], plans: Mapping[str, Collection[str]] | None = None
) -> Runs:
    """Return runs as a database returns them.

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
    numbers, labels = dict[Cell, int](), dict[int, Label]()
    rows = []
    for spec, result in runs:
        number = numbers.setdefault(spec.cell, len(numbers))
        labels.setdefault(number, spec.label)
        rows.append(
            {
                "key": spec.key,
                "cell": number,
                "repeat": spec.repeat,
                "seed": spec.seed,
                "status": result.status if result else PLANNED,
                "error": result.error if result else None,
                "choice": json.dumps(result.choice) if result and result.choice else None,
                "origin": (result.origin or None) if result else None,
                "configs": "\n".join(asking.get(spec.key, ())),
                **(result.values if result else {}),
            }
        )
    cells = {number: cell for cell, number in numbers.items()}
    of_configs = {number: {"": label} for number, label in labels.items()}
    frame = pd.DataFrame(rows, columns=None if rows else RUN_COLUMNS)
    return Runs(sorted_by_cell(frame, cells), cells, of_configs)


def results_by_config(runs: Mapping[str, Sequence[StoredRun]]) -> Runs:
    """Return the runs of several configs, which may ask for the same runs."""
    plans = {config: [spec.key for spec, _ in own] for config, own in runs.items()}
    return results_of(dict(run for own in runs.values() for run in own).items(), plans)


def number_of(runs: Runs, cell: Cell) -> int:
    """Return the number of a cell."""
    return next(number for number, known in runs.cells.items() if known == cell)


def store_runs(store: Store, runs: Mapping[str, Sequence[StoredRun]]) -> None:
    """Plan the runs of several configs, and record what came of them."""
    for name, own in runs.items():
        store.plan(Plan(name, "", "", tuple(spec for spec, _ in own)))
        store.record([result for _, result in own if result is not None], "{}")
