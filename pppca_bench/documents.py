"""YAML documents: plain values with line numbers, and validation errors that name file, line and key."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, NoReturn, Self, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from pppca_bench.errors import ConfigError, nearest
from pppca_bench.parameters import REQUIRED, describe, kind_of, shown

MAX_BYTES = 1_000_000
MAX_DEPTH = 20  # levels of nesting: configs have three, and far more would exhaust the stack
MAX_BITS = 1024  # of integers, as of the largest float; Python refuses to print far larger integers

_OTHER_BASE = re.compile(r"[-+]?(0[0-9_]+|[0-9][0-9_]*(:[0-9.]+)+)$")
"""Numbers that YAML 1.1 does not read as decimal: 017 is 15, 1:30 is 90."""

_RULE = "rule"
"""Type of validation errors with a complete message."""

Location = tuple[str | int, ...]
"""Path to a value of a document: keys and indices."""


@dataclass(frozen=True)
class YamlSource:
    """Parsed document: plain values, and line numbers, from 1, of keys and list items by location."""

    path: Path  # as the user named it
    text: str
    value: object
    lines: dict[Location, int]

    @property
    def sha256(self) -> str:
        """Return the digest of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def line(self, location: Location) -> int:
        """Return the line of a location, or of the nearest enclosing location with a line."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)

    def where(self, location: Location) -> str:
        """Return file, line and key, the beginning of a message."""
        return f"{self.path}:{self.line(location)}: {dotted(location) or 'config'}"


def dotted(location: Location) -> str:
    """Return a location as text, such as ``methods[0].tau``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.removeprefix(".")


class Section(BaseModel):
    """Base of models of mappings in documents: unknown keys are errors, and values are not converted.

    Lists are read as tuples.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @classmethod
    def known_keys(cls) -> list[str]:
        """Return the keys that the mapping may have."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @classmethod
    def hint(cls, key: str) -> str:
        """Return a hint, the end of the message about an unknown key."""
        return nearest(key, cls.known_keys())

    @classmethod
    def read(cls, source: YamlSource, *, context: Any = None) -> Self:
        """Validate a document; ``context`` is passed to the validators of the model.

        Raises ConfigError with a line for each validation error: file, line, key, expected rule and given value.
        """
        try:
            return cls.model_validate(with_sequences(source.value, tuple), context=context)
        except ValidationError as error:
            first: dict[Location, str] = {}
            for detail in error.errors(include_context=False):
                first.setdefault(detail["loc"], detail["msg"])
            in_order = sorted(first.items(), key=lambda item: source.line(item[0]))
            raise ConfigError("\n".join(f"{source.where(place)}: {text}." for place, text in in_order)) from None

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
            kept = (detail for detail in errors if detail["type"] != "too_short" or detail["loc"] not in lists)
            raise_errors(cls._explained(value, dict(detail)) for detail in kept)

    @classmethod
    def _explained(cls, value: Any, error: Mapping[str, Any]) -> tuple[Location, str]:
        """Return the location of a pydantic error, and a message with the complete rule and the given value."""
        location = error["loc"]
        if error["type"] == _RULE:
            return location, error["msg"]
        if not location:
            return (), f"expected {describe(cls)}, got {'nothing' if value is None else as_written(value)}"
        if error["type"] == "missing":
            return location, f"expected a value, got none. Add the key `{location[0]}`"
        if error["type"] == "extra_forbidden":
            key = str(location[0])
            return location, f"unknown key, expected one of {', '.join(cls.known_keys())}{cls.hint(key)}"
        fields = {field.alias or name: field for name, field in cls.model_fields.items()}
        annotation, value, depth = fields[str(location[0])].rebuild_annotation(), value[location[0]], 1
        for part in location[1:]:
            kind = kind_of(annotation)
            if get_origin(kind) is tuple and isinstance(part, int):
                annotation = get_args(kind)[0]
            elif get_origin(kind) is dict:
                annotation = get_args(kind)[1]
            else:  # an alternative of a union, which has a single rule
                break
            value, depth = value[part], depth + 1
        return location[:depth], expected_but_got(describe(annotation, value), value)


def absent(**options: Any) -> Any:
    """Return the pydantic field of an optional key without default, whose value is `REQUIRED` if absent."""
    return Field(default_factory=lambda: REQUIRED, **options)


def broken_rule(text: str) -> PydanticCustomError:
    """Return the error for a validator to raise if a value breaks a rule: ``"expected ..., got ..."``."""
    return PydanticCustomError(_RULE, text)


def raise_errors(errors: Iterable[tuple[Location, str]]) -> NoReturn:
    """Raise a single ValidationError for all errors in a value, by location within the value."""
    details: list[InitErrorDetails] = [
        {"type": broken_rule(text), "loc": location, "input": None} for location, text in errors
    ]
    raise ValidationError.from_exception_data("", details)


def expected_but_got(expected: str, value: object) -> str:
    """Return the rule and the given value as a message, with the remedy for text that YAML reads as another value."""
    is_unquoted = isinstance(value, bool | int | float) and re.search(r"\btext\b", expected)
    remedy = ". If it is text, put it in quotation marks" if is_unquoted else ""
    return f"expected {expected}, got {as_written(value)}{remedy}"


