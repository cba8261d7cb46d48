"""The Proben1 report's tables without means: P5 to P7, P12, distributions of errors (appendix D), printed training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from pppca_bench.paper.architecture_search import CONFIG as SEARCH
from pppca_bench.paper.architecture_search import search_documents
from pppca_bench.paper.networks import published_searches
from pppca_bench.paper.significance import significance_document
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

_ERROR_QUANTITIES = {"Test": "test_squared_error_percent", "Classif.": "test_error_percent"}
_STATISTICS = {
    "best": "best",
    "min": "minimum",
    "Q1": "lower_quartile",
    "median": "median",
    "Q3": "upper_quartile",
    "max": "maximum",
}


def tables(snapshot: Snapshot) -> dict[str, Callable[[], Document]]:
    """Return the builders of the report's tables without means."""
    results, facts = snapshot.results, snapshot.facts
    searches = cache(partial(search_documents, results, facts))
    return {
        "P5": lambda: searches()[0],
        "P6": lambda: searches()[1],
        "P7": lambda: searches()[2],
        "P12": partial(significance_document, results),
        "P_training": partial(training_document, results, facts, snapshot.references),
        **{
            f"D_{config}": partial(distribution_document, config, results)
            for config in DISTRIBUTION_CONFIGS
        },
    }


def shown(snapshot: Snapshot) -> dict[Cell, str]:
    """Return the table that shows the runs of a cell."""
    results = snapshot.results
    searched = [cell for cell in results.of_config(SEARCH) if cell.problem in published_searches()]
    cells = dict.fromkeys(searched, "P7") | dict.fromkeys(results.of_config(PRINTED), "P_training")
    for config in DISTRIBUTION_CONFIGS:
        cells |= dict.fromkeys(results.of_config(config), f"D_{config}")
    return cells


def distribution_document(config: str, results: Results) -> Document:
    """Return the distributions of test errors of a config of `DISTRIBUTION_CONFIGS`, with a row for each problem."""
    cells, records = results.of_config(config), list[dict[str, Any]]()
    labels, problems = distinct_labels(cells, with_tau=True), [cell.problem for cell in cells]
    for cell, runs in cells.items():
        row = (
            cell.problem if problems.count(cell.problem) == 1 else f"{cell.problem}, {labels[cell]}"
        )
        record = {
            "row": row,
            "n": len(runs.values(_ERROR_QUANTITIES["Test"])),
            "n_planned": runs.n_planned,
        }
        for quantity in _ERROR_QUANTITIES.values():
            names = (f"{quantity}_{name}" for name in _STATISTICS.values())
            record |= dict(zip(names, _distribution(runs, quantity), strict=True))
        records.append(record)
    statistics = [
        (f"{prefix} {head}", f"{{{quantity}_{name}:.2f}}")
        for prefix, quantity in _ERROR_QUANTITIES.items()
        for head, name in _STATISTICS.items()
    ]
    note = (
        "Test: squared error percentage; Classif.: classification error in percent. Best: the run with the least"
        " validation error. Q1, Q3: quartiles."
    )
    return Document.of_records(
        f"D_{config}",
        f"Distribution of test errors, {DISTRIBUTION_CONFIGS[config]}",
        [("Problem", "{row}"), ("runs", "{n}"), *statistics],
        records,
        notes=(note,),
    )


def _distribution(runs: CellRuns, quantity: str) -> Sequence[float | None]:
    """Return the statistics of a quantity over runs, None if they are unknown.

    The best value is of the first run with the least validation error, since test errors never decide which run is the
    best (Proben1 report, section 2.8).
    """
    values, validation = runs.values(quantity), runs.values("validation_squared_error_percent")
    if not values:
        return [None] * len(_STATISTICS)
    best = (
        values[min(values, key=validation.__getitem__)]
        if values.keys() <= validation.keys()
        else None
    )
    return [best, *five_number_summary(list(values.values()))]


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
            }
            record |= {f"distance_{training}": score.score}
            record |= {f"_percent_{training}": None if score.share is None else 100.0 * score.share}
        records.append(record)
    columns = (
        ("Quantity", "{quantity}"),
        ("cells", "{n_cells}"),
        ("printed: within", "{_percent_printed:.0f}"),
        ("printed: |ln|", "{distance_printed:.3f}"),
        ("fitted: within", "{_percent_found:.0f}"),
        ("fitted: |ln|", "{distance_found:.3f}"),
    )
    note = (
        "Within: share of cells whose mean is at most one published standard deviation from the published mean."
        " |ln|: mean |ln(ours / published)|. Printed: the parameters of the report's sections 3.3.1 and 3.3.3, and"
        " RPROP as first published. Fitted: the configs of the tables."
    )
    # All cells of a row are filled by the same runs; the first column counts these runs once.
    firsts = [
        cell
        for table in printed
        for cell in table.cells.values()
        if cell.column == next(iter(table.column_labels))
    ]
    return Document.of_records(
        "P_training",
        "Printed training, and the training that the numbers fit",
        columns,
        records,
        notes=(note,),
        has_runs=bool(results.of_config(PRINTED)),
        n_missing=sum(cell.runs.n_planned - cell.n for cell in firsts),
    )
