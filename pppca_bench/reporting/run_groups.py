"""The settings that a config ran, in groups: those of one method and classifier that form a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from pppca_bench.runs import Cell, Parameters, Scalar, StoredRun

Settings = Mapping[str, Scalar]
Problems = tuple[tuple[str, int], ...]
"""Names of problems, each with the number of runs that were asked for."""

_RULES = ("classifier.rule", "classifier.base.rule")


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Hold settings that are told together.

    Attributes
    ----------
    method : str
        Name of the method.
    constant : mapping of str to value
        Settings, as in `Cell.settings`, that all cells have in common.
    varied : mapping of str to tuple of value
        The values of the others, in the order of the runs.
    is_grid : bool
        Whether all combinations of these were run, each once.
    cells : mapping of Cell to list of (RunSpec, RunResult or None)
        What was run.
    """

    method: str
    constant: Settings
    varied: Mapping[str, tuple[Scalar, ...]]
    is_grid: bool
    cells: Mapping[Cell, Sequence[StoredRun]]

    @property
    def problems(self) -> list[str]:
        """Return the names of the problems, in the order of the runs."""
        return list(dict.fromkeys(cell.problem for cell in self.cells))

    @property
    def n_settings(self) -> int:
        """Return how many different settings there are."""
        return len({_settings_of(cell) for cell in self.cells})

    def section(self, prefix: str) -> Parameters:
        """Return the constant settings whose names begin so (but no deeper ones), without the prefix."""
        own = {name.removeprefix(prefix): value for name, value in self.constant.items() if name.startswith(prefix)}
        return tuple((name, value) for name, value in own.items() if "." not in name)


def group_runs(cells: Mapping[Cell, Sequence[StoredRun]]) -> list[RunGroup]:
    """Group the cells of a config by what they have in common.

    Parameters
    ----------
    cells : mapping of Cell to sequence of (RunSpec, RunResult or None)
        All that the config asks for.

    Returns
    -------
    list of RunGroup
        In the order of the runs. The settings of a group have the same method, learning rules, problems and numbers of
        runs; those that vary form a grid where they can be parted so that they do.
    """
    by_settings: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        by_settings.setdefault((cell.method, _settings_of(cell)), []).append(cell)
    alike: dict[tuple[object, ...], list[list[Cell]]] = {}
    for own in by_settings.values():
        rules = tuple(own[0].settings.get(name) for name in _RULES)
        problems: Problems = tuple((cell.problem, len(cells[cell])) for cell in own)
        alike.setdefault((own[0].method, rules, problems), []).append(own)
    return [_group(part, cells) for settings in alike.values() for part in _grids(settings)]


def _settings_of(cell: Cell) -> Parameters:
    return tuple(cell.settings.items())


def _grids(settings: Sequence[list[Cell]]) -> list[Sequence[list[Cell]]]:
    """Part settings, each a list of cells, by the values of one of them, where that makes a few grids of them."""
    varied = _varied([cells[0].settings for cells in settings])
    if _is_grid(settings, varied):
        return [settings]
    for name in sorted(varied, key=lambda name: len(varied[name])):
        parts: dict[Scalar, list[list[Cell]]] = {}
        for cells in settings:
            parts.setdefault(cells[0].settings.get(name), []).append(cells)
        few = 2 * len(parts) <= len(settings)
        if few and all(_is_grid(part, _varied([cells[0].settings for cells in part])) for part in parts.values()):
            return list(parts.values())
    return [settings]


def _is_grid(settings: Sequence[object], varied: Mapping[str, Sequence[Scalar]]) -> bool:
    return len(settings) == prod(map(len, varied.values()))


def _varied(settings: Sequence[Settings]) -> dict[str, tuple[Scalar, ...]]:
    """Return the values of the settings that are not all the same; one that is missing counts as None."""
    names = dict.fromkeys(name for one in settings for name in one)
    values = {name: tuple(dict.fromkeys(one.get(name) for one in settings)) for name in names}
    return {name: given for name, given in values.items() if len(given) > 1}


def _group(settings: Sequence[list[Cell]], cells: Mapping[Cell, Sequence[StoredRun]]) -> RunGroup:
    first = settings[0][0]
    varied = _varied([own[0].settings for own in settings])
    constant = {name: value for name, value in first.settings.items() if name not in varied}
    members = {cell: cells[cell] for own in settings for cell in own}
    return RunGroup(first.method, constant, varied, _is_grid(settings, varied), members)
