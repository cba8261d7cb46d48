"""A sheet as text, Markdown, LaTeX, CSV or JSON, laid out as tables are."""

from __future__ import annotations

import json

from pppca_bench.reporting.number_text import printed
from pppca_bench.reporting.sheet import Sheet
from pppca_bench.reporting.table_text import EMPTY, Format, Grid, csv_text, grid, heading, latex_grid


def render_sheet(sheet: Sheet, form: Format) -> str:
    """Render a sheet as text; CSV and JSON hold its records.

    Parameters
    ----------
    sheet : Sheet
        What is rendered.
    form : {"terminal", "markdown", "latex", "csv", "json"}
        As of tables.
    """
    if form == "json":
        return json.dumps(sheet_records(sheet), indent=1, ensure_ascii=False)
    if form == "csv":
        found = sheet_records(sheet)
        return csv_text(found, list(found[0]) if found else ["table"])
    parts = [heading(sheet.id, sheet.title, form)]
    if form == "latex":
        printed = Grid("", "", list(sheet.headers), [list(row) for row in sheet.rows])
        parts.append(latex_grid(printed, sheet.id, sheet.title, sheet_notes(sheet)))
    else:
        parts += [grid(sheet.headers, sheet.rows, form), "\n".join(sheet_notes(sheet))]
    return "\n\n".join(filter(None, parts)) + "\n"


def sheet_notes(sheet: Sheet) -> list[str]:
    """Return the sentences that stand below a sheet."""
    place = f"After the {sheet.place}." if sheet.place else ""
    late = f"* {sheet.n_missing} of the runs asked for are not in: `pppca run` adds them." if sheet.n_missing else ""
    return list(filter(None, [place, *sheet.notes, late]))


def sheet_records(sheet: Sheet) -> list[dict[str, object]]:
    """Return a sheet's records, each with the sheet's identifier as its table."""
    return [{"table": sheet.id, **record} for record in sheet.records]


def number(value: float | None, decimals: int) -> str:
    """Return a number as sheets print it; a dash for one that is not there."""
    return EMPTY if value is None else printed(value, f".{decimals}f")
