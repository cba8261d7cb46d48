"""Published tables, filled from results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from pppca_bench.methods.lookup import stored_method
from pppca_bench.references.layout import Layout, Line
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.cell_source import source_of
from pppca_bench.reporting.summary import Results, Summary, summarise
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.runs import SIZES, Cell, ProblemFacts


def fill_tables(
    results: Results,
    facts: Mapping[str, ProblemFacts],
    references: Sequence[Reference],
    *,
    of_any_config: bool = False,
) -> list[Table]:
    """Fill the tables of references; see `fill_table`."""
    return [
        fill_table(layout, reference, results, facts, of_any_config=of_any_config)
        for reference in references
        for layout in reference.layouts
    ]


def fill_table(
    layout: Layout,
    reference: Reference,
    results: Results,
    facts: Mapping[str, ProblemFacts],
    *,
    of_any_config: bool = False,
    homes: Callable[[], Mapping[Cell, Sequence[str]]] = dict,
) -> Table:
    """Fill a published table.

    A cell is filled by the runs of one setting, which a config of the reference plans. If runs of several settings
    would fill it, it stays empty and names the tables of our own that list them.

    Parameters
    ----------
    layout, reference : Layout, Reference
        The table, and the reference that it is from.
    results : Results
        The stored runs by cell.
    facts : mapping of str to ProblemFacts
        Sizes of the problems, by name.
    of_any_config : bool, default False
        Count the runs of every config, not only of those that the reference names.
    homes : callable
        Returns the tables that show each cell of the results; called if a cell has several settings.
    """
    configs = () if of_any_config else filling_configs(layout, reference)
    cells = {}
    for row in layout.rows:
        for column in layout.columns:
            shows, form = layout.quantities(row, column), layout.form_of(row, column)
            published = reference.published(layout.id, row.key, column.key)
            selector = layout.selector(row, column)
            cell = TableCell(row.key, column.key, shows, form, {}, published, selector=selector)
            if selector is None:
                problem = layout.asked(row, column).get("problem")
                fillable = problem is not None and not set(SIZES).isdisjoint(shows)
                cell = replace(cell, ours=_sizes(facts.get(problem or ""), shows), fillable=fillable)
            else:
                cell = _with_runs(cell, (*layout.also, *layout.notes), results, configs, homes)
            cells[row.key, column.key] = cell
    return Table(
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


def filling_configs(layout: Layout, reference: Reference) -> Collection[str]:
    """Return the configs whose runs fill a table; empty for all of them."""
    return layout.configs if reference.configs and layout.configs else reference.configs


def _with_runs(
    cell: TableCell,
    further: Sequence[str],
    results: Results,
    configs: Collection[str],
    homes: Callable[[], Mapping[Cell, Sequence[str]]],
) -> TableCell:
    """Return a cell filled by the runs that its selector means, with the further quantities of its table."""
    assert cell.selector is not None
    found = results.matching(cell.selector, configs)
    if len(found) > 1:
        listed_in = dict.fromkeys(home for one in found for home in homes().get(one, ()))
        return replace(cell, fillable=True, listed_in=tuple(listed_in))
    summary, method = results.summary(cell.selector, configs), stored_method(cell.selector.method)
    quantities = {*cell.shows, *further}
    if method is not None and not method.reduces:
        quantities.discard("dimensionality")  # a method that keeps all features says nothing by their number
    return replace(
        cell,
        ours={name: quantity for name, quantity in summary.quantities.items() if name in quantities},
        values=summary.values,
        n_planned=summary.n_planned,
        n_failed=summary.n_failed,
        fillable=True,
        settings=summary.settings,
        differing=summary.differing,
        source=source_of(found[0], results, configs) if found else None,
    )


def _label(line: Line, reference: Reference, facts: Mapping[str, ProblemFacts]) -> str:
    problem = line.runs.get("problem", "")
    known = facts[problem].n_features if problem in facts else reference.printed_size(problem)
    return line.label.replace(" ({n_features})", f" ({known})" if known else "")


def _sizes(facts: ProblemFacts | None, names: Sequence[str]) -> dict[str, Summary]:
    values = {name: float(getattr(facts, name)) for name in names if name in SIZES} if facts else {}
    return {name: replace(summarise([value]), low=value, high=value) for name, value in values.items()}
