"""Settings of methods: labels of cells in tables, and the runs of each setting over problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from pppca_bench.methods.lookup import stored_method, title_of
from pppca_bench.methods.networks import has_published_network, rule_named
from pppca_bench.methods.protocol import STORAGE_FLAGS
from pppca_bench.reporting.summary import CellRuns
from pppca_bench.runs import (
    ABSENT,
    AUTO,
    CHOOSE,
    DATA_FRACTION,
    SIGNS,
    THRESHOLD,
    Cell,
    Key,
    Parameters,
    Scalar,
    distinguish,
    grouped,
    written,
)

_NAMED_FIRST = ("rule", "base.rule", "hidden", "shortcuts")
_NOTHING: Mapping[Cell, Collection[str]] = MappingProxyType({})


def method_label(cell: Cell, *, with_tau: bool = False) -> str:
    """Name a cell's method, such as ``"DGHA (autocor), 50%"``."""
    entry, parameters = stored_method(cell.method), dict(cell.parameters)
    labels = entry.labels if entry else {}
    words = "".join(f" ({labels[item]})" for item in cell.parameters if item in labels)
    parts = [f"{title_of(cell.method)}{words}"]
    if (fraction := parameters.get(DATA_FRACTION)) is not None:
        sign = "data fraction = {}" if fraction == AUTO else SIGNS[DATA_FRACTION]
        parts.append(sign.format(value_text(fraction)))
    if with_tau and (tau := parameters.get(THRESHOLD)) is not None:
        parts.append(SIGNS[THRESHOLD].format(value_text(tau)))
    return ", ".join(parts)


def own_settings(cell: Cell) -> dict[str, Scalar]:
    """Return the parameters that `method_label` leaves out, without choices and stored extras."""
    entry = stored_method(cell.method)
    labels = entry.labels if entry else {}
    left_out = SIGNS.keys() | STORAGE_FLAGS
    return {
        name: value
        for name, value in cell.parameters
        if name not in left_out and not name.startswith(CHOOSE) and (name, value) not in labels
    }


def only_measures(cell: Cell) -> bool:
    """Return whether a cell's method only measures, without a classifier."""
    entry = stored_method(cell.method)
    return entry is not None and entry.makes == "measures"


def distinct_labels(
    cells: Iterable[Cell],
    *,
    with_tau: bool = False,
    changed: Mapping[Cell, Collection[str]] = _NOTHING,
) -> dict[Cell, str]:
    """Name cells uniquely among the cells of a problem and threshold.

    A name means the same setting for every problem and threshold, such as ``"DGHA, 100%, decay_epochs = 12"``. A
    parameter of the method is named unless it has the most frequent value of the method's cells. A classifier is named
    by the fewest settings that distinguish it, and not at all if it is the most frequent. The data's digest and the
    algorithms' versions are named if everything else is the same. ``cells`` are all cells that may be listed together;
    the parameters in ``changed`` are named in any case.
    """
    labels = {cell: method_label(cell, with_tau=with_tau) for cell in cells}
    for group in grouped(labels, method_label).values():
        for cell, unusual in zip(
            group, distinguish([own_settings(cell) for cell in group]), strict=True
        ):
            labels[cell] = _with_settings(
                labels[cell], _named(cell, changed.get(cell, ())) | unusual
            )
    classifiers = _classifiers(cell for cell in labels if cell.classifier)
    names = classifier_labels(classifiers.values())
    for (cell, classifier), unusual in zip(
        classifiers.items(),
        distinguish([{"": parameters} for parameters in classifiers.values()]),
        strict=True,
    ):
        if unusual and (text := names[classifier]):
            labels[cell] += f", classifier ({text})"
    for facts in _FACTS:
        _complete(labels, lambda cell: cell.problem, facts)
    return labels


def classifier_labels(classifiers: Iterable[Parameters]) -> dict[Parameters, str]:
    """Name each classifier by the fewest settings that distinguish it, such as ``"rprop, hidden = 16"``."""
    settings = {classifier: dict(classifier) for classifier in classifiers}
    names = [*_NAMED_FIRST, *sorted(set().union(*settings.values()) - {*_NAMED_FIRST})]
    every = [dict.fromkeys(names, ABSENT) | given for given in settings.values()]
    return {
        classifier: ", ".join(
            setting_text(*item).removeprefix("rule = ") for item in distinct.items()
        )
        for classifier, distinct in zip(settings, distinguish(every, names), strict=True)
    }


def _named(cell: Cell, names: Collection[str]) -> dict[str, Scalar]:
    return {name: value for name, value in own_settings(cell).items() if name in names}


def _with_settings(label: str, settings: Mapping[str, Scalar]) -> str:
    return ", ".join([label, *(setting_text(*item) for item in sorted(settings.items()))])


