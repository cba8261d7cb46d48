"""Tables of means: our numbers and the published numbers of each cell."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from pppca_bench.methods.lookup import stored_method
from pppca_bench.quantities import SIZES
from pppca_bench.references.layout import Layout, Line
from pppca_bench.references.numbers import Number
from pppca_bench.references.reference import Reference
from pppca_bench.references.selection import Formula
from pppca_bench.reporting.statistics import Summary
from pppca_bench.reporting.summary import NO_RUNS, CellRuns, CellSource, Results
from pppca_bench.runs import Cell, Facts, Names, ProblemFacts, Selector


class TableCell(NamedTuple):
    """Cell of a table, with our numbers and the published numbers by quantity."""

    row: str
    column: str
    shows: Names  # quantities that it prints, the main quantity first
    form: str  # format string of their texts, such as "{} ({})"
    ours: Mapping[str, Summary] = MappingProxyType({})
    published: Mapping[str, Number] = MappingProxyType({})
    runs: CellRuns = NO_RUNS  # that fill it
    selector: Selector | Formula | None = (
        None  # selects the runs that fill it; None if no run can, or in a list
    )
    fillable: bool = (
        False  # whether runs or a problem's data can fill it; false for numbers that a source cites
    )
    listed_in: Names = ()  # tables with its runs, if several settings would fill it, so that it is empty
    source: CellSource | None = None

    @property
    def n(self) -> int:
        """Return the number of repeats behind the cell."""
        return max((summary.n for summary in self.ours.values()), default=0)

    @property
    def has_runs(self) -> bool:
        """Return whether the cell has planned runs, or the sizes of a data set."""
        return bool(self.ours or self.runs.n_planned or self.listed_in)

    @property
    def incomplete(self) -> bool:
        """Return whether planned repeats are missing; repeats without the cell's quantities count as done."""
        return max(self.n, self.runs.n_done) < self.runs.n_planned

    def filled(
        self, runs: CellRuns, quantities: Collection[str], source: CellSource | None
    ) -> TableCell:
        """Return the cell with the given quantities of its runs."""
        ours = {name: quantity for name, quantity in runs.quantities.items() if name in quantities}
        return self._replace(ours=ours, runs=runs, source=source)


class MeansTable(NamedTuple):
    """Table of means beside published numbers; labels of rows and columns are by their keys, in the order of print."""

    id: str
    title: str
    place: str  # where it was published; "" for a table of our own
    row_header: str
    row_labels: Mapping[str, str]
    column_labels: Mapping[str, str]
    cells: Mapping[tuple[str, str], TableCell]
    reference: Reference | None = None
    also: Names = ()  # quantities with further grids below
    notes: Names = ()  # quantities whose medians over the cells are printed below
    spread: bool = False  # whether each column is a pair, mean and standard deviation
    is_list: bool = False  # whether a row is a cell of the results, and a column a quantity of it
    remark: str = ""  # printed below
    remark_on: Names = ()  # keys of the rows or columns of the remark; empty for the whole table
    lead: str = ""  # printed above
    shares: str = (
        ""  # paragraph on the shares of the verdicts (`verdict_shares.with_shares`), printed below
    )

    @property
    def has_runs(self) -> bool:
        """Return whether any cell has planned runs, or the sizes of a data set, or all numbers are only cited."""
        return self.is_cited or any(cell.has_runs for cell in self.cells.values())

    @property
    def is_cited(self) -> bool:
        """Return whether the table has only numbers that its source cites: no run can fill a cell."""
        cells = self.cells.values()
        return any(cell.published for cell in cells) and not any(cell.fillable for cell in cells)

    @property
    def shows_runs(self) -> bool:
        """Return whether the table shows runs, not only sizes of data sets."""
        return any(cell.runs.n_planned or cell.listed_in for cell in self.cells.values())

    @property
    def incomplete_cells(self) -> list[TableCell]:
        """Return the incomplete cells; of several cells with the same runs, the cell with the most repeats."""
        first = next(iter(self.column_labels), "")
        incomplete: dict[object, TableCell] = {}
        for cell in self.cells.values():
            if cell.incomplete and (not self.is_list or cell.column == first):
                runs = cell.selector or (cell.row, cell.column)
                incomplete[runs] = max(incomplete.get(runs, cell), cell, key=lambda cell: cell.n)
        return list(incomplete.values())

    def trimmed(self) -> MeansTable | None:
        """Return the table without the rows and columns without runs; None if nothing is left.

        Columns of numbers that the source cites are kept.
        """
        if self.is_cited:
            return self
        rows = {row for (row, _), cell in self.cells.items() if cell.has_runs}
        columns = {
            column
            for (row, column), cell in self.cells.items()
            if cell.has_runs or (row in rows and cell.published and not cell.fillable)
        }
        if not rows:
            return None
        has_remark = not self.remark_on or not (rows | columns).isdisjoint(self.remark_on)
        return self._replace(
            row_labels={key: label for key, label in self.row_labels.items() if key in rows},
            column_labels={
                key: label for key, label in self.column_labels.items() if key in columns
            },
            cells={
                key: cell
                for key, cell in self.cells.items()
                if key[0] in rows and key[1] in columns
            },
            remark=self.remark if has_remark else "",
        )


