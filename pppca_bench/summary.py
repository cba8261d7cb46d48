"""Mean, spread, interval and number of repeats of each table cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pppca_bench.records import RunResult, RunSpec, Scalar

QUANTITIES = {
    "error_percent": "test_error_percent",
    "dimensionality": "dimensionality",
    "validation_error_percent": "validation_error_percent",
    "fit_time_ms": "fit_time_ms",
    "total_epochs": "total_epochs",
    "relevant_epochs": "relevant_epochs",
}
"""Quantities of the tables, and the attribute of a run's result that each summarises."""


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


@dataclass(frozen=True, slots=True)
class Source:
    """Say which runs fill a table cell.

    Attributes
    ----------
    problem, method : str
        As in a run.
    tau, data_fraction : float or None
        As in a run.
    settings : tuple of (str, scalar)
        Parameters that must have these values, named ``parameter.<name>`` or ``classifier.<name>``.
    """

    problem: str
    method: str
    tau: float | None = None
    data_fraction: float | None = None
    settings: tuple[tuple[str, Scalar], ...] = ()


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
    """

    quantities: dict[str, Summary]
    values: dict[str, dict[int, float]]
    n_planned: int
    n_failed: int


class Results:
    """Runs grouped into cells.

    Where several settings of a method were planned for the same cell, those planned last count: a table never
    mixes settings.

    Parameters
    ----------
    runs : iterable of (RunSpec, RunResult or None)
        Planned runs and what came of them, those of later plans last.
    """

    def __init__(self, runs: Iterable[tuple[RunSpec, RunResult | None]]) -> None:
        self._cells: dict[tuple[str, str, float | None, float | None], list[tuple[RunSpec, RunResult | None]]] = {}
        for spec, result in runs:
            place = (spec.problem, spec.method, spec.tau, spec.data_fraction)
            self._cells.setdefault(place, []).append((spec, result))

    def runs(self, source: Source) -> list[tuple[RunSpec, RunResult | None]]:
        """Return the runs of a cell, all of one setting."""
        place = (source.problem, source.method, source.tau, source.data_fraction)
        matching = [run for run in self._cells.get(place, []) if _has(run[0], source.settings)]
        return [run for run in matching if run[0].cell == matching[-1][0].cell]

    def cell(self, source: Source) -> CellSummary:
        """Summarise the runs of a cell."""
        runs = self.runs(source)
        done = {spec.repeat: result for spec, result in runs if result is not None and result.status == "done"}
        n_failed = sum(result is not None and result.status == "failed" for _, result in runs)
        values = {
            name: {repeat: getattr(result, attribute) for repeat, result in done.items()}
            for name, attribute in QUANTITIES.items()
            if all(getattr(result, attribute) is not None for result in done.values())
        }
        measured = dict.fromkeys(name for result in done.values() for name in result.measures)
        values |= {
            name: {repeat: result.measures[name] for repeat, result in done.items() if name in result.measures}
            for name in measured
        }
        quantities = {name: summarise(list(of_repeats.values())) for name, of_repeats in values.items() if of_repeats}
        return CellSummary(quantities, values, len(runs), n_failed)

    def sources(self) -> list[Source]:
        """Return a source for every cell that was planned, in the order of plans."""
        found: dict[Source, None] = {}
        for (problem, method, tau, fraction), runs in self._cells.items():
            for spec, _ in runs:
                settings = tuple((f"parameter.{name}", value) for name, value in spec.parameters if name == "centre")
                if method == "all_features":  # nothing but the network tells such cells apart
                    network = [item for item in spec.classifier if item[0] in ("hidden", "shortcuts")]
                    settings += tuple((f"classifier.{name}", value) for name, value in network)
                found[Source(problem, method, tau, fraction, settings)] = None
        return list(found)


def _has(spec: RunSpec, settings: tuple[tuple[str, Scalar], ...]) -> bool:
    if not settings:
        return True
    values = {f"parameter.{name}": value for name, value in spec.parameters}
    values |= {f"classifier.{name}": value for name, value in spec.classifier}
    return all(name in values and values[name] == value for name, value in settings)
