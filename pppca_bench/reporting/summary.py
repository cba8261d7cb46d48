"""Stored runs by cell, and mean, spread, interval and number of repeats of each."""

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
    """Describe a quantity over the repeats of a cell.

    Attributes
    ----------
    mean, sd : float
        Mean and sample standard deviation (nan for a single repeat).
    n : int
        Repeats that are in.
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
        One value a repeat.

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
    """The numbers of a cell's finished runs: by name, each repeat's value by its number.

    Parameters
    ----------
    runs : CellRuns
        They are read where somebody asks for them.
    """

    def __init__(self, runs: CellRuns) -> None:
        self._runs = runs

    def __getitem__(self, name: str) -> Mapping[int, float]:
        found = self._runs.of_done(name)
        if not found:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._runs.values if self._runs.of_done(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, slots=True)
class CellSummary:
    """Summarise the repeats of one cell.

    Attributes
    ----------
    quantities : dict of str to Summary
        By quantity; empty when no repeat is in.
    values : dict of str to dict of int to float
        By quantity, each repeat's value by its number.
    n_planned, n_failed : int
        Repeats that were asked for, and those that failed.
    settings : str
        Digest of what was run: method, parameters, classifier and data; "" when no repeat is in.
    differing : tuple of str
        In what the computation of the repeats differs: code, Python, libraries, processor, BLAS or system.
    """

    quantities: Mapping[str, Summary]
    values: Mapping[str, Mapping[int, float]]
    n_planned: int
    n_failed: int
    settings: str = ""
    differing: tuple[str, ...] = ()


NOT_RUN = CellSummary({}, {}, 0, 0)
"""What is known of a cell that nobody has asked for."""


class Results:
    """Runs by cell; what a selector finds among them is kept, since several tables ask for it.

    Parameters
    ----------
    cells : mapping of Cell to CellRuns
        Planned runs and what came of them, those of later plans last; no two of one cell and repeat, which the store
        refuses to plan.
    configs : iterable of str
        Names of the configs that ask for them.

    Attributes
    ----------
    cells : mapping of Cell to CellRuns
    variants : dict of str to list of list of Cell
        By config, the cells that differ by more than their place (`place_of`), those of each place together: several
        settings of one method.
    """

    def __init__(self, cells: Mapping[Cell, CellRuns], configs: Iterable[str]) -> None:
        self.cells = cells
        self._by_method: dict[tuple[str, str], list[Cell]] = {}
        for cell in cells:
            self._by_method.setdefault((cell.problem, cell.method), []).append(cell)
        self._found: dict[tuple[Selector, tuple[str, ...]], list[Cell]] = {}
        self._summaries: dict[tuple[Selector, tuple[str, ...]], CellSummary] = {}
        self.variants = {name: found for name in configs if (found := self._variants(name))}

    @classmethod
    def of_runs(cls, runs: Iterable[StoredRun], plans: Mapping[str, Collection[str]] | None = None) -> Results:
        """Return results that are there as records; see `pppca_bench.store.columns.gather`."""
        return cls(gather(runs, plans), plans or ("",))

    def of_config(self, *configs: str) -> dict[Cell, CellRuns]:
        """Return the cells that one of the configs asks for, with the runs that they ask for."""
        return {
            cell: runs.asked_by(configs) for cell, runs in self.cells.items() if not runs.configs.isdisjoint(configs)
        }

    def matching(self, selector: Selector, configs: Collection[str] = ()) -> list[Cell]:
        """Return the cells that a selector means, of those that some of the configs (all by default) ask for."""
        asked = selector, tuple(configs)
        if asked not in self._found:
            self._found[asked] = [
                cell
                for cell in self._by_method.get((selector.problem, selector.method), ())
                if selector.matches(cell) and (not configs or not self.cells[cell].configs.isdisjoint(configs))
            ]
        return self._found[asked]

    def select(self, selector: Selector, configs: Collection[str] = ()) -> Sequence[StoredRun]:
        """Return the runs that fill a table cell; none where runs of several settings would.

        Parameters
        ----------
        selector : Selector
            Which runs are meant.
        configs : collection of str, optional
            Names of the configs whose runs count; all by default.
        """
        return self._selected(selector, configs) or ()

    def summary(self, selector: Selector, configs: Collection[str] = ()) -> CellSummary:
        """Summarise what `select` returns."""
        asked = selector, tuple(configs)
        if asked not in self._summaries:
            runs = self._selected(selector, configs)
            self._summaries[asked] = summarise_runs(runs) if runs is not None else NOT_RUN
        return self._summaries[asked]

    def _selected(self, selector: Selector, configs: Collection[str]) -> CellRuns | None:
        found = self.matching(selector, configs)
        if len(found) != 1:
            return None
        runs = self.cells[found[0]]
        return runs.asked_by(configs) if configs else runs

    def _variants(self, config: str) -> list[list[Cell]]:
        places: dict[tuple[object, ...], list[Cell]] = {}
        for cell, runs in self.cells.items():
            if config in runs.configs:
                places.setdefault(place_of(cell), []).append(cell)
        return [cells for cells in places.values() if len(cells) > 1]


def place_of(cell: Cell) -> tuple[object, ...]:
    """Return what tables tell cells apart by: problem, method, thresholds, and parameters with a label of their own."""
    entry = stored_method(cell.method)
    telling = {"tau", "data_fraction", *(name for name, _ in (entry.labels if entry else ()))}
    return (cell.problem, cell.method, *(item for item in cell.parameters if item[0] in telling))


def summarise_runs(runs: CellRuns) -> CellSummary:
    """Summarise the repeats of one cell."""
    values = Repeats(runs)
    quantities = {name: summarise(list(own.values())) for name in runs.values if (own := runs.of_done(name))}
    if (found := _correlation(*(values.get(name, {}) for name in CORRELATED))) is not None:
        quantities["correlation"] = found
    settings = _settings(runs.cell) if runs.count_of(DONE) else ""
    return CellSummary(quantities, values, len(runs), runs.count_of(FAILED), settings, _differing(runs.origins))


def _differing(origins: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the facts that some origins do not share; the configs are no such fact."""
    known = [origin for origin in origins if origin]
    if len(known) < 2:
        return ()
    facts = [{name: fact for name, fact in json.loads(origin).items() if name != "configs"} for origin in known]
    names = sorted({name for one in facts for name in one})
    return tuple("code" if name == "pppca" else name for name in names if len({one.get(name) for one in facts}) > 1)


def _correlation(one: Mapping[int, float], other: Mapping[int, float]) -> Summary | None:
    """Return Pearson's correlation of two quantities over the repeats, with its 95 % interval by Fisher's z.

    It is None where there are fewer than four repeats, or one of the two does not vary.
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
    untold = entry.timed_by if entry else ""  # what is counted is counted whether it is timed or not
    parameters = [item for item in cell.parameters if item[0] != untold]
    text = json.dumps([cell.method, parameters, cell.classifier, cell.data_sha256])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
