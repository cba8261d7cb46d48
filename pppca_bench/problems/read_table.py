"""Readers of tables: CSV, Parquet and ARFF files, data sets of scikit-learn, Proben1, UCI and openml.org.

Each source becomes a data frame of its own values; `columns` decides the types.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import pickle
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from lzma import LZMAError
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from pppca_bench.errors import DataError, OwnDataError, UnknownProblemError, listed, nearest
from pppca_bench.files import atomic_write
from pppca_bench.problems.columns import ColumnError, Kind, infer
from pppca_bench.problems.declaration import VALUE_KEYS, OwnData, Source, read_key
from pppca_bench.problems.proben1 import load_proben1, user_folders
from pppca_bench.problems.problem import known_problems, problem_info
from pppca_bench.problems.uci import find_uci, uci_sets

if TYPE_CHECKING:
    import pandas as pd

    from pppca_bench.problems.columns import Typed

    Rows = tuple[pd.DataFrame, tuple[str, ...]]
    """Values of a source and its declared targets; the index of a CSV file has the numbers of lines."""

SKLEARN_NAMES = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
"""Data sets that scikit-learn bundles as ``load_NAME``."""

_KINDS: Mapping[str, Source] = {".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", ".arff": "arff"}
_COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
_SEPARATORS = ",;\t|"
_SCALAR_ATTRIBUTE = re.compile(
    r"""^(\s*@attribute\s+(?:'[^']*'|"[^"]*"|\S+)\s+)(?:numeric|real|integer|date)\b[^%\n]*""", re.I | re.M
)
_RETRIES, _PAUSE_S = 3, 1.0


@dataclass(frozen=True, eq=False)
class RawTable:
    """Rows of a source, and the types of its columns.

    Attributes
    ----------
    own : OwnData
        Declaration.
    frame : pandas DataFrame
        Values as the source gives them, texts of a CSV file; the index numbers the lines of a file, or the rows.
    targets : tuple of str
        Target columns that the source declares.
    """

    own: OwnData
    frame: pd.DataFrame
    targets: tuple[str, ...] = ()

    @cached_property
    def columns(self) -> dict[str, Typed | ColumnError]:
        """Return the type and the converted values of each column, or the reason why it is unusable."""
        own, forms = self.own, dict(self.own.dates)
        declared: dict[Kind, Collection[str]] = {"category": own.categorical, "text": own.text, "date": forms}
        kinds = {name: kind for kind, names in declared.items() for name in names}
        columns: dict[str, Typed | ColumnError] = {}
        for name in self.frame.columns:
            try:
                columns[name] = infer(self.frame[name], own.reading(), kinds.get(name), forms.get(name, ""))
            except ColumnError as error:
                columns[name] = error
        return columns


def kind_of_file(path: str | Path) -> Source | None:
    """Return the kind of a table's file by its suffix, also before that of compression; None for other files."""
    path = Path(path)
    if path.suffix.lower() in _COMPRESSED:
        return kind_of_file(path.with_suffix("")) or "csv"
    return "csv" if path.suffix.lower() == ".csv" else _KINDS.get(path.suffix.lower())