def fill_tables(
    results: Results, facts: Facts, references: Sequence[Reference], *, configs: Names | None = None
) -> list[MeansTable]:
    """Fill the tables of references; see `fill_table`."""
    return [
        fill_table(layout, reference, results, facts, configs=configs)
        for reference in references
        for layout in reference.layouts
    ]


def fill_table(
    layout: Layout,
    reference: Reference,
    results: Results,
    facts: Facts,
    *,
    configs: Names | None = None,
    shown_in: Callable[[], Mapping[Cell, Sequence[str]]] = dict,
) -> MeansTable:
    """Fill a published table.

    A cell is filled by the runs of a single setting that any of ``configs`` plans (by default the configs that the
    reference names; empty for all configs). If runs of several settings would fill it, it stays empty and refers to our
    own tables with these runs; ``shown_in`` returns the tables that show each cell of the results.
    """
    configs = filling_configs(layout, reference) if configs is None else configs
    cells = {}
    for row, column in itertools.product(layout.rows, layout.columns):
        shows, form = layout.quantities(row, column), layout.form_of(row, column)
        published = reference.published(layout.id, row.key, column.key)
        selector = layout.selector(row, column)
        cell = TableCell(row.key, column.key, shows, form, published=published, selector=selector)
        if selector:
            quantities = {*shows, *layout.also, *layout.notes}
            cell = _with_runs(cell, selector, quantities, results, configs, shown_in)
        elif problem := layout.problem(row, column):
            cell = _with_sizes(cell, facts.get(problem))
        cells[row.key, column.key] = cell
    return MeansTable(
        layout.id,
        layout.title,
        layout.place,
        layout.row_header,
        {row.key: _label(row, reference, facts) for row in layout.rows},
        {column.key: _label(column, reference, facts) for column in layout.columns},
        cells,
        reference,
        layout.also,
        layout.notes,
        layout.spread,
        remark=layout.remark,
        remark_on=layout.remark_on,
    )


def filling_configs(layout: Layout, reference: Reference) -> Names:
    """Return the configs whose runs fill a table; empty for all of them."""
    return layout.configs if reference.configs and layout.configs else reference.configs


def _with_sizes(cell: TableCell, known: ProblemFacts | None) -> TableCell:
    """Return a cell with the sizes of a problem that it shows; the interval of a size is the size itself."""
    shown = [name for name in cell.shows if name in SIZES]
    sizes = {name: float(getattr(known, name)) for name in shown} if known else {}
    ours = {name: Summary(size, math.nan, 1, size, size) for name, size in sizes.items()}
    return cell._replace(ours=ours, fillable=bool(shown))


def _with_runs(
    cell: TableCell,
    selector: Selector | Formula,
    quantities: set[str],
    results: Results,
    configs: Names,
    shown_in: Callable[[], Mapping[Cell, Sequence[str]]],
) -> TableCell:
    """Return a cell filled by the runs of its selector."""
    matching = [results.matching(part, configs) for part in selector.parts]
    cell = cell._replace(fillable=True)
    if several := [match for matches in matching if len(matches) > 1 for match in matches]:
        listed_in = dict.fromkeys(table for match in several for table in shown_in().get(match, ()))
        return cell._replace(listed_in=tuple(listed_in))
    methods = [stored_method(part.method) for part in selector.parts]
    if all(method is not None and not method.reduces for method in methods):
        quantities.discard("dimensionality")  # always the number of features
    is_single = isinstance(selector, Selector) and matching[0]
    source = results.source(matching[0][0], configs) if is_single else None
    return cell.filled(results.repeats(selector, configs), quantities, source)


def _label(line: Line, reference: Reference, facts: Facts) -> str:
    problem = line.runs.get("problem", "")
    known = facts[problem].n_features if problem in facts else reference.printed_size(problem)
    return line.label.replace(" ({n_features})", f" ({known})" if known else "")
