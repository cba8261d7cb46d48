"""Answers to the claims of the slides: verdicts from synthetic evidence, and the page of findings."""

import math
from pathlib import Path

import pandas as pd
import pytest
from full_results import REFERENCES, snapshot_of
from stored_runs import cell_of, results_by_config, results_of, run_of

from pppca_bench.pages.figure_data import Figure, Panel
from pppca_bench.pages.findings import Answers, Finding, joined, render_findings
from pppca_bench.paper.claims import (
    advice_of,
    fitness_operations_percent,
    judge_claims,
    main_results,
    overall_verdict,
)
from pppca_bench.paper.evidence import COMPARED, READINGS, Evidence, read_comparisons
from pppca_bench.paper.experiment import experiments
from pppca_bench.paper.losses import LossComparison
from pppca_bench.runs import ProblemFacts
from pppca_bench.verdicts.numbers import frame_of

CLAIMS = REFERENCES[0].claims
NOTHING = Evidence(results_of([]), {}, frame_of([]), {}, CLAIMS)
CUTTING, RESOURCE, REPAIR, TIME = "cutting", "resource", "self_repair", "time_in_fitness"
ACCURACY, SPEED, BESIDE_PCA, ONE_PASS = "accuracy", "speed", "exact_pca", "one_pass"
FAMILIES = [f"family{i}" for i in range(8)]
FACTS = {
    f"{name}1": ProblemFacts(f"{name}1", "a", "classification", name, 9, 2, 100, 50, 50)
    for name in FAMILIES
}


def line(claim: str, first: str = "A (as written)", other: str = "B", **values) -> LossComparison:
    own = LossComparison(first, other, 20, -0.1, 0.2, 0.4, 0.01, "holds", claim)
    return own._replace(**values)


def both(claim: str, first: str = "A", **values) -> list[LossComparison]:
    """Return a comparison of both readings."""
    return [line(claim, f"{first} ({reading})", **values) for reading in READINGS]


def answers(evidence: Evidence) -> dict[str, Finding]:
    return {name: finding for name, (finding, _) in judge_claims(evidence).items()}


def answered(*lines: LossComparison) -> dict[str, Finding]:
    return answers(NOTHING._replace(compared=lines))


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("p", "verdict"), [(0.02, "holds in part"), (0.03, "undecided")])
def test_features_can_be_cut_if_cases_remain_after_holms_correction(reading, p, verdict):
    cases = {"A": {"a": p}, "C": {"a": 0.999}}
    lines = (line("cutting", f"{name} ({reading})", within=own) for name, own in cases.items())
    finding = answered(*lines)[CUTTING]
    assert finding.verdicts == dict.fromkeys(READINGS, "not run") | {reading: verdict}
    where = "no data set" if verdict == "undecided" else "a"
    said = f"below 1 point on {where}, significantly above on no data set, of 20."
    assert said in finding.evidence[0]
    assert "below 1 point on no data set, significantly above on a, of 20." in finding.evidence[2]


@pytest.mark.parametrize(
    ("verdict", "of_pca", "answer"),
    [
        (
            "holds",
            "does not hold",
            "Yes. … The typical loss is at most 1 point in: A (as written) − B (+0.20).",
        ),
        ("does not hold", "holds", "No. … It is larger in: A (as written) − B (+0.20)."),
        (
            "undecided",
            "undecided",
            "Undecided. … Undecided are typical losses from +0.20 to +0.20 points.",
        ),
    ],
)
def test_comparisons_of_the_experiment_decide_both_ways(verdict, of_pca, answer):
    findings = answered(*both("accuracy", verdict=verdict), *both("exact_pca", verdict=verdict))
    found = [findings[name].verdicts["as written"] for name in (ACCURACY, BESIDE_PCA)]
    assert found == [verdict, of_pca]
    start, clause = answer.split("… ")
    assert findings[ACCURACY].answer.startswith(start)
    assert clause in findings[ACCURACY].answer
    assert findings[ACCURACY].evidence[0] == (
        "As written: A (as written) − B: typical loss +0.20 points (95 % interval −0.10 to +0.40) on 20 data sets;"
        f" p (Holm) 0.01: {verdict}."
    )


def test_one_pass_is_answered_once_since_only_the_fitted_dgha_was_compared():
    finding = answered(line("one_pass", "CCIPCA", "DGHA (fitted)"))[ONE_PASS]
    assert tuple(finding.verdicts.values()) == ("holds", "holds")
    assert finding.answer.startswith("Yes. CCIPCA's typical loss is +0.20 points")


