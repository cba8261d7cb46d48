"""HTML report: the answer, tables by source, experiments, figures, ranks and provenance on a single page."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from markupsafe import Markup, escape

from pppca_bench.errors import StoreError
from pppca_bench.methods.lookup import title_of
from pppca_bench.references.layout import RankingSpec
from pppca_bench.references.reference import Reference, own_references
from pppca_bench.reporting.comparison import SCORE_COLUMNS, Comparison, Place, score_records, scores
from pppca_bench.reporting.document import Document, environment, listed
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.reporting.figure_drawing import draw, draw_ranking, to_images
from pppca_bench.reporting.index_page import headline, not_run, sources_document
from pppca_bench.reporting.own_tables import SCORED
from pppca_bench.reporting.page_tables import TableView, anchor, table_view, text_view
from pppca_bench.reporting.pairs import compare_pairs, pairs_document, pairs_sentence
from pppca_bench.reporting.ranking import ranking_remarks, ranking_rows
from pppca_bench.reporting.recommendation import recommendations
from pppca_bench.reporting.report_card import build_card, software
from pppca_bench.reporting.snapshot import Snapshot, take_snapshot
from pppca_bench.reporting.table import Table
from pppca_bench.reporting.table_text import SIGNS
from pppca_bench.store import BY_CONFIG
from pppca_bench.store.database import Store
from pppca_bench.version import __version__

MAX_ROWS = 40
"""Largest number of rows of a table without published numbers; longer tables are files beside the page."""

_COMPARED = ("X", "M", "C")
"""Our own tables that compare methods; the others are settings in detail."""

MAX_NAMES = 3
"""Largest number of configs that the title names."""


class Listed(NamedTuple):
    """Table that is a file beside the page; ``file`` is its address, "" without the file."""

    id: str
    title: str
    n_rows: int
    file: str


class Source(NamedTuple):
    """Tables of a source, and its scores."""

    title: str
    tables: Sequence[TableView]
    scores: TableView | None


def render_report(
    snapshot: Snapshot, store: Store, addresses: Mapping[str, str], folder: Path
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
    folder : Path
        Folder of the page. A table whose CSV is in its subfolder ``tables``, or that of a single config, has a link to
        it.
    """
    cells, texts = snapshot.results.cells, store.config_texts()
    names = list(texts)
    figures = [figure for figure in snapshot.figures(store) if figure.panels]
    answers = snapshot.answers(figures)
    claims = [
        (number, finding)
        for number, finding in enumerate(answers.claims, 1)
        if {*finding.verdicts.values()} - {"not run"}
    ]
    shipped = {reference.title for reference in own_references()}
    is_own = snapshot.run_sources.isdisjoint(shipped)
    comparisons = sorted(snapshot.comparisons, key=lambda item: item.source in shipped)
    shown, files = _chosen(snapshot, folder, names, all_own=is_own)
    own, sources = _sources(snapshot, shown, shipped)
    advice = _recommended(store, snapshot, names) if is_own else []
    sentences, pairs = _compared_pairs(snapshot) if is_own else ([], [])
    drawn = [(figure, _image(figure)) for figure in figures]
    portraits = {layout.id for reference in snapshot.references for layout in reference.portraits}
    templates = environment(autoescape=True)
    templates.filters |= {"with_code": _with_code, "anchor": anchor, "inline_svg": inline_svg}
    return templates.get_template("report.html").render(
        title=answers.title
        if answers.title and len(names) > MAX_NAMES
        else f"Results of {listed(names) if len(names) <= MAX_NAMES else f'{len(names)} configs'}",
        headline=[*advice, *headline(comparisons, answers, snapshot.all_shares), *sentences],
        nearness=text_view(sources_document(comparisons, snapshot.all_shares)),
        n_runs=sum(runs.n_done for runs in cells.values()),
        answers=answers,
        claims=claims,
        pairs=pairs,
        own=own,
        sources=sources,
        files=files,
        experiments=[
            (text_view(tests), figure, _image(figure)) for tests, figure in answers.experiments
        ],
        figures=[pair for pair in drawn if pair[0].figure not in portraits],
        portraits=[pair for pair in drawn if pair[0].figure in portraits],
        rankings=_rankings(snapshot),
        configs=[_config(name, text, snapshot, store, addresses) for name, text in texts.items()],
        gaps=not_run(shown, figures),
        software=software(store.origins(), {item for cell in cells for item in cell.algorithms}),
        version=__version__,
        signs=SIGNS,
    )


def _rankings(snapshot: Snapshot) -> list[tuple[RankingSpec, Mapping[str, bytes], TableView]]:
    """Return the rankings with their figures and tables; a figure only if two mean ranks differ."""
    rankings: list[tuple[RankingSpec, Mapping[str, bytes], TableView]] = []
    for spec, ranking in snapshot.rankings():
        rows, remarks = ranking_rows(ranking), ranking_remarks(ranking)
        ranks = Document(f"{spec.id}-ranks", spec.title, "", ranking.headers, rows, remarks)
        images = to_images(draw_ranking, spec, ranking, for_page=True) if ranking.differs else {}
        rankings.append((spec, images, text_view(ranks)))
    return rankings


def _image(figure: Figure) -> Mapping[str, bytes]:
    return to_images(draw, figure, for_page=True)


