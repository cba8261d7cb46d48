"""Packaged Proben1 files: loading, digests, export, and the user's folders of data."""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path

from pppca_bench.errors import DataError, OwnDataError, nearest
from pppca_bench.files import atomic_write
from pppca_bench.problems.problem import (
    PROBEN1_URL,
    Problem,
    ProblemInfo,
    known_problems,
    problem_info,
    registered,
)
from pppca_bench.problems.read_dt import read_dt

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDERS = (_PACKAGE / "data", _PACKAGE.parent / "data")
"""Folders of the packaged data, in an installed package and in the repository."""


def packaged_file(name: str) -> Path:
    """Return the path of a packaged file, which is missing if no folder has it."""
    return next(
        (folder / name for folder in _FOLDERS if (folder / name).is_file()), _FOLDERS[0] / name
    )


def load_proben1(info: ProblemInfo, data_dir: str | Path | None = None) -> Problem:
    """Return a Proben1 problem from one of `user_folders` or the package; raise DataError for other data."""
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
    archive = packaged_file(name)
    if not archive.is_file():
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
    infos = map(problem_info, known_problems() if names is None else names)
    files = {Path(folder, info.filename): info for info in infos if info.source == "proben1"}
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for path, info in files.items():
            atomic_write(path, read_packaged(info))
    except OSError as error:
        raise DataError(
            f"{folder}: expected a writable folder, got {error.strerror}. Give another folder."
        ) from error
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
        hint = nearest(path.stem, registered()) if path.suffix == ".dt" else ""
        raise OwnDataError(f"{path}: expected a file, got none there{hint}. Check the path.")
    return path


def absolute_path(path: str | Path) -> Path:
    """Return an absolute path, with ~ expanded."""
    return _expand_home(path).absolute()


def _expand_home(path: str | Path) -> Path:
    return Path(os.path.expanduser(path))  # noqa: PTH111 an unknown ~user stays as it is
