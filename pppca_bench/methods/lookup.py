"""Lookup of methods and classifiers by name: registry, entry points of installed packages, dotted paths."""

from __future__ import annotations

from functools import cache
from typing import Any

from pppca_bench.errors import ConfigError, UnknownNameError
from pppca_bench.methods.entry import Classifier, Method
from pppca_bench.methods.foreign import (
    CLASSIFIER_GROUP,
    METHOD_GROUP,
    classifier_at,
    entry_of,
    installed,
    is_path,
    method_at,
)
from pppca_bench.methods.registry import CLASSIFIERS, METHODS


def find_method(name: str) -> Method:
    """Return the method that a config's ``method:`` names.

    Raises
    ------
    UnknownNameError
        There is no such method.
    ConfigError
        It cannot be imported or is not a method.
    """
    return METHODS[name] if name in METHODS else _foreign(name, METHOD_GROUP)


def find_classifier(name: str) -> Classifier:
    """Return the classifier that a config's ``rule:`` names; raises as `find_method` does."""
    return CLASSIFIERS[name] if name in CLASSIFIERS else _foreign(name, CLASSIFIER_GROUP)


def method_names() -> list[str]:
    """Return the short names of all methods, the registry's first."""
    return list(dict.fromkeys([*METHODS, *installed(METHOD_GROUP)]))


def classifier_names() -> list[str]:
    """Return the short names of all classifiers, the registry's first."""
    return list(dict.fromkeys([*CLASSIFIERS, *installed(CLASSIFIER_GROUP)]))


def stored_method(name: str) -> Method | None:
    """Return the method of stored runs, or None if it is not installed or was a dotted path.

    Nothing is imported by a stored path.
    """
    return METHODS.get(name) or _installed(name, METHOD_GROUP)


def stored_classifier(name: str) -> Classifier | None:
    """Return the classifier of stored runs, as `stored_method` does."""
    return CLASSIFIERS.get(name) or _installed(name, CLASSIFIER_GROUP)


def title_of(name: str) -> str:
    """Return the title of a stored method, the class of a dotted path, else the stored name."""
    entry = stored_method(name)
    if entry is not None:
        return entry.title
    return name.partition(":")[2] if is_path(name) else name


def _installed(name: str, group: str) -> Any:
    try:
        return _foreign(name, group) if name in installed(group) else None
    except ConfigError:  # which `pppca methods` reports; the stored runs can be read without it
        return None


@cache
def _foreign(name: str, group: str) -> Any:
    if name in installed(group):
        return entry_of(installed(group)[name])
    if is_path(name):
        return (method_at if group == METHOD_GROUP else classifier_at)(name)
    raise UnknownNameError(f"expected a name that `pppca methods` prints, or module:Class, got {name!r}.")
