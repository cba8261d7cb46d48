"""Names of what is compared: a method with its thresholds, and settings of one method side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pppca_bench.methods.catalogue import METHODS
from pppca_bench.runs import RunSpec, Scalar, Source

Setting = dict[str, Scalar]


def treatment(source: Source, *, with_tau: bool = False) -> str:
    """Name what was done to a problem, such as ``"DGHA (autocor), 50%"``, with its threshold where asked for."""
    settings = dict(source.settings)
    autocorrelation = " (autocor)" if settings.get("parameter.centre") is False else ""
    fraction = f", {source.data_fraction:g}%" if source.data_fraction is not None else ""
    tau = f", τ = {source.tau:g}" if with_tau and source.tau is not None else ""
    return f"{METHODS[source.method].title}{_network(settings)}{autocorrelation}{fraction}{tau}"


def _network(settings: Mapping[str, object]) -> str:
    hidden = settings.get("classifier.hidden")
    if not isinstance(hidden, tuple):
        return ""
    shortcuts = " with shortcuts" if hidden and settings.get("classifier.shortcuts") else ""
    return f", hidden {' + '.join(map(str, hidden)) or 'none'}{shortcuts}"


def labels(specs: Sequence[RunSpec]) -> list[str]:
    """Name each of the cells that one config asks for by its method and by what is unusual about it.

    Parameters
    ----------
    specs : sequence of RunSpec
        A run of each cell.

    Returns
    -------
    list of str
        Such as ``"DGHA, τ = 15, decay_epochs = 12"``. A parameter is named where it has not the value that most of
        the method's cells have; without such a value it is named everywhere.
    """
    usual = {method: _usual(spec for spec in specs if spec.method == method) for method in {s.method for s in specs}}
    return [", ".join([METHODS[spec.method].title, *_unusual(_settings(spec), usual[spec.method])]) for spec in specs]


def _settings(spec: RunSpec) -> Setting:
    grid: Setting = {"τ": spec.tau, "data_fraction": spec.data_fraction}
    named = {f"classifier.{name}": value for name, value in spec.classifier}
    return grid | dict(spec.parameters) | named


def _usual(specs: Iterable[RunSpec]) -> Setting:
    """Return each parameter's most frequent value; one that has no such value is left out."""
    values: dict[str, Counter[Scalar]] = {}
    for spec in specs:
        for name, value in _settings(spec).items():
            values.setdefault(name, Counter())[value] += 1
    ranked = {name: counts.most_common(2) for name, counts in values.items()}
    return {name: best[0][0] for name, best in ranked.items() if len(best) == 1 or best[0][1] > best[1][1]}


def _unusual(settings: Setting, usual: Setting) -> list[str]:
    given = {name: value for name, value in settings.items() if name not in usual or usual[name] != value}
    return [f"{name} = {value_text(value)}" for name, value in given.items()]


def value_text(value: Scalar) -> str:
    """Write a parameter's value as configs do, but layers with plus signs, such as ``"4 + 2"``."""
    if isinstance(value, tuple):
        return " + ".join(map(value_text, value)) or "none"
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)
