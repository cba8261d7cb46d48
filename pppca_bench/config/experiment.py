"""Pydantic models of experiment configs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast, get_args, get_type_hints

from annotated_types import Ge, Le, Lt, MaxLen, MinLen
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    StringConstraints,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticKnownError

from pppca_bench.base.parameters import REQUIRED, Parameter, Percent, Tau
from pppca_bench.config.sections import (
    WHOLE,
    By,
    ClassifierSection,
    Context,
    MethodRequest,
    NamesToChoose,
    Repeats,
    Title,
    distinct,
    has_classifier,
    read_method,
    read_thresholds,
)
from pppca_bench.errors import ConfigError, OwnDataError, nearest
from pppca_bench.methods.lookup import find_classifier
from pppca_bench.methods.protocol import contract_of
from pppca_bench.methods.registry import METHODS
from pppca_bench.problems import OwnData, SplitRule, find_user_file, registered
from pppca_bench.problems.declaration import NO_CSV, Columns, Name, Source, inapplicable, names_of
from pppca_bench.problems.read_files import read_csv_keys, unknown_keys
from pppca_bench.problems.splits import SEED
from pppca_bench.yaml_files.section import UNSET, Section, broken_rule, yaml_text
from pppca_bench.yaml_files.source import YamlSource, parse_yaml

NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

_Name = Annotated[str, StringConstraints(pattern=f"^{NAME.pattern}$")]
_Splits = Annotated[int, Ge(1), Le(1000)]
_Folds = Annotated[int, Ge(3), Le(100)]
_SplitSeed = Annotated[int, Ge(0), Le(10**9)]
_SOURCES = (*(source for source in get_args(Source) if source != "given"), "dt")
"""Keys for the location of a table; each table has exactly one of these keys."""


class _SplitColumn(Section):
    column: Name


class _Located(Section):
    """Location, target and splits of a table, and its keys of `pandas.read_csv`."""

    csv: Name = UNSET
    parquet: Name = UNSET
    arff: Name = UNSET
    sklearn: Name = UNSET
    proben1: Name = UNSET
    uci: Name = UNSET
    openml: Annotated[int, Ge(1), Le(10**9)] = UNSET
    dt: Annotated[str, StringConstraints(pattern=r"\.dt$")] = UNSET
    read_keys: dict[str, Any] = Field({}, alias="read")
    target: Annotated[Name | Columns, AfterValidator(names_of)] = ()
    split: _SplitColumn = UNSET
    splits: _Splits = 1
    folds: _Folds = 0
    name: _Name = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = self.model_fields_set
        sources = [key for key in _SOURCES if key in given]
        if len(sources) != 1:
            got = " and ".join(sources or sorted(given)) or "none"
            raise broken_rule(f"expected one of the keys {', '.join(_SOURCES)}, got {got}")
        (source,) = sources
        if source == "dt" and len(given) > 1:
            rule = "expected dt alone, since a .dt file states its own targets and split"
            raise broken_rule(f"{rule}, got it beside {' and '.join(sorted(given - {'dt'}))}", "dt")
        for key in unknown_keys(self.read_keys):
            hint = nearest(key, read_csv_keys())
            raise broken_rule(f"expected keys of pandas.read_csv, got {key}{hint}", "read", key)
        for key in inapplicable(source, self.read_keys):
            raise broken_rule(f"expected {NO_CSV}, got {key}", "read", key)
        keys = self.model_dump()
        if keys["group"] and keys["duplicates"] == "group":
            raise broken_rule(
                "expected duplicates: drop or keep with group, got group", "duplicates"
            )
        if "split" in given and given & {"splits", "folds"}:
            raise broken_rule(
                "expected split: {column: …} in place of splits and folds, got both", "split"
            )
        if self.name in registered():
            raise broken_rule(
                f"expected another name than that of a known problem, got {self.name!r}", "name"
            )
        return self

    def problem(self, shared: SplitRule) -> str | OwnData:
        """Return the problem; ``shared`` is the split rule of the config, for tables without a rule."""
        keys = self.model_dump(exclude_unset=True, exclude={"split", "splits", "folds"})
        (source,) = keys.keys() & set(_SOURCES)
        location = str(keys.pop(source))
        if source == "dt":
            return location
        rule = shared
        if "split" in self.model_fields_set:
            rule = SplitRule(column=self.split.column)
        elif self.model_fields_set & {"splits", "folds"}:
            rule = replace(shared, splits=self.splits, folds=self.folds)
        return OwnData(cast("Any", source), location, rule=rule, **keys)


def _declared() -> dict[str, Any]:
    """Return the further keys of a table for `create_model`: the fields of `OwnData`, with their types."""
    hints = get_type_hints(OwnData, include_extras=True)
    written_otherwise = {"source", "place", "rule", "by_options", *_Located.model_fields}
    return {
        field.name: (hints[field.name], field.default)
        for field in fields(OwnData)
        if field.name not in written_otherwise
    }


TableSection = create_model("TableSection", __base__=_Located, **_declared())
"""Section of a user-defined table: key of its location, and keys of the problem."""


def _read_problem(value: Any, info: ValidationInfo) -> str | OwnData:
    keys = {"splits": "splits", "folds": "folds", "split_seed": "seed"}
    rule = {name: info.data[key] for key, name in keys.items() if key in info.data}
    shared = SplitRule(**(rule | {"splits": 0} if rule.get("splits") == WHOLE else rule))
    context = cast("Context", info.context)
    if isinstance(value, dict):
        return _with_file(TableSection.model_validate(value).problem(shared), context)
    if isinstance(value, str):
        if value in context.given:
            return replace(context.given[value], rule=shared)
        if value.endswith(".dt") or value in registered():
            return _with_file(value, context)
    hint = nearest(value, registered()) if isinstance(value, str) else ""
    expected = (
        "expected a problem's name (see `pppca data list`), the path of a .dt file, or {csv: FILE}"
    )
    raise broken_rule(f"{expected}, got {yaml_text(value)}{hint}")


def _with_file(problem: str | OwnData, context: Context) -> str | OwnData:
    """Return a problem; raise a validation error if its file must exist and is missing."""
    file = ""
    if isinstance(problem, OwnData):
        file = problem.place if problem.is_file else ""
    elif problem.endswith(".dt"):
        file = problem
    if file and context.has_files:
        try:
            find_user_file(file, context.folder)
        except OwnDataError as error:
            raise broken_rule(str(error).removesuffix(".")) from None
    return problem


Problems = Annotated[
    tuple[Annotated[Any, PlainValidator(_read_problem)], ...],
    MinLen(1),
    MaxLen(1000),
    BeforeValidator(lambda value: value if isinstance(value, tuple) else (value,)),
    AfterValidator(distinct),
]
_THRESHOLD = Parameter("tau", Tau, None)
Methods = tuple[Annotated[Any, PlainValidator(read_method)], ...]


def _is_of_a_user(problem: str | OwnData) -> bool:
    """Return whether a problem's data are a user's: no known problem, and no data set that has a name."""
    return not problem.is_named if isinstance(problem, OwnData) else problem.endswith(".dt")


def _classifier_of(method: MethodRequest) -> Any:
    """Return the class of the classifier that follows a method."""
    return contract_of(find_classifier(method.classifier["rule"][0])).estimator


class Config(Section):
    """Config of an experiment: problems x methods x settings x repeats.

    Validators may read earlier fields; validated ``methods`` are of type `MethodRequest`.
    """

    name: _Name
    title: Title = ""
    splits: _Splits | Literal["none"] = 1
    folds: _Folds = 0
    split_seed: _SplitSeed = SEED
    problems: Problems
    repeats: Repeats = Field(default_factory=lambda: REQUIRED, validate_default=True)
    seed: Annotated[int, Ge(0), Lt(2**63)]
    choose: Annotated[
        str | NamesToChoose,
        AfterValidator(lambda value: (value,) if isinstance(value, str) else value),
    ] = ()
    by: By = "validation_error"
    retain: Percent = 95.0
    predictions: bool = False
    curve: bool = False
    baselines: bool = True
    tau: Annotated[Any, PlainValidator(partial(read_thresholds, _THRESHOLD))] = ()
    classifier: ClassifierSection = Field({}, validate_default=True)
    methods: Annotated[Methods, MinLen(1), MaxLen(100)]

    @field_validator("repeats", mode="before")
    @classmethod
    def _repeats(cls, value: Any, info: ValidationInfo) -> Any:
        """Return the stated repeats, by default the largest number of splits of the user's tables.

        The key is required if no table has several splits.
        """
        if value is not REQUIRED:
            return value
        if not info.data.keys() >= {"splits", "folds", "problems"}:
            # the error of that key is reported already
            return 1
        tables = [entry for entry in info.data["problems"] if isinstance(entry, OwnData)]
        most = max((table.rule.n_splits for table in tables), default=1)
        if most == 1 and info.data["splits"] == WHOLE:
            return 1
        if most == 1:
            raise PydanticKnownError("missing")
        return most

    @field_validator("methods", mode="after")
    @classmethod
    def _add_baselines(
        cls, methods: tuple[MethodRequest, ...], info: ValidationInfo
    ) -> tuple[MethodRequest, ...]:
        """Add the baselines that the config does not name, with the classifier of its first method that has one.

        Choice: they run only on the data of a user, where no source says how good all features or a constant answer
        are; a config of known problems has the runs that it names.
        """
        makers = [method for method in methods if method.entry.makes != "measures"]
        has_data = any(map(_is_of_a_user, info.data.get("problems", ())))
        is_whole = info.data.get("splits") == WHOLE
        if is_whole or not (makers and has_data and info.data.get("baselines")):
            return methods
        networks = [method.classifier for method in makers if method.classifier]
        network = networks[0] if networks else info.data.get("classifier", {})
        named = [method.entry.name for method in methods]
        return methods + tuple(
            read_method(name, info)._replace(
                classifier=network if has_classifier(entry) else {}, is_added=True
            )
            for name, entry in METHODS.items()
            if entry.is_baseline and name not in named
        )

    def methods_on(self, problem: str | OwnData, task: str) -> list[MethodRequest]:
        """Return the methods to run on a problem: the config's and, on a user's data, baselines for its task."""
        is_own = _is_of_a_user(problem)
        return [
            method
            for method in self.methods
            if not method.is_added
            or (is_own and (task == "classification" or not method.entry.needs_classes))
        ]

    @model_validator(mode="after")
    def _check(self) -> Self:
        has_table = any(isinstance(problem, OwnData) for problem in self.problems)
        if self.splits == WHOLE:
            self._check_whole()
        has_splits = self.splits not in (1, WHOLE) or self.folds > 1
        if not has_table and (has_splits or self.split_seed != SEED):
            kept = "known problems and .dt files keep their own split"
            text = f"expected a table ({', '.join(_SOURCES[:-1])}) among the problems, got none: {kept}"
            named = (key for key in ("splits", "folds") if key in self.model_fields_set)
            raise broken_rule(text, next(named, "split_seed"))
        for index, method in enumerate(self.methods):
            if method.curve and not hasattr(_classifier_of(method), "records_curve"):
                expected = "a network trained by RPROP or backpropagation, beside curve: true"
                got = method.classifier["rule"][0]
                raise broken_rule(f"expected {expected}, got {got}", "methods", index)
        if "retain" in self.model_fields_set and self.by != "retained_variance":
            text = f"expected retain only with by: retained_variance, got by: {self.by}"
            raise broken_rule(text, "retain")
        for name in self.choose:
            if not any(name in method.choose.get("among", {}) for method in self.methods):
                raise broken_rule(
                    f"expected a parameter with several values in a method, got {name!r}", "choose"
                )
        return self

    def _check_whole(self) -> None:
        """Raise ValidationError unless all problems are tables, and no method needs a classifier or another split."""
        for index, problem in enumerate(self.problems):
            if not isinstance(problem, OwnData) or not problem.rule.is_whole:
                rule = "a table without splits of its own, such as {sklearn: iris}, beside splits: none"
                raise broken_rule(f"expected {rule}, got {problem}", "problems", index)
        for key in ("folds", "classifier"):
            if key in self.model_fields_set:
                raise broken_rule(f"expected no {key} beside splits: none, got it", key)
        for index, method in enumerate(self.methods):
            if method.entry.makes == "classes" or method.classifier:
                rule = "a method that makes features or measures, without a classifier, beside splits: none"
                raise broken_rule(f"expected {rule}, got {method.entry.name}", "methods", index)
            if method.choose and method.choose["by"] != "retained_variance":
                raise broken_rule(
                    f"expected by: retained_variance beside splits: none, got by: {self.by}", "by"
                )


def parse_config(
    source: YamlSource, *, given: Mapping[str, OwnData] | None = None, has_files: bool = False
) -> Config:
    """Validate a document, whose ``problems:`` may name saved tables of the caller; raise as `Section.read`.

    With ``has_files``, a missing file of a problem is an error, beside the others of the document.
    """
    return Config.read(source, context=Context(given or {}, source.path.parent, has_files))


def parse_read_keys(texts: Sequence[str]) -> dict[str, Any]:
    """Return keys of `pandas.read_csv` from texts such as ``sep=;``."""
    option, keys = Path("--read"), dict[str, Any]()
    for key, _, text in (text.partition("=") for text in texts):
        try:
            keys[key] = parse_yaml(option, text).value if text.strip() else text
        except ConfigError:  # such as a comma
            keys[key] = text
    return keys
