"""A filled table as text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Literal

from tabulate import tabulate

from pppca_bench.references.numbers import Number
from pppca_bench.reporting.summary import Summary
from pppca_bench.reporting.tables import Table, TableCell
from pppca_bench.runs import QUANTITIES, SIZES

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

_TABULATE = {"terminal": "simple", "markdown": "pipe", "latex": "latex_booktabs"}
_ROUNDING = 1e-12
"""What a reconstruction error of nothing lost comes to."""


def render(table: Table, form: Format) -> str:
    """Render a table as text.

    Terminal, Markdown and LaTeX have ours, the published table where there is one, and the difference, each in
    the slides' layout; CSV and JSON a row per number with mean, sd, n and 95 % interval.
    """
    if form == "json":
        return json.dumps(records(table), indent=1, ensure_ascii=False)
    if form == "csv":
        import pandas as pd

        return str(pd.DataFrame(records(table), columns=list(_EMPTY_RECORD)).to_csv(index=False))
    return _render_text(table, form)


def records(table: Table) -> list[dict[str, object]]:
    """Return one plain record for each number of a table; what was not run or not published is None."""
    found = []
    for cell in table.cells.values():
        if cell.row in table.row_labels:
            for quantity in (*cell.shows, *table.also, *table.notes):
                ours, theirs = cell.ours.get(quantity), cell.published.get(quantity)
                if ours or theirs or cell.n_planned:
                    found.append(_record(table, cell, quantity, ours, theirs))
    return found


_EMPTY_RECORD: dict[str, object] = dict.fromkeys(
    (
        "table",
        "row",
        "column",
        "quantity",
        "published",
        "mean",
        "sd",
        "n",
        "low",
        "high",
        "n_planned",
        "n_failed",
    )
)


def _record(
    table: Table, cell: TableCell, quantity: str, ours: Summary | None, theirs: Number | None
) -> dict[str, object]:
    record = _EMPTY_RECORD | {
        "table": table.id,
        "row": cell.row,
        "column": cell.column,
        "quantity": quantity,
    }
    record |= {"n": 0, "n_planned": cell.n_planned, "n_failed": cell.n_failed}
    if theirs is not None:
        record["published"] = theirs.value
    if ours is not None:
        numbers = {"mean": ours.mean, "sd": ours.sd, "low": ours.low, "high": ours.high}
        record |= {name: None if math.isnan(value) else value for name, value in numbers.items()} | {"n": ours.n}
    return record


def _render_text(table: Table, form: Format) -> str:
    parts = [_heading(table, form), _grid(table, form, _ours_text), *_notes(table, form)]
    cells = [cell for cell in table.cells.values() if cell.row in table.row_labels]
    if any(cell.published for cell in cells):
        parts += [_caption(f"Published ({table.place})", form), _grid(table, form, _published_text)]
        if any(cell.ours and cell.published for cell in cells):
            parts += [_caption("Difference, ours − published", form), _grid(table, form, _difference_text)]
    for quantity in table.also if any(cell.ours for cell in cells) else ():
        parts += [_caption(f"Ours. {QUANTITIES[quantity].title}", form), _grid(table, form, partial(_single, quantity))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _heading(table: Table, form: Format) -> str:
    title = f"{table.id}. {table.title}"
    return {"markdown": f"## {title}", "latex": f"% {title}"}.get(form, f"{title}\n{'=' * len(title)}")


def _caption(text: str, form: Format) -> str:
    return {"markdown": f"**{text}**", "latex": f"% {text}"}.get(form, f"{text}:")


def _grid(table: Table, form: Format, text: Callable[[TableCell], str]) -> str:
    rows = [
        [label, *(_text_at(table, row, column, text) for column in table.column_labels)]
        for row, label in table.row_labels.items()
    ]
    headers = [table.row_header, *table.column_labels.values()]
    if form == "latex":
        headers = [header.replace("τ", r"$\tau$").replace("#", r"\#") for header in headers]
        rows = [
            [
                text.replace("%", r"\%")
                .replace("_", r"\_")
                .replace("τ", r"$\tau$")
                .replace("−", "$-$")
                .replace(EMPTY, "--")
                for text in row
            ]
            for row in rows
        ]
        return str(tabulate(rows, headers, tablefmt="latex_raw", disable_numparse=True))
    align = ("left", *("right" for _ in table.column_labels))
    return str(
        tabulate(rows, headers, tablefmt=_TABULATE[form], disable_numparse=True, colalign=align if rows else None)
    )


def _text_at(table: Table, row: str, column: str, text: Callable[[TableCell], str]) -> str:
    cell = table.cells.get((row, column))
    return EMPTY if cell is None else text(cell)


def _notes(table: Table, form: Format) -> list[str]:
    cells = [cell for cell in table.cells.values() if cell.row in table.row_labels and cell.n_planned]
    counts = sorted({cell.n for cell in cells if cell.n})
    if not counts:
        return []
    repeats = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    notes = [f"Means over {repeats} repeats." if counts != [1] else "A single repeat."]
    notes += [_median_note(table, quantity) for quantity in table.notes]
    late = table.late
    if late:
        missing = sum(cell.n_planned - cell.n for cell in late)
        failed = sum(cell.n_failed for cell in late)
        notes.append(
            f"* {missing} of the repeats asked for are not in ({failed} of them failed): `pppca run` adds them."
        )
    text = " ".join(notes)
    return [f"% {text}" if form == "latex" else text]


def _median_note(table: Table, quantity: str) -> str:
    ours = [cell.ours[quantity].mean for cell in table.cells.values() if quantity in cell.ours]
    numbers = table.reference.numbers.items() if table.reference else ()
    theirs = [cell[quantity].text for (place, *_), cell in numbers if place == table.id and quantity in cell]
    title = QUANTITIES[quantity].title
    text = f"{title}: {median(ours):.2f}" if ours else f"{title}: {EMPTY}"
    return text + (f" (published: {theirs[0]})." if theirs else ".")


def _ours_text(cell: TableCell) -> str:
    if not (cell.ours or cell.n_planned):
        return EMPTY
    means = {name: summary.mean for name, summary in cell.ours.items()}
    return _cell_text(cell, means) + ("*" if cell.incomplete else "")


def _published_text(cell: TableCell) -> str:
    return _filled(cell.form, [cell.published[name].text for name in cell.shows if name in cell.published])


def _difference_text(cell: TableCell) -> str:
    differences = {
        name: cell.ours[name].mean - number.value for name, number in cell.published.items() if name in cell.ours
    }
    return _cell_text(cell, differences, sign="+")


def _single(quantity: str, cell: TableCell) -> str:
    return number_text(quantity, cell.ours[quantity].mean) if quantity in cell.ours else EMPTY


def _cell_text(cell: TableCell, values: Mapping[str, float], sign: str = "") -> str:
    return _filled(cell.form, [number_text(name, values[name], sign) for name in cell.shows if name in values])


def number_text(quantity: str, value: float, sign: str = "") -> str:
    """Return a number as tables print it, with a true minus sign."""
    form = ".0f" if quantity in SIZES else QUANTITIES[quantity].form if quantity in QUANTITIES else ".3g"
    return f"{0.0 if abs(value) < _ROUNDING else value:{sign}{form}}".replace("-", "−")


def _filled(form: str, texts: Sequence[str]) -> str:
    """Fill the first places of a form such as ``"{} ({})"``; what follows the last text is left out."""
    if not texts:
        return EMPTY
    pieces = form.split("{}")
    if len(texts) < len(pieces) - 1:
        pieces = [*pieces[: len(texts)], ""]
    return "".join(itertools.chain.from_iterable(itertools.zip_longest(pieces, texts, fillvalue="")))
