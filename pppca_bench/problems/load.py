"""Loading of problems: packaged Proben1 files, user-defined files and tables, bundled data sets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path

from pppca_bench.errors import DataError, OwnDataError
from pppca_bench.problems.bundled import load_bundled
from pppca_bench.problems.declaration import OwnData
from pppca_bench.problems.own_data import DataSet
from pppca_bench.problems.proben1 import absolute_path, find_user_file, load_proben1
from pppca_bench.problems.problem import Problem, problem_info
from pppca_bench.problems.read_dt import read_dt

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
    return load_bundled(name) if info.source == "bundled" else load_proben1(info, data_dir)


@dataclass(frozen=True, slots=True)
class ProblemSource:
    """Location and digest of a problem's data, with which worker processes load the same data."""

    name: str  # of a known problem or a table, or path of a user's .dt file
    data_dir: Path | None  # first folder to look for Proben1 files
    sha256: str  # at planning time
    own: OwnData | None = None  # declaration of a table
    split: int = 0
    notices: tuple[str, ...] = field(default=(), compare=False)  # of `DataSet`

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
    requested: str | OwnData, data_dir: Path | None = None, *, only_local: bool = False
) -> tuple[ProblemSource, Problem]:
    """Return the source and the first split of a known problem, a .dt file or a table.

    ``data_dir`` is the first folder to look for Proben1 files and downloads; ``only_local`` downloads nothing. Paths of
    the source are absolute. Raises DataError as `load_problem` and `DataSet` do.
    """
    folder = absolute_path(data_dir) if data_dir is not None else None
    if isinstance(requested, str):
        problem = load_problem(requested, data_dir)
        name = str(absolute_path(requested)) if requested.endswith(".dt") else requested
        return ProblemSource(name, folder, problem.sha256), problem
    data = DataSet(requested, requested.read(data_dir, only_local=only_local))
    declaration = (
        replace(requested, place=str(absolute_path(requested.place)))
        if requested.is_file
        else requested
    )
    return ProblemSource(
        requested.label, folder, data.sha256, declaration, notices=tuple(data.notices)
    ), data.problem()


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
