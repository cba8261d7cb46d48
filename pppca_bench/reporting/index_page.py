"""Index of the results: main results, claims, and links to every table and figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

from pppca_bench.references.layout import RankingSpec
from pppca_bench.reporting.comparison import Comparison, render_differing, render_scores, tally
from pppca_bench.reporting.document import EMPTY, Document, count_in_words, environment, listed
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.reporting.findings import NO_ANSWERS, Answers
from pppca_bench.reporting.ranking import Ranking
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.reporting.verdict_shares import RIGHT, Shares, by_source
from pppca_bench.reporting.verdicts import Verdict
from pppca_bench.runs import grouped


def render_index(
    tables: Sequence[Table | Document],
    figures: Sequence[Figure],
    rankings: Sequence[tuple[RankingSpec, Ranking]] = (),
    answers: Answers = NO_ANSWERS,
    *,
    compared: Sequence[Comparison] = (),
    main: Sequence[str] = (),
) -> str:
    """Render the index as Markdown, with links relative to the folder of ``tables`` and ``figures``.

    Tables without runs, and figures without panels, are named without links. ``main`` are the main results of
    `headline`.
    """
    of_means, repeats = [table for table in tables if isinstance(table, Table)], []
    for table in (table for table in tables if table.has_runs):
        cells = list(table.cells.values()) if isinstance(table, Table) else []
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
            tally=tally(compared),
            scores=render_scores(
                of_means, "markdown", [table for table in tables if isinstance(table, Document)]
            ),
            differing=render_differing(compared, "markdown"),
            headline=main,
            answers=answers,
        )
    )
    return text.rstrip("\n") + "\n"


def not_run(tables: Sequence[Table | Document], figures: Sequence[Figure]) -> list[str]:
    """Return a line for each published table or figure with missing runs."""
    nothing = [
        table
        for table in tables
        if isinstance(table, Table) and table.reference and not table.has_runs
    ]
    lines = [f"{table.id}. {table.title}: all of it" for table in nothing]
    lines += [f"{table.id}. {table.title}: {gap}" for table in tables for gap in _gaps(table)]
    for figure in (figure for figure in figures if figure.missing):
        gap = "; ".join(figure.missing) if figure.panels else "all of it"
        lines.append(f"{figure.figure}. {figure.title}: {gap}")
    return lines


def _gaps(table: Table | Document) -> Iterator[str]:
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
    sentences, sources = list(answers.results), _run_results(comparisons)
    programs = by_source(shares)
    whole = [
        source
        for source, results in sources.items()
        if not programs.get(source) and _count(results, "reproduced") == len(results)
    ]
    joined = whole if len(whole) > 1 else []
    for source, results in sources.items():
        if source in joined:
            continue
        n_reproduced, n_differing = _count(results, "reproduced"), _count(results, "differs")
        percent = f"{100.0 * n_reproduced / len(results):.0f} %"
        share = "; ".join([percent, *_program_texts(programs.get(source, {}))])
        text = f"{source}: {n_reproduced:,} of {len(results):,} published numbers are reproduced ({share})"
        text += f" and {n_differing:,} differ" if n_differing else ""
        unseen = [item for item in results if not item.searched]
        if 0 < len(unseen) < len(results):
            n = _count(unseen, "reproduced")
            text += (
                f"; {n} of the {len(unseen)} that no search for settings looked at are reproduced"
            )
        sentences.append(f"{text}.")
    if joined:
        texts = [f"{source} ({len(sources[source]):,} numbers)" for source in joined]
        sentences.append(f"All published numbers are reproduced: {listed(texts)}.")
    return sentences


def _program_texts(programs: Mapping[str, tuple[float, float]]) -> list[str]:
    return [f"{program} {share:.0f} %" for program, (share, _) in programs.items()]


def _run_results(comparisons: Sequence[Comparison]) -> dict[str, list[Comparison]]:
    """Return the results that were run by source."""
    return grouped(
        [item for item in comparisons if item.is_result and item.n], attrgetter("source")
    )


def _count(results: Sequence[Comparison], verdict: Verdict) -> int:
    return sum(item.verdict == verdict for item in results)


def sources_document(comparisons: Sequence[Comparison], shares: Shares = ()) -> Document:
    """Return how near our numbers are to each source, and what right and wrong programs would get."""
    rows, of_sources = [], by_source(shares)
    for source, results in _run_results(comparisons).items():
        programs = dict(of_sources.get(source, {}))
        right = programs.pop(RIGHT, None)
        rows.append(
            [
                source,
                _percent(results),
                f"{right[0]:.0f} % (ours of these: {right[1]:.0f} %)" if right else EMPTY,
                "; ".join(_program_texts(programs)) or EMPTY,
                f"{_count(results, 'differs'):,}",
            ]
        )
    return Document("sources", "How near each source is", "", SOURCE_HEADERS, rows)


def _percent(results: Sequence[Comparison]) -> str:
    """Return the reproduced numbers with their share."""
    n = _count(results, "reproduced")
    return f"{n:,} of {len(results):,} ({100.0 * n / len(results):.0f} %)" if results else EMPTY


SOURCE_HEADERS = (
    "Source",
    "Reproduced",
    "A right program would get",
    "Placebos would get",
    "Differ",
)
