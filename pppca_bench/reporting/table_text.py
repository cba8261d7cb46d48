"""A filled table as text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Literal, NamedTuple

from tabulate import tabulate

from pppca_bench.references.numbers import Number, Tolerance
from pppca_bench.reporting.comparison import Verdict, judge
from pppca_bench.reporting.latex import latex_table, latex_text
from pppca_bench.reporting.number_text import number_text, true_minus
from pppca_bench.reporting.summary import Summary
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.runs import described

Format = Literal["terminal", "markdown", "latex", "csv", "json"]
FORMATS: tuple[Format, ...] = ("terminal", "markdown", "latex", "csv", "json")
EXTENSIONS: Mapping[Format, str] = {
    "terminal": "txt",
    "markdown": "md",
    "latex": "tex",
    "csv": "csv",
    "json": "json",
}
EMPTY = "–"
SIGNS: Mapping[Verdict, str] = {
    "reproduced": "=",
    "undecided": "?",
    "close": "~",
    "differs": "≠",
    "not run": EMPTY,
}
"""What stands beside a difference."""

_TABULATE = {"terminal": "simple", "markdown": "pipe"}
_IN_MARKDOWN = str.maketrans({"|": r"\|"})

FIELDS = ("table", "row", "column", "quantity", "published", "mean", "sd", "n", "low", "high", "n_planned", "n_failed")
"""Columns of a table's records."""


class Grid(NamedTuple):
    """Hold one of the grids of a table, as texts.

    Attributes
    ----------
    name, caption : str
        What it holds, as a word and as printed: "" for ours, "published", "difference", or a quantity.
    headers, rows : list of str, and list of list of str
    """

    name: str
    caption: str
    headers: list[str]
    rows: list[list[str]]


def render(table: Table, form: Format, *, sd: bool = False) -> str:
    """Render a table as text.

    Terminal, Markdown and LaTeX have ours, the published table where there is one, and the difference, each in
    the slides' layout; CSV and JSON a row per number with mean, sd, n and 95 % interval.

    Parameters
    ----------
    table : Table
        What is rendered.
    form : {"terminal", "markdown", "latex", "csv", "json"}
        In LaTeX each grid is a table with a caption and a label, such as ``tab:T5-published``.
    sd : bool, default False
        Whether means of ours stand as mean ± standard deviation, where it has no column of its own.
    """
    if form == "json":
        return json.dumps(records(table), indent=1, ensure_ascii=False)
    if form == "csv":
        return csv_text(records(table), FIELDS)
    told = notes(table)
    if form == "terminal" and table.is_list:
        told = [*told, *_legend(table)]
        table = replace(table, column_labels={name: _short(name) for name in table.column_labels})
    ours, *others = _grids(table, sd=sd)
    parts = [heading(table.id, table.title, form)]
    if form == "latex":
        parts.append(latex_grid(ours, table.id, table.title, told))
        parts += [latex_grid(one, table.id, f"{table.title}. {one.caption}") for one in others]
    else:
        parts += [grid(ours.headers, ours.rows, form), *told]
        for one in others:
            parts += [_caption(one.caption, form), grid(one.headers, one.rows, form)]
    return "\n\n".join(parts) + "\n"


def latex_grid(one: Grid, identifier: str, title: str, told: Sequence[str] = ()) -> str:
    """Lay out a grid as a LaTeX table, whose caption holds title and notes, and whose label begins with the id."""
    caption = " ".join([f"{title}.", *told])
    label = f"{identifier}-{one.name}" if one.name else identifier
    return latex_table(one.headers, one.rows, caption=caption, short=title, label=label)


def records(table: Table) -> list[dict[str, object]]:
    """Return one plain record for each number of a table; what was not run or not published is None."""
    found = []
    for cell in table.cells.values():
        for quantity in (*cell.shows, *table.also, *table.notes):
            ours, theirs = cell.ours.get(quantity), cell.published.get(quantity)
            if ours or theirs or cell.n_planned:
                found.append(_record(table, cell, quantity, ours, theirs))
    return found


def mean_text(quantity: str, ours: Summary, *, sd: bool) -> str:
    """Return a mean as tables print it, with its standard deviation where it is asked for and there are two repeats."""
    text = number_text(quantity, ours.mean)
    return f"{text} ± {number_text(quantity, ours.sd)}" if sd and not math.isnan(ours.sd) else text


def _record(
    table: Table, cell: TableCell, quantity: str, ours: Summary | None, theirs: Number | None
) -> dict[str, object]:
    known: dict[str, object] = {"table": table.id, "row": cell.row, "column": cell.column, "quantity": quantity}
    known |= {"n": 0, "n_planned": cell.n_planned, "n_failed": cell.n_failed}
    if theirs is not None:
        known["published"] = theirs.value
    if ours is not None:
        numbers = {"mean": ours.mean, "sd": ours.sd, "low": ours.low, "high": ours.high}
        known |= {name: None if math.isnan(value) else value for name, value in numbers.items()} | {"n": ours.n}
    return {name: known.get(name) for name in FIELDS}


