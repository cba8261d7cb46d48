"""Reader of CSV files: texts and line numbers; nothing is guessed, and a likely mistake is refused with its remedy."""

from __future__ import annotations

import csv
import io
import itertools
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from lzma import LZMAError
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from pppca_bench.errors import OwnDataError
from pppca_bench.problems.declaration import read_key

if TYPE_CHECKING:
    import pandas as pd

    Record = tuple[int, list[str]]
    """Number of the last line, and fields."""

_SEPARATORS = ",;\t|"
_N_AT_ONCE = 100_000
"""Number of records to turn into columns at once, since lists of texts need far more memory."""


def read_csv(
    path: str | Path,
    *,
    sep: str = "",
    header: Any = "infer",
    names: Sequence[str] = (),
    index_col: Any = False,
    encoding: str = "utf-8",
    compression: str | None = "infer",
    **lines: Any,
) -> pd.DataFrame:
    """Read the texts of a CSV file; the index has the numbers of the lines.

    pandas fills missing fields with gaps, and numbers no lines. The meaning of texts is left to `columns`.

    The keys, of which ``lines`` are ``comment``, ``skiprows``, ``quotechar`` and ``skip_blank_lines``, are those of
    `pandas.read_csv`. By default fields are separated by commas (in .tsv files by tabs), and the first line has the
    names unless these are given. The column ``index_col`` is left out. Raises OwnDataError if the file cannot be read,
    lines have other numbers of fields than the header, or another separator, encoding or header is likely; the message
    has the key to write.
    """
    sep = sep or ("\t" if ".tsv" in Path(path).suffixes else ",")
    for key, value in {"header": header, "index_col": index_col}.items():
        if isinstance(value, list | tuple):
            raise OwnDataError(
                f"{path}: expected a single {key}, got {list(value)}. Name one of them."
            )
    # False is no header, and 0 the first line.
    is_inferred, has_row_names = header == "infer" and not names, type(index_col) in (int, str)
    n_header = header + 1 if type(header) is int else int(is_inferred)
    text = text_of(path, encoding, compression)
    records = _records(path, text, sep, **lines)
    header_records = list(itertools.islice(records, n_header))
    counts, frame = _frame_of(records)
    first = [f"x{index + 1}" for index in range(frame.shape[1])]
    if header_records:
        first = header_records[-1][1]
    if not first:
        raise OwnDataError(
            f"{path}: expected a first line with the columns' names, got an empty file. Is it the right file?"
        )
    if not (lines.get("skiprows") or lines.get("comment")):
        is_single = {*counts, *(len(fields) for _, fields in header_records)} == {1}
        _check_first_line(path, text.partition("\n")[0].strip(), sep, is_single=is_single)
    columns = list(names) or first
    _check_fields(path, counts, len(columns), n_header, has_row_names=has_row_names)
    if counts.max() > len(columns):
        columns = ["", *columns]  # row names, a column without a name
    frame = frame.reindex(columns=range(len(columns))).set_axis(counts.index, axis=0)
    if has_row_names:
        index = columns.index(index_col) if index_col in columns else index_col
        if index not in frame.columns:
            raise OwnDataError(
                f"{path}: expected a column {index_col!r} for index_col, got none. Correct the name."
            )
        frame = frame.drop(columns=index)
        columns.pop(index)
    if is_inferred:
        _check_header(path, columns, frame)
    return frame.set_axis(columns, axis=1)


def _frame_of(records: Iterator[Record]) -> tuple[pd.Series[int], pd.DataFrame]:
    """Return the numbers of fields by the numbers of lines, and a data frame of as many fields as the first record."""
    import pandas as pd

    numbers, counts, parts = list[int](), list[int](), [pd.DataFrame()]
    while chunk := list(itertools.islice(records, _N_AT_ONCE)):
        numbers += [line for line, _ in chunk]
        counts += [len(fields) for _, fields in chunk]
        rows = [fields for _, fields in chunk if len(fields) == counts[0]]
        parts.append(pd.DataFrame(rows, columns=range(counts[0]), dtype=str))
    index = pd.Index(numbers, name="line")
    return pd.Series(counts, index, dtype=int), pd.concat(parts[1:] or parts)


