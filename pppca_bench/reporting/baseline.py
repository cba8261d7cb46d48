"""Baseline: recorded results of a full run, and the cells that differ from it.

The same seeds give the same numbers on every processor, so each repeat is compared with the recorded repeat: another
number is changed code. A cell differs, too, if it was not run, has other repeats than recorded, failed runs, other
settings or other data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pppca_bench.errors import StoreError
from pppca_bench.files import atomic_write
from pppca_bench.quantities import SIZES, described
from pppca_bench.reporting.comparison import Place
from pppca_bench.reporting.summary import NO_RUNS
from pppca_bench.reporting.table import Table, TableCell

FORMAT = 4
TOLERANCE = 1e-9
"""Relative difference, or absolute below 1, that is rounding: numbers are reproduced to ten digits."""

_PLACE = ("table", "row", "column", "quantity")
_FEATURES = "dimensionality"
RECORDED_AS = {"speedup": "speedup_operations"}
"""Timings depend on the machine: the baseline records the operation count of the same runs instead."""


class RecordedCell(NamedTuple):
    """Each repeat's value by its number, and the digest of settings and data; "" matches any."""

    values: Mapping[int, float]
    settings: str = ""


def record(tables: Sequence[Table]) -> dict[Place, RecordedCell]:
    """Return the baseline of filled tables: every published number that was run, except sizes and timings.

    Of every cell with such a number, the numbers of features are recorded, too.
    """
    recorded = {}
    for place, cell in cells_of(tables).items():
        quantity = _recorded_quantity(place)
        if (values := cell.runs.values(quantity)) and not (
            quantity in SIZES or described(quantity).is_timing
        ):
            recorded[place] = RecordedCell(values, cell.runs.settings)
    return recorded


def differences(
    tables: Sequence[Table],
    baseline: Mapping[Place, RecordedCell],
    n_repeats: int | None = None,
    tolerance: float = TOLERANCE,
) -> dict[Place, str]:
    """Return the cells that differ from the baseline, with the reason as a clause.

    Of each cell, the first ``n_repeats`` are compared (all by default); of these, more than recorded may have been run.
    """
    cells = cells_of(tables)
    reasons = {place: "was not recorded" for place in record(tables) if place not in baseline}
    for place, recorded in baseline.items():
        runs = cells[place].runs if place in cells else NO_RUNS
        ours = first_repeats(runs.values(_recorded_quantity(place)), n_repeats)
        expected = first_repeats(recorded.values, n_repeats)
        # Runs of other numbers of repeats than planned may have more repeats than recorded, but no gap between them.
        last = math.inf if n_repeats is None else max(recorded.values, default=-1)
        missing = [n for n in expected if n not in ours]
        added = [n for n in ours if n not in expected and n < last]
        apart = [
            n
            for n in expected
            if abs(ours.get(n, math.nan) - expected[n]) > tolerance * max(1.0, abs(expected[n]))
        ]
        if runs.n_failed:
            reasons[place] = f"has {runs.n_failed} failed run{'s' if runs.n_failed > 1 else ''}"
        elif not ours and expected:
            reasons[place] = "was not run"
        elif runs.settings and recorded.settings and runs.settings != recorded.settings:
            reasons[place] = "was run with other settings, or on other data, than recorded"
        elif missing:
            reasons[place] = f"lacks repeat {missing[0]}{_and_others(missing)}"
        elif added:
            reasons[place] = f"has repeat {added[0]}, which was not recorded{_and_others(added)}"
        elif apart:
            value, before = ours[apart[0]], recorded.values[apart[0]]
            reasons[place] = (
                f"is {value:.12g} in repeat {apart[0]}, recorded was {before:.12g}{_and_others(apart)}"
            )
    return reasons


def _and_others(repeats: list[int]) -> str:
    return f", and {len(repeats) - 1} other repeats" if len(repeats) > 1 else ""


def cells_of(tables: Iterable[Table]) -> dict[Place, TableCell]:
    """Return the cell of each published number that has a rule, and of its numbers of features."""
    return {
        (table.id, cell.row, cell.column, quantity): cell
        for table in tables
        if table.reference
        for cell in table.cells.values()
        if (
            compared := [
                name for name in cell.published if table.reference.rule(table.id, cell.row, name)
            ]
        )
        for quantity in dict.fromkeys((*compared, _FEATURES))
    }


def _recorded_quantity(place: Place) -> str:
    return RECORDED_AS.get(place[3], place[3])


def first_repeats(values: Mapping[int, float], n_repeats: int | None) -> dict[int, float]:
    """Return the values of the first repeats, of all of them for None."""
    return {
        repeat: value for repeat, value in values.items() if n_repeats is None or repeat < n_repeats
    }


def write_baseline(
    recorded: Mapping[Place, RecordedCell], path: Path, *, force: bool = False
) -> None:
    """Write a baseline as JSON, a line per cell, and replace an older file.

    Raises StoreError if there is no cell to record, or, unless ``force`` is set, if the older file has other cells.
    """
    if not recorded:
        raise StoreError(
            f"{path}: expected published cells that were run and whose quantity has a rule in `verdicts`, got none:"
            " nothing was recorded."
        )
    if path.exists() and not force and (lost := read_baseline(path).keys() - recorded.keys()):
        raise StoreError(
            f"{path}: expected results for all of its cells, got none for {len(lost)}, such as"
            f" {', '.join(min(lost))}: nothing was recorded. Run the configs of these cells, or add `--force`."
        )
    lines = [
        json.dumps(
            dict(zip(_PLACE, place, strict=True))
            | {"settings": cell.settings, "values": dict(cell.values)},
            ensure_ascii=False,
        )
        for place, cell in recorded.items()
    ]
    atomic_write(path, f'{{"format": {FORMAT}, "cells": [\n' + ",\n".join(lines) + "\n]}\n")


def read_baseline(path: Path, command: str = "pppca compare --record") -> dict[Place, RecordedCell]:
    """Read a baseline, which ``command`` writes; raise StoreError if the file is missing or is no baseline."""
    remedy = f"{'Delete it, and write it again' if path.exists() else 'Write it'} with `{command}`."
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            raise StoreError(
                f"{path}: expected a baseline of format {FORMAT}, got {document['format']}. {remedy}"
            )
        if not document["cells"]:
            raise StoreError(
                f"{path}: expected a baseline of at least one cell, got none. {remedy}"
            )
        return dict(_recorded(cell) for cell in document["cells"])
    except OSError as error:
        raise StoreError(
            f"{path}: the baseline cannot be read ({error.strerror}). {remedy}"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            f"{path}: expected a baseline, got something else ({error}). {remedy}"
        ) from None


def _recorded(cell: dict[str, Any]) -> tuple[Place, RecordedCell]:
    """Return the place and the results of a cell of the file."""
    place = (cell["table"], cell["row"], cell["column"], cell["quantity"])
    values = {int(repeat): float(value) for repeat, value in cell["values"].items()}
    is_named = all(isinstance(name, str) for name in place)
    if not is_named or not values or not all(map(math.isfinite, values.values())):
        raise ValueError(f"cell {cell!r}")
    return place, RecordedCell(values, cell["settings"])
