"""Drawings of the figures and of critical-difference diagrams, written as SVG and PNG, with their numbers as CSV."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullLocator,
    SymmetricalLogLocator,
)

from pppca_bench.files import atomic_write
from pppca_bench.pages.document import printed, ten_digits
from pppca_bench.pages.escapes import to_csv
from pppca_bench.pages.figure_data import Figure, Panel
from pppca_bench.pages.means_drawing import draw_means, place_means
from pppca_bench.references.layout import RankingSpec
from pppca_bench.verdicts.pairs import ALPHA
from pppca_bench.verdicts.ranking import Ranking

STYLE = Path(__file__).with_name("templates") / "figures.mplstyle"
"""Style sheet of all figures."""

STYLES = tuple(matplotlib.rc_params_from_file(STYLE, use_default_template=False)["axes.prop_cycle"])
"""Styles of curves and series, by Matplotlib's names; markers and lines differ for print without colours."""

Styles = Mapping[str, dict[str, Any]]

COLUMN, PAGE = 3.5, 7.2
"""Widths of figures in inches: a column of text, and a page."""

PLAIN = FuncFormatter(lambda value, _: f"{value:,g}")

_METADATA: Mapping[str, Mapping[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}
"""Metadata that are left out, by format: without date and version, equal drawings give equal bytes."""

N_NAMED = 2
"""Largest number of points that are named at each end of their order."""

ONE_CURVE = 0.02
"""Largest relative difference of curves of a component that are drawn as one, less than the width of a line."""

_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

COLUMNS_PER_BAND = 20
"""Largest number of columns of grids side by side."""

SHADES = {
    "equivalent": ("#cfe8d5", "#111111"),
    "better": ("#7fb8e6", "#111111"),
    "worse": ("#8c2d04", "#ffffff"),
    "unclear": ("none", "black"),
}
"""Colours of the face and the text of a grid's cells by verdict; the faces differ in lightness."""

_TEXT_MARGIN = 0.01
"""Distance of names from the outermost ranks, in ranks."""


def write_figures(
    figures: Iterable[Figure], rankings: Iterable[tuple[RankingSpec, Ranking]], out_dir: Path
) -> list[Path]:
    """Write each figure that has panels, and the diagram of each ranking, as `write_drawings` does."""
    drawings = []
    for figure in figures:
        if figure.panels:
            drawings.append((figure.figure, to_images(draw, figure), figure.numbers()))
    for spec, ranking in rankings:
        numbers = ranking.errors.T.assign(mean_rank=ranking.mean_ranks).rename_axis("method")
        drawings.append((spec.id, to_images(draw_ranking, spec, ranking), numbers.reset_index()))
    return write_drawings(drawings, out_dir)


def write_drawings(
    drawings: Iterable[tuple[str, Mapping[str, bytes], pd.DataFrame]], out_dir: Path
) -> list[Path]:
    """Write drawings, each with its name, `to_images` and numbers, as SVG, PNG and CSV; return the files.

    The same numbers give the same bytes. In the CSV the interval of a single repeat is empty. A missing folder is
    created.
    """
    paths = []
    for name, images, numbers in drawings:
        files = {**images, "csv": to_csv(numbers.map(ten_digits)).encode()}
        for extension, content in files.items():
            paths.append(out_dir / f"{name}.{extension}")
            atomic_write(paths[-1], content)
    return paths


def to_images(
    draw_it: Callable[..., Drawing], *numbers: object, for_page: bool = False
) -> dict[str, bytes]:
    """Return the drawing of `draw` or `draw_ranking` as ``svg`` and ``png``, the same bytes for the same numbers.

    For a web page only ``svg``, without title and background.
    """
    images = {}
    with matplotlib.style.context(STYLE, after_reset=True):
        drawing = draw_it(*numbers, titled=not for_page)
        for form in ("svg",) if for_page else ("svg", "png"):
            buffer = io.BytesIO()
            drawing.savefig(buffer, format=form, metadata=_METADATA[form], transparent=for_page)
            images[form] = buffer.getvalue()
    return images


def draw(figure: Figure, *, titled: bool = True) -> Drawing:
    """Draw a figure that has at least one panel."""
    kind, n_panels = figure.panels[0].kind, len(figure.panels)
    labels = dict[str, None]()
    for panel in figure.panels:
        labels |= dict.fromkeys(panel.series)
    styles = dict(zip(labels, cycle(STYLES), strict=False))
    n_columns = 3
    if kind == "curves":
        n_columns = 4 if n_panels < 10 else 5
    n_columns = min(n_columns, n_panels)
    n_rows = -(-n_panels // n_columns)
    basis = ""
    if spread := {"curves": "Bands", "points": "Bars", "means": "Bars"}.get(kind):
        basis = f"Mean of {figure.repeats}. {spread}: 95 % interval of the mean."
    if "component" in figure.panels[0].data and len(labels) > 1:
        basis = f"{basis[:-1]} of the first curve; the others are drawn where they differ from it."
    width, height = _panel_size(figure, n_rows, n_columns)
    drawing = Drawing(figsize=(width * n_columns, height * n_rows), layout="constrained")
    if kind == "grid":
        axes = _place_grids(drawing, figure.panels)
    elif kind == "means":
        axes = place_means(drawing, figure.panels, PAGE)
    else:
        axes = list(drawing.subplots(n_rows, n_columns, squeeze=False, sharey=True).flat)
    for panel, title, ax in zip(figure.panels, _titles(figure.panels), axes, strict=False):
        ax.set_title("\n".join(_lines(title, width - 0.4)))
        _DRAW[kind](panel, ax, styles, figure)
    for ax in drawing.axes[n_panels:]:
        ax.remove()
    if kind in ("curves", "points"):
        _align(figure, drawing, n_columns)
    _add_legend(drawing, f"{figure.figure}. {figure.title}" if titled else "")
    _add_note(drawing, f"{figure.basis or basis} {figure.note}".lstrip())
    # The layout takes most of the time: compute it once for all formats.
    drawing.draw_without_rendering()
    drawing.set_layout_engine(None)
    if kind == "curves":
        for ax in drawing.axes:
            _separate_labels(ax)
    return drawing


def _titles(panels: Sequence[Panel]) -> list[str]:
    """Return the titles of panels, data sets without their source where their names alone differ."""
    titles = [panel.title for panel in panels]
    names = [re.sub(r"^\w+:\b", "", title) for title in titles]
    return names if len(set(names)) == len(set(titles)) else titles


def _lines(text: str, width: float) -> list[str]:
    """Return the lines of a text of 7 to 8 points in a width in inches; numbers stay beside their signs and units."""
    for sign in (" = ", " %", " ÷ "):
        text = text.replace(sign, sign.replace(" ", "\u00a0"))
    return textwrap.wrap(text, int(15.5 * width), break_on_hyphens=False)


def _add_note(drawing: Drawing, note: str) -> None:
    """Put a note below the frames, and make room for it."""
    width, height = drawing.get_size_inches()
    lines = _lines(note, 1.1 * width)
    drawing.set_size_inches(width, height + 0.6 + 0.12 * len(lines))
    drawing.supxlabel("\n".join(lines), x=0.01, horizontalalignment="left", fontsize=7)


def _panel_size(figure: Figure, n_rows: int, n_columns: int) -> tuple[float, float]:
    """Return a panel's width and height in inches, by its kind and the grid of the panels."""
    width = (COLUMN if n_columns == 1 else PAGE) / n_columns
    if figure.panels[0].kind != "curves":
        return width, 2.4
    alone = 2.2 if figure.y_linear_to is None else 3.2
    return width, {1: alone, 2: 1.3}.get(n_rows, 1.1)


def _label(ax: Axes, text: str, x: float, y: float, *, left: bool = False, **style: Any) -> None:
    """Write a text to the right or left of a point; see `_separate_labels`."""
    side, offset = "left", (4.0, 0.0)
    if left:
        side, offset = "right", (-4.0, 0.0)
    style |= {"ha": side, "va": "center", "annotation_clip": False}
    ax.annotate(text, (x, y), offset, textcoords="offset points", **style)


def _separate_labels(ax: Axes) -> None:
    """Move labels that overlap apart: down to the right of their points, up to the left of them."""
    scale = 72.0 / ax.figure.dpi
    for side, sign in (("left", -1.0), ("right", 1.0)):
        texts = [
            text
            for text in ax.texts
            if isinstance(text, Annotation) and text.get_horizontalalignment() == side
        ]
        points, wanted = [], []
        for text in texts:
            points.append(sign * scale * ax.transData.transform(text.xy)[1])
            wanted.append(points[-1] + sign * text.get_position()[1])
        free = -np.inf
        for index in np.argsort(wanted, kind="stable"):
            text, height = texts[index], max(wanted[index], free)
            text.set_position((text.get_position()[0], sign * (height - points[index])))
            free = height + 1.1 * text.get_fontsize()


def _draw_curves(panel: Panel, ax: Axes, styles: Styles, figure: Figure) -> None:
    is_numbered, is_alone = "component" in panel.data, len(figure.panels) == 1
    first, last = panel.data["step"].min(), panel.data["step"].max()
    of_first: dict[object, pd.Series] = {}
    for label, curves in panel.series.items():
        style = {**styles[label], "marker": ""}
        color = style["color"]
        for component, curve in curves.groupby("component" if is_numbered else "curve"):
            step, mean = curve["step"], curve.set_index("step")["mean"]
            if component in of_first:
                apart = _apart(mean, of_first[component], figure.y_linear_to)
                ax.plot(step, mean.where(apart), label=label, **style)
                continue
            ax.fill_between(step, curve["low"], curve["high"], color=color, alpha=0.15, lw=0.0)
            ax.plot(step, mean, label=label, **style)
            if is_numbered:
                of_first[component] = mean
                _label(ax, str(component), first, mean.iloc[0], left=True)
            elif is_alone:
                _label(ax, label, last, mean.iloc[-1], color=color)
    ax.set_xlabel(figure.x_label)
    if figure.x_linear_to is None:
        ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        room = 0.06 * (last - first)
    else:
        base = 2 if last < 1000 else 10
        ticks = [base**power for power in range(24) if first <= base**power <= last]
        ax.set_xscale("symlog", linthresh=figure.x_linear_to, linscale=1.2, base=2)
        shown = [first, *ticks] if is_numbered else ticks[::2]
        ax.set_xticks(shown, [_power(tick) for tick in shown])
        ax.xaxis.set_minor_locator(NullLocator())
        room = 0.8
    ax.set_xlim(first - room * is_numbered, max(first + 1, last))


def _apart(mean: pd.Series, other: pd.Series, linear_to: float | None) -> pd.Series:
    """Return at which steps a curve differs visibly from another curve, or does so at the next or last step."""
    least = max(mean.max(), other.max()) if linear_to is None else linear_to
    other = other.reindex(mean.index)
    # the other curve has no number after its end
    apart = ~((mean - other).abs() <= ONE_CURVE * other.abs().clip(lower=least))
    return apart | apart.shift(1, fill_value=False) | apart.shift(-1, fill_value=False)


def _power(tick: int) -> str:
    """Return the label of a tick: from 1,000 on, ticks are powers of ten."""
    return str(tick) if tick < 1000 else f"10{str(len(str(tick)) - 1).translate(_SUPERSCRIPTS)}"


def _draw_points(panel: Panel, ax: Axes, styles: Styles, figure: Figure) -> None:
    """Draw ratios to the published numbers in their order, over the margin, and name the outermost."""
    names = ["mean", "low", "high", "margin_low", "margin_high"]
    data = panel.data.assign(**panel.data[names].div(panel.data["published"], axis=0))
    data = data.sort_values("mean", kind="stable").assign(rank=1 + np.arange(len(data)))
    margin = data["margin_low"], data["margin_high"]
    ax.fill_between(data["rank"], *margin, step="mid", color="black", alpha=0.15, linewidth=0.0)
    ax.axhline(1.0, color="black", linewidth=0.6)
    for label in panel.series:
        in_series = data[data["series"] == label]
        bars = np.nan_to_num(
            [in_series["mean"] - in_series["low"], in_series["high"] - in_series["mean"]]
        )
        style = {**styles[label], "linestyle": "none", "fillstyle": "none"}
        ax.errorbar(
            in_series["rank"], in_series["mean"], bars, label=label, elinewidth=0.5, **style
        )
    # A ratio of 0 has no place on a logarithmic axis.
    low, high = data.query("0 < mean < margin_low"), data.query("margin_high < mean < inf")
    # in the free corners below the first and above the last points
    for points, side, x, y, rise in (
        (low[:N_NAMED], "left", 0.12, 0.04, 0.06),
        (high[: -N_NAMED - 1 : -1], "right", 0.88, 0.96, -0.06),
    ):
        for index, point in enumerate(points.to_dict("records")):
            color = styles[point["series"]]["color"]
            leader = {"arrowstyle": "-", "color": color, "lw": 0.4, "relpos": (x > 0.5, 0.5)}
            ax.annotate(
                point["label"],
                (point["rank"], point["mean"]),
                (x, y + index * rise),
                textcoords="axes fraction",
                arrowprops={**leader, "shrinkA": 0.0, "shrinkB": 2.5},
                color=color,
                ha=side,
                va="center",
            )
    ax.set_xlabel(figure.x_label)
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(PLAIN)


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
    # Titles and names of columns need room beside few columns and above few rows.
    width, height = max(1.2 + 0.3 * n_columns, 3.6), 1.6 + max(0.17 * n_rows, 2.2)
    drawing.set_size_inches(width, len(bands) * height)
    mosaic: list[Any] = [band + [-1] * (n_columns - len(band)) for band in bands]
    axes = drawing.subplot_mosaic(mosaic, empty_sentinel=-1)
    for index, ax in axes.items():
        ax.tick_params(labelleft=index in [band[0] for band in bands])
    return [axes[index] for index in range(len(panels))]


def _draw_grid(panel: Panel, ax: Axes, _styles: Styles, _: Figure) -> None:
    """Draw a row for each data set and a column for each comparison: losses, shaded by their verdicts."""
    x, columns = pd.factorize(panel.data["column"])
    y, rows = pd.factorize(panel.data["data_set"])
    for cell in panel.data.assign(x=x, y=y).to_dict("records"):
        face, ink = SHADES[cell["verdict"]]
        frame: dict[str, Any] = {"facecolor": face, "edgecolor": "0.8", "linewidth": 0.4}
        ax.add_patch(Rectangle((cell["x"] - 0.5, cell["y"] - 0.5), 1.0, 1.0, **frame))
        loss = printed(cell["loss"], "+.1f" if abs(cell["loss"]) < 9.95 else "+.0f")
        style = "italic" if cell["is_apart"] else "normal"
        ax.text(cell["x"], cell["y"], loss, color=ink, style=style, ha="center", va="center")
    for verdict, shade in SHADES.items():
        ax.plot(
            [], [], "s", mfc=shade[0], mec="black", mew=0.5, ms=5.0, fillstyle="full", label=verdict
        )
    ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    ax.set_xticks(range(len(columns)), [textwrap.fill(name, 34) for name in columns], rotation=90)
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.set_title(textwrap.fill(panel.title, 12 + len(columns)))


_DRAW: Mapping[str, Callable[[Panel, Axes, Styles, Figure], None]] = {
    "curves": _draw_curves,
    "points": _draw_points,
    "grid": _draw_grid,
    "means": draw_means,
}


def _align(figure: Figure, drawing: Drawing, n_columns: int) -> None:
    """Give panels the scale of all means, a single panel that of its bands, with labels at the outer axes alone."""
    axes, data = drawing.axes, pd.concat([panel.data for panel in figure.panels])
    ends = ["mean", "low", "high"] if len(axes) == 1 else ["mean"]
    low, high = data[ends].min().min(), data[ends].max().max()
    if figure.panels[0].kind == "points":
        ratios = data["mean"] / data["published"]
        known = [1.0, *ratios[(ratios > 0.0) & (data["published"] > 0.0)]]
        low, high = 0.7 * min(known), 1.4 * max(known)
    elif figure.y_linear_to is not None:
        subs = (1, 2, 5) if high < 300 * figure.y_linear_to else (1,)
        locator = SymmetricalLogLocator(base=10, linthresh=figure.y_linear_to, subs=subs)
        for ax in axes:
            ax.set_yscale("symlog", linthresh=figure.y_linear_to, linscale=0.5)
            ax.yaxis.set_major_locator(locator)
            ax.yaxis.set_major_formatter(PLAIN)
        low, high = low if low > 0.0 else -0.1 * figure.y_linear_to, 1.2 * high
    else:
        low = low if low > 0.5 * high else 0.0
        room = 0.03 * (high - low or 1.0)
        low, high = low - room, high + room
    axes[0].set_ylim(low, high)
    for index, ax in enumerate(axes):
        ax.tick_params(labelleft=index % n_columns == 0)
        # a label above a free place would push the last row down
        if index // n_columns < (len(axes) - 1) // n_columns:
            ax.set_xlabel("")
        if index < len(axes) - n_columns:
            ax.tick_params(labelbottom=False)
    if len(axes) > n_columns:
        drawing.supylabel(figure.y_label, fontsize=matplotlib.rcParams["axes.labelsize"])
    else:
        axes[0].set_ylabel(figure.y_label)


def _add_legend(drawing: Drawing, title: str) -> None:
    """Put the title above the frames, and a legend of the series unless labels name them all."""
    entries: dict[str, Any] = {}
    for ax in drawing.axes:
        named = {text.get_text() for text in ax.texts}
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            if label and label not in named:
                entries[label] = handle
    width, sizes = drawing.get_figwidth(), [0.6 + 0.06 * len(label) for label in entries]
    n_columns = len(entries) if sum(sizes) < width else int(width / max(sizes))
    drawing.legend(
        entries.values(),
        entries.keys(),
        title="\n".join(_lines(title, width)),
        alignment="left",
        loc="outside upper left",
        ncols=max(1, n_columns),
    )


def draw_ranking(spec: RankingSpec, ranking: Ranking, *, titled: bool = True) -> Drawing:
    """Draw a critical-difference diagram (Demšar 2006, figure 1)."""
    longest = max(len(str(method)) for method in ranking.errors)
    # room for the names on both sides, and for a line of each
    size = max(PAGE, 3.0 + 0.13 * longest), 0.6 + 0.1 * len(ranking.mean_ranks)
    drawing = Drawing(figsize=size, layout="constrained")
    ax = drawing.subplots()
    ax.grid(visible=False)
    ax.yaxis.set_visible(False)
    ax.xaxis.set_ticks_position("top")
    ax.spines[["left", "right", "bottom"]].set_visible(False)
    ax.spines["top"].set_visible(True)
    ax.spines["top"].set_position("zero")
    lowest = _draw_bars(ax, ranking)
    _name_methods(ax, ranking, below=lowest)
    if titled:
        drawing.suptitle(f"{spec.id}. {spec.title}", x=0.01, horizontalalignment="left", fontsize=8)
    data_sets = f"{len(ranking.errors)} data sets"
    if ranking.n_problems > len(ranking.errors):
        data_sets += f" ({ranking.n_problems} problems)"
    note = (
        f"Mean ranks over {data_sets}; rank 1 has the least error. Methods joined by"
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
        last = int(np.flatnonzero(row >= ALPHA)[-1])
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
        ax.plot(ranks[[first, last]], [-level - 1] * 2, "-", marker="", color="black", linewidth=2)
    return -len(level_ends)


def _name_methods(ax: Axes, ranking: Ranking, below: int) -> None:
    """Mark the mean ranks, and draw a line from each to its name; the better half is on the left, the rest right."""
    ranks = ranking.mean_ranks
    n_left = (len(ranks) + 1) // 2
    ax.plot(ranks, np.zeros(len(ranks)), "o", color="black", fillstyle="full", clip_on=False)
    left = ranks.iloc[0] - _TEXT_MARGIN, "right", "{} ({:.2f}) ", ranks[:n_left]
    right = ranks.iloc[-1] + _TEXT_MARGIN, "left", " ({1:.2f}) {0}", ranks[: n_left - 1 : -1]
    for x, alignment, text, named in (left, right):
        for index, (method, rank) in enumerate(named.items(), 1):
            y = below - index
            ax.plot([x, rank, rank], [y, y, 0.0], "-", marker="", color="black", linewidth=0.8)
            ax.text(x, y, text.format(method, rank), va="center", ha=alignment)
