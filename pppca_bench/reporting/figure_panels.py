"""Numbers of a figure's panels: learning curves, published and measured means, and portraits of single runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pppca_bench.reporting.summary import student_t_975

Floats = NDArray[np.floating[Any]]
Portrait = Mapping[str, NDArray[Any]]
"""Arrays that a run with ``portrait: true`` stores: see `pppca_bench.experiments.reconstruction.portray`."""

Kind = Literal["curves", "points", "scatter", "images"]


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Numbers of one frame of a figure.

    Attributes
    ----------
    kind : {"curves", "points", "scatter", "images"}
        Means over the steps of a run; published against measured means; samples in a plane; a row of images.
    title : str
    data : DataFrame
        One row per plotted number. The first column is ``curve``, ``series`` or ``image``; then

        - curves: ``step``, ``mean``, ``low``, ``high`` (float32, nan for a single repeat), ``n``, and for variances
          ``removed``, the share of the repeats that have removed the estimate by then;
        - points: ``table``, ``row``, ``column``, ``published``, ``mean``, ``low``, ``high``, ``n``;
        - scatter: ``x``, ``y``; images: ``row``, ``column``, ``value``.
    x_label, y_label : str
        Labels of the axes, with their units; "" for those of the figure.
    scale : {"", "equal", "share"}
        Scale of a scatter: equal on both axes, or from 0 to 1 over numbered components.
    """

    kind: Kind
    title: str
    data: pd.DataFrame
    x_label: str = ""
    y_label: str = ""
    scale: Literal["", "equal", "share"] = ""

    @property
    def series(self) -> dict[str, pd.DataFrame]:
        """Return the rows of each curve or series by its label; images need no labels."""
        label = self.data.columns[0]
        return {} if label == "image" else {str(name): rows for name, rows in self.data.groupby(label, sort=False)}

    @property
    def counts(self) -> set[int]:
        """Return the numbers of repeats behind the numbers."""
        return set(self.data["n"]) if "n" in self.data else {1}


def mean_curve(label: str, repeats: Sequence[NDArray[Any]]) -> pd.DataFrame:
    """Average a quantity over repeats, step by step.

    Choice: the band is the 95 % interval of the mean, as in the tables, since the slides show averages. Numbers are
    kept as float32, the precision of the stored curves, so that plotted and written numbers are the same.

    Parameters
    ----------
    label : str
    repeats : sequence of float arrays, shape (n_steps,), length >= 1
        Step 0 is the random start.

    Returns
    -------
    DataFrame, shape (n_steps, 6)
        Data of a panel of curves.
    """
    values = np.stack(repeats).astype(np.float64)
    n, mean = len(values), values.mean(axis=0)
    half = np.full_like(mean, np.nan)
    if n > 1:
        half = student_t_975(n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n)
    ends = {name: end.astype(np.float32) for name, end in (("mean", mean), ("low", mean - half), ("high", mean + half))}
    return pd.DataFrame({"curve": label, "step": np.arange(len(mean)), **ends, "n": n})


def variance_curves(repeats: Sequence[NDArray[Any]], n_estimates: int) -> Iterator[pd.DataFrame]:
    """Average the projection variance of each estimate over repeats, up to the step where every repeat removed it.

    At each step variances are ranked, the largest first. Source: slide "How to decide?": "all eigenvectors estimates
    are sorted by projection variances".
    Choice: a removed node counts as 0, since the mean then runs over the same repeats at every step and the curves add
    up to the variance that is kept; a mean over the repeats that still have the node would rise whenever a repeat loses
    a node of small variance.

    Parameters
    ----------
    repeats : sequence of float arrays, shape (n_steps, n_nodes), length >= 1
        Variances, nan once a node is removed.
    n_estimates : int
        Number of leading estimates.
    """
    ranked = np.sort(np.nan_to_num(np.stack(repeats), nan=0.0), axis=2)[:, :, ::-1]
    for rank in range(min(n_estimates, ranked.shape[2])):
        variances = ranked[:, :, rank]
        curve = mean_curve(f"estimate {rank + 1}", list(variances))
        n_steps = int(np.max(np.flatnonzero(curve["mean"]), initial=-1)) + 2
        yield curve.assign(removed=np.mean(variances == 0.0, axis=0).astype(np.float32))[:n_steps]


