"""Whole reproduction against a straightforward program, two workers against one, and memory."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from statistics import median

from benchmarks.compiled import BUILD
from benchmarks.measuring import Row, median_ratio
from benchmarks.plan import KEPT_PLAN, planned_runs
from benchmarks.processes import Watched, watch
from benchmarks.straightforward import Estimate, estimate
from pppca_bench.store.database import Store

CONFIGS = Path(__file__).parents[1] / "configs"
MEMORY_LIMIT_MB = 600.0
REPORT = ("proben1_linear", "proben1_mushroom", "proben1_pivot", "proben1_no_shortcuts", "proben1_search")
REPORT_LIMIT_S = 360.0
KEPT_LIMIT_S, EVERY_LIMIT_S = 200.0, 900.0
WORKERS_SHARE = 0.97
"""Target share of the gain of two independent plans that two workers reach."""
WORKER_REPEATS = 30
WORKER_ROUNDS = 2
COLD_LIMIT_S, WARM_LIMIT_S = 12.0, 2.5
WARM_ROUNDS = 5


def our_run(data: Path, name: str, *options: str) -> tuple[float, Watched]:
    """Run the plan in a separate process; return the seconds of the runner, and the process."""
    results = BUILD / name
    shutil.rmtree(results, ignore_errors=True)
    command = [sys.executable, "-m", "benchmarks.plan", str(results), "--data", str(data), *options]
    watched = watch(command)
    return float(json.loads(watched.output)["seconds"]), watched


def rows(data: Path) -> Iterator[Row]:
    """Measure our run of the whole plan, and estimate the straightforward program's."""
    specs = planned_runs()
    ours_s, watched = our_run(data, "whole_run", "--workers", "2")
    with Store(BUILD / "whole_run" / "results.sqlite", read_only=True) as store:
        done = [(spec, result) for spec, result in store.runs() if result is not None]
        n_epochs = {spec.key: int(result.values.get("total_epochs", 0)) for spec, result in done}
    estimates = estimate(specs, n_epochs, data)
    peer_s = sum(part.method_s + part.net_s for part in estimates)
    n_timed = sum(part.n_timed for part in estimates)
    note = (
        f"{len(specs)} runs with all repeats; ours measured, two workers, {ours_s:.0f} s; the peer, one process, "
        f"scaled from {n_timed} runs drawn from {len(estimates)} strata to {peer_s:.0f} s ({_shares(estimates)})"
    )
    what = "Configs of the published tables, all repeats"
    yield Row(what, "NumPy methods, torch nets", "plan", 60.0, peer_s / ours_s, 1e6 * ours_s, 1e6 * peer_s, note)
    yield _memory_row("Memory of that run", watched)


def report_rows(data: Path) -> Iterator[Row]:
    """Measure every network of the Proben1 report's tables, with the default workers."""
    watched = _run([CONFIGS / f"{name}.yaml" for name in REPORT], data, BUILD / "report")
    yield _time_row("The Proben1 report, every network", REPORT_LIMIT_S, watched)
    yield _memory_row("Memory of that run", watched)


def command_rows(data: Path) -> Iterator[Row]:
    """Measure the wait for a config, with an empty and with a full cache of kernels."""
    results, kernels = BUILD / "command", BUILD / "command_kernels"
    shutil.rmtree(kernels, ignore_errors=True)
    command = [
        "env",
        f"NUMBA_CACHE_DIR={kernels}",
        sys.executable,
        "-m",
        "pppca_bench",
        "run",
        str(CONFIGS / "cancer1.yaml"),
    ]
    times = []
    for _ in range(1 + WARM_ROUNDS):
        shutil.rmtree(results, ignore_errors=True)
        times.append(watch([*command, "--data", str(data), "--results", str(results)]).seconds)
    cold_s, warm_s = times[0], median(times[1:])
    for caches, limit_s, ours_s in (("warm", WARM_LIMIT_S, warm_s), ("cold", COLD_LIMIT_S, cold_s)):
        what = f"`pppca run cancer1`, {caches} caches"
        yield Row(what, f"{limit_s:g} s", "", 1.0, limit_s / ours_s, 1e6 * ours_s, note="tables printed and written")


