"""Pipeline of a stored run: its numbers, raw rows, pickling and errors."""

import io
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from builders import flowers, small, write_config
from command_line import printed
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes
from sklearn.metrics import balanced_accuracy_score, f1_score, log_loss, r2_score

import pppca_bench
from pppca_bench import Table
from pppca_bench.errors import DataError, StoreError, UnknownNameError
from pppca_bench.problems import DataSet, OwnData, SplitRule, load_problem
from pppca_bench.problems.declaration import RawTable
from pppca_bench.runs import RunResult
from pppca_bench.store.database import Store

NETWORK = {"hidden": [3], "max_epochs": 20}
PROJECTION = {
    "method": "sklearn.random_projection:SparseRandomProjection",
    "parameters": {"n_components": 3},
}
MACHINE = {"rule": "sklearn.svm:SVC", "parameters": {"kernel": "linear"}}
METHODS: list[Any] = [
    {"method": "dgha", "n_epochs": 4},
    "all_features",
    PROJECTION,
    "sklearn.naive_bayes:GaussianNB",
    {"method": "pca", "tau": "auto", "classifier": MACHINE},
]
DOCUMENT = {"name": "own", "seed": 3, "tau": 10, "predictions": True, "classifier": NETWORK}
DOCUMENT |= {"splits": 3, "methods": ["pca"]}
ONCE = DOCUMENT | {"splits": 1, "repeats": 1}

pytestmark = [
    pytest.mark.usefixtures("isolated_folders"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataDimensionalityWarning"),
]


@pytest.fixture(scope="module")
def flower_runs(tmp_path_factory) -> tuple[pd.DataFrame, Path]:
    """Return runs of a table and of a known problem, and the folder of their results."""
    folder = tmp_path_factory.mktemp("flowers")
    flowers().to_csv(folder / "flowers.csv", index=False)
    problems = [{"csv": str(folder / "flowers.csv"), "target": "kind"}, "wine"]
    document = DOCUMENT | {"problems": problems, "methods": METHODS, "repeats": 2}
    done = pppca_bench.run(document, results=folder)
    assert done.outcome.n_failed == 0
    return done.runs, folder


def test_every_run_s_pipeline_has_its_test_error_and_its_predictions(flower_runs):
    runs, folder = flower_runs
    data = DataSet(OwnData("csv", str(folder / "flowers.csv"), ("kind",), rule=SplitRule(splits=3)))
    raw, wine = pd.read_csv(folder / "flowers.csv"), load_problem("wine")
    for run in runs[runs.repeat == 1].itertuples():
        fitted = pickle.loads(pickle.dumps(pppca_bench.pipeline(run.key, folder)))
        kept = pppca_bench.load_predictions(run.key, folder)
        if run.problem == "wine":
            predicted, target = fitted.predict(wine.X_test), wine.y_test
        else:
            rows = raw.iloc[data.rows(1)[2]]
            predicted, target = fitted.predict(rows.drop(columns="kind")[::-1])[::-1], rows["kind"]
            assert_array_equal(target, kept.target)
            if any(kept.columns.str.startswith("probability")):
                assert list(kept.columns[2:]) == [f"probability_{one}" for one in fitted.classes_]
                probabilities = kept.filter(like="probability")
                assert_allclose(fitted.predict_proba(rows), probabilities, atol=1e-6)
        assert 100 * np.mean(predicted != target) == pytest.approx(run.test_error_percent)
        assert_array_equal(predicted, kept.predicted)


def test_scores_are_those_of_scikit_learn_of_the_stored_predictions(flower_runs):
    runs, folder = flower_runs
    for run in runs[runs.repeat == 0].itertuples():
        kept = pppca_bench.load_predictions(run.key, folder)
        pair = kept.target, kept.predicted
        assert [
            run.accuracy_percent,
            run.balanced_accuracy_percent,
            run.macro_f1_percent,
        ] == pytest.approx(
            [
                100 - run.test_error_percent,
                100 * balanced_accuracy_score(*pair),
                100 * f1_score(*pair, average="macro"),
            ]
        )
        probabilities = kept.filter(like="probability").to_numpy()
        assert np.isnan(run.log_loss) == (probabilities.size == 0)
        if probabilities.size:
            # zeros are cut at the least number
            exact = np.maximum(probabilities.astype(float), np.finfo(float).eps)
            expected = log_loss(kept.target, exact / exact.sum(axis=1, keepdims=True))
            assert run.log_loss == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    "labels", [["no", "yes"], ["1", "1.0"], ["FALSE", "TRUE"], [3, 7], [False, True]]
)
def test_stored_predictions_have_the_labels_of_the_table_in_their_own_type(labels):
    y = pd.Series(np.array(labels)[np.arange(60) % 2], name="kind")
    X = pd.DataFrame({"a": np.arange(60) % 2 + np.linspace(0, 0.5, 60), "b": np.linspace(1, 0, 60)})
    table = Table(X, y, task="classification")
    (key,) = pppca_bench.run(ONCE | {"baselines": False}, {"own": table}).runs.key
    kept = pppca_bench.load_predictions(key)
    assert sorted(kept.target.unique().tolist()) == labels
    fitted = pppca_bench.pipeline(key, problems={"own": table})
    for predicted in (kept.predicted, fitted.predict(X)):
        assert {type(label) for label in predicted.tolist()} == {type(labels[0])}
        assert set(predicted.tolist()) <= set(labels)
    assert list(kept.columns[2:]) == [f"probability_{label}" for label in labels]


