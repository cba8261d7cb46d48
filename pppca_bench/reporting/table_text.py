"""Texts of tables of means: our numbers, published numbers, differences, notes and records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from statistics import median

from pppca_bench.reporting.comparison import compare, mean_difference, rule_of
from pppca_bench.reporting.document import (
    EMPTY,
    INDENT,
    Document,
    Format,
    Grid,
    count_in_words,
    number_text,
    render_documents,
    true_minus,
)
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.reporting.verdicts import Verdict
from pppca_bench.runs import described, grouped

SIGNS: Mapping[Verdict, str] = {"reproduced": "=", "consistent": "~", "differs": "≠", "not run": EMPTY}
"""Signs of the verdicts, printed beside differences."""


def render(*tables: Table | Document, form: Format, sd: bool = False) -> str:
    """Render tables as text; see `document_of` and `render_documents`."""
    return render_documents([document_of(table, form, sd=sd) for table in tables], form)


def document_of(table: Table | Document, form: Format = "markdown", *, sd: bool = False) -> Document:
    """Return a table of means as a document; a document is returned unchanged.

    In the terminal and in LaTeX the columns of a list have short titles, with a legend below. In LaTeX the published
    numbers are in the rows below ours, without the differences, to give a single table. With ``sd`` means are
    printed as mean ± standard deviation, unless standard deviations have their own columns.
    """
    if isinstance(table, Document):
        return table
    words, columns = notes(table), list(table.column_labels.values())
    if table.is_list and form in ("terminal", "latex"):
        known = [described(name) for name in table.column_labels]
        columns = [quantity.short or quantity.title for quantity in known]
        texts = [f"{_unitless(one.short)}: {_lower(_unitless(one.title))}" for one in known if one.short]
        words += [f"{'; '.join(texts)}."] if texts else []
    grid, cells = partial(_grid, table, columns), table.cells.values()
    ours, others = grid("", "", partial(_ours, sd and not table.spread)), []
    rows = ours.rows
    if any(cell.published for cell in cells):
        published = grid("published", f"Published ({table.place})", _published)
        if form == "latex":
            lines = []
            for row, (_, *texts) in zip(rows, published.rows, strict=True):
                lines += [row] if set(texts) <= {EMPTY, ""} else [row, [f"{INDENT}published", *texts]]
            rows = lines
            words.append(f"Published: {table.place}.")
        else:
            others.append(published)
            if any(cell.ours and cell.published for cell in cells):
                others.append(_differences(table, grid))
    for quantity in table.also if any(cell.ours for cell in cells) else ():
        others.append(grid(quantity, f"Ours. {described(quantity).title}", partial(_shown, quantity)))
    return Document(
        *(table.id, table.title, "", ours.headers, rows, words, records(table)),
        has_runs=table.has_runs,
        others=others,
        lead=table.lead,
    )


def _differences(table: Table, grid: Callable[..., Grid]) -> Grid:
    """Return the grid of differences; in a table with spread each has the sign of its verdict beside it."""
    verdicts, caption = {}, "Difference, ours − published"
    if table.spread:
        verdicts = {item.place[1:]: item.verdict for item in compare([table])}
        caption = f"{caption}; {', '.join(f'{sign} {verdict}' for verdict, sign in SIGNS.items() if sign != EMPTY)}"
    return grid("difference", caption, partial(_difference, verdicts), second="")


def records(table: Table) -> list[dict[str, object]]:
    """Return a record for each number of a table; None for missing values."""
    listed, names = [], ("config", "selection", "versions", "data_sha256")
    for cell in table.cells.values():
        source = {name.replace("selection", "only"): getattr(cell.source, name, None) for name in names}
        for quantity in (*cell.shows, *table.also, *table.notes):
            ours, theirs = cell.ours.get(quantity), cell.published.get(quantity)
            if ours or theirs or cell.runs.n_planned:
                record: dict[str, object] = {"row": cell.row, "column": cell.column, "quantity": quantity}
                record["published"] = theirs.value if theirs else None
                for name in ("mean", "sd", "n", "low", "high"):
                    value = getattr(ours, name, math.nan)
                    record[name] = None if math.isnan(value) else value
                record |= {"n": ours.n if ours else 0, "n_planned": cell.runs.n_planned, "n_failed": cell.runs.n_failed}
                listed.append(record | source)
    return listed


def _grid(
    table: Table,
    columns: Sequence[str],
    name: str,
    caption: str,
    texts: Callable[[TableCell], list[str]],
    second: str = "stddev",
) -> Grid:
    """Fill a grid with texts; in a table with spread a cell has two columns, the second with the header ``second``."""
    width = 2 if table.spread else 1
    headers = [table.row_header, *(header for label in columns for header in [label, second][:width])]
    rows = []
    for row, label in table.row_labels.items():
        line = [label]
        for column in table.column_labels:
            cell = table.cells.get((row, column))
            own = texts(cell) if cell else [EMPTY]
            line += [*own, EMPTY if own == [EMPTY] else ""][:width]
        rows.append(line)
    return Grid(name, caption, headers, rows)


def _ours(sd: bool, cell: TableCell) -> list[str]:
    """Return our numbers of a cell, and the standard deviation of its first quantity if this was run."""
    ours = cell.ours.get(cell.shows[0])
    return [ours_text(cell, sd=sd)] if ours is None else [ours_text(cell, sd=sd), _sd_text(cell, ours.sd)]


def _published(cell: TableCell) -> list[str]:
    number = cell.published.get(cell.shows[0])
    return [filled(cell.form, published_texts(cell)), _sd_text(cell, number.sd if number else None)]


def _difference(verdicts: Mapping[tuple[str, str, str], Verdict], cell: TableCell) -> list[str]:
    """Return the differences of a cell, and the sign of the verdict on the first if there is any."""
    both = {name: number for name, number in cell.published.items() if name in cell.ours}
    texts = {name: number_text(name, cell.ours[name].mean - number.value, "+") for name, number in both.items()}
    first, line = cell.shows[0], [filled(cell.form, [texts.get(name, "") for name in cell.shows])]
    if sign := SIGNS.get(verdicts.get((cell.row, cell.column, first), "not compared")):
        line.append(sign)
    return line


def _shown(quantity: str, cell: TableCell) -> list[str]:
    return [number_text(quantity, cell.ours[quantity].mean) if quantity in cell.ours else EMPTY]


def _sd_text(cell: TableCell, sd: float | None) -> str:
    return EMPTY if sd is None or math.isnan(sd) else number_text(cell.shows[0], sd)


def ours_text(cell: TableCell, *, sd: bool = False) -> str:
    """Return our numbers of a cell as tables print them, with an asterisk if repeats are missing."""
    if not (cell.ours or cell.runs.n_planned):
        return EMPTY
    texts = []
    for name in cell.shows:
        ours = cell.ours.get(name)
        text = number_text(name, ours.mean) if ours else ""
        texts.append(f"{text} ± {number_text(name, ours.sd)}" if sd and ours and not math.isnan(ours.sd) else text)
    return filled(cell.form, texts) + ("*" if cell.incomplete else "")


def published_texts(cell: TableCell) -> list[str]:
    """Return the published numbers of a cell as printed, in the order of ``shows``; "" for a missing number."""
    return [true_minus(cell.published[name].text) if name in cell.published else "" for name in cell.shows]


def filled(form: str, texts: Sequence[str]) -> str:
    """Fill a format string such as ``"{} ({})"``, up to the last text that is not empty."""
    return "".join(before + text for before, text in filled_parts(form, texts))


def filled_parts(form: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return the parts of `filled`: pairs of the characters before a text, and the text; the last text is empty."""
    n_given = max((place for place, text in enumerate(texts, 1) if text), default=0)
    if not n_given:
        return [("", EMPTY)]
    pieces = form.split("{}")
    end = pieces[n_given] if n_given == len(pieces) - 1 else ""
    return [*((piece, text or EMPTY) for piece, text in zip(pieces, texts[:n_given], strict=False)), (end, "")]


