"""Where a problem's data come from, so that another process can load the same ones."""

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
"""Known problems that a process keeps, since the runs on one come together."""

_KEPT_SPLITS = 2
"""Splits of own data that a process keeps: it computes a split's runs together, and all of them would fill memory."""


@dataclass(frozen=True, slots=True)
class ProblemSource:
    """Say where a problem's data are, and which they were.

    Attributes
    ----------
    name : str
        Name of a known problem, path of a .dt file of the user's own, or what a table of the user's own is called.
    data_dir : Path or None
        First folder to look for Proben1 files.
    sha256 : str
        Digest of the data that a plan was made for.
    own : OwnData or None
        Where a table of the user's own is, and what is made of it.
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
        """Tell whether the data are the user's own."""
        return self.own is not None or self.name.endswith(".dt")

    @property
    def family(self) -> str:
        """Return what a known problem is a permutation of, such as ``"cancer"`` of cancer1."""
        return problem_info(self.name).family

    @property
    def n_splits(self) -> int:
        """Return the number of splits."""
        return self.own.rule.n_splits if self.own else 1

    def of_repeat(self, repeat: int) -> ProblemSource:
        """Return the source of the split that a repeat has: they take turns."""
        return replace(self, split=repeat % self.n_splits) if self.own else self


def open_problem(
    asked: str | OwnData, data_dir: Path | None = None, *, only_local: bool = False
) -> tuple[ProblemSource, Problem]:
    """Load a problem by name, or from the user's own data, and return it with its source; of several splits the first.

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
    """Load the data of a source, where the process does not still have them.

    Raises
    ------
    DataError
        They are no longer there, or no longer the same.
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
    """Load the table behind a source's problems, once a process; raises DataError as `load_again` does.

    Parameters
    ----------
    source : ProblemSource
    own : OwnData
        The source's own.
    """
    data = _load_data_set(own, source.data_dir, source.sha256)
    _check_same(source, data.sha256)
    return data


@cache
def _load_data_set(own: OwnData, data_dir: Path | None, _sha256: str) -> DataSet:
    # The digest tells apart what was in one file at two times.
    return DataSet(own, own.read(data_dir, only_local=True))


def _check_same(source: ProblemSource, sha256: str) -> None:
    if sha256 != source.sha256:
        raise DataError(
            f"{source.name}: expected the data that the runs were planned for (SHA-256 {source.sha256[:12]}...), got"
            f" others ({sha256[:12]}...). The file was changed meanwhile: run again."
        )
