"""Validation of YAML documents by pydantic models: errors name file, line, key, expected rule and given value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Self, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from pppca_bench.base.parameters import describe, kind_of, shown
from pppca_bench.errors import ConfigError, nearest
from pppca_bench.yaml_files.source import Location, YamlSource

_RULE = "rule"
"""Type of validation errors with a complete message."""

UNSET: Any = None
"""Default of optional keys whose value does not matter if they are absent, in JSON too."""


class Section(BaseModel):
    """Base of models of mappings in documents: unknown keys are errors, and values are not converted."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @classmethod
    def known_keys(cls) -> list[str]:
        """Return the keys that the mapping may have."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @classmethod
    def hint(cls, key: str) -> str:
        """Return a hint for the message about an unknown key."""
        return nearest(key, cls.known_keys())

    @classmethod
    def read(cls, source: YamlSource, *, context: Any = None) -> Self:
        """Validate a document; ``context`` is passed to the validators of the model.

        Raises ConfigError with a line for each validation error: file, line, key, expected rule and given value.
        """
        try:
            return cls.model_validate(source.value, context=context)
        except ValidationError as error:
            in_order = sorted(
                error.errors(include_context=False), key=lambda detail: source.line(detail["loc"])
            )
            raise ConfigError(
                "\n".join(f"{source.where(one['loc'])}: {one['msg']}." for one in in_order)
            ) from None

    @model_validator(mode="wrap")
    @classmethod
    def _explain_errors(cls, value: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        """Replace pydantic's messages, except messages of nested sections, which are complete."""
        try:
            return validate(value)
        except ValidationError as error:
            errors = error.errors(include_context=False)
            # Invalid items do not count towards the length of their list.
            lists = {detail["loc"][:end] for detail in errors for end in range(len(detail["loc"]))}
            first: dict[Location, str] = {}
            for detail in errors:
                if detail["type"] != "too_short" or detail["loc"] not in lists:
                    first.setdefault(*cls._explained(value, dict(detail)))
            raise broken_rules(first.items()) from None

    @classmethod
    def _explained(cls, value: Any, error: Mapping[str, Any]) -> tuple[Location, str]:
        """Return the location of a pydantic error, and a message with the complete rule and the given value."""
        location, kind = error["loc"], error["type"]
        if kind == _RULE:
            return location, error["msg"]
        if not location:
            got = "nothing" if value is None else yaml_text(value)
            return (), f"expected a mapping with the keys {', '.join(cls.known_keys())}, got {got}"
        if kind == "missing":
            return location, f"expected a value, got none. Add the key `{location[0]}`"
        if kind == "extra_forbidden":
            key = str(location[0])
            return (
                location,
                f"unknown key{cls.hint(key)}, expected one of {', '.join(cls.known_keys())}",
            )
        fields = {field.alias or name: field for name, field in cls.model_fields.items()}
        annotation = fields[str(location[0])].rebuild_annotation()
        value = value[location[0]]
        depth = 1
        for part in location[1:]:
            container = kind_of(annotation)
            if get_origin(container) not in (tuple, dict):
                # an alternative of a union, which has a single rule
                break
            annotation = get_args(container)[isinstance(part, str)]
            value, depth = value[part], depth + 1
        return location[:depth], expected_but_got(describe(annotation, value), value)


def broken_rule(text: str, *location: str | int) -> ValidationError:
    """Return the error for a validator to raise if a value breaks a rule: ``"expected ..., got ..."``.

    ``location`` is that of the wrong value within the validated value.
    """
    return broken_rules([(location, text)])


def broken_rules(errors: Iterable[tuple[Location, str]]) -> ValidationError:
    """Return a single error for several broken rules, by location within the value."""
    details: list[InitErrorDetails] = [
        {"type": PydanticCustomError(_RULE, text), "loc": location, "input": None}
        for location, text in errors
    ]
    return ValidationError.from_exception_data("", details)


def expected_but_got(expected: str, value: object) -> str:
    """Return the rule and the given value as a message, with the remedy for text that YAML reads as another value."""
    is_unquoted = isinstance(value, bool | int | float) and re.search(r"\btext\b", expected)
    remedy = ". If it is text, put it in quotation marks" if is_unquoted else ""
    return f"expected {expected}, got {yaml_text(value)}{remedy}"


def yaml_text(value: object) -> str:
    """Return a value of a document as text for a message."""
    return shown(_with_lists(value))


def _with_lists(value: object) -> object:
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    return list(map(_with_lists, value)) if isinstance(value, list | tuple) else value
