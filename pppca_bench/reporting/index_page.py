"""Index of the results: main results, claims, and links to every table and figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from pppca_bench.references.layout import RankingSpec
from pppca_bench.reporting.comparison import Comparison, render_differing, render_scores, tally
from pppca_bench.reporting.document import (
    EMPTY,
    Document,
    count_in_words,
    environment,
    join_words,
    paragraphs,
)
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.reporting.findings import Answers
from pppca_bench.reporting.ranking import Ranking
from pppca_bench.reporting.snapshot import Snapshot
from pppca_bench.reporting.table import MeansTable, TableCell
from pppca_bench.reporting.verdict_shares import RIGHT, Shares, by_source
from pppca_bench.runs import grouped


def render_index(
    snapshot: Snapshot,
    figures: Sequence[Figure],
    rankings: Sequence[tuple[RankingSpec, Ranking]],
    answers: Answers,
    main: Sequence[str],
) -> str:
    """Render the index as Markdown, with links relative to the folder of ``tables`` and ``figures``.

    Tables without runs, and figures without panels, are named without links. ``main`` are the main results of
    `headline`.
    """
    tables, repeats = list(snapshot.values()), []
    for table in snapshot.with_runs:
        cells = list(table.cells.values()) if isinstance(table, MeansTable) else []
        counts = {cell.n for cell in cells if cell.n}
        shown = counts and any(cell.runs.n_planned for cell in cells)
        repeats.append((table, count_in_words(counts) if shown else ""))
    text = (
        environment()
        .get_template("index.md")
        .render(
            tables=repeats,
            figures=[figure for figure in figures if figure.panels],
            rankings=rankings,
            gaps=not_run(tables, figures),
            tally=tally(snapshot.comparisons),
            scores=render_scores(snapshot.of_means, "markdown", snapshot.of_texts),
            differing=render_differing(snapshot.comparisons, "markdown"),
            headline=main,
            answers=answers,
        )
    )
    return text.rstrip("\n") + "\n"


def not_run(tables: Sequence[MeansTable | Document], figures: Sequence[Figure]) -> list[str]:
    """Return a line for each published table or figure with missing runs."""
    nothing = [
        table
        for table in tables
        if isinstance(table, MeansTable) and table.reference and not table.has_runs
    ]
    lines = [f"{table.id}. {table.title}: all of it" for table in nothing]
    lines += [f"{table.id}. {table.title}: {gap}" for table in tables for gap in _gaps(table)]
    for figure in (figure for figure in figures if figure.missing):
        gap = "; ".join(figure.missing) if figure.panels else "all of it"
        lines.append(f"{figure.figure}. {figure.title}: {gap}")
    return lines


def _gaps(table: MeansTable | Document) -> Iterator[str]:
    if isinstance(table, Document):
        if table.n_missing or (table.place and not table.has_runs):
            yield f"{table.n_missing} runs" if table.has_runs else "all of it"
    elif table.has_runs:
        expected = [cell for cell in table.cells.values() if cell.published and cell.fillable]
        if absent := [cell for cell in expected if not cell.ours and not cell.listed_in]:
            yield f"{len(absent)} of {len(expected)} cells ({_rows(absent)})"
        if ambiguous := [cell for cell in expected if cell.listed_in]:
            yield f"{len(ambiguous)} of {len(expected)} cells, empty because of several settings ({_rows(ambiguous)})"
        if late := [cell for cell in table.incomplete_cells if cell.ours]:
            yield f"{sum(cell.runs.n_planned - cell.n for cell in late)} repeats, in {len(late)} cells"


def _rows(cells: Sequence[TableCell]) -> str:
    return ", ".join(dict.fromkeys(cell.row for cell in cells))


def headline(comparisons: Sequence[Comparison], answers: Answers, shares: Shares = ()) -> list[str]:
    """Return the main results: those of the paper, and the reproduced numbers of each source.

    Repeated numbers in the sources are not counted. The shares of right and wrong programs, where known, are over all
    tables of a source. Sources without them whose numbers are all reproduced share a sentence.
    """
    sources = _nearness(comparisons, shares)
    all_reproduced = [
        item
        for item in sources
        if not item.programs and item.verdicts["reproduced"] == item.verdicts.total()
    ]
    joined = all_reproduced if len(all_reproduced) > 1 else []
    text = (
        environment()
        .get_template("headline.txt")
        .render(
            sources=[item for item in sources if item not in joined],
            joined=join_words(
                [f"{item.source} ({item.verdicts.total():,} numbers)" for item in joined]
            ),
        )
    )
    return [*answers.results, *paragraphs(text)]


def sources_document(comparisons: Sequence[Comparison], shares: Shares = ()) -> Document:
    """Return the table of sources: the share of numbers that ours, a right program and the placebos reproduce."""
    rows = []
    for source, verdicts, _, programs in _nearness(comparisons, shares):
        n_reproduced, n = verdicts["reproduced"], verdicts.total()
        right, ours = programs.get(RIGHT, (None, None))
        placebos = [
            f"{name} {share:.0f} %" for name, (share, _) in programs.items() if name != RIGHT
        ]
        row = [
            source,
            f"{n_reproduced:,} of {n:,} ({100.0 * n_reproduced / n:.0f} %)",
            f"{right:.0f} % (ours of these: {ours:.0f} %)" if RIGHT in programs else EMPTY,
            "; ".join(placebos) or EMPTY,
            f"{verdicts['differs']:,}",
        ]
        rows.append(row)
    headers = "Source", "Reproduced", "A right program would get", "Placebos would get", "Differ"
    return Document("sources", "How near each source is", "", headers, rows)


class _Nearness(NamedTuple):
    """Number of results of a source by verdict, also of those that no search looked at, and shares of programs."""

    source: str
    verdicts: Counter[str]
    unseen: Counter[str]
    programs: Mapping[str, tuple[float, float]]


def _nearness(comparisons: Sequence[Comparison], shares: Shares) -> list[_Nearness]:
    """Return how near our numbers are to each source that was run."""
    programs, run = by_source(shares), [item for item in comparisons if item.is_result and item.n]
    return [
        _Nearness(
            source,
            Counter(item.verdict for item in results),
            Counter(item.verdict for item in results if not item.searched),
            programs.get(source, {}),
        )
        for source, results in grouped(run, attrgetter("source")).items()
    ]
