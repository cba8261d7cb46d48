"""The slides' figures, drawn from their numbers and written as SVG, PNG and CSV; alone imports matplotlib."""

from __future__ import annotations

import csv
import io
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator, SymmetricalLogLocator

from pppca_bench.files import atomic_write
from pppca_bench.reporting.figure_data import CurvePanel, Figure, PointPanel
from pppca_bench.reporting.portrait_drawing import draw_images, draw_scatter
from pppca_bench.reporting.portraits import ImagePanel, ScatterPanel

PNG_DPI = 200

STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "figure.constrained_layout.h_pad": 0.09,
    "figure.constrained_layout.w_pad": 0.09,
    "font.size": 9,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "legend.borderaxespad": 0.2,
    "legend.borderpad": 0.0,
    "legend.title_fontsize": 10,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "savefig.dpi": PNG_DPI,
    "svg.hashsalt": "pppca",
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
}

PLAIN = FuncFormatter(lambda value, _: f"{value:g}")
_LANDMARKS = (*range(0, 9), *(8 * 2**power for power in range(1, 12)))
"""Steps that an axis names which is linear up to 8."""

_METADATA: Mapping[str, dict[str, None]] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
"""What files say of their making, by format: nothing, so that equal drawings give equal bytes."""

POINT_ENTRIES_PER_LINE, CURVE_ENTRIES_PER_LINE = 3, 5
"""Entries that a line of the legend has."""

NOTE_SIZE = 8
NOTE_CHARACTERS_PER_INCH = 16


@dataclass(frozen=True, slots=True)
class Style:
    """Say how a curve or a series is drawn: dashes (of curves), marker and its fill tell them apart without colour."""

    colour: str
    dashes: str | tuple[int, tuple[float, ...]]
    marker: str
    fill: Literal["full", "none"]


STYLES = (
    Style("#000000", "-", "o", "none"),
    Style("#0072b2", (0, (6, 2)), "s", "full"),
    Style("#d55e00", (0, (1, 1)), "^", "none"),
    Style("#009e73", (0, (6, 2, 1, 2)), "D", "full"),
    Style("#cc79a7", (0, (3, 1)), "v", "none"),
    Style("#56b4e9", (0, (4, 1, 1, 1, 1, 1)), "P", "full"),
    Style("#8c6d00", (0, (2, 2)), "X", "none"),
    Style("#5d3a9b", (0, (8, 1)), "<", "full"),
    Style("#7f7f7f", (0, (10, 2, 2, 2)), ">", "none"),
    Style("#a3123a", (0, (4, 2, 1, 2)), "h", "none"),
)


def write_figures(figures: Iterable[Figure], out_dir: Path) -> list[Path]:
    """Write each figure that has something to show as SVG, PNG and CSV, the same bytes for the same numbers.

    Parameters
    ----------
    figures : iterable of Figure
        One without panels is left out.
    out_dir : Path
        Made if it does not exist.

    Returns
    -------
    list of Path
        The files, three a figure.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    paths = []
    for figure in figures:
        if figure.panels:
            for extension, content in (render(figure) | {"csv": numbers(figure).encode()}).items():
                paths.append(out_dir / f"{figure.figure}.{extension}")
                atomic_write(paths[-1], content)
    return paths


def render(figure: Figure) -> dict[str, bytes]:
    """Draw a figure as ``svg`` and ``png``, without date or version, so that equal numbers give equal bytes."""
    return to_images(partial(draw, figure))


def figure_svg(figure: Figure) -> bytes:
    """Draw a figure that has panels as SVG."""
    return to_images(partial(draw, figure), ("svg",))["svg"]


def to_images(drawn: Callable[[], Drawing], forms: Collection[str] = tuple(_METADATA)) -> dict[str, bytes]:
    """Return a drawing as ``svg`` and ``png`` in this module's style, the same bytes for the same drawing."""
    images = {}
    with matplotlib.style.context(STYLE, after_reset=True):
        drawing = drawn()
        for form in forms:
            buffer = io.BytesIO()
            drawing.savefig(buffer, format=form, metadata=_METADATA[form])
            images[form] = buffer.getvalue()
    return images


