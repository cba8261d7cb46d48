"""Views of tables for the report page: numbers, verdicts, repeats and provenance of each cell."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pppca_bench.reporting.comparison import VERDICTS, Comparison, Place, Verdict
from pppca_bench.reporting.document import EMPTY, Document, number_text
from pppca_bench.reporting.own_documents import five_numbers
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.reporting.table_text import filled_parts, notes, ours_text, published_texts
from pppca_bench.runs import described

STRIP_WIDTH, STRIP_HEIGHT = 150, 18
"""Size of the histogram of a cell's repeats, in pixels."""

_BAR = 3
"""Width of the histogram's bars, in pixels."""

_LONGEST = 40
"""Largest number of characters of a part of an id."""

Facts = dict[str, str]


class Piece(NamedTuple):
    """Published number of a cell: the characters before it, its text, and the verdict on ours, if any."""

    before: str
    text: str
    verdict: Verdict | None = None


class Spread(NamedTuple):
    """Repeats of a quantity: title, statistics in words, path of the histogram, and place of the published number."""

    title: str
    text: str
    bars: str = ""
    published_at: int | None = None


@dataclass(frozen=True, slots=True)
class CellView:
    """Cell of a table."""

    text: str
    id: str = ""
    verdict: Verdict | None = None
    published: Sequence[Piece] = ()
    spreads: Sequence[Spread] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


class RowView(NamedTuple):
    """Row of a table: label, facts that its cells share, cells, and an id if the cells have none."""

    label: str
    facts: Facts
    cells: Sequence[CellView]
    id: str = ""


@dataclass(frozen=True, slots=True)
class TableView:
    """Table of the page.

    ``headers`` are the text of each column and the facts that its cells share; ``counts`` the numbers of published
    numbers by verdict, empty if nothing was published; ``facts`` those that all cells share. The facts of a cell, with
    those of its row, column and table, are its provenance: ``config``, ``versions``, ``data``, and the settings that
    select its runs, whose names begin with ``only.``.
    """

    id: str
    anchor: str
    title: str
    caption: str
    headers: Sequence[tuple[str, Facts]]
    rows: Sequence[RowView]
    notes: Sequence[str] = ()
    counts: Mapping[Verdict, int] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)


def anchor(*parts: str) -> str:
    """Return an HTML id of word characters and the marks ``/ = . , -``; a digest replaces the end of a long part."""
    texts = [re.sub(r"[^\w=.,-]+", "-", part) for part in parts]
    return "/".join(
        text if len(text) <= _LONGEST else f"{text[: _LONGEST - 7]}-{hashlib.sha256(part.encode()).hexdigest()[:6]}"
        for part, text in zip(parts, texts, strict=True)
    )


def table_view(table: Table, compared: Mapping[Place, Comparison]) -> TableView:
    """Return the view of a table of means, with the verdicts of `comparison.compare`."""
    rows: list[list[CellView]] = []
    for row in table.row_labels:
        cells = [table.cells.get((row, column)) for column in table.column_labels]
        rows.append([_cell(table, cell, compared) if cell else CellView(EMPTY) for cell in cells])
    shared, by_row, by_column, rows = _factor_out(rows)
    counts = Counter(comparison.verdict for place, comparison in compared.items() if place[0] == table.id)
    ids = [anchor(table.id, row) if table.is_list else "" for row in table.row_labels]
    return TableView(
        table.id,
        anchor(table.id),
        table.title,
        f"Ours; below it, published: {table.place}" if counts else "",
        [(table.row_header, {}), *zip(table.column_labels.values(), by_column, strict=True)],
        list(map(RowView, table.row_labels.values(), by_row, rows, ids)),
        notes(table),
        {verdict: counts[verdict] for verdict in VERDICTS} if counts else {},
        shared,
    )


def text_view(document: Document) -> TableView:
    """Return the view of a document."""
    lines: list[RowView] = []
    for number, (label, *texts) in enumerate(document.rows):
        agrees = document.agrees[number] if document.agrees else None
        verdict: Verdict | None = None if agrees is None else "reproduced" if agrees else "differs"
        cells = [CellView(text, verdict=None if place else verdict) for place, text in enumerate(texts)]
        lines.append(RowView(label, {}, cells, anchor(document.id, f"{number + 1}-{label}")))
    caption = f"Ours beside published: {document.place}" if document.place else ""
    paragraphs = replace(document, place="").paragraphs()
    heads = [(header, Facts()) for header in document.headers]
    return TableView(document.id, anchor(document.id), document.title, caption, heads, lines, paragraphs)


