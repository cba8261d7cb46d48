"""Ours against published: a verdict for every cell, scores, and the regression against a recorded baseline.

The rule, written down before any result was looked at. A cell is

- *undecided* when our 95 % interval of the mean holds the published value, but reaches farther from the mean than the
  wider tolerance of the reference for its quantity: too few repeats, or too wide a spread, to tell;
- else *reproduced* when the interval, widened by the rounding of print, holds the published value, or when that differs
  from our mean by no more than the tolerance;
- *close* when it differs by no more than the wider tolerance;
- *differs* otherwise, and *not run* when none of its repeats is in.

A result counts once: a number that the sources print again for the same runs carries the place of the first, and sizes
of data sets are no results.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, get_args

from tabulate import tabulate

from pppca_bench.references.layout import Scored
from pppca_bench.references.numbers import Number, Tolerance
from pppca_bench.reporting.document import Document, joined_agreements
from pppca_bench.reporting.number_text import printed
from pppca_bench.reporting.summary import Summary
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.runs import SIZES

Place = tuple[str, str, str, str]
"""Table, row, column and quantity of a published number."""

Verdict = Literal["reproduced", "undecided", "close", "differs", "not run"]
SCORE_HEADERS = ("score", "cells", "run", "mean", "worst", "unit", "target", "within", "target", "met")
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


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
    same_as : str
        Place of the first number that the same runs answer; "" for that one itself.
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
    same_as: str = ""

    @property
    def is_result(self) -> bool:
        """Tell whether it counts: no size of a data set, and not answered before."""
        return not self.same_as and self.quantity not in SIZES

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
        In the order of the tables; left out are numbers of systems that the sources only cite, and those that say
        nothing (`Tolerance.tells`) or for which the reference has no rule.
    """
    found, first = list[Comparison](), dict[tuple[object, str], str]()
    for table in tables:
        for cell in table.cells.values():
            for quantity, number in cell.published.items() if cell.fillable else ():
                if (rule := tolerance(table, quantity)) and rule.tells(number):
                    one = judge((table.id, cell.row, cell.column, quantity), number, cell.ours.get(quantity), rule)
                    place = f"{table.id}, {cell.row}, {cell.column}"
                    problem = cell.selector.problem if cell.selector else ""
                    runs = (problem, cell.settings or cell.selector or place)
                    earlier = first.setdefault((runs, quantity), place)
                    found.append(replace(one, same_as="" if earlier == place else earlier))
    return found


