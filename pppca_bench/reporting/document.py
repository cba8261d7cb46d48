"""Tables and sheets alike: as text, as records, and all of them as one CSV."""

from __future__ import annotations

from collections.abc import Sequence

from pppca_bench.reporting.sheet import Sheet
from pppca_bench.reporting.sheet_text import render_sheet, sheet_records
from pppca_bench.reporting.table import Table
from pppca_bench.reporting.table_text import FIELDS, Format, csv_text, records, render


def rendered(document: Table | Sheet, form: Format, *, sd: bool = False) -> str:
    """Render a table, with standard deviations beside its means where they are asked for, or a sheet as text."""
    return render_sheet(document, form) if isinstance(document, Sheet) else render(document, form, sd=sd)


def records_of(document: Table | Sheet) -> list[dict[str, object]]:
    """Return the plain records of a table, one for each number, or of a sheet, one for each row."""
    return sheet_records(document) if isinstance(document, Sheet) else records(document)


def together_as_csv(documents: Sequence[Table | Sheet]) -> str:
    """Return all records as one CSV: the columns of tables, then those that only sheets have, empty where none is."""
    found = [record for document in documents for record in records_of(document)]
    return csv_text(found, list(dict.fromkeys([*FIELDS, *(name for record in found for name in record)])))
