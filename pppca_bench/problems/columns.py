"""Types of a table's columns: the one rule for texts, and the conversion of values to a type.

docs/own_data.md prints the rule. It is the same for every source; numbers, true/false and categories of a typed source
keep their types.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    Series = pd.Series[Any]
    Typed = tuple["Column", Series]
    """Type and converted values of a column."""

ColumnKind = Literal["number", "boolean", "category"]
Remedy = str | tuple[str, str, object]
"""Text, or text before a key of the declaration, the key, and its value."""

MARKERS = frozenset(
    (
        *("?", "NA", "N/A", "n/a", "NULL", "null", "None", "NaN", "nan", "-NaN", "-nan"),
        *("<NA>", "#NA", "#N/A", "#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    )
)
"""Usual texts of gaps: those of pandas, and ``?``, as in UCI files. They are gaps among numbers and true/false only."""

FEW_CATEGORIES, MAX_CATEGORIES = 40, 256
"""Largest number of categories of undeclared texts and of a declared column. Choice: more are mostly names."""

UNKNOWN = -1.0
"""Code of a category that is not in the table."""

EXACT, LARGEST = 2**53, 1e150
"""float64 represents all integers up to the first number; the square of larger numbers than the second overflows."""

BOOLEANS = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}

_N_SHOWN, _MAX_GAP_WORDS = 3, 3
_INTEGER = r"[+-]?\d+"
_LEADING_ZERO = r"[+-]?0\d"
_SIGNS = "+-\u2212\u2013\u00b1"
"""Signs, with the minus and the dash of text programs."""
_READABLE = "string|empty|boolean|integer|floating|mixed-integer(-float)?|decimal|categorical"
"""Kinds of values that pandas infers and this module reads."""


class ColumnError(ValueError):
    """Unusable column or value: expected and given values, remedies, and the row if there is one."""

    def __init__(self, expected: str, got: str, *remedies: Remedy, at: str = "") -> None:
        super().__init__(expected, got)
        self.expected, self.got, self.remedies, self.at = expected, got, remedies, at


@dataclass(frozen=True, slots=True)
class Column:
    """Name and type of a column."""

    name: str
    kind: ColumnKind
    labels: tuple[str, ...] = ()  # of a category, in the order of their codes
    has_gaps: bool = False


def infer(series: Series, read: Mapping[str, Any], *, is_declared: bool = False) -> Typed:
    """Return the type of a column by all its values, and its converted values.

    Parameters
    ----------
    series : Series
        Values of the source; the index numbers the rows, for messages.
    read : mapping
        Keys of `pandas.read_csv`: ``decimal``, ``thousands``, ``na_values`` and ``keep_default_na`` are used.
    is_declared : bool, default False
        Whether the column is declared to be a category.

    Raises
    ------
    ColumnError
        If the values have no usable type.
    """
    import pandas as pd

    name = str(series.name)
    values = plain_values(series, read)
    present = values.dropna()
    is_category = is_declared or isinstance(series.dtype, pd.CategoricalDtype)
    kind: ColumnKind = "number"  # also of an empty column
    if len(present) and is_category:
        kind = "category"
    elif len(present) and not pd.api.types.is_numeric_dtype(values.dtype):
        kind = _kind_of_texts(name, present, read)
    labels = labels_of(present) if kind == "category" else ()
    converted = to_type(Column(name, kind, labels), values, read)
    return Column(name, kind, labels, bool(converted.isna().any())), converted


def convert(
    column: Column, series: Series, read: Mapping[str, Any], *, unseen: str = "refuse"
) -> Series:
    """Convert new values to the type of a column: float64 numbers or codes; gaps are NaN.

    The code of a category that is none of the column's labels, or of a gap in a column without gaps, is -1. Raises
    ColumnError if a value does not have the type, or an unseen category is to be refused.
    """
    values = plain_values(series, read)
    converted = to_type(column, values, read)
    if column.kind != "category":
        return converted
    if not column.has_gaps:
        converted = converted.fillna(UNKNOWN)
    if unseen == "refuse":
        known = ", ".join(map(repr, column.labels[:10]))
        known += " …" if len(column.labels) > 10 else ""
        remedy = "Give `pipeline` unseen='ignore' to encode them as 0"
        check_none(values[converted == UNKNOWN], f"one of the table's {known}", remedy)
    return converted


def plain_values(series: Series, read: Mapping[str, Any]) -> Series:
    """Return numbers as they are and other values as texts; gaps are nulls.

    Gaps are the nulls of the source, empty fields and declared ``na_values``. Raises ColumnError for dates and objects.
    """
    import pandas as pd

    types = pd.api.types
    if isinstance(series.dtype, pd.CategoricalDtype | pd.ArrowDtype):
        series = series.astype(object)
    series = series.infer_objects()
    words, numbers = _declared_gaps(read, str(series.name))
    is_number = types.is_numeric_dtype(series.dtype) and not types.is_bool_dtype(series.dtype)
    if is_number and not types.is_complex_dtype(series.dtype):
        return series.mask(series.isin(numbers)) if numbers else series
    found = types.infer_dtype(series, skipna=True)
    if not re.fullmatch(_READABLE, found):
        raise ColumnError("numbers, text or true/false", found)
    texts = series.astype(object)
    if found != "string":
        texts = texts.map(label_of, na_action="ignore")
    is_gap = texts.isna() | texts.isin(words)
    is_gap |= texts.str.strip().eq("")
    return texts.mask(is_gap, None)


def _declared_gaps(read: Mapping[str, Any], name: str) -> tuple[list[str], list[float]]:
    """Return the texts and the numbers that a column's declaration takes for gaps."""
    given = read.get("na_values")
    if isinstance(given, Mapping):
        given = given.get(name)
    if given is None:
        given = ()
    elif isinstance(given, str) or not np.iterable(given):
        given = (given,)
    words = [*map(str, given)]
    if read.get("keep_default_na"):
        words += MARKERS - {"?"}
    numbers = []
    for word in map(str, given):
        try:
            numbers.append(float(word))
        except ValueError:
            continue
    return words, numbers


