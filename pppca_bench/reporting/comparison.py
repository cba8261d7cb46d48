"""Comparison with the published numbers: a verdict for every published number, and scores of groups of cells.

The rules of the verdicts are in `reporting.verdicts`. Each result counts once: a number that the sources print again
for the same runs refers to its first place, and sizes of data sets do not count. Numbers that a search for settings
looked at (`Reference.searched`) are counted apart. Numbers that no run can fill, or that no rule compares, are listed
as *not compared*.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from tabulate import tabulate

from pppca_bench.quantities import SIZES
from pppca_bench.references.layout import Scored
from pppca_bench.references.numbers import Number, VerdictRule
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.document import Document, in_json, none_if_nan, record_text
from pppca_bench.reporting.escapes import in_markdown
from pppca_bench.reporting.table import MeansTable, TableCell
from pppca_bench.reporting.verdicts import VERDICTS, Contrast, Verdict, contrast, verdicts
from pppca_bench.runs import grouped

Place = tuple[str, str, str, str]
"""Table, row, column and quantity of a published number."""

_COLUMNS = {
    "table": "{table}",
    "row": "{row}",
    "column": "{column}",
    "quantity": "{quantity}",
    "published": "{published}",
    "ours": "{mean:.2f}",
    "sd": "{sd:.2f}",
    "n": "{n}",
    "diff": "{difference:+.2f}",
    "95 % interval": "{low:+.2f} to {high:+.2f}",
    "margin": "{margin:.2f}",
    "relative": "{relative:+.0f} %",
    "verdict": "{verdict}",
    "note": "{note}",
}
SCORE_COLUMNS = (
    ("score", "{name}"),
    ("cells", "{n_cells}"),
    ("run", "{n_run}"),
    ("mean", "{score:.3f}"),
    ("worst", "{worst:.3f}"),
    ("unit", "{unit}"),
    ("target", "{target:.3f}"),
    ("within", "{share:.0f} %"),
    ("target", "{share_target:.0f} %"),
    ("met", "{met}"),
)
"""Columns of grids, as in `Document.of_records`."""


class Comparison(NamedTuple):
    """Published number and ours over n repeats, and their difference; None if undefined or not run.

    The difference is ours minus the published number, with its 95 % interval (`low` to `high`), the margin of
    equivalence, and p of no difference before the correction within the table.
    """

    table: str
    row: str
    column: str
    quantity: str
    published: float
    mean: float | None = None
    sd: float | None = None
    n: int = 0
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    margin: float | None = None
    p: float | None = None
    verdict: Verdict = "not run"
    same_as: str = ""  # place of the first number for the same runs; "" for the first itself
    searched: bool = False  # whether a search for settings looked at the number, or at a number for the same runs
    source: str = ""  # title of the reference

    @property
    def is_result(self) -> bool:
        """Return whether the number counts as a result: neither a repetition, nor a data set's size, nor only cited."""
        return not self.same_as and self.quantity not in SIZES and self.verdict != "not compared"

    @property
    def first_place(self) -> str:
        """Return the place of the first number for the same runs."""
        return self.same_as or ", ".join(self.place[:3])

    @property
    def place(self) -> Place:
        """Return table, row, column and quantity."""
        return (self.table, self.row, self.column, self.quantity)


def compare(tables: Iterable[MeansTable]) -> list[Comparison]:
    """Compare every published number of the tables, in their order."""
    first, comparisons = dict[tuple[object, ...], str](), list[Comparison]()
    for table in tables:
        if table.reference:
            comparisons += _compared(table, table.reference, first)
    seen = {(item.first_place, item.quantity) for item in comparisons if item.searched}
    return [
        item._replace(searched=(item.first_place, item.quantity) in seen) for item in comparisons
    ]


