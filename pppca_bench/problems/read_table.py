"""Readers of tables: CSV and Parquet files, data sets of scikit-learn, Proben1 and openml.org."""

from __future__ import annotations

import csv
import io
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pppca_bench.errors import DataError, OwnDataError, UnknownProblemError
from pppca_bench.files import atomic_write
from pppca_bench.problems.load import given_folders, load_problem
from pppca_bench.problems.registry import known_problems, problem_info
from pppca_bench.problems.table import Table, to_table

if TYPE_CHECKING:
    import pandas as pd

SKLEARN_NAMES = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
"""Data sets that scikit-learn bundles as ``load_NAME``."""

PARQUET_SUFFIXES = (".parquet", ".pq")
_SEPARATORS = ",;\t"
_DECIMAL_COMMA = r"^([+-]?\d*),(\d+)$"
_LOCAL = Path("data")
_RETRIES, _PAUSE_S = 3, 1.0


def read_csv(path: str | Path, decimal: str = ".") -> Table:
    """Read a CSV file with a header line.

    Choice: the separator is the most frequent of comma, semicolon and tab in the header. Missing values are empty
    fields, ``?``, as in UCI's files, and the markers of pandas, such as ``NA`` and ``null``. All values are read as
    texts; a column has numbers if all of its texts are read back as they were written (`typed_text`).

    Raises
    ------
    OwnDataError
        If the file cannot be read, is empty or not UTF-8, or a line has a different number of fields than the header.
    """
    frame, lines = _read_texts(path, decimal)
    return to_table(frame, str(path), lines=lines)


def read_table(path: str | Path, *, decimal: str = ".") -> pd.DataFrame:
    """Read the rows of a CSV or Parquet file for the `predict` of a `pipeline`.

    Parameters
    ----------
    path : str or Path
        A file with the columns of the table that the run learnt from, with the same separators, gaps and types.
    decimal : {".", ","}, default "."
        Decimal mark of a CSV file.

    Returns
    -------
    pandas.DataFrame
        Of a CSV file all values as texts, and NaN for gaps: the pipeline types them as the table's columns.

    Raises
    ------
    OwnDataError
        If the file cannot be read; see `read_csv`.
    """
    is_parquet = Path(path).suffix.lower() in PARQUET_SUFFIXES
    return _read_parquet_frame(path) if is_parquet else _read_texts(path, decimal)[0]


def _read_texts(path: str | Path, decimal: str) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Return the columns of a CSV file as texts and gaps, and the last line of each row."""
    import pandas as pd

    text = _text(path)
    separator = max(_SEPARATORS, key=text.partition("\n")[0].count)
    names, lines = _checked_lines(text, separator, path)
    frame = pd.read_csv(
        io.StringIO(text),
        sep=separator,
        header=0,
        names=range(len(names)),
        index_col=False,
        skipinitialspace=True,
        na_values=["?"],
        dtype=str,
    )
    if decimal == ",":
        frame = frame.replace(_DECIMAL_COMMA, r"\1.\2", regex=True)
    return frame.set_axis(names, axis=1), lines


def _text(path: str | Path) -> str:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise OwnDataError(f"{path}: expected a readable file, got {error.strerror}. Check the path.") from None
    if not data.strip():
        raise OwnDataError(
            f"{path}: expected a first line with the columns' names, got an empty file. Is it the right file?"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        got = f"the byte 0x{data[error.start]:02x}"
        raise OwnDataError(f"{path}, line {line}: expected UTF-8 text, got {got}. Save the file as UTF-8.") from None


def _checked_lines(text: str, separator: str, path: str | Path) -> tuple[list[str], NDArray[np.int64]]:
    """Return the column names and the last line of each row; pandas reports neither lines nor missing fields."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    lines: list[int] = []
    try:
        names = [name.strip() for name in next(reader)]
        for row in filter(None, reader):
            if len(row) != len(names):
                raise OwnDataError(
                    f"{path}, line {reader.line_num}: expected {len(names)} fields, as in the first line,"
                    f" got {len(row)}. Correct the line."
                )
            lines.append(reader.line_num)
    except csv.Error as error:
        raise OwnDataError(f"{path}, line {reader.line_num}: expected CSV, got {error}. Correct the line.") from None
    return names, np.array(lines, dtype=np.int64)


def read_parquet(path: str | Path) -> Table:
    """Read a Parquet file.

    Raises
    ------
    OwnDataError
        If the file cannot be read.
    DataError
        If pyarrow is not installed.
    """
    return to_table(_read_parquet_frame(path), str(path))


def _read_parquet_frame(path: str | Path) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_parquet(path, engine="pyarrow")
    except ImportError:
        raise DataError(
            f"{path}: expected pyarrow, which reads Parquet files, got none."
            " Install it: `pip install 'pppca-bench[parquet]'`."
        ) from None
    except (OSError, ValueError) as error:  # pyarrow raises both
        got = _first_line(error)
        raise OwnDataError(f"{path}: expected a Parquet file, got {got}. Check the path and the file.") from None


