"""Stored runs by cell: statistics, selection and provenance."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from functools import cache, cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pppca_bench.methods.lookup import stored_method
from pppca_bench.quantities import QUANTITIES, described
from pppca_bench.references.selection import Formula
from pppca_bench.reporting.statistics import Summary, summarise, summarise_values
from pppca_bench.runs import PROBLEM_AND_METHOD, Cell, Names, Selector, grouped, selections
from pppca_bench.store.columns import DONE, FAILED, RUN_COLUMNS, CellRow, read_measures

if TYPE_CHECKING:
    import pandas as pd


class CellRuns:
    """Runs of a cell, and their statistics.

    Attributes
    ----------
    cell : Cell
    changed : tuple of str
        Names of the cell's settings that are not a config's defaults.
    columns : mapping of str to array of shape (n_planned,)
        Columns of `Store.read`. Choice: arrays, since access to the columns of thousands of data frames is slow.
    n_planned, n_done, n_failed : int
        Numbers of runs.
    """

    def __init__(self, cell: Cell, changed: Names, columns: Mapping[str, NDArray[Any]]) -> None:
        self.cell, self.changed, self.columns = cell, changed, columns
        self._is_done = columns["status"] == DONE
        self.n_planned, self.n_done = len(self._is_done), int(self._is_done.sum())
        self.n_failed = int((columns["status"] == FAILED).sum())

    @cached_property
    def configs(self) -> frozenset[str]:
        """Names of the configs that ask for at least one of the runs."""
        return frozenset(
            name for names in set(self.columns["configs"]) for name in names.split("\n")
        )

    def asked_by(self, configs: Collection[str]) -> CellRuns:
        """Return the runs that any of the configs asks for."""
        is_asked = [
            not set(configs).isdisjoint(names.split("\n")) for names in self.columns["configs"]
        ]
        if all(is_asked):
            return self
        return CellRuns(
            self.cell,
            self.changed,
            {name: column[is_asked] for name, column in self.columns.items()},
        )

    def of_done(self, column: str) -> NDArray[Any]:
        """Return a column of the done runs."""
        values = self.columns[column]
        # a million runs are not copied
        return values if self.n_done == self.n_planned else values[self._is_done]

    @cached_property
    def numbers(self) -> Mapping[str, NDArray[np.float64]]:
        """Numbers of the done runs, by the name of each quantity that any of them has; nan where a run has none."""
        numbers = {name: self.of_done(name) for name in QUANTITIES if name in self.columns}
        measures = list(map(read_measures, self.of_done("measures")))
        for name in sorted(set().union(*measures)):
            numbers[name] = np.array(
                [measured.get(name, np.nan) for measured in measures], dtype=float
            )
        return {name: column for name, column in numbers.items() if not np.isnan(column).all()}

    def values(self, quantity: str) -> dict[int, float]:
        """Return the values of a quantity in the done runs that have it, by repeat."""
        if (numbers := self.numbers.get(quantity)) is None:
            return {}
        known = ~np.isnan(numbers)
        return dict(
            zip(self.of_done("repeat")[known].tolist(), numbers[known].tolist(), strict=True)
        )

    @cached_property
    def quantities(self) -> Mapping[str, Summary]:
        """Summary of each quantity over the done runs that have it."""
        return self.summarise({name: self.values(name) for name in self.numbers})

    def summarise(self, values: Mapping[str, Mapping[int, float]]) -> dict[str, Summary]:
        """Summarise quantities as those of these runs, given their values by repeat."""
        return summarise_values(values)

    @property
    def records(self) -> list[dict[str, float]]:
        """Return the numbers of each done run, by quantity."""
        return [
            {
                name: float(column[index])
                for name, column in self.numbers.items()
                if column[index] == column[index]
            }
            for index in range(self.n_done)
        ]

    def mean(self, quantity: str) -> float | None:
        """Return the mean of a quantity, None if no run has it."""
        return self.quantities[quantity].mean if quantity in self.quantities else None

    @cached_property
    def settings(self) -> str:
        """Digest of method, parameters, classifier and data; "" if no run is done."""
        entry = stored_method(self.cell.method)
        timed_by = entry.timed_by if entry else ""  # operations are counted with and without times
        parameters = [item for item in self.cell.parameters if item[0] != timed_by]
        text = json.dumps(
            [self.cell.method, parameters, self.cell.classifier, self.cell.data_sha256]
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16] if self.n_done else ""

    @cached_property
    def differing(self) -> Names:
        """Facts of provenance in which the done runs differ, such as code, Python or libraries; not the configs."""
        facts = [json.loads(text) for text in set(self.of_done("origin")) if isinstance(text, str)]
        names = sorted({name for origin in facts for name in origin} - {"configs"})
        differing = [name for name in names if len({origin.get(name) for origin in facts}) > 1]
        return tuple("code" if name == "pppca" else name for name in differing)


NO_RUNS = CellRuns(
    Cell("", "", "", (), ()), (), dict.fromkeys((*RUN_COLUMNS, "configs"), np.empty(0, object))
)
"""Runs of no cell."""


class CombinedRuns(CellRuns):
    """Repeats of a cell with a formula; cell and columns are those of the part with the fewest runs."""

    def __init__(self, formula: Formula, parts: Sequence[CellRuns]) -> None:
        fewest = min(parts, key=lambda runs: runs.n_planned)
        super().__init__(fewest.cell, (), fewest.columns)
        self.formula, self.parts = formula, parts
        self.n_done = min(runs.n_done for runs in parts)
        self.n_failed = max(runs.n_failed for runs in parts)

    def values(self, quantity: str) -> dict[int, float]:
        """Return the number of each repeat that every part has, but no undefined ratios."""
        columns = [runs.values(quantity) for runs in self.parts]
        number = partial(self.formula.of_repeat, more_is_better=described(quantity).more_is_better)
        values = {
            repeat: number([column[repeat] for column in columns])
            for repeat in columns[0]
            if all(repeat in column for column in columns)
        }
        return {repeat: value for repeat, value in values.items() if not math.isnan(value)}

    def summarise(self, values: Mapping[str, Mapping[int, float]]) -> dict[str, Summary]:
        """Summarise quantities by the statistic of the formula, given their values by repeat."""
        return {
            name: summarise(
                list(by_repeat.values()),
                self.formula.statistic,
                best_of=self.formula.best_of,
                more_is_better=described(name).more_is_better,
            )
            for name, by_repeat in values.items()
            if by_repeat
        }

    @cached_property
    def settings(self) -> str:
        """Digest of the formula, and of the settings and data of its parts; "" if no repeat is done."""
        text = json.dumps([self.formula[2:], *(runs.settings for runs in self.parts)])
        return hashlib.sha256(text.encode()).hexdigest()[:16] if self.n_done else ""

    @cached_property
    def differing(self) -> Names:
        """Facts of provenance in which the runs of a part differ."""
        return tuple(sorted({name for runs in self.parts for name in runs.differing}))


def split_by_cell(frame: pd.DataFrame, cells: Mapping[int, CellRow]) -> dict[Cell, CellRuns]:
    """Return the runs of each cell, in the order of the frame; the frame's columns are removed, to save memory."""
    import pandas as pd

    first: dict[Cell, int] = {}  # rows that differ in 1 and 1.0 are equal cells
    same = {number: first.setdefault(cell, number) for number, (cell, _) in cells.items()}
    codes, _ = pd.factorize(frame["cell"].map(same))
    order = np.argsort(codes, kind="stable")
    columns = {name: np.asarray(frame.pop(name))[order] for name in list(map(str, frame))}
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1)).tolist()
    split = {}
    for start, stop in pairwise([*starts, len(order)]):
        cell, changed = cells[columns["cell"][stop - 1]]
        split[cell] = CellRuns(
            cell, changed, {name: column[start:stop] for name, column in columns.items()}
        )
    return split


