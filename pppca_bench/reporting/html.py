"""HTML report: all results on one page that needs no other file and no network."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from pppca_bench import __version__
from pppca_bench.methods.lookup import title_of
from pppca_bench.reporting.claims import MATTERS, Finding
from pppca_bench.reporting.comparison import SCORE_HEADERS, VERDICTS, compare, score_rows, scores, tally
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.reporting.figure_drawing import figure_svg
from pppca_bench.reporting.html_tables import STRIP_HEIGHT, STRIP_WIDTH, CellView, TableView, anchor, view
from pppca_bench.reporting.index_page import figure_notes, not_run
from pppca_bench.reporting.rank_diagram import ranking_svg
from pppca_bench.reporting.ranking import HEADERS, Contest, Ranking, ranking_remarks, ranking_rows
from pppca_bench.reporting.rendering import environment
from pppca_bench.reporting.report_card import Card, build_card, software
from pppca_bench.reporting.snapshot import Snapshot
from pppca_bench.reporting.table_text import SIGNS
from pppca_bench.store.columns import DONE, FAILED
from pppca_bench.store.database import Store

FILTERED = 8
"""Rows from which on a table has a field to filter it."""


_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_TABLE_OPEN = '<div class="scroll" role="region" aria-label="Choices, table" tabindex="0"><table>'


@dataclass(frozen=True, slots=True)
class ConfigView:
    """Config as the page shows it: counts of its runs, its text, and its report card."""

    name: str
    methods: str
    problems: str
    n_done: int
    n_failed: int
    n_planned: int
    text: str
    card: Card


@dataclass(frozen=True, slots=True)
class Drawn:
    """Figure on the page; ``table`` holds the numbers of a ranking."""

    id: str
    anchor: str
    title: str
    svg: Markup
    notes: tuple[str, ...]
    table: TableView | None = None


@dataclass(frozen=True)
class Report:
    """Contents of the page.

    Attributes
    ----------
    tally : str
        The verdicts, counted.
    n_runs : int
        Runs that are in.
    configs : list of ConfigView
    overview : list of TableView
        Tables with published numbers, whose verdicts are counted.
    scores : TableView
    gaps : list of str
        Tables and figures of which something was not run.
    findings : list of Finding
    tables : list of TableView
    figures, rankings : list of Drawn
    choices : Markup
        Text on the choices that the sources leave open; "" if it is missing.
    software : list of str
        Versions and machines.
    """

    tally: str
    n_runs: int
    configs: list[ConfigView]
    overview: list[TableView]
    scores: TableView
    gaps: list[str]
    findings: list[Finding]
    tables: list[TableView]
    figures: list[Drawn]
    rankings: list[Drawn]
    choices: Markup
    software: list[str]


def gather(snapshot: Snapshot, store: Store, addresses: Mapping[str, str], *, choices: str = "") -> Report:
    """Gather everything that the page shows.

    Parameters
    ----------
    snapshot : Snapshot
        The results.
    store : Store
        Where it was read from: curves, provenance and texts of configs are read from it too.
    addresses : mapping of str to str
        Where the problems' data come from.
    choices : str, optional
        Markdown text on the choices that the sources leave open.
    """
    compared = compare(snapshot.of_means)
    scored = score_rows(scores(snapshot.of_means, snapshot.of_texts))
    by_place = {comparison.place: comparison for comparison in compared}
    figures = snapshot.figures(store)
    tables = [view(table, by_place) for one in snapshot.filled if (table := one.trimmed())]
    drawn = [_figure(figure) for figure in figures if figure.panels]
    rankings = [_ranking(contest, ranking) for contest, ranking in snapshot.rankings()]
    known = _anchors(tables, drawn, rankings)
    algorithms = {item for cell in snapshot.results.cells for item in cell.algorithms}
    return Report(
        tally(compared),
        sum(runs.count_of(DONE) for runs in snapshot.results.cells.values()),
        [_config(name, text, snapshot, store, addresses) for name, text in store.config_texts().items()],
        [table for table in tables if table.counts],
        _texts_view(
            "scores",
            "Scores of whole tables",
            SCORE_HEADERS,
            scored,
        ),
        not_run(list(snapshot.values()), figures),
        snapshot.findings(figures),
        tables,
        drawn,
        rankings,
        choices_html(choices, known),
        software(store.origins(), algorithms),
    )


def render_report(report: Report) -> str:
    """Render the page."""
    templates = environment(autoescape=True)
    templates.filters |= {"with_code": _with_code, "anchor": anchor}
    return templates.get_template("report.html").render(
        report=report,
        known=_anchors(report.tables, report.figures, report.rankings),
        version=__version__,
        signs={verdict: SIGNS[verdict] for verdict in VERDICTS},
        matters=MATTERS,
        filtered=FILTERED,
        strip=(STRIP_WIDTH, STRIP_HEIGHT),
    )


def _anchors(tables: Sequence[TableView], figures: Sequence[Drawn], rankings: Sequence[Drawn]) -> dict[str, str]:
    """Return the anchors of tables and figures, by identifier."""
    drawn = {one.id: one.anchor for one in (*figures, *rankings)}
    return {table.id: table.anchor for table in tables} | drawn


def choices_html(text: str, known: Mapping[str, str]) -> Markup:
    """Render Markdown for the page: headings below the section's, links only within the page.

    Parameters
    ----------
    text : str
        Markdown; HTML in it is shown as text.
    known : mapping of str to str
        Anchors of tables and figures, by identifier. A link to a file of theirs leads to the anchor; of
        other links and pictures only the words are kept.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("table_open", lambda *_: _TABLE_OPEN)
    parser.add_render_rule("table_close", lambda *_: "</table></div>")
    tokens = parser.parse(text)
    if tokens and tokens[0].tag == "h1":  # the section has a title
        tokens = tokens[3:]
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = {"h1": "h3", "h2": "h3", "h3": "h4"}.get(token.tag, "h5")
        elif token.type == "th_open":
            token.attrSet("scope", "col")
        if token.children:
            token.children = _on_page(token.children, known)
    return Markup(parser.renderer.render(tokens, parser.options, {}))


