"""Studies: which settings of an experiment to vary, and by which published cells to judge the trials.

Trial 0 is the base as it stands. With the sampler "random" the numbers of another trial follow from the study's seed,
the trial's number and each parameter's place alone: more trials, or another range beside it, change none of them. With
"tpe" they follow from what came of the trials before it too (`pppca_bench.studies.tpe`).
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le, Lt, MaxLen, MinLen
from pydantic import StringConstraints

from pppca_bench.config.experiment import NAME, Config
from pppca_bench.config.messages import Reader, where
from pppca_bench.documents import Location, YamlSource, missing, read_yaml
from pppca_bench.errors import ConfigError
from pppca_bench.methods.foreign import search_also
from pppca_bench.parameters import REQUIRED, Parameter, Positive, shown
from pppca_bench.studies.places import Base, Places
from pppca_bench.studies.spaces import Choices, Finite, Interval, Space

KEYS = ("name", "seed", "trials", "sampler", "base", "vary", "score", "report")
Sampler = Literal["random", "tpe"]
_Name = Annotated[str, MinLen(1), MaxLen(60)]
_Quantity = Literal[
    "test_error_percent",
    "dimensionality",
    "speedup",
    "train_squared_error_percent",
    "validation_squared_error_percent",
    "overfit_percent",
    "total_epochs",
    "relevant_epochs",
]
"""Published quantities that can decide; the report's squared test errors cannot, so that they stay unseen."""


@dataclass(frozen=True)
class Cells:
    """Published cells: a quantity of whole tables, or of the named rows and columns of them.

    ``ours`` names our figure of a speed-up where it is another than the time ratio of the literal kernel; ``name``
    heads the cells' column in the table of trials; ``weight`` says how much the mean distance of cells that decide
    counts beside that of the others.
    """

    tables: tuple[str, ...]
    quantity: _Quantity
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    ours: Literal["speedup", "speedup_operations", "speedup_fast"] | None = None
    name: _Name | None = None
    weight: Positive = 1.0

    @property
    def label(self) -> str:
        """Return the name, or tables and quantity."""
        return self.name or f"{' + '.join(self.tables)} {self.ours or self.quantity}"


_NAMES = Annotated[tuple[_Name, ...], MinLen(1), MaxLen(100)]
CELL_PARAMETERS = [
    Parameter("name", _Name | None, None),
    Parameter("tables", _NAMES, REQUIRED),
    Parameter("rows", _NAMES, ()),
    Parameter("columns", _NAMES, ()),
    Parameter("quantity", _Quantity, REQUIRED),
    Parameter("ours", Literal["speedup", "speedup_operations", "speedup_fast"] | None, None),
]
WEIGHT = Parameter("weight", Positive, 1.0)
"""What an entry of ``score`` has beside `CELL_PARAMETERS`."""

VALUES = {
    "name": Parameter("name", Annotated[str, StringConstraints(pattern=f"^{NAME.pattern}$"), MaxLen(48)], REQUIRED),
    "seed": Parameter("seed", Annotated[int, Ge(0), Lt(2**63)], REQUIRED),
    "trials": Parameter("trials", Annotated[int, Ge(1), Le(100_000)], REQUIRED),
    "sampler": Parameter("sampler", Sampler, "random"),
}
"""What the keys with one value may be."""

INTERVAL = [Parameter("low", Finite, REQUIRED), Parameter("high", Finite, REQUIRED), Parameter("log", bool, False)]


@dataclass(frozen=True)
class StudyConfig:
    """Hold what a study's file says; ``base`` is an experiment's document without a name."""

    name: str
    seed: int
    trials: int
    sampler: Sampler
    base: dict[str, Any]
    vary: Mapping[str, Space]
    score: tuple[Cells, ...]
    report: tuple[Cells, ...] = ()


@dataclass(frozen=True)
class Trial:
    """Hold one trial.

    Attributes
    ----------
    number : int
        From 0, which is the base as it stands.
    parameters : dict of str to value
        What varies, by place, in the order of the file.
    source : YamlSource
        The experiment's document.
    config : Config
        The experiment, named ``<study>-trial-<number>``.
    """

    number: int
    parameters: Mapping[str, Any]
    source: YamlSource
    config: Config


