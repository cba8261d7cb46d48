"""Study configs: search spaces in an experiment's config, and the published cells that score a trial."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, Lt, MaxLen, MinLen
from pydantic import StringConstraints, model_validator

from pppca_bench.config.experiment import NAME, Config, filled_document, parse_config
from pppca_bench.config.schema import DIALECT, Schema, experiment_schema, mapping
from pppca_bench.documents import Location, Section, YamlSource, broken_rule, dotted, read_yaml
from pppca_bench.errors import ConfigError, nearest
from pppca_bench.methods.lookup import search_also
from pppca_bench.parameters import FINITE, Positive, shown
from pppca_bench.references.layout import Scored

_PLACE = re.compile(r"(methods|classifier)(\.[A-Za-z]\w*|\[(\d{1,6}|\*)\])+")


_Number = int | Annotated[float, FINITE]
_Label = Annotated[str, MinLen(1), MaxLen(60)]
_Labels = _Label | Annotated[tuple[_Label, ...], MinLen(1), MaxLen(100)]


class Space(Section):
    """Values of a parameter: a range of numbers, of integers where both ends are integers, or a list of choices."""

    low: _Number | None = None
    high: _Number | None = None
    log: bool = False
    choices: Annotated[tuple[Any, ...], MinLen(1), MaxLen(1000)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Space:
        if (self.choices is None) != ({"low", "high"} <= self.model_fields_set):
            raise broken_rule(f"expected low and high, or choices, got {', '.join(self.model_fields_set) or 'nothing'}")
        if self.low is not None and self.high is not None:
            if self.low >= self.high:
                raise broken_rule(f"expected low below high ({self.high}), got {self.low}")
            if self.log and self.low <= 0:
                raise broken_rule(f"expected low above 0 where log is true, got {self.low}")
        return self

    @property
    def extremes(self) -> list[Any]:
        """Return the values that an experiment's config must admit."""
        if self.choices is None:
            return [self.low, self.high]
        return [list(choice) if isinstance(choice, tuple) else choice for choice in self.choices]

    def __contains__(self, value: object) -> bool:
        if self.choices is not None:
            return value in self.extremes
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        is_whole = isinstance(self.low, int) and isinstance(self.high, int)
        return self.extremes[0] <= value <= self.extremes[1] and (isinstance(value, int) or not is_whole)


class Cells(Section):
    """Published cells: a quantity of whole tables, or of the named rows and columns.

    ``ours`` names our figure of a speed-up where it is not the time ratio of the literal kernel. The quantities leave
    out the report's squared test errors, which no search may see.
    """

    name: _Label | None = None
    tables: _Labels
    rows: _Labels | None = None
    columns: _Labels | None = None
    quantity: Literal[
        "test_error_percent",
        "dimensionality",
        "speedup",
        "train_squared_error_percent",
        "validation_squared_error_percent",
        "overfit_percent",
        "total_epochs",
        "relevant_epochs",
    ]
    ours: Literal["speedup", "speedup_operations", "speedup_fast"] | None = None

    @model_validator(mode="after")
    def _check(self) -> Cells:
        if self.ours and self.quantity != "speedup":
            raise broken_rule(f"expected ours only beside quantity: speedup, got {self.quantity}")
        return self

    @property
    def group(self) -> Scored:
        """Return the group of published cells."""
        tables, rows, columns = (
            (names,) if isinstance(names, str) else names or () for names in (self.tables, self.rows, self.columns)
        )
        ours = self.ours or ""
        label = self.name or f"{' + '.join(tables)} {ours or self.quantity}"
        return Scored(name=label, tables=tables, quantity=self.quantity, rows=rows, columns=columns, ours=ours)


class WeightedCells(Cells):
    """Published cells that decide, and the weight of their mean distance in the score."""

    weight: Positive = 1.0


class StudyConfig(Section):
    """Keys of a study's file; ``base`` is an experiment's config without a name."""

    name: Annotated[str, StringConstraints(pattern=f"^{NAME.pattern}$"), MaxLen(48)]
    seed: Annotated[int, Ge(0), Lt(2**63)]
    trials: Annotated[int, Ge(1), Le(100_000)]
    sampler: Literal["random", "tpe"] = "random"
    base: dict[str, Any]
    vary: Annotated[dict[str, Space], MinLen(1), MaxLen(100)]
    score: Annotated[tuple[WeightedCells, ...], MinLen(1), MaxLen(100)]
    report: Annotated[tuple[Cells, ...], MaxLen(100)] = ()


@dataclass(frozen=True)
class Study:
    """A validated study.

    Attributes
    ----------
    settings : StudyConfig
    source : YamlSource
        The study's file.
    base : YamlSource
        The base experiment in full, defaults filled in.
    config : Config
        The base experiment: trial 0.
    problems : collection of str
        Known names of problems.
    locations : mapping of str to sequence of tuple
        Where each varied parameter stands in the base.
    parameters : mapping of str to value
        The base's own values of the varied parameters.
    """

    settings: StudyConfig
    source: YamlSource
    base: YamlSource
    config: Config
    problems: Collection[str]
    locations: Mapping[str, Sequence[Location]]
    parameters: Mapping[str, Any]

    def where(self, *location: str | int) -> str:
        """Return file, line and key of a setting, for a message."""
        return self.source.where(location)

    def experiment(self, number: int, parameters: Mapping[str, Any]) -> Config:
        """Return the experiment of a trial, named ``<study>-trial-<number>``.

        Raises
        ------
        ConfigError
            No experiment can have these parameters; the message names the line of the search space.
        """
        document: Any = deepcopy(self.base.value)
        document["name"] += f"-trial-{number}"
        lines = dict(self.base.lines)
        for place, value in parameters.items():
            for *parents, last in self.locations[place]:
                target = document
                for part in parents:
                    target = target[part]
                target[last] = value
                lines[(*parents, last)] = self.source.line(("vary", place))
        return parse_config(replace(self.base, value=document, lines=lines), problems=self.problems)