def numbers(figure: Figure) -> str:
    """Return the plotted numbers as CSV, a row a point; an interval that a single repeat does not have is empty."""
    records = figure.records()
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if value != value else value for name, value in record.items()} for record in records)
    return buffer.getvalue()


def draw(figure: Figure) -> Drawing:
    """Draw a figure that has at least one panel."""
    n_columns = _n_columns(figure)
    n_rows = -(-len(figure.panels) // n_columns)
    drawing = Drawing(figsize=_size(figure, n_rows, n_columns), layout="constrained")
    axes = drawing.subplots(n_rows, n_columns, squeeze=False)
    styles = _styles(figure)
    for panel, ax in zip(figure.panels, axes.flat, strict=False):
        if isinstance(panel, PointPanel):
            _draw_points(panel, ax, styles)
        elif isinstance(panel, ScatterPanel):
            draw_scatter(panel, ax, styles)
        elif isinstance(panel, ImagePanel):
            draw_images(panel, ax)
        else:
            _draw_curves(panel, figure, ax, styles)
    for ax in axes.flat[len(figure.panels) :]:
        ax.remove()
    if isinstance(figure.panels[0], CurvePanel):
        _align(figure, drawing)
    _explain(figure, drawing)
    # The layout is the slowest part: it is found once, not again for each file.
    drawing.draw_without_rendering()
    drawing.set_layout_engine(None)
    return drawing


def _n_columns(figure: Figure) -> int:
    if isinstance(figure.panels[0], ImagePanel):
        return 1
    return min(3 if isinstance(figure.panels[0], ScatterPanel) else 2, len(figure.panels))


def _size(figure: Figure, n_rows: int, n_columns: int) -> tuple[float, float]:
    """Return width and height in inches: one frame fills a column of text, several the page."""
    if isinstance(figure.panels[0], PointPanel):
        n_lines = -(-len(_styles(figure)) // POINT_ENTRIES_PER_LINE)
        return max(5.6, 3.7 * n_columns), 3.7 * n_rows + 0.9 + 0.2 * n_lines
    if isinstance(figure.panels[0], ScatterPanel):
        return max(5.6, 3.0 * n_columns), 3.0 * n_rows + 1.2
    if isinstance(figure.panels[0], ImagePanel):
        return 5.6, 0.85 * n_rows + 1.0
    return (5.6, 4.2) if n_columns == 1 else (7.4, 2.6 * n_rows + 1.2)


def _styles(figure: Figure) -> dict[str, Style]:
    """Return how each label is drawn, the same in every panel."""
    labels = dict.fromkeys(label for panel in figure.panels for label in panel.labels)
    return dict(zip(labels, cycle(STYLES), strict=False))


def _draw_curves(panel: CurvePanel, figure: Figure, ax: Axes, styles: Mapping[str, Style]) -> None:
    n_steps = max(len(curve.mean) for curve in panel.curves)
    for position, curve in enumerate(panel.curves):
        style, steps = styles[curve.label], range(len(curve.mean))
        # Markers of neighbouring curves stand apart, so that none hides another where curves meet.
        gap = max(1, min(n_steps // 8, len(steps) // 2))
        ax.fill_between(steps, curve.low, curve.high, color=style.colour, alpha=0.15, linewidth=0.0)
        ax.plot(
            steps,
            curve.mean,
            label=curve.label,
            color=style.colour,
            linestyle=style.dashes,
            marker=style.marker,
            fillstyle=style.fill,
            markevery=slice(gap * position // len(panel.curves), None, gap),
            clip_on=False,
        )
    _mark_removals(panel, figure, ax, styles)
    ax.set(title=panel.title, xlabel=figure.x_label)
    if figure.x_linear_to is None:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        ax.set_xscale("symlog", linthresh=figure.x_linear_to, linscale=1.2, base=2)
        ax.set_xticks([step for step in _LANDMARKS if step < n_steps])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(PLAIN)
    ax.set_xlim(0, max(1, n_steps - 1))


def _mark_removals(panel: CurvePanel, figure: Figure, ax: Axes, styles: Mapping[str, Style]) -> None:
    """Mark where half of the repeats have removed an estimate, those of one step above each other."""
    marked = Counter[int]()
    for curve in panel.curves:
        if figure.y_linear_to is None or (step := curve.removed_at) is None:
            continue
        style, height = styles[curve.label], figure.y_linear_to * marked[step] / len(panel.curves)
        fill = style.colour if style.fill == "full" else "white"
        ax.plot(step, height, style.marker, color=style.colour, markerfacecolor=fill, clip_on=False, zorder=4)
        marked[step] += 1


def _draw_points(panel: PointPanel, ax: Axes, styles: Mapping[str, Style]) -> None:
    for label, points in panel.series.items():
        mean, low, high = ([getattr(point, name) for point in points] for name in ("mean", "low", "high"))
        ax.errorbar(
            [point.published for point in points],
            mean,
            np.nan_to_num(np.subtract([mean, high], [low, mean])),
            label=label,
            linestyle="none",
            elinewidth=0.8,
            color=styles[label].colour,
            marker=styles[label].marker,
            fillstyle="none",
        )
    ends = _ends(panel)
    ax.plot(ends, ends, color="0.4", linewidth=0.8, zorder=1)
    ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal", title=panel.title)
    ax.set(xlabel=f"published {panel.quantity}", ylabel=f"our {panel.quantity}")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(PLAIN)


def _ends(panel: PointPanel) -> tuple[float, float]:
    values = [value for point in panel.points for value in (point.published, point.mean) if value > 0.0]
    return min(values) / 1.25, max(values) * 1.25


def _align(figure: Figure, drawing: Drawing) -> None:
    """Give panels of curves the same scale, labelled at the frame's edge."""
    if figure.y_linear_to is not None:
        for ax in drawing.axes:
            ax.set_yscale("symlog", linthresh=figure.y_linear_to, linscale=0.5)
            ax.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=figure.y_linear_to, subs=(1, 2, 5)))
            ax.yaxis.set_major_formatter(PLAIN)
    top = max(ax.get_ylim()[1] for ax in drawing.axes) * (1.0 if figure.y_linear_to is None else 1.2)
    for ax in drawing.axes:
        # Zero stands clear of the frame, so that its curves can be seen.
        ax.set_ylim(-0.02 * top if figure.y_linear_to is None else -0.1 * figure.y_linear_to, top)
        ax.label_outer()
    if len(drawing.axes) == 1:
        drawing.axes[0].set_ylabel(figure.y_label)
    else:
        drawing.supylabel(figure.y_label, fontsize=STYLE["axes.labelsize"])


def _explain(figure: Figure, drawing: Drawing) -> None:
    """Put title and legend above the frames, where they hide no data, and the note below."""
    entries: dict[str, Any] = {}
    for ax in drawing.axes:
        handles, labels = ax.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    title, of_points = f"{figure.figure}. {figure.title}", not isinstance(figure.panels[0], CurvePanel)
    drawing.legend(
        entries.values(),
        entries.keys(),
        title=title,
        alignment="left",
        loc="outside upper left",
        ncols=max(1, min(len(entries), POINT_ENTRIES_PER_LINE if of_points else CURVE_ENTRIES_PER_LINE)),
        handlelength=1.0 if of_points else 3.2,
    )
    spreads = {CurvePanel: " Bands: 95 % interval of the mean.", PointPanel: " Bars: 95 % interval of the mean."}
    note = f"{figure.basis}{spreads.get(type(figure.panels[0]), '')} {figure.note}"
    text = textwrap.fill(note, int(drawing.get_figwidth() * NOTE_CHARACTERS_PER_INCH))
    drawing.supxlabel(text, x=0.01, horizontalalignment="left", fontsize=NOTE_SIZE)
