"""Tables with typed columns, for files, data frames and data sets."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
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

Typed = tuple[Kind, tuple[str, ...], FloatArray]
"""Kind, labels and values of a column."""

_INTEGER = "[+-]?(?:0|[1-9][0-9]*)"
_NUMBER = rf"(?:{_INTEGER}(?:[.][0-9]*)?|[+-]?[.][0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?[Ii]nf(?:inity)?"
_LIKE_A_NUMBER = r"[+-]?[0-9.,_'\s]*[0-9][0-9.,_'\s]*(?:[eE][+-]?[0-9]+)?\s*%?|0[xX][0-9a-fA-F]+"
_BOOLEANS = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}
_DATE = re.compile(r"\d{4}[-/]\d\d[-/]\d\d(?!\d)|\d\d?([./])\d\d?\1\d{2,4}(?!\d)")
_SWAPPED = str.maketrans(",.", ".,")

_EXACT = 2.0**53
"""float64 represents all integers up to this number."""


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
        """Return the label with the index ``value``, or the number ``value`` as text."""
        if self.labels:
            return self.labels[int(value)]
        return f"{value:.0f}" if abs(value) < _EXACT and value == int(value) else repr(float(value))


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of a data set.

    Attributes
    ----------
    source : str
        Name in messages, such as the path of the file.
    columns : tuple of Column
    values : float64 array of shape (n_rows, n_columns)
        Numbers, or label indices for categories and booleans; NaN is a gap.
    targets : tuple of str
        Default target columns; () if the source declares none.
    lines : int64 array of shape (n_rows,) or None
        Last line of each row in the file, for messages.
    wrong_lines : tuple of str
        Errors of lines that are not rows.
    """

    source: str
    columns: tuple[Column, ...]
    values: FloatArray
    targets: tuple[str, ...] = ()
    lines: NDArray[np.int64] | None = None
    wrong_lines: tuple[str, ...] = ()

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
        # The same NaN, zero and byte order on all machines; only name and type of unusable columns count.
        left_out = np.isnan(self.values) | [column.kind == "other" for column in self.columns]
        plain = np.where(left_out, np.nan, self.values + 0.0).astype("<f8")
        return hashlib.sha256(described.encode() + str(plain.shape).encode() + plain.tobytes()).hexdigest()

    def error(self, expected: str, got: str, remedy: str, *, row: int | None = None, column: str = "") -> OwnDataError:
        """Return an error that names row and column."""
        place = self.source
        if row is not None:
            place += f", row {row + 1}" if self.lines is None else f", line {self.lines[row]}"
        place += f", column {column!r}" if column else ""
        return OwnDataError(f"{place}: expected {expected}, got {got}. {remedy}")

    def check_spelling(self, column: Column, values: FloatArray) -> None:
        """Raise DataError for labels that only differ in spaces or Unicode form."""
        first: dict[str, str] = {}
        for code, label in enumerate(column.labels):
            other = first.setdefault(" ".join(unicodedata.normalize("NFC", label).split()), label)
            if other != label and (rows := np.flatnonzero(values == code)).size:
                expected, remedy = f"one spelling of {other!a}", "Correct one of them."
                raise self.error(expected, ascii(label), remedy, row=int(rows[0]), column=column.name)

    def check_text(self, column: Column, values: FloatArray, decimal: str) -> None:
        """Raise DataError for text in a mostly numeric column, and for numbers that float64 does not represent."""
        import pandas as pd

        labels = pd.Series(column.labels, dtype=str)
        is_like = labels.str.fullmatch(_LIKE_A_NUMBER).to_numpy(dtype=bool)
        is_read = ~np.isnan(to_numbers(labels, decimal))
        rows = np.flatnonzero(~np.isnan(values))
        codes = values[rows].astype(np.int64)
        if 2 * (is_like | is_read)[codes].sum() <= len(rows) or is_read[codes].all():
            return
        first = int(np.flatnonzero(~is_read[codes])[0])
        text = column.labels[codes[first]]
        expected, remedy = "a number, as in most rows", "Correct it"
        if re.fullmatch("[+-]?[0-9]*,[0-9]+", text):
            expected, remedy = "a decimal point", "Write points, read them by `decimal: ','`"
        elif is_like[codes[first]]:
            expected = (
                f"a number such as -1234{decimal}5, without other signs or leading zeros, and exact if it is whole"
            )
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


