"""Layouts of published tables and figures: their lines, the runs that fill them, and the groups that are scored."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, Self

from annotated_types import Ge, Lt
from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from pppca_bench.errors import nearest
from pppca_bench.references.selection import (
    CellKeys,
    Formula,
    Settings,
    Text,
    Texts,
    asked,
    select,
    selector_of,
)
from pppca_bench.runs import Names, Selector
from pppca_bench.yaml_files.section import Section, broken_rule, yaml_text

PLACE = re.compile(r"\{(?::(\.\d{1,2}[efg]))?\}")
"""Place of a number in the format of a cell: ``{}``, or ``{:.2f}`` with a format of its own."""

Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
NotNegative = Annotated[float, Ge(0), Lt(1e100)]


def _expand(value: Any, defaults: Mapping[str, str], shared: Sequence[str] = ()) -> Any:
    """Expand the short form of several lines, such as ``{tau: [5, 10], label: "τ = {value}"}``; keep a list as it is.

    In the patterns, ``{value}`` stands for a value of the setting and, in the label, ``{key}`` for the key. Other keys
    of a line, those that are ``shared``, hold for all lines.
    """
    if isinstance(value, tuple) and value:
        return value
    given = value if isinstance(value, dict) else {}
    of_all = {name: given[name] for name in given if name in shared}
    varied = [name for name in given if name not in defaults and name not in shared]
    if len(varied) != 1 or not isinstance(value[varied[0]], tuple) or not value[varied[0]]:
        beside = " and ".join(defaults)
        expected = f"a list of lines, or one setting with a list of values, beside {beside}"
        raise broken_rule(f"expected {expected}, got {yaml_text(value)}")
    patterns = {name: value.get(name, default) for name, default in defaults.items()}
    for name, pattern in patterns.items():
        if not isinstance(pattern, str) or not pattern:
            raise broken_rule(f"expected text, got {yaml_text(pattern)}", name)
    lines = []
    for setting in value[varied[0]]:
        texts: dict[str, str] = {}
        for name, pattern in patterns.items():  # the key comes before the label, which may name it
            texts[name] = pattern.replace("{value}", str(setting)).replace(
                "{key}", texts.get("key", "{key}")
            )
        runs = of_all.get("runs", {})
        if not isinstance(runs, dict):
            raise broken_rule(f"expected settings by name, got {yaml_text(runs)}", "runs")
        lines.append({**of_all, **texts, "runs": {**runs, varied[0]: setting}})
    return tuple(lines)


class Line(CellKeys):
    """Row or column of a table: its key in the published numbers, and its printed label, the key by default.

    In the label ``{n_features}`` stands for the problem's number of features. ``shows`` and ``form`` are the quantities
    and the format of its cells, by default those of the table.
    """

    key: Text
    label: Text
    shows: Texts = ()
    form: Text = ""

    @model_validator(mode="before")
    @classmethod
    def _label(cls, value: Any) -> Any:
        return (
            {"label": value["key"], **value}
            if isinstance(value, dict) and "key" in value
            else value
        )


class LabelledRuns(Section):
    """Curve or panel of a figure: its label and the problem, method and settings of its runs."""

    label: Text
    runs: Settings


_SHARED = tuple(name for name in Line.model_fields if name not in ("key", "label"))

Lines = Annotated[
    tuple[Line, ...],
    BeforeValidator(
        partial(_expand, defaults={"key": "{value}", "label": "{key}"}, shared=_SHARED)
    ),
]
LabelledRunsList = Annotated[
    tuple[LabelledRuns, ...], BeforeValidator(partial(_expand, defaults={"label": "{value}"}))
]

_SINGLE = (LabelledRuns.model_construct(label="", runs={}),)


class Override(CellKeys):
    """Keys of a single cell of a table."""

    row: Text
    column: Text


class Layout(CellKeys):
    """Layout of a table, and the runs that fill its cells."""

    id: Identifier
    title: Text
    place: Text  # where it was printed
    row_header: Text  # header of the first column
    rows: Lines
    columns: Lines
    shows: Texts = ()  # quantities of a cell, the most important first
    also: Texts = ()  # quantities with grids of their own below
    configs: Texts = ()  # names of the configs whose runs count here; empty for the reference's
    remark_on: Texts = ()  # rows or columns that the remark is about; empty for the whole table
    spread: bool = False  # whether each column is a pair, mean and standard deviation
    form: Text = "{} ({})"  # format of the quantities
    remark: Text = ""  # printed below the table
    cells: tuple[Override, ...] = ()

    def _levels(self, row: Line, column: Line) -> list[CellKeys]:
        overrides = [
            cell for cell in self.cells if (cell.row, cell.column) == (row.key, column.key)
        ]
        return [self, row, column, *overrides]

    def problem(self, row: Line, column: Line) -> str | None:
        """Return the problem of the runs of a cell, or None for a cell without runs, or over several problems."""
        return asked(self._levels(row, column)).get("problem")

    def selector(self, row: Line, column: Line) -> Selector | Formula | None:
        """Return the selection of the runs that fill a cell, or None for a cell without a method."""
        return select(self._levels(row, column), f"{row.key}, {column.key}")

    def quantities(self, row: Line, column: Line) -> Names:
        """Return the quantities of a cell."""
        return column.shows or row.shows or self.shows

    @property
    def all_quantities(self) -> Names:
        """Return the quantities of all cells and grids."""
        cells = itertools.product(self.rows, self.columns)
        shown = [name for cell in cells for name in self.quantities(*cell)]
        return tuple(dict.fromkeys((*shown, *self.also)))

    def form_of(self, row: Line, column: Line) -> tuple[str, Names]:
        """Return the format of a cell, such as ``"{} ({})"``, and the format of each number, such as ``.2f``, or ""."""
        form = column.form or row.form or self.form
        return PLACE.sub("{}", form), tuple(PLACE.findall(form))

    @model_validator(mode="after")
    def _check(self) -> Self:
        rows, columns = ([line.key for line in lines] for lines in (self.rows, self.columns))
        check_keys("rows", rows)
        check_keys("columns", columns)
        for key in self.remark_on:
            if key not in (*rows, *columns):
                raise broken_rule(f"expected keys of rows or columns, got {key!r}", "remark_on")
        for cell in self.cells:
            if cell.row not in rows or cell.column not in columns:
                got = f"{cell.row}, {cell.column}"
                raise broken_rule(f"expected a row and a column of the table, got {got}", "cells")
        for row, column in itertools.product(self.rows, self.columns):
            location, selector = f"{row.key}, {column.key}", self.selector(row, column)
            shows, (form, formats) = self.quantities(row, column), self.form_of(row, column)
            if not shows:
                raise broken_rule(f"expected a quantity that {location} shows, got none")
            if isinstance(selector, Formula) and "correlation" in (*shows, *self.also):
                raise broken_rule(
                    f"expected quantities of single runs for {location}, got correlation"
                )
            if len(formats) < len(shows) or form.count("{") > len(formats):
                n_places = "a place" if len(shows) == 1 else f"{len(shows)} places"
                expected = f"a form with {n_places} {{}} or {{:.2f}} for {location}"
                raise broken_rule(f"expected {expected}, got {form!r}")
        return self


class CurveLayout(Section):
    """Layout of a figure of learning curves; an axis is linear up to ``x_linear_to``, logarithmic from there on."""

    id: Identifier
    title: Text
    place: Text  # where it was printed
    runs: Settings  # that all panels and curves share
    step: Text  # label of the x axis: epoch or generation
    y_label: Text
    quantity: Text  # name of the learning curves in a run's history
    panel_lines: LabelledRunsList = Field((), alias="panels")
    # of each panel; empty for a single curve
    curve_lines: LabelledRunsList = Field((), alias="curves")
    n_nodes: Annotated[int, Ge(1)] = (
        0  # number of leading nodes with curves; 0 if the history has a number per step
    )
    percent: Literal["", "of inputs", "lost"] = ""  # of the problem's inputs, or missing to 1
    by_samples: bool = (
        False  # whether the x axis counts samples: an epoch sees all training samples
    )
    x_linear_to: NotNegative | None = None
    y_linear_to: NotNegative | None = None
    configs: Texts = ()  # names of the configs whose runs count here; empty for the reference's
    note: Text = ""  # printed below the figure

    @property
    def panels(self) -> Mapping[str, Mapping[str, Selector]]:
        """Return the selectors of runs by panel title and curve label; "" is the label of a single panel or curve."""
        return {
            panel.label: {
                curve.label: selector_of({**self.runs, **panel.runs, **curve.runs})
                for curve in self._curves
            }
            for panel in self.panel_lines or _SINGLE
        }

    @property
    def _curves(self) -> tuple[LabelledRuns, ...]:
        return self.curve_lines or _SINGLE

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_keys("panels", [line.label for line in self.panel_lines])
        check_keys("curves", [line.label for line in self._curves])
        for panel, curve in itertools.product(self.panel_lines or _SINGLE, self._curves):
            for key in ("problem", "method"):
                if key not in {**self.runs, **panel.runs, **curve.runs}:
                    raise broken_rule(f"expected runs of one {key}, got nothing")
        return self


class RankingSpec(Section):
    """Ranking with a figure, and the configs whose runs are ranked."""

    id: Identifier
    title: Text
    configs: Texts
    labels: dict[Text, Text] = Field(
        default_factory=dict
    )  # of the settings of a config, by its name
    missing: str = ""  # reason to print without a ranking; if set, all runs are ranked if these configs were not run


def are_named(wanted: Iterable[Names], names: Iterable[str]) -> bool:
    """Return whether each name is among the wanted names of its kind; no wanted names mean all."""
    return all(not allowed or name in allowed for allowed, name in zip(wanted, names, strict=True))


class PartOfTables(Section):
    """Section with names of tables, and keys of rows in them, empty for all; maybe also of columns, and quantities."""

    tables: Texts = ()
    rows: Texts = ()

    def unknown_names(self, layouts: Mapping[str, Layout]) -> Iterator[tuple[str, str]]:
        """Yield the key, and the error, of each name of a table, row, column or quantity that no layout has."""
        parts = [layouts[table] for table in self.tables or layouts if table in layouts]
        rows = [line.key for layout in parts for line in layout.rows]
        shown = [name for layout in parts for name in layout.all_quantities]
        for key, names in {
            "tables": layouts,
            "table": layouts,
            "rows": rows,
            "cycles": rows,
            "columns": [line.key for layout in parts for line in layout.columns],
            "quantities": shown,
            "quantity": shown,
        }.items():
            value, known = getattr(self, key, ()), list(dict.fromkeys(names))
            # cycles are lists of rows
            named = itertools.chain(*value) if key == "cycles" else value
            for name in filter(None, [value] if isinstance(value, str) else named):
                if name not in known:
                    hint = nearest(name, known)
                    yield key, f"expected some of {'; '.join(known)}, got {name!r}{hint}"


class _Part(PartOfTables):
    """Part of the published numbers: tables, and keys of rows and columns, empty for all."""

    tables: Texts
    columns: Texts = ()

    def includes(self, table: str, row: str, column: str) -> bool:
        """Return whether a cell is in the part."""
        return are_named((self.tables, self.rows, self.columns), (table, row, column))


class NamedPart(_Part):
    """Named part of the published numbers, such as those of a method, which are counted together."""

    name: Text


class Scored(NamedPart):
    """Published numbers that are scored together."""

    quantity: Text
    unit: Literal["points", "|ln ratio|"] = "|ln ratio|"  # of the distance
    target: NotNegative | None = None  # for the mean distance
    share: NotNegative | None = (
        None  # target for the share of cells within one published standard deviation
    )


class Searched(_Part):
    """Published numbers that a search for settings looked at."""

    quantities: Texts


class Placebo(NamedPart):
    """Wrong program, whose numbers the verdicts should tell from the numbers of a correct program.

    In place of our numbers in a cell it has our numbers from the same row and column of another ``table``, from the
    next row of the same cycle, or from ``runs`` with these settings. Of the cell's own settings, those that these runs
    have stay. A cell without such numbers is left out.
    """

    table: str = ""
    cycles: tuple[Texts, ...] = ()  # keys of rows; the first follows the last
    runs: Settings = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = [key for key in ("table", "cycles", "runs") if getattr(self, key)]
        if len(given) != 1:
            raise broken_rule(
                f"expected one of table, cycles and runs, got {' and '.join(given) or 'none'}"
            )
        for cycle in self.cycles:
            if len({*cycle}) < max(len(cycle), 2):
                raise broken_rule(
                    f"expected two different rows or more, got {', '.join(cycle)}", "cycles"
                )
        return self


def check_keys(place: str, keys: list[str]) -> None:
    """Raise ValidationError if the list at ``place`` of a section contains a key twice."""
    key, n = Counter(keys).most_common(1)[0] if keys else ("", 0)
    if n > 1:
        raise broken_rule(f"expected each key once, got {key!r} again", place)
