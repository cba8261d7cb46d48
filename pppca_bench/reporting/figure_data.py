"""Figures of the references: learning curves, portraits of single runs, and measured against published means."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from pppca_bench.methods.lookup import title_of
from pppca_bench.references.layout import CurveLayout, PortraitLayout
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.figure_panels import Panel, mean_curve, portrait_panels, variance_curves
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.runs import Selector
from pppca_bench.store.database import Store


@dataclass(frozen=True, slots=True)
class Figure:
    """Numbers and texts of a figure.

    Attributes
    ----------
    figure, title : str
        Identifier, such as F1, and title.
    place : str
        Where it was published; "" for our own figures.
    x_label, y_label : str
        Labels of the axes, with their units.
    panels : sequence of Panel, all of one kind
        Empty where none of its runs is done.
    note : str
        Note on the numbers, printed below the figure.
    missing : tuple of str
        Parts that were not run.
    x_linear_to, y_linear_to : float or None
        Up to where the axis is linear; logarithmic from there on. None: linear all the way.
    """

    figure: str
    title: str
    place: str
    x_label: str
    y_label: str
    panels: Sequence[Panel]
    note: str
    missing: tuple[str, ...] = ()
    x_linear_to: float | None = None
    y_linear_to: float | None = None

    @property
    def repeats(self) -> str:
        """Return the number of repeats behind a figure that has panels, in words."""
        return count_in_words(set[int]().union(*(panel.counts for panel in self.panels)))

    @property
    def basis(self) -> str:
        """Return a sentence on the runs behind a figure that has panels."""
        averaged = self.panels[0].kind in ("curves", "points")
        return f"Mean of {self.repeats}." if averaged else "One run a method and setting."

    def numbers(self) -> pd.DataFrame:
        """Return all plotted numbers of a figure that has panels: their data, after a column ``panel``."""
        data = pd.concat([panel.data.assign(panel=panel.title) for panel in self.panels])
        return data[["panel", *data.columns.drop("panel")]]


def count_in_words(counts: Collection[int]) -> str:
    """Return such as ``"9 to 10 repeats"``, given the number of repeats behind each mean (at least one)."""
    low, high = min(counts), max(counts)
    if high == 1:
        return "a single repeat"
    return f"{high} repeats" if low == high else f"{low} to {high} repeats"


def build_figures(
    results: Results, store: Store, tables: Sequence[Table], references: Sequence[Reference]
) -> list[Figure]:
    """Gather the numbers of every figure.

    Parameters
    ----------
    results : Results
        The runs by cell.
    store : Store
        Database of those runs, for their learning curves.
    tables : sequence of Table
        The filled tables, whose cells F5 sets against the published ones.
    references : sequence of Reference
        Their figures, and the series of F5.

    Returns
    -------
    list of Figure
        The references' curves, F5, the references' portraits of runs; a figure of which nothing was run has no panels.
    """
    curves = [_curve_figure(one, reference, results, store) for reference in references for one in reference.figures]
    portraits = [_portrait(one, reference, results, store) for reference in references for one in reference.portraits]
    return [*curves, _comparison(tables, references), *portraits]


_REMOVED = (
    "At each step the largest variance first. A removed node counts as 0; a curve ends where every repeat removed it."
)


def _curve_figure(layout: CurveLayout, reference: Reference, results: Results, store: Store) -> Figure:
    panels, missing = [], []
    for title, selectors in layout.panels.items():
        curves: list[pd.DataFrame] = []
        for label, selector in selectors.items():
            histories = _histories(results, store, selector, layout.configs or reference.configs)
            values = [history[layout.quantity] for history in histories if layout.quantity in history]
            if values and layout.n_nodes:
                curves += variance_curves(values, layout.n_nodes)
            elif values:
                curves.append(mean_curve(label, values))
            else:
                missing.append(", ".join(filter(None, (title, label))) or selector.problem)
        if curves:
            panels.append(Panel("curves", title, pd.concat(curves)))
    texts = layout.id, layout.title, layout.place, layout.step, layout.y_label
    note = layout.note.replace("{removed}", _REMOVED)
    return Figure(*texts, tuple(panels), note, tuple(missing), layout.x_linear_to, layout.y_linear_to)


def _portrait(layout: PortraitLayout, reference: Reference, results: Results, store: Store) -> Figure:
    portraits, missing = {}, []
    for label, selector in layout.panels.items():
        title = title_of(selector.method) if label == selector.method else label
        if histories := _histories(results, store, selector, reference.configs, first_alone=True):
            portraits[title] = histories[0]
        else:
            missing.append(title)
    panels = portrait_panels(layout.shows, portraits)
    return Figure(layout.id, layout.title, layout.place, "", "", panels, layout.note, tuple(missing))


def _histories(
    results: Results, store: Store, selector: Selector, configs: Collection[str], *, first_alone: bool = False
) -> list[Mapping[str, NDArray[Any]]]:
    """Return the histories of the completed runs of a cell, or of the first of them."""
    runs = results.select(selector, configs)
    done = [spec.key for spec, result in runs if result is not None and result.status == "done"]
    return list(store.histories(done[:1] if first_alone else done).values())


_COMPARED = {
    "test_error_percent": ("test error", "%"),
    "dimensionality": ("dimensionality", "nodes left"),
    "speedup": ("speed-up over GHA", "ratio"),
}
"""Quantities of F5, with their units."""

_POINT = ("series", "table", "row", "column", "published", "mean", "low", "high", "n")


def _comparison(tables: Sequence[Table], references: Sequence[Reference]) -> Figure:
    """Return F5: our means against the published numbers, by quantity; each run once."""
    series = _series(tables, references)
    panels: list[Panel] = []
    for quantity, (name, unit) in _COMPARED.items():
        rows = [
            (label, table, cell.row, cell.column, theirs.value, ours.mean, ours.low, ours.high, ours.n)
            for label, table, cell in series
            if (ours := cell.ours.get(quantity)) and (theirs := cell.published.get(quantity))
        ]
        if rows:
            data = pd.DataFrame(rows, columns=list(_POINT))
            quantity = f"{name} ({unit})"
            title = f"{'abc'[len(panels)]}) {name}"
            panels.append(Panel("points", title, data, f"published {quantity}", f"our {quantity}"))
    drawn = set[str]().union(*(panel.series for panel in panels))
    labels = dict.fromkeys(label for reference in references for label in reference.series.values())
    missing = tuple(label for label in labels if label not in drawn)
    note = "One point a cell, each run once. On the diagonal both agree."
    return Figure("F5", _agreement(panels), "", "published", "ours", tuple(panels), note, missing)


def _agreement(panels: Sequence[Panel]) -> str:
    """Return the title of F5, the share of points that agree within a tenth."""
    if not panels:
        return "Published against ours"
    ratios = pd.concat([panel.data["mean"] / panel.data["published"] for panel in panels])
    n_near = int(ratios.between(1 / 1.1, 1.1).sum())
    return f"{n_near} of {len(ratios)} published numbers come out within a tenth"


def _series(tables: Sequence[Table], references: Sequence[Reference]) -> list[tuple[str, str, TableCell]]:
    """Return the cells of F5 with the label of their series and their table, without those whose runs come again."""
    drawn: set[Selector] = set()
    series = []
    for reference in references:
        own = {table.id: table for table in tables if table.reference == reference}
        for table, label in reference.series.items():
            cells = [cell for cell in own[table].cells.values() if cell.selector not in drawn]
            drawn.update(cell.selector for cell in cells if cell.selector)
            series += [(label, table, cell) for cell in cells]
    return series
