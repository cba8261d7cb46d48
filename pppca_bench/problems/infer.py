"""Inference of the type of a column by all its values."""

from __future__ import annotations

import re
import unicodedata
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.problems.columns import (
    BOOLEANS,
    EXACT,
    Column,
    ColumnError,
    ColumnKind,
    Reading,
    Remedy,
    number_text,
    place_of,
    plain_values,
    to_numbers,
    to_type,
)

if TYPE_CHECKING:
    from pppca_bench.problems.columns import Series, Typed

_SHORT_YEARS = [
    f"{date}{time}"
    for date in ("%d-%b-%y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y")
    for time in ("", " %H:%M")
]
"""Formats of dates that pandas does not guess."""

_LEADING_ZERO = r"[+-]?0\d"
# Signs include the minus and the dash of text programs.
_SIGN, _CURRENCIES = "[-+\u2212\u2013]?", r"$\u00a2-\u00a5\u20a0-\u20cf"
_CURRENCY = rf"(?:[A-Z]{{0,2}}[{_CURRENCIES}]|Rs\.?)?"
_DIGITS = rf"{_SIGN}\s*{_CURRENCY}\s*{_SIGN}\d[\d.,'_\s]*(?:[dDeE][-+]?\d+)?"
_TIME, _DATE = r"\d+(?::\d\d)+(?:\.\d+)?", r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?:[ T].*)?"
_LIKE_A_NUMBER = rf"{_DATE}|{_TIME}|{_DIGITS}\s*[%{_CURRENCIES}-]?|\({_DIGITS}\)|0[xX][0-9a-fA-F]+"
_UNIT = r"(?!(?:st|nd|rd|th)$)(?:±.*|[°\"'′″]|°?[^\W\d_][^\s\d]{0,11}[23]?)"
_WITH_UNIT = rf"(?:USD|EUR|GBP|CHF|JPY|INR)\s*{_DIGITS}|(?:{_DIGITS}\s*{_UNIT}\s*){{1,3}}"
_BOUND = rf"[<>≤≥~≈]\s*{_DIGITS}"

_TRIED: list[dict[str, Any]] = [
    {"thousands": ","},
    {"decimal": ","},
    *(
        {**decimal, "thousands": mark}
        for mark in ". '’_\u00a0\u202f"
        for decimal in ({}, {"decimal": ","})
    ),
]
"""Keys of ``read`` that are proposed, the first if several turn all values of a mixed column into numbers."""


def infer(
    series: Series, reading: Reading, declared: ColumnKind | None = None, form: str = ""
) -> Typed:
    """Return the type of a column, decided by all values that are not missing, and its converted values.

    If all values are numbers, the column has numbers, unless a number begins with zeros, as codes do. If all are dates
    of one format, it has dates. If no value looks like a number, it has texts. Others are refused by ColumnError.

    The index of the series numbers lines or rows, for messages. A categorical series is a declared category, unless its
    values are true and false. ``form`` is the declared format of dates; "" infers it.
    """
    import pandas as pd

    name = str(series.name)
    kind = declared or None
    values = plain_values(series, reading, kind)
    present, labels = values.dropna(), tuple[str, ...]()
    if (
        kind is None
        and isinstance(series.dtype, pd.CategoricalDtype)
        and not present.isin(list(BOOLEANS)).all()
    ):
        kind = "category"
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        kind, form = "date", ""
    elif kind is None and pd.api.types.is_numeric_dtype(values.dtype):
        kind = "number"
    elif kind is None:
        kind, form = _decide(name, present, reading)
    elif kind == "date" and not form:
        form = _date_format(name, present, is_declared=True)
    if kind == "category":
        labels = _labels(present, reading)
    column = Column(name, kind, labels, form, has_gaps=len(present) < len(values))
    return column, to_type(column, values, reading)


def _decide(name: str, present: Series, reading: Reading) -> tuple[ColumnKind, str]:
    """Return the type of texts, and the format of dates; raise ColumnError for a mixture."""
    import pandas as pd

    if len(present) and present.isin(list(BOOLEANS)).all():
        return "boolean", ""
    texts: Series = pd.Series(present.unique(), dtype=object)
    numbers = to_numbers(texts, reading)
    is_number = ~np.isnan(numbers)
    if is_number.all():
        return ("category" if texts.str.match(_LEADING_ZERO).any() else "number"), ""
    if form := _date_format(name, texts):
        return "date", form
    is_like = is_number | texts.str.fullmatch(_LIKE_A_NUMBER).to_numpy(bool)
    is_amount, is_bound = texts.str.fullmatch(_WITH_UNIT), texts.str.fullmatch(_BOUND)
    # Beside other texts, bounds (<5, >7, normal) are categories; amounts (5 kg, 7 kg, unknown) are not.
    if not (is_like.any() or is_amount.mean() > 0.5 or (is_amount | is_bound).all()):
        return "category", ""
    raise _mixed(name, present, texts, numbers, reading)