def _grids(table: Table, *, sd: bool) -> list[Grid]:
    """Return ours, the published table and the difference where there are such, and further quantities of ours."""
    if table.spread:
        ours, published = _ours_with_spread, _published_with_spread
    else:
        ours, published = partial(ours_text, sd=sd), _published_text
    cells = table.cells.values()
    found = [_grid(table, "", "", ours)]
    if any(cell.published for cell in cells):
        found.append(_grid(table, "published", f"Published ({table.place})", published))
        if any(cell.ours and cell.published for cell in cells):
            found.append(_grid(table, "difference", _difference_caption(table), _difference(table), second=""))
    for quantity in table.also if any(cell.ours for cell in cells) else ():
        found.append(_grid(table, quantity, f"Ours. {described(quantity).title}", partial(_single, quantity)))
    return found


def _difference_caption(table: Table) -> str:
    told = ", ".join(f"{sign} {verdict}" for verdict, sign in SIGNS.items() if verdict != "not run")
    return f"Difference, ours − published; {told}" if table.spread else "Difference, ours − published"


def _difference(table: Table) -> Callable[[TableCell], str | tuple[str, str]]:
    if not table.spread or table.reference is None:
        return _difference_text
    return partial(_difference_with_verdict, table.reference.tolerances)


def heading(identifier: str, title: str, form: Format) -> str:
    """Return what stands above a table."""
    text = f"{identifier}. {title}"
    return {"markdown": f"## {text}", "latex": f"% {text}"}.get(form, f"{text}\n{'=' * len(text)}")


def grid(headers: Sequence[str], rows: Sequence[Sequence[str]], form: Format) -> str:
    """Lay out texts, escaped: the first column to the left, the others to the right."""
    if form == "latex":
        return latex_table(headers, rows)
    head, *lines = ([escaped(entry, form) for entry in line] for line in (headers, *rows))
    align = ("left", *("right" for _ in head[1:])) if lines else None
    return str(tabulate(lines, head, tablefmt=_TABULATE[form], disable_numparse=True, colalign=align))


def escaped(text: str, form: Format) -> str:
    """Return a text with the characters escaped that mean something in a format."""
    if form == "latex":
        return latex_text(text)
    return text.translate(_IN_MARKDOWN) if form == "markdown" else text


def csv_text(found: Sequence[Mapping[str, object]], fields: Sequence[str]) -> str:
    """Return records as CSV, a header first."""
    import pandas as pd

    return str(pd.DataFrame(found, columns=list(fields), dtype=object).to_csv(index=False))


def _caption(text: str, form: Format) -> str:
    return f"**{text}**" if form == "markdown" else f"{text}:"


def _grid(
    table: Table, name: str, caption: str, text: Callable[[TableCell], str | tuple[str, str]], second: str = "stddev"
) -> Grid:
    """Fill a grid; in a table with spread each cell has two columns, of which this is the second's header."""
    texts = {place: text(cell) for place, cell in table.cells.items()}
    heads = [[label, second] if table.spread else [label] for label in table.column_labels.values()]
    lines = []
    for row, label in table.row_labels.items():
        entries = (texts.get((row, column), EMPTY) for column in table.column_labels)
        lines.append([label, *itertools.chain.from_iterable(_entries(one, table.spread) for one in entries)])
    return Grid(name, caption, [table.row_header, *itertools.chain.from_iterable(heads)], lines)


def _entries(text: str | tuple[str, str], spread: bool) -> tuple[str, ...]:
    if isinstance(text, tuple):
        return text
    return (text, EMPTY if text == EMPTY else "") if spread else (text,)


def notes(table: Table) -> list[str]:
    """Return the sentences that stand below a table."""
    basis = " ".join([*_note_on_form(table), *_notes_on_repeats(table)])
    told = [basis, _note_on_settings(table), _note_on_origins(table)]
    return list(filter(None, [*told, *_note_on_meanings(table), table.remark]))


def _note_on_form(table: Table) -> list[str]:
    """Name the numbers of a cell where some stand in brackets."""
    shown = {(cell.form, cell.shows) for cell in table.cells.values() if len(cell.shows) > 1 and "(" in cell.form}
    texts = sorted({filled(form, [_lower(described(name).title) for name in names]) for form, names in shown})
    return [f"Each cell shows {' or '.join(texts)}."] if texts else []


def _note_on_meanings(table: Table) -> list[str]:
    """Explain the columns of a list whose titles do not say what they hold."""
    shown = [described(name) for name in table.column_labels] if table.is_list else []
    return [f"{_without_unit(one.title)} is {one.meaning}." for one in shown if one.meaning]


def _legend(table: Table) -> list[str]:
    """Return a sentence that says what the short titles of a list's columns stand for."""
    shown = [described(name) for name in table.column_labels]
    texts = [f"{_without_unit(one.short)}: {_lower(_without_unit(one.title))}" for one in shown if one.short]
    return [f"{'; '.join(texts)}."] if texts else []


def _short(quantity: str) -> str:
    known = described(quantity)
    return known.short or known.title


def _without_unit(title: str) -> str:
    return title.partition(",")[0]


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]


