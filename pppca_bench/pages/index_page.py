"""Index of the results: main results, claims, and links to every table and figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from pppca_bench.pages.comparison import render_differing, render_scores, score_frame, tally
from pppca_bench.pages.document import (
    EMPTY,
    Document,
    count_in_words,
    environment,
    join_words,
    paragraphs,
)
from pppca_bench.pages.figure_data import Figure
from pppca_bench.pages.findings import Answers
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.references.layout import RankingSpec
from pppca_bench.verdicts.numbers import cells_of, has_runs, incomplete_cells, results_of, trimmed
from pppca_bench.verdicts.ranking import Ranking
from pppca_bench.verdicts.shares import RIGHT, by_source


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
            tally=tally(snapshot.numbers),
            scores=render_scores(scored, "markdown"),
            differing=render_differing(snapshot.numbers, "markdown"),
            headline=main,
            answers=answers,
        )
    )
    return text.rstrip("\n") + "\n"


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
    """Return the main results: those of the modules of references, and the reproduced numbers of each source.

    Repeated numbers in the sources are not counted. The shares of right and wrong programs, where known, are over all
    tables of a source. Sources without them whose numbers are all reproduced share a sentence.
    """
    sources = nearness(snapshot.numbers, snapshot.shares())
    joined, others = list[Any](), list[Any]()
    for source in sources:
        all_reproduced = source["n_reproduced"] == source["n"]
        if all_reproduced and not source["programs"]:
            joined.append(source)
        else:
            others.append(source)
    if len(joined) == 1:
        joined, others = [], sources
    names = [f"{source['source']} ({source['n']:,} numbers)" for source in joined]
    template = environment().get_template("headline.txt")
    text = template.render(sources=others, joined=join_words(names))
    return [*answers.results, *paragraphs(text)]


def sources_document(numbers: pd.DataFrame, shares: pd.DataFrame) -> Document:
    """Return the table of sources: the share of numbers that ours, a right program and the placebos reproduce."""
    rows = []
    for source in nearness(numbers, shares):
        programs, n, n_reproduced = source["programs"], source["n"], source["n_reproduced"]
        placebos = [
            f"{name} {share:.0f} %" for name, (share, _) in programs.items() if name != RIGHT
        ]
        right = EMPTY
        if RIGHT in programs:
            share, ours = programs[RIGHT]
            right = f"{share:.0f} % (ours of these: {ours:.0f} %)"
        row = [
            source["source"],
            f"{n_reproduced:,} of {n:,} ({100.0 * n_reproduced / n:.0f} %)",
            right,
            "; ".join(placebos) or EMPTY,
            f"{source['n_differing']:,}",
        ]
        rows.append(row)
    headers = "Source", "Reproduced", "A right program would get", "Placebos would get", "Differ"
    return Document("sources", "How near each source is", "", headers, rows)


def nearness(numbers: pd.DataFrame, shares: pd.DataFrame) -> list[dict[str, Any]]:
    """Return how near our numbers are to each source that was run.

    Its numbers of results, ``n``, ``n_reproduced`` and ``n_differing``; the same of those that no search looked at,
    ``n_unseen`` and ``n_unseen_reproduced``; and the shares of ``programs``.
    """
    programs = by_source(shares)
    # those of the user first
    results = results_of(numbers).sort_values("is_added", ascending=False, kind="stable")
    found = []
    for source, of_source in results[results["n"] > 0].groupby("source", sort=False):
        is_reproduced, unseen = of_source["verdict"] == "reproduced", ~of_source["searched"]
        facts = {
            "source": source,
            "n": len(of_source),
            "n_reproduced": int(is_reproduced.sum()),
            "n_differing": int((of_source["verdict"] == "differs").sum()),
            "n_unseen": int(unseen.sum()),
            "n_unseen_reproduced": int((unseen & is_reproduced).sum()),
            "programs": programs.get(str(source), {}),
        }
        found.append(facts)
    return found