def read_own(own: OwnData, data_dir: str | Path | None = None, *, only_local: bool = False) -> RawTable:
    """Read the table of a declaration.

    Raises OwnDataError if there is no row or no column, or column names are missing or repeated; see the readers for
    other exceptions.
    """
    import pandas as pd

    readers = {"parquet": read_parquet, "arff": read_arff, "sklearn": read_sklearn, "proben1": read_proben1}
    readers |= {"uci": read_uci, "given": load_given}
    if own.source == "openml":
        frame, targets = read_openml(own.place, data_dir, only_local=only_local)
    elif own.source == "csv":
        frame, targets = read_csv(own.place, dict(own.read_keys))
    else:
        frame, targets = readers[own.source](own.place)
    names = pd.Index([str(name).strip() for name in frame.columns], dtype=object)
    if "" in names:
        place = names.tolist().index("")
        remedy = f"name it; or, if it has names of rows, set {read_key(index_col=0)}" if not place else "name it"
        raise own.error(ColumnError("a name for each column", f"none for column {place + 1}", remedy))
    if names.has_duplicates:
        twice = names[names.duplicated()][0]
        raise own.error(ColumnError("each column's name once", f"{twice!r} again", "rename one of them"))
    if frame.empty:
        got = f"{len(frame)} rows of {len(names)} columns"
        raise own.error(ColumnError("at least one row and one column", got, "Is it the right data?"))
    if own.source != "csv":
        frame = frame.set_axis(pd.RangeIndex(1, len(frame) + 1, name="row"), axis=0)
    return RawTable(own, frame.set_axis(names, axis=1), targets)


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
        Numbers of lines or rows as index. A CSV file has texts; the run's table determines types, marks and gaps.

    Raises
    ------
    OwnDataError
        If the file cannot be read, or the number of fields in a line differs from the header.
    """
    return read_own(OwnData.declared(kind_of_file(path) or "csv", str(path), read=read)).frame


def read_csv(path: str | Path, read: Mapping[str, Any]) -> Rows:
    """Read the texts of a CSV file by `pandas.read_csv`; nothing is guessed.

    Parameters
    ----------
    path : str or Path
    read : mapping
        Keys of `pandas.read_csv`. By default fields are separated by commas (in .tsv files by tabs), and the first line
        has the names. The meaning of texts (decimal, thousands, na_values, keep_default_na) is left to `columns`.

    Raises
    ------
    OwnDataError
        The file cannot be read, lines have other numbers of fields than the header, or another separator, encoding or
        header is likely; the message has the key to write.
    """
    import pandas as pd

    is_tsv = ".tsv" in Path(path).suffixes
    keys = {"sep": "\t" if is_tsv else ",", **read}
    keys = {name: list(value) if isinstance(value, tuple) else value for name, value in keys.items()}
    text = _text_of(path, keys.pop("encoding", "utf-8"), keys.pop("compression", "infer"))
    header = keys.pop("header", None if "names" in keys else 0)
    names, index = keys.pop("names", None), keys.pop("index_col", False)
    for key, value in {"header": header, "index_col": index}.items():
        if isinstance(value, list):
            raise OwnDataError(f"{path}: expected a single {key}, got {value}. Name one of them.")
    n_before = 0 if header is None or header is False else header + 1
    first = list[str]()
    rows = list[tuple[int, int]]()  # last line and number of fields of each record
    for line, fields in _records(path, text, keys):
        if len(rows) == max(n_before - 1, 0):
            first = fields
        rows.append((line, len(fields)))
    if not first:
        raise OwnDataError(
            f"{path}: expected a first line with the columns' names, got an empty file. Is it the right file?"
        )
    _check_first_line(path, text.partition("\n")[0].strip(), keys, is_single=all(n == 1 for _, n in rows))
    if names is None:
        names = first if n_before else [f"x{place + 1}" for place in range(len(first))]
    has_row_names = index is not None and index is not False
    rows = rows[n_before:]
    _check_fields(path, rows, len(names), n_before, has_row_names=has_row_names)
    if isinstance(index, str) and index not in names:
        raise OwnDataError(f"{path}: expected a column {index!r} for index_col, got none. Correct the name.")
    if rows and rows[0][1] > len(names):
        names = ["", *names]
    options = {name: value for name, value in keys.items() if name not in VALUE_KEYS}
    options |= {"header": None, "names": range(len(names)), "index_col": False, "dtype": str, "na_filter": False}
    options["engine"] = "python" if len(keys["sep"]) > 1 and keys["sep"] != r"\s+" else "c"
    try:
        frame: pd.DataFrame = pd.read_csv(io.StringIO(text), skipinitialspace=True, **options)[n_before:]
        frame = frame.set_axis(pd.Index([line for line, _ in rows], name="line"), axis=0)
        if has_row_names:
            dropped = names.index(index) if isinstance(index, str) else range(len(names))[index]
            frame, names = frame.drop(columns=dropped), [*names[:dropped], *names[dropped + 1 :]]
    except (ValueError, IndexError, OverflowError) as error:  # a ParserError is a ValueError
        raise OwnDataError(f"{path}: expected CSV, got {_first_line(error)}. Correct the file.") from None
    if n_before and "header" not in read:
        _check_header(path, names, frame)
    return frame.set_axis(names, axis=1), ()


def _text_of(path: str | Path, encoding: str, compression: Any) -> str:
    """Return the text of a file that may be compressed."""
    from pandas.io.common import get_handle  # type: ignore[import-not-found]

    is_utf8 = encoding.lower() in ("utf-8", "utf8")
    try:
        with get_handle(path, "r", encoding="utf-8-sig" if is_utf8 else encoding, compression=compression) as opened:
            text: str = opened.handle.read()
    except UnicodeDecodeError as error:
        content = error.object
        other = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "cp1252" if is_utf8 else "utf-8"
        line, byte = content.count(b"\n", 0, error.start) + 1, content[error.start]
        raise OwnDataError(
            f"{path}, line {line}: expected {encoding} text, got the byte 0x{byte:02x}. Set {read_key(encoding=other)},"
            " or the encoding of the program that wrote it."
        ) from None
    except (OSError, LookupError, ValueError, EOFError, ImportError, zlib.error, LZMAError, BadZipFile) as error:
        got = getattr(error, "strerror", None) or _first_line(error)
        raise OwnDataError(
            f"{path}: expected a readable file, got {got}. Check the path, the encoding and the compression."
        ) from None
    if "\0" in text and text.startswith("PK"):
        raise OwnDataError(f"{path}: expected text, got a workbook or an archive. Export the table as CSV.")
    if "\0" in text:
        raise OwnDataError(
            f"{path}: expected {encoding} text, got NUL characters. Set {read_key(encoding='utf-16-le')}, or the"
            " encoding of the program that wrote it."
        )
    return text


def _records(path: str | Path, text: str, keys: Mapping[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """Yield the last line and the fields of each record: pandas neither counts missing fields nor names lines."""
    skipped, comment, separator = keys.get("skiprows", 0), keys.get("comment"), keys["sep"]
    is_skipped = (lambda n: n in skipped) if isinstance(skipped, list) else (lambda n: n < skipped)
    lines: Iterator[str] = io.StringIO(text, newline="")
    if skipped:
        lines = ("\n" if is_skipped(number) else line for number, line in enumerate(lines))
    quote, blank = re.escape(keys.get("quotechar", '"')), not keys.get("skip_blank_lines", True)
    if comment:
        shown = re.compile(rf"({quote}[^{quote}]*{quote})|{re.escape(comment)}.*")
        lines = (shown.sub(r"\1", line) for line in lines)
    if len(separator) > 1:
        try:
            split = re.compile(separator).split
        except re.error as error:
            raise OwnDataError(
                f"{path}: expected a character or a regular expression as sep, got {separator!r}: {error}. Correct it."
            ) from None
        # pandas knows quotation marks around spaces, but not around other expressions.
        quoted = re.compile(rf"(?:{quote}[^{quote}]*{quote}|\S)+").findall
        for number, line in enumerate(lines, 1):
            if line.strip() and separator == r"\s+":
                yield number, [re.sub(quote, "", field) for field in quoted(line)]
            elif line.strip():
                yield number, split(line.strip())
        return
    reader = csv.reader(lines, delimiter=separator, quotechar=keys.get("quotechar", '"'), skipinitialspace=True)
    try:
        yield from ((reader.line_num, row) for row in reader if row or blank)
    except csv.Error as error:
        raise OwnDataError(f"{path}, line {reader.line_num}: expected CSV, got {error}. Correct the line.") from None


def _check_first_line(path: str | Path, line: str, keys: Mapping[str, Any], *, is_single: bool) -> None:
    """Raise OwnDataError for a first line that names its separator, is a comment, or has another separator."""
    if keys.get("skiprows") or keys.get("comment"):
        return
    wanted, best = "a first line with the columns' names", max(_SEPARATORS, key=line.count)
    if match := re.fullmatch("sep=(.)", line):
        advice = read_key(sep=match[1], skiprows=1)
    elif line.startswith(("#", "%")):
        advice = read_key(comment=line[0])
    elif keys["sep"] in _SEPARATORS and line.count(best) > line.count(keys["sep"]):
        wanted, advice = f"columns separated by {keys['sep']!r}", read_key(sep=best)
    elif is_single and len(line.split()) > 1:
        wanted, advice = f"columns separated by {keys['sep']!r}", read_key(sep=r"\s+")
    else:
        return
    raise OwnDataError(f"{path}, line 1: expected {wanted}, got {line[:60]!r}. Set {advice}.")


def _check_fields(
    path: str | Path, rows: Sequence[tuple[int, int]], n_names: int, n_before: int, *, has_row_names: bool
) -> None:
    """Raise OwnDataError for rows whose number of fields differs from the number of names."""
    counts = {n for _, n in rows}
    if counts <= {n_names} or (has_row_names and counts == {n_names + 1}):
        return
    if len(counts) == 1:
        got = f"{rows[0][1]} in each of the {len(rows)} rows"
        remedy = f"If the names are in the next line, set {read_key(header=n_before)}."
        if counts == {n_names + 1}:
            remedy = f"If the first field is the name of the row, set {read_key(index_col=0)}."
    else:
        wrong = [(line, n) for line, n in rows if n != n_names]
        shown = ", ".join(f"{n} in line {line}" for line, n in wrong[:3]) + (" …" if len(wrong) > 3 else "")
        got, remedy = f"another number in {len(wrong)} of {len(rows)} rows: {shown}", "Correct the lines."
    raise OwnDataError(f"{path}: expected {n_names} fields, as in the header, got {got}. {remedy}")


def _check_header(path: str | Path, names: Sequence[str], frame: pd.DataFrame) -> None:
    """Raise OwnDataError if the names are numbers where the columns have numbers: the first line is a row of data."""
    import pandas as pd

    def is_number(texts: Any) -> bool:
        return bool(pd.to_numeric(texts, errors="coerce").notna().all())

    numeric = [name for place, name in enumerate(names) if len(frame) and is_number(frame.iloc[:, place])]
    if numeric and is_number(pd.Series(numeric, dtype=object)):
        raise OwnDataError(
            f"{path}, line 1: expected the columns' names, got values as in other rows, {', '.join(names[:3])}. Set"
            f" {read_key(header=False)} to name the columns x1, x2, …, or {read_key(header=0)} if they are names."
        )


def read_parquet(path: str | Path) -> Rows:
    """Read a Parquet file; raise OwnDataError if it cannot be read, DataError without pyarrow."""
    import pandas as pd

    try:
        # Nullable types keep whole numbers beside gaps.
        return pd.read_parquet(path, engine="pyarrow", dtype_backend="numpy_nullable"), ()
    except ImportError:
        raise DataError(
            f"{path}: expected pyarrow, which reads Parquet files, got none."
            " Install it: `pip install 'pppca-bench[parquet]'`."
        ) from None
    except (OSError, ValueError) as error:  # pyarrow raises both
        got = _first_line(error)
        raise OwnDataError(f"{path}: expected a Parquet file, got {got}. Check the path and the file.") from None


def read_arff(path: str | Path) -> Rows:
    """Read a dense or sparse ARFF file by liac-arff; a nominal attribute is a category. Raises OwnDataError."""
    import arff
    import pandas as pd

    text = _text_of(path, "utf-8", "infer")
    # Texts, for liac-arff rounds whole numbers beyond 2⁵³, cuts the decimals of INTEGER, and knows no dates.
    text = _SCALAR_ATTRIBUTE.sub(r"\1STRING", text)
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
    return frame, ()


def load_given(path: str | Path) -> Rows:
    """Return the data frame that a caller gave, from a file of this process's temporary folder."""
    rows: Rows = pickle.loads(Path(path).read_bytes())
    return rows