def _compared(
    table: MeansTable, reference: Reference, first: dict[tuple[object, ...], str]
) -> list[Comparison]:
    """Compare the published numbers in the cells of a table; ``first`` collects the first place of each number.

    The numbers of its notes, which belong to no single cell, come last.
    """
    contrasts, items = list[Contrast](), list[Comparison]()
    for cell in table.cells.values():
        location = table.id, cell.row, cell.column
        label = ", ".join(location)
        runs = cell.runs.settings or cell.selector or label
        problems = [part.problem for part in cell.selector.parts] if cell.selector else []
        for quantity, published in cell.published.items():
            ours, rule = cell.ours.get(quantity), verdict_rule(table, cell, quantity)
            earlier = first.setdefault((*problems, runs, quantity), label)
            item = Comparison(
                *(*location, quantity, published.value),
                verdict="not run" if rule else "not compared",
                same_as="" if earlier == label else earlier,
                searched=any(
                    seen.includes(*location) and quantity in seen.quantities
                    for seen in reference.searched
                ),
                source=reference.title,
            )
            if rule and ours:
                contrasts.append(contrast(published, ours, rule))
                names = ("mean", "sd", "n", "difference", "low", "high", "margin", "p")
                values: Any = map(none_if_nan, (*ours[:3], *contrasts[-1][:5]))
                item = item._replace(**dict(zip(names, values, strict=True)))
            items.append(item)
    judged = iter(verdicts(contrasts))
    cited = [
        Comparison(*key, name, number.value, verdict="not compared", source=reference.title)
        for key, numbers in reference.numbers.items()
        for name, number in numbers.items()
        if key[0] == table.id and name in table.notes
    ]
    return [*(item._replace(verdict=next(judged)) if item.n else item for item in items), *cited]


def verdict_rule(table: MeansTable, cell: TableCell, quantity: str) -> VerdictRule | None:
    """Return the rule of the verdict on a published number; None if no rule compares it or no run fills its cell."""
    return (
        table.reference.rule(table.id, cell.row, quantity)
        if table.reference and cell.fillable
        else None
    )


class Score(NamedTuple):
    """Distance of a group of cells from the published numbers."""

    name: str
    n_cells: int  # informative cells, see `score_group`
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


def scores(tables: Sequence[MeansTable], documents: Sequence[Document] = ()) -> list[Score]:
    """Score every group of cells that the references name, and the agreements of documents, run or not."""
    references = {table.reference.name: table.reference for table in tables if table.reference}
    groups = [
        score_group(group, tables)
        for reference in references.values()
        for group in reference.scored
    ]
    for agreement in (document.agreement for document in documents if document.agreement):
        run = [same for same in agreement.same if same is not None]
        share = sum(run) / len(run) if run else None
        counts, target = (len(agreement.same), len(run)), agreement.target
        groups.append(
            Score(agreement.name, *counts, None, None, "same", None, share, share_target=target)
        )
    return groups


def score_group(group: Scored, tables: Sequence[MeansTable]) -> Score:
    """Score a group of cells; see `scores`. Numbers whose standard deviation exceeds them have no informative ratio."""
    scored = [
        (cell.published[group.quantity], cell.ours.get(group.ours or group.quantity))
        for table in tables
        for cell in table.cells.values()
        if cell.selector
        and group.quantity in cell.published
        and group.includes(table.id, cell.row, cell.column)
    ]
    informative = [
        (published, ours)
        for published, ours in scored
        if published.sd is None or published.sd <= abs(published.value)
    ]
    run = [(published, ours.mean) for published, ours in informative if ours]
    distances = [_distance(published, mean, group.unit) for published, mean in run]
    known = [distance for distance in distances if not math.isnan(distance)]
    score, worst = (math.fsum(known) / len(known), max(known)) if known else (None, None)
    inside = [
        abs(mean - published.value) <= (published.sd or published.half_unit) + 1e-9
        for published, mean in run
        if published.sd is not None
    ]
    share = sum(inside) / len(inside) if inside and group.share is not None else None
    return Score(
        group.name,
        len(informative),
        len(run),
        score,
        worst,
        group.unit,
        group.target,
        share,
        group.share,
    )


def _distance(number: Number, ours: float, unit: str) -> float:
    """Return the distance of our mean from a published number: inf without a positive ratio, nan for a printed 0."""
    if unit == "points":
        return abs(ours - number.value)
    if number.value == 0.0 and number.sd is not None:
        return math.nan
    ratio = ours / number.value if number.value else 0.0
    return abs(math.log(ratio)) if ratio > 0.0 else 0.0 if ours == number.value else math.inf


def render_comparisons(
    comparisons: Sequence[Comparison], form: str, *, show_all: bool = True
) -> str:
    """Render comparisons as ``terminal``, ``markdown`` or ``json`` text, with a count of the verdicts.

    Without ``show_all``, sizes of data sets, numbers without runs and sources without any run are left out, and a last
    line counts the numbers; JSON has all in any case.
    """
    if form == "json":
        return in_json([item._asdict() for item in comparisons])
    if show_all:
        return f"{_comparison_grid(comparisons, form)}\n\n{tally(comparisons)}"
    shown = [item for item in comparisons if item.n and item.quantity not in SIZES]
    sources = {item.source for item in shown}
    counts = tally([item for item in comparisons if item.source in sources] or comparisons)
    return (
        f"{_comparison_grid(shown, form)}\n\n{counts}\n"
        f"Left out: {len(comparisons) - len(shown)} numbers without runs or of the sizes of data sets."
        " `pppca compare --all` lists them."
    )


