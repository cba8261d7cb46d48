"""Published tables, as data: a folder with ``reference.yaml`` (what each table looks like and which runs fill its
cells) and ``numbers.csv`` (what was printed).
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import yaml

from pppca_bench.errors import DataError
from pppca_bench.runs import Selector

PROBEN1_REPORT, SLIDES = "proben1_report", "slides"
Unit = Literal["points", "percent", "sd"]
_OWN = ("problem", "method")


@dataclass(frozen=True, slots=True)
class Number:
    """Hold one published number.

    Attributes
    ----------
    text : str
        The number as printed, so that its precision is known.
    sd : float or None
        Standard deviation, where one was printed.
    """

    text: str
    sd: float | None = None

    @property
    def value(self) -> float:
        """Return the number."""
        return float(self.text)

    @property
    def half_unit(self) -> float:
        """Return half a unit of the last printed digit: what rounding may have moved the number by."""
        return 0.5 * 10.0 ** -len(self.text.partition(".")[2])


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Bound the difference from a published number.

    Attributes
    ----------
    within, close : float
        Largest difference that counts as reproduced, and as close.
    unit : {"points", "percent", "sd"}
        The number's own unit, percent of the number, or its printed standard deviation.
    least : float
        Bound below which ``within`` never falls, in the number's own unit; twice that for ``close``.
    """

    within: float
    close: float
    unit: Unit
    least: float = 0.0

    def bounds(self, number: Number) -> tuple[float, float]:
        """Return both bounds for one number, in its own unit; 0 where no standard deviation was printed."""
        scale = {"points": 1.0, "percent": abs(number.value) / 100.0, "sd": number.sd or 0.0}[self.unit]
        return max(self.within * scale, self.least), max(self.close * scale, 2.0 * self.least)


@dataclass(frozen=True, slots=True)
class Line:
    """Hold a row or a column.

    Attributes
    ----------
    key : str
        As in the published numbers.
    label : str
        As it is printed; ``{n_features}`` stands for the problem's number of features.
    runs : mapping of str to value
        What the runs of its cells have in common.
    shows : tuple of str
        Quantities of its cells; empty for the table's.
    form : str
        How they are printed; "" for the table's form.
    """

    key: str
    label: str
    runs: Mapping[str, Any]
    shows: tuple[str, ...] = ()
    form: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """Say how a table looks and which runs fill its cells.

    Attributes
    ----------
    id, title, place : str
        Identifier, title, and where it was printed.
    row_header : str
        Header of the first column.
    rows, columns : tuple of Line
        In the order of print.
    shows : tuple of str
        Quantities of a cell, the one that counts first.
    also : tuple of str
        Quantities that stand in grids of their own below.
    notes : tuple of str
        Quantities of which the median over the cells stands below.
    form : str
        How the quantities of a cell are printed, such as ``"{} ({})"``.
    series : str
        Name of its points in the figure that holds published numbers against ours; "" for none.
    runs : mapping of str to value
        What all runs have in common.
    overrides : mapping of (str, str) to mapping
        What single cells ask for instead.
    """

    id: str
    title: str
    place: str
    row_header: str
    rows: tuple[Line, ...]
    columns: tuple[Line, ...]
    shows: tuple[str, ...]
    also: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    form: str = "{} ({})"
    series: str = ""
    runs: Mapping[str, Any] = field(default_factory=dict)
    overrides: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)

    def selector(self, row: Line, column: Line) -> Selector | None:
        """Return which runs fill a cell; None where no run can."""
        asked = {**self.runs, **row.runs, **column.runs, **self.overrides.get((row.key, column.key), {})}
        if "method" not in asked:
            return None
        settings = tuple(sorted((name, value) for name, value in asked.items() if name not in _OWN))
        return Selector(asked["problem"], asked["method"], settings)

    def problem(self, row: Line, column: Line) -> str:
        """Return the problem of a cell; "" where it names none."""
        return str({**self.runs, **row.runs, **column.runs}.get("problem", ""))

    def quantities(self, row: Line, column: Line) -> tuple[str, ...]:
        """Return what a cell shows."""
        return column.shows or row.shows or self.shows


@dataclass(frozen=True, slots=True)
class Scored:
    """Name published numbers that are scored together.

    Attributes
    ----------
    name : str
        What is scored.
    tables : tuple of str
        Identifiers of tables.
    quantity : str
        The published quantity.
    target : float or None
        What is aimed at.
    rows, columns : tuple of str
        Keys of rows and columns; empty for all.
    ours : str
        The quantity of ours, where it has another name than the published one.
    """

    name: str
    tables: tuple[str, ...]
    quantity: str
    target: float | None = None
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    ours: str = ""


