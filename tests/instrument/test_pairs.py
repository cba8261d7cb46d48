"""Pairwise comparisons on a problem: statistics, choice of pairs, and rendering."""

import json
from dataclasses import replace

import numpy as np
import pytest
from command_line import pppca
from stored_runs import cell_of, results_of, run_of, store_runs

from pppca_bench.errors import StoreError, UnknownNameError
from pppca_bench.pages.pair_tables import pairs_document, pairs_sentence, render_pairs
from pppca_bench.results.statistics import corrected_t
from pppca_bench.runs import ProblemFacts, Scalar, StoredRun
from pppca_bench.verdicts.pairs import Pairs, compare_pairs

ABSENT = "absent"


def runs(
    method: str,
    errors: list[float],
    tau: Scalar = 10.0,
    size: float = 3.0,
    data: str = "a",
    **other: Scalar,
) -> list[StoredRun]:
    """Return a repeat for each error."""
    parameters = other if tau == ABSENT else {"tau": tau, **other}
    cell = cell_of("own", method, parameters, {"hidden": (4,)}, data=data)
    values = [{"test_error_percent": error, "accuracy_percent": 100.0 - error} for error in errors]
    return [run_of(cell, n, dimensionality=size, **own) for n, own in enumerate(values)]


FACTS = {"own": ProblemFacts("own", "a", "classification", "own", 9, 2, 50, 25, 25, 2)}


def compared(*found: list[StoredRun], n_splits: int = 1, **options: object) -> Pairs:
    facts = {"own": replace(FACTS["own"], n_splits=n_splits)}
    return compare_pairs(results_of(run for own in found for run in own), facts, "own", **options)


def test_repeats_of_a_split_count_once():
    first, second = [10.0, 20.0, 12.0, 22.0], [11.0, 18.0, 13.0, 24.0]
    (found,) = compared(
        runs("dgha", first), runs("pca", second), n_splits=2
    ).comparisons.itertuples()
    expected = corrected_t([-1.0, 0.0], 0.5)
    assert [getattr(found, name) for name in expected._fields] == list(expected)
    assert found.n == 2
    (seeds,) = compared(runs("dgha", first), runs("pca", second)).comparisons.itertuples()
    assert seeds.n == 4


LOW, HIGH = ([mean + n / 10 for n in range(10)] for mean in (1.0, 5.0))


def test_a_sentence_gives_the_ranges_and_names_the_pairs_that_differ():
    found = compared(runs("dgha", LOW), runs("pca", LOW, size=4.0), runs("gha", HIGH))
    assert pairs_sentence(found) == (
        "own: test error from 1.45 to 5.45 % with 3.0 to 4.0 features; 2 of 3 pairs of settings differ significantly, 1"
        " of 3 are alike within 1; DGHA, τ = 10 is better (DGHA, τ = 10 − GHA, τ = 10: −4.00); PCA, τ = 10 is better"
        " (PCA, τ = 10 − GHA, τ = 10: −4.00)."
    )
    assert [row[-2:] for row in pairs_document(found).rows] == [
        ["alike within 1", "τ"],
        ["first is better", "τ and features"],
        ["first is better", "τ"],
    ]


def test_a_sentence_leaves_out_the_pairs_with_a_setting_without_features():
    low, none = runs("dgha", LOW), runs("majority_class", HIGH, ABSENT, size=0.0)
    expected = "own: no two settings with features at equal τ or dimensionality."
    assert pairs_sentence(compared(low, none)) == expected
    assert pairs_sentence(compared(low, runs("pca", LOW), none)) == (
        "own: test error from 1.45 to 1.45 % with 3.0 to 3.0 features; 0 of 1 pairs of settings differ significantly, 1"
        " of 1 are alike within 1."
    )


def test_settings_are_compared_by_the_score_that_runs_choose_by():
    choose = {"by": "macro_f1", "retain": None, "among": {"tau": (5.0, 10.0)}}
    choosing = cell_of("own", "dgha", {"tau": "auto"}, choose=choose)
    cells = [choosing, cell_of("own", "pca", {"tau": 10.0})]
    scores = {"accuracy_percent": 90.0, "dimensionality": 3.0}
    found = [
        [run_of(cell, n, macro_f1_percent=10.0 * n, **scores) for n in range(2)] for cell in cells
    ]
    assert compared(*found).quantity == "macro_f1_percent"
    assert compared(*found, quantity="accuracy_percent").quantity == "accuracy_percent"


def test_only_repeats_of_both_methods_count():
    found = compared(runs("dgha", [1.0, 2.0, 9.0]), runs("pca", [2.0, 4.0])).comparisons
    assert found[["n", "first_mean", "second_mean"]].to_numpy().tolist() == [[2, 1.5, 3.0]]


