"""HTML report: findings, tables, figures, ranks, rules and provenance on a single page."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from pppca_bench import __version__
from pppca_bench.methods.lookup import title_of
from pppca_bench.reporting.comparison import (
    SCORE_HEADERS,
    VERDICTS,
    Comparison,
    Place,
    Verdict,
    compare,
    score_rows,
    scores,
)
from pppca_bench.reporting.document import EMPTY, Document, environment, number_text
from pppca_bench.reporting.figure_drawing import draw, draw_ranking, page_svg
from pppca_bench.reporting.index_page import figure_notes, headline, not_run
from pppca_bench.reporting.own_documents import five_numbers
from pppca_bench.reporting.own_tables import FIT_TIMES
from pppca_bench.reporting.ranking import HEADERS, ranking_remarks, ranking_rows
from pppca_bench.reporting.report_card import build_card, software
from pppca_bench.reporting.snapshot import Snapshot
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.reporting.table_text import SIGNS, filled_parts, notes, ours_text, published_texts
from pppca_bench.runs import described
from pppca_bench.store.columns import DONE, FAILED
from pppca_bench.store.database import Store

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


def _factor_out(rows: Sequence[Sequence[CellView]]) -> tuple[Facts, list[Facts], list[Facts], list[list[CellView]]]:
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


FILTERED = 8
"""Least number of rows of a table with a filter."""


class FigureView(NamedTuple):
    """Figure of the page; ``table`` has the numbers of a ranking."""

    id: str
    anchor: str
    title: str
    svg: Markup
    notes: Sequence[str]
    table: TableView | None = None


Report = Mapping[str, Any]
"""Content of the page, by the names that its template uses."""


def gather(snapshot: Snapshot, store: Store, addresses: Mapping[str, str]) -> Report:
    """Gather the content of the page.

    Parameters
    ----------
    snapshot : Snapshot
        The results.
    store : Store
        Their database, for learning curves, provenance and texts of configs.
    addresses : mapping of str to str
        Sources of the problems' data.
    """
    means, cells = snapshot.of_means, snapshot.results.cells
    compared = compare(means)
    by_place = {comparison.place: comparison for comparison in compared}
    figures = snapshot.figures(store)
    findings = snapshot.findings(figures)
    # A thousand times to fit stand in a file of their own.
    tables = [kept for table in snapshot.filled if table.id != FIT_TIMES and (kept := table.trimmed())]
    rankings = []
    for contest, ranking in snapshot.rankings():
        ranks = Document(f"{contest.id}-ranks", contest.title, "", HEADERS, ranking_rows(ranking))
        drawn = contest.id, contest.title, page_svg(draw_ranking, contest, ranking), ranking_remarks(ranking)
        rankings.append(_figure_view(*drawn, text_view(ranks)))
    groups = score_rows(scores(means, snapshot.of_texts))
    return {
        "headline": headline(compared, findings),
        "n_runs": sum(runs.count_of(DONE) for runs in cells.values()),
        "findings": findings,
        "tables": [
            text_view(table) if isinstance(table, Document) else table_view(table, by_place) for table in tables
        ],
        "figures": [
            _figure_view(figure.figure, figure.title, page_svg(draw, figure), figure_notes(figure))
            for figure in figures
            if figure.panels
        ],
        "rankings": rankings,
        "scores": text_view(Document("scores", "Scores of groups of cells", "", SCORE_HEADERS, groups)),
        "configs": [
            _config_view(name, text, snapshot, store, addresses) for name, text in store.config_texts().items()
        ],
        "gaps": not_run(list(snapshot.values()), figures),
        "software": software(store.origins(), {item for cell in cells for item in cell.algorithms}),
    }


def render_report(report: Report) -> str:
    """Render the page."""
    templates = environment(autoescape=True)
    templates.filters |= {"with_code": _with_code, "anchor": anchor}
    views = [*report["tables"], *report["figures"], *report["rankings"]]
    return templates.get_template("report.html").render(
        report=report,
        known={view.id: view.anchor for view in views},
        problems=list(dict.fromkeys(tuple(row) for config in report["configs"] for row in config["card"].rows)),
        version=__version__,
        signs={verdict: SIGNS[verdict] for verdict in VERDICTS},
        filtered=FILTERED,
        strip=(STRIP_WIDTH, STRIP_HEIGHT),
    )


def _with_code(text: str) -> Markup:
    """Return a text with the parts between backticks marked up as code."""
    parts = str(text).split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


def _config_view(name: str, text: str, snapshot: Snapshot, store: Store, addresses: Mapping[str, str]) -> Report:
    """Return a config with the counts of its runs, its text, and its card of rules."""
    cells = snapshot.results.of_config(name)
    problems = list(dict.fromkeys(cell.problem for cell in cells))
    return {
        "name": name,
        "methods": ", ".join(dict.fromkeys(title_of(cell.method) for cell in cells)),
        "problems": ", ".join(problems) if len(problems) <= 4 else f"{len(problems)} problems",
        "n_done": sum(runs.count_of(DONE) for runs in cells.values()),
        "n_failed": sum(runs.count_of(FAILED) for runs in cells.values()),
        "n_planned": sum(map(len, cells.values())),
        "text": text,
        "card": build_card(name, snapshot.results, snapshot.facts, addresses, store.origins([name])),
    }


def _figure_view(id: str, title: str, svg: bytes, notes: Sequence[str], table: TableView | None = None) -> FigureView:
    return FigureView(id, anchor(id), title, Markup(inline_svg(svg, anchor(id), f"{id}. {title}")), notes, table)


def inline_svg(svg: bytes, prefix: str, label: str) -> str:
    """Return a drawing of Matplotlib as an element of an HTML page.

    Metadata and style sheet are removed, and coordinates are cut to a tenth of a point. The ``prefix`` makes
    identifiers unique on the page; ``label`` is for screen readers.
    """
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg.decode(), flags=re.DOTALL)
    text = re.sub(r"(\.\d)\d{2,}", r"\1", text[text.index("<svg") :])
    text = re.sub(r">\s+<", "><", text).replace("xlink:href", "href")
    text = re.sub(r'<g id="[^"]*">', "<g>", text)  # no link leads to a group
    text = re.sub(r'\b(id="|href="#|url\(#)', rf"\1{prefix}-", text)
    return text.replace("<svg", str(Markup('<svg role="img" aria-label="{}"').format(label)), 1)
