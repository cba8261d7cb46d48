"""The numbers of the slides' figures: curves over the steps of a run, and our cells against the published ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any, Literal

from numpy.typing import NDArray

from pppca_bench.references.reference import Reference
from pppca_bench.reporting.curves import Curve, ranked_variances, summarise_steps, until_removed
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.tables import Table, TableCell
from pppca_bench.runs import Selector
from pppca_bench.store.database import Store

Quantity = Literal["dimensionality", "mean_dimensionality", "variances"]
Step = Literal["epoch", "generation"]
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
                yield place | {"mean": mean, "low": low, "high": high, "n": curve.n}


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
    panels : sequence of CurvePanel or PointPanel, all of one kind
        Empty when nothing of it was run.
    note : str
        What the reader must know about the numbers; stands on the figure.
    missing : tuple of str
        What of it was not run.
    y_linear_to : float or None
        Up to where the axis of y is linear; logarithmic from there on. None: linear all the way.
    """

    figure: str
    title: str
    place: str
    x_label: str
    y_label: str
    panels: Sequence[CurvePanel | PointPanel]
    note: str
    missing: tuple[str, ...] = ()
    y_linear_to: float | None = None

    @property
    def repeats(self) -> str:
        """Return how many repeats stand behind a figure that has panels, in words."""
        return count_in_words(set[int]().union(*(panel.counts for panel in self.panels)))

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
        Their figures.

    Returns
    -------
    list of Figure
        The references', then F5; one of which nothing was run has no panels.
    """
    drawn = [
        _curve_figure(_layout(of), reference, results, store) for reference in references for of in reference.figures
    ]
    return [*drawn, _comparison(tables)]


@dataclass(frozen=True, slots=True)
class _CurveFigure:
    """Say what a figure shows: in each panel a curve (or one for each leading node) of each selection of runs."""

    figure: str
    title: str
    place: str
    step: Step
    y_label: str
    quantity: Quantity
    panels: Mapping[str, Mapping[str, Selector]]
    note: str = ""
    n_nodes: int = 0
    y_linear_to: float | None = None


_REMOVED = (
    "At each step the largest variance first. A removed node counts as 0; a curve ends where every repeat removed it."
)


def _layout(figure: Mapping[str, Any]) -> _CurveFigure:
    """Read a reference's figure: ``runs``, of which ``panels`` and ``curves`` each vary one setting."""
    panels = {
        panel: {curve: _selector({**figure["runs"], **asked, **also}) for curve, also in _varied(figure.get("curves"))}
        for panel, asked in _varied(figure.get("panels"))
    }
    return _CurveFigure(
        figure["id"],
        figure["title"],
        figure["place"],
        figure["step"],
        figure["y_label"],
        figure["quantity"],
        panels,
        figure.get("note", "").replace("{removed}", _REMOVED),
        figure.get("n_nodes", 0),
        figure.get("y_linear_to"),
    )


def _varied(axis: Mapping[str, Any] | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if axis is None:
        yield "", {}
        return
    label = axis.get("label", "{value}")
    (name, values), *_ = ((name, values) for name, values in axis.items() if name != "label")
    for letter, value in zip(ascii_lowercase, values, strict=False):
        yield label.replace("{letter}", letter).replace("{value}", str(value)), {name: value}


def _selector(runs: Mapping[str, Any]) -> Selector:
    settings = tuple(sorted((name, value) for name, value in runs.items() if name not in ("problem", "method")))
    return Selector(runs["problem"], runs["method"], settings)


def _curve_figure(layout: _CurveFigure, reference: Reference, results: Results, store: Store) -> Figure:
    panels, missing = [], []
    for title, selectors in layout.panels.items():
        curves: list[Curve] = []
        for label, selector in selectors.items():
            runs = results.select(selector, reference.configs)
            done = [spec.key for spec, result in runs if result is not None and result.status == "done"]
            found = list(_curves(label, layout, store.histories(done).values()))
            curves += found
            if not found:
                missing.append(title or label or selector.problem)
        if curves:
            panels.append(CurvePanel(title, tuple(curves)))
    words = layout.figure, layout.title, layout.place, layout.step, layout.y_label
    return Figure(*words, tuple(panels), layout.note, tuple(missing), layout.y_linear_to)


def _curves(label: str, layout: _CurveFigure, histories: Collection[Mapping[str, NDArray[Any]]]) -> Iterator[Curve]:
    values = [history[layout.quantity] for history in histories if layout.quantity in history]
    if not values:
        return
    if layout.quantity != "variances":
        yield summarise_steps(label, values)
        return
    ranked = [ranked_variances(value) for value in values]
    for rank in range(min(layout.n_nodes, ranked[0].shape[1])):
        yield until_removed(summarise_steps(f"estimate {rank + 1}", [variances[:, rank] for variances in ranked]))


_COMPARED = {
    "test_error_percent": "test error (%)",
    "dimensionality": "dimensionality (nodes left)",
    "speedup": "speed-up over GHA (ratio)",
}


def _comparison(tables: Sequence[Table]) -> Figure:
    panels: list[PointPanel] = []
    for quantity, label in _COMPARED.items():
        series = _series(tables, quantity)
        if series:
            panels.append(PointPanel(f"{'abc'[len(panels)]}) {label.partition(' (')[0]}", label, series))
    labels = [table.series for table in tables if table.series]
    missing = tuple(label for label in labels if not any(label in panel.series for panel in panels))
    note = "One point a cell, each run once. On the diagonal both agree."
    return Figure("F5", "Published against ours", "", "published", "ours", tuple(panels), note, missing)


def _series(tables: Sequence[Table], quantity: str) -> dict[str, tuple[Point, ...]]:
    drawn: set[Selector] = set()
    found = {}
    for table in (table for table in tables if table.series):
        fresh = [cell for cell in table.cells.values() if cell.selector is None or cell.selector not in drawn]
        drawn.update(cell.selector for cell in fresh if cell.selector)
        points = tuple(point for cell in fresh if (point := _point(table.id, cell, quantity)))
        if points:
            found[table.series] = points
    return found


def _point(table: str, cell: TableCell, quantity: str) -> Point | None:
    ours, theirs = cell.ours.get(quantity), cell.published.get(quantity)
    if ours is None or theirs is None:
        return None
    return Point(table, cell.row, cell.column, theirs.value, ours.mean, ours.low, ours.high, ours.n)