def _kind_of_texts(name: str, present: Series, read: Mapping[str, Any]) -> ColumnKind:
    """Return the type of texts; raise ColumnError for a mixture, and for texts that look like numbers.

    All but the usual markers of gaps are true/false, or numbers (without leading zeros): that type. No number: a
    category.
    """
    import pandas as pd

    texts: Series = pd.Series(present.unique(), dtype=object)
    others = texts[~texts.isin(MARKERS)]
    if others.empty:
        return "category"
    if others.isin(list(BOOLEANS)).all():
        return "boolean"
    is_number = numbers_of(others, read).notna()
    if is_number.all():
        return "category" if others.str.match(_LEADING_ZERO).any() else "number"
    if is_number.any():
        raise _mixture(name, present, others[~is_number])
    is_like = others.map(_begins_like_a_number)
    if is_like.mean() > 0.5:
        shown = ", ".join(map(repr, others[is_like].iloc[:_N_SHOWN].str[:40]))
        got = f"texts that begin like numbers, {shown}"
        raise ColumnError("numbers or text", got, *_as_category(name, len(texts)))
    return "category"


def _begins_like_a_number(text: str) -> bool:
    """Return whether a text begins with a digit, a sign or a currency mark."""
    first = text.strip()[0]
    return first.isdigit() or first in _SIGNS or unicodedata.category(first) == "Sc"


def _mixture(name: str, present: Series, odd_texts: Series) -> ColumnError:
    """Return the error of a column of numbers and other texts, with the first odd values, their rows and count."""
    odd = present[present.isin(odd_texts)]
    first = odd.drop_duplicates().iloc[:_N_SHOWN]
    shown = ", ".join(
        f"{str(text)[:40]!r} ({place_of(first, row)})" for row, text in enumerate(first)
    )
    n_numbers = int((~present.isin([*odd_texts, *MARKERS])).sum())
    got = f"{n_numbers} numbers and {len(odd)} other values, first {shown}"
    remedies = _as_category(name, present.nunique())
    if len(odd_texts) <= _MAX_GAP_WORDS and not odd_texts.str.contains(r"\d").any():
        remedies.append(("take them for gaps,", "na_values", {name: odd_texts.tolist()}))
    return ColumnError("numbers alone or text alone", got, *remedies)


def _as_category(name: str, n_texts: int) -> list[Remedy]:
    """Return the key that takes a column for a category, if it has not too many texts."""
    if n_texts > MAX_CATEGORIES:
        return []
    return [("take it for a category,", "categorical", [name])]


def numbers_of(texts: Series, read: Mapping[str, Any]) -> Series:
    """Return the numbers that texts such as -1, 2.50 or 1e-3 write, float64; NaN for other texts.

    ``decimal`` and ``thousands`` have the meaning that they have in pandas.
    """
    import pandas as pd

    thousands, decimal = read.get("thousands"), read.get("decimal", ".")
    plain = texts
    if thousands:
        plain = plain.str.replace(thousands, "", regex=False)
    if decimal != ".":
        has_point = plain.str.contains(".", regex=False, na=False)
        plain = plain.mask(has_point, "").str.replace(decimal, ".", regex=False)
    numbers: Series = pd.to_numeric(plain, errors="coerce").astype(np.float64)
    # pandas before 3.1 does not round to the nearest number
    is_known = numbers.notna()
    numbers[is_known] = plain[is_known].astype(np.float64)
    return numbers


