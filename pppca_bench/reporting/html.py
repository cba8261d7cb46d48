"""HTML report: claims, tables, figures, rankings, rules and provenance on a single page."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from pppca_bench.methods.lookup import title_of
from pppca_bench.quantities import described
from pppca_bench.reporting.comparison import SCORE_HEADERS, Comparison, Place, score_rows, scores
from pppca_bench.reporting.document import Document, environment, number_text
from pppca_bench.reporting.figure_drawing import draw, draw_ranking, to_images
from pppca_bench.reporting.index_page import headline, not_run
from pppca_bench.reporting.own_tables import FIT_TIMES
from pppca_bench.reporting.ranking import ranking_remarks, ranking_rows
from pppca_bench.reporting.report_card import build_card, software
from pppca_bench.reporting.snapshot import Snapshot
from pppca_bench.reporting.statistics import Histogram, five_number_summary, histogram
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.reporting.table_text import SIGNS, document_of, filled_parts, published_texts
from pppca_bench.reporting.verdicts import Verdict
from pppca_bench.store.database import Store
from pppca_bench.version import __version__

LENGTH, WIDTH = 144, 3
"""Length of the axis of a histogram of a cell's repeats, and width of its bars, in pixels."""

_MAX_PART = 40
"""Largest number of characters of a part of an id."""


class CellView(NamedTuple):
    """Cell of a table.

    ``published`` has the characters before each published number, its text, and the verdict on ours; ``repeats`` the
    title of each quantity with several repeats, its statistics, and its histogram; ``source`` the arguments of
    `pppca run` that compute it again, and its versions and data.
    """

    text: str
    verdict: Verdict | None = None
    id: str = ""
    published: Sequence[tuple[str, str, Verdict | None]] = ()
    repeats: Sequence[tuple[str, str, Histogram]] = ()
    source: tuple[str, str] | None = None


class RowView(NamedTuple):
    """Row of a table; ``id`` is "" if the cells have ids."""

    label: str
    cells: Sequence[CellView]
    id: str


class TableView(NamedTuple):
    """Table of the page: its texts as in all formats, and its rows with what only the page shows."""

    document: Document
    caption: str
    rows: Sequence[RowView]


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
    document, rows = document_of(table, sd=table.spread or table.is_list, paired=False), []
    for key, (label, *texts) in zip(table.row_labels, document.rows, strict=True):
        cells = [table.cells.get((key, column)) for column in table.column_labels]
        views = [
            _cell(table, cell, text, compared) for cell, text in zip(cells, texts, strict=True)
        ]
        rows.append(RowView(label, views, anchor(table.id, key) if table.is_list else ""))
    is_compared = any(table_id == table.id for table_id, *_ in compared)
    return TableView(
        document, f"Ours; below it, published: {table.place}" if is_compared else "", rows
    )


def text_view(document: Document) -> TableView:
    """Return the view of a document."""
    verdicts: Mapping[bool | None, Verdict] = {True: "reproduced", False: "differs"}
    rows = []
    for number, (label, *texts) in enumerate(document.rows):
        verdict = verdicts.get(document.agrees[number]) if document.agrees else None
        cells = [CellView(text, None if index else verdict) for index, text in enumerate(texts)]
        rows.append(RowView(label, cells, anchor(document.id, f"{number + 1}-{label}")))
    caption = f"Ours beside published: {document.place}" if document.place else ""
    return TableView(document._replace(place=""), caption, rows)


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
    verdicts: list[Verdict | None] = [
        judged[name].verdict if name in judged else None for name in cell.shows
    ]
    texts = published_texts(cell)
    if table.spread and texts[0] and (sd := cell.published[cell.shows[0]].sd) is not None:
        texts[0] += f" ± {number_text(cell.shows[0], sd)}"
    parts = filled_parts(cell.form, texts) if cell.published else []
    shown = () if table.is_list else (*cell.shows, *table.also)
    repeated = [name for name in shown if name in cell.ours and len(cell.runs.values(name)) > 1]
    source = None
    if runs := cell.source:
        versions = f"Versions {runs.versions}; data" if runs.versions else "Data"
        source = (
            shlex.join([runs.config, "--only", runs.selection]),
            f"{versions} {runs.data_sha256[:12]}.",
        )
    return CellView(
        text,
        verdicts[0],
        "" if table.is_list else anchor(table.id, cell.row, cell.column),
        [(*part, verdict) for part, verdict in zip(parts, [*verdicts, None], strict=False)],
        [(described(name).title, *_statistics(cell, name, judged.get(name))) for name in repeated],
        source,
    )


