"""Labels of cells in tables: a method, with the settings that distinguish it from the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from pppca_bench.methods.lookup import stored_method, title_of
from pppca_bench.methods.protocol import STORED_BESIDE
from pppca_bench.runs import AUTO, CHOOSE, Cell, Parameters, Scalar

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)

_ABSENT: Any = object()
"""Value of a setting that a cell does not have."""

_NAMED_FIRST = ("rule", "base.rule", "hidden", "shortcuts")
_NOTHING: Mapping[Cell, Collection[str]] = MappingProxyType({})


def method_label(cell: Cell, *, with_tau: bool = False) -> str:
    """Name a cell's method, such as ``"DGHA (autocor), 50%"``."""
    entry, parameters = stored_method(cell.method), dict(cell.parameters)
    labels = entry.labels if entry else {}
    words = "".join(f" ({labels[item]})" for item in cell.parameters if item in labels)
    parts, tau = [f"{title_of(cell.method)}{words}"], parameters.get("tau")
    if (fraction := parameters.get("data_fraction")) is not None:
        parts.append("data fraction = auto" if fraction == AUTO else f"{value_text(fraction)}%")
    if with_tau and tau is not None:
        parts.append(f"τ = {value_text(tau)}")
    return ", ".join(parts)


def own_settings(cell: Cell) -> dict[str, Scalar]:
    """Return the parameters that `method_label` leaves out, except those of choices and of stored extras."""
    entry = stored_method(cell.method)
    labels = entry.labels if entry else {}
    left_out = {"tau", "data_fraction"} | STORED_BESIDE
    return {
        name: value
        for name, value in cell.parameters
        if name not in left_out and not name.startswith(CHOOSE) and (name, value) not in labels
    }


def distinct_labels(
    cells: Iterable[Cell], *, with_tau: bool = False, changed: Mapping[Cell, Collection[str]] = _NOTHING
) -> dict[Cell, str]:
    """Name cells so that no two of the same problem and threshold have the same name.

    A name means the same setting at every problem and threshold, such as ``"DGHA, 100%, decay_epochs = 12"``. A
    parameter of the method is named unless it has the value that most cells of the method have. A classifier is named
    by the fewest settings that distinguish it, and not at all if most cells have it. The data's digest and the
    algorithms' versions are named if all else is the same.

    Parameters
    ----------
    cells : iterable of Cell
        All cells that may be listed together.
    with_tau : bool, default False
        Whether thresholds are part of the name.
    changed : mapping of Cell to collection of str, optional
        Parameters that are always named.
    """
    parts = {cell: [method_label(cell, with_tau=with_tau)] for cell in cells}
    for group in grouped(parts, method_label).values():
        for cell, names in zip(group, unusual([own_settings(cell) for cell in group]), strict=True):
            named = {name: value for name, value in own_settings(cell).items() if name in changed.get(cell, ())} | names
            parts[cell] += [setting_text(name, value) for name, value in sorted(named.items())]
    classifiers = [cell.classifier for cell in parts if cell.classifier]
    names_of, usual = classifier_names(classifiers), _most_frequent(classifiers)
    for cell, texts in parts.items():
        if cell.classifier not in usual and (text := names_of.get(cell.classifier)):
            texts.append(f"classifier ({text})")
    for facts in _FURTHER:
        for group in grouped(parts, lambda cell: (cell.problem, *parts[cell])).values():
            for cell, text in zip(group, facts(group), strict=True):
                parts[cell] += [text] if text and len(group) > 1 else []
    return {cell: ", ".join(texts) for cell, texts in parts.items()}


def classifier_names(classifiers: Iterable[Parameters]) -> dict[Parameters, str]:
    """Name each classifier by the fewest settings that distinguish it, such as ``"rprop, hidden = 16"``."""
    different = list(dict.fromkeys(classifiers))
    others = {name for classifier in different for name, _ in classifier if name not in _NAMED_FIRST}
    texts = _distinguished(different, [*_NAMED_FIRST, *sorted(others)])
    return {classifier: ", ".join(own) for classifier, own in texts.items()}


def unusual(settings: Sequence[Mapping[str, Scalar]]) -> list[dict[str, Scalar]]:
    """Return the values of each mapping that are not the most frequent; a missing value counts as a value."""
    names = dict.fromkeys(name for own in settings for name in own)
    usual = {name: _most_frequent([own.get(name, _ABSENT) for own in settings]) for name in names}
    return [{name: value for name in names if (value := own.get(name, _ABSENT)) not in usual[name]} for own in settings]


def setting_text(name: str, value: Scalar) -> str:
    """Write a setting, such as ``"n_epochs = 50"``."""
    if name.startswith(CHOOSE) and isinstance(value, tuple):
        return f"{name} = {', '.join(map(value_text, value))}"
    return f"no {name}" if value is _ABSENT else f"{name} = {value_text(value)}"


def value_text(value: Scalar) -> str:
    """Write a setting's value as configs do, but layers with plus signs, such as ``"4 + 2"``."""
    if isinstance(value, tuple):
        return " + ".join(map(value_text, value)) or "none"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        short = f"{value:.12g}"
        return short if float(short) == value else repr(value)
    return str(value)


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return the items of each key, in their order."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _most_frequent(values: Sequence[Any]) -> list[Any]:
    """Return a list of the most frequent value; it is empty if several values are equally frequent."""
    ranked = Counter(values).most_common(2)
    return [ranked[0][0]] if ranked and (len(ranked) == 1 or ranked[0][1] > ranked[1][1]) else []


def _distinguished(classifiers: Sequence[Parameters], names: Sequence[str]) -> dict[Parameters, list[str]]:
    """Return for each classifier its first settings, in the order of the names, that distinguish it from the others."""
    if len(classifiers) < 2 or not names:
        return {classifier: [] for classifier in classifiers}
    name, *rest = names
    groups = grouped(classifiers, lambda classifier: dict(classifier).get(name, _ABSENT))
    distinguished: dict[Parameters, list[str]] = {}
    for value, group in groups.items():
        text = value_text(value) if name == "rule" else setting_text(name, value)
        own = [text] if len(groups) > 1 else []
        distinguished |= {classifier: own + more for classifier, more in _distinguished(group, rest).items()}
    return distinguished


def _if_different(texts: Sequence[str]) -> Sequence[str]:
    return texts if len(set(texts)) > 1 else [""] * len(texts)


def _unusual_texts(settings: Sequence[Mapping[str, Scalar]]) -> list[str]:
    return [", ".join(setting_text(*item) for item in own.items()) for own in unusual(settings)]


_FURTHER: Sequence[Callable[[Sequence[Cell]], Sequence[str]]] = (
    lambda cells: _if_different([cell.method for cell in cells]),  # classes of the same name in different modules
    lambda cells: _if_different([f"data {cell.data_sha256[:8]}" for cell in cells]),
    lambda cells: _unusual_texts([{f"{name} version": number for name, number in cell.algorithms} for cell in cells]),
    # A threshold or a classifier that some cells do not have.
    lambda cells: _unusual_texts(
        [{name: value for name, value in cell.settings.items() if name != "tau" or value is None} for cell in cells]
    ),
)
"""Facts that are named, in this order, while cells of one problem have the same name."""