def render_differing(comparisons: Sequence[Comparison], form: str) -> str:
    """Render the published results with the verdict "differs", each once, as ``terminal`` or ``markdown`` text."""
    differing = [item for item in comparisons if item.is_result and item.verdict == "differs"]
    return _comparison_grid(differing, form) if differing else "None."


def mean_difference(comparisons: Sequence[Comparison]) -> tuple[float, int]:
    """Return the mean of ours − published over numbers that were run, and how many of ours are below."""
    differences = [item.difference for item in comparisons if item.difference is not None]
    return math.fsum(differences) / len(differences), sum(
        difference < 0.0 for difference in differences
    )


def tally(comparisons: Sequence[Comparison]) -> str:
    """Count the verdicts on the published results of each source, and separately on the results of searches."""
    results = [item for item in comparisons if item.is_result]
    cited = sum(item.verdict == "not compared" for item in comparisons)
    rest = len(comparisons) - len(results) - cited
    sentences = []
    for source, of_source in grouped(results, attrgetter("source")).items():
        sentences.append(f"{source}: {len(of_source)} published results, {_verdicts(of_source)}.")
        seen = [item for item in of_source if item.searched]
        if seen and len(seen) < len(of_source):
            others = [item for item in of_source if not item.searched]
            sentences.append(
                f"A search for settings looked at {len(seen)} of them: {_verdicts(seen)}."
            )
            sentences.append(f"No search looked at the other {len(others)}: {_verdicts(others)}.")
    if rest:
        sentences.append(
            f"Not counted: {rest} numbers that repeat another number or are sizes of data sets."
        )
    if cited:
        sentences.append(
            f"Not compared: {cited} numbers for which the reference has no rule, or no runs."
        )
    return " ".join(sentences)


def _verdicts(comparisons: Iterable[Comparison]) -> str:
    counts = Counter(item.verdict for item in comparisons)
    texts = {verdict: "different" if verdict == "differs" else verdict for verdict in VERDICTS}
    return ", ".join(
        f"{counts[verdict]} {text}" for verdict, text in texts.items() if counts[verdict]
    )


def render_scores(
    tables: Sequence[MeansTable], form: str, documents: Sequence[Document] = ()
) -> str:
    """Render the results of `scores` as ``terminal``, ``markdown`` or ``json`` text."""
    scored = scores(tables, documents)
    if form == "json":
        return in_json([score._asdict() for score in scored])
    return text_grid(SCORE_COLUMNS, score_records(scored), form)


def score_records(scored: Sequence[Score]) -> list[dict[str, Any]]:
    """Return scores as records of `SCORE_COLUMNS`, with shares in percent."""
    met = {True: "yes", False: "no", None: None}
    records = [score._asdict() | {"met": met[score.met]} for score in scored]
    for record in records:
        for name in ("share", "share_target"):
            record[name] = None if record[name] is None else 100.0 * record[name]
    return records


def _comparison_grid(comparisons: Sequence[Comparison], form: str) -> str:
    records = []
    for item in comparisons:
        relative = None
        if item.difference is not None and item.published:
            relative = 100.0 * (item.difference / abs(item.published))
        more = {"published": f"{item.published:g}", "relative": relative, "note": _note(item)}
        records.append(item._asdict() | more)
    return text_grid(_COLUMNS.items(), records, form)


def _note(item: Comparison) -> str:
    """Return whether a search looked at a number, and why it is not counted."""
    notes = {
        "searched": item.searched,
        f"as {item.same_as}": bool(item.same_as),
        "a size of the data": item.quantity in SIZES,
        "no rule or no runs": item.verdict == "not compared",
    }
    return "; ".join(note for note, applies in notes.items() if applies)


def text_grid(
    columns: Collection[tuple[str, str]], records: Iterable[Mapping[str, object]], form: str
) -> str:
    """Return records below headers as ``terminal`` or ``markdown`` text; columns are as in `Document.of_records`."""
    rows = [[record_text(template, record) for _, template in columns] for record in records]
    if form == "markdown":
        rows = [list(map(in_markdown, row)) for row in rows]
    layout = "github" if form == "markdown" else "simple"
    headers = [header for header, _ in columns]
    return tabulate(rows, headers, tablefmt=layout, disable_numparse=True)
