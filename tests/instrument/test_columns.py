"""Types of columns: the same for the same values from every source; what cannot be read is refused with its remedy."""

import csv
import datetime
import itertools
import re
import sys
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
from pppca_bench.errors import DataError, OwnDataError
from pppca_bench.problems import DataSet, OwnData
from pppca_bench.problems.columns import ColumnError, Reading, convert
from pppca_bench.problems.infer import infer

BIG = 2**53
MARKERS = ["", "?", "NA", "None", "null"]


def inferred(values, declared="", form="", **read):
    reading = OwnData("csv", "", read_keys=tuple(read.items())).reading()
    return infer(pd.Series(values, name="x"), reading, declared, form)


def kind_of(values, declared="", **read):
    return inferred(pd.Series(values, dtype=object), declared, **read)[0].kind


def refusal(values, declared="", **read) -> ColumnError:
    with pytest.raises(ColumnError) as refused:
        inferred(pd.Series(values, dtype=object), declared, **read)
    return refused.value


KINDS = {
    "number": ("1|-2.5|1e3|.5|+1| 3 ", "|".join(MARKERS)),
    "boolean": ("TRUE|False|true",),
    "date": ("2020-01-02|2020-12-31", "13.1.2020|2.3.2020", "05-JAN-20|31-Dec-21"),
    "category": ("00012|501", "red|blue", "4wd|fwd", ">7|>8|Norm", "1st|2nd|3rd", "10-14|15-19"),
}
CASES = [(kind, text.split("|")) for kind, texts in KINDS.items() for text in texts]
CASES += [("number", [1, 2.5, None]), ("boolean", [True, False]), ("boolean", ["TRUE", None])]
CASES += [("category", ["<18", "18-35", ">35"]), ("date", ["1.2.20", "31.12.21"])]


@pytest.mark.parametrize(("kind", "values"), CASES)
def test_all_values_decide_the_type(kind, values):
    assert kind_of(values) == kind


AMOUNTS = """\
100 min|82 min
Varies|20M|1.5M|14k
2h 50m|19h|1h 5m
5'10"|6'1"
0:23|10:08
$1,221.90|$3
Rs. 500|Rs. 1,000
(0.50)|(1.50)
1.5D+02|2.0D+02
2020-01-02|unknown
""".splitlines()
BESIDE_NUMBERS = ("na", "1_000", "0x1f", "5 %", "1e-400", "\u22125", "8,480", "1.234,5", "x")
AFTER = (" m2", "km/h", "°C", " ± 2", " mg/dl", " %", ".5-")
BEFORE = ("<", "~", "USD ", "₹", "Rs. ", "R$", "$")
AMOUNTS += [f"1{mark}234,5|7,5" for mark in "\u00a0\u202f'."]
AMOUNTS += [f"1|2|{odd}" for odd in BESIDE_NUMBERS]
AMOUNTS += [f"0{unit}|1{unit}|2{unit}" for unit in AFTER] + [f"{sign}0|{sign}12" for sign in BEFORE]


@pytest.mark.parametrize("texts", AMOUNTS)
def test_numbers_beside_other_texts_are_refused_and_the_remedies_read_them(texts):
    values = texts.split("|")
    refused = refusal(values)
    assert refused.expected == "numbers, dates of one format or text"
    for read in (way[2] for way in refused.remedies if way[1] == "read"):
        assert kind_of(values, **read) == "number"
    assert kind_of(values, "category") == "category"


COMMA, POINT = {"thousands": ","}, {"decimal": ","}


@pytest.mark.parametrize(
    ("texts", "keys"),
    [
        ("999|8,480", [COMMA]),
        ("1999|8,480", [COMMA, POINT]),
        ("1,683|8,480", [COMMA, POINT]),
        ("999|8,48", [POINT]),
        ("1.234.567|2.5", []),
        ("1.234.567|2", [{"thousands": "."}]),
        ("1'234'567|2.5", [{"thousands": "'"}]),
        ("1|na|na", [{"na_values": ("na",)}]),
        ("1|True|False", []),
    ],
)
def test_both_meanings_of_a_comma_are_proposed_where_the_values_do_not_decide(texts, keys):
    assert [way[2] for way in refusal(texts.split("|")).remedies if way[1] == "read"] == keys


def test_dates_with_day_or_month_first_need_a_format():
    days = [f"0{row % 9 + 1}/0{row % 5 + 1}/2020" for row in range(40)]
    for declared in ("", "date"):
        refused = refusal(days, declared)
        assert refused.expected == "one format of dates"
        assert refused.got == "several for '01/01/2020'"
        forms = [form["x"] for _, _, form in refused.remedies]
        assert [inferred(days, "date", form)[1].dt.month.max() for form in forms] == [9, 5]
    with_commas = [day.replace("/2020", ",20").replace("/", ",") for day in days]
    refused = refusal(with_commas, "date")
    assert (refused.got, refused.remedies[1][2]) == ("none for '01,01,20'", {"x": "%d.%m.%y"})
    assert inferred(with_commas, "date", "%d,%m,%y")[1].dt.day.max() == 9


