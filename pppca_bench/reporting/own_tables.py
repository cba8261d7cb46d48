"""Tables of our own: what was run beyond the published tables, what features retain, and settings side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from pppca_bench.methods.lookup import stored_method
from pppca_bench.reporting.labels import distinct_labels, value_text
from pppca_bench.reporting.summary import Results, summarise_runs
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.runs import AUTO, Cell, ProblemFacts, Scalar, described

LISTED = (
    "test_error_percent",
    "dimensionality",
    "retained_variance_percent",
    "optimality_percent",
    "reconstruction_error",
    "fit_time_ms",
)
"""Columns of the tables that list cells; methods that only measure have their own."""

REFERENCE_TAU = 15.0
"""The threshold at which the slides compare methods (T2, T3)."""

_BOTH = ("test_error_percent", "dimensionality")

OWN_IDS, VARIANTS = ("X", "R", "M", "C"), "variants_"
"""Identifiers of these tables, and how those of the others begin."""


def listed_cells(results: Results, shown: Collection[Cell]) -> dict[str, list[Cell]]:
    """Return the cells that tables of ours list, by the table's identifier.

    ``variants_<config>`` lists several settings of a method that one config asks for, unless the published tables show
    all of them. What stands in no other table is in ``X``, or in ``M`` where its method only measures.

    Parameters
    ----------
    results : Results
        What was run.
    shown : collection of Cell
        Cells that fill a published table's cell.
    """
    variants = {
        f"{VARIANTS}{name}": [cell for group in groups if not all(one in shown for one in group) for cell in group]
        for name, groups in results.variants.items()
    }
    others = [cell for cell in results.cells if cell not in shown and _stands_alone(cell, variants, results)]
    return {
        "X": [cell for cell in others if not _only_measures(cell)],
        "M": [cell for cell in others if _only_measures(cell)],
        **variants,
    }


def own_tables(
    lists: Mapping[str, Sequence[Cell]],
    results: Results,
    facts: Mapping[str, ProblemFacts],
    problems: Sequence[str],
    *,
    left_out: Collection[Cell] = (),
) -> list[Table]:
    """Return the tables of our own that something fills.

    Parameters
    ----------
    lists : mapping of str to sequence of Cell
        See `listed_cells`.
    results : Results
        What was run.
    facts : mapping of str to ProblemFacts
        Sizes of the problems, by name.
    problems : sequence of str
        The first problems in tables; others follow in the order of the results.
    left_out : collection of Cell, optional
        Cells that R leaves out.

    Returns
    -------
    list of Table
        X; R, what the features of every method retain of the inputs (at tau = 15 where there are several); M; and the
        variants of each config.
    """
    places = {name: place for place, name in enumerate(dict.fromkeys([*problems, *(c.problem for c in results.cells)]))}
    in_order = {name: sorted(cells, key=lambda cell: places[cell.problem]) for name, cells in lists.items()}
    retaining = (cell for cell in _retaining(lists, results) if cell not in left_out)
    retained = sorted(retaining, key=lambda cell: places[cell.problem])
    changed = {cell: runs.changed for cell, runs in results.cells.items()}
    labels = distinct_labels(results.cells, with_tau=True, changed=changed)
    tables = [
        _other_runs(in_order["X"], distinct_labels(results.cells, changed=changed), results, facts),
        _list("R", "Test error beside what the features retain of the inputs", retained, labels, results, facts),
        _list("M", "What else was measured", in_order["M"], labels, results, facts),
    ]
    for name in results.variants:
        cells, title = in_order[f"{VARIANTS}{name}"], f"Settings that {name} compares"
        tables.append(_list(f"{VARIANTS}{name}", title, cells, distinct_labels(cells, with_tau=True), results, {}))
    return [table for table in tables if table.was_run]


def _stands_alone(cell: Cell, variants: Mapping[str, Sequence[Cell]], results: Results) -> bool:
    """Tell whether a config asks for a cell as the only setting of its place."""
    return any(cell not in variants.get(f"{VARIANTS}{name}", ()) for name in results.cells[cell].configs)


def _only_measures(cell: Cell) -> bool:
    entry = stored_method(cell.method)
    return entry is not None and entry.makes == "measures"


def _other_runs(
    cells: Sequence[Cell], labels: Mapping[Cell, str], results: Results, facts: Mapping[str, ProblemFacts]
) -> Table:
    """Return the runs beyond the references' tables: a row a method and problem, a column a threshold."""
    taus = {cell: dict(cell.parameters).get("tau") for cell in cells}
    given = sorted(set(taus.values()) - {None}, key=_numbers_first)
    columns = {"no tau": "no τ"} if None in taus.values() else {}
    columns |= {f"tau={value_text(tau)}": f"τ = {value_text(tau)}" for tau in given}
    found: dict[tuple[str, str], TableCell] = {}
    for cell, tau in taus.items():
        place = f"{_problem_label(cell, facts)}, {labels[cell]}", "no tau" if tau is None else f"tau={value_text(tau)}"
        summary = summarise_runs(results.cells[cell])
        ours = {name: summary.quantities[name] for name in _BOTH if name in summary.quantities}
        counts = summary.n_planned, summary.n_failed
        found[place] = TableCell(
            *place, _BOTH, "{} ({})", ours, {}, summary.values, *counts, differing=summary.differing
        )
    rows = {row: row for row, _ in found}
    return Table("X", "Runs beyond the published tables", "", "Problem, method", rows, columns, found)


