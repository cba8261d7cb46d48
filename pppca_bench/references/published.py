"""The published numbers, as printed on the slides and in the Proben1 report."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pppca_bench.errors import DataError

PIVOT_HIDDEN: dict[str, tuple[int, ...]] = {
    "cancer": (4, 2),
    "card": (32,),
    "diabetes": (32,),
    "glass": (16, 8),
    "heart": (32,),
    "horse": (16, 8),
    "soybean": (16, 8),
    "thyroid": (16, 8),
}
"""Hidden nodes of the pivot architectures (Proben1 report, table 7).

Choice: permutations 2 and 3 of a problem take the architecture of permutation 1, the only one that the slides use.
"""


def pivot_hidden(problem: str) -> tuple[int, ...] | None:
    """Return the hidden nodes of a problem's pivot architecture, or None where the report has none."""
    return PIVOT_HIDDEN.get(re.sub(r"[123]$", "", problem))


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """Hold one published number and where it stands.

    Attributes
    ----------
    table, row, column : str
        Place in the tables: T0 to T7 (slides), P1 to P3 (report).
    quantity : str
        ``error_percent``, ``dimensionality``, ``speedup``, ``time_ms``, ``total_epochs``, ``relevant_epochs``, or one
        of these with ``_sd`` for a printed standard deviation; or a size: ``features``, ``classes``, ``train``,
        ``validation``, ``test``.
    text : str
        The number as printed, so that its precision is known.
    """

    table: str
    row: str
    column: str
    quantity: str
    text: str

    @property
    def value(self) -> float:
        """Return the number."""
        return float(self.text)

    @property
    def decimals(self) -> int:
        """Return the printed decimals."""
        return len(self.text.partition(".")[2])

    @property
    def half_unit(self) -> float:
        """Return half a unit of the last printed digit: what rounding may have moved the number by."""
        return 0.5 * 10.0**-self.decimals


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """Hold a published table's title and where it was printed."""

    table: str
    title: str
    place: str


@cache
def published_tables() -> dict[str, PublishedTable]:
    """Return the published tables by identifier, in the order of the slides."""
    return {row["table"]: PublishedTable(**row) for row in _rows("published_places.csv")}


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return every published number, in the order of print."""
    return tuple(
        PublishedCell(row["table"], row["row"], row["column"], row["quantity"], row["value"])
        for row in _rows("published.csv")
    )


def published(table: str, row: str, column: str, quantity: str) -> PublishedCell | None:
    """Return one published number, or None where the source prints none ("N/A", or a method of ours)."""
    return _index().get((table, row, column, quantity))


@cache
def _index() -> dict[tuple[str, str, str, str], PublishedCell]:
    cells = published_cells()
    index = {(cell.table, cell.row, cell.column, cell.quantity): cell for cell in cells}
    if len(index) != len(cells):
        raise DataError("published.csv: expected each number once, got a repeated one. Reinstall pppca-bench.")
    return index


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (files("pppca_bench.references") / name).open(encoding="utf-8") as file:
        yield from csv.DictReader(file)
