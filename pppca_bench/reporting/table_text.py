"""Texts of tables of means: our numbers, published numbers, differences, notes and records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from statistics import median

from pppca_bench.quantities import described
from pppca_bench.reporting.comparison import compare, mean_difference, verdict_rule
from pppca_bench.reporting.document import (
    DIFFERENCE,
    EMPTY,
    PUBLISHED,
    Document,
    Format,
    Grid,
    count_in_words,
    none_if_nan,
    quantity_text,
    render_documents,
    true_minus,
)
from pppca_bench.reporting.statistics import Summary
from pppca_bench.reporting.summary import CellSource
from pppca_bench.reporting.table import MeansTable, TableCell
from pppca_bench.reporting.verdicts import Verdict
from pppca_bench.runs import grouped

VERDICT_SIGNS: Mapping[Verdict, str] = {
    "reproduced": "=",
    "consistent": "~",
    "differs": "≠",
    "not run": EMPTY,
}
"""Signs of the verdicts, printed beside differences."""

_NOT_RUN = Summary(math.nan, math.nan, 0, math.nan, math.nan)


def render_tables(*tables: MeansTable | Document, form: Format, sd: bool = False) -> str:
    """Render tables as text; see `document_of` and `render_documents`."""
    return render_documents([document_of(table, sd=sd) for table in tables], form)


def document_of(table: MeansTable | Document, *, sd: bool = False, paired: bool = True) -> Document:
    """Return a table of means as a document; a document is returned unchanged.

    In a table with spread standard deviations have their own columns, if ``paired``; otherwise with ``sd`` means are
    printed as mean ± standard deviation.
    """
    if isinstance(table, Document):
        return table
    quantities = [described(name) for name in table.column_labels] if table.is_list else []
    meanings = [
        f"{_unitless(one.short)}: {_lower(_unitless(one.title))}" for one in quantities if one.short
    ]
    paired = paired and table.spread
    grid = partial(_grid, table, paired)
    texts = _published if table.is_cited else partial(_ours, sd and not paired)
    ours = grid("", "", texts)
    return Document(
        *(table.id, table.title, "", ours.headers, ours.rows, notes(table), table_records(table)),
        has_runs=table.has_runs,
        others=list(_further_grids(table, grid)),
        lead=f"Published: {table.place}." if table.is_cited else table.lead,
        short_headers=[table.row_header, *(one.short or one.title for one in quantities)]
        if quantities
        else (),
        legend=f"{'; '.join(meanings)}." if meanings else "",
    )


def _further_grids(table: MeansTable, grid: Callable[..., Grid]) -> Iterator[Grid]:
    """Yield the grids of published numbers, of differences, and of further quantities, where there are any.

    In a table with spread each difference has the sign of its verdict beside it.
    """
    cells, verdicts, caption = table.cells.values(), {}, "Difference, ours − published"
    if any(cell.published for cell in cells) and not table.is_cited:
        yield grid(PUBLISHED, "Published", _published)._replace(place=table.place)
    if any(cell.ours and cell.published for cell in cells):
        if table.spread:
            verdicts = {item.place[1:]: item.verdict for item in compare([table])}
            caption += f"; {', '.join(f'{sign} {verdict}' for verdict, sign in VERDICT_SIGNS.items() if sign != EMPTY)}"
        yield grid(DIFFERENCE, caption, partial(_difference, verdicts), second="")
    for quantity in table.also if any(cell.ours for cell in cells) else ():
        yield grid(quantity, f"Ours. {described(quantity).title}", partial(_shown, quantity))


def table_records(table: MeansTable) -> list[dict[str, object]]:
    """Return a record for each number of a table; None for missing values."""
    listed, unknown = [], dict.fromkeys(CellSource._fields)
    for cell in table.cells.values():
        source = cell.source._asdict() if cell.source else unknown
        for quantity in (*cell.shows, *table.also, *table.notes):
            ours, published = cell.ours.get(quantity, _NOT_RUN), cell.published.get(quantity)
            if ours.n or published or cell.runs.n_planned:
                record = {
                    "row": cell.row,
                    "column": cell.column,
                    "quantity": quantity,
                    "published": published.value if published else None,
                    **{name: none_if_nan(value) for name, value in ours._asdict().items()},
                    "n_planned": cell.runs.n_planned,
                    "n_failed": cell.runs.n_failed,
                    **source,
                }
                listed.append(record)
    return listed


def _grid(
    table: MeansTable,
    paired: bool,
    name: str,
    caption: str,
    texts: Callable[[TableCell], tuple[str, str]],
    second: str = "stddev",
) -> Grid:
    """Fill a grid with texts; if ``paired``, a cell has two columns, the second with the header ``second``."""
    width = 2 if paired else 1
    headers = [
        table.row_header,
        *(header for label in table.column_labels.values() for header in (label, second)[:width]),
    ]
    rows = []
    for row, label in table.row_labels.items():
        line = [label]
        for column in table.column_labels:
            cell = table.cells.get((row, column))
            text, beside = texts(cell) if cell else (EMPTY, EMPTY)
            line += (text, EMPTY if text == EMPTY else beside)[:width]
        rows.append(line)
    return Grid(name, caption, headers, rows)


def _ours(sd: bool, cell: TableCell) -> tuple[str, str]:
    """Return our numbers of a cell, with an asterisk if repeats are missing, and the deviation of the first if run."""
    texts, deviations = [], []
    for name in cell.shows:
        ours = cell.ours.get(name, _NOT_RUN)
        text, deviation = (
            (quantity_text(name, ours.mean), quantity_text(name, ours.sd)) if ours.n else ("", "")
        )
        texts.append(f"{text} ± {deviation}" if sd and not math.isnan(ours.sd) else text)
        deviations.append(deviation)
    return filled(cell.form, texts) + ("*" if cell.incomplete else ""), deviations[0]


def _published(cell: TableCell) -> tuple[str, str]:
    first, number = cell.shows[0], cell.published.get(cell.shows[0])
    sd = None if number is None else number.sd
    deviation = EMPTY if sd is None else quantity_text(first, sd)
    return filled(cell.form, published_texts(cell)), deviation


def _difference(
    verdicts: Mapping[tuple[str, str, str], Verdict], cell: TableCell
) -> tuple[str, str]:
    """Return the differences of a cell, and the sign of the verdict on the first if there is any."""
    texts = [
        quantity_text(name, cell.ours[name].mean - cell.published[name].value, "+")
        if name in cell.ours and name in cell.published
        else ""
        for name in cell.shows
    ]
    verdict = verdicts.get((cell.row, cell.column, cell.shows[0]), "not compared")
    return filled(cell.form, texts), VERDICT_SIGNS.get(verdict, "")


def _shown(quantity: str, cell: TableCell) -> tuple[str, str]:
    return quantity_text(quantity, cell.ours[quantity].mean) if quantity in cell.ours else EMPTY, ""


def published_texts(cell: TableCell) -> list[str]:
    """Return the published numbers of a cell as printed, in the order of ``shows``; "" for a missing number."""
    return [
        true_minus(cell.published[name].text) if name in cell.published else ""
        for name in cell.shows
    ]


def filled(form: str, texts: Sequence[str]) -> str:
    """Fill a format string such as ``"{} ({})"``, up to the last text that is not empty."""
    return "".join(before + text for before, text in filled_parts(form, texts))


def filled_parts(form: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return the parts of `filled`: pairs of the characters before a text, and the text; the last text is empty."""
    n_given = max((n for n, text in enumerate(texts, 1) if text), default=0)
    if not n_given:
        return [("", EMPTY)]
    pieces = form.split("{}")
    end = pieces[n_given] if n_given == len(pieces) - 1 else ""
    return [
        *((piece, text or EMPTY) for piece, text in zip(pieces, texts[:n_given], strict=False)),
        (end, ""),
    ]


