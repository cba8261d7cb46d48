"""Config sections of methods and classifiers: their keys are the parameters of the estimators' constructors."""

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
from pppca_bench.parameters import REQUIRED, Parameter, checkable, parameters_of

GIVEN_BY_THE_RUNNER = frozenset({"random_state", "estimator", "validation_fraction"})
"""Parameters that no config sets."""

PIVOT = "pivot"
"""Value of the keys `PIVOTAL` that stands for the pivot architecture of the Proben1 report, or for `rule_network`."""

PIVOTAL = ("hidden", "output_activation", "input_scaling")

PORTRAIT = "portrait"
"""Key of every method that makes features: whether a run stores the data of its figure. It changes no result; a cell
has it among its parameters only if it is true, since the store must distinguish such runs."""

PREDICTIONS = "predictions"
"""Key of a config: whether its runs store their predictions for the test split. As `PORTRAIT`, it changes no result."""

STORED_BESIDE = frozenset({PORTRAIT, PREDICTIONS})
"""Parameters of a cell that no estimator takes."""


@cache
def section_of(entry: Entry) -> Mapping[str, Parameter]:
    """Return the parameters that a config may set, by key; those of a third-party class keep their names.

    Raises ConfigError if the estimator cannot be imported or breaks the protocol.
    """
    contract, section = contract_of(entry), {}
    for name, parameter in parameters_of(contract.estimator).items():
        is_free = name == "validation_fraction" and entry.foreign and not contract.takes_validation
        if name in GIVEN_BY_THE_RUNNER and not is_free:
            continue
        key, kind = name, checkable(parameter.annotation) if entry.foreign else parameter.annotation
        if not entry.foreign:
            key = "hidden" if name == "hidden_layer_sizes" else name
            if key in ("hidden", "input_scaling") or (key in PIVOTAL and "softsign" in get_args(kind)):
                kind = Literal["pivot"] | kind
        section[key] = Parameter(key, kind, entry.defaults.get(key, parameter.default))
    return MappingProxyType(section)


def describe_parameters(entry: Entry) -> list[dict[str, str]]:
    """Return the name of each key, its admissible values and its default.

    Where a third-party class has no annotation, the type is that of its docstring, in numpydoc's form.
    """
    documented = _documented_types(contract_of(entry).estimator) if entry.foreign else {}
    return [
        {
            "parameter": key,
            "values": documented.get(key, "any") if parameter.annotation is Any else parameter.expected,
            "default": "none: it has to be given" if parameter.default is REQUIRED else _as_yaml(parameter.default),
        }
        for key, parameter in section_of(entry).items()
    ]


def _as_yaml(value: Any) -> str:
    """Return a value as a config has it, such as null, true or [1, 2], else its repr."""
    try:
        return json.dumps(value, ensure_ascii=False).replace("Infinity", ".inf")
    except (TypeError, ValueError):
        return repr(value)


def _documented_types(estimator: type) -> dict[str, str]:
    """Return the types in a docstring's lines ``name : type, default=…``."""
    lines = re.findall(r"^(\w+(?:, \w+)*) *: *(.+)$", inspect.getdoc(estimator) or "", re.MULTILINE)
    kinds = {names: re.sub(r",? *default\b.*$", "", kind) or "any" for names, kind in lines}
    return {name: kind for names, kind in kinds.items() for name in names.split(", ")}


def constructor_arguments(estimator: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a section by the names of the constructor."""
    renamed = {"hidden": "hidden_layer_sizes"} if "hidden_layer_sizes" in parameters_of(estimator) else {}
    return {renamed.get(key, key): value for key, value in settings.items()}
