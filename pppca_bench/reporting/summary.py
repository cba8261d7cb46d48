"""Stored runs by cell, and mean, spread, interval and number of repeats of each."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pppca_bench.methods.lookup import stored_method
from pppca_bench.runs import Cell, RunResult, Selector, StoredRun


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


class Results:
    """Runs grouped into cells; what a selector finds among them is kept, since several tables ask for it.

    Parameters
    ----------
    runs : iterable of (RunSpec, RunResult or None)
        Planned runs and what came of them, those of later plans last; no two of one cell and repeat, which the store
        refuses to plan.
    plans : mapping of str to collection of str, optional
        Names of configs to the keys of the runs that each asks for; without them every run is one config's.

    Attributes
    ----------
    cells : dict of Cell to list of (RunSpec, RunResult or None)
        In the order of plans.
    variants : dict of str to list of list of Cell
        By config, the cells that differ by more than their place (`place_of`), those of each place together: several
        settings of one method.
    """

    def __init__(self, runs: Iterable[StoredRun], plans: Mapping[str, Collection[str]] | None = None) -> None:
        self.cells: dict[Cell, list[StoredRun]] = {}
        for run in runs:
            self.cells.setdefault(run[0].cell, []).append(run)
        if plans is None:
            plans = {"": [spec.key for own in self.cells.values() for spec, _ in own]}
        self._configs: dict[str, set[str]] = {}
        for name, keys in plans.items():
            for key in keys:
                self._configs.setdefault(key, set()).add(name)
        self._by_method: dict[tuple[str, str], list[Cell]] = {}
        for cell in self.cells:
            self._by_method.setdefault((cell.problem, cell.method), []).append(cell)
        self._found: dict[tuple[Selector, tuple[str, ...]], list[Cell]] = {}
        self._summaries: dict[tuple[Selector, tuple[str, ...]], CellSummary] = {}
        self.variants = {name: found for name in plans if (found := self._variants(name))}

    def configs_of(self, cell: Cell) -> set[str]:
        """Return the names of the configs that ask for a cell."""
        return set[str]().union(*map(self._asking, self.cells[cell]))

    def of_config(self, config: str) -> dict[Cell, list[StoredRun]]:
        """Return the cells that a config asks for, with the runs that it asks for."""
        found = {cell: [run for run in runs if config in self._asking(run)] for cell, runs in self.cells.items()}
        return {cell: runs for cell, runs in found.items() if runs}

    def changed(self, cell: Cell) -> tuple[str, ...]:
        """Return the names of a cell's settings that are not a config's defaults."""
        return self.cells[cell][-1][0].changed

    def matching(self, selector: Selector, configs: Collection[str] = ()) -> list[Cell]:
        """Return the cells that a selector means, of those that some of the configs (all by default) ask for."""
        asked = selector, tuple(configs)
        if asked not in self._found:
            self._found[asked] = [
                cell
                for cell in self._by_method.get((selector.problem, selector.method), ())
                if selector.matches(cell) and (not configs or not self.configs_of(cell).isdisjoint(configs))
            ]
        return self._found[asked]

    def select(self, selector: Selector, configs: Collection[str] = ()) -> list[StoredRun]:
        """Return the runs that fill a table cell; none where runs of several settings would.

        Parameters
        ----------
        selector : Selector
            Which runs are meant.
        configs : collection of str, optional
            Names of the configs whose runs count; all by default.
        """
        found = self.matching(selector, configs)
        if len(found) != 1:
            return []
        return [run for run in self.cells[found[0]] if not configs or not self._asking(run).isdisjoint(configs)]

    def summary(self, selector: Selector, configs: Collection[str] = ()) -> CellSummary:
        """Summarise what `select` returns."""
        asked = selector, tuple(configs)
        if asked not in self._summaries:
            self._summaries[asked] = summarise_runs(self.select(selector, configs))
        return self._summaries[asked]

    def _asking(self, run: StoredRun) -> set[str]:
        return self._configs.get(run[0].key, set())

    def _variants(self, config: str) -> list[list[Cell]]:
        places: dict[tuple[object, ...], list[Cell]] = {}
        for cell in self.cells:
            if config in self.configs_of(cell):
                places.setdefault(place_of(cell), []).append(cell)
        return [cells for cells in places.values() if len(cells) > 1]


def place_of(cell: Cell) -> tuple[object, ...]:
    """Return what tables tell cells apart by: problem, method, thresholds, and parameters with a label of their own."""
    entry = stored_method(cell.method)
    telling = {"tau", "data_fraction", *(name for name, _ in (entry.labels if entry else ()))}
    return (cell.problem, cell.method, *(item for item in cell.parameters if item[0] in telling))


def summarise_runs(runs: Sequence[StoredRun]) -> CellSummary:
    """Summarise the repeats of one cell.

    Parameters
    ----------
    runs : sequence of (RunSpec, RunResult or None)
        Runs of one setting; there may be none.
    """
    done = {spec.repeat: result for spec, result in runs if result is not None and result.status == "done"}
    n_failed = sum(result is not None and result.status == "failed" for _, result in runs)
    names = dict.fromkeys(name for result in done.values() for name in result.values)
    values = {
        name: {repeat: result.values[name] for repeat, result in done.items() if name in result.values}
        for name in names
    }
    quantities = {name: summarise(list(of_repeats.values())) for name, of_repeats in values.items()}
    pairs = [
        [result.values[name] for name in CORRELATED]
        for result in done.values()
        if result.values.keys() >= set(CORRELATED)
    ]
    if len(pairs) > 3 and (found := _correlation(pairs)) is not None:
        quantities["correlation"] = found
    settings = _settings(runs[0][0].cell) if done else ""
    return CellSummary(quantities, values, len(runs), n_failed, settings, _differing(done.values()))


def _differing(results: Iterable[RunResult]) -> tuple[str, ...]:
    """Return the names of the facts of their origins that some results do not share; the configs are no such fact."""
    origins = dict.fromkeys(result.origin for result in results if result.origin)
    if len(origins) < 2:
        return ()
    facts = [{name: fact for name, fact in json.loads(origin).items() if name != "configs"} for origin in origins]
    names = sorted({name for one in facts for name in one})
    return tuple("code" if name == "pppca" else name for name in names if len({one.get(name) for one in facts}) > 1)


def _correlation(pairs: Sequence[Sequence[Any]]) -> Summary | None:
    """Return Pearson's correlation of two quantities over the repeats, with its 95 % interval by Fisher's z.

    It is None where one of the two does not vary.
    """
    from statistics import StatisticsError, correlation

    n = len(pairs)
    try:
        r = correlation(*zip(*pairs, strict=True))
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