def _numbers_first(value: Scalar) -> tuple[bool, float, str]:
    return (False, float(value), "") if isinstance(value, int | float) else (True, 0.0, value_text(value))


def _retaining(lists: Mapping[str, Sequence[Cell]], results: Results) -> Iterator[Cell]:
    """Yield cells of the whole data and, where there are more thresholds, of the one at which the slides compare."""
    alone = [cell for cell in results.cells if _stands_alone(cell, lists, results)]
    taus: dict[tuple[str, str], set[object]] = {}
    for cell in alone:
        taus.setdefault((cell.problem, cell.method), set()).add(dict(cell.parameters).get("tau"))
    for cell in alone:
        parameters = dict(cell.parameters)
        tau, whole = parameters.get("tau"), parameters.get("data_fraction") in (None, 100.0, AUTO)
        is_compared = tau in (None, REFERENCE_TAU) or REFERENCE_TAU not in taus[cell.problem, cell.method]
        measured = "retained_variance_percent" in results.cells[cell].values
        if whole and is_compared and measured:
            yield cell


def _list(
    table: str,
    title: str,
    cells: Sequence[Cell],
    labels: Mapping[Cell, str],
    results: Results,
    facts: Mapping[str, ProblemFacts],
) -> Table:
    """Return a table with a row for each cell and a column for each quantity."""
    summaries = {cell: summarise_runs(results.cells[cell]) for cell in cells}
    own = dict.fromkeys(name for cell in cells if _only_measures(cell) for name in summaries[cell].quantities)
    columns = [*(() if all(map(_only_measures, cells)) else LISTED), *own]
    found, rows = {}, {}
    for cell, summary in summaries.items():
        row = f"{_problem_label(cell, facts)}, {labels[cell]}"
        rows[row] = row
        for name in columns:
            known = {name: summary.quantities[name]} if name in summary.quantities else {}
            counts = (summary.n_planned, summary.n_failed) if known or name == columns[0] else (0, 0)
            differing = summary.differing if name == columns[0] else ()
            found[row, name] = TableCell(row, name, (name,), "{}", known, {}, {}, *counts, differing=differing)
    titles = {name: described(name).title for name in columns}
    return Table(table, title, "", "Problem, method", rows, titles, found, is_list=True)


def _problem_label(cell: Cell, facts: Mapping[str, ProblemFacts]) -> str:
    known = facts.get(cell.problem)
    of_these_data = known is not None and known.data_sha256 == cell.data_sha256
    return f"{cell.problem} ({known.n_features})" if known and of_these_data else cell.problem
