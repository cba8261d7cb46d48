"""Numbers of the figures: learning curves, and published against measured means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pppca_bench.errors import OwnDataError, nearest
from pppca_bench.methods.lookup import title_of
from pppca_bench.pages.document import count_in_words
from pppca_bench.pages.means import label_of
from pppca_bench.references.layout import CurveLayout
from pppca_bench.references.reference import Reference
from pppca_bench.results.frames import Runs
from pppca_bench.results.selection import only_cells
from pppca_bench.results.statistics import student_t
from pppca_bench.runs import Curves, Facts, Names, ProblemFacts, Selector, grouped
from pppca_bench.store.database import Store
from pppca_bench.verdicts.judge import margin_ends
from pppca_bench.verdicts.numbers import PLACE, in_part, parts_of

LEAST_LOSS = 0.001
"""Least loss in percent that a geometric mean counts; smaller losses are errors of rounding."""

PanelKind = Literal["curves", "points", "grid", "means"]


class Panel(NamedTuple):
    """Numbers of a frame of a figure.

    Attributes
    ----------
    kind : {"curves", "points", "grid", "means"}
        Means over the steps of a run; ratios of measured means to published numbers; a matrix of losses by data set;
        means of a table.
    data : DataFrame
        One row per plotted number. The first column is ``curve``, ``series``, ``column`` or ``place``; then

        - curves: ``step``, ``mean``, ``low``, ``high`` (float32, nan for a single repeat), ``n``, and for variances
          ``component``, the rank of the variance;
        - points: ``label``, ``published``, ``mean``, ``low``, ``high``, ``n``, and ``margin_low`` and ``margin_high``,
          the ends of the margin about the published number;
        - grid: ``data_set``, ``loss``, ``verdict``, ``is_apart``, whether the loss is in italics;
        - means: ``row``, ``column``, ``quantity``, and the numbers of points.
    """

    kind: PanelKind
    title: str
    data: pd.DataFrame

    @property
    def series(self) -> dict[str, pd.DataFrame]:
        """Return the rows of each curve or series by its label; grids and means need no labels."""
        if self.kind in ("grid", "means"):
            return {}
        return {
            str(name): rows for name, rows in self.data.groupby(self.data.columns[0], sort=False)
        }


class Figure(NamedTuple):
    """Numbers and texts of a figure; labels of the axes have their units."""

    figure: str  # identifier
    title: str
    place: str  # where it was published; "" for our own figures
    x_label: str
    y_label: str
    panels: Sequence[Panel]  # all of the same kind; empty if no run is done
    note: str  # printed below the figure
    missing: Names = ()  # parts that were not run
    x_linear_to: float | None = None  # as in `CurveLayout`
    y_linear_to: float | None = None
    basis: str = ""  # description of the numbers, in place of the mean over repeats
    source: str = ""  # title of the reference; "" if several share the figure

    @property
    def repeats(self) -> str:
        """Return the number of repeats of a figure with panels, as text."""
        counts = set[int]()
        for panel in self.panels:
            counts.update(panel.data.get("n", [1]))
        return count_in_words(counts)

    def numbers(self) -> pd.DataFrame:
        """Return all plotted numbers of a figure with panels: a column ``panel``, then the panels' data."""
        data = pd.concat([panel.data.assign(panel=panel.title) for panel in self.panels])
        return data[["panel", *data.columns.drop("panel")]]


def build_figures(
    runs: Runs, store: Store, facts: Facts, numbers: pd.DataFrame, references: Sequence[Reference]
) -> list[Figure]:
    """Return the references' curves, and their published numbers against ours; panels without runs are left out.

    Learning curves are read from ``store``, the database of the results. ``numbers`` are the printed numbers of the
    references' tables.
    """
    curves = list[Figure]()
    for reference in references:
        for layout in reference.figures:
            curves.append(_curve_figure(layout, reference, runs, store, facts))
    compared = list[Figure]()
    with_parts = [reference for reference in references if reference.parts]
    for name, sharing in grouped(with_parts, attrgetter("parts_figure")).items():
        compared.append(_published_against_ours(name, numbers, sharing, facts))
    return curves + compared


