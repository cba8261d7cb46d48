"""The index of the results: every table and figure on one Markdown page, with links to their files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pppca_bench.reporting.comparison import compare, render_differing, render_scores, tally
from pppca_bench.reporting.document import rendered
from pppca_bench.reporting.figure_data import Figure, count_in_words
from pppca_bench.reporting.ranking import Contest, Ranking
from pppca_bench.reporting.ranking import render as render_ranking
from pppca_bench.reporting.sheet import Sheet
from pppca_bench.reporting.sheets import in_order
from pppca_bench.reporting.table import Table, TableCell

TABLE_FILES = {"Markdown": "tables/{}.md", "LaTeX": "tables/{}.tex", "CSV": "tables/{}.csv"}
FIGURE_FILES = {"SVG": "figures/{}.svg", "PNG": "figures/{}.png", "numbers as CSV": "figures/{}.csv"}

_INTRODUCTION = """\
# Results

Every table and figure of the slides, and the tables of the Proben1 report that they rest on, as `pppca render` last
wrote them. Each table shows our numbers, the published ones and the difference, ours − published. Its CSV adds the
standard deviation, the number of repeats and the 95 % interval. The CSV of a figure holds the plotted numbers."""


def render_index(
    tables: Sequence[Table],
    figures: Sequence[Figure],
    rankings: Sequence[tuple[Contest, Ranking]] = (),
    sheets: Sequence[Sheet] = (),
) -> str:
    """Render the index as Markdown.

    Parameters
    ----------
    tables : sequence of Table
        All tables, in order; one of which nothing was run was not written and is named as not run.
    figures : sequence of Figure
        All figures; one without panels was not written and is named as not run.
    rankings : sequence of (Contest, Ranking), optional
        The rankings of methods, F6 and F7.
    sheets : sequence of Sheet, optional
        All sheets; they stand after the tables of the references.

    Returns
    -------
    str
        Links are relative to the folder that holds ``tables`` and ``figures``.
    """
    drawn = [figure for figure in figures if figure.panels]
    filled = in_order(tables, sheets)
    parts = [
        _INTRODUCTION,
        "\n".join(
            [
                *map(_table_entry, filled),
                *map(_figure_entry, drawn),
                *(f"- [{one.id}. {one.title}](#{one.id})" for one, _ in rankings),
            ]
        ),
        _not_run(tables, figures, sheets),
        _verdicts(tables, sheets),
        *map(_table_section, filled),
        *map(_figure_section, drawn),
        *(_ranking_section(contest, ranking) for contest, ranking in rankings),
    ]
    return "\n\n".join(parts) + "\n"


def not_run(tables: Sequence[Table], figures: Sequence[Figure], sheets: Sequence[Sheet] = ()) -> list[str]:
    """Return a line for each published table, sheet or figure of which something was not run."""
    lines = [f"{table.id}. {table.title}: all of it" for table in tables if table.reference and not table.was_run]
    lines += [f"{table.id}. {table.title}: {gap}" for table in tables if table.was_run for gap in _gaps(table)]
    lines += [f"{sheet.id}. {sheet.title}: {gap}" for sheet in sheets if (gap := _gap_of_sheet(sheet))]
    for figure in figures:
        if figure.missing:
            gap = "; ".join(figure.missing) if figure.panels else "all of it"
            lines.append(f"{figure.figure}. {figure.title}: {gap}")
    return lines


def _verdicts(tables: Sequence[Table], sheets: Sequence[Sheet]) -> str:
    """Count the verdicts on the published numbers, score tables, and name the results that differ."""
    compared = compare(tables)
    return "\n\n".join(
        [
            "## Verdicts",
            f"{tally(compared)} `pppca compare` lists them all; docs/verdicts.md has the rule.",
            "Means over groups of cells, `pppca compare --scores`:",
            render_scores(tables, "markdown", sheets),
            "Results that differ:",
            render_differing(compared, "markdown"),
        ]
    )


def _ranking_section(contest: Contest, ranking: Ranking) -> str:
    return "\n\n".join(
        [
            f'<a id="{contest.id}"></a>',
            f"## {contest.id}. {contest.title}",
            f"![Critical-difference diagram]({FIGURE_FILES['PNG'].format(contest.id)})",
            render_ranking(ranking, "markdown"),
            _links(contest.id, FIGURE_FILES),
        ]
    )


def _gaps(table: Table) -> Iterator[str]:
    expected = [cell for cell in table.cells.values() if cell.published and cell.fillable]
    absent = [cell for cell in expected if not cell.ours and not cell.elsewhere]
    if absent:
        yield f"{len(absent)} of {len(expected)} cells ({_rows(absent)})"
    ambiguous = [cell for cell in expected if cell.elsewhere]
    if ambiguous:
        yield f"{len(ambiguous)} of {len(expected)} cells left empty, of several settings ({_rows(ambiguous)})"
    late = [cell for cell in table.late if cell.ours]
    if late:
        yield f"{sum(cell.n_planned - cell.n for cell in late)} repeats, in {len(late)} cells"


def _gap_of_sheet(sheet: Sheet) -> str:
    if not sheet.was_run:
        return "all of it" if sheet.place else ""
    return f"{sheet.n_missing} runs" if sheet.n_missing else ""


def _rows(cells: Sequence[TableCell]) -> str:
    return ", ".join(dict.fromkeys(cell.row for cell in cells))


def _not_run(tables: Sequence[Table], figures: Sequence[Figure], sheets: Sequence[Sheet]) -> str:
    lines = not_run(tables, figures, sheets)
    if not lines:
        return "Everything was run. A dash means that the source has no number, or that no config asks for one."
    return "\n".join(["## Not run", "", *(f"- {line}" for line in lines)])


def _table_entry(table: Table | Sheet) -> str:
    if isinstance(table, Sheet):
        return f"- [{table.id}. {table.title}](#{table.id})"
    counts = {cell.n for cell in table.cells.values() if cell.n}
    repeats = f": {count_in_words(counts)}" if counts and any(cell.n_planned for cell in table.cells.values()) else ""
    return f"- [{table.id}. {table.title}](#{table.id}){repeats}"


def _figure_entry(figure: Figure) -> str:
    return f"- [{figure.figure}. {figure.title}](#{figure.figure}): {figure.repeats}"


def _table_section(table: Table | Sheet) -> str:
    return f'<a id="{table.id}"></a>\n\n{rendered(table, "markdown").rstrip()}\n\n{_links(table.id, TABLE_FILES)}'


def _figure_section(figure: Figure) -> str:
    title = f"{figure.figure}. {figure.title}"
    gap = f"Not run: {'; '.join(figure.missing)}." if figure.missing else ""
    place = f"Source: {figure.place}." if figure.place else ""
    parts = [
        f'<a id="{figure.figure}"></a>',
        f"## {title}",
        f"![{title}]({FIGURE_FILES['PNG'].format(figure.figure)})",
        " ".join(text for text in (place, figure.basis, figure.note, gap) if text),
        _links(figure.figure, FIGURE_FILES),
    ]
    return "\n\n".join(parts)


def _links(name: str, files: dict[str, str]) -> str:
    return " · ".join(f"[{label}]({path.format(name)})" for label, path in files.items())