def load_study(path: Path, *, problems: Collection[str], trials: int | None = None) -> Study:
    """Read and validate a study.

    Parameters
    ----------
    path : Path
        The YAML file.
    problems : collection of str
        Names that ``base.problems`` may hold.
    trials : int, optional
        Number of trials, which overrides the file's.

    Raises
    ------
    ConfigError
        A line for each validation error: file, line, key, expected and actual value.
    """
    source = read_yaml(path)
    search_also([path.parent, Path.cwd()])
    settings = StudyConfig.read(source)
    settings = settings.model_copy(update={"trials": trials or settings.trials})
    base, config = _read_base(source, problems)
    locations, parameters, taken = dict[str, Sequence[Location]](), dict[str, Any](), dict[Location, str]()
    for place in settings.vary:
        here = source.where(("vary", place))
        locations[place], values = zip(*_resolve(place, base.value, here), strict=True)
        parameters[place] = values[0]
        if shared := [taken[location] for location in locations[place] if location in taken]:
            raise ConfigError(f"{here}: expected each place once, but {shared[0]} varies it too.")
        if any(value != values[0] for value in values):
            raise ConfigError(f"{here}: expected the same value in every method of base, got several.")
        taken |= dict.fromkeys(locations[place], place)
    study = Study(settings, source, base, config, problems, locations, parameters)
    for place, space in settings.vary.items():
        for value in space.extremes:
            study.experiment(0, {place: value})
        if parameters[place] not in space:
            got = f"got {shown(parameters[place])} outside it. Trial 0 is the base"
            here = study.where("vary", place)
            raise ConfigError(f"{here}: expected a range that holds the base's own value, {got}.")
    return study


def _read_base(source: YamlSource, problems: Collection[str]) -> tuple[YamlSource, Config]:
    """Return the base experiment in full, and its config."""
    study: Any = source.value
    if "name" in study["base"]:
        raise ConfigError(f"{source.where(('base', 'name'))}: expected no name, got one. The trials have the study's.")
    lines = {location[1:]: line for location, line in source.lines.items() if location[:1] == ("base",)}
    document = {"name": study["name"], **study["base"]}
    base = YamlSource(source.path, source.text, document, lines)
    config = parse_config(base, problems=problems)
    for index, problem in enumerate(config.problems):
        if not isinstance(problem, str):
            here = source.where(("base", "problems", index))
            raise ConfigError(f"{here}: expected a known problem, for which there are published cells, got a table.")
    return replace(base, value=filled_document(document)), config


def _resolve(place: str, document: Any, here: str) -> Iterator[tuple[Location, Any]]:
    """Yield every location that a place names, and the base's value there."""
    if not _PLACE.fullmatch(place):
        raise ConfigError(
            f"{here}: expected a place in methods or classifier, such as methods[0].learning_rate,"
            f" methods[*].n_epochs (in every method) or classifier.max_epochs, got {place!r}."
        )
    steps: list[tuple[Location, Any]] = [((), document)]
    for index, key in re.findall(r"\[(\d+|\*)\]|(\w+)", place):
        steps = [step for location, value in steps for step in _children(location, value, key or index, here)]
    yield from steps


def _children(location: Location, value: Any, part: str, here: str) -> list[tuple[Location, Any]]:
    keys: list[Any] = list(value) if isinstance(value, dict) else []
    if isinstance(value, list) and not part[0].isalpha():
        keys = list(range(len(value)))
    chosen = keys if part == "*" else [key for key in keys if str(key) == part]
    if not chosen:
        entries = f" ({len(keys)} entries, counted from 0)" if isinstance(value, list) else nearest(part, keys)
        raise ConfigError(f"{here}: expected a place of base, but {dotted(location)} has no {part}{entries}.")
    return [((*location, key), value[key]) for key in chosen]


def study_schema() -> Schema:
    """Return the JSON schema of a study's config, for editors."""
    schema, experiment = StudyConfig.model_json_schema(), experiment_schema()
    base = {key: value for key, value in experiment["properties"].items() if key != "name"}
    schema["properties"]["base"] = mapping(base, [key for key in experiment["required"] if key != "name"])
    schema["properties"]["vary"]["propertyNames"] = {"pattern": f"^{_PLACE.pattern}$"}
    schema["$defs"]["Space"]["oneOf"] = [{"required": ["low", "high"]}, {"required": ["choices"]}]
    described = {"$schema": DIALECT, "title": "Study of pppca", "description": "What `pppca study` takes."}
    return {**schema, **described, "$defs": schema["$defs"] | experiment["$defs"]}