def _curve_figure(
    layout: CurveLayout, reference: Reference, runs: Runs, store: Store, facts: Facts
) -> Figure:
    """Return a figure of learning curves; raise OwnDataError if runs lack the curves of an added reference."""
    panels, missing = list[Panel](), list[str]()
    for title, selectors in layout.panels.items():
        curves, absent = list[pd.DataFrame](), list[str]()
        for label, selector in selectors.items():
            keys = _done_runs(runs.of_configs(reference.configs_of(layout)), selector)
            stored = list(store.histories(keys).values())
            histories = [history for history in stored if layout.quantity in history]
            if reference.is_added and keys and not histories:
                where = ", ".join(filter(None, (f"figure {layout.id}", title, label)))
                known = sorted(set[str]().union(*stored))
                raise OwnDataError(
                    f"{reference.name}/reference.yaml: {where}: expected learning curves that its runs have"
                    f" ({', '.join(known) or 'none'}), got {layout.quantity!r}{nearest(layout.quantity, known)}."
                )
            if histories:
                name = title_of(selector.method) if label == selector.method else label
                curves += _curves(layout, name, histories, facts[selector.problem])
            else:
                absent.append(", ".join(filter(None, (title, label))) or selector.problem)
        if title and not curves:
            absent = [title]
        missing += absent
        if curves:
            panels.append(Panel("curves", title, pd.concat(curves)))
    texts = layout.id, layout.title, layout.place, layout.step, layout.y_label
    return Figure(
        *texts,
        tuple(panels),
        layout.note,
        tuple(missing),
        layout.x_linear_to,
        layout.y_linear_to,
        source=reference.title,
    )


def _curves(
    layout: CurveLayout, label: str, histories: Sequence[Curves], problem: ProblemFacts
) -> Iterator[pd.DataFrame]:
    """Yield the mean curves of a cell's repeats, by samples from the step on at which all nodes learn.

    Choice: the mean of losses is geometric, since methods differ by factors.
    """
    values = np.stack([history[layout.quantity] for history in histories]).astype(np.float64)
    if layout.percent == "of inputs":
        values *= 100.0 / problem.n_features
        label = f"{label} ({problem.n_features})"
    elif layout.percent == "lost":
        values = np.log(np.maximum(LEAST_LOSS, 100.0 - 100.0 * values))
    if layout.n_nodes:
        yield from variance_curves(label, values, layout.n_nodes)
        return
    curve = mean_curve(label, values)
    if layout.percent == "lost":
        curve[["mean", "low", "high"]] = np.exp(curve[["mean", "low", "high"]])
    if layout.by_samples:
        n_nodes = np.min([history["dimensionality"] for history in histories], axis=0)
        samples = histories[0].get("samples", problem.n_train * curve["step"]).astype(int)
        curve = curve.assign(step=samples)[(samples > 0) & (n_nodes == n_nodes[-1])]
    yield curve


def _done_runs(runs: Runs, selector: Selector) -> list[str]:
    """Return the keys of the done runs of the only cell that matches; none if none or several match."""
    cells = only_cells(runs, selector)
    return runs.done(cells[0])["key"].tolist() if cells else []