def _notes_on_repeats(table: Table) -> Iterator[str]:
    counts = sorted({cell.n for cell in table.cells.values() if cell.n_planned and cell.n})
    if not counts:
        return
    repeats = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    yield f"Means over {repeats} repeats." if counts != [1] else "A single repeat."
    yield from (_median_note(table, quantity) for quantity in table.notes)
    if late := table.late:
        missing = sum(cell.n_planned - cell.n for cell in late)
        failed = sum(cell.n_failed for cell in late)
        yield f"* {missing} of the repeats asked for are missing ({failed} failed): `pppca run` adds them."


def _median_note(table: Table, quantity: str) -> str:
    ours = [cell.ours[quantity].mean for cell in table.cells.values() if quantity in cell.ours]
    numbers = table.reference.numbers.items() if table.reference else ()
    theirs = [cell[quantity].text for (place, *_), cell in numbers if place == table.id and quantity in cell]
    text = f"{described(quantity).title}: {f'{median(ours):.2f}' if ours else EMPTY}"
    return text + (f" (published: {theirs[0]})." if theirs else ".")


def _note_on_settings(table: Table) -> str:
    """Name the cells that runs of several settings would fill, if any, and the tables that list these."""
    rows: dict[str, list[str]] = {}
    ambiguous = [cell for cell in table.cells.values() if cell.elsewhere]
    for cell in ambiguous:
        rows.setdefault(cell.row, []).append(table.column_labels[cell.column])
    if not rows:
        return ""
    places = "; ".join(f"{row} at {', '.join(columns)}" for row, columns in rows.items())
    homes = ", ".join(dict.fromkeys(home for cell in ambiguous for home in cell.elsewhere))
    return f"No number is shown for {places}, because several settings were run: see {homes}."


def _note_on_origins(table: Table) -> str:
    """Say in how many cells the repeats were computed by different code, libraries or machines, if in any."""
    mixed = [cell.differing for cell in table.cells.values() if cell.differing]
    if not mixed:
        return ""
    what = ", ".join(sorted(set[str]().union(*mixed)))
    return f"In {len(mixed)} of the cells the repeats were computed by different {what}."


def ours_text(cell: TableCell, *, sd: bool = False) -> str:
    """Return our numbers of a cell as tables print them, marked where repeats are not in."""
    if not (cell.ours or cell.n_planned):
        return EMPTY
    texts = [mean_text(name, cell.ours[name], sd=sd) if name in cell.ours else "" for name in cell.shows]
    return filled(cell.form, texts) + ("*" if cell.incomplete else "")


def _ours_with_spread(cell: TableCell) -> str | tuple[str, str]:
    ours = cell.ours.get(cell.shows[0])
    return ours_text(cell) if ours is None else (ours_text(cell), _spread_text(cell, ours.sd))


def _published_with_spread(cell: TableCell) -> str | tuple[str, str]:
    number = cell.published.get(cell.shows[0])
    spread = math.nan if number is None or number.sd is None else number.sd
    return _published_text(cell), _spread_text(cell, spread)


def _spread_text(cell: TableCell, spread: float) -> str:
    return EMPTY if math.isnan(spread) else number_text(cell.shows[0], spread)


def _difference_with_verdict(rule: Mapping[str, Tolerance], cell: TableCell) -> str | tuple[str, str]:
    (quantity, *_), text = cell.shows, _difference_text(cell)
    number, ours = cell.published.get(quantity), cell.ours.get(quantity)
    if number is None or ours is None or quantity not in rule or not rule[quantity].tells(number):
        return text
    verdict = judge((cell.row, cell.column, "", quantity), number, ours, rule[quantity]).verdict
    return text, SIGNS[verdict]


def _published_text(cell: TableCell) -> str:
    return filled(cell.form, published_texts(cell))


def published_texts(cell: TableCell) -> list[str]:
    """Return the published numbers of a cell as they were printed, "" where none was, in the order of `shows`."""
    return [true_minus(cell.published[name].text) if name in cell.published else "" for name in cell.shows]


def _difference_text(cell: TableCell) -> str:
    differences = {
        name: cell.ours[name].mean - number.value for name, number in cell.published.items() if name in cell.ours
    }
    return filled(
        cell.form,
        [number_text(name, differences[name], "+") if name in differences else "" for name in cell.shows],
    )


def _single(quantity: str, cell: TableCell) -> str:
    return number_text(quantity, cell.ours[quantity].mean) if quantity in cell.ours else EMPTY


def filled(form: str, texts: Sequence[str]) -> str:
    """Fill the places of a form such as ``"{} ({})"``; those after the last text that is not empty are left out."""
    return "".join(before + text for before, text in filled_parts(form, texts))


def filled_parts(form: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return the texts that fill a form, see `filled`, each after what stands before it; the last pair has no text."""
    n_given = max((place for place, text in enumerate(texts, 1) if text), default=0)
    if not n_given:
        return [("", EMPTY)]
    pieces = form.split("{}")
    end = pieces[n_given] if n_given == len(pieces) - 1 else ""
    return [*((piece, text or EMPTY) for piece, text in zip(pieces, texts[:n_given], strict=False)), (end, "")]
