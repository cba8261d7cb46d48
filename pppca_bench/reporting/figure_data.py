"""The numbers of the slides' figures: curves over the steps of a run, and our cells against the published ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from pppca_bench.methods.lookup import title_of
from pppca_bench.references.layout import CurveLayout, PortraitLayout
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.curves import Curve, ranked_variances, summarise_estimate, summarise_steps
from pppca_bench.reporting.portraits import PortraitPanel, portrait_panels
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.runs import Selector
from pppca_bench.store.database import Store

Record = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Point:
    """Hold one cell, ours against the published number; ``low`` and ``high`` are nan for a single repeat."""

    table: str
    row: str
    column: str
    published: float
    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class CurvePanel:
    """Hold the curves of one frame."""

    title: str
    curves: tuple[Curve, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of the curves."""
        return tuple(curve.label for curve in self.curves)

    @property
    def counts(self) -> set[int]:
        """Return the numbers of repeats behind the curves."""
        return {curve.n for curve in self.curves}

    def records(self) -> Iterator[Record]:
        """Yield one plain record for each plotted step."""
        for curve in self.curves:
            for step, (mean, low, high) in enumerate(zip(curve.mean, curve.low, curve.high, strict=True)):
                place = {"panel": self.title, "curve": curve.label, "step": step}
                share = {} if curve.removed is None else {"removed": curve.removed[step]}
                yield place | {"mean": mean, "low": low, "high": high, "n": curve.n} | share


@dataclass(frozen=True, slots=True)
class PointPanel:
    """Hold the cells of one quantity (with its unit), by series."""

    title: str
    quantity: str
    series: Mapping[str, tuple[Point, ...]]

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of the series."""
        return tuple(self.series)

    @property
    def points(self) -> tuple[Point, ...]:
        """Return the points of all series."""
        return tuple(point for points in self.series.values() for point in points)

    @property
    def counts(self) -> set[int]:
        """Return the numbers of repeats behind the points."""
        return {point.n for point in self.points}

    def records(self) -> Iterator[Record]:
        """Yield one plain record for each plotted cell."""
        for label, points in self.series.items():
            for point in points:
                place = {"panel": self.title, "series": label}
                place |= {"table": point.table, "row": point.row, "column": point.column}
                numbers = {"published": point.published, "mean": point.mean, "low": point.low, "high": point.high}
                yield place | numbers | {"n": point.n}


@dataclass(frozen=True, slots=True)
class Figure:
    """Hold a figure's numbers and words.

    Attributes
    ----------
    figure, title : str
        Identifier, F1 to F5, and title.
    place : str
        Where it was published; "" for one of ours.
    x_label, y_label : str
        Labels of the axes, with their units.
    panels : sequence of CurvePanel, PointPanel, ScatterPanel or ImagePanel, all of one kind
        Empty when nothing of it was run.
    note : str
        What the reader must know about the numbers; stands on the figure.
    missing : tuple of str
        What of it was not run.
    x_linear_to, y_linear_to : float or None
        Up to where the axis is linear; logarithmic from there on. None: linear all the way.
    """

    figure: str
    title: str
    place: str
    x_label: str
    y_label: str
    panels: Sequence[CurvePanel | PointPanel | PortraitPanel]
    note: str
    missing: tuple[str, ...] = ()
    x_linear_to: float | None = None
    y_linear_to: float | None = None

    @property
    def repeats(self) -> str:
        """Return how many repeats stand behind a figure that has panels, in words."""
        return count_in_words(set[int]().union(*(panel.counts for panel in self.panels)))

    @property
    def basis(self) -> str:
        """Say what stands behind the numbers of a figure that has panels, in a sentence."""
        averaged = isinstance(self.panels[0], CurvePanel | PointPanel)
        return f"Mean of {self.repeats}." if averaged else "One run a method and setting."

    def records(self) -> list[Record]:
        """Return one plain record for each plotted number."""
        return [record for panel in self.panels for record in panel.records()]


def count_in_words(counts: Collection[int]) -> str:
    """Say over how many repeats means run, given the number behind each (at least one)."""
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
        What was run.
    store : Store
        Where the learning curves of those runs are.
    tables : sequence of Table
        The filled tables, whose cells are set against the published ones.
    references : sequence of Reference
        Their figures, and the series of F5.

    Returns
    -------
    list of Figure
        The references' curves, F5, the references' portraits of runs; one of which nothing was run has no panels.
    """
    drawn = [
        _curve_figure(layout, reference, results, store) for reference in references for layout in reference.figures
    ]
    portraits = [_portrait(one, reference, results, store) for reference in references for one in reference.portraits]
    return [*drawn, _comparison(tables, references), *portraits]


