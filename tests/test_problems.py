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
    Problem,
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
from pppca_bench.problems.bundled import load_bundled, scale_to_unit_interval, split_sizes
from pppca_bench.problems.proben1 import user_folders
from pppca_bench.problems.read_table import download_folders

ROOT = Path(__file__).parents[1]
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


def put(folder: Path, name: str = "cancer1", content: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.dt").write_text(content)
    return folder / f"{name}.dt"


def sizes_of(problem: Problem) -> tuple[int, int, int]:
    return len(problem.X_train), len(problem.X_validation), len(problem.X_test)


class TestRegistry:
    def test_the_registry_lists_proben1_then_bundled_problems(self):
        folders = "building cancer card diabetes flare gene glass heart hearta heartac heartc horse"
        names = [*folders.split(), "mushroom", "soybean", "thyroid"]
        expected = [f"{name}{number}" for name in names for number in "123"]
        assert known_problems("proben1") == expected
        assert known_problems("bundled") == BUNDLED
        assert known_problems() == expected + BUNDLED == list(registered())

    def test_approximation_problems_are_those_of_the_report(self):
        infos = {name[:-1]: problem_info(name) for name in known_problems("proben1")}
        names = {name for name, info in infos.items() if info.task == "approximation"}
        assert names == {"building", "flare", "hearta", "heartac"}


class TestBundled:
    @pytest.mark.parametrize("name", BUNDLED)
    def test_they_match_the_registry(self, name):
        problem, info = load_problem(name), problem_info(name)
        assert problem.sha256 == info.sha256
        assert (problem.name, problem.task, problem.n_outputs) == (name, info.task, info.n_outputs)
        assert sizes_of(problem) == (info.n_train, info.n_validation, info.n_test)
        assert problem.n_features == info.n_features == len(problem.feature_names)

    @pytest.mark.parametrize(
        ("name", "examples_by_class"),
        [("iris", [50, 50, 50]), ("wine", [59, 71, 48]), ("wdbc", [212, 357])],
    )
    def test_the_splits_contain_every_sample_once(self, name, examples_by_class):
        problem = load_bundled(name)
        y = np.concatenate([problem.y_train, problem.y_validation, problem.y_test])
        assert np.bincount(y).tolist() == examples_by_class

    @pytest.mark.parametrize("name", BUNDLED[:5])  # the notebook's have their own scales
    def test_each_column_of_the_whole_set_spans_0_to_1(self, name):
        problem = load_bundled(name)
        X = np.vstack([problem.X_train, problem.X_validation, problem.X_test])
        assert (X.min(axis=0) == 0).all()
        assert np.isin(X.max(axis=0), [0, 1]).all()
        assert (X.max(axis=0) == 0).sum() == (3 if name == "digits" else 0)

    def test_inputs_stay_with_their_classes(self):
        iris = load_bundled("iris")
        # Setosa alone has petals shorter than 2 cm (Fisher 1936): 2 cm is (2 - 1) / (6.9 - 1) when scaled.
        for X, y in ((iris.X_train, iris.y_train), (iris.X_test, iris.y_test)):
            np.testing.assert_array_equal(X[:, 2] < 1 / 5.9, y == 0)

    @pytest.mark.parametrize("n_samples", PUBLISHED_SPLITS)
    def test_split_sizes_are_rounded_as_in_proben1(self, n_samples):
        assert split_sizes(n_samples) == PUBLISHED_SPLITS[n_samples]

    def test_scaling_moves_minimum_and_maximum(self):
        scaled = scale_to_unit_interval(
            np.array([[1.0, 7.0, -4.0], [3.0, 7.0, 4.0], [2.0, 7.0, 0.0]])
        )
        np.testing.assert_array_equal(scaled, [[0, 0, 0], [1, 0, 1], [0.5, 0, 0.5]])


class TestSearch:
    def test_the_option_comes_before_the_environment(self, places):
        assert user_folders(places["option"]) == [places["option"], places["environment"]]
        put(places["option"], "card1")
        assert find_file("cancer1", places["option"]) is None
        for folder in ("environment", "option"):
            path = put(places[folder])
            assert find_file("cancer1", places["option"]) == path

    def test_downloads_go_to_the_first_folder_given_or_there(self, places, monkeypatch, tmp_path):
        assert download_folders(places["option"])[0] == places["option"]
        assert download_folders()[0] == places["environment"]
        monkeypatch.delenv("PPPCA_DATA")
        assert download_folders()[0] == tmp_path / "cache" / "pppca"
        Path("data").mkdir()
        assert download_folders()[0] == Path("data")

    def test_without_a_home_folder_downloads_need_a_given_folder(self, places, monkeypatch):
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)
        monkeypatch.delenv("XDG_CACHE_HOME")
        assert download_folders() == [places["environment"]]
        monkeypatch.delenv("PPPCA_DATA")
        said = r"because there is no home folder\. Give a folder with --data DIR\.$"
        with pytest.raises(DataError, match=said):
            download_folders()

    def test_a_tilde_is_the_home_folder(self, monkeypatch, tmp_path):
        monkeypatch.setenv("HOME", str(tmp_path))
        assert user_folders("~/proben1")[0] == tmp_path / "proben1"
        assert user_folders("~nobody-here/x")[0] == Path("~nobody-here/x")


