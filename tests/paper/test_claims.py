"""Answers to the claims of the slides: counts from synthetic evidence, and the page of findings."""

import math

import pandas as pd
import pytest
from full_results import REFERENCES, snapshot_of
from stored_runs import cell_of, results_by_config, results_of, run_of

from pppca_bench.pages.figure_data import Figure, Panel
from pppca_bench.pages.findings import Answers, Finding, joined, render_findings, render_list
from pppca_bench.paper.claims import JUDGES, answers_of, fitness_operations_percent, tally
from pppca_bench.paper.evidence import COMPARED, READINGS, Evidence, read_comparisons
from pppca_bench.paper.experiment import experiments
from pppca_bench.paper.losses import LossComparison
from pppca_bench.runs import ProblemFacts
from pppca_bench.verdicts.judge import judge
from pppca_bench.verdicts.numbers import frame_of

CLAIMS = REFERENCES[0].roles
NOTHING = Evidence(results_of([]), {}, judge(frame_of([])), {}, CLAIMS)
CUTTING, RESOURCE, REPAIR, TIME, ACCURACY, SPEED, BESIDE_PCA, ONE_PASS = range(8)
FAMILIES = [f"family{i}" for i in range(8)]
FACTS = {
    f"{name}1": ProblemFacts(f"{name}1", "a", "classification", name, 9, 2, 100, 50, 50)
    for name in FAMILIES
}


def line(claim: str, first: str = "A (as written)", other: str = "B", **values) -> LossComparison:
    own = LossComparison(first, other, 20, -0.1, 0.2, 0.4, 0.01, "holds", claim, "E2")
    return own._replace(**values)


def both(claim: str, first: str = "A", **values) -> list[LossComparison]:
    """Return a comparison of both readings."""
    return [line(claim, f"{first} ({reading})", **values) for reading in READINGS]


def on(data_set: str, verdict: str, loss: float = 0.0, p: float = 0.5) -> dict[str, object]:
    """Return the loss within a data set."""
    return {"data_set": data_set, "verdict": verdict, "loss": loss, "p_of_more": p}


def answers(evidence: Evidence) -> list[Finding]:
    return answers_of(evidence)


def answered(*lines: LossComparison) -> list[Finding]:
    return answers(NOTHING._replace(compared=lines))


@pytest.mark.parametrize(
    ("verdicts", "of_a_loss", "of_an_advantage"),
    [
        ("uuuu", "undecided in all 4 comparisons", "undecided in all 4 comparisons"),
        ("huuu", "1 of 4 comparisons for, none against", "1 of 4 comparisons against, none for"),
        ("hdd", "2 of 3 comparisons against, 1 for", "2 of 3 comparisons for, 1 against"),
    ],
)
def test_comparisons_are_counted_for_and_against_a_claim(verdicts, of_a_loss, of_an_advantage):
    names = {"u": "undecided", "h": "holds", "d": "does not hold"}
    lines = [line("", verdict=names[letter]) for letter in verdicts]
    assert tally(lines) == of_a_loss
    assert tally(lines, is_against=True) == of_an_advantage


def test_the_answers_state_the_counts_and_how_many_intervals_lie_above_0():
    cutting = [*both("cutting", low=0.1, verdict="undecided"), line("cutting", verdict="undecided")]
    findings = answered(*cutting, *both("exact_pca"))
    assert findings[CUTTING].answer == (
        "Whether at most 1 point is lost is undecided in all 3 comparisons; 2 of 3 intervals lie above 0."
    )
    assert findings[CUTTING].evidence[0] == (
        "A − B: as written +0.20 [+0.10, +0.40] (20), p = 0.01, undecided; fitted +0.20 [+0.10, +0.40] (20),"
        " p = 0.01, undecided; as written +0.20 [−0.10, +0.40] (20), p = 0.01, undecided."
    )
    assert findings[BESIDE_PCA].answer == (
        "At τ = 15, 2 of 2 comparisons against, none for; 2 of 2 intervals contain 0."
    )


