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
from pppca_bench.problems.own_data import DataSet, OwnData
from pppca_bench.problems.problem import Problem
from pppca_bench.problems.read_dt import read_dt
from pppca_bench.problems.registry import (
    PROBEN1_COMMIT,
    PROBEN1_URL,
    ProblemInfo,
    Task,
    known_problems,
    problem_info,
    registered,
)
from pppca_bench.problems.source import ProblemSource, load_again, load_data_set, open_problem
from pppca_bench.problems.split import SplitRule
from pppca_bench.problems.table import Table, to_table

__all__ = [
    "PROBEN1_COMMIT",
    "PROBEN1_URL",
    "DataSet",
    "FetchedFile",
    "FileStatus",
    "OwnData",
    "Problem",
    "ProblemInfo",
    "ProblemSource",
    "SplitRule",
    "Table",
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
    "load_data_set",
    "load_problem",
    "open_problem",
    "problem_info",
    "read_dt",
    "registered",
    "search_path",
    "to_table",
    "verify",
]
