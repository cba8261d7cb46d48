"""Loading a problem by its name, from the user's folders, the package or scikit-learn."""

import os
from pathlib import Path

from pppca_bench.errors import DataError, OwnDataError
from pppca_bench.problems.archives import read_packaged
from pppca_bench.problems.bundled import load_bundled
from pppca_bench.problems.problem import Problem
from pppca_bench.problems.read_dt import read_dt
from pppca_bench.problems.registry import ProblemInfo, problem_info, suggest


def load_problem(name: str, data_dir: str | Path | None = None) -> Problem:
    """Return a problem by name, or from a user's .dt file.

    Parameters
    ----------
    name : str
        Name of a known problem, or the path of a file ending in ``.dt``, of which only the format is checked.
    data_dir : str or Path, optional
        First folder to look for a Proben1 file, before the folder in $PPPCA_DATA and the package.

    Returns
    -------
    Problem
        Its inputs and targets, split into training, validation and test samples.

    Raises
    ------
    DataError
        If the name is unknown (the message gives the nearest known name), or the file is malformed or differs from the
        registered one.
    """
    if name.endswith(".dt"):
        path = find_own_file(name)
        try:
            return read_dt(path)
        except DataError as error:
            raise OwnDataError(str(error)) from None
    info = problem_info(name)
    return load_bundled(name) if info.source == "bundled" else _load_proben1(info, data_dir)


def find_file(name: str, data_dir: str | Path | None = None) -> Path | None:
    """Return the user's file of a Proben1 problem, or None if the packaged one is read.

    Parameters
    ----------
    name : str
        Name of a Proben1 problem.
    data_dir : str or Path, optional
        Folder to look in before the one in $PPPCA_DATA.

    Raises
    ------
    DataError
        If the name is unknown.
    """
    filename = problem_info(name).filename
    return next((folder / filename for folder in given_folders(data_dir) if _is_file(folder / filename)), None)


def given_folders(data_dir: str | Path | None = None) -> list[Path]:
    """Return the user's data folders: `data_dir`, then $PPPCA_DATA, each only if given.

    Parameters
    ----------
    data_dir : str or Path, optional
        The folder of the command line's ``--data``.
    """
    return [_expanded(folder) for folder in (data_dir, os.environ.get("PPPCA_DATA")) if folder]


def _expanded(path: str | Path) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # "~name" of a user without a home folder is a name like any other
        return Path(path)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder that may not be searched holds nothing for this user
        return False


def _load_proben1(info: ProblemInfo, data_dir: str | Path | None) -> Problem:
    path = find_file(info.name, data_dir)
    if path is None:
        return read_dt(info.filename, content=read_packaged(info))
    is_option = data_dir is not None and path.parent == _expanded(data_dir)
    remedy = f"The file is damaged: {'leave out --data' if is_option else 'unset PPPCA_DATA'} to read the packaged one."
    problem = read_dt(path, remedy=remedy)
    if problem.sha256 != info.sha256:
        raise DataError(
            f"{info.filename} in {path.parent}: expected SHA-256 {info.sha256}, got {problem.sha256}. {remedy}"
        )
    return problem


def find_own_file(name: str, folder: str | Path = ".") -> Path:
    """Return the path of a user's file.

    Parameters
    ----------
    name : str
        Its path, absolute or relative to the folder; ``~`` is the user's home.
    folder : str or Path, default="."
        For a file named in a config, the folder of the config.

    Raises
    ------
    OwnDataError
        If the file does not exist; for a .dt file the message suggests a known problem with a similar name.
    """
    path = Path(folder) / _expanded(name)
    if not _is_file(path):
        if path.suffix == ".dt":
            raise OwnDataError(f"{path}: expected a .dt file, got none there. {suggest(path.name)}")
        raise OwnDataError(f"{path}: expected a file, got none there. Check the path.")
    return path
