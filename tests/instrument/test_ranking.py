"""Ranking of methods: Demšar's example, tests, and the runs that are ranked."""

import io
import itertools
import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from stored_runs import NOTHING, results_of, run_of

from pppca_bench.errors import StoreError
from pppca_bench.pages import figure_drawing
from pppca_bench.pages.ranks import MAX_NAMES, ranking_document, render_ranking
from pppca_bench.references.layout import RankingSpec
from pppca_bench.results.statistics import holm
from pppca_bench.runs import Cell, Label, ProblemFacts, RunResult, Settings, StoredRun
from pppca_bench.verdicts import ranking

OF_METHODS = {"gha": 1.0, "pca": 2.0}
NETWORK = {"hidden": (4,)}
SPEC = RankingSpec(id="F6", title="Mean ranks", configs=("permutations",))
PROBLEMS = [f"p_{letter}" for letter in "abcdefghij"]
SHIFTS = {"gha": 0, "dgha": 1, "lda": 4}

# Demšar 2006, table 6: AUC of C4.5 without and with tuned parameters on 14 data sets, a line for each.
AUC = """
gha   lda   pca    ica
0.763 0.768 0.771  0.798
0.599 0.591 0.590  0.569
0.954 0.971 0.968  0.967
0.628 0.661 0.654  0.657
0.882 0.888 0.886  0.898
0.936 0.931 0.916  0.931
0.661 0.668 0.609  0.685
0.583 0.583 0.563  0.625
0.775 0.838 0.866  0.875
1.000 1.000 1.000  1.000
0.940 0.962 0.965  0.962
0.619 0.666 0.614  0.669
0.972 0.981 0.9751 0.975
0.957 0.978 0.946  0.970
"""


def runs(
    errors: dict[str, dict[str, float]],
    parameters: Settings = NOTHING,
    classifier: Settings = NETWORK,
) -> list[StoredRun]:
    """Return two repeats of each method on each problem, whose errors have the given means."""
    found = []
    for method, of_problems in errors.items():
        for problem, error in of_problems.items():
            cell = Cell(problem, "a", method, parameters, classifier)
            for repeat, offset in enumerate((-0.5, 0.5)):
                values = {"test_error_percent": error + offset, "dimensionality": 1}
                found.append(
                    run_of(cell, repeat, Label(method, tuple(parameters.items())), **values)
                )
    return found


def facts(found: list[StoredRun]) -> dict[str, ProblemFacts]:
    """Return the facts of the problems, of which cancer1 to cancer3 are permutations of one."""
    names = {spec.cell.problem for spec, _ in found}
    return {
        name: ProblemFacts(name, "a", "classification", name.rstrip("123"), 9, 2, 5, 5, 5)
        for name in names
    }


def rank(found: list[StoredRun]) -> ranking.Ranking:
    return ranking.rank(results_of(found), facts(found))


def ranked(errors: dict[str, dict[str, float]]) -> ranking.Ranking:
    return rank(runs(errors))


@pytest.fixture
def demsar() -> ranking.Ranking:
    errors = 100 - 100 * pd.read_csv(io.StringIO(AUC), sep=r"\s+")
    errors.index = [f"set_{letter}" for letter in "abcdefghijklmn"]
    return ranked(errors.to_dict())


def test_the_statistics_of_demsars_example_are_those_printed(demsar):
    """Statistical comparisons of classifiers over multiple data sets, 2006, section 3.2.2."""
    printed = {"gha": 3.143, "lda": 2.000, "pca": 2.893, "ica": 1.964}
    assert demsar.mean_ranks.round(3).to_dict() == printed
    # Printed without the correction: 9.28. One row of four ties and three pairs: 1 - (60 + 3 * 6) / (14 * 60).
    assert demsar.friedman_statistic == pytest.approx(9.28 / (1 - 78 / 840), abs=0.005)
    assert demsar.friedman_p < 0.05
    # q(0.05, 4) = 2.569: CD = 2.569 sqrt(4 * 5 / (6 * 14)) = 1.25.
    assert demsar.critical_difference == pytest.approx(1.25, abs=0.005)


ERRORS = {
    "gha": {"cancer1": 2.0, "glass1": 30.0, "heart1": 20.0},
    "dgha": {"cancer1": 1.0, "glass1": 31.0, "heart1": 19.0},
    "ne_ppca": {"cancer1": 3.0, "glass1": 33.0, "heart1": 22.0},
}


def test_permutations_of_a_problem_are_a_single_data_set():
    errors = {
        "gha": {"cancer1": 1.0, "cancer2": 2.0, "cancer3": 6.0, "glass1": 30.0},
        "dgha": {"cancer1": 3.0, "cancer2": 3.0, "cancer3": 3.1, "glass1": 31.0},
    }
    found = ranked(errors)
    assert found.errors.loc["cancer"].to_dict() == pytest.approx({"gha": 3.0, "dgha": 9.1 / 3})
    assert (len(found.errors), found.n_problems) == (2, 4)
    assert found.mean_ranks["gha"] == 1.0


