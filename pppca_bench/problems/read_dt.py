"""Reader of Proben1's .dt files, which checks every value."""

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np

from pppca_bench.errors import DataError
from pppca_bench.problems.problem import FloatArray, Problem, Targets
from pppca_bench.problems.registry import Task

_HEADER_KEYS = (
    "bool_in",
    "real_in",
    "bool_out",
    "real_out",
    "training_examples",
    "validation_examples",
    "test_examples",
)
_FIRST_EXAMPLE_LINE = len(_HEADER_KEYS) + 1
_COUNT = re.compile(rb"[0-9]{1,9}")
_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_REAL_LIMIT = 1.1

_LONGEST_LINE = 4_000_000
"""Bytes of a line: room for half a million numbers, and little to hold where a file has no line feed at all."""

_VALUES_AT_ONCE = 2**13
"""Values that are held as text at a time; a number takes eight bytes, its text some fifty."""


@dataclass(frozen=True, slots=True)
class _Header:
    bool_in: int
    real_in: int
    bool_out: int
    real_out: int
    training_examples: int
    validation_examples: int
    test_examples: int

    @property
    def n_features(self) -> int:
        return self.bool_in + self.real_in

    @property
    def n_outputs(self) -> int:
        return self.bool_out + self.real_out

    @property
    def n_values(self) -> int:
        return self.n_features + self.n_outputs

    @property
    def n_examples(self) -> int:
        return self.training_examples + self.validation_examples + self.test_examples

    @property
    def task(self) -> Task:
        return "classification" if self.bool_out > 1 else "approximation"


@dataclass(frozen=True, slots=True)
class _Place:
    """The file that messages name, and the way out that they give."""

    name: str
    remedy: str

    def error(self, line: int | None, expected: str, got: str) -> DataError:
        where = self.name if line is None else f"{self.name}, line {line}"
        return DataError(f"{where}: expected {expected}, got {got}. {self.remedy}")


class _Lines:
    """The lines of an open file, one after another.

    Attributes
    ----------
    number : int
        That of the line which was read last, from 1.
    sha256 : hash object
        Of all that was read.
    """

    def __init__(self, file: BinaryIO, place: _Place) -> None:
        self.number = 0
        self.sha256 = hashlib.sha256()
        self._file, self._place = file, place

    def next(self) -> bytes:
        """Return the next line with its line feed, or nothing at the file's end."""
        line = self._file.readline(_LONGEST_LINE + 1)
        self.number += 1
        if len(line) > _LONGEST_LINE:
            raise self._place.error(self.number, f"a line of at most {_LONGEST_LINE} bytes", "a longer one")
        self.sha256.update(line)
        return line


def read_dt(path: str | Path, *, content: bytes | None = None, remedy: str = "Correct the file.") -> Problem:
    """Read a .dt file, splits and order as in the file.

    The format is that of the Proben1 report: seven lines ``key=count``, then one example a line, inputs
    before outputs, training before validation before test examples.

    Choice: where both kinds of inputs are declared, bool columns come before real ones, as their keys do in
    the header (no Proben1 file declares both). Bool values are 0 or 1, as in all files; gene's -1 and 1 are
    declared real.
    Choice: two or more bool outputs are the classes of a 1-of-n code; a single one is a number to
    approximate: hearta and heartac declare it and hold levels from 0.1 to 0.9 there.
    Choice: real values lie within [-1.1, 1.1]: Proben1 codes to [0, 1] or [-1, 1], and the largest value in
    its files is glass's 1.05066, so more is damage or an input that was never scaled.
    Choice: the last line must end in a line feed, as in all files: a file cut within its last value shows.

    Parameters
    ----------
    path : str or Path
        The file; its stem becomes the problem's name.
    content : bytes, optional
        Content of the file, for one that is not on disk.
    remedy : str, default="Correct the file."
        Last sentence of an error message.

    Returns
    -------
    Problem
        With ``sha256`` of the file's bytes.

    Raises
    ------
    DataError
        If the file cannot be read or breaks the format; the message names file, line, expected and got.
    """
    path = Path(path)
    place = _Place(path.name, remedy)
    with _lines(path, content, place) as lines:
        header = _read_header(lines, place)
        values = _read_values(lines, header, place)
    return _to_problem(path.stem, values, header, lines.sha256.hexdigest())


@contextmanager
def _lines(path: Path, content: bytes | None, place: _Place) -> Iterator[_Lines]:
    try:
        with path.open("rb") if content is None else BytesIO(content) as file:
            yield _Lines(file, place)
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise place.error(None, "a readable file", f"{cause} ({path})") from error


def _read_header(lines: _Lines, place: _Place) -> _Header:
    counts: list[int] = []
    for number, key in enumerate(_HEADER_KEYS, start=1):
        line = lines.next().rstrip()
        found, _, count = line.partition(b"=")
        if found != key.encode() or not _COUNT.fullmatch(count):
            raise place.error(number, f"'{key}=<count>', the count of at most 9 digits", _shown(line))
        counts.append(int(count))
    header = _Header(*counts)
    _check_header(header, place)
    return header


