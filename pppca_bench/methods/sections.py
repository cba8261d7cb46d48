"""The keys that a config may give a method or a classifier: the parameters of its estimator's constructor."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, get_args

from pppca_bench.methods.entry import Entry
from pppca_bench.methods.protocol import contract_of
from pppca_bench.parameters import REQUIRED, Parameter, parameters_of, readable

GIVEN_BY_THE_RUNNER = frozenset({"random_state", "estimator", "validation_fraction"})
"""Parameters that no config sets."""

PIVOT = "pivot"
"""Value of the keys `PIVOTAL`: what the Proben1 report's pivot architecture of the problem has there."""

PIVOTAL = ("hidden", "output_activation")

PORTRAIT = "portrait"
"""Key of every method that makes features: whether a run stores what a figure of it is drawn from. It changes no number
and is among a cell's parameters only where it is true, for such a run is another one to the store."""

PREDICTIONS = "predictions"
"""Key of a config: whether its runs store what they predict for the test split. As `PORTRAIT`, it changes no number."""

STORED_BESIDE = frozenset({PORTRAIT, PREDICTIONS})
"""Parameters of a cell that say what is stored, and are none of an estimator."""

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
    if entry.foreign:
        return MappingProxyType(_foreign_section(entry))
    found = {}
    for name, parameter in parameters_of(contract_of(entry).estimator).items():
        if name not in GIVEN_BY_THE_RUNNER:
            key = _KEYS.get(name, name)
            kind: Any = (
                Literal["pivot"] | parameter.annotation if _may_be_pivot(key, parameter) else parameter.annotation
            )
            found[key] = Parameter(key, kind, entry.defaults.get(key, parameter.default))
    return MappingProxyType(found)


def _foreign_section(entry: Entry) -> dict[str, Parameter]:
    """Return a foreign constructor's parameters under its own names; what it annotates oddly may be any value."""
    contract = contract_of(entry)
    given = GIVEN_BY_THE_RUNNER - (set() if contract.takes_validation else {"validation_fraction"})
    return {
        name: Parameter(name, readable(one.annotation), entry.defaults.get(name, one.default))
        for name, one in parameters_of(contract.estimator).items()
        if name not in given
    }


def parameters_told(entry: Entry) -> list[dict[str, str]]:
    """Return what a reader wants to know of each key: its name, what its values may be, and its default.

    Where a foreign class annotates nothing, its values are those that its docstring names, in numpydoc's form.
    """
    documented = _documented_types(contract_of(entry).estimator) if entry.foreign else {}
    return [
        {
            "parameter": key,
            "values": documented.get(key, "any") if one.annotation is Any else one.expected,
            "default": "none: it has to be given" if one.default is REQUIRED else _as_in_a_config(one.default),
        }
        for key, one in section_of(entry).items()
    ]


def _as_in_a_config(value: Any) -> str:
    """Return a value as a config has it: null, true, [1, 2]; what no config can hold as Python does."""
    try:
        return json.dumps(value, ensure_ascii=False).replace("Infinity", ".inf")
    except (TypeError, ValueError):
        return repr(value)


def _documented_types(estimator: type) -> dict[str, str]:
    """Return what stands after the colon of a docstring's lines ``name : type, default=…``."""
    lines = re.findall(r"^(\w+(?:, \w+)*) *: *(.+)$", inspect.getdoc(estimator) or "", re.MULTILINE)
    kinds = {names: re.sub(r",? *default\b.*$", "", kind) or "any" for names, kind in lines}
    return {name: kind for names, kind in kinds.items() for name in names.split(", ")}


def _may_be_pivot(key: str, parameter: Parameter) -> bool:
    """Tell whether every pivot architecture's value is one of the parameter's."""
    return key in PIVOTAL and (key == "hidden" or "softsign" in get_args(parameter.annotation))


def constructor_arguments(estimator: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section's values by the constructor's names."""
    own = parameters_of(estimator)
    names = {name: name for name in own} | {_KEYS.get(name, name): name for name in own}
    return {names[key]: value for key, value in settings.items()}
