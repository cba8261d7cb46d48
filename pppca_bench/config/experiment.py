"""Experiment configs: a YAML document to a validated, frozen `Config`, with errors that name file, line and key."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
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

from pppca_bench.config.own_data import NAME_PATTERN, Context, Folds, Name, Splits, context_of, read_table
from pppca_bench.config.sections import (
    By,
    ClassifierSection,
    MethodRequest,
    Names,
    Repeats,
    Values,
    is_storable,
    read_method,
    spelled_out,
)
from pppca_bench.documents import Section, YamlSource, absent, as_written, broken_rule, missing, raise_errors
from pppca_bench.errors import nearest
from pppca_bench.methods.entry import Classifier, Method
from pppca_bench.methods.lookup import find_classifier, find_method
from pppca_bench.methods.registry import DEFAULT_RULE
from pppca_bench.methods.sections import section_of
from pppca_bench.parameters import REQUIRED, Parameter, Percent, Tau
from pppca_bench.problems import OwnData, SplitRule
from pppca_bench.runs import AUTO, CHOOSE

NAME = re.compile(NAME_PATTERN)


@dataclass(frozen=True)
class Config:
    """An experiment: problems x methods x settings x repeats.

    Attributes
    ----------
    name : str
        Name of its results.
    problems : tuple of str or OwnData
        Names of known problems, paths of .dt files as the config writes them, and tables.
    seed : int
    methods : tuple of MethodRequest
    """

    name: str
    problems: tuple[str | OwnData, ...]
    seed: int
    methods: tuple[MethodRequest, ...]


def parse_config(source: YamlSource, *, problems: Collection[str], given: Collection[str] = ()) -> Config:
    """Validate a document.

    Parameters
    ----------
    source : YamlSource
        The document.
    problems : collection of str
        Names that ``problems:`` may hold beside paths of .dt files and descriptions of tables.
    given : collection of str, optional
        Names of tables that the caller has, which ``problems:`` may hold too.

    Raises
    ------
    ConfigError
        A line for each validation error: file, line, key, expected rule and given value.
    """
    read = Experiment.read(source, context=Context(problems, given, source.path.parent))
    return Config(read.name, read.problems, read.seed, read.methods)


def _read_problem(value: Any, info: ValidationInfo) -> str | OwnData:
    if isinstance(value, dict):
        return read_table(value, info)
    known = context_of(info).problems
    if isinstance(value, str) and value in context_of(info).given:
        return OwnData("given", value, rule=_rule(info.data), name=value)
    if isinstance(value, str) and (value.endswith(".dt") or value in known):
        return value
    hint = nearest(value, known) if isinstance(value, str) else ""
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


class Experiment(Section):
    """Model of an experiment's config. A field's validator may read the fields before it."""

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
        again = [index for index, one in enumerate(problems) if one in problems[:index]]
        if again:
            raise_errors(
                ((index,), f"expected each problem once, got {as_written(entries[index])} again") for index in again
            )
        return problems

    @field_validator("repeats", mode="before")
    @classmethod
    def _repeats(cls, value: Any, info: ValidationInfo) -> Any:
        """Return the most splits of a table where the config states no repeats."""
        if value is not REQUIRED:
            return value
        most = max((one.rule.n_splits for one in info.data.get("problems", ()) if isinstance(one, OwnData)), default=1)
        if most == 1:
            raise broken_rule(missing("repeats"))
        return most

    @field_validator("retain", mode="after")
    @classmethod
    def _check_retain(cls, value: float, info: ValidationInfo) -> float:
        if info.data.get("by") == "validation_error":
            raise broken_rule("expected it beside by: retained_variance alone, got by: validation_error")
        return value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if _rule(vars(self)).n_splits > 1 and not any(isinstance(problem, OwnData) for problem in self.problems):
            kept = "known problems and .dt files keep their own split"
            text = f"expected a table (csv, parquet, sklearn, openml) among the problems, got none: {kept}"
            raise_errors([(("splits" if "splits" in self.model_fields_set else "folds",), text)])
        for name in self.choose:
            if not any(f"{CHOOSE}{name}" in method.grid for method in self.methods):
                text = f"expected a parameter of which a method here has several values, got {name!r}"
                raise_errors([(("choose",), text)])
        return self


def _rule(values: Any) -> SplitRule:
    return SplitRule(splits=values.get("splits", 1), folds=values.get("folds", 0))


def filled_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a valid document with every parameter of its methods and classifiers, defaults filled in."""
    methods = [_filled_method(entry) for entry in document["methods"]]
    return {**document, "methods": methods, "classifier": _filled_classifier(document.get("classifier", {}))}


def _filled_method(value: str | Mapping[str, Any]) -> dict[str, Any]:
    given = spelled_out(value, "method")
    own = {"classifier": _filled_classifier(given["classifier"])} if "classifier" in given else {}
    return _filled_section(find_method(given["method"]), given, "tau") | own


def _filled_classifier(value: str | Mapping[str, Any]) -> dict[str, Any]:
    given = spelled_out(value, "rule")
    entry = find_classifier(given.get("rule", DEFAULT_RULE))
    base = {"base": _filled_classifier(given.get("base", {}))} if entry.is_ensemble else {}
    return {"rule": entry.name, **_filled_section(entry, given), **base}


def _filled_section(entry: Method | Classifier, given: Mapping[str, Any], *without: str) -> dict[str, Any]:
    """Return a section with the defaults of its parameters, tuples as lists."""
    defaults = {
        key: list(one.default) if isinstance(one.default, tuple) else one.default
        for key, one in section_of(entry).items()
        if key not in without and (is_storable(one.default) or not entry.foreign)
    }
    return {**given, "parameters": defaults | given.get("parameters", {})} if entry.foreign else defaults | dict(given)
