"""JSON schema of an experiment's config, for editors.

It admits every valid config and a few others, since it cannot state the rules between values.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pppca_bench.config.experiment import TAU, Experiment
from pppca_bench.config.own_data import SOURCES
from pppca_bench.config.sections import Repeats, model_of
from pppca_bench.documents import Section
from pppca_bench.methods.entry import Classifier, Entry, Method
from pppca_bench.methods.lookup import classifier_names, method_names
from pppca_bench.methods.registry import CLASSIFIERS, DEFAULT_RULE, METHODS
from pppca_bench.methods.sections import PORTRAIT
from pppca_bench.parameters import adapter_of, in_words
from pppca_bench.problems import known_problems
from pppca_bench.runs import AUTO

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

_HAS_TABLE: Schema = {"anyOf": [{"type": "object"}, {"type": "array", "contains": {"type": "object"}}]}
"""Problems whose splits may state the number of repeats."""

_PATH: Schema = {
    "type": "string",
    "pattern": r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$",
    "description": "module:Class of another package, or of a file beside the config.",
}
_PARAMETERS: Schema = {
    "type": ["object", "null"],
    "additionalProperties": {"type": ["number", "string", "boolean", "null", "array"]},
    "description": "Parameters of the class, by their own names; a list varies a parameter.",
}


def experiment_schema() -> Schema:
    """Return the schema of a config that ``pppca run`` takes."""
    schema = schema_of(Experiment)
    problem = schema["properties"]["problems"]["items"]
    schema["properties"]["problems"] = {"anyOf": [problem, {**schema["properties"]["problems"], "uniqueItems": True}]}
    return {
        "$schema": DIALECT,
        "title": "Experiment of pppca",
        "description": "What `pppca run` takes.",
        **schema,
        "anyOf": [{"required": ["repeats"]}, {"properties": {"problems": _HAS_TABLE}}],
        "dependentSchemas": {"retain": {"properties": {"by": {"const": "retained_variance"}}, "required": ["by"]}},
        "$defs": _definitions(),
    }


def schema_of(model: type[Section]) -> Schema:
    """Return the schema of a model, each key with its rule in words."""
    schema = model.model_json_schema()
    cleaned: Schema = _cleaned(schema, schema.pop("$defs", {}))
    for one in cleaned["properties"].values():
        if words := in_words(one):
            one.setdefault("description", f"{words[0].upper()}{words[1:]}.")
    return cleaned


def _cleaned(value: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a schema without titles, with the parts that it refers to in place, and references to `_definitions`."""
    if isinstance(value, list):
        return [_cleaned(one, definitions) for one in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _cleaned(definitions[value["$ref"].rpartition("/")[2]], definitions)
    if "definition" in value:
        return {"$ref": f"#/$defs/{value['definition']}"}
    properties = {key: _cleaned(one, definitions) for key, one in value.get("properties", {}).items()}
    rest = {
        key: _cleaned(one, definitions)
        for key, one in value.items()
        if key != "properties" and not (key == "title" and isinstance(one, str))
    }
    return rest | ({"properties": properties} if "properties" in value else {})


def _definitions() -> Schema:
    """Return the schemas of problems, methods and classifiers by name."""
    members = {name: entry for name, entry in CLASSIFIERS.items() if not entry.is_ensemble}
    installed = [name for name in classifier_names() if name not in CLASSIFIERS]
    classifier = {"$ref": "#/$defs/classifier"}
    foreign_method = {
        **{"method": {"type": "string"}, "parameters": _PARAMETERS, "classifier": classifier},
        **{"repeats": adapter_of(Repeats).json_schema(), PORTRAIT: {"type": "boolean"}},
    }
    return {
        "problem": _problem(),
        "thresholds": _with_auto(TAU.json_schema()),
        "method": _named("method", METHODS, None, "method", [name for name in method_names() if name not in METHODS]),
        "classifier": _named("rule", CLASSIFIERS, DEFAULT_RULE, "classifier", installed),
        "single_classifier": _named("rule", members, DEFAULT_RULE, "classifier", installed),
        "foreign_method": mapping(foreign_method, ["method"]),
        "foreign_classifier": mapping({"rule": {"type": "string"}, "parameters": _PARAMETERS}, ["rule"]),
        **{f"method_{name}": _section(entry) for name, entry in METHODS.items()},
        **{f"classifier_{name}": _section(entry) for name, entry in CLASSIFIERS.items()},
    }


def _problem() -> Schema:
    """Return the schema of one of a config's problems: a name, the path of a .dt file, or a table."""
    split_alone = {"split": {"properties": {"splits": False, "folds": False}}}
    tables = [
        {**schema_of(model), **({} if name == "dt" else {"dependentSchemas": split_alone})}
        for name, model in SOURCES.items()
    ]
    return {"anyOf": [{"enum": known_problems()}, {"type": "string", "pattern": r"\.dt$"}, *tables]}


def _section(entry: Method | Classifier) -> Schema:
    schema = schema_of(model_of(entry))
    if "tau" in schema["properties"]:
        schema["properties"]["tau"] = _with_auto(schema["properties"]["tau"])
    return {"description": f"{entry.title}: {entry.does} ({entry.source}).", **schema}


def _with_auto(schema: Schema) -> Schema:
    """Return the schema of thresholds, which may be missing, or chosen by each run."""
    return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}, {"const": AUTO}]}


def _named(key: str, entries: Mapping[str, Entry], default: str | None, kind: str, installed: Sequence[str]) -> Schema:
    """Return the schema of a name, ours or third-party, or of a mapping whose other keys depend on its name."""
    foreign: Schema = {"anyOf": [_PATH, {"enum": list(installed)}]} if installed else _PATH
    names = [{"const": name, "description": f"{entry.title}: {entry.does}."} for name, entry in entries.items()]
    section: Schema = {
        "type": "object",
        "properties": {key: {"anyOf": names}},
        "required": [key] if default is None else [],
        "allOf": [
            {
                "if": {"properties": {key: {"const": name}}, "required": [] if name == default else [key]},
                "then": {"$ref": f"#/$defs/{kind}_{name}"},
            }
            for name in entries
        ],
    }
    return {
        "if": {"type": "string"},
        "then": {"anyOf": [*names, foreign]},
        "else": {
            "if": {"type": "object", "properties": {key: foreign}, "required": [key]},
            "then": {"$ref": f"#/$defs/foreign_{kind}"},
            "else": section,
        },
    }


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
