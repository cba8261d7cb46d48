"""Loading of problems: packaged Proben1 files, user-defined files and tables, bundled data sets."""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

from pppca_bench.errors import DataError, OwnDataError
from pppca_bench.files import atomic_write
from pppca_bench.problems.bundled import load_bundled
from pppca_bench.problems.own_data import DataSet, OwnData
from pppca_bench.problems.problem import PROBEN1_URL, Problem, ProblemInfo, known_problems, problem_info, suggest
from pppca_bench.problems.read_dt import read_dt

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDERS = (_PACKAGE / "data", _PACKAGE.parent / "data")
"""Folders of the archives, in an installed package and in the repository."""

_N_CACHED = 4
"""Number of problems, or splits of tables, that a process caches: few, since runs on a problem are successive."""


def load_problem(name: str, data_dir: str | Path | None = None) -> Problem:
    """Return a problem by name, or from a user's .dt file.

    Parameters
    ----------
    name : str
        Name of a known problem, or path of a file ending in ``.dt``, for which only the format is validated.
    data_dir : str or Path, optional
        First folder to look for a Proben1 file, before the folder in $PPPCA_DATA and the package.

    Returns
    -------
    Problem
        Data, split into training, validation and test sets.

    Raises
    ------
    DataError
        If the name is unknown (the message suggests the nearest known name), or the file is malformed or differs from
        the registered file.
    """
    if name.endswith(".dt"):
        path = find_user_file(name)
        try:
            return read_dt(path)
        except DataError as error:
            raise OwnDataError(str(error)) from None
    info = problem_info(name)
    return load_bundled(name) if info.source == "bundled" else _load_proben1(info, data_dir)


def _load_proben1(info: ProblemInfo, data_dir: str | Path | None) -> Problem:
    path = find_file(info.name, data_dir)
    if path is None:
        return read_dt(info.filename, content=read_packaged(info))
    is_option = data_dir is not None and path.parent == _expand_home(data_dir)
    avoidance = "leave out --data" if is_option else "unset PPPCA_DATA"
    remedy = f"The file is damaged: {avoidance} to read the packaged file."
    problem = read_dt(path, remedy=remedy)
    if problem.sha256 != info.sha256:
        raise DataError(
            f"{info.filename} in {path.parent}: expected SHA-256 {info.sha256}, got {problem.sha256}. {remedy}"
        )
    return problem


def read_packaged(info: ProblemInfo) -> bytes:
    """Return the .dt file of a Proben1 problem from the packaged archive of its family.

    Raises DataError if the archive is missing or damaged, or the file differs from the registered file.
    """
    name = f"{info.family}.tar.xz"
    archive = next((folder / name for folder in _FOLDERS if (folder / name).is_file()), None)
    if archive is None:
        raise DataError(
            f"{info.filename}: expected in the package, got no archive {name}. Install pppca-bench again, or give the"
            f" folder of a copy with --data DIR (source: {PROBEN1_URL})."
        )
    try:
        unpacked = io.BytesIO(lzma.decompress(archive.read_bytes()))
        with tarfile.open(fileobj=unpacked, mode="r:") as tar:
            member = tar.extractfile(info.filename)
            content = b"" if member is None else member.read()
        got = hashlib.sha256(content).hexdigest()
    except (OSError, lzma.LZMAError, tarfile.TarError, KeyError) as error:
        got = f"an archive that cannot be read ({error})"
    if got != info.sha256:
        raise DataError(
            f"{info.filename} in {archive}: expected SHA-256 {info.sha256}, got {got}. The archive is damaged: install"
            " pppca-bench again, or give the folder of a copy with --data DIR."
        )
    return content


def export_files(names: Iterable[str] | None, folder: str | Path) -> list[Path]:
    """Write packaged Proben1 files (all for None) to a folder, as published; return their paths.

    Existing files are replaced; bundled problems have no file and are skipped. Raises DataError for an unknown name, a
    damaged archive, or a folder that cannot be written.
    """
    infos = [problem_info(name) for name in dict.fromkeys(known_problems() if names is None else names)]
    files = {Path(folder, info.filename): info for info in infos if info.source == "proben1"}
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for path, info in files.items():
            atomic_write(path, read_packaged(info))
    except OSError as error:
        raise DataError(f"{folder}: expected a writable folder, got {error.strerror}. Give another folder.") from error
    return list(files)


