"""Tables with typed columns, the common form of files, data frames and data sets."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pppca_bench.errors import OwnDataError
from pppca_bench.problems.problem import FloatArray

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["real", "integer", "boolean", "category", "other"]

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")


@dataclass(frozen=True, slots=True)
class Column:
    """Name, type and labels of a column.

    Attributes
    ----------
    name : str
    kind : {"real", "integer", "boolean", "category", "other"}
        ``"category"`` is text; ``"other"`` is unusable, such as a date.
    labels : tuple of str
        Sorted labels of a category or boolean; the type of an unusable column; () for numbers.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...] = ()

    def text(self, value: float) -> str:
        """Return the label with this index, or a number as text."""
        return self.labels[int(value)] if self.labels else f"{value:g}"


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of a data set.

    Attributes
    ----------
    source : str
        Name in messages, such as the path of the file.
    columns : tuple of Column
    values : float64 array of shape (n_rows, n_columns)
        Numbers, or indices of labels for categories and booleans; NaN is a gap.
    targets : tuple of str
        Default target columns; () if the source declares none.
    lines : int64 array of shape (n_rows,) or None
        Last line of each row in the file, for messages.
    """

    source: str
    columns: tuple[Column, ...]
    values: FloatArray
    targets: tuple[str, ...] = ()
    lines: NDArray[np.int64] | None = None

    @cached_property
    def places(self) -> dict[str, int]:
        """Return the index of each column, by name."""
        return {column.name: place for place, column in enumerate(self.columns)}

    @property
    def names(self) -> tuple[str, ...]:
        """Return the column names."""
        return tuple(self.places)

    def column(self, name: str) -> tuple[Column, FloatArray]:
        """Return a column and a copy of its values."""
        place = self.places[name]
        return self.columns[place], self.values[:, place].copy()

    @property
    def sha256(self) -> str:
        """Return the digest of names, types and values, independent of the file format."""
        described = json.dumps([[column.name, column.kind, column.labels] for column in self.columns])
        # The same NaN, zero and byte order on every machine.
        plain = np.where(np.isnan(self.values), np.nan, self.values + 0.0).astype("<f8")
        return hashlib.sha256(described.encode() + str(plain.shape).encode() + plain.tobytes()).hexdigest()

    def error(self, expected: str, got: str, remedy: str, *, row: int | None = None, column: str = "") -> OwnDataError:
        """Return an error that names a row and column of the table."""
        place = self.source
        if row is not None:
            place += f", row {row + 1}" if self.lines is None else f", line {self.lines[row]}"
        place += f", column {column!r}" if column else ""
        return OwnDataError(f"{place}: expected {expected}, got {got}. {remedy}")

    def save(self, path: Path) -> None:
        """Write the table to an .npz file for `load_saved` in another process."""
        described = [[[column.name, column.kind, column.labels] for column in self.columns], self.targets, self.source]
        with path.open("wb") as file:
            np.savez(file, values=self.values, described=np.array(json.dumps(described)))


def load_saved(path: str | Path) -> Table:
    """Read a table that `Table.save` wrote."""
    with np.load(path, allow_pickle=False) as saved:
        columns, targets, source = json.loads(str(saved["described"]))
        typed = tuple(Column(name, kind, tuple(labels)) for name, kind, labels in columns)
        return Table(source, typed, saved["values"], tuple(targets))


def printable(text: str) -> str:
    """Return a name from a file with control characters escaped."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def to_table(
    frame: pd.DataFrame, source: str, *, targets: tuple[str, ...] = (), lines: NDArray[np.int64] | None = None
) -> Table:
    """Return a data frame as a table with typed columns.

    Raises
    ------
    OwnDataError
        If there is no row or no column, or column names are missing or repeated.
    """
    names = frame.columns.map(str)
    if names.has_duplicates:
        twice = names[names.duplicated()][0]
        raise OwnDataError(f"{source}: expected each column's name once, got {twice!r} again. Rename one of them.")
    if "" in names:
        place = list(names).index("")
        raise OwnDataError(
            f"{source}: expected a name for each column, got none for column {place + 1}. Name it, or leave it out, as"
            " pandas does with `to_csv(index=False)`."
        )
    if frame.empty:
        got = f"{len(frame)} rows of {len(names)} columns"
        raise OwnDataError(f"{source}: expected at least one row and one column, got {got}. Is it the right data?")
    values = np.empty(frame.shape)
    columns = []
    for place, name in enumerate(names):
        kind, labels, values[:, place] = _typed(frame.iloc[:, place])
        columns.append(Column(name, kind, labels))
    return Table(source, tuple(columns), values, targets, lines)


def _typed(series: pd.Series[Any]) -> tuple[Kind, tuple[str, ...], FloatArray | float]:
    """Return kind, labels and values of a column."""
    import pandas as pd

    types, gaps = pd.api.types, series.isna().to_numpy()
    values = np.full(len(series), np.nan)
    inferred = types.infer_dtype(series, skipna=True)
    if types.is_bool_dtype(series.dtype) or inferred == "boolean":
        values[~gaps] = series[~gaps].astype(bool)
        return "boolean", ("False", "True"), values
    is_number = types.is_numeric_dtype(series.dtype) and inferred != "complex"
    if is_number or inferred in ("integer", "floating", "mixed-integer-float", "decimal"):
        numbers = pd.to_numeric(series).to_numpy(dtype=np.float64, na_value=np.nan)
        is_integer = types.is_integer_dtype(series.dtype) or inferred == "integer"
        return ("integer" if is_integer and not isinstance(series.dtype, pd.CategoricalDtype) else "real"), (), numbers
    if inferred in ("string", "categorical", "empty"):
        values[~gaps], labels = pd.factorize(series[~gaps].astype(str), sort=True)
        if len(labels) and all(map(_DATE.match, labels)):
            return "other", ("dates",), np.nan
        return "category", tuple(map(str, labels)), values
    return "other", (str(series.dtype) if series.dtype != object else inferred,), np.nan