class TestArchives:
    @pytest.fixture
    def archives(self, tmp_path, monkeypatch) -> Path:
        """Make a copy of glass' archive the package's only one."""
        folder = tmp_path / "data"
        folder.mkdir()
        shutil.copy(ROOT / "data" / "glass.tar.xz", folder)
        monkeypatch.setattr("pppca_bench.problems.proben1._FOLDERS", (tmp_path / "nowhere", folder))
        return folder

    @pytest.mark.usefixtures("places")
    def test_a_problem_is_the_same_from_the_package_and_from_an_exported_file(self, proben1_dir):
        packaged, exported = load_problem("glass1"), load_problem("glass1", proben1_dir)
        assert packaged.sha256 == exported.sha256 == problem_info("glass1").sha256
        np.testing.assert_array_equal(packaged.X_train, exported.X_train)

    def test_export_writes_the_named_files_and_replaces_old_ones(self, tmp_path):
        put(tmp_path, "glass2", "old")
        expected = [tmp_path / "new" / "er" / "glass2.dt", tmp_path / "new" / "er" / "cancer1.dt"]
        assert export_files(["glass2", "iris", "cancer1"], tmp_path / "new" / "er") == expected
        export_files(["glass2"], tmp_path)
        found = hashlib.sha256((tmp_path / "glass2.dt").read_bytes()).hexdigest()
        assert found == problem_info("glass2").sha256

    def test_a_folder_that_is_not_writable_is_refused(self, tmp_path):
        (tmp_path / "file").write_text("")
        said = rf"^{tmp_path}/file: expected a writable folder, got File exists\. Give"
        with pytest.raises(DataError, match=said):
            export_files(["glass2"], tmp_path / "file")

    @pytest.mark.usefixtures("places", "archives")
    def test_a_missing_archive_is_refused_with_a_remedy(self):
        with pytest.raises(DataError) as caught:
            load_problem("cancer1")
        assert str(caught.value) == (
            "cancer1.dt: expected in the package, got no archive cancer.tar.xz. Install pppca-bench again, or give the"
            f" folder of a copy with --data DIR (source: {PROBEN1_URL})."
        )

    @pytest.mark.usefixtures("places")
    @pytest.mark.parametrize("damage", ["cut", "noise", "empty", "no member"])
    def test_a_damaged_archive_is_refused_with_digest_and_remedy(self, archives, damage):
        path = archives / "glass.tar.xz"
        content = path.read_bytes()
        noise = content[:2000] + bytes(64) + content[2064:]
        other = lzma.compress(lzma.decompress(content).replace(b"glass1.dt", b"glasso.dt"))
        path.write_bytes(
            {"cut": content[:-100], "noise": noise, "empty": b"", "no member": other}[damage]
        )
        with pytest.raises(DataError) as caught:
            load_problem("glass1")
        assert re.fullmatch(
            rf"glass1\.dt in {path}: expected SHA-256 {problem_info('glass1').sha256}, got an archive that cannot be"
            r" read \(.+\)\. The archive is damaged: install pppca-bench again, or give the folder of a copy with"
            r" --data DIR\.",
            str(caught.value),
        )

    @pytest.mark.usefixtures("places")
    def test_a_packaged_file_with_another_digest_is_refused(self, archives):
        path = archives / "glass.tar.xz"
        path.write_bytes(
            lzma.compress(lzma.decompress(path.read_bytes()).replace(b"0.281387", b"0.281388"))
        )
        said = r"expected SHA-256 [0-9a-f]{64}, got [0-9a-f]{64}\. The archive is"
        with pytest.raises(DataError, match=said):
            load_problem("glass1")


