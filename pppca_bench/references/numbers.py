"""Published numbers as printed, their file ``numbers.csv``, and the tolerances of reproduction."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import model_validator

from pppca_bench.documents import Section, raise_errors
from pppca_bench.errors import OwnDataError, nearest
from pppca_bench.references.layout import Layout, NotNegative

COLUMNS = ("table", "row", "column", "quantity", "value", "sd")

_PRINTED = r"[0-9]{1,15}(\.[0-9]{1,15})?"
_VALUE = f"-?{_PRINTED}", "a number such as 1.44"
_SD = f"({_PRINTED})?", "a number such as 0.18, or nothing,"


class Number(NamedTuple):
    """A published number."""

    text: str  # as printed, so that its precision is known
    sd: float | None = None  # standard deviation, where it was printed

    @property
    def value(self) -> float:
        """Return the number."""
        return float(self.text)

    @property
    def half_unit(self) -> float:
        """Return half a unit of the last printed digit: the largest error of rounding."""
        return 0.5 * 10.0 ** -len(self.text.partition(".")[2])


class Tolerance(Section):
    """Bounds of the difference from a published number: in the number's unit, in percent, or in printed sds."""

    within: NotNegative  # largest difference that counts as reproduced
    close: NotNegative
    unit: Literal["points", "percent", "sd"]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.close < self.within:
            raise_errors([(("close",), f"expected at least within, {self.within:g}, got {self.close:g}")])
        return self

    def bounds(self, number: Number) -> tuple[float, float]:
        """Return the bounds ``within`` and ``close`` for a number, in the number's own unit.

        Choice: a standard deviation of 0.00 counts as half its last digit, which rounding may have cut off.
        """
        spread = 0.0 if number.sd is None else number.sd or number.half_unit
        scale = {"points": 1.0, "percent": abs(number.value) / 100.0, "sd": spread}[self.unit]
        return self.within * scale, self.close * scale

    def is_informative(self, number: Number) -> bool:
        """Return whether a comparison is informative: not if a sd is needed that is unknown or exceeds the number."""
        return self.unit != "sd" or (number.sd is not None and number.sd <= abs(number.value))


Published = Mapping[tuple[str, str, str], Mapping[str, Number]]
"""Numbers by cell (table, row, column) and quantity."""


def read_numbers(path: Path, layouts: Iterable[Layout]) -> Published:
    """Read published numbers of the tables with these layouts from a CSV file with the columns `COLUMNS`.

    Raises
    ------
    OwnDataError
        The file is missing or malformed; the message names file and line.
    """
    tables = {layout.id: layout for layout in layouts}
    cells = {
        name: {
            row.key: {column.key: (*layout.quantities(row, column), *layout.also) for column in layout.columns}
            for row in layout.rows
        }
        for name, layout in tables.items()
    }
    numbers = dict[tuple[str, str, str], dict[str, Number]]()
    for where, place, value, sd in _rows(path):
        table, row, column, quantity = place
        if table not in tables or quantity not in tables[table].notes:  # a note belongs to no single cell
            _check_place(place, cells, where)
        for name, text, pattern, rule in (("value", value, *_VALUE), ("sd", sd, *_SD)):
            if not re.fullmatch(pattern, text):
                raise OwnDataError(f"{where}: expected {rule} as {name}, got {text!r}.")
        cell = numbers.setdefault((table, row, column), {})
        if quantity in cell:
            raise OwnDataError(f"{where}: expected each number once, got {', '.join(place)} again.")
        cell[quantity] = Number(value, float(sd) if sd else None)
    return numbers


def _check_place(place: Sequence[str], known: Any, where: str) -> None:
    """Raise OwnDataError unless reference.yaml has the table, row, column and quantity of a number."""
    for name, key in zip(COLUMNS, place, strict=False):
        if key not in known:
            hint = nearest(key, known) or f": one of {'; '.join(known)}"
            raise OwnDataError(f"{where}: expected a {name} of reference.yaml, got {key!r}{hint}.")
        known = known[key] if isinstance(known, Mapping) else ()


def _rows(path: Path) -> Iterator[tuple[str, list[str], str, str]]:
    """Yield the file and line, the place, the value and the standard deviation of each row that is not empty."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            if (header := tuple(next(reader, ()))) != COLUMNS:
                got = ",".join(header) or "nothing"
                raise OwnDataError(f"{path}, line 1: expected the columns {','.join(COLUMNS)}, got {got}.")
            for row in filter(None, reader):
                where = f"{path}, line {reader.line_num}"
                if len(row) != len(COLUMNS):
                    raise OwnDataError(f"{where}: expected {len(COLUMNS)} values, got {len(row)}.")
                yield where, row[:4], row[4], row[5]
    except OSError as error:
        raise OwnDataError(f"{path}: cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError as error:
        raise OwnDataError(f"{path}: expected UTF-8 text, got byte 0x{error.object[error.start]:02x}.") from None
    except csv.Error as error:
        raise OwnDataError(f"{path}, line {reader.line_num}: expected CSV, got something else ({error}).") from None
