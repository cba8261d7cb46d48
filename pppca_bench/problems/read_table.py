"""Readers of tables: CSV, Parquet and ARFF files, data sets of scikit-learn, Proben1 and openml.org.

Each source becomes a data frame of its own values; `columns` decides the types.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import hashlib
import io
import lzma
import os
import pickle
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.errors import DataError, OwnDataError, UnknownProblemError
from pppca_bench.files import atomic_write
from pppca_bench.problems.declaration import VALUE_KEYS, OwnData, read_key
from pppca_bench.problems.proben1 import load_proben1, user_folders
from pppca_bench.problems.problem import known_problems, problem_info

if TYPE_CHECKING:
    import pandas as pd

SKLEARN_NAMES = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
"""Data sets that scikit-learn bundles as ``load_NAME``."""

SUFFIXES = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", ".arff": "arff"}
"""Kinds of files by suffix; a CSV file may also be compressed."""

_DECOMPRESS: Mapping[str, Any] = {"gzip": gzip.decompress, "bz2": bz2.decompress, "xz": lzma.decompress}
_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zip": "zip"}
_SEPARATORS = ",;\t|"
_NUMERIC_ATTRIBUTE = re.compile(
    r"""^(\s*@attribute\s+(?:'[^']*'|"[^"]*"|\S+)\s+)(?:numeric|real|integer)\b""", re.I | re.M
)
_RETRIES, _PAUSE_S = 3, 1.0


def is_compressed(path: Path) -> bool:
    """Return whether a path is of a compressed CSV file, such as t.csv.gz."""
    return path.suffix.lower() in _COMPRESSED


@dataclass(frozen=True, eq=False)
class RawTable:
    """Rows of a source.

    Attributes
    ----------
    source : str
        Name in messages, such as the path of the file.
    frame : pandas DataFrame
        Values as the source gives them; texts of a CSV file.
    targets : tuple of str
        Declared target columns; () if the source declares none.
    lines : int64 array of shape (n_rows,) or None
        Last line of each row in the file, for messages.
    """

    source: str
    frame: pd.DataFrame
    targets: tuple[str, ...] = ()
    lines: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        """Raise OwnDataError if there is no row or no column, or column names are missing or repeated."""
        names = [name.strip() for name in map(str, self.frame.columns)]
        self.frame.columns = names
        if twice := [name for name, n in Counter(names).items() if n > 1 and name]:
            raise self.error("each column's name once", f"{twice[0]!r} again", "Rename one of them.")
        if "" in names:
            got = f"none for column {names.index('') + 1}"
            remedy = f"If it has names of rows, set {read_key(index_col=names.index(''))}; otherwise name it."
            raise self.error("a name for each column", got, remedy)
        if self.frame.empty:
            got = f"{len(self.frame)} rows of {len(names)} columns"
            raise self.error("at least one row and one column", got, "Is it the right data?")

    @property
    def names(self) -> list[str]:
        """Return the column names."""
        return list(self.frame.columns)

    def error(self, expected: str, got: str, remedy: str, *, row: int | None = None, column: str = "") -> OwnDataError:
        """Return an error that names row and column."""
        place = self.source
        if row is not None:
            place += f", row {row + 1}" if self.lines is None else f", line {self.lines[row]}"
        place += f", column {column!r}" if column else ""
        return OwnDataError(f"{place}: expected {expected}, got {got}. {remedy}")


def read_own(own: OwnData, data_dir: str | Path | None = None, *, only_local: bool = False) -> RawTable:
    """Read the table of a declaration; see the readers for their exceptions."""
    if own.source == "openml":
        return read_openml(own.place, data_dir, only_local=only_local)
    if own.source == "csv":
        return read_csv(own.place, dict(own.read_keys))
    readers = {"parquet": read_parquet, "arff": read_arff, "sklearn": read_sklearn, "proben1": read_proben1}
    return (readers | {"given": load_given})[own.source](own.place)


