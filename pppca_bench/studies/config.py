"""Study configs: a YAML document to a validated `Study`, its trials drawn, with line-numbered errors.

A trial's parameters follow from the study's seed, the trial's number and each parameter's place alone: more trials,
or another range beside it, change none of them.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from pppca_bench.config.experiment import (
    NAME,
    Config,
    describe_mistakes,
    dotted,
    nearest,
    parse_config,
)
from pppca_bench.config.yaml_source import Location, YamlSource, read_yaml
from pppca_bench.errors import ConfigError
from pppca_bench.methods.ranges import Positive, Section

SIGNIFICANT_DIGITS = 4
"""Of a drawn number, so that the table of trials shows exactly what was run."""

_PLACE = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*|\[(\d{1,6}|\*)\])*")
_VARIED = ("methods", "classifier")


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _without_repeats(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if any(value in values[:position] for position, value in enumerate(values)):
        raise PydanticCustomError("repeated", "expected each value once")
    return values


Names = Annotated[
    tuple[str, ...],
    Field(min_length=1, max_length=100, strict=False),
    BeforeValidator(_as_list),
    AfterValidator(_without_repeats),
]
Number = int | Annotated[float, Field(allow_inf_nan=False)]


class Interval(Section):
    """A range of numbers, drawn evenly, or evenly in the logarithm; of integers where both ends are."""

    low: Number
    high: Number
    log: bool = False

    @model_validator(mode="after")
    def _ordered(self) -> Interval:
        if self.low >= self.high:
            raise PydanticCustomError(
                "order", "expected low below high ({high}), got {low}", {"low": self.low, "high": self.high}
            )
        if self.log and self.low <= 0:
            raise PydanticCustomError("log", "expected low above 0 where log is true, got {low}", {"low": self.low})
        return self

    @property
    def extremes(self) -> tuple[object, ...]:
        """Return the values that stand for all when they are validated."""
        return (self.low, self.high)

    def draw(self, rng: np.random.Generator) -> object:
        """Return one number of the range."""
        whole = isinstance(self.low, int) and isinstance(self.high, int)
        low, above = float(self.low), float(self.high) + whole
        share = rng.random()
        value = low * (above / low) ** share if self.log else low + share * (above - low)
        drawn = math.floor(value) if whole else float(f"{value:.{SIGNIFICANT_DIGITS}g}")
        return min(max(drawn, self.low), self.high)


class Choices(Section):
    """Values of which each is as likely."""

    choices: Annotated[tuple[Any, ...], Field(min_length=1, max_length=1000, strict=False)]

    @property
    def extremes(self) -> tuple[object, ...]:
        """Return the values that stand for all when they are validated."""
        return self.choices

    def draw(self, rng: np.random.Generator) -> object:
        """Return one of the values."""
        return self.choices[math.floor(rng.random() * len(self.choices))]


Space = Annotated[
    Annotated[Interval, Tag("interval")] | Annotated[Choices, Tag("choices")],
    Discriminator(lambda value: "choices" if isinstance(value, dict) and "choices" in value else "interval"),
]


class Cells(Section):
    """Published cells: a quantity of whole tables, or of the named rows and columns of them.

    ``ours`` names our figure of a speed-up where it is another than the time ratio of the literal kernel; ``name``
    heads the cells' column in the table of trials.
    """

    name: Annotated[str, Field(min_length=1, max_length=60)] | None = None
    tables: Names
    quantity: Literal["error_percent", "dimensionality", "speedup"]
    rows: Names | None = None
    columns: Names | None = None
    ours: Literal["speedup", "speedup_operations", "speedup_fast"] | None = None

    @model_validator(mode="after")
    def _ours_is_a_speedup(self) -> Cells:
        if self.ours is not None and self.quantity != "speedup":
            message = "expected ours only beside quantity: speedup, got it beside {quantity}"
            raise PydanticCustomError("ours", message, {"quantity": self.quantity})
        return self

    @property
    def label(self) -> str:
        """Return the name, or tables and quantity."""
        return self.name or f"{' + '.join(self.tables)} {self.ours or self.quantity}"


class ScoredCells(Cells):
    """Cells that decide; a weight says how much their mean distance counts beside that of the others."""

    weight: Positive = 1.0


class StudyConfig(Section):
    """What a study's file holds; ``base`` is an experiment's config without a name."""

    name: Annotated[str, Field(pattern=f"^{NAME.pattern}$", max_length=48)]
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    trials: Annotated[int, Field(ge=1, le=100_000)]
    base: dict[str, Any]
    vary: Annotated[dict[str, Space], Field(min_length=1, max_length=100)]
    score: Annotated[tuple[ScoredCells, ...], Field(min_length=1, max_length=100, strict=False)]
    report: Annotated[tuple[Cells, ...], Field(max_length=100, strict=False)] = ()


@dataclass(frozen=True)
class Trial:
    """Hold one trial.

    Attributes
    ----------
    number : int
        From 0, which is the base as it stands.
    parameters : dict of str to value
        What varies, by place, in the order of the file.
    config : Config
        The experiment, named ``<study>-trial-<number>``.
    """

    number: int
    parameters: Mapping[str, Any]
    config: Config


@dataclass(frozen=True)
class Study:
    """Hold a study: its settings, where they stand, and its trials."""

    source: YamlSource
    settings: StudyConfig
    trials: tuple[Trial, ...]

    @property
    def name(self) -> str:
        """Return the study's name."""
        return self.settings.name

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the problems that every trial runs."""
        return self.trials[0].config.problems

    def where(self, *location: str | int) -> str:
        """Return file, line and place of a setting, for a message."""
        return _where(self.source, location)


def load_study(path: Path, *, problems: Collection[str], trials: int | None = None) -> Study:
    """Read and validate a study, and draw its trials.

    Parameters
    ----------
    path : Path
        The YAML file.
    problems : collection of str
        Names that ``base.problems`` may hold.
    trials : int, optional
        Number of trials in place of the file's own.

    Raises
    ------
    ConfigError
        One line for each mistake: file, line, key, what was expected and what was found.
    """
    source = read_yaml(path)
    settings = _validated(source)
    base = _Base.of(source, settings, problems)
    places = _Places.of(source, settings, base)
    for place, space in settings.vary.items():
        for location, value in itertools.product(places.locations[place], space.extremes):
            base.varied(0, {location: (value, places.lines[place])})
    numbers = range(settings.trials if trials is None else trials)
    return Study(source, settings, tuple(_trial(number, settings, base, places) for number in numbers))


def draw(settings: StudyConfig, number: int) -> dict[str, Any]:
    """Draw the parameters of a trial, by place; see this module."""
    return {
        place: space.draw(np.random.default_rng([settings.seed, number, *place.encode()]))
        for place, space in settings.vary.items()
    }


def _trial(number: int, settings: StudyConfig, base: _Base, places: _Places) -> Trial:
    parameters = places.of_base if number == 0 else draw(settings, number)
    return Trial(number, parameters, base.varied(number, places.assign(parameters)))


def _validated(source: YamlSource) -> StudyConfig:
    keys = list(StudyConfig.model_fields)
    if not isinstance(source.value, dict):
        found = type(source.value).__name__ if source.value is not None else "nothing"
        raise ConfigError(f"{source.path}:1: expected a mapping with the keys {', '.join(keys)}, got {found}.")
    try:
        return StudyConfig.model_validate(source.value)
    except ValidationError as error:
        details = [_without_kind(detail) for detail in error.errors()]
        raise ConfigError(describe_mistakes(source, details, _expected_keys)) from None


def _without_kind(detail: ErrorDetails) -> ErrorDetails:
    """Take what kind of space was validated out of a mistake's location: it stands in no file."""
    location = detail["loc"]
    if location[:1] == ("vary",):
        detail["loc"] = (*location[:2], *location[3:])
    return detail