def _on_page(tokens: Sequence[Token], known: Mapping[str, str]) -> list[Token]:
    found, kept = list[Token](), list[bool]()
    for token in tokens:
        if token.type == "link_open":
            names = [name for name in known if str(token.attrs["href"]).endswith((f"/{name}.md", f"/{name}.svg"))]
            kept.append(bool(names))
            if names:
                token.attrs["href"] = f"#{known[names[0]]}"
                found.append(token)
        elif token.type == "link_close":
            if kept.pop():
                found.append(token)
        elif token.type == "image":
            found.append(Token("text", "", 0, content=token.content))
        else:
            found.append(token)
    return found


def _with_code(text: str) -> Markup:
    """Mark up text between backticks as code."""
    parts = str(text).split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


def _config(name: str, text: str, snapshot: Snapshot, store: Store, addresses: Mapping[str, str]) -> ConfigView:
    cells = snapshot.results.of_config(name)
    methods = dict.fromkeys(title_of(one.method) for one in cells)
    problems = list(dict.fromkeys(cell.problem for cell in cells))
    return ConfigView(
        name,
        ", ".join(methods),
        ", ".join(problems) if len(problems) <= 4 else f"{len(problems)} problems",
        sum(runs.count_of(DONE) for runs in cells.values()),
        sum(runs.count_of(FAILED) for runs in cells.values()),
        sum(map(len, cells.values())),
        text,
        build_card(name, snapshot.results, snapshot.facts, addresses, store.origins([name])),
    )


def _figure(figure: Figure) -> Drawn:
    title = f"{figure.figure}. {figure.title}"
    name = anchor(figure.figure)
    svg = Markup(inline_svg(figure_svg(figure), name, title))
    return Drawn(figure.figure, name, figure.title, svg, tuple(figure_notes(figure)))


def _ranking(contest: Contest, ranking: Ranking) -> Drawn:
    label, name = f"{contest.id}. {contest.title}", anchor(contest.id)
    table = _texts_view(f"{contest.id}-ranks", contest.title, HEADERS, ranking_rows(ranking))
    svg = Markup(inline_svg(ranking_svg(contest, ranking), name, label))
    return Drawn(contest.id, name, contest.title, svg, tuple(ranking_remarks(ranking)), table)


def _texts_view(identifier: str, title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> TableView:
    cells = tuple((row[0], tuple(map(CellView, row[1:]))) for row in rows)
    return TableView(identifier, anchor(identifier), title, "", tuple(headers), cells, (), {})


def inline_svg(svg: bytes, prefix: str, label: str) -> str:
    """Return a drawing as an element of an HTML page.

    Declaration and metadata are left out, and the style sheet, which would apply to the whole page.

    Parameters
    ----------
    svg : bytes
        An SVG file that draws by paths, as Matplotlib's.
    prefix : str
        Stands before every identifier, so that those of several drawings differ.
    label : str
        Description for screen readers.
    """
    root = ElementTree.fromstring(svg)
    for parent in root.iter():
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
        attributes = {name.removeprefix(f"{{{_XLINK}}}"): value for name, value in element.attrib.items()}
        element.attrib.clear()
        element.attrib.update({name: _prefixed(name, value, prefix) for name, value in attributes.items()})
    root.attrib |= {"role": "img", "aria-label": label}
    root.attrib.pop("version", None)
    return ElementTree.tostring(root, encoding="unicode")


def _prefixed(name: str, value: str, prefix: str) -> str:
    if name == "id":
        return f"{prefix}-{value}"
    if name == "href" and value.startswith("#"):
        return f"#{prefix}-{value[1:]}"
    return re.sub(r"url\(#", f"url(#{prefix}-", value)
