"""The numbers of the slides' figures: curves over the steps of a run, and our cells against the published ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from pppca_bench.references.layouts import CENTRED, FRACTIONS, LAYOUTS
from pppca_bench.reporting.curves import Curve, ranked_variances, summarise_steps, until_removed
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.tables import Table, TableCell
from pppca_bench.runs import Source
from pppca_bench.store.database import Store

Quantity = Literal["dimensionality", "mean_dimensionality", "variances"]
Step = Literal["epoch", "generation"]
Record = Mapping[str, object]

PROBLEMS = ("cancer1", "diabetes1", "glass1", "heart1")
TAU = 10.0


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


def build_figures(results: Results, store: Store, tables: Sequence[Table]) -> list[Figure]:
    """Gather the numbers of every figure.

    Parameters
    ----------
    results : Results
        What was run.
    store : Store
        Where the learning curves of those runs are.
    tables : sequence of Table
        The filled tables, whose cells are set against the published ones.

    Returns
    -------
    list of Figure
        F1 to F5; one of which nothing was run has no panels.
    """
    return [*(_curve_figure(layout, results, store) for layout in _CURVE_FIGURES), _comparison(tables)]


@dataclass(frozen=True, slots=True)
class _CurveFigure:
    """Say what a figure shows: in each panel a curve (or one for each leading node) of each source."""

    figure: str
    title: str
    place: str
    step: Step
    y_label: str
    quantity: Quantity
    panels: Mapping[str, Mapping[str, Source]]
    note: str = ""
    n_nodes: int = 0
    y_linear_to: float | None = None


def _ne_ppca(problem: str) -> Source:
    return Source(problem, "ne_ppca", TAU, settings=CENTRED)


def _dgha(problem: str, data_fraction: float = 100.0) -> Source:
    return Source(problem, "dgha", TAU, data_fraction, CENTRED)


_DIMENSIONALITY = "dimensionality (nodes left)"
_VARIANCE = "projection variance (squared input units)"
_REMOVED = (
    "At each step the largest variance first. A removed node counts as 0; a curve ends where every repeat removed it."
)

_CURVE_FIGURES = (
    # Choice: the mean over the population, since the slide's heading is "averaged mean dimensionality".
    _CurveFigure(
        "F1",
        "Change of averaged mean dimensionality (NE-pPCA, τ = 10)",
        'slide "Change of averaged mean dimensionality"',
        "generation",
        f"mean {_DIMENSIONALITY}",
        "mean_dimensionality",
        {"": {problem: _ne_ppca(problem) for problem in PROBLEMS}},
        "Dimensionality is averaged over the population, then over repeats.",
    ),
    _CurveFigure(
        "F2",
        "Change of averaged variance of projections (NE-pPCA, cancer1, τ = 10)",
        'slide "Change of averaged variance of projections"',
        "generation",
        _VARIANCE,
        "variances",
        {"": {"": _ne_ppca("cancer1")}},
        f"The fittest individual's estimates. {_REMOVED}",
        n_nodes=3,
    ),
    # Choice: tau = 10, which the slide does not give, as in the three figures for which the slides do.
    _CurveFigure(
        "F3",
        "Change of projection variances (DGHA, cancer1, τ = 10)",
        'slide "Change of projection variances (cancer1)"',
        "epoch",
        _VARIANCE,
        "variances",
        {
            f"{letter}) {fraction} % of the data": {"": _dgha("cancer1", float(fraction))}
            for letter, fraction in zip("abcd", FRACTIONS, strict=True)
        },
        f"{_REMOVED} The scale is linear below 0.01, logarithmic above. τ is our choice.",
        n_nodes=9,
        y_linear_to=0.01,
    ),
    _CurveFigure(
        "F4",
        "Change of averaged dimensionality (DGHA, 100 % of the data, τ = 10)",
        'slide "Change of averaged mean dimensionality (DGHA)"',
        "epoch",
        f"averaged {_DIMENSIONALITY}",
        "dimensionality",
        {"": {problem: _dgha(problem) for problem in PROBLEMS}},
    ),
)


def _curve_figure(layout: _CurveFigure, results: Results, store: Store) -> Figure:
    panels, missing = [], []
    for title, sources in layout.panels.items():
        curves: list[Curve] = []
        for label, source in sources.items():
            found = list(_source_curves(label, layout, _histories(source, results, store)))
            curves += found
            if not found:
                missing.append(title or label or source.problem)
        if curves:
            panels.append(CurvePanel(title, tuple(curves)))
    words = layout.figure, layout.title, layout.place, layout.step, layout.y_label
    return Figure(*words, tuple(panels), layout.note, tuple(missing), layout.y_linear_to)


def _histories(source: Source, results: Results, store: Store) -> Collection[Mapping[str, NDArray[Any]]]:
    done = [spec.key for spec, result in results.runs(source) if result is not None and result.status == "done"]
    return store.histories(done).values()


def _source_curves(
    label: str, layout: _CurveFigure, histories: Collection[Mapping[str, NDArray[Any]]]
) -> Iterator[Curve]:
    values = [history[layout.quantity] for history in histories if layout.quantity in history]
    if not values:
        return
    if layout.quantity != "variances":
        yield summarise_steps(label, values)
        return
    ranked = [ranked_variances(value) for value in values]
    for rank in range(min(layout.n_nodes, ranked[0].shape[1])):
        yield until_removed(summarise_steps(f"estimate {rank + 1}", [variances[:, rank] for variances in ranked]))


_SERIES = {
    "NE-pPCA (T1)": "T1",
    "DGHA on cancer1 (T5)": "T5",
    "DGHA on horse1 (T7)": "T7",
    "DGHA on cancer1 (T4)": "T4",
    "DGHA on horse1 (T6)": "T6",
    "feature selection (T3)": "T3",
    "linear network (P1)": "P1",
    "network with shortcuts (P2)": "P2",
    "network without shortcuts (P3)": "P3",
}
"""Series of the comparison, and the table of each; every run of T2 stands in one of them too."""

_COMPARED = {
    "error_percent": "test error (%)",
    "dimensionality": "dimensionality (nodes left)",
    "speedup": "speed-up over GHA (ratio)",
}


def _comparison(tables: Iterable[Table]) -> Figure:
    by_name = {table.table: table for table in tables}
    panels: list[PointPanel] = []
    for quantity, label in _COMPARED.items():
        series = _series(by_name, quantity)
        if series:
            panels.append(PointPanel(f"{'abc'[len(panels)]}) {label.partition(' (')[0]}", label, series))
    missing = tuple(label for label in _SERIES if not any(label in panel.series for panel in panels))
    note = "One point a cell, each run once. On the diagonal both agree."
    return Figure("F5", "Published against ours", "", "published", "ours", tuple(panels), note, missing)


def _series(tables: Mapping[str, Table], quantity: str) -> dict[str, tuple[Point, ...]]:
    layouts = {layout.table: layout for layout in LAYOUTS}
    drawn: set[Source | None] = set()
    found = {}
    for label, name in _SERIES.items():
        cells = list(tables[name].cells.values()) if name in tables else []
        sources = [layouts[name].source(cell.row, cell.column) if name in layouts else None for cell in cells]
        points = [
            _point(name, cell, quantity)
            for cell, source in zip(cells, sources, strict=True)
            if source is None or source not in drawn
        ]
        drawn.update(sources)
        if any(points):
            found[label] = tuple(point for point in points if point)
    return found


def _point(table: str, cell: TableCell, quantity: str) -> Point | None:
    ours, theirs = cell.ours.get(quantity), cell.published.get(quantity)
    if ours is None or theirs is None:
        return None
    return Point(table, cell.row, cell.column, theirs.value, ours.mean, ours.low, ours.high, ours.n)