class TestLoad:
    @pytest.mark.parametrize(
        ("place", "remedy"), [("option", "leave out --data"), ("environment", "unset PPPCA_DATA")]
    )
    def test_a_damaged_user_file_is_refused_beside_an_intact_package(self, places, place, remedy):
        put(places[place], "cancer1", "bool_in=0\n")
        with pytest.raises(DataError) as caught:
            load_problem("cancer1", places["option"])
        assert str(caught.value) == (
            "cancer1.dt, line 2: expected 'real_in=<count>', the count of at most 9 digits, "
            f"got an empty line. The file is damaged: {remedy} to read the packaged file."
        )

    def test_a_well_formed_file_with_another_digest_is_refused(self, places, proben1_dir):
        text = (proben1_dir / "glass1.dt").read_text()
        put(places["environment"], "glass1", text.replace("0.281387", "0.281388", 1))
        expected = f"expected SHA-256 {problem_info('glass1').sha256}"
        said = rf"^glass1\.dt in {places['environment']}: {expected}, got [0-9a-f]{{64}}\. The"
        with pytest.raises(DataError, match=said):
            load_problem("glass1")


class TestSources:
    @pytest.fixture
    def own(self, tmp_path):
        return write_dt(tmp_path / "own.dt")

    def test_a_known_problem_is_opened_with_its_digest_and_family(self):
        source, problem = open_problem("iris", Path("somewhere"))
        expected = ("iris", Path("somewhere").absolute(), problem.sha256)
        assert (source.name, source.data_dir, source.sha256) == expected
        assert (source.is_own, source.family) == (False, "iris")

    def test_permutations_of_a_problem_are_one_family(self):
        families = {
            ProblemSource(name, None, "").family for name in ("cancer1", "cancer2", "cancer3")
        }
        assert families == {"cancer"}

    def test_a_user_file_is_opened_by_its_path(self, own):
        source, problem = open_problem(str(own))
        assert source == ProblemSource(str(own), None, problem.sha256)
        assert source.is_own

    def test_a_source_is_loaded_once_a_process(self, own):
        source, problem = open_problem(str(own))
        again = load_source(source)
        assert again.sha256 == problem.sha256
        np.testing.assert_array_equal(again.X_train, problem.X_train)
        own.unlink()
        assert load_source(source) is again

    def test_data_changed_since_planning_are_refused_each_time(self, own):
        source, _ = open_problem(str(own))
        write_dt(own, shift=0.1)
        said = (
            r"own\.dt: expected the data .* \(SHA-256 \w{12}\.\.\.\), got other data .* was changed"
            " during the run: run"
        )
        for _ in range(2):
            with pytest.raises(DataError, match=said):
                load_source(source)
        write_dt(own)
        assert load_source(source).sha256 == source.sha256

    def test_deleted_data_are_refused(self, own):
        source, _ = open_problem(str(own))
        own.unlink()
        with pytest.raises(DataError, match=r"own\.dt: expected a file, got none there"):
            load_source(source)