def notes(table: MeansTable) -> list[str]:
    """Return the paragraphs below a table."""
    in_brackets = {
        filled(cell.form, [_lower(described(name).title) for name in cell.shows])
        for cell in table.cells.values()
        if len(cell.shows) > 1 and "(" in cell.form
    }
    basis = [f"Each cell shows {' or '.join(sorted(in_brackets))}."] if in_brackets else []
    # The cells of a row of a list have the same runs.
    places = {
        (cell.row, "" if table.is_list else cell.column): cell.runs.differing
        for cell in table.cells.values()
    }
    mixed = list(filter(None, places.values()))
    differing = ", ".join(sorted(set[str]().union(*mixed)))
    origins = (
        f"In {len(mixed)} cells, the repeats were computed with different {differing}."
        if mixed
        else ""
    )
    columns = [described(name) for name in table.column_labels] if table.is_list else []
    meanings = [
        f"{_unitless(column.title)} is {column.meaning}." for column in columns if column.meaning
    ]
    basis += _notes_on_repeats(table)
    compared = _note_on_differences(table), _note_on_rules(table)
    paragraphs = [" ".join(basis), *compared, _note_on_settings(table), origins, *meanings]
    return list(filter(None, [*paragraphs, table.remark, table.shares]))


def _unitless(title: str) -> str:
    return title.partition(",")[0]


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]


