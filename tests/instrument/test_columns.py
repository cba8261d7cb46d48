"""Types of columns: one rule for texts of every source, a declaration wins, and labels stay to the letter."""

import datetime
import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml
from builders import csv_of, data_of, write_config
from command_line import printed
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import pppca_bench
from pppca_bench.errors import DataError
from pppca_bench.problems import DataSet, OwnData
from pppca_bench.problems.columns import MARKERS, ColumnError, convert, infer

BIG = 2**53
ROOT = Path(__file__).parents[2]


def inferred(values, *, declared=False, **read):
    return infer(pd.Series(values, name="x"), read, is_declared=declared)


def kind_of(values, **read):
    return inferred(pd.Series(values, dtype=object), **read)[0].kind


def refusal(values, **read) -> ColumnError:
    with pytest.raises(ColumnError) as refused:
        inferred(pd.Series(values, dtype=object), **read)
    return refused.value


def test_the_docs_list_the_usual_markers_of_gaps():
    docs = (ROOT / "docs" / "own_data.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"usual markers of gaps are (.*?)\.\n", docs, re.S)
    assert set(re.findall("`(.*?)`", line)) == MARKERS


KINDS = {
    "number": ("1|-2.5|1e3|.5|+1| 3 ", "1||?|NA|None|null", ""),
    "boolean": ("TRUE|False|true", "True|NA|"),
    "category": ("00012|501", "red|blue", "fwd|4wd|rwd", ">7|<8|Norm", "None|NA", "NA|a|"),
}
CASES = [(kind, text.split("|")) for kind, texts in KINDS.items() for text in texts]
CASES += [("number", [1, 2.5, None]), ("boolean", [True, False]), ("boolean", ["TRUE", None])]
CASES += [("category", pd.Categorical([1, 2])), ("number", pd.Categorical([None], ["p"]))]


@pytest.mark.parametrize(("kind", "values"), CASES)
def test_all_values_decide_the_type(kind, values):
    assert inferred(values)[0].kind == kind


def test_the_usual_markers_are_gaps_among_numbers_and_categories_among_texts():
    assert inferred(["1", *MARKERS, ""])[1].isna().tolist() == [False] + [True] * (len(MARKERS) + 1)
    column, codes = inferred(["b", "None", "", "?", "a"])
    assert (column.labels, column.has_gaps) == (("a", "b", "?", "None"), True)
    assert codes.isna().tolist() == [False, False, True, False, False]
    assert inferred(["b", "None"], keep_default_na=True)[0].labels == ("b",)


MIXTURES = ["1|2|na", "1|1_000", "1|0x1f", "3|5 %", "1|\u22125", "999|8,480", "1|2|x", "1|True"]


@pytest.mark.parametrize("texts", MIXTURES)
def test_a_mixture_is_refused_and_each_remedy_reads_it(texts):
    values = texts.split("|")
    refused = refusal(values)
    assert refused.got.startswith(
        f"{len(values) - 1} numbers and 1 other values, first '{values[-1]}' (row "
    )
    (_, as_category, _), *others = refused.remedies
    assert as_category == "categorical"
    assert kind_of(values, declared=True) == "category"
    assert len(others) == (not any(sign.isdigit() for sign in values[-1]))
    for _, as_gaps, words in others:
        assert as_gaps == "na_values"
        assert kind_of(values, na_values=words) == "number"


def test_a_mixture_names_the_first_three_odd_values_their_rows_and_count():
    refused = refusal([*map(str, range(300)), "a", "a", "b", "c", "d"])
    assert (
        refused.got
        == "300 numbers and 5 other values, first 'a' (row 300), 'b' (row 302), 'c' (row 303)"
    )
    assert refused.remedies == ()  # too many categories, too many words for markers of gaps


@pytest.mark.parametrize(
    "texts",
    [
        "0,5|1,5",
        "$5|$7|$9",
        "20 min|30 min|unknown",
        "01/02/2020|02/02/2020",
        "2020-01-02",
        "\u20b95",
    ],
)
def test_texts_that_begin_like_numbers_are_refused_until_declared(texts):
    values = texts.split("|")
    assert refusal(values).expected == "numbers or text"
    assert [way[1] for way in refusal(values).remedies] == ["categorical"]
    assert set(inferred(values, declared=True)[0].labels) == set(values)


@pytest.mark.parametrize(
    ("texts", "keys", "numbers"),
    [
        ("0,5|1,5|2", {"decimal": ","}, [0.5, 1.5, 2]),
        ("1,046|229|1,234,567.5", {"thousands": ","}, [1046, 229, 1234567.5]),
        ("1.234,5|7", {"thousands": ".", "decimal": ","}, [1234.5, 7]),
        ("-200.0|-200|3", {"na_values": [-200]}, [None, None, 3]),
        ("-200|x|3", {"na_values": {"x": ["x", -200]}}, [None, None, 3]),
    ],
)
def test_declared_marks_and_gaps_decide_the_numbers(texts, keys, numbers):
    expected = pd.Series(numbers, dtype=float, name="x")
    pd.testing.assert_series_equal(
        inferred(texts.split("|"), **keys)[1], expected, check_names=False
    )


def test_a_point_is_no_decimal_mark_beside_a_declared_comma():
    assert refusal(["1.5", "0,5"], decimal=",").expected == "numbers alone or text alone"


@pytest.mark.parametrize("labels", [["1.1", "1.10"], ["12E3", "120E2"], ["01", "1"], ["a", "a "]])
@pytest.mark.parametrize("form", [list, pd.Categorical])
def test_labels_stay_to_the_letter(labels, form):
    column, codes = inferred(form(labels), declared=True)
    assert (set(column.labels), codes.nunique()) == (set(labels), 2)


@pytest.mark.parametrize("labels", [["1", "10", "9"], ["01", "02", "10"], ["1.1", "1.10", "2"]])
def test_labels_that_are_numbers_have_their_order(labels):
    assert sorted(inferred(labels, declared=True)[0].labels, key=float) == list(
        inferred(labels[::-1], declared=True)[0].labels
    )


@pytest.mark.parametrize("kind", ["str", "category", "object"])
def test_a_type_of_text_in_dtype_declares_a_category(tmp_path, kind):
    text = csv_of(24, code=["12E3", "45E1", "120E2"], x=range(5), y="uv")
    data = data_of(tmp_path, text, read_keys={"dtype": {"code": kind}}, duplicates="keep")
    assert data.feature_names == ("x", "code = 45E1", "code = 120E2", "code = 12E3")
    read = {"dtype": "str"}
    data = data_of(tmp_path, text, read_keys=read, categorical=("code",), duplicates="keep")
    assert len(data.feature_names) == 4


def test_numbers_of_new_rows_have_the_label_that_writes_them():
    column, _ = inferred(["01", "2.0", "9"], declared=True)
    assert convert(column, pd.Series([9, 1, 2], name="x"), {}).tolist() == [2, 0, 1]
    column, _ = inferred(["1.1", "1.10"], declared=True)
    with pytest.raises(ColumnError, match=r"one of the table's '1\.1', '1\.10'"):
        convert(column, pd.Series(["1.100"], name="x"), {})


def test_the_type_of_the_table_reads_a_row_of_gaps():
    column, _ = inferred(pd.Categorical(["u", None, "v"]))
    for gap in ([None], [""], [np.nan], pd.Categorical([None])):
        assert convert(column, pd.Series(gap, name="x"), {}).isna().all()


def test_columns_of_arrow_and_of_objects_are_what_their_values_are():
    for values in ([1, 2], [True, False], ["a", "b"]):
        array = pa.array(values)
        series = pd.Series(array, dtype=pd.ArrowDtype(array.type))
        assert inferred(series)[0].kind == kind_of(values)
    day = datetime.datetime(2020, 1, 2)
    for typed in (pd.Series([day]), pd.Series([day.date()]), pd.Series([[1]]), pd.Series([1j])):
        with pytest.raises(ColumnError, match="numbers, text or true/false"):
            inferred(typed)


@pytest.mark.parametrize(
    "values", [[BIG + 1, 2], [str(BIG + 1), "2"], pd.array([BIG + 1, None], dtype="Int64")]
)
def test_whole_numbers_that_float64_merges_are_refused_unless_categories(values):
    for own, read in ((values, {}), ([f"{BIG + 1:,}", "2"], {"thousands": ","})):
        with pytest.raises(ColumnError, match="whole numbers within ±2⁵³"):
            inferred(own, **read)
    assert str(BIG + 1) in inferred(values, declared=True)[0].labels


CELLS = {
    "number": st.floats(-1e9, 1e9).map(lambda value: float(f"{value:.6g}")),
    "whole": st.integers(-BIG, BIG),
    "text": st.sampled_from(["red", "dark blue", "été", "B"]),
    "flag": st.booleans(),
}
WHOLE = st.tuples(*CELLS.values())
WITH_GAPS = st.tuples(*(st.none() | cells for cells in CELLS.values()))


def written(frame: pd.DataFrame, folder: Path) -> list[OwnData]:
    """Return declarations of the same rows as CSV, Parquet, ARFF and a frame of Python values."""
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    kinds = {"number": "numeric", "whole": "numeric"}
    lines = [f"@attribute {name} {kinds.get(name, 'string')}" for name in frame]
    texts = frame.map(lambda cell: f"'{cell}'" if isinstance(cell, str) else str(cell))
    rows = texts.mask(frame.isna(), "?").to_numpy(object)
    lines = ["@relation t", *lines, "@data", *map(",".join, rows)]
    (folder / "t.arff").write_text("\n".join(lines) + "\n")
    table = pppca_bench.Table(frame.drop(columns="y").astype(object), frame["y"])
    formats = ("csv", "parquet", "arff")
    files = [OwnData(form, str(folder / f"t.{form}"), ("y",)) for form in formats]
    return [*files, table.save("t", folder / "t.pickle")]


@settings(max_examples=12)
@given(st.lists(WHOLE, min_size=2, max_size=2), st.lists(WITH_GAPS, min_size=6, max_size=8))
def test_the_same_rows_have_the_same_inputs_and_digest_from_every_source(tmp_path, whole, more):
    frame = pd.DataFrame(whole + more, columns=list(CELLS)).convert_dtypes()
    frame = frame.assign(y=np.array(["u", "v"])[np.arange(len(frame)) % 2])
    results = set()
    for own in written(frame, tmp_path):
        data = DataSet(replace(own, duplicates="keep"))
        X, y = data.problem().X_train, data.problem().y_test
        results.add((data.feature_names, data.sha256, X.tobytes(), y.tobytes()))
    assert len(results) == 1


TEXT = st.text(max_size=6) | CELLS["number"].map(str) | st.sampled_from(["", *sorted(MARKERS)])


@settings(max_examples=50)
@given(st.lists(TEXT, min_size=1, max_size=8), st.booleans())
def test_every_value_is_read_back_or_the_column_is_refused(values, declared):
    series = pd.Series(values, name="x", dtype=object)
    try:
        column, converted = infer(series, {}, is_declared=declared)
    except ColumnError:
        assert not declared
        return
    pd.testing.assert_series_equal(convert(column, series, {}), converted)
    for text, value in zip(values, converted, strict=True):
        if pd.isna(value):
            assert not text.strip() or (text in MARKERS and column.kind != "category")
        elif column.kind == "number":
            assert float(text) == value
        elif column.kind == "category":
            assert column.labels[int(value)] == text


def in_memory(X, y, folder: Path, **keys) -> DataSet:
    """Return the data set of rows in memory."""
    return DataSet(pppca_bench.Table(X, y, **keys).save("t", folder / "t"))


def remedies(text: object) -> list[str]:
    """Return the remedies of a notice or an error."""
    return str(text).split("`")[1::2]


def test_sparse_inputs_and_indicators_of_labels_are_read(tmp_path):
    X = pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 1.5, 2] * 6), "b": range(24)})
    data = in_memory(X, np.eye(2)[np.arange(24) % 2], tmp_path)
    assert data.frame["a"].tolist() == [0, 0, 1.5, 2] * 6
    assert data.notices[0].startswith("the 2 targets of 0 and 1 are approximated, not classified.")
    data = in_memory(csr_array(np.eye(8)), [0, 1] * 4, tmp_path)
    np.testing.assert_array_equal(data.frame, np.eye(8))