def text_of(path: str | Path, encoding: str = "utf-8", compression: Any = "infer") -> str:
    """Return the text of a file that may be compressed."""
    from pandas.io.common import get_handle  # type: ignore[import-not-found]

    is_utf8 = encoding.lower() in ("utf-8", "utf8")
    try:
        with get_handle(
            path, "r", encoding="utf-8-sig" if is_utf8 else encoding, compression=compression
        ) as opened:
            text: str = opened.handle.read()
    except UnicodeDecodeError as error:
        content = error.object
        other = (
            "utf-16"
            if content[:2] in (b"\xff\xfe", b"\xfe\xff")
            else "cp1252"
            if is_utf8
            else "utf-8"
        )
        line, byte = content.count(b"\n", 0, error.start) + 1, content[error.start]
        raise OwnDataError(
            f"{path}, line {line}: expected {encoding} text, got the byte 0x{byte:02x}. Set {read_key(encoding=other)},"
            " or the encoding of the program that wrote it."
        ) from None
    except (
        OSError,
        LookupError,
        ValueError,
        EOFError,
        ImportError,
        zlib.error,
        LZMAError,
        BadZipFile,
    ) as error:
        got = getattr(error, "strerror", None) or first_line(error)
        raise OwnDataError(
            f"{path}: expected a readable file, got {got}. Check the path, the encoding and the compression."
        ) from None
    if "\0" in text and text.startswith("PK"):
        raise OwnDataError(
            f"{path}: expected text, got a workbook or an archive. Export the table as CSV."
        )
    if "\0" in text:
        raise OwnDataError(
            f"{path}: expected {encoding} text, got NUL characters. Set {read_key(encoding='utf-16-le')}, or the"
            " encoding of the program that wrote it."
        )
    return text


def _records(
    path: str | Path,
    text: str,
    sep: str,
    *,
    comment: str = "",
    skiprows: int | Sequence[int] = 0,
    quotechar: str = '"',
    skip_blank_lines: bool = True,
) -> Iterator[Record]:
    """Yield the records of a text."""
    quote = re.escape(quotechar)
    try:
        separator = re.compile(re.escape(sep) if len(sep) == 1 else sep)
    except re.error as error:
        expected = "a character or a regular expression as sep"
        raise OwnDataError(
            f"{path}: expected {expected}, got {sep!r}: {error}. Correct it."
        ) from None
    if skiprows:
        skipped = range(skiprows) if isinstance(skiprows, int) else skiprows
        numbered = enumerate(io.StringIO(text, newline=""))
        text = "".join(
            re.sub(r"[^\r\n]", "", line) if index in skipped else line for index, line in numbered
        )
    if comment:
        quoted = rf"(?:^|[\r\n]|{separator.pattern}) *{quote}[^{quote}]*{quote}"
        text = re.sub(rf"({quoted})|{re.escape(comment)}[^\r\n]*", r"\1", text)
    lines = io.StringIO(text, newline="")
    if len(sep) > 1:
        yield from _records_by_expression(path, lines, separator, quotechar)
        return
    line = ""

    def followed() -> Iterator[str]:
        nonlocal line
        for line in lines:  # noqa: UP028 the last line is needed below
            yield line

    reader = csv.reader(followed(), delimiter=sep, quotechar=quotechar, skipinitialspace=True)
    try:
        for fields in reader:
            is_blank = not fields or (fields == [""] and line.isspace())
            if not (is_blank and skip_blank_lines):
                yield reader.line_num, fields
    except csv.Error as error:
        raise OwnDataError(
            f"{path}, line {reader.line_num}: expected CSV, got {error}. Correct the line."
        ) from None


