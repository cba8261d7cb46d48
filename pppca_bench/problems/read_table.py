"""Readers of tables: CSV, Parquet and ARFF files, data sets of scikit-learn, Proben1, UCI and openml.org.

Each source becomes a data frame of its own values; `columns` decides the types.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pppca_bench.errors import DataError, OwnDataError, UnknownProblemError, listed, nearest
from pppca_bench.files import atomic_write
from pppca_bench.problems.columns import ColumnError, ColumnKind, check
from pppca_bench.problems.declaration import (
    NO_CSV,
    VALUE_KEYS,
    Declaration,
    Source,
    inapplicable,
    read_key,
)
from pppca_bench.problems.infer import infer
from pppca_bench.problems.proben1 import load_proben1, user_folders
from pppca_bench.problems.problem import known_problems, problem_info
from pppca_bench.problems.read_csv import first_line, read_csv, text_of
from pppca_bench.problems.uci import find_uci, uci_sets

if TYPE_CHECKING:
    import pandas as pd

    from pppca_bench.problems.columns import Typed

    Rows = tuple[pd.DataFrame, tuple[str, ...]]
    """Values of a source and its declared targets."""

SKLEARN_NAMES = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
"""Data sets that scikit-learn bundles as ``load_NAME``."""

_FORMATS: Mapping[str, Source] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arff": "arff",
}
_COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
_SCALAR_ATTRIBUTE = re.compile(
    r"""^(\s*@attribute\s+(?:'[^']*'|"[^"]*"|\S+)\s+)(?:numeric|real|integer|date)\b[^%\n]*""",
    re.I | re.M,
)
_RETRIES, _PAUSE_S = 3, 1.0


@dataclass(frozen=True, eq=False)
class RawTable:
    """Rows of a source, and the types of its columns."""

    own: OwnData
    # values as the source gives them, texts of a CSV file; the index numbers the lines of a file, or the rows
    frame: pd.DataFrame
    targets: tuple[str, ...] = ()  # that the source declares

    @cached_property
    def columns(self) -> dict[str, Typed | ColumnError]:
        """Return the type and the converted values of each column, or the reason why it is unusable."""
        declaration, forms = self.own, dict(self.own.dates)
        kinds: dict[str, ColumnKind] = dict.fromkeys(declaration.categorical, "category")
        kinds |= dict.fromkeys(declaration.text, "text")
        kinds |= dict.fromkeys(forms, "date")
        columns: dict[str, Typed | ColumnError] = {}
        for name in self.frame.columns:
            try:
                columns[name] = infer(
                    self.frame[name], declaration.reading(), kinds.get(name), forms.get(name, "")
                )
            except ColumnError as error:
                columns[name] = error
        return columns

    def typed(self, name: str) -> Typed:
        """Return type and values of a column; raise ColumnError if it is unusable."""
        if isinstance(typed := self.columns[name], ColumnError):
            raise typed
        return typed


def format_of(path: str | Path) -> Source | None:
    """Return the format of a table's file by its suffix, also before that of compression; None for other files."""
    path = Path(path)
    if path.suffix.lower() in _COMPRESSED:
        return format_of(path.with_suffix("")) or "csv"
    return _FORMATS.get(path.suffix.lower())


@dataclass(frozen=True, slots=True)
class OwnData(Declaration):
    """Declaration of a table that can be read; see `Declaration` for its attributes."""

    def read(self, data_dir: str | Path | None = None, *, only_local: bool = False) -> RawTable:
        """Read the table.

        ``data_dir`` is the first folder to look for downloads; ``only_local`` downloads nothing. Raises OwnDataError if
        there is no row or no column, or column names are missing or repeated; see the readers for other exceptions.
        """
        import pandas as pd

        wrong = inapplicable(self.source, dict(self.read_keys))
        with self.explained():
            check(not wrong, NO_CSV, ", ".join(wrong), "leave out the others")
        if self.source == "openml":
            frame, targets = read_openml(self.place, data_dir, only_local=only_local)
        elif self.source == "csv":
            keys = {
                key: value for key, value in self.read_keys if key not in (*VALUE_KEYS, "dtype")
            }
            frame, targets = read_csv(self.place, **keys), ()
        else:
            frame, targets = _READERS[self.source](self.place)
        names = pd.Index([str(name).strip() for name in frame.columns], dtype=object)
        with self.explained():
            if "" in names:
                index = names.tolist().index("")
                remedy = (
                    "name it"
                    if index
                    else f"name it; or, if it has names of rows, set {read_key(index_col=0)}"
                )
                raise ColumnError("a name for each column", f"none for column {index + 1}", remedy)
            twice = "".join(names[names.duplicated()][:1])
            check(not twice, "each column's name once", f"{twice!r} again", "rename one of them")
            got = f"{len(frame)} rows of {len(names)} columns"
            check(not frame.empty, "at least one row and one column", got, "Is it the right data?")
        if self.source != "csv":
            frame = frame.set_axis(pd.RangeIndex(1, len(frame) + 1, name="row"), axis=0)
        return RawTable(self, frame.set_axis(names, axis=1), targets)


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
    declaration = OwnData(format_of(path) or "csv", str(path), read_keys=tuple(read.items()))
    return declaration.read().frame


