"""Synthetic results for every cell of the references."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from pppca_bench.references.layout import Layout
from pppca_bench.references.numbers import Number
from pppca_bench.references.reference import own_references
from pppca_bench.reporting.snapshot import Snapshot
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.table import Table
from pppca_bench.runs import Cell, Plan, ProblemFacts, RunResult, RunSpec, Selector, StoredRun, described
from pppca_bench.store.database import Store

REFERENCES = own_references()
PROBLEMS = ("cancer1", "card1", "diabetes1", "glass1", "heart1", "horse1", "soybean1", "thyroid1")
CONFIG = "cancer1"
"""A config whose runs fill the slides' tables."""

CLASSIFIER = {"hidden": "pivot", "rule": "rprop", "shortcuts": True}
ERROR_STEP = 100 / 172
_OWN = ("test_error_percent", "dimensionality", "speedup", "correlation")


def published(table: str, row: str, column: str, quantity: str) -> Number | None:
    """Return a published number of the slides or the report, or None where they print none."""
    found = [reference.published(table, row, column).get(quantity) for reference in REFERENCES]
    return next(filter(None, found), None)


def layouts() -> list[Layout]:
    """Return the layouts of all tables, in their order."""
    return [layout for reference in REFERENCES for layout in reference.layouts]


def configs_of(cell: Cell) -> list[str]:
    """Return the names of configs that ask for a cell: one for each table that shows it, else `CONFIG`.

    It is the first of the table's configs, or the one that is named after the problem, as mushroom1's.
    """
    named = f"proben1_{cell.problem.rstrip('123')}"
    found = [
        named if named in layout.configs else (layout.configs or reference.configs)[0]
        for reference in REFERENCES
        for layout in reference.layouts
        if any(one.matches(cell) for one in selectors_of(layout) if one.problem == cell.problem)
    ]
    return list(dict.fromkeys(found)) or [CONFIG]


def selectors_of(layout: Layout) -> list[Selector]:
    """Return what the cells of a table ask for."""
    found = [layout.selector(row, column) for row in layout.rows for column in layout.columns]
    return list(dict.fromkeys(filter(None, found)))


def plans_of(runs: Iterable[StoredRun]) -> dict[str, list[StoredRun]]:
    """Return runs by the configs that ask for them (`configs_of`)."""
    names = cache(configs_of)
    plans: dict[str, list[StoredRun]] = {}
    for run in runs:
        for name in names(run[0].cell):
            plans.setdefault(name, []).append(run)
    return plans


def store_runs(store: Store, runs: Sequence[StoredRun]) -> None:
    """Plan runs as `plans_of` has them, and record what came of them."""
    for name, own in plans_of(runs).items():
        store.plan(Plan(name, "", "", tuple(spec for spec, _ in own)))
    store.record([result for _, result in runs if result is not None], "{}")


def published_sizes(problem: str) -> ProblemFacts:
    """Return a problem's sizes as the slides print them; made up where they print none."""
    places = {"n_features": "features", "n_outputs": "classes"}
    places |= dict.fromkeys(("n_train", "n_validation", "n_test"), "sizes")
    numbers = {quantity: published("T0", problem, column, quantity) for quantity, column in places.items()}
    sizes = {quantity: 9 if number is None else int(number.value) for quantity, number in numbers.items()}
    return ProblemFacts(problem, "a", "classification", problem.rstrip("123"), **sizes)


FACTS = {problem: published_sizes(problem) for problem in PROBLEMS}


def cell_of(selector: Selector, *, data: str = "a") -> Cell:
    """Return a cell that a selector means: its settings, and the usual classifier's for the rest."""
    settings = dict(selector.settings)
    classifier = CLASSIFIER | {
        name.removeprefix("classifier."): settings.pop(name)
        for name in list(settings)
        if name.startswith("classifier.")
    }
    sections = (tuple(sorted(section.items())) for section in (settings, classifier))
    return Cell(selector.problem, data, selector.method, *sections)


def results_of(runs: Iterable[StoredRun], plans: Mapping[str, Sequence[StoredRun]] | None = None) -> Results:
    """Return results whose runs configs ask for, by default as `plans_of` has them."""
    stored = list(runs)
    plans = plans_of(stored) if plans is None else plans
    return Results.of_runs(stored, {name: [spec.key for spec, _ in own] for name, own in plans.items()})


def tables_of(runs: Iterable[StoredRun], facts: dict[str, ProblemFacts] | None = None) -> list[Table]:
    """Return the filled tables of runs that configs of the references ask for."""
    return Snapshot(results_of(runs), FACTS if facts is None else facts, REFERENCES).of_means


def full_runs(n_repeats: int, seed: int = 0) -> list[tuple[RunSpec, RunResult]]:
    """Return runs of every cell of the layouts, spread about the published numbers.

    Errors stand on the grid of 172 test examples, dimensionalities are whole, operation ratios and all others any
    number.
    """
    rng, rng_of_others = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    centres: dict[Cell, dict[str, float]] = {}
    for layout in layouts():
        for row in layout.rows:
            for column in layout.columns:
                selector = layout.selector(row, column)
                if selector is not None:
                    centre = centres.setdefault(cell_of(selector), {})
                    for quantity in layout.quantities(row, column):
                        number = published(layout.id, row.key, column.key, quantity)
                        if number is not None:
                            centre.setdefault(quantity, number.value)
    return [
        (spec, with_values(result, **_others(centre, rng_of_others)))
        for index, (cell, centre) in enumerate(centres.items())
        for spec, result in _runs_of(cell, centre, index, n_repeats, rng)
    ]


def _others(centre: dict[str, float], rng: np.random.Generator) -> dict[str, float]:
    """Return the quantities of a run that are neither errors of classes nor the method's own."""
    drawn = {name: value * rng.normal(1, 0.05) for name, value in centre.items() if name not in _OWN}
    return {name: round(value) if described(name).is_count else value for name, value in drawn.items()}


def _runs_of(
    cell: Cell, centre: dict[str, float], index: int, n_repeats: int, rng: np.random.Generator
) -> list[tuple[RunSpec, RunResult]]:
    error_spread, spread = rng.uniform(0.5, 3), rng.uniform(0.02, 0.15)
    runs = []
    for repeat in range(n_repeats):
        spec = RunSpec(f"{index:04x}{repeat:028x}", cell, repeat, repeat)
        error = max(0, round(rng.normal(centre.get("test_error_percent", 5), error_spread) / ERROR_STEP)) * ERROR_STEP
        size = centre.get("dimensionality", 5)
        operations = centre.get("speedup", 5) * rng.normal(1, spread)
        values = {"dimensionality": max(1, round(rng.normal(size, spread * size))), "test_error_percent": error}
        if cell.method == "dgha_speedup":
            values = {"speedup": 1.1 * operations, "speedup_operations": operations}
        runs.append((spec, RunResult(spec.key, "done", values=values)))
    return runs


def full_tables(n_repeats: int, seed: int = 0) -> list[Table]:
    """Return the filled tables of `full_runs`."""
    return tables_of(full_runs(n_repeats, seed))


def with_values(result: RunResult, **values: float) -> RunResult:
    """Return a result with some of its values changed."""
    return replace(result, values={**result.values, **values})
