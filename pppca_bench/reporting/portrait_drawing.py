"""Draws panels of single runs on frames that it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pppca_bench.reporting.portraits import ImagePanel, ScatterPanel


def draw_scatter(panel: ScatterPanel, ax: Axes, styles: dict[str, Any]) -> None:
    """Draw points, each series with its own mark and colour (of ``styles``, by label)."""
    for label, points in panel.series.items():
        style = styles[label]
        ax.plot(
            *points.T,
            style.marker,
            label=label,
            color=style.colour,
            fillstyle=style.fill,
            markersize=3.5,
            markeredgewidth=0.8,
        )
    ax.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    if panel.is_square:
        ax.set_aspect("equal", adjustable="datalim")
    elif len(next(iter(panel.series.values()))) < 10:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_ylim(0.0, 1.0)


def draw_images(panel: ImagePanel, ax: Axes) -> None:
    """Draw a row of images side by side, each on the panel's one scale, dark where a value is large."""
    n, height, width = panel.images.shape
    row = np.full((height, n * (width + 1) - 1), np.nan)
    for place, image in enumerate(panel.images):
        row[:, place * (width + 1) : place * (width + 1) + width] = image
    ax.imshow(row, cmap="Greys", interpolation="nearest")
    ax.set_axis_off()
    ax.set_title(panel.title)
