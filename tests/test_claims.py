"""Claims of the slides: verdicts from synthetic evidence, and the page of findings."""

import math
import re
from pathlib import Path

import pandas as pd
import pytest
from stored_runs import cell_of, results_by_config, results_of, run_of

from pppca_bench.paper.claims import advice_of, judge_claims, render_findings
from pppca_bench.paper.evidence import COMPARED, READINGS, Evidence, Losses, Part, judge, losses, overall_verdict
from pppca_bench.paper.fitness_times import fitness_times_document
from pppca_bench.references.reference import own_references
from pppca_bench.reporting.document import Finding
from pppca_bench.reporting.figure_data import Figure, Panel
from pppca_bench.reporting.summary import summarise
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.runs import ProblemFacts, Selector

CLAIMS = own_references()[0].claims
NOTHING = Evidence(results_of([]), {}, {}, {}, CLAIMS)
CUTTING, RESOURCE, REPAIR, TIME, ACCURACY, SPEED, BESIDE_PCA = range(7)
FAMILIES = [f"family{i}" for i in range(8)]
FACTS = {f"{name}1": ProblemFacts(f"{name}1", "a", "classification", name, 9, 2, 100, 50, 50) for name in FAMILIES}
SMALL, LARGE = [0.5] * 8, [2.0] * 8
MIXED = [0.5] * 4 + [2.0] * 4


@pytest.mark.parametrize(
    ("n_small", "n", "p"),
    # Two-sided sign test by hand: 8 of 8 2 / 2⁸, 7 of 8 2 (1 + 8) / 2⁸, 6 of 6 2 / 2⁶.
    [(8, 8, 2 / 256), (7, 8, 18 / 256), (0, 8, 2 / 256), (4, 8, 1.0), (6, 6, 2 / 64), (5, 5, math.nan)],
)
def test_the_sign_test_counts_data_sets_with_a_loss_that_does_not_matter(n_small, n, p):
    own = Losses({str(i): 1.0 if i < n_small else 1.01 for i in range(n)})
    assert own.n_small == n_small
    assert own.p == pytest.approx(p, nan_ok=True)


def test_losses_are_paired_over_the_data_sets_that_both_have():
    paired = losses({"a": 3.0, "b": 5.0, "c": 9.0}, {"b": 4.0, "a": 1.0, "d": 0.0})
    assert paired is not None
    assert paired.by_data_set == {"a": 2.0, "b": 1.0}
    assert paired.text(math.nan) == (
        "a loss of at most 1 point on 1 of 2 data sets (larger losses: a +2.00); no test with fewer than 6 data sets;"
        " mean +1.50 points (95 % interval −4.85 to +7.85)"
    )
    assert losses({"a": 3.0, "c": 1.0}, {"a": 1.0}) is None


def beside(values: list[float], *, inverted: bool = False) -> Part:
    return Part("{}", losses=Losses(dict(zip(FAMILIES, values, strict=False))), inverted=inverted)


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([beside(SMALL)], "holds"),
        ([beside(LARGE)], "does not hold"),
        ([beside(SMALL, inverted=True)], "does not hold"),
        ([beside(MIXED)], "undecided"),
        ([beside(SMALL[:5])], "undecided"),
        # Holm's correction: 2 / 256 times 6 is below .05, times 7 is not. Parts without a test do not count.
        ([beside(SMALL)] * 6 + [beside(SMALL[:5])] * 6, "holds in part"),
        ([beside(SMALL)] * 7, "undecided"),
        ([Part("explains")], "not run"),
    ],
)
def test_parts_are_judged_by_the_sign_test_with_holms_correction(parts, verdict):
    assert judge(parts)[0] == verdict


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        (["not run", "not run"], "not run"),
        (["holds", "not run"], "holds"),
        (["holds", "does not hold"], "holds in part"),
        (["holds in part", "does not hold"], "holds in part"),
        (["holds", "undecided", "undecided"], "undecided"),
        (["holds", *["does not hold"] * 11], "does not hold"),
    ],
)
def test_parts_of_a_claim_are_joined_by_majority(parts, verdict):
    assert overall_verdict(parts) == verdict