def test_two_experiments_answer_a_claim_side_by_side():
    earlier = both("exact_pca", verdict="undecided")
    later = [
        line("exact_pca", "PCA, as many as A (fitted)", "A (fitted)", experiment="E3", gain=gain)
        for gain in ("holds", "undecided")
    ]
    finding = answered(*earlier, *(own._replace(p_gain=0.5) for own in later))[BESIDE_PCA]
    assert finding.answer == (
        "At τ = 15, undecided in both comparisons; 2 of 2 intervals contain 0. At τ = 5, with as many components, 2 of"
        " 2 comparisons against, none for; at 0 points, exact PCA is better than A (fitted)."
    )
    numbers = "fitted +0.20 [−0.10, +0.40] (20), p = 0.01, holds"
    assert finding.evidence[1] == (
        f"τ = 5: PCA, as many − A: {numbers}, at 0 p = 0.5, holds; {numbers}, at 0 p = 0.5, undecided."
    )
    own = line("one_pass", "CCIPCA, as many as A", "A", experiment="E3")
    assert answered(own)[ONE_PASS].answer == (
        "That at most 1 point is lost: with as many components as DGHA keeps, 1 of 1 comparisons for, none against."
    )


def test_data_sets_count_as_beyond_a_point_after_holms_correction_and_ceilings_apart():
    own = [on("a", "", p=0.02), on("b", "", p=0.999), on("c", "", p=0.0)]
    (*_, said) = answered(line("cutting", losses=own))[CUTTING].evidence
    assert said == (
        "Significantly above 1 point: A (as written) on b. Below: A (as written) a. Without any loss: A (as written) c."
    )
    (*_, said) = answered(line("cutting", losses=[*own, on("d", "", p=0.03)]))[CUTTING].evidence
    assert "on b. Below: none." in said  # .02 is the second of four p values


def test_accuracy_is_answered_by_rival_with_cases_and_medians():
    written, fitted = both("accuracy", other="GA", verdict="undecided")
    written = written._replace(losses=[on("a", "worse", 2.0), on("b", "unclear", 1.0)])
    fitted = fitted._replace(losses=[on("a", "worse", 4.0), on("b", "better", -1.0)])
    finding = answered(written, fitted)[ACCURACY]
    assert finding.answer == (
        "Undecided in both comparisons, that at most 1 point is lost; within data sets (as written), it suffers"
        " against GA in 1 of 2 cases and gains in 0."
    )
    assert finding.evidence[1] == "GA: medians +1.50, +1.50; worse on 1, 1, better on 0, 1."


def test_one_pass_is_answered_by_the_comparisons_with_the_fitted_dgha():
    finding = answered(line("one_pass", "CCIPCA", "DGHA (fitted)", low=0.1))[ONE_PASS]
    assert (
        "1 of 1 comparisons for, none against, and 1 of 1 intervals lie above 0" in finding.answer
    )


def test_lines_are_those_of_the_experiments_tables(tmp_path):
    name = "NE-pPCA (as written) − all features"
    (tmp_path / "E2_tests.csv").write_text(
        f"row,n,p_holm,verdict,typical,low,high\n{name},3,,undecided,0.5,,\n", encoding="utf-8"
    )
    # Ten folds, so that the interval is 2.262 standard errors wide to each side: t = (loss - 1) / error with 9 degrees
    # of freedom is -9.0 in a, -1.8 in b (p = 0.05 before the correction), and in d nothing was cut.
    rows = "a,0,-0.25,0.25,False b,0,-1.25,1.25,False c,1,1,1,False d,0,0,0,True e,0,0,0,False f,2,,,False"
    (tmp_path / "E2_losses.csv").write_text(
        "row,data_set,loss,low,high,is_apart,features_percent,n\n"
        + "".join(f"{name},{own},50,10\n" for own in rows.split()),
        encoding="utf-8",
    )
    (experiment,) = [one for one in experiments() if one.id == "E2"]
    (own,) = read_comparisons(experiment, tmp_path)
    assert (own.claim, own.name, own.n, own.typical) == ("cutting", name, 3, 0.5)
    assert own.features_percent == 50.0
    p_values = {"a": 4.2e-6, "b": 0.052, "c": 1.0, "e": 0.0, "f": math.nan}
    found = {loss["data_set"]: loss["p_of_more"] for loss in own.losses}
    assert found == pytest.approx(p_values, nan_ok=True, rel=0.1)
    assert math.isnan(own.p)
    assert (own.experiment, own.gain) == ("E2", None)
    assert read_comparisons(experiment, tmp_path / "nowhere") == []