def _expected_keys(document: Any, location: Location) -> list[str]:
    if location[:1] == ("vary",):
        with_choices = "choices" in document["vary"][location[1]]
        return list((Choices if with_choices else Interval).model_fields)
    sections = {"score": ScoredCells, "report": Cells}
    return list(sections.get(str(location[0]) if location else "", StudyConfig).model_fields)


def _where(source: YamlSource, location: Location) -> str:
    return f"{source.path}:{source.line(location)}: {dotted(location)}"


@dataclass(frozen=True)
class _Base:
    """The base's config with its defaults filled in, and where its parts stand in the file."""

    name: str
    source: YamlSource
    problems: Collection[str]
    document: dict[str, Any]

    @classmethod
    def of(cls, source: YamlSource, settings: StudyConfig, problems: Collection[str]) -> _Base:
        if "name" in settings.base:
            raise ConfigError(
                f"{_where(source, ('base', 'name'))}: expected no name, got one. The trials have the study's."
            )
        lines = {location[1:]: line for location, line in source.lines.items() if location[0:1] == ("base",)}
        own = YamlSource(source.path, {"name": settings.name, **settings.base}, lines)
        document = _lists(parse_config(own, problems=problems).model_dump())
        return cls(settings.name, own, problems, document)

    def varied(self, number: int, assigned: Mapping[Location, tuple[Any, int]]) -> Config:
        """Return the config with values at some places; a mistake stands on the line given beside the value."""
        document = deepcopy(self.document) | {"name": f"{self.name}-trial-{number}"}
        for (*parents, last), (value, _) in assigned.items():
            target: Any = document
            for part in parents:
                target = target[part]
            target[last] = value
        lines = self.source.lines | {location: line for location, (_, line) in assigned.items()}
        return parse_config(YamlSource(self.source.path, document, lines), problems=self.problems)