def _complete(
    labels: dict[Key, str],
    scope: Callable[[Key], object],
    facts: Callable[[Sequence[Key]], Sequence[str]],
) -> None:
    """Add facts, a text for each item, to the labels that are equal among the items of a scope, if the facts differ."""
    for group in grouped(labels, lambda item: (scope(item), labels[item])).values():
        texts = facts(group) if len(group) > 1 else ()
        for item, text in zip(group, texts, strict=True) if len(set(texts)) > 1 else ():
            labels[item] += f", {text}" if text else ""


def setting_text(name: str, value: Scalar) -> str:
    """Write a setting, such as ``"n_epochs = 50"``."""
    if name.startswith(CHOOSE) and isinstance(value, tuple):
        return f"{name} = {', '.join(map(value_text, value))}"
    return f"{name} not set" if value is ABSENT else f"{name} = {value_text(value)}"


def value_text(value: Scalar) -> str:
    """Write a setting's value as configs do, but layers with plus signs, such as ``"4 + 2"``."""
    return (
        (" + ".join(map(written, value)) or "none") if isinstance(value, tuple) else written(value)
    )


def _unusual(settings: Sequence[Mapping[str, Scalar]]) -> list[str]:
    return [
        ", ".join(setting_text(*item) for item in unusual.items())
        for unusual in distinguish(settings)
    ]


def _versions(algorithms: Iterable[tuple[str, int | str]]) -> dict[str, Scalar]:
    return {f"{name} version": number for name, number in algorithms}


_FACTS: Sequence[Callable[[Sequence[Cell]], Sequence[str]]] = (
    # classes of the same name in different modules
    lambda cells: [cell.method for cell in cells],
    lambda cells: [f"data {cell.data_sha256[:8]}" for cell in cells],
    lambda cells: _unusual([_versions(cell.algorithms) for cell in cells]),
    # A threshold or a classifier that only some cells have.
    lambda cells: _unusual(
        [
            {
                name: value
                for name, value in cell.settings.items()
                if name != THRESHOLD or value is None
            }
            for cell in cells
        ]
    ),
)
"""Facts that are added, in this order, to equal names of cells of a problem."""


class Setting(NamedTuple):
    """Runs of a setting of a method: its parameters, classifier and versions."""

    name: str  # the method with its thresholds and every parameter that does not have its default value
    classifier: str  # the fewest settings that distinguish it from the other settings' classifiers; "" if all are equal
    cells: Mapping[str, CellRuns]  # by problem; data of equal name have their digest in the key


def settings_of(cells: Mapping[Cell, CellRuns]) -> list[Setting]:
    """Group runs by setting, in the order of plans; methods that only measure are left out.

    Settings of equal name are distinguished by a parameter that is a default of only some of them, or by versions.
    """
    ranked = [cell for cell in cells if not only_measures(cell)]
    n_data = Counter(
        problem for problem, _ in {(cell.problem, cell.data_sha256) for cell in ranked}
    )
    classifiers = _classifiers(ranked)
    groups = grouped(
        ranked, lambda cell: (cell.method, cell.parameters, classifiers[cell], cell.algorithms)
    )
    short = classifier_labels(classifier for _, _, classifier, _ in groups if classifier)
    names = {
        key: _with_settings(
            method_label(group[0], with_tau=True), _named(group[0], cells[group[0]].changed)
        )
        for key, group in groups.items()
    }
    _complete(
        names,
        lambda key: short.get(key[2], ""),
        lambda keys: _unusual(
            [dict(parameters) | _versions(versions) for _, parameters, _, versions in keys]
        ),
    )
    return [
        Setting(
            names[key],
            short.get(key[2], ""),
            {_data_name(cell, n_data[cell.problem]): cells[cell] for cell in group},
        )
        for key, group in groups.items()
    ]


def _data_name(cell: Cell, n_data: int) -> str:
    return f"{cell.problem}, data {cell.data_sha256[:8]}" if n_data > 1 else cell.problem


def setting_labels(settings: Sequence[Setting], of: Collection[Setting] | None = None) -> list[str]:
    """Return labels of settings, without the classifier if all settings in ``of`` (default: ``settings``) share it."""
    classifiers = {setting.classifier for setting in (settings if of is None else of)} - {""}
    omitted = {"", *classifiers} if len(classifiers) == 1 else {""}
    return [
        setting.name if setting.classifier in omitted else f"{setting.name}, {setting.classifier}"
        for setting in settings
    ]


def _classifiers(cells: Iterable[Cell]) -> dict[Cell, Parameters]:
    """Return the classifiers of cells, with the input scaling of named networks.

    Cells of problems with a published network do not name it; cells of other data do.
    """
    classifiers = {cell: cell.classifier for cell in cells}
    shown = {_as_published(each): each for each in sorted(classifiers.values(), key=len)}
    return {
        cell: shown[each] if has_published_network(cell.problem) else each
        for cell, each in classifiers.items()
    }


def _as_published(classifier: Parameters) -> Parameters:
    """Return a classifier's settings without the input scaling of a named network."""
    return tuple(
        (name, value)
        for name, value in classifier
        if not (name.endswith("input_scaling") and rule_named(value))
    )
