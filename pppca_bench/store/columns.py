"""Data frames of stored runs, and the runs of each cell."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pppca_bench.errors import StoreError
from pppca_bench.runs import QUANTITIES, Cell, StoredRun
from pppca_bench.store.rows import RUN_COLUMNS, CellRow, read_measures, read_run, reading, to_json

Columns = pd.DataFrame | Mapping[str, NDArray[Any]]
STATUSES = PLANNED, DONE, FAILED = ("planned", "done", "failed")
_CHUNK = 20_000
"""Rows that are read at a time."""


def read_frame(connection: sqlite3.Connection, query: str, values: Sequence[object]) -> pd.DataFrame:
    """Return the rows of a query of `RUN_COLUMNS`, quantities and more; quantities without numbers are left out."""
    types: Any = dict.fromkeys([*QUANTITIES, "provenance"], "float64") | {"status": pd.CategoricalDtype([*STATUSES])}
    parameters: Any = tuple(values)
    parts = pd.read_sql_query(query, connection, params=parameters, chunksize=_CHUNK, dtype=types)
    chunks = [chunk.drop(columns=[name for name in QUANTITIES if chunk[name].isna().all()]) for chunk in parts]
    return pd.concat(chunks, ignore_index=True)


def damaged_runs(
    frame: pd.DataFrame, cells: Mapping[int, CellRow], damaged_cells: Mapping[int, StoreError], path: object
) -> dict[str, StoreError]:
    """Return the errors of rows that were damaged or edited, by the runs' keys."""
    quantities = _quantities(frame)
    suspicious = (
        ~frame["cell"].isin(list(cells))
        | (frame[["repeat", "seed"]] < 0).any(axis=1)
        | (frame["measures"].notna() & (frame["measures"] != "{}"))
        | frame[quantities].isin([np.inf, -np.inf]).any(axis=1)
        | ((frame["status"] == DONE) & frame[quantities].isna().all(axis=1))
    )
    damaged = {}
    for key, number, *others in _rows(frame[suspicious]):
        try:
            with reading(f"{path}: run {key}"):
                read_run((key, number, *others), quantities, cells, {})
        except StoreError as error:
            damaged[key] = damaged_cells.get(number, error)
    return damaged


def records(columns: Columns, cells: Mapping[int, CellRow], provenances: Mapping[int, str]) -> list[StoredRun]:
    """Return rows as records; see `rows.read_run`."""
    quantities = _quantities(columns)
    return [read_run(row, quantities, cells, provenances) for row in _rows(columns)]


def _quantities(columns: Columns) -> list[str]:
    return [name for name in QUANTITIES if name in columns]


def _rows(columns: Columns) -> Iterator[tuple[Any, ...]]:
    return zip(*(columns[name].tolist() for name in (*RUN_COLUMNS, *_quantities(columns))), strict=True)


@dataclass(frozen=True, eq=False)
class CellRuns(Sequence[StoredRun]):
    """Runs of a cell, by columns; as a sequence, their records.

    Attributes
    ----------
    cell : Cell
    changed : tuple of str
        Names of the cell's settings that are not a config's defaults.
    columns : mapping of str to array of shape (n_runs,)
        Columns of `Store.read`. Choice: arrays, since access to the columns of thousands of data frames is slow.
    provenances : mapping of int to str
        See `RunResult.origin`.
    """

    cell: Cell
    changed: tuple[str, ...]
    columns: Mapping[str, NDArray[Any]]
    provenances: Mapping[int, str]

    def __len__(self) -> int:
        return len(self.columns["key"])

    def __getitem__(self, place: Any) -> Any:
        return list(self)[place]

    def __iter__(self) -> Iterator[StoredRun]:
        cells = dict.fromkeys(self.columns["cell"].tolist(), (self.cell, self.changed))
        return iter(records(self.columns, cells, self.provenances))

    @cached_property
    def configs(self) -> frozenset[str]:
        """Names of the configs that ask for some of the runs."""
        return frozenset(name for names in set(self.columns["configs"]) for name in names.split("\n"))

    @cached_property
    def _is_done(self) -> NDArray[np.bool_]:
        return np.asarray(self.columns["status"] == DONE)

    @property
    def origins(self) -> list[str]:
        """Distinct provenances of the done runs, where known."""
        numbers = np.unique(self.columns["provenance"][self._is_done])
        return [self.provenances[number] for number in numbers.tolist() if number in self.provenances]

    @cached_property
    def values(self) -> Mapping[str, NDArray[np.float64]]:
        """Numbers of the done runs, by name; nan where a run has no such number."""
        columns = {name: self.columns[name][self._is_done] for name in _quantities(self.columns)}
        texts = self.columns["measures"][self._is_done]
        measures = list(map(read_measures, texts)) if (texts != "{}").any() else []
        for name in sorted(set().union(*measures)):
            columns[name] = np.array([own.get(name, np.nan) for own in measures], dtype=float)
        return {name: column for name, column in columns.items() if not np.isnan(column).all()}

    def count_of(self, status: str) -> int:
        """Return the number of runs that are `PLANNED`, `DONE` or `FAILED`."""
        return int((self.columns["status"] == status).sum())

    def asked_by(self, configs: Collection[str]) -> CellRuns:
        """Return the runs that any of the configs asks for."""
        asked = [not set(configs).isdisjoint(names.split("\n")) for names in self.columns["configs"]]
        if all(asked):
            return self
        return replace(self, columns={name: column[asked] for name, column in self.columns.items()})

    def of_done(self, name: str) -> dict[int, float]:
        """Return a number of the done runs that have it, by repeat."""
        if (numbers := self.values.get(name)) is None:
            return {}
        known = ~np.isnan(numbers)
        return dict(zip(self.columns["repeat"][self._is_done][known].tolist(), numbers[known].tolist(), strict=True))