def _records_by_expression(
    path: str | Path, lines: Iterable[str], separator: re.Pattern[str], quotechar: str
) -> Iterator[Record]:
    """Yield the records of lines whose separator is a regular expression.

    As in pandas, quotation marks around a field hold it together among spaces, but not among other expressions.
    """
    quote = re.escape(quotechar)
    field = re.compile(rf"{quote}((?:[^{quote}]|{quote}{quote})*){quote}(\S*)|(\S+)")
    for number, line in enumerate(map(str.strip, lines), 1):
        if line and separator.pattern != r"\s+":
            yield number, separator.split(line)
        elif line:
            parts = field.findall(line)
            if any(plain.startswith(quotechar) for *_, plain in parts):
                got = "an open quotation mark"
                raise OwnDataError(
                    f"{path}, line {number}: expected CSV, got {got}. Correct the line."
                )
            yield (
                number,
                [
                    inner.replace(2 * quotechar, quotechar) + rest + plain
                    for inner, rest, plain in parts
                ],
            )


def _check_first_line(path: str | Path, line: str, sep: str, *, is_single: bool) -> None:
    """Raise OwnDataError for a first line that names its separator, is a comment, or has another separator."""
    expected, best = f"columns separated by {sep!r}", max(_SEPARATORS, key=line.count)
    if match := re.fullmatch("sep=(.)", line):
        expected = "a first line with the columns' names"
        advice = read_key(sep=match[1], skiprows=1)
    elif line.startswith(("#", "%")):
        expected, advice = "a first line with the columns' names", read_key(comment=line[0])
    elif sep in _SEPARATORS and line.count(best) > line.count(sep):
        advice = read_key(sep=best)
    elif is_single and len(line.split()) > 1:
        advice = read_key(sep=r"\s+")
    else:
        return
    raise OwnDataError(f"{path}, line 1: expected {expected}, got {line[:60]!r}. Set {advice}.")


def _check_fields(
    path: str | Path, counts: pd.Series[int], n_names: int, n_before: int, *, has_row_names: bool
) -> None:
    """Raise OwnDataError for rows whose number of fields differs from the number of names."""
    if (counts == n_names).all() or (has_row_names and (counts == n_names + 1).all()):
        return
    wrong = counts[counts != n_names]
    if counts.nunique() == 1:
        got = f"{counts.iloc[0]} in each of the {len(counts)} rows"
        remedy = f"If the names are in the next line, set {read_key(header=n_before)}."
        if counts.iloc[0] == n_names + 1:
            remedy = f"If the first field is the name of the row, set {read_key(index_col=0)}."
    else:
        shown = ", ".join(f"{n} in line {line}" for line, n in wrong.iloc[:3].items())
        shown += " …" if len(wrong) > 3 else ""
        got = f"another number in {len(wrong)} of {len(counts)} rows: {shown}"
        remedy = "Correct the lines."
    raise OwnDataError(f"{path}: expected {n_names} fields, as in the header, got {got}. {remedy}")


def _check_header(path: str | Path, names: Sequence[str], frame: pd.DataFrame) -> None:
    """Raise OwnDataError if the names are numbers where the columns have numbers: the first line is a row of data."""
    import pandas as pd

    if frame.empty:
        return
    has_numbers = frame.apply(pd.to_numeric, errors="coerce").notna().all().to_numpy()
    numbers = pd.to_numeric(pd.Series(names, dtype=object)[has_numbers], errors="coerce")
    if has_numbers.any() and numbers.notna().all():
        raise OwnDataError(
            f"{path}, line 1: expected the columns' names, got values as in other rows, {', '.join(names[:3])}. Set"
            f" {read_key(header=False)} to name the columns x1, x2, …, or {read_key(header=0)} if they are names."
        )


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, without a full stop."""
    return str(error).strip().partition("\n")[0].rstrip(".")
