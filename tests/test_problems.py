"""The registry, the bundled problems, and which file a name leads to."""

import ast
import hashlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from planning import write_dt

import pppca_bench.problems as problems
from pppca_bench.errors import DataError
from pppca_bench.problems import (
    ProblemSource,
    cache_dir,
    ensure,
    fetch_dir,
    find_file,
    known_problems,
    load_again,
    load_problem,
    open_problem,
    problem_info,
    registered,
    search_path,
)
from pppca_bench.problems.bundled import load_bundled, scale_to_unit_interval, split_sizes

BUNDLED = ["iris", "wine", "wdbc", "digits", "noisy_circle", "iris_centred", "iris_encoded"]
# Proben1 report, section 2.2: the data sets' sizes and the splits that it made of them.
PUBLISHED_SPLITS = {
    7200: (3600, 1800, 1800),
    8124: (4062, 2031, 2031),
    4208: (2104, 1052, 1052),
    3175: (1588, 794, 793),
    1066: (533, 267, 266),
    920: (460, 230, 230),
    768: (384, 192, 192),
    699: (350, 175, 174),
    690: (345, 173, 172),
    683: (342, 171, 170),
    364: (182, 91, 91),
    303: (152, 76, 75),
    214: (107, 54, 53),
}


@pytest.fixture
def places(tmp_path, monkeypatch) -> dict[str, Path]:
    """Give every place of the search path a folder of its own, none of them made yet."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("PPPCA_DATA", str(tmp_path / "environment"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return {
        "option": tmp_path / "option",
        "environment": tmp_path / "environment",
        "local": Path("data"),
        "cache": cache_dir(),
    }


def put(folder: Path, name: str = "cancer1", content: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.dt").write_text(content)
    return folder / f"{name}.dt"


class TestRegistry:
    def test_it_lists_proben1s_45_files_and_then_the_bundled_problems(self):
        folders = "building cancer card diabetes flare gene glass heart hearta heartac heartc horse"
        expected = [f"{name}{i}" for name in [*folders.split(), "mushroom", "soybean", "thyroid"] for i in "123"]
        assert known_problems("proben1") == expected
        assert known_problems("bundled") == BUNDLED
        assert known_problems() == expected + BUNDLED == list(registered())

    def test_addresses_are_pinned_to_one_commit(self):
        base = "https://raw.githubusercontent.com/jeffheaton/proben1/1c63a400c5811fdd924510e08ccdba631d118c96"
        assert problem_info("cancer1").url == f"{base}/cancer/cancer1.dt"
        assert problem_info("heartac3").url == f"{base}/heart/heartac3.dt"
        assert problem_info("iris").url is None

    def test_hashes_are_distinct_sha256(self):
        hashes = {info.sha256 for info in registered().values()}
        assert len(hashes) == 52
        assert all(re.fullmatch("[0-9a-f]{64}", sha256) for sha256 in hashes)

    def test_approximation_problems_are_those_of_the_report(self):
        names = {name[:-1] for name in known_problems("proben1") if problem_info(name).n_classes is None}
        assert names == {"building", "flare", "hearta", "heartac"}

    def test_it_cannot_be_changed(self):
        with pytest.raises(TypeError):
            registered()["cancer1"] = problem_info("card1")

    @pytest.mark.parametrize(
        ("name", "nearest"),
        [("cancr1", "cancer1"), ("CANCER1", "cancer1"), ("iriss", "iris"), ("hart1", "heart1")],
    )
    def test_a_wrong_name_is_answered_with_the_nearest(self, name, nearest):
        with pytest.raises(DataError) as caught:
            load_problem(name)
        assert str(caught.value) == (
            "problem: expected a name that `pppca data list` prints, or the path of a .dt file, "
            f"got '{name}'. Did you mean '{nearest}'?"
        )

    def test_a_name_near_to_none_is_answered_with_the_list(self):
        with pytest.raises(DataError, match=r"got 'q'\. Run `pppca data list` to see them all\.$"):
            problem_info("q")


class TestImport:
    def test_it_loads_nothing_slow(self):
        slow = {"pooch", "pandas", "sklearn", "tqdm", "numba", "scipy", "requests"}
        code = "import sys, pppca_bench.problems as p; p.known_problems(); print(sorted(sys.modules))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert not slow & set(ast.literal_eval(done.stdout))

    def test_all_names_are_there(self):
        assert sorted(problems.__all__, key=str.lower) == sorted(set(problems.__all__), key=str.lower)
        assert all(hasattr(problems, name) for name in problems.__all__)


class TestBundled:
    @pytest.mark.parametrize("name", BUNDLED[:5])  # the notebook's have their own scales
    def test_they_are_what_the_registry_says(self, name):
        problem, info = load_problem(name), problem_info(name)
        assert problem.sha256 == info.sha256
        assert (problem.name, problem.task, problem.n_classes) == (name, info.task, info.n_classes)
        assert problem.X_train.shape == (info.n_train, info.n_features)
        assert problem.X_validation.shape == (info.n_validation, info.n_features)
        assert problem.X_test.shape == (info.n_test, info.n_features)
        assert problem.feature_names is not None
        assert len(problem.feature_names) == info.n_features

    @pytest.mark.parametrize(
        ("name", "examples_by_class"),
        [("iris", [50, 50, 50]), ("wine", [59, 71, 48]), ("wdbc", [212, 357])],
    )
    def test_the_splits_hold_every_sample_once(self, name, examples_by_class):
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

    def test_arrays_are_contiguous_and_read_only(self):
        digits = load_bundled("digits")
        for array in (digits.X_train, digits.y_train, digits.X_test, digits.y_test):
            assert array.flags.c_contiguous
            assert not array.flags.writeable

    def test_two_calls_give_the_same(self):
        first, second = load_bundled("wine"), load_bundled("wine")
        np.testing.assert_array_equal(first.X_train, second.X_train)

    def test_another_name_is_refused(self):
        message = r"^bundled problem: expected one of iris, .*, iris_encoded, got 'cancer1'\."
        with pytest.raises(DataError, match=message):
            load_bundled("cancer1")

    @pytest.mark.parametrize("n_samples", PUBLISHED_SPLITS)
    def test_split_sizes_are_rounded_as_in_proben1(self, n_samples):
        assert split_sizes(n_samples) == PUBLISHED_SPLITS[n_samples]

    def test_a_quarter_of_one_is_rounded_down(self):
        assert split_sizes(569) == (285, 142, 142)

    def test_scaling_moves_minimum_and_maximum(self):
        scaled = scale_to_unit_interval(np.array([[1.0, 7.0, -4.0], [3.0, 7.0, 4.0], [2.0, 7.0, 0.0]]))
        np.testing.assert_array_equal(scaled, [[0, 0, 0], [1, 0, 1], [0.5, 0, 0.5]])


class TestSearch:
    def test_the_order_is_option_environment_local_cache(self, places):
        assert search_path(places["option"]) == list(places.values())

    def test_what_is_not_given_is_left_out(self, places, monkeypatch):
        monkeypatch.setenv("PPPCA_DATA", "")
        assert search_path() == [places["local"], places["cache"]]

    def test_the_cache_is_the_users(self, places, tmp_path):
        assert tmp_path in places["cache"].parents
        assert places["cache"].name == "pppca"

    def test_each_place_is_asked_before_the_next(self, places):
        assert find_file("cancer1", places["option"]) is None
        for folder in reversed(places.values()):
            path = put(folder)
            assert find_file("cancer1", places["option"]) == path

    def test_a_place_without_the_file_is_passed_over(self, places):
        put(places["option"], "card1")
        put(places["environment"], "card1")
        path = put(places["local"], "cancer1")
        assert find_file("cancer1", places["option"]) == path

    def test_new_files_go_to_the_first_place_that_is_given_or_exists(self, places, monkeypatch):
        assert fetch_dir(places["option"]) == places["option"]
        assert fetch_dir() == places["environment"]
        monkeypatch.delenv("PPPCA_DATA")
        assert fetch_dir() == places["cache"]
        places["local"].mkdir()
        assert fetch_dir() == places["local"]

    def test_a_tilde_is_the_home_folder(self, monkeypatch, tmp_path):
        monkeypatch.setenv("HOME", str(tmp_path))
        assert search_path("~/proben1")[0] == tmp_path / "proben1"
        assert search_path("~nobody-here/x")[0] == Path("~nobody-here/x")


class TestLoad:
    def test_a_file_that_is_nowhere_is_an_error_with_the_ways_out(self, places):
        with pytest.raises(DataError) as caught:
            load_problem("cancer1", places["option"])
        folders = ", ".join(map(str, places.values()))
        assert str(caught.value) == (
            f"cancer1.dt: expected in one of the folders {folders}, got none. "
            "Run `pppca data fetch cancer1`, or `pppca data fetch --from DIR` with a local copy; "
            "`pppca run demo` needs no download."
        )

    def test_a_damaged_file_is_an_error_though_a_later_place_might_hold_a_good_one(self, places):
        put(places["environment"], "cancer1", "bool_in=0\n")
        with pytest.raises(DataError) as caught:
            load_problem("cancer1")
        assert str(caught.value) == (
            "cancer1.dt, line 2: expected 'real_in=<count>', the count of at most 9 digits, "
            "got an empty line. The file is damaged: run `pppca data fetch --force cancer1`."
        )

    def test_the_remedy_names_the_folder_that_was_asked_for(self, places):
        put(places["option"], "cancer1")
        with pytest.raises(DataError, match=f"--force cancer1 --data {places['option']}`"):
            load_problem("cancer1", places["option"])

    @pytest.mark.data
    def test_a_good_file_is_found_read_and_proved(self, proben1_dir):
        problem = load_problem("glass1", proben1_dir)
        assert problem.sha256 == hashlib.sha256((proben1_dir / "glass1.dt").read_bytes()).hexdigest()

    @pytest.mark.data
    def test_a_file_of_the_right_form_with_another_hash_is_refused(self, places, proben1_dir):
        text = (proben1_dir / "glass1.dt").read_text()
        put(places["environment"], "glass1", text.replace("0.281387", "0.281388", 1))
        with pytest.raises(DataError) as caught:
            load_problem("glass1")
        assert re.fullmatch(
            rf"glass1\.dt in {places['environment']}: expected SHA-256 {problem_info('glass1').sha256}, "
            r"got [0-9a-f]{64}\. The file is damaged: run `pppca data fetch --force glass1`\.",
            str(caught.value),
        )

    def test_a_file_of_the_users_own_needs_no_registered_hash(self, places):
        header = "bool_in=0\nreal_in=1\nbool_out=2\nreal_out=0\n"
        text = f"{header}training_examples=1\nvalidation_examples=1\ntest_examples=0\n0.5 1 0\n0.25 0 1\n"
        path = put(places["option"], "own", text)
        problem = load_problem(str(path))
        assert problem.name == "own"
        assert problem.sha256 == hashlib.sha256(text.encode()).hexdigest()

    @pytest.mark.usefixtures("places")
    def test_a_path_that_leads_nowhere_is_answered_with_the_nearest_name(self):
        with pytest.raises(DataError) as caught:
            load_problem("cancer1.dt")
        assert str(caught.value) == ("cancer1.dt: expected a .dt file, got none there. Did you mean 'cancer1'?")

    def test_problems_that_lack_no_file_are_not_fetched(self, places):
        put(places["local"], "cancer1")
        assert ensure(["iris", "own.dt", "cancer1"]) == []
        assert not places["environment"].exists()


class TestSources:
    @pytest.fixture
    def own(self, tmp_path):
        return write_dt(tmp_path / "own.dt")

    def test_a_known_problem_is_opened_with_its_digest_and_family(self):
        source, problem = open_problem("iris", Path("somewhere"))
        assert (source.name, source.data_dir, source.sha256) == ("iris", Path("somewhere"), problem.sha256)
        assert (source.is_own, source.family) == (False, "iris")

    def test_permutations_of_a_problem_are_one_family(self):
        families = {ProblemSource(name, None, "").family for name in ("cancer1", "cancer2", "cancer3")}
        assert families == {"cancer"}

    def test_a_file_of_the_users_own_is_opened_by_its_path(self, own):
        source, problem = open_problem(str(own))
        assert source == ProblemSource(str(own), None, problem.sha256)
        assert source.is_own

    def test_a_source_is_loaded_once_a_process(self, own):
        source, problem = open_problem(str(own))
        again = load_again(source)
        assert again.sha256 == problem.sha256
        np.testing.assert_array_equal(again.X_train, problem.X_train)
        own.unlink()
        assert load_again(source) is again

    def test_data_that_were_changed_meanwhile_are_refused_each_time(self, own):
        source, problem = open_problem(str(own))
        changed = load_problem(str(write_dt(own, shift=0.1))).sha256
        said = (
            rf"own\.dt: expected the data that the runs were planned for \(SHA-256 {problem.sha256[:12]}\.\.\.\), got"
            rf" others \({changed[:12]}\.\.\.\)\. The file was changed meanwhile: run again\.$"
        )
        for _ in range(2):
            with pytest.raises(DataError, match=said):
                load_again(source)
        write_dt(own)
        assert load_again(source).sha256 == problem.sha256

    def test_data_that_are_gone_are_refused(self, own):
        source, _ = open_problem(str(own))
        own.unlink()
        with pytest.raises(DataError, match=r"own\.dt: expected a \.dt file, got none there"):
            load_again(source)
