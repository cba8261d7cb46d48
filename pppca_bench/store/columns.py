"""The runs of each cell by columns: a hundred thousand of them are summarised without a record for each."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

import numpy as np

from pppca_bench.runs import Cell, RunResult, RunSpec, StoredRun, described
from pppca_bench.store.rows import STATUSES, CellRow, RowError, intact, read_measures, read_result

if TYPE_CHECKING:
    from numpy.typing import NDArray

Value = TypeVar("Value", bound=Hashable)

PLANNED, DONE, FAILED = range(len(STATUSES))
_CODES = {status: code for code, status in enumerate(STATUSES)}


@dataclass(frozen=True, eq=False)
class CellRuns(Sequence[StoredRun]):
    """Hold the n runs of a cell; as a sequence it gives their records, which are made anew whenever somebody asks.

    Attributes
    ----------
    cell : Cell
        What the runs have in common.
    changed : tuple of str
        Names of the cell's settings that are not a config's defaults.
    keys : bytes array of shape (n,)
        The runs' keys.
    repeats, seeds : int64 arrays of shape (n,)
    statuses : int64 array of shape (n,)
        `PLANNED`, `DONE` or `FAILED`.
    values : mapping of str to float64 array of shape (n,)
        The runs' numbers by name; nan where a run has none of that name. A record has an int where `runs.described`
        says that it is a count.
    errors : mapping of str to str
        Tracebacks or causes of failed runs, by key.
    origins : int64 array of shape (n,)
        Places in ``origin_texts``.
    origin_texts : sequence of str
        See `RunResult.origin`.
    asking : int64 array of shape (n,)
        Places in ``config_sets``.
    config_sets : sequence of frozenset of str
        Names of configs that ask for the same runs.
    """

    cell: Cell
    changed: tuple[str, ...]
    keys: NDArray[np.bytes_]
    repeats: NDArray[np.int64]
    seeds: NDArray[np.int64]
    statuses: NDArray[np.int64]
    values: Mapping[str, NDArray[np.float64]]
    errors: Mapping[str, str]
    origins: NDArray[np.int64]
    origin_texts: Sequence[str]
    asking: NDArray[np.int64]
    config_sets: Sequence[frozenset[str]]

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, place: int) -> StoredRun: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[StoredRun]: ...
    def __getitem__(self, place: int | slice) -> StoredRun | Sequence[StoredRun]:
        return self._records()[place]

    def __iter__(self) -> Iterator[StoredRun]:
        return iter(self._records())

    @cached_property
    def configs(self) -> frozenset[str]:
        """Return the names of the configs that ask for some of the runs."""
        return frozenset().union(*(self.config_sets[place] for place in set(self.asking.tolist())))

    def count_of(self, status: int) -> int:
        """Return the number of runs that are `PLANNED`, `DONE` or `FAILED`."""
        return int((self.statuses == status).sum())

    def asked_by(self, configs: Collection[str]) -> CellRuns:
        """Return the runs that one of the configs asks for."""
        asked = [place for place, names in enumerate(self.config_sets) if not names.isdisjoint(configs)]
        taken = np.isin(self.asking, asked)
        return self if taken.all() else self.taken(taken)

    def taken(self, which: NDArray[Any]) -> CellRuns:
        """Return some of the runs, by their places or by a mask."""
        return CellRuns(
            self.cell,
            self.changed,
            self.keys[which],
            self.repeats[which],
            self.seeds[which],
            self.statuses[which],
            {name: column[which] for name, column in self.values.items()},
            self.errors,
            self.origins[which],
            self.origin_texts,
            self.asking[which],
            self.config_sets,
        )

    def of_done(self, name: str) -> dict[int, float]:
        """Return a number of the runs that are done and have it, by repeat."""
        if name not in self.values:
            return {}
        known = (self.statuses == DONE) & ~np.isnan(self.values[name])
        return dict(zip(self.repeats[known].tolist(), self.values[name][known].tolist(), strict=True))

    def _records(self) -> list[StoredRun]:
        keys = [key.decode() for key in self.keys.tolist()]
        specs = [
            RunSpec(key, self.cell, repeat, seed, self.changed)
            for key, repeat, seed in zip(keys, self.repeats.tolist(), self.seeds.tolist(), strict=True)
        ]
        values: list[dict[str, float]] = [{} for _ in specs]
        for name, column in self.values.items():
            known = np.flatnonzero(~np.isnan(column))
            numbers = column[known].tolist()
            for place, number in zip(known.tolist(), numbers, strict=True):
                values[place][name] = int(number) if described(name).is_count else number
        return [
            (spec, None if status == PLANNED else self._result(spec.key, status, own, origin))
            for spec, status, own, origin in zip(
                specs, self.statuses.tolist(), values, self.origins.tolist(), strict=True
            )
        ]

    def _result(self, key: str, status: int, values: Mapping[str, float], origin: int) -> RunResult:
        return RunResult(key, STATUSES[status], self.errors.get(key), values, origin=self.origin_texts[origin])  # type: ignore[arg-type]


class Columns(NamedTuple):
    """Hold rows of the runs' table by columns.

    Attributes
    ----------
    numbers, cells, repeats, seeds, statuses, origins : int64 arrays of shape (n,)
        Numbers of the rows in their table, of their cells and provenances (-1 for none), and what `CellRuns` has.
    keys : bytes array of shape (n,)
    values : dict of str to float64 array of shape (n,)
    errors : dict of str to str
    """

    numbers: NDArray[np.int64]
    cells: NDArray[np.int64]
    repeats: NDArray[np.int64]
    seeds: NDArray[np.int64]
    statuses: NDArray[np.int64]
    origins: NDArray[np.int64]
    keys: NDArray[np.bytes_]
    values: dict[str, NDArray[np.float64]]
    errors: dict[str, str]


def read_columns(chunks: Iterable[Sequence[Sequence[Any]]], quantities: Sequence[str]) -> Columns:
    """Turn rows into columns.

    Parameters
    ----------
    chunks : iterable of sequences of rows
        Each row has its number in the table, then what `rows.read_run` takes.
    quantities : sequence of str
        Names of the rows' last columns.

    Raises
    ------
    RowError
        A row holds what no run can have written.
    """
    whole: list[NDArray[np.int64]] = [np.empty((6, 0), np.int64)]
    keys: list[NDArray[np.bytes_]] = [np.empty(0, "S1")]
    found: list[NDArray[np.float64]] = [np.empty((len(quantities), 0))]
    errors: dict[str, str] = {}
    measures: dict[str, dict[int, float]] = {}
    n_rows = 0
    for rows in chunks:
        numbers, names, cells, repeats, seeds, statuses, causes, others, origins, *values = zip(*rows, strict=True)
        codes = [_CODES.get(status, -1) for status in statuses]
        known = [-1 if origin is None else origin for origin in origins]
        whole.append(np.array([numbers, cells, repeats, seeds, codes, known], dtype=np.int64))
        keys.append(np.array([name.encode() for name in names]))
        found.append(np.array(values, dtype=np.float64))
        errors.update((key, cause) for key, cause in zip(names, causes, strict=True) if cause is not None)
        own = [place for place, text in enumerate(others) if text not in (None, "", "{}")]
        for place in own:
            for name, value in read_measures(names[place], others[place]).items():
                measures.setdefault(name, {})[n_rows + place] = value
        for place in np.flatnonzero(_suspicious(whole[-1], found[-1])).tolist():
            read_result(rows[place][1:], {}, quantities)
        n_rows += len(rows)
    columns = dict(zip(quantities, np.concatenate(found, axis=1), strict=True))
    for name in sorted(measures):
        columns[name] = np.full(n_rows, np.nan)
        columns[name][list(measures[name])] = list(measures[name].values())
    one, cells, repeats, seeds, codes, places = np.concatenate(whole, axis=1)
    return Columns(one, cells, repeats, seeds, codes, places, np.concatenate(keys), columns, errors)


def _suspicious(whole: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which rows no run can have written, perhaps: `rows.read_result` knows."""
    _, _, repeats, seeds, codes, _ = whole
    without_numbers = (codes == DONE) & np.isnan(values).all(axis=0)
    beyond = np.isinf(values).any(axis=0) | (np.min([repeats, seeds, codes], axis=0) < 0)
    return np.asarray(beyond | without_numbers)


