"""Problems: Proben1 files, scikit-learn's data sets, user-defined tables and files."""

from pppca_bench.problems.declaration import OwnData
from pppca_bench.problems.load import (
    ProblemSource,
    load_data_set,
    load_problem,
    load_source,
    open_problem,
)
from pppca_bench.problems.own_data import DataSet
from pppca_bench.problems.proben1 import export_files, find_file, find_user_file
from pppca_bench.problems.problem import (
    PROBEN1_URL,
    Problem,
    Task,
    known_problems,
    problem_info,
    registered,
)
from pppca_bench.problems.read_dt import read_dt
from pppca_bench.problems.splits import SplitRule

__all__ = [
    "PROBEN1_URL",
    "DataSet",
    "OwnData",
    "Problem",
    "ProblemSource",
    "SplitRule",
    "Task",
    "export_files",
    "find_file",
    "find_user_file",
    "known_problems",
    "load_data_set",
    "load_problem",
    "load_source",
    "open_problem",
    "problem_info",
    "read_dt",
    "registered",
]
