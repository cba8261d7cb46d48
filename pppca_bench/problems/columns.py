"""Types of columns, decided by all values, and conversion of values to a type.

The same values have the same type from every source: a data frame's numbers, and the texts of a CSV file.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pppca_bench.problems.declaration import read_key

if TYPE_CHECKING:
    import pandas as pd

    Series = pd.Series[Any]

Kind = Literal["number", "boolean", "category", "text", "date"]

NULLS = frozenset(
    (
        *("", "?", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "-NaN", "-nan", "None", "<NA>", "#NA", "#N/A"),
        *("#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    )
)
"""Texts that mark missing values: the markers of pandas, and ``?``, as in UCI files."""

CLASS_NULLS = frozenset(("", "?"))
"""Texts that mark missing values in a column of classes, where ``None`` or ``NA`` is a class unless declared."""

FEW_CATEGORIES, MAX_CATEGORIES = 40, 256
"""Largest number of categories of undeclared texts and of a declared column. Choice: more are mostly names."""

EXACT = 2**53
"""float64 represents all integers up to this number."""

_BOOLEANS = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}
_INTEGER = re.compile(r"[+-]?\d+")
_LEADING_ZERO = r"[+-]?0\d"
_SIGN, _CURRENCY = "[-+\u2212\u2013]?", "[$€£¥]?"  # minus and dash of text programs among the signs
_DIGITS = rf"{_SIGN}\s*{_CURRENCY}\s*{_SIGN}\d[\d.,'_\s]*(?:[eE][-+]?\d+)?"
_LIKE_A_NUMBER = rf"{_DIGITS}\s*[%$€£¥]?|0[xX][0-9a-fA-F]+"
_WITH_UNIT = rf"{_DIGITS}\s*(?!(?:st|nd|rd|th)$)[^\W\d_]{{1,12}}"
_READABLE = (
    *("string", "empty", "boolean", "integer", "floating", "mixed-integer", "mixed-integer-float"),
    *("decimal", "date", "datetime", "categorical"),
)
_TRIED: tuple[dict[str, Any], ...] = (
    {"thousands": ","},
    {"decimal": ","},
    {"decimal": ",", "thousands": "."},
    {"thousands": "."},
    {"thousands": " "},
)
"""Keys of ``read`` that are proposed if they turn all values of a mixed column into numbers."""


class ColumnError(ValueError):
    """Unusable column or value: expected and given values, remedy, and the row if there is one."""

    def __init__(self, expected: str, got: str, remedy: str = "", row: int | None = None) -> None:
        super().__init__(expected, got, remedy, row)
        self.expected, self.got, self.remedy, self.row = expected, got, remedy, row


@dataclass(frozen=True, slots=True)
class Reading:
    """Meaning of texts: decimal mark, mark of thousands or "", and markers of missing values."""

    decimal: str = "."
    thousands: str = ""
    nulls: frozenset[str] = NULLS
    class_nulls: frozenset[str] = CLASS_NULLS

    @classmethod
    def of(cls, read: Mapping[str, Any]) -> Reading:
        """Return the meaning that keys of `pandas.read_csv` declare."""
        given = read.get("na_values", ())
        added = frozenset(map(str, given if isinstance(given, list | tuple) else (given,)))
        if not read.get("keep_default_na", True):
            return cls(read.get("decimal", "."), read.get("thousands", ""), added | {""}, added | {""})
        return cls(read.get("decimal", "."), read.get("thousands", ""), NULLS | added, CLASS_NULLS | added)

    @property
    def of_classes(self) -> Reading:
        """Return the meaning of texts in a column of classes."""
        return replace(self, nulls=self.class_nulls)


@dataclass(frozen=True, slots=True)
class Column:
    """Name and type of a column.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "category", "text", "date"}
    labels : tuple of str
        Labels of a category, in the order of their codes; () for other kinds.
    form : str
        Format of texts of dates; "" for dates that are no texts.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...] = ()
    form: str = ""

    def text(self, value: float) -> str:
        """Return the label of a code, a boolean or a number as text."""
        if self.kind == "category":
            return self.labels[int(value)]
        return str(bool(value)) if self.kind == "boolean" else number_text(value)


def number_text(value: float) -> str:
    """Return a number as text, a whole number without a decimal point."""
    return f"{value:.0f}" if abs(value) < EXACT and value == int(value) else repr(float(value))


def infer(series: Series, reading: Reading, declared: str = "", form: str = "") -> tuple[Column, Series]:
    """Return the type of a column, decided by all values that are not missing, and its converted values.

    If all values are numbers, the column has numbers, unless a number begins with zeros, as codes do. If all are dates
    of one format, it has dates. If no value looks like a number, it has texts. Other columns are refused.

    Parameters
    ----------
    series : pandas Series of shape (n_rows,)
        Values of a data frame, or texts.
    reading : Reading
    declared : {"", "category", "text", "date"}
        Declared kind; a categorical Series is declared by its source.
    form : str
        Declared format of dates; "" infers it.

    Raises
    ------
    ColumnError
        Values of several types, or of unusable types.
    """
    import pandas as pd

    name, values = str(series.name), _plain(series, reading.nulls)
    if isinstance(series.dtype, pd.CategoricalDtype):
        declared = declared or "category"
    there = values.dropna()
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        column = Column(name, "date")
    elif not declared and pd.api.types.is_numeric_dtype(values.dtype):
        column = Column(name, "number")
    elif declared == "text":
        column = Column(name, "text")
    elif declared == "category":
        column = Column(name, "category", tuple(_labels(there, reading)))
    elif declared == "date":
        column = Column(name, "date", form=form or _date_format(there))
    else:
        column = _decide(name, there, reading)
    return column, _converted(column, values, reading)


