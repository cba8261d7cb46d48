"""HTML report: claims, tables, figures, rankings, rules and provenance on a single page."""

from __future__ import annotations

import hashlib
import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from pppca_bench import __version__
from pppca_bench.methods.lookup import title_of
from pppca_bench.reporting.comparison import SCORE_HEADERS, Comparison, Place, compare, score_rows, scores
from pppca_bench.reporting.document import EMPTY, NO_ANSWERS, Answers, Document, environment, number_text
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.reporting.figure_drawing import draw, draw_ranking, page_svg
from pppca_bench.reporting.index_page import figure_notes, headline, not_run
from pppca_bench.reporting.own_tables import FIT_TIMES
from pppca_bench.reporting.ranking import ranking_remarks, ranking_rows
from pppca_bench.reporting.report_card import build_card, software
from pppca_bench.reporting.snapshot import Snapshot
from pppca_bench.reporting.statistics import five_number_summary
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.reporting.table_text import SIGNS, filled_parts, notes, ours_text, published_texts
from pppca_bench.reporting.verdicts import Verdict
from pppca_bench.runs import described
from pppca_bench.store.database import Store

WIDTH, HEIGHT, BAR = 150, 18, 3
"""Size of the histogram of a cell's repeats, and width of its bars, in pixels."""

_MAX_PART = 40
"""Largest number of characters of a part of an id."""

Source = tuple[str, str]
"""Provenance of a cell: the arguments of `pppca run` that compute it again, and its versions and data."""


class CellView(NamedTuple):
    """Cell of a table.

    ``published`` has the characters before each published number, its text, and the verdict on ours; ``repeats`` the
    title of each quantity with several repeats, its statistics, and its histogram.
    """

    text: str
    verdict: Verdict | None = None
    id: str = ""
    published: Sequence[tuple[str, str, Verdict | None]] = ()
    repeats: Sequence[tuple[str, str, Markup]] = ()
    source: Source | None = None


class RowView(NamedTuple):
    """Row of a table; ``id`` is "" if the cells have ids, and ``source`` is shared by all cells."""

    label: str
    cells: Sequence[CellView]
    id: str = ""
    source: Source | None = None


class TableView(NamedTuple):
    """Table of the page; ``counts`` has the number of published numbers by verdict, empty if none was published."""

    id: str
    title: str
    caption: str
    headers: Sequence[str]
    rows: Sequence[RowView]
    notes: Sequence[str]
    counts: Mapping[Verdict, int]
    lead: str = ""


def anchor(*parts: str) -> str:
    """Return an HTML id of word characters and the marks ``/ = . , -``; a digest replaces the end of a long part."""
    texts = [re.sub(r"[^\w=.,-]+", "-", part) for part in parts]
    return "/".join(
        text if len(text) <= _MAX_PART else f"{text[: _MAX_PART - 7]}-{hashlib.sha256(part.encode()).hexdigest()[:6]}"
        for part, text in zip(parts, texts, strict=True)
    )


def table_view(table: Table, compared: Mapping[Place, Comparison]) -> TableView:
    """Return the view of a table of means, with the verdicts of `comparison.compare`."""
    rows = []
    for row, label in table.row_labels.items():
        of_row = [table.cells.get((row, column)) for column in table.column_labels]
        cells = [_cell(table, cell, compared) if cell else CellView(EMPTY) for cell in of_row]
        sources = {cell.source for cell in cells if cell.source}
        shared = sources.pop() if len(sources) == 1 else None
        if shared:
            cells = [cell._replace(source=None) for cell in cells]
        rows.append(RowView(label, cells, anchor(table.id, row) if table.is_list else "", shared))
    counts = Counter(comparison.verdict for place, comparison in compared.items() if place[0] == table.id)
    return TableView(
        table.id,
        table.title,
        f"Ours; below it, published: {table.place}" if counts else "",
        [table.row_header, *table.column_labels.values()],
        rows,
        notes(table),
        {verdict: counts[verdict] for verdict in SIGNS} if counts else {},
        table.lead,
    )


def text_view(document: Document) -> TableView:
    """Return the view of a document."""
    rows = []
    for number, (label, *texts) in enumerate(document.rows):
        agrees = document.agrees[number] if document.agrees else None
        verdict: Verdict | None = None if agrees is None else "reproduced" if agrees else "differs"
        cells = [CellView(text, None if place else verdict) for place, text in enumerate(texts)]
        rows.append(RowView(label, cells, anchor(document.id, f"{number + 1}-{label}")))
    caption = f"Ours beside published: {document.place}" if document.place else ""
    paragraphs = document._replace(place="").paragraphs()
    return TableView(document.id, document.title, caption, document.headers, rows, paragraphs, {})


def _cell(table: Table, cell: TableCell, compared: Mapping[Place, Comparison]) -> CellView:
    places = {name: (table.id, cell.row, cell.column, name) for name in cell.published}
    verdicts = {name: compared[place] for name, place in places.items() if place in compared}
    shown = () if table.is_list else (*cell.shows, *table.also)
    repeated = [name for name in shown if name in cell.ours and len(cell.runs.values(name)) > 1]
    first, source = cell.shows[0], None
    if own := cell.source:
        versions = f"Versions {own.versions}; data" if own.versions else "Data"
        source = shlex.join([own.config, "--only", own.selection]), f"{versions} {own.data_sha256[:12]}."
    return CellView(
        ours_text(cell, sd=table.spread or table.is_list),
        verdicts[first].verdict if first in verdicts else None,
        "" if table.is_list else anchor(table.id, cell.row, cell.column),
        list(_published(table, cell, verdicts)) if cell.published else (),
        [(described(name).title, *_statistics(cell, name, verdicts.get(name))) for name in repeated],
        source,
    )


