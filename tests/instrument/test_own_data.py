"""User-defined tables: types, missing values, categories, scaling, splits, digests and errors."""

import re

import numpy as np
import pandas as pd
import pytest
from builders import csv_of, data_of
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.naive_bayes import GaussianNB

import pppca_bench
from pppca_bench.errors import ConfigError, DataError, StoreError
from pppca_bench.problems import (
    DataSet,
    OwnData,
    SplitRule,
    load_problem,
    load_source,
    open_problem,
)
from pppca_bench.problems.splits import split_at_random

MIXED = """\
size,colour,works,constant,kind
1,red,True,7,a
2.5,,False,7,a
4,blue,True,7,a
?,red,,7,a
10,green,True,7,b
-3,red,False,7,b
6,blue,True,7,b
NA,blue,True,7,b
"""
BY_FOLD = SplitRule(column="fold")
FOLDS = [*4 * ["train"], *2 * ["validation"], *2 * ["test"]]


def whole(problem) -> tuple[np.ndarray, np.ndarray]:
    """Return the inputs and targets of all splits."""
    X = np.vstack([problem.X_train, problem.X_validation, problem.X_test])
    return X, np.concatenate([problem.y_train, problem.y_validation, problem.y_test])


def test_columns_become_inputs_by_their_types(tmp_path):
    data = data_of(tmp_path, MIXED, "kind")
    problem, rows = data.problem(), np.concatenate(data.rows(0))
    assert problem.feature_names == (
        *("size", "works", "constant", "size missing", "works missing"),
        *("colour = blue", "colour = green", "colour = red", "colour missing"),
    )
    assert (data.classes, problem.task, problem.n_classes) == (("a", "b"), "classification", 2)
    size = np.array([1, 2.5, 4, np.nan, 10, -3, 6, np.nan])
    of_training = size[data.rows(0)[0]]
    low, span = np.nanmin(of_training), np.ptp(of_training[~np.isnan(of_training)])
    filled = np.where(np.isnan(size), np.nanmean(of_training), size)
    colours = ["red", None, "blue", "red", "green", "red", "blue", "blue"]
    categories = [["blue", "green", "red", None].index(colours[row]) for row in rows]
    X, y = whole(problem)
    np.testing.assert_allclose(X[:, 0], (filled[rows] - low) / span)
    np.testing.assert_array_equal(X[:, 2], 0.0)
    np.testing.assert_array_equal(X[:, 3], np.isnan(size)[rows])
    np.testing.assert_array_equal(X[:, 5:], np.eye(4)[categories])
    np.testing.assert_array_equal(y, rows >= 4)


def test_means_and_ranges_are_computed_from_the_training_rows_only(tmp_path):
    x, folds = [0, 100, 1, 4, -50, "", 8, 2], ["train"] * 3 + ["validation"] * 2 + ["test"] * 3
    data = data_of(tmp_path, csv_of(8, x=x, fold=folds, y="uv"), rule=BY_FOLD)
    problem = data.problem()
    assert sorted(problem.X_train[:, 0]) == [0.0, 0.01, 1.0]
    # beyond the range, and not refused
    assert sorted(problem.X_validation[:, 0]) == pytest.approx([-0.5, 0.04])
    assert sorted(problem.X_test[:, 0]) == pytest.approx([0.02, 0.08, 101 / 300])
    assert problem.feature_names == ("x", "x missing")


@pytest.mark.parametrize("x", [[*4 * [5], *4 * [1e6]], [*4 * [""], *range(4)]])
def test_a_column_that_is_constant_or_empty_in_the_training_rows_becomes_0_in_all(tmp_path, x):
    problem = data_of(tmp_path, csv_of(8, x=x, fold=FOLDS, y="uv"), rule=BY_FOLD).problem()
    assert not whole(problem)[0][:, 0].any()


def test_an_empty_column_becomes_a_constant_and_an_indicator(tmp_path):
    problem = data_of(tmp_path, csv_of(8, x=range(8), void=[""], y="uv")).problem()
    assert problem.feature_names == ("x", "void", "void missing")
    assert (set(problem.X_train[:, 1]), set(problem.X_test[:, 2])) == ({0.0}, {1.0})


def test_numeric_codes_become_categories_on_request(tmp_path):
    text = csv_of(8, zip=[10115, 80331], y="aabb")
    assert data_of(tmp_path, text).problem().feature_names == ("zip",)
    problem = data_of(tmp_path, text, categorical=("zip",)).problem()
    assert problem.feature_names == ("zip = 10115", "zip = 80331")
    np.testing.assert_array_equal(problem.X_train.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("target", "declared", "task"),
    [
        ("ab", {}, "classification"),
        ([True, False], {}, "classification"),
        ([3, 5], {}, "classification"),
        ([0.5, 1.5], {}, "approximation"),
        ([3, 5], {"task": "approximation"}, "approximation"),
        ([0.5, 1.5], {"task": "classification"}, "classification"),
        ([0.5, 1.5], {"categorical": ("y",)}, "classification"),
    ],
)
def test_the_task_follows_from_the_targets_type_unless_given(tmp_path, target, declared, task):
    problem = data_of(tmp_path, csv_of(8, x=range(8), y=target), **declared).problem()
    assert (problem.task, problem.n_outputs) == (task, 2 if task == "classification" else 1)