def convert(column: Column, series: Series, reading: Reading) -> Series:
    """Convert values to the type of a column: float64 numbers or codes, texts, or dates; missing values are nulls.

    The code of a category that is none of the column's labels is -1.

    Raises
    ------
    ColumnError
        A value does not have the type.
    """
    return _converted(column, _plain(series, reading.nulls), reading)


def _converted(column: Column, values: Series, reading: Reading) -> Series:
    """Return the values of `_plain`, converted to the type of a column; see `convert`."""
    import pandas as pd

    is_date = pd.api.types.is_datetime64_any_dtype(values.dtype)
    if column.kind == "date":
        dates = values if is_date else pd.to_datetime(values, format=column.form or None, errors="coerce", utc=True)
        _check_all(dates.isna() & values.notna(), values, f"dates as {column.form}" if column.form else "dates")
        return (dates.dt.tz_convert(None) if dates.dt.tz else dates).astype("datetime64[us]")
    if is_date:
        raise ColumnError({"number": "numbers", "boolean": "true/false"}.get(column.kind, "text"), "dates")
    if column.kind == "number" and pd.api.types.is_numeric_dtype(values.dtype):
        if pd.api.types.is_integer_dtype(values.dtype):
            _check_exact(np.flatnonzero((values.abs() > EXACT).fillna(False)), values)
        return pd.Series(values.to_numpy(dtype=np.float64, na_value=np.nan), values.index)
    texts, codes = _unique_texts(values) if column.kind in ("text", "category") else (values, np.empty(0, np.int64))
    if column.kind == "text":
        return pd.Series(np.append(texts.to_numpy(object), "")[codes], values.index, dtype=object)
    if column.kind == "category":
        known = pd.Index(column.labels, dtype=object)
        converted = known.get_indexer(pd.Index(texts, dtype=object)).astype(float)
        # A number may be written differently in the table.
        numbers = _to_numbers(texts, reading)
        other = (converted < 0) & ~np.isnan(numbers)
        converted[other] = known.get_indexer(pd.Index(list(map(number_text, numbers[other])), dtype=object))
        return pd.Series(np.append(converted, np.nan)[codes], values.index)
    is_boolean = column.kind == "boolean"
    numbers = np.asarray(values.map(_BOOLEANS), np.float64) if is_boolean else _to_numbers(values, reading)
    _check_all(np.isnan(numbers) & values.notna(), values, "true/false" if is_boolean else "numbers")
    large = np.flatnonzero(np.abs(numbers) >= EXACT).tolist()
    _check_exact(
        [row for row in large if _INTEGER.fullmatch(text := values.iloc[row].strip()) and abs(int(text)) > EXACT],
        values,
    )
    return pd.Series(numbers, values.index)


def _plain(series: Series, nulls: Iterable[str]) -> Series:
    """Return numbers and dates as they are, without missing values marked by numbers, and other values as texts."""
    import pandas as pd

    types = pd.api.types
    is_number = types.is_numeric_dtype(series.dtype) and not types.is_bool_dtype(series.dtype)
    marked = pd.to_numeric(pd.Series(sorted(nulls), dtype=object), errors="coerce").dropna()
    if types.is_datetime64_any_dtype(series.dtype):
        return series
    if is_number and not types.is_complex_dtype(series.dtype):
        return series.mask(series.isin(marked)) if len(marked) else series
    if (inferred := types.infer_dtype(series, skipna=True)) not in _READABLE:
        raise ColumnError("numbers, text, dates or true/false", inferred, "Convert it")
    texts = series.astype(object)
    if inferred not in ("string", "empty"):
        texts = texts.map(str, na_action="ignore")
    is_null = texts.isin(list(nulls))
    if len(marked):
        is_null |= pd.to_numeric(texts, errors="coerce").isin(marked)
    return texts.mask(is_null, None)


def _unique_texts(values: Series) -> tuple[Series, NDArray[np.int64]]:
    """Return the different values as texts, and the number of each row's text; -1 for missing values."""
    import pandas as pd

    codes, unique = pd.factorize(values)
    return pd.Series(unique, dtype=object).map(str).str.lstrip(" "), codes.astype(np.int64)