def find_file(name: str, data_dir: str | Path | None = None) -> Path | None:
    """Return the file of a Proben1 problem in one of `user_folders`, or None if there is only the packaged file."""
    filename = problem_info(name).filename
    files = (folder / filename for folder in user_folders(data_dir))
    return next(filter(os.path.isfile, files), None)  # False in an unreadable folder


def user_folders(data_dir: str | Path | None = None) -> list[Path]:
    """Return the user's data folders: `data_dir`, then $PPPCA_DATA, if given."""
    return [_expand_home(folder) for folder in (data_dir, os.environ.get("PPPCA_DATA")) if folder]


def find_user_file(name: str, folder: str | Path = ".") -> Path:
    """Return the path of a user's file, absolute or relative to a folder; raise OwnDataError for a missing file."""
    path = Path(folder) / _expand_home(name)
    if not os.path.isfile(path):  # noqa: PTH113 as above
        kind, remedy = (".dt file", suggest(path.name)) if path.suffix == ".dt" else ("file", "Check the path.")
        raise OwnDataError(f"{path}: expected a {kind}, got none there. {remedy}")
    return path


def _expand_home(path: str | Path) -> Path:
    return Path(os.path.expanduser(path))  # noqa: PTH111 an unknown ~user stays as it is


@dataclass(frozen=True, slots=True)
class ProblemSource:
    """Location and digest of a problem's data, with which worker processes load the same data.

    Attributes
    ----------
    name : str
        Name of a known problem, path of a user's .dt file, or name of a user-defined table.
    data_dir : Path or None
        First folder to look for Proben1 files.
    sha256 : str
        Digest of the data at planning time.
    own : OwnData or None
        Specification of a user-defined table.
    split : int
        Number of the split.
    """

    name: str
    data_dir: Path | None
    sha256: str
    own: OwnData | None = None
    split: int = 0

    @property
    def is_own(self) -> bool:
        """Return whether the data are user-defined."""
        return self.own is not None or self.name.endswith(".dt")

    @property
    def family(self) -> str:
        """Return the family of a known problem, such as ``"cancer"`` for cancer1."""
        return problem_info(self.name).family

    @property
    def n_splits(self) -> int:
        """Return the number of splits."""
        return self.own.rule.n_splits if self.own else 1

    def of_repeat(self, repeat: int) -> ProblemSource:
        """Return the source for a repeat; repeats cycle through the splits."""
        return replace(self, split=repeat % self.n_splits) if self.own else self


def open_problem(
    asked: str | OwnData, data_dir: Path | None = None, *, only_local: bool = False
) -> tuple[ProblemSource, Problem]:
    """Return the source and the first split of a known problem, a .dt file or a table.

    ``data_dir`` is the first folder to look for Proben1 files and downloads; ``only_local`` downloads nothing. Raises
    DataError as `load_problem` and `DataSet` do.
    """
    if isinstance(asked, str):
        problem = load_problem(asked, data_dir)
        return ProblemSource(asked, data_dir, problem.sha256), problem
    data = DataSet(asked, asked.read(data_dir, only_local=only_local))
    return ProblemSource(asked.label, data_dir, data.sha256, asked), data.problem()


@lru_cache(maxsize=_N_CACHED)
def load_source(source: ProblemSource) -> Problem:
    """Return the problem of a source, cached in the process; raise DataError if the data changed."""
    data = load_data_set(source.of_repeat(0))
    if data is not None:
        return data.problem(source.split)
    problem = load_problem(source.name, source.data_dir)
    _check_same(source, problem.sha256)
    return problem


@cache
def load_data_set(source: ProblemSource) -> DataSet | None:
    """Load the table of a source of split 0, once per process; None without a table. Raise DataError if it changed."""
    if source.own is None:
        return None
    data = DataSet(source.own, source.own.read(source.data_dir, only_local=True))
    _check_same(source, data.sha256)
    return data


def _check_same(source: ProblemSource, sha256: str) -> None:
    if sha256 != source.sha256:
        raise DataError(
            f"{source.name}: expected the data that the runs were planned for (SHA-256 {source.sha256[:12]}...), got"
            f" other data ({sha256[:12]}...). The file was changed during the run: run again."
        )
