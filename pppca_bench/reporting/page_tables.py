"""Tables of the HTML report: cells with published numbers, differences, verdicts, repeats and provenance."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pppca_bench.quantities import described
from pppca_bench.reporting.comparison import Comparison, Place
from pppca_bench.reporting.document import Document, quantity_text
from pppca_bench.reporting.statistics import Histogram, five_number_summary, histogram
from pppca_bench.reporting.summary import CellSource
from pppca_bench.reporting.table import MeansTable, TableCell
from pppca_bench.reporting.table_text import document_of, filled, filled_parts, published_texts
from pppca_bench.reporting.verdicts import Verdict

LENGTH, WIDTH = 144, 3
"""Length of the axis of a histogram of a cell's repeats, and width of its bars, in pixels."""

_MAX_PART = 40
"""Largest number of characters of a part of an id."""

_FROM_WORST: Sequence[Verdict] = ("differs", "consistent", "reproduced", "not run")

_FIVE_NUMBERS = ("minimum", "lower quartile", "median", "upper quartile", "maximum")


class CellView(NamedTuple):
    """Cell of a table.

    ``verdict`` is the worst of its quantities'; ``differences`` the characters before each difference from the
    published number, its text, and its verdict; ``repeats`` the title of each quantity with several repeats, its
    statistics, and its histogram.
    """

    text: str
    verdict: Verdict | None
    id: str
    published: str
    differences: Sequence[tuple[str, str, Verdict | None]]
    repeats: Sequence[tuple[str, str, Histogram]]
    source: CellSource | None


def anchor(*parts: str) -> str:
    """Return an HTML id of word characters and the marks ``/ = . , -``; a digest replaces the end of a long part."""
    texts = [re.sub(r"[^\w=.,-]+", "-", part) for part in parts]
    return "/".join(
        text
        if len(text) <= _MAX_PART
        else f"{text[: _MAX_PART - 7]}-{hashlib.sha256(part.encode()).hexdigest()[:6]}"
        for part, text in zip(parts, texts, strict=True)
    )


def table_view(
    table: MeansTable | Document, compared: Mapping[Place, Comparison]
) -> tuple[Document, Sequence[Sequence[str | CellView]], str]:
    """Return a table as a document, its rows with what only the page shows, and its caption.

    The cells of a table of means have the verdicts of `comparison.compare`; those of a document are texts.
    """
    if isinstance(table, Document):
        caption = f"Ours beside published: {table.place}" if table.place else ""
        return table._replace(place=""), table.rows, caption
    document = document_of(
        table._replace(shares=""), sd=table.spread or table.is_list, paired=False
    )
    rows = []
    for key, (label, *texts) in zip(table.row_labels, document.rows, strict=True):
        cells = [table.cells.get((key, column)) for column in table.column_labels]
        views = [
            _cell(table, cell, text, compared) if cell else text
            for cell, text in zip(cells, texts, strict=True)
        ]
        rows.append([label, *views])
    is_compared = any(table_id == table.id for table_id, *_ in compared)
    return document, rows, f"Published: {table.place}" if is_compared else ""


def _cell(
    table: MeansTable, cell: TableCell, text: str, compared: Mapping[Place, Comparison]
) -> CellView:
    """Return the view of a cell with our numbers as text."""
    locations = {name: (table.id, cell.row, cell.column, name) for name in cell.published}
    judged = {
        name: compared[location] for name, location in locations.items() if location in compared
    }
    published = published_texts(cell)
    if table.spread and published[0] and (sd := cell.published[cell.shows[0]].sd) is not None:
        published[0] += f" ± {quantity_text(cell.shows[0], sd)}"
    return CellView(
        text,
        min((item.verdict for item in judged.values()), key=_FROM_WORST.index, default=None),
        anchor(table.id, cell.row, cell.column),
        filled(cell.form, published) if cell.published else "",
        _differences(cell, judged),
        [
            _repeats(cell, name, judged.get(name))
            for name in (*cell.shows, *table.also)
            if name in cell.ours and len(cell.runs.values(name)) > 1
        ],
        cell.source,
    )


def _differences(
    cell: TableCell, judged: Mapping[str, Comparison]
) -> Sequence[tuple[str, str, Verdict | None]]:
    """Return the parts of a cell's differences, each with its verdict; none without a difference."""
    texts = {
        name: quantity_text(name, item.difference, "+")
        for name, item in judged.items()
        if item.difference is not None
    }
    if texts.keys().isdisjoint(cell.shows):
        return []
    parts = filled_parts(cell.form, [texts.get(name, "") for name in cell.shows])
    verdicts = [judged[name].verdict if name in texts else None for name in cell.shows]
    return [(*part, verdict) for part, verdict in zip(parts, [*verdicts, None], strict=False)]


def _repeats(cell: TableCell, name: str, compared: Comparison | None) -> tuple[str, str, Histogram]:
    """Return the title of a quantity, its statistics as text, and its histogram with the published number."""
    ours, values = cell.ours[name], list(cell.runs.values(name).values())
    numbers = zip(_FIVE_NUMBERS, five_number_summary(values), strict=True)
    text = (
        f"{quantity_text(name, ours.mean)} ± {quantity_text(name, ours.sd)}, {ours.n} repeats; 95 % interval"
        f" {quantity_text(name, ours.low)} to {quantity_text(name, ours.high)};"
        f" {' | '.join(f'{title} {quantity_text(name, value)}' for title, value in numbers)}."
    )
    published = compared.published if compared and compared.difference is not None else None
    return described(name).title, text, histogram(values, published, length=LENGTH, width=WIDTH)
