"""Study configs: search spaces in an experiment's config, and the published cells that score a trial."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations
from operator import getitem
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, Lt, MaxLen, MinLen
from pydantic import StringConstraints, model_validator

from pppca_bench.config.experiment import NAME, Config, parse_config
from pppca_bench.config.schema import DIALECT, Schema, experiment_schema, mapping
from pppca_bench.config.sections import filled_document
from pppca_bench.documents import Location, Section, YamlSource, broken_rule, dotted, read_yaml
from pppca_bench.errors import ConfigError, listed, nearest
from pppca_bench.methods.lookup import search_also
from pppca_bench.parameters import FINITE, Positive, shown
from pppca_bench.references.layout import Scored

_PLACE = re.compile(r"(methods|classifier)(\.[A-Za-z]\w*|\[(\d{1,6}|\*)\])+")

_Number = int | Annotated[float, FINITE]
_Label = Annotated[str, MinLen(1), MaxLen(60)]
_Labels = _Label | Annotated[tuple[_Label, ...], MinLen(1), MaxLen(100)]


class Space(Section):
    """Values of a parameter: a range of numbers, of integers if both ends are integers, or a list of choices."""

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
    def is_integer(self) -> bool:
        """Return whether the space is a range of integers."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def values(self) -> list[Any]:
        """Return the choices, or the ends of the range."""
        if self.choices is None:
            return [self.low, self.high]
        return [list(choice) if isinstance(choice, tuple) else choice for choice in self.choices]

    def __contains__(self, value: Any) -> bool:
        if self.choices is not None:
            return value in self.values
        low, high = self.values
        return type(value) in ((int,) if self.is_integer else (int, float)) and low <= value <= high


class Cells(Section):
    """Published cells: a quantity of whole tables, or of some of their rows and columns.

    ``ours`` names the measured speed-up where it is not the time ratio of the literal kernel. The report's squared test
    errors are no quantity here: no search may see them.
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
        name = self.name or f"{' + '.join(tables)} {ours or self.quantity}"
        return Scored(name=name, tables=tables, quantity=self.quantity, rows=rows, columns=columns, ours=ours)


class WeightedCells(Cells):
    """Published cells of the score, and the weight of their mean distance in it."""

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
    """A validated study: its settings and file, and the base experiment with all defaults.

    ``varied`` has, for each place of ``vary``, the locations in the base that it names, with their values there.
    """

    settings: StudyConfig
    source: YamlSource
    base: YamlSource
    varied: Mapping[str, Mapping[Location, Any]]

    @cached_property
    def config(self) -> Config:
        """Return the base experiment, which is trial 0 but for its name."""
        return parse_config(self.base)

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the base's values of the varied parameters."""
        return {place: next(iter(values.values())) for place, values in self.varied.items()}

    def experiment(self, number: int, parameters: Mapping[str, Any]) -> Config:
        """Return the experiment of a trial, named ``<study>-trial-<number>``.

        Raises
        ------
        ConfigError
            A parameter has a value that no experiment can have; the message names the line of its search space.
        """
        document: Any = deepcopy(self.base.value)
        document["name"] += f"-trial-{number}"
        lines = dict(self.base.lines)
        for place, value in parameters.items():
            for *parents, last in self.varied[place]:
                reduce(getitem, parents, document)[last] = value
                lines[(*parents, last)] = self.source.line(("vary", place))
        return parse_config(replace(self.base, value=document, lines=lines))


def load_study(path: Path, *, trials: int | None = None) -> Study:
    """Read and validate a study; ``trials`` overrides the file's.

    Raises
    ------
    ConfigError
        A line for each validation error: file, line, key, expected and actual value.
    """
    source = read_yaml(path)
    search_also([path.parent, Path.cwd()])
    settings = StudyConfig.read(source)
    settings = settings.model_copy(update={"trials": trials or settings.trials})
    base = _read_base(source)
    varied = {place: _resolve(place, base.value, source.where(("vary", place))) for place in settings.vary}
    study = Study(settings, source, base, varied)
    for index, problem in enumerate(study.config.problems):
        if not isinstance(problem, str):
            here = source.where(("base", "problems", index))
            raise ConfigError(f"{here}: expected a known problem, for which there are published cells, got a table.")
    for first, second in combinations(varied, 2):
        if varied[first].keys() & varied[second].keys():
            raise ConfigError(f"{source.where(('vary', second))}: expected each place once, but {first} varies it too.")
    for place, space in settings.vary.items():
        here, own = source.where(("vary", place)), study.parameters[place]
        if any(value != own for value in varied[place].values()):
            raise ConfigError(f"{here}: expected the same value in every method of base, got several.")
        for value in space.values:
            study.experiment(0, {place: value})
        if own not in space:
            raise ConfigError(f"{here}: expected a range that contains the base's value, got {shown(own)} outside it.")
    return study


def _read_base(source: YamlSource) -> YamlSource:
    """Return the base experiment with all defaults, under the study's name."""
    study: Any = source.value
    if "name" in study["base"]:
        place = source.where(("base", "name"))
        raise ConfigError(f"{place}: expected no name, got a name. The trials have the study's.")
    document = {"name": study["name"], **study["base"]}
    lines = {location[1:]: line for location, line in source.lines.items() if location[:1] == ("base",)}
    base = YamlSource(source.path, source.text, document, lines)
    parse_config(base)
    return replace(base, value=filled_document(document))


def _resolve(place: str, document: Any, here: str) -> dict[Location, Any]:
    """Return the base's values at the locations that a place names; ``here`` begins the messages."""
    if not _PLACE.fullmatch(place):
        raise ConfigError(
            f"{here}: expected a place in methods or classifier, such as methods[0].learning_rate,"
            f" methods[*].n_epochs (in every method) or classifier.max_epochs, got {place!r}."
        )
    values: dict[Location, Any] = {(): document}
    for part in re.findall(r"\w+|\*", place):
        inner: dict[Location, Any] = {}
        for location, value in values.items():
            items = dict(enumerate(value)) if isinstance(value, list) else value if isinstance(value, dict) else {}
            chosen = {(*location, key): item for key, item in items.items() if part in ("*", str(key))}
            if not chosen:
                keys = list(map(str, items))
                got = f"{dotted(location)} has no {part}, only {listed(keys, part) or 'a value'}{nearest(part, keys)}"
                raise ConfigError(f"{here}: expected a place of base, but {got}.")
            inner |= chosen
        values = inner
    return values


def study_schema() -> Schema:
    """Return the JSON schema of a study's config, for editors."""
    schema, experiment = StudyConfig.model_json_schema(), experiment_schema()
    base = {key: value for key, value in experiment["properties"].items() if key != "name"}
    schema["properties"]["base"] = mapping(base, [key for key in experiment["required"] if key != "name"])
    schema["properties"]["vary"]["propertyNames"] = {"pattern": f"^{_PLACE.pattern}$"}
    schema["$defs"]["Space"]["oneOf"] = [{"required": ["low", "high"]}, {"required": ["choices"]}]
    described = {"$schema": DIALECT, "title": "Study of pppca", "description": "What `pppca study` takes."}
    return {**schema, **described, "$defs": schema["$defs"] | experiment["$defs"]}
