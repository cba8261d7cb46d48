"""Registry, bundled problems, packaged archives, and look-up of a problem by name."""

import hashlib
import lzma
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from builders import write_dt

from pppca_bench.errors import DataError
from pppca_bench.problems import (
    PROBEN1_URL,
    ProblemSource,
    export_files,
    find_file,
    known_problems,
    load_problem,
    load_source,
    open_problem,
    problem_info,
    registered,
)
from pppca_bench.problems.bundled import draw_noisy_circle, draw_three_circles, split_sizes
from pppca_bench.problems.data_sets import download_folders
from pppca_bench.problems.proben1 import user_folders

ROOT = Path(__file__).parents[2]
PROBEN1 = "building cancer card diabetes flare gene glass heart hearta heartac heartc horse mushroom soybean thyroid"
BUNDLED = ["iris", "wine", "wdbc", "digits", "noisy_circle", "three_circles"]
BUNDLED += ["iris_centred", "iris_encoded"]
# Proben1 report, section 2.2: the data sets' sizes and the splits that it made of them.
PUBLISHED_SPLITS = {
    7200: (3600, 1800, 1800),
    3175: (1588, 794, 793),
    1066: (533, 267, 266),
    699: (350, 175, 174),
    690: (345, 173, 172),
    303: (152, 76, 75),
    214: (107, 54, 53),
    569: (285, 142, 142),  # wdbc, of scikit-learn
}


@pytest.fixture
def places(tmp_path, monkeypatch) -> dict[str, Path]:
    """Return the user's data folders, not yet created."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("PPPCA_DATA", str(tmp_path / "environment"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return {"option": tmp_path / "option", "environment": tmp_path / "environment"}


def put(folder: Path, name: str, content: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.dt").write_text(content)
    return folder / f"{name}.dt"


def test_the_registry_lists_proben1_then_bundled_problems():
    expected = [f"{name}{number}" for name in PROBEN1.split() for number in "123"]
    assert known_problems("proben1") == expected
    assert known_problems("bundled") == BUNDLED
    assert known_problems() == expected + BUNDLED == list(registered())


def test_approximation_problems_are_those_of_the_report():
    infos = registered().values()
    families = {info.family for info in infos if info.task == "approximation"}
    assert families == {"building", "flare", "hearta", "heartac"}


@pytest.mark.parametrize("name", known_problems())
def test_every_problem_matches_the_registry(name, proben1_dir):
    problem, info = load_problem(name, proben1_dir), problem_info(name)
    assert (problem.name, problem.sha256, problem.task) == (name, info.sha256, info.task)
    assert problem.X_train.shape == (info.n_train, info.n_features)
    assert problem.X_validation.shape == (info.n_validation, info.n_features)
    assert problem.X_test.shape == (info.n_test, info.n_features)
    assert problem.n_outputs == info.n_outputs
    assert info.source == "proben1" or len(problem.feature_names) == info.n_features


@pytest.mark.parametrize(
    ("name", "examples_by_class"),
    [("iris", [50, 50, 50]), ("wine", [59, 71, 48]), ("wdbc", [212, 357])],
)
def test_the_splits_have_every_sample_once_and_each_column_spans_0_to_1(name, examples_by_class):
    problem = load_problem(name)
    X = np.vstack([problem.X_train, problem.X_validation, problem.X_test])
    y = np.concatenate([problem.y_train, problem.y_validation, problem.y_test])
    assert np.bincount(y).tolist() == examples_by_class
    assert (X.min(axis=0) == 0).all()
    assert (X.max(axis=0) == 1).all()


def test_inputs_stay_with_their_classes():
    iris = load_problem("iris")
    # Setosa alone has petals shorter than 2 cm (Fisher 1936): 2 cm is (2 - 1) / (6.9 - 1) when scaled.
    for X, y in ((iris.X_train, iris.y_train), (iris.X_test, iris.y_test)):
        np.testing.assert_array_equal(X[:, 2] < 1 / 5.9, y == 0)


def test_split_sizes_are_rounded_as_in_proben1():
    assert {n_samples: split_sizes(n_samples) for n_samples in PUBLISHED_SPLITS} == PUBLISHED_SPLITS


def test_the_option_comes_before_the_environment(places):
    assert user_folders(places["option"]) == [places["option"], places["environment"]]
    put(places["option"], "card1")
    assert find_file("cancer1", places["option"]) is None
    for folder in ("environment", "option"):
        path = put(places[folder], "cancer1")
        assert find_file("cancer1", places["option"]) == path


def test_downloads_go_to_the_first_folder_given_or_there(places, monkeypatch, tmp_path):
    assert download_folders(places["option"])[0] == places["option"]
    assert download_folders()[0] == places["environment"]
    monkeypatch.delenv("PPPCA_DATA")
    assert download_folders()[0] == tmp_path / "cache" / "pppca"
    Path("data").mkdir()
    assert download_folders()[0] == Path("data")


def test_without_a_home_folder_downloads_need_a_given_folder(places, monkeypatch):
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert download_folders() == [places["environment"]]
    monkeypatch.delenv("PPPCA_DATA")
    said = r"because there is no home folder\. Give a folder with --data DIR\.$"
    with pytest.raises(DataError, match=said):
        download_folders()


def test_a_tilde_is_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_folders("~/proben1")[0] == tmp_path / "proben1"
    assert user_folders("~nobody-here/x")[0] == Path("~nobody-here/x")


@pytest.fixture
def archive(tmp_path, monkeypatch) -> Path:
    """Make a copy of glass' archive the package's only one."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setattr("pppca_bench.problems.proben1._FOLDERS", (tmp_path / "nowhere", folder))
    return Path(shutil.copy(ROOT / "data" / "glass.tar.xz", folder))


