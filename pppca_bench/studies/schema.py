"""The JSON schema of a study's config, for editors; see `pppca_bench.config.schema`."""

from __future__ import annotations

from pppca_bench.config.schema import DIALECT, Schema, experiment_schema, mapping, one_value
from pppca_bench.parameters import REQUIRED, Parameter
from pppca_bench.studies.config import CELL_PARAMETERS, INTERVAL, KEYS, VALUES, WEIGHT


def study_schema() -> Schema:
    """Return the schema of a config that ``pppca study`` takes."""
    experiment = experiment_schema()
    base = {key: value for key, value in experiment["properties"].items() if key != "name"}
    properties: dict[str, Schema] = {
        **{key: one_value(parameter) for key, parameter in VALUES.items()},
        "base": mapping(base, [key for key in experiment["required"] if key != "name"]),
        "vary": {
            "type": "object",
            "propertyNames": {"pattern": r"^(methods|classifier)[.\[]"},
            "additionalProperties": {"anyOf": [_mapping_of(INTERVAL), mapping({"choices": _CHOICES}, ["choices"])]},
            "minProperties": 1,
            "maxProperties": 100,
        },
        "score": _list(_cells([*CELL_PARAMETERS, WEIGHT])),
        "report": {"anyOf": [_list(_cells(CELL_PARAMETERS)), {"type": "null"}]},
    }
    required = [key for key in KEYS if key not in ("sampler", "report")]
    described = {"title": "Study of pppca", "description": "What `pppca study` takes."}
    return {"$schema": DIALECT, **described, **mapping(properties, required), "$defs": experiment["$defs"]}


_CHOICES: Schema = {"type": "array", "minItems": 1, "maxItems": 1000}


def _cells(parameters: list[Parameter]) -> Schema:
    schema = _mapping_of(parameters)
    for parameter in (one for one in parameters if one.is_list):  # one name may stand without a list
        given = schema["properties"][parameter.name]
        schema["properties"][parameter.name] = {"anyOf": [given, given["items"]]}
    return schema


def _mapping_of(parameters: list[Parameter]) -> Schema:
    required = [parameter.name for parameter in parameters if parameter.default is REQUIRED]
    return mapping({parameter.name: one_value(parameter) for parameter in parameters}, required)


def _list(item: Schema) -> Schema:
    return {"type": "array", "items": item, "minItems": 1, "maxItems": 100}
