"""Stored runs by cell, and the mean, spread, interval and number of repeats of each."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pppca_bench.methods.lookup import stored_method
from pppca_bench.runs import Cell, Selector, StoredRun
from pppca_bench.store.columns import DONE, FAILED, CellRuns, gather


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of a quantity over the repeats of a cell.

    Attributes
    ----------
    mean, sd : float
        Mean and sample standard deviation (nan for a single repeat).
    n : int
        Number of repeats.
    low, high : float
        95 % interval of the mean by Student's t distribution (nan for a single repeat).
    """

    mean: float
    sd: float
    n: int
    low: float
    high: float


def summarise(values: Sequence[float]) -> Summary:
    """Summarise one quantity over repeats.

    Parameters
    ----------
    values : sequence of float, length >= 1
        One value per repeat.

    Raises
    ------
    ValueError
        There are no values.
    """
    n = len(values)
    if n == 0:
        raise ValueError("summary of a cell: expected at least one value, got none")
    mean = math.fsum(values) / n
    if n == 1:
        return Summary(mean, math.nan, 1, math.nan, math.nan)
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = student_t_975(n - 1) * sd / math.sqrt(n)
    return Summary(mean, sd, n, mean - half, mean + half)


def student_t_975(degrees: int) -> float:
    """Return the 97.5 % quantile of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.975))


CORRELATED = ("validation_squared_error_percent", "test_squared_error_percent")
"""Quantities whose correlation over the repeats is a quantity of the cell (Proben1 report, tables 8 to 11)."""


class Repeats(Mapping[str, Mapping[int, float]]):
    """Values of a cell's completed runs by quantity and number of the repeat, read from columns when asked for."""

    def __init__(self, runs: CellRuns) -> None:
        self._runs = runs

    def __getitem__(self, name: str) -> Mapping[int, float]:
        if name not in self._runs.values:
            raise KeyError(name)
        return self._runs.of_done(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs.values)

    def __len__(self) -> int:
        return len(self._runs.values)


@dataclass(frozen=True, slots=True)
class CellSummary:
    """Summary of the repeats of a cell.

    Attributes
    ----------
    quantities : dict of str to Summary
        By quantity; empty where no repeat is done.
    values : dict of str to dict of int to float
        By quantity, each repeat's value by its number.
    n_planned, n_failed : int
        Planned repeats, and those that failed.
    settings : str
        Digest of method, parameters, classifier and data; "" where no repeat is done.
    differing : tuple of str
        Facts in which the computation of the repeats differs: code, Python, libraries, processor, BLAS or system.
    """

    quantities: Mapping[str, Summary]
    values: Mapping[str, Mapping[int, float]]
    n_planned: int
    n_failed: int
    settings: str = ""
    differing: tuple[str, ...] = ()


NOT_RUN = CellSummary({}, {}, 0, 0)
"""Summary of a cell that was never planned."""


