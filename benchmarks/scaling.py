"""Growth of time and memory with rows, features, samples, repeats and workers, and the cost model."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from benchmarks.figures import FIGURES, save_drawing
from benchmarks.hebbian import learn_passes, our_epoch, random_case
from benchmarks.huge import N_FEATURES as HUGE_FEATURES
from benchmarks.measuring import Contestant, Row, alternate
from benchmarks.processes import watch
from benchmarks.rprop import nets_of_a_cell, train_ours
from benchmarks.whole_run import our_run
from pppca_bench.engines import NEpPCA
from pppca_bench.reporting.figure_drawing import PLAIN, STYLE, STYLES

REPEATS = (1, 2, 4, 8, 16, 32)
HUGE = (100_000, 300_000, 1_000_000)
Model = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Series:
    """Measured points and the cost model's values."""

    label: str
    x: Sequence[float]
    measured: Sequence[float]
    model: Sequence[float]


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel of the figure."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]


def _medians(calls: dict[float, tuple[Callable[[], object], float]], budget_s: float = 1.5) -> dict[float, float]:
    """Return the median time of each call, in ms a unit."""
    contestants = {str(x): Contestant(call, units) for x, (call, units) in calls.items()}
    times = alternate(contestants, budget_s=budget_s)
    return {x: 1e3 * float(np.median(times[str(x)])) for x in calls}


def fit(label: str, times: dict[float, float], *terms: Model) -> Series:
    """Fit non-negative costs of the model's terms to the times, all points with equal relative weight."""
    from scipy.optimize import nnls

    x, measured = np.array(list(times)), np.array(list(times.values()))
    shares = np.array([[term(value) for term in terms] for value in x]) / measured[:, None]
    costs, _ = nnls(shares, np.ones(len(x)))
    return Series(label, list(x), list(measured), list((shares @ costs) * measured))


def _one(_: float) -> float:
    return 1.0