def _check_header(header: _Header, place: _Place) -> None:
    if header.n_features == 0:
        raise place.error(2, "at least one input (bool_in + real_in)", "0")
    if header.n_outputs == 0:
        raise place.error(4, "at least one output (bool_out + real_out)", "0")
    if header.bool_out and header.real_out:
        got = f"bool_out={header.bool_out} and real_out={header.real_out}"
        raise place.error(4, "outputs of one kind, bool for classes or real for numbers", got)
    if header.training_examples == 0:
        raise place.error(5, "at least one training example", "0")


def _read_values(lines: _Lines, header: _Header, place: _Place) -> FloatArray:
    n_at_once = max(1, _VALUES_AT_ONCE // header.n_values)
    table: dict[bytes, float] = {}
    blocks = []
    for start in range(0, header.n_examples, n_at_once):
        n_rows = min(n_at_once, header.n_examples - start)
        rows = [_read_row(lines, header, place) for _ in range(n_rows)]
        if len(table) > _VALUES_AT_ONCE:
            table.clear()
        # One look-up per value, not one conversion: the files repeat few distinct tokens.
        table |= {token: _to_float(token) for token in set(chain.from_iterable(rows)) - table.keys()}
        flat = np.fromiter(map(table.__getitem__, chain.from_iterable(rows)), np.float64)
        values = flat.reshape(n_rows, header.n_values)
        _check_values(values, rows, start + _FIRST_EXAMPLE_LINE, header, place)
        blocks.append(values)
    if line := lines.next():
        raise place.error(lines.number, f"the end of the file after {header.n_examples} examples", _shown(line))
    return np.concatenate(blocks)


def _read_row(lines: _Lines, header: _Header, place: _Place) -> list[bytes]:
    line = lines.next()
    n = header.n_examples
    if not line:
        sizes = f"{header.training_examples} + {header.validation_examples} + {header.test_examples}"
        got = f"the end of the file after {lines.number - _FIRST_EXAMPLE_LINE}"
        raise place.error(lines.number, f"{n} examples ({sizes})", got)
    row = line.split()
    if len(row) != header.n_values:
        sizes = f"{header.n_features} inputs + {header.n_outputs} outputs"
        raise place.error(lines.number, f"{header.n_values} values ({sizes})", str(len(row)))
    if not line.endswith(b"\n") and lines.number == _FIRST_EXAMPLE_LINE + n - 1:
        raise place.error(lines.number, "a line feed after the last value", "the end of the file")
    return row


def _to_float(token: bytes) -> float:
    # float() alone would also take nan, inf and 1_000.
    return float(token) if _DECIMAL.fullmatch(token) else math.nan


def _check_values(
    values: FloatArray, rows: Sequence[Sequence[bytes]], first_line: int, header: _Header, place: _Place
) -> None:
    is_class = header.task == "classification"
    is_bool = np.repeat([True, False, is_class], [header.bool_in, header.real_in, header.n_outputs])
    rules = (
        (np.isfinite(values), "a finite decimal number"),
        ((values == 0) | (values == 1) | ~is_bool, "0 or 1 (declared bool)"),
        ((np.abs(values) <= _REAL_LIMIT) | is_bool, f"a number within [-{_REAL_LIMIT}, {_REAL_LIMIT}]"),
    )
    for is_right, expected in rules:
        if not is_right.all():
            row, column = np.argwhere(~is_right)[0]
            where = f"as value {column + 1} {expected}"
            raise place.error(first_line + row, where, _shown(rows[row][column]))
    if is_class:
        _check_one_of_n(values[:, header.n_features :], first_line, place)


def _check_one_of_n(outputs: FloatArray, first_line: int, place: _Place) -> None:
    n_ones = outputs.sum(axis=1)
    wrong = np.flatnonzero(n_ones != 1)
    if wrong.size:
        expected = f"exactly one 1 among the {outputs.shape[1]} outputs"
        raise place.error(first_line + wrong[0], expected, str(int(n_ones[wrong[0]])))


def _to_problem(name: str, values: FloatArray, header: _Header, sha256: str) -> Problem:
    ends = np.cumsum([header.training_examples, header.validation_examples])
    splits = np.split(values, ends)
    X = [split[:, : header.n_features] for split in splits]
    y = [_to_targets(split[:, header.n_features :], header) for split in splits]
    return Problem.of_splits(
        X,
        y,
        name=name,
        task=header.task,
        n_classes=header.n_outputs if header.task == "classification" else None,
        sha256=sha256,
    )


def _to_targets(outputs: FloatArray, header: _Header) -> Targets:
    if header.task == "classification":
        classes: Targets = np.argmax(outputs, axis=1).astype(np.int64)
        return classes
    return outputs


def _shown(text: bytes) -> str:
    shown = text.strip().decode("ascii", errors="backslashreplace")
    printable = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in shown)
    if not printable:
        return "an empty line"
    return repr(printable[:40] + "..." if len(printable) > 40 else printable).replace("\\\\", "\\")
