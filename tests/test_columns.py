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
from builders import write_config
from command_line import pppca, printed
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


def meaning(**read) -> Reading:
    return OwnData("csv", "", read_keys=tuple(read.items())).reading()


def kind_of(values, declared="", **read):
    return infer(pd.Series(values, name="x", dtype=object), meaning(**read), declared)[0].kind


def refusal(values, **read) -> ColumnError:
    with pytest.raises(ColumnError) as refused:
        infer(pd.Series(values, name="x", dtype=object), meaning(**read))
    return refused.value


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2.5", "1e3", ".5", "+1", " 3 "], "number"),
        ([1, 2.5, None], "number"),
        (["00012", "501"], "category"),
        (["TRUE", "False", "true", None], "boolean"),
        ([True, False], "boolean"),
        (["2020-01-02", "2020-12-31"], "date"),
        (["13.1.2020", "2.3.2020"], "date"),
        (["red", "blue"], "category"),
        (["4wd", "fwd"], "category"),
        ([">7", ">8", "Norm"], "category"),
        (["05-JAN-20", "31-Dec-21"], "date"),
        (["1.2.20", "31.12.21"], "date"),
        (["1st", "2nd", "3rd"], "category"),
        (["10-14", "15-19"], "category"),
        (["<18", "18-35", ">35"], "category"),
        (MARKERS, "number"),
    ],
)
def test_all_values_decide_the_type(values, kind):
    assert kind_of(values) == kind


@pytest.mark.parametrize(
    "values",
    [
        *(
            ["1", "2", odd]
            for odd in ("na", "1_000", "0x1f", "5 %", "1e-400", "\u22125", "8,480", "1.234,5", "x")
        ),
        ["$1,221.90", "$3"],
        ["100 min", "82 min"],
        ["Varies", "20M", "1.5M", "14k"],
        ["2h 50m", "19h", "1h 5m"],
        ["5'10\"", "6'1\""],
        *(["1 234,5".replace(" ", mark), "7,5"] for mark in "\u00a0\u202f'."),
        *([f"{sign}500", f"{sign}1,000"] for sign in ("₹", "Rs. ", "R$")),
        ["5 %", "7 %"],
        ["0:23", "10:08"],
        ["1.5D+02", "2.0D+02"],
        ["2020-01-02", "unknown"],
        *([f"{row}{unit}" for row in range(3)] for unit in (" m2", "km/h", "°C", " ± 2", " mg/dl")),
        *([f"{sign}{row}" for row in range(3)] for sign in ("<", "~", "USD ")),
        *([form.format(row) for row in range(3)] for form in ("({}.50)", "{}.5-")),
    ],
    ids="-".join,
)
def test_numbers_beside_other_texts_are_refused_and_the_remedies_read_them(values):
    refused = refusal(values)
    assert refused.expected == "numbers, dates of one format or text"
    for read in (way[2] for way in refused.remedies if way[1] == "read"):
        assert kind_of(values, **read) == "number"
    assert kind_of(values, "category") == "category"


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        (["999", "8,480"], [{"thousands": ","}]),
        (["1999", "8,480"], [{"thousands": ","}, {"decimal": ","}]),
        (["1,683", "8,480"], [{"thousands": ","}, {"decimal": ","}]),
        (["999", "8,48"], [{"decimal": ","}]),
        (["1.234.567", "2.5"], []),
        (["1.234.567", "2"], [{"thousands": "."}]),
        (["1", "na", "na"], [{"na_values": ("na",)}]),
        (["1", "True", "False"], []),
        (["1'234'567", "2.5"], [{"thousands": "'"}]),
    ],
)
def test_both_meanings_of_a_comma_are_proposed_where_the_values_do_not_decide(values, keys):
    assert [way[2] for way in refusal(values).remedies if way[1] == "read"] == keys


def test_odd_values_of_a_mixed_column_in_memory_have_their_count_and_first_row(tmp_path):
    said = r"1 numbers and 2 other values: 'na' \(2, first in row 2\)"
    with pytest.raises(OwnDataError, match=said):
        in_memory(pd.Series(["1", "na", "na"]), [0, 1, 0], tmp_path)