def test_columns_of_arrow_and_of_objects_are_what_their_values_are():
    days = [datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 3, 4, 5, 6, 7)]
    assert inferred(pd.Series(days, dtype=object))[1].tolist() == days
    for values in ([1, 2], [True, False], ["a", "b"], days, [day.date() for day in days]):
        array = pa.array(values)
        series = pd.Series(array, dtype=pd.ArrowDtype(array.type))
        assert inferred(series)[0].kind == kind_of(values)


def test_marks_of_thousands_separate_groups_of_three_digits_only():
    numbers = inferred(["1,046", "229", "1,234,567.5"], thousands=",")[1]
    assert numbers.tolist() == [1046, 229, 1234567.5]
    for wrong in ("1,04", "0,123"):
        refusal([wrong, "229"], thousands=",")


def test_declared_markers_are_missing_as_text_and_as_number():
    for values in (["-200.0", "-200", "3"], [-200.0, -200, 3]):
        numbers = inferred(values, na_values=[-200])[1]
        assert numbers.isna().tolist() == [True, True, False]
    assert kind_of(["NA", "a"], keep_default_na=False) == "category"


@pytest.mark.parametrize(
    "values", [[BIG + 1, 2], [str(BIG + 1), "2"], pd.array([BIG + 1, None], dtype="Int64")]
)
def test_whole_numbers_that_float64_merges_are_refused_unless_categories(values):
    for own, read in ((values, {}), ([f"{BIG + 1:,}", "2"], {"thousands": ","})):
        with pytest.raises(ColumnError, match="whole numbers within ±2⁵³"):
            inferred(own, **read)
    assert str(BIG + 1) in inferred(values, "category")[0].labels


@pytest.mark.parametrize(
    "days", [[20200102, 20201231], ["20200102", "20201231"], [20200102, 20201231, None]]
)
def test_declared_dates_may_be_whole_numbers(days):
    column, dates = inferred(days, "date")
    assert (column.form, dates[0]) == ("%Y%m%d", pd.Timestamp(2020, 1, 2))
    with pytest.raises(ColumnError, match="a format of dates"):
        inferred(days, "date", "%q")


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
    kinds = {"number": "numeric", "whole": "numeric", "flag": "{True,False}"}
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


TEXT = st.text(max_size=6) | CELLS["number"].map(str) | st.sampled_from(MARKERS)


@settings(max_examples=50)
@given(st.lists(TEXT, min_size=1, max_size=8))
def test_every_value_is_read_back_or_the_column_is_refused(values):
    series = pd.Series(values, name="x", dtype=object)
    try:
        column, converted = infer(series, Reading())
    except ColumnError:
        return
    pd.testing.assert_series_equal(convert(column, series, Reading()), converted)
    for text, value in zip(values, converted, strict=True):
        if pd.isna(value):
            assert text in MARKERS or text.lstrip(" ") in MARKERS
        elif column.kind == "number":
            assert float(text) == value
        elif column.kind == "category":
            assert column.text(value) == text.lstrip(" ")


def in_memory(X, y, folder: Path, **keys) -> DataSet:
    """Return the data set of rows in memory."""
    return DataSet(pppca_bench.Table(X, y, **keys).save("t", folder / "t"))


def remedies(text: object) -> list[str]:
    """Return the remedies of a notice or an error."""
    return str(text).split("`")[1::2]


NUMBERS = csv_of(20, z=range(20), x=[0, 2, 4, 1, 3], y="uv")
ROWS = NUMBERS.partition("\n")[2]


@pytest.mark.parametrize(
    ("content", "n_remedies"),
    [
        (NUMBERS.replace(",", ";").encode(), 1),
        (f"sep=;\n{NUMBERS}".replace(",", ";").encode(), 1),
        (NUMBERS.replace(",", "\t").encode("utf-16"), 2),
        (f"z,x°,y\n{ROWS}".encode("cp1252"), 1),
        (f"# from an archive\n#\n{NUMBERS}".encode(), 1),
        (re.sub("(?m)^(.*?),", r"\1.5,", ROWS).encode(), 1),
        (f"x,y\n{ROWS}".encode(), 1),
        (f",x,y\n{ROWS}".encode(), 1),
        (NUMBERS.replace(",", "  ").encode(), 1),
        (f"a table\n{NUMBERS}".encode(), 1),
        (NUMBERS.encode("utf-16-le"), 1),
    ],
    ids=lambda value: ascii(value)[2:14],
)
def test_a_file_that_looks_otherwise_is_refused_with_its_key(tmp_path, content, n_remedies):
    path, read = tmp_path / "t.csv", {}
    path.write_bytes(content)
    for _ in range(n_remedies):
        with pytest.raises(OwnDataError) as refused:
            pppca_bench.read_table(path, **read)
        read |= yaml.safe_load(remedies(refused.value)[0])["read"]
    frame = pppca_bench.read_table(path, **read)
    assert frame.iloc[:, -1].tolist() == ["u", "v"] * 10


