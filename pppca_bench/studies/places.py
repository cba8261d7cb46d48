"""The base of a study, and where in it the parameters stand that vary."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pppca_bench.config.experiment import Config, parse_config
from pppca_bench.config.filled import filled_document
from pppca_bench.config.messages import where
from pppca_bench.documents import Location, YamlSource, dotted
from pppca_bench.errors import ConfigError, nearest

_PLACE = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*|\[(\d{1,6}|\*)\])*")
_VARIED = ("methods", "classifier")


@dataclass(frozen=True)
class Base:
    """The base's document with its defaults filled in, and where its parts stand in the file."""

    name: str
    source: YamlSource
    problems: Collection[str]
    document: dict[str, Any]

    @classmethod
    def of(cls, source: YamlSource, name: str, base: Mapping[str, Any], problems: Collection[str]) -> Base:
        """Validate the base of a study of this name."""
        if "name" in base:
            raise ConfigError(
                f"{where(source, ('base', 'name'))}: expected no name, got one. The trials have the study's."
            )
        lines = {location[1:]: line for location, line in source.lines.items() if location[0:1] == ("base",)}
        document = {"name": name, **base}
        own = YamlSource(source.path, source.text, document, lines)
        for index, problem in enumerate(parse_config(own, problems=problems).problems):
            if not isinstance(problem, str):
                raise ConfigError(
                    f"{where(source, ('base', 'problems', index))}: expected a known problem, for which there are"
                    " published cells, got a table."
                )
        return cls(name, own, problems, filled_document(document))

    def varied(self, number: int, assigned: Mapping[Location, tuple[Any, int]]) -> tuple[YamlSource, Config]:
        """Return the config with values at some places; a mistake stands on the line given beside the value."""
        document = deepcopy(self.document) | {"name": f"{self.name}-trial-{number}"}
        for (*parents, last), (value, _) in assigned.items():
            target: Any = document
            for part in parents:
                target = target[part]
            target[last] = value
        lines = self.source.lines | {location: line for location, (_, line) in assigned.items()}
        source = YamlSource(self.source.path, self.source.text, document, lines)
        return source, parse_config(source, problems=self.problems)


@dataclass(frozen=True)
class Places:
    """Where the parameters that vary stand in the base: a place with ``[*]`` stands in every method."""

    locations: Mapping[str, tuple[Location, ...]]
    lines: Mapping[str, int]
    of_base: Mapping[str, Any]

    @classmethod
    def of(cls, source: YamlSource, vary: Iterable[str], base: Base) -> Places:
        """Find each place of a study's ``vary`` in its base."""
        given = list(vary)
        locations: dict[str, tuple[Location, ...]] = {}
        of_base: dict[str, Any] = {}
        for place in given:
            here = f"{source.path}:{source.line(('vary', place))}: vary: {place}"
            found = dict(_resolve(place, base.document, here))
            _refuse_overlap(here, found, locations)
            locations[place] = tuple(found)
            first, *others = found.values()
            if any(other != first for other in others):
                raise ConfigError(f"{here}: expected the same value in every method of base, got several.")
            of_base[place] = first
        lines = {place: source.line(("vary", place)) for place in given}
        return cls(locations, lines, of_base)

    def assign(self, parameters: Mapping[str, Any]) -> dict[Location, tuple[Any, int]]:
        """Return value and line for each location."""
        return {
            location: (value, self.lines[place])
            for place, value in parameters.items()
            for location in self.locations[place]
        }


def _refuse_overlap(here: str, found: Collection[Location], taken: Mapping[str, tuple[Location, ...]]) -> None:
    for other, locations in taken.items():
        for one in found:
            for two in locations:
                shared = min(len(one), len(two))
                if one[:shared] == two[:shared]:
                    raise ConfigError(f"{here}: expected each place once, got what {other} holds.")


def _resolve(place: str, document: Mapping[str, Any], here: str) -> Iterator[tuple[Location, Any]]:
    """Yield every location that a place names, and the base's value there."""
    if not _PLACE.fullmatch(place) or re.split(r"[.\[]", place)[0] not in _VARIED:
        raise ConfigError(
            f"{here}: expected a place in {' or '.join(_VARIED)}, such as methods[0].learning_rate,"
            f" methods[*].n_epochs (in every method) or classifier.max_epochs, got {place!r}."
        )
    found: list[tuple[Location, Any]] = [((), document)]
    for index, key in re.findall(r"\[(\d+|\*)\]|(\w+)", place):
        found = [step for location, value in found for step in _step(location, value, key or index, here)]
    yield from found


def _step(location: Location, value: Any, part: str, here: str) -> Iterator[tuple[Location, Any]]:
    if isinstance(value, dict) and part in value:
        yield (*location, part), value[part]
    elif isinstance(value, list) and part == "*":
        yield from (((*location, index), item) for index, item in enumerate(value))
    elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
        yield (*location, int(part)), value[int(part)]
    else:
        raise ConfigError(f"{here}: expected a place of base, {_what_is_there(location, value, part)}.")


def _what_is_there(location: Location, value: Any, part: str) -> str:
    if isinstance(value, dict):
        return f"but {dotted(location)} has no {part}{nearest(part, value)}"
    if isinstance(value, list):
        return f"but {dotted(location)} has {len(value)} entries, counted from 0, and no [{part}]"
    return f"but {dotted(location)} is {value!r}"
