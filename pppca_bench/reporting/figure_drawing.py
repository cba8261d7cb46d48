"""Drawings of the figures and of critical-difference diagrams, written as SVG and PNG, with their numbers as CSV."""

from __future__ import annotations

import io
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Rectangle
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullLocator,
    SymmetricalLogLocator,
)

from pppca_bench.files import atomic_write
from pppca_bench.references.layout import RankingSpec
from pppca_bench.reporting.document import printed, ten_digits
from pppca_bench.reporting.escapes import to_csv
from pppca_bench.reporting.figure_data import Figure, Panel
from pppca_bench.reporting.pairs import ALPHA
from pppca_bench.reporting.ranking import Ranking

_TEMPLATES = Path(__file__).with_name("templates")
STYLE = _TEMPLATES / "figures.mplstyle"
"""Style sheet of all figures."""

PLAIN = FuncFormatter(lambda value, _: f"{value:g}")
_TICKS = (*range(0, 9), *(8 * 2**power for power in range(1, 12)))
"""Tick marks of an axis that is linear up to 8."""

_METADATA: Mapping[str, Mapping[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}
"""Metadata that are left out, by format: without date and version, equal drawings give equal bytes."""

POINT_ENTRIES_PER_LINE, CURVE_ENTRIES_PER_LINE = 4, 5
"""Number of entries per line of the legend."""

COLUMNS_PER_BAND = 20
"""Largest number of columns of grids side by side."""

SHADES = {
    "equivalent": ("#cfe8d5", "black"),
    "better": ("#7fb8e6", "black"),
    "worse": ("#8c2d04", "white"),
    "unclear": ("white", "black"),
}
"""Colours of the face and the text of a grid's cells by verdict; the faces differ in lightness."""


STYLES = tuple(
    matplotlib.rc_params_from_file(_TEMPLATES / "series.mplstyle", use_default_template=False)[
        "axes.prop_cycle"
    ]
)
"""Styles of curves and series, by Matplotlib's names; markers and lines differ for print without colours."""

Styles = Mapping[str, dict[str, Any]]

PAGE_STYLE = _TEMPLATES / "page.mplstyle"
"""Changes of the style for a web page: texts in its fonts instead of outlines."""

_TEXT_MARGIN = 0.01
"""Distance of names from the outermost ranks, in ranks."""


def write_figures(
    figures: Iterable[Figure], rankings: Iterable[tuple[RankingSpec, Ranking]], out_dir: Path
) -> list[Path]:
    """Write each figure that has panels, and the diagram of each ranking, as SVG, PNG and CSV; return the files.

    The same numbers give the same bytes. In the CSV the interval of a single repeat is empty. A missing folder is
    created.
    """
    drawings = [
        (figure.figure, to_images(draw, figure), figure.numbers())
        for figure in figures
        if figure.panels
    ]
    for spec, ranking in rankings:
        numbers = (
            ranking.errors.T.assign(mean_rank=ranking.mean_ranks)
            .rename_axis("method")
            .reset_index()
        )
        drawings.append((spec.id, to_images(draw_ranking, spec, ranking), numbers))
    paths = []
    for name, images, numbers in drawings:
        for extension, content in {
            **images,
            "csv": to_csv(numbers.map(ten_digits)).encode(),
        }.items():
            paths.append(out_dir / f"{name}.{extension}")
            atomic_write(paths[-1], content)
    return paths


def to_images(
    draw_it: Callable[..., Drawing], *numbers: object, for_page: bool = False
) -> dict[str, bytes]:
    """Return the drawing of `draw` or `draw_ranking` as ``svg`` and ``png``, the same bytes for the same numbers.

    For a web page only ``svg``, without a title, and with texts in the page's fonts instead of outlines.
    """
    images = {}
    with matplotlib.style.context([STYLE, PAGE_STYLE] if for_page else STYLE, after_reset=True):
        drawing = draw_it(*numbers, titled=not for_page)
        for form in ("svg",) if for_page else ("svg", "png"):
            buffer = io.BytesIO()
            drawing.savefig(buffer, format=form, metadata=_METADATA[form])
            images[form] = buffer.getvalue()
    return images


def draw(figure: Figure, *, titled: bool = True) -> Drawing:
    """Draw a figure that has at least one panel."""
    kind = figure.panels[0].kind
    labels = dict.fromkeys(label for panel in figure.panels for label in panel.series)
    styles = dict(zip(labels, cycle(STYLES), strict=False))
    n_columns = min({"curves": 2, "images": 1}.get(kind, 3), len(figure.panels))
    n_rows = -(-len(figure.panels) // n_columns)
    drawing = Drawing(
        figsize=_figure_size(kind, n_rows, n_columns, len(labels)), layout="constrained"
    )
    if kind == "grid":
        axes = _place_grids(drawing, figure.panels)
    else:
        axes = list(drawing.subplots(n_rows, n_columns, squeeze=False).flat)
    for panel, ax in zip(figure.panels, axes, strict=False):
        ax.set_title(panel.title)
        _DRAW[kind](panel, ax, styles, figure)
    for ax in drawing.axes[len(figure.panels) :]:
        ax.remove()
    if kind == "curves":
        _align(figure, drawing)
    _add_legend(
        drawing, f"{figure.figure}. {figure.title}" if titled else "", is_wide=kind == "curves"
    )
    basis = "One run of each method and setting."
    if spread := {"curves": "Bands", "points": "Bars"}.get(kind):
        basis = f"Mean of {figure.repeats}. {spread}: 95 % interval of the mean."
    _add_note(drawing, f"{figure.basis or basis} {figure.note}")
    # The layout takes most of the time: compute it once for all formats.
    drawing.draw_without_rendering()
    drawing.set_layout_engine(None)
    return drawing


def _add_note(drawing: Drawing, note: str) -> None:
    """Put a note below the frames, at 16 characters per inch."""
    text = textwrap.fill(note, int(drawing.get_figwidth() * 16))
    drawing.supxlabel(text, x=0.01, horizontalalignment="left", fontsize=8)


def _figure_size(kind: str, n_rows: int, n_columns: int, n_labels: int) -> tuple[float, float]:
    """Return a figure's width and height in inches, by the kind of its panels and their grid.

    A single panel fills a column of text, several fill the page; the legend has ``n_labels`` entries.
    """
    if kind == "points":
        n_lines = -(-n_labels // POINT_ENTRIES_PER_LINE)
        return max(5.6, 3.2 * n_columns), 3.2 * n_rows + 0.9 + 0.2 * n_lines
    if kind == "scatter":
        return max(5.6, 3.0 * n_columns), 3.0 * n_rows + 1.2
    if kind == "images":
        return 5.6, 0.85 * n_rows + 1.0
    return (5.6, 4.2) if n_columns == 1 else (7.4, 2.6 * n_rows + 1.2)


def _draw_curves(panel: Panel, ax: Axes, styles: Styles, figure: Figure) -> None:
    n_steps = int(panel.data["step"].max()) + 1
    for position, (label, curve) in enumerate(panel.series.items()):
        style = styles[label]
        # Staggered markers do not hide each other where curves meet.
        gap = max(1, min(n_steps // 8, len(curve) // 2))
        markers = slice(gap * position // len(panel.series), None, gap)
        ax.fill_between(
            curve["step"],
            curve["low"],
            curve["high"],
            color=style["color"],
            alpha=0.15,
            linewidth=0.0,
        )
        ax.plot(
            curve["step"], curve["mean"], label=label, **style, markevery=markers, clip_on=False
        )
    if figure.y_linear_to is not None and "removed" in panel.data:
        _mark_removals(panel, figure.y_linear_to, ax, styles)
    ax.set_xlabel(figure.x_label)
    if figure.x_linear_to is None:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        ax.set_xscale("symlog", linthresh=figure.x_linear_to, linscale=1.2, base=2)
        ax.set_xticks([step for step in _TICKS if step < n_steps])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(PLAIN)
    ax.set_xlim(0, max(1, n_steps - 1))


def _mark_removals(panel: Panel, y_linear_to: float, ax: Axes, styles: Styles) -> None:
    """Mark the step at which half of the repeats have removed an estimate; marks of the same step are stacked."""
    marked = Counter[int]()
    for label, curve in panel.series.items():
        gone = curve["step"][curve["removed"] >= 0.5]
        if len(gone):
            step, style = int(gone.iloc[0]), styles[label]
            height = y_linear_to * marked[step] / len(panel.series)
            fill = style["color"] if style["fillstyle"] == "full" else "white"
            ax.plot(
                step,
                height,
                style["marker"],
                color=style["color"],
                markerfacecolor=fill,
                clip_on=False,
                zorder=4,
            )
            marked[step] += 1


def _draw_points(panel: Panel, ax: Axes, styles: Styles, _: Figure) -> None:
    for label, points in panel.series.items():
        bars = np.nan_to_num([points["mean"] - points["low"], points["high"] - points["mean"]])
        style = {**styles[label], "linestyle": "none", "fillstyle": "none"}
        ax.errorbar(points["published"], points["mean"], bars, label=label, elinewidth=0.8, **style)
    values = panel.data[["published", "mean"]].to_numpy()
    positive = values[values > 0.0]
    ends = positive.min() / 1.25, positive.max() * 1.25
    ax.plot(ends, ends, color="0.4", linewidth=0.8, zorder=1)
    ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
    ax.set(xlabel=panel.x_label, ylabel=panel.y_label)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(PLAIN)


def _draw_scatter(panel: Panel, ax: Axes, styles: Styles, _: Figure) -> None:
    for label, points in panel.series.items():
        style = {**styles[label], "linestyle": "none"}
        ax.plot(points["x"], points["y"], label=label, **style, markersize=3.5, markeredgewidth=0.8)
    ax.set(xlabel=panel.x_label, ylabel=panel.y_label)
    if panel.scale == "equal":
        ax.set_aspect("equal", adjustable="datalim")
    elif panel.scale == "share":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_ylim(0.0, 1.0)


def _draw_images(panel: Panel, ax: Axes, _styles: Styles, _: Figure) -> None:
    """Draw a row of images on a common scale; dark pixels have large values."""
    n, height, width = panel.data[["image", "row", "column"]].max() + 1
    # the last column of each separates it from the next
    images = np.full((height, n, width + 1), np.nan)
    images[:, :, :width] = panel.data["value"].to_numpy().reshape(n, height, width).swapaxes(0, 1)
    ax.imshow(images.reshape(height, -1)[:, :-1], cmap="Greys", interpolation="nearest")
    ax.set_axis_off()


def _place_grids(drawing: Drawing, panels: Sequence[Panel]) -> list[Axes]:
    """Place grids side by side in bands, each as wide as its columns, and give the drawing their size."""
    bands = list[list[int]]([[]])
    for index, panel in enumerate(panels):
        n_columns = panel.data["column"].nunique()
        if bands[-1] and len(bands[-1]) + n_columns > COLUMNS_PER_BAND:
            bands.append([])
        bands[-1] += [index] * n_columns
    n_columns = max(map(len, bands))
    n_rows = panels[0].data["data_set"].nunique()
    drawing.set_size_inches(1.6 + 0.36 * n_columns, 1.0 + len(bands) * (1.6 + 0.17 * n_rows))
    mosaic: list[Any] = [band + [-1] * (n_columns - len(band)) for band in bands]
    axes = drawing.subplot_mosaic(mosaic, empty_sentinel=-1)
    for index, ax in axes.items():
        ax.tick_params(labelleft=index in [band[0] for band in bands])
    return [axes[index] for index in range(len(panels))]


def _draw_grid(panel: Panel, ax: Axes, _styles: Styles, _: Figure) -> None:
    """Draw a row for each data set and a column for each comparison: losses, shaded by their verdicts."""
    columns, rows = (list(dict.fromkeys(panel.data[name])) for name in ("column", "data_set"))
    for cell in panel.data.to_dict("records"):
        x, y = columns.index(cell["column"]), rows.index(cell["data_set"])
        face, ink = SHADES[cell["verdict"]]
        ax.add_patch(
            Rectangle((x - 0.5, y - 0.5), 1.0, 1.0, facecolor=face, edgecolor="0.8", linewidth=0.4)
        )
        loss = printed(cell["loss"], "+.1f")
        ax.text(
            x,
            y,
            f"({loss})" if cell["is_apart"] else loss,
            color=ink,
            fontsize=5.5,
            ha="center",
            va="center",
        )
    for verdict, shade in SHADES.items():
        ax.plot([], [], "s", color=shade[0], markeredgecolor="0.5", label=verdict)
    ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    ax.set_xticks(
        range(len(columns)), [textwrap.fill(name, 24) for name in columns], rotation=90, fontsize=6
    )
    ax.set_yticks(range(len(rows)), rows, fontsize=7)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.set_title(textwrap.fill(panel.title, 12 + len(columns)))


_DRAW: Mapping[str, Callable[[Panel, Axes, Styles, Figure], None]] = {
    "curves": _draw_curves,
    "points": _draw_points,
    "scatter": _draw_scatter,
    "images": _draw_images,
    "grid": _draw_grid,
}


def _align(figure: Figure, drawing: Drawing) -> None:
    """Give panels of curves the same scale, with labels at the outer axes alone."""
    if figure.y_linear_to is not None:
        for ax in drawing.axes:
            ax.set_yscale("symlog", linthresh=figure.y_linear_to, linscale=0.5)
            ax.yaxis.set_major_locator(
                SymmetricalLogLocator(base=10, linthresh=figure.y_linear_to, subs=(1, 2, 5))
            )
            ax.yaxis.set_major_formatter(PLAIN)
    top = max(ax.get_ylim()[1] for ax in drawing.axes) * (
        1.0 if figure.y_linear_to is None else 1.2
    )
    for ax in drawing.axes:
        # The margin below 0 keeps curves at 0 visible.
        ax.set_ylim(-0.02 * top if figure.y_linear_to is None else -0.1 * figure.y_linear_to, top)
        ax.label_outer()
    if len(drawing.axes) == 1:
        drawing.axes[0].set_ylabel(figure.y_label)
    else:
        drawing.supylabel(figure.y_label, fontsize=matplotlib.rcParams["axes.labelsize"])


def _add_legend(drawing: Drawing, title: str, *, is_wide: bool) -> None:
    """Put title and legend above the frames; the entries of curves have long lines."""
    entries: dict[str, Any] = {}
    for ax in drawing.axes:
        handles, labels = ax.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    drawing.legend(
        entries.values(),
        entries.keys(),
        title=title,
        alignment="left",
        loc="outside upper left",
        ncols=max(
            1, min(len(entries), CURVE_ENTRIES_PER_LINE if is_wide else POINT_ENTRIES_PER_LINE)
        ),
        handlelength=3.2 if is_wide else 1.0,
    )


def draw_ranking(spec: RankingSpec, ranking: Ranking, *, titled: bool = True) -> Drawing:
    """Draw a critical-difference diagram (Demšar 2006, figure 1)."""
    longest = max(len(str(method)) for method in ranking.errors)
    # names on both sides
    size = (max(7.4, 3.4 + 0.16 * longest), 1.7 + 0.16 * len(ranking.mean_ranks))
    drawing = Drawing(figsize=size, layout="constrained")
    ax = drawing.subplots()
    ax.grid(visible=False)
    ax.yaxis.set_visible(False)
    ax.xaxis.set_ticks_position("top")
    ax.spines[["left", "right", "bottom"]].set_visible(False)
    ax.spines["top"].set_visible(True)
    ax.spines["top"].set_position("zero")
    _name_methods(ax, ranking, below=_draw_bars(ax, ranking))
    if titled:
        drawing.suptitle(
            f"{spec.id}. {spec.title}", x=0.01, horizontalalignment="left", fontsize=10
        )
    permutations = (
        f" ({ranking.n_problems} problems)" if ranking.n_problems > len(ranking.errors) else ""
    )
    note = (
        f"Mean ranks over {len(ranking.errors)} data sets{permutations}; rank 1 has the least error. Methods joined by"
        f" a bar do not differ by Nemenyi's test (α = {ALPHA}, critical difference {ranking.critical_difference:.2f})."
    )
    _add_note(drawing, note)
    return drawing


def cliques(ranking: Ranking) -> list[tuple[int, int]]:
    """Return the first and last place of each clique: a longest series of methods that do not differ by Nemenyi's test.

    p decreases with the distance of two mean ranks: if the ends of a series do not differ, no two of its methods do.
    """
    p_values = ranking.nemenyi.loc[ranking.mean_ranks.index, ranking.mean_ranks.index].to_numpy()
    series: list[tuple[int, int]] = []
    for first, row in enumerate(p_values):
        last = max(index for index, p in enumerate(row) if p >= ALPHA)
        if last > first and (not series or last > series[-1][1]):
            series.append((first, last))
    return series


def _draw_bars(ax: Axes, ranking: Ranking) -> int:
    """Draw a bar over each of the `cliques`, on as few levels as possible; return the lowest level."""
    ranks = ranking.mean_ranks.to_numpy()
    level_ends: list[float] = []
    for first, last in cliques(ranking):
        free = (level for level, end in enumerate(level_ends) if end < ranks[first])
        level = next(free, len(level_ends))
        level_ends[level : level + 1] = [ranks[last]]
        ax.plot(ranks[[first, last]], [-level - 1] * 2, color="black", linewidth=2, zorder=3)
    return -len(level_ends)


def _name_methods(ax: Axes, ranking: Ranking, below: int) -> None:
    """Mark the mean ranks, and draw a line from each to its name; the better half is on the left, the rest right."""
    ranks = ranking.mean_ranks
    n_left = (len(ranks) + 1) // 2
    ax.plot(
        ranks, np.zeros(len(ranks)), "o", color="black", markersize=4.5, zorder=3, clip_on=False
    )
    left = ranks.iloc[0] - _TEXT_MARGIN, "right", "{} ({:.2f}) ", ranks[:n_left]
    right = ranks.iloc[-1] + _TEXT_MARGIN, "left", " ({1:.2f}) {0}", ranks[: n_left - 1 : -1]
    for x, alignment, text, named in (left, right):
        for y, (method, rank) in zip(
            range(below - 1, below - 1 - len(named), -1), named.items(), strict=True
        ):
            ax.plot([x, rank, rank], [y, y, 0.0], color="black")
            ax.text(x, y, text.format(method, rank), va="center", ha=alignment)
