"""Groups of the settings that a config ran: settings of one method and classifier that form a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from pppca_bench.methods.entry import Entry
from pppca_bench.methods.lookup import stored_classifier, stored_method
from pppca_bench.reporting.labels import grouped
from pppca_bench.runs import Cell, Parameters, RunResult, Scalar, StoredRun

_NETWORKS = ("classifier.", "classifier.base.", "")
"""Prefixes of the settings that may describe a network."""

_Setting = list[Cell]
"""Cells, on different problems, of one setting."""


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Settings of one method and classifier that are described together."""

    method: str
    constant: Mapping[str, Scalar]  # settings, as in `Cell.settings`, that all cells have in common
    varied: Mapping[str, tuple[Scalar, ...]]  # the values of the others, in the order of the runs
    is_grid: bool  # whether all combinations of these were run, each once
    cells: Mapping[Cell, Sequence[StoredRun]]  # the runs

    @property
    def problems(self) -> list[str]:
        """Return the names of the problems, in the order of the runs."""
        return list(dict.fromkeys(cell.problem for cell in self.cells))

    @property
    def n_settings(self) -> int:
        """Return the number of different settings."""
        return len({tuple(cell.settings.items()) for cell in self.cells})

    @property
    def results(self) -> list[RunResult | None]:
        """Return the result of each run, None for a run that is not done."""
        return [result for runs in self.cells.values() for _, result in runs]

    @property
    def learners(self) -> dict[str, tuple[str, Entry | None]]:
        """Return method, classifier and member of an ensemble: name and registry entry, by the settings' prefix."""
        learners: dict[str, tuple[str, Entry | None]] = {"": (self.method, stored_method(self.method))}
        for prefix in ("classifier.", "classifier.base."):
            if (name := self.constant.get(f"{prefix}rule")) is not None:
                learners[prefix] = str(name), stored_classifier(str(name))
        return learners

    @property
    def has_network(self) -> bool:
        """Return whether a network is trained."""
        names = {*self.constant, *self.varied}
        return any(entry is not None and f"{prefix}hidden" in names for prefix, (_, entry) in self.learners.items())

    @property
    def reads_inputs(self) -> bool:
        """Return whether the classifier reads the problem's own inputs, not reduced features."""
        entry = stored_method(self.method)
        return entry is not None and (not entry.reduces or entry.makes == "classes")

    @property
    def layers(self) -> Scalar:
        """Return the hidden layers that all networks have in common; None if they vary."""
        names = [f"{prefix}hidden" for prefix in _NETWORKS]
        return next((self.constant[name] for name in names if name in self.constant), None)

    @property
    def shortcuts(self) -> Scalar:
        """Return whether the networks have shortcuts; None if this varies."""
        settings = {**dict.fromkeys(self.varied), **self.constant}
        return next((settings[name] for prefix in _NETWORKS if (name := f"{prefix}shortcuts") in settings), False)

    def section(self, prefix: str) -> Parameters:
        """Return the constant settings whose names begin with a prefix (but no deeper names), without the prefix."""
        own = {name.removeprefix(prefix): value for name, value in self.constant.items() if name.startswith(prefix)}
        return tuple((name, value) for name, value in own.items() if "." not in name)


def group_runs(cells: Mapping[Cell, Sequence[StoredRun]]) -> list[RunGroup]:
    """Group the cells of a config by their common settings, in the order of the runs.

    The settings of a group have the same method, learning rules, problems and numbers of runs. They are split by the
    values of a setting that varies, if each part is then a grid and there are few parts.
    """

    def common(setting: _Setting) -> tuple[object, ...]:
        rules = (setting[0].settings.get(name) for name in ("classifier.rule", "classifier.base.rule"))
        return (setting[0].method, *rules, *((cell.problem, len(cells[cell])) for cell in setting))

    by_settings = grouped(cells, lambda cell: (cell.method, *cell.settings.items()))
    alike = grouped(by_settings.values(), common)
    groups = []
    for part in (part for settings in alike.values() for part in _grids(settings)):
        first, varied = part[0][0], _varied(part)
        constant = {name: value for name, value in first.settings.items() if name not in varied}
        members = {cell: cells[cell] for own in part for cell in own}
        groups.append(RunGroup(first.method, constant, varied, _is_grid(part), members))
    return groups


def _grids(settings: Sequence[_Setting]) -> Sequence[Sequence[_Setting]]:
    """Split settings by the values of one of their names, if that makes a few grids of them."""
    varied = _varied(settings)
    if _is_grid(settings):
        return [settings]
    for name in sorted(varied, key=lambda name: len(varied[name])):
        parts = grouped(settings, key=lambda setting: setting[0].settings.get(name))
        if 2 * len(parts) <= len(settings) and all(map(_is_grid, parts.values())):
            return list(parts.values())
    return [settings]


def _is_grid(settings: Sequence[_Setting]) -> bool:
    return len(settings) == prod(map(len, _varied(settings).values()))


def _varied(settings: Sequence[_Setting]) -> dict[str, tuple[Scalar, ...]]:
    """Return the values of the settings that are not all the same; a missing value counts as None."""
    different = [own[0].settings for own in settings]
    names = dict.fromkeys(name for own in different for name in own)
    values = {name: tuple(dict.fromkeys(own.get(name) for own in different)) for name in names}
    return {name: given for name, given in values.items() if len(given) > 1}
