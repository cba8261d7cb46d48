"""Figures drawn from their numbers, and written as SVG, PNG and CSV."""

from __future__ import annotations

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
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator, SymmetricalLogLocator

from pppca_bench.files import atomic_write
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.reporting.figure_panels import Kind, Panel

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
"""Tick marks of an axis that is linear up to 8."""

_METADATA: Mapping[str, dict[str, None]] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
"""Metadata of the files, by format: neither date nor version, so that equal drawings give equal bytes."""

POINT_ENTRIES_PER_LINE, CURVE_ENTRIES_PER_LINE = 4, 5
"""Number of entries per line of the legend."""

NOTE_SIZE = 8
NOTE_CHARACTERS_PER_INCH = 16


@dataclass(frozen=True, slots=True)
class Style:
    """Line and marker style of a curve or a series; dashes, marker and fill distinguish them without colour."""

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
    """Write each figure that has panels as SVG, PNG and CSV, the same bytes for the same numbers.

    Parameters
    ----------
    figures : iterable of Figure
    out_dir : Path
        Created if it does not exist.

    Returns
    -------
    list of Path
        The files, three per figure.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    return [
        path
        for figure in figures
        if figure.panels
        for path in write_drawing(figure.figure, partial(draw, figure), figure.numbers(), out_dir)
    ]


def write_drawing(name: str, drawn: Callable[[], Drawing], numbers: pd.DataFrame, out_dir: Path) -> list[Path]:
    """Write a drawing as SVG and PNG, and its numbers as CSV; an interval that a single repeat lacks is empty there."""
    out_dir.mkdir(parents=True, exist_ok=True)
    contents = to_images(drawn) | {"csv": numbers.to_csv(index=False, lineterminator="\n").encode()}
    for extension, content in contents.items():
        atomic_write(out_dir / f"{name}.{extension}", content)
    return [out_dir / f"{name}.{extension}" for extension in contents]


PAGE_STYLE: dict[str, Any] = {
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "path.simplify_threshold": 0.5,
    "svg.fonttype": "none",
}


def figure_svg(figure: Figure) -> bytes:
    """Draw a figure that has panels as SVG for a web page, see `page_svg`."""
    return page_svg(partial(draw, figure))


def page_svg(drawn: Callable[[], Drawing]) -> bytes:
    """Return a drawing as SVG without its title, and with texts in the fonts of the page instead of outlines."""

    def untitled() -> Drawing:
        drawing = drawn()
        for legend in drawing.legends:
            legend.set_title("")
        if drawing.get_suptitle():
            drawing.suptitle("")
        return drawing

    return to_images(untitled, ("svg",), STYLE | PAGE_STYLE)["svg"]


def to_images(
    drawn: Callable[[], Drawing],
    forms: Collection[str] = tuple(_METADATA),
    style: Mapping[str, Any] = STYLE,
) -> dict[str, bytes]:
    """Return a drawing as ``svg`` and ``png`` in this module's style, the same bytes for the same drawing."""
    images = {}
    with matplotlib.style.context(dict(style), after_reset=True):
        drawing = drawn()
        for form in forms:
            buffer = io.BytesIO()
            drawing.savefig(buffer, format=form, metadata=_METADATA[form])
            images[form] = buffer.getvalue()
    return images


def add_note(drawing: Drawing, note: str) -> None:
    """Put a note below the frames."""
    text = textwrap.fill(note, int(drawing.get_figwidth() * NOTE_CHARACTERS_PER_INCH))
    drawing.supxlabel(text, x=0.01, horizontalalignment="left", fontsize=NOTE_SIZE)