def notes(table: Table) -> list[str]:
    """Return the paragraphs below a table."""
    # Explain the numbers of cells with brackets.
    shown = {(cell.form, cell.shows) for cell in table.cells.values() if len(cell.shows) > 1 and "(" in cell.form}
    texts = sorted({filled(form, [_lower(described(name).title) for name in names]) for form, names in shown})
    basis = [f"Each cell shows {' or '.join(texts)}."] if texts else []
    # The cells of a row of a list have the same runs.
    places = {(cell.row, "" if table.is_list else cell.column): cell.runs.differing for cell in table.cells.values()}
    mixed = list(filter(None, places.values()))
    differing = ", ".join(sorted(set[str]().union(*mixed)))
    origins = f"In {len(mixed)} cells, the repeats were computed with different {differing}." if mixed else ""
    columns = [described(name) for name in table.column_labels] if table.is_list else []
    meanings = [f"{_unitless(column.title)} is {column.meaning}." for column in columns if column.meaning]
    basis += _notes_on_repeats(table)
    compared = _note_on_differences(table), _note_on_rules(table)
    paragraphs = [" ".join(basis), *compared, _note_on_settings(table), origins, *meanings]
    return list(filter(None, [*paragraphs, table.remark, table.shares]))


def _unitless(title: str) -> str:
    return title.partition(",")[0]


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]


