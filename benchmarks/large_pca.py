"""GHA, DGHA and NE-pPCA with 20 nodes on many samples of many features, against scikit-learn's PCA: time to an angle.

The samples are Gaussian, their variances fall as 1 / j along random directions. It measures the processor time of
`fit` by one thread, and how far the span of the components is from that of exact PCA: the largest principal angle
between them, and the share of the most variance that it misses. The engines' times include the time of C, which they
compute for their variances.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator
from numpy.typing import NDArray
from scipy.linalg import eigh, subspace_angles
from sklearn.decomposition import PCA, IncrementalPCA

from benchmarks.figures import FIGURES, save_drawing
from benchmarks.hebbian import our_epoch
from benchmarks.measuring import Row
from pppca_bench.engines import DGHA, GHA, NEpPCA
from pppca_bench.reporting.figure_drawing import PLAIN, STYLE, STYLES

Floats = NDArray[np.float64]

N_SAMPLES = 100_000
N_FEATURES = 1000
MORE_FEATURES = 4000
N_NODES = 20
ANGLE = 10.0
"""Degrees that every contestant is to reach."""

CHUNK = 10_000
HEBBIAN: dict[str, Any] = {"learning_rate": 0.03, "decay_samples": 1e4, "random_state": 0}
"""Choice: a rate near the estimator's own that falls as 1 / n, so that the rows settle."""

FULL, COVARIANCE, RANDOMIZED, INCREMENTAL = "PCA, full", "PCA, covariance_eigh", "PCA, randomized", "IncrementalPCA"
OURS = ("GHA", "DGHA, 10 %", "NE-pPCA")
PEERS = (FULL, COVARIANCE, RANDOMIZED, INCREMENTAL)


@dataclass(frozen=True, slots=True)
class Point:
    """A fit: method, setting and result.

    Attributes
    ----------
    method, setting : str
    steps : int
        Epochs, generations, power iterations or samples of a batch.
    seconds : float
        Processor time of `fit`.
    angle : float
        Degrees from exact PCA's span.
    missed : float
        Percentage of the variance of as many exact components that is not retained.
    """

    method: str
    setting: str
    steps: int
    seconds: float
    angle: float
    missed: float


@dataclass(frozen=True, slots=True)
class Exact:
    """C and exact PCA's rows and variances."""

    C: Floats
    rows: Floats
    variances: Floats


def draw_samples(n_samples: int, n_features: int) -> Floats:
    """Draw samples whose variances are 1 / j along directions that three random reflections give."""
    rng = np.random.default_rng(0)
    normals = rng.standard_normal((3, n_features))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    X, scale = np.empty((n_samples, n_features)), np.arange(1, n_features + 1) ** -0.5
    for start in range(0, n_samples, CHUNK):
        chunk = X[start : start + CHUNK]
        rng.standard_normal(out=chunk)
        chunk *= scale
        for normal in normals:
            chunk -= 2.0 * np.outer(chunk @ normal, normal)
    return X


def exact_pca(X: Floats) -> Exact:
    """Return C and its leading eigenvectors."""
    mean, C = X.mean(axis=0), np.zeros((X.shape[1],) * 2)
    for start in range(0, len(X), CHUNK):
        deviations = X[start : start + CHUNK] - mean
        C += deviations.T @ deviations / len(X)
    last = len(C) - 1
    variances, columns = eigh(C, subset_by_index=(last - N_NODES + 1, last))
    return Exact(C, columns.T, variances)


def fit(method: str, setting: str, steps: int, model: Any, X: Floats, exact: Exact) -> Point:
    """Fit a model and measure its angle to exact PCA."""
    seconds = processor_s(partial(model.fit, X))
    basis = np.linalg.qr(model.components_[:N_NODES].T)[0]
    angle = float(np.degrees(subspace_angles(basis, exact.rows.T)[0]))
    held = float(np.sum(basis * (exact.C @ basis)))
    return Point(method, setting, steps, seconds, angle, 100.0 * (1.0 - held / float(exact.variances.sum())))


