"""Tables with typed columns, the common form of files, data frames and data sets."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence
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
_INTEGER = re.compile(r"[+-]?(0|[1-9]\d*)", re.ASCII)
_NUMBER = re.compile(r"[+-]?(((0|[1-9]\d*)(\.\d*)?|\.\d+)(e[+-]?\d+)?|inf(inity)?)", re.ASCII | re.IGNORECASE)
_LIKE_A_NUMBER = re.compile(r"[+-]?[\d.,_'\s]*\d[\d.,_'\s]*(e[+-]?\d+)?\s*%?|0x[0-9a-f]+", re.IGNORECASE)
_TRUE, _FALSE = {"True", "TRUE", "true"}, {"False", "FALSE", "false"}

_LARGEST_INTEGER = 2**53
"""Larger integers may share a float64."""


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
        if self.labels:
            return self.labels[int(value)]
        short = f"{value:g}"
        return short if float(short) == value else repr(float(value))


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

    def check_spelling(self, column: Column, values: FloatArray) -> None:
        """Raise DataError for two labels that differ in spaces or in their Unicode form alone."""
        first: dict[str, str] = {}
        for code, label in enumerate(column.labels):
            other = first.setdefault(" ".join(unicodedata.normalize("NFC", label).split()), label)
            if other != label and (rows := np.flatnonzero(values == code)).size:
                expected, remedy = f"one spelling of {other!a}", "Correct one of them."
                raise self.error(expected, ascii(label), remedy, row=int(rows[0]), column=column.name)

    def check_text(self, column: Column, values: FloatArray) -> None:
        """Raise DataError for text in a mostly numeric column, and for numbers that are not read back as written."""
        is_like = np.array([bool(_LIKE_A_NUMBER.fullmatch(label)) for label in column.labels], dtype=bool)
        is_read = np.array([is_number(label) for label in column.labels], dtype=bool)
        rows = np.flatnonzero(~np.isnan(values))
        codes = values[rows].astype(np.int64)
        if 2 * (is_like | is_read)[codes].sum() <= len(rows) or is_read[codes].all():
            return
        first = int(np.flatnonzero(~is_read[codes])[0])
        text = column.labels[codes[first]]
        expected, remedy = "a number, as in most rows", "Correct it"
        if is_number(text.replace(",", ".", 1)):
            expected, remedy = "a decimal point", "Write points, read them by `decimal: ','`"
        elif _LIKE_A_NUMBER.fullmatch(text):
            expected = "a number such as -1234.5, without other signs or leading zeros, and within 2⁵³ if it is whole"
            remedy = "Write it so"
        remedy += f", or take the column for text: `categorical: [{column.name}]`."
        raise self.error(expected, repr(text[:40]), remedy, row=int(rows[first]), column=column.name)

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
    """Return a data frame as a table with typed columns; with ``lines``, those of a file whose values are all texts.

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
        series = frame.iloc[:, place]
        kind, labels, values[:, place] = _typed(series) if lines is None else typed_text(series)
        columns.append(Column(name, kind, labels))
    return Table(source, tuple(columns), values, targets, lines)


def _typed(series: pd.Series[Any]) -> tuple[Kind, tuple[str, ...], FloatArray]:
    """Return kind, labels and values of a column."""
    import pandas as pd

    types, gaps = pd.api.types, series.isna().to_numpy()
    values = np.where(gaps, np.nan, 0.0)
    inferred = types.infer_dtype(series, skipna=True)
    if types.is_bool_dtype(series.dtype) or inferred == "boolean":
        values[~gaps] = series[~gaps].astype(bool)
        return "boolean", ("False", "True"), values
    is_number = types.is_numeric_dtype(series.dtype) and inferred != "complex"
    if inferred == "integer" and not isinstance(series.dtype, pd.CategoricalDtype):
        kind, labels, values = typed_text(series.astype(object).map(str, na_action="ignore"))
        return "integer" if kind == "real" else kind, labels, values
    if is_number or inferred in ("integer", "floating", "mixed-integer-float", "decimal"):
        numbers = pd.to_numeric(series).to_numpy(dtype=np.float64, na_value=np.nan)
        return "real", (), numbers
    if inferred in ("string", "categorical", "empty"):
        values[~gaps], texts = pd.factorize(series[~gaps].astype(str), sort=True)
        return _category(list(texts), values)
    return "other", (str(series.dtype) if series.dtype != object else inferred,), values


def typed_text(series: pd.Series[Any]) -> tuple[Kind, tuple[str, ...], FloatArray]:
    """Return kind, labels and values of a column of texts and gaps.

    They are numbers, or truth values, if all of them are read back as they were written; otherwise a category.
    """
    import pandas as pd

    codes, labels = pd.factorize(series, sort=True)
    texts = list(map(str, labels))
    if texts and set(texts) <= _TRUE | _FALSE:
        return "boolean", ("False", "True"), np.array([*(text in _TRUE for text in texts), np.nan])[codes]
    if all(map(is_number, texts)):
        # pandas has whole numbers with gaps as real numbers, also in Parquet files.
        is_integer = (codes >= 0).all() and all(map(_INTEGER.fullmatch, texts))
        return "integer" if is_integer else "real", (), np.array([*map(float, texts), np.nan])[codes]
    return _category(texts, np.where(codes < 0, np.nan, codes))


def is_number(text: str) -> bool:
    """Return whether a text is a number without leading zeros and separators that float64 tells from its neighbours."""
    if _INTEGER.fullmatch(text):
        return abs(int(text)) <= _LARGEST_INTEGER
    return bool(_NUMBER.fullmatch(text))


def _category(labels: Sequence[str], values: FloatArray) -> tuple[Kind, tuple[str, ...], FloatArray]:
    if len(labels) and all(map(_DATE.match, labels)):
        return "other", ("dates",), np.where(np.isnan(values), np.nan, 0.0)
    return "category", tuple(map(str, labels)), values
