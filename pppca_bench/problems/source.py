"""Sources of problem data, from which worker processes load the same data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

from pppca_bench.errors import DataError
from pppca_bench.problems.load import load_problem
from pppca_bench.problems.own_data import DataSet, OwnData
from pppca_bench.problems.problem import Problem
from pppca_bench.problems.registry import problem_info

_KEPT_KNOWN = 8
"""Known problems that a process caches; the runs on a problem follow each other."""

_KEPT_SPLITS = 2
"""Splits of user-defined tables that a process caches; all splits might not fit into memory."""


@dataclass(frozen=True, slots=True)
class ProblemSource:
    """Location and digest of a problem's data.

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
    """Load a problem by name or from user-defined data; return its source and its first split.

    Parameters
    ----------
    asked : str or OwnData
        A known problem's name, the path of a .dt file, or a table.
    data_dir : Path, optional
        First folder to look for Proben1 files.
    only_local : bool, default False
        Download nothing.

    Raises
    ------
    DataError
        See `load_problem` and `DataSet`.
    """
    if isinstance(asked, str):
        problem = load_problem(asked, data_dir)
        return ProblemSource(asked, data_dir, problem.sha256), problem
    data = DataSet(asked, asked.read(data_dir, only_local=only_local))
    return ProblemSource(asked.label, data_dir, data.sha256, asked), data.problem()


def load_again(source: ProblemSource) -> Problem:
    """Load the data of a source, from the cache of the process if possible.

    Raises
    ------
    DataError
        If they are missing or have changed.
    """
    return _load_known(source) if source.own is None else _load_split(source, source.own)


@lru_cache(maxsize=_KEPT_KNOWN)
def _load_known(source: ProblemSource) -> Problem:
    problem = load_problem(source.name, source.data_dir)
    _check_same(source, problem.sha256)
    return problem


@lru_cache(maxsize=_KEPT_SPLITS)
def _load_split(source: ProblemSource, own: OwnData) -> Problem:
    return load_data_set(source, own).problem(source.split)


def load_data_set(source: ProblemSource, own: OwnData) -> DataSet:
    """Load the table of a source, once per process; raises DataError like `load_again`.

    Parameters
    ----------
    source : ProblemSource
    own : OwnData
        Specification of the table.
    """
    data = _load_data_set(own, source.data_dir, source.sha256)
    _check_same(source, data.sha256)
    return data


@cache
def _load_data_set(own: OwnData, data_dir: Path | None, _sha256: str) -> DataSet:
    # The digest is part of the cache key: a file may change.
    return DataSet(own, own.read(data_dir, only_local=True))


def _check_same(source: ProblemSource, sha256: str) -> None:
    if sha256 != source.sha256:
        raise DataError(
            f"{source.name}: expected the data that the runs were planned for (SHA-256 {source.sha256[:12]}...), got"
            f" others ({sha256[:12]}...). The file was changed meanwhile: run again."
        )