def split_by_cell(
    frame: pd.DataFrame, cells: Mapping[int, CellRow], provenances: Mapping[int, str]
) -> dict[Cell, CellRuns]:
    """Return the runs of each cell, in the order of the frame."""
    first: dict[Cell, int] = {}  # rows that differ in 1 and 1.0 are equal cells
    same = {number: first.setdefault(cell, number) for number, (cell, _) in cells.items()}
    places, _ = pd.factorize(frame["cell"].map(same))
    order = np.argsort(places, kind="stable")
    columns = {}
    for name in map(str, frame):  # column by column, since the frame may be large
        if pd.api.types.is_numeric_dtype(frame[name]):
            columns[name] = frame[name].to_numpy()[order]
        else:  # equal texts share an object; -1 is the place of a missing text
            text_places, texts = pd.factorize(frame[name])
            columns[name] = np.array([*texts, None], dtype=object)[text_places[order]]
    starts = np.flatnonzero(np.diff(places[order], prepend=-1)).tolist()
    split = {}
    for start, stop in pairwise([*starts, len(order)]):
        cell, changed = cells[columns["cell"][stop - 1]]
        own = {name: column[start:stop] for name, column in columns.items()}
        split[cell] = CellRuns(cell, changed, own, provenances)
    return split


def gather(runs: Iterable[StoredRun], plans: Mapping[str, Collection[str]] | None = None) -> dict[Cell, CellRuns]:
    """Return records by cell.

    Parameters
    ----------
    runs : iterable of (RunSpec, RunResult or None)
    plans : mapping of str to collection of str, optional
        Keys of the runs that each config asks for; without them, one config asks for all runs.
    """
    asking: dict[str, list[str]] = {}
    for name, keys in (plans or {}).items():
        for key in keys:
            asking.setdefault(key, []).append(name)
    numbers, changed, provenances = dict[Cell, int](), dict[Cell, tuple[str, ...]](), {"": -1}
    rows = []
    for spec, result in runs:
        changed[spec.cell] = spec.changed
        number = numbers.setdefault(spec.cell, len(numbers))
        row = {"key": spec.key, "cell": number, "repeat": spec.repeat, "seed": spec.seed, "status": PLANNED}
        row |= {"error": None, "measures": "{}", "provenance": -1, "configs": "\n".join(asking.get(spec.key, ()))}
        if result is not None:
            known = {name: value for name, value in result.values.items() if name in QUANTITIES}
            measures = {name: value for name, value in result.values.items() if name not in QUANTITIES}
            number = provenances.setdefault(result.origin, len(provenances))
            row |= {"status": result.status, "error": result.error, "provenance": number}
            row |= {"measures": to_json(measures), **known}
        rows.append(row)
    if not rows:
        return {}
    cells = {number: (cell, changed[cell]) for cell, number in numbers.items()}
    return split_by_cell(pd.DataFrame(rows), cells, {number: text for text, number in provenances.items() if text})
