"""The regression against recorded results: which cells got worse than the last full run.

The same seeds give the same numbers, so a partial run (its first repeats) is held against the same repeats of the
recorded full run, pair by pair: sampling error cancels, and what is left is a change of the code or the rounding of
another processor. A cell fails when it was not run, when its mean shifted by more than `SHIFT_ALLOWANCE` standard
errors of the full run, or when the full run's mean, shifted so, would earn a worse verdict than the recorded one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pppca_bench.comparison import VERDICTS, Verdict, judge
from pppca_bench.errors import StoreError
from pppca_bench.published import published
from pppca_bench.summary import Summary, summarise
from pppca_bench.tables import Table

FORMAT = 1
SHIFT_ALLOWANCE = 1.5
FLOORS: Mapping[str, float] = {"error_percent": 0.05, "dimensionality": 0.05, "speedup": 0.05}
"""Shifts that are harmless even where the recorded repeats do not vary, in the quantity's unit."""

_RECORDED_AS = {"speedup": "speedup_operations"}
"""A time tells of the machine; the operation count of the same runs stands for it in the baseline."""

Place = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class RecordedCell:
    """Hold what a full run gave for one published number.

    Attributes
    ----------
    verdict : str
        Of the full run.
    values : dict of int to float
        Each repeat's value by its number.
    """

    verdict: Verdict
    values: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Regression:
    """Say how one cell got worse than recorded.

    Attributes
    ----------
    place : tuple of str
        Table, row, column and quantity.
    reason : str
        One clause for the user.
    """

    place: Place
    reason: str


def record(tables: Iterable[Table]) -> dict[Place, RecordedCell]:
    """Return what a baseline keeps of filled tables: every cell that was published and run."""
    recorded = {}
    for table in tables:
        for cell in table.cells.values():
            for quantity, number in cell.published.items():
                source = _RECORDED_AS.get(quantity, quantity)
                if cell.values.get(source) and quantity in FLOORS:
                    place = (table.table, cell.row, cell.column, quantity)
                    verdict = judge(table.table, cell.row, cell.column, number, cell.ours[source]).verdict
                    recorded[place] = RecordedCell(verdict, cell.values[source])
    return recorded


def regressions(tables: Iterable[Table], baseline: Mapping[Place, RecordedCell]) -> list[Regression]:
    """List the cells of the baseline that were not run or got worse.

    Parameters
    ----------
    tables : iterable of Table
        Filled tables; they may hold fewer repeats than the baseline.
    baseline : mapping of place to RecordedCell
        See `record`.
    """
    values = {
        (table.table, cell.row, cell.column, quantity): cell.values.get(_RECORDED_AS.get(quantity, quantity), {})
        for table in tables
        for cell in table.cells.values()
        for quantity in FLOORS
    }
    found = (_regression(place, values.get(place, {}), recorded) for place, recorded in baseline.items())
    return [regression for regression in found if regression is not None]


def _regression(place: Place, ours: Mapping[int, float], recorded: RecordedCell) -> Regression | None:
    common = sorted(set(ours) & set(recorded.values))
    if not common:
        return Regression(place, "was not run")
    shift = math.fsum(ours[repeat] - recorded.values[repeat] for repeat in common) / len(common)
    full = summarise(list(recorded.values.values()))
    allowance = max(FLOORS[place[3]], SHIFT_ALLOWANCE * standard_error(full))
    if abs(shift) > allowance:
        return Regression(place, f"shifted by {shift:+.3g} over {len(common)} repeats (allowed: {allowance:.3g})")
    verdict = _verdict_of(place, replace(full, mean=full.mean + shift, low=full.low + shift, high=full.high + shift))
    if shift != 0.0 and VERDICTS.index(verdict) > VERDICTS.index(recorded.verdict):
        return Regression(place, f"would be {verdict!r}, recorded was {recorded.verdict!r}")
    return None


def standard_error(summary: Summary) -> float:
    """Return the standard error of a mean; 0 for a single repeat."""
    return 0.0 if summary.n == 1 else summary.sd / math.sqrt(summary.n)


def _verdict_of(place: Place, ours: Summary) -> Verdict:
    number = published(*place)
    if number is None:
        raise StoreError(f"baseline: expected a published number at {', '.join(place)}, got none. Record it anew.")
    return judge(*place[:3], number, ours).verdict


def write_baseline(recorded: Mapping[Place, RecordedCell], path: Path) -> None:
    """Write a baseline as JSON, one cell a line."""
    lines = [json.dumps(_to_json(place, cell), ensure_ascii=False) for place, cell in recorded.items()]
    text = f'{{"format": {FORMAT}, "cells": [\n' + ",\n".join(lines) + "\n]}\n"
    path.write_text(text, encoding="utf-8")


def read_baseline(path: Path) -> dict[Place, RecordedCell]:
    """Read a baseline.

    Raises
    ------
    StoreError
        The file is missing or no baseline.
    """
    remedy = "Write one with `pppca compare --record`."
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            raise StoreError(f"{path}: expected a baseline of format {FORMAT}, got {document['format']}. {remedy}")
        return dict(_from_json(cell) for cell in document["cells"])
    except OSError as error:
        raise StoreError(f"{path}: the baseline cannot be read ({error.strerror}). {remedy}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{path}: expected a baseline, got something else ({error}). {remedy}") from None


def _to_json(place: Place, cell: RecordedCell) -> dict[str, Any]:
    names = dict(zip(("table", "row", "column", "quantity"), place, strict=True))
    return {**names, "verdict": cell.verdict, "values": {str(key): value for key, value in cell.values.items()}}


def _from_json(cell: dict[str, Any]) -> tuple[Place, RecordedCell]:
    place = (cell["table"], cell["row"], cell["column"], cell["quantity"])
    if cell["verdict"] not in VERDICTS:
        raise ValueError(f"verdict {cell['verdict']!r}")
    return place, RecordedCell(cell["verdict"], {int(key): float(value) for key, value in cell["values"].items()})
