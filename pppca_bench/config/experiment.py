"""Pydantic models of experiment configs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

import yaml
from annotated_types import Ge, Le, Lt, MaxLen, MinLen
from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    StringConstraints,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticKnownError

from pppca_bench.config.sections import (
    By,
    ClassifierSection,
    Context,
    Names,
    Repeats,
    context_of,
    read_method,
    read_thresholds,
)
from pppca_bench.documents import (
    Location,
    Section,
    YamlSource,
    absent,
    as_written,
    broken_rule,
    raise_errors,
    to_source,
)
from pppca_bench.errors import nearest
from pppca_bench.parameters import REQUIRED, Parameter, Percent, Tau
from pppca_bench.problems import OwnData, SplitRule, Task, registered
from pppca_bench.problems.declaration import VALUE_KEYS, Duplicates
from pppca_bench.runs import CHOOSE

NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

_Name = Annotated[str, StringConstraints(pattern=f"^{NAME.pattern}$")]
_Splits = Annotated[int, Ge(1), Le(1000)]
_Folds = Annotated[int, Ge(3), Le(100)]
_Text = Annotated[str, MinLen(1)]
_Columns = Annotated[tuple[_Text, ...], MinLen(1), MaxLen(10_000)]
_Character = Annotated[str, MinLen(1), MaxLen(1)]
_Marker = str | int | float

_PLACES = ("csv", "parquet", "arff", "sklearn", "proben1", "uci", "openml", "dt")
"""Keys for the location of a table; each table has exactly one of these keys."""


class _SplitColumn(Section):
    column: _Text


class ReadSection(Section):
    """Keys of `pandas.read_csv`, by their names."""

    sep: _Text = absent()
    header: Annotated[int, Ge(0), Le(10_000)] | Literal[False] | None = absent()
    names: _Columns = absent()
    decimal: _Character = absent()
    thousands: _Character = absent()
    na_values: _Marker | Annotated[tuple[_Marker, ...], MaxLen(1000)] = absent()
    keep_default_na: bool = absent()
    encoding: _Text = absent()
    comment: _Character = absent()
    compression: Literal["infer", "gzip", "bz2", "xz", "zip"] | None = absent()
    skiprows: Annotated[int, Ge(0)] | tuple[Annotated[int, Ge(0)], ...] = absent()
    quotechar: _Character = absent()
    index_col: Annotated[int, Ge(0)] | _Text | Literal[False] | None = absent()
    skip_blank_lines: bool = absent()
    dtype: Literal["str"] = absent()


class TableSection(Section):
    """Section of a user-defined table: key of its location, and keys of the problem."""

    csv: _Text = absent()
    parquet: _Text = absent()
    arff: _Text = absent()
    sklearn: _Text = absent()
    proben1: _Text = absent()
    uci: _Text = absent()
    openml: Annotated[int, Ge(1), Le(10**9)] = absent()
    dt: Annotated[str, StringConstraints(pattern=r"\.dt$")] = absent()
    read_section: ReadSection = absent(alias="read")
    target: _Text | _Columns = ()
    task: Task | None = None
    inputs: _Columns = ()
    categorical: _Columns = ()
    text: _Columns = ()
    dates: _Columns | dict[_Text, _Text] = ()
    drop: _Columns = ()
    duplicates: Duplicates | None = None
    group: _Text = ""
    split: _SplitColumn = absent()
    splits: _Splits = 1
    folds: _Folds = 0
    name: _Name = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        places = [key for key in _PLACES if key in self.model_fields_set]
        if len(places) != 1:
            got = " and ".join(places or sorted(self.model_fields_set)) or "none"
            raise broken_rule(f"expected one of the keys {', '.join(_PLACES)}, got {got}")
        if errors := list(self._broken_rules(*places)):
            raise_errors(errors)
        return self

    def _broken_rules(self, place: str) -> Iterator[tuple[Location, str]]:
        beside = " and ".join(key for key in type(self).model_fields if key in self.model_fields_set and key != place)
        if place == "dt" and beside:
            rule = "expected dt alone, since a .dt file states its own targets and split"
            yield ("dt",), f"{rule}, got it beside {beside}"
        has_read = "read_section" in self.model_fields_set
        keys = self.read_section.model_fields_set if has_read else set[str]()
        if place != "csv" and (others := sorted(keys - set(VALUE_KEYS))):
            expected = f"expected only {', '.join(VALUE_KEYS)} with {place}"
            yield ("read", others[0]), f"{expected}, got {others[0]}, which is for CSV files"
        if self.group and self.duplicates == "group":
            yield ("duplicates",), "expected duplicates: drop or keep with group, got group"
        if "split" in self.model_fields_set and self.model_fields_set & {"splits", "folds"}:
            yield ("split",), "expected split: {column: …} in place of splits and folds, got both"
        if self.task == "classification" and not isinstance(self.target, str) and len(self.target) > 1:
            yield ("target",), f"expected one column of classes, got {as_written(self.target)}"
        if self.name in registered():
            yield ("name",), f"expected another name than that of a known problem, got {self.name!r}"

    def problem(self, shared: SplitRule) -> str | OwnData:
        """Return the problem; ``shared`` is the split rule of the config, for tables without a rule."""
        place = next(key for key in _PLACES if key in self.model_fields_set)
        if place == "dt":
            return self.dt
        rule = shared
        if "split" in self.model_fields_set:
            rule = SplitRule(column=self.split.column)
        elif self.model_fields_set & {"splits", "folds"}:
            rule = SplitRule(splits=self.splits, folds=self.folds)
        names = {"target", "task", "inputs", "categorical", "text", "drop", "dates", "duplicates", "group", "name"}
        has_read = "read_section" in self.model_fields_set
        read = self.read_section.model_dump(exclude_unset=True) if has_read else {}
        keys = self.model_dump(include=names)
        return OwnData.declared(cast("Any", place), str(getattr(self, place)), rule=rule, read=read, **keys)


def _read_problem(value: Any, info: ValidationInfo) -> str | OwnData:
    shared = SplitRule(splits=info.data.get("splits", 1), folds=info.data.get("folds", 0))
    if isinstance(value, dict):
        return TableSection.model_validate(value).problem(shared)
    if isinstance(value, str) and value in context_of(info).given:
        return replace(context_of(info).given[value], rule=shared)
    if isinstance(value, str) and (value.endswith(".dt") or value in registered()):
        return value
    hint = nearest(value, registered()) if isinstance(value, str) else ""
    expected = "expected a problem's name (see `pppca data list`), the path of a .dt file, or {csv: FILE}"
    raise broken_rule(f"{expected}, got {as_written(value)}{hint}")


Problems = Annotated[tuple[Annotated[Any, PlainValidator(_read_problem)], ...], MinLen(1), MaxLen(1000)]
Methods = tuple[Annotated[Any, PlainValidator(read_method)], ...]


class Config(Section):
    """Config of an experiment: problems x methods x settings x repeats.

    Validators may read earlier fields; validated ``methods`` are of type `MethodRequest`.
    """

    name: _Name
    splits: _Splits = 1
    folds: _Folds = 0
    problems: Problems
    repeats: Repeats = absent(validate_default=True)
    seed: Annotated[int, Ge(0), Lt(2**63)]
    choose: Annotated[str | Names, AfterValidator(lambda value: (value,) if isinstance(value, str) else value)] = ()
    by: By = "validation_error"
    retain: Percent = 95.0
    predictions: bool = False
    tau: Annotated[Any, PlainValidator(partial(read_thresholds, Parameter("tau", Tau, None)))] = None
    classifier: ClassifierSection = Field({}, validate_default=True)
    methods: Annotated[Methods, MinLen(1), MaxLen(100)]

    @field_validator("problems", mode="wrap")
    @classmethod
    def _check_problems(cls, value: Any, read: ValidatorFunctionWrapHandler) -> tuple[str | OwnData, ...]:
        entries = value if isinstance(value, tuple) else (value,)
        problems: tuple[str | OwnData, ...] = read(entries)
        again = {index: entries[index] for index, problem in enumerate(problems) if problem in problems[:index]}
        if again:
            text = "expected each problem once, got {} again"
            raise_errors(((index,), text.format(as_written(entry))) for index, entry in again.items())
        return problems

    @field_validator("repeats", mode="before")
    @classmethod
    def _repeats(cls, value: Any, info: ValidationInfo) -> Any:
        """Return the largest number of splits of a table if the config states no repeats."""
        if value is not REQUIRED:
            return value
        if not info.data.keys() >= {"splits", "folds", "problems"}:  # an error of theirs is reported already
            return 1
        tables = [problem for problem in info.data.get("problems", ()) if isinstance(problem, OwnData)]
        most = max((table.rule.n_splits for table in tables), default=1)
        if most == 1:
            raise PydanticKnownError("missing")
        return most

    @field_validator("retain", mode="after")
    @classmethod
    def _check_retain(cls, value: float, info: ValidationInfo) -> float:
        if info.data.get("by") == "validation_error":
            raise broken_rule("expected retain only with by: retained_variance, got by: validation_error")
        return value

    @model_validator(mode="after")
    def _check(self) -> Self:
        has_table = any(isinstance(problem, OwnData) for problem in self.problems)
        if SplitRule(splits=self.splits, folds=self.folds).n_splits > 1 and not has_table:
            kept = "known problems and .dt files keep their own split"
            tables = ", ".join(_PLACES[:-1])
            text = f"expected a table ({tables}) among the problems, got none: {kept}"
            raise_errors([(("splits" if "splits" in self.model_fields_set else "folds",), text)])
        for name in self.choose:
            if not any(f"{CHOOSE}{name}" in method.grid for method in self.methods):
                text = f"expected a parameter with several values in a method, got {name!r}"
                raise_errors([(("choose",), text)])
        return self


def parse_config(source: YamlSource, *, given: Mapping[str, OwnData] | None = None) -> Config:
    """Validate a document, whose ``problems:`` may name saved tables of the caller; raise as `Section.read`."""
    return Config.read(source, context=Context(given or {}, source.path.parent))


def parse_read_keys(texts: Sequence[str]) -> tuple[tuple[str, Any], ...]:
    """Return keys of `pandas.read_csv` from texts such as ``sep=;``; raise ConfigError for other texts."""
    document: dict[str, Any] = {}
    for key, _, value in (text.partition("=") for text in texts):
        try:
            document[key] = yaml.safe_load(value) if value.strip() else value
        except yaml.YAMLError:  # such as a comma
            document[key] = value
    section = ReadSection.read(to_source(document, Path("--read")))
    return tuple(sorted(section.model_dump(exclude_unset=True).items()))
