"""What a config says of the problems of the user's own: which table, which column to learn, how to split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import StringConstraints

from pppca_bench.config.messages import Reader
from pppca_bench.documents import Location
from pppca_bench.parameters import REQUIRED, Parameter, shown
from pppca_bench.problems import OwnData, SplitRule

SPLIT_KEYS = ("splits", "folds")
"""Keys of a config, and of a table in it, that say how often its rows are dealt."""

NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"

_SOURCES = ("csv", "parquet", "sklearn", "openml", "dt")
_KEYS = ("target", "task", "categorical", "drop", "split", *SPLIT_KEYS, "name")

_Text = Annotated[str, StringConstraints(min_length=1)]
_Names = Annotated[tuple[_Text, ...], MinLen(1), MaxLen(10_000)]
PLACES = {name: Parameter(name, _Text, REQUIRED) for name in _SOURCES} | {
    "openml": Parameter("openml", Annotated[int, Ge(1), Le(10**9)], REQUIRED)
}
_TARGET = Parameter("target", _Text | _Names, ())
_TASK = Parameter("task", Literal["classification", "approximation"] | None, None)
_CATEGORICAL, _DROP = Parameter("categorical", _Names, ()), Parameter("drop", _Names, ())
COLUMN = Parameter("column", _Text, REQUIRED)
_NAME = Parameter("name", Annotated[str, StringConstraints(pattern=f"^{NAME_PATTERN}$")], "")
_SPLITS = Parameter("splits", Annotated[int, Ge(1), Le(1000)], 1)
_FOLDS = Parameter("folds", Annotated[int, Ge(3), Le(100)], 0)

SPLIT_VALUES = (_SPLITS, _FOLDS)
TABLE_VALUES = (_TARGET, _TASK, _CATEGORICAL, _DROP, _SPLITS, _FOLDS, _NAME)
"""What the keys of a table may be beside its place (`PLACES`) and ``split: {column: …}``."""


def read_own_data(reader: Reader, value: Mapping[str, Any], place: Location, shared: SplitRule) -> str | OwnData | None:
    """Return what a mapping among a config's problems stands for; None with a mistake.

    Parameters
    ----------
    reader : Reader
        Takes the mistakes.
    value : mapping
        Such as ``{csv: digits.csv, target: digit}``; ``{dt: own.dt}`` is a longer form of the path alone.
    place : tuple
        Where it stands.
    shared : SplitRule
        The config's own rule, for a table that states none.
    """
    sources = [name for name in _SOURCES if name in value]
    if len(sources) != 1:
        got = " and ".join(sources) or f"the keys {', '.join(map(str, value)) or 'of none'}"
        reader.mistakes.add(place, f"expected one of the keys {', '.join(_SOURCES)}, got {got}")
        return None
    (source,) = sources
    given = reader.mapping(value, place, [source, *(_KEYS if source != "dt" else ())], hint=_hint_for(source))
    where = reader.one(PLACES[source], given, place)
    if source == "dt":
        if isinstance(where, str) and not where.endswith(".dt"):
            reader.mistakes.add((*place, "dt"), f"expected a path that ends in .dt, got {shown(where)}")
        return where if isinstance(where, str) else None
    target, task, categorical, drop, name = (
        reader.one(parameter, given, place) for parameter in (_TARGET, _TASK, _CATEGORICAL, _DROP, _NAME)
    )
    targets = (target,) if isinstance(target, str) else target or ()
    if task == "classification" and len(targets) > 1:
        reader.mistakes.add((*place, "target"), f"expected one column of classes, got {shown(targets)}")
    rule = _rule(reader, given, place, shared)
    if reader.mistakes.at(place):
        return None
    return OwnData(source, str(where), targets, task, categorical, drop, rule, name)  # type: ignore[arg-type]


def read_split_rule(reader: Reader, given: Mapping[str, Any], place: Location) -> SplitRule:
    """Return the rule that the keys ``splits`` and ``folds`` of a mapping state."""
    splits, folds = reader.one(_SPLITS, given, place), reader.one(_FOLDS, given, place)
    return SplitRule(splits=splits or 1, folds=folds or 0)


def _rule(reader: Reader, given: Mapping[str, Any], place: Location, shared: SplitRule) -> SplitRule:
    own = [key for key in SPLIT_KEYS if key in given]
    if "split" not in given:
        return read_split_rule(reader, given, place) if own else shared
    if own:
        text = f"expected split: {{column: …}} alone, got it beside {' and '.join(own)}"
        reader.mistakes.add((*place, "split"), text)
    column = reader.one(COLUMN, reader.mapping(given["split"], (*place, "split"), ["column"]), (*place, "split"))
    return SplitRule(column=column or "")


def _hint_for(source: str) -> Any:
    """Return what tells of a key that a .dt file has no use for."""
    keys: Sequence[str] = _KEYS
    if source != "dt":
        return lambda _: ""
    return lambda key: " (a .dt file states its targets and its split itself)" if key in keys else ""
