"""What a command line changes of configs (``--set``), and which of their runs it takes (``--only``)."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from pppca_bench.config.experiment import Experiment
from pppca_bench.config.sections import spelled_out
from pppca_bench.documents import YamlSource, parse_yaml
from pppca_bench.errors import ConfigError, UnknownNameError, listed, nearest
from pppca_bench.methods.registry import METHODS
from pppca_bench.parameters import shown
from pppca_bench.runs import Cell

LONGEST_NAME = 120
"""Of a changed config, in characters: its tables have a folder of this name."""

_OF_THE_CONFIG = [key for key in Experiment.known_keys() if key not in ("name", "classifier", "methods")]
_APART = re.compile(r",(?![^\[]*\])")
"""A comma that stands in no list."""


@dataclass(frozen=True)
class Only:
    """Say which runs of the configs a command takes.

    Attributes
    ----------
    wanted : mapping of str to tuple
        Values by key: ``problem``, ``method``, or a setting as in `Cell.settings`. A run has one of the values of each
        key; without keys every run is taken.
    """

    wanted: Mapping[str, tuple[Any, ...]]

    def takes(self, cell: Cell) -> bool:
        """Tell whether a cell's runs are taken."""
        found = _named(cell)
        return all(key in found and any(_same(found[key], one) for one in asked) for key, asked in self.wanted.items())

    def takes_problem(self, name: str) -> bool:
        """Tell whether any run on a problem can be taken."""
        return name in self.wanted.get("problem", (name,))

    def check(self, cells: Collection[Cell]) -> None:
        """Raise UnknownNameError where a key names nothing of the cells, or none is taken; it tells what there is."""
        values: dict[str, dict[str, None]] = {}
        for key, value in (item for cell in cells for item in _named(cell).items()):
            values.setdefault(key, {})[_written(value)] = None
        for key in self.wanted:
            if key not in values:
                raise UnknownNameError(
                    f"--only {key}: expected one of {listed(sorted(values), key)}, got {key!r}{nearest(key, values)}."
                )
        if not any(map(self.takes, cells)):
            there = "; ".join(
                f"{key} is {listed(values[key], _written(asked[0]))}" for key, asked in self.wanted.items()
            )
            raise UnknownNameError(f"--only: none of the configs' runs matches. In them {there}.")


def parse_only(options: Sequence[str]) -> Only:
    """Read conditions such as ``"method=dgha,tau=15"``.

    Parameters
    ----------
    options : sequence of str
        Each with one condition or more, parted by commas. Values of one key are alternatives, those of different keys
        hold together, in one option or in several; ``tau=5,10`` names two values.

    Raises
    ------
    ConfigError
        A condition has no key.
    """
    wanted: dict[str, tuple[Any, ...]] = {}
    for option in options:
        key = ""
        for part in _APART.split(option):
            before, equals, after = part.partition("=")
            key, text = (before.strip(), after) if equals else (key, part)
            if not key or not text.strip():
                raise ConfigError(f"--only {option}: expected KEY=VALUE, such as method=dgha,tau=15, got {part!r}.")
            wanted[key] = (*wanted.get(key, ()), _value(text, "--only"))
    return Only(wanted)


def parse_changes(options: Sequence[str]) -> dict[str, Any]:
    """Read changes such as ``"classifier.learning_rate=0.2"``: YAML values by key; of one key the last counts.

    Raises
    ------
    ConfigError
        A change has no key or no value, or the value is not YAML.
    """
    found = {}
    for option in options:
        key, equals, text = option.partition("=")
        if not key.strip() or not equals or not text.strip():
            raise ConfigError(f"--set {option}: expected KEY=VALUE, such as classifier.learning_rate=0.2.")
        found[key.strip()] = _value(text, "--set")
    return dict(sorted(found.items()))


