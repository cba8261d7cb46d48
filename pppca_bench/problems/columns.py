"""Columns of a table: types, meaning of texts, errors, and conversion of values to a type.

The same values have the same type from every source: a data frame's numbers, and the texts of a CSV file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    Series = pd.Series[Any]
    Typed = tuple["Column", Series]
    """Type and converted values of a column."""

ColumnKind = Literal["number", "boolean", "category", "text", "date"]
Remedy = str | tuple[str, str, object]
"""Text, or text before a key of the declaration, the key, and its value."""

_MARKERS = (
    "? NA N/A n/a NULL null NaN nan -NaN -nan None <NA> #NA #N/A 1.#IND -1.#IND 1.#QNAN -1.#QNAN"
)
NULLS = frozenset(["", "#N/A N/A", *_MARKERS.split()])
"""Texts that mark missing values: the markers of pandas, and ``?``, as in UCI files."""

CLASS_NULLS = frozenset(("", "?"))
"""Texts that mark missing values in a column of classes, where ``None`` or ``NA`` is a class unless declared."""

FEW_CATEGORIES, MAX_CATEGORIES = 40, 256
"""Largest number of categories of undeclared texts and of a declared column. Choice: more are mostly names."""

UNKNOWN = -1.0
"""Code of a category that is not in the table."""

EXACT, LARGEST = 2**53, 1e150
"""float64 represents all integers up to the first number; the square of larger numbers than the second overflows."""

BOOLEANS = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}
_INTEGER = re.compile(r"[+-]?\d+")
_READABLE = re.compile(
    "string|empty|boolean|integer|floating|mixed-integer(-float)?|decimal|date|datetime(64)?|categorical"
)


class ColumnError(ValueError):
    """Unusable column or value: expected and given values, remedies, and the line or row if there is one."""

    def __init__(self, expected: str, got: str, *remedies: Remedy, at: str = "") -> None:
        super().__init__(expected, got)
        self.expected, self.got, self.remedies, self.at = expected, got, remedies, at


@dataclass(frozen=True, slots=True)
class Reading:
    """Meaning of texts: decimal mark, mark of thousands or "", and markers of missing values."""

    decimal: str = "."
    thousands: str = ""
    nulls: frozenset[str] = NULLS


@dataclass(frozen=True, slots=True)
class Column:
    """Name and type of a column."""

    name: str
    kind: ColumnKind
    labels: tuple[str, ...] = ()  # of a category, in the order of their codes
    form: str = ""  # of texts of dates; "" for dates that are no texts
    has_gaps: bool = False

    def text(self, value: float) -> str:
        """Return the label of a code, a boolean or a number as text."""
        if self.kind == "category":
            return self.labels[int(value)]
        return str(bool(value)) if self.kind == "boolean" else number_text(value)


def number_text(value: float) -> str:
    """Return a number as text, a whole number without a decimal point."""
    return f"{value:.0f}" if abs(value) < EXACT and value == int(value) else repr(float(value))


def place_of(values: Series, row: int) -> str:
    """Return the line or row of a value, by the index."""
    return f"{values.index.name or 'row'} {values.index[row]}"


def convert(column: Column, series: Series, reading: Reading, *, unseen: str = "refuse") -> Series:
    """Convert new values to the type of a column: float64 numbers or codes, texts, or dates; missing values are nulls.

    The code of a category that is none of the column's labels, or of a gap in a column without gaps, is -1. Raises
    ColumnError if a value does not have the type, or an unseen category is to be refused.
    """
    values = plain_values(series, reading, column.kind)
    converted = to_type(column, values, reading)
    if column.kind == "category":
        converted = converted if column.has_gaps else converted.fillna(UNKNOWN)
        known = ", ".join(map(repr, column.labels[:10])) + (" …" if len(column.labels) > 10 else "")
        unknown = values[converted == UNKNOWN] if unseen == "refuse" else values[:0]
        check_none(
            unknown,
            f"one of the table's {known}",
            "Give `pipeline` unseen='ignore' to encode them as 0",
        )
    return converted


def to_type(column: Column, values: Series, reading: Reading) -> Series:
    """Return the values of `plain_values`, converted to the type of a column; see `convert`."""
    import pandas as pd

    if column.kind == "date":
        try:
            dates = pd.to_datetime(
                values, format=column.form or "ISO8601", errors="coerce", utc=True
            )
        except ValueError as error:
            raise ColumnError(
                "a format of dates, such as %d.%m.%Y", str(error), "correct it"
            ) from None
        expected = f"dates as {column.form}" if column.form else "dates"
        check_none(
            values[dates.isna() & values.notna()], expected, "correct the values or the format"
        )
        return dates.dt.tz_convert(None).astype("datetime64[us]")
    if column.kind == "text":
        return values.map(str, na_action="ignore").astype(object).fillna("")
    if column.kind == "category":
        known = {label: float(code) for code, label in enumerate(column.labels)}
        texts = values.astype(object).map(str, na_action="ignore")
        codes = texts.map(known).astype(np.float64)
        # A number may be written differently in the table.
        is_other = codes.isna() & texts.notna()
        others = pd.Series(to_numbers(texts[is_other], reading), dtype=object)
        others = others.map(number_text, na_action="ignore").map(known).fillna(UNKNOWN)
        codes[is_other] = others.to_numpy(np.float64)
        return codes
    is_boolean = column.kind == "boolean"
    numbers = (
        np.asarray(values.map(BOOLEANS), np.float64) if is_boolean else to_numbers(values, reading)
    )
    check_none(
        values[np.isnan(numbers) & values.notna()], "true/false" if is_boolean else "numbers"
    )
    remedies = "correct it", "leave it empty as a gap"
    check_none(values[np.abs(numbers) > LARGEST], f"a number within ±{LARGEST:g}", *remedies)
    large = values[np.abs(numbers) >= EXACT].astype(object).map(str)
    digits = large.str.replace(reading.thousands or " ", "", regex=False)
    merged = [bool(_INTEGER.fullmatch(text.strip())) and abs(int(text)) > EXACT for text in digits]
    as_labels = "take it for categories,", "categorical", [column.name]
    check_none(large[merged], "whole numbers within ±2⁵³, which float64 represents", as_labels)
    return pd.Series(numbers, values.index)


def plain_values(series: Series, reading: Reading, kind: ColumnKind | None) -> Series:
    """Return numbers and dates as they are, without missing values marked by numbers, and other values as texts."""
    import pandas as pd

    types = pd.api.types
    if isinstance(series.dtype, pd.ArrowDtype) and not types.is_numeric_dtype(series.dtype):
        series = series.astype(object)
    series = series.infer_objects()
    is_number = types.is_numeric_dtype(series.dtype) and not types.is_bool_dtype(series.dtype)
    marked = pd.to_numeric(pd.Series(sorted(reading.nulls), dtype=object), errors="coerce").dropna()
    if types.is_datetime64_any_dtype(series.dtype) and kind in (None, "date"):
        return series
    if is_number and kind == "date":
        series = series.map(number_text, na_action="ignore").astype(object)
    elif is_number and not types.is_complex_dtype(series.dtype):
        return series.mask(series.isin(marked)) if len(marked) else series
    if not _READABLE.fullmatch(inferred := types.infer_dtype(series, skipna=True)):
        raise ColumnError("numbers, text, dates or true/false", inferred, "convert it")
    texts = series.astype(object)
    if inferred not in ("string", "empty"):
        texts = texts.map(str, na_action="ignore")
    texts = texts.str.lstrip(" ")  # as in CSV files
    is_null = texts.isin(list(reading.nulls))
    if len(marked):
        is_null |= pd.to_numeric(texts, errors="coerce").isin(marked)
    return texts.mask(is_null, None)


def to_numbers(texts: Series, reading: Reading) -> NDArray[np.float64]:
    """Convert texts, such as -1, 2.50 or 1e-3, to numbers; NaN for other texts, and for numbers that underflow."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(texts.dtype):
        return texts.to_numpy(dtype=np.float64, na_value=np.nan)
    plain, mark, point = texts, re.escape(reading.thousands), re.escape(reading.decimal)
    if reading.thousands:
        plain = plain.str.strip()
        decimals = rf"(?:{point}\d*)?" if mark != point else ""
        grouped = plain.str.fullmatch(rf"[+-]?[1-9]\d{{0,2}}(?:{mark}\d{{3}})+{decimals}", na=False)
        has_mark = plain.str.contains(mark, na=False)
        plain = plain.str.replace(reading.thousands, "", regex=False).where(grouped | ~has_mark, "")
    if reading.decimal != ".":
        plain = plain.where(~plain.str.contains(".", regex=False, na=False), "")
        plain = plain.str.replace(reading.decimal, ".", regex=False)
    numbers = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64, copy=True)
    known = ~np.isnan(numbers)
    # pandas before 3.1 does not round to the nearest number
    numbers[known] = plain[known].astype(np.float64)
    zeros = np.flatnonzero(numbers == 0.0)
    numbers[zeros[plain.iloc[zeros].str.match("[^eE]*[1-9]").to_numpy(bool)]] = np.nan
    return numbers


def check(is_right: object, expected: str, got: str, *remedies: Remedy) -> None:
    """Raise ColumnError unless a condition is met."""
    if not is_right:
        raise ColumnError(expected, got, *remedies)


def check_none(wrong: Series, expected: str, *remedies: Remedy) -> None:
    """Raise ColumnError for the wrong values of a column, if there are any, with the first."""
    if len(wrong):
        got = repr(str(wrong.iloc[0])[:40]) if wrong.notna().iloc[0] else "a gap"
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise ColumnError(expected, f"{got}{more}", *remedies, at=place_of(wrong, 0))