def part_by_cell(
    columns: Columns,
    asked: Mapping[str, NDArray[np.int64]],
    cells: Mapping[int, CellRow | RowError],
    origins: Mapping[int, str],
) -> dict[Cell, CellRuns]:
    """Return the runs of each cell that a config asks for, in the order of the last one that does, then of repeats.

    Parameters
    ----------
    columns : Columns
    asked : mapping of str to int64 array
        Numbers of the rows that each config asks for, by its name, the latest planned config last.
    cells : mapping of int to (Cell, changed) or RowError
        See `rows.read_cells`.
    origins : mapping of int to str
        Provenances by number.

    Raises
    ------
    RowError
        The row of a run's cell holds what no run can have written.
    """
    if not len(columns.numbers):
        return {}
    asking, latest, config_sets = _askers(columns.numbers, asked)
    merged = _merged(columns, cells)
    order = np.lexsort((columns.numbers, columns.repeats, latest))
    _, first, place = np.unique(merged[order], return_index=True, return_inverse=True)
    # The cells by their first runs, and within each cell the order that the runs have.
    order = order[np.argsort(first[place], kind="stable")]
    starts = np.flatnonzero(np.diff(merged[order], prepend=-1))
    texts, numbered = ["", *origins.values()], _places(columns.origins, origins)
    values = {name: column[order] for name, column in columns.values.items()}
    has_some = {name: np.logical_or.reduceat(~np.isnan(column), starts) for name, column in values.items()}
    found: dict[Cell, CellRuns] = {}
    for number, (start, stop) in enumerate(pairwise([*starts.tolist(), len(order)])):
        own = order[start:stop]
        cell, changed = intact(cells[int(columns.cells[own[-1]])])
        found[cell] = CellRuns(
            cell,
            changed,
            columns.keys[own],
            columns.repeats[own],
            columns.seeds[own],
            columns.statuses[own],
            {name: column[start:stop] for name, column in values.items() if has_some[name][number]},
            columns.errors,
            numbered[own],
            texts,
            asking[own],
            config_sets,
        )
    return found


