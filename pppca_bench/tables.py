"""The slides' tables: filled from results, laid out as printed, rendered as text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from typing import Literal

from tabulate import tabulate

from pppca_bench.catalogue import METHODS
from pppca_bench.layouts import LAYOUTS, PROBLEMS, Form, Layout
from pppca_bench.published import PublishedCell, published, published_tables
from pppca_bench.records import ProblemFacts
from pppca_bench.summary import CellSummary, Results, Source, Summary, summarise

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
SIZES = ("features", "classes", "train", "validation", "test")

_TABULATE = {"terminal": "simple", "markdown": "pipe", "latex": "latex_booktabs"}
_QUANTITIES: Mapping[Form, tuple[str, ...]] = {
    "size": SIZES,
    "error": ("error_percent",),
    "error (dimensionality)": ("error_percent", "dimensionality"),
    "speed-up": ("speedup", "speedup_operations", "speedup_fast", "gha_time_ms"),
}
_BELOW_SPEEDUPS = {
    "speedup_operations": "Ours, ratio of multiply-adds instead of times (exact on any machine)",
    "speedup_fast": "Ours, ratio of times of the fast kernel, whose cost grows with l instead of l²",
}


@dataclass(frozen=True, slots=True)
class TableCell:
    """Hold one cell: ours, the published numbers, and how many repeats were asked for.

    Attributes
    ----------
    row, column : str
        Keys of the cell's place.
    ours : dict of str to Summary
        By quantity; empty when nothing was run.
    published : dict of str to PublishedCell
        By quantity; empty where the source prints nothing.
    values : dict of str to dict of int to float
        By quantity, each repeat's value by its number.
    n_planned, n_failed : int
        Repeats asked for, and failed.
    has_source : bool
        Whether runs of ours can fill the cell.
    """

    row: str
    column: str
    ours: Mapping[str, Summary]
    published: Mapping[str, PublishedCell]
    values: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    n_planned: int = 0
    n_failed: int = 0
    has_source: bool = False

    @property
    def n(self) -> int:
        """Return the number of repeats behind the cell."""
        return max((summary.n for summary in self.ours.values()), default=0)

    @property
    def incomplete(self) -> bool:
        """Tell whether repeats that were asked for are not in."""
        return self.n < self.n_planned


@dataclass(frozen=True, slots=True)
class Table:
    """Hold a filled table.

    Attributes
    ----------
    table, title : str
        Identifier and title; ``place`` tells where it was published ("" for one of ours).
    row_header : str
    row_labels, column_labels : dict of str to str
        Keys of rows and columns to what is printed, in order.
    form : str
        What a cell shows.
    cells : dict of (row, column) to TableCell
    """

    table: str
    title: str
    place: str
    row_header: str
    row_labels: Mapping[str, str]
    column_labels: Mapping[str, str]
    form: Form
    cells: Mapping[tuple[str, str], TableCell]

    @property
    def was_run(self) -> bool:
        """Tell whether any of its runs was asked for."""
        return any(cell.ours or cell.n_planned for cell in self.cells.values())


def build_tables(results: Results, facts: Mapping[str, ProblemFacts]) -> list[Table]:
    """Fill the slides' tables, then one with all runs that stand in none of them.

    Parameters
    ----------
    results : Results
        What was run.
    facts : mapping of str to ProblemFacts
        Sizes of the problems, by name.

    Returns
    -------
    list of Table
        In the order of the slides; the last is left out when nothing else was run.
    """
    tables = [_fill(layout, results, facts) for layout in LAYOUTS]
    shown = {layout.source(row, column) for layout in LAYOUTS for row in layout.rows for column in layout.columns}
    others = [source for source in results.sources() if not _stands_in(source, shown)]
    return [*tables, _other_runs(others, results, facts)] if others else tables


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
            for quantity in _QUANTITIES[table.form]:
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


def _fill(layout: Layout, results: Results, facts: Mapping[str, ProblemFacts]) -> Table:
    known = published_tables()[layout.table]
    cells = {
        (row, column): _cell(layout, row, column, results, facts) for row in layout.rows for column in layout.columns
    }
    return Table(
        layout.table,
        known.title,
        known.place,
        layout.row_header,
        {row: _row_label(layout, row, facts) for row in layout.rows},
        {column: _column_label(column) for column in layout.columns},
        layout.form,
        cells,
    )


def _cell(layout: Layout, row: str, column: str, results: Results, facts: Mapping[str, ProblemFacts]) -> TableCell:
    quantities = _QUANTITIES[layout.form]
    theirs = {name: number for name in quantities if (number := published(layout.table, row, column, name))}
    if layout.form == "size":
        sizes = _sizes(facts[row], column) if row in facts else {}
        return TableCell(row, column, sizes, theirs, has_source=True)
    source = layout.source(row, column)
    summary = results.cell(source) if source else CellSummary({}, {}, 0, 0)
    ours = {name: summary.quantities[name] for name in quantities if name in summary.quantities}
    if source and source.method == "all_features":
        ours.pop("dimensionality", None)
    return TableCell(row, column, ours, theirs, summary.values, summary.n_planned, summary.n_failed, source is not None)


def _sizes(facts: ProblemFacts, column: str) -> dict[str, Summary]:
    names = ("train", "validation", "test") if column == "sizes" else (column,)
    values = {name: getattr(facts, f"n_{name}") for name in names}
    return {name: replace(summarise([value]), low=value, high=value) for name, value in values.items()}


def _row_label(layout: Layout, row: str, facts: Mapping[str, ProblemFacts]) -> str:
    with_size = layout.table in ("T1", "T2") and row in facts
    return f"{row} ({facts[row].n_features})" if with_size else row


def _column_label(column: str) -> str:
    labels = {
        "NE-pPCA": "τ = 15",
        "features": "# of features",
        "classes": "# of classes",
        "sizes": "Training / Validation / Test sets sizes",
    }
    return column.replace("tau=", "τ = ") if column.startswith("tau=") else labels.get(column, column)


def _stands_in(source: Source, shown: set[Source | None]) -> bool:
    if source.method == "all_features" and ("classifier.hidden", ()) in source.settings:
        return source.problem in PROBLEMS
    return source.method == "dgha_speedup" or source in shown


def _other_runs(sources: Sequence[Source], results: Results, facts: Mapping[str, ProblemFacts]) -> Table:
    taus = sorted({source.tau for source in sources if source.tau is not None})
    columns = {f"tau={tau:g}": f"τ = {tau:g}" for tau in taus}
    if any(source.tau is None for source in sources):
        columns = {"no tau": "no τ", **columns}
    cells = {}
    for source in sources:
        column = "no tau" if source.tau is None else f"tau={source.tau:g}"
        summary = results.cell(source)
        both = _QUANTITIES["error (dimensionality)"]
        ours = {name: summary.quantities[name] for name in both if name in summary.quantities}
        row = _source_label(source, facts)
        cells[row, column] = TableCell(row, column, ours, {}, summary.values, summary.n_planned, summary.n_failed)
    rows = {row: row for row, _ in cells}
    title = "Runs beyond the published tables"
    return Table("X", title, "", "Problem, method", rows, columns, "error (dimensionality)", cells)


def _source_label(source: Source, facts: Mapping[str, ProblemFacts]) -> str:
    size = f" ({facts[source.problem].n_features})" if source.problem in facts else ""
    fraction = f", {source.data_fraction:g}%" if source.data_fraction is not None else ""
    autocorrelation = " (autocor)" if ("parameter.centre", False) in source.settings else ""
    method = METHODS[source.method].title + _network(dict(source.settings))
    return f"{source.problem}{size}, {method}{autocorrelation}{fraction}"


def _network(settings: Mapping[str, object]) -> str:
    hidden = settings.get("classifier.hidden")
    if not isinstance(hidden, tuple):
        return ""
    shortcuts = " with shortcuts" if hidden and settings.get("classifier.shortcuts") else ""
    return f", hidden {' + '.join(map(str, hidden)) or 'none'}{shortcuts}"


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
        rows = [[text.replace("%", r"\%").replace("−", "$-$").replace(EMPTY, "--") for text in row] for row in rows]
        return str(tabulate(rows, headers, tablefmt="latex_raw", disable_numparse=True))
    align = ("left", *("right" for _ in table.column_labels))
    return str(
        tabulate(rows, headers, tablefmt=_TABULATE[form], disable_numparse=True, colalign=align if rows else None)
    )


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
    late = [cell for cell in cells if cell.incomplete]
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
    texts = [cell.published[name].text for name in _QUANTITIES[form] if name in cell.published]
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
    if form == "size":
        return " / ".join(f"{values[name]:{sign}.0f}" for name in SIZES if name in values).replace("-", "−")
    main = values.get("error_percent", values.get("speedup", math.nan))
    text = f"{main:{sign}.2f}"
    if "dimensionality" in values:
        text += f" ({values['dimensionality']:{sign}.1f})"
    return text.replace("-", "−")
