"""Reader of .dt files: accepted and refused content, and the Proben1 files."""

import hashlib
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pppca_bench.errors import DataError
from pppca_bench.problems import Problem, read_dt

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


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "own.dt"
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


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_classes_and_splits_keep_the_order_of_the_file(tmp_path, line_end):
    content = CLASSES.replace("\n", line_end)
    problem = read_dt(write(tmp_path, content))
    np.testing.assert_array_equal(problem.X_train, [[0.25, 1], [-1, 0.5], [0, 0]])
    np.testing.assert_array_equal(problem.X_validation, [[0.125, 1.05]])
    np.testing.assert_array_equal(problem.X_test, [[0.01, 0], [0.75, 1]])
    found = [problem.y_train.tolist(), problem.y_validation.tolist(), problem.y_test.tolist()]
    assert found == [[0, 1, 2], [0], [2, 1]]
    assert (problem.name, problem.task, problem.n_classes) == ("own", "classification", 3)
    assert (problem.n_features, problem.n_outputs) == (2, 3)
    assert problem.sha256 == hashlib.sha256(content.encode()).hexdigest()


def test_targets_of_an_approximation_stay_numbers(tmp_path):
    problem = read_dt(write(tmp_path, NUMBERS))
    np.testing.assert_array_equal(problem.y_train, [[0.25, -1]])
    np.testing.assert_array_equal(problem.y_test, [[0.75, 1]])
    assert problem.y_validation.shape == problem.X_validation.shape == (0, 2)
    assert (problem.task, problem.n_classes, problem.n_outputs) == ("approximation", None, 2)


@pytest.mark.parametrize(
    ("first", "last", "task", "outputs"),
    [
        ("0.3", "0.9", "approximation", [[0.3], [0.9]]),  # as in hearta
        ("1", "0", "classification", [1, 0]),
        ("0", "0.0", "classification", [0, 0]),
    ],
)
def test_a_single_bool_output_is_a_class_or_a_level(tmp_path, first, last, task, outputs):
    problem = read_dt(write(tmp_path, single_output(first, last)))
    assert (problem.task, problem.n_outputs) == (task, 2 if task == "classification" else 1)
    assert [*problem.y_train.tolist(), *problem.y_test.tolist()] == outputs


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [("0", "0.3", "value 3 0 or 1"), ("0.3", "1", "output a level other than 0 and 1")],
)
def test_a_single_bool_output_is_0_or_1_in_all_or_none(tmp_path, first, last, expected):
    message = error_of(tmp_path, single_output(first, last))
    assert message.startswith(f"own.dt, line 9: expected as {expected}")
    assert f", got '{last}'" in message


@pytest.mark.parametrize(("content", "targets"), [(CLASSES, np.int64), (NUMBERS, np.float64)])
def test_arrays_are_contiguous_typed_and_read_only(tmp_path, content, targets):
    problem = read_dt(write(tmp_path, content))
    for split in ("train", "validation", "test"):
        for name, dtype in ((f"X_{split}", np.float64), (f"y_{split}", targets)):
            array = getattr(problem, name)
            assert (array.dtype, array.flags.c_contiguous) == (dtype, True)
            assert not array.flags.writeable


@pytest.mark.parametrize(
    "number", ["0.1", "0.333333", "1.0000000000000002", "5e-324", "0.30000000000000004"]
)
def test_every_printed_number_is_rounded_as_python_does(tmp_path, number):
    problem = read_dt(write(tmp_path, NUMBERS.replace("-0.5", number)))
    assert problem.X_test[0, 1] == float(number)


@pytest.mark.parametrize(
    ("path", "cause"), [("none.dt", "No such file"), ("a\0.dt", "embedded null"), (".", "Is a dir")]
)
def test_an_unreadable_file_is_refused(path, cause):
    with pytest.raises(DataError, match=rf"expected a readable file, got {cause}"):
        read_dt(path)


@pytest.mark.parametrize(
    ("promise", "expected"),
    [
        ("training_examples=3", "the end of the file after"),
        ("real_in=2", "line 8: expected 1000000002 values"),
    ],
)
def test_a_header_that_promises_too_much_takes_no_memory(tmp_path, promise, expected):
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


PIECES = st.sampled_from(
    [b"0", b"1", b" ", b"\n", b"-", b".", b"e", b"=", b"nan", b"\r", b"_", b"0 1"]
)


@st.composite
def mutations(draw, content: bytes) -> bytes:
    """Replace up to three pieces of the content by bytes, likely ones more often."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        end = start + draw(st.integers(0, 12))
        content = content[:start] + draw(PIECES | st.binary(max_size=4)) + content[end:]
    return content


@given(content=st.sampled_from([CLASSES, NUMBERS]).flatmap(lambda text: mutations(text.encode())))
@settings(max_examples=300)
def test_no_mutation_of_a_small_file_is_misread(tmp_path, content):
    assert_refused_or_unchanged(write(tmp_path, content))


@given(content=st.binary(max_size=200))
def test_no_noise_is_misread(tmp_path, content):
    assert_refused_or_unchanged(write(tmp_path, content))


@pytest.mark.parametrize("content", [CLASSES, NUMBERS])
def test_every_cut_is_refused(tmp_path, content):
    for end in range(len(content)):
        error_of(tmp_path, content[:end])


@pytest.mark.parametrize(
    ("name", "examples_by_class"),
    # UCI repository, "Class Distribution" of breast-cancer-wisconsin and glass.
    [("cancer", [458, 241]), ("glass", [70, 76, 17, 13, 9, 29])],
)
def test_classes_are_as_frequent_as_in_uci(proben1_dir, name, examples_by_class):
    for number in "123":
        problem = read_dt(proben1_dir / f"{name}{number}.dt")
        y = np.concatenate([problem.y_train, problem.y_validation, problem.y_test])
        assert np.bincount(y).tolist() == examples_by_class