def _mixed(
    name: str, present: Series, texts: Series, numbers: NDArray[np.float64], reading: Reading
) -> ColumnError:
    """Return the error of a mixed column, with its most frequent other values and the keys that read it."""
    others = texts[np.isnan(numbers)]
    odd = present[present.isin(others)]
    counts = odd.value_counts()
    shown = ", ".join(
        f"{str(text)[:40]!r} ({f'{n}, first in ' if n > 1 else ''}{place_of(odd[odd == text], 0)})"
        for text, n in counts.iloc[:3].items()
    )
    keys = [
        tried
        for tried in _TRIED
        if not np.isnan(to_numbers(texts, replace(reading, **tried))).any()
    ]
    plain = np.abs(numbers[~np.isnan(numbers)])
    # Without 1,234 beside 999, the comma may be either mark.
    is_either = keys[:2] == _TRIED[:2] and not (len(plain) and plain.max() < 1000)
    keys = keys[: 2 if is_either else 1]
    is_marker = ~(others.str.contains(r"\d") | others.isin(list(BOOLEANS)))
    if len(plain) and len(others) <= 3 and is_marker.all():
        keys.append({"na_values": tuple(counts.index)})
    remedies: list[Remedy] = [("read it by", "read", key) for key in keys] or ["correct the values"]
    got = f"{len(present) - len(odd)} numbers and {len(odd)} other values: {shown}"
    return ColumnError(
        "numbers, dates of one format or text",
        got,
        *remedies,
        ("take it for categories,", "categorical", [name]),
    )


def _date_format(name: str, texts: Series, *, is_declared: bool = False) -> str:
    """Return the format of dates that all texts have, "" for other texts; a date has a year, a month and a day.

    Raises ColumnError for dates with the month or the day first, and for other texts if dates are declared.
    """
    import pandas as pd
    from pandas.tseries.api import guess_datetime_format

    if not len(texts) or (len(first := str(texts.iloc[0])) < 6 and not is_declared):
        return ""
    with warnings.catch_warnings(action="ignore"):  # of a format with the day first
        guesses = {
            guess_datetime_format(first, dayfirst=dayfirst) or "" for dayfirst in (False, True)
        }
    guesses |= {
        form
        for form in _SHORT_YEARS
        if pd.notna(pd.to_datetime(first, format=form, errors="coerce"))
    }
    forms = [
        form for form in sorted(guesses, reverse=True) if re.match("(%Y.?%m|(?!%Y)).*%d", form)
    ]
    forms = [
        form
        for form in forms
        if pd.to_datetime(texts, format=form, errors="coerce", utc=True).notna().all()
    ]
    if len(forms) == 1 or not (forms or is_declared):
        return forms[0] if forms else ""
    remedies: list[Remedy] = [("read them by", "dates", {name: form}) for form in forms]
    got = f"{'several' if forms else 'none'} for {first[:40]!r}"
    ways = "write all in one format", ("name it, such as", "dates", {name: "%d.%m.%y"})
    raise ColumnError("one format of dates", got, *(remedies or ways))


def _labels(present: Series, reading: Reading) -> tuple[str, ...]:
    """Return the labels of a category: numbers in their order if float64 represents them, or sorted texts.

    Raises ColumnError for labels that only differ in spaces or Unicode form.
    """
    import pandas as pd

    texts: Series = pd.Series(present.unique(), dtype=object).map(str)
    numbers = to_numbers(texts, reading)
    has_codes = texts.str.match(_LEADING_ZERO).any() or (np.abs(numbers) >= EXACT).any()
    if not (np.isnan(numbers).any() or has_codes or texts.isin(list(BOOLEANS)).all()):
        return tuple(map(number_text, np.unique(numbers)))
    first = dict[str, str]()
    for label in sorted(texts):
        other = first.setdefault(" ".join(unicodedata.normalize("NFC", label).split()), label)
        if other != label:
            rows = present[present.map(str) == label]
            raise ColumnError(
                f"one spelling of {other!a}",
                ascii(label),
                "correct one of them",
                at=place_of(rows, 0),
            )
    return tuple(sorted(texts))
