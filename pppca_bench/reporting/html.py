"""HTML report: the answer, tables by source, experiments, figures, ranks and provenance on a single page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from pppca_bench.errors import StoreError
from pppca_bench.methods.lookup import title_of
from pppca_bench.references.layout import RankingSpec
from pppca_bench.references.reference import own_references
from pppca_bench.reporting.comparison import SCORE_COLUMNS, score_records, scores
from pppca_bench.reporting.document import DIFFERENCE, PUBLISHED, Document, environment, join_words
from pppca_bench.reporting.figure_drawing import draw, draw_ranking, to_images
from pppca_bench.reporting.index_page import headline, not_run, sources_document
from pppca_bench.reporting.own_tables import SCORED
from pppca_bench.reporting.page_tables import anchor, table_view
from pppca_bench.reporting.pairs import compare_pairs, pairs_document, pairs_sentence
from pppca_bench.reporting.ranking import Ranking, ranking_remarks, ranking_rows
from pppca_bench.reporting.recommendation import recommendations
from pppca_bench.reporting.report_card import build_card, software
from pppca_bench.reporting.snapshot import Snapshot, take_snapshot
from pppca_bench.reporting.table import MeansTable
from pppca_bench.reporting.table_text import VERDICT_SIGNS
from pppca_bench.store import BY_CONFIG
from pppca_bench.store.database import Store
from pppca_bench.version import __version__

MAX_ROWS = 40
"""Largest number of rows of a table without published numbers; longer tables are files beside the page."""

_COMPARED = ("X", "M", "C")
"""Our own tables that compare methods; the others are settings in detail."""

MAX_TITLE_NAMES = 3
"""Largest number of configs that the title names."""


def render_report(
    snapshot: Snapshot,
    store: Store,
    addresses: Mapping[str, str],
    folder: Path,
    run_command: Callable[[str], list[str]],
) -> str:
    """Render the page of a snapshot from ``store``, which has learning curves, provenance and texts of configs.

    ``addresses`` are the sources of the problems' data. A table whose CSV is in ``folder / "tables"``, or that of a
    single config, has a link to it. ``run_command`` returns the words of the command that runs a config.
    """
    cells, texts = snapshot.results.cells, store.config_texts()
    names = list(texts)
    figures = [figure for figure in snapshot.figures(store) if figure.panels]
    answers = snapshot.answers(figures)
    shipped = {reference.title for reference in own_references()}
    is_own = snapshot.run_sources.isdisjoint(shipped)
    comparisons = sorted(snapshot.comparisons, key=lambda item: item.source in shipped)
    shown, files = _chosen(snapshot, folder, names, all_own=is_own)
    advice = _recommended(store, snapshot, names) if is_own else []
    sentences, pairs = _compared_pairs(snapshot) if is_own else ([], [])
    portraits = {layout.id for reference in snapshot.references for layout in reference.portraits}
    templates = environment(autoescape=True)
    compared = {item.place: item for item in comparisons if item.verdict in VERDICT_SIGNS}
    templates.filters |= {
        "anchor": anchor,
        "inline_svg": inline_svg,
        "shell": shlex.join,
        "view": partial(table_view, compared=compared),
        "with_code": _with_code,
    }
    return templates.get_template("report.html").render(
        title=answers.title
        if answers.title and len(names) > MAX_TITLE_NAMES
        else f"Results of {join_words(names) if len(names) <= MAX_TITLE_NAMES else f'{len(names)} configs'}",
        headline=[*advice, *headline(comparisons, answers, snapshot.all_shares), *sentences],
        nearness=sources_document(comparisons, snapshot.all_shares),
        runs=cells.values(),
        answers=answers,
        claims=[
            (number, finding)
            for number, finding in enumerate(answers.claims, 1)
            if {*finding.verdicts.values()} - {"not run"}
        ],
        pairs=pairs,
        own=[table for table in shown if table.id not in snapshot.sources],
        sources=_sources(snapshot, shown, shipped),
        score_headers=[header for header, _ in SCORE_COLUMNS],
        files=files,
        figures=[figure for figure in figures if figure.figure not in portraits],
        portraits=[figure for figure in figures if figure.figure in portraits],
        rankings=[(spec, ranking, _ranks(spec, ranking)) for spec, ranking in snapshot.rankings()],
        draw=partial(to_images, draw, for_page=True),
        draw_ranking=partial(to_images, draw_ranking, for_page=True),
        configs=[_config(name, text, snapshot, store, addresses) for name, text in texts.items()],
        gaps=not_run(shown, figures),
        software=software(store.origins(), cells),
        version=__version__,
        signs=VERDICT_SIGNS,
        run_command=run_command,
        beside=(PUBLISHED, DIFFERENCE),
    )


def _chosen(
    snapshot: Snapshot, folder: Path, configs: Sequence[str], *, all_own: bool
) -> tuple[list[MeansTable | Document], list[tuple[MeansTable | Document, int, str]]]:
    """Return the tables of the page, with their shares.

    Also return the tables that are files beside the page, with their numbers of rows and their addresses.
    """
    shown, files = [], []
    for table in snapshot.with_shares(snapshot.with_runs):
        reference, kept = snapshot.sources.get(table.id), table.trimmed()
        is_run = not (reference and reference.numbers) or reference.title in snapshot.run_sources
        if kept is None or not is_run:
            continue
        n_rows = len(kept.row_labels if isinstance(kept, MeansTable) else kept.rows)
        is_whole = all_own and table.id in (*_COMPARED, SCORED)
        is_short = n_rows <= MAX_ROWS and (reference or table.id in _COMPARED)
        if is_whole or is_short or (reference and table.place):
            shown.append(kept)
        else:
            files.append((table, n_rows, csv_of(table.id, folder, configs)))
    return shown, files


def csv_of(table: str, folder: Path, configs: Sequence[str]) -> str:
    """Return the address of a table's CSV relative to the page in a folder; "" without the file.

    The tables of a single config are all tables of the results.
    """
    folders = ["tables", *(f"{BY_CONFIG}/{name}" for name in configs if len(configs) == 1)]
    files = (f"{name}/{table}.csv" for name in folders)
    return next((quote(file) for file in files if (folder / file).is_file()), "")


def _sources(
    snapshot: Snapshot, shown: Sequence[MeansTable | Document], shipped: Collection[str]
) -> list[Mapping[str, Any]]:
    """Return the sources with tables, those of the user first: title, tables, and the scores that were run."""
    sources = list[Mapping[str, Any]]()
    for reference in sorted(snapshot.references, key=lambda item: item.title in shipped):
        if tables := [table for table in shown if snapshot.sources.get(table.id) is reference]:
            means = [table for table in snapshot.of_means if table.reference is reference]
            texts = [
                text for text in snapshot.of_texts if snapshot.sources.get(text.id) is reference
            ]
            records = score_records([score for score in scores(means, texts) if score.n_run])
            source = {
                "title": reference.title.partition(" (")[0],
                "tables": tables,
                "scores": Document.of_records("", "", SCORE_COLUMNS, records).rows,
            }
            sources.append(source)
    return sources


def _ranks(spec: RankingSpec, ranking: Ranking) -> Document:
    rows, remarks = ranking_rows(ranking), ranking_remarks(ranking)
    return Document(f"{spec.id}-ranks", spec.title, "", ranking.headers, rows, remarks)


def _recommended(store: Store, snapshot: Snapshot, configs: Sequence[str]) -> list[str]:
    """Return the recommendations that `pppca run` prints for each config; a single config's runs are read already."""
    sentences, is_single = list[str](), len(configs) == 1
    for name in configs:
        of_config = snapshot if is_single else take_snapshot(store, snapshot.references, [name])
        table = of_config["X"]
        if isinstance(table, MeansTable):
            config = "" if is_single else f"{name}: "
            sentences += [f"{config}{sentence}" for sentence in recommendations(table)]
    return sentences


