"""The problems that experiments run on: Proben1's files, scikit-learn's data sets and the user's files."""

from pppca_bench.problems.bundled import load_bundled
from pppca_bench.problems.fetch import FetchedFile, FileStatus, fetch, verify
from pppca_bench.problems.load import (
    cache_dir,
    ensure,
    fetch_dir,
    find_file,
    find_own_file,
    load_problem,
    search_path,
)
from pppca_bench.problems.problem import Problem
from pppca_bench.problems.read_dt import read_dt, read_dt_task
from pppca_bench.problems.registry import (
    PROBEN1_COMMIT,
    PROBEN1_URL,
    ProblemInfo,
    Task,
    known_problems,
    problem_info,
    registered,
)
from pppca_bench.problems.source import ProblemSource, load_again, open_problem

__all__ = [
    "PROBEN1_COMMIT",
    "PROBEN1_URL",
    "FetchedFile",
    "FileStatus",
    "Problem",
    "ProblemInfo",
    "ProblemSource",
    "Task",
    "cache_dir",
    "ensure",
    "fetch",
    "fetch_dir",
    "find_file",
    "find_own_file",
    "known_problems",
    "load_again",
    "load_bundled",
    "load_problem",
    "open_problem",
    "problem_info",
    "read_dt",
    "read_dt_task",
    "registered",
    "search_path",
    "verify",
]
