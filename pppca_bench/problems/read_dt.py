"""Reader of Proben1's .dt files, which checks every value."""

import hashlib
import math
import re
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

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
_COUNT = re.compile(rb"[0-9]{1,9}")
_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_REAL_LIMIT = 1.1


def read_dt(path: str | Path, *, content: bytes | None = None, remedy: str = "Correct the file.") -> Problem:
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

    Parameters
    ----------
    path : str or Path
        Path of the file; its stem is the name of the problem.
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
        n_bool_inputs, n_inputs, n_outputs, is_bool_output, sizes = self._read_header()
        rows = list[FloatArray]()
        for number in range(1, sum(sizes) + 1):
            row, tokens = self._read_row(n_inputs, n_outputs, sizes, is_last=number == sum(sizes))
            if not rows:  # only now is it known that the header does not promise a billion columns
                places = np.arange(len(row))
                are_classes = is_bool_output and (n_outputs > 1 or row[-1] in (0, 1))
                is_bool = (places < n_bool_inputs) | ((places >= n_inputs) & are_classes)
            self._check_row(row, tokens, is_bool)
            if is_bool_output and not are_classes and row[-1] in (0, 1):
                raise self._error("as output a level other than 0 and 1, as in the first example", _shown(tokens[-1]))
            if are_classes and n_outputs > 1 and (n_ones := row[n_inputs:].sum()) != 1:
                raise self._error(f"exactly one 1 among the {n_outputs} outputs", str(int(n_ones)))
            rows.append(row)
        if line := self._next():
            raise self._error(f"the end of the file after {sum(sizes)} examples", _shown(line))
        splits = np.split(np.vstack(rows), np.cumsum(sizes[:2]))
        rows.clear()  # the problem contains copies, and files may be large
        outputs = [split[:, n_inputs:] for split in splits]
        return Problem.of_splits(
            [split[:, :n_inputs] for split in splits],
            [_class_indices(split) for split in outputs] if are_classes else outputs,
            name=self._path.stem,
            task="classification" if are_classes else "approximation",
            n_classes=max(2, n_outputs) if are_classes else None,
            sha256=self._sha256.hexdigest(),
        )

    def _error(self, expected: str, got: str, line: int | None = None) -> DataError:
        return DataError(f"{self._path.name}, line {line or self.line}: expected {expected}, got {got}. {self._remedy}")

    def _next(self) -> bytes:
        """Return the next line with its line feed, b"" at the end of the file."""
        line = self._file.readline()
        self.line += 1
        self._sha256.update(line)
        return line

    def _read_header(self) -> tuple[int, int, int, bool, list[int]]:
        """Return the numbers of bool inputs, inputs and outputs, whether outputs are bool, and split sizes."""
        counts = []
        for expected in _HEADER_KEYS:
            line = self._next().rstrip()
            key, _, count = line.partition(b"=")
            if key != expected.encode() or not _COUNT.fullmatch(count):
                raise self._error(f"'{expected}=<count>', the count of at most 9 digits", _shown(line))
            counts.append(int(count))
        bool_in, real_in, bool_out, real_out, *sizes = counts
        if bool_in + real_in == 0:
            raise self._error("at least one input (bool_in + real_in)", "0", line=2)
        if bool_out + real_out == 0:
            raise self._error("at least one output (bool_out + real_out)", "0", line=4)
        if bool_out and real_out:
            got = f"bool_out={bool_out} and real_out={real_out}"
            raise self._error("outputs of one kind, bool for classes or real for numbers", got, line=4)
        if sizes[0] == 0:
            raise self._error("at least one training example", "0", line=5)
        return bool_in, bool_in + real_in, bool_out + real_out, bool_out > 0, sizes

    def _read_row(
        self, n_inputs: int, n_outputs: int, sizes: list[int], *, is_last: bool
    ) -> tuple[FloatArray, list[bytes]]:
        """Return the values of the next line, and the texts of the values."""
        line = self._next()
        if not line:
            expected = f"{sum(sizes)} examples ({' + '.join(map(str, sizes))})"
            raise self._error(expected, f"the end of the file after {self.line - len(_HEADER_KEYS) - 1}")
        tokens = line.split()
        if len(tokens) != n_inputs + n_outputs:
            expected = f"{n_inputs + n_outputs} values ({n_inputs} inputs + {n_outputs} outputs)"
            raise self._error(expected, str(len(tokens)))
        if is_last and not line.endswith(b"\n"):
            raise self._error("a line feed after the last value", "the end of the file")
        return np.fromiter(map(_number, tokens), np.float64, len(tokens)), tokens

    def _check_row(self, row: FloatArray, tokens: list[bytes], is_bool: NDArray[np.bool_]) -> None:
        """Raise DataError for a value that its column does not admit."""
        is_right = np.where(is_bool, (row == 0) | (row == 1), np.abs(row) <= _REAL_LIMIT)  # NaN compares as False
        if is_right.all():
            return
        place = int(is_right.argmin())
        expected = "0 or 1 (declared bool)" if is_bool[place] else f"a number within [-{_REAL_LIMIT}, {_REAL_LIMIT}]"
        if not math.isfinite(row[place]):
            expected = "a finite decimal number"
        raise self._error(f"as value {place + 1} {expected}", _shown(tokens[place]))


def _class_indices(outputs: FloatArray) -> NDArray[np.int64]:
    return outputs.argmax(axis=1) if outputs.shape[1] > 1 else outputs[:, 0].astype(np.int64)


@lru_cache(maxsize=2**10)  # files repeat few texts
def _number(text: bytes) -> float:
    """Return a decimal number, or NaN for other texts; float() alone would accept inf and 1_000."""
    return float(text) if _DECIMAL.fullmatch(text) else math.nan


def _shown(text: bytes) -> str:
    shown = printable(text.strip().decode("ascii", errors="backslashreplace"))
    if not shown:
        return "an empty line"
    return repr(shown[:40] + "..." if len(shown) > 40 else shown).replace("\\\\", "\\")