def mean_curve(label: str, values: NDArray[np.float64]) -> pd.DataFrame:
    """Average a quantity, of shape (n_repeats, n_steps), over repeats, step by step; step 0 is the random start.

    Choice: the band is the 95 % interval of the mean, as in the tables. Numbers are kept as float32, the precision of
    the stored curves, so that plotted and written numbers are the same.
    """
    n, mean = len(values), values.mean(axis=0)
    half = student_t(0.975, n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.nan
    ends = {"mean": mean, "low": mean - half, "high": mean + half}
    curve = pd.DataFrame({"curve": label, "step": np.arange(len(mean)), **ends, "n": n})
    return curve.astype(dict.fromkeys(ends, np.float32))


def variance_curves(
    label: str, values: NDArray[np.float64], n_estimates: int
) -> Iterator[pd.DataFrame]:
    """Average the variance of each leading estimate over repeats, up to the step at which every repeat has removed it.

    Values have the shape (n_repeats, n_steps, n_nodes), nan once a node is removed. At each step variances are ranked,
    the largest first. Source: slide "How to decide?": "all eigenvectors estimates are sorted by projection variances".
    Choice: a removed node counts as 0, so that the mean is over the same repeats at every step and the curves add up to
    the retained variance; a mean over the repeats that still have the node would rise whenever a repeat loses a node of
    small variance.
    """
    ranked = np.sort(np.nan_to_num(values, nan=0.0), axis=2)[:, :, ::-1]
    for rank in range(min(n_estimates, ranked.shape[2])):
        # The order of a sum depends on the layout in memory.
        curve = mean_curve(label, np.ascontiguousarray(ranked[:, :, rank]))
        n_steps = int(np.max(np.flatnonzero(curve["mean"]), initial=-1)) + 2
        yield curve.assign(component=rank + 1)[:n_steps]


_COMPARED = {"test_error_percent": "test error", "dimensionality": "nodes left"}
"""Quantities of the figure of published numbers against ours, with the titles of their panels."""


def _published_against_ours(
    name: str, numbers: pd.DataFrame, references: Sequence[Reference], facts: Facts
) -> Figure:
    """Return a figure of our means as ratios to the published numbers, in their order, with a panel for each quantity.

    Numbers of the same runs are drawn once, for the first table.
    """
    points = _points(numbers, references, facts)
    panels: list[Panel] = []
    for quantity, described in _COMPARED.items():
        data = points[points["quantity"] == quantity].drop(columns="quantity")
        if len(data):
            title = f"{'ab'[len(panels)]}) {described}"
            panels.append(Panel("points", title, data.reset_index(drop=True)))
    labels, drawn = dict[str, None](), set(points["series"])
    shown = numbers[numbers["quantity"].isin(_COMPARED) & numbers["published"].notna()]
    for reference in references:
        of_source = shown[shown["source"] == reference.title]
        by_part = parts_of(of_source, reference.parts)
        labels |= dict.fromkeys(name for name, own in by_part.items() if len(own))
    missing = tuple(label for label in labels if label not in drawn)
    title = "Published against ours"
    note = (
        "Each point is a cell of a table, and each run is drawn once; at 1, both numbers are equal. Grey: the margin of"
        " the verdicts. Named: means outside of it, the farthest at both ends."
    )
    axes = "cells, in the order of the ratio", "ours ÷ published"
    return Figure(name, title, "", *axes, tuple(panels), note, missing)


_POINT = [
    *("quantity", "series", "table", "row", "column", "label"),
    *("published", "mean", "low", "high", "n", "margin_low", "margin_high"),
]
"""Columns of points, see `Panel`."""


def _points(numbers: pd.DataFrame, references: Sequence[Reference], facts: Facts) -> pd.DataFrame:
    """Return the numbers of the references' parts, part by part."""
    compared = numbers[numbers["published"].notna() & numbers["quantity"].isin(_COMPARED)]
    compared = compared[compared["n"] > 0]
    tables = list[pd.DataFrame]()
    for reference in references:
        of_source = compared[compared["source"] == reference.title]
        lines = dict[tuple[str, str], str]()
        for layout in reference.layouts:
            for line in (*layout.rows, *layout.columns):
                lines[layout.id, line.key] = label_of(line, reference, facts)
        for part in reference.parts:
            own = in_part(of_source, part)
            labels = [
                f"{lines[table, row]}, {lines[table, column]}"
                for table, row, column in own[PLACE[:3]].itertuples(index=False)
            ]
            tables.append(own.assign(series=part.name, label=labels))
    points = pd.concat(tables) if tables else numbers[:0].assign(series="", label="")
    points = points.drop_duplicates("same")
    return points.join(margin_ends(points))[_POINT]
