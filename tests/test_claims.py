"""The slides' claims: each verdict by made-up evidence, and the page that holds them."""

import re
from pathlib import Path

import pandas as pd
import pytest

from pppca_bench.references.reference import own_references
from pppca_bench.reporting.claims import (
    COMPARED,
    Evidence,
    Finding,
    advice_of,
    all_of,
    difference_text,
    judge_claims,
    no_worse,
    paired_difference,
    render_findings,
)
from pppca_bench.reporting.figure_data import Figure, Panel
from pppca_bench.reporting.summary import Results, Summary, summarise
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.runs import Cell, ProblemFacts, RunResult, RunSpec, Selector

CLAIMS = own_references()[0].claims
NOTHING = Evidence(Results.of_runs([]), {}, {}, {}, CLAIMS)
CUTTING, RESOURCE, REPAIR, TIME, ACCURACY, SPEED, BESIDE_PCA = range(7)
NAMES = ("cancer1", "glass1", "heart1", "horse1")
FACTS = {name: ProblemFacts(name, "a", "classification", name[:-1], 9, 2, 100, 50, 50) for name in NAMES}


def interval(low: float, high: float) -> Summary:
    return Summary((low + high) / 2, 1.0, 4, low, high)


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [
        (interval(-3.0, 0.5), "holds"),
        (interval(-3.0, 1.0), "holds"),
        (interval(0.5, 1.01), "undecided"),
        (interval(1.0, 4.0), "undecided"),
        (interval(1.01, 4.0), "does not hold"),
        (interval(-9.0, 9.0), "undecided"),
    ],
)
def test_no_worse_is_judged_by_the_interval_and_the_point_that_matters(difference, verdict):
    assert no_worse(difference) == verdict


def test_differences_are_paired_over_the_data_sets_that_both_have():
    found = paired_difference({"a": 3.0, "b": 5.0, "c": 9.0}, {"b": 4.0, "a": 1.0, "d": 0.0})
    assert found == summarise([2.0, 1.0])
    assert paired_difference({"a": 3.0, "c": 1.0}, {"a": 1.0}) is None
    assert (
        difference_text(Summary(-0.5, 1.0, 4, -1.25, 0.25))
        == "−0.50 points (95 % interval −1.25 to +0.25, 4 data sets)"
    )
    assert difference_text(Summary(0.5, 1.0, 2, 0.0, 1.0), "thresholds").endswith(" to +1.00, 2 thresholds)")


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        ([], "not run"),
        (["not run", "not run"], "not run"),
        (["holds", "not run"], "holds"),
        (["holds", "does not hold"], "holds in part"),
        (["holds in part", "does not hold"], "holds in part"),
        (["holds", "undecided"], "holds in part"),
        (["does not hold", "does not hold"], "does not hold"),
    ],
)
def test_parts_of_a_claim_are_joined(parts, joined):
    assert all_of(parts) == joined


def compared(**errors: list[float]) -> Evidence:
    """Return the comparison of methods with the given test errors on the problems, and nothing else."""
    runs = []
    for method, values in errors.items():
        for problem, error in zip(NAMES, values, strict=True):
            cell = Cell(problem, "a", method, (), ())
            spec = RunSpec(repr(cell), cell, 0, 0)
            known = {"test_error_percent": error, "dimensionality": 3, "fit_time_ms": 2.0}
            runs.append((spec, RunResult(spec.key, "done", values=known)))
    return Evidence(Results.of_runs(runs, {COMPARED: [spec.key for spec, _ in runs]}), FACTS, {}, {}, CLAIMS)


WHOLE = [10.0, 20.0, 30.0, 40.0]
SHIFTS = {"holds": [0.0, 0.1, 0.0, 0.1], "does not hold": [3.0, 3.1, 3.0, 3.1], "undecided": [-9.0, 12.0, -3.0, 5.0]}


@pytest.mark.parametrize("verdict", SHIFTS)
def test_cutting_is_judged_by_the_errors_beside_all_features(verdict):
    errors = [a + b for a, b in zip(WHOLE, SHIFTS[verdict], strict=True)]
    found = judge_claims(compared(ne_ppca=errors, dgha=errors, all_features=WHOLE))[CUTTING]
    assert found.verdict == verdict
    assert len(found.evidence) == 2, "also where no optimality was measured"


def test_a_claim_of_which_one_method_falls_short_holds_in_part():
    high = [error + 3.0 for error in WHOLE]
    assert judge_claims(compared(ne_ppca=WHOLE, dgha=high, all_features=WHOLE))[CUTTING].verdict == "holds in part"


