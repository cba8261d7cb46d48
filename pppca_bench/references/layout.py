"""What published tables and figures look like, which runs fill them, and what is scored together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pppca_bench.runs import Selector


@dataclass(frozen=True, slots=True)
class Line:
    """Hold a row or a column of a table.

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
    runs: Mapping[str, Any] = field(default_factory=dict)
    shows: tuple[str, ...] = ()
    form: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
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
        How the quantities of a cell are printed.
    remark : str
        A sentence that stands below the table.
    remark_on : tuple of str
        Keys of the rows or columns that it speaks of; empty for the whole table.
    runs : mapping of str to value
        What all runs have in common.
    overrides : mapping of (str, str) to mapping
        What single cells, by row and column, ask for instead.
    configs : tuple of str
        Names of the configs whose runs count here; empty for the reference's.
    spread : bool
        Whether each column is a pair, mean and standard deviation.
    """

    id: str
    title: str
    place: str
    row_header: str
    rows: tuple[Line, ...]
    columns: tuple[Line, ...]
    shows: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    form: str = "{} ({})"
    remark: str = ""
    remark_on: tuple[str, ...] = ()
    runs: Mapping[str, Any] = field(default_factory=dict)
    overrides: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    configs: tuple[str, ...] = ()
    spread: bool = False

    def asked(self, row: Line, column: Line) -> dict[str, Any]:
        """Return what the runs of a cell have in common: problem, method and settings, as far as they are named."""
        return {**self.runs, **row.runs, **column.runs, **self.overrides.get((row.key, column.key), {})}

    def selector(self, row: Line, column: Line) -> Selector | None:
        """Return which runs fill a cell; None where it names no method, so that no run can."""
        asked = self.asked(row, column)
        return selector_of(asked) if "method" in asked else None

    def quantities(self, row: Line, column: Line) -> tuple[str, ...]:
        """Return what a cell shows."""
        return column.shows or row.shows or self.shows

    def form_of(self, row: Line, column: Line) -> str:
        """Return how a cell prints its quantities, such as ``"{} ({})"``."""
        return column.form or row.form or self.form


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveLayout:
    """Say what a figure of learning curves shows.

    Attributes
    ----------
    id, title, place : str
        Identifier, title, and where it was printed.
    step : str
        What a step is: epoch or generation.
    y_label : str
        Label of the other axis, with its unit.
    quantity : str
        Name of the learning curves in a run's history.
    panels : mapping of str to mapping of str to Selector
        By title of the panel and label of the curve, the runs whose mean is drawn.
    note : str
        What the reader must know about the numbers.
    n_nodes : int
        Of a history with a value for each node, how many leading nodes have a curve each; 0 for a history of numbers.
    x_linear_to, y_linear_to : float or None
        Up to where the axis is linear; logarithmic from there on. None: linear all the way.
    configs : tuple of str
        Names of the configs whose runs count here; empty for the reference's.
    """

    id: str
    title: str
    place: str
    step: str
    y_label: str
    quantity: str
    panels: Mapping[str, Mapping[str, Selector]]
    note: str = ""
    n_nodes: int = 0
    x_linear_to: float | None = None
    y_linear_to: float | None = None
    configs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PortraitLayout:
    """Say what a figure of single runs shows.

    Attributes
    ----------
    id, title, place : str
        Identifier, title, and where it was printed.
    shows : {"features", "rebuilt", "images"}
        What is drawn of a run: see `pppca_bench.reporting.figure_panels.portrait_panels`.
    panels : mapping of str to Selector
        The runs, by the label of each; the first repeat is drawn.
    note : str
        What the reader must know about it.
    """

    id: str
    title: str
    place: str
    shows: str
    panels: Mapping[str, Selector]
    note: str = ""


SHOWN_OF_RUNS = ("features", "rebuilt", "images")
"""What `PortraitLayout.shows` may be."""


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
        What mean distance is aimed at.
    share : float or None
        What share of cells within one published standard deviation is aimed at.
    rows, columns : tuple of str
        Keys of rows and columns; empty for all.
    ours : str
        The quantity of ours, where it has another name than the published one.
    """

    name: str
    tables: tuple[str, ...]
    quantity: str
    target: float | None = None
    share: float | None = None
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    ours: str = ""


def selector_of(asked: Mapping[str, Any]) -> Selector:
    """Return the selector of what runs have in common, problem and method among it."""
    settings = tuple(sorted((name, value) for name, value in asked.items() if name not in ("problem", "method")))
    return Selector(asked["problem"], asked["method"], settings)