def read_sklearn(name: str) -> Table:
    """Read a data set bundled with scikit-learn, with its targets as last columns.

    Raises
    ------
    UnknownProblemError
        If the name is unknown.
    """
    if name not in SKLEARN_NAMES:
        raise UnknownProblemError(
            f"sklearn:{name}: expected one of {', '.join(SKLEARN_NAMES)}, got {name!r}. Others are on openml.org:"
            " `openml: NUMBER`."
        )
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    return to_table(bunch.frame, f"sklearn:{name}", targets=_target_names(bunch.target))


def read_proben1(family: str) -> Table:
    """Return all examples of a Proben1 problem, which its permutations split, in the order of the first permutation.

    Columns are named in1, in2, …, and class, or out1, out2, … for approximation.

    Raises
    ------
    UnknownProblemError
        If no problem has this family.
    """
    import pandas as pd

    families = [info.family for info in map(problem_info, known_problems("proben1"))]
    if family not in families:
        expected = ", ".join(dict.fromkeys(families))
        raise UnknownProblemError(
            f"proben1:{family}: expected one of {expected}, got {family!r}. A name with a number, such as"
            f" `problems: [{families[0]}1]`, is a problem with its own split."
        )
    problem = load_problem(f"{family}1")
    X = np.vstack([problem.X_train, problem.X_validation, problem.X_test])
    y = np.concatenate([problem.y_train, problem.y_validation, problem.y_test])
    targets = ("class",) if y.ndim == 1 else tuple(f"out{place + 1}" for place in range(y.shape[1]))
    frame = pd.DataFrame(X, columns=[f"in{place + 1}" for place in range(X.shape[1])])
    frame[list(targets)] = y.reshape(len(y), -1)
    return to_table(frame, f"proben1:{family}", targets=targets)


def read_openml(number: str, data_dir: str | Path | None = None, *, only_local: bool = False) -> Table:
    """Return a data set of openml.org, downloaded unless a data folder holds it.

    scikit-learn keeps the files in ``openml/`` of the data folder and verifies the server's checksum. The digest of the
    table is written to ``openml/NUMBER.sha256`` after the first download and compared with it afterwards.

    Parameters
    ----------
    number : str
        The data set's number, such as ``"61"``.
    data_dir : str or Path, optional
        First folder to look for it, see `download_folders`.
    only_local : bool, default False
        Download nothing.

    Raises
    ------
    DataError
        If the download failed, or the data differ from the first download.
    """
    from sklearn.datasets import fetch_openml

    source, record = f"openml:{number}", Path("openml", f"{number}.sha256")
    folders = download_folders(data_dir)
    present = next((folder for folder in folders if (folder / record).is_file()), None)
    if present is None and only_local:
        raise DataError(
            f"{source}: expected its files in the data folder, got none. Run `pppca data describe {source}`."
        )
    folder = present or folders[0]
    options = {"as_frame": True, "parser": "auto", "n_retries": _RETRIES, "delay": _PAUSE_S}
    try:
        bunch = fetch_openml(data_id=int(number), data_home=str(folder), **options)
    except (OSError, ValueError, KeyError) as error:  # of the network, and of the server's answers
        remedy = f"Check the number, the network and the files in {folder / 'openml'}."
        raise DataError(
            f"{source}: expected a data set of www.openml.org, got {_first_line(error)}. {remedy}"
        ) from None
    table = to_table(bunch.frame, source, targets=() if bunch.target is None else _target_names(bunch.target))
    if present is None:
        atomic_write(folder / record, f"{table.sha256}\n")
        return table
    recorded = (folder / record).read_text(encoding="ascii", errors="replace").strip()
    if table.sha256 != recorded:
        raise DataError(
            f"{source}: expected the data that were fetched first (SHA-256 {recorded[:12]}... in {folder / record}),"
            f" got others ({table.sha256[:12]}...). Delete that file to take the new data."
        )
    return table


def download_folders(data_dir: str | Path | None = None) -> list[Path]:
    """Return the folders to look for downloads: `data_dir`, $PPPCA_DATA, an existing ``data``, the user's cache.

    New downloads go to the first.

    Raises
    ------
    DataError
        If no folder is given or exists, and the user has no home folder.
    """
    folders = [*given_folders(data_dir), *filter(Path.is_dir, [_LOCAL])]
    with suppress(RuntimeError):  # no home folder
        folders.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pppca")
    if not folders:
        raise DataError(
            "data: expected a folder for downloads, got none, because there is no home folder. Give a folder with"
            " --data DIR."
        )
    return folders


def _target_names(target: pd.DataFrame | pd.Series) -> tuple[str, ...]:
    return tuple(map(str, [target.name] if target.ndim == 1 else target.columns))


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
