"""Recommended settings: by the validation splits, never by the test split."""

from dataclasses import replace

from stored_runs import cell_of, results_by_config, run_of

from pppca_bench.pages.recommendation import choices_document, recommendations
from pppca_bench.runs import RunResult, StoredRun
from pppca_bench.store.choices import choice_of
from pppca_bench.verdicts.own_tables import OwnTables


def recommended(*runs: StoredRun) -> list[str]:
    found = results_by_config({"small": runs})
    return list(recommendations(found, OwnTables(found, {}, [], {}).builders()["X"]()[1]))


def runs(method: str, *numbers: float, problem: str = "wine") -> list[StoredRun]:
    """Return two repeats with a validation error, a test error and a number of features."""
    names = "validation_error_percent", "test_error_percent", "dimensionality"
    cell = cell_of(problem, method, {"tau": 5.0}, {})
    return [run_of(cell, n, **dict(zip(names, numbers, strict=True))) for n in (0, 1)]


def test_the_validation_error_and_not_the_test_error_recommends_a_cell():
    first, second = recommended(
        *runs("dgha", 2.0, 9.0, 8.0),
        *runs("pca", 3.0, 1.0, 4.0),
        *runs("lda", 3.5, 0.0, 2.0),
        *runs("pca", 4.0, 4.0, 4.0, problem="alone"),
    )
    assert first.startswith(
        "Recommended by the validation error: wine, DGHA, τ = 5 (validation error 2.00 %; dimensionality 8.0; test"
        " error 9.00 %). To fit it to all rows: `pppca_bench.pipeline("
    )
    assert second == (
        "Fewest features at most 1 point from it: wine, PCA, τ = 5 (validation error 3.00 %; dimensionality 4.0; test"
        " error 1.00 %)."
    )
    assert recommended(run_of(cell_of("wine", "pca", {"tau": 5.0}))) == []


def test_the_named_run_is_done():
    (spec, _), *others = runs("pca", 3.0, 1.0, 4.0)
    spec = replace(spec, key="failed")
    failed = spec, RunResult(spec.key, "failed", error="diverged")
    (text,) = recommended(failed, *others, *runs("lda", 5.0, 0.0, 4.0))
    assert f'pppca_bench.pipeline("{others[0][0].key[:10]}", final=True)' in text


SCORE = "validation_balanced_accuracy_percent"


def test_of_runs_that_choose_the_setting_with_the_best_mean_score_is_recommended():
    choose = {"by": "balanced_accuracy", "retain": None, "among": {"tau": (5.0, 10.0)}}
    cell = cell_of("wine", "pca", {"tau": "auto"}, {}, choose=choose)
    plain = cell_of("wine", "all_features", {}, {})
    measured = {"test_error_percent": 3.0, "balanced_accuracy_percent": 59.0, "dimensionality": 5.0}
    runs = []
    for repeat, (best, at_5, at_10) in enumerate(
        [(0, 61.0, 60.0), (0, 62.0, 60.0), (1, 0.0, 90.0)]
    ):
        tried = [{SCORE: at_5, "dimensionality": 4.0}, {SCORE: at_10, "dimensionality": 7.0}]
        spec, result = run_of(cell, repeat, **measured, **{SCORE: 60.0})
        runs.append((spec, replace(result, choice=choice_of(cell, best, tried))))
    others = run_of(plain, **{SCORE: 65.0}, test_error_percent=1.0, dimensionality=13.0)
    (text,) = recommended(*runs, others)
    table = choices_document(results_by_config({"small": runs}))
    row = dict(zip(table.headers, table.rows[0], strict=True))
    shown = {"recommended": "τ = 10", "Balanced accuracy, %": "59.00", "Features": "5.0"}
    assert row | shown == row
    assert text.startswith(
        "Recommended by the validation balanced accuracy: wine, PCA, τ = auto → τ = 10 (chosen in 1 of 3 runs;"
        " validation balanced accuracy 70.00 %; dimensionality 7.0; of the runs, each with the setting that it chose:"
        " test balanced accuracy 59.00 %, dimensionality 5.0)."
    )
