"""Mean, spread, interval and number of repeats of each table cell."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pppca_bench.runs import RunResult, RunSpec, Scalar, Source, StoredRun

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
    """

    quantities: dict[str, Summary]
    values: dict[str, dict[int, float]]
    n_planned: int
    n_failed: int
    settings: str = ""


class Results:
    """Runs grouped into cells.

    Where several plans asked for the same cell with different settings, those planned last count: a table never
    mixes settings. Where one plan asked for it with several settings, all of these are *variants*: they stand in
    no cell, but in a table of their own.

    Parameters
    ----------
    runs : iterable of (RunSpec, RunResult or None)
        Planned runs and what came of them, those of later plans last.
    plans : mapping of str to collection of str, optional
        Names of configs to the keys of the runs that each asks for.
    """

    def __init__(self, runs: Iterable[StoredRun], plans: Mapping[str, Collection[str]] | None = None) -> None:
        stored = list(runs)
        self.variants = {name: found for name, keys in (plans or {}).items() if (found := _variants(stored, keys))}
        unmistakable = {spec.key for spec, _ in stored}
        if plans is not None:
            ambiguous = {
                name: {spec.key for cell in cells for spec, _ in cell} for name, cells in self.variants.items()
            }
            unmistakable = {key for name, keys in plans.items() for key in set(keys) - ambiguous.get(name, set())}
        self._cells: dict[tuple[str, str, float | None, float | None], list[StoredRun]] = {}
        for spec, result in stored:
            if spec.key in unmistakable:
                place = (spec.problem, spec.method, spec.tau, spec.data_fraction)
                self._cells.setdefault(place, []).append((spec, result))

    def _variant_keys(self, config: str) -> set[str]:
        return {spec.key for cell in self.variants.get(config, ()) for spec, _ in cell}

    def runs(self, source: Source) -> list[StoredRun]:
        """Return the runs of a cell, all of one setting."""
        place = (source.problem, source.method, source.tau, source.data_fraction)
        return last_planned([run for run in self._cells.get(place, []) if _has(run[0], source.settings)])

    def cell(self, source: Source) -> CellSummary:
        """Summarise the runs of a cell."""
        return summarise_runs(self.runs(source))

    def sources(self) -> list[Source]:
        """Return a source for every cell that was planned, in the order of plans."""
        return list(dict.fromkeys(source_of(spec) for runs in self._cells.values() for spec, _ in runs))


def last_planned(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """Keep the runs of the setting that was planned last, of each repeat one: plans may differ in their seeds.

    Parameters
    ----------
    runs : sequence of (RunSpec, RunResult or None)
        Those of later plans last.
    """
    return list({run[0].repeat: run for run in runs if run[0].cell == runs[-1][0].cell}.values())


def summarise_runs(runs: Sequence[StoredRun]) -> CellSummary:
    """Summarise the repeats of one cell.

    Parameters
    ----------
    runs : sequence of (RunSpec, RunResult or None)
        Runs of one setting.
    """
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
    return CellSummary(quantities, values, len(runs), n_failed, _settings(done, runs))


def source_of(spec: RunSpec) -> Source:
    """Return the cell that a run stands in, as far as its method tells cells apart."""
    settings = tuple((f"parameter.{name}", value) for name, value in spec.parameters if name == "centre")
    if spec.method == "all_features":  # nothing but the network tells such cells apart
        network = [item for item in spec.classifier if item[0] in ("hidden", "shortcuts")]
        settings += tuple((f"classifier.{name}", value) for name, value in network)
    return Source(spec.problem, spec.method, spec.tau, spec.data_fraction, settings)


def _variants(stored: Sequence[StoredRun], keys: Collection[str]) -> list[list[StoredRun]]:
    """Return the cells of one plan, each with its repeats, that share their place with another cell."""
    wanted = set(keys)
    places: dict[Source, dict[tuple[object, ...], list[StoredRun]]] = {}
    for run in stored:
        if run[0].key in wanted:
            places.setdefault(source_of(run[0]), {}).setdefault(run[0].cell, []).append(run)
    return [cell for cells in places.values() if len(cells) > 1 for cell in cells.values()]


def _settings(done: Mapping[int, RunResult], runs: Sequence[StoredRun]) -> str:
    if not done:
        return ""
    spec = runs[0][0]
    parameters = [item for item in spec.parameters if item[0] != "timed"]  # its operations are counted either way
    data = sorted({result.data_sha256 for result in done.values()})
    text = json.dumps([spec.method, parameters, spec.tau, spec.data_fraction, spec.classifier, data])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _has(spec: RunSpec, settings: tuple[tuple[str, Scalar], ...]) -> bool:
    if not settings:
        return True
    values = {f"parameter.{name}": value for name, value in spec.parameters}
    values |= {f"classifier.{name}": value for name, value in spec.classifier}
    return all(name in values and values[name] == value for name, value in settings)
