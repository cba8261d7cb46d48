"""Index of the results: main results, claims, and links to every table and figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import pandas as pd

from pppca_bench.pages.changes import seeds_document
from pppca_bench.pages.comparison import (
    counted_verdicts,
    render_differing,
    render_scores,
    render_tally,
    score_frame,
)
from pppca_bench.pages.document import Document, count_in_words, environment, join_words, text_table
from pppca_bench.pages.figure_data import Figure
from pppca_bench.pages.findings import Answers
from pppca_bench.pages.share_texts import counted, of_numbers, programs_document, tables_document
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.references.layout import RankingSpec
from pppca_bench.verdicts.judge import VERDICTS
from pppca_bench.verdicts.numbers import cells_of, has_runs, incomplete_cells, results_of, trimmed
from pppca_bench.verdicts.ranking import Ranking
from pppca_bench.verdicts.shares import ALL, OURS_PROGRAM, RIGHT, UNSEARCHED


def render_index(
    snapshot: Snapshot,
    tables: Sequence[Document],
    figures: Sequence[Figure],
    rankings: Sequence[tuple[RankingSpec, Ranking]],
    answers: Answers,
    main: Sequence[str],
) -> str:
    """Render the index as Markdown, with links relative to the folder of ``tables`` and ``figures``.

    ``tables`` are those with runs; other tables, and figures without panels, are named without links. ``main`` are the
    main results of `headline`.
    """
    scored = score_frame(snapshot.numbers, snapshot.references, snapshot.documents)
    text = (
        environment()
        .get_template("index.md")
        .render(
            tables=[(table, repeats_of(snapshot, table.id)) for table in tables],
            figures=[figure for figure in figures if figure.panels],
            rankings=rankings,
            gaps=not_run(snapshot, snapshot.names, figures),
            tally=render_tally(snapshot.numbers, "markdown"),
            unsearched=_unsearched(snapshot),
            scores=render_scores(scored, "markdown"),
            differing=render_differing(snapshot.numbers, "markdown"),
            headline=main,
            answers=answers,
        )
    )
    return text.rstrip("\n") + "\n"


def _unsearched(snapshot: Snapshot) -> str:
    """Return the table of the numbers of each part that no search for settings looked at, in Markdown."""
    shares = snapshot.shares_of_parts
    unseen = shares[shares["quantity"] == UNSEARCHED]
    document = programs_document(unseen, "Numbers that no search looked at")
    return text_table(document.headers, document.rows, "markdown") if len(unseen) else ""


def repeats_of(snapshot: Snapshot, table: str) -> str:
    """Return the numbers of repeats behind the means of a table as text; "" for texts, or without planned runs."""
    if not snapshot.is_of_means(table):
        return ""
    numbers = snapshot.means(table)[1]
    counts = set(cells_of(numbers)["repeats"]) - {0}
    if not counts or not (numbers["n_planned"] > 0).any():
        return ""
    return count_in_words(counts)


def not_run(
    snapshot: Snapshot, tables: Sequence[str], figures: Sequence[Figure], *, whole: bool = True
) -> list[str]:
    """Return a line for each published table or figure with missing runs.

    Without ``whole``, rows and columns of tables without any run do not count.
    """
    nothing, lines = list[str](), list[str]()
    for name in tables:
        if not snapshot.is_of_means(name):
            lines += _gap_of_document(snapshot.text(name))
            continue
        layout, numbers = snapshot.means(name)
        if has_runs(numbers):
            shown = numbers if whole else trimmed(numbers)
            lines += [f"{name}. {layout.title}: {gap}" for gap in _gaps(shown)]
        elif name in snapshot.layouts:
            nothing.append(f"{name}. {layout.title}: all of it")
    for figure in figures:
        if figure.missing:
            gap = "; ".join(figure.missing) if figure.panels else "all of it"
            lines.append(f"{figure.figure}. {figure.title}: {gap}")
    return [*nothing, *lines]


def _gap_of_document(document: Document) -> list[str]:
    if not document.n_missing and (document.has_runs or not document.place):
        return []
    gap = f"{document.n_missing} runs" if document.has_runs else "all of it"
    return [f"{document.id}. {document.title}: {gap}"]


def _gaps(numbers: pd.DataFrame) -> Iterator[str]:
    """Yield what is missing of a table of means with runs."""
    cells = cells_of(numbers)
    expected = cells[(cells["n_published"] > 0) & cells["fillable"]]
    is_listed = expected["listed"].map(len) > 0
    absent = expected[(expected["repeats"] == 0) & ~is_listed]
    if len(absent):
        yield f"{len(absent)} of {len(expected)} cells ({_rows(absent)})"
    ambiguous = expected[is_listed]
    if len(ambiguous):
        yield (
            f"{len(ambiguous)} of {len(expected)} cells, empty because of several settings ({_rows(ambiguous)})"
        )
    late = incomplete_cells(cells)
    late = late[late["repeats"] > 0]
    if len(late):
        yield f"{(late['n_planned'] - late['repeats']).sum()} repeats, in {len(late)} cells"


def _rows(cells: pd.DataFrame) -> str:
    return ", ".join(dict.fromkeys(cells.index.get_level_values("row")))


def headline(snapshot: Snapshot, answers: Answers) -> list[str]:
    """Return the main results: those of the modules of references, and the reproduced numbers of user-defined sources.

    Without results of modules, all sources have a sentence.

    Sources whose numbers are all reproduced, without a simulation of a correct program, share a sentence.
    """
    reproduced, joined, others = list[str](), list[Any](), list[Any]()
    for source in nearness(snapshot):
        if answers.results and not source["is_added"]:
            continue
        all_reproduced = source["ours"]["ours"] == source["ours"]["n"]
        if all_reproduced and "right" not in source:
            joined.append(source)
        else:
            others.append(source)
    if len(joined) == 1:
        others, joined = [*others, *joined], []
    for source in others:
        reproduced.append(f"{source['source']}: {reproduced_sentence(source)}")
    if joined:
        names = [f"{source['source']} ({source['ours']['n']:,} numbers)" for source in joined]
        reproduced.append(f"All published numbers are reproduced: {join_words(names)}.")
    return [*answers.results, *reproduced]


def reproduced_sentence(source: Mapping[str, Any]) -> str:
    """Return the sentence on the reproduced numbers of a source of `nearness`."""
    text = environment().get_template("headline.txt").render(own=source, counted=counted)
    return " ".join(text.split())


def verdict_lines(name: str, snapshot: Snapshot) -> list[str]:
    """Return a line for each source: how many of its numbers that a config fills have each verdict.

    ``snapshot`` has the runs of the config ``name`` alone.
    """
    results = results_of(snapshot.numbers)
    run = results[results["n"] > 0]
    if run.empty:
        return []
    sources, lines = nearness(snapshot), list[str]()
    for source in sources:
        own = run[run["source"] == source["source"]]
        whose = f"{name}, {source['source']}" if len(sources) > 1 else name
        verdicts = counted_verdicts(own, always=VERDICTS[:4])
        line = f"{whose}: of {len(own)} numbers {verdicts}"
        if "right" in source:
            right = source["right"]
            expected = f"{counted(right)}{of_numbers(right, len(own))}"
            line += f"; a correct program would reproduce {expected}"
        lines.append(f"{line}.")
    return lines


def sources_document(snapshot: Snapshot) -> Document:
    """Return the table of sources: the numbers of each part that ours, a correct program and the placebos reproduce."""
    shares = snapshot.shares_of_parts
    return programs_document(shares[shares["quantity"] == ALL], "How near each source is")


def programs_text(snapshot: Snapshot) -> str:
    """Return the tables of the numbers that correct and wrong programs reproduce, by part and by table, in Markdown.

    Where the folder of the results has repeats with another seed, a last table has their verdicts.
    """
    documents = [sources_document(snapshot)]
    shares = snapshot.shares()
    for _, of_source in shares.groupby("source", sort=False):
        document = tables_document(of_source)
        if len(document.rows) > 1:  # else it repeats the row of the source
            documents.append(document)
    if len(snapshot.reseeded):
        documents.append(seeds_document(snapshot.reseeded, snapshot.references))
    texts = [text_table(each.headers, each.rows, "markdown") for each in documents]
    return "\n\n".join(texts)


def nearness(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return the shares of each source that was run, that of a user first.

    Its title ``source``, its margins in words ``within``, and the shares on all its numbers of ``ours`` and, where it
    can be simulated, of a ``right`` program, and those of ours on the numbers that no search looked at, ``unseen``.
    """
    shares, added, within = snapshot.shares_of_parts, list[str](), dict[str, str]()
    for reference in snapshot.references:
        within[reference.title] = reference.within
        if reference.is_added:
            added.append(reference.title)
    found = list[dict[str, Any]]()
    for source, of_source in shares[shares["row"] == ALL].groupby("source", sort=False):
        facts: dict[str, Any] = {"source": source, "within": within[str(source)]}
        facts["is_added"] = source in added
        for share in of_source.to_dict("records"):
            is_all = share["quantity"] == ALL
            if share["program"] == OURS_PROGRAM:
                facts["ours" if is_all else "unseen"] = share
            elif share["program"] == RIGHT and is_all:
                facts["right"] = share
        found.append(facts)
    return sorted(found, key=itemgetter("is_added"), reverse=True)
