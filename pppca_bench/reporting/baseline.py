"""Baseline: recorded results of a full run, the cells that differ from it, and the verdicts that another seed changes.

The same seeds give the same numbers on every processor, so each repeat is compared with the recorded repeat: another
number is changed code. A cell differs, too, if it was not run, has other repeats than recorded, failed runs, other
settings or other data.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from pppca_bench.errors import StoreError
from pppca_bench.files import atomic_write
from pppca_bench.quantities import SIZES, described
from pppca_bench.reporting.comparison import Comparison, Place, compare, mean_difference, text_grid
from pppca_bench.reporting.document import in_json
from pppca_bench.reporting.summary import NO_RUNS
from pppca_bench.reporting.table import MeansTable, TableCell
from pppca_bench.reporting.verdicts import VERDICTS
from pppca_bench.runs import grouped

FORMAT = 4
TOLERANCE = 1e-9
"""Relative difference, or absolute below 1, that is rounding: numbers are reproduced to ten digits."""

_PLACE = ("table", "row", "column", "quantity")
_FEATURES = "dimensionality"
RECORDED_AS = {"speedup": "speedup_operations"}
"""Timings depend on the machine: the baseline records the operation count of the same runs instead."""

_CHANGED = {
    "table": "{table}",
    "row": "{row}",
    "column": "{column}",
    "quantity": "{quantity}",
    "published": "{published}",
    "recorded": "{recorded_mean:.2f}",
    "ours": "{mean:.2f}",
    "verdict": "{recorded_verdict}",
    "verdict now": "{verdict}",
}
_COUNTED = {
    "table": "{table}",
    "quantity": "{quantity}",
    "numbers": "{n}",
    "fell": "{fell}",
    "rose": "{rose}",
    "unchanged": "{unchanged}",
    "mean of ours − published": "{mean:+.2f}",
    "ours below": "{n_below}",
}
"""Columns of grids, as in `comparison.text_grid`."""


class RecordedCell(NamedTuple):
    """Each repeat's value by its number, and the digest of settings and data; "" matches any."""

    values: Mapping[int, float]
    settings: str = ""


def record(tables: Sequence[MeansTable]) -> dict[Place, RecordedCell]:
    """Return the baseline of filled tables: every published number that was run, except sizes and timings.

    Of every cell with such a number, the numbers of features are recorded, too.
    """
    recorded = {}
    for location, cell in cells_of(tables).items():
        quantity = _recorded_quantity(location)
        if (values := cell.runs.values(quantity)) and not (
            quantity in SIZES or described(quantity).is_timing
        ):
            recorded[location] = RecordedCell(values, cell.runs.settings)
    return recorded


def differences(
    tables: Sequence[MeansTable],
    baseline: Mapping[Place, RecordedCell],
    n_repeats: int | None = None,
    tolerance: float = TOLERANCE,
) -> dict[Place, str]:
    """Return the cells that differ from the baseline, with the reason as a clause.

    Of each cell, the first ``n_repeats`` are compared (all by default); of these, more than recorded may have been run.
    """
    cells = cells_of(tables)
    reasons = {
        location: "was not recorded" for location in record(tables) if location not in baseline
    }
    for location, recorded in baseline.items():
        runs = cells[location].runs if location in cells else NO_RUNS
        ours = first_repeats(runs.values(_recorded_quantity(location)), n_repeats)
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
            reasons[location] = f"has {runs.n_failed} failed run{'s' if runs.n_failed > 1 else ''}"
        elif not ours and expected:
            reasons[location] = "was not run"
        elif runs.settings and recorded.settings and runs.settings != recorded.settings:
            reasons[location] = "was run with other settings, or on other data, than recorded"
        elif missing:
            reasons[location] = f"lacks repeat {missing[0]}{_and_others(missing)}"
        elif added:
            reasons[location] = f"has repeat {added[0]}, which was not recorded{_and_others(added)}"
        elif apart:
            value, before = ours[apart[0]], recorded.values[apart[0]]
            reasons[location] = (
                f"is {value:.12g} in repeat {apart[0]}, recorded was {before:.12g}{_and_others(apart)}"
            )
    return reasons


def _and_others(repeats: list[int]) -> str:
    return f", and {len(repeats) - 1} other repeats" if len(repeats) > 1 else ""


def cells_of(tables: Iterable[MeansTable]) -> dict[Place, TableCell]:
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


