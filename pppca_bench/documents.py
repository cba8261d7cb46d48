"""YAML documents: plain values with their lines, and validation errors that name file, line and key."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Self, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from pppca_bench.errors import ConfigError, nearest
from pppca_bench.parameters import REQUIRED, describe, kind_of, shown

MAX_BYTES = 1_000_000
"""Largest size of a config: written by hand, none is longer."""

MAX_DEPTH = 20
"""Limit of nesting, so that no file exhausts the stack; configs have three levels."""

MAX_BITS = 1024
"""Limit of integers, that of the largest float; Python refuses to print far larger ones."""

MAX_PLAIN = 10_000
"""Limit of a value without quotes, in characters: patterns resolve its type, and numbers are shorter."""

_OTHER_BASE = re.compile(r"[-+]?(0[0-9_]+|[0-9][0-9_]*(:[0-9.]+)+)$")
"""Numbers that YAML 1.1 does not read as decimal: 017 is 15, 1:30 is 90."""

_RULE = "rule"
"""Type of the validation errors whose message is complete."""

Location = tuple[str | int, ...]
"""Keys and indices that lead to a value of a document."""


@dataclass(frozen=True)
class YamlSource:
    """A parsed document and the lines of its values.

    Attributes
    ----------
    path : Path
        The file, as the user named it.
    text : str
        Content of the file.
    value : object
        Plain dicts, lists, strings, numbers, booleans and None.
    lines : dict of location to int
        Line, from 1, of the key (in a mapping) or of the item (in a list) at each location.
    """

    path: Path
    text: str
    value: object
    lines: dict[Location, int]

    @property
    def sha256(self) -> str:
        """Return the digest of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def line(self, location: Location) -> int:
        """Return the line of the nearest enclosing value that has one."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)

    def where(self, location: Location) -> str:
        """Return file, line and place, with which a message begins."""
        return f"{self.path}:{self.line(location)}: {dotted(location) or 'config'}"


def dotted(location: Location) -> str:
    """Return a location as text, such as ``methods[0].tau``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.removeprefix(".")


class Section(BaseModel):
    """Base of the models of a document's mappings: unknown keys are errors, and no value is converted.

    Lists arrive as tuples.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @classmethod
    def known_keys(cls) -> list[str]:
        """Return the keys that the mapping may have."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    def given(self) -> dict[str, Any]:
        """Return the values that the document has, by key; of a section inside its own values."""
        values = {type(self).model_fields[name].alias or name: getattr(self, name) for name in self.model_fields_set}
        return {key: value.given() if isinstance(value, Section) else value for key, value in values.items()}

    @classmethod
    def hint(cls, key: str) -> str:
        """Return the end of the message about an unknown key."""
        return nearest(key, cls.known_keys())

    @classmethod
    def read(cls, source: YamlSource, *, context: Any = None) -> Self:
        """Validate a document.

        Parameters
        ----------
        source : YamlSource
        context : object, optional
            Handed to the model's validators.

        Raises
        ------
        ConfigError
            A line for each validation error: file, line, key, expected rule and given value.
        """
        try:
            return cls.part(as_tuples(source.value), context=context)
        except ValidationError as error:
            first: dict[Location, str] = {}
            for one in error.errors(include_context=False):
                first.setdefault(one["loc"], one["msg"])
            in_order = sorted(first.items(), key=lambda item: source.line(item[0]))
            raise ConfigError("\n".join(f"{source.where(place)}: {text}." for place, text in in_order)) from None

    @classmethod
    def part(cls, value: object, *, context: Any = None) -> Self:
        """Validate a part of a document, inside a validator of an enclosing model, which adds its own location.

        Raises
        ------
        pydantic.ValidationError
            Its messages are complete.
        """
        try:
            return cls.model_validate(value, context=context)
        except ValidationError as error:
            errors = error.errors(include_context=False)
            # Invalid items do not count towards the length of their list.
            lists = {one["loc"][:end] for one in errors for end in range(len(one["loc"]))}
            kept = (one for one in errors if one["type"] != "too_short" or one["loc"] not in lists)
            raise_errors(_explained(cls, value, dict(one)) for one in kept)


def absent(**options: Any) -> Any:
    """Return the pydantic field of a key that may be left out, without a default: it is `REQUIRED` then."""
    return Field(default_factory=lambda: REQUIRED, **options)


def broken_rule(text: str) -> PydanticCustomError:
    """Return the error of a value that breaks a rule, for a validator to raise: ``"expected ..., got ..."``."""
    return PydanticCustomError(_RULE, text)


def raise_errors(errors: Iterable[tuple[Location, str]]) -> NoReturn:
    """Raise one ValidationError for several rules that a value breaks, by their locations below it."""
    details: list[InitErrorDetails] = [
        {"type": broken_rule(text), "loc": location, "input": None} for location, text in errors
    ]
    raise ValidationError.from_exception_data("", details)


def as_written(value: object) -> str:
    """Return a value as a message shows it, lists in place of tuples."""

    def as_lists(value: object) -> object:
        if isinstance(value, dict):
            return {key: as_lists(item) for key, item in value.items()}
        return list(map(as_lists, value)) if isinstance(value, tuple) else value

    return shown(as_lists(value))


def as_tuples(value: object) -> Any:
    """Return plain values with tuples in place of lists."""
    if isinstance(value, dict):
        return {key: as_tuples(item) for key, item in value.items()}
    return tuple(map(as_tuples, value)) if isinstance(value, list | tuple) else value


def missing(key: str) -> str:
    """Return the message about a key that is required."""
    return f"expected a value, got none. Add the key `{key}`"


