"""Registry of the methods and classifiers that a config can name, from ``registry.toml``.

A new method or classifier needs an estimator in its own module and a table there; no code names it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from pppca_bench.methods.entry import Classifier, Method

NETWORK_RULE = "pivot"
"""Name of a problem's network in configs: the published network, where the problem has one (`methods.networks`)."""

NETWORK_GROUP = "pppca_bench.networks"
"""Group of the entry points of functions that return the published network of a problem (`methods.networks`)."""

_TABLES = tomllib.loads(Path(__file__).with_name("registry.toml").read_text(encoding="utf-8"))


def _fields(name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of an entry; ``details`` is the name of a table."""
    fields = {"name": name, **_with_tuples(table)}
    if "details" in fields:
        fields["details"] = _TABLES["details"][fields["details"]]
    return fields


def _with_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_tuples(item) for key, item in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


METHODS: Mapping[str, Method] = {
    name: Method(**_fields(name, table)) for name, table in _TABLES["methods"].items()
}
"""Methods by name in ``method:``, methods of the slides first."""

CLASSIFIERS: Mapping[str, Classifier] = {
    name: Classifier(**_fields(name, table)) for name, table in _TABLES["classifiers"].items()
}
"""Classifiers by name in ``rule:``."""


@cache
def network_paths() -> tuple[str, ...]:
    """Return the dotted paths of the functions that return the published network of a problem."""
    return tuple(sorted(point.value for point in entry_points(group=NETWORK_GROUP)))


DEFAULT_RULE = "rprop"
"""Default classifier of configs, from the Proben1 report."""
