"""Tables of means: cells with our numbers and the published ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pppca_bench.references.numbers import Number
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.cell_source import CellSource
from pppca_bench.reporting.summary import Summary
from pppca_bench.runs import Selector


@dataclass(frozen=True, slots=True)
class TableCell:
    """Cell of a table.

    Attributes
    ----------
    row, column : str
        Keys of its place.
    shows : tuple of str
        Quantities that it prints, the main quantity first.
    form : str
        Format string of their texts, such as ``"{} ({})"``.
    ours : dict of str to Summary
        By quantity; empty if nothing was run.
    published : dict of str to Number
        By quantity; empty where the source prints nothing.
    values : dict of str to dict of int to float
        By quantity, the value of each repeat by its number.
    n_planned, n_failed : int
        Repeats that were planned, and that failed.
    selector : Selector or None
        The runs that fill it; None if no run can, or if the table lists what was run.
    fillable : bool
        Whether runs or a problem's data can fill it; numbers that a source only cites cannot be filled.
    settings : str
        Digest of settings and data; see `CellSummary`.
    listed_in : tuple of str
        If runs of several settings would fill it, the tables that list them; it is empty then.
    differing : tuple of str
        Software or hardware in which its repeats differ; see `CellSummary`.
    source : CellSource or None
        Provenance of its runs, if it has any.
    """

    row: str
    column: str
    shows: tuple[str, ...]
    form: str
    ours: Mapping[str, Summary]
    published: Mapping[str, Number] = field(default_factory=dict)
    values: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    n_planned: int = 0
    n_failed: int = 0
    selector: Selector | None = None
    fillable: bool = False
    settings: str = ""
    listed_in: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()
    source: CellSource | None = None

    @property
    def n(self) -> int:
        """Return the number of repeats behind the cell."""
        return max((summary.n for summary in self.ours.values()), default=0)

    @property
    def was_run(self) -> bool:
        """Return whether its runs were planned, or its data read."""
        return bool(self.ours or self.n_planned or self.listed_in)

    @property
    def incomplete(self) -> bool:
        """Return whether planned repeats are not done; those without the cell's quantities count as done."""
        return max(self.n, *map(len, self.values.values()), 0) < self.n_planned


@dataclass(frozen=True, slots=True)
class Table:
    """Table whose cells are numbers.

    Attributes
    ----------
    id, title, place : str
        ``place`` is where it was published, "" for a table of our own.
    row_header : str
        Header of the first column.
    row_labels, column_labels : dict of str to str
        Keys of rows and columns to their printed labels, in order.
    cells : dict of (row, column) to TableCell
    reference : Reference or None
        The source; None for a table of our own.
    also : tuple of str
        Quantities with grids of their own below.
    notes : tuple of str
        Quantities whose medians over the cells are printed below.
    spread : bool
        Whether each column is a pair, mean and standard deviation.
    is_list : bool
        Whether a row is a cell of the results, and a column one of its quantities.
    remark : str
        A sentence printed below.
    remark_on : tuple of str
        Keys of the rows or columns that it is about; empty for the whole table.
    """

    id: str
    title: str
    place: str
    row_header: str
    row_labels: Mapping[str, str]
    column_labels: Mapping[str, str]
    cells: Mapping[tuple[str, str], TableCell]
    reference: Reference | None = None
    also: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    spread: bool = False
    is_list: bool = False
    remark: str = ""
    remark_on: tuple[str, ...] = ()

    @property
    def was_run(self) -> bool:
        """Return whether any of its runs was planned."""
        return any(cell.was_run for cell in self.cells.values())

    @property
    def shows_runs(self) -> bool:
        """Return whether it shows runs, not only the sizes of data sets."""
        return any(cell.n_planned or cell.listed_in for cell in self.cells.values())

    @property
    def late(self) -> list[TableCell]:
        """Return the incomplete cells; of cells with the same runs, only the one with the most repeats."""
        first = next(iter(self.column_labels), "")
        late: dict[object, TableCell] = {}
        for cell in self.cells.values():
            if cell.incomplete and (not self.is_list or cell.column == first):
                runs = cell.selector or (cell.row, cell.column)
                late[runs] = max(late.get(runs, cell), cell, key=lambda cell: cell.n)
        return list(late.values())

    def trimmed(self) -> Table | None:
        """Return the table without the rows and columns of which nothing was run; None if nothing is left."""
        run = [place for place, cell in self.cells.items() if cell.was_run]
        if not run:
            return None
        rows, columns = {row for row, _ in run}, {column for _, column in run}
        has_remark = not self.remark_on or not (rows | columns).isdisjoint(self.remark_on)
        return replace(
            self,
            row_labels={key: label for key, label in self.row_labels.items() if key in rows},
            column_labels={key: label for key, label in self.column_labels.items() if key in columns},
            cells={place: cell for place, cell in self.cells.items() if place[0] in rows and place[1] in columns},
            remark=self.remark if has_remark else "",
        )
