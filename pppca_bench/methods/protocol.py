"""What the runner and an estimator owe each other, and the check that a class keeps its part.

An estimator of a method or a classifier must have

- ``fit(X, y)``, and `transform` where it makes features, `predict` where it makes classes or numbers, ``measures_``
  (a mapping of names to numbers) after the fit where it makes only measures.

It may have

- the constructor's parameter ``random_state``: it then gets a seed of the run's own;
- the constructor's parameter ``estimator``: it then gets the config's classifier, unfitted, to ask while it learns;
- ``X_val`` and ``y_val`` in `fit`: it then gets the validation split; ``classes``: all classes, 0 to n_classes − 1;
- after the fit ``history_`` (a mapping of names to arrays, a value or row a step), ``measures_``, ``n_epochs_`` or
  ``n_generations_``, ``n_features_`` (the features that a classifier reads), `inverse_transform`, and
  ``squared_error_percent(X, y)``, which is then asked for the test split too.

Nobody gets the test split. An estimator from elsewhere may have a `fit` that takes no ``y``.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pppca_bench.errors import ConfigError, nearest
from pppca_bench.importing import quick_imports
from pppca_bench.methods.entry import Classifier, Entry, Method
from pppca_bench.parameters import parameters_of


@dataclass(frozen=True, slots=True)
class Contract:
    """Say what an estimator takes beside the training split.

    Attributes
    ----------
    estimator : type
        The class.
    takes_seed : bool
        ``random_state`` in the constructor.
    takes_classifier : bool
        ``estimator`` in the constructor.
    takes_validation : bool
        ``X_val`` and ``y_val`` in `fit`.
    takes_classes : bool
        ``classes`` in `fit`.
    takes_targets : bool
        A second argument, ``y``, in `fit`.
    is_foreign : bool
        Whether the class is none of this package's.
    """

    estimator: type
    takes_seed: bool
    takes_classifier: bool
    takes_validation: bool
    takes_classes: bool
    takes_targets: bool
    is_foreign: bool


@cache
def contract_of(entry: Entry, task: str = "classification") -> Contract:
    """Import an entry's estimator and check that it keeps the protocol of this module.

    Parameters
    ----------
    entry : Entry
    task : {"classification", "approximation"}
        A classifier's entry may have another class for approximation (`Classifier.regressor`).

    Raises
    ------
    ConfigError
        The path names no class, or the class lacks a method that it must have.
    """
    path = entry.estimator
    if isinstance(entry, Classifier) and task == "approximation":
        path = entry.regressor or entry.estimator
    estimator = import_estimator(path)
    needed = {"features": ["transform"], "classes": ["predict"], "measures": []}
    made = entry.makes if isinstance(entry, Method) else "classes"
    missing = [name for name in ["fit", *needed[made]] if not callable(getattr(estimator, name, None))]
    if missing:
        raise ConfigError(
            f"{path}: expected a class with {' and '.join(['fit', *needed[made]])},"
            f" got one without {' and '.join(missing)}."
        )
    try:
        constructor, fit = parameters_of(estimator), inspect.signature(estimator.fit).parameters
    except ValueError as error:
        raise ConfigError(f"{path}: expected a class whose signatures can be read, got {error}.") from None
    reserved = _reserved(entry)
    if taken := [name for name in reserved if name in constructor]:
        raise ConfigError(
            f"{path}: expected no parameter named {' or '.join(reserved)}, which are keys of every config,"
            f" got {' and '.join(taken)}."
        )
    if ("X_val" in fit) != ("y_val" in fit):
        raise ConfigError(f"{path}: expected fit to take X_val and y_val together, got one of them.")
    return Contract(
        estimator,
        takes_seed="random_state" in constructor,
        takes_classifier="estimator" in constructor,
        takes_validation="X_val" in fit,
        takes_classes="classes" in fit,
        takes_targets=not entry.foreign or _takes_targets(fit),
        is_foreign=entry.foreign,
    )


def _reserved(entry: Entry) -> tuple[str, ...]:
    """Return the names that mean something else where a section's parameters are stored or written."""
    if isinstance(entry, Method):
        stored = ("portrait", "predictions")
        return stored if entry.foreign else ("method", "repeats", "classifier", *stored)
    return ("rule", "base")


def _takes_targets(fit: Mapping[str, inspect.Parameter]) -> bool:
    """Tell whether `fit`, seen from the class, takes an argument after ``self`` and ``X``, or any."""
    places = [one for one in fit.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return len(places) > 2 or any(one.kind is one.VAR_POSITIONAL for one in fit.values())


def import_estimator(path: str) -> Any:
    """Import a class by its dotted path.

    Parameters
    ----------
    path : str
        ``"module:Class"``.

    Raises
    ------
    ConfigError
        There is no such module or class, or to import it raises an error.
    """
    found = import_object(path)
    if not isinstance(found, type):
        raise ConfigError(f"{path}: expected a class, got {type(found).__name__}.")
    return found


def import_object(path: str) -> Any:
    """Import what a dotted path names, ``"module:name"``; raises ConfigError where that fails, whatever the cause."""
    module_name, _, name = path.partition(":")
    try:
        with quick_imports():  # scikit-learn, which most estimators build on, takes a second
            module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 a foreign module may raise anything while it is imported
        told = str(error) if isinstance(error, ImportError | ValueError) else f"{type(error).__name__}: {error}"
        told = told.partition("\n")[0]
        raise ConfigError(f"{path}: expected module:Class that can be imported, got {told}.") from None
    try:
        return getattr(module, name)
    except AttributeError as error:
        hint = nearest(name, dir(module))
        raise ConfigError(f"{path}: expected module:Class that can be imported, got {error}{hint}.") from None
