"""Settings as columns of a ranking: the runs of one method, its parameters, classifier and versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

from pppca_bench.methods.lookup import stored_method
from pppca_bench.methods.protocol import PIVOT
from pppca_bench.references.proben1_tables import pivot_of
from pppca_bench.reporting.labels import classifier_names, method_label, own_settings, setting_text, unusual
from pppca_bench.reporting.summary import CellSummary, summarise_runs
from pppca_bench.runs import AUTO, CHOOSE, Cell, Parameters, Scalar
from pppca_bench.store.columns import CellRuns

_Setting = tuple[str, Parameters, Parameters, tuple[tuple[str, int | str], ...]]  # as in `Cell`, from `method` on


@dataclass(frozen=True, slots=True)
class Column:
    """Results of one setting of a method."""

    name: str  # the method with its thresholds and every parameter that does not have its default value
    classifier: str  # the fewest settings that distinguish it from those of the other columns; "" if there is no other
    cells: Mapping[str, CellSummary]  # by problem; of several data with one name, each with its digest
    tau: Scalar  # None if another parameter takes its place, `AUTO` if runs choose it or the method has none
    family: Hashable  # equal for settings that differ only in the number of features that they keep

    @property
    def errors(self) -> dict[str, float]:
        """Return the mean test errors in percent, by problem, of those with a completed repeat."""
        errors = {problem: cell.quantities.get("test_error_percent") for problem, cell in self.cells.items()}
        return {problem: summary.mean for problem, summary in errors.items() if summary is not None}


def labels(settings: Sequence[Column], of: Collection[Column] | None = None) -> list[str]:
    """Return labels of settings, without the classifier if some of them (all by default) have the same."""
    classifiers = {setting.classifier for setting in (settings if of is None else of)} - {""}
    omitted = {"", *classifiers} if len(classifiers) == 1 else {""}
    return [
        setting.name if setting.classifier in omitted else f"{setting.name}, {setting.classifier}"
        for setting in settings
    ]


def columns(cells: Mapping[Cell, CellRuns]) -> list[Column]:
    """Group runs by their setting, in the order of plans; methods that only measure are left out."""
    entries = {cell: stored_method(cell.method) for cell in cells}
    ranked = [cell for cell, entry in entries.items() if entry is None or entry.makes != "measures"]
    n_data = Counter(problem for problem, _ in {(cell.problem, cell.data_sha256) for cell in ranked})
    classifiers = {cell.classifier for cell in ranked}
    # Cells of Proben1 problems do not name the input scaling of the pivot network; those of other data do.
    pivots = {_as_on_proben1(classifier): classifier for classifier in sorted(classifiers, key=len)}
    settings: dict[_Setting, dict[str, CellRuns]] = {}
    for cell in ranked:
        classifier = pivots[cell.classifier] if pivot_of(cell.problem) else cell.classifier
        data = f", data {cell.data_sha256[:8]}" if n_data[cell.problem] > 1 else ""
        setting = (cell.method, cell.parameters, classifier, cell.algorithms)
        settings.setdefault(setting, {})[f"{cell.problem}{data}"] = cells[cell]
    names = _names(settings)
    return [
        Column(
            *names[setting],
            {problem: summarise_runs(runs) for problem, runs in problems.items()},
            dict(setting[1]).get("tau", AUTO),
            (setting[0], tuple(item for item in setting[1] if not _sets_size(item[0])), *setting[2:]),
        )
        for setting, problems in settings.items()
    ]


def _as_on_proben1(classifier: Parameters) -> Parameters:
    """Return a classifier's settings without a pivot's input scaling."""
    return tuple((name, value) for name, value in classifier if not (name.endswith("input_scaling") and value == PIVOT))


def _sets_size(name: str) -> bool:
    """Return whether a parameter sets the number of features that are kept, or the candidates for it."""
    return name in ("tau", "n_components") or name.startswith(CHOOSE)


def _names(settings: Mapping[_Setting, Mapping[str, CellRuns]]) -> dict[_Setting, tuple[str, str]]:
    """Return the name and the classifier of each column.

    Settings of equal name are distinguished by a parameter that is a default of one of them, or by versions.
    """
    classifiers = classifier_names([classifier for _, _, classifier, _ in settings if classifier])
    groups: dict[tuple[str, str], list[_Setting]] = {}
    for setting, problems in settings.items():
        runs = next(iter(problems.values()))
        changed = [setting_text(*item) for item in own_settings(runs.cell).items() if item[0] in runs.changed]
        name = ", ".join([method_label(runs.cell, with_tau=True), *changed])
        groups.setdefault((name, classifiers.get(setting[2], "")), []).append(setting)
    names = {}
    for (name, classifier), group in groups.items():
        everything = [dict(own) | {f"{name} version": n for name, n in versions} for _, own, _, versions in group]
        for setting, different in zip(group, unusual(everything), strict=True):
            texts = [setting_text(*item) for item in different.items()] if len(group) > 1 else []
            names[setting] = ", ".join([name, *texts]), classifier
    return names
