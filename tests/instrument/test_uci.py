"""Packaged UCI data sets: registry, digests, and use in configs."""

import lzma
import re
import shutil
from pathlib import Path

import pytest
from command_line import printed

from pppca_bench.errors import DataError
from pppca_bench.problems import DataSet, OwnData, SplitRule
from pppca_bench.problems.uci import find_uci, uci_sets

ROOT = Path(__file__).parents[2]
VEHICLE = uci_sets()["vehicle"]


def test_every_packaged_file_is_registered():
    expected = {f"{name}.csv.xz" for name in uci_sets()}
    assert {path.name for path in (ROOT / "data" / "uci").glob("*.xz")} == expected


@pytest.mark.parametrize("info", uci_sets().values(), ids=uci_sets())
def test_the_readme_has_the_registered_sizes_and_digest(info):
    readme = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    sizes = rf"{info.n_rows:,} \| {info.n_inputs} \| {info.n_classes}"
    assert re.search(rf"^\| {info.name} \|.*\| {sizes} \|.*`{info.sha256[:12]}` \|$", readme, re.M)


@pytest.mark.parametrize("info", uci_sets().values(), ids=uci_sets())
def test_a_set_has_the_registered_sizes_no_copies_and_no_gaps_and_splits_into_ten_folds(info):
    data = DataSet(OwnData("uci", info.name, rule=SplitRule(folds=10)))
    expected = (info.n_rows, info.n_inputs, info.n_classes)
    assert (len(data.y), len(data.inputs), len(data.classes)) == expected
    assert not data.table.frame.duplicated().any()
    assert not any(column.has_gaps for column in data.inputs)
    # no copies, identifiers, or doubtful types
    assert [notice for notice in data.notices if "imbalanced" not in notice] == []


@pytest.mark.parametrize(
    ("name", "column"), [("contraceptive", "husband_occupation"), ("vowel", "speaker")]
)
def test_nominal_numbers_are_categories(name, column):
    assert OwnData("uci", name).read().columns[column][0].kind == "category"


def test_a_file_with_another_digest_and_a_missing_file_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "uci" / "vehicle.csv.xz"
    monkeypatch.setattr("pppca_bench.problems.proben1._FOLDERS", (tmp_path,))
    expected = f"^{re.escape(str(path))}: expected SHA-256 {VEHICLE.sha256}, got "
    said = rf"{expected}No such file or directory\. Install pppca-bench again\.$"
    with pytest.raises(DataError, match=said):
        OwnData("uci", "vehicle").read()
    path.parent.mkdir()
    shutil.copy(ROOT / "data" / "uci" / path.name, path)
    assert find_uci(VEHICLE) == path
    path.write_bytes(lzma.compress(lzma.decompress(path.read_bytes()).replace(b"van", b"bus", 1)))
    with pytest.raises(DataError, match=rf"{expected}[0-9a-f]{{64}}\. Install"):
        OwnData("uci", "vehicle").read()


def test_the_commands_list_and_describe_the_sets():
    listed = printed("data", "list")
    for info in uci_sets().values():
        assert re.search(rf"^uci:{info.name} .* {info.n_rows}, split by", listed, re.M)
    said = "bus (218), opel (212), saab (217), van (199)\n"
    assert said in printed("data", "describe", "uci:vehicle")
