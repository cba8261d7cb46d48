"""Comparison with the published numbers: a verdict for every published number, and scores of groups of cells.

A cell is

- *undecided* when our 95 % interval of the mean contains the published value, but extends farther from the mean than
  the wider tolerance of the quantity: too few repeats, or too large a spread;
- else *reproduced* when the interval, widened by the rounding of print, contains the published value, or when our mean
  differs from the published value by no more than the tolerance;
- *close* when our mean differs by no more than the wider tolerance;
- *differs* otherwise, and *not run* when none of its repeats is done.

Each result counts once: a number that the sources print again for the same runs refers to its first place, and sizes
of data sets do not count. Numbers that a search for settings looked at (`Reference.searched`) are counted apart.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, Literal, NamedTuple, get_args

from tabulate import tabulate

from pppca_bench.files import in_markdown
from pppca_bench.references.layout import Scored
from pppca_bench.references.numbers import Number, Tolerance
from pppca_bench.reporting.document import EMPTY, SIGNED, Document, none_if_nan, printed
from pppca_bench.reporting.summary import Summary
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.runs import SIZES, Names, grouped

Place = tuple[str, str, str, str]
"""Table, row, column and quantity of a published number."""

Verdict = Literal["reproduced", "undecided", "close", "differs", "not run"]
SCORE_HEADERS = ("score", "cells", "run", "mean", "worst", "unit", "target", "within", "target", "met")
COMPARISON_HEADERS = (
    *("table", "row", "column", "quantity", "published"),
    *("ours", "sd", "n", "95 % interval", "diff", "relative", "searched", "verdict"),
)
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


class Comparison(NamedTuple):
    """Published number and ours over n repeats, with the 95 % interval of the mean; None if undefined or not run."""

    table: str
    row: str
    column: str
    quantity: str
    published: float
    mean: float | None = None
    sd: float | None = None
    n: int = 0
    low: float | None = None
    high: float | None = None
    difference: float | None = None  # ours minus published
    verdict: Verdict = "not run"
    same_as: str = ""  # place of the first number for the same runs; "" for the first itself
    searched: bool = False  # whether a search for settings looked at the number, or at a number for the same runs
    source: str = ""  # title of the reference

    @property
    def relative(self) -> float | None:
        """Return the difference as a share of the published number; None without a difference, or for 0."""
        return None if self.difference is None or not self.published else self.difference / abs(self.published)

    @property
    def is_result(self) -> bool:
        """Return whether the number counts as a result: neither a repetition nor the size of a data set."""
        return not self.same_as and self.quantity not in SIZES

    @property
    def first_place(self) -> str:
        """Return the place of the first number for the same runs."""
        return self.same_as or f"{self.table}, {self.row}, {self.column}"

    @property
    def place(self) -> Place:
        """Return table, row, column and quantity."""
        return (self.table, self.row, self.column, self.quantity)


def compare(tables: Iterable[Table]) -> list[Comparison]:
    """Compare every published number that runs or sizes of data sets can reproduce, in the order of the tables.

    Left out are numbers of systems that the sources only cite, uninformative numbers (`Tolerance.is_informative`), and
    numbers without a tolerance.
    """
    comparisons, first = list[Comparison](), dict[tuple[object, ...], str]()
    for table in tables:
        searches = table.reference.searched if table.reference else ()
        for cell in table.cells.values():
            for quantity, theirs in cell.published.items() if cell.fillable else ():
                rule = _rule(table, quantity)
                if rule is None or not rule.is_informative(theirs):
                    continue
                ours = cell.ours.get(quantity)
                place = f"{table.id}, {cell.row}, {cell.column}"
                problem = cell.selector.problem if cell.selector else ""
                earlier = first.setdefault((problem, cell.settings or cell.selector or place, quantity), place)
                searched = any(seen.has(table.id, cell.row, quantity) for seen in searches)
                numbers: tuple[Any, ...] = (None, None, 0, None, None, None, "not run")
                if ours:
                    sd, low, high = map(none_if_nan, (ours.sd, ours.low, ours.high))
                    numbers = ours.mean, sd, ours.n, low, high, ours.mean - theirs.value, judge(theirs, ours, rule)
                of_cell = table.id, cell.row, cell.column, quantity, theirs.value
                again = "" if earlier == place else earlier
                source = table.reference.title if table.reference else ""
                comparisons.append(Comparison._make((*of_cell, *numbers, again, searched, source)))
    seen = {(item.first_place, item.quantity) for item in comparisons if item.searched}
    return [item._replace(searched=(item.first_place, item.quantity) in seen) for item in comparisons]


def _rule(table: Table, quantity: str) -> Tolerance | None:
    return table.reference.tolerances.get(quantity) if table.reference else None


def judge(number: Number, ours: Summary, rule: Tolerance) -> Verdict:
    """Return the verdict on a published number, given our summary, by the rule of this module."""
    distance = abs(ours.mean - number.value)
    reproduced, close = rule.bounds(number)
    # More than the rounding of binary fractions, so that a difference equal to a bound is within the bound.
    slack = 1e-9 * max(1.0, abs(number.value))
    inside = ours.low - number.half_unit - slack <= number.value <= ours.high + number.half_unit + slack
    if inside and ours.high - ours.mean > close + number.half_unit + slack:
        return "undecided"
    if inside or distance <= reproduced + slack:
        return "reproduced"
    return "close" if distance <= close + slack else "differs"


class Score(NamedTuple):
    """Distance of a group of cells from the published numbers."""

    name: str
    n_cells: int  # informative cells (`Tolerance.is_informative`)
    n_run: int
    score: float | None  # mean distance over the cells that were run
    worst: float | None
    unit: str  # "points" of |ours − published|, "|ln ratio|", or "same": agreement of texts, which has no distance
    target: float | None  # for `score`
    share: float | None = None  # share of the run cells that are within the tolerance
    share_target: float | None = None

    @property
    def met(self) -> bool | None:
        """Return whether the targets are reached; None without targets, or if nothing was run."""
        reached = []
        if self.target is not None and self.score is not None:
            reached.append(self.score <= self.target)
        if self.share_target is not None and self.share is not None:
            reached.append(self.share >= self.share_target - 1e-9)
        return all(reached) if reached else None


def _is_scored(group: Scored, table: Table, cell: TableCell) -> bool:
    """Return whether a cell belongs to a group, was published, and can be filled by runs."""
    named = table.id in group.tables and (not group.rows or cell.row in group.rows)
    named = named and (not group.columns or cell.column in group.columns)
    return named and cell.selector is not None and group.quantity in cell.published


def scores(tables: Sequence[Table], documents: Sequence[Document] = ()) -> list[Score]:
    """Score every group of cells that the references name, and the agreements of documents, run or not."""
    references = {table.reference.name: table.reference for table in tables if table.reference}
    groups = [score_group(group, tables) for reference in references.values() for group in reference.scored]
    for agreement in (document.agreement for document in documents if document.agreement):
        run = [same for same in agreement.same if same is not None]
        share = sum(run) / len(run) if run else None
        counts = len(agreement.same), len(run)
        groups.append(Score(agreement.name, *counts, None, None, "same", None, share, agreement.target))
    return groups


def score_group(group: Scored, tables: Sequence[Table]) -> Score:
    """Score a group of cells; see `scores`."""
    ours, n_cells, unit = group.ours or group.quantity, 0, "|ln ratio|"
    distances, inside = list[float](), list[bool]()
    for table in tables:
        rule = _rule(table, group.quantity)
        for cell in (cell for cell in table.cells.values() if rule and _is_scored(group, table, cell)):
            if rule and rule.is_informative(theirs := cell.published[group.quantity]):
                n_cells, unit = n_cells + 1, "points" if rule.unit == "points" else unit
                if ours in cell.ours:
                    mean = cell.ours[ours].mean
                    distances.append(_distance(theirs, mean, rule))
                    inside.append(abs(mean - theirs.value) <= rule.bounds(theirs)[0] + 1e-9)
    known = [distance for distance in distances if not math.isnan(distance)]
    score, worst = (math.fsum(known) / len(known), max(known)) if known else (None, None)
    share = sum(inside) / len(inside) if inside and group.share is not None else None
    return Score(group.name, n_cells, len(distances), score, worst, unit, group.target, share, group.share)


def _distance(number: Number, ours: float, rule: Tolerance) -> float:
    """Return the distance of our mean from a published number: inf without a positive ratio, nan for a printed 0."""
    if rule.unit == "points":
        return abs(ours - number.value)
    if number.value == 0.0 and rule.unit == "sd":
        return math.nan
    ratio = ours / number.value if number.value else 0.0
    return abs(math.log(ratio)) if ratio > 0.0 else 0.0 if ours == number.value else math.inf


def render(comparisons: Sequence[Comparison], form: str, *, show_all: bool = True) -> str:
    """Render comparisons as ``terminal``, ``markdown`` or ``json`` text, with a count of the verdicts.

    Without ``show_all`` a last line counts the numbers that were not run; JSON has them in any case.
    """
    if form == "json":
        return _json(comparisons)
    shown = [item for item in comparisons if show_all or item.verdict != "not run"]
    text = f"{_comparison_grid(shown, form)}\n\n{tally(comparisons)}"
    n_left = len(comparisons) - len(shown)
    return f"{text}\nNumbers not run: {n_left}. `pppca compare --all` lists them." if n_left else text


def render_differing(comparisons: Sequence[Comparison], form: str) -> str:
    """Render the published results with the verdict "differs", each once, as ``terminal`` or ``markdown`` text."""
    differing = [item for item in comparisons if item.is_result and item.verdict == "differs"]
    return _comparison_grid(differing, form) if differing else "None."


def tally(comparisons: Sequence[Comparison]) -> str:
    """Count the verdicts on the published results of each source, and separately on the results of searches."""
    results = [item for item in comparisons if item.is_result]
    rest = len(comparisons) - len(results)
    sentences = []
    for source, own in grouped(results, attrgetter("source")).items():
        sentences.append(f"{source}: {len(own)} published results, {_verdicts(own)}.")
        seen = [item for item in own if item.searched]
        if seen and len(seen) < len(own):
            others = [item for item in own if not item.searched]
            sentences.append(f"A search for settings looked at {len(seen)} of them: {_verdicts(seen)}.")
            sentences.append(f"No search looked at the other {len(others)}: {_verdicts(others)}.")
    if rest:
        sentences.append(f"Not counted: {rest} numbers that repeat another number or are sizes of data sets.")
    return " ".join(sentences)


def _verdicts(comparisons: Iterable[Comparison]) -> str:
    counts = Counter(item.verdict for item in comparisons)
    texts = {verdict: "different" if verdict == "differs" else verdict for verdict in VERDICTS}
    return ", ".join(f"{counts[verdict]} {text}" for verdict, text in texts.items() if counts[verdict])


def render_scores(tables: Sequence[Table], form: str, documents: Sequence[Document] = ()) -> str:
    """Render the scores of `scores` as ``terminal``, ``markdown`` or ``json`` text."""
    scored = scores(tables, documents)
    return _json(scored) if form == "json" else _grid(score_rows(scored), SCORE_HEADERS, form)


def score_rows(scored: Sequence[Score]) -> list[Names]:
    """Return scores as rows below `SCORE_HEADERS`, as printed."""
    rows = []
    for score in scored:
        shares = [EMPTY if share is None else f"{100.0 * share:.0f} %" for share in (score.share, score.share_target)]
        distances = printed(score.score, ".3f"), printed(score.worst, ".3f"), score.unit, printed(score.target, ".3f")
        met = {True: "yes", False: "no", None: EMPTY}[score.met]
        rows.append((score.name, str(score.n_cells), str(score.n_run), *distances, *shares, met))
    return rows


def _comparison_grid(comparisons: Sequence[Comparison], form: str) -> str:
    rows = []
    for item in comparisons:
        interval = EMPTY if item.low is None else f"{printed(item.low, '.2f')} to {printed(item.high, '.2f')}"
        difference = printed(item.difference, SIGNED)
        relative = EMPTY if item.relative is None else f"{printed(100.0 * item.relative, '+.0f')} %"
        ours = printed(item.mean, ".2f"), printed(item.sd, ".2f"), str(item.n), interval, difference, relative
        rows.append((*item.place, f"{item.published:g}", *ours, "yes" if item.searched else "no", item.verdict))
    return _grid(rows, COMPARISON_HEADERS, form)


def _grid(rows: Sequence[Sequence[str]], headers: Sequence[str], form: str) -> str:
    if form == "markdown":
        rows = [list(map(in_markdown, row)) for row in rows]
    return tabulate(rows, headers, tablefmt="github" if form == "markdown" else "simple", disable_numparse=True)


def _json(items: Iterable[Comparison | Score]) -> str:
    records = [{name: None if value == math.inf else value for name, value in item._asdict().items()} for item in items]
    return json.dumps(records, indent=1, ensure_ascii=False)