def test_none_and_na_are_classes_and_gaps_of_numbers(tmp_path):
    data = data_of(tmp_path, csv_of(24, x=["NA", 1, "NA", 3], y=["None", "NA", "Apnoea"]))
    assert data.classes == ("Apnoea", "NA", "None")
    assert data.feature_names == ("x", "x missing")
    data = data_of(tmp_path, csv_of(24, x=[1, 3, 2], y=["None", "NA"]))
    assert (data.classes, data.table.columns["y"][0].has_gaps) == (("NA", "None"), False)
    described = printed("data", "describe", tmp_path / "t.csv", "--target", "y")
    assert re.search(r"^y +category +NA, None$", described, re.M)


@pytest.mark.parametrize(
    "labels", [("1.0", "2.0", "3.0"), ("1", "2", "3"), (1, 2, 3), (1.0, 2.0, 3.0)]
)
def test_few_whole_numbers_are_classes_and_said(tmp_path, labels):
    X = pd.DataFrame({"x": [row * 7 % 48 for row in range(24)]})
    data = in_memory(X, [*labels] * 8, tmp_path)
    assert data.task == "classification"
    assert data.class_values.tolist() == list(labels)
    assert {type(value) for value in data.class_values.tolist()} == {type(labels[0])}
    (notice,) = data.notices
    assert notice.startswith("the 3 whole numbers of 'y' are classes. ")
    assert in_memory(X, [*labels] * 8, tmp_path, task="approximation").notices == []


