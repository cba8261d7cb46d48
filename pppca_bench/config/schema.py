"""JSON schema of experiment configs, for editors.

The schema accepts all valid configs and a few invalid ones, since it cannot express rules between values.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pppca_bench.config.experiment import Config, TableSection
from pppca_bench.config.sections import Repeats, model_of
from pppca_bench.documents import Section
from pppca_bench.methods.entry import Classifier, Method
from pppca_bench.methods.lookup import classifier_names, method_names
from pppca_bench.methods.protocol import PORTRAIT
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.parameters import adapter_of, in_words
from pppca_bench.problems import known_problems

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

_HAS_TABLE: Schema = {"anyOf": [{"type": "object"}, {"type": "array", "contains": {"type": "object"}}]}
"""Schema of problems whose splits may determine the number of repeats."""

_PATH: Schema = {
    "type": "string",
    "pattern": r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$",
    "description": "module:Class of another package, or of a file beside the config.",
}
_PARAMETERS: Schema = {
    "type": ["object", "null"],
    "additionalProperties": {"type": ["number", "string", "boolean", "null", "array"]},
    "description": "Parameters of the class, by name; a list varies a parameter.",
}


def experiment_schema() -> Schema:
    """Return the schema of configs for ``pppca run``."""
    schema = schema_of(Config)
    problem = schema["properties"]["problems"]["items"]
    schema["properties"]["problems"] = {"anyOf": [problem, {**schema["properties"]["problems"], "uniqueItems": True}]}
    return {
        "$schema": DIALECT,
        "title": "Experiment of pppca",
        "description": "Config that `pppca run` takes.",
        **schema,
        "anyOf": [{"required": ["repeats"]}, {"properties": {"problems": _HAS_TABLE}}],
        "dependentSchemas": {"retain": {"properties": {"by": {"const": "retained_variance"}}, "required": ["by"]}},
        "$defs": _definitions(),
    }


def schema_of(model: type[Section]) -> Schema:
    """Return the schema of a model, with a description of the admissible values of each key."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})

    def resolve(part: Schema) -> Schema:
        """Return a part without title: pydantic's references are inlined, shared sections refer to `_definitions`."""
        if "$ref" in part:
            return resolve(definitions[part["$ref"].rpartition("/")[2]])
        if "definition" in part:
            return {"$ref": f"#/$defs/{part['definition']}"}
        return {key: value for key, value in part.items() if key != "title" or not isinstance(value, str)}

    resolved: Schema = json.loads(json.dumps(schema), object_hook=resolve)
    for property_schema in resolved["properties"].values():
        words = in_words(property_schema)
        property_schema.setdefault("description", f"{words[0].upper()}{words[1:]}.")
    return resolved


def _definitions() -> Schema:
    """Return the schemas of problems, methods and classifiers, to which other parts refer by name."""
    singles = {name: entry for name, entry in CLASSIFIERS.items() if not entry.is_ensemble}
    method = _name_of_foreign([name for name in method_names() if name not in METHODS])
    classifier = _name_of_foreign([name for name in classifier_names() if name not in CLASSIFIERS])
    repeats, portrait = adapter_of(Repeats).json_schema(), {"type": "boolean"}
    after = {"classifier": {"$ref": "#/$defs/classifier"}, "repeats": repeats, PORTRAIT: portrait}
    return {
        "problem": {
            "anyOf": [{"enum": known_problems()}, {"type": "string", "pattern": r"\.dt$"}, schema_of(TableSection)]
        },
        "method": _any_of("method", METHODS, method),
        "classifier": _any_of("classifier", CLASSIFIERS, classifier),
        "single_classifier": _any_of("classifier", singles, classifier),
        "foreign_method": mapping({"method": method, "parameters": _PARAMETERS, **after}, ["method"]),
        "foreign_classifier": mapping({"rule": classifier, "parameters": _PARAMETERS}, ["rule"]),
        **{f"method_{name}": _section(entry) for name, entry in METHODS.items()},
        **{f"classifier_{name}": _section(entry) for name, entry in CLASSIFIERS.items()},
    }


def _name_of_foreign(installed: list[str]) -> Schema:
    return {"anyOf": [_PATH, {"enum": installed}]} if installed else _PATH


def _any_of(kind: str, entries: Mapping[str, Method | Classifier], foreign: Schema) -> Schema:
    """Return the schema of a name or a section, of this package or third-party."""
    names = [{"const": name, "description": f"{entry.title}: {entry.does}."} for name, entry in entries.items()]
    sections = [{"$ref": f"#/$defs/{kind}_{name}"} for name in entries]
    return {"anyOf": [*names, foreign, *sections, {"$ref": f"#/$defs/foreign_{kind}"}]}


def _section(entry: Method | Classifier) -> Schema:
    return {"description": f"{entry.title}: {entry.does} ({entry.source}).", **schema_of(model_of(entry))}


def schema_text(schema: Schema) -> str:
    """Return a schema as JSON text for a file."""
    return json.dumps(schema, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def mapping(properties: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    """Return the schema of a mapping with exactly these properties."""
    return {"type": "object", "properties": dict(properties), "required": list(required), "additionalProperties": False}
