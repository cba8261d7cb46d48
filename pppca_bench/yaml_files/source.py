"""YAML files: plain values with line numbers."""

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
MAX_DEPTH = 20  # levels of nesting: configs have three, and far more would exhaust the stack
MAX_VALUES = 100_000  # with those that aliases repeat, which a few lines could make billions

_TAG = "tag:yaml.org,2002:"
_SCALARS = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"[-+]?(0|[1-9][0-9_]{0,307}|0x[0-9a-fA-F_]{1,255})", list("-+0123456789")),
    "float": (
        r"[-+]?([0-9][0-9_]*\.[0-9_]*|\.[0-9]+|[0-9][0-9_]*(?=[eE]))([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)"
        r"|\.(nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
}
"""Patterns of scalars that are no text, and their first characters, as in YAML 1.2.

Choice: YAML 1.1, which PyYAML follows, would read no as false, 017 as 15, 1:30 as 90 and 1e-3 as text. Integers beyond
the largest float are texts, too: Python would refuse to print them.
"""

Location = tuple[str | int, ...]
"""Path to a value of a document: keys and indices."""


@dataclass(frozen=True)
class YamlSource:
    """Parsed document: plain values with lists as tuples, and line numbers, from 1, of keys and items by location."""

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
        """Return file, line and key, such as ``"a.yaml:3: methods[0].tau"``, the beginning of a message."""
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
        return f"{self.path}:{self.line(location)}: {key.removeprefix('.') or 'config'}"


class _Loader(yaml.SafeLoader):
    """Safe loader of at most `MAX_DEPTH` levels, without tags."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 as PyYAML has it
    depth = -1

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "tag", None) is not None:
            raise _yaml_error(f"expected plain values, got the tag {event.tag!r}", event)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _yaml_error(f"expected at most {MAX_DEPTH} levels, got more", event)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


class _Dumper(yaml.SafeDumper):
    """Safe dumper without aliases that quotes texts which are no texts in YAML 1.1 or 1.2."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 PyYAML's interface
        return True


for _kind, (_pattern, _first) in _SCALARS.items():
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(_TAG + _kind, re.compile(f"^(?:{_pattern})$"), _first)


def dump_yaml(document: Mapping[str, Any]) -> str:
    """Return a document of plain values as text; raise yaml.YAMLError for values that YAML lacks."""
    return yaml.dump(dict(document), Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def read_yaml(path: Path) -> YamlSource:
    """Read a YAML document safely, with line numbers of keys.

    Raises ConfigError if the file cannot be read, is not UTF-8 or not YAML, repeats a key, has unsafe tags, nests too
    deeply, or has too many values. Aliases (``*name``) stand for the value of their anchor (``&name``).
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
        raise ConfigError(
            f"{path}:{line}: expected UTF-8 text, got byte 0x{data[error.start]:02x}."
        ) from None


def to_source(document: Mapping[str, Any], path: Path) -> YamlSource:
    """Return a document of plain values as if read from a file; raise ConfigError for values that YAML lacks."""
    try:
        return parse_yaml(path, dump_yaml(document))
    except yaml.YAMLError as error:
        got = " ".join(map(str, error.args))
        raise ConfigError(f"{path}: expected plain values of YAML, got {got}.") from None


def parse_yaml(path: Path, text: str) -> YamlSource:
    """Parse a YAML document as `read_yaml` does; messages name ``path``."""
    lines: dict[Location, int] = {}
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        value = _plain(loader, node, (), lines) if node is not None else None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(
            f"{path}:{line}: expected printable text, got character {error.character:#x}."
        ) from None
    except yaml.MarkedYAMLError as error:
        at = f":{error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        raise ConfigError(f"{path}{at}: not valid YAML: {error.problem}.") from None
    return YamlSource(path, text, value, lines)


def _yaml_error(problem: str, part: Any) -> yaml.YAMLError:
    return yaml.composer.ComposerError(None, None, problem, part.start_mark)


def _plain(loader: _Loader, node: yaml.Node, here: Location, lines: dict[Location, int]) -> Any:
    """Return the value of a node, and add the line of each location to ``lines``."""
    lines.setdefault(here, node.start_mark.line + 1)
    if len(here) > MAX_DEPTH or len(lines) > MAX_VALUES:
        raise _yaml_error(
            f"expected aliases to at most {MAX_VALUES:,} values in {MAX_DEPTH} levels, got more",
            node,
        )
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_object(node)
    if isinstance(node, yaml.SequenceNode):
        return tuple(
            _plain(loader, item, (*here, index), lines) for index, item in enumerate(node.value)
        )
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise _yaml_error("expected a plain key, got a list or mapping", key_node)
        key, location = key_node.value, (*here, key_node.value)
        if key in result:
            raise _yaml_error(
                f"expected each key once, got {key!r} again (first on line {lines[location]})",
                key_node,
            )
        lines[location] = key_node.start_mark.line + 1
        result[key] = _plain(loader, value_node, location, lines)
    return result
