"""A filled table as text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import partial
from statistics import median
from typing import Literal

from tabulate import tabulate

from pppca_bench.references.layouts import Form
from pppca_bench.references.published import PublishedCell, published
from pppca_bench.reporting.summary import Summary
from pppca_bench.reporting.tables import QUANTITIES, SIZES, Table, TableCell

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
_BELOW_SPEEDUPS = {
    "speedup_operations": "Ours, ratio of multiply-adds instead of times (exact on any machine)",
    "speedup_fast": "Ours, ratio of times of the fast kernel, whose cost grows with l instead of l²",
}


_ROUNDING = 1e-12
"""What a reconstruction error of nothing lost comes to."""

_LIST_FORMATS = {
    "error_percent": "{:.2f}",
    "dimensionality": "{:.1f}",
    "retained_variance_percent": "{:.1f}",
    "reconstruction_error": "{:.3g}",
    "fit_time_ms": "{:.1f}",
}


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
            for quantity in [cell.column] if table.form == "list" else QUANTITIES[table.form]:
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
    table: Table, cell: TableCell, quantity: str, ours: Summary | None, theirs: PublishedCell | None
) -> dict[str, object]:
    record = _EMPTY_RECORD | {
        "table": table.table,
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
    if table.form == "speed-up" and any(cell.ours for cell in cells):
        for quantity, caption in _BELOW_SPEEDUPS.items():
            parts += [_caption(caption, form), _grid(table, form, partial(_single_text, quantity))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _heading(table: Table, form: Format) -> str:
    title = f"{table.table}. {table.title}"
    return {"markdown": f"## {title}", "latex": f"% {title}"}.get(form, f"{title}\n{'=' * len(title)}")


def _caption(text: str, form: Format) -> str:
    return {"markdown": f"**{text}**", "latex": f"% {text}"}.get(form, f"{text}:")


def _grid(table: Table, form: Format, text: object) -> str:
    rows = [
        [label, *(text(table.cells.get((row, column)), table.form) for column in table.column_labels)]  # type: ignore[operator]
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


_LATEX = {"%": r"\%", "_": r"\_", "τ": r"$\tau$", "−": "$-$", EMPTY: "--"}


def _latex(text: str) -> str:
    for character, command in _LATEX.items():
        text = text.replace(character, command)
    return text


def _notes(table: Table, form: Format) -> list[str]:
    if table.form == "size":
        return []
    cells = [cell for cell in table.cells.values() if cell.row in table.row_labels]
    counts = sorted({cell.n for cell in cells if cell.n})
    if not counts:
        return []
    repeats = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    notes = [f"Means over {repeats} repeats." if counts != [1] else "A single repeat."]
    if table.form == "speed-up":
        notes.append(_gha_time(table))
    late = table.late
    if late:
        missing = sum(cell.n_planned - cell.n for cell in late)
        failed = sum(cell.n_failed for cell in late)
        notes.append(
            f"* {missing} of the repeats asked for are not in ({failed} of them failed): `pppca run` adds them."
        )
    text = " ".join(notes)
    return [f"% {text}" if form == "latex" else text]


def _gha_time(table: Table) -> str:
    ours = [cell.ours["gha_time_ms"].mean for cell in table.cells.values() if "gha_time_ms" in cell.ours]
    problem = next(iter(table.row_labels)).partition(",")[0]
    theirs = published(table.table, problem, "GHA", "time_ms")
    text = f"GHA takes {median(ours):.2f} ms" if ours else ""
    return text + (f" (published: {theirs.text} ms)." if theirs else ".")


def _ours_text(cell: TableCell | None, form: Form) -> str:
    if cell is None or not (cell.ours or cell.n_planned):
        return EMPTY
    means = {name: summary.mean for name, summary in cell.ours.items()}
    return _cell_text(means, form) + ("*" if cell.incomplete else "")


def _published_text(cell: TableCell | None, form: Form) -> str:
    if cell is None or not cell.published:
        return EMPTY
    texts = [cell.published[name].text for name in QUANTITIES[form] if name in cell.published]
    if form == "size":
        return " / ".join(texts)
    return texts[0] + "".join(f" ({text})" for text in texts[1:])


def _difference_text(cell: TableCell | None, form: Form) -> str:
    if cell is None:
        return EMPTY
    differences = {
        name: cell.ours[name].mean - number.value for name, number in cell.published.items() if name in cell.ours
    }
    return _cell_text(differences, form, sign="+")


def _single_text(quantity: str, cell: TableCell | None, form: Form) -> str:  # noqa: ARG001
    return f"{cell.ours[quantity].mean:.2f}" if cell is not None and quantity in cell.ours else EMPTY


def _cell_text(values: Mapping[str, float], form: Form, sign: str = "") -> str:
    if not values:
        return EMPTY
    if form == "list":
        (quantity, value) = next(iter(values.items()))
        return _LIST_FORMATS[quantity].format(0.0 if abs(value) < _ROUNDING else value).replace("-", "−")
    if form == "size":
        return " / ".join(f"{values[name]:{sign}.0f}" for name in SIZES if name in values).replace("-", "−")
    main = values.get("error_percent", values.get("speedup", math.nan))
    text = f"{main:{sign}.2f}"
    if "dimensionality" in values:
        text += f" ({values['dimensionality']:{sign}.1f})"
    return text.replace("-", "−")