def test_p_values_are_those_of_paired_tests_with_holms_correction():
    rng = np.random.default_rng(5)
    values = {name: rng.normal(20 + shift, 2, 10) for name, shift in SHIFTS.items()}
    found = ranked({name: dict(zip(PROBLEMS, own, strict=True)) for name, own in values.items()})
    pairs = list(itertools.combinations(values, 2))
    expected = holm([stats.wilcoxon(values[one], values[other]).pvalue for one, other in pairs])
    assert [found.p(*pair) for pair in pairs] == pytest.approx(expected)
    assert [found.p(*pair[::-1]) for pair in pairs] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("n_data_sets", "limit"),
    [
        (6, ", which cannot be below 0.094 with this number of data sets, whatever the errors"),
        (7, ""),
    ],
)
def test_too_few_data_sets_for_any_difference_are_named(n_data_sets, limit):
    """Each method is before the next on all data sets."""
    errors = {name: 10.0 + n for n, name in enumerate(PROBLEMS[:n_data_sets])}
    factors = {"gha": 1.0, "dgha": 1.1, "lda": 1.3}
    found = ranked({name: {p: k * e for p, e in errors.items()} for name, k in factors.items()})
    assert f"with Holm's correction{limit}." in render_ranking(found)
    off_diagonal = found.wilcoxon.to_numpy()[np.triu_indices(3, 1)]
    assert off_diagonal == pytest.approx(3 * 2.0 ** (1 - n_data_sets))


@pytest.mark.parametrize(
    "errors",
    [dict.fromkeys(ERRORS, ERRORS["gha"]), {name: ERRORS[name] for name in list(ERRORS)[:2]}],
)
def test_two_methods_and_methods_that_never_differ_have_no_friedman_test(errors):
    found = ranked(errors)
    assert np.isnan(found.friedman_p)
    assert "Friedman" not in render_ranking(found)
    assert json.loads(render_ranking(found, "json"))["friedman"] is None


@pytest.mark.parametrize("errors", [{}, {"gha": {"cancer1": 1.0}, "dgha": {"cancer1": 2.0}}])
def test_too_little_to_rank_is_an_error(errors):
    said = r"ranking: expected at least two methods, or settings of a method, run on the same"
    with pytest.raises(StoreError, match=said):
        ranked(errors)


def replaced(found: list[StoredRun], outcomes: dict[tuple[str, str, int], str]) -> list[StoredRun]:
    """Return the runs, of which those of a method, problem and repeat failed or are still planned."""
    became = []
    for spec, result in found:
        outcome = outcomes.get((spec.cell.method, spec.cell.problem, spec.repeat), "done")
        failed = RunResult(spec.key, "failed", error="diverged")
        became.append((spec, {"done": result, "failed": failed, "planned": None}[outcome]))
    return became


def test_means_over_fewer_repeats_than_planned_are_named():
    outcomes = {("gha", "glass1", 0): "failed", ("dgha", "cancer1", 1): "planned"}
    found = rank(replaced(runs(ERRORS), outcomes))
    assert found.errors.loc["glass", "gha"] == 30.5, "that of the repeat that did not fail"
    few = "gha on glass1 (1 of 2, 1 failed); dgha on cancer1 (1 of 2)."
    assert f"Fewer repeats than planned: {few}" in render_ranking(found)
    assert json.loads(render_ranking(found, "json"))["fewer_repeats_than_planned"] == [
        {"method": "gha", "problem": "glass1", "n_planned": 2, "n_failed": 1, "n_done": 1},
        {"method": "dgha", "problem": "cancer1", "n_planned": 2, "n_failed": 0, "n_done": 1},
    ]


def test_methods_that_were_not_run_everywhere_or_failed_are_left_out_and_named():
    planned = runs(ERRORS | {"lda": ERRORS["gha"], "pca": {"cancer1": 0.5}})
    found = rank(replaced(planned, {("lda", "glass1", repeat): "failed" for repeat in (0, 1)}))
    assert found.left_out == ("lda", "pca")
    assert "Fewer repeats than planned: lda on glass1 (0 of 2, 2 failed)." in render_ranking(found)
    assert "Not ranked, since not run on all of these data sets: lda; pca." in render_ranking(found)


def test_of_many_cells_with_fewer_repeats_some_are_named():
    outcomes = {(method, problem, 0): "failed" for method in ERRORS for problem in ERRORS["gha"]}
    text = render_ranking(rank(replaced(runs(ERRORS), outcomes)))
    (line,) = [line for line in text.splitlines() if line.startswith("Fewer repeats")]
    assert line.count("(1 of 2, 1 failed)") == MAX_NAMES
    assert line.endswith(" and 3 more.")


