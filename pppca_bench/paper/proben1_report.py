"""The Proben1 report's tables without means: P5 to P7, P12, distributions of errors (appendix D), printed training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pppca_bench.paper.architecture_search import CONFIG as SEARCH
from pppca_bench.paper.architecture_search import search_documents
from pppca_bench.paper.networks import published_searches
from pppca_bench.paper.significance import significance_document
from pppca_bench.paper.texts import builders_of, fill
from pppca_bench.references.reference import PROBEN1_REPORT, Reference
from pppca_bench.reporting.comparison import score_group
from pppca_bench.reporting.document import Document
from pppca_bench.reporting.labels import distinct_labels
from pppca_bench.reporting.snapshot import Snapshot
from pppca_bench.reporting.statistics import five_number_summary
from pppca_bench.reporting.summary import CellRuns, Results
from pppca_bench.reporting.table import fill_tables
from pppca_bench.runs import Cell, Facts

DISTRIBUTION_CONFIGS: Mapping[str, str] = {
    "proben1_linear": "linear networks",
    "proben1_pivot": "pivot networks",
    "proben1_no_shortcuts": "pivot networks without shortcuts",
}
"""Configs with a table of distributions, and the networks that they train."""

PRINTED = "proben1_printed"
"""The config of the Proben1 report's printed training."""

_ERRORS = ("test_squared_error_percent", "test_error_percent")
_STATISTICS = ("best", "minimum", "lower_quartile", "median", "upper_quartile", "maximum")


def tables(snapshot: Snapshot) -> dict[str, Callable[[], Document]]:
    """Return the builders of the report's tables without means."""
    results, facts = snapshot.results, snapshot.facts
    return {
        **builders_of(("P5", "P6", "P7"), partial(search_documents, results, facts)),
        "P12": partial(significance_document, results),
        "P_training": partial(training_document, results, facts, snapshot.references),
        **{
            f"D_{config}": partial(distribution_document, config, results)
            for config in DISTRIBUTION_CONFIGS
        },
    }


def shown(snapshot: Snapshot) -> dict[Cell, str]:
    """Return the table that shows the runs of a cell."""
    tables = {SEARCH: "P7", PRINTED: "P_training"}
    tables |= {config: f"D_{config}" for config in DISTRIBUTION_CONFIGS}
    return {
        cell: table
        for config, table in tables.items()
        for cell in snapshot.results.of_config(config)
        if config != SEARCH or cell.problem in published_searches()
    }


def distribution_document(config: str, results: Results) -> Document:
    """Return the distributions of test errors of a config of `DISTRIBUTION_CONFIGS`, with a row for each problem."""
    cells, records = results.of_config(config), list[dict[str, Any]]()
    labels, problems = distinct_labels(cells, with_tau=True), [cell.problem for cell in cells]
    for cell, runs in cells.items():
        several = problems.count(cell.problem) > 1
        record: dict[str, Any] = {
            "row": f"{cell.problem}, {labels[cell]}" if several else cell.problem
        }
        record |= {"n": len(runs.values(_ERRORS[0])), "n_planned": runs.n_planned}
        for quantity in _ERRORS:
            record |= _distribution(runs, quantity)
        records.append(record)
    return fill("D", records, {"networks": DISTRIBUTION_CONFIGS[config]}, id=f"D_{config}")


def _distribution(runs: CellRuns, quantity: str) -> dict[str, float | None]:
    """Return the statistics of a quantity over runs, None if they are unknown.

    The best value is of the first run with the least validation error, since test errors never decide which run is the
    best (Proben1 report, section 2.8).
    """
    values, validation = runs.values(quantity), runs.values("validation_squared_error_percent")
    statistics: Sequence[float | None] = [None] * len(_STATISTICS)
    if values:
        is_known = values.keys() <= validation.keys()
        best = values[min(values, key=validation.__getitem__)] if is_known else None
        statistics = (best, *five_number_summary(list(values.values())))
    names = (f"{quantity}_{name}" for name in _STATISTICS)
    return dict(zip(names, statistics, strict=True))


def training_document(results: Results, facts: Facts, references: Sequence[Reference]) -> Document:
    """Return the scores of the Proben1 report's tables with the printed training, and with the fitted training."""
    report = [reference for reference in references if reference.name == PROBEN1_REPORT]
    fitting = fill_tables(results, facts, report)
    printed = fill_tables(results, facts, report, configs=(PRINTED,))
    records = []
    for group in (group for reference in report for group in reference.scored):
        record: dict[str, Any] = {"quantity": group.name}
        for training, tables in {"printed": printed, "found": fitting}.items():
            score = score_group(group, tables)
            record |= {
                "n_cells": score.n_cells,
                f"n_run_{training}": score.n_run,
                f"share_{training}": score.share,
                f"distance_{training}": score.score,
                f"_percent_{training}": None if score.share is None else 100.0 * score.share,
            }
        records.append(record)
    late = [cell for table in printed for cell in table.incomplete_cells]
    return fill(
        "P_training",
        records,
        has_runs=bool(results.of_config(PRINTED)),
        n_missing=sum(cell.runs.n_planned - cell.n for cell in late),
    )
