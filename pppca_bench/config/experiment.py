"""Experiment configs: their model, whose errors name file, line and key."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Annotated, Any, Self

from annotated_types import Ge, Lt, MaxLen, MinLen
from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticKnownError

from pppca_bench.config.own_data import NAME_PATTERN, Context, Folds, Name, Splits, context_of, read_table, shared_rule
from pppca_bench.config.sections import By, ClassifierSection, Names, Repeats, Values, read_method
from pppca_bench.documents import Section, YamlSource, absent, as_written, broken_rule, raise_errors
from pppca_bench.errors import nearest
from pppca_bench.parameters import REQUIRED, Parameter, Percent, Tau
from pppca_bench.problems import OwnData, SplitRule, registered
from pppca_bench.runs import AUTO, CHOOSE

NAME = re.compile(NAME_PATTERN)


def _read_problem(value: Any, info: ValidationInfo) -> str | OwnData:
    if isinstance(value, dict):
        return read_table(value, info)
    if isinstance(value, str) and value in context_of(info).given:
        return OwnData("given", value, rule=shared_rule(info), name=value)
    if isinstance(value, str) and (value.endswith(".dt") or value in registered()):
        return value
    hint = nearest(value, registered()) if isinstance(value, str) else ""
    expected = "expected a problem's name (see `pppca data list`), the path of a .dt file, or {csv: FILE}"
    raise broken_rule(f"{expected}, got {as_written(value)}{hint}")


def _read_thresholds(value: Any) -> Any:
    return value if value is None or value == AUTO else TAU.read(value)


TAU = Values(Parameter("tau", Tau, None))
Problems = Annotated[
    tuple[Annotated[Any, PlainValidator(_read_problem), WithJsonSchema({"definition": "problem"})], ...],
    MinLen(1),
    MaxLen(1000),
]
Methods = tuple[Annotated[Any, PlainValidator(read_method), WithJsonSchema({"definition": "method"})], ...]


class Config(Section):
    """An experiment: problems x methods x settings x repeats.

    A field's validator may read the fields before it; ``methods`` are `MethodRequest` after it.
    """

    name: Name
    splits: Splits = 1
    folds: Folds = 0
    problems: Problems
    repeats: Repeats = absent(validate_default=True)
    seed: Annotated[int, Ge(0), Lt(2**63)]
    choose: Annotated[str | Names, AfterValidator(lambda value: (value,) if isinstance(value, str) else value)] = ()
    by: By = "validation_error"
    retain: Percent = 95.0
    predictions: bool = False
    tau: Annotated[Any, PlainValidator(_read_thresholds), WithJsonSchema({"definition": "thresholds"})] = None
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
        """Return the largest number of splits of a table where the config states no repeats."""
        if value is not REQUIRED:
            return value
        tables = [problem for problem in info.data.get("problems", ()) if isinstance(problem, OwnData)]
        most = max((table.rule.n_splits for table in tables), default=1)
        if most == 1:
            raise PydanticKnownError("missing")
        return most

    @field_validator("retain", mode="after")
    @classmethod
    def _check_retain(cls, value: float, info: ValidationInfo) -> float:
        if info.data.get("by") == "validation_error":
            raise broken_rule("expected it beside by: retained_variance alone, got by: validation_error")
        return value

    @model_validator(mode="after")
    def _check(self) -> Self:
        has_table = any(isinstance(problem, OwnData) for problem in self.problems)
        if SplitRule(splits=self.splits, folds=self.folds).n_splits > 1 and not has_table:
            kept = "known problems and .dt files keep their own split"
            text = f"expected a table (csv, parquet, sklearn, proben1, openml) among the problems, got none: {kept}"
            raise_errors([(("splits" if "splits" in self.model_fields_set else "folds",), text)])
        for name in self.choose:
            if not any(f"{CHOOSE}{name}" in method.grid for method in self.methods):
                text = f"expected a parameter of which a method here has several values, got {name!r}"
                raise_errors([(("choose",), text)])
        return self


def parse_config(source: YamlSource, *, given: Collection[str] = ()) -> Config:
    """Validate a document, whose ``problems:`` may name the tables ``given`` by the caller; see `Section.read`."""
    return Config.read(source, context=Context(given, source.path.parent))
