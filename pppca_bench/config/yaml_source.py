"""YAML text to plain values that remember the line each key stands on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pppca_bench.errors import ConfigError

MAX_BYTES = 1_000_000
"""A config is written by hand; anything longer is a mistake or an attack."""

MAX_DEPTH = 20
"""Configs nest three levels deep; a limit keeps a hostile file from exhausting the stack."""

MAX_BITS = 1024
"""As many as the largest float has; Python refuses to print far larger integers, such as a long 0x number."""

MAX_PLAIN = 10_000
"""Characters of a value without quotes, whose type is told by patterns: far more than the longest number has."""

_OTHER_BASE = re.compile(r"[-+]?(0[0-9_]+|[0-9][0-9_]*(:[0-9.]+)+)$")
"""Numbers that YAML 1.1 reads as no reader of decimal numbers would: 017 as 15, 1:30 as 90."""

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class YamlSource:
    """Hold a parsed document and where each of its values stands.

    Attributes
    ----------
    path : Path
        The file, as the user named it.
    text : str
        What was read from it.
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
        """Return the digest of what was read."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def line(self, location: Location) -> int:
        """Return the line of the nearest enclosing value that has one."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)


class _Loader(yaml.SafeLoader):
    """Safe loader without aliases: they serve no config, and nested ones grow without bound."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.events.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "expected plain values, got an alias (*name)", mark)
        return super().compose_node(parent, index)

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        # Every pattern of a number would be tried on a plain one, however long it is.
        if event.implicit[0] and len(event.value) > MAX_PLAIN:
            problem = f"expected values of at most {MAX_PLAIN} characters, got {event.value[:40]!r}..."
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        return super().compose_scalar_node(anchor)


# YAML 1.1, which PyYAML reads, takes 1e-3 for text; everybody else takes it for a number.
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
    return parse_yaml(path, _read_text(path))


def to_source(document: Mapping[str, Any], path: Path) -> YamlSource:
    """Return a document of plain values as if it had been read from a file of this name.

    Raises
    ------
    ConfigError
        It holds what YAML cannot.
    """
    try:
        text = yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True)
    except yaml.YAMLError as error:
        raise ConfigError(
            f"{path}: expected plain values, as YAML has them, got {' '.join(map(str, error.args))}."
        ) from None
    return parse_yaml(path, text)


def parse_yaml(path: Path, text: str) -> YamlSource:
    """Parse a YAML document as `read_yaml` does; ``path`` is what messages call it."""
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
        raise ConfigError(_yaml_message(path, error)) from None
    except RecursionError:
        line = loader.line + 1
        raise ConfigError(f"{path}:{line}: expected at most {MAX_DEPTH} levels, got far more. Flatten it.") from None
    finally:
        loader.dispose()
    return YamlSource(path, text, value, lines)


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}). Check the path.") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path}: expected at most {MAX_BYTES} bytes, got more. Is it a config?")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: expected UTF-8 text, got byte 0x{data[error.start]:02x}.") from None


def _yaml_message(path: Path, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    line = f":{mark.line + 1}" if mark is not None else ""
    problem = getattr(error, "problem", None) or " ".join(str(error).split())
    return f"{path}{line}: not valid YAML: {problem}."


def _refusal(problem: str, node: yaml.Node) -> yaml.YAMLError:
    return yaml.composer.ComposerError(None, None, problem, node.start_mark)


def _plain(loader: _Loader, node: yaml.Node, here: Location, lines: dict[Location, int]) -> Any:
    lines.setdefault(here, node.start_mark.line + 1)
    if len(here) > MAX_DEPTH:
        raise _refusal(f"expected at most {MAX_DEPTH} levels, got more", node)
    if isinstance(node, yaml.ScalarNode):
        return _plain_scalar(loader, node)
    if node.tag not in (loader.DEFAULT_MAPPING_TAG, loader.DEFAULT_SEQUENCE_TAG):
        raise _refusal(f"expected plain values, got the tag {node.tag!r}", node)
    if isinstance(node, yaml.MappingNode):
        return _plain_mapping(loader, node, here, lines)
    return [_plain(loader, item, (*here, index), lines) for index, item in enumerate(node.value)]


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


def _plain_mapping(
    loader: _Loader, node: yaml.MappingNode, here: Location, lines: dict[Location, int]
) -> dict[str, Any]:
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
