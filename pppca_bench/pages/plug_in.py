"""Modules of references: tables, figures and claims beyond the layouts of ``reference.yaml``.

A module has some of the functions

- ``measures(runs, store)``, which returns further numbers of runs by their keys: those that follow from stored curves;
- ``tables(snapshot)``, which returns builders of tables by identifier: functions of a `Document` each;
- ``shown(snapshot)``, which returns the table that shows the runs of a cell, by the cell's number, for cells that no
  other table shall list;
- ``figures(snapshot, store)``, which returns a list of figures;
- ``claims(snapshot, figures)``, which returns `Answers`.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from pppca_bench.errors import OwnDataError, PppcaError
from pppca_bench.methods.third_party import check_not_shadowed, extend_sys_path
from pppca_bench.pages.findings import Answers
from pppca_bench.references.reference import Reference

RETURNED: dict[str, type] = {
    "measures": dict,
    "tables": dict,
    "shown": dict,
    "figures": list,
    "claims": Answers,
}
"""Type of the value of each function."""


def from_module(reference: Reference, function: str, *arguments: object) -> Any:
    """Return the value of a function of a reference's module; None without the module or the function.

    Raises
    ------
    OwnDataError
        The module cannot be imported, or the function fails or returns another type.
    """

    module = module_of(reference)
    implementation = getattr(module, function, None)
    if implementation is None:
        return None
    return attempted(reference, lambda: checked(implementation(*arguments), RETURNED[function]))


def module_of(reference: Reference) -> ModuleType | None:
    """Return the module of a reference, or None without one; raise OwnDataError if it cannot be imported."""

    def imported() -> ModuleType:
        extend_sys_path([reference.folder])
        module = import_module(reference.module)
        check_not_shadowed(reference.module, reference.folder)
        return module

    return attempted(reference, imported) if reference.module else None


def checked(value: Any, kind: Any) -> Any:
    """Return a value; raise TypeError if it is of another type."""
    if not isinstance(value, kind):
        raise TypeError(f"expected {getattr(kind, '__name__', kind)}, got {type(value).__name__}")
    return value


def attempted(reference: Reference, function: Callable[[], Any]) -> Any:
    """Return the value of a function, with any error as an error of one line, which names the place in the module."""
    try:
        return function()
    except PppcaError:
        raise
    except (Exception, SystemExit) as error:
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if Path(frame.filename).is_relative_to(reference.folder)
        ]
        location = ""
        if frames:
            location = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
        cause = f"{type(error).__name__}: {error}".partition("\n")[0]
        where = f"{reference.name}/reference.yaml: module"
        raise OwnDataError(
            f"{where}: expected {reference.module} to work, got {cause}{location}."
        ) from error
