"""Recommended settings: by the validation splits, never by the test split."""

from dataclasses import replace

import pytest
from stored_runs import cell_of, results_by_config, run_of

from pppca_bench.pages.recommendation import choices_document, recommendations
from pppca_bench.runs import ProblemFacts, RunResult, StoredRun
from pppca_bench.store.choices import choice_of
from pppca_bench.verdicts.own_tables import OwnTables

SCORE = "validation_balanced_accuracy_percent"
FACTS = {
    name: ProblemFacts(name, "a", "classification", name, 9, 2, 100, 50, 50, n_splits=5)
    for name in ("wine", "iris")
}
PCA, DGHA = ("pca", {"tau": 5.0}), ("dgha", {"tau": 5.0})
CONSTANT, ALL = ("majority_class", {}), ("all_features", {})


def recommended(*runs: StoredRun, facts: dict[str, ProblemFacts] = FACTS) -> list[str]:
    found = results_by_config({"small": runs})
    numbers = OwnTables(found, {}, [], {}).builders()["X"]()[1]
    return list(recommendations(found, facts, numbers))


def runs(setting, validation, test: float, size: float, problem: str = "wine") -> list[StoredRun]:
    """Return a repeat for each validation error, with a test error and a number of features."""
    cell = cell_of(problem, *setting, {})
    return [
        run_of(
            cell,
            repeat,
            validation_error_percent=error,
            test_error_percent=test,
            dimensionality=size,
        )
        for repeat, error in enumerate(validation)
    ]


def around(mean: float) -> list[float]:
    """Return validation errors of five splits with a mean and deviations of up to 0.4."""
    return [mean + 0.2 * (split - 2) for split in range(5)]


def test_a_method_that_is_better_than_the_baselines_is_recommended_whatever_its_test_error():
    first, second, iris = recommended(
        *runs(DGHA, around(2.0), 9.0, 8.0),
        *runs(PCA, around(3.0)[::-1], 1.0, 4.0),
        *runs(("lda", {}), around(3.5), 0.0, 2.0),
        *runs(ALL, [5.0, 4.0, 5.0, 4.0, 5.0], 1.0, 9.0),
        *runs(CONSTANT, [40.0] * 5, 40.0, 0.0),
        *runs(PCA, around(4.0), 4.0, 4.0, problem="iris"),
        *runs(("lda", {}), around(9.0), 9.0, 2.0, problem="iris"),
    )
    assert first.startswith(
        "Recommended by the validation error: wine, DGHA, τ = 5 (validation error 2.00 %; dimensionality 8.0; test"
        " error 9.00 %). It is better by +2.60 than all features (95 % interval "
    )
    # The deviation of the differences is 0.3162: 38 ± 2.776 √(1 / 5 + 50 / 100) 0.3162.
    assert "by +38.00 than majority class (95 % interval +37.27 to +38.73)." in first
    assert (
        " lda has the best test error 0.00 %; but test results may not choose, "
        in first.replace("LDA", "lda")
    )
    assert "To predict by it, fitted to all rows: `pppca predict " in first
    assert second.startswith(
        "Fewest features at most 1 point from it: wine, PCA, τ = 5 (validation error 3.00 %; dimensionality 4.0; test"
        " error 1.00 %). To predict by it"
    )
    assert iris.startswith(
        "Best by the validation error, without a baseline to compare with: iris, PCA, τ = 5 "
    )
    assert recommended(run_of(cell_of("wine", *PCA))) == []


def test_if_no_method_is_better_than_all_features_they_are_named():
    first, second = recommended(
        *runs(PCA, around(2.0), 1.0, 4.0),
        *runs(ALL, [2.4, 2.0, 2.0, 2.5, 2.2], 3.0, 9.0),
        *runs(CONSTANT, [40.0] * 5, 40.0, 0.0),
    )
    assert first.startswith(
        "No method is worth taking for its error on wine: by the paired test on the validation splits, none is better"
        " than the baselines. Validation error, %: the best, PCA, τ = 5, is better by +0.22 than all features (95 %"
        " interval"
    )
    assert "Without a method: wine, all features (validation error 2.22 %" in first
    assert second.startswith("Fewest features at most 1 point from it: wine, PCA, τ = 5 (")


@pytest.mark.parametrize(
    ("of_method", "n_splits"), [((39.5, 39.4, 39.6, 39.5, 39.4), 5), ((2.0,), 1)]
)
def test_nothing_is_recommended_within_a_point_of_a_constant_answer_or_without_a_test(
    of_method, n_splits
):
    """A point is more than seeds and splits change; a single split has no test."""
    facts = {"wine": replace(FACTS["wine"], n_splits=n_splits)}
    constant = runs(CONSTANT, [40.0] * len(of_method), 40.0, 0.0)
    (text,) = recommended(*runs(PCA, of_method, 1.0, 4.0), *constant, facts=facts)
    reason = "by the paired test on the validation splits, none is better than the baselines"
    if n_splits == 1:
        reason = "the paired test needs two splits or repeats"
    assert text.startswith(
        f"No method is worth taking for its error on wine: {reason}. Validation error, %: "
    )
    assert "pppca predict" not in text


