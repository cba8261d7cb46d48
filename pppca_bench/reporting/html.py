"""HTML report: findings, tables, figures, ranks, rules and provenance on a single page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from pppca_bench import __version__
from pppca_bench.methods.lookup import title_of
from pppca_bench.reporting.comparison import SCORE_HEADERS, VERDICTS, compare, score_rows, scores
from pppca_bench.reporting.document import Document, environment
from pppca_bench.reporting.figure_drawing import draw, draw_ranking, page_svg
from pppca_bench.reporting.html_tables import STRIP_HEIGHT, STRIP_WIDTH, TableView, anchor, table_view, text_view
from pppca_bench.reporting.index_page import figure_notes, headline, not_run
from pppca_bench.reporting.own_tables import FIT_TIMES
from pppca_bench.reporting.ranking import HEADERS, ranking_remarks, ranking_rows
from pppca_bench.reporting.report_card import build_card, software
from pppca_bench.reporting.snapshot import Snapshot
from pppca_bench.reporting.table_text import SIGNS
from pppca_bench.store.columns import DONE, FAILED
from pppca_bench.store.database import Store

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
