"""Baseline: recorded results of a full run, and the cells that became worse since then.

The same seeds give the same numbers on every processor, so a partial run (the first repeats) is compared pair by pair
with the same repeats of the recorded full run: a changed mean is changed code. A cell fails when it was not run, when
it has failed runs, other settings or other data than recorded, when its mean shifted by more than `SHIFT_ALLOWANCE`
standard errors of the full run, or when the full run's mean, shifted by as much, would get a worse verdict than the
recorded verdict.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pppca_bench.errors import StoreError
from pppca_bench.files import atomic_write
from pppca_bench.references.numbers import Number, Tolerance
from pppca_bench.reporting.comparison import VERDICTS, Place, Verdict, judge
from pppca_bench.reporting.summary import summarise
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.runs import SIZES, described

FORMAT = 3
SHIFT_ALLOWANCE = 1.5

_PLACE = ("table", "row", "column", "quantity")
_SLACK = 1e-9
"""Relative difference that is rounding: numbers are reproduced to ten digits."""

_RECORDED_AS = {"speedup": "speedup_operations"}
"""Timings depend on the machine: the baseline records the operation count of the same runs instead."""


class RecordedCell(NamedTuple):
    """Results of a full run for a published number.

    ``values`` has each repeat's value by its number, ``settings`` the digest of settings and data; "" matches any.
    """

    verdict: Verdict
    values: Mapping[int, float]
    settings: str = ""


def record(tables: Iterable[Table]) -> dict[Place, RecordedCell]:
    """Return the baseline of filled tables: every published number that was run, except sizes and timings."""
    recorded = {}
    for place, (cell, rule) in _cells(tables).items():
        values, measured = _values(cell, place), _RECORDED_AS.get(place[3], place[3])
        if values and not (measured in SIZES or described(measured).is_timing):
            verdict = judge(cell.published[place[3]], summarise(list(values.values())), rule)
            recorded[place] = RecordedCell(verdict, values, cell.settings)
    return recorded


def regressions(tables: Iterable[Table], baseline: Mapping[Place, RecordedCell]) -> dict[Place, str]:
    """Return the cells of the baseline that have failed runs, were not run, have other settings, or became worse.

    Filled tables may have fewer repeats than the baseline. The reason of each cell is a clause.
    """
    cells, reasons = _cells(tables), dict[Place, str | None]()
    for place, recorded in baseline.items():
        cell, rule = cells.get(place, (None, None))
        if cell is None or rule is None:
            reasons[place] = "was not run"
        elif cell.n_failed:
            reasons[place] = f"has {cell.n_failed} failed run{'s' if cell.n_failed > 1 else ''}"
        elif cell.settings and recorded.settings and cell.settings != recorded.settings:
            reasons[place] = "was run with other settings, or on other data, than recorded"
        else:
            reasons[place] = regression(recorded, _values(cell, place), cell.published[place[3]], rule)
    return {place: reason for place, reason in reasons.items() if reason}


def _cells(tables: Iterable[Table]) -> dict[Place, tuple[TableCell, Tolerance]]:
    """Return the cell and the tolerance of each published number that has a tolerance."""
    return {
        (table.id, cell.row, cell.column, quantity): (cell, table.reference.tolerances[quantity])
        for table in tables
        for cell in table.cells.values()
        for quantity in cell.published
        if table.reference and quantity in table.reference.tolerances
    }


def _values(cell: TableCell, place: Place) -> Mapping[int, float]:
    return cell.values(_RECORDED_AS.get(place[3], place[3]))


def regression(recorded: RecordedCell, ours: Mapping[int, float], number: Number, rule: Tolerance) -> str | None:
    """Return why our values, by the number of the repeat, are worse than recorded; None if they are not."""
    differences = [ours[repeat] - value for repeat, value in recorded.values.items() if repeat in ours]
    if not differences:
        return "was not run"
    full, shift = summarise(list(recorded.values.values())), math.fsum(differences) / len(differences)
    slack = _SLACK * max(1.0, abs(full.mean))
    if abs(shift) <= slack:
        return None
    allowance = slack + (SHIFT_ALLOWANCE * full.sd / math.sqrt(full.n) if full.n > 1 else 0.0)
    if abs(shift) > allowance:
        return f"shifted by {shift:+.3g} over {len(differences)} repeats (allowed: {allowance:.3g})"
    shifted = full._replace(mean=full.mean + shift, low=full.low + shift, high=full.high + shift)
    verdict = judge(number, shifted, rule)
    if VERDICTS.index(verdict) <= VERDICTS.index(recorded.verdict):
        return None
    return f"would be {verdict!r}, recorded was {recorded.verdict!r}"


def write_baseline(recorded: Mapping[Place, RecordedCell], path: Path, *, force: bool = False) -> None:
    """Write a baseline as JSON, a line per cell, and replace an older file.

    Raises StoreError if there is no cell to record, or, unless ``force`` is set, if the older file has other cells.
    """
    if not recorded:
        raise StoreError(
            f"{path}: expected published cells that were run and whose quantity has a tolerance, got none: nothing was"
            " recorded."
        )
    if path.exists() and not force and (lost := read_baseline(path).keys() - recorded.keys()):
        raise StoreError(
            f"{path}: expected results for all of its cells, got none for {len(lost)}, such as"
            f" {', '.join(min(lost))}: nothing was recorded. Run the configs of these cells, or add `--force`."
        )
    lines = [
        json.dumps(
            dict(zip(_PLACE, place, strict=True))
            | {"verdict": cell.verdict, "settings": cell.settings, "values": dict(cell.values)},
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
            raise StoreError(f"{path}: expected a baseline of format {FORMAT}, got {document['format']}. {remedy}")
        if not document["cells"]:
            raise StoreError(f"{path}: expected a baseline of at least one cell, got none. {remedy}")
        return dict(_recorded(cell) for cell in document["cells"])
    except OSError as error:
        raise StoreError(f"{path}: the baseline cannot be read ({error.strerror}). {remedy}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{path}: expected a baseline, got something else ({error}). {remedy}") from None


def _recorded(cell: dict[str, Any]) -> tuple[Place, RecordedCell]:
    """Return the place and the results of a cell of the file."""
    place = (cell["table"], cell["row"], cell["column"], cell["quantity"])
    values = {int(repeat): float(value) for repeat, value in cell["values"].items()}
    is_named = all(isinstance(name, str) for name in place) and cell["verdict"] in VERDICTS
    if not is_named or not values or not all(map(math.isfinite, values.values())):
        raise ValueError(f"cell {cell!r}")
    return place, RecordedCell(cell["verdict"], values, cell["settings"])
