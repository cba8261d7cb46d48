"""Files of tables: pandas reads CSV with the user's keys; what is doubtful is refused, and a proposed key reads it."""

import csv
import gzip
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from builders import csv_of
from command_line import printed
from hypothesis import given, settings
from hypothesis import strategies as st

import pppca_bench
from pppca_bench.errors import OwnDataError
from pppca_bench.problems import DataSet, OwnData

NUMBERS = csv_of(20, z=range(20), x=[0, 2, 4, 1, 3], y="uv")
ROWS = NUMBERS.partition("\n")[2]


def refused(path: Path, **read) -> str:
    """Return the message about a file that is refused."""
    with pytest.raises(OwnDataError) as error:
        pppca_bench.read_table(path, **read)
    return str(error.value)


def proposed(text: str) -> list[dict[str, object]]:
    """Return the keys of ``read`` that a message proposes."""
    return [yaml.safe_load(key)["read"] for key in re.findall("`(read: .*?)`", text)]


FIRST_IS_DATA = re.sub("(?m)^(.*?),", r"\1.5,", ROWS)


@pytest.mark.parametrize(
    "content", [FIRST_IS_DATA, FIRST_IS_DATA.replace(",2,", ",?,"), f"?{ROWS[1:]}"]
)
def test_a_first_line_of_data_is_refused_and_each_key_reads_the_file(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_text(content)
    text = refused(path)
    assert "line 1: expected the columns' names, got values as in other rows" in text
    no_header, header = proposed(text)
    assert (no_header, header) == ({"header": None}, {"header": 0})
    n_lines = len(path.read_text().splitlines())
    assert len(pppca_bench.read_table(path, **no_header)) == n_lines
    assert len(pppca_bench.read_table(path, **header)) == n_lines - 1


def test_names_of_rows_are_refused_with_their_key(tmp_path):
    path = tmp_path / "t.csv"
    for content in (f"x,y\n{ROWS}", f",x,y\n{ROWS}"):
        path.write_text(content)
        (key,) = proposed(refused(path))
        assert key == {"index_col": 0}
        frame = pppca_bench.read_table(path, **key)
        assert (list(frame.columns), frame["y"].tolist()) == (["x", "y"], ["u", "v"] * 10)


def test_an_empty_field_at_the_end_of_every_row_is_refused_with_its_key(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "x0,x1,y\n" + "".join(f"{row},{row * 7 % 20},{'uv'[row % 2]},\n" for row in range(20))
    )
    text = refused(path)
    assert "expected 3 fields, as in the header, got 4 in the 20 rows" in text
    (key,) = proposed(text)
    assert key == {"index_col": False}
    frame = pppca_bench.read_table(path, **key)
    assert frame["x0"].tolist() == [str(row) for row in range(20)]
    assert frame["y"].tolist() == ["u", "v"] * 10
    path.write_text(f"x,y\n{ROWS}")
    assert "or empty fields after them, got 3 fields in the 20 rows." in refused(path, **key)


def test_a_proposed_key_stands_beside_those_of_the_user(tmp_path):
    path = tmp_path / "t.csv"
    for content in (f"x;y\n{ROWS}", f";x;y\n{ROWS}", FIRST_IS_DATA):
        path.write_text(content.replace(",", ";"))
        key = proposed(refused(path, sep=";"))[-1]
        assert len(key) == 2
        assert len(pppca_bench.read_table(path, **key)) in (19, 20)
    assert "`{'read': " in refused(path, sep=";", dtype={"x": float})


def test_a_column_without_a_name_is_refused_without_a_proposal(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y,\n1,u,\n2,v,\n")
    assert refused(path) == f"{path}: expected a name for each column, got none for column 3."


FACTS = [
    (
        f"# from an archive\n#\n{NUMBERS}".encode(),
        "The file begins with '# from an archive'.",
        {"comment": "#"},
    ),
    (NUMBERS.encode("utf-16"), "expected utf-8 text, got the byte 0xff", {"encoding": "utf-16"}),
    (f"z,x°,y\n{ROWS}".encode("cp1252"), "got the byte 0xb0", {"encoding": "cp1252"}),
    (gzip.compress(NUMBERS.encode()), "got the byte 0x8b", {"compression": "gzip"}),
    (f"a table\n{NUMBERS}".encode(), "The file begins with 'a table'.", {"skiprows": 1}),
]


@pytest.mark.parametrize(("content", "fact", "read"), FACTS, ids=lambda value: ascii(value)[2:14])
def test_a_file_that_pandas_cannot_read_is_refused_with_the_fact(tmp_path, content, fact, read):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    text = refused(path)
    assert fact in text
    assert proposed(text) == []
    assert pppca_bench.read_table(path, **read).iloc[:, -1].tolist() == ["u", "v"] * 10


@pytest.mark.parametrize(
    ("content", "read"),
    [
        (NUMBERS.replace(",", ";"), {"sep": ";"}),
        (NUMBERS.replace(",", "   "), {"sep": r"\s+"}),
        (f"sep=;\n{NUMBERS}".replace(",", ";"), {"sep": ";", "skiprows": 1}),
        (NUMBERS, {"usecols": ["x", "y"]}),
        (NUMBERS, {"index_col": "z"}),
        (NUMBERS + "total\n", {"skipfooter": 1, "engine": "python"}),
        (ROWS, {"names": ["z", "x", "y"]}),
        (NUMBERS, {"dtype": {"x": "float"}}),
        (NUMBERS, {"nrows": 20, "low_memory": False}),
    ],
)
def test_all_keys_of_pandas_are_passed_on(tmp_path, content, read):
    path = tmp_path / "t.csv"
    path.write_text(content)
    frame = pppca_bench.read_table(path, **read)
    assert frame.index.tolist() == list(range(1, 21))
    assert frame["y"].tolist() == ["u", "v"] * 10
    assert frame["x"].astype(float).tolist() == [0, 2, 4, 1, 3] * 4


def test_tabs_separate_the_fields_of_a_tsv_file(tmp_path):
    (tmp_path / "t.tsv").write_text(NUMBERS.replace(",", "\t"))
    assert list(pppca_bench.read_table(tmp_path / "t.tsv").columns) == ["z", "x", "y"]


CELL = st.text(st.sampled_from("ab ,;\"'\n#\t1é"), max_size=5)


@settings(max_examples=50)
@given(rows=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=6), sep=st.sampled_from([*",;\t"]))
def test_a_csv_file_of_pandas_is_read_to_the_letter(tmp_path, rows, sep):
    path, frame = tmp_path / "t.csv", pd.DataFrame(rows, columns=["first", "second"])
    frame.to_csv(path, sep=sep, index=False, quoting=csv.QUOTE_ALL, lineterminator="\n")
    read = pppca_bench.read_table(path, sep=sep, header=0)
    assert read.to_numpy().tolist() == frame.to_numpy().tolist()


def test_an_arff_file_if_sparse_has_zeros_where_nothing_is_written(tmp_path):
    lines = ["@relation t", "@attribute x numeric", "@attribute y {u,v}", "@data"]
    for row in range(12):
        number = "0 1.5, " * bool(row % 3)
        lines.append(f"{{{number}1 {'vu'[row % 2]}}}")
    (tmp_path / "t.arff").write_text("\n".join(lines) + "\n")
    data = DataSet(OwnData("arff", str(tmp_path / "t.arff"), ("y",)))
    assert data.frame["x"].tolist() == [1.5 if row % 3 else 0.0 for row in range(12)]
    assert data.classes == ("u", "v")


def test_a_row_on_the_data_line_of_an_arff_file_is_refused(tmp_path):
    path = tmp_path / "t.arff"
    path.write_text("@relation r\n@attribute x real\n@data 1\n2\n3\n")
    assert (
        refused(path)
        == f"{path}, line 3: expected nothing after @data, got '1'. Put it in the next line."
    )
    path.write_text("@relation r\n@attribute x real\n@data % three rows\n1\n2\n3\n")
    assert len(pppca_bench.read_table(path)) == 3


def test_a_question_mark_among_the_values_of_a_nominal_attribute_is_a_gap(tmp_path):
    head = ["@relation r", "@attribute sex {?,FEMALE,MALE,_}", "@attribute y {A,B}", "@data"]
    rows = ["?,A", "FEMALE,B", "MALE,A", "_,B"] * 6
    (tmp_path / "t.arff").write_text("\n".join([*head, *rows]))
    described = printed("data", "describe", tmp_path / "t.arff", "--target", "y")
    assert re.search(r"^sex +category +6 +FEMALE, MALE, _$", described, re.M)


def test_whole_numbers_beside_gaps_of_parquet_are_not_merged(tmp_path):
    big = 2**53
    ids = pd.array([big, big + 1, None, big + 2] * 6, dtype="Int64")
    frame = pd.DataFrame({"id": ids, "x": np.arange(24) % 7, "y": ["u", "v"] * 12})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    for form in ("csv", "parquet"):
        path = str(tmp_path / f"t.{form}")
        with pytest.raises(OwnDataError, match="whole numbers within"):
            DataSet(OwnData(form, path, ("y",)))
        data = DataSet(OwnData(form, path, ("y",), categorical=("id",), duplicates="keep"))
        labels = [f"id = {big + step}" for step in range(3)]
        assert data.feature_names == ("x", *labels, "id missing")
