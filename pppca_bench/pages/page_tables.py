"""Tables of the HTML report: cells with published numbers, differences, verdicts, repeats and provenance."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pppca_bench.pages.cell_texts import (
    difference_text,
    filled,
    filled_parts,
    number_text,
    published_texts,
    shown_in,
)
from pppca_bench.pages.document import Document
from pppca_bench.pages.means import VERDICT_SIGNS, by_cell
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.quantities import described
from pppca_bench.results.frames import Runs
from pppca_bench.results.statistics import Histogram, five_number_summary, histogram
from pppca_bench.verdicts.judge import Verdict
from pppca_bench.verdicts.numbers import repeats_of, trimmed
from pppca_bench.verdicts.own_tables import is_list

LENGTH, WIDTH = 144, 3
"""Length of the axis of a histogram of a cell's repeats, and width of its bars, in pixels."""

_MAX_PART = 40
"""Largest number of characters of a part of an id."""

_FROM_WORST: Sequence[Verdict] = (
    *("differs", "cannot tell", "consistent", "reproduced", "not run"),
)

_FIVE_NUMBERS = ("minimum", "lower quartile", "median", "upper quartile", "maximum")


class CellView(NamedTuple):
    """Cell of a table.

    ``verdict`` is the worst of its quantities'; ``differences`` the characters before each difference from the
    published number, its text, and its verdict; ``repeats`` the title of each quantity with several repeats, its
    statistics, its histogram, and the texts of the scale below it; ``source`` is the printed number with the provenance
    of the runs, None without runs.
    """

    text: str
    verdict: Verdict | None
    id: str
    published: str
    differences: Sequence[tuple[str, str, Verdict | None]]
    repeats: Sequence[tuple[str, str, Histogram, Sequence[str]]]
    source: Any


class PageTable(NamedTuple):
    """Table with the rows of the page, and paragraphs below it.

    ``is_open`` says whether the table compares means of runs with published numbers.
    """

    document: Document
    rows: Sequence[Sequence[str | CellView]]
    notes: Sequence[str] = ()
    is_open: bool = False


def anchor(*parts: str) -> str:
    """Return an HTML id of word characters and the marks ``/ = . , -``; a digest replaces the end of a long part."""
    texts = []
    for part in parts:
        text = re.sub(r"[^\w=.,-]+", "-", part)
        if len(text) > _MAX_PART:
            digest = hashlib.sha256(part.encode()).hexdigest()
            text = f"{text[: _MAX_PART - 7]}-{digest[:6]}"
        texts.append(text)
    return "/".join(texts)


def page_table(document: Document) -> PageTable:
    """Return a table of texts for the page."""
    notes = document._replace(place="").paragraphs()
    if document.place:
        notes.insert(0, f"Ours beside published: {document.place}.")
    return PageTable(document, document.rows, notes)


def table_of_means(snapshot: Snapshot, name: str, texts: tuple[str, str]) -> PageTable | None:
    """Return a table of means for the page, without rows and columns without runs; None if nothing is left.

    ``texts`` are the paragraphs on the shares of the verdicts.
    """
    lead, shares = texts
    layout, numbers = snapshot.means(name)
    sd = layout.spread or is_list(layout)
    document = snapshot.table(name, whole=False, sd=sd, paired=False, texts=(lead, ""))
    if document is None:
        return None
    numbers = trimmed(numbers)
    cells, keys = by_cell(numbers), set(numbers["row"])
    row_keys = [line.key for line in layout.rows if line.key in keys]
    keys = set(numbers["column"])
    column_keys = [line.key for line in layout.columns if line.key in keys]
    rows = list[Sequence[str | CellView]]()
    for row, (label, *cell_texts) in zip(row_keys, document.rows, strict=True):
        views = list[str | CellView]()
        for column, text in zip(column_keys, cell_texts, strict=True):
            cell = cells.get((row, column))
            views.append(_cell(cell, text, snapshot.runs, spread=layout.spread) if cell else text)
        rows.append([label, *views])
    is_compared = numbers["verdict"].isin(list(VERDICT_SIGNS))
    place = f"Published: {layout.place}." if is_compared.any() else ""
    notes = [*filter(None, (place, shares)), *document.paragraphs()]
    return PageTable(document, rows, notes, bool((is_compared & (numbers["n_planned"] > 0)).any()))


def _cell(cell: Mapping[str, Any], text: str, runs: Runs, *, spread: bool) -> CellView:
    """Return the view of a cell with our numbers as text."""
    shows, form = shown_in(cell)
    first = cell[shows[0]]
    verdicts = [number.verdict for number in cell.values() if number.verdict in VERDICT_SIGNS]
    published = published_texts(shows, cell)
    if spread and published[0] and not math.isnan(first.published_sd):
        published[0] += f" ± {number_text(first, first.published_sd)}"
    has_published = any(number.printed for number in cell.values())
    repeats = []
    for number in cell.values():
        if number.shown in ("cell", "below") and number.n:
            values = repeats_of(runs, number)
            if len(values) > 1:
                repeats.append(_repeats(number, list(values.values())))
    return CellView(
        text,
        min(verdicts, key=_FROM_WORST.index, default=None),
        anchor(first.table, first.row, first.column),
        filled(form, published) if has_published else "",
        _differences(shows, form, cell),
        repeats,
        first if first.config else None,
    )


def _differences(
    shows: Sequence[str], form: str, cell: Mapping[str, Any]
) -> Sequence[tuple[str, str, Verdict | None]]:
    """Return the parts of a cell's differences, each with its verdict; none without a difference."""
    texts, verdicts = [], list[Verdict | None]()
    for name in shows:
        text = difference_text(cell.get(name))
        texts.append(text)
        verdicts.append(cell[name].verdict if text else None)
    if not any(texts):
        return []
    parts = filled_parts(form, texts)
    return [(*part, verdict) for part, verdict in zip(parts, [*verdicts, None], strict=False)]


def _repeats(number: Any, values: Sequence[float]) -> tuple[str, str, Histogram, Sequence[str]]:
    """Return the title of a quantity, its statistics as text, and its histogram with the published number.

    The scale of the histogram has the numbers at both ends, and the number of repeats of the tallest bar between them.
    """
    five_numbers = list[str]()
    for title, value in zip(_FIVE_NUMBERS, five_number_summary(values), strict=True):
        five_numbers.append(f"{title} {number_text(number, value)}")
    text = (
        f"{number_text(number, number.mean)} ± {number_text(number, number.sd)}, {number.n} repeats; 95 % interval"
        f" {number_text(number, number.low)} to {number_text(number, number.high)};"
        f" {' | '.join(five_numbers)}."
    )
    published = None if math.isnan(number.difference) else number.published
    bars = histogram(values, published, length=LENGTH, width=WIDTH)
    shown = [*values] if published is None else [*values, published]
    ends = number_text(number, min(shown)), number_text(number, max(shown))
    tallest = f"tallest bar: {max(bars.counts.values())}"
    scale = (ends[0], tallest, ends[1])
    if ends[0] == ends[1]:
        scale = ("", f"{ends[0]}, {tallest}", "")
    return described(number.quantity).title, text, bars, scale
