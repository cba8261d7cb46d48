"""The columns of a ranking: runs sorted by their setting, each under a name that tells it from the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pppca_bench.methods.lookup import stored_method
from pppca_bench.reporting.labels import classifier_names, method_label, own_settings, setting_text, unusual
from pppca_bench.reporting.summary import CellSummary, summarise_runs
from pppca_bench.runs import AUTO, CHOOSE, Cell, Parameters, Scalar
from pppca_bench.store.columns import CellRuns

_Setting = tuple[str, Parameters, Parameters, tuple[tuple[str, int | str], ...]]
"""Method, its parameters, classifier and the algorithms' versions: what a column has in common."""


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
        The repeats, by problem; one of several data goes by its name and their digest.
    tau : scalar
        Its threshold; None where something else takes its place, `AUTO` where each run chooses one, or the method has
        no such parameter.
    family : object
        What it has in common with settings that differ from it by how many features they keep alone.
    """

    name: str
    classifier: str
    cells: Mapping[str, CellSummary]
    tau: Scalar
    family: object

    @property
    def errors(self) -> dict[str, float]:
        """Return the mean test errors in percent, by problem; one without a finished repeat is left out."""
        found = {problem: cell.quantities.get("test_error_percent") for problem, cell in self.cells.items()}
        return {problem: summary.mean for problem, summary in found.items() if summary is not None}


def columns(cells: Mapping[Cell, CellRuns]) -> list[Column]:
    """Sort runs into columns, one setting each: method, parameters, classifier and versions of the algorithms.

    Parameters
    ----------
    cells : mapping of Cell to CellRuns
        Planned runs and what came of them, those of later plans last; those that only measure are left out.

    Returns
    -------
    list of Column
        In the order of plans.
    """
    ranked = {cell: runs for cell, runs in cells.items() if not _only_measures(cell)}
    problems = _problem_names(ranked)
    found: dict[_Setting, dict[str, CellRuns]] = {}
    for cell, runs in ranked.items():
        setting = (cell.method, cell.parameters, cell.classifier, cell.algorithms)
        found.setdefault(setting, {})[problems[cell.problem, cell.data_sha256]] = runs
    classifiers = classifier_names([classifier for _, _, classifier, _ in found if classifier])
    first = {setting: next(iter(of_problems.values())) for setting, of_problems in found.items()}
    names = _distinct({setting: (_name(first[setting]), classifiers.get(setting[2], "")) for setting in found})
    return [
        Column(
            *names[setting],
            {problem: summarise_runs(runs) for problem, runs in of_problems.items()},
            dict(setting[1]).get("tau", AUTO),
            (setting[0], tuple(item for item in setting[1] if not _sizes(item[0])), *setting[2:]),
        )
        for setting, of_problems in found.items()
    ]


def _sizes(name: str) -> bool:
    """Tell whether a parameter says how many features are kept, or among what that is chosen."""
    return name in ("tau", "n_components") or name.startswith(CHOOSE)


def _only_measures(cell: Cell) -> bool:
    entry = stored_method(cell.method)
    return entry is not None and entry.makes == "measures"


def _problem_names(cells: Iterable[Cell]) -> dict[tuple[str, str], str]:
    """Return what each problem goes by: its name, with the digest of its data where there are several."""
    different = dict.fromkeys((cell.problem, cell.data_sha256) for cell in cells)
    n_data = Counter(problem for problem, _ in different)
    return {
        (problem, data): problem if n_data[problem] == 1 else f"{problem}, data {data[:8]}"
        for problem, data in different
    }


def _name(runs: CellRuns) -> str:
    """Name a setting by its method, thresholds, and every parameter of the method that has not its default."""
    unusual = [setting_text(*item) for item in own_settings(runs.cell).items() if item[0] in runs.changed]
    return ", ".join([method_label(runs.cell, with_tau=True), *unusual])


def _distinct(names: Mapping[_Setting, tuple[str, str]]) -> dict[_Setting, tuple[str, str]]:
    """Add what differs where two settings would have one name: a parameter that is a default of one, or a version."""
    groups: dict[tuple[str, str], list[_Setting]] = {}
    for setting, both in names.items():
        groups.setdefault(both, []).append(setting)
    found = dict(names)
    for (name, classifier), group in groups.items():
        everything = [{**dict(one[1]), **{f"{algorithm} version": n for algorithm, n in one[3]}} for one in group]
        for setting, different in zip(group, unusual(everything), strict=True):
            found[setting] = ", ".join([name, *(setting_text(*item) for item in different.items())]), classifier
    return found
