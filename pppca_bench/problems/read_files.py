"""Readers of a table's file: CSV by pandas, Parquet by pyarrow, ARFF by liac-arff."""

from __future__ import annotations

import inspect
import math
import pickle
import re
import warnings
import zlib
from collections import defaultdict
from collections.abc import Collection, Mapping
from lzma import LZMAError
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
import yaml

from pppca_bench.errors import DataError, OwnDataError, nearest
from pppca_bench.problems.columns import MARKERS

if TYPE_CHECKING:
    import pandas as pd

    Rows = tuple[pd.DataFrame, tuple[str, ...]]
    """Values of a source and its declared targets."""

_AS_TEXT = {"dtype": str, "keep_default_na": False}
_TEXT_TYPES = (str, "str", "string", "object", "category")
"""Types of a column in ``dtype`` that declare a category."""
_LEXICAL = (
    *("sep", "delimiter", "skipinitialspace", "quotechar", "quoting", "doublequote", "escapechar"),
    *("comment", "encoding", "encoding_errors", "compression", "engine", "lineterminator"),
    *("skiprows", "skip_blank_lines"),
)
"""Keys of `pandas.read_csv` that decide which fields the first line has."""
_UNREADABLE = (
    *(OSError, ValueError, TypeError, LookupError, AttributeError, EOFError, ImportError),
    *(NotImplementedError, OverflowError, zlib.error, LZMAError, BadZipFile, re.error),
)
"""Errors of pandas for a file, or for values of keys."""

_SCALAR_ATTRIBUTE = re.compile(
    r"""^(\s*@attribute\s+(?:'[^']*'|"[^"]*"|\S+)\s+)(?:numeric|real|integer|date)\b[^%\n]*""",
    re.I | re.M,
)
_ON_DATA_LINE = re.compile(r"^[ \t]*@data[ \t]+([^\s%].*)$", re.I | re.M)


def read_csv(path: str, read: Mapping[str, Any]) -> pd.DataFrame:
    """Read the texts of a CSV file by `pandas.read_csv` with a user's keys, all passed as they are.

    By default all columns are text, and nothing is a gap: `columns` decides. A column whose type in the mapping
    ``dtype`` is that of text is a category, to the letter. Fields are separated by commas, in .tsv files by tabs.

    Raises
    ------
    OwnDataError
        If pandas cannot read the file, the rows have more fields than the header, or the header is a row of data.
    """
    keys = _AS_TEXT | ({"sep": "\t"} if ".tsv" in Path(path).suffixes else {}) | with_lists(read)
    frame = _with_categories(path, keys)
    if "index_col" not in read:
        _check_fields(path, read, frame)
    elif read["index_col"] is False:
        _check_nothing_lost(path, keys, frame)
    if {"header", "names", "usecols", "index_col"} & read.keys():
        return frame
    lexical = {key: keys[key] for key in _LEXICAL if key in keys}
    first = _by_pandas(path, _AS_TEXT | lexical | {"header": None, "nrows": 1})
    names = first.iloc[0].str.strip().tolist()
    if len(names) == frame.shape[1]:
        _check_header(path, read, names, frame)
        frame = frame.set_axis(names, axis=1)  # without the numbers that pandas adds to equal names
    return frame


def _with_categories(path: str, keys: Mapping[str, Any]) -> pd.DataFrame:
    """Return the data frame of `pandas.read_csv`, with a category for each column that ``dtype`` declares to be text.

    Such columns are read as text, since pandas reads the labels of a category as numbers if it can.
    """
    types = keys["dtype"]
    if types == "category":
        return _by_pandas(path, {**keys, "dtype": str}).astype("category")
    if not isinstance(types, Mapping):
        return _by_pandas(path, keys)
    others = {name: kind for name, kind in types.items() if kind not in _TEXT_TYPES}
    frame = _by_pandas(path, {**keys, "dtype": defaultdict(lambda: str, others)})
    declared = [name for name in frame.columns if types.get(name) in _TEXT_TYPES]
    return frame.astype(dict.fromkeys(declared, "category"))