def _explained(model: type[Section], value: object, error: Mapping[str, Any]) -> tuple[Location, str]:
    """Return the location of one of pydantic's errors and its message: what was expected, and the value given."""
    location = error["loc"]
    if error["type"] == _RULE:
        return location, error["msg"]
    if error["type"] == "missing":
        return location, missing(str(location[-1]))
    annotation, place = _annotation_at(model, location)
    if error["type"] == "extra_forbidden":
        owner, key = kind_of(annotation), str(location[-1])
        return location, f"unknown key, expected one of {', '.join(owner.known_keys())}{owner.hint(key)}"
    value = error["input"] if place == location else _value_at(value, place)
    got = "nothing" if value is None and _is_section(kind_of(annotation)) else as_written(value)
    if error["type"] == "too_long" and isinstance(value, tuple):
        got = f"{len(value)} of them"
    return place, f"expected {describe(annotation, value)}, got {got}"


def _value_at(value: Any, place: Location) -> object:
    for part in place:
        value = value[part]
    return value


def _annotation_at(model: type[Section], location: Location) -> tuple[Any, Location]:
    """Return the innermost annotation that states the whole rule for a value, and the location of that value.

    It is a union itself rather than an alternative of it.
    """
    annotation: Any = model
    for depth, part in enumerate(location):
        kind = kind_of(annotation)
        if _is_section(kind):
            fields = {field.alias or name: field for name, field in kind.model_fields.items()}
            inner = fields[part].rebuild_annotation() if part in fields else None
        elif get_origin(kind) is tuple and isinstance(part, int):
            inner = get_args(kind)[0]
        else:
            inner = get_args(kind)[1] if get_origin(kind) in (dict, Mapping) else None
        if inner is None:
            return annotation, location[:depth]
        annotation = inner
    return annotation, location


def _is_section(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


class _Loader(yaml.SafeLoader):
    """Safe loader without aliases, which no config needs and which expand without bound when nested."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.events.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "expected plain values, got an alias (*name)", mark)
        return super().compose_node(parent, index)

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        # Every pattern of a number would be tried on a plain value, however long it is.
        if event.implicit[0] and len(event.value) > MAX_PLAIN:
            problem = f"expected values of at most {MAX_PLAIN} characters, got {event.value[:40]!r}..."
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        return super().compose_scalar_node(anchor)


# PyYAML follows YAML 1.1, in which 1e-3 is text.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$"), list("-+.0123456789")
)


def read_yaml(path: Path) -> YamlSource:
    """Read a YAML document safely, with the line of every key.

    Raises
    ------
    ConfigError
        The file cannot be read, is not UTF-8 or not YAML, repeats a key, uses aliases or unsafe tags,
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
    """Return a document of plain values as if it had been read from a file of this name.

    Raises
    ------
    ConfigError
        It holds a value that YAML cannot represent.
    """
    try:
        text = yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True)
    except yaml.YAMLError as error:
        raise ConfigError(
            f"{path}: expected plain values, as YAML has them, got {' '.join(map(str, error.args))}."
        ) from None
    return parse_yaml(path, text)


def parse_yaml(path: Path, text: str) -> YamlSource:
    """Parse a YAML document as `read_yaml` does; messages name ``path``."""
    try:
        loader = _Loader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"{path}:{line}: expected printable text, got character {error.character:#x}.") from None
    try:
        node = loader.get_single_node()
        lines: dict[Location, int] = {}
        value = _plain(loader, node, (), lines) if node is not None else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f":{mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise ConfigError(f"{path}{at}: not valid YAML: {problem}.") from None
    except RecursionError:
        line = loader.line + 1
        raise ConfigError(f"{path}:{line}: expected at most {MAX_DEPTH} levels, got far more. Flatten it.") from None
    finally:
        loader.dispose()
    return YamlSource(path, text, value, lines)


def _refusal(problem: str, node: yaml.Node) -> yaml.YAMLError:
    return yaml.composer.ComposerError(None, None, problem, node.start_mark)


def _plain(loader: _Loader, node: yaml.Node, here: Location, lines: dict[Location, int]) -> Any:
    """Return the value of a node; the line of each location is added to ``lines``."""
    lines.setdefault(here, node.start_mark.line + 1)
    if len(here) > MAX_DEPTH:
        raise _refusal(f"expected at most {MAX_DEPTH} levels, got more", node)
    if isinstance(node, yaml.ScalarNode):
        return _plain_scalar(loader, node)
    if node.tag not in (loader.DEFAULT_MAPPING_TAG, loader.DEFAULT_SEQUENCE_TAG):
        raise _refusal(f"expected plain values, got the tag {node.tag!r}", node)
    if not isinstance(node, yaml.MappingNode):
        return [_plain(loader, item, (*here, index), lines) for index, item in enumerate(node.value)]
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise _refusal("expected a plain key, got a list or mapping", key_node)
        key = key_node.value
        if key in result:
            first = lines[(*here, key)]
            raise _refusal(f"expected each key once, got {key!r} again (first on line {first})", key_node)
        lines[(*here, key)] = key_node.start_mark.line + 1
        result[key] = _plain(loader, value_node, (*here, key), lines)
    return result


def _plain_scalar(loader: _Loader, node: yaml.ScalarNode) -> Any:
    try:
        value = loader.construct_object(node, deep=True)
    except (ValueError, OverflowError) as error:
        raise _refusal(f"expected a value that Python can hold, got {node.value[:40]!r} ({error})", node) from None
    if node.style is None and isinstance(value, int | float) and _OTHER_BASE.match(node.value):
        problem = (
            f"expected a decimal number, got {node.value[:40]!r}, which YAML reads as {value}."
            f" Write {value}, or put it in quotes if it is text"
        )
        raise _refusal(problem, node)
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise _refusal(f"expected numbers of at most {MAX_BITS} bits, got {node.value[:40]!r}...", node)
    return value