def test_numbers_are_predicted_in_the_targets_own_unit():
    frame = load_diabetes(as_frame=True).frame.rename(columns={"target": "progression"})
    X, y = frame.drop(columns="progression"), frame["progression"]
    linear = {"method": "pca", "classifier": {"rule": "sklearn.linear_model:LinearRegression"}}
    said = "the 214 whole numbers of 'progression' are numbers to approximate"
    with pytest.warns(UserWarning, match=said):
        done = pppca_bench.run(DOCUMENT | {"methods": ["pca", linear]}, {"own": (X, y)})
    own = OwnData("given", "own", rule=SplitRule(splits=3))
    rows = DataSet(own, RawTable(own, pd.concat([X, y], axis=1), ("progression",))).rows(2)
    train, test = y.iloc[rows[0]], y.iloc[rows[2]]
    for run in done.runs[done.runs.repeat == 2].itertuples():
        fitted = pppca_bench.pipeline(run.key, problems={"own": (X, y)})
        predicted = fitted.predict(X.iloc[rows[2]])
        assert predicted.shape == test.shape
        error = 100 * np.mean(np.square((predicted - test) / np.ptp(train)))
        assert error == pytest.approx(run.test_squared_error_percent)
        assert run.r2 == pytest.approx(r2_score(test, predicted))
    assert "accuracy_percent" not in done.runs or done.runs.accuracy_percent.isna().all()
    said = r"own: expected the data of run .* Name the config's folder, or give the data"
    with pytest.raises(DataError, match=said):
        pppca_bench.pipeline(done.runs.key[0])


def test_rows_that_do_not_fit_the_table_are_refused(flower_runs):
    runs, folder = flower_runs
    fitted = pppca_bench.pipeline(runs.key[0], folder)
    rows, size = flowers().drop(columns="kind").iloc[:4], "sepal length (cm)"
    for given, error, said in (
        (rows.to_numpy(), ValueError, "X of RowEncoder: expected the columns sepal length (cm), "),
        (rows.drop(columns="stem"), ValueError, "got no stem"),
        (rows.assign(stem="wide"), ValueError, "one of the table's 'long', 'short', got 'wide'"),
        (rows.assign(**{size: "long"}), ValueError, f"'{size}' of X: expected numbers, got 'long'"),
    ):
        with pytest.raises(error, match=re.escape(said)):
            fitted.predict(given)
    with pytest.raises(TypeError, match="RowEncoder: expected use as fitted by a run, got fit"):
        fitted.fit(rows, flowers()["kind"][:4])
    gaps = fitted.predict(rows.assign(stem=None, **{size: None}))
    assert set(gaps) <= {"setosa", "versicolor", "virginica"}


