"""Tables and sheets without the rows and columns of which nothing was run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pppca_bench.reporting.sheet import Sheet
from pppca_bench.reporting.table import Table

_NOT_OURS = ("row", "quantity", "n")
"""Keys of a sheet's records that name the row, or count its runs, as those that begin with ``n_`` do."""


def trimmed(documents: Sequence[Table | Sheet]) -> list[Table | Sheet]:
    """Return tables and sheets with the rows and columns that were run; one that has none is left out."""
    found = [_trimmed_sheet(one) if isinstance(one, Sheet) else _trimmed_table(one) for one in documents]
    return [one for one in found if (one.rows if isinstance(one, Sheet) else one.cells)]


def _trimmed_table(table: Table) -> Table:
    run = [place for place, cell in table.cells.items() if cell.was_run]
    rows, columns = {row for row, _ in run}, {column for _, column in run}
    is_told = not table.remark_on or not (rows | columns).isdisjoint(table.remark_on)
    return replace(
        table,
        row_labels={key: label for key, label in table.row_labels.items() if key in rows},
        column_labels={key: label for key, label in table.column_labels.items() if key in columns},
        cells={(row, column): cell for (row, column), cell in table.cells.items() if row in rows and column in columns},
        remark=table.remark if is_told else "",
    )


def _trimmed_sheet(sheet: Sheet) -> Sheet:
    kept = [number for number, record in enumerate(sheet.records) if _was_run(record)]
    return replace(
        sheet,
        rows=tuple(sheet.rows[number] for number in kept),
        records=tuple(sheet.records[number] for number in kept),
        agrees=tuple(sheet.agrees[number] for number in kept) if sheet.agrees else (),
    )


def _was_run(record: Mapping[str, object]) -> bool:
    """Tell whether a row holds a number of ours: counts of runs and what was published are none."""
    own = [value for key, value in record.items() if key not in _NOT_OURS and not key.startswith(("n_", "published_"))]
    return any(value is not None for value in own)
