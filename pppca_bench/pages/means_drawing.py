"""Drawing of the figure of a table of means: a dot and an interval for each mean, beside the published number."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import MaxNLocator

from pppca_bench.pages.figure_data import Panel
from pppca_bench.quantities import described

PLACE_HEIGHT, PANEL_HEIGHT = 0.17, 0.62
"""Height of a place, and of the title and axis of a panel, in inches."""

MAX_CHARACTERS = 36
"""Largest number of characters of a line below a panel."""

OURS, PUBLISHED = "#1a7ac7", "#d55e00"


def place_means(drawing: Drawing, panels: Sequence[Panel], width: float) -> list[Axes]:
    """Place panels in lines, each as high as its panel with most places, and give the drawing its size.

    Lists of quantities, whose panels have the same places, stand three in a line; others two, a quantity in each.
    """
    n_columns = min(len(panels), 2 if any(panel.title for panel in panels) else 3)
    lines = [panels[start : start + n_columns] for start in range(0, len(panels), n_columns)]
    heights = []
    for line in lines:
        n_places = max(len(panel.data) for panel in line)
        heights.append(PANEL_HEIGHT + PLACE_HEIGHT * n_places)
    drawing.set_size_inches(width, sum(heights))
    ratios = {"height_ratios": heights}
    axes = drawing.subplots(len(lines), n_columns, squeeze=False, gridspec_kw=ratios)
    for line, line_axes in zip(lines, axes, strict=True):
        for left, right, ax in zip(line, line[1:], line_axes[1:], strict=False):
            same = list(left.data["place"]) == list(right.data["place"])
            ax.tick_params(labelleft=not same)
    return list(axes.flat)


def draw_means(panel: Panel, ax: Axes, *_: Any) -> None:
    """Draw our means with their intervals, and the published numbers over their margins, from top to bottom."""
    data, places = panel.data, np.arange(len(panel.data))
    published, quantity = data["published"], data["quantity"].iloc[0]
    if published.notna().any():
        margin = data["margin_low"], data["margin_high"]
        ax.hlines(places, *margin, color="black", alpha=0.15, linewidth=6.0)
        style: dict[str, Any] = {
            "color": PUBLISHED,
            "linestyle": "none",
            "markersize": 8.0,
            "markeredgewidth": 1.4,
        }
        ax.plot(published, places, marker="|", label="published", **style)
    bars = np.nan_to_num([data["mean"] - data["low"], data["high"] - data["mean"]])
    dots: dict[str, Any] = {"marker": "o", "color": OURS, "fillstyle": "full", "linestyle": "none"}
    ax.errorbar(data["mean"], places, xerr=bars, label="ours", elinewidth=1.0, **dots)
    ax.set_yticks(places, data["place"])
    ax.set_ylim(len(data) - 0.5, -0.5)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.set_xlabel(textwrap.fill(described(quantity).title, MAX_CHARACTERS))