class CellSource(NamedTuple):
    """Provenance of a table cell.

    Name of a config that plans its runs, settings that select them, as ``pppca run --only`` takes them, versions of
    the algorithms, such as ``"dgha 3, rprop 2"``, and digest of the problem's data.
    """

    config: str
    only: str
    versions: str
    data_sha256: str


class Results:
    """Runs by cell.

    Attributes
    ----------
    cells : mapping of Cell to CellRuns
        In the order of the tables.
    matching : function of a Selector and, optionally, a tuple of configs
        The cells that the selector matches and that some of the configs (all by default) ask for.
    repeats : function of a Selector or Formula and, optionally, a tuple of configs
        The runs of the only cell that matches, as far as the configs ask for them, combined by a formula; `NO_RUNS` if
        a part of the selection matches none or several cells. These functions are cached, since several tables call
        them.
    """

    def __init__(self, cells: Mapping[Cell, CellRuns]) -> None:
        self.cells = cells
        self._by_method = grouped(cells, PROBLEM_AND_METHOD)
        self.matching, self.repeats = cache(self._matching), cache(self._repeats)
        self._selections = cache(lambda config: selections(self.of_config(config)))

    def of_config(self, *configs: str) -> dict[Cell, CellRuns]:
        """Return the cells that any of the configs asks for, with the runs that they ask for."""
        planned = {
            cell: runs for cell, runs in self.cells.items() if not runs.configs.isdisjoint(configs)
        }
        return {cell: runs.asked_by(configs) for cell, runs in planned.items()}

    def _matching(self, selector: Selector, configs: Names = ()) -> list[Cell]:
        return [
            cell
            for cell in self._by_method.get((selector.problem, selector.method), ())
            if selector.matches(cell)
            and (not configs or not self.cells[cell].configs.isdisjoint(configs))
        ]

    def _repeats(self, selection: Selector | Formula, configs: Names = ()) -> CellRuns:
        if isinstance(selection, Formula):
            parts = [self.repeats(selector, configs) for selector in selection.parts]
            return NO_RUNS if NO_RUNS in parts else CombinedRuns(selection, parts)
        cells = self.matching(selection, configs)
        if len(cells) != 1:
            return NO_RUNS
        runs = self.cells[cells[0]]
        return runs.asked_by(configs) if configs else runs

    def source(self, cell: Cell, configs: Names = ()) -> CellSource:
        """Return the provenance of the runs of a cell; of several configs that plan them, the first given config."""
        planning = self.cells[cell].configs
        config = next(name for name in (*configs, *sorted(planning)) if name in planning)
        only = ",".join(f"{name}={value}" for name, value in self._selections(config)[cell].items())
        versions = ", ".join(f"{name} {version}" for name, version in cell.algorithms)
        return CellSource(config, only, versions, cell.data_sha256)
