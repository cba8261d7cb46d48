"""Documents in full: what a bare name is short for, and every parameter that a config leaves to its default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pppca_bench.config.messages import is_kept
from pppca_bench.methods.entry import Classifier, Method
from pppca_bench.methods.lookup import find_classifier, find_method
from pppca_bench.methods.registry import DEFAULT_RULE
from pppca_bench.methods.sections import section_of


def filled_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a valid document with every parameter of its methods and classifiers, defaults filled in."""
    filled = dict(document)
    filled["methods"] = [_filled_method(entry) for entry in document["methods"]]
    filled["classifier"] = _filled_classifier(document.get("classifier", {}))
    return filled


def _filled_method(value: str | Mapping[str, Any]) -> dict[str, Any]:
    given = spelled_out(value, "method")
    entry = find_method(given["method"])
    own = {"classifier": _filled_classifier(given["classifier"])} if "classifier" in given else {}
    return _as_lists({**_filled_section(entry, given, "tau"), **own})


def _filled_classifier(value: str | Mapping[str, Any]) -> dict[str, Any]:
    given = spelled_out(value, "rule")
    entry = find_classifier(given.get("rule", DEFAULT_RULE))
    base = {"base": _filled_classifier(given.get("base", {}))} if entry.is_ensemble else {}
    return _as_lists({"rule": entry.name, **_filled_section(entry, given), **base})


def _filled_section(entry: Method | Classifier, given: Mapping[str, Any], *without: str) -> dict[str, Any]:
    """Return a mapping with the defaults of an entry's parameters, where its parameters stand."""
    section = section_of(entry).items()
    if entry.foreign:
        parameters = {key: one.default for key, one in section if is_kept(one.default)}
        return {**given, "parameters": _as_lists(parameters | given.get("parameters", {}))}
    return {key: one.default for key, one in section if key not in without} | dict(given)


def spelled_out(value: Any, key: str) -> Any:
    """Return the mapping that a bare name is short for; anything else as it is."""
    return {key: value} if isinstance(value, str) else value


def _as_lists(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as a document has them, lists in place of tuples."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
