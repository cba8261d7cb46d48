"""The reader of Proben1's .dt files: every value is checked, nothing is guessed or repaired."""

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from pppca_bench.errors import DataError
from pppca_bench.problems.problem import FloatArray, Problem, Targets
from pppca_bench.problems.registry import Task, known_problems

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
_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_REAL_LIMIT = 1.1


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


def read_dt(path: str | Path, *, remedy: str | None = None) -> Problem:
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
    remedy : str, optional
        Last sentence of an error message. By default the fetch command for names of the registry, else
        a request to correct the file.

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
    place = _Place(path.name, _default_remedy(path) if remedy is None else remedy)
    raw = _read_bytes(path, place)
    lines = raw.split(b"\n")
    header = _read_header(lines, place)
    values = _read_values(lines[len(_HEADER_KEYS) :], header, place)
    return _to_problem(path.stem, values, header, hashlib.sha256(raw).hexdigest())


def _default_remedy(path: Path) -> str:
    if path.stem in known_problems("proben1"):
        return f"The file is damaged: run `pppca data fetch --force {path.stem}`."
    return "Correct the file."


def _read_bytes(path: Path, place: _Place) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise place.error(None, "a readable file", f"{cause} ({path})") from error


def _read_header(lines: Sequence[bytes], place: _Place) -> _Header:
    counts: list[int] = []
    for number, key in enumerate(_HEADER_KEYS, start=1):
        line = lines[number - 1].rstrip() if number <= len(lines) else b""
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


def _read_values(lines: Sequence[bytes], header: _Header, place: _Place) -> FloatArray:
    rows = _read_rows(lines, header, place)
    table = {token: _to_float(token) for token in set(chain.from_iterable(rows))}
    # One look-up per value, not one conversion: the files repeat few distinct tokens.
    flat = np.fromiter(map(table.__getitem__, chain.from_iterable(rows)), np.float64)
    values = flat.reshape(header.n_examples, header.n_values)
    _check_values(values, rows, header, place)
    return values


def _read_rows(lines: Sequence[bytes], header: _Header, place: _Place) -> list[list[bytes]]:
    has_line_end = lines[-1:] == [b""]
    examples = lines[:-1] if has_line_end else lines
    n = header.n_examples
    rows = [line.split() for line in examples[:n]]
    for line_number, row in enumerate(rows, start=_FIRST_EXAMPLE_LINE):
        if len(row) != header.n_values:
            sizes = f"{header.n_features} inputs + {header.n_outputs} outputs"
            raise place.error(line_number, f"{header.n_values} values ({sizes})", str(len(row)))
    if len(rows) < n:
        sizes = f"{header.training_examples} + {header.validation_examples} + {header.test_examples}"
        got = f"the end of the file after {len(rows)}"
        raise place.error(_FIRST_EXAMPLE_LINE + len(rows), f"{n} examples ({sizes})", got)
    if len(examples) > n:
        expected = f"the end of the file after {n} examples"
        raise place.error(_FIRST_EXAMPLE_LINE + n, expected, _shown(examples[n]))
    if not has_line_end:
        got = "the end of the file"
        raise place.error(_FIRST_EXAMPLE_LINE + n - 1, "a line feed after the last value", got)
    return rows


def _to_float(token: bytes) -> float:
    # float() alone would also take nan, inf and 1_000.
    return float(token) if _DECIMAL.fullmatch(token) else math.nan


def _check_values(values: FloatArray, rows: Sequence[Sequence[bytes]], header: _Header, place: _Place) -> None:
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
            raise place.error(row + _FIRST_EXAMPLE_LINE, where, _shown(rows[row][column]))
    if is_class:
        _check_one_of_n(values[:, header.n_features :], place)


def _check_one_of_n(outputs: FloatArray, place: _Place) -> None:
    n_ones = outputs.sum(axis=1)
    wrong = np.flatnonzero(n_ones != 1)
    if wrong.size:
        expected = f"exactly one 1 among the {outputs.shape[1]} outputs"
        raise place.error(wrong[0] + _FIRST_EXAMPLE_LINE, expected, str(int(n_ones[wrong[0]])))


def _to_problem(name: str, values: FloatArray, header: _Header, sha256: str) -> Problem:
    ends = np.cumsum([header.training_examples, header.validation_examples])
    splits = np.split(values, ends)
    X = [split[:, : header.n_features] for split in splits]
    y = [_to_targets(split[:, header.n_features :], header) for split in splits]
    return Problem(
        name=name,
        task=header.task,
        X_train=X[0],
        y_train=y[0],
        X_validation=X[1],
        y_validation=y[1],
        X_test=X[2],
        y_test=y[2],
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