def test_a_target_of_classes_is_no_mixture(tmp_path):
    data = data_of(
        tmp_path, csv_of(24, x=range(5), y=["1", "1.0", "20 min", "?"]), duplicates="keep"
    )
    assert data.classes == ("1", "1.0", "20 min", "?")
    (notice,) = data.notices
    assert notice.startswith("'?' of 'y' is a category. ")


@pytest.mark.parametrize(
    "labels",
    [("a", "A"), ("a", "a "), ("caf\u00e9", "cafe\u0301"), ("x", "\uff58"), ("x", "x\u200b")],
)
def test_labels_that_look_alike_are_refused_in_a_target_and_said_in_an_input(tmp_path, labels):
    with pytest.raises(DataError, match=r"row \d, column 'y': expected one spelling of "):
        data_of(tmp_path, csv_of(24, x=range(5), y=labels))
    text = csv_of(24, kind=labels, x=range(5), y="uuv")
    assert any(
        "two categories of 'kind' differ only" in notice
        for notice in data_of(tmp_path, text).notices
    )


def test_copies_of_rows_are_said_dropped_or_kept_together(tmp_path):
    text = csv_of(20, a=[f"{row * 7 % 20}.5" for row in range(20)], b=range(5), y="uv")
    text += "".join(text.splitlines(keepends=True)[1:11])
    (notice,) = data_of(tmp_path, text).notices
    assert notice.startswith("10 of 30 rows are copies of other rows")
    for remedy in remedies(notice):
        assert data_of(tmp_path, text, **yaml.safe_load(remedy)).notices == []
    assert len(data_of(tmp_path, text, duplicates="drop").y) == 20
    grouped = data_of(tmp_path, text, duplicates="group")
    for one, other in itertools.combinations(grouped.rows(0), 2):
        assert not {row % 20 for row in one} & {row % 20 for row in other}