def _to_numbers(texts: Series, reading: Reading) -> NDArray[np.float64]:
    """Convert texts, such as -1, 2.50 or 1e-3, to numbers; NaN for other texts, and for numbers that underflow."""
    import pandas as pd

    plain, mark, point = texts, re.escape(reading.thousands), re.escape(reading.decimal)
    if reading.thousands:
        plain = plain.str.strip()
        grouped = plain.str.fullmatch(rf"[+-]?[1-9]\d{{0,2}}(?:{mark}\d{{3}})+(?:{point}\d*)?", na=False)
        plain = plain.where(~grouped, plain.str.replace(reading.thousands, "", regex=False))
    if reading.decimal != ".":
        plain = plain.where(~plain.str.contains(".", regex=False, na=False), "")
        plain = plain.str.replace(reading.decimal, ".", regex=False)
    numbers = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64, copy=True)
    for row in np.flatnonzero(numbers == 0.0):
        if re.match("[^eE]*[1-9]", plain.iloc[row]):
            numbers[row] = np.nan
    return numbers


def _check_all(wrong: Any, values: Series, expected: str) -> None:
    """Raise ColumnError for the first wrong value."""
    if (rows := np.flatnonzero(wrong)).size:
        raise ColumnError(expected, repr(str(values.iloc[rows[0]])[:40]), row=int(rows[0]))


def _check_exact(rows: Sequence[int] | NDArray[np.int64], values: Series) -> None:
    """Raise ColumnError for the first row of a whole number beyond 2⁵³, which float64 merges with its neighbours."""
    if len(rows):
        raise ColumnError(
            "whole numbers within ±2⁵³, which float64 represents", str(values.iloc[rows[0]]), row=int(rows[0])
        )


def _decide(name: str, there: Series, reading: Reading) -> Column:
    """Return the type of values that are not missing; raise ColumnError for a mixture."""
    if len(there) and there.isin(list(_BOOLEANS)).all():
        return Column(name, "boolean")
    if not np.isnan(_to_numbers(there, reading)).any():
        if there.str.match(_LEADING_ZERO).any():
            return Column(name, "category", tuple(sorted(_unique_texts(there)[0])))
        return Column(name, "number")
    texts, _ = _unique_texts(there)
    if form := _date_format(texts):
        return Column(name, "date", form=form)
    numbers = _to_numbers(texts, reading)
    is_like = texts.str.fullmatch(_LIKE_A_NUMBER).to_numpy(bool) | ~np.isnan(numbers)
    if not is_like.any() and not texts.str.fullmatch(_WITH_UNIT).all():
        return Column(name, "category", tuple(sorted(texts)))
    raise _mixed(texts, numbers, there, reading)


def _mixed(texts: Series, numbers: NDArray[np.float64], values: Series, reading: Reading) -> ColumnError:
    """Return the error of a mixed column, with its most frequent other values and the keys that read it."""
    others = texts[np.isnan(numbers)]
    counts = values[values.str.lstrip(" ").isin(others)].value_counts()
    shown = ", ".join(f"{str(text)[:40]!r} ({n})" for text, n in counts.iloc[:3].items())
    n_numbers = int(values.notna().sum() - counts.sum())
    keys: list[dict[str, Any]] = []
    for tried in _TRIED:
        if not any(each.items() <= tried.items() for each in keys):
            keys += [tried] if not np.isnan(_to_numbers(texts, replace(reading, **tried))).any() else []
    if n_numbers and len(others) <= 3 and not others.str.contains(r"\d").any():
        keys.append({"na_values": tuple(counts.index)})
    remedy = f"Read it by {' or '.join(read_key(**each) for each in keys)}" if keys else "Correct the values"
    return ColumnError("numbers or text", f"{n_numbers} numbers and {counts.sum()} other values: {shown}", remedy)


def _date_format(texts: Series) -> str:
    """Return the format of dates that all texts have, or ""; a date has at least a year, a month and a day."""
    import pandas as pd
    from pandas.tseries.api import guess_datetime_format

    if not len(texts) or len(str(texts.iloc[0])) < 6:
        return ""
    with warnings.catch_warnings(action="ignore"):  # of a format with the day first
        guesses = [guess_datetime_format(str(texts.iloc[0]), dayfirst=dayfirst) or "" for dayfirst in (False, True)]
    for form in guesses:
        if "%d" in form and pd.to_datetime(texts, format=form, errors="coerce", utc=True).notna().all():
            return form
    return ""


def _labels(there: Series, reading: Reading) -> list[str]:
    """Return the labels of a declared category: numbers in their order if float64 represents them, or sorted texts."""
    texts, _ = _unique_texts(there)
    numbers = _to_numbers(texts, reading)
    has_codes = texts.str.match(_LEADING_ZERO).any() or (np.abs(numbers) >= EXACT).any()
    if np.isnan(numbers).any() or has_codes or texts.isin(list(_BOOLEANS)).all():
        return sorted(texts)
    return list(map(number_text, np.unique(numbers)))


def two_spellings(labels: Iterable[str]) -> tuple[str, str] | None:
    """Return two labels that only differ in spaces or Unicode form, or None."""
    first: dict[str, str] = {}
    for label in labels:
        other = first.setdefault(" ".join(unicodedata.normalize("NFC", label).split()), label)
        if other != label:
            return other, label
    return None