def refused(name: str, folder: Path | None = None) -> str:
    with pytest.raises(DataError) as caught:
        load_problem(name, folder)
    return str(caught.value)


@pytest.mark.usefixtures("places")
def test_a_problem_is_the_same_from_the_package_and_from_an_exported_file(proben1_dir):
    packaged, exported = load_problem("glass1"), load_problem("glass1", proben1_dir)
    np.testing.assert_array_equal(packaged.X_train, exported.X_train)


def test_export_writes_the_named_files_and_replaces_old_ones(tmp_path):
    folder = tmp_path / "new" / "er"
    old = put(folder, "glass2", "old")
    assert export_files(["glass2", "iris", "cancer1"], folder) == [old, folder / "cancer1.dt"]
    assert hashlib.sha256(old.read_bytes()).hexdigest() == problem_info("glass2").sha256


def test_a_folder_that_is_not_writable_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    said = rf"^{tmp_path}/file: expected a writable folder, got File exists\. Give"
    with pytest.raises(DataError, match=said):
        export_files(["glass2"], tmp_path / "file")


@pytest.mark.usefixtures("places", "archive")
def test_a_missing_archive_is_refused_with_a_remedy():
    assert refused("cancer1") == (
        "cancer1.dt: expected in the package, got no archive cancer.tar.xz. Install pppca-bench again, or give the"
        f" folder of a copy with --data DIR (source: {PROBEN1_URL})."
    )


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("damage", ["cut", "noise", "empty", "no member", "other digits"])
def test_a_damaged_archive_is_refused_with_digest_and_remedy(archive, damage):
    packed = archive.read_bytes()
    content, got = lzma.decompress(packed), r"an archive that cannot be read \(.+\)"
    damaged = {"cut": packed[:-100], "empty": b""}
    damaged["noise"] = packed[:2000] + bytes(64) + packed[2064:]
    damaged["no member"] = lzma.compress(content.replace(b"glass1.dt", b"glasso.dt"))
    damaged["other digits"] = lzma.compress(content.replace(b"0.281387", b"0.281388"))
    archive.write_bytes(damaged[damage])
    said = rf"glass1\.dt in {archive}: expected SHA-256 {problem_info('glass1').sha256}, got"
    got = "[0-9a-f]{64}" if damage == "other digits" else got
    remedy = r"install pppca-bench again, or give the folder of a copy with --data DIR\."
    assert re.fullmatch(rf"{said} {got}\. The archive is damaged: {remedy}", refused("glass1"))


@pytest.mark.parametrize(
    ("place", "remedy"), [("option", "leave out --data"), ("environment", "unset PPPCA_DATA")]
)
def test_a_damaged_user_file_is_refused_beside_an_intact_package(places, place, remedy):
    put(places[place], "cancer1", "bool_in=0\n")
    assert refused("cancer1", places["option"]) == (
        "cancer1.dt, line 2: expected 'real_in=<count>', the count of at most 9 digits, "
        f"got an empty line. The file is damaged: {remedy} to read the packaged file."
    )


def test_a_well_formed_file_with_another_digest_is_refused(places, proben1_dir):
    text = (proben1_dir / "glass1.dt").read_text()
    path = put(places["environment"], "glass1", text.replace("0.281387", "0.281388", 1))
    expected = f"glass1.dt in {path.parent}: expected SHA-256 {problem_info('glass1').sha256}, got "
    assert refused("glass1").startswith(expected)


@pytest.fixture
def own(tmp_path) -> Path:
    return write_dt(tmp_path / "own.dt")


def test_a_problem_is_opened_by_its_name_or_path_with_its_digest(own):
    source, problem = open_problem("cancer2", Path("somewhere"))
    assert source == ProblemSource("cancer2", Path("somewhere").absolute(), problem.sha256)
    assert (source.is_own, source.family) == (False, "cancer")
    source, problem = open_problem(str(own))
    assert source == ProblemSource(str(own), None, problem.sha256)
    assert source.is_own


def test_a_source_is_loaded_once_a_process(own):
    source, problem = open_problem(str(own))
    again = load_source(source)
    np.testing.assert_array_equal(again.X_train, problem.X_train)
    own.unlink()
    assert load_source(source) is again


def test_data_changed_or_deleted_since_planning_are_refused_each_time(own):
    source, _ = open_problem(str(own))
    write_dt(own, shift=0.1)
    said = (
        r"own\.dt: expected the data .* \(SHA-256 \w{12}\.\.\.\), got other data .* was changed"
        " during the run: run"
    )
    for _ in range(2):
        with pytest.raises(DataError, match=said):
            load_source(source)
    own.unlink()
    with pytest.raises(DataError, match=r"own\.dt: expected a file, got none there"):
        load_source(source)
    write_dt(own)
    assert load_source(source).sha256 == source.sha256


@pytest.mark.parametrize(("drawn", "n"), [(draw_noisy_circle, 1), (draw_three_circles, 3)])
def test_points_of_circles_lie_near_them_evenly_all_round(drawn, n):
    X, y = drawn()
    radii, quarter = np.linalg.norm(X, axis=1), np.arctan2(*X.T[::-1]) % (2 * np.pi) // (np.pi / 2)
    if n == 1:
        np.testing.assert_array_equal(y, quarter)
    for number in range(n):
        own = (y == number) | (n == 1)
        assert radii[own].mean() == pytest.approx(1 + 2 * number, abs=0.01)
        assert radii[own].std() == pytest.approx(0.05, rel=0.2)
        assert np.bincount(quarter[own].astype(int)) == pytest.approx(own.sum() / 4, abs=0.5)