def test_dates_with_day_or_month_first_need_a_format(tmp_path):
    text = "when,y\n" + "".join(
        f"0{row % 9 + 1}/0{row % 5 + 1}/2020,{'uv'[row % 2]}\n" for row in range(40)
    )
    for declared in ({}, {"dates": (("when", ""),)}):
        said = "expected one format of dates, got several for '01/01/2020'"
        with pytest.raises(OwnDataError, match=said) as refused:
            data_of(tmp_path, text, **declared)
        ways = [
            yaml.safe_load(way)["dates"]
            for way in str(refused.value).split("`")[1::2]
            if "dates" in way
        ]
        read = [
            data_of(tmp_path, text, dates=tuple(way.items()), duplicates="keep").frame["when"]
            for way in ways
        ]
        assert [int(dates.dt.month.max()) for dates in read] == [9, 5]
    short = text.replace(",", ";").replace("/2020", ",20").replace("/", ",")
    keys = {"duplicates": "keep", "read_keys": (("sep", ";"),)}
    said = r"expected one format of dates, got none for '01,01,20'"
    with pytest.raises(OwnDataError, match=said) as refused:
        data_of(tmp_path, short, dates=(("when", ""),), **keys)
    way = {
        name: form.replace(".", ",")
        for name, form in yaml.safe_load(str(refused.value).split("`")[1])["dates"].items()
    }
    found = data_of(tmp_path, short, dates=tuple(way.items()), **keys).frame["when"].dt.day.max()
    assert found == 9


def test_columns_of_arrow_and_of_objects_are_what_their_values_are():
    days = [datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 3, 4, 5, 6, 7)]
    assert infer(pd.Series(days, dtype=object), meaning())[1].tolist() == days
    for values in ([1, 2], [True, False], ["a", "b"], days, [day.date() for day in days]):
        series = pd.Series(pa.array(values)).astype(pd.ArrowDtype(pa.array(values).type))
        kinds = [
            infer(each, meaning())[0].kind for each in (series, pd.Series(values, dtype=object))
        ]
        assert kinds[0] == kinds[1]


def test_marks_of_thousands_separate_groups_of_three_digits_only():
    read = {"thousands": ","}
    found = infer(pd.Series(["1,046", "229", "1,234,567.5"]), meaning(**read))[1].tolist()
    assert found == [1046, 229, 1234567.5]
    for wrong in ("1,04", "0,123"):
        refusal([wrong, "229"], **read)


def test_declared_markers_are_missing_as_text_and_as_number():
    for values in (["-200.0", "-200", "3"], [-200.0, -200, 3]):
        expected = [True, True, False]
        assert infer(pd.Series(values), meaning(na_values=[-200]))[1].isna().tolist() == expected
    assert kind_of(["NA", "a"], keep_default_na=False) == "category"


@pytest.mark.parametrize(
    "values", [[BIG + 1, 2], [str(BIG + 1), "2"], pd.array([BIG + 1, None], dtype="Int64")]
)
def test_whole_numbers_that_float64_merges_are_refused_unless_categories(values):
    series = pd.Series(values, name="x")
    with pytest.raises(ColumnError, match="whole numbers within ±2⁵³"):
        infer(series, Reading())
    assert str(BIG + 1) in infer(series, Reading(), "category")[0].labels
    with pytest.raises(ColumnError, match="whole numbers within ±2⁵³"):
        infer(pd.Series([f"{BIG + 1:,}", "2"], name="x"), meaning(thousands=","))


CELLS = {
    "number": st.floats(-1e9, 1e9).map(lambda value: float(f"{value:.6g}")),
    "whole": st.integers(-BIG, BIG),
    "text": st.sampled_from(["red", "dark blue", "été", "B"]),
    "flag": st.booleans(),
}