def test_a_method_before_another_classifier_is_another_method_and_labelled_if_it_is_a_namesake():
    wide = {"hidden": (9,)}
    mixed = rank(runs({"gha": ERRORS["gha"]}) + runs({"dgha": ERRORS["dgha"]}, classifier=wide))
    assert list(mixed.errors) == ["dgha", "gha"]
    alike = rank(runs(ERRORS) + runs({"gha": {"cancer1": 1.0}}, classifier=wide))
    assert list(alike.errors) == ["dgha", "gha", "ne_ppca"], "only ranked settings are namesakes"
    assert alike.left_out == ("gha, classifier.hidden = [9]",)


def test_the_diagram_has_room_for_long_names(tmp_path):
    """Matplotlib warns where a name has no room."""
    names = [f"initial_norm = {value / 7:.9f}, decay_epochs = {value}" for value in range(1, 15)]
    errors = {"gha": dict.fromkeys(PROBLEMS[:2], 1.0)}
    found = rank([run for name in names for run in runs(errors, {name: True})])
    assert len(figure_drawing.write_figures([], [(SPEC, found)], tmp_path)) == 3


def test_bars_join_the_longest_runs_of_methods_that_do_not_differ(demsar):
    """Mean ranks are 1.96 to 3.14, the critical difference is 1.25."""
    assert figure_drawing.cliques(demsar) == [(0, 3)]
    alike = [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    names = demsar.mean_ranks.index
    found = demsar._replace(nemenyi=pd.DataFrame(alike, index=names, columns=names))
    assert figure_drawing.cliques(found) == [(0, 1), (1, 2), (2, 3)]
    lines = figure_drawing.draw_ranking(SPEC, found).axes[0].lines
    bars = [line.get_xydata().round(2) for line in lines if line.get_linewidth() == 2]
    assert [(*x, y[0]) for x, y in (bar.T for bar in bars)] == [
        (1.96, 2.0, -1),
        (2.0, 2.89, -2),
        (2.89, 3.14, -1),
    ]


def test_equal_differences_are_tied_whatever_their_last_bit():
    wrong = {"gha": [10, 11, 5, 6, 7, 0, 2, 10], "pca": [12, 13, 7, 8, 9, 2, 4, 8]}
    errors = {
        method: {name: 100.0 * (n / 30) for name, n in zip(PROBLEMS[:8], own, strict=True)}
        for method, own in wrong.items()
    }
    assert ranked(errors).p("gha", "pca") == pytest.approx(18 / 256)


def test_means_that_differ_by_rounding_share_their_rank():
    gha, pca = (dict.fromkeys(PROBLEMS[:8], error) for error in (10.0, 10.0 + 4e-15))
    result = ranked({"gha": gha, "pca": pca})
    assert result.mean_ranks.tolist() == [1.5, 1.5]
    assert result.p("gha", "pca") == 1.0


def test_of_a_score_the_largest_is_the_best_and_problems_without_it_do_not_count():
    found = runs({name: {"cancer1": error} for name, error in OF_METHODS.items()})
    for method, problem, r2 in (
        ("gha", "iris", 0.3),
        ("gha", "wine", 0.4),
        ("pca", "iris", 0.2),
        ("pca", "wine", 0.1),
    ):
        found.append(run_of(Cell(problem, "a", method, {}, NETWORK), test_error_percent=1.0, r2=r2))
    best = ranking.rank(results_of(found), facts(found), "r2")
    assert best.mean_ranks.to_dict() == {"gha": 1.0, "pca": 2.0}
    assert list(best.errors.index) == ["iris", "wine"]
    table = ranking_document(SPEC, best)
    assert (table.headers[2], table.rows[0][2]) == ("Mean R²", "0.350")


def test_the_two_errors_share_no_ranking():
    names = ("cancer1", "iris", "wine")
    found = runs({method: dict.fromkeys(names, error) for method, error in OF_METHODS.items()})
    for method, error in OF_METHODS.items():
        for problem in ("building1", "flare1"):
            cell = Cell(problem, "a", method, {}, NETWORK)
            found += [run_of(cell, n, test_squared_error_percent=9 - error) for n in range(2)]
    both = rank(found)
    assert (both.quantity, list(both.errors.index)) == (
        "test_error_percent",
        ["cancer", "iris", "wine"],
    )
    remark = (
        "another error: building1; flare1. Rank them with `--quantity test_squared_error_percent`."
    )
    assert remark in render_ranking(both)
    squared = ranking.rank(results_of(found), facts(found), "test_squared_error_percent")
    assert list(squared.errors.index) == ["building", "flare"]
    headers = [ranking_document(SPEC, own).headers[2] for own in (both, squared)]
    assert headers == ["Mean test error, %", "Mean test squared error, %"]
    assert list(squared.mean_ranks.index) == list(both.mean_ranks.index)[::-1]