def test_a_pipeline_with_other_numbers_is_refused_or_gives_a_warning(monkeypatch):
    (key,) = pppca_bench.run(ONCE | {"problems": ["wine"]}).runs.key
    predicted = pppca_bench.pipeline("own/wine/pca/0").predict(load_problem("wine").X_test)
    assert predicted.shape == (44,)
    with Store(Path("pppca-results/results.sqlite")) as store:
        run = store.runs_by_key([key])[key][1]
        values = {**run.values, "test_error_percent": 99.0}
        store.record([RunResult(key, "done", values=values)], "{}", replace=True)
    with pytest.warns(UserWarning, match="its test error is 99 %, the pipeline's "):
        pppca_bench.pipeline(key)
    monkeypatch.setattr("pppca_bench.experiments.pipeline.algorithms_of", lambda *_: (("pca", 99),))
    said = r"expected the versions pca \d+, rprop \d+, got pca 99\. Run its config again"
    with pytest.raises(StoreError, match=said):
        pppca_bench.pipeline(key)


def test_runs_without_a_pipeline_or_predictions_are_refused():
    speedup = {"method": "dgha_speedup", "n_epochs": 1}
    changes = {"predictions": False, "problems": ["iris"], "methods": [speedup, "pca"]}
    runs = pppca_bench.run(ONCE | changes).runs.set_index("method")
    said = "expected a method that predicts, got dgha_speedup, which only measures"
    with pytest.raises(StoreError, match=said):
        pppca_bench.pipeline(runs.key["dgha_speedup"])
    said = r"expected predictions, got none\. Set `predictions: true`"
    with pytest.raises(StoreError, match=said):
        pppca_bench.load_predictions(runs.key["pca"])
    with pytest.raises(UnknownNameError, match="no run 'own/iris/lda/0'"):
        pppca_bench.pipeline("own/iris/lda/0")
    assert "accuracy_percent" not in pppca_bench.load_results()


def test_a_run_of_a_changed_config_has_a_pipeline(tmp_path):
    rows = "".join(f"{n},{n * 7 % 13},c{n % 2}\n" for n in range(60))
    (tmp_path / "own.csv").write_text(f"a,b,y\n{rows}")
    problems = [{"csv": "own.csv", "target": "y"}]
    path = write_config(tmp_path, small("all_features", name="own", problems=problems, repeats=1))
    change = ("--set", "classifier.max_epochs=9")
    printed("run", path, *change, "--results", tmp_path, "--workers", 0, "--quiet")
    run = "own+classifier.max_epochs=9/own.csv/all_features/0"
    assert pppca_bench.pipeline(run, tmp_path, folder=tmp_path).steps[-1][0] == "classify"


@pytest.mark.parametrize("names", [["a", "b"], ["x1", "x2"]])
def test_a_pipeline_takes_what_a_run_takes(names):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=names)
    y = np.where(X[names[0]] > 0, "B", "A")
    frames = [pl.DataFrame(X.to_dict("list")), pa.Table.from_pandas(X), X[names[::-1]]]
    if names[0] == "x1":
        frames.append(X.to_numpy())
    given = {"own": (frames[0], pa.array(y))}
    (key,) = pppca_bench.run(ONCE | {"baselines": False}, given).runs.key
    fitted = pppca_bench.pipeline(key, problems=given)
    expected = fitted.predict(X)
    assert set(expected) == {"A", "B"}
    for frame in frames:
        assert_array_equal(fitted.predict(frame), expected)


def test_a_series_without_a_name_is_learnt_and_predicted_from():
    X, y = pd.Series(np.arange(40) * 7 % 40 / 2), pl.Series(["A", "B"] * 20)
    given = {"own": (X, y)}
    run = ONCE | {"methods": ["all_features"], "baselines": False}
    (key,) = pppca_bench.run(run, given).runs.key
    fitted = pppca_bench.pipeline(key, problems=given)
    assert set(fitted.predict(X)) <= {"A", "B"}
    assert set(fitted.predict(pl.Series(X.to_numpy()))) <= {"A", "B"}


def test_a_row_whose_category_is_a_gap_is_predicted():
    frame = flowers().assign(code=pd.Categorical([None, "01", "02"] * 50))
    given = {"own": (frame.drop(columns="kind"), frame["kind"])}
    (key,) = pppca_bench.run(ONCE | {"baselines": False}, given).runs.key
    fitted = pppca_bench.pipeline(key, problems=given)
    assert len(fitted.predict(frame.iloc[:1])) == 1
    assert len(fitted.predict(frame.iloc[[1]].assign(code="01"))) == 1


