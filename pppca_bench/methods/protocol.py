"""Protocol of estimators: the attributes that the runner uses, and their check.

An estimator of a method or a classifier must have

- ``fit(X, y)``, and `transform` if it makes features, `predict` if it makes classes or numbers, ``measures_`` (a
  mapping of names to numbers) after the fit if it makes only measures.

It may have

- the constructor's parameter ``random_state``: it then gets a seed of the run's own;
- the constructor's parameter ``estimator``: it then gets the config's classifier, unfitted, to use while it learns;
- ``X_val`` and ``y_val`` in `fit`: it then gets the validation split; ``classes``: all classes, 0 to n_classes − 1;
- after the fit ``history_`` (a mapping of names to arrays, a value or row per step), ``measures_``, ``n_epochs_`` or
  ``n_generations_``, ``n_features_`` (the features that a classifier reads), `inverse_transform`, and
  ``squared_error_percent(X, y)``, which is then computed for the test split too.

No estimator gets the test split. The `fit` of a third-party estimator may lack ``y``.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from functools import cache
from typing import Any

from pppca_bench.errors import ConfigError, nearest
from pppca_bench.methods.entry import Classifier, Entry, Method
from pppca_bench.parameters import parameters_of


@dataclass(frozen=True, slots=True)
class Contract:
    """An estimator's class and the optional arguments of its constructor and its `fit`."""

    estimator: type
    takes_seed: bool  # random_state
    takes_classifier: bool  # estimator
    takes_validation: bool  # X_val and y_val
    takes_classes: bool
    takes_targets: bool  # y
    is_foreign: bool


@cache
def contract_of(entry: Entry, task: str = "classification") -> Contract:
    """Import an entry's estimator for a task and check that it follows the protocol; raise ConfigError otherwise."""
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
        hint = " Its fit_transform alone cannot be applied to the other splits." if is_mapped else ""
        lacking = " and ".join(missing)
        raise ConfigError(f"{path}: expected a class with {expected}, got a class without {lacking}.{hint}")
    try:
        constructor, fit = parameters_of(estimator), inspect.signature(estimator.fit).parameters
    except ValueError as error:
        raise ConfigError(f"{path}: expected a class whose signatures can be read, got {error}.") from None
    # Keys with another meaning in a section, and those of stored parameters.
    reserved = ("rule", "base")
    if isinstance(entry, Method):
        reserved = (*(() if entry.foreign else ("method", "repeats", "classifier")), "portrait", "predictions")
    if taken := [name for name in reserved if name in constructor]:
        raise ConfigError(
            f"{path}: expected no parameter named {' or '.join(reserved)}, which are keys of every config,"
            f" got {' and '.join(taken)}."
        )
    if ("X_val" in fit) != ("y_val" in fit):
        raise ConfigError(f"{path}: expected fit to take X_val and y_val together, got one of them.")
    kinds = [argument.kind for argument in fit.values()]
    # Seen from the class, the first two arguments are self and X.
    takes_targets = sum(kind <= inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds) > 2
    return Contract(
        estimator,
        takes_seed="random_state" in constructor,
        takes_classifier="estimator" in constructor,
        takes_validation="X_val" in fit,
        takes_classes="classes" in fit,
        takes_targets=not entry.foreign or takes_targets or inspect.Parameter.VAR_POSITIONAL in kinds,
        is_foreign=entry.foreign,
    )


def import_estimator(path: str) -> Any:
    """Import a class by its dotted path, ``"module:Class"``; raises ConfigError if that fails for any reason."""
    estimator = import_object(path)
    if not isinstance(estimator, type):
        raise ConfigError(f"{path}: expected a class, got {type(estimator).__name__}.")
    return estimator


def import_object(path: str) -> Any:
    """Import the object at a dotted path, as `import_estimator` does."""
    module_name, _, name = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 importing a third-party module may raise anything
        cause = str(error) if isinstance(error, ImportError | ValueError) else f"{type(error).__name__}: {error}"
        cause = cause.partition("\n")[0]
        raise ConfigError(f"{path}: expected module:Class that can be imported, got {cause}.") from None
    try:
        return getattr(module, name)
    except AttributeError as error:
        hint = nearest(name, dir(module))
        raise ConfigError(f"{path}: expected module:Class that can be imported, got {error}{hint}.") from None
