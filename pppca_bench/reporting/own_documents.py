"""Tables of texts of our own: distributions of test errors, choices of runs, and scores of both trainings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median, quantiles
from typing import Any

from pppca_bench.references.reference import PROBEN1_REPORT, Reference
from pppca_bench.reporting.comparison import score_group
from pppca_bench.reporting.document import EMPTY, Document, number
from pppca_bench.reporting.labels import distinct_labels, value_text
from pppca_bench.reporting.summary import Results, summarise_runs
from pppca_bench.reporting.table import fill_tables
from pppca_bench.runs import CHOOSE, CHOOSE_BY, CHOOSE_RETAIN, CHOSEN, Cell, ProblemFacts, RunResult

CONFIGS: Mapping[str, str] = {
    "proben1_linear": "linear networks",
    "proben1_pivot": "pivot networks",
    "proben1_no_shortcuts": "pivot networks without shortcuts",
}
"""Configs with a table of distributions, and the networks that they train."""

PRINTED = "proben1_printed"
"""The config of the Proben1 report's printed training."""

_CHOSEN_BY = "validation_squared_error_percent"
_SPREAD = ("test_squared_error_percent", "test_error_percent")


_STATISTICS = ("best", "minimum", "lower_quartile", "median", "upper_quartile", "maximum")


def five_numbers(values: Sequence[float]) -> tuple[float, ...]:
    """Return minimum, lower quartile, median, upper quartile and maximum of at least one value.

    Choice: quartiles lie between the sorted values in proportion to their ranks, the minimum at 0 and the maximum at 1.
    """
    lower, _, upper = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return (min(values), lower, median(values), upper, max(values))


def distribution_document(config: str, results: Results) -> Document:
    """Return the distributions of test errors and classification errors of a config of `CONFIGS`, a row a problem."""
    cells = results.of_config(config)
    labels, problems = distinct_labels(cells, with_tau=True), [cell.problem for cell in cells]
    rows, records = list[tuple[str, ...]](), list[dict[str, Any]]()
    for cell, runs in cells.items():
        row = cell.problem if problems.count(cell.problem) == 1 else f"{cell.problem}, {labels[cell]}"
        known = [result.values for _, result in runs if result is not None]
        spread = {
            f"{quantity}_{name}": value
            for quantity in _SPREAD
            for name, value in zip(_STATISTICS, _distribution(known, quantity), strict=True)
        }
        n = sum(_SPREAD[0] in values for values in known)
        rows.append((row, str(n), *(number(value, 2) for value in spread.values())))
        records.append({"row": row, "n": n, "n_planned": len(runs), **spread})
    heads = ("best", "min", "Q1", "median", "Q3", "max")
    note = (
        "Test: squared error percentage; Classif.: classification error in percent. Best: the run with the least"
        " validation error. Q1, Q3: quartiles."
    )
    return Document(
        f"D_{config}",
        f"Distribution of test errors, {CONFIGS[config]}",
        "",
        ("Problem", "runs", *(f"{prefix} {head}" for prefix in ("Test", "Classif.") for head in heads)),
        rows,
        (note,),
        records,
        was_run=bool(cells),
        n_missing=sum(record["n_planned"] - record["n"] for record in records),
    )


def _distribution(runs: Sequence[Mapping[str, float]], quantity: str) -> Sequence[float | None]:
    """Return the statistics of a quantity over runs, None for those that are unknown.

    The best value is that of the first run with the least validation error, since test errors never decide which run is
    the best (Proben1 report, section 2.8).
    """
    known = [values for values in runs if quantity in values]
    if not known:
        return [None] * len(_STATISTICS)
    is_validated = all(_CHOSEN_BY in values for values in known)
    best = min(known, key=lambda values: values[_CHOSEN_BY])[quantity] if is_validated else None
    return [best, *five_numbers([values[quantity] for values in known])]


