"""Tables as a page shows them: ours and published in one cell, its verdict, and the repeats behind it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pppca_bench.reporting.comparison import VERDICTS, Comparison, Place, Verdict
from pppca_bench.reporting.distributions import describe_spread
from pppca_bench.reporting.document import Document
from pppca_bench.reporting.number_text import EMPTY, number_text
from pppca_bench.reporting.summary import Summary
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.reporting.table_text import SIGNS, filled_parts, notes, ours_text, published_texts
from pppca_bench.runs import described

STRIP_WIDTH, STRIP_HEIGHT = 150, 18
"""Size of a drawing of repeats, in pixels."""

_BAR = 3
"""Width of its bars, in pixels."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Published number of a cell: the characters before it, its text, and the verdict on ours, if any."""

    before: str
    text: str
    verdict: Verdict | None = None

    @property
    def sign(self) -> str:
        """Return the sign of the verdict; "" without a verdict."""
        return SIGNS[self.verdict] if self.verdict else ""


@dataclass(frozen=True, slots=True)
class Spread:
    """Distribution of the repeats behind a number of a cell.

    Attributes
    ----------
    title, text : str
        The quantity, and its numbers in words.
    bars : str
        Path of the drawing of the repeats, "" without a drawing.
    published_at : int or None
        Where on the drawing the published number lies.
    """

    title: str
    text: str
    bars: str = ""
    published_at: int | None = None


@dataclass(frozen=True, slots=True)
class CellView:
    """Cell as a page shows it; rows are sorted by ``value``, or by the text if it is None."""

    text: str
    value: float | None = None
    verdict: Verdict | None = None
    published: tuple[Piece, ...] = ()
    spreads: tuple[Spread, ...] = ()


Row = tuple[str, tuple[CellView, ...]]
"""Label and cells."""


@dataclass(frozen=True, slots=True)
class TableView:
    """Table as a page shows it.

    Attributes
    ----------
    id, anchor, title, place : str
        As of the table; ``anchor`` is its identifier on the page, ``place`` is "" where nothing was published.
    headers, rows, notes : sequence of str, of Row, and of str
    counts : dict of str to int
        Verdicts on its published numbers, in the order of `VERDICTS`; empty if there are no such numbers.
    """

    id: str
    anchor: str
    title: str
    place: str
    headers: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str]
    counts: Mapping[Verdict, int]


def anchor(identifier: str) -> str:
    """Return an identifier as the part of a link after ``#``."""
    return re.sub(r"[^\w-]", "-", identifier)


def view(document: Table | Document, compared: Mapping[Place, Comparison]) -> TableView:
    """Return a table as a page shows it.

    Parameters
    ----------
    document : Table or Document
    compared : mapping of place to Comparison
        The verdicts on published numbers (`comparison.compare`).
    """
    counts = Counter(comparison.verdict for place, comparison in compared.items() if place[0] == document.id)
    place = document.place if counts or isinstance(document, Document) else ""
    if isinstance(document, Document):
        headers, rows = document.headers, _document_rows(document)
        words = replace(document, place="").paragraphs()
    else:
        headers, rows = (document.row_header, *document.column_labels.values()), _table_rows(document, compared)
        words = notes(document)
    known = {verdict: counts[verdict] for verdict in VERDICTS if counts}
    return TableView(document.id, anchor(document.id), document.title, place, headers, rows, words, known)


def _table_rows(table: Table, compared: Mapping[Place, Comparison]) -> list[Row]:
    rows = []
    for row, label in table.row_labels.items():
        cells = [table.cells.get((row, column)) for column in table.column_labels]
        rows.append((label, tuple(_cell(table, cell, compared) if cell else CellView(EMPTY) for cell in cells)))
    return rows


def _document_rows(document: Document) -> list[Row]:
    """Return the rows of a document; a row that was compared has the verdict on its first number."""
    rows = []
    for place, (label, *texts) in enumerate(document.rows):
        agrees = document.agrees[place] if document.agrees else None
        verdict: Verdict | None = None if agrees is None else "reproduced" if agrees else "differs"
        rows.append((label, tuple(CellView(text, verdict=None if at else verdict) for at, text in enumerate(texts))))
    return rows


def _cell(table: Table, cell: TableCell, compared: Mapping[Place, Comparison]) -> CellView:
    verdicts: dict[str, Comparison] = {
        name: compared[place]
        for name in cell.published
        if (place := (table.id, cell.row, cell.column, name)) in compared
    }
    first = cell.shows[0]
    return CellView(
        ours_text(cell, sd=table.spread or table.is_list),
        cell.ours[first].mean if first in cell.ours else None,
        verdicts[first].verdict if first in verdicts else None,
        _published(table, cell, verdicts),
        tuple(_spreads(cell, (*cell.shows, *table.also), verdicts)),
    )


def _published(table: Table, cell: TableCell, verdicts: Mapping[str, Comparison]) -> tuple[Piece, ...]:
    if not cell.published:
        return ()
    texts = published_texts(cell)
    if table.spread and (sd := cell.published[cell.shows[0]].sd) is not None:
        texts[0] += f" ± {number_text(cell.shows[0], sd)}"
    parts = filled_parts(cell.form, texts)
    names = [*cell.shows, ""]
    return tuple(
        Piece(before, text, verdicts[name].verdict if name in verdicts else None)
        for name, (before, text) in zip(names, parts, strict=False)
    )


def _spreads(cell: TableCell, names: Collection[str], verdicts: Mapping[str, Comparison]) -> list[Spread]:
    """Return the distribution behind each number with several repeats."""
    found = []
    for name in names:
        values = list(cell.values.get(name, {}).values())
        if name in cell.ours and len(values) > 1:
            found.append(_spread(name, cell.ours[name], values, verdicts.get(name)))
    return found


def _spread(name: str, ours: Summary, values: list[float], compared: Comparison | None) -> Spread:
    known = describe_spread(values)
    shown = {
        "mean": ours.mean,
        "sd": ours.sd,
        "min": known.minimum,
        "Q1": known.lower_quartile,
        "median": known.median,
        "Q3": known.upper_quartile,
        "max": known.maximum,
    }
    text = ", ".join(f"{word} {number_text(name, value)}" for word, value in shown.items())
    text += f"; 95 % interval {number_text(name, ours.low)} to {number_text(name, ours.high)}; {ours.n} repeats"
    published = None
    if compared is not None and compared.difference is not None:
        text += f"; ours − published {number_text(name, compared.difference, '+')}: {compared.verdict}"
        published = compared.published
    return Spread(described(name).title, f"{text}.", *_bars(values, published))


def _bars(values: list[float], published: float | None) -> tuple[str, int | None]:
    """Draw how many repeats lie where, and return the path of the bars and the place of the published number."""
    ends = [*values, *([] if published is None else [published])]
    low, high = min(ends), max(ends)

    def place(value: float) -> int:
        if math.isclose(low, high):
            return STRIP_WIDTH // 2
        return _BAR * round((STRIP_WIDTH - 2 * _BAR) * (value - low) / (high - low) / _BAR) + _BAR

    counts = Counter(map(place, values))
    most = max(counts.values())
    heights = {at: max(2, round(STRIP_HEIGHT * n / most)) for at, n in sorted(counts.items())}
    bars = "".join(f"M{at} {STRIP_HEIGHT}v-{height}" for at, height in heights.items())
    return bars, None if published is None else place(published)