def _recorded_quantity(location: Place) -> str:
    return RECORDED_AS.get(location[3], location[3])


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
            dict(zip(_PLACE, location, strict=True))
            | {"settings": cell.settings, "values": dict(cell.values)},
            ensure_ascii=False,
        )
        for location, cell in recorded.items()
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
    location = (cell["table"], cell["row"], cell["column"], cell["quantity"])
    values = {int(repeat): float(value) for repeat, value in cell["values"].items()}
    is_named = all(isinstance(name, str) for name in location)
    if not is_named or not values or not all(map(math.isfinite, values.values())):
        raise ValueError(f"cell {cell!r}")
    return location, RecordedCell(values, cell["settings"])


class Change(NamedTuple):
    """Comparisons of a published number with the recorded results and with ours."""

    before: Comparison
    now: Comparison

    @property
    def direction(self) -> str:
        """Return whether the verdict fell (from reproduced to consistent to differs), rose or is unchanged."""
        steps = VERDICTS.index(self.now.verdict) - VERDICTS.index(self.before.verdict)
        return "fell" if steps > 0 else "rose" if steps < 0 else "unchanged"

    @property
    def record(self) -> dict[str, object]:
        """Return our comparison with the recorded mean and verdict."""
        recorded = {"recorded_mean": self.before.mean, "recorded_verdict": self.before.verdict}
        return self.now._asdict() | recorded

    @property
    def obstacle(self) -> str:
        """Return why the comparisons cannot be compared, or ""."""
        if not self.now.n:
            return "without runs, or with too few"
        if not self.before.n:
            return "recorded with other settings, on other data, or not at all"
        other = "recorded with another number of repeats (`--repeats N` takes the first N of them)"
        return other if self.before.n != self.now.n else ""


def changes(
    tables: Sequence[MeansTable],
    baseline: Mapping[Place, RecordedCell],
    n_repeats: int | None = None,
) -> list[Change]:
    """Return the changes of all published results, given the first ``n_repeats`` of the baseline (all by default).

    Choice: speed-ups are compared by their operation counts, as the baseline records them. Times would change verdicts
    without another seed.
    """
    cells, recorded = cells_of(tables), dict[object, dict[str, Mapping[int, float]]]()
    for location in baseline.keys() & cells.keys():
        # a correlation needs quantities in other columns with the same runs
        runs = location[0], cells[location].selector, baseline[location].settings
        recorded.setdefault(runs, {})[location[3]] = first_repeats(
            baseline[location].values, n_repeats
        )
    before, now = list[MeansTable](), list[MeansTable]()
    for table in tables:
        recorded_cells, ours = {}, {}
        for key, cell in table.cells.items():
            values = recorded.get((table.id, cell.selector, cell.runs.settings), {})
            recorded_cells[key] = cell._replace(ours=cell.runs.summarise(values))
            measured = {name: cell.ours[of] for name, of in RECORDED_AS.items() if of in cell.ours}
            ours[key] = cell._replace(ours={**cell.ours, **measured})
        before.append(table._replace(cells=recorded_cells))
        now.append(table._replace(cells=ours))
    pairs = zip(compare(before), compare(now), strict=True)
    return [Change(*pair) for pair in pairs if pair[0].is_result]


def render_changes(every: Sequence[Change], form: str) -> str:
    """Render the changed verdicts, and counts by table and quantity, as ``terminal`` or ``markdown`` text.

    ``json`` has every number that can be compared. Raise StoreError if there is none.
    """
    left = grouped(every, attrgetter("obstacle"))
    found = left.pop("", [])
    others = [
        f"Not compared: {len(left_out)} numbers {why}, such as {', '.join(left_out[0].now.place)}."
        for why, left_out in left.items()
    ]
    if not found:
        raise StoreError(
            f"baseline: expected recorded numbers of our runs, got none. {' '.join(others)}"
        )
    if form == "json":
        return in_json([change.record for change in found])
    changed = [
        change.record | {"published": f"{change.now.published:g}"}
        for change in found
        if change.direction != "unchanged"
    ]
    counts = []
    for (table, quantity), of_quantity in grouped(
        found, lambda change: itemgetter(0, 3)(change.now.place)
    ).items():
        mean, n_below = mean_difference([change.now for change in of_quantity])
        count = {"table": table, "quantity": quantity, "n": len(of_quantity)}
        counts.append(count | _directions(of_quantity) | {"mean": mean, "n_below": n_below})
    totals = _directions(found)
    n_changed = f"{totals['fell'] + totals['rose']} of {len(found)} verdicts change"
    said = f"{n_changed}: {totals['fell']} fell, {totals['rose']} rose."
    said += " Speed-ups are compared by their operation counts."
    grids = (text_grid(_CHANGED.items(), changed, form), text_grid(_COUNTED.items(), counts, form))
    return "\n\n".join((*grids, "\n".join((said, *others))))


def _directions(every: Iterable[Change]) -> dict[str, int]:
    counts = Counter(change.direction for change in every)
    return {name: counts[name] for name in ("fell", "rose", "unchanged")}
