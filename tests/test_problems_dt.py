"""Reader of .dt files: accepted and refused content, and the Proben1 files."""

import hashlib
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_references import SLIDES

from pppca_bench.errors import DataError
from pppca_bench.problems import Problem, known_problems, problem_info, read_dt

CLASSES = """bool_in=0
real_in=2
bool_out=3
real_out=0
training_examples=3
validation_examples=1
test_examples=2
0.25 1 1 0 0
-1 0.5 0 1 0
0 0 0 0 1
.125 1.05 1 0 0
1e-2 -0 0 0 1
0.75 +1 0 1 0
"""
NUMBERS = """bool_in=1
real_in=1
bool_out=0
real_out=2
training_examples=1
validation_examples=0
test_examples=1
1 0.5 0.25 -1
0 -0.5 0.75 1
"""

EXAMPLES_OF_SETTINGS = settings(max_examples=200)


def write(folder: Path, content: str | bytes, name: str = "own.dt") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def error_of(folder: Path, content: str | bytes) -> str:
    with pytest.raises(DataError) as caught:
        read_dt(write(folder, content))
    return str(caught.value)


def single_output(first: str, last: str) -> str:
    """Return a file with a bool output in each of two examples."""
    content = NUMBERS.replace("bool_out=0", "bool_out=1").replace("real_out=2", "real_out=0")
    return content.replace(" 0.25 -1", f" {first}").replace(" 0.75 1", f" {last}")


class TestAccepted:
    def test_classes_and_splits_keep_the_order_of_the_file(self, tmp_path):
        problem = read_dt(write(tmp_path, CLASSES))
        np.testing.assert_array_equal(problem.X_train, [[0.25, 1], [-1, 0.5], [0, 0]])
        np.testing.assert_array_equal(problem.X_validation, [[0.125, 1.05]])
        np.testing.assert_array_equal(problem.X_test, [[0.01, 0], [0.75, 1]])
        found = [problem.y_train.tolist(), problem.y_validation.tolist(), problem.y_test.tolist()]
        assert found == [[0, 1, 2], [0], [2, 1]]
        assert (problem.name, problem.task, problem.n_classes) == ("own", "classification", 3)
        assert (problem.n_features, problem.n_outputs) == (2, 3)
        assert problem.sha256 == hashlib.sha256(CLASSES.encode()).hexdigest()

    def test_targets_of_an_approximation_stay_numbers(self, tmp_path):
        problem = read_dt(write(tmp_path, NUMBERS))
        np.testing.assert_array_equal(problem.y_train, [[0.25, -1]])
        np.testing.assert_array_equal(problem.y_test, [[0.75, 1]])
        assert problem.y_validation.shape == (0, 2)
        assert problem.X_validation.shape == (0, 2)
        assert (problem.task, problem.n_classes, problem.n_outputs) == ("approximation", None, 2)

    def test_a_single_bool_output_is_a_number_as_in_hearta(self, tmp_path):
        problem = read_dt(write(tmp_path, single_output("0.3", "0.9")))
        assert (problem.task, problem.y_test.tolist()) == ("approximation", [[0.9]])

    @pytest.mark.parametrize(("first", "last"), [("1", "0"), ("0", "0.0")])
    def test_a_single_bool_output_of_0_and_1_is_two_classes(self, tmp_path, first, last):
        problem = read_dt(write(tmp_path, single_output(first, last)))
        assert (problem.task, problem.n_classes) == ("classification", 2)
        assert (problem.y_train.tolist(), problem.y_test.tolist()) == ([int(first)], [0])

    @pytest.mark.parametrize(
        ("first", "last", "expected"),
        [("0", "0.3", "value 3 0 or 1"), ("0.3", "1", "output a level other than 0 and 1")],
    )
    def test_a_single_bool_output_is_0_or_1_in_all_or_none(self, tmp_path, first, last, expected):
        message = error_of(tmp_path, single_output(first, last))
        assert message.startswith(f"own.dt, line 9: expected as {expected}")
        assert f", got '{last}'" in message

    @pytest.mark.parametrize("content", [CLASSES, NUMBERS])
    def test_arrays_are_contiguous_typed_and_read_only(self, tmp_path, content):
        problem = read_dt(write(tmp_path, content))
        for split in ("train", "validation", "test"):
            X, y = getattr(problem, f"X_{split}"), getattr(problem, f"y_{split}")
            assert X.dtype == np.float64
            assert y.dtype == (np.int64 if problem.n_classes else np.float64)
            for array in (X, y):
                assert array.flags.c_contiguous
                assert not array.flags.writeable

    def test_windows_line_ends_change_no_value(self, tmp_path):
        unix = write(tmp_path, CLASSES)
        windows = write(tmp_path, CLASSES.replace("\n", "\r\n"), "w.dt")
        np.testing.assert_array_equal(read_dt(windows).X_train, read_dt(unix).X_train)

    def test_every_printed_number_is_rounded_as_python_does(self, tmp_path):
        printed = ["0.1", "0.333333", "1.0000000000000002", "5e-324", "0.30000000000000004"]
        for number in printed:
            problem = read_dt(write(tmp_path, NUMBERS.replace("-0.5", number)))
            assert problem.X_test[0, 1] == float(number)


