"""Panels of figures of single runs: samples on components, what is rebuilt of them, and images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Portrait = Mapping[str, NDArray[Any]]
"""What a run with ``portrait: true`` stores: see `pppca_bench.experiments.portrait.portray`."""


@dataclass(frozen=True, slots=True, eq=False)
class ScatterPanel:
    """Hold points of one frame, by series: float32 arrays, shape (n_points, 2)."""

    title: str
    x_label: str
    y_label: str
    series: Mapping[str, Floats]
    is_square: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of the series."""
        return tuple(self.series)

    @property
    def counts(self) -> set[int]:
        """Return the number of runs behind it."""
        return {1}

    def records(self) -> Iterator[Mapping[str, object]]:
        """Yield one plain record for each point."""
        for label, points in self.series.items():
            for x, y in points:
                yield {"panel": self.title, "series": label, "x": x, "y": y}


@dataclass(frozen=True, slots=True, eq=False)
class ImagePanel:
    """Hold a row of images: a float32 array, shape (n_images, height, width)."""

    title: str
    images: Floats

    @property
    def labels(self) -> tuple[str, ...]:
        """Return no labels: an image needs no legend."""
        return ()

    @property
    def counts(self) -> set[int]:
        """Return the number of runs behind it."""
        return {1}

    def records(self) -> Iterator[Mapping[str, object]]:
        """Yield one plain record for each point of each image."""
        for (image, row, column), value in np.ndenumerate(self.images):
            yield {"panel": self.title, "image": image, "row": row, "column": column, "value": value}


PortraitPanel = ScatterPanel | ImagePanel


def portrait_panels(shows: str, portraits: Mapping[str, Portrait]) -> tuple[PortraitPanel, ...]:
    """Make the panels of a figure.

    Parameters
    ----------
    shows : {"features", "rebuilt", "images"}
        Samples on the first two features, by class; samples and what is rebuilt of them on the first two inputs, after
        the eigenvalues where a run has them; or one sample of each class as an image, rebuilt by each run, before and
        after them the inputs and the components of the run that has most.
    portraits : mapping of str to Portrait
        By the label of the run.
    """
    if not portraits:
        return ()
    if shows == "images":
        return tuple(_of_images(portraits))
    return tuple(_of_features(portraits) if shows == "features" else _of_rebuilt(portraits))


def retained_percent(portrait: Portrait) -> float:
    """Return the share of the training variance that what is rebuilt holds, in percent."""
    inputs, rebuilt = (portrait[f"portrait_{name}"].astype(np.float64) for name in ("inputs", "rebuilt"))
    lost, all_of_it = np.square(inputs - rebuilt).sum(), np.square(inputs - inputs.mean(axis=0)).sum()
    return float(100.0 * (1.0 - lost / all_of_it))


def _of_features(portraits: Mapping[str, Portrait]) -> Iterator[ScatterPanel]:
    for label, portrait in portraits.items():
        features, classes = portrait["portrait_features"], portrait["portrait_targets"]
        points = {f"class {one:g}": features[classes == one, :2] for one in np.unique(classes)}
        yield ScatterPanel(label, "component 1", "component 2", points)


def _of_rebuilt(portraits: Mapping[str, Portrait]) -> Iterator[ScatterPanel]:
    for portrait in portraits.values():
        if "portrait_eigenvalues" in portrait:
            values = portrait["portrait_eigenvalues"]
            shares = np.column_stack([1 + np.arange(len(values)), values / values.sum()]).astype(np.float32)
            yield ScatterPanel("eigenvalues", "component", "share of the variance", {"eigenvalue": shares})
            break
    for label, portrait in portraits.items():
        points = {name: portrait[f"portrait_{name}"][:, :2] for name in ("inputs", "rebuilt")}
        yield ScatterPanel(_told(label, portrait), "input 1", "input 2", points, is_square=True)


def _of_images(portraits: Mapping[str, Portrait]) -> Iterator[ImagePanel]:
    any_one = next(iter(portraits.values()))
    chosen = np.unique(any_one["portrait_targets"], return_index=True)[1]
    yield ImagePanel("inputs", _as_images(any_one["portrait_inputs"][chosen]))
    for label, portrait in portraits.items():
        yield ImagePanel(_told(label, portrait), _as_images(portrait["portrait_rebuilt"][chosen]))
    richest = max(portraits.values(), key=lambda portrait: len(portrait["portrait_components"]))
    components = richest["portrait_components"][: len(chosen)]
    yield ImagePanel(f"components 1 to {len(components)}", _as_images(components))


def _told(label: str, portrait: Portrait) -> str:
    return f"{label}: {retained_percent(portrait):.1f} % of the variance"


def _as_images(rows: Floats) -> Floats:
    side = round(rows.shape[1] ** 0.5)
    return rows.reshape(len(rows), side, side)