def _by_pandas(path: str, keys: Mapping[str, Any]) -> pd.DataFrame:
    """Return the data frame of `pandas.read_csv`; raise OwnDataError for its errors."""
    import pandas as pd

    if unknown := unknown_keys(keys):
        hint = nearest(unknown[0], read_csv_keys())
        raise OwnDataError(f"{path}: expected keys of pandas.read_csv, got {unknown[0]!r}{hint}.")
    try:
        with warnings.catch_warnings(action="ignore"):  # of lost fields, see _check_nothing_lost
            made: Any = pd.read_csv(path, **keys)
    except UnicodeDecodeError as error:
        got = f"the byte 0x{error.object[error.start]:02x}, which is none"
        remedy = "`read` has the keys `encoding` and `compression`."
        raise OwnDataError(f"{path}: expected {error.encoding} text, got {got}. {remedy}") from None
    except _UNREADABLE as error:
        got = getattr(error, "strerror", None) or first_line(error)
        raise OwnDataError(
            f"{path}: expected a file that pandas.read_csv reads, got {got}.{_beginning(path)}"
        ) from None
    if isinstance(made, pd.DataFrame) and made.columns.nlevels == 1:
        return made
    if not isinstance(made, pd.DataFrame):  # a reader of pieces
        made.close()
    raise OwnDataError(
        f"{path}: expected keys of `read` that give one table with one line of names, got {dict(keys)}."
    )


def _beginning(path: str) -> str:
    """Return a sentence with the first line of a text file, or ""."""
    try:
        with Path(path).open(encoding="utf-8-sig") as file:
            line = file.readline(200).strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return f" The file begins with {line[:60]!r}." if line else ""


def _check_fields(path: str, read: Mapping[str, Any], frame: pd.DataFrame) -> None:
    """Raise OwnDataError if rows have more fields than the header, which pandas takes for names of rows."""
    import pandas as pd

    if isinstance(frame.index, pd.RangeIndex):
        return
    n_names, n_more = frame.shape[1], frame.index.nlevels
    remedy = _beginning(path)
    if n_more == 1 and _is_empty(frame.iloc[:, -1]):
        key = in_config({"read": {**read, "index_col": False}})
        remedy = f" The last field is empty in every row: {key} leaves it out."
    elif n_more == 1:
        key = in_config({"read": {**read, "index_col": 0}})
        remedy = f" If the first field is the name of the row, {key} leaves it out."
    raise OwnDataError(
        f"{path}: expected {n_names} fields, as in the header, got {n_names + n_more} in the {len(frame)} rows.{remedy}"
    )


def _check_nothing_lost(path: str, keys: Mapping[str, Any], frame: pd.DataFrame) -> None:
    """Raise OwnDataError if ``index_col: false`` leaves out fields that are not empty."""
    whole = _by_pandas(path, {key: value for key, value in keys.items() if key != "index_col"})
    n_more = whole.index.nlevels
    if whole.index.equals(frame.index) or (n_more == 1 and _is_empty(whole.iloc[:, -1])):
        return
    n_names = frame.shape[1]
    raise OwnDataError(
        f"{path}: expected {n_names} fields, as in the header, or empty fields after them, got {n_names + n_more}"
        f" fields in the {len(frame)} rows."
    )


def _is_empty(series: pd.Series[Any]) -> bool:
    return bool((series.isna() | (series == "")).all())


def _check_header(
    path: str, read: Mapping[str, Any], names: list[str], frame: pd.DataFrame
) -> None:
    """Raise OwnDataError if the names of all columns of numbers are numbers or gaps: a row of data."""
    import pandas as pd

    titles = [name for index, name in enumerate(names) if _has_numbers(frame.iloc[:, index])]
    if not _has_numbers(pd.Series(titles, dtype=object)):
        return
    no_header = in_config({"read": {**read, "header": None}})
    header = in_config({"read": {**read, "header": 0}})
    raise OwnDataError(
        f"{path}, line 1: expected the columns' names, got values as in other rows, {', '.join(names[:3])}."
        f" {no_header} names the columns 0, 1, 2, …; {header} takes the line for names."
    )


def _has_numbers(texts: pd.Series[Any]) -> bool:
    """Return whether texts are numbers, apart from gaps."""
    import pandas as pd

    present = texts[~texts.isin([*MARKERS, ""])]
    return len(present) > 0 and bool(pd.to_numeric(present, errors="coerce").notna().all())


def read_csv_keys() -> list[str]:
    """Return the keys of `pandas.read_csv`."""
    import pandas as pd

    return list(inspect.signature(pd.read_csv).parameters)[1:]


def unknown_keys(read: Collection[str]) -> list[str]:
    """Return the names that are no keys of `pandas.read_csv`."""
    known = read_csv_keys()
    return [key for key in read if key not in known]


def with_lists(value: Any) -> Any:
    """Return a value of a config with lists in place of tuples, as pandas takes them."""
    if isinstance(value, Mapping):
        return {key: with_lists(item) for key, item in value.items()}
    return [*map(with_lists, value)] if isinstance(value, tuple) else value


