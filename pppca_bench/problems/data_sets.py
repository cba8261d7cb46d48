"""Data sets by name: those of scikit-learn, Proben1, UCI and openml.org."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pppca_bench.errors import DataError, UnknownProblemError, listed, nearest
from pppca_bench.files import atomic_write
from pppca_bench.problems.columns import ColumnError, infer
from pppca_bench.problems.proben1 import load_proben1, user_folders
from pppca_bench.problems.problem import known_problems, problem_info
from pppca_bench.problems.read_files import first_line, read_csv
from pppca_bench.problems.uci import find_uci, uci_sets

if TYPE_CHECKING:
    import pandas as pd

    from pppca_bench.problems.read_files import Rows

SKLEARN_NAMES = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
"""Data sets that scikit-learn bundles as ``load_NAME``."""

_RETRIES, _PAUSE_S = 3, 1.0


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
    """Read a packaged UCI data set; data/README.md has the origins.

    Columns of texts are declared categories, such as ``30-39``.
    """
    _check_name("uci", name, uci_sets())
    frame = read_csv(str(find_uci(uci_sets()[name])), {})
    for column in frame.columns:
        if not _has_a_type(frame[column]):
            frame[column] = frame[column].astype("category")
    return frame, ("class",)


def _has_a_type(texts: pd.Series[str]) -> bool:
    """Return whether the rule of types takes texts for numbers or true/false."""
    try:
        column, _ = infer(texts, {})
    except ColumnError:
        return False
    return column.kind != "category"


def _check_name(
    source: str,
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
