"""The published tables, filled from results, and ours beside them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pppca_bench.methods.lookup import stored_method
from pppca_bench.references.layout import Layout, Line
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.own_tables import listed_cells, own_tables
from pppca_bench.reporting.sheet import Sheet
from pppca_bench.reporting.summary import Results, Summary, summarise
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.runs import SIZES, Cell, ProblemFacts


def build_tables(
    results: Results,
    facts: Mapping[str, ProblemFacts],
    references: Sequence[Reference],
    *,
    of_any_config: bool = False,
    sheets: Sequence[Sheet] = (),
) -> list[Table]:
    """Fill the references' tables, and those of our own (`own_tables`).

    A cell is filled by the runs of one setting, which one of the reference's configs asks for. Where several settings
    would fill it, it stays empty, and names the tables of ours that list them.

    Parameters
    ----------
    results : Results
        What was run.
    facts : mapping of str to ProblemFacts
        Sizes of the problems, by name.
    references : sequence of Reference
        Whose tables are filled.
    of_any_config : bool, default False
        Fill them from the runs of every config, not only from those that a reference names.
    sheets : sequence of Sheet, optional
        What else is shown: the tables that list runs leave out what stands in one.

    Returns
    -------
    list of Table
        In the order of the references, then ours; one of ours that nothing fills is left out.
    """
    sources = [_Source(one, () if of_any_config else one.configs, results, facts) for one in references]
    shown = {cell: table for source in sources for table, cell in source.shown()}
    in_sheets = {cell: sheet.id for sheet in sheets for cell in sheet.shown if cell not in shown}
    shown |= in_sheets
    lists = listed_cells(results, shown)
    homes: dict[Cell, list[str]] = {cell: [table] for cell, table in shown.items()}
    for table, cells in lists.items():
        for cell in cells:
            homes.setdefault(cell, []).append(table)
    tables = [table for source in sources for table in source.fill_all(homes)]
    problems = dict.fromkeys(name for source in sources for name in source.problems())
    return tables + own_tables(lists, results, facts, list(problems), left_out=in_sheets)


def fill_tables(results: Results, facts: Mapping[str, ProblemFacts], references: Sequence[Reference]) -> list[Table]:
    """Fill the references' tables alone; see `build_tables`."""
    sources = [_Source(one, one.configs, results, facts) for one in references]
    return [table for source in sources for table in source.fill_all({})]


@dataclass(frozen=True, slots=True)
class _Source:
    """Hold a reference and what may fill its tables: runs of those configs (of all, where none is named)."""

    reference: Reference
    configs: Collection[str]
    results: Results
    facts: Mapping[str, ProblemFacts]

    def cells(self) -> Iterator[tuple[Layout, Line, Line]]:
        """Yield every cell of every table by its row and column."""
        for layout in self.reference.layouts:
            for row in layout.rows:
                yield from ((layout, row, column) for column in layout.columns)

    def shown(self) -> Iterator[tuple[str, Cell]]:
        """Yield the cells of runs that stand in a table, with the table."""
        for layout, row, column in self.cells():
            selector = layout.selector(row, column)
            found = self.results.matching(selector, self._configs(layout)) if selector else []
            if len(found) == 1:
                yield layout.id, found[0]

    def problems(self) -> Iterator[str]:
        """Yield the problem of each cell."""
        for layout, row, column in self.cells():
            if "problem" in (asked := layout.asked(row, column)):
                yield asked["problem"]

    def fill_all(self, homes: Mapping[Cell, Sequence[str]]) -> list[Table]:
        """Fill every table."""
        return [self.fill(layout, homes) for layout in self.reference.layouts]

    def fill(self, layout: Layout, homes: Mapping[Cell, Sequence[str]]) -> Table:
        """Fill a table.

        Parameters
        ----------
        layout : Layout
            One of the reference's.
        homes : mapping of Cell to sequence of str
            Tables in which each cell of the results stands.
        """
        cells = [self._cell(layout, row, column, homes) for row in layout.rows for column in layout.columns]
        return Table(
            layout.id,
            layout.title,
            layout.place,
            layout.row_header,
            {row.key: self._label(row) for row in layout.rows},
            {column.key: self._label(column) for column in layout.columns},
            {(cell.row, cell.column): cell for cell in cells},
            self.reference,
            layout.also,
            layout.notes,
            layout.spread,
            remark=layout.remark,
            remark_on=layout.remark_on,
        )

    def _configs(self, layout: Layout) -> Collection[str]:
        return layout.configs if self.configs and layout.configs else self.configs

    def _cell(self, layout: Layout, row: Line, column: Line, homes: Mapping[Cell, Sequence[str]]) -> TableCell:
        shows, form = layout.quantities(row, column), layout.form_of(row, column)
        published = self.reference.published(layout.id, row.key, column.key)
        empty = TableCell(row.key, column.key, shows, form, {}, published)
        selector, problem = layout.selector(row, column), layout.asked(row, column).get("problem")
        if selector is None:
            sizes = _sizes(self.facts[problem], shows) if problem is not None and problem in self.facts else {}
            return replace(empty, ours=sizes, fillable=problem is not None and not set(SIZES).isdisjoint(shows))
        empty = replace(empty, selector=selector, fillable=True)
        configs = self._configs(layout)
        found = self.results.matching(selector, configs)
        if len(found) > 1:
            return replace(
                empty, elsewhere=tuple(dict.fromkeys(home for cell in found for home in homes.get(cell, ())))
            )
        summary = self.results.summary(selector, configs)
        telling = _telling((*shows, *layout.also, *layout.notes), selector.method)
        return replace(
            empty,
            ours={name: one for name, one in summary.quantities.items() if name in telling},
            values=summary.values,
            n_planned=summary.n_planned,
            n_failed=summary.n_failed,
            settings=summary.settings,
            differing=summary.differing,
        )

    def _label(self, line: Line) -> str:
        problem = line.runs.get("problem", "")
        known = self.facts[problem].n_features if problem in self.facts else self.reference.printed_size(problem)
        return line.label.replace(" ({n_features})", f" ({known})" if known else "")


def _telling(quantities: Sequence[str], method: str) -> set[str]:
    """Return the quantities that say something of a method: not the number of features of one that leaves all."""
    entry = stored_method(method)
    return set(quantities) - (set() if entry is None or entry.reduces else {"dimensionality"})


def _sizes(facts: ProblemFacts, names: Sequence[str]) -> dict[str, Summary]:
    values = {name: float(getattr(facts, name)) for name in names if name in SIZES}
    return {name: replace(summarise([value]), low=value, high=value) for name, value in values.items()}