def test_groups_stay_in_one_part_and_are_no_input(tmp_path):
    patients = [f"p{row // 3}" for row in range(48)]
    data = data_of(tmp_path, csv_of(48, patient=patients, x=range(11), y="uuuvvv"), group="patient")
    assert data.feature_names == ("x",)
    for one, other in itertools.combinations(data.rows(0), 2):
        assert not {row // 3 for row in one} & {row // 3 for row in other}


def test_identifiers_and_sorted_rows_are_said_but_no_measurements_that_differ(tmp_path):
    mixed = [row * 7 % 20 for row in range(20)]
    columns = {"name": [f"n{row}" for row in mixed], "number": [row + 5 for row in mixed]}
    columns |= {"weight": [row * 31 % 97 for row in range(20)]}
    columns |= {"t": [f"{row // 2}.5" for row in range(20)], "y": "uv"}
    said = [
        "'name' differs in every row",
        "'number' differs in every row",
        "rows are sorted by 't'",
    ]
    notices = data_of(tmp_path, csv_of(20, **columns)).notices
    assert [notice.partition(":")[0] for notice in notices] == said


def test_usual_markers_as_categories_are_said_with_the_key_that_takes_them_for_gaps(tmp_path):
    text = csv_of(24, fence=["None", "wood"], y="uuvv")
    data = data_of(tmp_path, text, duplicates="keep")
    assert data.feature_names == ("fence = wood", "fence = None")
    (notice,) = data.notices
    assert (
        notice == "'None' of 'fence' is a category. `read: {na_values: [None]}` takes it for gaps."
    )
    keys = yaml.safe_load(remedies(notice)[0])["read"]
    data = data_of(tmp_path, text, read_keys=keys, duplicates="keep")
    assert (data.notices, data.feature_names) == ([], ("fence = wood", "fence missing"))
    text = csv_of(24, fence=["None", "wood"], y=["u", "u", "None", "None"])
    notice = data_of(tmp_path, text, duplicates="keep").notices[-1]
    keys = yaml.safe_load(remedies(notice)[0])["read"]
    data = data_of(tmp_path, text, read_keys=keys, duplicates="keep")
    assert (data.classes, data.feature_names) == (("u", "None"), ("fence = wood", "fence missing"))


def test_the_same_rows_are_read_alike_where_a_word_stands_beside_gaps(tmp_path):
    frame = pd.DataFrame(
        {"fence": ["None", "wood", None] * 8, "x": np.arange(24) % 5, "y": ["u", "v"] * 12}
    )
    digests = {DataSet(replace(own, duplicates="keep")).sha256 for own in written(frame, tmp_path)}
    assert len(digests) == 1
    data = DataSet(written(frame, tmp_path)[0])
    assert data.feature_names == ("x", "fence = wood", "fence = None", "fence missing")


def test_a_category_of_gaps_alone_is_an_empty_column(tmp_path):
    kind = pd.Categorical([None] * 24, categories=["p", "q"])
    data = in_memory(pd.DataFrame({"a": np.arange(24) % 5, "k": kind}), list("uv") * 12, tmp_path)
    assert data.feature_names == ("a", "k", "k missing")
    rows = [
        "@relation r",
        "@attribute k {p,q}",
        "@attribute y {u,v}",
        "@data",
        *["?,u", "?,v"] * 12,
    ]
    (tmp_path / "t.arff").write_text("\n".join(rows))
    described = printed("data", "describe", tmp_path / "t.arff", "--target", "y")
    assert re.search(r"^k +number +24 +empty$", described, re.M)


@pytest.mark.parametrize(
    "X",
    [
        pa.table({"0": [*range(8)], "b": [*"uv-vuvuv"]}),
        pd.DataFrame({0: [*range(8)], "b": [*"uv-vuvuv"]}),
        pd.DataFrame({"0": [*range(8)], "b": [*"uv-vuvuv"]}).to_records(index=False),
    ],
    ids=["arrow", "number as name", "records"],
)
def test_tables_of_other_libraries_keep_their_names_and_none_is_the_default(X, tmp_path):
    keys = {"drop": [0], "categorical": None, "group": None}
    keys["read"] = {"na_values": {"-"}, "thousands": None}
    (column,) = in_memory(X, pa.array([0, 1] * 4), tmp_path, **keys).inputs
    assert (column.name, column.labels, column.has_gaps) == ("b", ("u", "v"), True)


WRONG = [{"task": "regression"}, {"duplicates": "yes"}, {"group": np.zeros(3)}]
WRONG += [{"duplicates": "group", "group": "a"}, {"read": {"sep": ";"}}, {"categorial": ["a"]}]
WRONG += [{"splits": 5}, {"drop": [""]}]


@pytest.mark.parametrize("wrong", WRONG)
def test_unknown_values_of_a_table_in_memory_are_refused(wrong):
    with pytest.raises(DataError, match=rf"^{min(wrong)}\S* of Table: expected "):
        pppca_bench.Table([[1]], [1], **wrong)


def test_other_targets_are_no_inputs_unless_declared():
    own = OwnData("sklearn", "linnerud", ("Weight",))
    data = DataSet(own)
    assert data.feature_names == ("Chins", "Situps", "Jumps")
    inputs = yaml.safe_load(remedies(data.notices[-1])[0])["inputs"]
    assert len(DataSet(replace(own, inputs=tuple(inputs))).feature_names) == 5


X = pd.DataFrame({"a": np.arange(20) * 7 % 20 / 2}, index=range(10, 30))


def test_indices_of_given_data_must_agree(tmp_path):
    y = pd.Series(["u", "v"] * 10, index=X.index)
    with pytest.raises(DataError, match=r"expected the same index in X and y"):
        in_memory(X, y[::-1], tmp_path)
    assert in_memory(X, y[::-1].loc[X.index], tmp_path).y.tolist() == [0, 1] * 10


def test_an_analyst_goes_from_a_messy_file_to_predictions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = {
        "id": range(40),
        "size": [f"0,{row}" for row in range(13)],
        "colour": ["blue", "red"],
    }
    columns |= {"code": ["00", "01", "02"], "price": [f"1,{row}" for row in range(4)]}
    Path("messy.csv").write_text(csv_of(40, sep=";", **columns))
    describe = ("data", "describe", "messy.csv", "--target", "colour", "--read", "sep=;")
    noted = "Note: 'id' differs in every row: an identifier? `--drop id` leaves it out."
    assert noted in printed(*describe, "--read", "decimal=,")
    read = {"sep": ";", "decimal": ","}
    table = {"csv": "messy.csv", "target": "colour", "drop": ["id"], "read": read}
    document = {"name": "own", "seed": 1, "splits": 2, "methods": ["all_features"]}
    document |= {"problems": [table], "classifier": {"hidden": [], "max_epochs": 2}}
    path = write_config(tmp_path, document)
    printed("run", path, "--workers", "0", "--quiet", "--no-tables")

    def predicted(line, unseen):
        Path("new.csv").write_text(
            "\n".join([";".join(columns), "7;0,5;;00;1,3", "8;?;;02;1,0", line])
        )
        fitted = pppca_bench.pipeline("own/messy.csv/all_features/0", unseen=unseen)
        return fitted.predict(pppca_bench.read_table("new.csv", **read))

    known = "row 3, column 'code' of X: expected one of the table's '00', '01', '02', got"
    odd = {"9;1;;07;1,0": f"{known} '07'", "9;1;;;1,0": f"{known} a gap"}
    odd["9;1;;00;1.0"] = "row 3, column 'price' of X: expected numbers, got '1.0'"
    for line, said in odd.items():
        with pytest.raises(ValueError, match=said):
            predicted(line, "refuse")
    assert len(predicted("9;1;;07;1,0", "ignore")) == 3
    with pytest.raises(ValueError, match=r"^unseen in pipeline: expected 'refuse' or 'ignore', go"):
        predicted(line, "ignor")