def _askers(
    numbers: NDArray[np.int64], asked: Mapping[str, NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[frozenset[str]]]:
    """Return which set of configs asks for each row, the place of the last of them, and these sets."""
    asking, latest = np.zeros(len(numbers), np.int64), np.zeros(len(numbers), np.int64)
    config_sets: list[frozenset[str]] = [frozenset()]
    by_number = np.argsort(numbers)
    for place, (config, own) in enumerate(asked.items()):
        rows = by_number[np.searchsorted(numbers, own, sorter=by_number)]
        latest[rows] = place
        before = asking[rows]
        for one in np.unique(before).tolist():
            asking[rows[before == one]] = len(config_sets)
            config_sets.append(config_sets[one] | {config})
    return asking, latest, config_sets


def _merged(columns: Columns, cells: Mapping[int, CellRow | RowError]) -> NDArray[np.int64]:
    """Return each row's cell, one number for cells that are equal though their rows are not, as with 1 and 1.0."""
    numbers, first_rows, place = np.unique(columns.cells, return_index=True, return_inverse=True)
    first: dict[Cell, int] = {}
    for number, row in zip(numbers.tolist(), first_rows.tolist(), strict=True):
        if number not in cells:
            key = columns.keys[row].decode()
            raise RowError(f"run {key}", f"expected one of the stored cells, got number {number}")
        first.setdefault(intact(cells[number])[0], number)
    return np.array([first[intact(cells[number])[0]] for number in numbers.tolist()])[place]


def _places(origins: NDArray[np.int64], known: Mapping[int, str]) -> NDArray[np.int64]:
    """Return the place of each row's provenance among the known ones, from 1; 0 where it is not known."""
    numbers, place = np.unique(origins, return_inverse=True)
    places = {number: n for n, number in enumerate(known, start=1)}
    return np.array([places.get(number, 0) for number in numbers.tolist()])[place]


def gather(runs: Iterable[StoredRun], plans: Mapping[str, Collection[str]] | None = None) -> dict[Cell, CellRuns]:
    """Return runs by columns that are there as records.

    Parameters
    ----------
    runs : iterable of (RunSpec, RunResult or None)
        In their order.
    plans : mapping of str to collection of str, optional
        Names of configs to the keys of the runs that each asks for; without them every run is one config's.
    """
    by_cell: dict[Cell, list[StoredRun]] = {}
    for run in runs:
        by_cell.setdefault(run[0].cell, []).append(run)
    if plans is None:
        plans = {"": [spec.key for own in by_cell.values() for spec, _ in own]}
    asking: dict[str, set[str]] = {}
    for name, keys in plans.items():
        for key in keys:
            asking.setdefault(key, set()).add(name)
    return {cell: _gathered(cell, own, asking) for cell, own in by_cell.items()}


def _gathered(cell: Cell, runs: Sequence[StoredRun], asking: Mapping[str, Collection[str]]) -> CellRuns:
    specs, results = zip(*runs, strict=True)
    names = dict.fromkeys(name for result in results if result for name in result.values)
    origins, origin_texts = _numbered([result.origin if result else "" for result in results])
    asked, config_sets = _numbered([frozenset(asking.get(spec.key, ())) for spec in specs])
    return CellRuns(
        cell,
        specs[-1].changed,
        np.array([spec.key.encode() for spec in specs]),
        np.array([spec.repeat for spec in specs]),
        np.array([spec.seed for spec in specs]),
        np.array([_CODES[result.status] if result else PLANNED for result in results]),
        {
            name: np.array([result.values.get(name, np.nan) if result else np.nan for result in results], dtype=float)
            for name in names
        },
        {spec.key: result.error for spec, result in runs if result and result.error is not None},
        origins,
        origin_texts,
        asked,
        config_sets,
    )


def _numbered(values: Sequence[Value]) -> tuple[NDArray[np.int64], list[Value]]:
    """Return the place of each value among those that differ, and these."""
    places = {value: n for n, value in enumerate(dict.fromkeys(values))}
    return np.array([places[value] for value in values]), list(places)