@st.composite
def frames(draw) -> pd.DataFrame:
    n_rows = draw(st.integers(8, 12))
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=4))
    columns = {
        f"{kind}{place}": [
            draw(st.none() | CELLS[kind]) if row > 1 else draw(CELLS[kind]) for row in range(n_rows)
        ]
        for place, kind in enumerate(kinds)
    }
    classes = ["u", "v"] * (n_rows // 2) + ["u"] * (n_rows % 2)
    return pd.DataFrame(columns).convert_dtypes().assign(y=classes)


def written(frame: pd.DataFrame, folder: Path) -> list[OwnData]:
    """Return declarations of the same rows as CSV, Parquet, ARFF and a frame of Python values."""
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    lines = [
        "@relation t",
        *(f"@attribute {name} {_attribute(frame[name])}" for name in frame),
        "@data",
    ]
    lines += [
        ",".join("?" if pd.isna(cell) else _quoted(cell) for cell in row)
        for row in frame.to_numpy(object)
    ]
    (folder / "t.arff").write_text("\n".join(lines) + "\n")
    sources = [
        OwnData(source, str(folder / f"t.{source}"), ("y",))
        for source in ("csv", "parquet", "arff")
    ]
    given_rows = pppca_bench.Table(frame.drop(columns="y").astype(object), frame["y"]).save(
        "t", folder / "t.pickle"
    )
    return [*sources, given_rows]


def _attribute(series: pd.Series) -> str:
    if series.dtype == "boolean":
        return "{True,False}"
    return "numeric" if pd.api.types.is_numeric_dtype(series) else "string"


def _quoted(cell: object) -> str:
    return f"'{cell}'" if isinstance(cell, str | bool | np.bool_) else repr(cell)


@settings(max_examples=25, deadline=None)
@given(frame=frames())
def test_the_same_rows_have_the_same_inputs_and_digest_from_every_source(tmp_path_factory, frame):
    results = set()
    for own in written(frame, tmp_path_factory.mktemp("rows")):
        data = DataSet(replace(own, duplicates="keep"))
        problem = data.problem()
        results.add(
            (data.feature_names, data.sha256, problem.X_train.tobytes(), problem.y_test.tobytes())
        )
    assert len(results) == 1


@given(
    st.lists(
        st.text(max_size=6) | CELLS["number"].map(str) | st.sampled_from(MARKERS),
        min_size=1,
        max_size=8,
    )
)
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


def data_of(folder: Path, content: str, *target: str, **settings) -> DataSet:
    """Return the data set of a CSV file, whose target is y by default."""
    (folder / "t.csv").write_text(content)
    return DataSet(OwnData("csv", str(folder / "t.csv"), target or ("y",), **settings))


def in_memory(X, y, folder: Path, **keys) -> DataSet:
    """Return the data set of rows in memory."""
    return DataSet(pppca_bench.Table(X, y, **keys).save("t", folder / "t"))


ROWS = "".join(f"{row},{row * 7 % 5},{'uv'[row % 2]}\n" for row in range(20))


@pytest.mark.parametrize(
    ("content", "remedies"),
    [
        (("z,x,y\n" + ROWS).replace(",", ";").encode(), 1),
        (("sep=;\nz,x,y\n" + ROWS).replace(",", ";").encode(), 1),
        (("z,x,y\n" + ROWS).replace(",", "\t").encode("utf-16"), 2),
        (("z,x°,y\n" + ROWS).encode("cp1252"), 1),
        (("# from an archive\n#\nz,x,y\n" + ROWS).encode(), 1),
        ("".join(f"{row}.5,{row * 7 % 5},{'uv'[row % 2]}\n" for row in range(20)).encode(), 1),
        (("x,y\n" + ROWS).encode(), 1),
        ((",x,y\n" + ROWS).encode(), 1),
        (("z x y\n" + ROWS).replace(",", "  ").encode(), 1),
        (("a table\nz,x,y\n" + ROWS).encode(), 1),
        (("z,x,y\n" + ROWS).encode("utf-16-le"), 1),
    ],
    ids=lambda value: ascii(value)[2:14],
)
def test_a_file_that_looks_otherwise_is_refused_with_its_key(tmp_path, content, remedies):
    (tmp_path / "t.csv").write_bytes(content)
    read = {}
    for _ in range(remedies):
        with pytest.raises(OwnDataError) as refused:
            OwnData("csv", str(tmp_path / "t.csv"), read_keys=tuple(read.items())).read()
        read |= yaml.safe_load(str(refused.value).split("`")[1])["read"]
    table = OwnData("csv", str(tmp_path / "t.csv"), read_keys=tuple(read.items())).read()
    assert len(table.frame) == 20
    assert table.frame.iloc[:, -1].tolist() == ["u", "v"] * 10


CELL = st.text(st.sampled_from("ab ,;\"'\n\r#\t1é"), max_size=5)


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=6),
    sep=st.sampled_from([",", ";", "\t"]),
)
def test_a_csv_file_of_pandas_is_read_with_its_lines(tmp_path_factory, monkeypatch, rows, sep):
    monkeypatch.setattr("pppca_bench.problems.read_csv._N_AT_ONCE", 2)
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    frame = pd.DataFrame(rows, columns=["first", "second"])
    frame.to_csv(path, sep=sep, index=False, quoting=csv.QUOTE_ALL, lineterminator="\n")
    read = OwnData("csv", str(path), read_keys=(("sep", sep), ("header", 0))).read().frame
    assert read.to_numpy().tolist() == frame.to_numpy().tolist()
    lines = np.cumsum([1, *(1 + len(re.findall("\r\n|\r|\n", "|".join(row))) for row in rows)])[1:]
    assert read.index.tolist() == lines.tolist()


