"""Readers of CSV files, Parquet files and scikit-learn data sets."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pppca_bench.errors import DataError, OwnDataError, UnknownProblemError
from pppca_bench.problems.table import Table, to_table

if TYPE_CHECKING:
    import pandas as pd

SKLEARN_NAMES = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
"""Data sets that scikit-learn bundles as ``load_NAME``."""

_SEPARATORS = ",;\t"


def read_csv(path: str | Path) -> Table:
    """Read a CSV file with a header line.

    Choice: the separator is the most frequent of comma, semicolon and tab in the header. Missing values are empty
    fields, ``?``, as in UCI's files, and the markers of pandas, such as ``NA`` and ``null``.

    Raises
    ------
    OwnDataError
        If the file cannot be read, is empty or not UTF-8, or a line has a different number of fields than the header.
    """
    import pandas as pd

    text = _text(path)
    separator = max(_SEPARATORS, key=text.partition("\n")[0].count)
    names, lines = _checked_lines(text, separator, path)
    frame = pd.read_csv(
        io.StringIO(text),
        sep=separator,
        header=None,
        names=range(len(names)),
        skiprows=1,
        index_col=False,
        skipinitialspace=True,
        na_values=["?"],
        low_memory=False,
    )
    frame.columns = pd.Index(names)
    return to_table(frame, str(path), lines=lines)


def read_parquet(path: str | Path) -> Table:
    """Read a Parquet file.

    Raises
    ------
    OwnDataError
        If the file cannot be read.
    DataError
        If pyarrow is not installed.
    """
    import pandas as pd

    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except ImportError:
        raise DataError(
            f"{path}: expected pyarrow, which reads Parquet files, got none."
            " Install it: `pip install 'pppca-bench[parquet]'`."
        ) from None
    except (OSError, ValueError) as error:  # pyarrow raises both
        cause = str(error).strip().partition("\n")[0].rstrip(".")
        raise OwnDataError(f"{path}: expected a Parquet file, got {cause}. Check the path and the file.") from None
    return to_table(frame, str(path))


def read_sklearn(name: str) -> Table:
    """Read a data set bundled with scikit-learn, with its targets as last columns.

    Raises
    ------
    UnknownProblemError
        If the name is unknown.
    """
    if name not in SKLEARN_NAMES:
        expected = f"expected one of {', '.join(SKLEARN_NAMES)}"
        raise UnknownProblemError(
            f"sklearn:{name}: {expected}, got {name!r}. Others are on openml.org: `openml: NUMBER`."
        )
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    return to_table(bunch.frame, f"sklearn:{name}", targets=target_names(bunch.target))


def target_names(target: pd.DataFrame | pd.Series) -> tuple[str, ...]:
    """Return the names of scikit-learn's target columns."""
    names = [target.name] if target.ndim == 1 else target.columns
    return tuple(map(str, names))


def _text(path: str | Path) -> str:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise OwnDataError(f"{path}: expected a readable file, got {error.strerror}. Check the path.") from None
    if not data.strip():
        raise OwnDataError(
            f"{path}: expected a first line with the columns' names, got an empty file. Is it the right one?"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        got = f"the byte 0x{data[error.start]:02x}"
        raise OwnDataError(f"{path}, line {line}: expected UTF-8 text, got {got}. Save the file as UTF-8.") from None


def _checked_lines(text: str, separator: str, path: str | Path) -> tuple[list[str], NDArray[np.int64]]:
    """Return the column names and the last line of each row."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    lines: list[int] = []
    try:
        names = [name.strip() for name in next(reader)]
        for row in reader:
            if len(row) != len(names) and row:
                raise OwnDataError(
                    f"{path}, line {reader.line_num}: expected {len(names)} fields, as in the first line,"
                    f" got {len(row)}. Correct the line."
                )
            if row:
                lines.append(reader.line_num)
    except csv.Error as error:
        raise OwnDataError(f"{path}, line {reader.line_num}: expected CSV, got {error}. Correct the line.") from None
    return names, np.array(lines, dtype=np.int64)
