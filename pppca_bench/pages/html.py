"""HTML report: the answer, the claims, tables and figures by source, experiments and provenance on a single page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from jinja2 import Template
from markupsafe import Markup, escape

from pppca_bench.errors import StoreError
from pppca_bench.pages.comparison import SCORE_COLUMNS, score_frame, score_records
from pppca_bench.pages.document import DIFFERENCE, PUBLISHED, Document, environment, join_words
from pppca_bench.pages.figure_data import Figure
from pppca_bench.pages.figure_drawing import draw, draw_ranking, to_images
from pppca_bench.pages.index_page import (
    headline,
    nearness,
    not_run,
    reproduced_sentence,
    sources_document,
)
from pppca_bench.pages.means import VERDICT_SIGNS
from pppca_bench.pages.methods_section import describe_config, software
from pppca_bench.pages.own_data import own_results, snapshots_by_config
from pppca_bench.pages.page_tables import PageTable, anchor, page_table, table_of_means
from pppca_bench.pages.pair_tables import pairs_document, pairs_sentence
from pppca_bench.pages.ranks import ranking_document
from pppca_bench.pages.recommendation import recommendations
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.references.layout import RankingSpec
from pppca_bench.results.frames import problems_of
from pppca_bench.results.labels import settings_of
from pppca_bench.store.database import Store
from pppca_bench.verdicts.own_tables import SCORED
from pppca_bench.verdicts.pairs import compare_pairs
from pppca_bench.verdicts.ranking import Ranking
from pppca_bench.version import __version__

MAX_ROWS = 40
"""Largest number of rows of a table without published numbers; longer tables are named, but not shown."""

_COMPARED = ("X", "M", "C")
"""Our own tables that compare methods; the others are settings in detail."""

MAX_TITLE_NAMES = 3
"""Largest number of configs that the title names."""


def render_report(
    snapshot: Snapshot,
    store: Store,
    addresses: Mapping[str, str],
    run_command: Callable[[str], list[str]],
    titles: Mapping[str, str],
) -> str:
    """Render the page of a snapshot from ``store``, which has learning curves, provenance and texts of configs.

    ``addresses`` are the sources of the problems' data. ``run_command`` returns the words of the command that runs a
    config, and ``titles`` are those of the configs, by name.
    """
    names = snapshot.runs.all_configs
    texts = {name: text for name, text in store.config_texts().items() if name in names}
    counts = snapshot.runs.counts.values()
    figures = [figure for figure in snapshot.figures(store) if figure.panels]
    answers = snapshot.answers(figures)
    is_own = snapshot.is_own
    shown, left_out = _chosen(snapshot, all_own=is_own)
    rankings = [
        (spec, ranking, page_table(ranking_document(spec, ranking)))
        for spec, ranking in snapshot.rankings()
    ]
    sources = _sources(snapshot, shown, figures, rankings)
    of_sources = [spec for source in sources for spec, *_ in source["rankings"]]
    by_config = snapshots_by_config(snapshot, store) if is_own else {}
    sentences, pairs = _compared_pairs(snapshot) if is_own else ([], [])
    run_claims = []
    for number, finding in enumerate(answers.claims, 1):
        if finding.answer:
            run_claims.append((number, finding))
    return _template().render(
        title=_title(snapshot, answers.title, list(titles.values()), is_own=is_own),
        own_results=own_results(by_config, store),
        headline=[*_recommended(by_config), *headline(snapshot, answers), *sentences],
        nearness=sources_document(snapshot),
        n_done=sum(count["n_done"] for count in counts),
        answers=answers,
        claims=run_claims,
        pairs=[page_table(document) for document in pairs],
        own=[table for table in shown if table.document.id not in snapshot.sources],
        overview=[figure for figure in figures if not figure.source],
        sources=sources,
        rankings=[one for one in rankings if one[0] not in of_sources],
        score_headers=[header for header, _ in SCORE_COLUMNS],
        left_out=left_out,
        draw=partial(to_images, draw, for_page=True),
        draw_ranking=partial(to_images, draw_ranking, for_page=True),
        configs=[_config(name, text, snapshot, store, addresses) for name, text in texts.items()],
        gaps=not_run(snapshot, [table.document.id for table in shown], figures, whole=False),
        software=software(store.origins(names), snapshot.runs.cells.values()),
        version=__version__,
        signs=VERDICT_SIGNS,
        run_command=run_command,
        beside=(PUBLISHED, DIFFERENCE),
    )


def _template() -> Template:
    templates = environment(autoescape=True)
    templates.filters |= {
        "anchor": anchor,
        "inline_svg": inline_svg,
        "shell": shlex.join,
        "page_table": page_table,
        "with_code": _with_code,
    }
    return templates.get_template("report.html")


def _title(snapshot: Snapshot, answer: str, configs: Sequence[str], *, is_own: bool) -> str:
    """Return the title of the page: the user-defined references if only their numbers were run, or else the configs.

    With too many configs to name, it is the title of the answer.
    """
    titles = [one.title for one in snapshot.references if one.title in snapshot.run_sources]
    added = {one.title for one in snapshot.references if one.is_added}
    if titles and added.issuperset(titles):
        return join_words(titles)
    if len(configs) > MAX_TITLE_NAMES:
        return answer or f"Results of {len(configs)} configs"
    named = join_words(configs)
    return named if is_own else f"Results of {named}"


def _chosen(
    snapshot: Snapshot, *, all_own: bool
) -> tuple[list[PageTable], list[tuple[Document, int]]]:
    """Return the tables of the page, with their shares, and the tables left out, with their numbers of rows."""
    shown, left_out = list[PageTable](), list[tuple[Document, int]]()
    all_shares = snapshot.shares()
    for name in snapshot.with_runs:
        reference = snapshot.sources.get(name)
        if reference and reference.numbers and reference.title not in snapshot.run_sources:
            continue
        texts = ("", "")
        if name in snapshot.layouts:
            texts = snapshot.share_texts(name, all_shares[all_shares["row"] == name])
        table = _table(snapshot, name, texts)
        if table is None:
            continue
        document, n_rows = table.document, len(table.rows)
        is_whole = all_own and name in (*_COMPARED, SCORED)
        is_short = n_rows <= MAX_ROWS and (reference or name in _COMPARED)
        is_published = name in snapshot.layouts and snapshot.layouts[name].place
        if is_whole or is_short or is_published or (reference and document.place):
            shown.append(table)
        else:
            left_out.append((document, n_rows))
    return shown, left_out


def _table(snapshot: Snapshot, name: str, texts: tuple[str, str]) -> PageTable | None:
    """Return a table for the page, without rows and columns without runs; None if nothing is left."""
    if snapshot.is_of_means(name):
        return table_of_means(snapshot, name, texts)
    document = snapshot.text(name).trimmed()
    return page_table(document) if document else None


def _sources(
    snapshot: Snapshot,
    shown: Sequence[PageTable],
    figures: Sequence[Figure],
    rankings: Sequence[tuple[RankingSpec, Ranking, PageTable]],
) -> list[Mapping[str, Any]]:
    """Return the sources with tables or figures, those of the user first.

    Each has its title, a sentence on its reproduced numbers, its tables, figures and rankings, and the scores that were
    run.
    """
    sources = list[Mapping[str, Any]]()
    sentences = {one["source"]: reproduced_sentence(one) for one in nearness(snapshot)}
    references = sorted(snapshot.references, key=lambda one: not one.is_added)
    for reference in references:
        of_source = {name for name, source in snapshot.sources.items() if source is reference}
        tables = [table for table in shown if table.document.id in of_source]
        documents = [document for document in snapshot.documents if document.id in of_source]
        scored = score_frame(snapshot.numbers, [reference], documents)
        records = score_records(scored[scored["n_run"] > 0])
        own_figures = [figure for figure in figures if figure.source == reference.title]
        if tables or own_figures:
            source = {
                "title": reference.title.partition(" (")[0],
                "sentence": sentences.get(reference.title, ""),
                "tables": tables,
                "figures": own_figures,
                "rankings": [one for one in rankings if one[0] in reference.rankings],
                "scores": Document.of_records("", "", SCORE_COLUMNS, records).rows,
            }
            sources.append(source)
    return sources


def _recommended(by_config: Mapping[str, Snapshot]) -> list[str]:
    """Return the recommendations that `pppca run` prints for each config, after its name if there are several."""
    sentences = []
    for name, own in by_config.items():
        lead = f"{name}: " if len(by_config) > 1 else ""
        for sentence in recommendations(own.runs, own.facts, own.means("X")[1]):
            sentences.append(f"{lead}{sentence}")
    return sentences


def _compared_pairs(snapshot: Snapshot) -> tuple[list[str], list[Document]]:
    """Return sentences and tables of the comparisons of methods, a problem each; none of a single setting."""
    sentences, tables = list[str](), list[Document]()
    for problem in problems_of(snapshot.runs):
        of_problem = snapshot.runs.of_cells(snapshot.runs.of_problem(problem))
        if len(settings_of(of_problem)) < 2:  # nothing to compare
            continue
        try:
            pairs = compare_pairs(snapshot.runs, snapshot.facts, problem)
        except StoreError as error:
            sentences.append(f"Not compared: {error}")
        else:
            sentences.append(pairs_sentence(pairs))
            tables.append(pairs_document(pairs))
    return sentences, tables


def _config(
    name: str, text: str, snapshot: Snapshot, store: Store, addresses: Mapping[str, str]
) -> Mapping[str, Any]:
    """Return a config with its text, and how it was run."""
    runs = snapshot.runs.of_configs((name,))
    return {
        "name": name,
        "text": text,
        **describe_config(runs, snapshot.facts, addresses, store.origins([name])),
    }


def _with_code(text: str) -> Markup:
    """Return a text with the parts between backticks marked up as code."""
    return Markup(re.sub("`([^`]*)(?:`|$)", r"<code>\1</code>", str(escape(text))))


def inline_svg(svg: bytes, id: str, label: str) -> Markup:
    """Return a drawing of Matplotlib as an element of an HTML page.

    Metadata, style sheet, fonts and other defaults are removed, and coordinates are cut to a tenth of a point. Black is
    the page's text colour, which is inherited where SVG writes no fill. The ``id`` makes the drawing's identifiers
    unique on the page; ``label`` is for screen readers. The style sheet reads the drawing's width from ``--width``.
    """
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg.decode(), flags=re.DOTALL)
    text = re.sub(r"(\.\d)\d{2,}(?=[^<>]*>)", r"\1", text[text.index("<svg") :])
    text = re.sub(r' transform="rotate\(-0 [^"]*"| font-family: [^;"]*;', "", text)
    text = re.sub(r">\s+<", "><", text).replace("xlink:href", "href")
    text = re.sub(r'<g id="[^"]*">', "<g>", text)  # groups are not linked to
    text = re.sub(r"<g>(<path[^>]*/>)</g>", r"\1", text.replace("; stroke-linejoin: miter", ""))
    text = re.sub(r" \n([LCQz])", r"\1", text)  # in the data of paths
    text = re.sub(r'\b(id="|href="#|url\(#)', rf"\1{anchor(id)}-", text)
    text = re.sub(r'\bwidth="([^"]*)" height="[^"]*"', r'style="--width: \1"', text, count=1)
    start = Markup('<svg role="img" aria-label="{}" fill="currentColor"').format(label)
    return Markup(text.replace("#000000", "currentColor").replace("<svg", str(start), 1))