@pytest.mark.parametrize("compression", ["gz", "bz2", "xz", "zip"])
def test_compressed_files_are_read(tmp_path, compression):
    plain = data_of(tmp_path, "z,x,y\n" + ROWS)
    pd.read_csv(tmp_path / "t.csv").to_csv(tmp_path / f"t.csv.{compression}", index=False)
    found = DataSet(OwnData("csv", str(tmp_path / f"t.csv.{compression}"), ("y",))).sha256
    assert found == plain.sha256


def test_comments_are_none_within_quotes(tmp_path):
    text = 'a,b  # c\n"one\ntwo # three",5\'10"  # tall\n'
    (tmp_path / "t.csv").write_text(text)
    table = pppca_bench.read_table(tmp_path / "t.csv", comment="#")
    assert table.iloc[0].str.strip().tolist() == ["one\ntwo # three", "5'10\""]
    text = "note,y  # of today\n" + "".join(
        f'"no #{row % 3}, left",{"uv"[row % 2]}  # {row}, n\n' for row in range(24)
    )
    data = data_of(tmp_path, text, read_keys=(("comment", "#"),), duplicates="keep")
    assert data.feature_names == tuple(f"note = no #{number}, left" for number in range(3))


def test_an_arff_file_has_dates(tmp_path):
    rows = "".join(f"'{row + 1:02d}.01.2020',{'uv'[row % 2]}\n" for row in range(12))
    (tmp_path / "t.arff").write_text(
        f"@relation t\n@attribute x date 'dd.MM.yyyy'\n@attribute y {{u,v}}\n@data\n{rows}"
    )
    own = OwnData("arff", str(tmp_path / "t.arff"), ("y",), dates=(("x", "%d.%m.%Y"),))
    assert DataSet(own).frame["x"].dt.day.tolist() == list(range(1, 13))


def test_sparse_columns_and_indicators_of_labels_are_read(tmp_path):
    X = pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 1.5, 2] * 6), "b": range(24)})
    data = in_memory(X, np.eye(2)[np.arange(24) % 2], tmp_path)
    assert data.frame["a"].tolist() == [0, 0, 1.5, 2] * 6
    assert data.notices[0].startswith("the 2 targets of 0 and 1 are approximated, not classified.")


def test_a_sparse_arff_file_has_zeros_where_nothing_is_written(tmp_path):
    rows = "".join(f"{{{'0 1.5, ' if row % 3 else ''}1 {'vu'[row % 2]}}}\n" for row in range(12))
    (tmp_path / "t.arff").write_text(
        f"@relation t\n@attribute x numeric\n@attribute y {{u,v}}\n@data\n{rows}"
    )
    data = DataSet(OwnData("arff", str(tmp_path / "t.arff"), ("y",)))
    assert data.frame["x"].tolist() == [1.5 if row % 3 else 0.0 for row in range(12)]
    assert data.classes == ("u", "v")