@pytest.mark.parametrize(
    ("shift", "verdict"),
    [
        ([3.0, 3.1, 3.0, 3.1], "holds"),
        ([0.0, 0.1, -0.1, 0.0], "does not hold"),
        ([-1.0, -1.1, -1.0, -1.2], "does not hold"),
        ([-9.0, 12.0, -3.0, 5.0], "undecided"),
    ],
)
def test_the_gain_of_pseudo_pca_is_the_error_of_exact_pca_minus_its_own(shift, verdict):
    exact = [a + b for a, b in zip(WHOLE, shift, strict=True)]
    found = judge_claims(compared(ne_ppca=WHOLE, pca=exact))[BESIDE_PCA]
    assert found.verdict == verdict
    assert "1.00 times as many dimensions" in found.evidence[0]


@pytest.mark.parametrize(("retained", "verdict"), [(100.0, "holds"), (99.9, "does not hold")])
def test_a_complete_basis_holds_the_whole_variance(retained, verdict):
    cell = Cell("cancer1", "a", "ne_ppca", (), ())
    runs = [
        (RunSpec(f"{n}", cell, n, 0), RunResult(f"{n}", "done", values=values))
        for n, values in enumerate(
            [
                {"dimensionality": 9, "retained_variance_percent": retained},
                {"dimensionality": 3, "retained_variance_percent": 50.0},
            ]
        )
    ]
    found = judge_claims(Evidence(Results.of_runs(runs), FACTS, {}, {}, CLAIMS))[RESOURCE]
    assert found.verdict == verdict
    assert found.evidence[0].startswith("In 1 runs ")


def figure(name: str, panels: dict[str, dict[str, list[float]]]) -> Figure:
    drawn = tuple(
        Panel(
            "curves",
            title,
            pd.DataFrame([(label, y) for label, means in curves.items() for y in means]).set_axis(
                ["curve", "mean"], axis=1
            ),
        )
        for title, curves in panels.items()
    )
    return Figure(name, "", "", "", "", drawn, "")


@pytest.mark.parametrize(
    ("curves", "verdict"),
    [
        ({"a": [1.0, 0.8, 0.95], "b": [1.0, 0.9, 0.96]}, "holds"),
        ({"a": [1.0, 0.8, 0.95], "b": [1.0, 0.9, 0.92]}, "holds in part"),
        ({"a": [1.0, 0.8, 0.85], "b": [1.0, 0.9, 0.92]}, "does not hold"),
        ({"a": [1.0, 1.0, 1.0]}, "not run"),
    ],
)
def test_self_repair_is_judged_by_the_optimality_regained_since_its_least(curves, verdict):
    figures = {"F8": figure("F8", {"a) NE-pPCA, by generation": curves})}
    found = judge_claims(Evidence(Results.of_runs([]), {}, {}, figures, CLAIMS))[REPAIR]
    assert found.verdict == verdict
    assert all(sentence.startswith("NE-pPCA: ") for sentence in found.evidence)


def test_self_repair_has_an_interval_over_the_problems():
    # Regained: 0.75 and 0.6125, mean 0.68125, half width 12.706 * 0.097227 / sqrt(2) = 0.8735.
    curves = {"a": [1.0, 0.8, 0.95], "b": [1.0, 0.9, 0.96125]}
    figures = {"F8": figure("F8", {"a) NE-pPCA, by generation": curves})}
    found = judge_claims(Evidence(Results.of_runs([]), {}, {}, figures, CLAIMS))[REPAIR]
    assert (
        "68 % of the largest loss is regained on average (95 % interval −19 to 155 %), and at least half"
        in found.evidence[0]
    )


@pytest.mark.parametrize(
    ("nodes", "verdict"),
    # Of 9 features and 100 samples with 1 node: responses 1000, Gram–Schmidt 9, breeding 36. With 900: 90 %, then less.
    [(1.0, "holds"), (900.0, "does not hold")],
)
def test_times_are_counted_along_the_dimensionalities(nodes, verdict):
    figures = {"F1": figure("F1", {"": {"cancer1": [nodes, nodes]}})}
    found = judge_claims(Evidence(Results.of_runs([]), FACTS, {}, figures, CLAIMS))[TIME]
    assert found.verdict == verdict
    if nodes == 1.0:
        assert f"take {100 * 1000 / 1045:.0f} %; Gram" in found.evidence[0]


