"""Runs of a table's cell: the cells of the results that a selection matches, and the value of each repeat."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pppca_bench.quantities import described
from pppca_bench.references.selection import Formula
from pppca_bench.results.frames import Runs
from pppca_bench.results.statistics import Summary, measured, summary_of
from pppca_bench.runs import Selector


def find_parts(runs: Runs, selection: Selector | Formula) -> list[list[int]]:
    """Return the numbers of the cells that each part of a selection matches."""
    return list(map(runs.find, selection.parts))


def only_cells(runs: Runs, selection: Selector | Formula) -> list[int]:
    """Return the number of the only cell of each part of a selection; nothing if a part matches none or several."""
    cells = []
    for part in find_parts(runs, selection):
        if len(part) != 1:
            return []
        cells += part
    return cells


def values_of(
    runs: Runs, selection: Selector | Formula, cells: Sequence[int], quantity: str
) -> dict[int, float]:
    """Return the value of each repeat, given the cell of each part of a selection.

    A formula has a value for each repeat that every part has; undefined ratios are left out.
    """
    columns = [runs.values(cell, quantity) for cell in cells]
    if not isinstance(selection, Formula):
        return columns[0]
    more_is_better = described(quantity).more_is_better
    values = {}
    for repeat in columns[0]:
        if all(repeat in column for column in columns):
            parts = [column[repeat] for column in columns]
            value = selection.of_repeat(parts, more_is_better=more_is_better)
            if not math.isnan(value):
                values[repeat] = value
    return values


def summary_of_cells(
    runs: Runs, selection: Selector | Formula, cells: Sequence[int], quantity: str
) -> Summary | None:
    """Return the statistics of a quantity over the repeats, given the cell of each part; None without a value."""
    values = [values_of(runs, selection, cells, name) for name in measured(quantity)]
    return summary_of(quantity, values, selection)