def test_none_and_na_are_classes_and_missing_inputs(tmp_path):
    text = "x,y\n" + "".join(
        f"{['NA', row][row % 2]},{['None', 'NA', 'Apnoea'][row % 3]}\n" for row in range(24)
    )
    data = data_of(tmp_path, text)
    assert data.classes == ("Apnoea", "NA", "None")
    assert data.feature_names == ("x", "x missing")


@pytest.mark.parametrize("labels", [["1.0", "2.0", "3.0"], ["1", "2", "3"]])
def test_few_whole_numbers_are_classes_and_said(tmp_path, labels):
    text = "x,y\n" + "".join(f"{row * 7 % 23},{labels[row % 3]}\n" for row in range(24))
    data = data_of(tmp_path, text)
    assert (data.task, data.classes) == ("classification", ("1", "2", "3"))
    expected = ["the 3 whole numbers of 'y' are classes. `task: approximation` decides otherwise."]
    assert data.notices == expected
    assert data_of(tmp_path, text, task="approximation").notices == []


def test_copies_of_rows_are_said_dropped_or_kept_together(tmp_path):
    rows = [f"{row * 7 % 20}.5,{row * row % 7},{'uv'[row % 2]}" for row in range(20)]
    text = "\n".join(["a,b,y", *rows, *rows[:10]]) + "\n"
    (notice,) = data_of(tmp_path, text).notices
    assert notice.startswith("10 of 30 rows are copies of other rows")
    for remedy in notice.split("`")[1::2]:
        data = data_of(tmp_path, text, **yaml.safe_load(remedy))
        assert data.notices == []
    assert len(data_of(tmp_path, text, duplicates="drop").y) == 20
    grouped = data_of(tmp_path, text, duplicates="group")
    for one, other in itertools.combinations(grouped.rows(0), 2):
        assert not {row % 20 for row in one} & {row % 20 for row in other}


