"""Index of the results: the cells that were not run, and the headline."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from full_results import CONFIG, snapshot_and_figures
from printed_numbers import judged, number_of
from stored_runs import cell_of, run_of

from pppca_bench.pages.findings import Answers
from pppca_bench.pages.index_page import headline, not_run, sources_document
from pppca_bench.references.numbers import Number, VerdictRule
from pppca_bench.results.statistics import summarise
from pppca_bench.runs import ProblemFacts, StoredRun
from pppca_bench.verdicts.shares import OURS_PROGRAM, RIGHT, Program, shares_of_parts

FACTS = {"cancer1": ProblemFacts("cancer1", "a", "classification", "cancer", 9, 2, 350, 175, 174)}


def ne_ppca_runs(tau: float, n_repeats: int, n_done: int, data: str = "a") -> list[StoredRun]:
    cell = cell_of("cancer1", "ne_ppca", {"centre": True, "tau": tau}, {}, data=data)
    history = {"mean_dimensionality": np.array([9.0, 2.0]), "variances": np.array([[0.5, 0.1]])}
    runs = [run_of(cell, n, dimensionality=2, test_error_percent=2.0) for n in range(n_repeats)]
    return [(s, replace(r, history=history) if s.repeat < n_done else None) for s, r in runs]


def test_what_was_not_run_is_named(tmp_path):
    runs = ne_ppca_runs(5.0, 4, 1) + ne_ppca_runs(10.0, 4, 3)
    runs += ne_ppca_runs(15.0, 1, 1) + ne_ppca_runs(15.0, 1, 0, "b")
    snapshot, figures = snapshot_and_figures(tmp_path, {CONFIG: runs}, FACTS)
    lines = not_run(snapshot, snapshot.names, figures)
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


def test_missing_repeats_of_a_list_are_counted_once_for_each_row(tmp_path):
    values = {"dimensionality": 2, "test_error_percent": 2.0, "reconstruction_error": 1.0}
    cells = [cell_of("cancer1", "dgha", {"tau": 5.0, "n_epochs": n}, {}) for n in (1, 2)]
    runs = [run_of(cell, repeat, **values) for cell in cells for repeat in range(3)]
    runs[1:3] = [(spec, None) for spec, _ in runs[1:3]]
    snapshot, figures = snapshot_and_figures(tmp_path, {"mine": runs, "other": runs[:1]}, FACTS)
    name = "variants_mine"
    said = f"{name}. Settings that mine compares: 2 repeats, in 1 cells"
    assert not_run(snapshot, [name], figures)[0] == said


def test_the_published_index_is_short_and_its_headline_is_in_the_readme():
    root = Path(__file__).parents[2]
    index = (root / "results" / "README.md").read_text(encoding="utf-8")
    readme = " ".join((root / "README.md").read_text(encoding="utf-8").split())
    assert len(index.encode()) <= 40_000
    sentences = re.findall("^- (.*)", index.split("`pppca render`")[0], re.MULTILINE)
    # further sentences are on references that the five lines do not count
    assert [sentence in readme for sentence in sentences[:5]] == [True] * 5


RULE = VerdictRule(margin=1.0)
NOT_RUN = number_of(Number("2.0"), rule=RULE, source="A")
REPRODUCED = NOT_RUN | summarise([2.0, 2.0])._asdict()
DIFFERS = NOT_RUN | summarise([9.0, 9.0])._asdict() | {"row": "c"}
ROWS = [REPRODUCED, DIFFERS, NOT_RUN | {"row": "d"}]


def snapshot_of(rows: list[dict], **others: Any) -> Any:
    """Return a snapshot of printed numbers with the shares of our verdicts, of two numbers each."""
    numbers = judged(rows)
    programs = {OURS_PROGRAM: Program(numbers.index, numbers[["verdict"]].to_numpy(object))}
    programs[RIGHT] = Program(numbers.index[:0], np.empty((0, 1), dtype=object))
    programs |= others
    references = []
    for title in dict.fromkeys(row["source"] for row in rows):
        within = "within half of each" if title == "B" else ""
        references.append(
            SimpleNamespace(title=title, name=title, parts=(), is_added=False, within=within)
        )
    shares = shares_of_parts(numbers, programs, references)
    return SimpleNamespace(references=references, shares_of_parts=shares)


def test_the_headline_counts_what_was_run_and_begins_with_the_papers_results():
    differs = DIFFERS | {"searched": True}
    other = REPRODUCED | {"table": "P3", "searched": True, "source": "B"}
    both = snapshot_of([REPRODUCED, differs, ROWS[2], other])
    of_a = (
        "A: 1 of 2 published numbers are reproduced and 1 differ; 1 of the 1 that no search for settings looked at are"
        " reproduced."
    )
    of_b = "B: 1 of 1 published numbers are reproduced within half of each."
    assert headline(both, Answers()) == [of_a, of_b]
    both.references[1].is_added = True
    assert headline(both, Answers(["Use PCA."])) == ["Use PCA.", of_b]
    expected = ["All published numbers are reproduced: B (1 numbers) and C (1 numbers)."]
    twice = [other, other | {"row": "e", "source": "C"}]
    assert headline(snapshot_of(twice), Answers()) == expected
    assert headline(snapshot_of([]), Answers()) == []


def test_the_nearness_of_a_source_is_beside_that_of_right_and_wrong_programs():
    both = pd.Index([0, 1])
    right = Program(both, np.array([["reproduced"] * 2, ["reproduced", "differs"]], dtype=object))
    wrong = Program(both[:1], np.array([["differs"] * 2], dtype=object))
    found = sources_document(snapshot_of(ROWS, **{RIGHT: right, "exact PCA": wrong})).rows
    wrong_text = "exact PCA 0 (0 to 0) of 1, of which ours are 1"
    assert found == [["A", "1 of 2", "1", "2 (1 to 2)", "0 (0 to 1)", wrong_text]]
