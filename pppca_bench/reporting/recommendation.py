"""Recommended settings of a config, by its validation splits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pppca_bench.quantities import BALANCED_SCORES, ERRORS, described, error_of
from pppca_bench.reporting.document import number_text
from pppca_bench.reporting.own_tables import settings_text
from pppca_bench.reporting.pairs import MARGIN
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.runs import CHOSEN, Parameters, grouped
from pppca_bench.store.choices import recommended, score_to_choose_by

_KEY_LENGTH = 10
"""Number of characters of a run's key that name the run."""


def recommendations(table: Table) -> Iterator[str]:
    """Yield the recommended cell of each problem, and the fewest features within `MARGIN` of it, as sentences.

    They are chosen by means over the validation splits, never by the test error: by the score that runs of the problem
    choose by or, without such runs, by the validation error. A cell whose runs choose their settings has the value of
    the setting that is the best over all runs. The cells of the table have errors and dimensionalities, as in X.
    """
    cells = [cell for cell in table.cells.values() if cell.source and cell.runs.n_done]
    for own in grouped(cells, lambda cell: cell.runs.cell.problem).values():
        score = score_to_choose_by(cell.runs.cell for cell in own)
        error = error_of(own[0].runs.quantities, "validation")
        quantity, sign = (f"validation_{score}", -1.0) if score else (error, 1.0)
        compared = [item for cell in own if (item := _validated(cell, quantity))]
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


def _text(table: Table, item: _Validated, quantity: str) -> str:
    """Return place, setting and numbers of a recommended cell, and the call that fits it to all rows."""
    runs, facts = item.cell.runs, []
    if item.setting:
        won = [
            all(run.get(f"{CHOSEN}{name}") == value for name, value in item.setting)
            for run in runs.records
        ]
        facts.append(f"chosen in {sum(won)} of {len(won)} runs")
    score = quantity.removeprefix("validation_")
    tested = score if score in BALANCED_SCORES else error_of(runs.quantities)
    numbers = {quantity: item.value, "dimensionality": item.size}
    facts += [_measured(name, value) for name, value in numbers.items()]
    names = (tested, "dimensionality") if item.setting else (tested,)
    of_test = [_measured(name, value) for name in names if (value := runs.mean(name)) is not None]
    whose = "of the runs, each with the setting that it chose: " if item.setting else ""
    facts.append(whose + ", ".join(of_test))
    place = f"{table.row_labels[item.cell.row]}, {table.column_labels[item.cell.column]}"
    setting = f" → {settings_text(item.setting)}" if item.setting else ""
    return f"{place}{setting} ({'; '.join(facts)})"


def _measured(quantity: str, value: float | None = None) -> str:
    """Return the title of a quantity and, if given, its value with the unit, such as ``"test error 2.00 %"``."""
    title, _, unit = described(quantity).title.partition(", ")
    split = "test " if quantity in (*ERRORS, *BALANCED_SCORES) else ""
    number = "" if value is None else f" {number_text(quantity, value)} {unit}".rstrip()
    return f"{split}{title[:1].lower()}{title[1:]}{number}"