def test_groups_stay_in_one_part_and_are_no_input(tmp_path):
    text = "patient,x,y\n" + "".join(
        f"p{row // 3},{row * 7 % 11},{'uv'[row // 3 % 2]}\n" for row in range(48)
    )
    data = data_of(tmp_path, text, group="patient")
    assert data.feature_names == ("x",)
    for one, other in itertools.combinations(data.rows(0), 2):
        assert not {row // 3 for row in one} & {row // 3 for row in other}


def test_identifiers_and_sorted_rows_are_said_but_no_measurements_that_differ(tmp_path):
    rows = (
        f"n{row * 7 % 20},{row * 7 % 20 + 5},{row * 31 % 97},{row // 2}.5,{'uv'[row % 2]}\n"
        for row in range(20)
    )
    notices = data_of(tmp_path, "name,number,weight,t,y\n" + "".join(rows)).notices
    said = [
        "'name' differs in every row",
        "'number' differs in every row",
        "rows are sorted by 't'",
    ]
    assert [notice.partition(":")[0] for notice in notices] == said


def test_the_word_none_as_a_gap_is_said_with_the_key_that_makes_it_a_category(tmp_path):
    text = "fence,x,y\n" + "".join(
        f"{['None', 'wood'][row % 2]},{row * 7 % 23},{'uv'[row % 2]}\n" for row in range(24)
    )
    data = data_of(tmp_path, text)
    (notice,) = data.notices
    read = yaml.safe_load(notice.split("`")[1])["read"]
    expected = ("12 texts 'None' of 'fence' are gaps", ("fence = wood", "fence missing"))
    assert (notice.partition(".")[0], data.feature_names[1:]) == expected
    data = data_of(tmp_path, text, read_keys=tuple(read.items()))
    assert (data.notices, data.feature_names[1:]) == ([], ("fence = None", "fence = wood"))
    text = text.replace("wood,0", ",0").replace("wood,7", ",7").replace("wood,14", ",14")
    said = "expected one kind of gaps, got 12 texts 'None' beside 2 other gaps"
    with pytest.raises(DataError, match=said) as refused:
        data_of(tmp_path, text)
    reads = [yaml.safe_load(key)["read"] for key in str(refused.value).split("`")[1:4:2]]
    names = [
        data_of(
            tmp_path,
            text,
            read_keys=tuple((k, v if v is False else tuple(v)) for k, v in read.items()),
        ).feature_names[1:]
        for read in reads
    ]
    assert names == [
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
    keys = {
        "drop": [0],
        "categorical": None,
        "read": {"na_values": {"-"}, "thousands": None},
        "group": None,
    }
    (column,) = in_memory(X, pa.array([0, 1] * 4), tmp_path, **keys).inputs
    assert (column.name, column.labels, column.has_gaps) == ("b", ("u", "v"), True)


def test_sparse_inputs_are_read(tmp_path):
    data = in_memory(csr_array(np.eye(8)), [0, 1] * 4, tmp_path)
    np.testing.assert_array_equal(data.frame, np.eye(8))


@pytest.mark.parametrize(
    "days", [[20200102, 20201231], ["20200102", "20201231"], [20200102, 20201231, None]]
)
def test_declared_dates_may_be_whole_numbers(days):
    column, dates = infer(pd.Series(days, name="x"), meaning(), "date")
    assert (column.form, dates[0]) == ("%Y%m%d", pd.Timestamp(2020, 1, 2))
    with pytest.raises(ColumnError, match="a format of dates"):
        infer(pd.Series(days, name="x"), meaning(), "date", "%q")


@pytest.mark.parametrize("texts", [[None] * 8, ["one"] * 8, [*[None] * 7, "one"]])
def test_columns_of_few_texts_or_none_become_inputs(texts, tmp_path):
    X = pd.DataFrame({"a": np.arange(8) % 5, "words": texts})
    data = in_memory(X, [0, 1] * 4, tmp_path, text=["words"])
    assert np.isfinite(data.problem().X_train).all()


def test_quotation_marks_hold_fields_of_space_separated_files_together(tmp_path):
    path = tmp_path / "auto.data"
    path.write_text('18.0   8 "chevrolet malibu"\n15.0   6\'2"\t"buick ""skylark"""\n')
    rows = pppca_bench.read_table(path, sep=r"\s+", header=False)
    expected = [["18.0", "8", "chevrolet malibu"], ["15.0", "6'2\"", 'buick "skylark"']]
    assert rows.values.tolist() == expected
    path.write_text('18.0 8 "chevrolet\n15.0 8 buick\n')
    with pytest.raises(OwnDataError, match="line 1: expected CSV, got an open quotation mark"):
        pppca_bench.read_table(path, sep=r"\s+", header=False)


@pytest.mark.parametrize("key", ["header", "index_col"])
def test_several_headers_and_indices_are_refused(key, tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("a,b\n1,2\n")
    said = rf"expected a single {key}, got \[0, 1\]\. Name one of them\."
    with pytest.raises(OwnDataError, match=said):
        pppca_bench.read_table(path, **{key: [0, 1]})


READ = ({"sep": ";"}, {"decimal": ",,"}, {"na_values": {"a": [0]}})
WRONG = [{"task": "regression"}, {"duplicates": "yes"}, {"group": np.zeros(3)}]
WRONG += [{"duplicates": "group", "group": "a"}]
WRONG += [{"read": read} for read in READ]


@pytest.mark.parametrize("wrong", WRONG)
def test_unknown_values_of_a_table_in_memory_are_refused(wrong):
    with pytest.raises(DataError, match=rf"^{min(wrong)}\S* of Table: expected "):
        pppca_bench.Table([[1]], [1], **wrong)


def test_other_targets_are_no_inputs_unless_declared():
    data = DataSet(OwnData("sklearn", "linnerud", ("Weight",)))
    assert data.feature_names == ("Chins", "Situps", "Jumps")
    inputs = yaml.safe_load(data.notices[-1].split("`")[1])["inputs"]
    declared = OwnData("sklearn", "linnerud", ("Weight",), inputs=tuple(inputs))
    assert len(DataSet(declared).feature_names) == 5


def test_text_of_many_values_is_encoded_by_its_components(tmp_path, monkeypatch):
    words = ["red door", "blue window", "old chair", "small table"]
    notes = [f"{words[row % 4]} no {'abcdefghij'[row % 10]}{row}" for row in range(60)]
    text = "note,y\n" + "".join(f"{note},{'uv'[row % 2]}\n" for row, note in enumerate(notes))
    problem = data_of(tmp_path, text, text=("note",)).problem()
    assert problem.feature_names[:2] == ("note 1", "note 2")
    assert (problem.X_train.min(), problem.X_train.max()) == (0.0, 1.0)
    monkeypatch.setitem(sys.modules, "skrub", None)
    said = r"'note': expected skrub, .*, got import of skrub halted.* Install it"
    with pytest.raises(DataError, match=said):
        data_of(tmp_path, text, text=("note",)).problem()


CONFIG = {
    "name": "own",
    "seed": 1,
    "splits": 2,
    "methods": ["all_features"],
    "classifier": {"hidden": [], "max_epochs": 2},
}


def test_indices_of_given_data_must_agree(tmp_path):
    X = pd.DataFrame({"a": np.arange(20) * 7 % 20 / 2, "b": np.arange(20) % 3}, index=range(10, 30))
    y = pd.Series(["u", "v"] * 10, index=X.index)
    with pytest.raises(DataError, match=r"expected the same index in X and y"):
        pppca_bench.run(CONFIG, {"mine": (X, y[::-1])}, results=tmp_path)
    done = pppca_bench.run(CONFIG, {"mine": (X, y[::-1].loc[X.index])}, results=tmp_path)
    assert done.outcome.n_failed == 0


def test_remedies_for_given_data_are_arguments_of_a_table(tmp_path):
    X = pd.DataFrame(
        {"a": np.arange(20) * 7 % 20 / 2, "t": pd.date_range("2020", periods=20)[::-1]}
    )
    y = np.arange(20) % 2
    with pytest.raises(DataError, match="got dates") as refused:
        pppca_bench.run(CONFIG, {"mine": (X, y)}, results=tmp_path)
    for remedy in str(refused.value).split("`")[1::2]:
        table = eval(remedy, {"pppca_bench": pppca_bench, "X": X, "y": y})
        with pytest.warns(UserWarning, match="whole numbers of 'y' are classes"):
            done = pppca_bench.run(CONFIG, {"mine": table}, results=tmp_path)
        assert done.outcome.n_failed == 0


def test_an_analyst_goes_from_a_messy_file_to_predictions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    header = "id;size;colour;code;price"
    rows = [
        f"{1000 + row};0,{row * 7 % 13};{'red' if row % 2 else 'blue'};0{row % 3};1,{row % 4}"
        for row in range(40)
    ]
    Path("messy.csv").write_text("\n".join([header, *rows]))
    describe = ("data", "describe", "messy.csv", "--target", "colour", "--read", "sep=;")
    refused = pppca(*describe)
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 2)
    noted = "Note: 'id' differs in every row: an identifier? `drop: [id]` leaves it out."
    assert noted in printed(*describe, "--read", "decimal=,")
    read = {"sep": ";", "decimal": ","}
    table = {"csv": "messy.csv", "target": "colour", "drop": ["id"], "read": read}
    path = write_config(tmp_path, CONFIG | {"problems": [table]})
    printed("run", path, "--workers", "0", "--quiet", "--no-tables")
    fitted, lenient = (
        pppca_bench.pipeline("own/messy.csv/all_features/0", unseen=unseen)
        for unseen in ("refuse", "ignore")
    )

    with pytest.raises(
        ValueError, match=r"^unseen in pipeline: expected 'refuse' or 'ignore', got"
    ):
        pppca_bench.pipeline("own/messy.csv/all_features/0", unseen="ignor")

    def predicted(pipeline, *odd):
        Path("new.csv").write_text("\n".join([header, "7;0,5;;00;1,3", "8;?;;02;1,0", *odd]))
        return pipeline.predict(pppca_bench.read_table("new.csv", **read))

    assert set(predicted(fitted)) <= {"red", "blue"}
    known = "line 4, column 'code' of X: expected one of the table's '00', '01', '02', got"
    price = "line 4, column 'price' of X: expected numbers, got '1.0'"
    odd = {"9;1;;07;1,0": f"{known} '07'", "9;1;;;1,0": f"{known} a gap", "9;1;;00;1.0": price}
    for line, said in odd.items():
        with pytest.raises(ValueError, match=said):
            predicted(fitted, line)
    assert len(predicted(lenient, "9;1;;07;1,0")) == 3
