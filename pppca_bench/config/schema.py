"""The JSON schema of an experiment's config, for editors: the keys of every method and classifier and their values.

It admits what `parse_config` admits, and a little more, for it cannot tell the rules between one value and another.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from pppca_bench.config.experiment import KEYS, VALUES
from pppca_bench.config.own_data import SPLIT_KEYS
from pppca_bench.methods.entry import Classifier, Entry, Method
from pppca_bench.methods.registry import CLASSIFIERS, DEFAULT_RULE, METHODS
from pppca_bench.methods.sections import PORTRAIT, section_of
from pppca_bench.parameters import REQUIRED, Parameter
from pppca_bench.problems import known_problems

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]


def experiment_schema() -> Schema:
    """Return the schema of a config that ``pppca run`` takes."""
    properties = {key: one_value(VALUES[key]) for key in ("name", "repeats", "seed")}
    properties |= {
        "problems": several({"anyOf": [{"enum": known_problems()}, {"type": "string", "pattern": r"\.dt$"}]}),
        "tau": _or_null(values_of(VALUES["tau"])),
        "methods": {"type": "array", "items": {"$ref": "#/$defs/method"}, "minItems": 1, "maxItems": 100},
        "classifier": {"$ref": "#/$defs/classifier"},
    }
    required = [key for key in KEYS if key not in ("tau", "classifier", *SPLIT_KEYS)]
    single = {name: entry for name, entry in CLASSIFIERS.items() if not entry.is_ensemble}
    definitions = {
        "method": _chosen_by("method", METHODS, None, "method"),
        "classifier": _chosen_by("rule", CLASSIFIERS, DEFAULT_RULE, "classifier"),
        "single_classifier": _chosen_by("rule", single, DEFAULT_RULE, "classifier"),
        **{f"method_{name}": _method(entry) for name, entry in METHODS.items()},
        **{f"classifier_{name}": _classifier(entry) for name, entry in CLASSIFIERS.items()},
    }
    described = {"title": "Experiment of pppca", "description": "What `pppca run` takes."}
    return {"$schema": DIALECT, **described, **mapping(properties, required), "$defs": definitions}


def schema_text(schema: Schema) -> str:
    """Return a schema as the text of a file."""
    return json.dumps(schema, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def mapping(properties: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    """Return the schema of a mapping with these keys and no other."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def one_value(parameter: Parameter) -> Schema:
    """Return the schema of a key with one value: its range, in words too, and its default."""
    told = f"{parameter.expected[0].upper()}{parameter.expected[1:]}."
    schema = {**parameter.json_schema(), "description": told}
    # JSON has no infinity.
    is_told = parameter.default is not REQUIRED and parameter.default not in (math.inf, -math.inf)
    return {**schema, "default": parameter.default} if is_told else schema


def values_of(parameter: Parameter) -> Schema:
    """Return the schema of a key that takes one value or, to run them all, a list of several."""
    schema = several(parameter.json_schema())
    if parameter.is_list:  # a list of numbers is one value then
        schema["anyOf"][1]["contains"] = {"type": "array"}
    told = {key: value for key, value in one_value(parameter).items() if key in ("description", "default")}
    return {**schema, **told}


def several(one: Schema) -> Schema:
    """Return the schema of one value or a list of several, each once."""
    return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1, "maxItems": 1000, "uniqueItems": True}]}


def _or_null(schema: Schema) -> Schema:
    return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}


def _chosen_by(key: str, entries: Mapping[str, Entry], default: str | None, kind: str) -> Schema:
    """Return the schema of a mapping whose keys depend on the name that one of them has."""
    names = [{"const": name, "description": f"{entry.title}: {entry.does}."} for name, entry in entries.items()]
    choice: Schema = {"type": "object", "properties": {key: {"anyOf": names}}}
    if default is None:
        choice["required"] = [key]
    choice["allOf"] = [
        {
            "if": {"properties": {key: {"const": name}}, "required": [] if name == default else [key]},
            "then": {"$ref": f"#/$defs/{kind}_{name}"},
        }
        for name in entries
    ]
    return choice


def _method(entry: Method) -> Schema:
    properties, required = _section(entry)
    properties = {"method": {"const": entry.name}, "repeats": one_value(VALUES["repeats"]), **properties}
    if entry.makes == "features":
        properties |= {"classifier": {"$ref": "#/$defs/classifier"}, PORTRAIT: one_value(VALUES[PORTRAIT])}
    return _described(entry, mapping(properties, ["method", *required]))


def _classifier(entry: Classifier) -> Schema:
    properties, required = _section(entry)
    properties = {"rule": {"const": entry.name}, **properties}
    if entry.is_ensemble:
        properties["base"] = {"$ref": "#/$defs/single_classifier"}
    return _described(entry, mapping(properties, required))


def _section(entry: Entry) -> tuple[dict[str, Schema], list[str]]:
    section = section_of(entry)
    properties = {key: values_of(parameter) for key, parameter in section.items()}
    if "tau" in section:
        properties["tau"] = _or_null(properties["tau"])
    return properties, [key for key, one in section.items() if one.default is REQUIRED and key != "tau"]


def _described(entry: Entry, schema: Schema) -> Schema:
    return {"description": f"{entry.title}: {entry.does} ({entry.source}).", **schema}
