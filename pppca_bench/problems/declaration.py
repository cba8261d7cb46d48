"""Declaration of a user-defined table: location, columns, values and splits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import yaml

from pppca_bench.errors import OwnDataError, listed, nearest, printable
from pppca_bench.problems.columns import NULLS, ColumnError, Reading, Remedy, check
from pppca_bench.problems.problem import Task
from pppca_bench.problems.splits import SplitRule

Source = Literal["csv", "parquet", "arff", "sklearn", "proben1", "uci", "openml", "given"]
Duplicates = Literal["keep", "drop", "group"]

FILES = ("csv", "parquet", "arff")
"""Sources whose place is the path of a file."""

NAMED = ("sklearn", "proben1", "uci")
"""Sources whose place is a name that identifies the data: those of the package and of scikit-learn."""

VALUE_KEYS = ("decimal", "thousands", "na_values", "keep_default_na")
"""Keys of ``read`` that apply to the texts of every source; the other keys are for CSV files."""

NO_CSV = f"only {', '.join(VALUE_KEYS)} for data that are no CSV file"
"""Expected keys of ``read`` where there is no CSV file."""

_LISTS = ("target", "inputs", "categorical", "drop", "text")
"""Keys whose values are lists of columns."""

_EXCLUSIVE = (
    *(("target", key) for key in ("drop", "inputs", "group", "split")),
    *itertools.combinations(("categorical", "text", "dates"), 2),
    ("inputs", "drop"),
)
"""Keys that exclude each other."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """Declaration of a table, and of the problem from this table: columns by their uses, and keys as in configs."""

    source: Source  # "given" is a data frame of the caller, saved in a file
    # path of the file, name of the scikit-learn or UCI set, Proben1 family, or number of the openml.org data set
    place: str
    target: tuple[str, ...] = ()  # () for the declared targets of the data set
    task: Task | None = None  # None infers it from the target, see `DataSet`
    inputs: tuple[str, ...] = ()  # () for all columns that have no other use
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    rule: SplitRule = field(default_factory=SplitRule)
    name: str = ""  # of the problem in tables; "" for the name of the file
    read_keys: tuple[
        tuple[str, Any], ...
    ] = ()  # of `pandas.read_csv`, sorted by name; lists as tuples
    text: tuple[str, ...] = ()  # columns of free text, encoded by their n-grams
    dates: tuple[tuple[str, str], ...] = ()  # with their formats; "" infers the format
    # of rows: keep them, drop all but the first, or group them in one part of a split; None keeps them with a notice
    duplicates: Duplicates | None = None
    group: str = ""  # column whose equal values stay in one part of a split; "" for none

    @property
    def is_named(self) -> bool:
        """Return whether the name identifies the data."""
        return self.source in NAMED

    @property
    def is_file(self) -> bool:
        """Return whether `place` is the path of a file."""
        return self.source in FILES

    @property
    def label(self) -> str:
        """Return the problem's name in tables: `name`, the file's name, or for example ``"sklearn:digits"``."""
        return self.name or (
            Path(self.place).name if self.is_file else f"{self.source}:{self.place}"
        )

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """Return the declared columns by key."""
        lists = {key: getattr(self, key) for key in _LISTS}
        single = {"group": self.group, "split": self.rule.column}
        return (
            lists
            | {"dates": tuple(dict(self.dates))}
            | {key: (name,) * bool(name) for key, name in single.items()}
        )

    def reading(self, nulls: frozenset[str] = NULLS) -> Reading:
        """Return the meaning of texts; ``nulls`` are the default markers of missing values."""
        read = dict(self.read_keys)
        kept = nulls if read.get("keep_default_na", True) else frozenset(("",))
        return Reading(
            read.get("decimal", "."),
            read.get("thousands", ""),
            kept | {*names_of(read.get("na_values"))},
        )

    def key(self, name: str, value: object) -> str:
        """Return the text that sets a key: a line of the config or, for given data, an argument of `Table`."""
        if self.source == "given":
            return f"`pppca_bench.Table(X, y, {name}={value!r})`"
        return _in_config({name: value})

    @contextmanager
    def explained(self, column: str = "", *more: Remedy) -> Iterator[None]:
        """Turn ColumnError into an error for the user, with the place, and all remedies as keys to set."""
        try:
            yield
        except ColumnError as error:
            data_name = self.place if self.is_file else self.label
            location = ", ".join(
                filter(None, (data_name, error.at, column and f"column {column!r}"))
            )
            ways = (
                way if isinstance(way, str) else f"{way[0]} {self.key(*way[1:])}"
                for way in error.remedies + more
            )
            remedy = ", or ".join(ways)
            end = "" if remedy.endswith("?") else "."
            text = f"{location}: expected {error.expected}, got {error.got}. {remedy[:1].upper()}{remedy[1:]}{end}"
            raise OwnDataError(text) from None

    def check_names(self, names: Sequence[str], targets: tuple[str, ...]) -> None:
        """Raise OwnDataError if a declared column or the target is missing, is named twice or has two uses."""
        columns = self.columns | {"target": targets}
        with self.explained():
            for key, named in columns.items():
                for name in named:
                    if name not in names:
                        known = listed(list(map(printable, names)), name) + nearest(name, names)
                        raise ColumnError(
                            f"a column {name!r}", f"the columns {known}", "correct the name"
                        )
                    check(
                        named.count(name) == 1,
                        f"each column once in {key}",
                        f"{name!r} again",
                        "name it once",
                    )
            for key, other in _EXCLUSIVE:
                for name in columns[key]:
                    expected, remedy = f"a column in {key} or {other}", f"take it out of `{other}`"
                    check(name not in columns[other], expected, f"{name!r} in both", remedy)
            last = printable(names[-1])
            check(
                targets,
                "the name of the target's column",
                "none",
                ("name it, such as", "target", last),
            )


def inapplicable(source: str, read_keys: Collection[str]) -> list[str]:
    """Return the keys of ``read`` that have no effect on the data of a source."""
    return [] if source == "csv" else sorted({*read_keys} - {*VALUE_KEYS})


def read_key(**keys: object) -> str:
    """Return the text of ``read`` with some keys, as it stands in a config."""
    return _in_config({"read": keys})


def _in_config(keys: Mapping[str, object]) -> str:
    """Return keys as a line of YAML, with escapes if it has characters that cannot be seen."""
    options: dict[str, Any] = {"default_flow_style": True, "sort_keys": False, "width": math.inf}
    text: str = yaml.safe_dump(keys, allow_unicode=True, **options)
    if not text.strip().isprintable():
        text = yaml.safe_dump(keys, **options)
    return f"`{text.strip()[1:-1]}`"


def names_of(value: Any) -> tuple[str, ...]:
    """Return names of columns, or markers, as texts; those of a data frame may be numbers."""
    if value is None:
        return ()
    return tuple(map(str, value if np.iterable(value) and not isinstance(value, str) else [value]))