def test_a_final_pipeline_learns_from_all_rows_with_the_setting_that_is_the_best_over_all_splits():
    frame = flowers()
    given = X, y = frame.drop(columns="kind"), frame["kind"]
    methods = [{"method": "pca", "tau": [2, 5, 100]}, "sklearn.naive_bayes:GaussianNB"]
    runs = pppca_bench.run(DOCUMENT | {"choose": "tau", "methods": methods}, {"own": given}).runs
    fitted, alone = (
        pppca_bench.pipeline(f"own/own/{method}/1", problems={"own": given}, final=True)
        for method in ("pca", "sklearn.naive_bayes:GaussianNB")
    )
    own = OwnData("given", "own", rule=SplitRule(splits=3))
    validation = DataSet(own, RawTable(own, frame, ("kind",))).rows(1)[1]
    others = fitted["encode"].transform(X.drop(index=validation))
    assert_allclose([others.min(), others.max()], [0, 1])
    assert_allclose(fitted["reduce"].mean_, others.mean(axis=0))
    candidates = runs[runs.method == "pca"]["candidates"].map(json.loads).explode()
    errors = pd.json_normalize(candidates).groupby("settings.tau").mean()
    errors = errors["values.validation_error_percent"]
    assert errors.is_unique
    assert fitted["reduce"].tau == errors.idxmin()
    assert set(runs[runs.method == "pca"]["chosen.tau"]) <= {2.0, 5.0, 100.0}
    assert_allclose(alone["classify"].estimator.class_count_, y.value_counts(sort=False))
    assert set(pickle.loads(pickle.dumps(fitted)).predict(X)) <= set(y)


def test_a_final_pipeline_of_a_known_problem_learns_from_its_test_samples_too():
    pppca_bench.run(ONCE | {"problems": ["wine"]})
    fitted, wine = pppca_bench.pipeline("own/wine/pca/0", final=True), load_problem("wine")
    assert_allclose(fitted["reduce"].mean_, np.vstack([wine.X_train, wine.X_test]).mean(axis=0))


def test_a_file_is_read_as_the_run_s_table_and_gets_a_column_for_each_target():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(24, 4)).round(3), columns=["x1", "x2", "y1", "y2"])
    forms = {"sep": ";", "decimal": ","}
    frame.to_csv("own.csv", index=False, **forms)
    frame[["x2", "x1"]].to_csv("new.csv", index=False, **forms)
    problem = {"csv": "own.csv", "target": ["y1", "y2"], "read": forms}
    write_config(Path(), ONCE | {"problems": [problem]})
    printed("run", "own.yaml", "--workers", 0, "--no-tables")
    printed("predict", "own/own.csv/pca/0", "new.csv", "--out", "predicted.csv")
    predicted = pd.read_csv("predicted.csv")
    assert list(predicted) == ["x2", "x1", "predicted_1", "predicted_2"]
    rows = pppca_bench.read_table("new.csv", **forms)
    expected = pppca_bench.pipeline("own/own.csv/pca/0", final=True).predict(rows)
    assert_allclose(predicted.iloc[:, 2:], expected, rtol=1e-9)
    frame.assign(predicted_1=0).to_csv("again.csv", index=False, **forms)
    said = printed("predict", "own/own.csv/pca/0", "again.csv", code=2)
    assert "again.csv: expected no column named 'predicted_1', which is added" in said
    frame[["x1"]].to_csv("less.csv", index=False, **forms)
    said = printed("predict", "own/own.csv/pca/0", "less.csv", code=2)
    assert "expected the columns x1, x2, got no x2" in said


def test_a_file_of_scaled_inputs_is_predicted_by_a_run_on_a_known_problem():
    pppca_bench.run(small({"method": "pca", "tau": 5}, repeats=1))
    X = load_problem("iris").X_test[:5]
    pd.DataFrame(X).add_prefix("x").to_csv("new.csv", index=False)
    table = pd.read_csv(io.StringIO(printed("predict", "a/iris/pca/0", "new.csv")))
    expected = pppca_bench.pipeline("a/iris/pca/0", final=True).predict_proba(X)
    assert_allclose(table.filter(like="probability"), expected, atol=1e-9)
    pd.DataFrame(X[:, 1:]).add_prefix("x").to_csv("less.csv", index=False)
    assert "X has 3 features" in printed("predict", "a/iris/pca/0", "less.csv", code=2)
