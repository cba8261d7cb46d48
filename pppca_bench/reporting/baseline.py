"""Recorded results of a full run, and the cells that became worse since.

The same seeds give the same numbers, so a partial run (the first repeats) is compared pair by pair with the same
repeats of the recorded full run. On the same processor the sampling error cancels, and a changed mean is changed code.
The rounding of another processor changes the course of some repeats, in many cells at once, as if other seeds were
drawn for them.

A cell fails when it was not run, when it has failed runs, other settings or other data than recorded, or when

- *changed code*: more of its pairs differ than another processor explains, and either its mean shifted by more than
  `SHIFT_ALLOWANCE` standard errors of the full run, or the full run's mean, shifted by as much, would get a worse
  verdict than the recorded verdict;
- *another processor*: fewer pairs differ, but the mean shifted by more than these pairs can shift it: their share
  times the range of the recorded repeats.

Let each pair differ with probability `OTHER_PROCESSOR`. Another processor does not explain a cell or a table with a
quantity whose number of differing pairs then has a probability below `FALSE_ALARMS` over the number of cells and
tables. For a cell the probability is `SAME_PROCESSOR` where no larger share of the pairs of all other rows differ. So
a change of one cell, of one row, or of a whole table is detected on the same processor; on another processor a change
of a single cell is detected only beyond its range.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pppca_bench.errors import StoreError
from pppca_bench.files import atomic_write
from pppca_bench.references.numbers import Number, Tolerance
from pppca_bench.reporting.comparison import VERDICTS, Place, Verdict, judge
from pppca_bench.reporting.summary import summarise
from pppca_bench.reporting.table import Table, TableCell

FORMAT = 3
SHIFT_ALLOWANCE = 1.5
FALSE_ALARMS = 0.005
SAME_PROCESSOR, OTHER_PROCESSOR = 0.02, 0.5
"""Probabilities that a pair differs.

