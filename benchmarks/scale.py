"""Plans of up to a million runs: expansion, lookup of completed runs, recording, and tables; nothing is computed.

An executor that returns at once takes the place of the workers. Run as a module it measures one size, in a process that
imports nothing else.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from benchmarks.compiled import BUILD

SIZES = (10_000, 100_000, 1_000_000)
N_RECORDED = 20_000
"""Runs that are recorded task by task; the time of a run does not depend on their number."""

REPEATS = 100
PROBLEMS = ("iris", "wine")
FRACTIONS = (100, 50, 25, 10, 5)
BEFORE_RUNS_A_SECOND = 260.0
"""Runs a second before groups were handed over together, on the machine of the published results."""

TARGETS = {"expand_s": 30.0, "lookup_s": 10.0, "tables_s": 30.0}
TITLES = {"expand_s": "Expansion", "plan_s": "Planning", "lookup_s": "Looking up what is done", "tables_s": "Tables"}
MEMORY_MB = 1024.0


class AtOnce(Executor):
    """Give every run the same numbers, at once."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

    def submit(self, call: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Return the results of a group, as if computed in a millisecond; compile nothing."""
        from pppca_bench.experiments.worker import compute
        from pppca_bench.store.database import Span

        future: Future[Any] = Future()
        if call is not compute:
            future.set_result(None)
            return future
        group, *_ = arguments
        span = Span("2026-01-01T00:00:00.000+00:00", 1.0)
        future.set_result(([result(spec) for spec in group], span))
        return future


def result(spec: Any) -> Any:
    """Return the numbers of a run that was never computed, with curves of fifty steps."""
    import numpy as np

    from pppca_bench.runs import RunResult

    values = {
        "test_error_percent": float(spec.seed % 100),
        "validation_error_percent": 2.0,
        "train_error_percent": 1.0,
        "dimensionality": 3,
        "fit_time_ms": 1.5,
        "classifier_time_ms": 2.5,
        "n_epochs": 50,
        "total_epochs": 100,
        "retained_variance_percent": 90.0,
    }
    return RunResult(spec.key, "done", values=values, history={"variances": np.ones((50, 4))})


def config_text(n_runs: int, repeats: int = REPEATS) -> str:
    """Return a config with a number of runs."""
    n_taus = n_runs // (len(PROBLEMS) * len(FRACTIONS) * repeats)
    taus = [1 + place / 8 for place in range(n_taus)]
    return (
        f"name: scale\nproblems: {list(PROBLEMS)}\nrepeats: {repeats}\nseed: 1\ntau: {taus}\n"
        f"methods:\n  - {{method: dgha, data_fraction: {list(FRACTIONS)}}}\nclassifier: {{hidden: [4]}}\n"
    )


def measure(n_runs: int, folder: Path) -> dict[str, float]:
    """Measure one size: seconds of each step, and the peak memory of the expansion and of all, in MB."""
    from dataclasses import replace

    from benchmarks.processes import peak_mb
    from pppca_bench.config.request import read_request
    from pppca_bench.store.database import Store

    path = folder / "scale.yaml"
    path.write_text(config_text(n_runs), encoding="utf-8")
    measured: dict[str, float] = {}
    request, measured["expand_s"] = timed(lambda: read_request([path], force=True))
    specs, plan = request.specs, request.plans[0]
    measured["n_runs"], measured["expand_mb"] = len(specs), peak_mb()
    with Store(folder / "results.sqlite") as store:
        _, measured["plan_s"] = timed(lambda: store.plan(plan))
        for start in range(0, len(specs), 20_000):
            store.record([replace(result(spec), history={}) for spec in specs[start : start + 20_000]], "{}")
    with Store(folder / "results.sqlite") as store:
        done, measured["lookup_s"] = timed(lambda: store.done(spec.key for spec in specs))
        _, measured["replan_s"] = timed(lambda: store.plan(plan))
    if len(done) != len(specs):
        raise RuntimeError(f"expected {len(specs)} runs to be done, got {len(done)}")
    measured["database_mb"] = (folder / "results.sqlite").stat().st_size / 2**20
    return measured


def tables(folder: Path) -> dict[str, float]:
    """Measure the tables of the results of `measure`."""
    from benchmarks.processes import peak_mb
    from pppca_bench.references.reference import own_references
    from pppca_bench.reporting.snapshot import take_snapshot
    from pppca_bench.store.database import Store

    with Store(folder / "results.sqlite", read_only=True) as store:
        filled, seconds = timed(lambda: take_snapshot(store, own_references()).with_runs)
    return {"tables_s": seconds, "tables_mb": peak_mb(), "n_tables": len(filled)}


def record(n_runs: int, repeats: int, folder: Path) -> dict[str, float]:
    """Measure how many runs a second the loop hands over and records."""
    from benchmarks.processes import peak_mb
    from pppca_bench.config.request import read_request
    from pppca_bench.experiments.executors import Workers
    from pppca_bench.experiments.runner import run
    from pppca_bench.store.database import Store

    path = folder / "scale.yaml"
    path.write_text(config_text(n_runs, repeats), encoding="utf-8")
    request = read_request([path], force=True)
    with Store(folder / "recorded.sqlite") as store:
        store.plan(request.plans[0])
        outcome, seconds = timed(lambda: run(request.specs, store, request.problems, backend=Workers(2, AtOnce)))
    return {"runs_a_second": outcome.n_done / seconds, "record_mb": peak_mb()}


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a call and its seconds."""
    start = time.perf_counter()
    returned = call()
    return returned, time.perf_counter() - start


def _in_a_process(*arguments: object) -> dict[str, float]:
    from benchmarks.processes import watch

    output = watch([sys.executable, "-m", "benchmarks.scale", *map(str, arguments)]).output
    measured: dict[str, float] = json.loads(output)
    return measured


def rows(_data: Path) -> Iterator[Any]:
    """Measure all sizes and recording, and draw them."""
    from benchmarks.measuring import Row

    measured = {n: _in_a_process("measure", n) | _in_a_process("tables", n) for n in SIZES}
    most = measured[SIZES[-1]]
    draw(measured)
    for name, title in TITLES.items():
        target, seconds = TARGETS.get(name), most[name]
        note = f"{most['tables_mb']:.0f} MB at the peak" if name == "tables_s" else ""
        if name == "plan_s":
            note = f"a new plan; the same plan again takes {most['replan_s']:.1f} s"
        peer = f"{target:.0f} s" if target else ""
        ratio = target / seconds if target else None
        yield Row(f"{title}, {SIZES[-1]} runs", peer, "", target and 1.0, ratio, 1e6 * seconds, note=note)
    ratio = MEMORY_MB / most["expand_mb"]
    yield Row("Memory of the expansion", "1 GB", "", 1.0, ratio, note=f"peak {most['expand_mb']:.0f} MB")
    for repeats, n_runs in ((REPEATS, N_RECORDED), (1, N_RECORDED // 10)):
        rate = _in_a_process("record", n_runs, repeats)["runs_a_second"]
        what = f"Recording, {repeats} repeat{'s' if repeats > 1 else ''} of a cell"
        peer_us = 1e6 / BEFORE_RUNS_A_SECOND
        note = f"{rate:.0f} runs/s with curves of 50 steps, two workers that return at once"
        yield Row(what, "before tasks", "run", 2.0, rate / BEFORE_RUNS_A_SECOND, 1e6 / rate, peer_us, note)


def draw(measured: dict[int, dict[str, float]]) -> None:
    """Draw time and memory against the number of runs, beside growth in proportion."""
    from benchmarks.scaling import Panel, Series, write

    def series(name: str, title: str) -> Series:
        values = [of_size[name] for of_size in measured.values()]
        return Series(title, list(measured), values, [values[-1] * n / max(measured) for n in measured])

    seconds = [series(name, title) for name, title in TITLES.items()]
    memory = [series("expand_mb", "Expansion"), series("tables_mb", "Tables"), series("database_mb", "Database file")]
    panels = [
        Panel("Time; lines: in proportion", "runs", "s", seconds),
        Panel("Peak memory, and file; lines: in proportion", "runs", "MiB", memory),
    ]
    write(panels, "scale", f"Points: measured. Lines: in proportion to the runs, through {max(measured)}.")


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["measure", "tables", "record"])
    parser.add_argument("n_runs", type=int)
    parser.add_argument("repeats", type=int, nargs="?", default=REPEATS)
    options = parser.parse_args()
    folder = BUILD / "scale" / (f"recorded{options.repeats}" if options.what == "record" else str(options.n_runs))
    if options.what != "tables":
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    calls = {
        "measure": lambda: measure(options.n_runs, folder),
        "tables": lambda: tables(folder),
        "record": lambda: record(options.n_runs, options.repeats, folder),
    }
    print(json.dumps(calls[options.what]()))


if __name__ == "__main__":
    _main()
