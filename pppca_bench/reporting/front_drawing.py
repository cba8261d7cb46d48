"""The Pareto front of a study's trials by two scores, drawn and written as SVG, PNG and CSV."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure as Drawing

from pppca_bench.files import atomic_write
from pppca_bench.reporting.figure_drawing import NOTE_CHARACTERS_PER_INCH, NOTE_SIZE, to_images


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """Hold a trial's number and its two scores, of which less is better."""

    trial: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Front:
    """Hold what the figure shows.

    Attributes
    ----------
    title, x_label, y_label : str
    points : sequence of FrontPoint
        All trials with both scores, at least one.
    targets : (float or None, float or None)
        What is aimed at, by axis.
    note : str
        What the reader must know about the trials.
    """

    title: str
    x_label: str
    y_label: str
    points: Sequence[FrontPoint]
    targets: tuple[float | None, float | None]
    note: str

    @property
    def best(self) -> list[FrontPoint]:
        """Return the trials that no other one beats in one score without losing in the other, by increasing x."""
        found: list[FrontPoint] = []
        for point in sorted(self.points, key=lambda one: (one.x, one.y, one.trial)):
            if not found or point.y < found[-1].y:
                found.append(point)
        return found


def write_front(front: Front, folder: Path) -> list[Path]:
    """Write ``front.svg``, ``front.png`` and ``front.csv``, a row a trial; equal numbers give equal bytes."""
    best = {point.trial for point in front.best}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["trial", front.x_label, front.y_label, "on the front"])
    writer.writerows([point.trial, point.x, point.y, point.trial in best] for point in front.points)
    contents = to_images(partial(_draw, front)) | {"csv": text.getvalue().encode()}
    paths = [folder / f"front.{extension}" for extension in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        atomic_write(path, content)
    return paths


def _draw(front: Front) -> Drawing:
    drawing = Drawing(figsize=(5.6, 4.6), layout="constrained")
    ax, best = drawing.subplots(), front.best
    ax.plot([one.x for one in front.points], [one.y for one in front.points], ".", color="0.6", label="a trial")
    ax.plot(
        [one.x for one in best], [one.y for one in best], "o-", color="#0072b2", drawstyle="steps-post", label="front"
    )
    told: list[FrontPoint] = []
    for one in best:
        # Numbers of trials that lie together would hide each other.
        if all(abs(one.x - other.x) > 0.02 * one.x or abs(one.y - other.y) > 0.02 * one.y for other in told):
            ax.annotate(
                str(one.trial),
                (one.x, one.y),
                xytext=(-5, -3),  # to the left and below, where there is nothing
                textcoords="offset points",
                ha="right",
                va="top",
                fontsize=NOTE_SIZE,
            )
            told.append(one)
    base = next((one for one in front.points if one.trial == 0), None)
    if base is not None:
        ax.plot(base.x, base.y, "s", color="#d55e00", label="trial 0, the base")
    for target, line in zip(front.targets, (ax.axvline, ax.axhline), strict=True):
        if target is not None:
            line(target, color="black", linewidth=0.8, linestyle="--")
    # Far trials say nothing about the front.
    for limits, values, target in (
        (ax.set_xlim, [one.x for one in front.points], front.targets[0]),
        (ax.set_ylim, [one.y for one in front.points], front.targets[1]),
    ):
        least = min([*values, *([target] if target is not None else [])])
        limits(0.9 * least, max(1.8 * least, 1.1 * min(values)))
    ax.set(xlabel=front.x_label, ylabel=front.y_label, title=front.title)
    ax.legend(loc="upper right")
    text = textwrap.fill(front.note, int(drawing.get_figwidth() * NOTE_CHARACTERS_PER_INCH))
    drawing.supxlabel(text, x=0.01, horizontalalignment="left", fontsize=NOTE_SIZE)
    return drawing