def labels_of(present: Series) -> tuple[str, ...]:
    """Return the labels of a category, to the letter: numbers in their order, or sorted texts, usual gaps last.

    Labels of the same number, such as 1.1 and 1.10, are in the order of the texts.
    """
    import pandas as pd

    texts = sorted(set(present.astype(object).map(label_of)))
    numbers = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce")
    if numbers.notna().all():
        return tuple(text for _, text in sorted(zip(numbers, texts, strict=True)))
    return tuple(sorted(texts, key=lambda text: (text in MARKERS, text)))


def label_of(value: object) -> str:
    """Return a value as a label: a text as it is, a whole number without a decimal point."""
    if isinstance(value, float | np.floating):
        return number_text(float(value))
    return str(value)


def number_text(value: float) -> str:
    """Return a number as text, a whole number without a decimal point."""
    return f"{value:.0f}" if abs(value) < EXACT and value == int(value) else repr(float(value))


def similar_labels(labels: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield pairs of labels that differ only in case, width, Unicode form, spaces or invisible characters."""
    first = dict[str, str]()
    for label in labels:
        text = unicodedata.normalize("NFKC", label).casefold()
        visible = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
        other = first.setdefault(" ".join(visible.split()), label)
        if other != label:
            yield other, label


def to_type(column: Column, values: Series, read: Mapping[str, Any]) -> Series:
    """Return the values of `plain_values`, converted to the type of a column; see `convert`."""
    import pandas as pd

    if column.kind == "category":
        return _codes(column, values)
    if pd.api.types.is_numeric_dtype(values.dtype) and column.kind == "number":
        numbers: Series = pd.Series(
            values.to_numpy(dtype=np.float64, na_value=np.nan), values.index
        )
        texts = values
    else:
        texts = values.astype(object).map(label_of, na_action="ignore")
        texts = texts.mask(texts.isin(MARKERS), None)
        numbers = texts.map(BOOLEANS).astype(np.float64)
        if column.kind == "number":
            numbers = numbers_of(texts, read)
    expected = "true/false" if column.kind == "boolean" else "numbers"
    check_none(texts[numbers.isna() & texts.notna()], expected)
    _check_range(column.name, texts, numbers, str(read.get("thousands") or ""))
    _, gaps = _declared_gaps(read, column.name)
    return numbers.mask(numbers.isin(gaps))


def _codes(column: Column, values: Series) -> Series:
    """Return the codes of a category's values, float64: a gap is NaN, an unknown label -1.

    A text has the code of the same label. A number that is no label has the code of the label that writes it, if only
    one does, as 1 of a data frame for ``01`` of a file.
    """
    import pandas as pd

    codes = {label: float(code) for code, label in enumerate(column.labels)}
    found: Series = values.astype(object).map(label_of, na_action="ignore").map(codes)
    found = found.astype(np.float64)
    if pd.api.types.is_numeric_dtype(values.dtype):
        written = pd.to_numeric(pd.Series(column.labels, dtype=object), errors="coerce").dropna()
        written = written[~written.duplicated(keep=False)]
        by_number = dict(zip(written, written.index.astype(float), strict=True))
        found = found.fillna(values.astype(object).map(by_number).astype(np.float64))
    return found.mask(found.isna() & values.notna(), UNKNOWN)


def _check_range(name: str, texts: Series, numbers: Series, thousands: str) -> None:
    """Raise ColumnError for numbers that float64 or the methods cannot represent."""
    is_large = numbers.abs() > LARGEST
    check_none(texts[is_large], f"a number within ±{LARGEST:g}")
    large = texts[numbers.abs() >= EXACT].astype(object).map(str)
    if thousands:
        large = large.str.replace(thousands, "", regex=False)
    is_whole = large.str.strip().str.fullmatch(_INTEGER).astype(bool)
    whole = large[is_whole]
    merged = whole[whole.map(int).abs() > EXACT]
    remedies = _as_category(name, texts.nunique())
    check_none(merged, "whole numbers within ±2⁵³, which float64 represents", *remedies)


def place_of(values: Series, row: int) -> str:
    """Return the row of a value, by the index."""
    return f"{values.index.name or 'row'} {values.index[row]}"


def check(is_right: object, expected: str, got: str, *remedies: Remedy) -> None:
    """Raise ColumnError unless a condition is met."""
    if not is_right:
        raise ColumnError(expected, got, *remedies)


def check_none(wrong: Series, expected: str, *remedies: Remedy) -> None:
    """Raise ColumnError for the wrong values of a column, if there are any, with the first."""
    if not len(wrong):
        return
    got = repr(str(wrong.iloc[0])[:40]) if wrong.notna().iloc[0] else "a gap"
    more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    raise ColumnError(expected, f"{got}{more}", *remedies, at=place_of(wrong, 0))
