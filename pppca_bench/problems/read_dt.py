"""Reader of Proben1's .dt files, which checks every value."""

import hashlib
import math
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pppca_bench.errors import DataError, printable
from pppca_bench.problems.columns import ColumnError
from pppca_bench.problems.problem import FloatArray, Problem

_HEADER_KEYS = (
    "bool_in",
    "real_in",
    "bool_out",
    "real_out",
    "training_examples",
    "validation_examples",
    "test_examples",
)
_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_REAL_LIMIT = 1.1


def read_dt(
    path: str | Path, *, content: bytes | None = None, remedy: str = "Correct the file."
) -> Problem:
    """Read a .dt file, splits and order as in the file.

    Format of the Proben1 report: seven lines ``key=count``, then an example per line, inputs before outputs;
    training, validation and test examples in this order.

    Choice: if both kinds of inputs are declared, bool columns precede real columns, as do their keys in the
    header (no Proben1 file declares both). Bool values are 0 or 1, as in all files; the -1 and 1 of gene are
    declared real.
    Choice: bool outputs are classes, two or more in 1-of-n code, a single output with the classes 0 and 1. If the
    first example has another number as single output, none may be 0 or 1, and the output is a number to approximate:
    hearta and heartac declare levels from 0.1 to 0.9 as bool.
    Choice: real values are within [-1.1, 1.1]. Proben1 scales to [0, 1] or [-1, 1], and the largest value is
    1.05066 in glass; larger values are damaged or not scaled.
    Choice: the last line must end in a line feed, as in all files, to detect a cut within the last value.

    The stem of the path is the problem's name; ``content`` is that of a file that is not on disk, and ``remedy`` the
    last sentence of an error message. Raises DataError with file, line, expected and got if the file cannot be read or
    breaks the format.
    """
    path = Path(path)
    try:
        content = path.read_bytes() if content is None else content
        return _problem(path.stem, content)
    except ColumnError as error:
        location = f"{path.name}, {error.at}"
        raise DataError(
            f"{location}: expected {error.expected}, got {error.got}. {remedy}"
        ) from None
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise DataError(
            f"{path.name}: expected a readable file, got {cause} ({path}). {remedy}"
        ) from error


def _check(is_right: object, line: int, expected: str, got: str) -> None:
    if not is_right:
        raise ColumnError(expected, got, at=f"line {line}")


