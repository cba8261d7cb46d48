"""Readers of tables: CSV and Parquet files, data sets of scikit-learn, Proben1 and openml.org."""

from __future__ import annotations

import csv
import os
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pppca_bench.errors import DataError, OwnDataError, UnknownProblemError
from pppca_bench.files import atomic_write
from pppca_bench.problems.load import load_problem, user_folders
from pppca_bench.problems.problem import known_problems, problem_info
from pppca_bench.problems.table import Table, to_table

if TYPE_CHECKING:
    import pandas as pd

SKLEARN_NAMES = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
"""Data sets that scikit-learn bundles as ``load_NAME``."""

PARQUET_SUFFIXES = (".parquet", ".pq")
_SEPARATORS = ",;\t"
_RETRIES, _PAUSE_S = 3, 1.0

_CHUNK = 50_000
"""Number of rows in a chunk; rows as lists of texts take ten times the memory of the file."""

_GAPS = frozenset(("", "?", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "-NaN", "-nan", "None", "<NA>")).union(
    ("#NA", "#N/A", "#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN")
)
"""Markers of missing values: the markers of pandas, and ``?``."""


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a CSV or Parquet file as raw rows, for predictions by the pipeline of a run.

    Parameters
    ----------
    path : str or Path
        A file for `read_csv` or `read_parquet`.

    Returns
    -------
    DataFrame
        For a CSV file texts, with None for gaps and line numbers as index; the run's table determines types and decimal
        mark.

    Raises
    ------
    OwnDataError
        If the file cannot be read, or the number of fields in a line differs from the header.
    """
    if Path(path).suffix.lower() in PARQUET_SUFFIXES:
        return _read_parquet_frame(path)
    frame, wrong_lines = _read_texts(path)
    if wrong_lines:
        raise OwnDataError("\n".join(wrong_lines))
    return frame


def read_csv(path: str | Path, decimal: str = ".") -> Table:
    """Read a CSV file with a header line; raise OwnDataError if it cannot be read, is empty or not CSV in UTF-8.

    Choice: the separator is the most frequent of comma, semicolon and tab in the header. Missing values are empty
    fields, ``?``, as in UCI files, and the markers of pandas, such as ``NA`` and ``null``.
    """
    frame, wrong_lines = _read_texts(path)
    lines = frame.index.to_numpy(dtype=np.int64)
    return to_table(frame, str(path), decimal=decimal, lines=lines, wrong_lines=wrong_lines)


def _read_texts(path: str | Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the texts of a CSV file, by line, and errors for lines with a wrong number of fields."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            header = next(filter(str.strip, file), "")
            file.seek(0)
            separator = max(_SEPARATORS, key=header.count)
            reader = csv.reader(file, delimiter=separator, skipinitialspace=True, strict=True)
            try:
                return _read_rows(reader, path)
            except csv.Error as error:
                where = f"{path}, line {reader.line_num}"
                raise OwnDataError(f"{where}: expected CSV, got {error}. Correct the line.") from None
    except OSError as error:
        raise OwnDataError(f"{path}: expected a readable file, got {error.strerror}. Check the path.") from None
    except UnicodeDecodeError:
        raise OwnDataError(f"{path}, {_first_wrong_byte(Path(path).read_bytes())}. Save the file as UTF-8.") from None


def _read_rows(reader: Any, path: str | Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    import pandas as pd

    names = [name.strip() for name in next(filter(None, reader), ())]
    if not names:
        raise OwnDataError(
            f"{path}: expected a first line with the columns' names, got an empty file. Is it the right file?"
        )
    chunks, wrong_lines = [], []
    numbered = ((reader.line_num, row) for row in reader if row)
    while chunk := dict(islice(numbered, _CHUNK)):
        for line in [line for line, row in chunk.items() if len(row) != len(names)]:
            wrong_lines.append(
                f"{path}, line {line}: expected {len(names)} fields, as in the first line, got {len(chunk.pop(line))}."
                " Correct the line."
            )
        rows = pd.DataFrame(list(chunk.values()), list(chunk), dtype=str, columns=range(len(names)))
        chunks.append(rows.mask(rows.isin(_GAPS), None))
    frame = pd.concat(chunks) if chunks else pd.DataFrame(columns=range(len(names)))
    return frame.set_axis(names, axis=1).rename_axis("line"), tuple(wrong_lines)


def _first_wrong_byte(data: bytes) -> str:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return f"line {line}: expected UTF-8 text, got the byte 0x{data[error.start]:02x}"
    return ""


def read_parquet(path: str | Path) -> Table:
    """Read a Parquet file; raise OwnDataError if it cannot be read, DataError without pyarrow."""
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
    """Read a data set bundled with scikit-learn; targets are the last columns."""
    if name not in SKLEARN_NAMES:
        raise UnknownProblemError(
            f"sklearn:{name}: expected one of {', '.join(SKLEARN_NAMES)}, got {name!r}. Others are on openml.org:"
            " `openml: NUMBER`."
        )
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    return to_table(bunch.frame, f"sklearn:{name}", targets=_target_names(bunch.target))


def read_proben1(family: str) -> Table:
    """Return all examples of a Proben1 family, without splits, in the order of the first permutation.

    Columns are named in1, in2, …, and class, or out1, out2, … for approximation.
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
    """Return a data set of openml.org, from `download_folders` or, unless ``only_local``, from the network.

    scikit-learn keeps the files in ``openml/`` of the data folder and verifies the server's checksum. The digest of the
    table is written to ``openml/NUMBER.sha256`` after the first download, for comparison afterwards. Raises
    DataError if the download failed, or the data differ from the first download.
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
    except (OSError, ValueError, KeyError) as error:  # network errors, and invalid answers of the server
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
            f"{source}: expected the data of the first download (SHA-256 {recorded[:12]}... in {folder / record}),"
            f" got other data ({table.sha256[:12]}...). Delete that file to take the new data."
        )
    return table


def download_folders(data_dir: str | Path | None = None) -> list[Path]:
    """Return the folders to look for downloads: `data_dir`, $PPPCA_DATA, an existing ``data``, the user's cache.

    New downloads are saved in the first folder. Raises DataError without any of these and without a home folder.
    """
    folders = [*user_folders(data_dir), *filter(Path.is_dir, [Path("data")])]
    with suppress(RuntimeError):  # no home folder
        folders.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "pppca"))
    if not folders:
        expected = "expected a folder for downloads, got none, because there is no home folder"
        raise DataError(f"data: {expected}. Give a folder with --data DIR.")
    return folders


def _target_names(target: pd.DataFrame | pd.Series) -> tuple[str, ...]:
    return tuple(map(str, [target.name] if target.ndim == 1 else target.columns))


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
