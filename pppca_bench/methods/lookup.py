"""Methods and classifiers by name: registry, entry points of installed packages, dotted paths.

A dotted path, ``"mypackage.reducers:Spectral"``, names any third-party class with scikit-learn's `fit` and `transform`
or `predict`. An entry point of the group `METHOD_GROUP` or `CLASSIFIER_GROUP` gives such a class a short name; an
entry point that refers to a `Method` or `Classifier` also gives title, source and other attributes.

Choice: paths from a results database are never imported: only configs, the command line and entry points of installed
packages are trusted.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pppca_bench.errors import ConfigError, UnknownNameError, nearest
from pppca_bench.methods.entry import Classifier, Entry, Method
from pppca_bench.methods.protocol import contract_of, import_estimator, import_object
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.methods.third_party import is_path, version_of

METHOD_GROUP, CLASSIFIER_GROUP = "pppca_bench.methods", "pppca_bench.classifiers"


def find_method(name: str) -> Method:
    """Return the method with the name in ``method:`` of a config.

    Raises UnknownNameError for an unknown name, ConfigError for a class that cannot be imported or breaks the protocol.
    """
    return METHODS[name] if name in METHODS else _third_party_entry(name, METHOD_GROUP)


def find_classifier(name: str) -> Classifier:
    """Return the classifier with the name in ``rule:`` of a config; raises as `find_method` does."""
    return CLASSIFIERS[name] if name in CLASSIFIERS else _third_party_entry(name, CLASSIFIER_GROUP)


def method_names() -> list[str]:
    """Return the short names of all methods, in the registry and then in entry points."""
    return [*METHODS, *sorted(_entry_points(METHOD_GROUP).keys() - METHODS.keys())]


def classifier_names() -> list[str]:
    """Return the short names of all classifiers, in the registry and then in entry points."""
    return [*CLASSIFIERS, *sorted(_entry_points(CLASSIFIER_GROUP).keys() - CLASSIFIERS.keys())]


def stored_method(name: str) -> Method | None:
    """Return the method of stored runs, or None for methods that are not installed and for dotted paths."""
    return METHODS.get(name) or _installed(name, METHOD_GROUP)


def stored_classifier(name: str) -> Classifier | None:
    """Return the classifier of stored runs, as `stored_method` does."""
    return CLASSIFIERS.get(name) or _installed(name, CLASSIFIER_GROUP)


def title_of(name: str) -> str:
    """Return the title of a stored method, the class name in a dotted path, or else the stored name."""
    if entry := stored_method(name):
        return entry.title
    return name.partition(":")[2] if is_path(name) else name


def forget() -> None:
    """Look third-party classes up again, so that a file that was edited since is noticed."""
    _third_party_entry.cache_clear()


def _installed(name: str, group: str) -> Any:
    try:
        return _third_party_entry(name, group) if name in _entry_points(group) else None
    except ConfigError:  # reported by `pppca methods`; stored runs are readable without the method
        return None


@cache
def _entry_points(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; among equal names, the first value in alphabetical order."""
    ordered = sorted(entry_points(group=group), key=lambda point: point.value, reverse=True)
    return {point.name: point for point in ordered}


@cache
def _third_party_entry(name: str, group: str) -> Any:
    """Return the registry entry for an entry point or a dotted path."""
    point = _entry_points(group).get(name)
    if point is None and is_path(name):
        return _entry_at(name, group)
    if point is None:
        known = [other for other in (*method_names(), *classifier_names()) if other != name]
        hint = nearest(name, known) or "; if a package gave it, install it"
        raise UnknownNameError(
            f"expected a name that `pppca methods` prints, or module:Class, got {name!r}{hint}."
        )
    kind = Method if group == METHOD_GROUP else Classifier
    try:
        target = import_object(point.value)
        if not isinstance(target, Entry):
            return replace(_entry_at(point.value, group), name=name)
        if not isinstance(target, kind):
            raise ConfigError(f"expected a {kind.__name__}, got a {type(target).__name__}.")
        return replace(
            target, name=name, version=version_of(import_estimator(target.estimator)), foreign=True
        )
    except ConfigError as error:
        owner = point.dist.name if point.dist is not None else "an installed package"
        raise ConfigError(f"{name}, the entry point of {owner} in {group}: {error}") from None


def _entry_at(path: str, group: str) -> Method | Classifier:
    """Return the registry entry for the class at a dotted path, which must follow the protocol."""
    estimator, title = import_estimator(path), path.partition(":")[2]
    # Mixins by name, so that scikit-learn is not imported.
    mixins = {base.__name__ for base in estimator.__mro__ if base.__module__ == "sklearn.base"}
    classifies = "ClassifierMixin" in mixins
    facts: dict[str, Any] = {
        "name": path,
        "title": title,
        "does": (inspect.getdoc(estimator) or "").strip().partition("\n")[0].rstrip(".") or title,
        "source": estimator.__module__,
        "estimator": path,
        "version": version_of(estimator),
        "foreign": True,
        "needs_numbers": "RegressorMixin" in mixins,
    }
    entry: Method | Classifier
    if group == CLASSIFIER_GROUP:
        # Without ClassifierMixin, the class is for approximation, too.
        entry = Classifier(**facts, regressor="" if classifies else path)
    elif callable(getattr(estimator, "transform", None)) or not callable(
        getattr(estimator, "predict", None)
    ):
        entry = Method(**facts, makes="features")
    else:
        entry = Method(**facts, makes="classes", needs_classes=classifies)
    contract_of(entry)  # raises ConfigError, also for a class with neither transform nor predict
    return entry