AS_MANY = "PCA, as many as NE-pPCA"


def results_with(*lines: LossComparison) -> list[str]:
    evidence = NOTHING._replace(compared=lines)
    return main_results(evidence, judge_claims(evidence))


@pytest.mark.parametrize(
    ("high", "margin"), [(0.24, "0.25 points"), (0.26, "0.5 points"), (0.9, "1 point")]
)
def test_exact_pca_is_recommended_within_the_least_margin_above_all_intervals(high, margin):
    assert results_with(*both("exact_pca", AS_MANY, low=-3.0, high=high))[0] == (
        f"Use exact PCA. On typical data sets its test error is less than {margin} above pseudo-PCA's with the"
        f" same number of components (typical losses from +0.20 to +0.20 points, 95 % intervals up to +{high:.2f})."
    )


def test_exact_pca_is_not_recommended_where_it_may_lose_more_than_a_point():
    first, *_ = results_with(*both("exact_pca", AS_MANY, low=-0.2, high=1.2))
    assert first.startswith("Whether exact PCA loses against pseudo-PCA")


def test_the_main_results_name_the_claims_by_verdict_without_the_identity():
    assert results_with(*both("accuracy", verdict="does not hold")) == [
        "The slides' claims, and two open questions. Refuted: accuracy does not suffer against other systems."
    ]


def test_an_undecided_claim_is_answered_by_what_alone_is_decided_and_where_the_loss_is_above_0():
    lines = both("accuracy", "A", low=-1.0)
    lines += both("accuracy", "B", verdict="undecided", low=0.1)
    lines += both("accuracy", "C", verdict="undecided", low=-0.1)
    answer = answered(*lines)[ACCURACY].answer
    assert "at most 1 point in: A (as written) − B (+0.20)." in answer
    assert answer.endswith("interval lies above 0 in: B (as written) − B (+0.20).")


def test_lines_are_those_of_the_experiments_tables(tmp_path):
    name = "NE-pPCA (as written) − all features"
    (tmp_path / "E2_tests.csv").write_text(
        f"row,n,p_holm,verdict,typical,low,high\n{name},3,,undecided,0.5,,\n", encoding="utf-8"
    )
    # Ten folds, so that the interval is 2.262 standard errors wide to each side: t = (loss - 1) / error with 9 degrees
    # of freedom is -9.0 in a, -1.8 in b (p = 0.05 before the correction), and in d nothing was cut.
    rows = "a,0,-0.25,0.25,False b,0,-1.25,1.25,False c,1,1,1,False d,0,0,0,True e,0,0,0,False f,2,,,False"
    (tmp_path / "E2_losses.csv").write_text(
        "row,data_set,loss,low,high,is_apart,n\n"
        + "".join(f"{name},{own},10\n" for own in rows.split()),
        encoding="utf-8",
    )
    (own,) = read_comparisons(experiments()[0], tmp_path)
    assert (own.claim, own.name, own.n, own.typical) == ("cutting", name, 3, 0.5)
    p_values = {"a": 4.2e-6, "b": 0.052, "c": 1.0, "e": 0.0, "f": math.nan}
    assert own.within == pytest.approx(p_values, nan_ok=True, rel=0.1)
    assert math.isnan(own.p)
    assert read_comparisons(experiments()[0], tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([], "not run"),
        (["holds"], "holds"),
        (["holds", "does not hold"], "holds in part"),
        (["holds in part", "does not hold"], "holds in part"),
        (["holds", "undecided", "undecided"], "undecided"),
        (["holds", *["does not hold"] * 11], "does not hold"),
    ],
)
def test_parts_of_a_claim_are_joined_by_majority(parts, verdict):
    assert overall_verdict(parts) == verdict


def compared(reading: str = "as written", **values: dict[str, list[float]]) -> Evidence:
    """Return the comparison of methods with the given values of roles, by quantity, on the data sets."""
    runs = []
    for role, quantities in values.items():
        settings = dict(CLAIMS[reading][role.replace("_", " ").replace("speed up", "speed-up")])
        method = str(settings.pop("method"))
        for i, name in enumerate(FAMILIES):
            own = {quantity: given[i] for quantity, given in quantities.items()}
            cell = cell_of(f"{name}1", method, settings, {})
            runs.append(run_of(cell, **{"dimensionality": 3, "fit_time_ms": 2.0} | own))
    return NOTHING._replace(runs=results_by_config({COMPARED[1]: runs}), facts=FACTS)


