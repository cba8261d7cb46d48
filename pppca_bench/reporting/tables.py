"""The published tables and our own, filled from results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pppca_bench.methods.registry import METHODS
from pppca_bench.references.layout import Layout, Line
from pppca_bench.references.numbers import Number
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.labels import distinct_labels, value_text
from pppca_bench.reporting.summary import EMPTY, Results, Summary, summarise, summarise_runs
from pppca_bench.runs import QUANTITIES, Cell, ProblemFacts, Selector

LISTED = ("test_error_percent", "dimensionality", "retained_variance_percent", "reconstruction_error", "fit_time_ms")
"""Columns of the tables that list cells."""

BOTH = ("test_error_percent", "dimensionality")

REFERENCE_TAU = 15.0
"""The threshold at which the slides compare methods (T2, T3)."""


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
    settings : str
        Digest of the settings and the data behind ours; see `CellSummary`.
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
    settings: str = ""

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
    id, title : str
        Identifier and title; ``place`` tells where it was published ("" for one of ours).
    row_header : str
    row_labels, column_labels : dict of str to str
        Keys of rows and columns to what is printed, in order.
    cells : dict of (row, column) to TableCell
    reference : Reference or None
        The source; None for a table of ours.
    also : tuple of str
        Quantities that stand in grids of their own below.
    notes : tuple of str
        Quantities of which the median over the cells stands below.
    series : str
        Name of its points in the figure that holds published numbers against ours.
    is_list : bool
        Whether a row is a cell of the results, and a column one of its quantities.
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
    series: str = ""
    is_list: bool = False

    @property
    def was_run(self) -> bool:
        """Tell whether any of its runs was asked for."""
        return any(cell.ours or cell.n_planned for cell in self.cells.values())

    @property
    def late(self) -> list[TableCell]:
        """Return the cells that wait for repeats, one for each cell of runs."""
        return [
            cell for cell in self.cells.values() if cell.incomplete and (not self.is_list or cell.column == LISTED[0])
        ]


def build_tables(
    results: Results,
    facts: Mapping[str, ProblemFacts],
    references: Sequence[Reference],
    *,
    of_any_config: bool = False,
) -> list[Table]:
    """Fill the references' tables, and those of our own.

    Ours are X, all other runs; R, what the features of every method retain of the inputs (at tau = 15 where there
    are several); and one for each config that asks for several settings of a method.

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

    Returns
    -------
    list of Table
        In the order of the references, then ours; one of ours that nothing fills is left out.
    """
    tables, shown = list[Table](), set[Cell]()
    for reference in references:
        configs = () if of_any_config else reference.configs
        for layout in reference.layouts:
            table = _fill(reference, layout, results, facts, configs)
            tables.append(table)
            selectors = [cell.selector for cell in table.cells.values() if cell.selector]
            shown.update(cell for selector in selectors for cell in results.matching(selector, configs))
    variants = {cell for cells in results.variants.values() for cell in cells}
    others = [cell for cell in results.cells if cell not in shown | variants and not _only_measures(cell)]
    ours = [_other_runs(others, results, facts), _retained(results, variants, facts)]
    ours += [
        _list(f"variants_{name}", f"Settings that {name} compares", cells, results, {})
        for name, cells in results.variants.items()
    ]
    return tables + [table for table in ours if table.was_run]


def _only_measures(cell: Cell) -> bool:
    entry = METHODS.get(cell.method)
    return entry is not None and entry.makes == "measures"


def _fill(
    reference: Reference,
    layout: Layout,
    results: Results,
    facts: Mapping[str, ProblemFacts],
    configs: Sequence[str],
) -> Table:
    cells = {
        (row.key, column.key): _cell(reference, layout, row, column, results, facts, configs)
        for row in layout.rows
        for column in layout.columns
    }
    return Table(
        layout.id,
        layout.title,
        layout.place,
        layout.row_header,
        {row.key: _label(row, facts) for row in layout.rows},
        {column.key: column.label for column in layout.columns},
        cells,
        reference,
        layout.also,
        layout.notes,
        layout.series,
    )


def _cell(
    reference: Reference,
    layout: Layout,
    row: Line,
    column: Line,
    results: Results,
    facts: Mapping[str, ProblemFacts],
    configs: Sequence[str],
) -> TableCell:
    shows, form = layout.quantities(row, column), column.form or row.form or layout.form
    published = reference.published(layout.id, row.key, column.key)
    selector = layout.selector(row, column)
    if selector is None:
        known = facts.get(layout.problem(row, column))
        return TableCell(row.key, column.key, shows, form, _sizes(known, shows) if known else {}, published)
    runs = results.select(selector, configs)
    summary = summarise_runs(runs) if runs else EMPTY
    entry = METHODS.get(selector.method)
    wanted = [
        name for name in (*shows, *layout.also, *layout.notes) if name != "dimensionality" or not entry or entry.reduces
    ]
    ours = {name: summary.quantities[name] for name in wanted if name in summary.quantities}
    counts = summary.n_planned, summary.n_failed
    return TableCell(
        row.key, column.key, shows, form, ours, published, summary.values, *counts, selector, summary.settings
    )


def _sizes(facts: ProblemFacts, names: Sequence[str]) -> dict[str, Summary]:
    values = {name: float(getattr(facts, name)) for name in names if hasattr(facts, name)}
    return {name: replace(summarise([value]), low=value, high=value) for name, value in values.items()}


def _label(line: Line, facts: Mapping[str, ProblemFacts]) -> str:
    known = facts.get(str(line.runs.get("problem", "")))
    size = f" ({known.n_features})" if known else ""
    return line.label.replace(" ({n_features})", size)


def _other_runs(cells: Sequence[Cell], results: Results, facts: Mapping[str, ProblemFacts]) -> Table:
    """Return the runs beyond the references' tables: a row a method and problem, a column a threshold."""
    found: dict[tuple[str, str], TableCell] = {}
    taus = {cell: dict(cell.parameters).get("tau") for cell in cells}
    columns = {f"tau={value_text(tau)}": f"τ = {value_text(tau)}" for tau in _ordered(taus.values())}
    if None in taus.values():
        columns = {"no tau": "no τ", **columns}
    for cell, label in zip(cells, distinct_labels(cells), strict=True):
        tau = taus[cell]
        column = "no tau" if tau is None else f"tau={value_text(tau)}"
        summary = summarise_runs(results.cells[cell])
        ours = {name: summary.quantities[name] for name in BOTH if name in summary.quantities}
        row = f"{_problem_label(cell, facts)}, {label}"
        counts = summary.n_planned, summary.n_failed
        found[row, column] = TableCell(row, column, BOTH, "{} ({})", ours, {}, summary.values, *counts)
    rows = {row: row for row, _ in found}
    title = "Runs beyond the published tables"
    return Table("X", title, "", "Problem, method", rows, columns, found)