def kept_rows(data: Path) -> Iterator[Row]:
    """Measure all runs of the kept plan, timed runs too."""
    watched = _run(sorted(KEPT_PLAN.glob("*.yaml")), data, BUILD / "kept")
    yield _time_row("The kept plan, 7270 runs", KEPT_LIMIT_S, watched)


def tables_rows(data: Path) -> Iterator[Row]:
    """Measure time and memory of `make tables`, with every config and timed runs."""
    results = BUILD / "tables"
    watched = _run([path for path in sorted(CONFIGS.glob("*.yaml")) if path.stem != "demo"], data, results)
    yield _time_row("`pppca run`, every config", EVERY_LIMIT_S, watched)
    yield _memory_row("Memory of `pppca run`, every config", watched)
    render = watch([sys.executable, "-m", "pppca_bench", "render", "--results", str(results)])
    yield Row("`pppca render`", "", "", None, None, 1e6 * render.seconds)
    yield _memory_row("Memory of `pppca render`", render)


def _run(configs: Sequence[Path], data: Path, results: Path) -> Watched:
    """Run configs into an empty folder, with the default workers."""
    shutil.rmtree(results, ignore_errors=True)
    command = [sys.executable, "-m", "pppca_bench", "run", *map(str, configs), "--data", str(data)]
    return watch([*command, "--results", str(results), "--quiet"])


def _time_row(what: str, limit_s: float, watched: Watched) -> Row:
    return Row(what, f"{limit_s:.0f} s", "", 1.0, limit_s / watched.seconds, 1e6 * watched.seconds)


def _memory_row(what: str, watched: Watched) -> Row:
    note = f"peak of all processes {watched.peak_mb:.0f} MB, shared pages counted once"
    return Row(what, f"{MEMORY_LIMIT_MB:.0f} MB", "", 1.0, MEMORY_LIMIT_MB / watched.peak_mb, note=note)


def _shares(estimates: Sequence[Estimate]) -> str:
    """Describe the parts of the straightforward time."""
    by_method = sorted(estimates, key=lambda part: part.stratum[1])
    methods = {
        name: sum(part.method_s for part in parts) for name, parts in groupby(by_method, lambda part: part.stratum[1])
    }
    nets = {
        rule: sum(part.net_s for part in estimates if ("rule", rule) in part.stratum[2])
        for rule in ("rprop", "slides_mlp")
    }
    named = {"GHA": methods["gha"], "DGHA": methods["dgha"], "NE-pPCA": methods["ne_ppca"]}
    named |= {"RPROP nets": nets["rprop"], "backpropagation nets": nets["slides_mlp"]}
    return ", ".join(f"{name} {share:.0f} s" for name, share in named.items())


def worker_rows(data: Path) -> Iterator[Row]:
    """Measure two workers against one, and the limit of the machine: two plans at once with a worker each."""
    options = ("--repeats", str(WORKER_REPEATS), "--workers")
    times: dict[str, list[float]] = {"one": [], "two": [], "both": []}
    for _ in range(WORKER_ROUNDS):
        times["one"].append(our_run(data, "workers", *options, "1")[0])
        times["two"].append(our_run(data, "workers", *options, "2")[0])
        with ThreadPoolExecutor(2) as pool:
            pair = pool.map(lambda name: our_run(data, name, *options, "1")[0], ("workers", "more_workers"))
            times["both"].append(max(pair))
    one, two, both = (1e6 * median(times[name]) for name in times)
    note = f"all cells, {WORKER_REPEATS} repeats, {WORKER_ROUNDS} rounds; start of the workers included"
    gain = median_ratio(times["one"], times["two"])
    yield Row("Two workers", "one worker", "plan", None, gain, two, one, note)
    most = 2.0 * median_ratio(times["one"], times["both"])
    note = "two runs of the whole plan that share nothing, one worker each: what the machine allows"
    yield Row("Two plans at once", "one after the other", "pair", None, most, both, 2.0 * one, note)
    yield Row("Two workers, of that", "two plans at once", "", WORKERS_SHARE, gain / most)