def test_tests_at_a_margin_of_0_are_read_from_the_table_of_other_margins(tmp_path):
    name = "PCA, as many as DGHA (fitted) − DGHA (fitted)"
    tables = {
        "tests": f'row,n,p_holm,verdict,typical,low,high\n"{name}",9,0.01,holds,-0.5,-1,-0.1\n',
        "losses": "row,data_set,loss,low,high,is_apart,features_percent,n\n"
        f'"{name}",a,0,-1,1,False,20,10\n',
        "margins": f'row,variant,p_holm,verdict\n"{name}",0 points,0.02,holds\n'
        f'"{name}",0.5 points,0.9,undecided\n',
    }
    for ending, text in tables.items():
        (tmp_path / f"E3_{ending}.csv").write_text(text, encoding="utf-8")
    (experiment,) = [one for one in experiments() if one.id == "E3"]
    (own,) = read_comparisons(experiment, tmp_path)
    assert (own.experiment, own.gain, own.p_gain) == ("E3", "holds", 0.02)
    assert own.short == "PCA, as many − DGHA (fitted)"
    (tmp_path / "E3_margins.csv").unlink()
    assert read_comparisons(experiment, tmp_path)[0].gain is None


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


@pytest.mark.parametrize(("retained", "start"), [(100.0, ""), (99.9, ", but not in our runs")])
def test_a_complete_basis_holds_the_whole_variance(retained, start):
    cell = cell_of("family11", "ne_ppca")
    runs = [
        run_of(cell, 0, dimensionality=9, retained_variance_percent=retained),
        run_of(cell, 1, dimensionality=3, retained_variance_percent=50.0),
    ]
    finding = answers(NOTHING._replace(runs=results_of(runs), facts=FACTS))[RESOURCE]
    assert finding.answer.startswith(f"True by algebra{start}: in 1 runs ")


def regained(curves: dict[str, list[float]]) -> Finding:
    """Return the answer for curves of the optimality by generation."""
    panels = []
    for title, means in curves.items():
        data = {"curve": "NE-pPCA, by generation", "step": range(len(means)), "mean": means}
        panels.append(Panel("curves", title, pd.DataFrame(data)))
    drawn = {"F8": Figure("F8", "", "", "", "", panels, "")}
    return answers(NOTHING._replace(figures=drawn))[REPAIR]


@pytest.mark.parametrize(
    ("curves", "counts"),
    [
        ({"a": [1.0, 0.8, 0.95], "b": [1.0, 0.9, 0.96]}, "2 of 2 problems."),
        ({"a": [1.0, 0.8, 0.95], "b": [1.0, 0.9, 0.92]}, "1 of 2 problems."),
        (
            {"a": [1.0, 0.8, 0.85], "b": [1.0, 0.9, 0.8]},
            "0 of 2 problems (on 1, the largest loss is in the last tenth of the steps, too late to be regained).",
        ),
    ],
)
def test_self_repair_is_counted_by_the_optimality_regained_since_its_least(curves, counts):
    start = "Half of the largest loss of optimality or more is regained by NE-pPCA on "
    assert regained(curves).answer == f"{start}{counts}"


def test_self_repair_without_any_loss_is_not_run():
    assert regained({"a": [1.0, 1.0, 1.0]}).answer == ""


def test_self_repair_has_an_interval_over_the_problems():
    # Regained: 0.75 and 0.6125, mean 0.68125, half width 12.706 * 0.097227 / sqrt(2) = 0.8735.
    text = "NE-pPCA regains 68 % (95 % interval −19 to 155 %) of the largest loss."
    assert text == regained({"a": [1.0, 0.8, 0.95], "b": [1.0, 0.9, 0.96125]}).evidence[0]


@pytest.mark.parametrize(("shift", "n"), [(0.5, 1), (2.0, 0)])
def test_self_repair_is_judged_beside_learning_without_removal(shift, n):
    whole, kept = ({"optimality_percent": [share] * 8} for share in (99.0, 99.0 - shift))
    answer = answers(compared(dynamical=kept, dynamical_unremoved=whole))[REPAIR].answer
    assert answer.endswith(f"DGHA loses at most 1 point of optimality in {n} of 1 readings.")


def test_fitness_is_counted_with_the_gram_schmidt_process_and_the_responses_of_all_samples():
    # 3 samples, 2 features, 4 nodes: Gram–Schmidt 2 · 16, responses 3 · 3 · 4, breeding 4 · 2 · 4.
    assert fitness_operations_percent(3, 2, 4) == pytest.approx(100 * 68 / 100)


