"""Overrides of configs (``--set``) and filters of their runs (``--only``) on the command line."""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pppca_bench.config.experiment import Config
from pppca_bench.config.sections import as_mapping
from pppca_bench.errors import ConfigError, UnknownNameError, listed, nearest
from pppca_bench.methods.registry import METHODS
from pppca_bench.runs import Cell, Names, Plan, written
from pppca_bench.yaml_files.section import yaml_text
from pppca_bench.yaml_files.source import YamlSource, dump_yaml, parse_yaml

MAX_NAME_LENGTH = 120  # characters of a changed config's name, which names a folder of tables

_CONFIG_KEYS = [key for key in Config.known_keys() if key not in ("name", "classifier", "methods")]
_PART = re.compile(r"""(?:"[^"]*"|'[^']*'|\[[^\]]*\]|[^,])+|(?<![^,])(?=,|$)""")
"""Text between the commas of conditions; commas in quotation marks or brackets do not separate."""


class RunFilter(NamedTuple):
    """Filter of runs: values as text by key, which is ``problem``, ``method``, or a setting in `Cell.settings`.

    A name is compared as text, any other setting as the value that YAML reads.

    A run matches if, for each key, it has one of the values; without keys all runs match. A setting that a run lacks is
    null.
    """

    wanted: Mapping[str, Names]

    def matches(self, cell: Cell) -> bool:
        """Return whether the runs of a cell match."""
        settings = _settings(cell)
        return all(
            any(_is_same(settings.get(key), value) for value in values)
            for key, values in self.wanted.items()
        )

    def matches_problem(self, name: str) -> bool:
        """Return whether any run on a problem can match."""
        return name in self.wanted.get("problem", (name,))

    def apply(self, plan: Plan) -> Plan:
        """Return a plan with the matching runs."""
        specs = tuple(spec for spec in plan.specs if self.matches(spec.cell))
        left = tuple(
            spec for spec in (*plan.specs, *plan.all_repeats) if not self.matches(spec.cell)
        )
        return replace(plan, specs=specs, left_out=left)

    def check(self, cells: Collection[Cell]) -> None:
        """Raise UnknownNameError for a key that no cell has, or if no cell matches; the message lists known values."""
        values: dict[str, dict[str, None]] = {}
        for key, value in (item for cell in cells for item in _settings(cell).items()):
            values.setdefault(key, {})[written(value)] = None
        for key in self.wanted:
            if key not in values:
                expected = f"expected one of {listed(sorted(values), key)}"
                raise UnknownNameError(
                    f"--only {key}: {expected}, got {key!r}{nearest(key, values)}."
                )
        if not any(map(self.matches, cells)):
            known = [
                f"{key} is {listed(values[key], requested[0])}"
                for key, requested in self.wanted.items()
            ]
            with_comma = (
                (key, name)
                for key in self.wanted
                for name in values[key]
                if "," in name and name[0] != "["
            )
            quoted = next((f"""'{key}="{name}"'""" for key, name in with_comma), None)
            hints = [
                nearest(value, values[key])
                for key, requested in self.wanted.items()
                for value in requested
                if value not in values[key]
            ]
            hint = next(filter(None, hints), "")
            remedy = f" Quote a value with a comma twice: --only {quoted}." if quoted else ""
            raise UnknownNameError(
                f"--only: no run of the configs matches{hint}. In the configs {'; '.join(known)}.{remedy}"
            )


def parse_filter(options: Sequence[str]) -> RunFilter:
    """Read conditions such as ``"method=dgha,tau=5,10"``, separated by commas; raise ConfigError for a missing key.

    Values of the same key are alternatives; runs match the conditions on all keys, in a single or several options.
    """
    wanted: dict[str, Names] = {}
    for option in options:
        key = ""
        for part in _PART.findall(option):
            before, equals, after = part.partition("=")
            is_value = not equals or part.lstrip().startswith(("'", '"'))
            key, text = (key, part) if is_value else (before.strip(), after)
            if not key or not text.strip():
                raise ConfigError(
                    f"--only {option}: expected KEY=VALUE, such as method=dgha,tau=15, got {part!r}."
                )
            wanted[key] = (*wanted.get(key, ()), text.strip())
    return RunFilter(wanted)