@dataclass(frozen=True)
class Study:
    """Hold a study.

    Attributes
    ----------
    source : YamlSource
        Its file.
    settings : StudyConfig
        What the file says.
    n_trials : int
        Trials to be made.
    trials : tuple of Trial
        Those whose parameters are known before any has run: all with the sampler "random", trial 0 with "tpe".
    """

    source: YamlSource
    settings: StudyConfig
    n_trials: int
    trials: tuple[Trial, ...]
    _base: Base
    _places: Places

    @property
    def name(self) -> str:
        """Return the study's name."""
        return self.settings.name

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the problems that every trial runs."""
        return tuple(map(str, self.trials[0].config.problems))

    def where(self, *location: str | int) -> str:
        """Return file, line and place of a setting, for a message."""
        return where(self.source, location)

    def trial(self, number: int, parameters: Mapping[str, Any]) -> Trial:
        """Return a trial with these parameters, by place.

        Raises
        ------
        ConfigError
            No experiment can have them.
        """
        return Trial(number, parameters, *self._base.varied(number, self._places.assign(parameters)))


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
    search_also([path.parent, Path.cwd()])
    settings = _StudyReader(source).read(source.value)
    base = Base.of(source, settings.name, settings.base, problems)
    places = Places.of(source, settings.vary, base)
    for place, space in settings.vary.items():
        for location, value in itertools.product(places.locations[place], space.extremes):
            base.varied(0, {location: (value, places.lines[place])})
    n_trials = settings.trials if trials is None else trials
    study = Study(source, settings, n_trials, (), base, places)
    known = [places.of_base]
    if settings.sampler == "random":
        known += [draw(settings, number) for number in range(1, n_trials)]
    else:
        _check_ranges_hold(study, places.of_base)
    return replace(study, trials=tuple(study.trial(number, parameters) for number, parameters in enumerate(known)))


def _check_ranges_hold(study: Study, parameters: Mapping[str, Any]) -> None:
    """Check that the base lies in the ranges: a sampler that learns from trial 0 has to know its place."""
    for place, space in study.settings.vary.items():
        if not space.holds(parameters[place]):
            raise ConfigError(
                f"{study.where('vary', place)}: expected a range that holds the base's own value beside sampler:"
                f" {study.settings.sampler}, which learns from the base too, got {shown(parameters[place])} outside it."
            )


def draw(settings: StudyConfig, number: int) -> dict[str, Any]:
    """Draw the parameters of a trial, by place; see this module."""
    return {
        place: space.draw(np.random.default_rng([settings.seed, number, *place.encode()]))
        for place, space in settings.vary.items()
    }


class _StudyReader(Reader):
    """Read the parts of a study's file."""

    def read(self, document: Any) -> StudyConfig:
        given = self.mapping(document, (), KEYS)
        words = {name: self.one(parameter, given, ()) for name, parameter in VALUES.items()}
        base = self._mapping(given, "base")
        vary = {place: self._space(value, ("vary", place)) for place, value in self._mapping(given, "vary").items()}
        if not 1 <= len(vary) <= 100:
            self.mistakes.add(("vary",), f"expected 1 to 100 places, got {len(vary)}")
        if "score" not in given:
            self.mistakes.add(("score",), missing("score"))
        score = self._cells(given.get("score"), "score") if "score" in given else ()
        report = self._cells(given["report"], "report") if given.get("report") else ()
        self.mistakes.raise_if_any()
        spaces = {place: space for place, space in vary.items() if space is not None}
        return StudyConfig(**words, base=base, vary=spaces, score=score, report=report)

    def _mapping(self, given: Mapping[str, Any], key: str) -> dict[str, Any]:
        if key not in given:
            self.mistakes.add((key,), missing(key))
            return {}
        if isinstance(value := given[key], dict):
            return value
        self.mistakes.add((key,), f"expected a mapping of keys to values, got {shown(value)}", unreadable=True)
        return {}

    def _space(self, value: Any, place: Location) -> Space | None:
        if not isinstance(value, dict):
            self.mistakes.add(place, f"expected a mapping with the keys low and high, or choices, got {shown(value)}")
            return None
        if "choices" in value:
            given = self.mapping(value, place, ("choices",))
            choices = self.sequence(given["choices"], (*place, "choices"), most=1000)
            return Choices(tuple(choices))
        given = self.mapping(value, place, ("low", "high", "log"))
        low, high, log = (self.one(parameter, given, place) for parameter in INTERVAL)
        if self.mistakes.at(place):
            return None
        if low >= high:
            self.mistakes.add(place, f"expected low below high ({high}), got {low}")
        elif log and low <= 0:
            self.mistakes.add(place, f"expected low above 0 where log is true, got {low}")
        return Interval(low, high, log)

    def _cells(self, value: Any, key: str) -> tuple[Cells, ...]:
        entries = self.sequence(value, (key,), most=100)
        return tuple(self._cell(entry, (key, index), key == "score") for index, entry in enumerate(entries))

    def _cell(self, value: Any, place: Location, decides: bool) -> Cells:
        parameters = [*CELL_PARAMETERS, *([WEIGHT] if decides else [])]
        given = self.mapping(value, place, [parameter.name for parameter in parameters])
        for name in ("tables", "rows", "columns"):
            if isinstance(given.get(name), str):
                given[name] = [given[name]]
            names = given.get(name)
            if isinstance(names, list) and any(names.count(one) > 1 for one in names):
                self.mistakes.add((*place, name), f"expected each value once, got {shown(names)}")
        read: dict[str, Any] = {parameter.name: self.one(parameter, given, place) for parameter in parameters}
        if read["ours"] is not None and read["quantity"] not in (None, "speedup"):
            self.mistakes.add(place, f"expected ours only beside quantity: speedup, got it beside {read['quantity']}")
        optional = {name: values or () for name, values in read.items() if name in _LISTS}
        return Cells(**(read | optional))


_LISTS = ("tables", "rows", "columns")