CELL = st.text(st.sampled_from("ab ,;\"'\n\r#\t1é"), max_size=5)


@settings(max_examples=100)
@given(rows=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=6), sep=st.sampled_from([*",;\t"]))
def test_a_csv_file_of_pandas_is_read_with_its_lines(tmp_path, monkeypatch, rows, sep):
    monkeypatch.setattr("pppca_bench.problems.read_csv._N_AT_ONCE", 2)
    path, frame = tmp_path / "t.csv", pd.DataFrame(rows, columns=["first", "second"])
    frame.to_csv(path, sep=sep, index=False, quoting=csv.QUOTE_ALL, lineterminator="\n")
    read = pppca_bench.read_table(path, sep=sep, header=0)
    assert read.to_numpy().tolist() == frame.to_numpy().tolist()
    lines = np.cumsum([1, *(1 + len(re.findall("\r\n|\r|\n", "|".join(row))) for row in rows)])[1:]
    assert read.index.tolist() == lines.tolist()


def test_comments_are_none_within_quotes(tmp_path):
    text = 'a,b  # c\n"one\ntwo # three, left",5\'10"  # tall, n\n"no #1",2\n'
    (tmp_path / "t.csv").write_text(text)
    table = pppca_bench.read_table(tmp_path / "t.csv", comment="#")
    assert table.iloc[:, 0].tolist() == ["one\ntwo # three, left", "no #1"]
    assert table.iloc[:, 1].str.strip().tolist() == ["5'10\"", "2"]


def test_quotation_marks_hold_fields_of_space_separated_files_together(tmp_path):
    path = tmp_path / "auto.data"
    path.write_text('18.0   8 "chevrolet malibu"\n15.0   6\'2"\t"buick ""skylark"""\n')
    rows = pppca_bench.read_table(path, sep=r"\s+", header=False)
    expected = [["18.0", "8", "chevrolet malibu"], ["15.0", "6'2\"", 'buick "skylark"']]
    assert rows.values.tolist() == expected


def test_an_arff_file_has_dates_and_if_sparse_zeros_where_nothing_is_written(tmp_path):
    attributes = ("x numeric", "when date 'dd.MM.yyyy'", "y {u,v}")
    lines = ["@relation t", *(f"@attribute {one}" for one in attributes), "@data"]
    for row in range(12):
        number = "0 1.5, " * bool(row % 3)
        lines.append(f"{{{number}1 '{row + 1:02d}.01.2020', 2 {'vu'[row % 2]}}}")
    (tmp_path / "t.arff").write_text("\n".join(lines) + "\n")
    own = OwnData("arff", str(tmp_path / "t.arff"), ("y",), dates=(("when", "%d.%m.%Y"),))
    data = DataSet(own)
    assert data.frame["when"].dt.day.tolist() == list(range(1, 13))
    assert data.frame["x"].tolist() == [1.5 if row % 3 else 0.0 for row in range(12)]
    assert data.classes == ("u", "v")


def test_sparse_inputs_and_indicators_of_labels_are_read(tmp_path):
    X = pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 1.5, 2] * 6), "b": range(24)})
    data = in_memory(X, np.eye(2)[np.arange(24) % 2], tmp_path)
    assert data.frame["a"].tolist() == [0, 0, 1.5, 2] * 6
    assert data.notices[0].startswith("the 2 targets of 0 and 1 are approximated, not classified.")
    data = in_memory(csr_array(np.eye(8)), [0, 1] * 4, tmp_path)
    np.testing.assert_array_equal(data.frame, np.eye(8))


def test_none_and_na_are_classes_and_missing_inputs(tmp_path):
    data = data_of(tmp_path, csv_of(24, x=["NA", 1, "NA", 3], y=["None", "NA", "Apnoea"]))
    assert data.classes == ("Apnoea", "NA", "None")
    assert data.feature_names == ("x", "x missing")