def read_table(path: str | Path, **read: Any) -> pd.DataFrame:
    """Read a CSV, Parquet or ARFF file as raw rows, for predictions by the pipeline of a run.

    Parameters
    ----------
    path : str or Path
        A file; files without the suffix .parquet, .pq or .arff are CSV.
    **read
        Keys of `pandas.read_csv`, as in the config's ``read``.

    Returns
    -------
    DataFrame
        For a CSV file texts, with line numbers as index; the run's table determines types, marks and gaps.

    Raises
    ------
    OwnDataError
        If the file cannot be read, or the number of fields in a line differs from the header.
    """
    import pandas as pd

    kind = SUFFIXES.get(Path(path).suffix.lower(), "csv")
    if kind != "csv":
        return (read_parquet if kind == "parquet" else read_arff)(path).frame
    table = read_csv(path, read)
    return table.frame if table.lines is None else table.frame.set_axis(pd.Index(table.lines, name="line"), axis=0)


def read_csv(path: str | Path, read: Mapping[str, Any] | None = None) -> RawTable:
    """Read the texts of a CSV file by `pandas.read_csv`; nothing is guessed.

    Parameters
    ----------
    path : str or Path
    read : mapping, optional
        Keys of `pandas.read_csv`. By default fields are separated by commas (in .tsv files by tabs), and the first line
        has the names. The meaning of texts (decimal, thousands, na_values, keep_default_na) is left to `columns`.

    Raises
    ------
    OwnDataError
        The file cannot be read, lines have other numbers of fields than the header, or another separator, encoding or
        header is likely; the message has the key to write.
    """
    import pandas as pd

    keys = {"sep": "\t" if Path(path).suffix.lower() == ".tsv" else ",", **(read or {})}
    text = _text_of(path, keys.pop("encoding", "utf-8"), keys.pop("compression", "infer"))
    keys = {name: list(value) if isinstance(value, tuple) else value for name, value in keys.items()}
    options = {name: value for name, value in keys.items() if name not in VALUE_KEYS}
    if (header := keys.get("header", None if "names" in keys else 0)) is False:
        header = None
    first: list[str] = []
    rows = list[tuple[int, int]]()  # last line and number of fields of each record
    for line, fields in _records(path, text, keys):
        if len(rows) == (header or 0):
            first = fields
        rows.append((line, len(fields)))
    if not first:
        raise OwnDataError(
            f"{path}: expected a first line with the columns' names, got an empty file. Is it the right file?"
        )
    _check_first_line(path, text.partition("\n")[0].strip(), keys)
    rows = rows if header is None else rows[header + 1 :]
    _check_names(path, first if header is not None else [], keys)
    _check_fields(path, rows, len(keys.get("names", first)), has_row_names=type(keys.get("index_col")) in (int, str))
    options |= {"header": header, "skipinitialspace": True, "dtype": str, "na_filter": False}
    try:
        frame = pd.read_csv(io.StringIO(text), **options)
    except (ValueError, IndexError, OverflowError) as error:  # a ParserError is a ValueError
        raise OwnDataError(f"{path}: expected CSV, got {_first_line(error)}. Correct the file.") from None
    if header is None and "names" not in keys:
        frame.columns = pd.Index([f"x{place + 1}" for place in range(frame.shape[1])])
    if "header" not in keys:
        _check_header(path, frame.rename(columns=str))
    lines = np.array([line for line, _ in rows], dtype=np.int64)
    return RawTable(str(path), frame.reset_index(drop=True), lines=lines if len(lines) == len(frame) else None)


