"""The slides' tables and our own, filled from results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pppca_bench.references.layouts import LAYOUTS, PROBLEMS, Form, Layout
from pppca_bench.references.published import PublishedCell, published, published_tables
from pppca_bench.reporting.labels import labels, treatment
from pppca_bench.reporting.summary import CellSummary, Results, Summary, summarise, summarise_runs
from pppca_bench.runs import ProblemFacts, Source, StoredRun

SIZES = ("features", "classes", "train", "validation", "test")
QUANTITIES: Mapping[Form, tuple[str, ...]] = {
    "size": SIZES,
    "error": ("error_percent",),
    "error (dimensionality)": ("error_percent", "dimensionality"),
    "speed-up": ("speedup", "speedup_operations", "speedup_fast", "gha_time_ms"),
    "list": ("error_percent", "dimensionality", "retained_variance_percent", "reconstruction_error", "fit_time_ms"),
}
"""What a cell holds, by the table's form; a cell of a list holds the one that its column is named by."""

REFERENCE_TAU = 15.0
"""The threshold at which the slides compare methods (T2, T3)."""

_LIST_COLUMNS = dict(
    zip(
        QUANTITIES["list"],
        ("Error, %", "Dimensionality", "Retained variance, %", "Reconstruction error", "Fit, ms"),
        strict=True,
    )
)


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
    settings : str
        Digest of the settings and the data behind ours; see `CellSummary`.
    """

    row: str
    column: str
    ours: Mapping[str, Summary]
    published: Mapping[str, PublishedCell]
    values: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    n_planned: int = 0
    n_failed: int = 0
    has_source: bool = False
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

    @property
    def late(self) -> list[TableCell]:
        """Return the cells that wait for repeats, one for each cell of runs."""
        return [
            cell
            for cell in self.cells.values()
            if cell.incomplete and (self.form != "list" or cell.column == "error_percent")
        ]


def build_tables(results: Results, facts: Mapping[str, ProblemFacts]) -> list[Table]:
    """Fill the slides' tables, and those of our own.

    These are X, all other runs; R, what the features of every method retain of the inputs (at tau = 15 where there
    are several); and one for each config that asks for variants of a method.

    Parameters
    ----------
    results : Results
        What was run.
    facts : mapping of str to ProblemFacts
        Sizes of the problems, by name.

    Returns
    -------
    list of Table
        In the order of the slides, then ours; one of ours that nothing fills is left out.
    """
    tables = [_fill(layout, results, facts) for layout in LAYOUTS]
    shown = {layout.source(row, column) for layout in LAYOUTS for row in layout.rows for column in layout.columns}
    others = [source for source in results.sources() if not _stands_in(source, shown)]
    if others:
        tables.append(_other_runs(others, results, facts))
    tables.append(_retained(results, facts))
    tables += [_variants(config, cells) for config, cells in results.variants.items()]
    return [table for table in tables if table.place or table.was_run]


def _retained(results: Results, facts: Mapping[str, ProblemFacts]) -> Table:
    runs = {source: results.runs(source) for source in _at_one_tau(results.sources())}
    rows = {
        _source_label(source, facts, with_tau=True): of_source
        for source, of_source in runs.items()
        if any(result and "retained_variance_percent" in result.measures for _, result in of_source)
    }
    return _list("R", "Test error beside what the features retain of the inputs", rows)


def _at_one_tau(sources: Sequence[Source]) -> list[Source]:
    """Leave out timed runs, other data fractions than the whole and, where there are more, other taus than 15; sort."""
    problems = list(dict.fromkeys((*PROBLEMS, *(source.problem for source in sources))))
    taus: dict[tuple[str, str], set[float | None]] = {}
    for source in sources:
        taus.setdefault((source.problem, source.method), set()).add(source.tau)
    kept = [
        source
        for source in sources
        if source.method != "dgha_speedup"
        and source.data_fraction in (None, 100.0)
        and (source.tau in (None, REFERENCE_TAU) or REFERENCE_TAU not in taus[source.problem, source.method])
    ]
    return sorted(kept, key=lambda source: problems.index(source.problem))


def _variants(config: str, cells: Sequence[Sequence[StoredRun]]) -> Table:
    specs = [runs[0][0] for runs in cells]
    rows: dict[str, Sequence[StoredRun]] = {}
    for problem in dict.fromkeys(spec.problem for spec in specs):
        own = [runs for runs in cells if runs[0][0].problem == problem]
        rows |= {f"{problem}, {label}": runs for label, runs in zip(labels([r[0][0] for r in own]), own, strict=True)}
    return _list(f"variants_{config}", f"Variants that {config} compares", rows)


def _list(table: str, title: str, rows: Mapping[str, Sequence[StoredRun]]) -> Table:
    """Return a table with a row for each cell's runs and a column for each quantity."""
    cells = {}
    for row, runs in rows.items():
        summary = summarise_runs(runs)
        for quantity in QUANTITIES["list"]:
            known = {quantity: summary.quantities[quantity]} if quantity in summary.quantities else {}
            counts = (summary.n_planned, summary.n_failed) if known or quantity == "error_percent" else (0, 0)
            cells[row, quantity] = TableCell(row, quantity, known, {}, {}, *counts)
    return Table(table, title, "", "Problem, method", {row: row for row in rows}, _LIST_COLUMNS, "list", cells)


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
    quantities = QUANTITIES[layout.form]
    theirs = {name: number for name in quantities if (number := published(layout.table, row, column, name))}
    if layout.form == "size":
        sizes = _sizes(facts[row], column) if row in facts else {}
        return TableCell(row, column, sizes, theirs, has_source=True)
    source = layout.source(row, column)
    summary = results.cell(source) if source else CellSummary({}, {}, 0, 0)
    ours = {name: summary.quantities[name] for name in quantities if name in summary.quantities}
    if source and source.method in ("all_features", "ga_mlp"):  # they reduce nothing
        ours.pop("dimensionality", None)
    counts = (summary.n_planned, summary.n_failed)
    return TableCell(row, column, ours, theirs, summary.values, *counts, source is not None, summary.settings)


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
        both = QUANTITIES["error (dimensionality)"]
        ours = {name: summary.quantities[name] for name in both if name in summary.quantities}
        row = _source_label(source, facts)
        cells[row, column] = TableCell(row, column, ours, {}, summary.values, summary.n_planned, summary.n_failed)
    rows = {row: row for row, _ in cells}
    title = "Runs beyond the published tables"
    return Table("X", title, "", "Problem, method", rows, columns, "error (dimensionality)", cells)


def _source_label(source: Source, facts: Mapping[str, ProblemFacts], *, with_tau: bool = False) -> str:
    size = f" ({facts[source.problem].n_features})" if source.problem in facts else ""
    return f"{source.problem}{size}, {treatment(source, with_tau=with_tau)}"
