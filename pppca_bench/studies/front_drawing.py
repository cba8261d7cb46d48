"""Pareto front of the trials of a study by the first two parts of its score."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from pppca_bench.files import atomic_write
from pppca_bench.references.layout import Scored
from pppca_bench.references.reference import own_references
from pppca_bench.reporting.figure_drawing import to_images
from pppca_bench.studies.config import Study


def write_front(study: Study, table: pd.DataFrame, folder: Path) -> None:
    """Write ``front.csv``, ``front.svg`` and ``front.png`` from the table of trials, with the references' targets."""
    entries = study.settings.score[:2]
    x, y = (entry.group.name for entry in entries)
    whole = table[(table["repeats"] == table["repeats"].max()) & (table["failed runs"] == 0)].sort_values(
        [x, y, "trial"]
    )
    is_best = whole[y] < whole[y].cummin().shift(fill_value=math.inf)
    points = whole[["trial", x, y]].assign(**{"on the front": is_best})
    atomic_write(folder / "front.csv", points.sort_values("trial").to_csv(index=False, lineterminator="\n"))

    def draw() -> Figure:
        figure = Figure(figsize=(5.6, 4.6), layout="constrained")
        ax = figure.subplots()
        ax.plot(points[x], points[y], ".", color="0.6", label="trial")
        ax.plot(points[x][is_best], points[y][is_best], "o-", color="#0072b2", drawstyle="steps-post", label="front")
        for number, *place in points.loc[is_best, ["trial", x, y]].itertuples(index=False):
            ax.annotate(
                str(number), place, xytext=(-5, -3), textcoords="offset points", ha="right", va="top", fontsize=8
            )
        base = points[points["trial"] == 0]
        ax.plot(base[x], base[y], "s", color="#d55e00", label="trial 0, the base")
        for entry, line in zip(entries, (ax.axvline, ax.axhline), strict=True):
            if (target := _target(entry.group)) is not None:
                line(target, color="black", linewidth=0.8, linestyle="--")
        ax.set(xlabel=f"distance: {x}", ylabel=f"distance: {y}", title=f"Study {study.settings.name}")
        ax.legend(loc="upper right")
        return figure

    for form, image in to_images(draw).items():
        atomic_write(folder / f"front.{form}", image)


def _target(group: Scored) -> float | None:
    """Return the target that a reference states for the same cells, if any."""
    place = {"tables", "rows", "columns", "quantity", "ours"}
    scored = (other for reference in own_references() for other in reference.scored)
    return next(
        (one.target for one in scored if one.model_dump(include=place) == group.model_dump(include=place)), None
    )