def _chosen(
    snapshot: Snapshot, folder: Path, configs: Sequence[str], *, all_own: bool
) -> tuple[list[Table | Document], list[Listed]]:
    """Return the tables of the page, with their shares, and the tables that are files beside it."""
    shown, files = [], []
    for table in snapshot.with_shares(snapshot.with_runs):
        reference, kept = snapshot.sources.get(table.id), table.trimmed()
        is_run = not (reference and reference.numbers) or reference.title in snapshot.run_sources
        if kept is None or not is_run:
            continue
        n_rows = len(kept.row_labels if isinstance(kept, Table) else kept.rows)
        is_whole = all_own and table.id in (*_COMPARED, SCORED)
        is_short = n_rows <= MAX_ROWS and (reference or table.id in _COMPARED)
        if is_whole or is_short or (reference and table.place):
            shown.append(kept)
        else:
            files.append(Listed(table.id, table.title, n_rows, csv_of(table.id, folder, configs)))
    return shown, files


def csv_of(table: str, folder: Path, configs: Sequence[str]) -> str:
    """Return the address of a table's CSV relative to the page in a folder; "" without the file.

    The tables of a single config are all tables of the results.
    """
    folders = ["tables", *(f"{BY_CONFIG}/{name}" for name in configs if len(configs) == 1)]
    files = (f"{name}/{table}.csv" for name in folders)
    return next((quote(file) for file in files if (folder / file).is_file()), "")


def _sources(
    snapshot: Snapshot, tables: Sequence[Table | Document], shipped: Collection[str]
) -> tuple[list[TableView], list[Source]]:
    """Return the views of our own tables, and the sources with tables, those of the user first."""
    by_place = {item.place: item for item in snapshot.comparisons if item.verdict in SIGNS}
    sources = []
    for reference in sorted(snapshot.references, key=lambda own: own.title in shipped):
        own = [table for table in tables if snapshot.sources.get(table.id) is reference]
        if own:
            title = reference.title.partition(" (")[0]
            sources.append(Source(title, _views(own, by_place), _scores(snapshot, reference)))
    return _views(
        (table for table in tables if table.id not in snapshot.sources), by_place
    ), sources


def _views(
    tables: Iterable[Table | Document], by_place: Mapping[Place, Comparison]
) -> list[TableView]:
    return [
        text_view(table) if isinstance(table, Document) else table_view(table, by_place)
        for table in tables
    ]


def _scores(snapshot: Snapshot, reference: Reference) -> TableView | None:
    """Return the scores of a source that were run; None without any."""
    means = [table for table in snapshot.of_means if table.reference is reference]
    texts = [table for table in snapshot.of_texts if snapshot.sources.get(table.id) is reference]
    records = score_records([score for score in scores(means, texts) if score.n_run])
    title = "Distance from the published numbers, by group of cells"
    document = Document.of_records(f"{reference.name}-scores", title, SCORE_COLUMNS, records)
    return text_view(document) if records else None


def _recommended(store: Store, snapshot: Snapshot, configs: Sequence[str]) -> list[str]:
    """Return the recommendations that `pppca run` prints for each config; a single config's runs are read already."""
    sentences = []
    for name in configs:
        is_read = len(configs) == 1
        of_config = snapshot if is_read else take_snapshot(store, snapshot.references, [name])
        table = of_config["X"]
        if isinstance(table, Table):
            config = f"{name}: " if len(configs) > 1 else ""
            sentences += [f"{config}{sentence}" for sentence in recommendations(table)]
    return sentences


def _compared_pairs(snapshot: Snapshot) -> tuple[list[str], list[TableView]]:
    """Return sentences and tables of the comparisons of methods, a problem each."""
    cells, sentences, tables = snapshot.results.cells, [], []
    for problem in dict.fromkeys(cell.problem for cell in cells):
        try:
            pairs = compare_pairs(cells, snapshot.facts, problem)
        except StoreError as error:
            sentences.append(f"Not compared: {error}")
        else:
            sentences.append(pairs_sentence(pairs))
            tables.append(text_view(pairs_document(pairs)))
    return sentences, tables


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
    card = build_card(name, snapshot.results, snapshot.facts, addresses, store.origins([name]))
    return {
        "name": name,
        "methods": ", ".join(dict.fromkeys(title_of(cell.method) for cell in cells)),
        "n_done": sum(runs.n_done for runs in cells.values()),
        "n_planned": sum(runs.n_planned for runs in cells.values()),
        "text": text,
        "card": card,
        "sizes": text_view(Document(f"{name}-problems", "Problems", "", card.headers, card.rows)),
    }


def inline_svg(svg: bytes, id: str, label: str) -> Markup:
    """Return a drawing of Matplotlib as an element of an HTML page.

    Metadata, style sheet, fonts and rotations by 0 are removed, and coordinates are cut to a tenth of a point. The
    ``id`` makes the drawing's identifiers unique on the page; ``label`` is for screen readers.
    """
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg.decode(), flags=re.DOTALL)
    text = re.sub(r"(\.\d)\d{2,}(?=[^<>]*>)", r"\1", text[text.index("<svg") :])
    text = re.sub(r' transform="rotate\(-0 [^"]*"| font-family: [^;"]*;', "", text)
    text = re.sub(r">\s+<", "><", text).replace("xlink:href", "href")
    text = re.sub(r'<g id="[^"]*">', "<g>", text)  # groups are not linked to
    text = re.sub(r'\b(id="|href="#|url\(#)', rf"\1{anchor(id)}-", text)
    return Markup(
        text.replace("<svg", str(Markup('<svg role="img" aria-label="{}"').format(label)), 1)
    )