def gha(n_epochs: int) -> GHA:
    """Return a GHA with a number of epochs."""
    return GHA(N_NODES, n_epochs=n_epochs, **HEBBIAN)


def dgha(n_epochs: int, n_samples: int | None = None) -> DGHA:
    """Return a DGHA whose epochs take a tenth of the samples; no row is removed, so that there are always 20."""
    n_drawn = (n_samples or N_SAMPLES) // 10
    options = {"n_components": N_NODES, "min_components": N_NODES, "data_fraction": 10.0, "initial_norm": 1.0}
    per_epoch = HEBBIAN | {"learning_rate": n_drawn * HEBBIAN["learning_rate"]}
    return DGHA(n_epochs=n_epochs, head_start=0, **options, **per_epoch)


def ne_ppca(n_generations: int) -> NEpPCA:
    """Return an NE-pPCA with a number of generations that keeps its 20 initial nodes."""
    options = {"n_components": N_NODES, "min_components": N_NODES}
    return NEpPCA(n_generations=n_generations, random_state=0, **options)


def contestants() -> Iterator[tuple[str, str, int, Any]]:
    """Name every fit at the smaller number of features."""
    yield FULL, "", 0, PCA(N_NODES, svd_solver="full")
    yield COVARIANCE, "", 0, PCA(N_NODES, svd_solver="covariance_eigh")
    for power in (0, 1, 2, 4):
        model = PCA(N_NODES, svd_solver="randomized", iterated_power=power, random_state=0)
        yield RANDOMIZED, f"{power} power iterations", power, model
    for batch in (100, 1000, 5000):
        yield INCREMENTAL, f"batches of {batch}", batch, IncrementalPCA(N_NODES, batch_size=batch)
    for n in (1, 2, 4, 8):
        yield OURS[0], f"{n} epoch{'s'[: n - 1]}", n, gha(n)
    for n in (2, 5, 10, 20, 40):
        yield OURS[1], f"{n} epochs", n, dgha(n)
    for n in (10, 90, 270):
        yield OURS[2], f"{n} generations", n, ne_ppca(n)


def measure() -> tuple[list[Point], float]:
    """Fit all models; return the fits and the seconds of an epoch."""
    warm_up()
    X = draw_samples(N_SAMPLES, N_FEATURES)
    exact = exact_pca(X)
    return [fit(*contestant, X, exact) for contestant in contestants()], epoch_seconds(X)


def warm_up() -> None:
    """Compile and load everything."""
    X = draw_samples(100, 2 * N_NODES)
    exact = exact_pca(X)
    epoch_seconds(X)
    for model in (gha(1), dgha(1, len(X)), ne_ppca(1), PCA(N_NODES, svd_solver="randomized")):
        fit("", "", 1, model, X, exact)


def first_to_reach(points: Sequence[Point], method: str, angle: float = ANGLE) -> Point | None:
    """Return a method's cheapest fit within the angle, if any."""
    reached = [point for point in points if point.method == method and point.angle <= angle]
    return min(reached, key=lambda point: point.seconds, default=None)


def nearest(points: Sequence[Point], method: str) -> Point:
    """Return a method's fit of the least angle."""
    return min((point for point in points if point.method == method), key=lambda point: point.angle)


def rows(_data: Path) -> Iterator[Row | str]:
    """Measure, draw, and recommend a use for each method."""
    points, epoch_s = measure()
    write_figure(points)
    for method in OURS:
        yield from _rows_of(points, method)
    larger = extrapolate(points)
    yield from _extrapolated_rows(larger)
    yield verdict(points, larger, epoch_s)


def _rows_of(points: Sequence[Point], method: str) -> Iterator[Row]:
    """Compare one of our methods with every peer."""
    ours, what = first_to_reach(points, method), f"{method}, m = {N_FEATURES}, to {ANGLE:g}°"
    for peer in PEERS:
        theirs = first_to_reach(points, peer)
        if ours is None or theirs is None:
            failed = nearest(points, method if ours is None else peer)
            note = f"{failed.method} stays at {failed.angle:.3g}° after {failed.setting} and {failed.seconds:.3g} s"
            yield Row(what, peer, "fit", None, None, note=note)
        else:
            yield Row(what, peer, "fit", None, theirs.seconds / ours.seconds, 1e6 * ours.seconds, 1e6 * theirs.seconds)