def _notes_on_repeats(table: Table) -> Iterator[str]:
    counts = {cell.n for cell in table.cells.values() if cell.runs.n_planned and cell.n}
    if not counts:
        return
    yield f"Means over {count_in_words(counts)}." if max(counts) > 1 else "A single repeat."
    for quantity in table.notes:
        ours = [cell.ours[quantity].mean for cell in table.cells.values() if quantity in cell.ours]
        numbers = table.reference.numbers.items() if table.reference else ()
        theirs = [cell[quantity].text for (place, *_), cell in numbers if place == table.id and quantity in cell]
        text = f"{described(quantity).title}: {f'{median(ours):.2f}' if ours else EMPTY}"
        yield text + (f" (published: {theirs[0]})." if theirs else ".")
    if incomplete := table.incomplete_cells:
        missing = sum(cell.runs.n_planned - cell.n for cell in incomplete)
        failed = sum(cell.runs.n_failed for cell in incomplete)
        names = "; `pppca list --failed` lists the failed repeats" if failed else ""
        yield f"* {missing} of the planned repeats are missing ({failed} failed): `pppca run` adds them{names}."


def _note_on_differences(table: Table) -> str:
    """State for each quantity how far our means over several repeats are from the published numbers."""
    of_repeats, texts = [item for item in compare([table]) if item.n > 1], []
    for quantity, own in grouped(of_repeats, attrgetter("quantity")).items():
        mean, n_below = mean_difference(own)
        title = _lower(_unitless(described(quantity).title))
        texts.append(f"{title} {number_text(quantity, mean, '+')} ({n_below} of {len(own)} below)")
    return f"Ours − published, on average: {', '.join(texts)}." if texts else ""


def _note_on_rules(table: Table) -> str:
    """State the published runs and the margin of the verdicts, where the margin is in standard deviations."""
    texts = dict[str, None]()
    for cell in table.cells.values():
        for quantity, number in cell.published.items() if cell.ours else ():
            rule = rule_of(table, cell, quantity)
            if rule and rule.runs and rule.unit == "sd" and rule.compare != "correlations":
                runs = "a single run" if rule.runs == 1 else f"{rule.runs} runs"
                whose = "our" if number.sd is None else "the published"
                texts[f"{runs} behind a published mean, margin {rule.margin:g} times {whose} standard deviation"] = None
    return f"Verdicts: {'; '.join(texts)}." if texts else ""


def _note_on_settings(table: Table) -> str:
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