def compared(
    reading: str = "as written", claims: dict = CLAIMS, config: str = COMPARED[1], **values: dict[str, list[float]]
) -> Evidence:
    """Return the comparison of methods with the given values of roles, by quantity, on the data sets."""
    runs = []
    for role, quantities in values.items():
        settings = dict(claims[reading][role.replace("_", " ").replace("speed up", "speed-up")])
        method = str(settings.pop("method"))
        for i, name in enumerate(FAMILIES):
            known = {"dimensionality": 3, "fit_time_ms": 2.0} | {q: own[i] for q, own in quantities.items()}
            runs.append(run_of(cell_of(f"{name}1", method, settings, {}), **known))
    return Evidence(results_by_config({config: runs}), FACTS, {}, {}, claims)


def errors(shift: list[float]) -> dict[str, list[float]]:
    return {"test_error_percent": [10.0 * i + loss for i, loss in enumerate(shift)]}


NO_LOSS = errors([0.0] * 8)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(
    ("shift", "verdict"), [(SMALL, "holds"), (LARGE, "does not hold"), (MIXED, "undecided")], ids=str
)
def test_cutting_is_judged_beside_all_features_in_each_reading(reading, shift, verdict):
    evidence = compared(reading, evolved=errors(shift), dynamical=errors(shift), untouched=NO_LOSS)
    finding = judge_claims(evidence)[CUTTING]
    assert (finding.verdict if reading == "as written" else finding.fitted) == verdict
    assert (finding.fitted if reading == "as written" else finding.verdict) == "not run"
    assert len(finding.evidence) == 2
    assert all(sentence.startswith(f"{reading.capitalize()}: ") for sentence in finding.evidence)


def test_permutations_of_a_problem_are_averaged():
    permutations = {"one": 4.0, "two": 7.0}
    runs = [run_of(cell_of(name, "all_features"), test_error_percent=error) for name, error in permutations.items()]
    facts = dict.fromkeys(permutations, FACTS["family01"])
    evidence = NOTHING._replace(results=results_by_config({COMPARED[0]: runs}), facts=facts)
    assert evidence.by_data_set("untouched", "fitted") == {"family0": 5.5}


@pytest.mark.parametrize(("shift", "verdict"), [(LARGE, "holds"), (SMALL, "does not hold"), (MIXED, "undecided")])
@pytest.mark.parametrize("exact", ["exact", "evolved_exact"])
def test_pseudo_pca_gains_where_exact_pca_loses_more_than_a_point(exact, shift, verdict):
    finding = judge_claims(compared(evolved=NO_LOSS, **{exact: errors(shift)}))[BESIDE_PCA]
    assert finding.verdict == verdict


def test_exact_pca_is_recommended_unless_it_loses():
    roles = ("evolved", "dynamical", "evolved_exact", "dynamical_exact", "exact")
    finding = judge_claims(compared(**dict.fromkeys(roles, NO_LOSS)))[BESIDE_PCA]
    assert "loses at most 1 point of test error on 8 of 8 data sets against NE-pPCA" in finding.conclusion
    lost = dict.fromkeys(roles, NO_LOSS) | {"evolved_exact": errors(LARGE)}
    assert judge_claims(compared(**lost))[BESIDE_PCA].conclusion == ""


@pytest.mark.parametrize(("retained", "verdict"), [(100.0, "holds"), (99.9, "does not hold")])
def test_a_complete_basis_holds_the_whole_variance(retained, verdict):
    runs = [
        run_of(cell_of("family11", "ne_ppca"), n, dimensionality=n, retained_variance_percent=share)
        for n, share in ((9, retained), (3, 50.0))
    ]
    finding = judge_claims(NOTHING._replace(results=results_of(runs), facts=FACTS))[RESOURCE]
    assert (finding.verdict, finding.fitted) == (verdict, verdict)
    assert "In 1 runs " in finding.evidence[0]