def test_permutations_of_a_problem_are_averaged():
    cells = [cell_of(name, "ne_ppca", {"result": "final"}, {}) for name in ("one", "two")]
    runs = [run_of(cells[0], test_error_percent=4.0), run_of(cells[1], test_error_percent=7.0)]
    facts = dict.fromkeys(("one", "two"), FACTS["family01"])
    evidence = NOTHING._replace(runs=results_by_config({COMPARED[0]: runs}), facts=facts)
    assert evidence.by_data_set("evolved", "fitted") == {"family0": 5.5}


@pytest.mark.parametrize(("retained", "verdict"), [(100.0, "holds"), (99.9, "does not hold")])
def test_a_complete_basis_holds_the_whole_variance(retained, verdict):
    cell = cell_of("family11", "ne_ppca")
    runs = [
        run_of(cell, 0, dimensionality=9, retained_variance_percent=retained),
        run_of(cell, 1, dimensionality=3, retained_variance_percent=50.0),
    ]
    finding = answers(NOTHING._replace(runs=results_of(runs), facts=FACTS))[RESOURCE]
    assert finding.verdicts == dict.fromkeys(READINGS, verdict)
    assert "Of 1 runs " in finding.evidence[0]


def regained(curves: dict[str, list[float]]) -> Finding:
    """Return the answer for curves of the optimality by generation."""
    panels = [
        Panel("curves", title, pd.DataFrame({"curve": "NE-pPCA, by generation", "mean": means}))
        for title, means in curves.items()
    ]
    drawn = {"F8": Figure("F8", "", "", "", "", panels, "")}
    return answers(NOTHING._replace(figures=drawn))[REPAIR]


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
    assert regained(curves).verdicts == dict.fromkeys(READINGS, verdict)


def test_self_repair_has_an_interval_over_the_problems():
    # Regained: 0.75 and 0.6125, mean 0.68125, half width 12.706 * 0.097227 / sqrt(2) = 0.8735.
    text = "NE-pPCA regains 68 % (95 % interval −19 to 155 %) of the largest loss"
    assert text in regained({"a": [1.0, 0.8, 0.95], "b": [1.0, 0.9, 0.96125]}).evidence[0]


@pytest.mark.parametrize(("shift", "verdict"), [(0.5, "holds"), (2.0, "does not hold")])
def test_self_repair_is_judged_beside_learning_without_removal(shift, verdict):
    whole, kept = ({"optimality_percent": [share] * 8} for share in (99.0, 99.0 - shift))
    evidence = compared(dynamical=kept, dynamical_unremoved=whole)
    assert answers(evidence)[REPAIR].verdicts["as written"] == verdict


def test_fitness_is_counted_with_the_gram_schmidt_process_and_the_responses_of_all_samples():
    # 3 samples, 2 features, 4 nodes: Gram–Schmidt 2 · 16, responses 3 · 3 · 4, breeding 4 · 2 · 4.
    assert fitness_operations_percent(3, 2, 4) == pytest.approx(100 * 68 / 100)


@pytest.mark.parametrize(
    ("sizes", "verdict"),
    [
        ({"cancer1": 350, "heart1": 460}, "holds"),
        ({"cancer1": 350, "heart1": 1}, "holds in part"),
        ({"heart1": 1}, "does not hold"),
        ({"wine": 89}, "not run"),
    ],
)
def test_the_fitness_is_judged_by_its_least_share_on_the_problems_of_t0(sizes, verdict):
    # 9 features, a single node: Gram–Schmidt 9, responses 10 N, breeding 36.
    facts = {
        name: ProblemFacts(name, "a", "classification", name, 9, 2, n_train, 50, 50)
        for name, n_train in sizes.items()
    }
    numbers = snapshot_of([], facts).numbers
    finding = answers(NOTHING._replace(numbers=numbers, facts=facts))[TIME]
    assert finding.verdicts == dict.fromkeys(READINGS, verdict)
    if verdict == "holds":
        assert "takes 99 to 99 % of the multiply-adds" in finding.answer
        assert "cancer1 99.0 and 99.0 %; heart1 99.2 and 99.2 %." in finding.evidence[0]


