"""Figures of results on own data: scores of methods, scores by number of features, and a confusion matrix."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import MaxNLocator

from pppca_bench.pages.figure_drawing import STYLES, to_images
from pppca_bench.quantities import unitless

MAX_SHOWN = 40
"""Largest number of cells of a plot, the best of more."""

MAX_CLASSES = 15
"""Largest number of classes of a drawn confusion matrix."""

WIDTH = 5.4
"""Width of a plot in inches."""

NOTED, TAKEN = STYLES[0], STYLES[1]
"""Styles of cells, and of the recommended cell."""


class OwnFigure(NamedTuple):
    """Figure of results on own data.

    Attributes
    ----------
    id, title : str
    numbers : DataFrame
        A row for each plotted number. Scores have the columns ``label``, ``method``, ``features``, ``mean``, ``low``,
        ``high`` (nan for a single repeat), ``n``, ``is_baseline`` and ``is_recommended``; confusion matrices
        ``target``, ``predicted`` and ``n``.
    axis : str
        Title of the numbers with their unit.
    draw_it : callable
        Draws the figure, with its title if ``titled``.
    """

    id: str
    title: str
    numbers: pd.DataFrame
    axis: str
    draw_it: Callable[..., Drawing]

    def images(self, *, for_page: bool = False) -> dict[str, bytes]:
        """Return the drawing in the formats of `to_images`."""
        return to_images(self.draw_it, self, for_page=for_page)


def score_figures(
    suffix: str, problem: str, scores: pd.DataFrame, axis: str, *, more_is_better: bool
) -> list[OwnFigure]:
    """Return the figures of a problem's scores, the best ``MAX_SHOWN`` methods and the baselines, best first."""
    ranked = scores.sort_values("mean", ascending=not more_is_better, kind="stable")
    is_shown = ranked["is_baseline"] | ((~ranked["is_baseline"]).cumsum() <= MAX_SHOWN)
    shown, name = ranked[is_shown], unitless(axis)
    figures = [OwnFigure(f"scores{suffix}", f"{name} on {problem}", shown, axis, draw_scores)]
    if shown["features"].nunique() > 1:
        title = f"{name} and number of features on {problem}"
        figures.append(OwnFigure(f"features{suffix}", title, shown, axis, draw_by_features))
    return figures


def confusion_figure(suffix: str, label: str, counts: pd.DataFrame) -> list[OwnFigure]:
    """Return the figure of a confusion matrix, none for more than ``MAX_CLASSES`` classes."""
    if counts["target"].nunique() > MAX_CLASSES:
        return []
    title = f"Confusion matrix of {label}"
    return [OwnFigure(f"confusion{suffix}", title, counts, "Test rows", draw_confusion)]


def draw_scores(figure: OwnFigure, *, titled: bool = True) -> Drawing:
    """Draw a dot with a 95 % interval for each method, and a line for each baseline."""
    methods = figure.numbers[~figure.numbers["is_baseline"]]
    drawing = Drawing(figsize=(WIDTH, 1.1 + 0.2 * len(methods)), layout="constrained")
    ax = drawing.subplots()
    for place, row in enumerate(methods.to_dict("records")):
        style = TAKEN if row["is_recommended"] else NOTED
        bars = np.nan_to_num([[row["mean"] - row["low"]], [row["high"] - row["mean"]]])
        kept = {"color": style["color"], "marker": style["marker"], "fillstyle": "full"}
        ax.errorbar([row["mean"]], [place], xerr=bars, linestyle="none", elinewidth=0.8, **kept)
    _draw_baselines(figure, ax.axvline)
    ax.set_yticks(range(len(methods)), methods["label"])
    ax.set_ylim(len(methods) - 0.5, -0.5)
    ax.set_xlabel(f"{figure.axis}: mean over {_repeats(figure)}, 95 % interval")
    _finish(figure, drawing, ax, titled=titled)
    return drawing


def draw_by_features(figure: OwnFigure, *, titled: bool = True) -> Drawing:
    """Draw the score of each setting over its number of features, a line for each method and each baseline."""
    methods = figure.numbers[~figure.numbers["is_baseline"]]
    drawing = Drawing(figsize=(WIDTH, 2.7), layout="constrained")
    ax = drawing.subplots()
    for title, style in zip(methods["method"].unique(), cycle(STYLES), strict=False):
        rows = methods[methods["method"] == title].sort_values("features", kind="stable")
        bars = np.nan_to_num([rows["mean"] - rows["low"], rows["high"] - rows["mean"]])
        ax.errorbar(rows["features"], rows["mean"], bars, label=title, elinewidth=0.6, **style)
    _draw_baselines(figure, ax.axhline)
    ax.set_xlabel("Features, mean")
    ax.set_ylabel(figure.axis)
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    ax.set_xlim(0.0, 1.05 * ax.get_xlim()[1])
    _finish(figure, drawing, ax, titled=titled)
    return drawing


def draw_confusion(figure: OwnFigure, *, titled: bool = True) -> Drawing:
    """Draw the numbers of test rows by class, a row each, and predicted class, with their shares of the row."""
    counts = figure.numbers.pivot(index="target", columns="predicted", values="n")
    order = figure.numbers["target"].drop_duplicates()
    counts = counts.loc[order, order]
    shares = counts.div(counts.sum(axis=1).clip(lower=1), axis=0).to_numpy()
    size = 1.6 + 0.62 * len(counts)
    drawing = Drawing(figsize=(size, 0.72 * size), layout="constrained")
    ax = drawing.subplots()
    # faint enough for the text of a light and of a dark page
    ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, alpha=0.45, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        n = int(counts.to_numpy()[row, column])
        text = f"{n:,}\n{100.0 * share:.0f} %"
        ax.text(column, row, text, ha="center", va="center")
    ax.set_xticks(range(len(order)), order.astype(str))
    ax.set_yticks(range(len(order)), order.astype(str))
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.set_xlabel("Predicted class")
    ax.set_ylabel("Class")
    _finish(figure, drawing, ax, titled=titled)
    return drawing


def _draw_baselines(figure: OwnFigure, line: Callable[..., object]) -> None:
    baselines = figure.numbers[figure.numbers["is_baseline"]]
    for place, row in enumerate(baselines.to_dict("records")):
        style = STYLES[-1 - place]
        kept = {"color": style["color"], "linestyle": style["linestyle"], "marker": ""}
        line(row["mean"], label=f"{row['label']} ({row['mean']:.3g})", **kept)


def _finish(figure: OwnFigure, drawing: Drawing, ax: Axes, *, titled: bool) -> None:
    """Add the legend of lines, and the title."""
    if ax.get_legend_handles_labels()[1]:
        title = figure.title if titled else ""
        drawing.legend(loc="outside upper left", alignment="left", ncols=4, title=title)
    elif titled:
        drawing.suptitle(figure.title, x=0.01, horizontalalignment="left", fontsize=8)
    drawing.draw_without_rendering()
    drawing.set_layout_engine(None)


def _repeats(figure: OwnFigure) -> str:
    counts = figure.numbers["n"]
    least, most = counts.min(), counts.max()
    return f"{most} repeats" if least == most else f"{least} to {most} repeats"