def extrapolate(points: Sequence[Point]) -> dict[str, float]:
    """Return the seconds to the same angle with more features, of those methods that reach it.

    One epoch and the randomized PCA are measured; as many epochs are counted as with fewer features. The other peers
    are scaled by N m², the cost of their largest products.
    """
    X = draw_samples(N_SAMPLES, MORE_FEATURES)
    epoch_s = epoch_seconds(X)
    scale = (MORE_FEATURES / N_FEATURES) ** 2
    seconds: dict[str, float] = {}
    for method in (*PEERS, *OURS):
        reached = first_to_reach(points, method)
        if reached is None:
            continue
        if method == RANDOMIZED:
            model = PCA(N_NODES, svd_solver="randomized", iterated_power=reached.steps, random_state=0)
            seconds[method] = processor_s(partial(model.fit, X))
        elif method in SHARES:
            build, share = SHARES[method]
            seconds[method] = processor_s(partial(build(1).fit, X)) + (reached.steps - 1) * share * epoch_s
        else:
            seconds[method] = scale * reached.seconds
    return seconds


SHARES: dict[str, tuple[Callable[[int], Any], float]] = {OURS[0]: (gha, 1.0), OURS[1]: (dgha, 0.1)}
"""Methods that learn by epochs, and the share of the samples in an epoch."""


def epoch_seconds(X: Floats) -> float:
    """Return the processor time of one epoch of the compiled update over all samples, without C."""
    rng = np.random.default_rng(0)
    W = np.ascontiguousarray(np.linalg.qr(rng.standard_normal((X.shape[1], N_NODES)))[0].T)
    order = rng.permutation(len(X))
    samples = X.view()
    samples.flags.writeable = False
    rate = HEBBIAN["learning_rate"]
    return processor_s(lambda: our_epoch(W, samples, np.zeros(X.shape[1]), order, rate / 10.0))


def processor_s(call: Callable[[], object]) -> float:
    """Return the processor time of a call, in seconds."""
    start = time.process_time()
    call()
    return time.process_time() - start


def _extrapolated_rows(larger: Mapping[str, float]) -> Iterator[Row]:
    for method in filter(larger.__contains__, OURS):
        for peer in filter(larger.__contains__, PEERS):
            ratio, times = larger[peer] / larger[method], (1e6 * larger[method], 1e6 * larger[peer])
            yield Row(f"{method}, m = {MORE_FEATURES}, extrapolated", peer, "fit", None, ratio, *times)


def verdict(points: Sequence[Point], larger: Mapping[str, float], epoch_s: float) -> str:
    """Describe the measurements and recommend a use for each method."""
    within = {method: point for method in (*PEERS, *OURS) if (point := first_to_reach(points, method)) is not None}
    fastest = min((within[peer] for peer in PEERS if peer in within), key=lambda point: point.seconds)
    costs = [_cost(points, method, within.get(method), fastest, epoch_s) for method in OURS]
    more = ", ".join(f"{method} {seconds:.3g} s" for method, seconds in larger.items())
    return (
        f"**When is each the right tool?** {N_NODES} directions of {N_SAMPLES} samples of {N_FEATURES} features, "
        f"within {ANGLE:g}° of exact PCA: of scikit-learn's, {fastest.method} is the fastest, {fastest.seconds:.3g} s"
        f"{f' ({fastest.setting})' if fastest.setting else ''}. {' '.join(costs)} "
        f"With {MORE_FEATURES} features, extrapolated from one epoch: {more}.\n\n{_advice(within, fastest, epoch_s)}"
    )