def _ordered(taus: Iterable[object]) -> list[float]:
    return sorted({tau for tau in taus if isinstance(tau, int | float)})


def _retained(results: Results, variants: set[Cell], facts: Mapping[str, ProblemFacts]) -> Table:
    cells = [
        cell
        for cell in _at_one_tau(results, variants)
        if any(result and "retained_variance_percent" in result.values for _, result in results.cells[cell])
    ]
    order = list(dict.fromkeys(cell.problem for cell in results.cells))
    cells.sort(key=lambda cell: order.index(cell.problem))
    return _list("R", "Test error beside what the features retain of the inputs", cells, results, facts)


def _at_one_tau(results: Results, variants: set[Cell]) -> Iterator[Cell]:
    """Yield cells of the whole data and, where there are more thresholds, of the one at which the slides compare."""
    taus: dict[tuple[str, str], set[object]] = {}
    for cell in results.cells:
        taus.setdefault((cell.problem, cell.method), set()).add(dict(cell.parameters).get("tau"))
    for cell in results.cells:
        parameters = dict(cell.parameters)
        tau, whole = parameters.get("tau"), parameters.get("data_fraction") in (None, 100.0)
        is_compared = tau in (None, REFERENCE_TAU) or REFERENCE_TAU not in taus[cell.problem, cell.method]
        if cell not in variants and whole and is_compared:
            yield cell


def _list(table: str, title: str, cells: Sequence[Cell], results: Results, facts: Mapping[str, ProblemFacts]) -> Table:
    """Return a table with a row for each cell and a column for each quantity."""
    found, rows = {}, {}
    for cell, label in zip(cells, distinct_labels(cells, with_tau=True), strict=True):
        row = f"{_problem_label(cell, facts)}, {label}"
        rows[row] = row
        summary = summarise_runs(results.cells[cell])
        for name in LISTED:
            known = {name: summary.quantities[name]} if name in summary.quantities else {}
            counts = (summary.n_planned, summary.n_failed) if known or name == LISTED[0] else (0, 0)
            found[row, name] = TableCell(row, name, (name,), "{}", known, {}, {}, *counts)
    columns = {name: QUANTITIES[name].title for name in LISTED}
    return Table(table, title, "", "Problem, method", rows, columns, found, is_list=True)


def _problem_label(cell: Cell, facts: Mapping[str, ProblemFacts]) -> str:
    known = facts.get(cell.problem)
    return f"{cell.problem} ({known.n_features})" if known else cell.problem