def table(name: str, values: dict[tuple[str, str], dict[str, float]]) -> Table:
    methods = {"NE-pPCA": "ne_ppca", "Proben1": "all_features"}
    cells = {
        place: TableCell(
            *place,
            shows=(),
            form="",
            ours={q: summarise([v]) for q, v in one.items()},
            selector=Selector(place[0], methods[place[1]]) if place[1] in methods else None,
        )
        for place, one in values.items()
    }
    return Table(name, "", "", "", {}, {}, cells)


@pytest.mark.parametrize("verdict", SHIFTS)
def test_accuracy_is_judged_column_by_column(verdict):
    ours = [a + b for a, b in zip(WHOLE, SHIFTS[verdict], strict=True)]
    values = {(name, "NE-pPCA"): {"test_error_percent": error} for name, error in zip(NAMES, ours, strict=True)}
    values |= {(name, "Proben1"): {"test_error_percent": error} for name, error in zip(NAMES, WHOLE, strict=True)}
    found = judge_claims(Evidence(Results.of_runs([]), FACTS, {"T2": table("T2", values)}, {}, CLAIMS))[ACCURACY]
    assert found.verdict == verdict
    assert found.evidence[1].startswith("T2, NE-pPCA against Proben1: ")


def speeds(*shares: tuple[int, float]) -> Evidence:
    names = ("speedup", "speedup_operations", "speedup_fast")
    values = {
        (f"cancer1, {share}%", f"tau={tau}"): dict.fromkeys(names, value) for share, value in shares for tau in (5, 10)
    }
    return Evidence(Results.of_runs([]), FACTS, {"T4": table("T4", values)}, {}, CLAIMS)


def test_speed_is_judged_by_operations_with_part_of_the_data_and_with_all():
    assert judge_claims(speeds((100, 5.0), (10, 8.0)))[SPEED].verdict == "holds"
    assert judge_claims(speeds((100, 5.0), (10, 3.0)))[SPEED].verdict == "does not hold"
    assert judge_claims(speeds((100, 0.5), (10, 0.8)))[SPEED].verdict == "does not hold"


def test_the_interval_of_the_speed_is_that_of_the_repeats_geometric_means_along_the_row():
    cells = {
        ("cancer1, 10%", f"tau={tau}"): TableCell(
            "cancer1, 10%", f"tau={tau}", (), "", {}, {}, values={"speedup_operations": dict(enumerate(values))}
        )
        for tau, values in ((5, [2.0, 4.0, 9.0]), (10, [8.0, 4.0]))
    }
    evidence = Evidence(Results.of_runs([]), FACTS, {"T4": Table("T4", "", "", "", {}, {}, cells)}, {}, CLAIMS)
    assert evidence.over_repeats("T4", "cancer1, 10%", "speedup_operations") == summarise([4.0, 4.0])
    assert evidence.over_repeats("T4", "cancer1, 100%", "speedup_operations") is None
    assert evidence.over_repeats("T6", "cancer1, 10%", "speedup_operations") is None


@pytest.mark.parametrize("share", [10, 100])
def test_speed_is_not_judged_where_one_of_the_two_was_not_run(share):
    found = judge_claims(speeds((share, 5.0)))[SPEED]
    assert (found.verdict, found.evidence) == ("not run", ())


def test_without_results_nothing_is_claimed():
    found = judge_claims(NOTHING)
    assert {one.verdict for one in found} == {"not run"}
    assert [one.evidence for one in found] == [()] * len(found)
    assert render_findings(found, {}).count("What this claim needs was not run, or not all of it.") == len(found)


def test_the_page_links_to_what_is_there_and_names_the_rest():
    finding = Finding("It works.", "slide 1", "holds", ("Two of two.",), ("T1", "F8"))
    page = render_findings([finding], {"T1": "tables/T1.md", "T2": "tables/T2.md"})
    assert re.findall(r"\]\(([^)]+)\)", page) == ["tables/T1.md"]
    assert "| 1 | It works. | **holds** |" in page
    assert page.endswith("- Two of two.\n\nNumbers: [T1](tables/T1.md), F8.\n")


def test_when_each_method_is_the_right_tool_is_what_the_benchmarks_say():
    root = Path(__file__).parents[1]
    advice = advice_of((root / "results" / "benchmarks.md").read_text(encoding="utf-8"))
    assert "is the right tool" in advice
    assert "Measured:" not in advice
    assert advice in (root / "docs" / "findings.md").read_text(encoding="utf-8")
    assert advice_of("# Benchmarks") == ""
    assert "right tool" not in render_findings([], {})
