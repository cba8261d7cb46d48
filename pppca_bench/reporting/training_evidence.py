"""The training that the Proben1 report prints beside the one that its numbers fit: the evidence, in one sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pppca_bench.references.reference import PROBEN1_REPORT, Reference
from pppca_bench.reporting.comparison import Score, score_group
from pppca_bench.reporting.document import Document
from pppca_bench.reporting.number_text import number
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.table import Table
from pppca_bench.reporting.tables import fill_tables
from pppca_bench.runs import ProblemFacts

PRINTED = "proben1_printed"
"""The config of the printed training."""


def training_document(results: Results, facts: Mapping[str, ProblemFacts], references: Sequence[Reference]) -> Document:
    """Return the scores of the report's tables with both trainings.

    Parameters
    ----------
    results : Results
        What was run.
    facts : mapping of str to ProblemFacts
        Sizes of the problems, by name.
    references : sequence of Reference
        The report is looked for among them.
    """
    report = [one for one in references if one.name == PROBEN1_REPORT]
    found = fill_tables(results, facts, report)
    printed = fill_tables(results, facts, [_filled_by(PRINTED, one) for one in report])
    groups = [group for one in report for group in one.scored]
    scored = [(score_group(group, printed), score_group(group, found)) for group in groups]
    return Document(
        "P_training",
        "Printed training, and the training that the numbers fit",
        "",
        ("Quantity", "cells", "printed: within", "printed: |ln|", "found: within", "found: |ln|"),
        tuple((one.name, str(one.n_cells), *_texts(one), *_texts(other)) for one, other in scored),
        (
            "Within: share of cells whose mean is at most one published standard deviation from the published mean."
            " |ln|: mean |ln(ours / published)|. Printed: the parameters of the report's sections 3.3.1 and 3.3.3 and"
            " RPROP as first published; found: the configs of the tables themselves.",
        ),
        tuple(_record(one, other) for one, other in scored),
        was_run=bool(results.of_config(PRINTED)),
        n_missing=_n_missing(printed),
    )


def _filled_by(config: str, reference: Reference) -> Reference:
    """Return a reference whose tables are filled by the runs of one config."""
    layouts = tuple(layout.model_copy(update={"configs": (config,)}) for layout in reference.layouts)
    return replace(reference, configs=(config,), layouts=layouts)


def _texts(score: Score) -> tuple[str, str]:
    share = None if score.share is None else 100.0 * score.share
    return number(share, 0), number(score.score, 3)


def _record(printed: Score, found: Score) -> dict[str, object]:
    return {
        "quantity": printed.name,
        "n_cells": printed.n_cells,
        "n_run_printed": printed.n_run,
        "share_printed": printed.share,
        "distance_printed": printed.score,
        "n_run_found": found.n_run,
        "share_found": found.share,
        "distance_found": found.score,
    }


def _n_missing(tables: Sequence[Table]) -> int:
    first = [next(iter(table.column_labels), "") for table in tables]
    return sum(
        cell.n_planned - cell.n
        for table, column in zip(tables, first, strict=True)
        for cell in table.cells.values()
        if cell.column == column
    )
