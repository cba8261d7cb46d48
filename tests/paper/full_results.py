"""Synthetic results for every cell of the references."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from stored_runs import PIVOT, cell_of, results_by_config, run_of, store_runs

from pppca_bench.pages.figure_data import Figure, build_figures
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.quantities import described
from pppca_bench.references.layout import Layout
from pppca_bench.references.numbers import Number
from pppca_bench.references.reference import installed_references
from pppca_bench.results.frames import read_runs
from pppca_bench.runs import Cell, ProblemFacts, RunResult, Selector, StoredRun
from pppca_bench.store.database import Store

REFERENCES = tuple(one for one in installed_references() if one.name != "early_stopping")
"""References whose cells have the runs of a single setting."""
PROBLEMS = ("cancer1", "card1", "diabetes1", "glass1", "heart1", "horse1", "soybean1", "thyroid1")
CONFIG = "cancer1"
"""A config whose runs fill the slides' tables."""

ERROR_STEP = 100 / 172


def published(table: str, row: str, column: str, quantity: str) -> Number | None:
    """Return a published number of the slides or the report, or None where they print none."""
    found = (reference.published(table, row, column).get(quantity) for reference in REFERENCES)
    return next(filter(None, found), None)


def layouts() -> list[Layout]:
    """Return the layouts of all tables, in their order."""
    return [layout for reference in REFERENCES for layout in reference.layouts]


@cache
def asked() -> list[tuple[list[Selector], Layout, str]]:
    """Return for each table what its cells ask for, its layout, and the first of its configs."""
    return [
        (selectors_of(layout), layout, (layout.configs or reference.configs)[0])
        for reference in REFERENCES
        for layout in reference.layouts
    ]


@cache
def configs_of(cell: Cell) -> list[str]:
    """Return the names of configs that ask for a cell: one for each table that shows it, else `CONFIG`.

    It is the first of the table's configs, or the one that is named after the problem, as mushroom1's.
    """
    named = f"proben1_{cell.problem.rstrip('123')}"
    found = [
        named if named in layout.configs else first
        for selectors, layout, first in asked()
        if any(one.matches(cell) for one in selectors if one.problem == cell.problem)
    ]
    return list(dict.fromkeys(found)) or [CONFIG]


def selectors_of(layout: Layout) -> list[Selector]:
    """Return the settings that the cells of a table ask for; formulas of several settings have no runs here."""
    found = [layout.selector(row, column) for row in layout.rows for column in layout.columns]
    return list(dict.fromkeys(one for one in found if isinstance(one, Selector)))


def plans_of(runs: Iterable[StoredRun]) -> dict[str, list[StoredRun]]:
    """Return runs by the configs that ask for them (`configs_of`)."""
    plans: dict[str, list[StoredRun]] = {}
    for run in runs:
        for name in configs_of(run[0].cell):
            plans.setdefault(name, []).append(run)
    return plans


def published_sizes(problem: str) -> ProblemFacts:
    """Return a problem's sizes as the slides print them; made up where they print none."""
    places = [("features", "n_features"), ("classes", "n_outputs")]
    places += [("sizes", f"n_{split}") for split in ("train", "validation", "test")]
    numbers = (published("T0", problem, *place) for place in places)
    sizes = (int(number.value) if number else 9 for number in numbers)
    return ProblemFacts(problem, "a", "classification", problem.rstrip("123"), *sizes)


FACTS = {problem: published_sizes(problem) for problem in PROBLEMS}


def selected_cell(selector: Selector) -> Cell:
    """Return a cell that a selector means: its settings, and the usual classifier's for the rest."""
    settings, classifier = {}, dict(PIVOT)
    for name, value in selector.settings:
        of_classifier = name.startswith("classifier.")
        (classifier if of_classifier else settings)[name.removeprefix("classifier.")] = value
    return cell_of(selector.problem, selector.method, settings, classifier)


def snapshot_of(runs: Iterable[StoredRun], facts: Mapping[str, ProblemFacts] = FACTS) -> Snapshot:
    """Return the tables of runs that configs of the references ask for."""
    return Snapshot(results_by_config(plans_of(runs)), facts, REFERENCES)


def snapshot_and_figures(
    folder: Path, runs: Mapping[str, Sequence[StoredRun]], facts: Mapping[str, ProblemFacts]
) -> tuple[Snapshot, list[Figure]]:
    """Return the tables and figures of a database with the runs of several configs."""
    with Store(folder / "results.sqlite") as store:
        store_runs(store, runs)
        snapshot = Snapshot(read_runs(store), facts, REFERENCES)
        figures = build_figures(snapshot.runs, store, facts, snapshot.numbers, REFERENCES)
        return snapshot, figures


def full_runs(n_repeats: int) -> list[StoredRun]:
    """Return runs of every cell of the layouts, spread about the published numbers.

    Errors stand on the grid of 172 test examples, counts are whole, operation ratios and all others any number.
    """
    rng = np.random.default_rng(0)
    centres: dict[Cell, dict[str, float]] = {}
    for layout in layouts():
        for row, column in product(layout.rows, layout.columns):
            selector = layout.selector(row, column)
            if isinstance(selector, Selector):
                centre = centres.setdefault(selected_cell(selector), {})
                for quantity in layout.quantities(row, column):
                    if number := published(layout.id, row.key, column.key, quantity):
                        centre.setdefault(quantity, number.value)
    spreads = {cell: rng.uniform(0.02, 0.15) for cell in centres}
    return [
        run_of(cell, repeat, **_values(cell, centre, spreads[cell], rng))
        for cell, centre in centres.items()
        for repeat in range(n_repeats)
    ]


def _values(
    cell: Cell, centre: Mapping[str, float], spread: float, rng: np.random.Generator
) -> dict[str, float]:
    usual = {"test_error_percent": 5.0, "dimensionality": 5.0} | centre
    usual.pop("correlation", None)
    drawn = {name: value * rng.normal(1.0, spread) for name, value in usual.items()}
    if cell.method == "dgha_speedup":
        return {"speedup_operations": drawn["speedup_operations"]}
    drawn["test_error_percent"] = round(drawn["test_error_percent"] / ERROR_STEP) * ERROR_STEP
    return {
        name: max(1, round(value)) if described(name).is_count else value
        for name, value in drawn.items()
    }


def full_snapshot(n_repeats: int) -> Snapshot:
    """Return the tables of `full_runs`."""
    return snapshot_of(full_runs(n_repeats))


def with_values(result: RunResult, **values: float) -> RunResult:
    """Return a result with some of its values changed."""
    return replace(result, values={**result.values, **values})