@pytest.mark.parametrize("labels", [["1.0", "2.0", "3.0"], ["1", "2", "3"]])
def test_few_whole_numbers_are_classes_and_said(tmp_path, labels):
    text = csv_of(24, x=range(0, 24 * 7, 7), y=labels).replace("161,", "0,")
    data = data_of(tmp_path, text)
    assert (data.task, data.classes) == ("classification", ("1", "2", "3"))
    expected = ["the 3 whole numbers of 'y' are classes. `task: approximation` decides otherwise."]
    assert data.notices == expected
    assert data_of(tmp_path, text, task="approximation").notices == []


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


def test_the_word_none_as_a_gap_is_said_with_the_key_that_makes_it_a_category(tmp_path):
    def fences(text, read=()):
        keys = tuple((key, value if value is False else tuple(value)) for key, value in read)
        return data_of(tmp_path, text, read_keys=keys, duplicates="keep")

    text = csv_of(24, fence=["None", "wood"], y="uuvv")
    (notice,) = fences(text).notices
    assert notice.startswith("12 texts 'None' of 'fence' are gaps. ")
    assert fences(text).feature_names == ("fence = wood", "fence missing")
    data = fences(text, yaml.safe_load(remedies(notice)[0])["read"].items())
    assert (data.notices, data.feature_names) == ([], ("fence = None", "fence = wood"))
    said = "expected one kind of gaps, got 12 texts 'None' beside 2 other gaps"
    with pytest.raises(DataError, match=said) as refused:
        fences(text := text.replace("wood,", ",", 2))
    ways = [yaml.safe_load(way)["read"].items() for way in remedies(refused.value)[:2]]
    assert [fences(text, way).feature_names for way in ways] == [
        ("fence = None", "fence = wood", "fence missing"),
        ("fence = wood", "fence missing"),
    ]


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


@pytest.mark.parametrize("texts", [[None] * 8, ["one"] * 8, [*[None] * 7, "one"]])
def test_columns_of_few_texts_or_none_become_inputs(texts, tmp_path):
    X = pd.DataFrame({"a": np.arange(8) % 5, "words": texts})
    data = in_memory(X, [0, 1] * 4, tmp_path, text=["words"])
    assert np.isfinite(data.problem().X_train).all()


def test_text_of_many_values_is_encoded_by_its_components(tmp_path, monkeypatch):
    words = ["red door", "blue window", "old chair", "small table"]
    notes = [f"{words[row % 4]} no {'abcdefghij'[row % 10]}{row}" for row in range(60)]
    text = csv_of(60, note=notes, y="uv")
    problem = data_of(tmp_path, text, text=("note",)).problem()
    assert problem.feature_names[:2] == ("note 1", "note 2")
    assert (problem.X_train.min(), problem.X_train.max()) == (0.0, 1.0)
    monkeypatch.setitem(sys.modules, "skrub", None)
    said = r"'note': expected skrub, .*, got import of skrub halted.* Install it"
    with pytest.raises(DataError, match=said):
        data_of(tmp_path, text, text=("note",)).problem()


WRONG = [{"task": "regression"}, {"duplicates": "yes"}, {"group": np.zeros(3)}]
WRONG += [{"duplicates": "group", "group": "a"}, {"read": {"sep": ";"}}]
WRONG += [{"read": {"decimal": ",,"}}, {"read": {"na_values": {"a": [0]}}}]


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


def test_remedies_for_given_data_are_arguments_of_a_table(tmp_path):
    dated, y = X.assign(t=pd.date_range("2020", periods=20)[::-1]), np.arange(20) % 2
    with pytest.raises(DataError, match=r"got dates \(typed\)") as refused:
        in_memory(dated, y, tmp_path)
    names = {"pppca_bench": pppca_bench, "X": dated, "y": y}
    tables = [eval(remedy, names) for remedy in remedies(refused.value)]
    found = [DataSet(table.save("t", tmp_path / "t")).feature_names for table in tables]
    assert [len(found[0]) > 1, found[1]] == [True, ("a",)]


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
    noted = "Note: 'id' differs in every row: an identifier? `drop: [id]` leaves it out."
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

    known = "line 4, column 'code' of X: expected one of the table's '00', '01', '02', got"
    odd = {"9;1;;07;1,0": f"{known} '07'", "9;1;;;1,0": f"{known} a gap"}
    odd["9;1;;00;1.0"] = "line 4, column 'price' of X: expected numbers, got '1.0'"
    for line, said in odd.items():
        with pytest.raises(ValueError, match=said):
            predicted(line, "refuse")
    assert len(predicted("9;1;;07;1,0", "ignore")) == 3
    with pytest.raises(ValueError, match=r"^unseen in pipeline: expected 'refuse' or 'ignore', go"):
        predicted(line, "ignor")
