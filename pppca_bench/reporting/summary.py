"""Stored runs by cell: mean, spread, interval and number of repeats, and provenance."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from statistics import median, quantiles
from typing import NamedTuple

import numpy as np

from pppca_bench.methods.lookup import stored_method
from pppca_bench.runs import PROBLEM_AND_METHOD, Cell, Names, Selector, grouped, selections
from pppca_bench.store.columns import DONE, FAILED, CellRuns

_DIGITS = 12
"""Digits of a standard deviation, counted from the largest value's: further digits are rounding errors."""


class Summary(NamedTuple):
    """Summary of a quantity over ``n`` repeats: mean, sample standard deviation, 95 % interval of the mean.

    The interval is by Student's t distribution; it and the deviation are nan for a single repeat.
    """

    mean: float
    sd: float
    n: int
    low: float
    high: float


def summarise(values: Sequence[float]) -> Summary:
    """Summarise the values of a quantity in at least one repeat."""
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return Summary(mean, math.nan, 1, math.nan, math.nan)
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    if largest := max(map(abs, values)):
        sd = round(sd, _DIGITS - math.ceil(math.log10(largest)))
    half = student_t(0.975, n - 1) * sd / math.sqrt(n)
    return Summary(mean, sd, n, mean - half, mean + half)


@lru_cache(4096)
def student_t(share: float, degrees: float) -> float:
    """Return a quantile of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, share))


CORRELATED = ("validation_squared_error_percent", "test_squared_error_percent")
"""Quantities whose correlation over the repeats is a quantity of the cell (Proben1 report, tables 8 to 11)."""


Values = Callable[[str], Mapping[int, float]]
"""Values of a quantity, given by its name, by number of the repeat."""


def no_values(_: str) -> Mapping[int, float]:
    """Return no values, as of a cell without runs."""
    return {}


class CellSummary(NamedTuple):
    """Summary of the repeats of a cell, and their values."""

    quantities: Mapping[str, Summary]
    values: Values
    n_planned: int
    n_done: int
    n_failed: int
    settings: str = ""  # digest of method, parameters, classifier and data; "" if no repeat is done
    differing: Names = ()  # facts of provenance in which repeats differ, such as code, Python or libraries

    def mean(self, quantity: str) -> float | None:
        """Return the mean of a quantity, None if no repeat has it."""
        return self.quantities[quantity].mean if quantity in self.quantities else None


NO_RUNS = CellSummary({}, no_values, 0, 0, 0)
"""Summary of a cell without runs."""


class Results:
    """Runs by cell.

    Attributes
    ----------
    cells : mapping of Cell to CellRuns
        Planned runs and their results, in the order of the tables.
    variants : dict of str to list of list of Cell
        By config, the groups of cells with the same `place_of`, which differ in other settings.
    matching : function of a Selector and, optionally, a tuple of configs
        The cells that the selector matches and that some of the configs (all by default) ask for.
    summary : function of the same arguments
        `CellSummary` of the runs that `select` returns.
    selections : function of a config
        The settings that select each of its cells. These functions are cached, since several tables call them.
    """

    def __init__(self, cells: Mapping[Cell, CellRuns], configs: Iterable[str]) -> None:
        self.cells = cells
        self._by_method = grouped(cells, PROBLEM_AND_METHOD)
        self.matching, self.summary = cache(self._matching), cache(self._summary)
        self.selections = cache(lambda config: selections(self._asked(config)))
        places = {config: grouped(self._asked(config), place_of).values() for config in configs}
        several = {config: [group for group in groups if len(group) > 1] for config, groups in places.items()}
        self.variants = {config: groups for config, groups in several.items() if groups}

    def of_config(self, *configs: str) -> dict[Cell, CellRuns]:
        """Return the cells that any of the configs asks for, with the runs that they ask for."""
        return {cell: self.cells[cell].asked_by(configs) for cell in self._asked(*configs)}

    def _asked(self, *configs: str) -> list[Cell]:
        return [cell for cell, runs in self.cells.items() if not runs.configs.isdisjoint(configs)]

    def _matching(self, selector: Selector, configs: Names = ()) -> list[Cell]:
        return [
            cell
            for cell in self._by_method.get((selector.problem, selector.method), ())
            if selector.matches(cell) and (not configs or not self.cells[cell].configs.isdisjoint(configs))
        ]

    def select(self, selector: Selector, configs: Names = ()) -> CellRuns | tuple[()]:
        """Return the runs of the only cell that matches; empty if no cell or several cells match."""
        cells = self.matching(selector, configs)
        if len(cells) != 1:
            return ()
        runs = self.cells[cells[0]]
        return runs.asked_by(configs) if configs else runs

    def _summary(self, selector: Selector, configs: Names = ()) -> CellSummary:
        runs = self.select(selector, configs)
        return summarise_runs(runs) if runs else NO_RUNS


def place_of(cell: Cell) -> tuple[object, ...]:
    """Return the facts that distinguish cells in tables: problem, method, thresholds, and labelled parameters."""
    entry = stored_method(cell.method)
    labelled = {"tau", "data_fraction", *(name for name, _ in (entry.labels if entry else ()))}
    return (cell.problem, cell.method, *(item for item in cell.parameters if item[0] in labelled))


def summarise_runs(runs: CellRuns) -> CellSummary:
    """Summarise the repeats of a cell."""
    quantities = summarise_values({name: runs.of_done(name) for name in runs.values})
    counts = len(runs), runs.count_of(DONE), runs.count_of(FAILED)
    return CellSummary(
        quantities, runs.of_done, *counts, _settings(runs.cell) if counts[1] else "", _differing(runs.origins)
    )


def summarise_values(values: Mapping[str, Mapping[int, float]]) -> dict[str, Summary]:
    """Summarise quantities, given their values by repeat, and the correlation of `CORRELATED` over the repeats."""
    names = (*values, "correlation")
    return {name: own for name in names if (own := summary_of(name, lambda each: values.get(each, {})))}


def measured(quantity: str) -> Names:
    """Return the quantities whose values in single repeats give a quantity of a cell."""
    return CORRELATED if quantity == "correlation" else (quantity,)


def summary_of(quantity: str, values: Values, repeats: Collection[int] | None = None) -> Summary | None:
    """Summarise a quantity over some repeats (all by default), given the values by name; None if undefined."""
    kept = [
        {repeat: value for repeat, value in values(name).items() if repeats is None or repeat in repeats}
        for name in measured(quantity)
    ]
    if quantity == "correlation":
        return _correlation(*kept)
    return summarise(list(kept[0].values())) if kept[0] else None


def _differing(origins: Sequence[str]) -> Names:
    """Return the names of the facts, except the configs, in which some origins differ."""
    facts = [json.loads(origin) for origin in origins if origin]
    names = sorted({name for origin in facts for name in origin} - {"configs"})
    differing = [name for name in names if len({origin.get(name) for origin in facts}) > 1]
    return tuple("code" if name == "pppca" else name for name in differing)


def _correlation(first: Mapping[int, float], second: Mapping[int, float]) -> Summary | None:
    """Return Pearson's correlation of two quantities over the repeats, with its 95 % interval by Fisher's z.

    Choice: the variance of z is that of the influences of the repeats, not 1 / (n - 3), which supposes normal values:
    the errors of networks have long tails. None with fewer than four repeats, or if a quantity does not vary.
    """
    both = [repeat for repeat in first if repeat in second]
    n = len(both)
    x, y = (np.array([values[repeat] for repeat in both]) for values in (first, second))
    if n <= 3 or not np.ptp(x) or not np.ptp(y):
        return None
    x, y = ((values - values.mean()) / values.std() for values in (x, y))
    r = float(np.clip(np.mean(x * y), -1.0 + 1e-15, 1.0 - 1e-15))
    sd = float(np.std(x * y - 0.5 * r * (x**2 + y**2), ddof=1))
    z, half = math.atanh(r), student_t(0.975, n - 1) * sd / (1.0 - r**2) / math.sqrt(n)
    return Summary(r, math.nan, n, math.tanh(z - half), math.tanh(z + half))


def _settings(cell: Cell) -> str:
    entry = stored_method(cell.method)
    timed_by = entry.timed_by if entry else ""  # operations are counted with and without times
    parameters = [item for item in cell.parameters if item[0] != timed_by]
    text = json.dumps([cell.method, parameters, cell.classifier, cell.data_sha256])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def five_number_summary(values: Sequence[float]) -> tuple[float, ...]:
    """Return minimum, lower quartile, median, upper quartile and maximum of at least one value.

    Choice: quartiles lie between the sorted values in proportion to their ranks, the minimum at 0 and the maximum at 1.
    """
    lower, _, upper = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return (min(values), lower, median(values), upper, max(values))


class Histogram(NamedTuple):
    """Number of values in each bin with any, by the bin's place, and the place of a further number."""

    counts: Mapping[int, int]
    marked: int | None