def parse_changes(options: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Read changes such as ``"classifier.learning_rate=0.2"``: YAML values by key; the last value of a key counts.

    The second mapping has the texts of numbers, for keys that only take texts. Raises ConfigError for a change without
    key or value, or whose value is not YAML.
    """
    changes, texts = dict[str, Any](), dict[str, str]()
    for option in options:
        key, _, text = (part.strip() for part in option.partition("="))
        if not key or not text:
            raise ConfigError(
                f"--set {option}: expected KEY=VALUE, such as classifier.learning_rate=0.2."
            )
        changes[key], texts[key] = parse_yaml(Path("--set"), text).value, text
    changes = dict(sorted(changes.items()))
    return changes, {
        key: texts[key] for key, value in changes.items() if type(value) in (int, float)
    }


def apply_changes(source: YamlSource, changes: Mapping[str, Any]) -> YamlSource:
    """Return a config with changed values, before validation.

    The key of a change is a key of the config, ``classifier.KEY``, or ``METHOD.KEY`` for all sections of a method;
    raises ConfigError for other keys. The text of the result is the changed config with a new name (`changed_name`)
    after a comment that lists the changes.
    """
    if not changes or not isinstance(source.value, dict):
        return source
    value = copy.deepcopy(source.value)
    if isinstance(methods := value.get("methods"), tuple):
        value["methods"] = tuple(as_mapping(entry, "method") for entry in methods)
    if "classifier" in value:
        value["classifier"] = as_mapping(value["classifier"], "rule")
    for key, new in changes.items():
        _apply_change(value, key, new)
    name = changed_name(str(value.get("name", "")), changes)
    head = f"changed by {as_options(changes)}; as a file it needs a name of its own"
    return replace(source, value=value, text=_text_after(source, head, {**value, "name": name}))


def with_seed(source: YamlSource, seed: int) -> YamlSource:
    """Return a config with another seed and the same name, before validation."""
    if not isinstance(source.value, dict):
        return source
    value = {**source.value, "seed": seed}
    return replace(source, value=value, text=_text_after(source, f"with --seed {seed}", value))


def _text_after(source: YamlSource, head: str, value: Mapping[str, Any]) -> str:
    """Return the text of a config, after a comment with the name of its file and what was changed."""
    file = source.path.name.encode("utf-8", "backslashreplace").decode()
    return f"# {file}, {head}.\n{dump_yaml(value)}"


def changed_name(name: str, changes: Mapping[str, Any]) -> str:
    """Return the name of a changed config's results, such as ``"cancer1+classifier.learning_rate=0.2"``.

    Choice: a plus sign, which config names lack, so that changed runs have separate tables and never enter published
    tables. Characters that folder names cannot contain are replaced, long names are cut; both then get a digest.
    """
    if not changes:
        return name
    values = {key: value if isinstance(value, tuple) else [value] for key, value in changes.items()}
    exact = ",".join(f"{key}={','.join(map(written, each))}" for key, each in values.items())
    plain = re.sub(r"[^A-Za-z0-9_.=,+-]", "-", exact)
    if plain == exact and len(name) + len(plain) < MAX_NAME_LENGTH:
        return f"{name}+{plain}"
    digest = hashlib.sha256(exact.encode()).hexdigest()[:8]
    return f"{name}+{plain[: MAX_NAME_LENGTH - len(name) - 10]}-{digest}"


def as_options(changes: Mapping[str, Any]) -> str:
    """Return changes as options of the command line."""
    return " ".join(f"--set {key}={written(value)}" for key, value in changes.items())


def _apply_change(document: dict[str, Any], key: str, new: Any) -> None:
    """Set a key of a config in place; METHOD.KEY sets it in all sections of the method."""
    methods = document.get("methods")
    sections = (
        [entry for entry in methods if isinstance(entry, dict)]
        if isinstance(methods, tuple)
        else []
    )
    names = list(dict.fromkeys(str(entry.get("method")) for entry in sections))
    method = next((name for name in names if key.startswith(f"{name}.")), None)
    if key in _CONFIG_KEYS or key.startswith("classifier."):
        sections, path = [document], key.split(".")
    elif method:
        sections = [entry for entry in sections if entry.get("method") == method]
        path = key.removeprefix(f"{method}.").split(".")
    else:
        known = [
            *_CONFIG_KEYS,
            "classifier.KEY",
            *(f"{name}.KEY" for name in names if name in METHODS),
        ]
        raise ConfigError(
            f"--set {key}: expected one of {listed(known, key)}, got {key!r}{nearest(key, known)}."
        )
    for section in sections:
        for part in path[:-1]:
            section = section.setdefault(part, {})
            if not isinstance(section, dict):
                raise ConfigError(
                    f"--set {key}: expected a mapping at {part!r}, got {yaml_text(section)}."
                )
        section[path[-1]] = new


def _settings(cell: Cell) -> dict[str, Any]:
    return {"problem": cell.problem, "method": cell.method, **cell.settings}


@cache
def _read(text: str) -> Any:
    return parse_yaml(Path("--only"), text).value


def _is_same(value: Any, text: str) -> bool:
    """Return whether a value equals the requested value; a list of one item equals the item, and true is not 1."""
    if isinstance(value, str):
        return value == (_read(text) if text[0] in "'\"" else text)
    requested = _read(text)
    if isinstance(value, tuple) and not isinstance(requested, tuple):
        requested = (requested,)
    return bool(value == requested) and isinstance(value, bool) == isinstance(requested, bool)
