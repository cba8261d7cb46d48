"""User-defined tables in a config: their place, target columns, and the split of their rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import StringConstraints, ValidationInfo, create_model, model_validator

from pppca_bench.documents import Section, absent, as_written, broken_rule, raise_errors
from pppca_bench.problems import OwnData, SplitRule, registered

NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
Name = Annotated[str, StringConstraints(pattern=f"^{NAME_PATTERN}$")]
Splits = Annotated[int, Ge(1), Le(1000)]
Folds = Annotated[int, Ge(3), Le(100)]
_Text = Annotated[str, MinLen(1)]
_Names = Annotated[tuple[_Text, ...], MinLen(1), MaxLen(10_000)]


@dataclass(frozen=True)
class Context:
    """Context of a config's validation: names of the caller's tables, the config's folder."""

    given: Collection[str]
    folder: Path


def context_of(info: ValidationInfo) -> Context:
    """Return the context that `Section.read` was called with."""
    return cast("Context", info.context)


def shared_rule(info: ValidationInfo) -> SplitRule:
    """Return the split rule of the config, whose keys are validated before its problems."""
    return SplitRule(splits=info.data.get("splits", 1), folds=info.data.get("folds", 0))


class _SplitColumn(Section):
    column: _Text


class _Table(Section):
    """The keys of a table beside its place."""

    target: _Text | _Names = ()
    task: Literal["classification", "approximation"] | None = None
    categorical: _Names = ()
    drop: _Names = ()
    split: _SplitColumn = absent()
    splits: Splits = 1
    folds: Folds = 0
    name: Name = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.task == "classification" and not isinstance(self.target, str) and len(self.target) > 1:
            raise_errors([(("target",), f"expected one column of classes, got {as_written(self.target)}")])
        beside = sorted(self.model_fields_set & {"splits", "folds"}, reverse=True)
        if "split" in self.model_fields_set and beside:
            raise_errors([(("split",), f"expected split: {{column: …}} alone, got it beside {' and '.join(beside)}")])
        return self

    def rule(self, shared: SplitRule) -> SplitRule:
        """Return the rule that the table states, or else the config's."""
        if "split" in self.model_fields_set:
            return SplitRule(column=self.split.column)
        is_own = self.model_fields_set & {"splits", "folds"}
        return SplitRule(splits=self.splits, folds=self.folds) if is_own else shared


class _DtFile(Section):
    dt: Annotated[str, StringConstraints(pattern=r"\.dt$")]

    @classmethod
    def hint(cls, key: str) -> str:
        return " (a .dt file states its targets and its split itself)" if key in _Table.known_keys() else ""


_PLACES: dict[str, Any] = dict.fromkeys(("csv", "parquet", "sklearn", "proben1"), (_Text, ...))
_DECIMAL: dict[str, Any] = {"decimal": (Literal[".", ","], ".")}
_PLACES["openml"] = (Annotated[int, Ge(1), Le(10**9)], ...)
SOURCES: dict[str, type[Section]] = {
    **{
        name: create_model(name, __base__=_Table, **{name: field}, **(_DECIMAL if name == "csv" else {}))
        for name, field in _PLACES.items()
    },
    "dt": _DtFile,
}
"""Models of the tables, by the key of their place; ``{dt: own.dt}`` is a longer form of the path alone."""


def read_table(value: Mapping[str, Any], info: ValidationInfo) -> str | OwnData:
    """Return the problem of a mapping such as ``{csv: digits.csv, target: digit}``; a validator of pydantic."""
    sources = [name for name in SOURCES if name in value]
    if len(sources) != 1:
        got = " and ".join(sources) or f"the keys {', '.join(map(str, value)) or 'of none'}"
        raise broken_rule(f"expected one of the keys {', '.join(SOURCES)}, got {got}")
    (source,) = sources
    table: Any = SOURCES[source].model_validate(value)
    if source == "dt":
        return str(table.dt)
    if table.name in registered():
        raise_errors([(("name",), f"expected another name than that of a known problem, got {table.name!r}")])
    target = (table.target,) if isinstance(table.target, str) else table.target
    rule = table.rule(shared_rule(info))
    kind, place = cast("Any", source), str(getattr(table, source))
    decimal = getattr(table, "decimal", ".")
    return OwnData(kind, place, target, table.task, table.categorical, table.drop, rule, table.name, decimal)
