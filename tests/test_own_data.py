"""User-defined tables: types, missing values, categories, scaling, splits, digests and errors."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris
from test_columns import data_of

from pppca_bench.errors import DataError
from pppca_bench.problems import (
    DataSet,
    OwnData,
    SplitRule,
    load_problem,
    load_source,
    open_problem,
)
from pppca_bench.problems.read_table import read_table
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


def test_columns_become_inputs_by_their_types(tmp_path):
    data = data_of(tmp_path, MIXED, "kind")
    problem, (train, validation, test) = data.problem(), data.rows(0)
    assert problem.feature_names == (
        *("size", "works", "constant", "size missing", "works missing"),
        *("colour = blue", "colour = green", "colour = red", "colour missing"),
    )
    assert (data.classes, problem.task, problem.n_classes) == (("a", "b"), "classification", 2)
    size = np.array([1, 2.5, 4, np.nan, 10, -3, 6, np.nan])
    mean, low, high = np.nanmean(size[train]), np.nanmin(size[train]), np.nanmax(size[train])
    expected = (np.where(np.isnan(size), mean, size) - low) / (high - low)
    colours = ["red", None, "blue", "red", "green", "red", "blue", "blue"]
    for rows, X, y in zip(
        (train, validation, test),
        (problem.X_train, problem.X_validation, problem.X_test),
        (problem.y_train, problem.y_validation, problem.y_test),
        strict=True,
    ):
        np.testing.assert_allclose(X[:, 0], expected[rows])
        np.testing.assert_array_equal(X[:, 2], 0.0)
        np.testing.assert_array_equal(X[:, 3], np.isnan(size)[rows])
        categories = [["blue", "green", "red", None].index(colours[row]) for row in rows]
        np.testing.assert_array_equal(X[:, 5:], np.eye(4)[categories])
        np.testing.assert_array_equal(y, (rows >= 4).astype(int))


def test_means_and_ranges_are_computed_from_the_training_rows_only(tmp_path):
    rows = [
        f"{value},{word},{word[:2]}"
        for value, word in zip(
            (0, 4, 8, 100, -50, 2), 2 * ["train", "validation", "test"], strict=True
        )
    ]
    text = "\n".join(["x,fold,y", *rows, ",test,tr", "1,train,va"])
    data = data_of(tmp_path, text, rule=SplitRule(column="fold"))
    problem = data.problem()
    train = np.array([0.0, 100.0, 1.0])
    assert sorted(problem.X_train[:, 0]) == pytest.approx(sorted(train / 100))
    # beyond the range, and not refused
    assert sorted(problem.X_validation[:, 0]) == pytest.approx([-0.5, 0.04])
    assert sorted(problem.X_test[:, 0]) == pytest.approx(sorted([0.08, 0.02, train.mean() / 100]))
    assert problem.feature_names == ("x", "x missing")


def test_a_column_that_is_constant_in_the_training_rows_becomes_0_in_all(tmp_path):
    text = "x,z,fold,y\n" + "".join(
        f"{n},{5 if fold == 'train' else 1e6},{fold},{n % 2}\n"
        for n, fold in enumerate(4 * ["train"] + 2 * ["validation", "test"])
    )
    problem = data_of(tmp_path, text, rule=SplitRule(column="fold")).problem()
    assert not problem.X_test[:, 1].any()
    assert not problem.X_train[:, 1].any()


def test_numeric_codes_become_categories_on_request(tmp_path):
    text = "zip,y\n" + "".join(f"{code},{kind}\n" for code in (10115, 80331) for kind in "aabb")
    assert data_of(tmp_path, text).problem().feature_names == ("zip",)
    problem = data_of(tmp_path, text, categorical=("zip",)).problem()
    assert problem.feature_names == ("zip = 10115", "zip = 80331")
    np.testing.assert_array_equal(problem.X_train.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("target", "given", "task"),
    [
        (["a", "b"], None, "classification"),
        ([True, False], None, "classification"),
        ([3, 5], None, "classification"),
        ([0.5, 1.5], None, "approximation"),
        ([3, 5], "approximation", "approximation"),
        ([0.5, 1.5], "classification", "classification"),
        ([0.5, 1.5], "categorical", "classification"),
    ],
)
def test_the_task_follows_from_the_targets_type_unless_given(tmp_path, target, given, task):
    text = "x,y\n" + "".join(f"{row},{target[row % 2]}\n" for row in range(8))
    data = data_of(
        tmp_path, text, **({"categorical": ("y",)} if given == "categorical" else {"task": given})
    )
    problem = data.problem()
    assert (problem.task, problem.n_outputs) == (task, 2 if task == "classification" else 1)


def test_targets_to_approximate_are_scaled_by_the_training_rows(tmp_path):
    text = "x,y,z\n" + "".join(f"{row},{row * 1.5},{100 - row}\n" for row in range(16))
    data = data_of(tmp_path, text, "y", "z")
    problem, (train, _, test) = data.problem(), data.rows(0)
    assert (problem.y_train.min(), problem.y_train.max(), problem.n_outputs) == (0.0, 1.0, 2)
    low, high = 1.5 * train.min(), 1.5 * train.max()
    np.testing.assert_allclose(problem.y_test[:, 0], (1.5 * test - low) / (high - low))


def test_random_splits_partition_the_rows_and_are_stratified():
    y = load_digits().target
    train, validation, test = split_at_random(SplitRule(), y, 0, stratified=True)
    np.testing.assert_array_equal(
        np.sort(np.concatenate([train, validation, test])), np.arange(len(y))
    )
    counts = np.array([np.bincount(y[part]) for part in (train, validation, test)])
    assert np.abs(counts - np.outer([0.5, 0.25, 0.25], np.bincount(y))).max() <= 1.5
    # In random order: a method that learns from a tenth of the rows takes the first.
    assert len(np.unique(y[train[: len(train) // 10]])) == 10


def test_splits_differ_folds_test_each_row_once_and_both_are_reproducible():
    y = load_iris().target
    random = [
        split_at_random(SplitRule(splits=3), y, number, stratified=True)[2] for number in range(3)
    ]
    assert len({tuple(np.sort(part)) for part in random}) == 3
    rule = SplitRule(folds=5, splits=2)
    assert rule.n_splits == 10
    folds = [split_at_random(rule, y, number, stratified=True) for number in range(10)]
    for deals in (folds[:5], folds[5:]):
        np.testing.assert_array_equal(
            np.sort(np.concatenate([test for *_, test in deals])), np.arange(150)
        )
        np.testing.assert_array_equal(
            np.sort(np.concatenate([part for _, part, _ in deals])), np.arange(150)
        )
    assert sorted(folds[0][2]) != sorted(folds[5][2])
    expected = [list(part) for part in split_at_random(rule, y, 3, stratified=True)]
    assert [list(part) for part in folds[3]] == expected


def test_the_digest_depends_on_content_and_settings_not_on_place_and_name(tmp_path):
    frame = load_iris(as_frame=True).frame
    (tmp_path / "elsewhere").mkdir()
    for place in ("a.csv", "elsewhere/b.csv"):
        frame.to_csv(tmp_path / place, index=False)

    def sha256(place="a.csv", **settings):
        return DataSet(OwnData("csv", str(tmp_path / place), ("target",), **settings)).sha256

    first = sha256()
    assert first == sha256("elsewhere/b.csv") == sha256(name="x")
    others = [{"task": "approximation"}, {"drop": ("petal width (cm)",)}]
    others += [{"rule": SplitRule(splits=2)}, {"rule": SplitRule(folds=3)}]
    digests = {first, *(sha256(**settings) for settings in others)}
    frame.iloc[0, 0] += 0.1
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert len({*digests, sha256()}) == 6


def test_a_worker_loads_the_split_of_a_repeat_and_refuses_other_data(tmp_path):
    own = OwnData("csv", str(tmp_path / "t.csv"), ("y",), rule=SplitRule(splits=3))

    def write(first: int) -> None:
        rows = "".join(f"{row},{row % 2}\n" for row in range(first, first + 20))
        (tmp_path / "t.csv").write_text(f"x,y\n{rows}")

    write(0)
    source, first = open_problem(own)
    assert [source.of_repeat(repeat).split for repeat in range(5)] == [0, 1, 2, 0, 1]
    np.testing.assert_array_equal(load_source(source.of_repeat(3)).X_train, first.X_train)
    other = load_source(source.of_repeat(1))
    assert (other.X_train != first.X_train).any()
    assert load_source(source.of_repeat(1)) is other
    write(2)
    source, _ = open_problem(own)
    write(3)
    said = r"t\.csv: expected the data that the runs were planned for"
    with pytest.raises(DataError, match=said):
        load_source(source)


def test_semicolons_tabs_quotes_and_blank_lines_are_read(tmp_path):
    plain = data_of(tmp_path, 'a,"b, or c",y\n' + "1,2.5,k\n3,4.5,l\n" * 4)
    for separator in ";\t":
        text = (
            f"a{separator}b, or c{separator}y\n\n"
            + f"1{separator}2.5{separator}k\n3{separator} 4.5{separator}l\n" * 4
        )
        assert data_of(tmp_path, text, read_keys=(("sep", separator),)).sha256 == plain.sha256


def test_scikit_learn_data_sets_declare_their_targets():
    problem = open_problem(OwnData("sklearn", "digits"))[1]
    assert (problem.name, problem.n_features, problem.n_classes) == ("sklearn:digits", 64, 10)
    assert open_problem(OwnData("sklearn", "linnerud"))[1].n_outputs == 3


def test_unreadable_files_are_refused(tmp_path):
    (tmp_path / "latin.csv").write_bytes(b"x,y\n1,\xfc\n")
    (tmp_path / "own.parquet").write_text("x,y\n")
    for source, name, said in (
        ("csv", "latin.csv", r", line 2: expected utf-8 text, got the byte 0xfc\."),
        (
            "parquet",
            "own.parquet",
            r": expected a Parquet file, got .*\. Check the path and the file\.$",
        ),
        ("csv", "none.csv", r": expected a readable file, got No such file or directory\."),
    ):
        with pytest.raises(DataError, match=re.escape(name) + said):
            OwnData(source, str(tmp_path / name)).read()


def test_keys_of_a_csv_file_are_refused_for_other_data(tmp_path):
    path = tmp_path / "own.parquet"
    pd.DataFrame({"x": ["1,5", "2,5"], "y": [0, 1]}).to_parquet(path)
    said = "own.parquet: expected only decimal, thousands, na_values, keep_default_na for data that"
    for key in ({"sep": ";"}, {"dtype": {"x": "str"}}):
        with pytest.raises(DataError, match=rf"{said} are no CSV file, got {min(key)}\. Leave out"):
            read_table(path, **key)
    assert read_table(path, decimal=",").shape == (2, 2)


def test_typed_dates_are_refused_unless_dropped(tmp_path):
    frame = pd.DataFrame(
        {"when": pd.date_range("2020", periods=8), "x": range(8), "y": list("abababab")}
    )
    frame.to_parquet(tmp_path / "own.parquet")
    own = OwnData("parquet", str(tmp_path / "own.parquet"), ("y",))
    said = r"expected numbers or text, got dates \(typed\).* `drop: \[when\]`"
    with pytest.raises(DataError, match=said):
        DataSet(own)
    assert open_problem(replace(own, drop=("when",)))[1].feature_names == ("x",)


def test_missing_values_of_every_type_are_read_from_parquet(tmp_path):
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3, 4] * 3, dtype="Int64"),
            "yes": pd.array([True, None, False, True] * 3, dtype="boolean"),
            "kind": pd.Categorical(["u", None, "v", "u"] * 3, categories=["u", "v", "never"]),
            "y": list("aabb") * 3,
        }
    )
    frame.to_parquet(tmp_path / "own.parquet")
    problem = open_problem(OwnData("parquet", str(tmp_path / "own.parquet"), ("y",)))[1]
    assert problem.feature_names == (
        *("whole", "yes", "whole missing", "yes missing", "kind = u", "kind = v", "kind missing"),
    )
    assert problem.X_train[:, [2, 3, 6]].any(axis=0).all()


@pytest.mark.parametrize("empty", ["", "None"])
def test_an_empty_column_becomes_a_constant_and_an_indicator(tmp_path, empty):
    text = "x,void,y\n" + "".join(f"{row},{empty},{row % 2}\n" for row in range(8))
    problem = data_of(tmp_path, text).problem()
    assert problem.feature_names == ("x", "void", "void missing")
    assert (set(problem.X_train[:, 1]), set(problem.X_test[:, 2])) == ({0.0}, {1.0})


def test_a_column_without_a_value_in_the_training_rows_becomes_0(tmp_path):
    rows = [
        f"{row},{'' if fold == 'train' else row},{fold},{row % 2}"
        for row, fold in enumerate(4 * ["train"] + 2 * ["validation", "test"])
    ]
    problem = data_of(
        tmp_path, "\n".join(["x,late,fold,y", *rows]), rule=SplitRule(column="fold")
    ).problem()
    assert not problem.X_test[:, 1].any()


def test_a_proben1_family_has_all_examples_of_its_permutations():
    own = OwnData("proben1", "cancer", rule=SplitRule(folds=10))
    data = DataSet(own)
    expected = ("proben1:cancer", (699, 10), ("0", "1"))
    assert (own.label, data.table.frame.to_numpy().shape, data.classes) == expected
    for name in ("cancer1", "cancer2", "cancer3"):
        problem = load_problem(name)
        X = np.vstack([problem.X_train, problem.X_validation, problem.X_test])
        y = np.concatenate([problem.y_train, problem.y_validation, problem.y_test])
        rows = np.column_stack([X, y])
        assert np.array_equal(
            rows[np.lexsort(rows.T)],
            data.table.frame.to_numpy()[np.lexsort(data.table.frame.to_numpy().T)],
        )
    assert OwnData("proben1", "flare").read().targets == ("out1", "out2", "out3")


@pytest.mark.parametrize(("rare", "is_imbalanced"), [(16, True), (17, False)])
def test_imbalanced_classes_are_said_before_the_run(tmp_path, rare, is_imbalanced):
    classes = ["a"] * 60 + ["b"] * (40 - rare) + ["c"] * rare
    text = "x,y\n" + "".join(f"{n * 7 % 13},{name}\n" for n, name in enumerate(classes))
    data = data_of(tmp_path, text, duplicates="keep")
    assert data.problem().has_imbalanced_labels == is_imbalanced
    assert data.notices == is_imbalanced * [
        "the classes are imbalanced (a 60 %, b 24 %, c 16 %): always 'a' has an error of 40 %. Read balanced accuracy"
        " and recall, and choose settings `by: balanced_accuracy` or macro_f1."
    ]
