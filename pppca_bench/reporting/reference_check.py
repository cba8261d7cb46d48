"""Checks of user-defined references: unique identifiers of tables, and cells that runs can fill."""

from __future__ import annotations

from collections.abc import Sequence

from pppca_bench.errors import OwnDataError, nearest
from pppca_bench.methods.lookup import is_path, method_names
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.own_tables import OWN_IDS, VARIANTS
from pppca_bench.reporting.summary import Results
from pppca_bench.runs import Selector


def check_references(added: Sequence[Reference], own: Sequence[Reference], results: Results) -> None:
    """Check user-defined references against the package's and the results.

    Parameters
    ----------
    added, own : sequence of Reference
    results : Results
        A method that was run is known, and so are the settings of the runs of a method on a problem.

    Raises
    ------
    OwnDataError
        Two tables have the same identifier, or a cell names a method or a setting that no run has.
    """
    taken = {layout.id: reference.name for reference in own for layout in reference.layouts}
    taken |= dict.fromkeys(OWN_IDS, "pppca")
    for reference in added:
        for layout in reference.layouts:
            if layout.id in taken or layout.id.startswith(VARIANTS):
                owner = taken.get(layout.id, "pppca")
                raise OwnDataError(
                    f"{reference.name}/reference.yaml: expected identifiers that no other reference has, got"
                    f" {layout.id!r}, which {owner} has. Give the table another id."
                )
            taken[layout.id] = reference.name
            for row in layout.rows:
                for column in layout.columns:
                    if selector := layout.selector(row, column):
                        place = f"{reference.name}/reference.yaml: table {layout.id}, {row.key}, {column.key}"
                        _check_selector(selector, results, place)


def _check_selector(selector: Selector, results: Results, place: str) -> None:
    methods = {*method_names(), *(cell.method for cell in results.cells)}
    if selector.method not in methods and not is_path(selector.method):
        raise OwnDataError(
            f"{place} names no run: expected a method that `pppca methods` prints, or module:Class, got"
            f" {selector.method!r}{nearest(selector.method, methods)}."
        )
    cells = [cell for cell in results.cells if (cell.problem, cell.method) == (selector.problem, selector.method)]
    known = {name for cell in cells for name in cell.settings}
    for name, _ in selector.settings if cells else ():
        if name not in known:
            raise OwnDataError(
                f"{place} names no run: expected settings that runs of {selector.method} on {selector.problem} have,"
                f" got {name!r}{nearest(name, known)}. `pppca methods {selector.method}` lists its parameters."
            )
