"""Reader of Proben1's .dt files, which checks every value."""

import hashlib
import math
import re
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np

from pppca_bench.errors import DataError
from pppca_bench.files import printable
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
_FIRST_EXAMPLE_LINE = len(_HEADER_KEYS) + 1
_COUNT = re.compile(rb"[0-9]{1,9}")
_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_REAL_LIMIT = 1.1

_LONGEST_LINE = 4_000_000
"""Bytes of a line: room for half a million numbers, and little to hold where a file has no line feed at all."""

_VALUES_AT_ONCE = 2**13
"""Values that are held as text at a time; a number takes eight bytes, its text some fifty."""


def read_dt(path: str | Path, *, content: bytes | None = None, remedy: str = "Correct the file.") -> Problem:
    """Read a .dt file, splits and order as in the file.

    The format is that of the Proben1 report: seven lines ``key=count``, then one example a line, inputs
    before outputs, training before validation before test examples.

    Choice: where both kinds of inputs are declared, bool columns come before real columns, as their keys do in
    the header (no Proben1 file declares both). Bool values are 0 or 1, as in all files; gene's -1 and 1 are
    declared real.
    Choice: two or more bool outputs are the classes of a 1-of-n code; a single output is a number to
    approximate: hearta and heartac declare it and hold levels from 0.1 to 0.9 there.
    Choice: real values lie within [-1.1, 1.1]: Proben1 codes to [0, 1] or [-1, 1], and the largest value in
    its files is glass's 1.05066, so more is damage or an input that was never scaled.
    Choice: the last line must end in a line feed, as in all files: a file cut within its last value shows.

    Parameters
    ----------
    path : str or Path
        The file; its stem becomes the problem's name.
    content : bytes, optional
        Content of the file, if it is not on disk.
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
    try:
        with path.open("rb") if content is None else BytesIO(content) as file:
            return _Reader(file, path, remedy).problem()
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise DataError(f"{path.name}: expected a readable file, got {cause} ({path}). {remedy}") from error


class _Reader:
    """Reader of an open .dt file, line by line; `line` is the number of the last line read, from 1."""

    def __init__(self, file: BinaryIO, path: Path, remedy: str) -> None:
        self._file, self._path, self._remedy = file, path, remedy
        self._sha256 = hashlib.sha256()
        self.line = 0

    def problem(self) -> Problem:
        """Return the content of the file."""
        self._read_header()
        values = self._read_values()
        splits = np.split(values, np.cumsum(self._sizes[:2]))
        outputs_by_split = [split[:, self._n_inputs :] for split in splits]
        return Problem.of_splits(
            [split[:, : self._n_inputs] for split in splits],
            [outputs.argmax(axis=1) if self._are_classes else outputs for outputs in outputs_by_split],
            name=self._path.stem,
            task="classification" if self._are_classes else "approximation",
            n_classes=self._n_outputs if self._are_classes else None,
            sha256=self._sha256.hexdigest(),
        )

    def _error(self, expected: str, got: str, line: int | None = None) -> DataError:
        return DataError(f"{self._path.name}, line {line or self.line}: expected {expected}, got {got}. {self._remedy}")

    def _next(self) -> bytes:
        """Return the next line with its line feed, b"" at the end of the file."""
        line = self._file.readline(_LONGEST_LINE + 1)
        self.line += 1
        if len(line) > _LONGEST_LINE:
            raise self._error(f"a line of at most {_LONGEST_LINE} bytes", "a longer line")
        self._sha256.update(line)
        return line

    def _read_header(self) -> None:
        """Read the counts of inputs, outputs and examples, check them and set them as attributes."""
        counts = []
        for expected in _HEADER_KEYS:
            line = self._next().rstrip()
            key, _, count = line.partition(b"=")
            if key != expected.encode() or not _COUNT.fullmatch(count):
                raise self._error(f"'{expected}=<count>', the count of at most 9 digits", _shown(line))
            counts.append(int(count))
        bool_in, real_in, bool_out, real_out, *self._sizes = counts
        self._n_inputs, self._n_outputs, self._n_examples = bool_in + real_in, bool_out + real_out, sum(self._sizes)
        self._are_classes = bool_out > 1
        self._n_bool_inputs = bool_in
        if self._n_inputs == 0:
            raise self._error("at least one input (bool_in + real_in)", "0", line=2)
        if self._n_outputs == 0:
            raise self._error("at least one output (bool_out + real_out)", "0", line=4)
        if bool_out and real_out:
            got = f"bool_out={bool_out} and real_out={real_out}"
            raise self._error("outputs of one kind, bool for classes or real for numbers", got, line=4)
        if self._sizes[0] == 0:
            raise self._error("at least one training example", "0", line=5)

    def _read_values(self) -> FloatArray:
        n_values = self._n_inputs + self._n_outputs
        n_at_once = max(1, _VALUES_AT_ONCE // n_values)
        table: dict[bytes, float] = {}
        blocks = []
        for start in range(0, self._n_examples, n_at_once):
            rows = [self._read_row(n_values) for _ in range(min(n_at_once, self._n_examples - start))]
            if len(table) > _VALUES_AT_ONCE:
                table.clear()
            # Each token is converted once: the files repeat few. float() alone would also take nan, inf and 1_000.
            new = set(chain.from_iterable(rows)) - table.keys()
            table |= {token: float(token) if _DECIMAL.fullmatch(token) else math.nan for token in new}
            flat = np.fromiter(map(table.__getitem__, chain.from_iterable(rows)), np.float64)
            blocks.append(flat.reshape(len(rows), n_values))
            self._check_values(blocks[-1], rows, start + _FIRST_EXAMPLE_LINE)
        if line := self._next():
            raise self._error(f"the end of the file after {self._n_examples} examples", _shown(line))
        return np.concatenate(blocks)

    def _read_row(self, n_values: int) -> list[bytes]:
        line = self._next()
        if not line:
            expected = f"{self._n_examples} examples ({' + '.join(map(str, self._sizes))})"
            raise self._error(expected, f"the end of the file after {self.line - _FIRST_EXAMPLE_LINE}")
        row = line.split()
        if len(row) != n_values:
            expected = f"{n_values} values ({self._n_inputs} inputs + {self._n_outputs} outputs)"
            raise self._error(expected, str(len(row)))
        if not line.endswith(b"\n") and self.line == _FIRST_EXAMPLE_LINE + self._n_examples - 1:
            raise self._error("a line feed after the last value", "the end of the file")
        return row

    def _check_values(self, values: FloatArray, rows: list[list[bytes]], first_line: int) -> None:
        is_bool = np.zeros(values.shape[1], dtype=bool)
        is_bool[: self._n_bool_inputs], is_bool[self._n_inputs :] = True, self._are_classes
        rules = (
            (np.isfinite(values), "a finite decimal number"),
            ((values == 0) | (values == 1) | ~is_bool, "0 or 1 (declared bool)"),
            ((np.abs(values) <= _REAL_LIMIT) | is_bool, f"a number within [-{_REAL_LIMIT}, {_REAL_LIMIT}]"),
        )
        for is_right, expected in rules:
            if not is_right.all():
                row, column = np.argwhere(~is_right)[0]
                got = _shown(rows[row][column])
                raise self._error(f"as value {column + 1} {expected}", got, line=first_line + row)
        n_ones = values[:, self._n_inputs :].sum(axis=1)
        wrong = np.flatnonzero(n_ones != 1)
        if self._are_classes and wrong.size:
            expected = f"exactly one 1 among the {self._n_outputs} outputs"
            raise self._error(expected, str(int(n_ones[wrong[0]])), line=first_line + wrong[0])


def _shown(text: bytes) -> str:
    shown = printable(text.strip().decode("ascii", errors="backslashreplace"))
    if not shown:
        return "an empty line"
    return repr(shown[:40] + "..." if len(shown) > 40 else shown).replace("\\\\", "\\")
