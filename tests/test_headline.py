"""Main results in sentences: counts of verdicts, and the least errors of a list of runs."""

from dataclasses import replace

from pppca_bench.reporting.claims import Finding
from pppca_bench.reporting.comparison import Comparison
from pppca_bench.reporting.index_page import headline, least_errors
from pppca_bench.reporting.summary import CellSource, summarise
from pppca_bench.reporting.table import Table, TableCell


def test_the_headline_counts_what_was_run_and_names_the_conclusions():
    one = Comparison("T1", "a", "b", "test_error_percent", 2.0, 2.0, 0.1, 3, 1.9, 2.1, 0.0, "reproduced")
    others = [replace(one, row="c", verdict="differs"), replace(one, row="d", n=0, verdict="not run")]
    findings = [Finding("A.", "", "holds", (), ()), Finding("B.", "", "undecided", (), (), "Use PCA.")]
    assert headline([one, *others], findings) == [
        "1 of 2 published numbers are reproduced; 1 differ.",
        "Of the slides' 2 claims, 1 holds and 1 is undecided.",
        "Use PCA.",
    ]
    assert headline([], []) == []


def cell(row: str, column: str, error: float, n_features: float, problem: str = "iris") -> TableCell:
    ours = {"test_error_percent": summarise([error]), "dimensionality": summarise([n_features])}
    source = CellSource("small", {"problem": problem}, "", "")
    return TableCell(row, column, ("test_error_percent", "dimensionality"), "{} ({})", ours, source=source)


def test_of_each_problem_the_least_error_and_the_fewest_features_near_it_are_named():
    cells = [
        cell("a", "5", 3.0, 1.0),
        cell("a", "15", 2.0, 4.0),
        cell("b", "5", 2.9, 2.0),
        cell("w", "5", 9.0, 9.0, "wine"),
    ]
    rows, columns = {name: name for name in "abw"}, {"5": "τ = 5", "15": "τ = 15"}
    table = Table("X", "", "", "", rows, columns, {(cell.row, cell.column): cell for cell in cells})
    assert least_errors(table) == [
        "Least test error: 2.00 % (a, τ = 15); 9.00 % (w, τ = 5).",
        "Fewest features with an error at most 1 point higher: 1.0 (a, τ = 5); 9.0 (w, τ = 5).",
    ]
    assert least_errors(replace(table, cells={})) == []
