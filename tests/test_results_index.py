"""Index of the results: the cells that were not run, and the headline."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from full_results import CONFIG, tables_and_figures
from stored_runs import cell_of, run_of

from pppca_bench.reporting.comparison import Comparison
from pppca_bench.reporting.findings import Answers
from pppca_bench.reporting.index_page import headline, not_run, sources_document
from pppca_bench.reporting.verdict_shares import RIGHT
from pppca_bench.runs import ProblemFacts, StoredRun

FACTS = {"cancer1": ProblemFacts("cancer1", "a", "classification", "cancer", 9, 2, 350, 175, 174)}


def ne_ppca_runs(tau: float, n_repeats: int, n_done: int, data: str = "a") -> list[StoredRun]:
    cell = cell_of("cancer1", "ne_ppca", {"centre": True, "tau": tau}, {}, data=data)
    history = {"mean_dimensionality": np.array([9.0, 2.0]), "variances": np.array([[0.5, 0.1]])}
    runs = [run_of(cell, n, dimensionality=2, test_error_percent=2.0) for n in range(n_repeats)]
    return [(s, replace(r, history=history) if s.repeat < n_done else None) for s, r in runs]


def test_what_was_not_run_is_named(tmp_path):
    runs = ne_ppca_runs(5.0, 4, 1) + ne_ppca_runs(10.0, 4, 3)
    runs += ne_ppca_runs(15.0, 1, 1) + ne_ppca_runs(15.0, 1, 0, "b")
    lines = not_run(*tables_and_figures(tmp_path, {CONFIG: runs}, FACTS))
    others = "cancer1, card1, diabetes1, glass1, heart1, horse1, soybean1, thyroid1"
    title = "Classification errors (%) for different values of τ"
    assert [line for line in lines if line.startswith(("T1.", "F1.", "F2.", "F4."))] == [
        f"T1. {title}: 29 of 32 cells ({others})",
        f"T1. {title}: 1 of 32 cells, empty because of several settings (cancer1)",
        f"T1. {title}: 4 repeats, in 2 cells",
        "F1. Change of averaged mean dimensionality (NE-pPCA, τ = 10): diabetes1; glass1; heart1",
        "F4. Change of averaged dimensionality (DGHA, 100 % of the data, τ = 10): all of it",
    ]
    # Of 8 × 4 cells one is published as N/A, and one has several settings.
    expected = ["30 of 31 cell", "1 of 31 cells"]
    assert [line.partition(": ")[2][:13] for line in lines if line.startswith("T2.")] == expected


def test_the_published_index_is_short_and_its_headline_is_in_the_readme():
    root = Path(__file__).parents[1]
    index = (root / "results" / "README.md").read_text(encoding="utf-8")
    readme = " ".join((root / "README.md").read_text(encoding="utf-8").split())
    assert len(index.encode()) <= 40_000
    sentences = re.findall("^- (.*)", index.split("`pppca render`")[0], re.MULTILINE)
    assert [sentence in readme for sentence in sentences] == [True] * 5


ONE = Comparison(
    *("T1", "a", "b", "test_error_percent", 2.0, 2.0, 0.1, 3), verdict="reproduced", source="A"
)


def test_the_headline_counts_what_was_run_and_begins_with_the_papers_results():
    differs = ONE._replace(row="c", verdict="differs", searched=True)
    unrun = ONE._replace(row="d", n=0, verdict="not run")
    other = unrun._replace(table="P3", n=3, verdict="reproduced", searched=True, source="B")
    assert headline([ONE, differs, unrun, other], Answers(["Use PCA."])) == [
        "Use PCA.",
        "A: 1 of 2 published numbers are reproduced (50 %) and 1 differ; 1 of the 1 that no search for settings"
        " looked at are reproduced.",
        "B: 1 of 1 published numbers are reproduced (100 %).",
    ]
    expected = ["All published numbers are reproduced: B (1 numbers) and C (1 numbers)."]
    assert headline([other, other._replace(row="e", source="C")], Answers()) == expected
    assert headline([], Answers()) == []


def test_the_nearness_of_a_source_is_beside_that_of_right_and_wrong_programs():
    numbers = [ONE, ONE._replace(row="c", verdict="differs"), ONE._replace(row="d", n=0)]
    record = {"source": "A", "n": 2, "reproduced": 100.0, "ours": 1}
    shares = [record | {"program": RIGHT}, record | {"program": "exact PCA", "reproduced": 50.0}]
    expected = [["A", "1 of 2 (50 %)", "100 % (ours of these: 50 %)", "exact PCA 50 %", "1"]]
    assert sources_document(numbers, shares).rows == expected