def portrait_panels(shows: str, portraits: Mapping[str, Portrait]) -> tuple[Panel, ...]:
    """Make the panels of a figure of single runs.

    Parameters
    ----------
    shows : {"features", "rebuilt", "images"}
        Samples on the first two features, by class; samples and their reconstructions on the first two inputs, after
        the eigenvalues where a run has them; or one sample of each class as an image, reconstructed by each run, before
        and after them the inputs and the components of the run that has most.
    portraits : mapping of str to Portrait
        By the label of the run.
    """
    if not portraits:
        return ()
    panels = {"features": _features, "rebuilt": _reconstructions, "images": _images}[shows]
    return tuple(panels(portraits))


def retained_percent(portrait: Portrait) -> float:
    """Return the share of the training variance that the reconstruction retains, in percent."""
    inputs, rebuilt = (portrait[f"portrait_{name}"].astype(np.float64) for name in ("inputs", "rebuilt"))
    lost, total = np.square(inputs - rebuilt).sum(), np.square(inputs - inputs.mean(axis=0)).sum()
    return float(100.0 * (1.0 - lost / total))


def _scatter(
    title: str, x_label: str, y_label: str, series: Mapping[str, Floats], scale: Literal["", "equal", "share"] = ""
) -> Panel:
    points = [pd.DataFrame(xy, columns=["x", "y"]).assign(series=label) for label, xy in series.items()]
    return Panel("scatter", title, pd.concat(points)[["series", "x", "y"]], x_label, y_label, scale)


def _features(portraits: Mapping[str, Portrait]) -> Iterator[Panel]:
    for label, portrait in portraits.items():
        features, classes = portrait["portrait_features"], portrait["portrait_targets"]
        points = {f"class {one:g}": features[classes == one, :2] for one in np.unique(classes)}
        yield _scatter(label, "component 1", "component 2", points)


def _reconstructions(portraits: Mapping[str, Portrait]) -> Iterator[Panel]:
    values = next((one["portrait_eigenvalues"] for one in portraits.values() if "portrait_eigenvalues" in one), None)
    if values is not None:
        shares = np.column_stack([1 + np.arange(len(values)), values / values.sum()]).astype(np.float32)
        yield _scatter("eigenvalues", "component", "share of the variance", {"eigenvalue": shares}, "share")
    for label, portrait in portraits.items():
        points = {name: portrait[f"portrait_{name}"][:, :2] for name in ("inputs", "rebuilt")}
        yield _scatter(_with_share(label, portrait), "input 1", "input 2", points, "equal")


def _images(portraits: Mapping[str, Portrait]) -> Iterator[Panel]:
    first, *_ = portraits.values()
    chosen = np.unique(first["portrait_targets"], return_index=True)[1]
    yield _image_row("inputs", first["portrait_inputs"][chosen])
    for label, portrait in portraits.items():
        yield _image_row(_with_share(label, portrait), portrait["portrait_rebuilt"][chosen])
    components = max((one["portrait_components"] for one in portraits.values()), key=len)[: len(chosen)]
    yield _image_row(f"components 1 to {len(components)}", components)


def _with_share(label: str, portrait: Portrait) -> str:
    return f"{label}: {retained_percent(portrait):.1f} % of the variance"


def _image_row(title: str, images: Floats) -> Panel:
    """Return a panel of square images, each a row of ``images``."""
    side = round(images.shape[1] ** 0.5)
    image, row, column = np.indices((len(images), side, side)).reshape(3, -1)
    return Panel("images", title, pd.DataFrame({"image": image, "row": row, "column": column, "value": images.ravel()}))