def histogram(values: Sequence[float], marked: float | None = None, *, length: int, width: int) -> Histogram:
    """Count values, at least one, in bins of a width on an axis of a length, which ends with the outermost numbers.

    The middle has numbers that are all the same.
    """
    shown = [*values, *([] if marked is None else [marked])]
    low, high = min(shown), max(shown)
    places = [length // 2 // width * width] * len(shown)
    if not math.isclose(low, high):
        places = [width * round(length * (value - low) / (high - low) / width) for value in shown]
    counts = Counter(places[: len(values)])
    return Histogram(dict(sorted(counts.items())), None if marked is None else places[-1])


class CellSource(NamedTuple):
    """Provenance of a table cell.

    Name of a config that plans its runs, settings that select them as in ``pppca run --only``, versions of the
    algorithms, such as ``"dgha 3, rprop 2"``, and digest of the problem's data.
    """

    config: str
    only: Mapping[str, str]
    versions: str
    data_sha256: str

    @property
    def selection(self) -> str:
        """Return the settings as ``pppca run --only`` takes them."""
        return ",".join(f"{name}={value}" for name, value in self.only.items())


def source_of(cell: Cell, results: Results, configs: Collection[str] = ()) -> CellSource:
    """Return the provenance of the runs of a cell; of several configs that plan them, the first given config."""
    planning = results.cells[cell].configs
    config = next((name for name in (*configs, *sorted(planning)) if name in planning), "")
    versions = ", ".join(f"{name} {version}" for name, version in cell.algorithms)
    return CellSource(config, results.selections(config)[cell], versions, cell.data_sha256)
