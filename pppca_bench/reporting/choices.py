"""Choices of the runs that select their own settings: how often each candidate was chosen, and the test errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pppca_bench.reporting.document import Document
from pppca_bench.reporting.labels import distinct_labels, value_text
from pppca_bench.reporting.number_text import EMPTY, number
from pppca_bench.reporting.summary import Results, summarise_runs
from pppca_bench.runs import CHOOSE, CHOOSE_BY, CHOOSE_RETAIN, CHOSEN, Cell, RunResult

_HEADERS = ("Problem, method", "by", "chosen (runs)", "Error, %", "Features", "n")
_NOTE = (
    "Every run chose for itself, by its own training and validation split; the test split was then read once, by what"
    " was chosen. Means over the runs."
)
_SIGNS: Mapping[str, str] = {"tau": "τ = {}", "data_fraction": "{}%"}


def choices_document(results: Results) -> Document:
    """Return C: a row for each cell whose runs choose settings for themselves."""
    labels = distinct_labels(results.cells, with_tau=True)
    rows, records, n_missing = list[tuple[str, ...]](), list[dict[str, Any]](), 0
    for cell, runs in results.cells.items():
        parameters = dict(cell.parameters)
        if CHOOSE_BY in parameters:
            done = [result for _, result in runs if result is not None and result.status == "done"]
            n_missing += len(runs) - len(done)
            retain = parameters.get(CHOOSE_RETAIN)
            by = "validation error" if retain is None else f"retained variance, {value_text(retain)} %"
            row, chosen = f"{cell.problem}, {labels[cell]}", _chosen(cell, done) or EMPTY
            quantities = summarise_runs(runs).quantities
            means = {
                name: quantities[name].mean if name in quantities else None
                for name in ("test_error_percent", "dimensionality")
            }
            error, size = means.values()
            rows.append((row, by, chosen, number(error, 2), number(size, 1), str(len(done))))
            records.append({"row": row, "by": by, "chosen": chosen, **means, "n": len(done)})
    return Document(
        "C", "What runs chose for themselves", "", _HEADERS, rows, (_NOTE,), records, (), bool(rows), n_missing
    )


def _chosen(cell: Cell, done: Sequence[RunResult]) -> str:
    """Return how many runs chose each combination, in the order of the candidates."""
    given = [name for name, _ in cell.parameters if name.startswith(CHOOSE) and name not in (CHOOSE_BY, CHOOSE_RETAIN)]
    names = [name[len(CHOOSE) :] for name in given]
    counts = Counter(tuple(result.values[f"{CHOSEN}{name}"] for name in names) for result in done)
    texts = []
    for values, n in sorted(counts.items()):
        settings = (
            _SIGNS.get(name, f"{name} = {{}}").format(value_text(value))
            for name, value in zip(names, values, strict=True)
        )
        texts.append(f"{', '.join(settings)} ({n})")
    return ", ".join(texts)
