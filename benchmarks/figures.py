"""Folder and formats of the benchmarks' figures."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

FIGURES = Path(__file__).parents[1] / "results" / "figures"


def save_drawing(drawing: Figure, name: str) -> None:
    """Write a drawing as SVG and PNG, without date or version."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    for form, metadata in (("svg", {"Date": None, "Creator": None}), ("png", {"Software": None})):
        drawing.savefig(FIGURES / f"{name}.{form}", format=form, metadata=metadata)
