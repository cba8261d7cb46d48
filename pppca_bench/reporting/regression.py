"""The regression against recorded results: which cells changed since the last full run.

The same seeds give the same numbers, so a partial run (its first repeats) is held against the same repeats of the
recorded full run, pair by pair: on the same processor sampling error cancels, and a changed mean is changed code. The
rounding of another processor sends some repeats another course, as if they were drawn anew, in many cells at once.

A cell fails when it was not run, when it was run with other settings or on other data than the recorded ones, or when

- *changed code*: more of its pairs differ than another processor explains, and either its mean shifted by more than
  `SHIFT_ALLOWANCE` standard errors of the full run, or the full run's mean, shifted so, would earn a worse verdict
  than the recorded one;
- *another processor*: fewer differ, but the mean shifted by more than so many repeats drawn anew can shift it: their
  share times the range of the recorded repeats.

Another processor does not explain a cell or a whole table whose count of differing pairs has a chance of less than
`FALSE_ALARMS` over the number of cells and tables, where each pair differs with the chance `OTHER_PROCESSOR`; and of a
cell `SAME_PROCESSOR`, when no more than that share of the pairs of all other rows differ. So a change of one cell, of
one row, and of a whole table are held strictly; on another processor a change of single cells is seen only beyond
their range.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pppca_bench.errors import StoreError
from pppca_bench.files import atomic_write
from pppca_bench.references.numbers import Number, Tolerance
from pppca_bench.reporting.comparison import VERDICTS, Place, Verdict, judge, tolerance
from pppca_bench.reporting.summary import Summary, summarise
from pppca_bench.reporting.table import Table, TableCell

FORMAT = 3
SHIFT_ALLOWANCE = 1.5
FALSE_ALARMS = 0.005
SAME_PROCESSOR, OTHER_PROCESSOR = 0.02, 0.5
"""Chances of a pair to differ.

Choice: between processors with vectors of another width a third of NE-pPCA's test errors differ on average, none of
DGHA's; a half leaves room for the problems where more than that do.
"""

_HAIR = 1e-9
_RECORDED_AS = {"speedup": "speedup_operations"}
"""A time tells of the machine; the operation count of the same runs stands for it in the baseline."""


@dataclass(frozen=True, slots=True)
class RecordedCell:
    """Hold what a full run gave for one published number.

    Attributes
    ----------
    verdict : str
        Of the full run.
    values : dict of int to float
        Each repeat's value by its number.
    settings : str
        Digest of the settings and the data that were run; "" is held against none.
    """

    verdict: Verdict
    values: Mapping[int, float]
    settings: str = ""


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
                rule = tolerance(table, quantity)
                if rule and rule.moves is not None and cell.values.get(source):
                    place = (table.id, cell.row, cell.column, quantity)
                    verdict = judge(place, number, cell.ours[source], rule).verdict
                    recorded[place] = RecordedCell(verdict, cell.values[source], cell.settings)
    return recorded


def regressions(tables: Sequence[Table], baseline: Mapping[Place, RecordedCell]) -> list[Regression]:
    """List the cells of the baseline that have failed runs, were not run, run with other settings, or got worse.

    Parameters
    ----------
    tables : sequence of Table
        Filled tables; they may hold fewer repeats than the baseline.
    baseline : mapping of place to RecordedCell
        See `record`.
    """
    values = {
        (table.id, cell.row, cell.column, quantity): cell.values.get(_RECORDED_AS.get(quantity, quantity), {})
        for table in tables
        for cell in table.cells.values()
        for quantity in _recorded_of(table)
    }
    broken: dict[Place, Regression] = {}
    for table in tables:
        for cell in table.cells.values():
            for place in ((table.id, cell.row, cell.column, quantity) for quantity in _recorded_of(table)):
                if place in baseline and (reason := _broken(cell, baseline[place])):
                    broken[place] = Regression(place, reason)
    rules = {
        (table.id, cell.row, cell.column, quantity): (number, rule)
        for table in tables
        for cell in table.cells.values()
        for quantity, number in cell.published.items()
        if (rule := tolerance(table, quantity))
    }
    found = changes(values, baseline, rules)
    return [*broken.values(), *(one for one in found if one.place not in broken)]


def _recorded_of(table: Table) -> list[str]:
    """Return the quantities of a table that a baseline keeps."""
    rules = table.reference.tolerances if table.reference else {}
    return [quantity for quantity, rule in rules.items() if rule.moves is not None]


def _broken(cell: TableCell, recorded: RecordedCell) -> str | None:
    if cell.n_failed:
        return f"has {cell.n_failed} failed run{'s' if cell.n_failed > 1 else ''}"
    if cell.settings and recorded.settings and cell.settings != recorded.settings:
        return "was run with other settings, or on other data, than recorded"
    return None


def changes(
    values: Mapping[Place, Mapping[int, float]],
    baseline: Mapping[Place, RecordedCell],
    rules: Mapping[Place, tuple[Number, Tolerance]],
) -> list[Regression]:
    """List the cells of the baseline that were not run or got worse.

    Parameters
    ----------
    values : mapping of place to mapping of int to float
        Each repeat's value by its number.
    baseline : mapping of place to RecordedCell
        See `record`.
    rules : mapping of place to (Number, Tolerance)
        The published numbers, and what is tolerated.
    """
    pairs = {place: _pairs(values.get(place, {}), recorded) for place, recorded in baseline.items()}
    changed = _with_changed_code(pairs)
    found = (_regression(place, pairs[place], rules.get(place), place in changed) for place in baseline)
    return [regression for regression in found if regression is not None]


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Hold a cell's differences from the recorded repeats, ours minus recorded."""

    recorded: RecordedCell
    differences: tuple[float, ...]

    @property
    def n(self) -> int:
        return len(self.differences)

    @property
    def n_differing(self) -> int:
        return sum(abs(difference) > _HAIR for difference in self.differences)


