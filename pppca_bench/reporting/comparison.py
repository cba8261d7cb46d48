"""Ours against published: a verdict for every cell, scores, and the regression against a recorded baseline.

The rule, written down before any result was looked at. A cell is

- *reproduced* when the published value lies inside our 95 % interval of the mean widened by the rounding of
  print, or differs from our mean by no more than the reference's tolerance for its quantity;
- *close* when it differs by no more than the wider tolerance;
- *differs* otherwise, and *not run* when none of its repeats is in.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from tabulate import tabulate

from pppca_bench.references.layout import Scored
from pppca_bench.references.numbers import Number, Tolerance
from pppca_bench.reporting.summary import Summary
from pppca_bench.reporting.table import Table, TableCell

Place = tuple[str, str, str, str]
"""Table, row, column and quantity of a published number."""

Verdict = Literal["reproduced", "close", "differs", "not run"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

EXACT = Tolerance(0.0, 0.0, "points")
"""Rule of a quantity for which a reference states none: a size, which is right or wrong."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compare one published number with ours.

    Attributes
    ----------
    table, row, column, quantity : str
        Place of the number.
    published : float
        As printed.
    mean, sd, low, high : float or None
        Ours over the repeats, and the 95 % interval of the mean; None where undefined or not run.
    n : int
        Repeats behind it.
    difference : float or None
        Ours minus published.
    verdict : str
        By the rule above.
    """

    table: str
    row: str
    column: str
    quantity: str
    published: float
    mean: float | None
    sd: float | None
    n: int
    low: float | None
    high: float | None
    difference: float | None
    verdict: Verdict

    @property
    def place(self) -> Place:
        """Return table, row, column and quantity."""
        return (self.table, self.row, self.column, self.quantity)


def compare(tables: Iterable[Table]) -> list[Comparison]:
    """Compare every published number that our own runs can answer.

    Parameters
    ----------
    tables : iterable of Table
        Filled tables, all rows.

    Returns
    -------
    list of Comparison
        In the order of the tables; numbers of systems that the sources only cite are left out.
    """
    return [
        judge((table.id, cell.row, cell.column, quantity), number, cell.ours.get(quantity), tolerance(table, quantity))
        for table in tables
        for cell in table.cells.values()
        if cell.fillable
        for quantity, number in cell.published.items()
    ]


def tolerance(table: Table, quantity: str) -> Tolerance:
    """Return the rule of verdict for a quantity of a table."""
    return table.reference.tolerances.get(quantity, EXACT) if table.reference else EXACT


def judge(place: Place, number: Number, ours: Summary | None, rule: Tolerance) -> Comparison:
    """Compare one published number with our summary by the rule of this module."""
    if ours is None:
        return Comparison(*place, number.value, None, None, 0, None, None, None, "not run")
    difference = ours.mean - number.value
    interval = _defined(ours.low), _defined(ours.high)
    verdict = _verdict(number, ours, abs(difference), rule)
    return Comparison(*place, number.value, ours.mean, _defined(ours.sd), ours.n, *interval, difference, verdict)


def _verdict(number: Number, ours: Summary, distance: float, rule: Tolerance) -> Verdict:
    reproduced, close = rule.bounds(number)
    # A hair's width, so that a difference of exactly the bound is not lost to binary fractions.
    hair = 1e-9 * max(1.0, abs(number.value))
    inside = ours.low - number.half_unit - hair <= number.value <= ours.high + number.half_unit + hair
    if (inside and rule is not EXACT) or distance <= reproduced + hair:
        return "reproduced"
    return "close" if distance <= close + hair else "differs"


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


@dataclass(frozen=True, slots=True)
class Score:
    """Summarise how far a group of cells is from the published numbers.

    Attributes
    ----------
    name : str
        What is scored.
    n_cells, n_run : int
        Cells of the group, and those that were run.
    score, worst : float or None
        Mean and largest distance over the cells that were run.
    unit : {"|ln ratio|", "points", "bounds"}
        By the unit of the quantity's tolerance: |ln(ours / published)| for percent, |ours − published| for points, and
        in units of the bound for *reproduced* for standard deviations (worst <= 1: all are).
    target : float or None
        What is aimed at.
    """

    name: str
    n_cells: int
    n_run: int
    score: float | None
    worst: float | None
    unit: str
    target: float | None


def holds(group: Scored, table: Table, cell: TableCell) -> bool:
    """Tell whether a cell is of a group: published, and one that runs of ours can fill."""
    named = table.id in group.tables and (not group.rows or cell.row in group.rows)
    named = named and (not group.columns or cell.column in group.columns)
    return named and cell.selector is not None and group.quantity in cell.published


def scores(tables: Sequence[Table]) -> list[Score]:
    """Score the groups of cells that the references name.

    Parameters
    ----------
    tables : sequence of Table
        Filled tables, all rows.

    Returns
    -------
    list of Score
        Every group, also those of which nothing was run.
    """
    references = {table.reference.name: table.reference for table in tables if table.reference}
    return [score_group(group, tables) for reference in references.values() for group in reference.scored]


def score_group(group: Scored, tables: Sequence[Table]) -> Score:
    """Score one group of cells; see `scores`."""
    ours, rule, distances, n_cells = group.ours or group.quantity, EXACT, list[float](), 0
    for table in tables:
        for cell in table.cells.values():
            if holds(group, table, cell):
                n_cells, rule = n_cells + 1, tolerance(table, group.quantity)
                if ours in cell.ours:
                    distances.append(_distance(cell.published[group.quantity], cell.ours[ours].mean, rule))
    mean, worst = (math.fsum(distances) / len(distances), max(distances)) if distances else (None, None)
    return Score(group.name, n_cells, len(distances), mean, worst, _UNITS[rule.unit], group.target)


_UNITS = {"percent": "|ln ratio|", "points": "points", "sd": "bounds"}


def _distance(number: Number, ours: float, rule: Tolerance) -> float:
    """Return how far ours is from a published number; inf where their ratio, or the bound, tells nothing."""
    distance = abs(ours - number.value)
    if rule.unit == "points" or distance == 0.0:
        return distance
    if rule.unit == "percent":
        ratio = ours / number.value if number.value else 0.0
        return abs(math.log(ratio)) if ratio > 0.0 else math.inf
    bound, _ = rule.bounds(number)
    return distance / bound if bound else math.inf


def render(comparisons: Sequence[Comparison], form: str) -> str:
    """Render comparisons as ``terminal``, ``markdown`` or ``json`` text, with a count of the verdicts."""
    if form == "json":
        return _json(comparisons)
    headers = ("table", "row", "column", "quantity", "published", "ours", "sd", "n", "95 % interval", "diff", "verdict")
    rows = [_row(item) for item in comparisons]
    counts = Counter(item.verdict for item in comparisons)
    tally = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return f"{_grid(rows, headers, form)}\n\n{len(comparisons)} published numbers: {tally}."


def render_scores(tables: Sequence[Table], form: str) -> str:
    """Render the scores of `scores` as ``terminal``, ``markdown`` or ``json`` text."""
    found = scores(tables)
    if form == "json":
        return _json(found)
    headers = ("score", "cells", "run", "mean", "worst", "unit", "target", "met")
    rows = [
        (
            *(item.name, item.n_cells, item.n_run, _number(item.score, 3), _number(item.worst, 3)),
            *(item.unit, item.target, _met(item)),
        )
        for item in found
    ]
    return _grid(rows, headers, form)


def _met(item: Score) -> str:
    reached = item.worst if item.unit == "bounds" else item.score
    if reached is None or item.target is None:
        return "–"
    return "yes" if reached <= item.target else "no"


def _row(item: Comparison) -> tuple[object, ...]:
    interval = "–" if item.low is None else f"{item.low:.2f} to {item.high:.2f}"
    numbers = (_number(item.mean), _number(item.sd), item.n, interval, _number(item.difference, sign="+"))
    return (*item.place, f"{item.published:g}", *numbers, item.verdict)


def _number(value: float | None, decimals: int = 2, sign: str = "") -> str:
    return "–" if value is None else f"{value:{sign}.{decimals}f}"


def _grid(rows: Sequence[Sequence[object]], headers: Sequence[str], form: str) -> str:
    return tabulate(rows, headers, tablefmt="github" if form == "markdown" else "simple", disable_numparse=True)


def _json(items: Iterable[Comparison | Score]) -> str:
    found = [{name: None if value == math.inf else value for name, value in asdict(item).items()} for item in items]
    return json.dumps(found, indent=1, ensure_ascii=False)
