"""Protocol of estimators: attributes that the runner uses, their validation, and keys of config sections.

An estimator must have

- ``fit(X, y)``, and `transform` if it makes features, `predict` if it makes classes or numbers, or ``measures_`` (a
  mapping of names to numbers) after the fit if it makes only measures.

It may have

- a parameter ``random_state`` of the constructor, which receives the seed of the run;
- a parameter ``estimator`` of the constructor, which receives the config's unfitted classifier for use in `fit`;
- ``X_val`` and ``y_val`` in `fit`, which receive the validation split; ``classes``: all classes, 0 to n_classes − 1;
- after the fit ``history_`` (a mapping of names to arrays, a value or row per step), ``measures_``, ``n_epochs_`` or
  ``n_generations_``, ``n_features_`` (the features that a classifier reads), `inverse_transform`, and
  ``squared_error_percent(X, y)``, which is then also computed for the test split;
- ``test_measures(X, y)``, which is called with the test split and returns a mapping of names to numbers.

No estimator gets the test split. The `fit` of a third-party estimator may lack ``y``. The parameters of the constructor
are the keys of a section in a config.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, get_args

from pppca_bench.base.parameters import REQUIRED, Parameter, checkable, parameters_of
from pppca_bench.errors import ConfigError, nearest
from pppca_bench.methods.entry import Classifier, Entry, Method
from pppca_bench.methods.registry import NETWORK_RULE
from pppca_bench.methods.third_party import output_aside

RUNNER_PARAMETERS = frozenset({"random_state", "estimator", "validation_fraction"})
"""Parameters that the runner sets, not configs."""

_RESERVED = ("rule", "base", "predictions")
"""Names of stored settings that are no parameters."""


@dataclass(frozen=True, slots=True)
class Contract:
    """Class of an estimator, and optional arguments of its constructor and `fit`."""

    estimator: type
    takes_seed: bool  # random_state
    takes_classifier: bool  # estimator
    takes_validation: bool  # X_val and y_val
    takes_classes: bool
    takes_targets: bool  # y
    is_foreign: bool


@cache
def contract_of(entry: Entry, task: str = "classification") -> Contract:
    """Import the estimator of an entry for a task; raise ConfigError if it does not follow the protocol."""
    path = entry.estimator
    if isinstance(entry, Classifier) and task == "approximation":
        path = entry.regressor or entry.estimator
    estimator = import_estimator(path)
    makes = entry.makes if isinstance(entry, Method) else "classes"
    needed = ["fit", *{"features": ["transform"], "classes": ["predict"], "measures": []}[makes]]
    if missing := [name for name in needed if not callable(getattr(estimator, name, None))]:
        is_free = entry.foreign and isinstance(entry, Method)  # to make features or classes
        expected = "fit and transform, or fit and predict" if is_free else " and ".join(needed)
        is_mapped = "transform" in missing and hasattr(estimator, "fit_transform")
        hint = (
            " Its fit_transform alone cannot be applied to the other splits." if is_mapped else ""
        )
        lacking = " and ".join(missing)
        raise ConfigError(
            f"{path}: expected a class with {expected}, got a class without {lacking}.{hint}"
        )
    try:
        constructor, fit = parameters_of(estimator), inspect.signature(estimator.fit).parameters
    except ValueError as error:
        raise ConfigError(
            f"{path}: expected a class whose signatures can be read, got {error}."
        ) from None
    if taken := [name for name in _RESERVED if name in constructor]:
        expected = f"no parameter named {' or '.join(_RESERVED)}, which are keys of every config"
        raise ConfigError(f"{path}: expected {expected}, got {' and '.join(taken)}.")
    if ("X_val" in fit) != ("y_val" in fit):
        raise ConfigError(
            f"{path}: expected fit to take X_val and y_val together, got one of them."
        )
    kinds = [argument.kind for argument in fit.values()]
    # The first two arguments of the unbound method are self and X.
    takes_targets = sum(kind <= inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds) > 2
    return Contract(
        estimator,
        takes_seed="random_state" in constructor,
        takes_classifier="estimator" in constructor,
        takes_validation="X_val" in fit,
        takes_classes="classes" in fit,
        takes_targets=not entry.foreign
        or takes_targets
        or inspect.Parameter.VAR_POSITIONAL in kinds,
        is_foreign=entry.foreign,
    )


def import_estimator(path: str) -> Any:
    """Import a class by dotted path, ``"module:Class"``; raise ConfigError if the import fails."""
    estimator = import_object(path)
    if not isinstance(estimator, type):
        raise ConfigError(f"{path}: expected a class, got {type(estimator).__name__}.")
    return estimator


def import_object(path: str) -> Any:
    """Import any object by dotted path, as `import_estimator` does; what its module prints goes to standard error."""
    module_name, _, name = path.partition(":")
    try:
        with output_aside():
            module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 importing a third-party module may raise anything
        cause = (
            str(error)
            if isinstance(error, ImportError | ValueError)
            else f"{type(error).__name__}: {error}"
        )
        cause = cause.partition("\n")[0]
        raise ConfigError(
            f"{path}: expected module:Class that can be imported, got {cause}."
        ) from None
    try:
        return getattr(module, name)
    except AttributeError as error:
        hint = nearest(name, dir(module))
        raise ConfigError(
            f"{path}: expected module:Class that can be imported, got {error}{hint}."
        ) from None


@cache
def section_of(entry: Entry) -> Mapping[str, Parameter]:
    """Return the parameters that a config may set, by key; third-party parameters keep their names.

    Raises ConfigError if the estimator cannot be imported or breaks the protocol.
    """
    contract, section = contract_of(entry), {}
    for name, parameter in parameters_of(contract.estimator).items():
        is_free = name == "validation_fraction" and entry.foreign and not contract.takes_validation
        if name in RUNNER_PARAMETERS and not is_free:
            continue
        key, kind = name, checkable(parameter.annotation) if entry.foreign else parameter.annotation
        if not entry.foreign:
            key = "hidden" if name == "hidden_layer_sizes" else name
            # Keys of `methods.networks.NETWORK_KEYS`; other networks have other output activations.
            takes_network = key in ("hidden", "input_scaling") or (
                key == "output_activation" and "softsign" in get_args(kind)
            )
            if takes_network:
                kind = Literal[NETWORK_RULE] | kind
        section[key] = Parameter(key, kind, entry.defaults.get(key, parameter.default))
    return MappingProxyType(section)


def describe_parameters(entry: Entry) -> list[dict[str, str]]:
    """Return name, admissible values and default of each key.

    For third-party classes without annotations, types are read from a numpydoc docstring.
    """
    documented = _documented_types(contract_of(entry).estimator) if entry.foreign else {}
    return [
        {
            "parameter": key,
            "values": documented.get(key, "any")
            if parameter.annotation is Any
            else parameter.expected,
            "default": "none: it has to be given"
            if parameter.default is REQUIRED
            else _as_yaml(parameter.default),
        }
        for key, parameter in section_of(entry).items()
    ]


def _as_yaml(value: Any) -> str:
    """Return a value in YAML, such as null, true or [1, 2], or else its repr."""
    try:
        return json.dumps(value, ensure_ascii=False).replace("Infinity", ".inf")
    except (TypeError, ValueError):
        return repr(value)


def _documented_types(estimator: type) -> dict[str, str]:
    """Return types by name from docstring lines ``name : type, default=…``."""
    lines = re.findall(r"^(\w+(?:, \w+)*) *: *(.+)$", inspect.getdoc(estimator) or "", re.MULTILINE)
    kinds = {names: re.sub(r",? *default\b.*$", "", kind) or "any" for names, kind in lines}
    return {name: kind for names, kind in kinds.items() for name in names.split(", ")}


def constructor_arguments(estimator: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a section by constructor parameter."""
    renamed = (
        {"hidden": "hidden_layer_sizes"} if "hidden_layer_sizes" in parameters_of(estimator) else {}
    )
    return {renamed.get(key, key): value for key, value in settings.items()}