def draw(figure: Figure) -> Drawing:
    """Draw a figure that has at least one panel."""
    kind = figure.panels[0].kind
    labels = dict.fromkeys(label for panel in figure.panels for label in panel.series)
    styles = dict(zip(labels, cycle(STYLES), strict=False))
    n_columns = min(_MOST_COLUMNS[kind], len(figure.panels))
    n_rows = -(-len(figure.panels) // n_columns)
    drawing = Drawing(figsize=_size(kind, n_rows, n_columns, len(labels)), layout="constrained")
    axes = drawing.subplots(n_rows, n_columns, squeeze=False)
    for panel, ax in zip(figure.panels, axes.flat, strict=False):
        if kind == "curves":
            _draw_curves(panel, figure, ax, styles)
        else:
            {"points": _draw_points, "scatter": _draw_scatter, "images": _draw_images}[kind](panel, ax, styles)
    for ax in axes.flat[len(figure.panels) :]:
        ax.remove()
    if kind == "curves":
        _align(figure, drawing)
    _add_legend(figure, drawing)
    spreads = {"curves": " Bands: 95 % interval of the mean.", "points": " Bars: 95 % interval of the mean."}
    add_note(drawing, f"{figure.basis}{spreads.get(kind, '')} {figure.note}")
    # The layout takes the most time: compute it once for all formats.
    drawing.draw_without_rendering()
    drawing.set_layout_engine(None)
    return drawing


_MOST_COLUMNS: Mapping[Kind, int] = {"curves": 2, "points": 3, "scatter": 3, "images": 1}


def _size(kind: Kind, n_rows: int, n_columns: int, n_labels: int) -> tuple[float, float]:
    """Return width and height in inches: a single frame fills a column of text, several fill the page."""
    if kind == "points":
        n_lines = -(-n_labels // POINT_ENTRIES_PER_LINE)
        return max(5.6, 3.2 * n_columns), 3.2 * n_rows + 0.9 + 0.2 * n_lines
    if kind == "scatter":
        return max(5.6, 3.0 * n_columns), 3.0 * n_rows + 1.2
    if kind == "images":
        return 5.6, 0.85 * n_rows + 1.0
    return (5.6, 4.2) if n_columns == 1 else (7.4, 2.6 * n_rows + 1.2)


def _draw_curves(panel: Panel, figure: Figure, ax: Axes, styles: Mapping[str, Style]) -> None:
    n_steps = int(panel.data["step"].max()) + 1
    for position, (label, curve) in enumerate(panel.series.items()):
        style = styles[label]
        # Staggered markers, so that none hides another where curves meet.
        gap = max(1, min(n_steps // 8, len(curve) // 2))
        ax.fill_between(curve["step"], curve["low"], curve["high"], color=style.colour, alpha=0.15, linewidth=0.0)
        ax.plot(
            curve["step"],
            curve["mean"],
            label=label,
            color=style.colour,
            linestyle=style.dashes,
            marker=style.marker,
            fillstyle=style.fill,
            markevery=slice(gap * position // len(panel.series), None, gap),
            clip_on=False,
        )
    if figure.y_linear_to is not None and "removed" in panel.data:
        _mark_removals(panel, figure.y_linear_to, ax, styles)
    ax.set(title=panel.title, xlabel=figure.x_label)
    if figure.x_linear_to is None:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        ax.set_xscale("symlog", linthresh=figure.x_linear_to, linscale=1.2, base=2)
        ax.set_xticks([step for step in _LANDMARKS if step < n_steps])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(PLAIN)
    ax.set_xlim(0, max(1, n_steps - 1))


def _mark_removals(panel: Panel, y_linear_to: float, ax: Axes, styles: Mapping[str, Style]) -> None:
    """Mark the step at which half of the repeats have removed an estimate; marks of the same step are stacked."""
    marked = Counter[int]()
    for label, curve in panel.series.items():
        gone = curve["step"][curve["removed"] >= 0.5]
        if len(gone):
            step, style = int(gone.iloc[0]), styles[label]
            height = y_linear_to * marked[step] / len(panel.series)
            fill = style.colour if style.fill == "full" else "white"
            ax.plot(step, height, style.marker, color=style.colour, markerfacecolor=fill, clip_on=False, zorder=4)
            marked[step] += 1


def _draw_points(panel: Panel, ax: Axes, styles: Mapping[str, Style]) -> None:
    for label, points in panel.series.items():
        ax.errorbar(
            points["published"],
            points["mean"],
            np.nan_to_num([points["mean"] - points["low"], points["high"] - points["mean"]]),
            label=label,
            linestyle="none",
            elinewidth=0.8,
            color=styles[label].colour,
            marker=styles[label].marker,
            fillstyle="none",
        )
    values = panel.data[["published", "mean"]].to_numpy()
    positive = values[values > 0.0]
    ends = positive.min() / 1.25, positive.max() * 1.25
    ax.plot(ends, ends, color="0.4", linewidth=0.8, zorder=1)
    ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal", title=panel.title)
    ax.set(xlabel=panel.x_label, ylabel=panel.y_label)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(PLAIN)


def _draw_scatter(panel: Panel, ax: Axes, styles: Mapping[str, Style]) -> None:
    for label, points in panel.series.items():
        style = styles[label]
        ax.plot(
            points["x"],
            points["y"],
            style.marker,
            label=label,
            color=style.colour,
            fillstyle=style.fill,
            markersize=3.5,
            markeredgewidth=0.8,
        )
    ax.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    if panel.scale == "equal":
        ax.set_aspect("equal", adjustable="datalim")
    elif panel.scale == "share":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_ylim(0.0, 1.0)


def _draw_images(panel: Panel, ax: Axes, _: object) -> None:
    """Draw a row of images on a common scale, dark where a value is large."""
    n, height, width = panel.data[["image", "row", "column"]].max() + 1
    images = np.full((height, n, width + 1), np.nan)  # the last column of each separates it from the next
    images[:, :, :width] = panel.data["value"].to_numpy().reshape(n, height, width).swapaxes(0, 1)
    ax.imshow(images.reshape(height, -1)[:, :-1], cmap="Greys", interpolation="nearest")
    ax.set_axis_off()
    ax.set_title(panel.title)


def _align(figure: Figure, drawing: Drawing) -> None:
    """Give panels of curves the same scale, with labels at the outer axes alone."""
    if figure.y_linear_to is not None:
        for ax in drawing.axes:
            ax.set_yscale("symlog", linthresh=figure.y_linear_to, linscale=0.5)
            ax.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=figure.y_linear_to, subs=(1, 2, 5)))
            ax.yaxis.set_major_formatter(PLAIN)
    top = max(ax.get_ylim()[1] for ax in drawing.axes) * (1.0 if figure.y_linear_to is None else 1.2)
    for ax in drawing.axes:
        # A margin below 0, so that curves at 0 can be seen.
        ax.set_ylim(-0.02 * top if figure.y_linear_to is None else -0.1 * figure.y_linear_to, top)
        ax.label_outer()
    if len(drawing.axes) == 1:
        drawing.axes[0].set_ylabel(figure.y_label)
    else:
        drawing.supylabel(figure.y_label, fontsize=STYLE["axes.labelsize"])


def _add_legend(figure: Figure, drawing: Drawing) -> None:
    """Put title and legend above the frames, where they hide no data."""
    entries: dict[str, Any] = {}
    for ax in drawing.axes:
        handles, labels = ax.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    of_curves = figure.panels[0].kind == "curves"
    drawing.legend(
        entries.values(),
        entries.keys(),
        title=f"{figure.figure}. {figure.title}",
        alignment="left",
        loc="outside upper left",
        ncols=max(1, min(len(entries), CURVE_ENTRIES_PER_LINE if of_curves else POINT_ENTRIES_PER_LINE)),
        handlelength=3.2 if of_curves else 1.0,
    )
