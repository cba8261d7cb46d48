"""From a name to what it stands for: the registry first, then entry points of installed packages, then dotted paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from pppca_bench.errors import ConfigError, UnknownNameError
from pppca_bench.methods.entry import Classifier, Entry, Method
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
        Nothing has that name.
    ConfigError
        What has the name cannot be imported or is no method.
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
    """Return the method of stored runs; None where it is not, or no longer, installed, or was a dotted path.

    Nothing is imported by a stored path.
    """
    found: Method | None = _stored(name, METHODS, METHOD_GROUP)
    return found


def stored_classifier(name: str) -> Classifier | None:
    """Return the classifier of stored runs, as `stored_method` does."""
    found: Classifier | None = _stored(name, CLASSIFIERS, CLASSIFIER_GROUP)
    return found


def title_of(name: str) -> str:
    """Return what tables call a method: its title, of a dotted path the class, else the name that is stored."""
    entry = stored_method(name)
    if entry is not None:
        return entry.title
    return name.partition(":")[2] if is_path(name) else name


def _stored(name: str, registry: Mapping[str, Any], group: str) -> Any:
    if name in registry:
        return registry[name]
    try:
        return _foreign(name, group) if name in installed(group) else None
    except ConfigError:  # `pppca methods` tells what is wrong with it; its stored rows need it no more
        return None


@cache
def _foreign(name: str, group: str) -> Any:
    at: Mapping[str, Callable[[str], Entry]] = {METHOD_GROUP: method_at, CLASSIFIER_GROUP: classifier_at}
    points = installed(group)
    if name in points:
        return entry_of(points[name])
    if is_path(name):
        return at[group](name)
    raise UnknownNameError(f"expected a name that `pppca methods` prints, or module:Class, got {name!r}.")
