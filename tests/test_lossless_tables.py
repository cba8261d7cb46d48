"""Values of tables are read back as they were written, or refused; the way of an analyst from a file to predictions."""

import csv
import io
import math
from decimal import Decimal
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from command_line import pppca, printed
from hypothesis import given, settings
from hypothesis import strategies as st

import pppca_bench
from pppca_bench.errors import OwnDataError
from pppca_bench.problems import DataSet, OwnData
from pppca_bench.problems.read_table import read_csv

BIG = 2**53
NUMBERS = st.one_of(
    st.integers(-5, 5).map(str),
    st.integers(BIG - 3, BIG + 3).map(str),
    st.floats(allow_nan=False).map(repr),
    st.decimals(-9, 9, places=9).map(str),
)
ODD = st.sampled_from(
    ["01", "007", "1,234", "1.234,5", "1_000", "0x1f", "5 %", "1e3", ".5", "5.", "+1", "inf", "true", "False", "TRUE"]
)
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), max_size=5)
CELLS = st.one_of(NUMBERS, ODD, WORDS, st.sampled_from(["", "?", "NA"]))
COLUMNS = st.sampled_from([NUMBERS, ODD, CELLS, st.one_of(NUMBERS, ODD)])


@st.composite
def tables(draw) -> list[list[str]]:
    n_rows, kinds = draw(st.integers(1, 6)), draw(st.lists(COLUMNS, min_size=1, max_size=4))
    return [[draw(kind) for kind in kinds] for _ in range(n_rows)]


@pytest.mark.slow
@settings(max_examples=1_000)
@given(rows=tables(), separator=st.sampled_from(",;\t"))
def test_a_csv_file_is_read_as_pandas_reads_its_texts(tmp_path_factory, rows, separator):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL)
    writer.writerows([[f"c{place}" for place in range(len(rows[0]))], *rows])
    path = tmp_path_factory.mktemp("fuzz") / "a.csv"
    # The first line tells the separator.
    path.write_text(text.getvalue().replace('"', "", 2 * len(rows[0])), encoding="utf-8", newline="")
    texts = pd.read_csv(path, sep=separator, dtype=str, na_values=["?"], skipinitialspace=True)
    if len(rows[0]) == 1 and len(texts) != len(rows):
        return  # blank lines
    table = read_csv(path)
    for name in texts:
        column, values = table.column(name)
        for text, value in zip(texts[name], values, strict=True):
            if pd.isna(text):
                assert math.isnan(value)
            elif column.kind == "boolean":
                assert text.lower() == column.text(value).lower()
            elif column.labels:
                assert text == column.text(value)
            else:
                assert value == float(text)
                assert not math.isfinite(value) or "." in text or "e" in text.lower() or value == Decimal(text)


def table_of(path: Path, values: list[str], target: list[str] | None = None) -> DataSet:
    target = target or ["a", "b"] * (len(values) // 2)
    pd.DataFrame({"x": values, "y": target}).to_csv(path, index=False)
    own = OwnData("csv", str(path), ("y",), "classification")
    return DataSet(own, own.read())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (str(BIG + 1), "a number such as -1234.5"),
        ("01", "a number such as -1234.5"),
        ("1,234,567", "a number such as -1234.5"),
        ("1.234,5", "a number such as -1234.5"),
        ("1_000", "a number such as -1234.5"),
        ("0x1f", "a number such as -1234.5"),
        ("5 %", "a number such as -1234.5"),
        ("1,5", "a decimal point"),
        ("1e-400", "a number such as -1234.5"),
        ("x", "a number, as in most rows"),
    ],
)
def test_numbers_that_are_not_read_back_are_refused_with_line_and_remedy(tmp_path, value, expected):
    with pytest.raises(OwnDataError) as refused:
        table_of(tmp_path / "a.csv", ["1", "2", "3", value, "5", "6", "7", "8"])
    assert f"a.csv, line 5, column 'x': expected {expected}" in str(refused.value)
    assert str(refused.value).endswith(
        f"got {value!r}. {remedy_of(expected)}, or take the column for text: `categorical: [x]`."
    )


def remedy_of(expected: str) -> str:
    return {
        "a decimal point": "Write points, read them by `decimal: ','`",
        "a number, as in most rows": "Correct it",
    }.get(expected, "Write it so")


def test_classes_stay_apart_where_numbers_would_join_them(tmp_path):
    for one, two in ((f"{BIG}", f"{BIG + 1}"), ("1", "01"), ("1.0000001", "1.0000002")):
        data = table_of(tmp_path / "a.csv", [str(n) for n in range(8)], [one, two] * 4)
        assert data.classes == tuple(sorted((one, two)))


def test_points_are_no_decimal_commas(tmp_path):
    (tmp_path / "a.csv").write_text("x;y\n" + "1,5;a\n-0,25;b\n3;a\n?;b\n" * 2)
    own = OwnData("csv", str(tmp_path / "a.csv"), ("y",), decimal=",")
    np.testing.assert_array_equal(own.read().column("x")[1], [1.5, -0.25, 3.0, np.nan] * 2)
    (tmp_path / "a.csv").write_text("x;y\n" + "1,5;a\n1.000;b\n" * 4)
    with pytest.raises(OwnDataError, match=r"line 3, column 'x': expected a number such as -1234,5, .* got '1\.000'"):
        DataSet(own, own.read())


