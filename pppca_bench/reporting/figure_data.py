"""Numbers of the figures: learning curves, published against measured means, and portraits of single runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pppca_bench.errors import OwnDataError, nearest
from pppca_bench.methods.lookup import title_of
from pppca_bench.references.layout import CurveLayout, PortraitLayout
from pppca_bench.references.reference import Reference, own_references
from pppca_bench.reporting.comparison import verdict_rule
from pppca_bench.reporting.document import count_in_words
from pppca_bench.reporting.statistics import student_t
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.table import MeansTable
from pppca_bench.reporting.verdicts import margin_ends
from pppca_bench.runs import Facts, Names, ProblemFacts, Selector
from pppca_bench.store.database import Store

Portrait = Mapping[str, NDArray[Any]]
"""Arrays that a run with ``portrait: true`` stores, see `pppca_bench.experiments.measures.figure_arrays`."""

LEAST_LOSS = 0.001
"""Least loss in percent that a geometric mean counts; smaller losses are errors of rounding."""

PanelKind = Literal["curves", "points", "scatter", "images", "grid"]


class Panel(NamedTuple):
    """Numbers of a frame of a figure.

    Attributes
    ----------
    kind : {"curves", "points", "scatter", "images", "grid"}
        Means over the steps of a run; ratios of measured means to published numbers; samples in a plane, on equal
        scales; a row of images; a matrix of losses by data set.
    data : DataFrame
        One row per plotted number. The first column is ``curve``, ``series``, ``image`` or ``column``; then

        - curves: ``step``, ``mean``, ``low``, ``high`` (float32, nan for a single repeat), ``n``, and for variances
          ``component``, the rank of the variance;
        - points: ``label``, ``published``, ``mean``, ``low``, ``high``, ``n``, and ``margin_low`` and ``margin_high``,
          the ends of the margin about the published number;
        - scatter: ``x``, ``y``; images: ``row``, ``column``, ``value``;
        - grid: ``data_set``, ``loss``, ``verdict``, ``is_apart``, whether the loss is in italics.
    x_label, y_label : str
        Labels of the axes, with their units; "" for the figure's labels.
    """

    kind: PanelKind
    title: str
    data: pd.DataFrame
    x_label: str = ""
    y_label: str = ""

    @property
    def series(self) -> dict[str, pd.DataFrame]:
        """Return the rows of each curve or series by its label; images and grids need no labels."""
        if self.kind in ("images", "grid"):
            return {}
        return {
            str(name): rows for name, rows in self.data.groupby(self.data.columns[0], sort=False)
        }


class Figure(NamedTuple):
    """Numbers and texts of a figure; labels of the axes have their units."""

    figure: str  # identifier, such as F1
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

    @property
    def repeats(self) -> str:
        """Return the number of repeats of a figure with panels, as text."""
        return count_in_words({n for panel in self.panels for n in panel.data.get("n", [1])})

    def numbers(self) -> pd.DataFrame:
        """Return all plotted numbers of a figure with panels: a column ``panel``, then the panels' data."""
        data = pd.concat([panel.data.assign(panel=panel.title) for panel in self.panels])
        return data[["panel", *data.columns.drop("panel")]]


def build_figures(
    results: Results,
    store: Store,
    facts: Facts,
    tables: Sequence[MeansTable],
    references: Sequence[Reference],
) -> list[Figure]:
    """Return the references' curves, F5, and the references' portraits of runs; panels without runs are left out.

    Learning curves and portraits are read from ``store``, the database of the results.
    """
    curves, portraits = list[Figure](), list[Figure]()
    for reference in references:
        curves += [
            _curve_figure(layout, reference, results, store, facts) for layout in reference.figures
        ]
        portraits += [
            _portrait(layout, reference, results, store) for layout in reference.portraits
        ]
    return [*curves, _published_against_ours(tables, references), *portraits]


