"""Settings that runs choose, and recommended settings of a config, by its validation splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pppca_bench.quantities import BALANCED_SCORES, ERRORS, described, error_of
from pppca_bench.reporting.document import EMPTY, Document, quantity_text
from pppca_bench.reporting.labels import distinct_labels, value_text
from pppca_bench.reporting.pairs import MARGIN
from pppca_bench.reporting.summary import CellRuns, Results
from pppca_bench.reporting.table import MeansTable, TableCell
from pppca_bench.runs import (
    CHOOSE_BY,
    CHOOSE_RETAIN,
    CHOSEN,
    SIGNS,
    Parameters,
    Scalar,
    candidates,
    grouped,
)
from pppca_bench.store.choices import recommended, score_to_choose_by

_KEY_LENGTH = 10
"""Number of characters of a run's key that name the run."""


def recommendations(table: MeansTable) -> Iterator[str]:
    """Yield the recommended cell of each problem, and the fewest features within `MARGIN` of it, as sentences.

    They are chosen by means over the validation splits, never by the test error: by the score that runs of the problem
    choose by or, without such runs, by the validation error. A cell whose runs choose their settings has the value of
    the setting that is the best over all runs. The cells of the table have errors and dimensionalities, as in X.
    """
    cells = [cell for cell in table.cells.values() if cell.source and cell.runs.n_done]
    for cells_of_problem in grouped(cells, lambda cell: cell.runs.cell.problem).values():
        score = score_to_choose_by(cell.runs.cell for cell in cells_of_problem)
        error = error_of(cells_of_problem[0].runs.quantities, "validation")
        quantity, sign = (f"validation_{score}", -1.0) if score else (error, 1.0)
        compared = [item for cell in cells_of_problem if (item := _validated(cell, quantity))]
        if not compared:
            continue
        best = min(compared, key=lambda item: (sign * item.value, item.size))
        near = [item for item in compared if sign * (item.value - best.value) <= MARGIN]
        smallest = min(near, key=lambda item: item.size)
        key = best.cell.runs.columns["key"][0][:_KEY_LENGTH]
        yield (
            f"Recommended by the {_measured(quantity)}: {_text(table, best, quantity)}. To fit it to all rows:"
            f' `pppca_bench.pipeline("{key}", final=True)`.'
        )
        if smallest.size < best.size:
            text = _text(table, smallest, quantity)
            yield f"Fewest features at most {MARGIN:g} point from it: {text}."


class _Validated(NamedTuple):
    """Cell with a mean over its validation splits and a number of features, both of ``setting`` if its runs choose."""

    cell: TableCell
    value: float
    size: float
    setting: Parameters


def _validated(cell: TableCell, quantity: str) -> _Validated | None:
    """Return a cell with the mean of a quantity of the validation split; None if its runs do not have it."""
    chosen = recommended(cell.runs.cell, cell.runs.records)
    setting, values = chosen or ((), {})
    value, size = (values.get(name, cell.runs.mean(name)) for name in (quantity, "dimensionality"))
    return None if value is None or size is None else _Validated(cell, value, size, setting)


def _text(table: MeansTable, item: _Validated, quantity: str) -> str:
    """Return place, setting and numbers of a recommended cell, and the call that fits it to all rows."""
    runs, facts = item.cell.runs, []
    if item.setting:
        n_chosen = _chosen(runs)
        facts.append(f"chosen in {n_chosen[item.setting]} of {n_chosen.total()} runs")
    score = quantity.removeprefix("validation_")
    tested = score if score in BALANCED_SCORES else error_of(runs.quantities)
    numbers = {quantity: item.value, "dimensionality": item.size}
    facts += [_measured(name, value) for name, value in numbers.items()]
    names = (tested, "dimensionality") if item.setting else (tested,)
    of_test = [_measured(name, value) for name in names if (value := runs.mean(name)) is not None]
    whose = "of the runs, each with the setting that it chose: " if item.setting else ""
    facts.append(whose + ", ".join(of_test))
    label = f"{table.row_labels[item.cell.row]}, {table.column_labels[item.cell.column]}"
    setting = f" → {settings_text(item.setting)}" if item.setting else ""
    return f"{label}{setting} ({'; '.join(facts)})"


def _measured(quantity: str, value: float | None = None) -> str:
    """Return the title of a quantity and, if given, its value with the unit, such as ``"test error 2.00 %"``."""
    title, _, unit = described(quantity).title.partition(", ")
    split = "test " if quantity in (*ERRORS, *BALANCED_SCORES) else ""
    number = "" if value is None else f" {quantity_text(quantity, value)} {unit}".rstrip()
    return f"{split}{title[:1].lower()}{title[1:]}{number}"


def choices_document(results: Results) -> Document:
    """Return C: a row for each cell whose runs choose their settings."""
    labels = distinct_labels(results.cells, with_tau=True)
    records, n_missing = [], 0
    for cell, runs in results.cells.items():
        parameters = dict(cell.parameters)
        if CHOOSE_BY not in parameters:
            continue
        retain = parameters.get(CHOOSE_RETAIN)
        by = str(parameters[CHOOSE_BY]).replace("_", " ")
        n_missing += runs.n_planned - runs.n_done
        chosen = [f"{settings_text(setting)} ({n})" for setting, n in sorted(_chosen(runs).items())]
        best = recommended(cell, runs.records)
        record = {
            "row": f"{cell.problem}, {labels[cell]}",
            "by": by if retain is None else f"{by}, {value_text(retain)} %",
            "chosen": ", ".join(chosen) or EMPTY,
            "recommended": best and settings_text(best[0]),
            **{name: runs.mean(name) for name in (error_of(runs.quantities), "dimensionality")},
            "n": runs.n_done,
        }
        if score := score_to_choose_by([cell]):
            record[score] = runs.mean(score)
        records.append(record)
    tested = (*ERRORS, *BALANCED_SCORES)
    shown = [name for name in tested if any(name in record for record in records)]
    for record in records:
        record.update((name, record.get(name)) for name in shown)
    columns = (
        ("Problem, method", "{row}"),
        ("by", "{by}"),
        ("chosen (runs)", "{chosen}"),
        ("recommended", "{recommended}"),
        *((described(name).title, f"{{{name}:.2f}}") for name in shown),
        ("Features", "{dimensionality:.1f}"),
        ("n", "{n}"),
    )
    note = (
        "Each run chose a setting by its own training and validation split; only the chosen setting was tested."
        " Errors, scores and features are means over these runs, each with the setting that it chose: they estimate the"
        " procedure that chooses. The recommended setting is the best by the mean over the runs; it was not tested by"
        " itself."
    )
    title = "Settings chosen by the runs themselves"
    return Document.of_records("C", title, columns, records, notes=(note,), n_missing=n_missing)


def _chosen(runs: CellRuns) -> Counter[Any]:
    """Count the runs that chose each combination of candidates, as `Parameters`."""
    names = [name for name, _ in candidates(runs.cell)[0]]
    chosen = [runs.values(f"{CHOSEN}{name}").values() for name in names]
    return Counter(tuple(zip(names, values, strict=True)) for values in zip(*chosen, strict=True))


def settings_text(settings: Iterable[tuple[str, Scalar]]) -> str:
    """Return a text such as ``"τ = 10, 25%"``."""
    return ", ".join(
        SIGNS.get(name, f"{name} = {{}}").format(value_text(value)) for name, value in settings
    )
