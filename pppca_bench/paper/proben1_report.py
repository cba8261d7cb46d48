"""The Proben1 report's tables without means: P5 to P7, P12, distributions of errors (appendix D), printed training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pppca_bench.pages.document import Document
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.paper.architecture_search import CONFIG as SEARCH
from pppca_bench.paper.architecture_search import search_documents
from pppca_bench.paper.networks import published_searches
from pppca_bench.paper.significance import significance_document
from pppca_bench.paper.texts import builders_of, fill
from pppca_bench.results.frames import Runs
from pppca_bench.results.labels import labels_of
from pppca_bench.results.statistics import five_number_summary
from pppca_bench.verdicts.numbers import Row, cells_of, fill_table, frame_of, incomplete_cells
from pppca_bench.verdicts.scores import score_group

DISTRIBUTION_CONFIGS: Mapping[str, str] = {
    "proben1_linear": "linear networks",
    "proben1_pivot": "pivot networks",
    "proben1_no_shortcuts": "pivot networks without shortcuts",
}
"""Configs with a table of distributions, and the networks that they train."""

REPORT = "proben1_report"
"""Name of the report's reference."""

PRINTED = "proben1_printed"
"""The config of the Proben1 report's printed training."""

_ERRORS = ("test_squared_error_percent", "test_error_percent")
_STATISTICS = ("best", "minimum", "lower_quartile", "median", "upper_quartile", "maximum")


def tables(snapshot: Snapshot) -> dict[str, Callable[[], Document]]:
    """Return the builders of the report's tables without means."""
    runs, facts = snapshot.runs, snapshot.facts
    return {
        **builders_of(("P5", "P6", "P7"), partial(search_documents, runs, facts)),
        "P12": partial(significance_document, runs),
        "P_training": partial(training_document, snapshot),
        **{
            f"D_{config}": partial(distribution_document, config, runs)
            for config in DISTRIBUTION_CONFIGS
        },
    }


def shown(snapshot: Snapshot) -> dict[int, str]:
    """Return the table that shows the runs of a cell, by the cell's number."""
    tables = {SEARCH: "P7", PRINTED: "P_training"}
    tables |= {config: f"D_{config}" for config in DISTRIBUTION_CONFIGS}
    return {
        number: table
        for config, table in tables.items()
        for number, cell in snapshot.runs.of_configs((config,)).cells.items()
        if config != SEARCH or cell.problem in published_searches()
    }


def distribution_document(config: str, runs: Runs) -> Document:
    """Return the distributions of test errors of a config of `DISTRIBUTION_CONFIGS`, with a row for each problem."""
    of_config, records = runs.of_configs((config,)), list[dict[str, Any]]()
    labels = labels_of(of_config, of_config.cells)
    problems = [cell.problem for cell in of_config.cells.values()]
    for number, cell in of_config.cells.items():
        several = problems.count(cell.problem) > 1
        record: dict[str, Any] = {
            "row": f"{cell.problem}, {labels[number]}" if several else cell.problem,
            "n": len(of_config.values(number, _ERRORS[0])),
            "n_planned": of_config.counts[number]["n_planned"],
        }
        for quantity in _ERRORS:
            record |= _distribution(of_config, number, quantity)
        records.append(record)
    return fill("D", records, {"networks": DISTRIBUTION_CONFIGS[config]}, id=f"D_{config}")


def _distribution(runs: Runs, number: int, quantity: str) -> dict[str, float | None]:
    """Return the statistics of a quantity over the runs of a cell, None if they are unknown.

    The best value is of the first run with the least validation error, since test errors never decide which run is the
    best (Proben1 report, section 2.8).
    """
    values = runs.values(number, quantity)
    validation = runs.values(number, "validation_squared_error_percent")
    statistics: Sequence[float | None] = [None] * len(_STATISTICS)
    if values:
        is_known = values.keys() <= validation.keys()
        best = values[min(values, key=validation.__getitem__)] if is_known else None
        statistics = (best, *five_number_summary(list(values.values())))
    names = (f"{quantity}_{name}" for name in _STATISTICS)
    return dict(zip(names, statistics, strict=True))


def training_document(snapshot: Snapshot) -> Document:
    """Return the scores of the Proben1 report's tables with the printed training, and with the fitted training."""
    report = [reference for reference in snapshot.references if reference.name == REPORT]
    titles = [reference.title for reference in report]
    fitting = snapshot.numbers[snapshot.numbers["source"].isin(titles)]
    rows = list[Row]()
    for reference in report:
        for layout in reference.layouts:
            rows += fill_table(layout, reference, snapshot.runs, snapshot.facts, (PRINTED,))
    printed = frame_of(rows)
    records = []
    for group in (group for reference in report for group in reference.scored):
        record: dict[str, Any] = {"quantity": group.name}
        for training, numbers in {"printed": printed, "found": fitting}.items():
            score = score_group(numbers, group)
            record |= {
                "n_cells": score["n_cells"],
                f"n_run_{training}": score["n_run"],
                f"share_{training}": score["share"],
                f"distance_{training}": score["score"],
                f"_percent_{training}": None if score["share"] is None else 100.0 * score["share"],
            }
        records.append(record)
    cells = cells_of(printed).groupby("table", sort=False)
    late = [incomplete_cells(of_table) for _, of_table in cells]
    return fill(
        "P_training",
        records,
        has_runs=bool(snapshot.runs.of_configs((PRINTED,)).cells),
        n_missing=sum(int((cells["n_planned"] - cells["repeats"]).sum()) for cells in late),
    )