def read_parquet(path: str) -> Rows:
    """Read a Parquet file; raise OwnDataError if it cannot be read, DataError without pyarrow."""
    import pandas as pd

    try:
        # Nullable types keep whole numbers beside gaps.
        return pd.read_parquet(path, engine="pyarrow", dtype_backend="numpy_nullable"), ()
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


def read_arff(path: str) -> Rows:
    """Read a dense or sparse ARFF file by liac-arff; a nominal attribute is a category. Raises OwnDataError."""
    import arff
    import pandas as pd

    # Texts, for liac-arff rounds whole numbers beyond 2⁵³, cuts the decimals of INTEGER, and knows no dates.
    text = _SCALAR_ATTRIBUTE.sub(r"\1STRING", text_of(path))
    try:
        document = arff.loads(text)
    except (arff.ArffException, ValueError) as error:
        raise OwnDataError(
            f"{path}: expected ARFF, got {first_line(error)}. Correct the file."
        ) from None
    attributes = document["attributes"]
    frame = pd.DataFrame(document["data"], columns=[name for name, _ in attributes])
    for index, (_, kind) in enumerate(attributes):
        if isinstance(kind, list):
            frame.isetitem(index, pd.Categorical(frame.iloc[:, index], kind))
    return frame, ()


def read_given(path: str) -> Rows:
    """Return the data frame that a caller gave, from a file of this process's temporary folder."""
    rows: Rows = pickle.loads(Path(path).read_bytes())
    return rows


def read_sklearn(name: str) -> Rows:
    """Read a data set bundled with scikit-learn; targets are the last columns."""
    _check_name("sklearn", name, SKLEARN_NAMES)
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    return bunch.frame, tuple(bunch.frame.columns[bunch.data.shape[1] :])


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
    targets = ("class",) if y.ndim == 1 else tuple(f"out{index + 1}" for index in range(y.shape[1]))
    frame = pd.DataFrame(X, columns=[f"in{index + 1}" for index in range(X.shape[1])])
    frame[list(targets)] = y.reshape(len(y), -1)
    return frame, targets


def read_uci(name: str) -> Rows:
    """Read a packaged UCI data set; data/README.md has the origins."""
    _check_name("uci", name, uci_sets())
    return read_csv(find_uci(uci_sets()[name])), ("class",)


def _check_name(
    source: Source,
    name: str,
    known: Collection[str],
    remedy: str = "Others are on openml.org: `openml: NUMBER`.",
) -> None:
    """Raise UnknownProblemError for an unknown name of a source."""
    if name not in known:
        expected, hint = listed(known, name), nearest(name, known)
        raise UnknownProblemError(
            f"{source}:{name}: expected one of {expected}, got {name!r}{hint}. {remedy}"
        )


def read_openml(
    number: str, data_dir: str | Path | None = None, *, only_local: bool = False
) -> Rows:
    """Return a data set of openml.org, from `download_folders` or, unless ``only_local``, from the network.

    scikit-learn keeps the files in ``openml/`` of the data folder and verifies the server's checksum. The digest of the
    rows is written to ``openml/NUMBER.sha256`` after the first download, for comparison afterwards. Raises DataError if
    the download failed, or the data differ from the first download.
    """
    from sklearn.datasets import fetch_openml

    source, record = f"openml:{number}", Path("openml", f"{number}.sha256")
    folders = download_folders(data_dir)
    folder = next((folder for folder in folders if (folder / record).is_file()), folders[0])
    path = folder / record
    if only_local and not path.is_file():
        raise DataError(
            f"{source}: expected its files in the data folder, got none. Run `pppca data describe {source}`."
        )
    options = {"data_home": str(folder), "as_frame": True, "n_retries": _RETRIES, "delay": _PAUSE_S}
    try:
        try:
            bunch = fetch_openml(data_id=int(number), parser="auto", **options)
        except TypeError:
            # nominal attributes whose values are numbers, with scikit-learn 1.9 and pandas 3
            bunch = fetch_openml(data_id=int(number), parser="liac-arff", **options)
    except (OSError, ValueError, KeyError) as error:
        # network errors, and invalid answers of the server
        remedy = f"Check the number, the network and the files in {folder / 'openml'}."
        if "Sparse ARFF" in str(error):
            remedy = "It is sparse: download its ARFF file, and name it by `arff: FILE`."
        raise DataError(
            f"{source}: expected a data set of www.openml.org, got {first_line(error)}. {remedy}"
        ) from None
    digest = hashlib.sha256(bunch.frame.to_csv(index=False).encode()).hexdigest()
    if not path.is_file():
        atomic_write(path, f"{digest}\n")
    recorded = path.read_text(encoding="ascii", errors="replace").strip()
    if digest != recorded:
        raise DataError(
            f"{source}: expected the data of the first download (SHA-256 {recorded[:12]}... in {path}),"
            f" got other data ({digest[:12]}...). Delete that file to take the new data."
        )
    return bunch.frame, tuple(bunch.target_names)


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


_READERS: Mapping[Source, Callable[[str], Rows]] = {
    "parquet": read_parquet,
    "arff": read_arff,
    "sklearn": read_sklearn,
    "proben1": read_proben1,
    "uci": read_uci,
    "given": read_given,
}