def _problem(name: str, content: bytes) -> Problem:
    """Return the content of a file; raise ColumnError for the first mistake of a kind."""
    lines = content.split(b"\n")  # the last is empty, after the last line feed
    bool_in, real_in, bool_out, real_out, *sizes = _counts(lines)
    n_inputs = bool_in + real_in
    n_outputs = bool_out + real_out
    table = _numbers(lines, n_inputs, n_outputs, sizes)
    are_classes = bool_out > 0 and (n_outputs > 1 or table[0, -1] in (0, 1))
    columns = np.arange(table.shape[1])
    _check_values(table, (columns < bool_in) | ((columns >= n_inputs) & are_classes), lines)
    outputs = table[:, n_inputs:]
    if bool_out:
        _check_classes(outputs, are_classes, lines)
    if are_classes:
        targets = outputs.argmax(axis=1) if n_outputs > 1 else outputs[:, 0].astype(np.int64)
    ends = np.cumsum(sizes[:2])
    return Problem.of_splits(
        np.split(table[:, :n_inputs], ends),
        np.split(targets if are_classes else outputs, ends),
        name=name,
        task="classification" if are_classes else "approximation",
        n_classes=max(2, n_outputs) if are_classes else None,
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _counts(lines: Sequence[bytes]) -> list[int]:
    """Return the counts of the header."""
    counts = list[int]()
    for number, key in enumerate(_HEADER_KEYS, 1):
        line = b"".join(lines[number - 1 : number]).rstrip()
        match = re.fullmatch(rb"%b=([0-9]{1,9})" % key.encode(), line)
        _check(match, number, f"'{key}=<count>', the count of at most 9 digits", _shown(line))
        counts.append(int(line.partition(b"=")[2]))
    bool_in, real_in, bool_out, real_out, n_training, *_ = counts
    got = f"bool_out={bool_out} and real_out={real_out}"
    expected = "outputs of one kind, bool for classes or real for numbers"
    _check(bool_in + real_in, 2, "at least one input (bool_in + real_in)", "0")
    _check(bool_out + real_out, 4, "at least one output (bool_out + real_out)", "0")
    _check(0 in (bool_out, real_out), 4, expected, got)
    _check(n_training, 5, "at least one training example", "0")
    return counts


def _numbers(
    lines: Sequence[bytes], n_inputs: int, n_outputs: int, sizes: Sequence[int]
) -> FloatArray:
    """Return the numbers of the examples, of shape (n_rows, n_inputs + n_outputs); NaN for other texts."""
    n_rows = sum(sizes)
    end = len(_HEADER_KEYS) + n_rows
    rows = list[FloatArray]()
    for number in range(len(_HEADER_KEYS) + 1, end + 1):
        line = b"".join(lines[number - 1 : number])
        expected = f"{n_rows} examples ({' + '.join(map(str, sizes))})"
        got = f"the end of the file after {len(rows)}"
        _check(line or number < len(lines), number, expected, got)
        tokens = line.split()
        expected = f"{n_inputs + n_outputs} values ({n_inputs} inputs + {n_outputs} outputs)"
        _check(len(tokens) == n_inputs + n_outputs, number, expected, f"{len(tokens)}")
        rows.append(np.fromiter(map(_number, tokens), np.float64, len(tokens)))
    rest = lines[end:]
    _check(rest, end, "a line feed after the last value", "the end of the file")
    expected = f"the end of the file after {n_rows} examples"
    _check(rest == [b""], end + 1, expected, _shown(b"".join(rest[:1])))
    return np.vstack(rows)


def _check_values(table: FloatArray, is_bool: NDArray[np.bool_], lines: Sequence[bytes]) -> None:
    """Check the first number that is neither 0 nor 1 in a bool column, or too large in another."""
    # NaN compares as False
    is_right = np.where(is_bool, np.isin(table, (0, 1)), np.abs(table) <= _REAL_LIMIT)
    for row, index in np.argwhere(~is_right)[:1].tolist():
        expected = f"a number within [-{_REAL_LIMIT}, {_REAL_LIMIT}]"
        if is_bool[index]:
            expected = "0 or 1 (declared bool)"
        if not math.isfinite(table[row, index]):
            expected = "a finite decimal number"
        line = len(_HEADER_KEYS) + row
        got = _shown(lines[line].split()[index])
        _check(False, line + 1, f"as value {index + 1} {expected}", got)


def _check_classes(outputs: FloatArray, are_classes: bool, lines: Sequence[bytes]) -> None:
    """Check the first row of bool outputs without exactly one class, or of another kind than the first row."""
    n_outputs = outputs.shape[1]
    is_right = outputs.sum(axis=1) == 1
    if n_outputs == 1:
        is_right = np.isin(outputs[:, 0], (0, 1)) == are_classes
    if is_right.all():
        return
    row = int(is_right.argmin())
    line = len(_HEADER_KEYS) + row
    got, expected = f"{outputs[row].sum():.0f}", f"exactly one 1 among the {n_outputs} outputs"
    if n_outputs == 1:
        got = _shown(lines[line].split()[-1])
        expected = "as output a level other than 0 and 1, as in the first example"
    _check(False, line + 1, expected, got)


@lru_cache(maxsize=2**10)  # files repeat few texts
def _number(text: bytes) -> float:
    """Return a decimal number, or NaN for other texts; float() alone would accept inf and 1_000."""
    return float(text) if _DECIMAL.fullmatch(text) else math.nan


def _shown(text: bytes) -> str:
    shown = printable(text.strip().decode("ascii", errors="backslashreplace"))
    if not shown:
        return "an empty line"
    return repr(shown[:40] + "..." if len(shown) > 40 else shown).replace("\\\\", "\\")
