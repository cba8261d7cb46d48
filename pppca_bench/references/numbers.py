"""Published numbers as printed, their file ``numbers.csv``, and the rules of the verdicts."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from annotated_types import Ge
from pydantic import model_validator

from pppca_bench.errors import OwnDataError, nearest
from pppca_bench.references.layout import Layout, NotNegative, PartOfTables, are_named
from pppca_bench.references.selection import Texts
from pppca_bench.yaml_files.section import broken_rule

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


class VerdictRule(PartOfTables):
    """Rule of the verdicts on some quantities: what is compared, the margin of equivalence, and the published repeats.

    ``means`` are compared by their difference, ``ratios`` (of times and counts) by the logarithm, ``correlations`` by
    Fisher's z, with a margin in standard deviations of z for normal values, 1. ``values`` may differ by the margin. A
    margin of a ``factor`` of 1.2 reaches from the number divided by 1.2 to the number times 1.2.
    """

    quantities: Texts = ()  # empty for all
    compare: Literal["means", "ratios", "correlations", "values"] = "means"
    margin: NotNegative
    unit: Literal["sd", "points", "percent", "factor"] = "points"
    runs: Annotated[int, Ge(1)] | None = (
        None  # behind a published mean; None if it has no sampling error
    )

    @model_validator(mode="after")
    def _check_unit(self) -> Self:
        is_ratio = self.compare == "ratios"
        if self.unit == "percent" and is_ratio:
            raise broken_rule(
                "expected a factor, such as 1.5, for a margin of ratios, got percent", "unit"
            )
        if self.unit == "factor" and not (is_ratio and self.margin >= 1.0):
            raise broken_rule(
                f"expected compare: ratios and a margin of at least 1 for a factor, got"
                f" compare: {self.compare} and {self.margin:g}",
                "unit",
            )
        return self

    def applies(self, table: str, row: str, quantity: str) -> bool:
        """Return whether the rule is for a quantity in a row of a table."""
        return are_named((self.tables, self.rows, self.quantities), (table, row, quantity))


Published = Mapping[tuple[str, str, str], Mapping[str, Number]]
"""Numbers by cell (table, row, column) and quantity."""


def read_numbers(path: Path, layouts: Iterable[Layout]) -> Published:
    """Read published numbers of the tables with these layouts from a CSV file with the columns `COLUMNS`.

    Raises OwnDataError with file and line if the file is missing or malformed.
    """
    tables = {layout.id: layout for layout in layouts}
    cells = {
        name: {
            row.key: {
                column.key: (*layout.quantities(row, column), *layout.also)
                for column in layout.columns
            }
            for row in layout.rows
        }
        for name, layout in tables.items()
    }
    numbers = dict[tuple[str, str, str], dict[str, Number]]()
    for where, location, value, sd in _rows(path):
        table, row, column, quantity = location
        known: Any = cells
        for name, key in zip(COLUMNS, location, strict=False):
            if key not in known:
                hint = nearest(key, known) or f": one of {'; '.join(known)}"
                raise OwnDataError(
                    f"{where}: expected a {name} of reference.yaml, got {key!r}{hint}."
                )
            known = known[key] if isinstance(known, Mapping) else ()
        for name, text, pattern, rule in (("value", value, *_VALUE), ("sd", sd, *_SD)):
            if not re.fullmatch(pattern, text):
                raise OwnDataError(f"{where}: expected {rule} as {name}, got {text!r}.")
        cell = numbers.setdefault((table, row, column), {})
        if quantity in cell:
            raise OwnDataError(
                f"{where}: expected each number once, got {', '.join(location)} again."
            )
        cell[quantity] = Number(value, float(sd) if sd else None)
    return numbers


def _rows(path: Path) -> Iterator[tuple[str, list[str], str, str]]:
    """Yield the file and line, the location, the value and the standard deviation of each row that is not empty."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            if (header := tuple(next(reader, ()))) != COLUMNS:
                got = ",".join(header) or "nothing"
                raise OwnDataError(
                    f"{path}, line 1: expected the columns {','.join(COLUMNS)}, got {got}."
                )
            for row in filter(None, reader):
                where = f"{path}, line {reader.line_num}"
                if len(row) != len(COLUMNS):
                    raise OwnDataError(f"{where}: expected {len(COLUMNS)} values, got {len(row)}.")
                yield where, row[:4], row[4], row[5]
    except OSError as error:
        raise OwnDataError(f"{path}: cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError as error:
        raise OwnDataError(
            f"{path}: expected UTF-8 text, got byte 0x{error.object[error.start]:02x}."
        ) from None
    except csv.Error as error:
        raise OwnDataError(
            f"{path}, line {reader.line_num}: expected CSV, got something else ({error})."
        ) from None
