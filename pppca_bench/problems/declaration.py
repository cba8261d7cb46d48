"""Declaration of a user-defined table, and the table that it reads."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from annotated_types import MaxLen, MinLen

from pppca_bench.errors import OwnDataError, listed, nearest, printable
from pppca_bench.problems.columns import ColumnError, Remedy, check, infer
from pppca_bench.problems.data_sets import read_openml, read_proben1, read_sklearn, read_uci
from pppca_bench.problems.problem import Task
from pppca_bench.problems.read_files import in_config, read_arff, read_csv, read_given, read_parquet
from pppca_bench.problems.splits import SplitRule

if TYPE_CHECKING:
    import pandas as pd

    from pppca_bench.problems.columns import Typed
    from pppca_bench.problems.read_files import Rows

Source = Literal["csv", "parquet", "arff", "sklearn", "proben1", "uci", "openml", "given"]
Duplicates = Literal["keep", "drop", "group"]
Name = Annotated[str, MinLen(1)]
Columns = Annotated[tuple[Name, ...], MinLen(1), MaxLen(10_000)]

FILES = ("csv", "parquet", "arff")
"""Sources whose place is the path of a file."""

NAMED = ("sklearn", "proben1", "uci")
"""Sources whose place is a name that identifies the data: those of the package and of scikit-learn."""

VALUE_KEYS = ("decimal", "thousands", "na_values", "keep_default_na")
"""Keys of ``read`` that apply to the texts of every source; the other keys are for CSV files."""

NO_CSV = f"only {', '.join(VALUE_KEYS)} for data that are no CSV file"
"""Expected keys of ``read`` where there is no CSV file."""

_FORMATS: Mapping[str, Source] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arff": "arff",
}
_COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
_EXCLUSIVE = (
    *(("target", key) for key in ("drop", "inputs", "group", "split")),
    ("inputs", "drop"),
)
"""Keys that exclude each other."""


@dataclass(frozen=True, slots=True)
class OwnData:
    """Declaration of a table, and of the problem from this table.

    The only place where the keys of a table are declared: the sections of configs and `Table` take these names and
    types. Only ``source``, ``place`` and ``rule`` are written otherwise there, and ``by_options`` is no key.
    """

    source: Source  # "given" is a data frame of the caller, saved in a file
    # path of the file, name of the scikit-learn or UCI set, Proben1 family, or number of the openml.org data set
    place: str
    target: Columns = ()  # () for the declared targets of the data set
    task: Task | None = None  # None infers it from the target, see `DataSet`
    inputs: Columns = ()  # () for all columns that have no other use
    categorical: Columns = ()
    drop: Columns = ()
    # of rows: keep them, drop all but the first, or group them in one part of a split; None keeps them with a notice
    duplicates: Duplicates | None = None
    group: Name = ""  # column whose equal values stay in one part of a split; "" for none
    name: str = ""  # of the problem in tables; "" for the name of the file
    rule: SplitRule = field(default_factory=SplitRule)
    read_keys: Mapping[str, Any] = field(default_factory=dict, hash=False)  # of `pandas.read_csv`
    # whether remedies are options of a command in place of keys of a config
    by_options: bool = field(default=False, compare=False)

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
        if self.name:
            return self.name
        return Path(self.place).name if self.is_file else f"{self.source}:{self.place}"

    def read(self, data_dir: str | Path | None = None, *, only_local: bool = False) -> RawTable:
        """Read the table.

        ``data_dir`` is the first folder to look for downloads; ``only_local`` downloads nothing. Raises OwnDataError if
        there is no row or no column, or column names are missing or repeated; see the readers for other exceptions.
        """
        import pandas as pd

        wrong = inapplicable(self.source, self.read_keys)
        with self.explained():
            check(not wrong, NO_CSV, ", ".join(wrong), "leave out the others")
        frame, targets = self._rows(data_dir, only_local=only_local)
        names = pd.Index([str(name).strip() for name in frame.columns], dtype=object)
        with self.explained():
            if "" in names:
                self._refuse_unnamed(names.tolist().index(""))
            twice = "".join(names[names.duplicated()][:1])
            check(not twice, "each column's name once", f"{twice!r} again")
            got = f"{len(frame)} rows of {len(names)} columns"
            check(not frame.empty, "at least one row and one column", got, "Is it the right data?")
        frame = frame.set_axis(pd.RangeIndex(1, len(frame) + 1, name="row"), axis=0)
        return RawTable(self, frame.set_axis(names, axis=1), targets)

    def _rows(self, data_dir: str | Path | None, *, only_local: bool) -> Rows:
        """Return the values of the source and its declared targets."""
        if self.source == "openml":
            return read_openml(self.place, data_dir, only_local=only_local)
        if self.source == "csv":
            return read_csv(self.place, self.read_keys), ()
        if self.source == "parquet":
            return read_parquet(self.place), ()
        if self.source == "arff":
            return read_arff(self.place), ()
        readers = {
            "sklearn": read_sklearn,
            "proben1": read_proben1,
            "uci": read_uci,
            "given": read_given,
        }
        return readers[self.source](self.place)

    def _refuse_unnamed(self, index: int) -> None:
        remedies: list[Remedy] = []
        if index == 0 and self.source == "csv":
            keys = {**self.read_keys, "index_col": 0}
            remedies = [("if it has names of rows, leave it out,", "read", keys)]
        raise ColumnError("a name for each column", f"none for column {index + 1}", *remedies)

    def key(self, name: str, value: Any) -> str:
        """Return the text that sets a key: a line of the config, an option or, for given data, an argument of `Table`.

        Columns are added to those that ``categorical`` and ``drop`` have. The value of ``na_values``, by the column's
        name, is set beside the other keys of ``read``.
        """
        if self.by_options:
            return self._options(name, value)
        if name in ("categorical", "drop"):
            value = [*getattr(self, name), *value]
        if name == "na_values":
            name, value = "read", {**self.read_keys, "na_values": self._gaps_with(value)}
        if self.source == "given":
            return f"`pppca_bench.Table(X, y, {name}={value!r})`"
        return in_config({name: value})

    def _options(self, name: str, value: Any) -> str:
        """Return the options of a command that set a key, beside those that were given."""
        if name == "na_values":
            name, value = "read", {"na_values": self._gaps_with(value)}
        texts = [str(value)]
        if name == "read":
            new = {key: each for key, each in value.items() if self.read_keys.get(key) != each}
            texts = [
                in_config({key: each}).strip("`").replace(": ", "=", 1) for key, each in new.items()
            ]
        elif isinstance(value, list | tuple):
            texts = list(map(str, value))
        return f"`{' '.join(f'--{name} {shlex.quote(text)}' for text in texts)}`"

    def _gaps_with(self, words: Mapping[str, Sequence[str]]) -> object:
        """Return ``na_values`` with the texts of a column."""
        given = self.read_keys.get("na_values")
        if isinstance(given, Mapping):
            return {**given, **words}
        known = names_of(given) if isinstance(given, str) or not np.iterable(given) else given
        return [*known, *itertools.chain(*words.values())]

    @contextmanager
    def explained(self, column: str = "", *more: Remedy) -> Iterator[None]:
        """Turn ColumnError into an error for the user, with the place, and all remedies as keys to set."""
        try:
            yield
        except ColumnError as error:
            parts = [self.place if self.is_file else self.label, error.at]
            if column:
                parts.append(f"column {column!r}")
            ways = []
            for way in error.remedies + more:
                ways.append(way if isinstance(way, str) else f"{way[0]} {self.key(*way[1:])}")
            remedy = ", or ".join(ways)
            text = f"{', '.join(filter(None, parts))}: expected {error.expected}, got {error.got}."
            if remedy:
                end = "" if remedy.endswith("?") else "."
                text += f" {remedy[:1].upper()}{remedy[1:]}{end}"
            raise OwnDataError(text) from None

    def check_names(self, names: Sequence[str], targets: tuple[str, ...]) -> None:
        """Raise OwnDataError if a declared column or the target is missing, is named twice or has two uses."""
        columns = {
            "target": targets,
            "inputs": self.inputs,
            "categorical": self.categorical,
            "drop": self.drop,
            "group": (self.group,) if self.group else (),
            "split": (self.rule.column,) if self.rule.column else (),
        }
        with self.explained():
            for key, named in columns.items():
                for name in named:
                    known = listed(list(map(printable, names)), name) + nearest(name, names)
                    check(name in names, f"a column {name!r}", f"the columns {known}")
                    check(named.count(name) == 1, f"each column once in {key}", f"{name!r} again")
            for key, other in _EXCLUSIVE:
                for name in columns[key]:
                    expected = f"a column in {key} or {other}"
                    check(name not in columns[other], expected, f"{name!r} in both")
            remedy = "name it, such as", "target", printable(names[-1])
            check(targets, "the name of the target's column", "none", remedy)


@dataclass(frozen=True, eq=False)
class RawTable:
    """Rows of a source, and the types of its columns."""

    own: OwnData
    # values as the source gives them, texts of a CSV file; the index numbers the rows from 1
    frame: pd.DataFrame
    targets: tuple[str, ...] = ()  # that the source declares

    @cached_property
    def columns(self) -> dict[str, Typed | ColumnError]:
        """Return the type and the converted values of each column, or the reason why it is unusable."""
        columns: dict[str, Typed | ColumnError] = {}
        for name in self.frame.columns:
            is_declared = name in self.own.categorical
            try:
                columns[name] = infer(self.frame[name], self.own.read_keys, is_declared=is_declared)
            except ColumnError as error:
                columns[name] = error
        return columns

    def typed(self, name: str) -> Typed:
        """Return type and values of a column; raise ColumnError if it is unusable."""
        if isinstance(typed := self.columns[name], ColumnError):
            raise typed
        return typed


def read_table(path: str | Path, **read: Any) -> pd.DataFrame:
    """Read a CSV, Parquet or ARFF file as raw rows, for predictions by the pipeline of a run.

    Parameters
    ----------
    path : str or Path
        A file; files without the suffix .parquet, .pq or .arff are CSV.
    **read
        Keys of `pandas.read_csv`, as in the config's ``read``.

    Returns
    -------
    DataFrame
        Rows, numbered from 1. A CSV file has texts; the run's table determines types, marks and gaps.

    Raises
    ------
    OwnDataError
        If the file cannot be read, or rows have more fields than the header.
    """
    return OwnData(format_of(path) or "csv", str(path), read_keys=read).read().frame


def format_of(path: str | Path) -> Source | None:
    """Return the format of a table's file by its suffix, also before that of compression; None for other files."""
    path = Path(path)
    if path.suffix.lower() in _COMPRESSED:
        return format_of(path.with_suffix("")) or "csv"
    return _FORMATS.get(path.suffix.lower())


def inapplicable(source: str, read_keys: Collection[str]) -> list[str]:
    """Return the keys of ``read`` that have no effect on the data of a source."""
    return [] if source == "csv" else sorted({*read_keys} - {*VALUE_KEYS})


def names_of(value: Any) -> tuple[str, ...]:
    """Return names of columns as texts; those of a data frame may be numbers."""
    if value is None:
        return ()
    return tuple(map(str, value if np.iterable(value) and not isinstance(value, str) else [value]))