def _cell(table: Table, cell: TableCell, compared: Mapping[Place, Comparison]) -> CellView:
    places = {name: (table.id, cell.row, cell.column, name) for name in cell.published}
    verdicts = {name: compared[place] for name, place in places.items() if place in compared}
    repeated = [name for name in (*cell.shows, *table.also) if name in cell.ours and len(cell.values.get(name, ())) > 1]
    first, facts = cell.shows[0], Facts()
    if source := cell.source:
        facts = {"config": source.config, "versions": source.versions, "data": source.data_sha256[:12]}
        facts |= {f"only.{name}": value for name, value in source.only.items()}
    return CellView(
        ours_text(cell, sd=table.spread or table.is_list),
        "" if table.is_list else anchor(table.id, cell.row, cell.column),
        verdicts[first].verdict if first in verdicts else None,
        list(_published(table, cell, verdicts)) if cell.published else (),
        [_spread(cell, name, verdicts.get(name)) for name in repeated],
        facts,
    )


def _published(table: Table, cell: TableCell, verdicts: Mapping[str, Comparison]) -> Iterator[Piece]:
    texts = published_texts(cell)
    if table.spread and (sd := cell.published[cell.shows[0]].sd) is not None:
        texts[0] += f" ± {number_text(cell.shows[0], sd)}"
    for name, (before, text) in zip([*cell.shows, ""], filled_parts(cell.form, texts), strict=False):
        yield Piece(before, text, verdicts[name].verdict if name in verdicts else None)


def _factor_out(
    rows: Sequence[Sequence[CellView]],
) -> tuple[Facts, list[Facts], list[Facts], list[list[CellView]]]:
    """Move facts that all cells share to the table, then those of rows and columns; return them and the cells left."""
    columns = list(zip(*rows, strict=True))
    shared = _common([cell for row in rows for cell in row])
    by_row, by_column = ([_without(_common(line), shared) for line in lines] for lines in (rows, columns))
    left = [
        [replace(cell, facts=_without(cell.facts, shared | of_row | of_column)) for cell, of_column in pairs]
        for pairs, of_row in zip((zip(row, by_column, strict=True) for row in rows), by_row, strict=True)
    ]
    return shared, by_row, by_column, left


def _common(cells: Sequence[CellView]) -> Facts:
    """Return the facts that all cells with facts share."""
    known = [set(cell.facts.items()) for cell in cells if cell.facts]
    return dict(sorted(set.intersection(*known))) if known else {}


def _without(facts: Mapping[str, str], others: Mapping[str, str]) -> Facts:
    return {name: value for name, value in facts.items() if others.get(name) != value}


def _spread(cell: TableCell, name: str, compared: Comparison | None) -> Spread:
    ours, values = cell.ours[name], list(cell.values[name].values())
    text = (
        f"{number_text(name, ours.mean)} ± {number_text(name, ours.sd)}, {ours.n} repeats; 95 % interval"
        f" {number_text(name, ours.low)} to {number_text(name, ours.high)};"
        f" {' | '.join(number_text(name, value) for value in five_numbers(values))}"
    )
    published = None
    if compared is not None and compared.difference is not None:
        text += f"; ours − published {number_text(name, compared.difference, '+')}, {compared.verdict}"
        published = compared.published
    return Spread(described(name).title, f"{text}.", *_histogram(values, published))


def _histogram(values: Sequence[float], published: float | None) -> tuple[str, int | None]:
    """Return the SVG path of a histogram, and the place of the published number on its axis."""
    shown = [*values, *([] if published is None else [published])]
    low, high = min(shown), max(shown)

    def place(value: float) -> int:
        if math.isclose(low, high):
            return STRIP_WIDTH // 2
        return _BAR * round((STRIP_WIDTH - 2 * _BAR) * (value - low) / (high - low) / _BAR) + _BAR

    counts = Counter(map(place, values))
    heights = {x: max(2, round(STRIP_HEIGHT * n / max(counts.values()))) for x, n in sorted(counts.items())}
    bars = "".join(f"M{x} {STRIP_HEIGHT}v-{height}" for x, height in heights.items())
    return bars, None if published is None else place(published)