@dataclass(frozen=True)
class Reference:
    """Hold a source's published tables.

    Attributes
    ----------
    name, title, citation : str
    configs : tuple of str
        Names of the configs whose runs count; empty for all.
    layouts : tuple of Layout
        In the order of print.
    tolerances : mapping of str to Tolerance
        Rule of verdict, by quantity; any other quantity has to agree exactly.
    numbers : mapping of (table, row, column) to mapping of str to Number
        By cell and quantity.
    scored : tuple of Scored
        Groups of numbers whose mean distance is a score.
    figures : tuple of mapping
        What figures show; see `reporting.figure_data`.
    """

    name: str
    title: str
    citation: str
    configs: tuple[str, ...]
    layouts: tuple[Layout, ...]
    tolerances: Mapping[str, Tolerance]
    numbers: Mapping[tuple[str, str, str], Mapping[str, Number]]
    scored: tuple[Scored, ...] = ()
    figures: tuple[Mapping[str, Any], ...] = ()

    def published(self, table: str, row: str, column: str) -> dict[str, Number]:
        """Return the published numbers of a cell, by quantity."""
        return dict(self.numbers.get((table, row, column), {}))


@cache
def own_references() -> tuple[Reference, ...]:
    """Return the references that come with the package: the slides, then the Proben1 report."""
    folder = Path(str(files(__package__)))
    return tuple(read_reference(folder / name) for name in (SLIDES, PROBEN1_REPORT))


def read_reference(folder: Path) -> Reference:
    """Read a reference from its folder.

    Raises
    ------
    DataError
        A file is missing or malformed; the message says where.
    """
    path = folder / "reference.yaml"
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        layouts = tuple(_layout(table) for table in document["tables"])
        tolerances = {name: Tolerance(**bounds) for name, bounds in document["verdicts"].items()}
        scored = tuple(Scored(**_frozen(group)) for group in document.get("scores", ()))
        configs, figures = tuple(document.get("configs", ())), tuple(document.get("figures", ()))
        words = document["title"], document["citation"]
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: expected a reference, got {error!r}.") from None
    numbers = _numbers(folder / "numbers.csv")
    return Reference(folder.name, *words, configs, layouts, tolerances, numbers, scored, figures)


def _layout(table: Mapping[str, Any]) -> Layout:
    return Layout(
        table["id"],
        table["title"],
        table["place"],
        table["row_header"],
        tuple(_lines(table["rows"])),
        tuple(_lines(table["columns"])),
        tuple(table.get("shows", ())),
        tuple(table.get("also", ())),
        tuple(table.get("notes", ())),
        table.get("form", "{} ({})"),
        table.get("series", ""),
        _frozen(table.get("runs", {})),
        {(cell["row"], cell["column"]): _frozen(cell["runs"]) for cell in table.get("cells", ())},
    )


def _lines(axis: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    """Yield the lines of an axis: listed one by one, or the values of one setting."""
    if not isinstance(axis, Mapping):
        for line in axis:
            words = line["key"], line.get("label", line["key"])
            yield Line(*words, _frozen(line.get("runs", {})), tuple(line.get("shows", ())), line.get("form", ""))
        return
    (name, values), *_ = ((name, values) for name, values in axis.items() if name not in ("key", "label"))
    for value in values:
        key = axis.get("key", "{value}").replace("{value}", str(value))
        yield Line(key, axis.get("label", key).replace("{value}", str(value)), {name: value})


def _frozen(runs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in runs.items()}


def _numbers(path: Path) -> dict[tuple[str, str, str], dict[str, Number]]:
    found: dict[tuple[str, str, str], dict[str, Number]] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for line, row in zip(itertools.count(2), csv.DictReader(file), strict=False):
                cell = found.setdefault((row["table"], row["row"], row["column"]), {})
                if row["quantity"] in cell:
                    place = ", ".join((row["table"], row["row"], row["column"], row["quantity"]))
                    raise DataError(f"{path}, line {line}: expected each number once, got {place} again.")
                float(row["value"])
                cell[row["quantity"]] = Number(row["value"], float(row["sd"]) if row["sd"] else None)
    except (OSError, KeyError, ValueError) as error:
        raise DataError(f"{path}: expected table,row,column,quantity,value,sd, got {error!r}.") from None
    return found
