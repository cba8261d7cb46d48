"""Index of the results: main results, claims, and links to every table and figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pppca_bench.reporting.claims import Finding
from pppca_bench.reporting.comparison import compare, render_differing, render_scores, tally
from pppca_bench.reporting.document import Document
from pppca_bench.reporting.figure_data import Figure, count_in_words
from pppca_bench.reporting.headline import headline
from pppca_bench.reporting.ranking import Contest, Ranking
from pppca_bench.reporting.rendering import environment
from pppca_bench.reporting.table import Table, TableCell


def render_index(
    tables: Sequence[Table | Document],
    figures: Sequence[Figure],
    rankings: Sequence[tuple[Contest, Ranking]] = (),
    findings: Sequence[Finding] = (),
) -> str:
    """Render the index as Markdown, with links relative to the folder that holds ``tables`` and ``figures``.

    Parameters
    ----------
    tables : sequence of Table or Document
        All tables, in order; those of which nothing was run are only named.
    figures : sequence of Figure
        All figures; those without panels are only named.
    rankings : sequence of (Contest, Ranking), optional
        The rankings of methods, F6 and F7.
    findings : sequence of Finding, optional
        Verdicts on the slides' claims.
    """
    of_means = [table for table in tables if isinstance(table, Table)]
    compared = compare(of_means)
    text = (
        environment()
        .get_template("index.md")
        .render(
            tables=[(table, _repeats(table)) for table in tables if table.was_run],
            figures=[figure for figure in figures if figure.panels],
            rankings=rankings,
            gaps=not_run(tables, figures),
            tally=tally(compared),
            scores=render_scores(of_means, "markdown", [table for table in tables if isinstance(table, Document)]),
            differing=render_differing(compared, "markdown"),
            headline=headline(compared, findings),
            findings=findings,
        )
    )
    return text.rstrip("\n") + "\n"


def figure_notes(figure: Figure) -> list[str]:
    """Return the source of a figure and the parts that were not run; the drawing itself has its other notes."""
    place = f"Source: {figure.place}." if figure.place else ""
    gap = f"Not run: {'; '.join(figure.missing)}." if figure.missing else ""
    return [text for text in (place, gap) if text]


def not_run(tables: Sequence[Table | Document], figures: Sequence[Figure]) -> list[str]:
    """Return a line for each published table or figure of which something was not run."""
    lines = [
        f"{table.id}. {table.title}: all of it"
        for table in tables
        if isinstance(table, Table) and table.reference and not table.was_run
    ]
    lines += [f"{table.id}. {table.title}: {gap}" for table in tables for gap in _gaps(table)]
    for figure in figures:
        if figure.missing:
            gap = "; ".join(figure.missing) if figure.panels else "all of it"
            lines.append(f"{figure.figure}. {figure.title}: {gap}")
    return lines


def _gaps(table: Table | Document) -> Iterator[str]:
    if isinstance(table, Document):
        if table.n_missing or (table.place and not table.was_run):
            yield f"{table.n_missing} runs" if table.was_run else "all of it"
        return
    if not table.was_run:
        return
    expected = [cell for cell in table.cells.values() if cell.published and cell.fillable]
    if absent := [cell for cell in expected if not cell.ours and not cell.listed_in]:
        yield f"{len(absent)} of {len(expected)} cells ({_rows(absent)})"
    if ambiguous := [cell for cell in expected if cell.listed_in]:
        yield f"{len(ambiguous)} of {len(expected)} cells left empty, of several settings ({_rows(ambiguous)})"
    if late := [cell for cell in table.late if cell.ours]:
        yield f"{sum(cell.n_planned - cell.n for cell in late)} repeats, in {len(late)} cells"


def _rows(cells: Sequence[TableCell]) -> str:
    return ", ".join(dict.fromkeys(cell.row for cell in cells))


def _repeats(table: Table | Document) -> str:
    """Return the number of repeats behind a table of runs, in words."""
    cells = table.cells.values() if isinstance(table, Table) else ()
    counts = {cell.n for cell in cells if cell.n}
    return count_in_words(counts) if counts and any(cell.n_planned for cell in cells) else ""