def figures(name: str, title: str, curves: dict[str, list[float]]) -> dict[str, Figure]:
    data = pd.DataFrame([(label, y) for label, means in curves.items() for y in means], columns=["curve", "mean"])
    return {name: Figure(name, "", "", "", "", (Panel("curves", title, data),), "")}


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
    drawn = figures("F8", "a) NE-pPCA, by generation", curves)
    finding = judge_claims(NOTHING._replace(figures=drawn))[REPAIR]
    assert (finding.verdict, finding.fitted) == (verdict, verdict), "NE-pPCA's curves are those of both readings"


def test_self_repair_has_an_interval_over_the_problems():
    # Regained: 0.75 and 0.6125, mean 0.68125, half width 12.706 * 0.097227 / sqrt(2) = 0.8735.
    curves = {"a": [1.0, 0.8, 0.95], "b": [1.0, 0.9, 0.96125]}
    drawn = figures("F8", "a) NE-pPCA, by generation", curves)
    text = "68 % of the largest loss is regained on average (95 % interval −19 to 155 %), and at least half"
    assert text in judge_claims(NOTHING._replace(figures=drawn))[REPAIR].evidence[0]


@pytest.mark.parametrize(("shift", "verdict"), [(0.5, "holds"), (2.0, "does not hold")])
def test_self_repair_is_judged_beside_learning_without_removal(shift, verdict):
    whole = {"optimality_percent": [99.0] * 8}
    kept = {"optimality_percent": [99.0 - shift] * 8}
    assert judge_claims(compared(dynamical=kept, dynamical_unremoved=whole))[REPAIR].verdict == verdict


@pytest.mark.parametrize(
    ("shares", "verdict"), [((90.0, 51.0), "holds"), ((90.0, 50.0), "holds in part"), ((40.0, 50.0), "does not hold")]
)
def test_the_fitness_is_judged_by_its_share_of_the_measured_time(shares, verdict):
    runs = [
        run_of(
            cell_of(problem, "ne_ppca_times"),
            repeat,
            fitness_time_percent=share + shift,
            gram_schmidt_time_percent=10.0,
            responses_time_percent=share + shift - 10.0,
            breeding_time_percent=100.0 - share - shift,
            evolution_time_ms=5.0,
            fitness_operations_percent=operations,
        )
        for problem, share, operations in zip(("cancer1", "horse1"), shares, (97.0, 99.0), strict=True)
        for repeat, shift in enumerate((-2.0, 2.0))
    ]
    results = results_by_config({"fitness_time": runs})
    finding = judge_claims(NOTHING._replace(results=results))[TIME]
    assert finding.fitted == verdict
    *_, mean = fitness_times_document(results).rows
    average = f"{sum(shares) / 2:.1f}"
    assert mean[1] == average
    assert f"the fitness takes {average} % of the time on average ({min(shares):.1f} % on" in finding.evidence[0]
    assert "the Gram–Schmidt process 10.0 %" in finding.evidence[1]
    assert "the fitness takes 97.0 to 99.0 %" in finding.evidence[1]


def table(name: str, values: dict[tuple[str, str], dict[str, float]]) -> Table:
    methods = {"NE-pPCA": "ne_ppca", "Proben1": "all_features"}
    cells = {
        place: TableCell(
            *place,
            shows=(),
            form="",
            ours={q: summarise([v]) for q, v in own.items()},
            selector=Selector(place[0], methods[place[1]]) if place[1] in methods else None,
        )
        for place, own in values.items()
    }
    return Table(name, "", "", "", {}, {}, cells)


@pytest.mark.parametrize(("shift", "verdict"), [(SMALL, "holds"), (LARGE, "does not hold"), (MIXED, "undecided")])
def test_accuracy_is_judged_beside_each_other_system(shift, verdict):
    values = {(f"{name}1", "Proben1"): {"test_error_percent": 10.0 * i} for i, name in enumerate(FAMILIES)}
    evidence = compared(evolved=errors(shift))._replace(tables={"T2": table("T2", values)})
    finding = judge_claims(evidence)[ACCURACY]
    assert finding.verdict == verdict
    assert finding.evidence[1].startswith("As written: T2, NE-pPCA against Proben1: a loss of at most 1 point on ")


