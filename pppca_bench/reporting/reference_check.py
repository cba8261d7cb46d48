"""Whether the references of other people can stand beside the package's, and name runs that there can be."""

from __future__ import annotations

from collections.abc import Sequence

from pppca_bench.errors import OwnDataError, nearest
from pppca_bench.methods.lookup import is_path, method_names
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.own_tables import OWN_IDS, VARIANTS
from pppca_bench.reporting.summary import Results
from pppca_bench.runs import Selector


def check_references(added: Sequence[Reference], own: Sequence[Reference], results: Results) -> None:
    """Check references that were added to the package's.

    Parameters
    ----------
    added, own : sequence of Reference
    results : Results
        What was run: a method that is not known but was run is no mistake, and of a method that was run on a cell's
        problem the settings are known.

    Raises
    ------
    OwnDataError
        Two tables have one identifier, or a cell names a method or a setting that no run has.
    """
    taken = {layout.id: one.name for one in own for layout in one.layouts} | dict.fromkeys(OWN_IDS, "pppca")
    for one in added:
        for layout in one.layouts:
            if layout.id in taken or layout.id.startswith(VARIANTS):
                owner = taken.get(layout.id, "pppca")
                raise OwnDataError(
                    f"{one.name}/reference.yaml: expected identifiers that no other reference has, got {layout.id!r},"
                    f" which {owner} has. Give the table another id."
                )
            taken[layout.id] = one.name
            for row in layout.rows:
                for column in layout.columns:
                    place = f"{one.name}/reference.yaml: table {layout.id}, {row.key}, {column.key}"
                    if selector := layout.selector(row, column):
                        _check_method(selector.method, results, place)
                        _check_settings(selector, results, place)


def _check_method(method: str, results: Results, place: str) -> None:
    known = {*method_names(), *(cell.method for cell in results.cells)}
    if method not in known and not is_path(method):
        raise OwnDataError(
            f"{place} names no run: expected a method that `pppca methods` prints, or module:Class, got"
            f" {method!r}{nearest(method, known)}."
        )


def _check_settings(selector: Selector, results: Results, place: str) -> None:
    cells = [cell for cell in results.cells if (cell.problem, cell.method) == (selector.problem, selector.method)]
    known = {name for cell in cells for name in cell.settings}
    for name, _ in selector.settings if cells else ():
        if name not in known:
            raise OwnDataError(
                f"{place} names no run: expected settings that runs of {selector.method} on {selector.problem} have,"
                f" got {name!r}{nearest(name, known)}. `pppca methods {selector.method}` lists its parameters."
            )