_REMOVED = (
    "At each step the largest variance first. A removed node counts as 0; a curve ends where every repeat removed it."
)


def _curve_figure(layout: CurveLayout, reference: Reference, results: Results, store: Store) -> Figure:
    panels, missing = [], []
    for title, selectors in layout.panels.items():
        curves: list[Curve] = []
        for label, selector in selectors.items():
            runs = results.select(selector, layout.configs or reference.configs)
            done = [spec.key for spec, result in runs if result is not None and result.status == "done"]
            found = list(_curves(label, layout, store.histories(done).values()))
            curves += found
            if not found:
                missing.append(", ".join(filter(None, (title, label))) or selector.problem)
        if curves:
            panels.append(CurvePanel(title, tuple(curves)))
    words = layout.id, layout.title, layout.place, layout.step, layout.y_label
    note = layout.note.replace("{removed}", _REMOVED)
    return Figure(*words, tuple(panels), note, tuple(missing), layout.x_linear_to, layout.y_linear_to)


def _portrait(layout: PortraitLayout, reference: Reference, results: Results, store: Store) -> Figure:
    found, missing = {}, []
    for label, selector in layout.panels.items():
        runs = results.select(selector, reference.configs)
        first = [spec.key for spec, result in runs if result is not None and result.status == "done"][:1]
        histories = store.histories(first).values()
        words = title_of(selector.method) if label == selector.method else label
        if histories:
            found[words] = next(iter(histories))
        else:
            missing.append(words)
    panels = portrait_panels(layout.shows, found)
    return Figure(layout.id, layout.title, layout.place, "", "", panels, layout.note, tuple(missing))


def _curves(label: str, layout: CurveLayout, histories: Collection[Mapping[str, NDArray[Any]]]) -> Iterator[Curve]:
    values = [history[layout.quantity] for history in histories if layout.quantity in history]
    if not values:
        return
    if not layout.n_nodes:
        yield summarise_steps(label, values)
        return
    ranked = [ranked_variances(value) for value in values]
    for rank in range(min(layout.n_nodes, ranked[0].shape[1])):
        yield summarise_estimate(f"estimate {rank + 1}", [variances[:, rank] for variances in ranked])


_COMPARED = {
    "test_error_percent": ("test error", "%"),
    "dimensionality": ("dimensionality", "nodes left"),
    "speedup": ("speed-up over GHA", "ratio"),
}
"""Quantities that are set against the published ones, with their units."""


def _comparison(tables: Sequence[Table], references: Sequence[Reference]) -> Figure:
    panels: list[PointPanel] = []
    for quantity, (name, unit) in _COMPARED.items():
        series = _series(tables, references, quantity)
        if series:
            panels.append(PointPanel(f"{'abc'[len(panels)]}) {name}", f"{name} ({unit})", series))
    labels = [label for reference in references for label in reference.series]
    missing = tuple(label for label in labels if not any(label in panel.series for panel in panels))
    note = "One point a cell, each run once. On the diagonal both agree."
    return Figure("F5", "Published against ours", "", "published", "ours", tuple(panels), note, missing)


def _series(tables: Sequence[Table], references: Sequence[Reference], quantity: str) -> dict[str, tuple[Point, ...]]:
    drawn: set[Selector] = set()
    found = {}
    for reference in references:
        own = {table.id: table for table in tables if table.reference == reference}
        for label, table in reference.series.items():
            fresh = [cell for cell in own[table].cells.values() if cell.selector not in drawn]
            drawn.update(cell.selector for cell in fresh if cell.selector)
            points = tuple(point for cell in fresh if (point := _point(table, cell, quantity)))
            if points:
                found[label] = points
    return found


def _point(table: str, cell: TableCell, quantity: str) -> Point | None:
    ours, theirs = cell.ours.get(quantity), cell.published.get(quantity)
    if ours is None or theirs is None:
        return None
    return Point(table, cell.row, cell.column, theirs.value, ours.mean, ours.low, ours.high, ours.n)
