"""A filled table: rows and columns of cells, each with our numbers and the published ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pppca_bench.references.numbers import Number
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.summary import Summary
from pppca_bench.runs import Selector


@dataclass(frozen=True, slots=True)
class TableCell:
    """Hold one cell: ours, the published numbers, and how many repeats were asked for.

    Attributes
    ----------
    row, column : str
        Keys of the cell's place.
    shows : tuple of str
        Quantities that it prints, the one that counts first.
    form : str
        How it prints them.
    ours : dict of str to Summary
        By quantity; empty when nothing was run.
    published : dict of str to Number
        By quantity; empty where the source prints nothing.
    values : dict of str to dict of int to float
        By quantity, each repeat's value by its number.
    n_planned, n_failed : int
        Repeats asked for, and failed.
    selector : Selector or None
        Which runs fill it; None where none can, or where the table lists what was run.
    fillable : bool
        Whether runs can fill it, or a problem's data; what a source only cites cannot be.
    settings : str
        Digest of the settings and the data behind ours; see `CellSummary`.
    elsewhere : tuple of str
        Where runs of several settings would fill it, the tables that list them; it shows none of them then.
    differing : tuple of str
        In what the computation of its repeats differs; see `CellSummary`.
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
    elsewhere: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Return the number of repeats behind the cell."""
        return max((summary.n for summary in self.ours.values()), default=0)

    @property
    def was_run(self) -> bool:
        """Tell whether its runs were asked for, or its data read."""
        return bool(self.ours or self.n_planned or self.elsewhere)

    @property
    def incomplete(self) -> bool:
        """Tell whether repeats that were asked for are not in; those without the cell's quantities are in too."""
        return max(self.n, *map(len, self.values.values()), 0) < self.n_planned


@dataclass(frozen=True, slots=True)
class Table:
    """Hold a filled table.

    Attributes
    ----------
    id, title : str
        Identifier and title; ``place`` tells where it was published ("" for one of ours).
    row_header : str
        Header of the first column.
    row_labels, column_labels : dict of str to str
        Keys of rows and columns to what is printed, in order.
    cells : dict of (row, column) to TableCell
        By keys.
    reference : Reference or None
        The source; None for a table of ours.
    also : tuple of str
        Quantities that stand in grids of their own below.
    notes : tuple of str
        Quantities of which the median over the cells stands below.
    spread : bool
        Whether each column is a pair, mean and standard deviation.
    is_list : bool
        Whether a row is a cell of the results, and a column one of its quantities.
    remark : str
        A sentence that stands below.
    remark_on : tuple of str
        Keys of the rows or columns that it speaks of; empty for the whole table.
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
        """Tell whether any of its runs was asked for."""
        return any(cell.was_run for cell in self.cells.values())

    @property
    def shows_runs(self) -> bool:
        """Tell whether it shows runs, not only the sizes of data sets."""
        return any(cell.n_planned or cell.elsewhere for cell in self.cells.values())

    @property
    def late(self) -> list[TableCell]:
        """Return the cells that wait for repeats, one for each cell of runs."""
        first = next(iter(self.column_labels), "")
        found: dict[object, TableCell] = {}
        for cell in self.cells.values():
            if cell.incomplete and (not self.is_list or cell.column == first):
                runs = cell.selector or (cell.row, cell.column)
                found[runs] = max(found.get(runs, cell), cell, key=lambda one: one.n)
        return list(found.values())