def _lists(value: Any) -> Any:
    """Return plain values as YAML gives them, lists in place of tuples."""
    if isinstance(value, dict):
        return {key: _lists(part) for key, part in value.items()}
    return [_lists(part) for part in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class _Places:
    """Where the parameters that vary stand in the base: a place with ``[*]`` stands in every method."""

    locations: Mapping[str, tuple[Location, ...]]
    lines: Mapping[str, int]
    of_base: Mapping[str, Any]

    @classmethod
    def of(cls, source: YamlSource, settings: StudyConfig, base: _Base) -> _Places:
        locations: dict[str, tuple[Location, ...]] = {}
        of_base: dict[str, Any] = {}
        for place in settings.vary:
            where = f"{source.path}:{source.line(('vary', place))}: vary: {place}"
            found = dict(_resolve(place, base.document, where))
            _refuse_overlap(where, found, locations)
            locations[place] = tuple(found)
            first, *others = found.values()
            if any(other != first for other in others):
                raise ConfigError(f"{where}: expected the same value in every method of base, got several.")
            of_base[place] = first
        lines = {place: source.line(("vary", place)) for place in settings.vary}
        return cls(locations, lines, of_base)

    def assign(self, parameters: Mapping[str, Any]) -> dict[Location, tuple[Any, int]]:
        """Return value and line for each location."""
        return {
            location: (value, self.lines[place])
            for place, value in parameters.items()
            for location in self.locations[place]
        }


def _refuse_overlap(where: str, found: Collection[Location], taken: Mapping[str, tuple[Location, ...]]) -> None:
    for other, locations in taken.items():
        for one in found:
            for two in locations:
                shared = min(len(one), len(two))
                if one[:shared] == two[:shared]:
                    raise ConfigError(f"{where}: expected each place once, got what {other} holds.")


def _resolve(place: str, document: Mapping[str, Any], where: str) -> Iterator[tuple[Location, Any]]:
    """Yield every location that a place names, and the base's value there."""
    if not _PLACE.fullmatch(place) or re.split(r"[.\[]", place)[0] not in _VARIED:
        raise ConfigError(
            f"{where}: expected a place in {' or '.join(_VARIED)}, such as methods[0].learning_rate,"
            f" methods[*].n_epochs (in every method) or classifier.max_epochs, got {place!r}."
        )
    found: list[tuple[Location, Any]] = [((), document)]
    for index, key in re.findall(r"\[(\d+|\*)\]|(\w+)", place):
        found = [step for location, value in found for step in _step(location, value, key or index, where)]
    yield from found


def _step(location: Location, value: Any, part: str, where: str) -> Iterator[tuple[Location, Any]]:
    if isinstance(value, dict) and part in value:
        yield (*location, part), value[part]
    elif isinstance(value, list) and part == "*":
        yield from (((*location, index), item) for index, item in enumerate(value))
    elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
        yield (*location, int(part)), value[int(part)]
    else:
        raise ConfigError(f"{where}: expected a place of base, {_what_is_there(location, value, part)}.")


def _what_is_there(location: Location, value: Any, part: str) -> str:
    if isinstance(value, dict):
        return f"but {dotted(location)} has no {part}{nearest(part, value)}"
    if isinstance(value, list):
        return f"but {dotted(location)} has {len(value)} entries, counted from 0, and no [{part}]"
    return f"but {dotted(location)} is {value!r}"
