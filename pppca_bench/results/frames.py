"""Runs of the results database as a data frame, sorted by cell."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pppca_bench.quantities import in_order
from pppca_bench.results.statistics import Summary, measured, summary_of
from pppca_bench.runs import PROBLEM_AND_METHOD, Cell, Label, Names, Selector, grouped, selections
from pppca_bench.store.columns import DONE, FAILED, RUN_COLUMNS

if TYPE_CHECKING:
    from pppca_bench.store.database import Store

Values = Mapping[int, float]
"""Values of a quantity by repeat."""


class Runs:
    """Runs by cell.

    Parameters
    ----------
    frame : DataFrame
        A row for each run, the rows of a cell one after the other: the columns of `Store.read`, among them ``cell``,
        the number of the run's cell, ``configs``, the names of the configs that ask for it, separated by line feeds,
        and a column for each quantity, nan where a run does not have it.
    cells : mapping of int to Cell
        By number.
    labels : mapping of int to mapping of str to Label
        Labels of the cells by config, as the configs wrote them.

    Attributes
    ----------
    cells : dict of int to Cell
        By number, in the order of the tables.
    labels : dict of int to Label
        By number: the label in the first config that gives the cell a label.
    quantities : tuple of str
        Quantities that any run has.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        cells: Mapping[int, Cell],
        labels: Mapping[int, Mapping[str, Label]],
    ) -> None:
        numbers = frame["cell"].to_numpy()
        starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
        self.frame, self._labels = frame, labels
        self.labels = {number: next(iter(own.values())) for number, own in labels.items()}
        self._slices, self.cells = dict[int, slice](), dict[int, Cell]()
        for start, stop in pairwise([*starts, len(numbers)]):
            number = int(numbers[start])
            self._slices[number] = slice(start, stop)
            self.cells[number] = cells[number]
        self.quantities: Names = tuple(in_order(set(frame.columns) - set(RUN_COLUMNS)))
        # arrays, since access to the columns of a data frame is slow
        self._columns: dict[str, NDArray[Any]] = {
            name: frame[name].to_numpy() for name in ("repeat", *self.quantities)
        }
        self._is_done = (frame["status"] == DONE).to_numpy()
        self.of_configs, self.selections_of = cache(self._of_configs), cache(self._selections_of)

    @cached_property
    def counts(self) -> Mapping[int, Mapping[str, int]]:
        """Numbers of runs of each cell, by the cell's number: ``n_planned``, ``n_done`` and ``n_failed``."""
        has_failed = (self.frame["status"] == FAILED).to_numpy()
        counts = {}
        for number, rows in self._slices.items():
            counts[number] = {
                "n_planned": rows.stop - rows.start,
                "n_done": int(self._is_done[rows].sum()),
                "n_failed": int(has_failed[rows].sum()),
            }
        return counts

    @cached_property
    def measured(self) -> Mapping[int, Names]:
        """Quantities of the done runs of each cell, by the cell's number."""
        is_measured = {
            name: ~np.isnan(self._columns[name]) & self._is_done for name in self.quantities
        }
        of_cells = {}
        for number, rows in self._slices.items():
            names = [name for name, in_run in is_measured.items() if in_run[rows].any()]
            of_cells[number] = tuple(names)
        return of_cells

    def rows(self, number: int) -> pd.DataFrame:
        """Return the runs of a cell."""
        return self.frame.iloc[self._slices[number]]

    def done(self, number: int) -> pd.DataFrame:
        """Return the done runs of a cell."""
        rows = self._slices[number]
        return self.frame.iloc[rows][self._is_done[rows]]

    def values(self, number: int, quantity: str) -> dict[int, float]:
        """Return the values of a quantity in the done runs of a cell that have it, by repeat."""
        if quantity not in self._columns:
            return {}
        rows = self._slices[number]
        column = self._columns[quantity][rows]
        known = self._is_done[rows] & ~np.isnan(column)
        repeats = self._columns["repeat"][rows][known]
        return dict(zip(repeats.tolist(), column[known].tolist(), strict=True))

    def summary(self, number: int, quantity: str) -> Summary | None:
        """Return the statistics of a quantity over the runs of a cell; None if no run has it."""
        return summary_of(quantity, [self.values(number, name) for name in measured(quantity)])

    def mean(self, number: int, quantity: str) -> float | None:
        """Return the mean of a quantity over the runs of a cell; None if no run has it."""
        summary = self.summary(number, quantity)
        return summary.mean if summary else None

    def records(self, number: int) -> list[dict[str, float]]:
        """Return the numbers of each done run of a cell, by quantity."""
        rows, names = self._slices[number], self.measured[number]
        columns = [self._columns[name][rows][self._is_done[rows]].tolist() for name in names]
        records = []
        for values in zip(*columns, strict=True):
            known = zip(names, values, strict=True)
            records.append({name: value for name, value in known if value == value})
        return records

    def choices(self, number: int) -> list[dict[str, Any]]:
        """Return the choice of each done run of a cell (`store.choices.choice_of`); none without a choice."""
        texts = self.done(number)["choice"]
        return [json.loads(text) for text in texts if isinstance(text, str)]

    @cached_property
    def _configs(self) -> tuple[NDArray[np.intp], list[frozenset[str]]]:
        """Code of each run's configs, and the configs of each code."""
        codes, texts = pd.factorize(self.frame["configs"])
        return codes, [frozenset(text.split("\n")) for text in texts]

    @cached_property
    def _origins(self) -> tuple[NDArray[np.intp], list[str]]:
        """Code of each run's provenance, -1 without any, and the provenance of each code."""
        codes, texts = pd.factorize(self.frame["origin"])
        return codes, list(texts)

    def configs(self, number: int) -> frozenset[str]:
        """Return the names of the configs that ask for at least one run of a cell."""
        codes, names = self._configs
        found = set(codes[self._slices[number]].tolist())
        return frozenset[str]().union(*(names[code] for code in found))

    @cached_property
    def all_configs(self) -> list[str]:
        """Names of the configs that ask for any run, sorted."""
        return sorted(frozenset[str]().union(*self._configs[1]))

    def _of_configs(self, configs: Names) -> Runs:
        """Return the runs that any of the configs asks for, with the configs' labels; all runs without configs."""
        if not configs:
            return self
        codes, names = self._configs
        is_asking = np.array([not asking.isdisjoint(configs) for asking in names], dtype=bool)
        kept = is_asking[codes]
        if kept.all() and len(self.all_configs) == 1:
            return self
        labels = dict[int, Mapping[str, Label]]()
        for number, own in self._labels.items():
            given = {config: own[config] for config in configs if config in own}
            labels[number] = given or own
        return Runs(self.frame[kept], self.cells, labels)

    def of_cells(self, numbers: Collection[int]) -> Runs:
        """Return the runs of some cells."""
        return self.among(self.frame["cell"].isin(list(numbers)).to_numpy())

    def with_numbers(self, numbers: Mapping[str, Mapping[str, float]]) -> Runs:
        """Return the runs with further numbers, by key: columns of the frame, nan for other runs."""
        further = pd.DataFrame(list(numbers.values()), index=list(numbers))
        return Runs(self.frame.join(further, on="key"), self.cells, self._labels)

    def among(self, kept: NDArray[np.bool_]) -> Runs:
        """Return the runs of the rows for which ``kept`` is true."""
        if kept.all():
            return self
        return Runs(self.frame[kept], self.cells, self._labels)

    @cached_property
    def _by_method(self) -> Mapping[tuple[str, str], list[int]]:
        return grouped(self.cells, lambda number: PROBLEM_AND_METHOD(self.cells[number]))

    def find(self, selector: Selector) -> list[int]:
        """Return the numbers of the cells that a selector matches."""
        of_method = self._by_method.get((selector.problem, selector.method), [])
        return [number for number in of_method if selector.matches(self.cells[number])]

    def settings_of(self, problem: str, method: str) -> set[str]:
        """Return the names of the settings that any cell of a problem and method has."""
        cells = self._by_method.get((problem, method), [])
        return set[str]().union(*(self.cells[number].settings for number in cells))

    def of_problem(self, problem: str) -> list[int]:
        """Return the numbers of the cells of a problem."""
        return [number for number, cell in self.cells.items() if cell.problem == problem]

    def _selections_of(self, config: str) -> dict[Cell, dict[str, str]]:
        cells = self.of_configs((config,)).cells
        labels = {cell: self.labels[number] for number, cell in cells.items()}
        return selections(cells.values(), labels)

    def source(self, number: int, configs: Names = ()) -> dict[str, str]:
        """Return the provenance of the runs of a cell.

        ``config``: a config that asks for them; of several, the first of the given configs, then of the names sorted.
        ``only``: settings that select them, as ``pppca run --only`` takes them. ``versions`` of the algorithms, such as
        ``"dgha 3, rprop 2"``, and ``data_sha256``, the digest of the problem's data.
        """
        cell, asking = self.cells[number], self.configs(number)
        config = next(name for name in (*configs, *sorted(asking)) if name in asking)
        settings = self.selections_of(config)[cell]
        return {
            "config": config,
            "only": ",".join(f"{name}={value}" for name, value in settings.items()),
            "versions": ", ".join(f"{name} {version}" for name, version in cell.algorithms),
            "data_sha256": cell.data_sha256,
        }

    def differing(self, number: int) -> list[str]:
        """Return the facts of provenance in which the done runs of a cell differ, such as code, Python or libraries.

        The configs of the commands are left out.
        """
        (codes, texts), rows = self._origins, self._slices[number]
        found = sorted(set(codes[rows][self._is_done[rows]].tolist()) - {-1})
        if len(found) < 2:
            return []
        origins = [json.loads(texts[code]) for code in found]
        differing = []
        for name in sorted(set[str]().union(*origins) - {"configs"}):
            values = {origin.get(name) for origin in origins}
            if len(values) > 1:
                differing.append("code" if name == "pppca" else name)
        return differing


def read_runs(store: Store, configs: Collection[str] | None = None) -> Runs:
    """Read the runs that the configs (all by default) ask for, in the order of the configs' names and plans.

    Raises
    ------
    UnknownConfigError
        The database has no config of that name.
    """
    frame, cells, labels = store.read(sorted(configs) if configs else None)
    return Runs(sorted_by_cell(frame, cells), cells, labels)


def sorted_by_cell(frame: pd.DataFrame, cells: Mapping[int, Cell]) -> pd.DataFrame:
    """Sort runs by cell, in the order of their first runs; cells that differ in 1 and 1.0 are the same cell."""
    first, same = dict[Cell, int](), dict[int, int]()
    for number, cell in cells.items():
        same[number] = first.setdefault(cell, number)
    frame["cell"] = frame["cell"].map(same)
    codes, _ = pd.factorize(frame["cell"])
    is_sorted = bool((np.diff(codes) >= 0).all())
    if not is_sorted:
        frame = frame.take(np.argsort(codes, kind="stable"))
    return frame.reset_index(drop=True)


def problems_of(runs: Runs) -> list[str]:
    """Return the problems of the runs, in their order."""
    return list(dict.fromkeys(cell.problem for cell in runs.cells.values()))
