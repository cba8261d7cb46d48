"""Tables of the HTML report: cells with published numbers, differences, verdicts, repeats and provenance."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pppca_bench.quantities import described
from pppca_bench.reporting.comparison import Comparison, Place
from pppca_bench.reporting.document import DIFFERENCE, PUBLISHED, Document, number_text
from pppca_bench.reporting.statistics import Histogram, five_number_summary, histogram
from pppca_bench.reporting.summary import CellSource
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.reporting.table_text import document_of, filled, filled_parts, published_texts
from pppca_bench.reporting.verdicts import Verdict

LENGTH, WIDTH = 144, 3
"""Length of the axis of a histogram of a cell's repeats, and width of its bars, in pixels."""

_MAX_PART = 40
"""Largest number of characters of a part of an id."""

_FROM_WORST: Sequence[Verdict] = ("differs", "consistent", "reproduced", "not run")

_FIVE_NUMBERS = ("minimum", "lower quartile", "median", "upper quartile", "maximum")


class Origin(NamedTuple):
    """Config of a cell's runs, the command that computes them again, and versions and data."""

    config: str
    command: str
    digest: str


class CellView(NamedTuple):
    """Cell of a table.

    ``verdict`` is the worst of its quantities'; ``differences`` the characters before each difference from the
    published number, its text, and its verdict; ``repeats`` the title of each quantity with several repeats, its
    statistics, and its histogram.
    """

    text: str
    verdict: Verdict | None = None
    id: str = ""
    published: str = ""
    differences: Sequence[tuple[str, str, Verdict | None]] = ()
    repeats: Sequence[tuple[str, str, Histogram]] = ()
    origin: Origin | None = None


class TableView(NamedTuple):
    """Table of the page: its texts as in all formats, and its rows with what only the page shows."""

    document: Document
    caption: str
    rows: Sequence[tuple[str, Sequence[CellView]]]  # with their labels
    shares: str = ""  # of its verdicts
    others: Sequence[TableView] = ()  # further numbers


def anchor(*parts: str) -> str:
    """Return an HTML id of word characters and the marks ``/ = . , -``; a digest replaces the end of a long part."""
    texts = [re.sub(r"[^\w=.,-]+", "-", part) for part in parts]
    return "/".join(
        text
        if len(text) <= _MAX_PART
        else f"{text[: _MAX_PART - 7]}-{hashlib.sha256(part.encode()).hexdigest()[:6]}"
        for part, text in zip(parts, texts, strict=True)
    )


def table_view(table: Table, compared: Mapping[Place, Comparison]) -> TableView:
    """Return the view of a table of means, with the verdicts of `comparison.compare`."""
    document = document_of(
        table._replace(shares=""), sd=table.spread or table.is_list, paired=False
    )
    rows = []
    for key, (label, *texts) in zip(table.row_labels, document.rows, strict=True):
        cells = [table.cells.get((key, column)) for column in table.column_labels]
        views = [
            _cell(table, cell, text, compared) for cell, text in zip(cells, texts, strict=True)
        ]
        rows.append((label, views))
    is_compared = any(table_id == table.id for table_id, *_ in compared)
    caption = f"Published: {table.place}" if is_compared else ""
    return TableView(document, caption, rows, table.shares, _others(document))


def text_view(document: Document) -> TableView:
    """Return the view of a document."""
    verdicts: Mapping[bool | None, Verdict] = {True: "reproduced", False: "differs"}
    rows = []
    for number, (label, *texts) in enumerate(document.rows):
        verdict = verdicts.get(document.agrees[number]) if document.agrees else None
        cells = [CellView(text, None if index else verdict) for index, text in enumerate(texts)]
        rows.append((label, cells))
    caption = f"Ours beside published: {document.place}" if document.place else ""
    return TableView(document._replace(place=""), caption, rows, others=_others(document))


def _others(document: Document) -> list[TableView]:
    """Return the views of a document's further grids; published numbers and differences are in its cells."""
    return [
        text_view(Document(grid.name, grid.caption, "", grid.headers, grid.rows))
        for grid in document.others
        if grid.name not in (PUBLISHED, DIFFERENCE)
    ]


def _cell(
    table: Table, cell: TableCell | None, text: str, compared: Mapping[Place, Comparison]
) -> CellView:
    """Return the view of a cell with our numbers as text."""
    if cell is None:
        return CellView(text)
    numbers = {
        name: compared.get((table.id, cell.row, cell.column, name)) for name in cell.published
    }
    judged = {name: number for name, number in numbers.items() if number}
    found = {number.verdict for number in judged.values()}
    published = published_texts(cell)
    if table.spread and published[0] and (sd := cell.published[cell.shows[0]].sd) is not None:
        published[0] += f" ± {number_text(cell.shows[0], sd)}"
    shown = [name for name in (*cell.shows, *table.also) if name in cell.ours]
    repeated = [name for name in shown if len(cell.runs.values(name)) > 1]
    return CellView(
        text,
        next((verdict for verdict in _FROM_WORST if verdict in found), None),
        anchor(table.id, cell.row, cell.column),
        filled(cell.form, published) if cell.published else "",
        list(_differences(cell, judged)),
        [(described(name).title, *_statistics(cell, name, judged.get(name))) for name in repeated],
        _origin(cell.source) if cell.source else None,
    )


def _differences(
    cell: TableCell, judged: Mapping[str, Comparison]
) -> Sequence[tuple[str, str, Verdict | None]]:
    """Return the parts of a cell's differences, each with its verdict; none without a difference."""
    known = {
        name: (item.difference, item.verdict)
        for name, item in judged.items()
        if item.difference is not None
    }
    texts = [number_text(name, known[name][0], "+") if name in known else "" for name in cell.shows]
    verdicts = [known[name][1] if name in known else None for name in cell.shows]
    if not any(texts):
        return []
    parts = filled_parts(cell.form, texts)
    return [(*part, verdict) for part, verdict in zip(parts, [*verdicts, None], strict=False)]


def _origin(source: CellSource) -> Origin:
    command = ["pppca", "run", source.config, "--only", source.only, "--fresh"]
    versions = f"{source.versions}; " if source.versions else ""
    return Origin(source.config, shlex.join(command), f"{versions}data {source.data_sha256[:12]}")


def _statistics(cell: TableCell, name: str, compared: Comparison | None) -> tuple[str, Histogram]:
    """Return the statistics of a quantity as text, and its histogram with the published number."""
    ours, values = cell.ours[name], list(cell.runs.values(name).values())
    numbers = zip(_FIVE_NUMBERS, five_number_summary(values), strict=True)
    text = (
        f"{number_text(name, ours.mean)} ± {number_text(name, ours.sd)}, {ours.n} repeats; 95 % interval"
        f" {number_text(name, ours.low)} to {number_text(name, ours.high)};"
        f" {' | '.join(f'{title} {number_text(name, value)}' for title, value in numbers)}"
    )
    published = compared.published if compared and compared.difference is not None else None
    return f"{text}.", histogram(values, published, length=LENGTH, width=WIDTH)
