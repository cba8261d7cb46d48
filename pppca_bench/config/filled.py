"""Config documents with every default filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pppca_bench.config.sections import is_storable, spelled_out
from pppca_bench.methods.entry import Classifier, Method
from pppca_bench.methods.lookup import find_classifier, find_method
from pppca_bench.methods.registry import DEFAULT_RULE
from pppca_bench.methods.sections import section_of


def filled_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a valid document with every parameter of its methods and classifiers, defaults filled in."""
    methods = [_filled_method(entry) for entry in document["methods"]]
    return {**document, "methods": methods, "classifier": _filled_classifier(document.get("classifier", {}))}


def _filled_method(value: str | Mapping[str, Any]) -> dict[str, Any]:
    given = spelled_out(value, "method")
    own = {"classifier": _filled_classifier(given["classifier"])} if "classifier" in given else {}
    return _filled_section(find_method(given["method"]), given, "tau") | own


def _filled_classifier(value: str | Mapping[str, Any]) -> dict[str, Any]:
    given = spelled_out(value, "rule")
    entry = find_classifier(given.get("rule", DEFAULT_RULE))
    base = {"base": _filled_classifier(given.get("base", {}))} if entry.is_ensemble else {}
    return {"rule": entry.name, **_filled_section(entry, given), **base}


def _filled_section(entry: Method | Classifier, given: Mapping[str, Any], *without: str) -> dict[str, Any]:
    """Return a section with the defaults of its parameters, tuples as lists."""
    defaults = {
        key: list(one.default) if isinstance(one.default, tuple) else one.default
        for key, one in section_of(entry).items()
        if key not in without and (is_storable(one.default) or not entry.foreign)
    }
    return {**given, "parameters": defaults | given.get("parameters", {})} if entry.foreign else defaults | dict(given)
