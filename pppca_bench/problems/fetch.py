"""Fetching the Proben1 files from the network or from a copy, and proving them by their SHA-256."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from pppca_bench.errors import DataError
from pppca_bench.problems.download import download
from pppca_bench.problems.registry import PROBEN1_URL, ProblemInfo, proben1_infos
from pppca_bench.processes import is_running, this_process

Status = Literal["ok", "missing", "damaged"]
Action = Literal["kept", "copied", "downloaded"]
Progress = Callable[[int, int], None]
_STAGING = ".pppca-"
"""Beginning of the names of the folders in which a file is made before it comes to its place; the process follows."""


@dataclass(frozen=True, slots=True)
class FileStatus:
    """Say what stands where a Proben1 file should.

    Attributes
    ----------
    name : str
        Name of the problem.
    path : Path
        Where its file should be.
    status : {"ok", "missing", "damaged"}
        ``"ok"`` only if the SHA-256 is the registry's.
    """

    name: str
    path: Path
    status: Status


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """Say how a Proben1 file came to its place.

    Attributes
    ----------
    name : str
        Name of the problem.
    path : Path
        Where its file is, verified.
    action : {"kept", "copied", "downloaded"}
        ``"kept"`` if a good file was there already.
    """

    name: str
    path: Path
    action: Action


def verify(names: Iterable[str] | None, data_dir: str | Path) -> list[FileStatus]:
    """Compare the files of a folder with the registry's SHA-256.

    Parameters
    ----------
    names : iterable of str or None
        Problems in question, None for all of Proben1; bundled ones have no file and are left out.
    data_dir : str or Path
        Folder; it need not exist.

    Raises
    ------
    DataError
        If a name is unknown or a file cannot be read.
    """
    infos = proben1_infos(names)
    paths = [Path(data_dir) / info.filename for info in infos]
    return [FileStatus(info.name, path, _status(info, path)) for info, path in zip(infos, paths, strict=True)]


def fetch(
    names: Iterable[str] | None,
    target_dir: str | Path,
    *,
    source_dir: str | Path | None = None,
    base_url: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
    retries: int = 2,
) -> list[FetchedFile]:
    """Put verified Proben1 files into a folder.

    A file is downloaded or copied beside its place, proved by its SHA-256 and then moved there in one step,
    so a failure leaves what was there before. A good file is kept, a damaged one is replaced.

    Parameters
    ----------
    names : iterable of str or None
        Problems in question, None for all of Proben1; bundled ones need no file and are left out.
    target_dir : str or Path
        Folder, created if need be.
    source_dir : str or Path, optional
        Folder with a copy of the files, flat or with the folders of the Proben1 repository; no network then.
    base_url : str, optional
        Server with the folders of the Proben1 repository. Default: $PPPCA_DATA_URL, or the pinned commit.
    force : bool, default=False
        Replace good files too.
    progress : callable(n_finished, n_total), optional
        Called at the start and after every file.
    retries : int, default=2
        Further attempts, at least 0, after a failure that may pass: not after an answer such as 404.

    Returns
    -------
    list of FetchedFile
        In the order of the names.

    Raises
    ------
    DataError
        A name is unknown, the folder cannot be written, the copy lacks a file or has a damaged one, the download fails.
    """
    target, infos = Path(target_dir), proben1_infos(names)
    if source_dir is not None:
        action: Action = "copied"
        obtain = _copier(Path(source_dir))
    else:
        action = "downloaded"
        server = base_url or os.environ.get("PPPCA_DATA_URL") or PROBEN1_URL
        obtain = partial(download, base_url=server, retries=retries)
    progress = progress or (lambda *_: None)
    progress(0, len(infos))
    fetched = []
    for info in infos:
        path = target / info.filename
        keep = not force and _status(info, path) == "ok"
        if not keep:
            _place(info, path, obtain)
        fetched.append(FetchedFile(info.name, path, "kept" if keep else action))
        progress(len(fetched), len(infos))
    return fetched


def _status(info: ProblemInfo, path: Path) -> Status:
    try:
        return "ok" if _sha256(path) == info.sha256 else "damaged"
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except OSError as error:
        raise _unreadable(info, path.parent, error) from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unreadable(info: ProblemInfo, folder: Path, error: OSError) -> DataError:
    return DataError(
        f"{info.filename} in {folder}: expected a file that can be read and copied, got {error.strerror}. "
        "Give another folder."
    )


def _place(info: ProblemInfo, path: Path, obtain: Callable[[ProblemInfo, Path], Path]) -> None:
    _sweep(path.parent)
    with _staging(path.parent) as staging:
        verified = obtain(info, staging)
        # pooch leaves its files readable for their owner alone; a data folder is often shared.
        verified.chmod(0o644)
        verified.replace(path)


def _sweep(target: Path) -> None:
    """Remove what killed processes left; what cannot be removed may stay, for it is in nobody's way."""
    for folder in target.glob(f"{_STAGING}*"):
        if not is_running(folder.name.removeprefix(_STAGING).rpartition("-")[0]):
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _staging(target: Path) -> Iterator[Path]:
    try:
        target.mkdir(parents=True, exist_ok=True)
        staging = tempfile.TemporaryDirectory(dir=target, prefix=f"{_STAGING}{this_process()}-")
    except OSError as error:
        raise DataError(
            f"{target}: expected a folder to write to, got {error.strerror}. Give another one with --data DIR."
        ) from error
    with staging as name:
        yield Path(name)


def _copier(source: Path) -> Callable[[ProblemInfo, Path], Path]:
    def copy(info: ProblemInfo, staging: Path) -> Path:
        places = [source / info.filename, source / info.folder / info.filename]
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            raise DataError(
                f"{info.filename} in {source}: expected a copy of the file, got none. Take it from {info.url}."
            )
        try:
            copied = Path(shutil.copyfile(found, staging / info.filename))
        except OSError as error:
            raise _unreadable(info, found.parent, error) from error
        if (sha256 := _sha256(copied)) != info.sha256:
            raise DataError(
                f"{info.filename} in {found.parent}: expected SHA-256 {info.sha256}, got {sha256}. "
                f"This copy is damaged: take the file from {info.url}."
            )
        return copied

    return copy
