"""Ours against published: a verdict for every cell, scores, and the regression against a recorded baseline.

The rule, written down before any result was looked at. A cell is

- *reproduced* when the published value lies inside our 95 % interval of the mean widened by the rounding of
  print, or differs from our mean by no more than the tolerance of its quantity (`TOLERANCES`);
- *close* when it differs by no more than the wider tolerance;
- *differs* otherwise, and *not run* when none of its repeats is in.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from tabulate import tabulate

from pppca_bench.references.published import PublishedCell, published
from pppca_bench.reporting.summary import Summary
from pppca_bench.reporting.tables import SIZES, Table, TableCell

Verdict = Literal["reproduced", "close", "differs", "not run"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "close", "differs", "not run")


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Bound a difference from a published value.

    Attributes
    ----------
    reproduced, close : float
        Largest difference for the verdict.
    relative : bool
        Whether they are shares of the published value, instead of being in its unit.
    """

    reproduced: float
    close: float
    relative: bool

    def scale(self, published_value: float) -> float:
        """Return what the bounds are multiplied by for one published value."""
        return abs(published_value) if self.relative else 1.0


TOLERANCES: Mapping[str, Tolerance] = {
    **dict.fromkeys(SIZES, Tolerance(0.0, 0.0, relative=False)),
    "error_percent": Tolerance(1.0, 2.5, relative=False),
    "dimensionality": Tolerance(0.10, 0.35, relative=True),
    "speedup": Tolerance(0.20, 0.50, relative=True),
}
"""Tolerances by quantity: percentage points for errors, shares for dimensionalities and speed-ups.

Choice: one point is about two test examples of the smaller problems; a tenth of a dimensionality and a fifth of
a speed-up are what two readings of the same text of the slides differ by. Where the source prints a standard
deviation (the report), the bounds for an error are max(it, 0.5 points) and twice that.
"""

REPORT_FLOOR_POINTS = 0.5


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
    def place(self) -> tuple[str, str, str, str]:
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
        In the order of the tables; numbers of systems that the sources only cite are left out until they run.
    """
    return [
        judge(table.table, cell.row, cell.column, number, cell.ours.get(quantity))
        for table in tables
        for cell in table.cells.values()
        if cell.has_source
        for quantity, number in cell.published.items()
    ]


def judge(table: str, row: str, column: str, number: PublishedCell, ours: Summary | None) -> Comparison:
    """Compare one published number with our summary by the rule of this module."""
    quantity = number.quantity
    if ours is None:
        return Comparison(table, row, column, quantity, number.value, None, None, 0, None, None, None, "not run")
    difference = ours.mean - number.value
    return Comparison(
        table,
        row,
        column,
        quantity,
        number.value,
        ours.mean,
        _defined(ours.sd),
        ours.n,
        _defined(ours.low),
        _defined(ours.high),
        difference,
        _verdict(number, ours, abs(difference)),
    )


def bounds(number: PublishedCell) -> tuple[float, float]:
    """Return the largest differences from a published number that count as reproduced and as close."""
    tolerance = TOLERANCES[number.quantity]
    scale = tolerance.scale(number.value)
    spread = published(number.table, number.row, number.column, "error_sd")
    if number.quantity == "error_percent" and spread is not None:
        reproduced = max(spread.value, REPORT_FLOOR_POINTS)
        return reproduced, 2.0 * reproduced
    return tolerance.reproduced * scale, tolerance.close * scale


def _verdict(number: PublishedCell, ours: Summary, distance: float) -> Verdict:
    reproduced, close = bounds(number)
    # A hair's width, so that a difference of exactly the bound is not lost to binary fractions.
    hair = 1e-9 * max(1.0, abs(number.value))
    inside = ours.low - number.half_unit - hair <= number.value <= ours.high + number.half_unit + hair
    if (inside and number.quantity not in SIZES) or distance <= reproduced + hair:
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
        |ln(ours / published)| for dimensionalities and speed-ups; |ours − published| in percentage points for
        the slides' errors, and in units of the bound for *reproduced* for the report's (worst <= 1: all are).
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


@dataclass(frozen=True, slots=True)
class Group:
    """Name published cells that are scored together.

    Attributes
    ----------
    name : str
        What is scored.
    tables : tuple of str
        Identifiers of tables.
    quantity : str
        The published quantity.
    target : float or None
        What is aimed at.
    rows, columns : tuple of str or None
        Keys of rows and columns; None for all.
    ours : str or None
        The quantity of ours, where it has another name than the published one.
    """

    name: str
    tables: tuple[str, ...]
    quantity: str
    target: float | None = None
    rows: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    ours: str | None = None

    def holds(self, table: Table, cell: TableCell) -> bool:
        """Tell whether a cell is of this group: published, and one that runs of ours can fill."""
        named = table.table in self.tables and (self.rows is None or cell.row in self.rows)
        named = named and (self.columns is None or cell.column in self.columns)
        return named and cell.has_source and self.quantity in cell.published


_GROUPS = (
    Group("T1 dimensionality", ("T1",), "dimensionality", 0.045),
    Group("T5 + T7 dimensionality", ("T5", "T7"), "dimensionality", 0.12),
    Group("T3 dimensionality, DGHA rows", ("T3",), "dimensionality", 0.10, rows=("DGHA", "DGHA (autocor)")),
    Group("T4 + T6 speed-up, operation count", ("T4", "T6"), "speedup", 0.18, ours="speedup_operations"),
    Group("T4 + T6 speed-up, time of the literal kernel", ("T4", "T6"), "speedup", 0.22),
    Group("T1 error", ("T1",), "error_percent", 0.7),
    Group("T5 error", ("T5",), "error_percent", 0.25),
    Group("T7 error", ("T7",), "error_percent", 1.2),
    Group("T3 error, own rows", ("T3",), "error_percent", 0.6, rows=("DGHA", "DGHA (autocor)", "NE pPCA")),
    Group("P1 error", ("P1",), "error_percent", 1.0),
    Group("P2 error", ("P2",), "error_percent", 1.0),
    Group("P3 error", ("P3",), "error_percent", 1.0),
)


def scores(tables: Sequence[Table]) -> list[Score]:
    """Score the groups of cells that the project aims at.

    Parameters
    ----------
    tables : sequence of Table
        Filled tables, all rows.

    Returns
    -------
    list of Score
        Every group, also those of which nothing was run.
    """
    return [score_group(group, tables) for group in _GROUPS]


def score_group(group: Group, tables: Sequence[Table]) -> Score:
    """Score one group of cells; see `scores`."""
    ours = group.ours or group.quantity
    cells = [
        (cell.published[group.quantity], cell.ours.get(ours))
        for table in tables
        for cell in table.cells.values()
        if group.holds(table, cell)
    ]
    distances = [_distance(number, summary.mean) for number, summary in cells if summary is not None]
    mean = math.fsum(distances) / len(distances) if distances else None
    return Score(group.name, len(cells), len(distances), mean, max(distances, default=None), _unit(group), group.target)


def _unit(group: Group) -> str:
    if group.quantity != "error_percent":
        return "|ln ratio|"
    return "bounds" if group.tables[0].startswith("P") else "points"


def _distance(number: PublishedCell, ours: float) -> float:
    if number.quantity != "error_percent":
        return abs(math.log(ours / number.value))
    distance = abs(ours - number.value)
    return distance / bounds(number)[0] if number.table.startswith("P") else distance


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
    return json.dumps([asdict(item) for item in items], indent=1, ensure_ascii=False)
