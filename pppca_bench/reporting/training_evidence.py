"""Scores of the Proben1 report's printed training, and of the training that its numbers fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pppca_bench.references.reference import PROBEN1_REPORT, Reference
from pppca_bench.reporting.comparison import score_group
from pppca_bench.reporting.document import Document
from pppca_bench.reporting.number_text import number
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.tables import fill_tables
from pppca_bench.runs import ProblemFacts

PRINTED = "proben1_printed"
"""The config of the printed training."""


def training_document(results: Results, facts: Mapping[str, ProblemFacts], references: Sequence[Reference]) -> Document:
    """Return the scores of the report's tables with both trainings.

    Parameters
    ----------
    results : Results
        The runs by cell.
    facts : mapping of str to ProblemFacts
        Sizes of the problems, by name.
    references : sequence of Reference
        The references, with or without the report.
    """
    report = [reference for reference in references if reference.name == PROBEN1_REPORT]
    fitting = fill_tables(results, facts, report)
    printed = fill_tables(results, facts, [_filled_by(PRINTED, reference) for reference in report])
    rows, records = list[list[str]](), list[dict[str, object]]()
    for group in (group for reference in report for group in reference.scored):
        row: list[str] = []
        record: dict[str, object] = {}
        for training, tables in (("printed", printed), ("found", fitting)):
            score = score_group(group, tables)
            row += [number(None if score.share is None else 100.0 * score.share, 0), number(score.score, 3)]
            record |= {f"n_run_{training}": score.n_run, f"share_{training}": score.share}
            record |= {f"distance_{training}": score.score}
        rows.append([score.name, str(score.n_cells), *row])
        records.append({"quantity": score.name, "n_cells": score.n_cells} | record)
    # The cells of a row are filled by the same runs: those of the first column count them once.
    first_cells = (
        cell for table in printed for cell in table.cells.values() if cell.column == next(iter(table.column_labels))
    )
    return Document(
        "P_training",
        "Printed training, and the training that the numbers fit",
        "",
        ("Quantity", "cells", "printed: within", "printed: |ln|", "found: within", "found: |ln|"),
        rows,
        (
            "Within: share of cells whose mean is at most one published standard deviation from the published mean."
            " |ln|: mean |ln(ours / published)|. Printed: the parameters of the report's sections 3.3.1 and 3.3.3 and"
            " RPROP as first published; found: the configs of the tables themselves.",
        ),
        records,
        was_run=bool(results.of_config(PRINTED)),
        n_missing=sum(cell.n_planned - cell.n for cell in first_cells),
    )


def _filled_by(config: str, reference: Reference) -> Reference:
    """Return a reference whose tables are filled by the runs of one config."""
    layouts = tuple(layout.model_copy(update={"configs": (config,)}) for layout in reference.layouts)
    return replace(reference, configs=(config,), layouts=layouts)