def _statistics(cell: TableCell, name: str, compared: Comparison | None) -> tuple[str, Histogram]:
    """Return the statistics of a quantity as text, and its histogram with the published number."""
    ours, values = cell.ours[name], list(cell.runs.values(name).values())
    text = (
        f"{number_text(name, ours.mean)} ± {number_text(name, ours.sd)}, {ours.n} repeats; 95 % interval"
        f" {number_text(name, ours.low)} to {number_text(name, ours.high)};"
        f" {' | '.join(number_text(name, value) for value in five_number_summary(values))}"
    )
    published = None
    if compared is not None and compared.difference is not None:
        text += (
            f"; ours − published {number_text(name, compared.difference, '+')}, {compared.verdict}"
        )
        published = compared.published
    return f"{text}.", histogram(values, published, length=LENGTH, width=WIDTH)


def render_report(snapshot: Snapshot, store: Store, addresses: Mapping[str, str]) -> str:
    """Render the page.

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
    by_place = {item.place: item for item in snapshot.comparisons if item.verdict in SIGNS}
    figures = snapshot.figures(store)
    answers = snapshot.answers(figures)
    # The table of times to fit has about a thousand rows: it is only a file.
    shown = snapshot.with_shares(table for table in snapshot.with_runs if table.id != FIT_TIMES)
    tables = [kept for table in shown if (kept := table.trimmed())]
    rankings = []
    for spec, ranking in snapshot.rankings():
        rows, remarks = ranking_rows(ranking), ranking_remarks(ranking)
        ranks = Document(f"{spec.id}-ranks", spec.title, "", ranking.headers, rows, remarks)
        rankings.append(
            (spec, to_images(draw_ranking, spec, ranking, for_page=True), text_view(ranks))
        )
    groups = score_rows(scores(means, snapshot.of_texts))
    counts: dict[str, Counter[Verdict]] = {}
    for item in by_place.values():
        counts.setdefault(item.table, Counter())[item.verdict] += 1
    templates = environment(autoescape=True)
    templates.filters |= {"with_code": _with_code, "anchor": anchor, "inline_svg": inline_svg}
    return templates.get_template("report.html").render(
        headline=headline(snapshot.comparisons, answers, snapshot.all_shares),
        n_runs=sum(runs.n_done for runs in cells.values()),
        answers=answers,
        tables=[
            text_view(table) if isinstance(table, Document) else table_view(table, by_place)
            for table in tables
        ],
        figures=[
            (figure, to_images(draw, figure, for_page=True)) for figure in figures if figure.panels
        ],
        rankings=rankings,
        counts=counts,
        scores=text_view(
            Document("scores", "Scores of groups of cells", "", SCORE_HEADERS, groups)
        ),
        configs=[
            _config(name, text, snapshot, store, addresses)
            for name, text in store.config_texts().items()
        ],
        gaps=not_run(list(snapshot.values()), figures),
        software=software(store.origins(), {item for cell in cells for item in cell.algorithms}),
        version=__version__,
        signs=SIGNS,
    )


def _with_code(text: str) -> Markup:
    """Return a text with the parts between backticks marked up as code."""
    parts = str(text).split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else escape(part)
        for index, part in enumerate(parts)
    )


def _config(
    name: str, text: str, snapshot: Snapshot, store: Store, addresses: Mapping[str, str]
) -> Mapping[str, Any]:
    """Return a config with the counts of its runs, its text, and its report card."""
    cells = snapshot.results.of_config(name)
    problems = list(dict.fromkeys(cell.problem for cell in cells))
    card = build_card(name, snapshot.results, snapshot.facts, addresses, store.origins([name]))
    return {
        "name": name,
        "methods": ", ".join(dict.fromkeys(title_of(cell.method) for cell in cells)),
        "problems": ", ".join(problems) if len(problems) <= 4 else f"{len(problems)} problems",
        "n_done": sum(runs.n_done for runs in cells.values()),
        "n_failed": sum(runs.n_failed for runs in cells.values()),
        "n_planned": sum(runs.n_planned for runs in cells.values()),
        "text": text,
        "card": card,
        "sizes": text_view(Document(f"{name}-problems", "Problems", "", card.headers, card.rows)),
    }


def inline_svg(svg: bytes, id: str, label: str) -> Markup:
    """Return a drawing of Matplotlib as an element of an HTML page.

    Metadata and style sheet are removed, and coordinates are cut to a tenth of a point. The ``id`` makes the drawing's
    identifiers unique on the page; ``label`` is for screen readers.
    """
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg.decode(), flags=re.DOTALL)
    text = re.sub(r"(\.\d)\d{2,}", r"\1", text[text.index("<svg") :])
    text = re.sub(r">\s+<", "><", text).replace("xlink:href", "href")
    text = re.sub(r'<g id="[^"]*">', "<g>", text)  # groups are not linked to
    text = re.sub(r'\b(id="|href="#|url\(#)', rf"\1{anchor(id)}-", text)
    return Markup(
        text.replace("<svg", str(Markup('<svg role="img" aria-label="{}"').format(label)), 1)
    )