def test_pairs_are_of_equal_threshold_or_of_equal_dimensionality():
    errors = [1.0, 2.0, 4.0]
    found = compared(
        *(runs("dgha", errors, tau, size) for tau, size in ((5.0, 2.0), (10.0, 4.2), (15.0, 30.0))),
        *(runs("pca", errors, tau, size) for tau, size in ((5.0, 4.0), (10.0, 4.6), (15.0, 29.0))),
        runs("all_features", errors, ABSENT, 60.0),
        runs("ica", errors, None, 2.4, n_components=2),
    )
    ours, theirs = ([f"{name}, τ = {tau}" for tau in (5, 10, 15)] for name in ("DGHA", "PCA"))
    at_tau, at_size = (True, False), (False, True)
    expected = {
        (ours[0], theirs[0]): at_tau,
        (ours[1], theirs[0]): at_size,  # 4.2 is nearer to 4.0 than to 4.6
        (ours[1], theirs[1]): at_tau,
        (ours[2], theirs[2]): (True, True),  # 29 of 30 features are within 5 %
        (ours[0], "ICA, n_components = 2"): at_size,
        **dict.fromkeys(((name, "all features") for name in ours + theirs), at_tau),
    }
    pairs = found.comparisons.itertuples()
    equal = {(one.first, one.second): (one.equal_tau, one.equal_dimensionality) for one in pairs}
    assert equal == expected


NOISE = np.random.default_rng(0).normal(0.0, 0.1, 30)


@pytest.mark.parametrize(
    ("dgha", "pca", "matters", "verdict"),
    [
        ([5.0] * 30, 8.0 + NOISE, 1.0, "DGHA, τ = 10 is better, by more than 1"),
        ([5.0] * 30, 8.0 + NOISE, 4.0, "DGHA, τ = 10 is better, by less than 4"),
        ([5.0] * 30, 5.5 + NOISE, 1.0, "DGHA, τ = 10 is better, by less than 1"),
        ([5.0] * 30, 5.0 + NOISE, 1.0, "alike within 1"),
        ([5.0, 9.0, 1.0], [7.0, 2.0, 6.0], 1.0, "undecided"),
    ],
)
def test_verdicts_by_significance_and_by_the_difference_that_matters(dgha, pca, matters, verdict):
    pairs = compared(runs("dgha", dgha), runs("pca", pca), matters=matters)
    (found,) = pairs.comparisons.itertuples()
    assert (found.verdict, found.exceeds) == (verdict, "more" in verdict)


def test_larger_scores_are_better():
    found = compared(
        runs("dgha", [5.0] * 30), runs("pca", 8.0 + NOISE), quantity="accuracy_percent"
    )
    (pair,) = found.comparisons.itertuples()
    assert (pair.difference > 0.0, pair.better) == (True, "first")
    assert pair.verdict.startswith("DGHA, τ = 10 is better")


@pytest.mark.parametrize(
    ("quantity", "matters"),
    [
        ("balanced_accuracy_percent", 1.0),
        ("macro_f1_percent", 1.0),
        ("log_loss", 0.01),
        ("r2", 0.01),
    ],
)
def test_every_score_has_a_difference_that_matters(quantity, matters):
    cells = [cell_of("own", method, {}, {}) for method in ("dgha", "pca")]
    scores = [[run_of(cell, n, **{quantity: n / 9}) for n in range(3)] for cell in cells]
    assert compared(*scores, quantity=quantity).matters == matters
    assert compared(*scores, quantity=quantity, matters=0.0).matters == 0.0


def test_too_few_settings_and_too_many_pairs_are_errors():
    dgha, pca = runs("dgha", [1.0, 2.0]), runs("pca", [1.0, 2.0])
    with pytest.raises(StoreError, match="own: expected at least two methods, or settings of a me"):
        compared(dgha, runs("pca", [1.0]))
    with pytest.raises(
        StoreError, match=r"two splits or more that have log_loss, got 0\. Set `pred"
    ):
        compared(dgha, pca, n_splits=2, quantity="log_loss")
    with pytest.raises(StoreError, match="own: expected all runs on the data that were run last"):
        compared(dgha, runs("pca", [1.0, 2.0], data="b"))
    with pytest.raises(
        StoreError, match="own: expected at most 500 pairs to compare, got 561 of 34"
    ):
        compared(*(runs("dgha", [1.0, 2.0], size=n, n_epochs=n) for n in range(34)))
    with pytest.raises(UnknownNameError, match="no problem 'mine' in these results: expected one"):
        compare_pairs(results_of(dgha), {}, "mine")


@pytest.mark.parametrize(("n_splits", "p"), [(1, 0.25), (3, None)])
def test_json_has_no_nan_and_settings_with_too_few_repeats_are_named(n_splits, p):
    """Of a difference that never varies there is no t."""
    own = [runs("dgha", [1.0, 2.0, 4.0]), runs("pca", [2.0, 3.0, 5.0]), runs("lda", [1.0], None)]
    found = compared(*own, n_splits=n_splits)
    record = json.loads(render_pairs(found, "json"), parse_constant=pytest.fail)
    pair = record["comparisons"][0]
    assert (pair["low"], pair["p_holm"]) == (None, p)
    assert "Not compared, for lack of results: LDA" in render_pairs(found, "terminal")


def test_rank_compares_methods_on_the_only_or_the_named_problem(store, tmp_path):
    found = [*runs("dgha", [1.0, 2.0, 4.0, 2.0]), *runs("pca", [2.0, 3.0, 5.0, 1.0])]
    store.describe_problems(FACTS.values())
    store_runs(store, {"one": found})

    def shown(*arguments: str) -> str:
        return pppca("rank", *arguments, "--results", tmp_path).output

    assert "DGHA, τ = 10 − PCA, τ = 10" in shown("one")
    assert "n_test / n_train = 0.50" in shown("one", "--within", "own")
    assert "expected one of " in shown("--only", "methods=pca")
    said = "is not one of 'test_error_percent', 'test_squared_error_percent', 'accuracy_percent'"
    assert said in shown("--quantity", "accuracy")