@pytest.mark.parametrize(
    ("sizes", "counts"),
    [
        ({"cancer1": 350, "heart1": 460}, "2 of 2 problems: 99 to 99 % of the multiply-adds"),
        ({"cancer1": 350, "heart1": 1}, "1 of 2 problems"),
        ({"heart1": 1}, "0 of 1 problems"),
    ],
)
def test_the_fitness_is_judged_by_its_least_share_on_the_problems_of_t0(sizes, counts):
    # 9 features, a single node: Gram–Schmidt 9, responses 10 N, breeding 36.
    facts = {
        name: ProblemFacts(name, "a", "classification", name, 9, 2, n_train, 50, 50)
        for name, n_train in sizes.items()
    }
    numbers = snapshot_of([], facts).numbers
    finding = answers(NOTHING._replace(numbers=numbers, facts=facts))[TIME]
    assert finding.answer.startswith(f"By counting, more than half on {counts}")
    if len(sizes) == 2 and sizes["heart1"] > 1:
        expected = "With a single node, from 99.0 % (cancer1) to 99.2 % (heart1)."
        assert finding.evidence == (expected,)


@pytest.mark.parametrize(
    ("whole", "part", "lost", "n_faster", "of_part"),
    [
        (5.0, 8.0, 0.5, 8, "1 of 1 comparisons for, none against"),
        (5.0, 3.0, 0.5, 0, "1 of 1 comparisons for, none against"),
        (5.0, 8.0, 2.0, 8, "1 of 1 comparisons against, none for"),
    ],
)
def test_speed_is_answered_by_operations_and_by_what_is_lost_for_it(
    whole, part, lost, n_faster, of_part
):
    answer = answers(compared(**values_of_dgha(whole, part, lost)))[SPEED].answer
    assert answer.startswith(
        f"GHA needs {whole} times the operations of DGHA (as written), {part} times with a tenth of the data"
        f" (on {n_faster} of 8 data sets, DGHA needs fewer, and still fewer with a tenth);"
    )
    assert f"with a tenth against all of the data, {of_part}; against GHA, " in answer


def values_of_dgha(whole: float, part: float, lost: float) -> dict[str, dict[str, list[float]]]:
    """Return the speed-ups with all the data and with a part of it, and the errors, by role and quantity."""
    losses = {"dynamical": lost, "dynamical_by_part": 2 * lost, "hebbian": 0.0}
    ratios = {"speed_up": whole, "speed_up_by_part": part}
    return {
        name: {"test_error_percent": [10.0 * i + loss for i in range(8)]}
        for name, loss in losses.items()
    } | {name: {"speedup_operations": [ratio] * 8} for name, ratio in ratios.items()}


def test_claims_without_results_are_not_run():
    findings = answers(NOTHING)
    assert len(findings) == len(JUDGES)
    assert {(one.answer, one.evidence) for one in findings} == {("", ())}
    page = render_findings([], Answers((), findings), {})
    assert page.count("| Not run. |") == len(findings)
    assert page.count("Runs that this claim needs are missing.") == len(findings)


FINDING = Finding(
    *("It works.", "slide 1", "2 of 2 comparisons for."),
    *([("Test", "Two.")], ("Two of two.",), ("T1", "F8")),
)


def test_the_page_of_several_sources_has_their_claims_and_links_to_what_is_there():
    other = Finding("It flies.", "page 2", "No.")
    first = Answers(["A."], [FINDING], "Claims of A", rule="R.", sources=["a"])
    both = joined([first, Answers(["B."], [other], "Claims of B", sources=["b"])])
    assert (both.results, both.heading, both.rule) == (["A.", "B."], "Claims", "R.")
    assert both.sources == ["a", "b"]
    page = render_findings(["Use it."], both, {"T1": "tables/T1.md", "T2": "tables/T2.md"})
    assert page.startswith("# Answers to the claims\n\n- Use it.\n")
    assert "| | claim | answer |\n|---|---|---|\n" in page
    assert "| 1 | It works. | 2 of 2 comparisons for. |\n| 2 | It flies. | No. |" in page
    assert "*Test*: Two.\n\n- Two of two.\n\nNumbers: [T1](tables/T1.md), F8.\n" in page


def test_a_list_has_lines_of_limited_width():
    assert render_list(["One two three.", "B."], 10) == "- One two\n  three.\n- B."