def read_sklearn(name: str) -> Rows:
    """Read a data set bundled with scikit-learn; targets are the last columns."""
    _check_name("sklearn", name, SKLEARN_NAMES)
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    return bunch.frame, _target_names(bunch.target)


def read_proben1(family: str) -> Rows:
    """Return all examples of a Proben1 family, without splits, in the order of the first permutation.

    Columns are named in1, in2, …, and class, or out1, out2, … for approximation.
    """
    import pandas as pd

    families = [info.family for info in map(problem_info, known_problems("proben1"))]
    remedy = f"A name with a number, such as `problems: [{families[0]}1]`, is a problem with its own split."
    _check_name("proben1", family, dict.fromkeys(families), remedy)
    problem = load_proben1(problem_info(f"{family}1"))
    X = np.vstack([problem.X_train, problem.X_validation, problem.X_test])
    y = np.concatenate([problem.y_train, problem.y_validation, problem.y_test])
    targets = ("class",) if y.ndim == 1 else tuple(f"out{place + 1}" for place in range(y.shape[1]))
    frame = pd.DataFrame(X, columns=[f"in{place + 1}" for place in range(X.shape[1])])
    frame[list(targets)] = y.reshape(len(y), -1)
    return frame, targets


def read_uci(name: str) -> Rows:
    """Read a packaged UCI data set; data/README.md has the origins."""
    _check_name("uci", name, uci_sets())
    return read_csv(find_uci(uci_sets()[name]), {})[0], ("class",)


def _check_name(
    source: Source, name: str, known: Collection[str], remedy: str = "Others are on openml.org: `openml: NUMBER`."
) -> None:
    """Raise UnknownProblemError for an unknown name of a source."""
    if name not in known:
        expected, hint = listed(known, name), nearest(name, known)
        raise UnknownProblemError(f"{source}:{name}: expected one of {expected}, got {name!r}{hint}. {remedy}")


def read_openml(number: str, data_dir: str | Path | None = None, *, only_local: bool = False) -> Rows:
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
    digest = hashlib.sha256(bunch.frame.to_csv(index=False).encode()).hexdigest()
    if present is None:
        atomic_write(folder / record, f"{digest}\n")
        present = folder
    recorded = (folder / record).read_text(encoding="ascii", errors="replace").strip()
    if digest != recorded:
        raise DataError(
            f"{source}: expected the data of the first download (SHA-256 {recorded[:12]}... in {folder / record}),"
            f" got other data ({digest[:12]}...). Delete that file to take the new data."
        )
    return bunch.frame, () if bunch.target is None else _target_names(bunch.target)


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