def to_table(frame: pd.DataFrame, source: str, *, decimal: str = "", **about: Any) -> Table:
    """Return a data frame as a table with typed columns; ``about`` are other attributes of the table.

    With a ``decimal`` mark, `type_texts` infers types from texts; otherwise the frame has types. Raises
    OwnDataError if there is no row or no column, or column names are missing or repeated.
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
        wrong = f"{source}: expected at least one row and one column, got {got}. Is it the right data?"
        raise OwnDataError("\n".join(about.get("wrong_lines") or [wrong]))
    values = np.empty(frame.shape)
    columns = []
    for place, name in enumerate(names):
        series = frame.iloc[:, place]
        kind, labels, values[:, place] = type_texts(series, decimal) if decimal else type_values(series)
        columns.append(Column(name, kind, labels))
    return Table(source, tuple(columns), values, **about)


def type_texts(series: pd.Series[Any], decimal: str) -> Typed:
    """Infer the type of a column of texts: numbers if float64 represents all of them, otherwise unchanged texts.

    Choice: integers with gaps are reals, as in pandas.
    """
    import pandas as pd

    gaps, values = series.isna().to_numpy(), np.full(len(series), np.nan)
    codes, texts = pd.factorize(series[~gaps])
    labels = pd.Series(texts, dtype=str)
    is_boolean = bool(len(labels)) and all(text in _BOOLEANS for text in labels.iloc[:7])
    numbers = labels.map(_BOOLEANS).to_numpy(float) if is_boolean else to_numbers(labels, decimal)
    if np.isnan(numbers).any():
        return _labelled(series, gaps)
    values[~gaps] = numbers[codes]
    if is_boolean:
        return "boolean", ("False", "True"), values
    is_integer = not gaps.any() and labels.str.fullmatch(_INTEGER).all()
    return "integer" if is_integer else "real", (), values


def to_numbers(texts: pd.Series[str], decimal: str = ".") -> FloatArray:
    """Convert texts, such as -1, 2.50 or 1e-3, to numbers; the result is NaN for other texts and for changed numbers.

    A number changes if it is an integer that float64 does not represent, or underflows to 0. Choice: digits beyond
    float64 are rounded, since many programs write float64 with 18 digits.
    """
    plain = texts.str.strip() if decimal == "." else texts.str.strip().str.translate(_SWAPPED)
    numbers: FloatArray = plain.where(plain.str.fullmatch(_NUMBER).astype(bool), "nan").to_numpy(dtype=np.float64)
    for place in np.flatnonzero((numbers == 0.0) | (np.abs(numbers) >= _EXACT) & np.isfinite(numbers)):
        text, number = plain.iloc[place], float(numbers[place])  # Python compares integers and floats exactly
        is_integer = re.fullmatch(_INTEGER, text) is not None
        if int(text) != number if is_integer else number == 0.0 and re.match("[^eE]*[1-9]", text):
            numbers[place] = np.nan
    return numbers


def _labelled(series: pd.Series[Any], gaps: NDArray[np.bool_]) -> Typed:
    """Return a column of texts with its sorted labels, or a column of dates."""
    import pandas as pd

    values = np.where(gaps, np.nan, 0.0)
    codes, labels = pd.factorize(series[~gaps].astype(str), sort=True)
    if len(labels) and all(map(_DATE.match, labels)):
        return "other", ("dates",), values
    values[~gaps] = codes
    return "category", tuple(map(str, labels)), values


def type_values(series: pd.Series[Any]) -> Typed:
    """Infer the type of a column in a data frame; integers that float64 does not represent become texts."""
    import pandas as pd

    types, gaps = pd.api.types, series.isna().to_numpy()
    values = np.where(gaps, np.nan, 0.0)
    inferred = types.infer_dtype(series, skipna=True)
    if types.is_bool_dtype(series.dtype) or inferred == "boolean":
        values[~gaps] = series[~gaps].astype(bool)
        return "boolean", ("False", "True"), values
    is_number = types.is_numeric_dtype(series.dtype) and inferred != "complex"
    if is_number or inferred in ("integer", "floating", "mixed-integer-float", "decimal"):
        numbers = pd.to_numeric(series).to_numpy(dtype=np.float64, na_value=np.nan)
        is_integer = types.is_integer_dtype(series.dtype) or inferred == "integer"
        if is_integer and (np.abs(numbers) >= _EXACT).any():
            return _labelled(series, gaps)
        return ("integer" if is_integer and not isinstance(series.dtype, pd.CategoricalDtype) else "real"), (), numbers
    if inferred in ("string", "categorical", "empty"):
        return _labelled(series, gaps)
    return "other", (str(series.dtype) if series.dtype != object else inferred,), values