@pytest.mark.parametrize(
    ("whole", "part", "lost", "verdict"),
    [
        (5.0, 8.0, 0.5, "holds"),
        (5.0, 3.0, 0.5, "holds in part"),
        (0.5, 0.8, 2.0, "does not hold"),
        (5.0, 8.0, 2.0, "does not hold"),
    ],
)
def test_speed_is_judged_by_operations_and_by_what_is_lost_for_it(whole, part, lost, verdict):
    values = values_of_dgha(whole, part, lost)
    assert answers(compared(**values))[SPEED].verdicts["as written"] == verdict


def values_of_dgha(whole: float, part: float, lost: float) -> dict[str, dict[str, list[float]]]:
    """Return the speed-ups with all the data and with a part of it, and the errors, by role and quantity."""
    losses = {"dynamical": lost, "dynamical_by_part": 2 * lost, "hebbian": 0.0}
    ratios = {"speed_up": whole, "speed_up_by_part": part}
    return {
        name: {"test_error_percent": [10.0 * i + loss for i in range(8)]}
        for name, loss in losses.items()
    } | {name: {"speedup_operations": [ratio] * 8} for name, ratio in ratios.items()}


@pytest.mark.parametrize(("part", "verdict"), [(2.0, "holds"), (1.0, "holds in part")])
def test_the_speedups_of_t4_and_t6_are_judged_by_their_means_over_tau(part, verdict):
    # Geometric means of 2 and 8, and of a part of the data: 3 part.
    ratios = {(5.0, 100): 2.0, (10.0, 100): 8.0, (5.0, 10): part, (10.0, 10): 9.0 * part}
    runs = [
        run_of(
            cell_of(
                "cancer1", "dgha_speedup", {"tau": tau, "data_fraction": share, "centre": True}, {}
            ),
            speedup_operations=ratio,
        )
        for (tau, share), ratio in ratios.items()
    ]
    evidence = compared("fitted", **values_of_dgha(5.0, 8.0, 0.5))
    finding = answers(evidence._replace(numbers=snapshot_of(runs).numbers))[SPEED]
    assert finding.verdicts["fitted"] == verdict
    said = f"Speed-up on cancer1 in multiply-adds: 4.0 with all the data, {3 * part:.1f} with 10 %"
    assert any(said in text for text in finding.evidence)


def test_claims_without_results_are_not_run():
    findings = list(answers(NOTHING).values())
    found = {(verdict, one.evidence) for one in findings for verdict in one.verdicts.values()}
    assert found == {("not run", ())}
    page = render_findings([], Answers((), findings), {})
    assert page.count("Runs that this claim needs are missing.") == len(findings)


FINDING = Finding(
    *("It works.", "slide 1", "Yes. Twice.", {"as written": "holds", "fitted": "undecided"}),
    *([("Test", "Two.")], ("Two of two.",), ("T1", "F8")),
)


def test_the_page_of_several_sources_has_a_column_for_each_reading_and_links_to_what_is_there():
    other = Finding("It flies.", "page 2", "No.", {"verdict": "does not hold"})
    first = Answers(["A."], [FINDING], "Claims of A", rule="R.")
    both = joined([first, Answers(["B."], [other], "Claims of B")])
    assert (both.results, both.heading, both.rule) == (["A.", "B."], "Claims", "R.")
    page = render_findings(["Use it."], both, {"T1": "tables/T1.md", "T2": "tables/T2.md"})
    assert page.startswith("# Answers to the claims\n\n- Use it.\n")
    assert "| | claim | as written | fitted | verdict |" in page
    assert "| 1 | It works. | **holds** | undecided | – |" in page
    assert "| 2 | It flies. | – | – | **does not hold** |" in page
    assert "- Two of two.\n\nNumbers: [T1](tables/T1.md), F8.\n" in page


def test_when_each_method_is_the_right_tool_is_what_the_benchmarks_say(tmp_path):
    root = Path(__file__).parents[2]
    advice = advice_of(root / "results" / "benchmarks.md")
    assert "is the right tool" in advice
    assert "Measured:" not in advice
    assert advice in (root / "docs" / "findings.md").read_text(encoding="utf-8")
    (tmp_path / "benchmarks.md").write_text("# Benchmarks", encoding="utf-8")
    assert advice_of(tmp_path / "benchmarks.md") == ""
