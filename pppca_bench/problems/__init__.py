"""The problems that experiments run on: Proben1's files, scikit-learn's data sets and the user's files."""

from pppca_bench.problems.archives import export_files, find_archive, read_packaged
from pppca_bench.problems.bundled import load_bundled
from pppca_bench.problems.load import find_file, find_own_file, load_problem
from pppca_bench.problems.own_data import DataSet, OwnData
from pppca_bench.problems.problem import Problem
from pppca_bench.problems.read_dt import read_dt
from pppca_bench.problems.registry import (
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
    "PROBEN1_URL",
    "DataSet",
    "OwnData",
    "Problem",
    "ProblemInfo",
    "ProblemSource",
    "SplitRule",
    "Table",
    "Task",
    "export_files",
    "find_archive",
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
    "read_packaged",
    "registered",
    "to_table",
]