def with_sequences(value: Any, kind: type[list[Any]] | type[tuple[Any, ...]]) -> Any:
    """Return plain values with all lists and tuples converted to ``kind``."""
    if isinstance(value, dict):
        return {key: with_sequences(item, kind) for key, item in value.items()}
    return kind(with_sequences(item, kind) for item in value) if isinstance(value, list | tuple) else value


def as_written(value: object) -> str:
    """Return a value as text for a message, with lists in place of tuples."""
    return shown(with_sequences(value, list))


class _Loader(yaml.SafeLoader):
    """Safe loader with at most `MAX_DEPTH` levels, and without aliases, which could expand without bound."""

    depth = -1

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise _yaml_error("expected plain values, got an alias (*name)", event)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _yaml_error(f"expected at most {MAX_DEPTH} levels, got more", event)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


# PyYAML follows YAML 1.1, in which 1e-3 is text.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$"), list("-+.0123456789")
)


def read_yaml(path: Path) -> YamlSource:
    """Read a YAML document safely, with line numbers of keys.

    Raises ConfigError if the file cannot be read, is not UTF-8 or not YAML, repeats a key, has aliases or unsafe tags,
    or nests too deeply.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}). Check the path.") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path}: expected at most {MAX_BYTES} bytes, got more. Is it a config?")
    try:
        return parse_yaml(path, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: expected UTF-8 text, got byte 0x{data[error.start]:02x}.") from None


def to_source(document: Mapping[str, Any], path: Path) -> YamlSource:
    """Return a document of plain values as if read from a file; raise ConfigError for values that YAML lacks."""
    try:
        text = yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True)
    except yaml.YAMLError as error:
        got = " ".join(map(str, error.args))
        raise ConfigError(f"{path}: expected plain values of YAML, got {got}.") from None
    return parse_yaml(path, text)


def parse_yaml(path: Path, text: str) -> YamlSource:
    """Parse a YAML document as `read_yaml` does; messages name ``path``."""
    try:
        loader = _Loader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"{path}:{line}: expected printable text, got character {error.character:#x}.") from None
    lines: dict[Location, int] = {}
    try:
        node = loader.get_single_node()
        value = _plain(loader, node, (), lines) if node is not None else None
    except yaml.MarkedYAMLError as error:
        at = f":{error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        raise ConfigError(f"{path}{at}: not valid YAML: {error.problem}.") from None
    finally:
        loader.dispose()
    return YamlSource(path, text, value, lines)


def _yaml_error(problem: str, part: Any) -> yaml.YAMLError:
    return yaml.composer.ComposerError(None, None, problem, part.start_mark)


def _plain(loader: _Loader, node: yaml.Node, here: Location, lines: dict[Location, int]) -> Any:
    """Return the value of a node, and add the line of each location to ``lines``."""
    lines.setdefault(here, node.start_mark.line + 1)
    if isinstance(node, yaml.ScalarNode):
        return _plain_scalar(loader, node)
    if node.tag not in (loader.DEFAULT_MAPPING_TAG, loader.DEFAULT_SEQUENCE_TAG):
        raise _yaml_error(f"expected plain values, got the tag {node.tag!r}", node)
    if not isinstance(node, yaml.MappingNode):
        return [_plain(loader, item, (*here, index), lines) for index, item in enumerate(node.value)]
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise _yaml_error("expected a plain key, got a list or mapping", key_node)
        key, place = key_node.value, (*here, key_node.value)
        if key in result:
            raise _yaml_error(f"expected each key once, got {key!r} again (first on line {lines[place]})", key_node)
        lines[place] = key_node.start_mark.line + 1
        result[key] = _plain(loader, value_node, place, lines)
    return result


def _is_misread(text: str, value: object) -> bool:
    """Return whether YAML 1.1 reads unquoted text as a value that its reader does not see: a date, off, 017, 1:30."""
    if isinstance(value, bool):
        return text.lower() not in ("true", "false")
    return isinstance(value, date) or (isinstance(value, int | float) and bool(_OTHER_BASE.match(text)))


def _plain_scalar(loader: _Loader, node: yaml.ScalarNode) -> Any:
    start = repr(node.value[:40])
    try:
        value = loader.construct_object(node, deep=True)
    except (ValueError, OverflowError) as error:
        raise _yaml_error(f"expected a value that Python can represent, got {start} ({error})", node) from None
    if node.style is None and _is_misread(node.value, value):
        read = "a date" if isinstance(value, date) else json.dumps(value)
        problem = f"expected a value that YAML reads as it is written, got {start}, which it reads as {read}"
        raise _yaml_error(f"{problem}. If it is text, put it in quotation marks; otherwise write its value", node)
    if not isinstance(value, str | int | float | None):
        raise _yaml_error(f"expected plain values, got the tag {node.tag!r}", node)
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise _yaml_error(f"expected numbers of at most {MAX_BITS} bits, got {start}...", node)
    return value
