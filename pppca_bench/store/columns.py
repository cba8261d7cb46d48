"""Rows of the results database: cells, learning curves, runs as records and as columns."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.quantities import QUANTITIES
from pppca_bench.runs import Cell, Names, Parameters, RunResult, RunSpec, StoredRun

if TYPE_CHECKING:
    import pandas as pd  # imported by the functions that need it: planning and recording do without

    Columns = pd.DataFrame | Mapping[str, NDArray[Any]]

CELL_COLUMNS = ("problem", "data_sha256", "method", "parameters", "classifier", "algorithms")
"""Columns that identify a cell."""

RUN_COLUMNS = ("key", "cell", "repeat", "seed", "status", "error", "measures", "provenance")
"""Columns of a run; a column for each of `QUANTITIES` follows."""

STATUSES = PLANNED, DONE, FAILED = ("planned", "done", "failed")

CellRow = tuple[Cell, Names]
"""A cell, and the names of its settings that are not a config's defaults."""


def to_json(values: object) -> str:
    """Return JSON text with sorted keys."""
    return json.dumps(values, sort_keys=True)


def read_cell(row: Sequence[str]) -> CellRow:
    """Return the cell of a row of `CELL_COLUMNS` and ``changed``; raise ValueError or TypeError for other content."""
    problem, data_sha256, method, parameters, classifier, versions, changed = row
    algorithms: Any = _parameters(versions)
    cell = Cell(problem, data_sha256, method, _parameters(parameters), _parameters(classifier), algorithms)
    return cell, tuple(json.loads(changed))


def _parameters(text: str) -> Parameters:
    values = dict(json.loads(text)).items()
    return tuple(sorted((name, tuple(value) if isinstance(value, list) else value) for name, value in values))


def pack(history: Mapping[str, NDArray[Any]]) -> bytes:
    """Return learning curves as a compressed NumPy archive of float32.

    Choice: compression level 1, which takes a third of the time of NumPy's level, for archives of the same size.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, curve in history.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, np.asarray(curve, np.float32), allow_pickle=False)
    return buffer.getvalue()


def unpack(blob: bytes) -> dict[str, NDArray[Any]]:
    """Return the learning curves of `pack`; raise ValueError for any other content."""
    try:
        with np.load(io.BytesIO(blob), allow_pickle=False) as curves:
            return {name: curves[name] for name in curves.files}
    except Exception as error:  # the decoders of zip, deflate and NumPy raise a dozen kinds for damaged bytes
        raise ValueError(f"expected learning curves, got {type(error).__name__}: {error}") from error


def records(columns: Columns, cells: Mapping[int, CellRow], provenances: Mapping[int, str]) -> list[StoredRun]:
    """Return rows of `RUN_COLUMNS` and quantities (nan where a run has none) as runs and their results.

    The rows refer to their cells and provenances by number.
    """
    quantities = _quantity_columns(columns)
    runs = list[StoredRun]()
    for key, number, repeat, seed, status, error, measures, provenance, *numbers in zip(
        *(columns[name].tolist() for name in (*RUN_COLUMNS, *quantities)), strict=True
    ):
        cell, changed = cells[number]
        result = None
        if status != PLANNED:
            values = {name: value for name, value in zip(quantities, numbers, strict=True) if not math.isnan(value)}
            values |= {name: int(value) for name, value in values.items() if QUANTITIES[name].is_count}
            values |= read_measures(measures)
            cause = error if isinstance(error, str) else None
            result = RunResult(key, status, cause, values, origin=provenances.get(provenance, ""))
        runs.append((RunSpec(key, cell, repeat, seed, changed), result))
    return runs


def _quantity_columns(columns: Columns) -> list[str]:
    return [name for name in QUANTITIES if name in columns]


def read_measures(text: object) -> dict[str, float]:
    """Return the numbers of a run without a column of their own, from their JSON text if there is any."""
    return dict(json.loads(text)) if isinstance(text, str) and text != "{}" else {}


@dataclass(frozen=True, eq=False)
class CellRuns(Sequence[StoredRun]):
    """Runs of a cell: a sequence of records, stored as columns.

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
    changed: Names
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
        """Names of the configs that ask for at least one of the runs."""
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
        columns = {name: self.columns[name][self._is_done] for name in _quantity_columns(self.columns)}
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
    """Return the runs of each cell, in the order of the frame; the frame's columns are removed, to save memory."""
    import pandas as pd

    first: dict[Cell, int] = {}  # rows that differ in 1 and 1.0 are equal cells
    same = {number: first.setdefault(cell, number) for number, (cell, _) in cells.items()}
    places, _ = pd.factorize(frame["cell"].map(same))
    order = np.argsort(places, kind="stable")
    columns = {name: np.asarray(frame.pop(name))[order] for name in list(map(str, frame))}
    starts = np.flatnonzero(np.diff(places[order], prepend=-1)).tolist()
    split = {}
    for start, stop in pairwise([*starts, len(order)]):
        cell, changed = cells[columns["cell"][stop - 1]]
        own = {name: column[start:stop] for name, column in columns.items()}
        split[cell] = CellRuns(cell, changed, own, provenances)
    return split


def split_measures(values: Mapping[str, float]) -> tuple[dict[str, float], str]:
    """Return the numbers that have a column, and the other numbers as the JSON text of the column ``measures``."""
    known = {name: value for name, value in values.items() if name in QUANTITIES}
    return known, to_json({name: value for name, value in values.items() if name not in QUANTITIES})
