"""The columns of a ranking: runs sorted by their setting, each under a name that tells it from the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pppca_bench.methods.registry import METHODS
from pppca_bench.reporting.labels import method_label, settings_text, value_text
from pppca_bench.reporting.summary import CellSummary, summarise_runs
from pppca_bench.runs import Cell, Parameters, Scalar, StoredRun

_NAMED_FIRST = ("rule", "hidden", "shortcuts")


@dataclass(frozen=True, slots=True)
class Column:
    """Hold what one setting of a method gave.

    Attributes
    ----------
    name : str
        The method with its thresholds, and with every parameter that has not its default value.
    classifier : str
        As few of the classifier's settings as tell it from those of the other columns; "" where there is no other
        one, or where the method classifies by itself.
    cells : dict of str to CellSummary
        The repeats, by problem.
    """

    name: str
    classifier: str
    cells: Mapping[str, CellSummary]

    @property
    def errors(self) -> dict[str, float]:
        """Return the mean test errors in percent, by problem; one without a finished repeat is left out."""
        found = {problem: cell.quantities.get("test_error_percent") for problem, cell in self.cells.items()}
        return {problem: summary.mean for problem, summary in found.items() if summary is not None}


def columns(runs: Iterable[StoredRun]) -> list[Column]:
    """Sort runs into columns, one setting each: method, parameters and classifier.

    Parameters
    ----------
    runs : iterable of (RunSpec, RunResult or None)
        Planned runs and what came of them, those of later plans last; those that only measure are left out. Where a
        cell's repeat was planned more than once, the last one counts.

    Returns
    -------
    list of Column
        In the order of plans.
    """
    found: dict[tuple[str, Parameters, Parameters], dict[str, dict[int, StoredRun]]] = {}
    changed: dict[tuple[str, Parameters, Parameters], tuple[Cell, tuple[str, ...]]] = {}
    for run in runs:
        cell = run[0].cell
        if cell.method in METHODS and METHODS[cell.method].makes == "measures":
            continue
        setting = (cell.method, cell.parameters, cell.classifier)
        found.setdefault(setting, {}).setdefault(cell.problem, {})[run[0].repeat] = run
        changed.setdefault(setting, (cell, run[0].changed))
    classifiers = _classifier_names({setting[2] for setting in found if setting[2]})
    return [
        Column(
            _name(*changed[setting]),
            classifiers.get(setting[2], ""),
            {problem: summarise_runs(list(repeats.values())) for problem, repeats in problems.items()},
        )
        for setting, problems in found.items()
    ]


def _name(cell: Cell, changed: Sequence[str]) -> str:
    """Name a setting by its method, thresholds, and every parameter of the method that has not its default."""
    labelled = {name for name, _ in (METHODS[cell.method].labels if cell.method in METHODS else ())}
    told = {"tau", "data_fraction", *labelled}
    unusual = settings_text(cell, [name for name in changed if name not in told and not name.startswith("classifier.")])
    return ", ".join(filter(None, [method_label(cell, with_tau=True), unusual]))


def _classifier_names(classifiers: Collection[Parameters]) -> dict[Parameters, str]:
    others = {name for classifier in classifiers for name, _ in classifier if name not in _NAMED_FIRST}
    told = _told_apart(classifiers, [*_NAMED_FIRST, *sorted(others)])
    return {classifier: ", ".join(parts) for classifier, parts in told.items()}


def _told_apart(classifiers: Collection[Parameters], names: Sequence[str]) -> dict[Parameters, list[str]]:
    """Describe each by the first names that part it from the others."""
    if len(classifiers) < 2 or not names:
        return {classifier: [] for classifier in classifiers}
    name, *rest = names
    groups: dict[Scalar, list[Parameters]] = {}
    for classifier in classifiers:
        groups.setdefault(dict(classifier).get(name), []).append(classifier)
    found: dict[Parameters, list[str]] = {}
    for value, group in groups.items():
        text = value_text(value) if name == "rule" else f"{name} = {value_text(value)}"
        own = [text] if len(groups) > 1 else []
        found |= {classifier: own + more for classifier, more in _told_apart(group, rest).items()}
    return found