def _curve_figure(
    layout: CurveLayout, reference: Reference, results: Results, store: Store, facts: Facts
) -> Figure:
    panels, missing = list[Panel](), list[str]()
    is_user_defined = all(reference is not packaged for packaged in own_references())
    for title, selectors in layout.panels.items():
        curves, absent = list[pd.DataFrame](), list[str]()
        for label, selector in selectors.items():
            configs = layout.configs or reference.configs
            stored = _histories(results, store, selector, configs)
            histories = [history for history in stored if layout.quantity in history]
            if is_user_defined and not histories and results.repeats(selector, configs).n_done:
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
        missing += absent if curves or not title else [title]
        if curves:
            panels.append(Panel("curves", title, pd.concat(curves)))
    texts = layout.id, layout.title, layout.place, layout.step, layout.y_label
    return Figure(
        *texts, tuple(panels), layout.note, tuple(missing), layout.x_linear_to, layout.y_linear_to
    )


def _curves(
    layout: CurveLayout, label: str, histories: Sequence[Portrait], problem: ProblemFacts
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


def _portrait(
    layout: PortraitLayout, reference: Reference, results: Results, store: Store
) -> Figure:
    portraits, missing = {}, []
    for label, selectors in layout.panels.items():
        (selector,) = selectors.values()
        title = title_of(selector.method) if label == selector.method else label
        if histories := _histories(results, store, selector, reference.configs, first_alone=True):
            portraits[title] = histories[0]
        else:
            missing.append(title)
    panels = portrait_panels(layout.shows, portraits, layout.classes)
    return Figure(
        layout.id, layout.title, layout.place, "", "", panels, layout.note, tuple(missing)
    )


def _histories(
    results: Results, store: Store, selector: Selector, configs: Names, *, first_alone: bool = False
) -> list[Mapping[str, NDArray[Any]]]:
    """Return the histories of the completed runs of a cell, or only of its first completed run."""
    done = results.repeats(selector, configs).of_done("key").tolist()
    return list(store.histories(done[:1] if first_alone else done).values())


def mean_curve(label: str, values: NDArray[np.float64]) -> pd.DataFrame:
    """Average a quantity, of shape (n_repeats, n_steps), over repeats, step by step; step 0 is the random start.

    Choice: the band is the 95 % interval of the mean, as in the tables, since the slides show averages. Numbers are
    kept as float32, the precision of the stored curves, so that plotted and written numbers are the same.
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


_COMPARED = {
    "test_error_percent": "test error",
    "dimensionality": "nodes left",
    "speedup": "speed-up over GHA",
}
"""Quantities of F5, with the titles of their panels."""


def _published_against_ours(
    tables: Sequence[MeansTable], references: Sequence[Reference]
) -> Figure:
    """Return F5: our means as ratios to the published numbers, in their order, with a panel for each quantity.

    Cells with the same runs are drawn once, for the first table. A panel's title counts the means within the margins of
    the verdicts.
    """
    labels = {table: label for reference in references for table, label in reference.series.items()}
    by_id = {table.id: table for table in tables}
    drawn: set[object] = set()
    points: dict[str, list[dict[str, object]]] = {quantity: [] for quantity in _COMPARED}
    for table_id, label in labels.items():
        table = by_id[table_id]
        cells = [cell for cell in table.cells.values() if cell.selector not in drawn]
        drawn |= {cell.selector for cell in cells} - {None}
        for cell, (quantity, rows) in itertools.product(cells, points.items()):
            if (ours := cell.ours.get(quantity)) and (published := cell.published.get(quantity)):
                rule = verdict_rule(table, cell, quantity)
                margin = margin_ends(published, ours, rule) if rule else (np.nan, np.nan)
                point = {
                    "series": label,
                    "table": table_id,
                    "row": cell.row,
                    "column": cell.column,
                    "label": f"{table.row_labels[cell.row]}, {table.column_labels[cell.column]}",
                    "published": published.value,
                    "mean": ours.mean,
                    "low": ours.low,
                    "high": ours.high,
                    "n": ours.n,
                    "margin_low": margin[0],
                    "margin_high": margin[1],
                }
                rows.append(point)
    panels: list[Panel] = []
    for quantity, rows in points.items():
        if rows:
            data = pd.DataFrame(rows)
            n_within = data["mean"].between(data["margin_low"], data["margin_high"]).sum()
            title = f"{'abc'[len(panels)]}) {_COMPARED[quantity]}: {n_within} of {len(data)}"
            panels.append(Panel("points", title, data))
    shown = {label for panel in panels for label in panel.series}
    missing = tuple(label for label in dict.fromkeys(labels.values()) if label not in shown)
    title = "Published against ours, with the number of our means within the margin"
    note = (
        "Each point is a cell of a table, and each run is drawn once; at 1, both numbers are equal. Grey: the margin of"
        " the verdicts. Named: means outside of it, the farthest at both ends."
    )
    axes = "cells, in the order of the ratio", "ours ÷ published"
    return Figure("F5", title, "", *axes, tuple(panels), note, missing)


def portrait_panels(
    shows: str, portraits: Mapping[str, Portrait], classes: Names = ()
) -> list[Panel]:
    """Return the panels of a figure of single runs, given by their labels.

    ``shows`` is "features", samples on the first two features, by class, with the names ``classes``; "rebuilt", samples
    and their reconstructions on the first two inputs; or "images", a sample of each class as an image: the inputs,
    their reconstruction by each run, and the components of the run with the most components.
    """
    if shows == "images":
        return list(_images(portraits)) if portraits else []
    panels = []
    for label, portrait in portraits.items():
        if shows == "features":
            features, targets = portrait["portrait_features"], portrait["portrait_targets"]
            points = {
                classes[int(target)] if classes else f"class {target:g}": features[
                    targets == target
                ]
                for target in np.unique(targets)
            }
            panels.append(Panel("scatter", label, _points(points), "component 1", "component 2"))
        else:
            points = {name: portrait[f"portrait_{name}"] for name in ("inputs", "rebuilt")}
            title = _with_share(label, portrait)
            panels.append(Panel("scatter", title, _points(points), "input 1", "input 2"))
    return panels


def retained_percent(portrait: Portrait) -> float:
    """Return the share of the training variance that the reconstruction retains, in percent."""
    inputs, rebuilt = (
        portrait[f"portrait_{name}"].astype(np.float64) for name in ("inputs", "rebuilt")
    )
    lost, total = np.square(inputs - rebuilt).sum(), np.square(inputs - inputs.mean(axis=0)).sum()
    return float(100.0 * (1.0 - lost / total))


def _images(portraits: Mapping[str, Portrait]) -> Iterator[Panel]:
    first, *_ = portraits.values()
    chosen = np.unique(first["portrait_targets"], return_index=True)[1]
    yield _image_row("inputs", first["portrait_inputs"][chosen])
    for label, portrait in portraits.items():
        yield _image_row(_with_share(label, portrait), portrait["portrait_rebuilt"][chosen])
    most = max((run["portrait_components"] for run in portraits.values()), key=len)
    components = most[: len(chosen)]
    yield _image_row(f"components 1 to {len(components)}", components)


def _with_share(label: str, portrait: Portrait) -> str:
    return f"{label}: {retained_percent(portrait):.1f} % of the variance"


def _points(series: Portrait) -> pd.DataFrame:
    """Return the data of a scatter, given the samples of each series, whose first two columns are x and y."""
    points = [
        pd.DataFrame(xy[:, :2], columns=["x", "y"]).assign(series=label)
        for label, xy in series.items()
    ]
    return pd.concat(points)[["series", "x", "y"]]


def _image_row(title: str, images: NDArray[Any]) -> Panel:
    """Return a panel of square images, each a row of ``images``."""
    side = round(images.shape[1] ** 0.5)
    image, row, column = np.indices((len(images), side, side)).reshape(3, -1)
    return Panel(
        "images",
        title,
        pd.DataFrame({"image": image, "row": row, "column": column, "value": images.ravel()}),
    )