class TestRefused:
    def test_a_bool_input_is_0_or_1(self, tmp_path):
        message = error_of(tmp_path, NUMBERS.replace("1 0.5 ", "-1 0.5 "))
        assert message.startswith(
            "own.dt, line 8: expected as value 1 0 or 1 (declared bool), got '-1'"
        )

    @pytest.mark.parametrize("content", ["", "\n" * 7, b"\xff\xfeb\0o\0o\0l\0"])
    def test_an_empty_or_foreign_file_is_refused_at_line_1(self, tmp_path, content):
        assert error_of(tmp_path, content).startswith("own.dt, line 1: expected 'bool_in=<count>'")

    def test_an_unreadable_file_is_refused(self, tmp_path):
        said = r"^none\.dt: expected a readable file, got No such file"
        with pytest.raises(DataError, match=said):
            read_dt(tmp_path / "none.dt")
        with pytest.raises(DataError, match=r"expected a readable file, got Is a directory"):
            read_dt(tmp_path)
        with pytest.raises(DataError, match="expected a readable file"):
            read_dt("a\0.dt")

    @pytest.mark.parametrize(
        ("promise", "expected"),
        [
            ("training_examples=3", "the end of the file after"),
            ("real_in=2", "line 8: expected 1000000002 values"),
        ],
    )
    def test_a_header_that_promises_too_much_takes_no_memory(self, tmp_path, promise, expected):
        content = CLASSES.replace(promise, f"{promise.partition('=')[0]}=999999999")
        tracemalloc.start()
        assert expected in error_of(tmp_path, content)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 10**7


def assert_refused_or_unchanged(path: Path) -> None:
    """A file is refused in one line, or its arrays are what a lenient reader sees in its text."""
    try:
        problem = read_dt(path)
    except DataError as error:
        message = str(error)
    else:
        assert_values_are_those_printed(problem, path)
        return
    assert re.fullmatch(r"\S+\.dt, line \d+: expected .+, got .+\. [A-Z].+\.", message)


def assert_values_are_those_printed(problem: Problem, path: Path) -> None:
    rows = [
        [float(token) for token in line.split()] for line in path.read_bytes().split(b"\n")[7:-1]
    ]
    X = np.vstack([problem.X_train, problem.X_validation, problem.X_test])
    y = np.concatenate([problem.y_train, problem.y_validation, problem.y_test])
    outputs = y if problem.n_classes is None else np.eye(problem.n_classes)[y]
    np.testing.assert_array_equal(np.hstack([X, outputs]), rows)
    assert np.isfinite(rows).all()


@st.composite
def mutations(draw, content: bytes) -> bytes:
    """Replace up to three pieces of the content by bytes, likely ones more often."""
    pieces = st.sampled_from(
        [b"0", b"1", b" ", b"\n", b"-", b".", b"e", b"=", b"nan", b"\r", b"_", b"0 1"]
    )
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        end = start + draw(st.integers(0, 12))
        content = content[:start] + draw(st.one_of(pieces, st.binary(max_size=4))) + content[end:]
    return content


class TestMutations:
    @given(data=st.data())
    @EXAMPLES_OF_SETTINGS
    @pytest.mark.parametrize("content", [CLASSES, NUMBERS])
    def test_no_mutation_of_a_small_file_is_misread(self, tmp_path, content, data):
        assert_refused_or_unchanged(write(tmp_path, data.draw(mutations(content.encode()))))

    @given(content=st.binary(max_size=200))
    @EXAMPLES_OF_SETTINGS
    def test_no_noise_is_misread(self, tmp_path, content):
        assert_refused_or_unchanged(write(tmp_path, content))

    @pytest.mark.parametrize("content", [CLASSES, NUMBERS])
    def test_every_cut_is_refused(self, tmp_path, content):
        for end in range(len(content)):
            error_of(tmp_path, content[:end])


class TestProben1Files:
    @pytest.mark.parametrize("name", known_problems("proben1"))
    def test_every_file_matches_the_registry(self, proben1_dir, name):
        problem, info = read_dt(proben1_dir / f"{name}.dt"), problem_info(name)
        assert problem.sha256 == info.sha256
        assert (problem.task, problem.n_outputs) == (info.task, info.n_outputs)
        assert (problem.n_features, problem.n_outputs) == (info.n_features, info.n_outputs)
        assert problem.X_train.shape == (info.n_train, info.n_features)
        assert problem.X_validation.shape == (info.n_validation, info.n_features)
        assert problem.X_test.shape == (info.n_test, info.n_features)

    @pytest.mark.parametrize("line", SLIDES["T0"].splitlines())
    def test_sizes_are_those_of_the_slides(self, line):
        name, *printed = line.replace("/ ", "").split()
        info = problem_info(name)
        sizes = (info.n_features, info.n_outputs, info.n_train, info.n_validation, info.n_test)
        assert [str(size) for size in sizes] == printed

    @pytest.mark.parametrize(
        ("name", "examples_by_class"),
        # UCI repository, "Class Distribution" of breast-cancer-wisconsin and glass.
        [("cancer", [458, 241]), ("glass", [70, 76, 17, 13, 9, 29])],
    )
    def test_classes_are_as_frequent_as_in_uci(self, proben1_dir, name, examples_by_class):
        for number in "123":
            problem = read_dt(proben1_dir / f"{name}{number}.dt")
            y = np.concatenate([problem.y_train, problem.y_validation, problem.y_test])
            assert np.bincount(y).tolist() == examples_by_class

    def test_first_and_last_example_of_cancer1_are_as_printed_in_the_file(self, proben1_dir):
        problem = read_dt(proben1_dir / "cancer1.dt")
        lines = (proben1_dir / "cancer1.dt").read_text().splitlines()
        assert problem.X_train[0].tolist() == [0.2, 0.1, 0.1, 0.1, 0.2, 0.1, 0.2, 0.1, 0.1]
        assert problem.y_train[0] == 0
        assert [f"{value:g}" for value in problem.X_test[-1]] == lines[-1].split()[:9]
        assert lines[-1].split()[9 + problem.y_test[-1]] == "1"