def tolerance(table: Table, quantity: str) -> Tolerance | None:
    """Return the rule of verdict for a quantity of a table, if its reference has one."""
    return table.reference.tolerances.get(quantity) if table.reference else None


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
    if inside and ours.high - ours.mean > close + number.half_unit + hair:
        return "undecided"
    if inside or distance <= reproduced + hair:
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
        Cells of the group that say something (`Tolerance.tells`), and those that were run.
    score, worst : float or None
        Mean and largest distance over the cells that were run.
    unit : {"|ln ratio|", "points"}
        What a distance is: |ours − published| for a quantity with a tolerance in points, else |ln(ours / published)|.
    target : float or None
        What is aimed at.
    share, share_target : float or None
        Share of the cells that were run within the first bound of the tolerance, such as one published standard
        deviation, and what is aimed at.
    """

    name: str
    n_cells: int
    n_run: int
    score: float | None
    worst: float | None
    unit: str
    target: float | None
    share: float | None = None
    share_target: float | None = None

    @property
    def met(self) -> bool | None:
        """Tell whether what is aimed at was reached; None where nothing is, or nothing was run."""
        pairs = [(self.target, self.score, False), (self.share_target, self.share, True)]
        reached = [
            (value >= target - 1e-9 if is_share else value <= target)
            for target, value, is_share in pairs
            if target is not None and value is not None
        ]
        return all(reached) if reached else None


def holds(group: Scored, table: Table, cell: TableCell) -> bool:
    """Tell whether a cell is of a group: published, and one that runs of ours can fill."""
    named = table.id in group.tables and (not group.rows or cell.row in group.rows)
    named = named and (not group.columns or cell.column in group.columns)
    return named and cell.selector is not None and group.quantity in cell.published


def scores(tables: Sequence[Table], sheets: Sequence[Document] = ()) -> list[Score]:
    """Score the groups of cells that the references name, and what sheets agree on.

    Parameters
    ----------
    tables : sequence of Table
        Filled tables, all rows.
    sheets : sequence of Document, optional
        Sheets, also those that nothing fills; an agreement of one has a share and no mean distance.

    Returns
    -------
    list of Score
        Every group, also those of which nothing was run.
    """
    references = {table.reference.name: table.reference for table in tables if table.reference}
    groups = [score_group(group, tables) for reference in references.values() for group in reference.scored]
    return groups + [
        Score(one.name, one.n_cells, one.n_run, None, None, "same", None, one.share, one.target)
        for one in joined_agreements(sheets)
    ]


def score_group(group: Scored, tables: Sequence[Table]) -> Score:
    """Score one group of cells; see `scores`."""
    ours, n_cells, unit = group.ours or group.quantity, 0, "|ln ratio|"
    distances, inside = list[float](), list[bool]()
    for cell, rule in _scored_cells(group, tables):
        n_cells, unit = n_cells + 1, "points" if rule.unit == "points" else unit
        if ours in cell.ours:
            number, mine = cell.published[group.quantity], cell.ours[ours].mean
            distances.append(_distance(number, mine, rule))
            inside.append(abs(mine - number.value) <= rule.bounds(number)[0] + 1e-9)
    telling = [distance for distance in distances if not math.isnan(distance)]
    mean, worst = (math.fsum(telling) / len(telling), max(telling)) if telling else (None, None)
    share = sum(inside) / len(inside) if inside and group.share is not None else None
    return Score(group.name, n_cells, len(distances), mean, worst, unit, group.target, share, group.share)


def _scored_cells(group: Scored, tables: Sequence[Table]) -> Iterator[tuple[TableCell, Tolerance]]:
    """Yield the cells of a group whose published numbers say something, with the rule of verdict."""
    for table in tables:
        if rule := tolerance(table, group.quantity):
            for cell in table.cells.values():
                if holds(group, table, cell) and rule.tells(cell.published[group.quantity]):
                    yield cell, rule


def _distance(number: Number, ours: float, rule: Tolerance) -> float:
    """Return how far ours is from a published number; inf, or for a printed 0 nan, where a ratio tells nothing."""
    if rule.unit == "points":
        return abs(ours - number.value)
    if number.value == 0.0 and rule.unit == "sd":
        return math.nan
    ratio = ours / number.value if number.value else 0.0
    return abs(math.log(ratio)) if ratio > 0.0 else 0.0 if ours == number.value else math.inf


_HEADERS = ("table", "row", "column", "quantity", "published", "ours", "sd", "n", "95 % interval", "diff", "verdict")


def render(comparisons: Sequence[Comparison], form: str) -> str:
    """Render comparisons as ``terminal``, ``markdown`` or ``json`` text, with a count of the verdicts."""
    if form == "json":
        return _json(comparisons)
    return f"{_grid([_row(item) for item in comparisons], _HEADERS, form)}\n\n{tally(comparisons)}"


def render_differing(comparisons: Sequence[Comparison], form: str) -> str:
    """Render the published results that ours differ from, each once, as ``terminal`` or ``markdown`` text."""
    rows = [_row(item) for item in comparisons if item.is_result and item.verdict == "differs"]
    return _grid(rows, _HEADERS, form) if rows else "None."


def tally(comparisons: Sequence[Comparison]) -> str:
    """Count the verdicts on the published results, each once."""
    counts = Counter(item.verdict for item in comparisons if item.is_result)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    rest = len(comparisons) - counts.total()
    again = f" ({rest} more numbers repeat one of them, or are sizes of data sets)" if rest else ""
    return f"{counts.total()} published results: {told}{again}."


def render_scores(tables: Sequence[Table], form: str, sheets: Sequence[Document] = ()) -> str:
    """Render the scores of `scores` as ``terminal``, ``markdown`` or ``json`` text."""
    found = scores(tables, sheets)
    if form == "json":
        return _json(found)
    return _grid(score_rows(found), SCORE_HEADERS, form)


def score_rows(found: Sequence[Score]) -> list[tuple[str, ...]]:
    """Return scores as rows below `SCORE_HEADERS`, as they are printed."""
    return [
        (
            *(item.name, str(item.n_cells), str(item.n_run), _number(item.score, 3), _number(item.worst, 3)),
            *(item.unit, _number(item.target, 3), _percent(item.share), _percent(item.share_target)),
            {True: "yes", False: "no", None: "–"}[item.met],
        )
        for item in found
    ]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100.0 * share:.0f} %"


def _row(item: Comparison) -> tuple[object, ...]:
    interval = "–" if item.low is None else f"{_number(item.low)} to {_number(item.high)}"
    numbers = (_number(item.mean), _number(item.sd), item.n, interval, _number(item.difference, sign="+"))
    return (*item.place, f"{item.published:g}", *numbers, item.verdict)


def _number(value: float | None, decimals: int = 2, sign: str = "") -> str:
    return "–" if value is None else printed(value, f"{sign}.{decimals}f")


def _grid(rows: Sequence[Sequence[object]], headers: Sequence[str], form: str) -> str:
    if form != "markdown":
        return tabulate(rows, headers, tablefmt="simple", disable_numparse=True)
    escaped = [[str(entry).replace("|", r"\|") for entry in row] for row in rows]
    return tabulate(escaped, headers, tablefmt="github", disable_numparse=True)


def _json(items: Iterable[Comparison | Score]) -> str:
    found = [{name: None if value == math.inf else value for name, value in asdict(item).items()} for item in items]
    return json.dumps(found, indent=1, ensure_ascii=False)