def _cost(points: Sequence[Point], method: str, point: Point | None, fastest: Point, epoch_s: float) -> str:
    """Describe the cost of one of our methods."""
    if point is None:
        point = nearest(points, method)
        return (
            f"{method} does not get there: {point.angle:.3g}° after {point.setting} and {point.seconds:.3g} s, where "
            f"it misses {point.missed:.2g} % of the variance."
        )
    learning_s = _learning_s(point, epoch_s)
    return (
        f"{method} takes {point.seconds:.3g} s ({point.setting}), {point.seconds / fastest.seconds:.2g} times as long; "
        f"{learning_s:.2g} s of it are learning, the rest is mostly C."
    )


def _learning_s(point: Point, epoch_s: float) -> float:
    return point.steps * SHARES[point.method][1] * epoch_s


def _advice(within: Mapping[str, Point], fastest: Point, epoch_s: float) -> str:
    """Draw the conclusions that the numbers allow."""
    wins = [method for method in OURS if method in within and within[method].seconds < fastest.seconds]
    learns = [
        method for method in SHARES if method in within and _learning_s(within[method], epoch_s) < fastest.seconds
    ]
    if wins:
        batch = f"Where all samples were at hand, {' and '.join(wins)} won here."
    else:
        exact = ", and exact" if fastest.method in (FULL, COVARIANCE) else ""
        batch = (
            "Where all samples are at hand and directions are all that is wanted, scikit-learn's PCA is the right "
            f"tool: it is faster{exact}."
        )
    stream = (
        f"Learning alone, without C, took {' and '.join(learns)} less time than that."
        if learns
        else "Even learning alone, without C, took longer."
    )
    return (
        f"{batch} {stream} GHA is the tool where samples come one at a time and are not kept, or their directions "
        "drift: the rule needs no C and no second look at a sample, and comes nearer as its rate falls. DGHA is the "
        "tool where the number of directions is to come out of the learning; of a number that is known it finds no "
        "more than GHA. NE-pPCA changes every gene by noise, which among so many features hides what a generation "
        "gains: it is a tool for some dozens of features and a fitness of one's own, not for directions of large data."
    )


def write_figure(points: Sequence[Point]) -> None:
    """Write the figure as SVG, PNG and CSV."""
    with matplotlib.style.context(STYLE, after_reset=True):
        drawing = Figure(figsize=(7.4, 3.9), layout="constrained")
        left, right = drawing.subplots(1, 2)
        _draw(left, points, "angle", "Largest principal angle, degrees")
        _draw(right, points, "missed", "Variance missed, %")
        left.axhline(ANGLE, color="0.6", linewidth=0.8)
        handles, labels = left.get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside lower center", ncols=4)
        title = f"{N_NODES} directions of {N_SAMPLES} samples, m = {N_FEATURES}; exact PCA is drawn at the bottom"
        drawing.suptitle(title, x=0.01, ha="left", fontsize=9.5)
        save_drawing(drawing, "large_pca")
    (FIGURES / "large_pca.csv").write_text(numbers(points))


LEAST = {"angle": 1e-2, "missed": 1e-4}
"""Lower limits of the axes; smaller values are drawn here."""


def _draw(ax: Axes, points: Sequence[Point], quantity: str, label: str) -> None:
    for method, style in zip((*OURS, *PEERS), STYLES, strict=False):
        mine = sorted((point for point in points if point.method == method), key=lambda point: point.steps)
        ax.plot(
            [point.seconds for point in mine],
            [max(getattr(point, quantity), LEAST[quantity]) for point in mine],
            label=method,
            **style._asdict(),
        )
    ax.set(xscale="log", yscale="log", xlabel="processor time of fit, s", title=label)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PLAIN)
        axis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))


def numbers(points: Sequence[Point]) -> str:
    """Return the plotted numbers as CSV, a row a fit."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["method", "setting", "seconds", "angle_degrees", "missed_percent"])
    for point in points:
        values = (point.seconds, point.angle, max(point.missed, 0.0))
        writer.writerow([point.method, point.setting, *(f"{value:.4g}" for value in values)])
    return buffer.getvalue()