def choices_document(results: Results) -> Document:
    """Return C: a row for each cell whose runs choose settings for themselves."""
    labels = distinct_labels(results.cells, with_tau=True)
    rows, records, n_missing = list[tuple[str, ...]](), list[dict[str, Any]](), 0
    for cell, runs in results.cells.items():
        parameters = dict(cell.parameters)
        if CHOOSE_BY not in parameters:
            continue
        done = [result for _, result in runs if result is not None and result.status == "done"]
        n_missing += len(runs) - len(done)
        retain = parameters.get(CHOOSE_RETAIN)
        by = "validation error" if retain is None else f"retained variance, {value_text(retain)} %"
        row, chosen = f"{cell.problem}, {labels[cell]}", _chosen(cell, done) or EMPTY
        quantities = summarise_runs(runs).quantities
        error, size = (
            quantities[name].mean if name in quantities else None for name in ("test_error_percent", "dimensionality")
        )
        rows.append((row, by, chosen, number(error, 2), number(size, 1), str(len(done))))
        means = {"test_error_percent": error, "dimensionality": size}
        records.append({"row": row, "by": by, "chosen": chosen, **means, "n": len(done)})
    note = (
        "Each run chose by its own training and validation split; the test split was then read once, by the chosen"
        " setting. Means over the runs."
    )
    heads = ("Problem, method", "by", "chosen (runs)", "Error, %", "Features", "n")
    title = "Settings chosen by the runs themselves"
    return Document("C", title, "", heads, rows, (note,), records, was_run=bool(rows), n_missing=n_missing)


def _chosen(cell: Cell, done: Sequence[RunResult]) -> str:
    """Return how many runs chose each combination, in the order of the candidates."""
    signs = {"tau": "τ = {}", "data_fraction": "{}%"}
    names = [name.removeprefix(CHOOSE) for name, _ in cell.parameters if name.startswith(CHOOSE)]
    names = [name for name in names if f"{CHOOSE}{name}" not in (CHOOSE_BY, CHOOSE_RETAIN)]
    counts = Counter(tuple(result.values[f"{CHOSEN}{name}"] for name in names) for result in done)
    texts = []
    for values, n in sorted(counts.items()):
        pairs = zip(names, map(value_text, values), strict=True)
        settings = [signs.get(name, f"{name} = {{}}").format(text) for name, text in pairs]
        texts.append(f"{', '.join(settings)} ({n})")
    return ", ".join(texts)


def training_document(results: Results, facts: Mapping[str, ProblemFacts], references: Sequence[Reference]) -> Document:
    """Return the scores of the Proben1 report's tables with its printed training, and with the fitting training."""
    report = [reference for reference in references if reference.name == PROBEN1_REPORT]
    fitting = fill_tables(results, facts, report)
    printed = fill_tables(results, facts, report, configs=(PRINTED,))
    rows, records = list[list[str]](), list[dict[str, object]]()
    for group in (group for reference in report for group in reference.scored):
        scores = {"printed": score_group(group, printed), "found": score_group(group, fitting)}
        name, n_cells = scores["found"].name, scores["found"].n_cells
        row, record = [name, str(n_cells)], {"quantity": name, "n_cells": n_cells}
        for training, score in scores.items():
            row += [number(None if score.share is None else 100.0 * score.share, 0), number(score.score, 3)]
            record |= {f"n_run_{training}": score.n_run, f"share_{training}": score.share}
            record |= {f"distance_{training}": score.score}
        rows.append(row)
        records.append(record)
    note = (
        "Within: share of cells whose mean is at most one published standard deviation from the published mean."
        " |ln|: mean |ln(ours / published)|. Printed: the parameters of the report's sections 3.3.1 and 3.3.3 and"
        " RPROP as first published; fitted: the configs of the tables themselves."
    )
    # The cells of a row are filled by the same runs: those of the first column count them once.
    firsts = [
        cell for table in printed for cell in table.cells.values() if cell.column == next(iter(table.column_labels))
    ]
    return Document(
        "P_training",
        "Printed training, and the training that the numbers fit",
        "",
        ("Quantity", "cells", "printed: within", "printed: |ln|", "fitted: within", "fitted: |ln|"),
        rows,
        (note,),
        records,
        was_run=bool(results.of_config(PRINTED)),
        n_missing=sum(cell.n_planned - cell.n for cell in firsts),
    )