@pytest.mark.parametrize(
    ("whole", "part", "verdict"), [(5.0, 8.0, "holds"), (5.0, 3.0, "does not hold"), (0.5, 0.8, "does not hold")]
)
def test_speed_is_judged_by_operations_with_part_of_the_data_and_with_all(whole, part, verdict):
    ratios = {"speed_up": {"speedup_operations": [whole] * 8}, "speed_up_by_part": {"speedup_operations": [part] * 8}}
    assert judge_claims(compared(**ratios))[SPEED].verdict == verdict
    assert judge_claims(compared(speed_up=ratios["speed_up"]))[SPEED].verdict == "not run"


def speeds(*shares: tuple[int, float]) -> Evidence:
    names = ("speedup", "speedup_operations", "speedup_fast")
    values = {
        (f"cancer1, {share}%", f"tau={tau}"): dict.fromkeys(names, value) for share, value in shares for tau in (5, 10)
    }
    return NOTHING._replace(tables={"T4": table("T4", values)})


def test_measured_times_are_those_of_the_fitted_settings():
    assert judge_claims(speeds((100, 5.0), (10, 8.0)))[SPEED].fitted == "holds"
    assert judge_claims(speeds((100, 5.0), (10, 3.0)))[SPEED].fitted == "does not hold"
    assert judge_claims(speeds((10, 8.0)))[SPEED].fitted == "not run"


def test_the_interval_of_the_speed_is_that_of_the_repeats_geometric_means_along_the_row():
    cells = {
        ("cancer1, 10%", f"tau={tau}"): TableCell(
            "cancer1, 10%", f"tau={tau}", (), "", {}, {}, values=lambda _, values=values: dict(enumerate(values))
        )
        for tau, values in ((5, [2.0, 4.0, 9.0]), (10, [8.0, 4.0]))
    }
    evidence = NOTHING._replace(tables={"T4": Table("T4", "", "", "", {}, {}, cells)})
    assert evidence.over_repeats("T4", "cancer1, 10%", "speedup_operations") == summarise([4.0, 4.0])
    assert evidence.over_repeats("T4", "cancer1, 100%", "speedup_operations") is None
    assert evidence.over_repeats("T6", "cancer1, 10%", "speedup_operations") is None


def test_claims_without_results_are_not_run():
    findings = judge_claims(NOTHING)
    assert {finding.verdict for finding in findings} == {"not run"}
    assert [finding.evidence for finding in findings] == [()] * len(findings)
    assert render_findings(findings, {}).count("Runs that this claim needs are missing.") == len(findings)


def test_the_page_links_to_what_is_there_and_names_the_rest():
    finding = Finding("It works.", "slide 1", "holds", "undecided", ("Two of two.",), ("T1", "F8"))
    page = render_findings([finding], {"T1": "tables/T1.md", "T2": "tables/T2.md"})
    assert re.findall(r"\]\(([^)]+)\)", page) == ["tables/T1.md"]
    assert "| 1 | It works. | **holds** | undecided |" in page
    assert page.endswith("- Two of two.\n\nNumbers: [T1](tables/T1.md), F8.\n")


def test_when_each_method_is_the_right_tool_is_what_the_benchmarks_say():
    root = Path(__file__).parents[1]
    advice = advice_of((root / "results" / "benchmarks.md").read_text(encoding="utf-8"))
    assert "is the right tool" in advice
    assert "Measured:" not in advice
    assert advice in (root / "docs" / "findings.md").read_text(encoding="utf-8")
    assert advice_of("# Benchmarks") == ""
    assert "right tool" not in render_findings([], {})


@pytest.mark.parametrize(("share", "verdict"), [(99.0, "holds"), (90.0, "does not hold")])
def test_one_pass_is_held_against_the_optimality_of_many_epochs(share, verdict):
    claims = {"today": next(reference.claims["today"] for reference in own_references() if reference.name == "today")}
    optimality = {"one_pass": share, "dynamical": 95.0}
    values = {role: {"optimality_percent": [own] * 8} for role, own in optimality.items()}
    assert judge_claims(compared("today", claims, "streaming", **values))[-1].verdict == verdict
