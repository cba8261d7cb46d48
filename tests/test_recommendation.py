"""Recommended settings: by the validation splits, never by the test split."""

from stored_runs import cell_of, results_by_config, run_of

from pppca_bench.reporting.own_tables import OwnTables
from pppca_bench.reporting.recommendation import choices_document, recommendations
from pppca_bench.runs import StoredRun


def recommended(*runs: StoredRun) -> list[str]:
    results = results_by_config({"small": runs})
    return list(recommendations(OwnTables(results, {}, [], {}).builders()["X"]()))


def test_the_validation_error_and_not_the_test_error_recommends_a_cell():
    errors = "validation_error_percent", "test_error_percent", "dimensionality"

    def runs(method: str, *numbers: float, problem: str = "wine") -> list[StoredRun]:
        cell = cell_of(problem, method, {"tau": 5.0}, {})
        return [
            run_of(cell, repeat, **dict(zip(errors, numbers, strict=True))) for repeat in (0, 1)
        ]

    first, second, *others = recommended(
        *runs("dgha", 2.0, 9.0, 8.0),
        *runs("pca", 3.0, 1.0, 4.0),
        *runs("lda", 3.5, 0.0, 2.0),
        *runs("pca", 4.0, 4.0, 4.0, problem="iris"),
    )
    assert first.startswith(
        "Recommended by the validation error: wine, DGHA, τ = 5 (validation error 2.00 %; dimensionality 8.0; test"
        " error 9.00 %). To fit it to all rows: `pppca_bench.pipeline("
    )
    assert second == (
        "Fewest features at most 1 point from it: wine, PCA, τ = 5 (validation error 3.00 %; dimensionality 4.0; test"
        " error 1.00 %)."
    )
    (iris,) = others
    assert iris.startswith("Recommended by the validation error: iris, PCA, τ = 5 ")
    assert recommended(run_of(cell_of("wine", "pca", {"tau": 5.0}))) == []


def test_of_runs_that_choose_the_setting_with_the_best_mean_score_is_recommended():
    by = {"choose.by": "balanced_accuracy", "choose.tau": (5.0, 10.0), "tau": "auto"}
    cell, plain = cell_of("wine", "pca", by, {}), cell_of("wine", "all_features", {}, {})

    def score(at: str = "") -> str:
        return f"validation_balanced_accuracy_percent{at}"

    runs = [
        run_of(
            cell,
            repeat,
            chosen_tau=tau,
            test_error_percent=3.0,
            balanced_accuracy_percent=59.0,
            dimensionality=5.0,
            **{score(): 60.0, score(" at tau=5"): at_5, score(" at tau=10"): at_10},
            **{"dimensionality at tau=5": 4.0, "dimensionality at tau=10": 7.0},
        )
        for repeat, (tau, at_5, at_10) in enumerate(
            [(5.0, 61.0, 60.0), (5.0, 62.0, 60.0), (10.0, 0.0, 90.0)]
        )
    ]
    (text,) = recommended(
        *runs, run_of(plain, **{score(): 65.0}, test_error_percent=1.0, dimensionality=13.0)
    )
    table = choices_document(results_by_config({"small": runs}))
    assert dict(zip(table.headers, table.rows[0], strict=True)) | {
        "recommended": "τ = 10",
        "Balanced accuracy, %": "59.00",
        "Features": "5.0",
    } == dict(zip(table.headers, table.rows[0], strict=True))
    assert text.startswith(
        "Recommended by the validation balanced accuracy: wine, PCA, τ = auto → τ = 10 (chosen in 1 of 3 runs;"
        " validation balanced accuracy 70.00 %; dimensionality 7.0; of the runs, each with the setting that it chose:"
        " test balanced accuracy 59.00 %, dimensionality 5.0)."
    )