class Results:
    """Runs by cell; what a selector matches is cached, since several tables ask for it.

    Parameters
    ----------
    cells : mapping of Cell to CellRuns
        Planned runs and their results, those of later plans last.
    configs : iterable of str
        Names of the configs that ask for them.

    Attributes
    ----------
    cells : mapping of Cell to CellRuns
    variants : dict of str to list of list of Cell
        By config, the cells of each place (`place_of`) that has several: settings of one method.
    """

    def __init__(self, cells: Mapping[Cell, CellRuns], configs: Iterable[str]) -> None:
        self.cells = cells
        self._by_method: dict[tuple[str, str], list[Cell]] = {}
        for cell in cells:
            self._by_method.setdefault((cell.problem, cell.method), []).append(cell)
        self._matching: dict[tuple[Selector, tuple[str, ...]], list[Cell]] = {}
        self._planned: dict[str, dict[tuple[str, str], list[Cell]]] = {}
        self._summaries: dict[tuple[Selector, tuple[str, ...]], CellSummary] = {}
        self.variants = {name: variants for name in configs if (variants := self._variants(name))}

    @classmethod
    def of_runs(cls, runs: Iterable[StoredRun], plans: Mapping[str, Collection[str]] | None = None) -> Results:
        """Return results of records; see `pppca_bench.store.columns.gather`."""
        return cls(gather(runs, plans), plans or ("",))

    def of_config(self, *configs: str) -> dict[Cell, CellRuns]:
        """Return the cells that any of the configs asks for, with the runs that they ask for."""
        return {
            cell: runs.asked_by(configs) for cell, runs in self.cells.items() if not runs.configs.isdisjoint(configs)
        }

    def rivals(self, cell: Cell, config: str) -> Sequence[Cell]:
        """Return the cells of a config with the same problem and method as a cell."""
        if config not in self._planned:
            groups = self._planned[config] = {}
            for other, runs in self.cells.items():
                if config in runs.configs:
                    groups.setdefault((other.problem, other.method), []).append(other)
        return self._planned[config].get((cell.problem, cell.method), ())

    def matching(self, selector: Selector, configs: Collection[str] = ()) -> list[Cell]:
        """Return the cells that a selector matches, of those that some of the configs (all by default) ask for."""
        asked = selector, tuple(configs)
        if asked not in self._matching:
            self._matching[asked] = [
                cell
                for cell in self._by_method.get((selector.problem, selector.method), ())
                if selector.matches(cell) and (not configs or not self.cells[cell].configs.isdisjoint(configs))
            ]
        return self._matching[asked]

    def select(self, selector: Selector, configs: Collection[str] = ()) -> Sequence[StoredRun]:
        """Return the runs of the only cell that matches; none where several do."""
        return self._selected(selector, configs) or ()

    def summary(self, selector: Selector, configs: Collection[str] = ()) -> CellSummary:
        """Summarise what `select` returns."""
        asked = selector, tuple(configs)
        if asked not in self._summaries:
            runs = self._selected(selector, configs)
            self._summaries[asked] = summarise_runs(runs) if runs is not None else NOT_RUN
        return self._summaries[asked]

    def _selected(self, selector: Selector, configs: Collection[str]) -> CellRuns | None:
        cells = self.matching(selector, configs)
        if len(cells) != 1:
            return None
        runs = self.cells[cells[0]]
        return runs.asked_by(configs) if configs else runs

    def _variants(self, config: str) -> list[list[Cell]]:
        places: dict[tuple[object, ...], list[Cell]] = {}
        for cell, runs in self.cells.items():
            if config in runs.configs:
                places.setdefault(place_of(cell), []).append(cell)
        return [cells for cells in places.values() if len(cells) > 1]


def place_of(cell: Cell) -> tuple[object, ...]:
    """Return what distinguishes cells in tables: problem, method, thresholds, and parameters with their own label."""
    entry = stored_method(cell.method)
    labelled = {"tau", "data_fraction", *(name for name, _ in (entry.labels if entry else ()))}
    return (cell.problem, cell.method, *(item for item in cell.parameters if item[0] in labelled))


def summarise_runs(runs: CellRuns) -> CellSummary:
    """Summarise the repeats of one cell."""
    values = Repeats(runs)
    quantities = {name: summarise(list(own.values())) for name, own in values.items()}
    if correlation := _correlation(*(values.get(name, {}) for name in CORRELATED)):
        quantities["correlation"] = correlation
    settings = _settings(runs.cell) if runs.count_of(DONE) else ""
    return CellSummary(quantities, values, len(runs), runs.count_of(FAILED), settings, _differing(runs.origins))


def _differing(origins: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the facts in which some origins differ, other than the configs."""
    known = [origin for origin in origins if origin]
    if len(known) < 2:
        return ()
    facts = [{name: fact for name, fact in json.loads(origin).items() if name != "configs"} for origin in known]
    names = sorted({name for one in facts for name in one})
    return tuple("code" if name == "pppca" else name for name in names if len({one.get(name) for one in facts}) > 1)


def _correlation(one: Mapping[int, float], other: Mapping[int, float]) -> Summary | None:
    """Return Pearson's correlation over the repeats, with its 95 % interval by Fisher's z.

    None with fewer than four repeats, or where one of the quantities does not vary.
    """
    from statistics import StatisticsError, correlation

    both = [repeat for repeat in one if repeat in other]
    n = len(both)
    if n <= 3:
        return None
    try:
        r = correlation([one[repeat] for repeat in both], [other[repeat] for repeat in both])
    except StatisticsError:
        return None
    half = 1.959964 / math.sqrt(n - 3)
    z = math.atanh(max(-1.0 + 1e-15, min(1.0 - 1e-15, r)))
    return Summary(r, math.nan, n, math.tanh(z - half), math.tanh(z + half))


def _settings(cell: Cell) -> str:
    entry = stored_method(cell.method)
    timed_by = entry.timed_by if entry else ""  # operations are counted whether they are timed or not
    parameters = [item for item in cell.parameters if item[0] != timed_by]
    text = json.dumps([cell.method, parameters, cell.classifier, cell.data_sha256])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