def _compared_pairs(snapshot: Snapshot) -> tuple[list[str], list[Document]]:
    """Return sentences and tables of the comparisons of methods, a problem each."""
    cells, sentences, tables = snapshot.results.cells, [], []
    for problem in dict.fromkeys(cell.problem for cell in cells):
        try:
            pairs = compare_pairs(cells, snapshot.facts, problem)
        except StoreError as error:
            sentences.append(f"Not compared: {error}")
        else:
            sentences.append(pairs_sentence(pairs))
            tables.append(pairs_document(pairs))
    return sentences, tables


def _config(
    name: str, text: str, snapshot: Snapshot, store: Store, addresses: Mapping[str, str]
) -> Mapping[str, Any]:
    """Return a config with its runs, its text, and its report card."""
    cells = snapshot.results.of_config(name)
    return {
        "name": name,
        "methods": ", ".join(dict.fromkeys(title_of(cell.method) for cell in cells)),
        "runs": cells.values(),
        "text": text,
        "card": build_card(name, cells, snapshot.facts, addresses, store.origins([name])),
    }


def _with_code(text: str) -> Markup:
    """Return a text with the parts between backticks marked up as code."""
    return Markup(re.sub("`([^`]*)(?:`|$)", r"<code>\1</code>", str(escape(text))))


def inline_svg(svg: bytes, id: str, label: str) -> Markup:
    """Return a drawing of Matplotlib as an element of an HTML page.

    Metadata, style sheet, fonts and rotations by 0 are removed, and coordinates are cut to a tenth of a point. Black is
    the page's text colour, which is inherited where SVG writes no fill. The ``id`` makes the drawing's identifiers
    unique on the page; ``label`` is for screen readers.
    """
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg.decode(), flags=re.DOTALL)
    text = re.sub(r"(\.\d)\d{2,}(?=[^<>]*>)", r"\1", text[text.index("<svg") :])
    text = re.sub(r' transform="rotate\(-0 [^"]*"| font-family: [^;"]*;', "", text)
    text = re.sub(r">\s+<", "><", text).replace("xlink:href", "href")
    text = re.sub(r'<g id="[^"]*">', "<g>", text)  # groups are not linked to
    text = re.sub(r'\b(id="|href="#|url\(#)', rf"\1{anchor(id)}-", text)
    start = Markup('<svg role="img" aria-label="{}" fill="currentColor"').format(label)
    return Markup(text.replace("#000000", "currentColor").replace("<svg", str(start), 1))
