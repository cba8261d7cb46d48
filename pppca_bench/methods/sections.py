"""The keys that a config may give a method or a classifier: the parameters of its estimator's constructor."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, get_args

from pppca_bench.methods.entry import Entry
from pppca_bench.methods.protocol import contract_of
from pppca_bench.parameters import Parameter, parameters_of

GIVEN_BY_THE_RUNNER = frozenset({"random_state", "estimator", "validation_fraction"})
"""Parameters that no config sets."""

PIVOT = "pivot"
"""Value of the keys `PIVOTAL`: what the Proben1 report's pivot architecture of the problem has there."""

PIVOTAL = ("hidden", "output_activation")

PORTRAIT = "portrait"
"""Key of every method that makes features: whether a run stores what a figure of it is drawn from. It changes no number
and is among a cell's parameters only where it is true, for such a run is another one to the store."""

_KEYS = {"hidden_layer_sizes": "hidden"}
"""Keys of a config that are not named as the parameter is."""


@cache
def section_of(entry: Entry) -> Mapping[str, Parameter]:
    """Return the parameters that a config may set, by key.

    Raises
    ------
    ConfigError
        The estimator cannot be imported or breaks the protocol.
    """
    found = {}
    for name, parameter in parameters_of(contract_of(entry).estimator).items():
        if name not in GIVEN_BY_THE_RUNNER:
            key = _KEYS.get(name, name)
            kind: Any = (
                Literal["pivot"] | parameter.annotation if _may_be_pivot(key, parameter) else parameter.annotation
            )
            found[key] = Parameter(key, kind, entry.defaults.get(key, parameter.default))
    return MappingProxyType(found)


def _may_be_pivot(key: str, parameter: Parameter) -> bool:
    """Tell whether every pivot architecture's value is one of the parameter's."""
    return key in PIVOTAL and (key == "hidden" or "softsign" in get_args(parameter.annotation))


def constructor_arguments(estimator: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section's values by the constructor's names."""
    names = {_KEYS.get(name, name): name for name in parameters_of(estimator)}
    return {names[key]: value for key, value in settings.items()}
