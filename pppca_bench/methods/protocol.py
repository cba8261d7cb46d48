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

Nobody gets the test split.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from functools import cache
from typing import Any

from pppca_bench.errors import ConfigError
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
    """

    estimator: type
    takes_seed: bool
    takes_classifier: bool
    takes_validation: bool
    takes_classes: bool


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
        path = entry.regressor
    estimator = import_estimator(path)
    needed = {"features": ["transform"], "classes": ["predict"], "measures": []}
    made = entry.makes if isinstance(entry, Method) else "classes"
    missing = [name for name in ["fit", *needed[made]] if not callable(getattr(estimator, name, None))]
    if missing:
        raise ConfigError(
            f"{path}: expected a class with {' and '.join(['fit', *needed[made]])},"
            f" got one without {' and '.join(missing)}."
        )
    constructor, fit = parameters_of(estimator), inspect.signature(estimator.fit).parameters
    reserved = ("method", "repeats", "classifier", "portrait") if isinstance(entry, Method) else ("rule", "base")
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
    )


def import_estimator(path: str) -> Any:
    """Import a class by its dotted path.

    Parameters
    ----------
    path : str
        ``"module:Class"``.

    Raises
    ------
    ConfigError
        There is no such module or class.
    """
    module_name, _, class_name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{path}: expected module:Class that can be imported, got {error}.") from None
    if not isinstance(found, type):
        raise ConfigError(f"{path}: expected a class, got {type(found).__name__}.")
    return found
