"""Provenance of table cells: config, selection of runs, versions and data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pppca_bench.reporting.labels import value_text
from pppca_bench.runs import Cell, Scalar

if TYPE_CHECKING:
    from pppca_bench.reporting.summary import Results

_FIRST = ("tau", "data_fraction")


@dataclass(frozen=True, slots=True)
class CellSource:
    """Provenance of a table cell.

    Attributes
    ----------
    config : str
        Name of a config that plans the runs of the cell.
    only : dict of str to str
        Settings that select these runs among those of the config, in the syntax of ``pppca run --only``.
    versions : str
        Versions of the algorithms, such as ``"dgha 3, rprop 2"``.
    data_sha256 : str
        Digest of the problem's data.
    """

    config: str
    only: Mapping[str, str]
    versions: str
    data_sha256: str

    def record(self) -> dict[str, object]:
        """Return the columns of a record in CSV and JSON."""
        only = ",".join(f"{name}={value}" for name, value in self.only.items())
        return {"config": self.config, "only": only, "versions": self.versions, "data_sha256": self.data_sha256}


NO_SOURCE: Mapping[str, object] = dict.fromkeys(("config", "only", "versions", "data_sha256"))
"""Record of a cell without runs."""


def source_of(cell: Cell, results: Results, configs: Collection[str] = ()) -> CellSource:
    """Return the provenance of the runs of a cell.

    Parameters
    ----------
    cell : Cell
        Cell of the results.
    results : Results
    configs : collection of str, optional
        Configs to prefer, the first first.
    """
    planning = results.cells[cell].configs
    config = next((name for name in (*configs, *sorted(planning)) if name in planning), "")
    only = {"problem": cell.problem, "method": cell.method, **_distinguishing(cell, results.rivals(cell, config))}
    versions = ", ".join(f"{name} {version}" for name, version in cell.algorithms)
    return CellSource(config, only, versions, cell.data_sha256)


def _distinguishing(cell: Cell, rivals: Sequence[Cell]) -> dict[str, str]:
    """Return settings of a cell that none of its rivals, other cells of the same problem and method, shares."""
    settings = cell.settings
    others = [rival.settings for rival in rivals if rival != cell]
    chosen: dict[str, str] = {}
    for name in sorted(settings, key=lambda name: (name not in _FIRST, name)):
        same = [other for other in others if name in other and other[name] == settings[name]]
        if len(same) < len(others):
            chosen[name] = _written(settings[name])
            others = same
    return chosen


def _written(value: Scalar) -> str:
    return f"[{', '.join(map(value_text, value))}]" if isinstance(value, tuple) else value_text(value)