def _epoch(n_rows: int, n_features: int, n_samples: int) -> tuple[Callable[[], object], float]:
    case = random_case(n_features, n_samples, n_rows)
    n_passes = max(1, 200_000 // (n_rows * n_features))
    return partial(learn_passes, our_epoch, case, n_passes), n_passes


def _evolution(n_features: int, n_samples: int) -> tuple[Callable[[], object], float]:
    X = np.random.default_rng(0).uniform(size=(n_samples, n_features))
    return partial(NEpPCA(tau=1e9, n_generations=5, random_state=0).fit, X), 1.0


def _nets(n_features: int, n_samples: int) -> tuple[Callable[[], object], float]:
    rng = np.random.default_rng(0)
    X, targets = rng.uniform(size=(n_samples, n_features)), np.eye(3)[rng.integers(3, size=n_samples)]
    tasks = nets_of_a_cell(X, targets, (16, 8), shortcuts=False, n_nets=8)
    return partial(train_ours, tasks, 5), 5.0


def rows_panel() -> Panel:
    """Measure time against l."""
    sizes = (4, 8, 16, 32, 64, 128)
    gha = _medians({n: _epoch(n, 128, 200) for n in sizes})
    series = [fit("GHA, an epoch", gha, _one, lambda n: n)]
    return Panel("Nodes: m = 128, N = 200; model a + b l", "nodes l", "ms", series)


def features_panel() -> Panel:
    """Measure time against m."""
    sizes = (8, 16, 32, 64, 128)
    gha = _medians({n: _epoch(n, n, 200) for n in sizes})
    evolution = _medians({n: _evolution(n, 200) for n in sizes})
    nets = _medians({n: _nets(n, 200) for n in sizes})
    series = [
        fit("GHA, an epoch, l = m", gha, _one, lambda m: m, lambda m: m**2),
        fit("NE-pPCA, 6 evaluations, l = m", evolution, _one, lambda m: m**2, lambda m: m**3),
        fit("RPROP, 8 nets, an epoch", nets, _one, lambda m: m),
    ]
    return Panel("Features: N = 200; models m², m³, m", "features m", "ms", series)


def samples_panel() -> Panel:
    """Measure time against N."""
    sizes = (100, 300, 1000, 3000, 10000)
    gha = _medians({n: _epoch(16, 16, n) for n in sizes})
    evolution = _medians({n: _evolution(32, n) for n in sizes})
    nets = _medians({n: _nets(16, n) for n in sizes})
    series = [
        fit("GHA, an epoch, l = m = 16", gha, _one, lambda n: n),
        fit("NE-pPCA, 6 evaluations, m = 32", evolution, _one, lambda n: n),
        fit("RPROP, 8 nets, an epoch, m = 16", nets, _one, lambda n: n),
    ]
    return Panel("Samples; model a + b N", "samples N", "ms", series)


def run_panels(data: Path) -> list[Panel]:
    """Measure time and memory of one config against its repeats and against workers."""
    runs = {
        (n, workers): our_run(data, "scaling", "--config", "cancer1", "--repeats", str(n), "--workers", str(workers))
        for n in REPEATS
        for workers in (1, 2)
    }
    names = {1: "1 worker", 2: "2 workers"}
    times = [fit(names[w], {n: runs[n, w][0] for n in REPEATS}, _one, lambda n: -(-n // 8), lambda n: n) for w in names]
    most = REPEATS[-1]
    one, two = runs[most, 1][0], runs[most, 2][0]
    workers = Series(f"{most} repeats", [1, 2], [one, two], [one, one / 2])
    memory = [Series(names[w], list(REPEATS), [runs[n, w][1].peak_mb for n in REPEATS], []) for w in names]
    return [
        Panel("Repeats, cancer1; model a + b n + c ⌈n / 8⌉", "repeats n", "s", times),
        Panel("Workers, cancer1; model t / w", "workers w", "s", [workers]),
        Panel("Peak memory of all processes, cancer1", "repeats n", "MB", memory),
    ]


def huge_row(seconds: float, peaks: dict[int, float]) -> Row:
    """Describe the cost of data larger than memory."""
    smallest, largest = peaks[HUGE[0]], peaks[HUGE[-1]]
    note = (
        f"a pass of GHA and of DGHA, 10 nodes at the start, over {HUGE[-1]} x {HUGE_FEATURES} samples on disk, "
        f"by partial_fit in chunks and as numpy.memmap, {seconds:.0f} s; peak memory besides the mapped file "
        + ", ".join(f"{peak:.0f} MB at {n}" for n, peak in peaks.items())
    )
    return Row("Data larger than memory", "same at a tenth of the samples", "", None, smallest / largest, note=note)


def rows(data: Path) -> Iterator[Row]:
    """Measure all panels, draw them, and run through data larger than memory."""
    panels = [rows_panel(), features_panel(), samples_panel(), *run_panels(data)]
    write(panels)
    memory = panels[-1].series[-1].measured
    what = "Memory in repeats, two workers"
    yield Row(what, f"{REPEATS[-1]} repeats against 1", "", None, memory[0] / memory[-1], note="flat where 1")
    watched = {n: watch([sys.executable, "-m", "benchmarks.huge", str(n)]) for n in HUGE}
    taken = {n: json.loads(result.output) for n, result in watched.items()}
    yield huge_row(taken[HUGE[-1]]["seconds"], {n: taken[n]["peak_mb"] for n in HUGE})


def write(
    panels: Sequence[Panel], name: str = "scaling", caption: str = "Points: measured. Lines: the cost model, fitted."
) -> None:
    """Write the figure as SVG, PNG and CSV."""
    n_rows = -(-len(panels) // 2)
    with matplotlib.style.context(STYLE, after_reset=True):
        drawing = Figure(figsize=(7.4, 3.2 * n_rows), layout="constrained")
        for panel, ax in zip(panels, drawing.subplots(n_rows, 2).flat, strict=True):
            _draw(panel, ax)
        drawing.supxlabel(caption, x=0.01, ha="left", fontsize=8)
        save_drawing(drawing, name)
    (FIGURES / f"{name}.csv").write_text(numbers(panels))


def numbers(panels: Sequence[Panel]) -> str:
    """Return the plotted numbers as CSV, a row a point."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["panel", "series", "x_quantity", "x", "unit", "measured", "model"])
    for panel in panels:
        for series in panel.series:
            model = series.model or [float("nan")] * len(series.x)
            for x, measured, expected in zip(series.x, series.measured, model, strict=True):
                place = (panel.title.split(":")[0].split(";")[0], series.label, panel.x_label, f"{x:g}", panel.y_label)
                writer.writerow([*place, f"{measured:.4g}", f"{expected:.4g}" if expected == expected else ""])
    return buffer.getvalue()


def _draw(panel: Panel, ax: Axes) -> None:
    for series, style in zip(panel.series, STYLES, strict=False):
        ax.plot(
            series.x,
            series.measured,
            label=series.label,
            color=style.color,
            marker=style.marker,
            fillstyle=style.fillstyle,
            linestyle="none",
        )
        if series.model:
            ax.plot(series.x, series.model, color=style.color, linestyle=style.linestyle, linewidth=1.0)
    ax.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    if panel.y_label == "MB" or panel.x_label.startswith("workers"):
        ax.set_ylim(0.0)
    else:
        ax.set_yscale("log")
        low, high = ax.get_ylim()
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100.0 * low else (1.0,)))
        ax.yaxis.set_major_formatter(PLAIN)
        ax.yaxis.set_minor_formatter(NullFormatter())
    if not panel.x_label.startswith("workers"):
        ax.set_xscale("log")
    low, high = ax.get_ylim()
    ax.set_ylim(top=high * (1.3 if low <= 0.0 else (high / low) ** (0.1 * len(panel.series))))
    ax.set_xticks(list(panel.series[0].x))
    ax.xaxis.set_major_formatter(PLAIN)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.legend(loc="upper left")
