"""What runs chose for themselves: how often each candidate, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pppca_bench.reporting.document import Document
from pppca_bench.reporting.labels import distinct_labels, value_text
from pppca_bench.reporting.number_text import number
from pppca_bench.reporting.summary import Results, summarise_runs
from pppca_bench.runs import CHOOSE, CHOOSE_BY, CHOOSE_RETAIN, CHOSEN, Cell, RunResult
from pppca_bench.store.columns import CellRuns

_HEADERS = ("Problem, method", "by", "chosen (runs)", "Error, %", "Features", "n")
_NOTES = (
    "Every run chose for itself, by its own training and validation split; the test split was then read once, by what"
    " was chosen. Means over the runs.",
)


def choices_document(results: Results) -> Document:
    """Return C: the cells whose runs choose settings for themselves, with how often they chose what.

    Parameters
    ----------
    results : Results
        What was run.
    """
    choosing = {cell: runs for cell, runs in results.cells.items() if CHOOSE_BY in dict(cell.parameters)}
    labels = distinct_labels(results.cells, with_tau=True)
    rows, records = list[tuple[str, ...]](), list[dict[str, Any]]()
    n_missing = 0
    for cell, runs in choosing.items():
        done = [result for _, result in runs if result is not None and result.status == "done"]
        n_missing += len(runs) - len(done)
        row = _row(f"{cell.problem}, {labels[cell]}", cell, runs, done)
        rows.append(row)
        records.append(_record(row, runs))
    return Document(
        "C",
        "What runs chose for themselves",
        "",
        _HEADERS,
        tuple(rows),
        _NOTES,
        tuple(records),
        was_run=bool(choosing),
        n_missing=n_missing,
    )


def _row(row: str, cell: Cell, runs: CellRuns, done: Sequence[RunResult]) -> tuple[str, ...]:
    error, size = _means(runs).values()
    counts = _counts(cell, done)
    chosen = ", ".join(f"{_told(one)} ({n})" for one, n in counts)
    return (row, _by(cell), chosen or "–", number(error, 2), number(size, 1), str(len(done)))


def _means(runs: CellRuns) -> dict[str, float | None]:
    found = summarise_runs(runs).quantities
    return {name: found[name].mean if name in found else None for name in ("test_error_percent", "dimensionality")}


def _by(cell: Cell) -> str:
    parameters = dict(cell.parameters)
    if CHOOSE_RETAIN in parameters:
        return f"retained variance, {value_text(parameters[CHOOSE_RETAIN])} %"
    return "validation error"


def _counts(cell: Cell, done: Sequence[RunResult]) -> list[tuple[tuple[tuple[str, float], ...], int]]:
    """Return how many runs chose what, in the order of the candidates."""
    names = list(_chosen_names(cell))
    found = Counter(tuple((name, result.values[f"{CHOSEN}{name}"]) for name in names) for result in done)
    return sorted(found.items(), key=lambda item: [value for _, value in item[0]])


def _chosen_names(cell: Cell) -> Iterator[str]:
    for name, _ in cell.parameters:
        if name.startswith(CHOOSE) and name not in (CHOOSE_BY, CHOOSE_RETAIN):
            yield name[len(CHOOSE) :]


def _told(chosen: Sequence[tuple[str, float]]) -> str:
    signs: Mapping[str, str] = {"tau": "τ = {}", "data_fraction": "{}%"}
    return ", ".join(signs.get(name, f"{name} = {{}}").format(value_text(value)) for name, value in chosen)


def _record(row: tuple[str, ...], runs: CellRuns) -> dict[str, Any]:
    """Return a row as plain values; how often what was chosen stands in one text, as it is printed."""
    return {"row": row[0], "by": row[1], "chosen": row[2], **_means(runs), "n": int(row[-1])}