def _pairs(ours: Mapping[int, float], recorded: RecordedCell) -> _Pairs:
    theirs = recorded.values
    return _Pairs(recorded, tuple(ours[repeat] - theirs[repeat] for repeat in theirs if repeat in ours))


def _with_changed_code(pairs: Mapping[Place, _Pairs]) -> set[Place]:
    """Return the cells where more pairs differ than another processor explains."""
    rows: dict[str, list[_Pairs]] = {}
    tables: dict[tuple[str, str], list[_Pairs]] = {}
    for (table, row, _, quantity), cell in pairs.items():
        rows.setdefault(row, []).append(cell)
        tables.setdefault((table, quantity), []).append(cell)
    level = FALSE_ALARMS / max(1, len(pairs) + len(tables))
    everything = _counts(pairs.values())
    of_rows = {row: _share(everything - _counts(cells)) for row, cells in rows.items()}
    strict = {key for key, cells in tables.items() if _chance(_counts(cells), OTHER_PROCESSOR) < level}
    return {
        place
        for place, cell in pairs.items()
        if (place[0], place[3]) in strict or _chance(_counts([cell]), of_rows[place[1]]) < level
    }


def _counts(cells: Iterable[_Pairs]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for cell in cells:
        counts.update(differing=cell.n_differing, all=cell.n)
    return counts


def _share(others: Counter[str]) -> float:
    return OTHER_PROCESSOR if others["differing"] > SAME_PROCESSOR * others["all"] else SAME_PROCESSOR


def _chance(counts: Counter[str], share: float) -> float:
    """Return the chance that so many pairs differ or more."""
    from scipy.special import bdtrc

    return float(bdtrc(counts["differing"] - 1, counts["all"], share)) if counts["differing"] else 1.0


def _regression(place: Place, pairs: _Pairs, rule: tuple[Number, Tolerance] | None, is_code: bool) -> Regression | None:
    if not pairs.n:
        return Regression(place, "was not run")
    full = summarise(list(pairs.recorded.values.values()))
    shift = math.fsum(pairs.differences) / pairs.n
    allowance = SHIFT_ALLOWANCE * standard_error(full) + _HAIR
    if not is_code:
        allowance = max(allowance, pairs.n_differing / pairs.n * _range(pairs.recorded, rule))
    if abs(shift) > allowance:
        return Regression(place, f"shifted by {shift:+.3g} over {pairs.n} repeats (allowed: {allowance:.3g})")
    if is_code:
        if rule is None:
            what = ", ".join(place)
            raise StoreError(f"baseline: expected a published number at {what}, got none. Record it anew.")
        shifted = replace(full, mean=full.mean + shift, low=full.low + shift, high=full.high + shift)
        verdict = judge(place, rule[0], shifted, rule[1]).verdict
        if VERDICTS.index(verdict) > VERDICTS.index(pairs.recorded.verdict):
            return Regression(place, f"would be {verdict!r}, recorded was {pairs.recorded.verdict!r}")
    return None


def _range(recorded: RecordedCell, rule: tuple[Number, Tolerance] | None) -> float:
    values = recorded.values.values()
    return max(max(values) - min(values), (rule and rule[1].moves) or 0.0) + _HAIR


def standard_error(summary: Summary) -> float:
    """Return the standard error of a mean; 0 for a single repeat."""
    return 0.0 if summary.n == 1 else summary.sd / math.sqrt(summary.n)


def write_baseline(recorded: Mapping[Place, RecordedCell], path: Path, *, force: bool = False) -> None:
    """Write a baseline as JSON, one cell a line, in the place of an older one.

    Parameters
    ----------
    recorded : mapping of place to RecordedCell
    path : Path
    force : bool, default False
        Replace one that holds more cells.

    Raises
    ------
    StoreError
        There is no cell to record, or fewer than the older one has.
    """
    if not recorded:
        raise StoreError(
            f"{path}: expected cells that were published and run, and whose rule of verdict has `moves`, got none:"
            " nothing was recorded."
        )
    if path.exists() and not force and len(lost := read_baseline(path).keys() - recorded.keys()) > 0:
        raise StoreError(
            f"{path}: expected results of every cell that it has, got none of {len(lost)}, such as"
            f" {', '.join(min(lost))}: nothing was recorded. Run their configs, or take `--force`."
        )
    lines = [json.dumps(_to_json(place, cell), ensure_ascii=False) for place, cell in recorded.items()]
    text = f'{{"format": {FORMAT}, "cells": [\n' + ",\n".join(lines) + "\n]}\n"
    atomic_write(path, text)


def read_baseline(path: Path) -> dict[Place, RecordedCell]:
    """Read a baseline.

    Raises
    ------
    StoreError
        The file is missing or no baseline.
    """
    remedy = "Write one with `pppca compare --record --force`."
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            raise StoreError(f"{path}: expected a baseline of format {FORMAT}, got {document['format']}. {remedy}")
        if not document["cells"]:
            raise StoreError(f"{path}: expected a baseline of at least one cell, got none. {remedy}")
        return dict(_from_json(cell) for cell in document["cells"])
    except OSError as error:
        raise StoreError(f"{path}: the baseline cannot be read ({error.strerror}). {remedy}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{path}: expected a baseline, got something else ({error}). {remedy}") from None


def _to_json(place: Place, cell: RecordedCell) -> dict[str, Any]:
    names = dict(zip(("table", "row", "column", "quantity"), place, strict=True))
    return {
        **names,
        "verdict": cell.verdict,
        "settings": cell.settings,
        "values": {str(key): value for key, value in cell.values.items()},
    }


def _from_json(cell: dict[str, Any]) -> tuple[Place, RecordedCell]:
    place = (cell["table"], cell["row"], cell["column"], cell["quantity"])
    if cell["verdict"] not in VERDICTS:
        raise ValueError(f"verdict {cell['verdict']!r}")
    if not all(isinstance(name, str) for name in place):
        raise ValueError(f"place {place!r}")
    values = {int(key): float(value) for key, value in cell["values"].items()}
    if not values or not all(map(math.isfinite, values.values())):
        raise ValueError(f"values {cell['values']!r}")
    return place, RecordedCell(cell["verdict"], values, cell["settings"])