def _published(
    table: Table, cell: TableCell, verdicts: Mapping[str, Comparison]
) -> Iterator[tuple[str, str, Verdict | None]]:
    texts = published_texts(cell)
    if table.spread and (sd := cell.published[cell.shows[0]].sd) is not None:
        texts[0] += f" ± {number_text(cell.shows[0], sd)}"
    for name, (before, text) in zip([*cell.shows, ""], filled_parts(cell.form, texts), strict=False):
        yield before, text, verdicts[name].verdict if name in verdicts else None


def _statistics(cell: TableCell, name: str, compared: Comparison | None) -> tuple[str, Markup]:
    """Return the statistics of a quantity as text, and its histogram."""
    ours, values = cell.ours[name], list(cell.runs.values(name).values())
    text = (
        f"{number_text(name, ours.mean)} ± {number_text(name, ours.sd)}, {ours.n} repeats; 95 % interval"
        f" {number_text(name, ours.low)} to {number_text(name, ours.high)};"
        f" {' | '.join(number_text(name, value) for value in five_number_summary(values))}"
    )
    published = None
    if compared is not None and compared.difference is not None:
        text += f"; ours − published {number_text(name, compared.difference, '+')}, {compared.verdict}"
        published = compared.published
    return f"{text}.", _histogram(values, published)


def _histogram(values: Sequence[float], published: float | None) -> Markup:
    """Draw a histogram as SVG, and the published number as a dashed line."""
    shown = [*values, *([] if published is None else [published])]
    low, high = min(shown), max(shown)

    def place(value: float) -> int:
        if math.isclose(low, high):
            return WIDTH // 2
        return BAR * round((WIDTH - 2 * BAR) * (value - low) / (high - low) / BAR) + BAR

    counts = Counter(map(place, values))
    heights = {x: max(2, round(HEIGHT * n / max(counts.values()))) for x, n in sorted(counts.items())}
    bars = "".join(f"M{x} {HEIGHT}v-{height}" for x, height in heights.items())
    line = "" if published is None else f'<path class="p" d="M{place(published)} 0v{HEIGHT}"/>'
    return Markup(f'<svg aria-hidden="true"><path d="{bars}"/>{line}</svg>')


def render_report(
    snapshot: Snapshot,
    store: Store,
    addresses: Mapping[str, str],
    judge: Callable[[Snapshot, Sequence[Figure]], Answers] = lambda _snapshot, _figures: NO_ANSWERS,
) -> str:
    """Render the page.

    Parameters
    ----------
    snapshot : Snapshot
        The results.
    store : Store
        Their database, for learning curves, provenance and texts of configs.
    addresses : mapping of str to str
        Sources of the problems' data.
    judge : callable(snapshot, figures) -> Answers, optional
        Judges the claims of a paper.
    """
    means, cells = snapshot.of_means, snapshot.results.cells
    compared = compare(means)
    by_place = {item.place: item for item in compared if item.verdict in SIGNS}
    figures = snapshot.figures(store)
    answers = judge(snapshot, figures)
    # The table of times to fit has about a thousand rows: it is only a file.
    shown = snapshot.with_shares(table for table in snapshot.with_runs if table.id != FIT_TIMES)
    tables = [kept for table in shown if (kept := table.trimmed())]
    rankings = []
    for contest, ranking in snapshot.rankings():
        rows, remarks = ranking_rows(ranking), ranking_remarks(ranking)
        ranks = Document(f"{contest.id}-ranks", contest.title, "", ranking.headers, rows, remarks)
        rankings.append((contest.id, contest.title, page_svg(draw_ranking, contest, ranking), text_view(ranks)))
    groups = score_rows(scores(means, snapshot.of_texts))
    templates = environment(autoescape=True)
    templates.filters |= {"with_code": _with_code, "anchor": anchor, "inline_svg": inline_svg}
    return templates.get_template("report.html").render(
        headline=headline(compared, answers, snapshot.all_shares),
        n_runs=sum(runs.n_done for runs in cells.values()),
        findings=answers.claims,
        tables=[text_view(table) if isinstance(table, Document) else table_view(table, by_place) for table in tables],
        figures=[
            (figure.figure, figure.title, page_svg(draw, figure), figure_notes(figure))
            for figure in figures
            if figure.panels
        ],
        rankings=rankings,
        scores=text_view(Document("scores", "Scores of groups of cells", "", SCORE_HEADERS, groups)),
        configs=[_config(name, text, snapshot, store, addresses) for name, text in store.config_texts().items()],
        gaps=not_run(list(snapshot.values()), figures),
        software=software(store.origins(), {item for cell in cells for item in cell.algorithms}),
        version=__version__,
        signs=SIGNS,
    )


def _with_code(text: str) -> Markup:
    """Return a text with the parts between backticks marked up as code."""
    parts = str(text).split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


def _config(name: str, text: str, snapshot: Snapshot, store: Store, addresses: Mapping[str, str]) -> Mapping[str, Any]:
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
    return Markup(text.replace("<svg", str(Markup('<svg role="img" aria-label="{}"').format(label)), 1))