def _text_of(path: str | Path, encoding: str, compression: str | None) -> str:
    """Return the text of a file that may be compressed."""
    if compression == "infer":
        compression = _COMPRESSED.get(Path(path).suffix.lower())
    try:
        content = Path(path).read_bytes()
        if compression == "zip":
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                (member,) = archive.namelist()
                content = archive.read(member)
        elif compression is not None:
            content = _DECOMPRESS[compression](content)
    except OSError as error:
        got = error.strerror or _first_line(error)
        raise OwnDataError(f"{path}: expected a readable file, got {got}. Check the path.") from None
    except (ValueError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise OwnDataError(
            f"{path}: expected one file, compressed by {compression}, got {_first_line(error)}."
        ) from None
    try:
        return content.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except LookupError:
        raise OwnDataError(f"{path}: expected an encoding that Python knows, got {encoding!r}. Correct it.") from None
    except UnicodeDecodeError as error:
        other = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "cp1252"
        line, byte = content.count(b"\n", 0, error.start) + 1, content[error.start]
        raise OwnDataError(
            f"{path}, line {line}: expected {encoding} text, got the byte 0x{byte:02x}. Set {read_key(encoding=other)},"
            " or the encoding of the program that wrote it."
        ) from None


def _records(path: str | Path, text: str, keys: Mapping[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """Yield the last line and the fields of each record: pandas neither counts missing fields nor names lines."""
    skipped, comment, separator = keys.get("skiprows", 0), keys.get("comment"), keys["sep"]
    is_skipped = (lambda n: n in skipped) if isinstance(skipped, list) else (lambda n: n < skipped)
    lines: Iterator[str] = io.StringIO(text, newline="")
    if skipped:
        lines = ("\n" if is_skipped(number) else line for number, line in enumerate(lines))
    if comment:
        lines = (line.partition(comment)[0] for line in lines)
    if len(separator) > 1:
        split = re.compile(separator).split
        yield from ((number, split(line.strip())) for number, line in enumerate(lines, 1) if line.strip())
        return
    reader = csv.reader(lines, delimiter=separator, quotechar=keys.get("quotechar", '"'), skipinitialspace=True)
    try:
        yield from ((reader.line_num, row) for row in reader if row)
    except csv.Error as error:
        raise OwnDataError(f"{path}, line {reader.line_num}: expected CSV, got {error}. Correct the line.") from None


def _check_first_line(path: str | Path, line: str, keys: Mapping[str, Any]) -> None:
    """Raise OwnDataError for a first line that names its separator, is a comment, or has another separator."""
    if keys.get("skiprows") or keys.get("comment"):
        return
    wanted = "a first line with the columns' names"
    if match := re.fullmatch("sep=(.)", line):
        advice = read_key(sep=match[1], skiprows=1)
    elif line.startswith(("#", "%")):
        advice = read_key(comment=line[0])
    else:
        best = max(_SEPARATORS, key=line.count)
        wanted = f"columns separated by {keys['sep']!r}"
        if keys["sep"] not in _SEPARATORS or line.count(best) <= line.count(keys["sep"]):
            return
        advice = read_key(sep=best)
    raise OwnDataError(f"{path}, line 1: expected {wanted}, got {line[:60]!r}. Set {advice}.")


def _check_names(path: str | Path, names: list[str], keys: Mapping[str, Any]) -> None:
    """Raise OwnDataError for repeated and missing names, which pandas would replace."""
    stripped = [name.strip() for name in names]
    if twice := [name for name, n in Counter(stripped).items() if n > 1 and name]:
        raise OwnDataError(f"{path}: expected each column's name once, got {twice[0]!r} again. Rename one of them.")
    if "" in stripped and keys.get("index_col") != stripped.index("") and "names" not in keys:
        place = stripped.index("")
        remedy = (
            f"If it has names of rows, set {read_key(index_col=0)}; otherwise name it." if not place else "Name it."
        )
        raise OwnDataError(f"{path}: expected a name for each column, got none for column {place + 1}. {remedy}")


def _check_fields(path: str | Path, rows: Sequence[tuple[int, int]], n_names: int, *, has_row_names: bool) -> None:
    """Raise OwnDataError for rows whose number of fields differs from the number of names."""
    counts = {n for _, n in rows}
    if counts <= {n_names} or (has_row_names and counts == {n_names + 1}):
        return
    if counts == {n_names + 1}:
        got = f"{n_names + 1} in each of the {len(rows)} rows"
        remedy = f"If the first field is the name of the row, set {read_key(index_col=0)}."
    else:
        wrong = [(line, n) for line, n in rows if n != n_names]
        got = f"another number in {len(wrong)} of {len(rows)} rows: " + ", ".join(
            f"{n} in line {line}" for line, n in wrong[:3]
        )
        got, remedy = got + (" …" if len(wrong) > 3 else ""), "Correct the lines."
    raise OwnDataError(f"{path}: expected {n_names} fields, as in the header, got {got}. {remedy}")


def _check_header(path: str | Path, frame: pd.DataFrame) -> None:
    """Raise OwnDataError if the names are numbers where the columns have numbers: the first line is a row of data."""
    import pandas as pd

    def is_number(texts: pd.Series[Any]) -> bool:
        return bool(len(texts)) and bool(pd.to_numeric(texts, errors="coerce").notna().all())

    names = pd.Series(frame.columns, dtype=object)
    if not pd.to_numeric(names, errors="coerce").notna().any():
        return
    numeric = [name for place, name in enumerate(names) if is_number(frame.iloc[:, place])]
    if numeric and is_number(pd.Series(numeric, dtype=object)):
        raise OwnDataError(
            f"{path}, line 1: expected the columns' names, got values as in other rows, {', '.join(names[:3])}. Set"
            f" {read_key(header=False)} to name the columns x1, x2, …, or {read_key(header=0)} if they are names."
        )


def read_parquet(path: str | Path) -> RawTable:
    """Read a Parquet file; raise OwnDataError if it cannot be read, DataError without pyarrow."""
    import pandas as pd

    try:
        # Nullable types keep whole numbers beside gaps.
        return RawTable(str(path), pd.read_parquet(path, engine="pyarrow", dtype_backend="numpy_nullable"))
    except ImportError:
        raise DataError(
            f"{path}: expected pyarrow, which reads Parquet files, got none."
            " Install it: `pip install 'pppca-bench[parquet]'`."
        ) from None
    except (OSError, ValueError) as error:  # pyarrow raises both
        if isinstance(error, OwnDataError):
            raise
        got = _first_line(error)
        raise OwnDataError(f"{path}: expected a Parquet file, got {got}. Check the path and the file.") from None


def read_arff(path: str | Path) -> RawTable:
    """Read a dense or sparse ARFF file by liac-arff; a nominal attribute is a category. Raises OwnDataError."""
    import arff
    import pandas as pd

    text = _text_of(path, "utf-8", "infer")
    # Numbers stay texts: liac-arff rounds whole numbers beyond 2⁵³, and cuts the decimals of INTEGER.
    text = _NUMERIC_ATTRIBUTE.sub(r"\1STRING", text)
    is_sparse = re.search(r"^@data\s*(?:%.*\s*)*\{", text, re.MULTILINE | re.IGNORECASE) is not None
    try:
        document = arff.loads(text, return_type=arff.LOD if is_sparse else arff.DENSE)
    except (arff.ArffException, ValueError) as error:
        raise OwnDataError(f"{path}: expected ARFF, got {_first_line(error)}. Correct the file.") from None
    attributes = document["attributes"]
    rows = document["data"]
    if is_sparse:  # a value that is not written is 0, or the first nominal value
        zeros = [kind[0] if isinstance(kind, list) else "0" for _, kind in attributes]
        rows = [[row.get(place, zero) for place, zero in enumerate(zeros)] for row in rows]
    frame = pd.DataFrame(rows, columns=[name for name, _ in attributes])
    for place, (_, kind) in enumerate(attributes):
        if isinstance(kind, list):
            frame.isetitem(place, pd.Categorical(frame.iloc[:, place], kind))
    return RawTable(str(path), frame)


def load_given(path: str | Path) -> RawTable:
    """Return the data frame that a caller gave, from a file of this process's temporary folder."""
    table: RawTable = pickle.loads(Path(path).read_bytes())
    return table


def read_sklearn(name: str) -> RawTable:
    """Read a data set bundled with scikit-learn; targets are the last columns."""
    if name not in SKLEARN_NAMES:
        raise UnknownProblemError(
            f"sklearn:{name}: expected one of {', '.join(SKLEARN_NAMES)}, got {name!r}. Others are on openml.org:"
            " `openml: NUMBER`."
        )
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    return RawTable(f"sklearn:{name}", bunch.frame, _target_names(bunch.target))


def read_proben1(family: str) -> RawTable:
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
    problem = load_proben1(problem_info(f"{family}1"))
    X = np.vstack([problem.X_train, problem.X_validation, problem.X_test])
    y = np.concatenate([problem.y_train, problem.y_validation, problem.y_test])
    targets = ("class",) if y.ndim == 1 else tuple(f"out{place + 1}" for place in range(y.shape[1]))
    frame = pd.DataFrame(X, columns=[f"in{place + 1}" for place in range(X.shape[1])])
    frame[list(targets)] = y.reshape(len(y), -1)
    return RawTable(f"proben1:{family}", frame, targets)


def read_openml(number: str, data_dir: str | Path | None = None, *, only_local: bool = False) -> RawTable:
    """Return a data set of openml.org, from `download_folders` or, unless ``only_local``, from the network.

    scikit-learn keeps the files in ``openml/`` of the data folder and verifies the server's checksum. The digest of the
    rows is written to ``openml/NUMBER.sha256`` after the first download, for comparison afterwards. Raises DataError if
    the download failed, or the data differ from the first download.
    """
    source, record = f"openml:{number}", Path("openml", f"{number}.sha256")
    folders = download_folders(data_dir)
    present = next((folder for folder in folders if (folder / record).is_file()), None)
    if present is None and only_local:
        raise DataError(
            f"{source}: expected its files in the data folder, got none. Run `pppca data describe {source}`."
        )
    folder = present or folders[0]
    try:
        bunch = _fetch_openml(int(number), folder)
    except (OSError, ValueError, KeyError) as error:  # network errors, and invalid answers of the server
        remedy = f"Check the number, the network and the files in {folder / 'openml'}."
        if "Sparse ARFF" in str(error):
            remedy = "It is sparse: download its ARFF file, and name it by `arff: FILE`."
        raise DataError(
            f"{source}: expected a data set of www.openml.org, got {_first_line(error)}. {remedy}"
        ) from None
    table = RawTable(source, bunch.frame, () if bunch.target is None else _target_names(bunch.target))
    digest = hashlib.sha256(table.frame.to_csv(index=False).encode()).hexdigest()
    if present is None:
        atomic_write(folder / record, f"{digest}\n")
        return table
    recorded = (folder / record).read_text(encoding="ascii", errors="replace").strip()
    if digest != recorded:
        raise DataError(
            f"{source}: expected the data of the first download (SHA-256 {recorded[:12]}... in {folder / record}),"
            f" got other data ({digest[:12]}...). Delete that file to take the new data."
        )
    return table


def _fetch_openml(number: int, folder: Path) -> Any:
    from sklearn.datasets import fetch_openml

    options = {"data_home": str(folder), "as_frame": True, "n_retries": _RETRIES, "delay": _PAUSE_S}
    try:
        return fetch_openml(data_id=number, parser="auto", **options)
    except TypeError:  # nominal attributes whose values are numbers, with scikit-learn 1.9 and pandas 3
        return fetch_openml(data_id=number, parser="liac-arff", **options)


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