def _notes_on_repeats(table: MeansTable) -> Iterator[str]:
    counts = {cell.n for cell in table.cells.values() if cell.runs.n_planned and cell.n}
    if not counts:
        return
    yield f"Means over {count_in_words(counts)}." if max(counts) > 1 else "A single repeat."
    for quantity in table.notes:
        ours = [cell.ours[quantity].mean for cell in table.cells.values() if quantity in cell.ours]
        numbers = table.reference.numbers.items() if table.reference else ()
        published = [
            cell[quantity].text
            for (name, *_), cell in numbers
            if name == table.id and quantity in cell
        ]
        text = f"{described(quantity).title}: {f'{median(ours):.2f}' if ours else EMPTY}"
        yield text + (f" (published: {published[0]})." if published else ".")
    if incomplete := table.incomplete_cells:
        missing = sum(cell.runs.n_planned - cell.n for cell in incomplete)
        failed = sum(cell.runs.n_failed for cell in incomplete)
        names = "; `pppca list --failed` lists the failed repeats" if failed else ""
        yield f"* {missing} of the planned repeats are missing ({failed} failed): `pppca run` adds them{names}."


def _note_on_differences(table: MeansTable) -> str:
    """State for each quantity how far our means over several repeats are from the published numbers."""
    of_repeats, texts = [item for item in compare([table]) if item.n > 1], []
    for quantity, compared in grouped(of_repeats, attrgetter("quantity")).items():
        mean, n_below = mean_difference(compared)
        title = _lower(_unitless(described(quantity).title))
        texts.append(
            f"{title} {quantity_text(quantity, mean, '+')} ({n_below} of {len(compared)} below)"
        )
    return f"Ours − published, on average: {', '.join(texts)}." if texts else ""


def _note_on_rules(table: MeansTable) -> str:
    """State the published runs and the margin of the verdicts, where the margin is in standard deviations."""
    texts = dict[str, None]()
    for cell in table.cells.values():
        for quantity, number in cell.published.items() if cell.ours else ():
            rule = verdict_rule(table, cell, quantity)
            if rule and rule.runs and rule.unit == "sd" and rule.compare != "correlations":
                runs = "a single run" if rule.runs == 1 else f"{rule.runs} runs"
                whose = "our" if number.sd is None else "the published"
                texts[
                    f"{runs} behind a published mean, margin {rule.margin:g} times {whose} standard deviation"
                ] = None
    return f"Verdicts: {'; '.join(texts)}." if texts else ""


def _note_on_settings(table: MeansTable) -> str:
    """Name the cells that are empty because several settings would fill them, and the tables with these settings."""
    ambiguous = [cell for cell in table.cells.values() if cell.listed_in]
    if not ambiguous:
        return ""
    places = "; ".join(
        f"{row} at {', '.join(table.column_labels[cell.column] for cell in cells)}"
        for row, cells in grouped(ambiguous, lambda cell: cell.row).items()
    )
    tables = ", ".join(dict.fromkeys(name for cell in ambiguous for name in cell.listed_in))
    return f"No number is shown for {places}, because several settings were run: see {tables}."
