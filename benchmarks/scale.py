"""Plans of a million runs: expansion, lookup of completed runs, recording, and tables; nothing is computed.

An executor that returns at once takes the place of the workers. Run as a module it makes one measurement, in a process
that imports nothing else, so that its peak memory is that of the step.
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

N_RUNS = 1_000_000
N_RECORDED = 20_000
"""Runs that are recorded task by task; the time of a run does not depend on their number."""

REPEATS = 100
PROBLEMS = ("iris", "wine")
FRACTIONS = (100, 50, 25, 10, 5)
LIMITS_S = {"expand_s": 30.0, "lookup_s": 10.0, "tables_s": 30.0}
TITLES = {"expand_s": "Expansion", "lookup_s": "Looking up what is done", "tables_s": "Tables"}
MEMORY_LIMIT_MB = 1024.0


class AtOnce(Executor):
    """Give every run the same numbers, at once."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        """Return the results of a group, as if computed in a millisecond; compile nothing."""
        from pppca_bench.experiments.worker import compute

        future: Future[Any] = Future()
        if call is not compute:
            future.set_result(None)
            return future
        group, *_ = arguments
        future.set_result([result(spec) for spec in group])
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


def write_config(n_runs: int, folder: Path) -> Path:
    """Write a config with a number of runs."""
    n_taus = n_runs // (len(PROBLEMS) * len(FRACTIONS) * REPEATS)
    taus = [1 + place / 8 for place in range(n_taus)]
    path = folder / "scale.yaml"
    path.write_text(
        f"name: scale\nproblems: {list(PROBLEMS)}\nrepeats: {REPEATS}\nseed: 1\ntau: {taus}\n"
        f"methods:\n  - {{method: dgha, data_fraction: {list(FRACTIONS)}}}\nclassifier: {{hidden: [4]}}\n",
        encoding="utf-8",
    )
    return path


def plan(n_runs: int, folder: Path) -> dict[str, float]:
    """Measure expansion and lookup: seconds, and the peak memory of the expansion, in MB."""
    from dataclasses import replace

    from benchmarks.processes import peak_mb
    from pppca_bench.experiments.request import read_request
    from pppca_bench.store.database import Store

    path = write_config(n_runs, folder)
    request, expand_s = timed(lambda: read_request([path], force=True))
    specs, expand_mb = request.specs, peak_mb()
    with Store(folder / "results.sqlite") as store:
        store.plan(request.plans[0])
        for start in range(0, len(specs), 20_000):
            store.record(
                [replace(result(spec), history={}) for spec in specs[start : start + 20_000]], "{}"
            )
    with Store(folder / "results.sqlite") as store:
        done, lookup_s = timed(lambda: store.done(spec.key for spec in specs))
    if len(done) != n_runs:
        raise RuntimeError(f"expected {n_runs} runs to be done, got {len(done)}")
    return {"expand_s": expand_s, "expand_mb": expand_mb, "lookup_s": lookup_s}


def tables(_n_runs: int, folder: Path) -> dict[str, float]:
    """Measure the tables of the results of `plan`."""
    from benchmarks.processes import peak_mb
    from pppca_bench.pages.snapshot import take_snapshot
    from pppca_bench.references.reference import installed_references
    from pppca_bench.store.database import Store

    with Store(folder / "results.sqlite", read_only=True) as store:
        filled, taken_s = timed(lambda: take_snapshot(store, installed_references()).with_runs)
    return {"tables_s": taken_s, "tables_mb": peak_mb(), "n_tables": len(filled)}


def record(n_runs: int, folder: Path) -> dict[str, float]:
    """Measure how many runs a second the loop hands over and records."""
    from pppca_bench.experiments.executors import Workers
    from pppca_bench.experiments.request import read_request
    from pppca_bench.experiments.runner import run
    from pppca_bench.store.database import Store

    request = read_request([write_config(n_runs, folder)], force=True)
    with Store(folder / "recorded.sqlite") as store:
        store.plan(request.plans[0])
        outcome, taken_s = timed(
            lambda: run(request.specs, store, request.problems, Workers(2, AtOnce))
        )
    return {"runs_a_second": outcome.n_done / taken_s}


STEPS = {"plan": plan, "tables": tables, "record": record}


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a call and its seconds."""
    start = time.perf_counter()
    returned = call()
    return returned, time.perf_counter() - start


def rows(_data: Path) -> Iterator[Any]:
    """Measure all steps, each in a process of its own."""
    from benchmarks.measuring import Row
    from benchmarks.processes import watch
    from benchmarks.whole_run import memory_row, time_row

    shutil.rmtree(BUILD / "scale", ignore_errors=True)
    (BUILD / "scale").mkdir(parents=True)
    measured: dict[str, float] = {}
    for step in STEPS:
        n_runs = N_RECORDED if step == "record" else N_RUNS
        measured |= json.loads(
            watch([sys.executable, "-m", "benchmarks.scale", step, str(n_runs)]).output
        )
    for name, title in TITLES.items():
        yield time_row(f"{title}, a million runs", LIMITS_S[name], measured[name])
    yield memory_row("Memory of expansion", MEMORY_LIMIT_MB, measured["expand_mb"])
    yield Row("Memory of tables", "", None, f"{measured['tables_mb']:.0f} MB")
    yield Row(
        "Recording, two workers that return at once",
        "",
        None,
        f"{measured['runs_a_second']:.0f} runs/s",
    )


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("n_runs", type=int)
    options = parser.parse_args()
    print(json.dumps(STEPS[options.step](options.n_runs, BUILD / "scale")))


if __name__ == "__main__":
    _main()
