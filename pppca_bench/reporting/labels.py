"""Names of cells in tables: a method with what distinguishes it from the others beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from pppca_bench.methods.registry import METHODS
from pppca_bench.runs import Cell, Scalar


def method_label(cell: Cell, *, with_tau: bool = False) -> str:
    """Name a cell's method, such as ``"DGHA (autocor), 50%"``, with its threshold where asked for."""
    entry, parameters = METHODS.get(cell.method), dict(cell.parameters)
    labels = entry.labels if entry else {}
    told = "".join(f" ({labels[item]})" for item in cell.parameters if item in labels)
    fraction, tau = parameters.get("data_fraction"), parameters.get("tau")
    parts = [f"{entry.title if entry else cell.method}{told}"]
    if fraction is not None:
        parts.append(f"{value_text(fraction)}%")
    if with_tau and tau is not None:
        parts.append(f"τ = {value_text(tau)}")
    return ", ".join(parts)


def distinct_labels(cells: Sequence[Cell], *, with_tau: bool = False) -> list[str]:
    """Name cells so that no two have the same name.

    Parameters
    ----------
    cells : sequence of Cell
        All different.
    with_tau : bool, default False
        Whether thresholds are part of the name.

    Returns
    -------
    list of str
        Such as ``"DGHA, τ = 15, decay_epochs = 12"``. Among cells of one name a setting is added where it has not
        the value that most of them have; without such a value it is added everywhere; at last the data's digest, and
        the algorithms' versions.
    """
    groups: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        tau = dict(cell.parameters).get("tau") if not with_tau else None
        groups.setdefault((cell.problem, method_label(cell, with_tau=with_tau), tau), []).append(cell)
    added = {cell: text for group in groups.values() for cell, text in zip(group, _added(group), strict=True)}
    return [", ".join([method_label(cell, with_tau=with_tau), *added[cell]]) for cell in cells]


def settings_text(cell: Cell, names: Collection[str]) -> str:
    """Write the values of some settings, such as ``"n_epochs = 50, classifier.rule = backprop"``."""
    return ", ".join(f"{name} = {value_text(value)}" for name, value in cell.settings.items() if name in names)


def value_text(value: Scalar) -> str:
    """Write a setting's value as configs do, but layers with plus signs, such as ``"4 + 2"``."""
    if isinstance(value, tuple):
        return " + ".join(map(value_text, value)) or "none"
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return f"{value:.17g}" if isinstance(value, float) and float(f"{value:.12g}") != value else _short(value)


def _short(value: Scalar) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _added(group: Sequence[Cell]) -> list[list[str]]:
    """Return for each cell of one name what tells it from the others."""
    if len(group) == 1:
        return [[]]
    names = list(dict.fromkeys(name for cell in group for name in cell.settings))
    usual = {name: _usual([cell.settings.get(name) for cell in group]) for name in names}
    added = [
        [
            f"{name} = {value_text(value)}"
            for name, value in cell.settings.items()
            if not usual[name] or value not in usual[name]
        ]
        for cell in group
    ]
    for origin in (
        [f"data {cell.data_sha256[:8]}" for cell in group],
        [" ".join(f"{name} {version}" for name, version in cell.algorithms) for cell in group],
    ):
        if len({tuple(texts) for texts in added}) < len(group) and len(set(origin)) > 1:
            added = [[*texts, one] for texts, one in zip(added, origin, strict=True)]
    return added


def _usual(values: Sequence[Scalar]) -> list[Scalar]:
    """Return the most frequent value, in a list that is empty where several are as frequent."""
    first, *others = Counter(values).most_common(2)
    return [] if others and others[0][1] == first[1] else [first[0]]