def test_all_wrong_lines_and_columns_are_reported_at_once(tmp_path):
    rows = [f"{row},2020-01-0{row + 1},{'5 %' if row else 5},{row % 2}" for row in range(8)]
    (tmp_path / "a.csv").write_text("\n".join(["x,day,share,y", *rows, "1,2", "1,2,3,4,5"]))
    own = OwnData("csv", str(tmp_path / "a.csv"), ("y",))
    with pytest.raises(OwnDataError) as refused:
        DataSet(own, own.read())
    assert [line.split("a.csv")[1].partition(": ")[0] for line in str(refused.value).splitlines()] == [
        *(", line 10", ", line 11", ", column 'day'", ", line 3, column 'share'")
    ]


def test_categories_that_differ_after_six_digits_keep_their_digits(tmp_path):
    numbers = ["12345671", "12345672", "0.12345671", "0.12345672"]
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f"{number},{kind}\n" for number in numbers for kind in "ab") * 4)
    data = DataSet(own := OwnData("csv", str(path), ("y",), categorical=("x",)), own.read())
    assert set(data.feature_names) == {f"x = {number}" for number in numbers}


def test_labels_that_look_alike_are_refused(tmp_path):
    for one, two in (("a", "a "), ("caf\u00e9", "cafe\u0301")):
        with pytest.raises(OwnDataError, match="expected one spelling of"):
            table_of(tmp_path / "a.csv", [str(n) for n in range(8)], [one, two] * 4)


def test_large_integers_of_a_frame_and_masked_values_are_kept(tmp_path):
    config = {
        "name": "own",
        "seed": 1,
        "repeats": 1,
        "methods": ["all_features"],
        "classifier": {"hidden": [], "max_epochs": 2},
    }
    X, y = np.ma.masked_greater(np.arange(40.0).reshape(20, 2), 30.0), [BIG, BIG + 1] * 10
    done = pppca_bench.run(config, problems={"mine": (X, y)}, results=tmp_path)
    assert done.runs["dimensionality"].tolist() == [4], "two inputs and their gaps"
    with pytest.raises(OwnDataError, match="a target that is not dropped"):
        DataSet(OwnData("sklearn", "iris", drop=("target",)), OwnData("sklearn", "iris").read())


MESSY = """\
id;when;size;colour;code;price
{rows}
"""
CONFIG = """\
name: messy
problems: [{csv: messy.csv, target: colour, drop: [id, when], categorical: [code], decimal: ','}]
splits: 3
seed: 1
tau: 10
methods: [pca, all_features]
classifier: {hidden: [], max_epochs: 5}
"""


def test_an_analyst_goes_from_a_messy_file_to_predictions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [
        f"{1000 + row};2020-01-{row % 28 + 1:02};0,{size};{'red' if row % 2 else 'blue'};0{row % 3};1,{row % 4}"
        for row, size in enumerate(rng.integers(1000, size=40))
    ]
    rows[3] = "1003;?;?;red;01;1,2"
    Path("messy.csv").write_text(MESSY.format(rows="\n".join(rows)))
    refused = pppca("data", "describe", "messy.csv", "--target", "colour")
    assert refused.exit_code == 2
    described = [" ".join(line.split()) for line in refused.output.splitlines()]
    assert "when other 1 dates" in described
    assert "id integer 1000 to 1039; all different: an identifier?" in described
    assert [line.removeprefix("Error: ").partition(":")[0] for line in refused.stderr.splitlines()] == [
        "messy.csv, column 'when'",
        "messy.csv, line 2, column 'size'",
        "messy.csv, line 2, column 'code'",
        "messy.csv, line 2, column 'price'",
    ]
    Path("own.yaml").write_text(CONFIG)
    printed("run", "own.yaml", "--workers", "0", "--quiet", "--no-tables")
    assert "Verdict" in printed("rank", "messy", "--only", "method=pca,all_features")
    fitted = pppca_bench.pipeline("messy/messy.csv/pca/0")
    joblib.dump(fitted, "fitted.joblib")
    new = ["id;when;size;colour;code;price", "7;?;0,5;;00;1,3", "8;2021-01-01;?;;02;1,0"]
    Path("new.csv").write_text("\n".join(new))
    predicted = joblib.load("fitted.joblib").predict(pppca_bench.read_table("new.csv"))
    assert set(predicted) <= {"red", "blue"}
    Path("unseen.csv").write_text("\n".join([*new, "9;?;1;;07;1,0"]))
    with pytest.raises(ValueError, match=r"column 'code' of X: expected one of the table's '00', '01', '02', got '07'"):
        fitted.predict(pppca_bench.read_table("unseen.csv"))
    Path("gap.csv").write_text("\n".join([*new, "9;?;1;;;1,0"]))
    with pytest.raises(ValueError, match=r"line 4, column 'code' of X: expected one of .*, got a gap"):
        fitted.predict(pppca_bench.read_table("gap.csv"))
    Path("points.csv").write_text("\n".join([*new, "9;?;1;;00;1.0"]))
    with pytest.raises(ValueError, match=r"column 'price' of X: expected numbers, got category"):
        fitted.predict(pppca_bench.read_table("points.csv"))
    lenient = pppca_bench.pipeline("messy/messy.csv/pca/0", unseen="ignore")
    assert len(lenient.predict(pppca_bench.read_table("unseen.csv"))) == 3