def changed(source: YamlSource, changes: Mapping[str, Any]) -> YamlSource:
    """Return a document with some values changed.

    Its text is what the changed config says, under its own name (`changed_name`), after a comment on what was changed.

    Parameters
    ----------
    source : YamlSource
        A config, not yet validated; ``name`` stays as it is.
    changes : mapping of str to value
        New values, by key: a key of the config, ``classifier.KEY``, or ``METHOD.KEY`` for each entry of that method.

    Raises
    ------
    ConfigError
        A key leads nowhere.
    """
    if not changes or not isinstance(source.value, dict):
        return source
    value = copy.deepcopy(source.value)
    for key, new in changes.items():
        _change(value, key, new)
    name = changed_name(str(value.get("name", "")), changes)
    head = f"# {source.path.name}, changed by {_as_options(changes)}; as a file it needs a name of its own."
    text = yaml.safe_dump({**value, "name": name}, sort_keys=False, allow_unicode=True)
    return replace(source, value=value, text=f"{head}\n{text}")


def changed_name(name: str, changes: Mapping[str, Any]) -> str:
    """Return the name that a changed config's results are kept by, such as ``"cancer1+classifier.learning_rate=0.2"``.

    Choice: no file can give it, for a config's name has no plus sign. So the changed runs stand beside those of the
    config, and no published table takes them for its own. It is fit for a folder; what had to be replaced for that, or
    was too long, is told apart by a digest.
    """
    if not changes:
        return name
    exact = ",".join(f"{key}={_in_a_name(value)}" for key, value in changes.items())
    plain = re.sub(r"[^A-Za-z0-9_.=,+-]", "-", exact)
    if plain == exact and len(name) + len(plain) < LONGEST_NAME:
        return f"{name}+{plain}"
    digest = hashlib.sha256(exact.encode()).hexdigest()[:8]
    return f"{name}+{plain[: LONGEST_NAME - len(name) - 10]}-{digest}"


def explained(error: ConfigError, changes: Mapping[str, Any]) -> ConfigError:
    """Return a mistake of a changed config, with what was changed."""
    return ConfigError(f"with {_as_options(changes)}: {error}") if changes else error


def _change(document: dict[str, Any], key: str, new: Any) -> None:
    for name, spells in (("methods", "method"), ("classifier", "rule")):
        if name in document:
            document[name] = _spelled_out(document[name], spells)
    entries = [one for one in _listed(document.get("methods")) if isinstance(one, dict)]
    methods = dict.fromkeys(str(one.get("method")) for one in entries)
    named = next((method for method in methods if key.startswith(f"{method}.")), None)  # a path has points of its own
    first, *rest = key.split(".") if named is None else [named, *key.removeprefix(f"{named}.").split(".")]
    if first in _OF_THE_CONFIG and not rest:
        document[first] = new
    elif first == "classifier" and rest:
        _put(document, [first, *rest], key, new)
    elif first in methods and rest:
        for entry in entries:
            if entry["method"] == first:
                _put(entry, rest, key, new)
    else:
        known = [*_OF_THE_CONFIG, "classifier.KEY", *(f"{method}.KEY" for method in methods if method in METHODS)]
        raise ConfigError(f"--set {key}: expected one of {listed(known, key)}, got {key!r}{nearest(key, known)}.")


def _spelled_out(value: Any, key: str) -> Any:
    return [spelled_out(one, key) for one in value] if isinstance(value, list) else spelled_out(value, key)


def _put(place: dict[str, Any], path: Sequence[str], key: str, new: Any) -> None:
    *above, last = path
    for part in above:
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise ConfigError(f"--set {key}: expected a mapping at {part!r}, got {shown(place)}.")
    place[last] = copy.deepcopy(new)  # one value in two entries would be an alias in the text


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _value(text: str, option: str) -> Any:
    return parse_yaml(Path(option), text).value


def _named(cell: Cell) -> dict[str, Any]:
    return {"problem": cell.problem, "method": cell.method, **cell.settings}


def _same(found: Any, asked: Any) -> bool:
    """Tell whether a run's value is the asked one; a list of one is as good as its value, and true is not 1."""
    if isinstance(found, tuple):
        return list(found) == (asked if isinstance(asked, list) else [asked])
    return bool(found == asked) and isinstance(found, bool) == isinstance(asked, bool)


def _written(value: Any) -> str:
    """Write a value as configs do."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return f"{value:.17g}"
    return json.dumps(value)


def _in_a_name(value: Any) -> str:
    return ",".join(map(_written, value)) if isinstance(value, list) else _written(value)


def _as_options(changes: Mapping[str, Any]) -> str:
    return " ".join(f"--set {key}={_written(value)}" for key, value in changes.items())
