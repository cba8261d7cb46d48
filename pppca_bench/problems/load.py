"""Finding a problem by its name: where files are looked for, where they go, and what is read from them."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from pppca_bench.errors import DataError, OwnDataError
from pppca_bench.problems.bundled import load_bundled
from pppca_bench.problems.fetch import FetchedFile, Progress, fetch
from pppca_bench.problems.problem import Problem
from pppca_bench.problems.read_dt import read_dt
from pppca_bench.problems.registry import ProblemInfo, proben1_infos, problem_info, suggest

_LOCAL = Path("data")


def load_problem(name: str, data_dir: str | Path | None = None) -> Problem:
    """Return a problem by name, or the one in a .dt file of the user's own.

    Parameters
    ----------
    name : str
        Name of a known problem, or the path of a file ending in ``.dt``, which is checked for its form alone.
    data_dir : str or Path, optional
        First folder to look for a Proben1 file, see `search_path`.

    Returns
    -------
    Problem
        Its inputs and targets, split into training, validation and test samples.

    Raises
    ------
    DataError
        If the name is unknown (with the nearest known one), its file is in none of the folders, or the file
        is malformed or not the registered one.
    """
    if name.endswith(".dt"):
        path = find_own_file(name)
        try:
            return read_dt(path, remedy="Correct the file.")
        except DataError as error:
            raise OwnDataError(str(error)) from None
    info = problem_info(name)
    return load_bundled(name) if info.source == "bundled" else _load_proben1(info, data_dir)


def search_path(data_dir: str | Path | None = None) -> list[Path]:
    """Return the folders that may hold Proben1 files, the first to be asked first.

    They are `data_dir`, the folder in $PPPCA_DATA, ``data`` in the working directory and the user's cache
    folder; the first two only where they are given.

    Parameters
    ----------
    data_dir : str or Path, optional
        The folder of the command line's ``--data``.
    """
    return list(_folders(data_dir))


def find_file(name: str, data_dir: str | Path | None = None) -> Path | None:
    """Return the first place on the search path that holds a Proben1 problem's file, or None.

    Parameters
    ----------
    name : str
        Name of a Proben1 problem.
    data_dir : str or Path, optional
        First folder, see `search_path`.

    Raises
    ------
    DataError
        If the name is unknown.
    """
    filename = problem_info(name).filename
    return next((folder / filename for folder in _folders(data_dir) if _is_file(folder / filename)), None)


def fetch_dir(data_dir: str | Path | None = None) -> Path:
    """Return the folder that new files go to: the first of the search path that is given or exists.

    Choice: ``data`` in the working directory is taken only if it exists, so that a run elsewhere leaves no
    folder behind; the cache folder is the last resort.

    Parameters
    ----------
    data_dir : str or Path, optional
        First folder, see `search_path`.

    Raises
    ------
    DataError
        If no folder is given or exists, and the user has no home folder.
    """
    if asked_for := _asked_for(data_dir):
        return asked_for[0]
    if _LOCAL.is_dir():
        return _LOCAL
    if (cached := cache_dir()) is None:
        raise DataError(
            "data: expected a folder for the Proben1 files, got none, for there is no home folder. Give one with"
            " --data DIR."
        )
    return cached


def cache_dir() -> Path | None:
    """Return the folder for data in the user's cache, as the operating system has it; None without a home folder."""
    import pooch  # slow to import, and not needed where the files are nearer

    try:
        return Path(pooch.os_cache("pppca"))
    except RuntimeError:
        return None


def ensure(
    names: Iterable[str], data_dir: str | Path | None = None, *, progress: Progress | None = None
) -> list[FetchedFile]:
    """Download the files of those problems that no folder of the search path holds, into `fetch_dir`.

    A damaged file is not replaced: `load_problem` names it, for it may be the only trace of a mistake.

    Parameters
    ----------
    names : iterable of str
        Known problems and paths of .dt files; only Proben1 problems can lack anything.
    data_dir : str or Path, optional
        First folder, see `search_path`.
    progress : callable(n_finished, n_total), optional
        See `fetch`.

    Raises
    ------
    DataError
        If a name is unknown or the download fails.
    """
    infos = proben1_infos(name for name in names if not name.endswith(".dt"))
    missing = [info.name for info in infos if find_file(info.name, data_dir) is None]
    return fetch(missing, fetch_dir(data_dir), progress=progress) if missing else []


def _folders(data_dir: str | Path | None) -> Iterator[Path]:
    # One after another, so that the cache folder, whose look-up imports pooch, is asked for last.
    yield from _asked_for(data_dir)
    yield _LOCAL
    if (cached := cache_dir()) is not None:
        yield cached


def _asked_for(data_dir: str | Path | None) -> list[Path]:
    return [_expanded(folder) for folder in (data_dir, os.environ.get("PPPCA_DATA")) if folder]


def _expanded(path: str | Path) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # "~name" of a user who has no home is a name like any other
        return Path(path)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder that may not be searched holds nothing for this user
        return False


def _load_proben1(info: ProblemInfo, data_dir: str | Path | None) -> Problem:
    path = find_file(info.name, data_dir)
    if path is None:
        folders = ", ".join(map(str, search_path(data_dir)))
        raise DataError(
            f"{info.filename}: expected in one of the folders {folders}, got none. "
            f"Run `pppca data fetch {info.name}`, or `pppca data fetch --from DIR` with a local copy; "
            "`pppca run demo` needs no download."
        )
    remedy = f"The file is damaged: run `pppca data fetch --force {info.name}{_data_option(path, data_dir)}`."
    problem = read_dt(path, remedy=remedy)
    if problem.sha256 != info.sha256:
        raise DataError(
            f"{info.filename} in {path.parent}: expected SHA-256 {info.sha256}, got {problem.sha256}. {remedy}"
        )
    return problem


def _data_option(path: Path, data_dir: str | Path | None) -> str:
    asked_for = data_dir is not None and path.parent == _expanded(data_dir)
    return f" --data {path.parent}" if asked_for else ""


def find_own_file(name: str, folder: str | Path = ".") -> Path:
    """Return the path of a file of the user's own.

    Parameters
    ----------
    name : str
        Its path, absolute or seen from the folder; ``~`` is the user's home.
    folder : str or Path, default="."
        For a file that a config names, the config's own folder.

    Raises
    ------
    OwnDataError
        If there is no such file; of a .dt file the message gives the known problem that is meant, where one is like it.
    """
    path = Path(folder) / _expanded(name)
    if not _is_file(path):
        if path.suffix == ".dt":
            raise OwnDataError(f"{path}: expected a .dt file, got none there. {suggest(path.name)}")
        raise OwnDataError(f"{path}: expected a file, got none there. Check the path.")
    return path