def test_seeds_without_any_effect_on_one_split_do_not_prevent_a_recommendation():
    facts = {"wine": replace(FACTS["wine"], n_splits=1)}
    constant = runs(CONSTANT, [40.0] * 3, 40.0, 0.0)
    (text,) = recommended(*runs(PCA, [2.0] * 3, 1.0, 4.0), *constant, facts=facts)
    assert text.startswith("Recommended by the validation error: wine, PCA, τ = 5 ")


def test_a_class_that_is_mostly_overlooked_is_named_with_the_remedy():
    given = {"validation_error_percent": 5.0, "test_error_percent": 5.0, "dimensionality": 3.0}
    recalls = {"recall_no_percent": 99.0, "recall_yes_percent": 12.0}
    for classifier, said in (
        (
            {"rule": "rprop"},
            "class yes are found: `class_weight: balanced` in `classifier` finds more.",
        ),
        ({"rule": "rprop", "class_weight": "balanced"}, "class yes are found."),
    ):
        cell = cell_of("wine", *PCA, classifier)
        found = [run_of(cell, repeat, **given, **recalls) for repeat in range(2)]
        (text,) = recommended(*found, *runs(CONSTANT, [10.0, 10.0], 10.0, 0.0))
        assert f" With PCA, τ = 5, 12 % of the rows of {said} To predict" in text


def test_settings_with_equal_weights_of_classes_are_compared_by_balanced_accuracy():
    weighted = {"rule": "rprop", "class_weight": "balanced"}
    found = []
    for method, score, error in ((PCA, 80.0, 20.0), (CONSTANT, 50.0, 10.0)):
        cell = cell_of("wine", *method, weighted if method is PCA else {})
        values = {SCORE: score, "validation_error_percent": error, "dimensionality": error - 10.0}
        values["test_error_percent"] = error
        found += [run_of(cell, repeat, **values) for repeat in (0, 1)]
    (text,) = recommended(*found)
    assert text.startswith("Recommended by the validation balanced accuracy: wine, PCA, τ = 5 (")


def test_the_named_run_is_done():
    (spec, _), *others = runs(PCA, around(3.0), 1.0, 4.0)
    spec = replace(spec, key="failed")
    failed = spec, RunResult(spec.key, "failed", error="diverged")
    (text,) = recommended(failed, *others, *runs(("lda", {}), around(5.0), 0.0, 4.0))
    assert f'pppca_bench.pipeline("{others[0][0].key[:10]}", final=True)' in text


def test_of_runs_that_choose_the_setting_with_the_best_mean_score_is_recommended():
    choose = {"by": "balanced_accuracy", "retain": None, "among": {"tau": (5.0, 10.0)}}
    cell = cell_of("wine", "pca", {"tau": "auto"}, {}, choose=choose)
    measured = {"test_error_percent": 3.0, "balanced_accuracy_percent": 59.0, "dimensionality": 5.0}
    runs = []
    for repeat, (best, at_5, at_10) in enumerate(
        [(0, 61.0, 60.0), (0, 62.0, 60.0), (1, 0.0, 90.0)]
    ):
        tried = [{SCORE: at_5, "dimensionality": 4.0}, {SCORE: at_10, "dimensionality": 7.0}]
        spec, result = run_of(cell, repeat, **measured, **{SCORE: 60.0})
        runs.append((spec, replace(result, choice=choice_of(cell, best, tried))))
    plain = cell_of("wine", "lda", {}, {})
    others = run_of(plain, **{SCORE: 65.0}, test_error_percent=1.0, dimensionality=13.0)
    (text,) = recommended(*runs, others)
    table = choices_document(results_by_config({"small": runs}))
    row = dict(zip(table.headers, table.rows[0], strict=True))
    shown = {"recommended": "τ = 10", "Balanced accuracy, %": "59.00", "Features": "5.0"}
    assert row | shown == row
    assert text.startswith(
        "Best by the validation balanced accuracy, without a baseline to compare with: wine, PCA, τ = auto → τ = 10"
        " (chosen in 1 of 3 runs; validation balanced accuracy 70.00 %; dimensionality 7.0; of the runs, each with the"
        " setting that it chose:"
        " test balanced accuracy 59.00 %, dimensionality 5.0)."
    )