def read_parquet(path: str) -> pd.DataFrame:
    """Read a Parquet file; raise OwnDataError if it cannot be read, DataError without pyarrow."""
    import pandas as pd

    try:
        # Nullable types keep whole numbers beside gaps.
        return pd.read_parquet(path, engine="pyarrow", dtype_backend="numpy_nullable")
    except ImportError:
        raise DataError(
            f"{path}: expected pyarrow, which reads Parquet files, got none."
            " Install it: `pip install pyarrow`."
        ) from None
    except (OSError, ValueError) as error:  # pyarrow raises both
        got = first_line(error)
        raise OwnDataError(
            f"{path}: expected a Parquet file, got {got}. Check the path and the file."
        ) from None


def read_arff(path: str) -> pd.DataFrame:
    """Read a dense or sparse ARFF file by liac-arff; a nominal attribute is a category. Raises OwnDataError."""
    import arff
    import pandas as pd
    from pandas.io.common import get_handle  # type: ignore[import-not-found]

    try:
        with get_handle(path, "r", encoding="utf-8-sig", compression="infer") as opened:
            text: str = opened.handle.read()
    except _UNREADABLE as error:
        got = getattr(error, "strerror", None) or first_line(error)
        raise OwnDataError(f"{path}: expected a readable UTF-8 file, got {got}.") from None
    if dropped := _ON_DATA_LINE.search(text):
        line = text.count("\n", 0, dropped.start()) + 1
        raise OwnDataError(
            f"{path}, line {line}: expected nothing after @data, got {dropped[1][:60]!r}. Put it in the next line."
        )
    # Texts, for liac-arff rounds whole numbers beyond 2⁵³, cuts the decimals of INTEGER, and knows no dates.
    try:
        document = arff.loads(_SCALAR_ATTRIBUTE.sub(r"\1STRING", text))
    except (arff.ArffException, ValueError) as error:
        raise OwnDataError(
            f"{path}: expected ARFF, got {first_line(error)}. Correct the file."
        ) from None
    attributes = document["attributes"]
    frame = pd.DataFrame(document["data"], columns=[name for name, _ in attributes])
    for index, (_, kind) in enumerate(attributes):
        if isinstance(kind, list):  # nominal; a declared ? is read as a gap
            values = frame.iloc[:, index]
            frame.isetitem(index, pd.Categorical(values, [*filter(None, kind)]))
    return frame


def read_given(path: str) -> Rows:
    """Return the data frame that a caller gave, from a file of this process's temporary folder."""
    rows: Rows = pickle.loads(Path(path).read_bytes())
    return rows


def as_frame(part: Any, prefix: str) -> pd.DataFrame:
    """Return inputs or targets in memory as a data frame.

    Data frames and series of pandas, polars and pyarrow keep their names; a series or vector without a name is named
    ``prefix``, and the columns of an array ``prefix`` and a number: x1, x2, …. Raises ValueError for an array of more
    than two dimensions.
    """
    import pandas as pd

    if hasattr(part, "to_pandas"):  # of polars and pyarrow
        part = part.to_pandas()
    if isinstance(part, pd.Series):
        part = part.to_frame(prefix if part.name in (None, "") else part.name)
    if isinstance(part, pd.DataFrame):
        return part.rename(columns=str)
    if hasattr(part, "toarray"):  # of scipy
        part = part.toarray()
    array = np.asanyarray(part)  # pandas knows the gaps of masked arrays
    if array.ndim not in (1, 2):
        raise ValueError(f"expected {prefix} of one or two dimensions, got {array.ndim}")
    frame = pd.DataFrame(array)
    if array.ndim == 1 and not array.dtype.names:
        return frame.set_axis([prefix], axis=1)
    names = [name if isinstance(name, str) else f"{prefix}{name + 1}" for name in frame.columns]
    return frame.set_axis(names, axis=1)


def in_config(keys: Mapping[str, object]) -> str:
    """Return keys as a line of YAML, with escapes if it has characters that cannot be seen."""
    options: dict[str, Any] = {"default_flow_style": True, "sort_keys": False, "width": math.inf}
    try:
        text: str = yaml.safe_dump(keys, allow_unicode=True, **options)
    except yaml.YAMLError:  # values that no config has
        return f"`{keys}`"
    if not text.strip().isprintable():
        text = yaml.safe_dump(keys, **options)
    return f"`{text.strip()[1:-1]}`"


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, without a full stop."""
    return str(error).strip().partition("\n")[0].rstrip(".")