Choice: between processors with vectors of another width a third of NE-pPCA's test errors differ on average, none of
DGHA's; a half leaves room for the problems where more of them do.
"""

_PLACE = ("table", "row", "column", "quantity")
_SLACK = 1e-9
_RECORDED_AS = {"speedup": "speedup_operations"}
"""Timings depend on the machine: the baseline records the operation count of the same runs instead."""


@dataclass(frozen=True, slots=True)
class RecordedCell:
    """Results of a full run for one published number.

    ``values`` has each repeat's value by its number, ``settings`` the digest of settings and data; "" matches any.
    """

    verdict: Verdict
    values: Mapping[int, float]
    settings: str = ""


def record(tables: Iterable[Table]) -> dict[Place, RecordedCell]:
    """Return the baseline of filled tables: every cell that was published and run."""
    recorded = {}
    for place, (cell, rule) in _cells(tables).items():
        values = _values(cell, place)
        if place[3] in cell.published and rule.moves is not None and values:
            ours = cell.ours[_RECORDED_AS.get(place[3], place[3])]
            verdict = judge(place, cell.published[place[3]], ours, rule).verdict
            recorded[place] = RecordedCell(verdict, values, cell.settings)
    return recorded


def regressions(tables: Iterable[Table], baseline: Mapping[Place, RecordedCell]) -> dict[Place, str]:
    """Return the cells of the baseline that have failed runs, were not run, have other settings, or became worse.

    Filled tables may hold fewer repeats than the baseline. The reason of each cell is a clause.
    """
    cells = {place: known for place, known in _cells(tables).items() if place in baseline}
    reasons: dict[Place, str] = {}
    for place, (cell, _) in cells.items():
        settings = baseline[place].settings
        if cell.n_failed:
            reasons[place] = f"has {cell.n_failed} failed run{'s' if cell.n_failed > 1 else ''}"
        elif cell.settings and settings and cell.settings != settings:
            reasons[place] = "was run with other settings, or on other data, than recorded"
    values = {place: _values(cell, place) for place, (cell, _) in cells.items()}
    rules = {
        place: (cell.published[place[3]], rule) for place, (cell, rule) in cells.items() if place[3] in cell.published
    }
    worse = changes(values, baseline, rules)
    return reasons | {place: reason for place, reason in worse.items() if place not in reasons}


def _cells(tables: Iterable[Table]) -> dict[Place, tuple[TableCell, Tolerance]]:
    """Return every cell with the tolerance of each quantity that has a tolerance."""
    return {
        (table.id, cell.row, cell.column, quantity): (cell, rule)
        for table in tables
        for cell in table.cells.values()
        for quantity, rule in (table.reference.tolerances.items() if table.reference else ())
    }


def _values(cell: TableCell, place: Place) -> Mapping[int, float]:
    return cell.values.get(_RECORDED_AS.get(place[3], place[3]), {})


def changes(
    values: Mapping[Place, Mapping[int, float]],
    baseline: Mapping[Place, RecordedCell],
    rules: Mapping[Place, tuple[Number, Tolerance]],
) -> dict[Place, str]:
    """Return the cells of the baseline that were not run or became worse, with the reason.

    ``values`` has each repeat's value by its number, ``rules`` the published numbers with their tolerances.
    """
    rows = []
    for place, recorded in baseline.items():
        ours = values.get(place, {})
        # Ours minus recorded, for the repeats that both have.
        differences = [ours[repeat] - value for repeat, value in recorded.values.items() if repeat in ours]
        n_differing = sum(abs(difference) > _SLACK for difference in differences)
        rows.append((*place, len(differences), n_differing, math.fsum(differences) / max(1, len(differences))))
    pairs = pd.DataFrame(rows, columns=[*_PLACE, "n", "n_differing", "shift"])
    pairs["is_code"] = _code_changed(pairs)
    reasons = {
        place: _reason(place, baseline[place], rules.get(place), cell)
        for place, cell in zip(baseline, pairs.itertuples(), strict=True)
    }
    return {place: reason for place, reason in reasons.items() if reason}


def _code_changed(pairs: pd.DataFrame) -> pd.Series[bool]:
    """Return whether more pairs of each cell, or of its table, differ than another processor explains."""
    from scipy.special import bdtrc

    names = ["n_differing", "n"]
    counts, tables = pairs[names], pairs.groupby(["table", "quantity"])[names]
    other_rows = counts.sum() - pairs.groupby("row")[names].transform("sum")
    is_other = other_rows["n_differing"] > SAME_PROCESSOR * other_rows["n"]
    level = FALSE_ALARMS / max(1, len(pairs) + tables.ngroups)
    # bdtrc(k - 1, n, p) is the probability of k or more differing pairs of n.
    k, n = tables.transform("sum").to_numpy().T
    of_tables = bdtrc(k - 1, n, OTHER_PROCESSOR)
    k, n = counts.to_numpy().T
    of_cells = bdtrc(k - 1, n, np.where(is_other, OTHER_PROCESSOR, SAME_PROCESSOR))
    return pd.Series(np.minimum(of_tables, of_cells) < level, index=pairs.index)


def _reason(place: Place, recorded: RecordedCell, rule: tuple[Number, Tolerance] | None, pairs: Any) -> str | None:
    """Return why a cell is worse than recorded, given its row of pairs; None where it is not."""
    if not pairs.n:
        return "was not run"
    values = list(recorded.values.values())
    full = summarise(values)
    allowance = _SLACK + (SHIFT_ALLOWANCE * full.sd / math.sqrt(full.n) if full.n > 1 else 0.0)
    if not pairs.is_code:
        moves = (rule and rule[1].moves) or 0.0
        allowance = max(allowance, pairs.n_differing / pairs.n * (max(max(values) - min(values), moves) + _SLACK))
    if abs(pairs.shift) > allowance:
        return f"shifted by {pairs.shift:+.3g} over {pairs.n} repeats (allowed: {allowance:.3g})"
    if not pairs.is_code:
        return None
    if rule is None:
        named = ", ".join(place)
        raise StoreError(f"baseline: expected a published number at {named}, got none. Record it again.")
    shifted = replace(full, mean=full.mean + pairs.shift, low=full.low + pairs.shift, high=full.high + pairs.shift)
    verdict = judge(place, rule[0], shifted, rule[1]).verdict
    if VERDICTS.index(verdict) <= VERDICTS.index(recorded.verdict):
        return None
    return f"would be {verdict!r}, recorded was {recorded.verdict!r}"


def write_baseline(recorded: Mapping[Place, RecordedCell], path: Path, *, force: bool = False) -> None:
    """Write a baseline as JSON, a line per cell, and replace an older file.

    Raises
    ------
    StoreError
        There is no cell to record, or the older baseline has others, unless ``force`` is set.
    """
    if not recorded:
        raise StoreError(
            f"{path}: expected cells that were published and run, and whose rule of verdict has `moves`, got none:"
            " nothing was recorded."
        )
    if path.exists() and not force and (lost := read_baseline(path).keys() - recorded.keys()):
        raise StoreError(
            f"{path}: expected results of every cell that it has, got none of {len(lost)}, such as"
            f" {', '.join(min(lost))}: nothing was recorded. Run their configs, or take `--force`."
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


def read_baseline(path: Path) -> dict[Place, RecordedCell]:
    """Read a baseline.

    Raises
    ------
    StoreError
        The file is missing or no baseline.
    """
    remedy = "Write it with `pppca compare --record --force`."
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
    """Return the place and the results of a cell as JSON holds them."""
    place = (cell["table"], cell["row"], cell["column"], cell["quantity"])
    values = {int(repeat): float(value) for repeat, value in cell["values"].items()}
    is_named = all(isinstance(name, str) for name in place) and cell["verdict"] in VERDICTS
    if not is_named or not values or not all(map(math.isfinite, values.values())):
        raise ValueError(f"cell {cell!r}")
    return place, RecordedCell(cell["verdict"], values, cell["settings"])