def test_targets_to_approximate_are_scaled_by_the_training_rows(tmp_path):
    text = csv_of(16, x=range(16), y=np.arange(16) * 1.5, z=range(100, 84, -1))
    data = data_of(tmp_path, text, "y", "z")
    problem, (train, _, test) = data.problem(), data.rows(0)
    assert (problem.y_train.min(), problem.y_train.max(), problem.n_outputs) == (0.0, 1.0, 2)
    np.testing.assert_allclose(problem.y_test[:, 0], (test - train.min()) / np.ptp(train))


def test_random_splits_partition_the_rows_and_are_stratified():
    y = load_digits().target
    parts = split_at_random(SplitRule(), y, 0, stratified=True)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(len(y)))
    counts = np.array([np.bincount(y[part]) for part in parts])
    assert np.abs(counts - np.outer([0.5, 0.25, 0.25], np.bincount(y))).max() <= 1.5
    # In random order: a method that learns from a tenth of the rows takes the first.
    assert len(np.unique(y[parts[0][: len(parts[0]) // 10]])) == 10


def test_splits_differ_folds_test_each_row_once_and_both_are_reproducible():
    def parts(number, **rule):
        found = split_at_random(SplitRule(**rule), load_iris().target, number, stratified=True)
        return [part.tolist() for part in found]

    assert len({tuple(sorted(parts(number, splits=3)[2])) for number in range(3)}) == 3
    folds = [parts(number, folds=5, splits=2) for number in range(SplitRule("", 5, 2).n_splits)]
    for deal in (folds[:5], folds[5:]):
        for part in (1, 2):
            assert sorted(row for fold in deal for row in fold[part]) == list(range(150))
    assert len(folds) == 10
    assert sorted(folds[0][2]) != sorted(folds[5][2])
    assert parts(3, folds=5, splits=2) == folds[3]
    tested = {tuple(sorted(parts(number, folds=5, seed=3000)[2])) for number in range(5)}
    assert tested.isdisjoint(tuple(sorted(fold[2])) for fold in folds)


def test_the_digest_depends_on_content_and_settings_not_on_place_and_name(tmp_path):
    frame = load_iris(as_frame=True).frame
    for place in ("a.csv", "b.csv"):
        frame.to_csv(tmp_path / place, index=False)

    def sha256(place="a.csv", **settings):
        return DataSet(OwnData("csv", str(tmp_path / place), ("target",), **settings)).sha256

    first = sha256()
    assert first == sha256("b.csv") == sha256(name="x")
    others = [{"task": "approximation"}, {"drop": ("petal width (cm)",)}]
    others += [{"rule": SplitRule(splits=2)}, {"rule": SplitRule(folds=3)}]
    digests = {first, *(sha256(**settings) for settings in others)}
    assert sha256(rule=SplitRule(seed=7)) not in digests
    frame.iloc[0, 0] += 0.1
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert len({*digests, sha256()}) == 6


def test_a_worker_loads_the_split_of_a_repeat_and_refuses_other_data(tmp_path):
    path = tmp_path / "t.csv"
    own = OwnData("csv", str(path), ("y",), rule=SplitRule(splits=3))
    path.write_text(csv_of(20, x=range(20), y="uv"))
    source, first = open_problem(own)
    assert [source.of_repeat(repeat).split for repeat in range(5)] == [0, 1, 2, 0, 1]
    np.testing.assert_array_equal(load_source(source.of_repeat(3)).X_train, first.X_train)
    other = load_source(source.of_repeat(1))
    assert (other.X_train != first.X_train).any()
    assert load_source(source.of_repeat(1)) is other
    path.write_text(csv_of(20, x=range(1, 21), y="uv"))
    source, _ = open_problem(own)
    path.write_text(csv_of(20, x=range(2, 22), y="uv"))
    said = r"t\.csv: expected the data that the runs were planned for"
    with pytest.raises(DataError, match=said):
        load_source(source)


def test_scikit_learn_data_sets_declare_their_targets():
    problem = open_problem(OwnData("sklearn", "digits"))[1]
    assert (problem.name, problem.n_features, problem.n_classes) == ("sklearn:digits", 64, 10)
    assert open_problem(OwnData("sklearn", "linnerud"))[1].n_outputs == 3


def test_missing_values_of_every_type_are_read_from_parquet(tmp_path):
    columns = {
        "whole": pd.array([1, None, 3, 4] * 3, dtype="Int64"),
        "yes": pd.array([True, None, False, True] * 3, dtype="boolean"),
        "kind": pd.Categorical(["u", None, "v", "u"] * 3, categories=["u", "v", "never"]),
    }
    pd.DataFrame(columns | {"y": list("aabb") * 3}).to_parquet(tmp_path / "own.parquet")
    problem = open_problem(OwnData("parquet", str(tmp_path / "own.parquet"), ("y",)))[1]
    assert problem.feature_names == (
        *("whole", "yes", "whole missing", "yes missing", "kind = u", "kind = v", "kind missing"),
    )
    assert problem.X_train[:, [2, 3, 6]].any(axis=0).all()


def test_a_proben1_family_has_all_examples_of_its_permutations():
    data = DataSet(OwnData("proben1", "cancer", rule=SplitRule(folds=10)))
    rows = data.table.frame.to_numpy()
    assert (data.own.label, rows.shape) == ("proben1:cancer", (699, 10))
    assert data.classes == ("0", "1")
    for name in ("cancer1", "cancer2", "cancer3"):
        permuted = np.column_stack(whole(load_problem(name)))
        assert np.array_equal(permuted[np.lexsort(permuted.T)], rows[np.lexsort(rows.T)])
    assert OwnData("proben1", "flare").read().targets == ("out1", "out2", "out3")


@pytest.mark.parametrize(("rare", "is_imbalanced"), [(16, True), (17, False)])
def test_imbalanced_classes_are_said_before_the_run(tmp_path, rare, is_imbalanced):
    classes = "a" * 60 + "b" * (40 - rare) + "c" * rare
    data = data_of(tmp_path, csv_of(100, x=range(13), y=classes), duplicates="keep")
    assert data.problem().has_imbalanced_labels == is_imbalanced
    assert data.notices == is_imbalanced * [
        "the classes are imbalanced (a 60 %, b 24 %, c 16 %): always 'a' has an error of 40 %. Set"
        " `class_weight: balanced` in `classifier`, choose settings `by: balanced_accuracy`, macro_f1, roc_auc or"
        " average_precision, and read these scores and recall."
    ]


def test_a_third_party_class_learns_from_the_split_of_each_repeat(tmp_path):
    learner = "sklearn.naive_bayes:GaussianNB"
    config = {"name": "splits", "splits": 3, "baselines": False, "seed": 1}
    config["problems"] = [{"sklearn": "iris", "name": "flowers", "duplicates": "keep"}]
    config["methods"] = [{"method": "all_features", "classifier": learner}]
    runs = pppca_bench.run(config, results=tmp_path).runs.sort_values("repeat")
    data = DataSet(OwnData("sklearn", "iris", rule=SplitRule(splits=3)))
    problems = [data.problem(split) for split in range(3)]
    errors = [
        100 - 100 * GaussianNB().fit(one.X_train, one.y_train).score(one.X_train, one.y_train)
        for one in problems
    ]
    assert runs["train_error_percent"].tolist() == pytest.approx(errors)
    assert len(set(errors)) > 1


WHOLE = {
    "name": "whole",
    "problems": [{"sklearn": "iris"}, {"sklearn": "wine"}, {"sklearn": "digits"}],
    "splits": "none",
    "seed": 1,
}


def test_whole_data_are_measured_unscaled_and_without_a_classifier(tmp_path):
    names = ["sklearn.decomposition:PCA", "sklearn.decomposition:TruncatedSVD"]
    methods = [{"method": name, "parameters": {"n_components": 2}} for name in names]
    runs = pppca_bench.run(WHOLE | {"methods": methods}, results=tmp_path).runs
    assert "test_error_percent" not in runs
    found = runs.set_index(["problem", "method"])["retained_variance_percent"]
    for name, load in {"iris": load_iris, "wine": load_wine, "digits": load_digits}.items():
        X = load().data
        for method, estimator in zip(names, (PCA(2), TruncatedSVD(2, random_state=0)), strict=True):
            ratio = estimator.fit(X).explained_variance_ratio_.sum()
            # singular vectors of uncentred data lose a part of the mean, too
            assert found[f"sklearn:{name}", method] == pytest.approx(100 * ratio, abs=0.05)
    with pytest.raises(StoreError, match="expected a method that predicts, got sklearn"):
        pppca_bench.pipeline(runs["key"][0], results=tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classifier": {"hidden": [4]}}, "classifier: expected no classifier beside splits: none"),
        ({"folds": 5}, "folds: expected no folds beside splits: none"),
        ({"methods": ["rfe_svm"]}, "expected a method that makes features or measures, without a"),
        ({"problems": [{"sklearn": "iris", "splits": 2}]}, "problems[0]: expected a table without"),
        ({"methods": [{"method": "dgha", "tau": [5, 10]}], "choose": "tau"}, "by: expected by: re"),
    ],
)
def test_whole_data_have_neither_splits_nor_classifiers(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        pppca_bench.run(WHOLE | {"methods": ["all_features"]} | changes, results=tmp_path)


def test_remedies_of_a_command_are_its_options():
    own = OwnData("csv", "t.csv", read_keys={"sep": ";"}, by_options=True)
    assert own.key("drop", ["a b", "c"]) == "`--drop 'a b' --drop c`"
    assert own.key("task", "classification") == "`--task classification`"
    assert own.key("na_values", {"x": ["N"]}) == "`--read 'na_values=[N]'`"
    assert own.key("read", {"sep": ";", "index_col": 0}) == "`--read index_col=0`"
