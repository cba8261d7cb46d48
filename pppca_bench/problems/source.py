"""Where a problem's data come from, so that another process can load the same ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pppca_bench.errors import DataError
from pppca_bench.problems.load import load_problem
from pppca_bench.problems.problem import Problem
from pppca_bench.problems.registry import problem_info


@dataclass(frozen=True, slots=True)
class ProblemSource:
    """Say where a problem's data are, and which they were.

    Attributes
    ----------
    name : str
        Name of a known problem, or the path of a .dt file of the user's own.
    data_dir : Path or None
        First folder to look for a Proben1 file.
    sha256 : str
        Digest of the data that a plan was made for.
    """

    name: str
    data_dir: Path | None
    sha256: str

    @property
    def is_own(self) -> bool:
        """Tell whether it is a file of the user's own."""
        return self.name.endswith(".dt")

    @property
    def family(self) -> str:
        """Return what a known problem is a permutation of, such as ``"cancer"`` of cancer1."""
        return problem_info(self.name).family


def open_problem(name: str, data_dir: Path | None = None) -> tuple[ProblemSource, Problem]:
    """Load a problem by name, or from a user's own file, and return it with its source.

    Raises
    ------
    DataError
        See `load_problem`.
    """
    problem = load_problem(name, data_dir)
    return ProblemSource(name, data_dir, problem.sha256), problem


@cache
def load_again(source: ProblemSource) -> Problem:
    """Load the data of a source, once a process.

    Raises
    ------
    DataError
        They are no longer there, or no longer the same.
    """
    problem = load_problem(source.name, source.data_dir)
    if problem.sha256 != source.sha256:
        raise DataError(
            f"{source.name}: expected the data that the runs were planned for (SHA-256 {source.sha256[:12]}...), got"
            f" others ({problem.sha256[:12]}...). The file was changed meanwhile: run again."
        )
    return problem
