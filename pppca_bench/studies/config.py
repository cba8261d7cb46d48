"""Study configs: search spaces in an experiment's config, and the published cells that score a trial."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, Lt, MaxLen, MinLen
from pydantic import AfterValidator, StringConstraints, model_validator

from pppca_bench.config.experiment import NAME, parse_config
from pppca_bench.config.schema import DIALECT, Schema, experiment_schema, mapping
from pppca_bench.config.sections import fill_defaults
from pppca_bench.documents import Location, Section, YamlSource, broken_rule, dotted, read_yaml, with_sequences
from pppca_bench.errors import ConfigError, listed, nearest
from pppca_bench.methods.lookup import extend_sys_path
from pppca_bench.parameters import FINITE, Positive, shown
from pppca_bench.references.layout import Scored

_Number = int | Annotated[float, FINITE]
_Label = Annotated[str, MinLen(1), MaxLen(60)]
_Labels = Annotated[
    _Label | Annotated[tuple[_Label, ...], MinLen(1), MaxLen(100)],
    AfterValidator(lambda given: (given,) if isinstance(given, str) else given),
]


class Space(Section):
    """Search space of a parameter: a range of numbers (of integers if both ends are integers), or a list of choices."""

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
    def values(self) -> tuple[Any, ...]:
        """Return the choices, with lists as tuples, or the ends of the range."""
        return self.choices or (self.low, self.high)

    def __contains__(self, value: Any) -> bool:
        if self.choices:
            return value in self.choices
        low, high = self.values
        return type(value) in ((int,) if self.is_integer else (int, float)) and low <= value <= high


class Cells(Section):
    """Published cells: a quantity of whole tables, or of some of their rows and columns.

    ``ours`` names the measured speed-up if it is not the time ratio of the literal kernel. Squared test errors are not
    allowed, since no search may use them.
    """

    name: _Label | None = None
    tables: _Labels
    rows: _Labels = ()
    columns: _Labels = ()
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
        """Return the group of published cells, named after its tables and quantity by default."""
        name = self.name or f"{' + '.join(self.tables)} {self.ours or self.quantity}"
        return Scored(**{**self.model_dump(exclude={"weight"}, exclude_none=True), "name": name})


class WeightedCells(Cells):
    """Published cells of the score, and the weight of their mean distance in it."""

    weight: Positive = 1.0


class StudyConfig(Section):
    """Keys of a study's file; ``base`` is an experiment's config, with the study's name in place of its own."""

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

    ``varied`` maps each key of ``vary`` to its locations in the base, with the base's values there.
    """

    settings: StudyConfig
    source: YamlSource
    base: YamlSource
    varied: Mapping[str, Mapping[Location, Any]]

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the base's values of the varied parameters: the parameters of trial 0."""
        return {place: with_sequences(next(iter(values.values())), tuple) for place, values in self.varied.items()}

    def experiment(self, number: int, parameters: Mapping[str, Any]) -> YamlSource:
        """Return the experiment of a trial, named ``<study>-trial-<number>``.

        In error messages, the lines of varied parameters are the lines of their search spaces.
        """
        document: Any = deepcopy(self.base.value)
        document["name"] += f"-trial-{number}"
        lines = dict(self.base.lines)
        for place, value in parameters.items():
            for *parents, last in self.varied[place]:
                reduce(getitem, parents, document)[last] = value
                lines[(*parents, last)] = self.source.line(("vary", place))
        return replace(self.base, value=document, lines=lines)


def load_study(path: Path, *, trials: int | None = None) -> Study:
    """Read and validate a study; ``trials`` overrides the file's.

    Raises
    ------
    ConfigError
        A line for each validation error: file, line, key, expected and actual value.
    """
    source = read_yaml(path)
    extend_sys_path([path.parent, Path.cwd()])
    settings = StudyConfig.read(source)
    settings = settings.model_copy(update={"trials": trials or settings.trials})
    base = _read_base(source)
    study = Study(settings, source, base, _locate(source, base, settings.vary))
    for place, space in settings.vary.items():
        here, own = source.where(("vary", place)), study.parameters[place]
        if any(with_sequences(value, tuple) != own for value in study.varied[place].values()):
            raise ConfigError(f"{here}: expected the same value in every method of base, got several.")
        for value in space.values:
            parse_config(study.experiment(0, {place: value}))
        if own not in space:
            raise ConfigError(f"{here}: expected a range that contains the base's value, got {shown(own)} outside it.")
    return study


def _read_base(source: YamlSource) -> YamlSource:
    """Return the base experiment with all defaults, under the study's name."""
    study: Any = source.value
    document = {**study["base"], "name": study["name"]}
    lines = {location[1:]: line for location, line in source.lines.items() if location[:1] == ("base",)}
    base = YamlSource(source.path, source.text, document, lines)
    parse_config(base)
    return replace(base, value=fill_defaults(document))


def _locate(source: YamlSource, base: YamlSource, places: Mapping[str, Space]) -> dict[str, dict[Location, Any]]:
    """Return the locations of each key of ``vary`` in the base, with the base's values there.

    In a key, ``*`` stands for any index: ``methods[*].n_epochs`` are the epochs of all methods with this parameter.
    """
    document: Any = base.value
    known = dict(item for key in ("methods", "classifier") for item in _locations(document[key], (key,)))
    located: dict[str, dict[Location, Any]] = {}
    first: dict[Location, str] = {}
    for place in places:
        here, pattern = source.where(("vary", place)), re.compile(re.escape(place).replace(r"\*", r"\d+"))
        located[place] = {location: known[location] for location in known if pattern.fullmatch(dotted(location))}
        if not located[place]:
            names = list(map(dotted, known))
            if "*" in place:
                names = [re.sub(r"\[\d+]", "[*]", name) for name in names]
            expected = f"a place in methods or classifier of base, such as {listed(dict.fromkeys(names), place)}"
            raise ConfigError(f"{here}: expected {expected}, got {place!r}{nearest(place, names)}.")
        for location in located[place]:
            if (other := first.setdefault(location, place)) != place:
                raise ConfigError(f"{here}: expected each place once, but {other} varies it too.")
    return located


def _locations(value: Any, here: Location) -> Iterator[tuple[Location, Any]]:
    """Yield the location and the value of each item of a mapping or list, and of the items inside."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*here, key), item
        yield from _locations(item, (*here, key))


def study_schema() -> Schema:
    """Return the JSON schema of a study's config, for editors."""
    schema, experiment = StudyConfig.model_json_schema(), experiment_schema()
    required = [key for key in experiment["required"] if key != "name"]
    schema["properties"]["base"] = mapping(experiment["properties"], required)
    schema["properties"]["vary"]["propertyNames"] = {"pattern": r"^(methods\[(\d+|\*)\]|classifier)\..+$"}
    schema["$defs"]["Space"]["oneOf"] = [{"required": ["low", "high"]}, {"required": ["choices"]}]
    described = {"$schema": DIALECT, "title": "Study of pppca", "description": "Config that `pppca study` takes."}
    return {**schema, **described, "$defs": schema["$defs"] | experiment["$defs"]}
