"""The columns of a ranking: runs sorted by their setting, each under a name that tells it from the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pppca_bench.methods.config_sections import METHODS
from pppca_bench.references.published import pivot_hidden
from pppca_bench.reporting.labels import treatment, value_text
from pppca_bench.reporting.summary import CellSummary, last_planned, summarise_runs
from pppca_bench.runs import Parameters, RunSpec, Scalar, Source, StoredRun

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
        found = {problem: cell.quantities.get("error_percent") for problem, cell in self.cells.items()}
        return {problem: summary.mean for problem, summary in found.items() if summary is not None}


def columns(runs: Iterable[StoredRun]) -> list[Column]:
    """Sort runs into columns, one setting each: method, parameters, threshold, data fraction and classifier.

    Choice: networks of the report's pivot architectures are one setting, ``hidden = pivot``, whose widths follow from
    the problem; a width that other problems have as well is a setting of its own beside it.

    Parameters
    ----------
    runs : iterable of (RunSpec, RunResult or None)
        Planned runs and what came of them, those of later plans last; timed runs are left out. Where a cell's repeat
        was planned more than once, the last one counts.

    Returns
    -------
    list of Column
        In the order of plans.
    """
    pairs = _by_setting(run for run in runs if run[0].method != "dgha_speedup")
    settings = list(dict.fromkeys(setting for setting, _ in pairs))
    classifiers = _classifier_names({setting.classifier for setting in settings if setting.classifier})
    places = {setting: (_name(setting), classifiers.get(setting.classifier, "")) for setting in settings}
    found: dict[tuple[str, str], dict[str, list[StoredRun]]] = {}
    for setting, run in pairs:
        found.setdefault(places[setting], {}).setdefault(run[0].problem, []).append(run)
    return [
        Column(*place, {problem: summarise_runs(last_planned(own)) for problem, own in cells.items()})
        for place, cells in found.items()
    ]


def _by_setting(runs: Iterable[StoredRun]) -> list[tuple[RunSpec, StoredRun]]:
    """Pair the runs with their settings: with their widths, or as pivots where only pivots have these widths."""
    found = [(_setting(run[0]), _setting(_with_pivot(run[0])), run) for run in runs]
    widths: dict[RunSpec, set[RunSpec]] = {}
    for plain, pivot, _ in found:
        widths.setdefault(pivot, set()).add(plain)
    of_others = {plain for plain, pivot, _ in found if plain == pivot}
    pairs = []
    for plain, pivot, run in found:
        several = len(widths[pivot]) > 1
        if plain in of_others or not several:
            pairs.append((plain, run))
        if plain != pivot and several:
            pairs.append((pivot, run))
    return pairs


def _setting(spec: RunSpec) -> RunSpec:
    """Return what the runs of a column have in common, in the form of a run."""
    return replace(spec, key="", problem="", repeat=0, seed=0)


def _with_pivot(spec: RunSpec) -> RunSpec:
    hidden = pivot_hidden(spec.problem)
    parameters, classifier = (
        tuple(
            (name, "pivot" if name.rpartition(".")[2] == "hidden" and value == hidden else value) for name, value in s
        )
        for s in (spec.parameters, spec.classifier)
    )
    return replace(spec, parameters=parameters, classifier=classifier)


def _name(setting: RunSpec) -> str:
    centre = tuple((f"parameter.{name}", value) for name, value in setting.parameters if name == "centre")
    method = treatment(Source("", setting.method, setting.tau, setting.data_fraction, centre), with_tau=True)
    fields = METHODS[setting.method].model_fields
    unusual = [
        f"{name} = {value_text(value)}"
        for name, value in setting.parameters
        if name != "centre" and not (name in fields and fields[name].default == value)
    ]
    return ", ".join([method, *unusual])


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
