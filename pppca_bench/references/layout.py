"""Layouts of published tables and figures: their lines, the runs that fill them, and the groups that are scored."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from string import ascii_lowercase
from typing import Annotated, Any, Literal, Self

from annotated_types import Ge, Lt, MinLen
from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from pppca_bench.documents import Section, as_written, broken_rule, raise_errors
from pppca_bench.runs import Selector

Text = Annotated[str, MinLen(1)]
Texts = tuple[Text, ...]
Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
NotNegative = Annotated[float, Ge(0), Lt(1e100)]


def _setting(value: Any) -> Any:
    parts = value if isinstance(value, tuple) else (value,)
    if not all(part is None or isinstance(part, bool | int | float | str) for part in parts):
        raise broken_rule(f"expected a setting's value, got {as_written(value)}")
    return value


Settings = dict[Text, Annotated[Any, AfterValidator(_setting)]]
"""Problem, method and settings of runs, by name."""


def _spelled_out(value: Any, words: Mapping[str, str]) -> Any:
    """Return the lines that a mapping such as ``{tau: [5, 10], label: "τ = {value}"}`` is short for; a list as it is.

    In the patterns, ``{value}`` stands for a value of the setting, ``{letter}`` for a, b, c, ... and, in the label,
    ``{key}`` for the key; ``words`` has their defaults.
    """
    if isinstance(value, tuple) and value:
        return value
    varied = [name for name in value if name not in words] if isinstance(value, dict) else []
    if len(varied) != 1 or not isinstance(value[varied[0]], tuple) or not value[varied[0]]:
        expected = f"a list of lines, or one setting with a list of values, beside {' and '.join(words)}"
        raise broken_rule(f"expected {expected}, got {as_written(value)}")
    patterns = {name: value.get(name, default) for name, default in words.items()}
    for name, pattern in patterns.items():
        if not isinstance(pattern, str) or not pattern:
            raise_errors([((name,), f"expected text, got {as_written(pattern)}")])
    return tuple(_lines(varied[0], value[varied[0]], patterns))


def _lines(name: str, values: tuple[Any, ...], patterns: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for number, value in enumerate(values):
        letter = ascii_lowercase[number] if number < len(ascii_lowercase) else str(number)
        filled = {
            word: pattern.replace("{letter}", letter).replace("{value}", str(value))
            for word, pattern in patterns.items()
        }
        if "key" in filled:
            filled["label"] = filled["label"].replace("{key}", filled["key"])
        yield {**filled, "runs": {name: value}}


class Line(Section):
    """A row or a column of a table.

    Attributes
    ----------
    key : str
        As in the published numbers.
    label : str
        As it is printed, the key by default; ``{n_features}`` stands for the problem's number of features.
    runs : mapping of str to value
        Problem, method and settings that the runs of its cells share.
    shows : tuple of str
        Quantities of its cells; empty for the table's.
    form : str
        Format of its cells; "" for the table's form.
    """

    key: Text
    label: Text
    runs: Settings = Field(default_factory=dict)
    shows: Texts = ()
    form: Text = ""

    @model_validator(mode="before")
    @classmethod
    def _label(cls, value: Any) -> Any:
        return {"label": value["key"], **value} if isinstance(value, dict) and "key" in value else value


class LabelledRuns(Section):
    """A curve or a panel of a figure: its label and the problem, method and settings of its runs."""

    label: Text
    runs: Settings


Lines = Annotated[tuple[Line, ...], BeforeValidator(partial(_spelled_out, words={"key": "{value}", "label": "{key}"}))]
Curves = Annotated[tuple[LabelledRuns, ...], BeforeValidator(partial(_spelled_out, words={"label": "{value}"}))]


class Override(Section):
    """Settings of a single cell of a table."""

    row: Text
    column: Text
    runs: Settings


class Layout(Section):
    """Layout of a table, and the runs that fill its cells.

    Attributes
    ----------
    id, title, place : str
        Identifier, title, and where it was printed.
    row_header : str
        Header of the first column.
    rows, columns : tuple of Line
        In the order of print.
    shows : tuple of str
        Quantities of a cell, the most important first.
    also : tuple of str
        Quantities that stand in grids of their own below.
    notes : tuple of str
        Quantities of which the median over the cells stands below.
    form : str
        Format of the quantities of a cell.
    remark : str
        A sentence that stands below the table.
    remark_on : tuple of str
        Keys of the rows or columns that the remark is about; empty for the whole table.
    runs : mapping of str to value
        Problem, method and settings that all runs share.
    cells : tuple of Override
        Settings of single cells.
    configs : tuple of str
        Names of the configs whose runs count here; empty for the reference's.
    spread : bool
        Whether each column is a pair, mean and standard deviation.
    """

    id: Identifier
    title: Text
    place: Text
    row_header: Text
    rows: Lines
    columns: Lines
    shows: Texts = ()
    also: Texts = ()
    notes: Texts = ()
    configs: Texts = ()
    remark_on: Texts = ()
    spread: bool = False
    form: Text = "{} ({})"
    remark: Text = ""
    runs: Settings = Field(default_factory=dict)
    cells: tuple[Override, ...] = ()

    def asked(self, row: Line, column: Line) -> dict[str, Any]:
        """Return problem, method and settings that the runs of a cell share, as far as they are named."""
        asked = {**self.runs, **row.runs, **column.runs}
        for cell in self.cells:
            if (cell.row, cell.column) == (row.key, column.key):
                asked |= cell.runs
        return asked

    def selector(self, row: Line, column: Line) -> Selector | None:
        """Return the selector of the runs that fill a cell, or None for a cell without a method."""
        asked = self.asked(row, column)
        return selector_of(asked) if "method" in asked else None

    def quantities(self, row: Line, column: Line) -> tuple[str, ...]:
        """Return the quantities of a cell."""
        return column.shows or row.shows or self.shows

    def form_of(self, row: Line, column: Line) -> str:
        """Return the format of a cell, such as ``"{} ({})"``."""
        return column.form or row.form or self.form

    @model_validator(mode="after")
    def _check(self) -> Self:
        rows, columns = ([line.key for line in lines] for lines in (self.rows, self.columns))
        check_once("rows", rows)
        check_once("columns", columns)
        for key in self.remark_on:
            if key not in (*rows, *columns):
                raise_errors([(("remark_on",), f"expected keys of rows or columns, got {key!r}")])
        for cell in self.cells:
            if cell.row not in rows or cell.column not in columns:
                got = f"{cell.row}, {cell.column}"
                raise_errors([(("cells",), f"expected a row and a column of the table, got {got}")])
        for row in self.rows:
            for column in self.columns:
                self._check_cell(row, column)
        return self

    def _check_cell(self, row: Line, column: Line) -> None:
        cell, asked = f"{row.key}, {column.key}", self.asked(row, column)
        for key in ("problem", "method"):
            if key in asked and not isinstance(asked[key], str):
                raise broken_rule(f"expected a {key}'s name for {cell}, got {as_written(asked[key])}")
        if "method" in asked and "problem" not in asked:
            raise broken_rule(f"expected a problem beside the method of {cell}, got none")
        shows, form = self.quantities(row, column), self.form_of(row, column)
        if not shows:
            raise broken_rule(f"expected a quantity that {cell} shows, got none")
        if form.count("{}") < len(shows):
            raise broken_rule(f"expected a form with {len(shows)} places {{}} for {cell}, got {form!r}")


class _FigureLayout(Section):
    """Layout of a figure.

    Attributes
    ----------
    id, title, place : str
        Identifier, title, and where it was printed.
    runs : mapping of str to value
        Problem, method and settings that all runs share.
    panel_lines : tuple of LabelledRuns
        The panels; empty for a single panel without a label.
    note : str
        Caveats for the reader.
    """

    id: Identifier
    title: Text
    place: Text
    runs: Settings
    panel_lines: Curves = Field((), alias="panels")
    note: Text = ""

    def selectors(self, lines: tuple[LabelledRuns, ...], shared: Mapping[str, Any]) -> dict[str, Selector]:
        """Return the runs of each line, by its label."""
        return {label: selector_of({**self.runs, **shared, **runs}) for label, runs in _by_label(lines).items()}

    @model_validator(mode="after")
    def _check(self) -> Self:
        curves: tuple[LabelledRuns, ...] = getattr(self, "curve_lines", ())
        for key, lines in (("panels", self.panel_lines), ("curves", curves)):
            check_once(key, [line.label for line in lines])
        for of_panel, of_curve in itertools.product(_by_label(self.panel_lines).values(), _by_label(curves).values()):
            settings = {**self.runs, **of_panel, **of_curve}
            for key in ("problem", "method"):
                if not isinstance(settings.get(key), str):
                    got = as_written(settings[key]) if settings.get(key) is not None else "nothing"
                    raise broken_rule(f"expected runs of one {key}, got {got}")
        return self


class CurveLayout(_FigureLayout):
    """Layout of a figure of learning curves.

    Attributes
    ----------
    step : str
        Unit of the horizontal axis: epoch or generation.
    y_label : str
        Label of the other axis, with its unit.
    quantity : str
        Name of the learning curves in a run's history.
    curve_lines : tuple of LabelledRuns
        Curves of each panel; empty for a single curve without a label.
    n_nodes : int
        Of a history with a value for each node, number of leading nodes that have a curve each; 0 for a history of
        numbers.
    x_linear_to, y_linear_to : float or None
        Up to where the axis is linear; logarithmic from there on. None: linear all the way.
    configs : tuple of str
        Names of the configs whose runs count here; empty for the reference's.
    """

    step: Text
    y_label: Text
    quantity: Text
    curve_lines: Curves = Field((), alias="curves")
    n_nodes: Annotated[int, Ge(1)] = 0
    x_linear_to: NotNegative | None = None
    y_linear_to: NotNegative | None = None
    configs: Texts = ()

    @property
    def panels(self) -> Mapping[str, Mapping[str, Selector]]:
        """Return, by title of the panel and label of the curve, the runs whose mean is drawn."""
        panels = _by_label(self.panel_lines).items()
        return {panel: self.selectors(self.curve_lines, of_panel) for panel, of_panel in panels}


class PortraitLayout(_FigureLayout):
    """Layout of a figure of single runs; of the runs of each panel, the first repeat is drawn.

    Attributes
    ----------
    shows : {"features", "rebuilt", "images"}
        Content of the panels: see `pppca_bench.reporting.figure_panels.portrait_panels`.
    """

    panel_lines: Curves = Field(alias="panels")
    shows: Literal["features", "rebuilt", "images"]

    @property
    def panels(self) -> Mapping[str, Selector]:
        """Return the runs by the label of each panel."""
        return self.selectors(self.panel_lines, {})


def _by_label(lines: tuple[LabelledRuns, ...]) -> dict[str, dict[str, Any]]:
    return {line.label: line.runs for line in lines} or {"": {}}


class Scored(Section):
    """Published numbers that are scored together.

    Attributes
    ----------
    name : str
        Name of the score.
    tables : tuple of str
        Identifiers of tables.
    quantity : str
        The published quantity.
    target : float or None
        Mean distance to aim at.
    share : float or None
        Share of cells within one published standard deviation to aim at.
    rows, columns : tuple of str
        Keys of rows and columns; empty for all.
    ours : str
        The measured quantity, where it has another name than the published quantity.
    """

    name: Text
    tables: Texts
    quantity: Text
    target: NotNegative | None = None
    share: NotNegative | None = None
    rows: Texts = ()
    columns: Texts = ()
    ours: str = ""


def selector_of(asked: Mapping[str, Any]) -> Selector:
    """Return the selector of runs that share problem, method and settings."""
    settings = tuple(sorted((name, value) for name, value in asked.items() if name not in ("problem", "method")))
    return Selector(asked["problem"], asked["method"], settings)


def check_once(place: str, keys: list[str]) -> None:
    """Raise a validation error for a key that a list of a section has twice."""
    key, n = Counter(keys).most_common(1)[0] if keys else ("", 0)
    if n > 1:
        raise_errors([((place,), f"expected each key once, got {key!r} again")])
