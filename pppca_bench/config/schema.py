"""The JSON schema of an experiment's config, for editors: the keys of every method and classifier and their values.

It admits what `parse_config` admits, and a little more, for it cannot tell the rules between one value and another.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pppca_bench.config.choosing import CHOICE_VALUES
from pppca_bench.config.experiment import VALUES
from pppca_bench.config.own_data import COLUMN, PLACES, SPLIT_KEYS, SPLIT_VALUES, TABLE_VALUES
from pppca_bench.methods.entry import Classifier, Entry, Method
from pppca_bench.methods.lookup import classifier_names, method_names
from pppca_bench.methods.registry import CLASSIFIERS, DEFAULT_RULE, METHODS
from pppca_bench.methods.sections import PORTRAIT, PREDICTIONS, section_of
from pppca_bench.parameters import REQUIRED, Parameter
from pppca_bench.problems import known_problems
from pppca_bench.runs import AUTO

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]


def experiment_schema() -> Schema:
    """Return the schema of a config that ``pppca run`` takes."""
    properties = {key: one_value(VALUES[key]) for key in ("name", "repeats", "seed", PREDICTIONS)}
    properties |= {key: one_value(parameter) for key, parameter in CHOICE_VALUES.items()}
    properties |= {parameter.name: one_value(parameter) for parameter in SPLIT_VALUES}
    properties |= {
        "problems": several(_problem()),
        "tau": _threshold(values_of(VALUES["tau"])),
        "methods": {"type": "array", "items": {"$ref": "#/$defs/method"}, "minItems": 1, "maxItems": 100},
        "classifier": {"$ref": "#/$defs/classifier"},
    }
    described = {"title": "Experiment of pppca", "description": "What `pppca run` takes."}
    return {
        "$schema": DIALECT,
        **described,
        **mapping(properties, ["name", "problems", "seed", "methods"]),
        "anyOf": [{"required": ["repeats"]}, {"properties": {"problems": _HAS_TABLE}}],
        "dependentSchemas": {"retain": {"properties": {"by": {"const": "retained_variance"}}, "required": ["by"]}},
        "$defs": _definitions(),
    }


def _definitions() -> Schema:
    """Return the schemas of methods and classifiers, by the names that others refer to them by."""
    single = {name: entry for name, entry in CLASSIFIERS.items() if not entry.is_ensemble}
    elsewhere = [name for name in classifier_names() if name not in CLASSIFIERS]
    return {
        "method": _named("method", METHODS, None, "method", [name for name in method_names() if name not in METHODS]),
        "classifier": _named("rule", CLASSIFIERS, DEFAULT_RULE, "classifier", elsewhere),
        "single_classifier": _named("rule", single, DEFAULT_RULE, "classifier", elsewhere),
        "foreign_method": mapping(
            {
                **{"method": {"type": "string"}, "parameters": _PARAMETERS, "repeats": one_value(VALUES["repeats"])},
                **{"classifier": {"$ref": "#/$defs/classifier"}, PORTRAIT: one_value(VALUES[PORTRAIT])},
            },
            ["method"],
        ),
        "foreign_classifier": mapping({"rule": {"type": "string"}, "parameters": _PARAMETERS}, ["rule"]),
        **{f"method_{name}": _method(entry) for name, entry in METHODS.items()},
        **{f"classifier_{name}": _classifier(entry) for name, entry in CLASSIFIERS.items()},
    }


_HAS_TABLE: Schema = {"anyOf": [{"type": "object"}, {"type": "array", "contains": {"type": "object"}}]}
"""Problems whose splits may say how many repeats there are."""

_PATH: Schema = {
    "type": "string",
    "pattern": r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$",
    "description": "module:Class of another package, or of a file beside the config.",
}
_PARAMETERS: Schema = {
    "type": ["object", "null"],
    "additionalProperties": {"type": ["number", "string", "boolean", "null", "array"]},
    "description": "Parameters of the class, whatever they are called; a list varies one.",
}


def _problem() -> Schema:
    """Return the schema of one of a config's problems: a name, the path of a .dt file, or a table."""
    dealt = {"split": {"properties": dict.fromkeys(SPLIT_KEYS, False)}}
    keys = {parameter.name: one_value(parameter) for parameter in TABLE_VALUES}
    keys["split"] = mapping({COLUMN.name: one_value(COLUMN)}, [COLUMN.name])
    tables = [
        {**mapping({name: one_value(place), **keys}, [name]), "dependentSchemas": dealt}
        for name, place in PLACES.items()
        if name != "dt"
    ]
    file = {"type": "string", "pattern": r"\.dt$"}
    return {"anyOf": [{"enum": known_problems()}, file, mapping({"dt": file}, ["dt"]), *tables]}


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


def _threshold(schema: Schema) -> Schema:
    """Return the schema of a threshold, which may be missing, or chosen by each run."""
    return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}, {"const": AUTO}]}


def _named(key: str, entries: Mapping[str, Entry], default: str | None, kind: str, elsewhere: Sequence[str]) -> Schema:
    """Return the schema of what a bare name may stand for: a mapping with that name, of ours or from elsewhere."""
    foreign: Schema = {"anyOf": [_PATH, {"enum": list(elsewhere)}]} if elsewhere else _PATH
    return {
        "if": {"type": "string"},
        "then": {"anyOf": [*_names(entries), foreign]},
        "else": {
            "if": {"type": "object", "properties": {key: foreign}, "required": [key]},
            "then": {"$ref": f"#/$defs/foreign_{kind}"},
            "else": _chosen_by(key, entries, default, kind),
        },
    }


def _names(entries: Mapping[str, Entry]) -> list[Schema]:
    return [{"const": name, "description": f"{entry.title}: {entry.does}."} for name, entry in entries.items()]


def _chosen_by(key: str, entries: Mapping[str, Entry], default: str | None, kind: str) -> Schema:
    """Return the schema of a mapping whose keys depend on the name that one of them has."""
    choice: Schema = {"type": "object", "properties": {key: {"anyOf": _names(entries)}}}
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
        properties["tau"] = _threshold(properties["tau"])
    return properties, [key for key, one in section.items() if one.default is REQUIRED and key != "tau"]


def _described(entry: Entry, schema: Schema) -> Schema:
    return {"description": f"{entry.title}: {entry.does} ({entry.source}).", **schema}
