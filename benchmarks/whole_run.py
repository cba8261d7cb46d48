"""Commands as a user waits for them: one config, all of `make tables`, and the compilation of all kernels."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.compiled import BUILD
from benchmarks.measuring import Row, time_text
from benchmarks.processes import Watched, watch

CONFIGS = Path(__file__).parents[1] / "configs"
EXPERIMENTS = ("experiment2", "experiment2_large", "experiment3", "experiment3_large")
NOT_IN_TABLES = ("demo", *EXPERIMENTS)
"""Configs that `make tables` leaves out."""
COMPILATION_LIMIT_S, COLD_LIMIT_S, WARM_LIMIT_S, TABLES_LIMIT_S = 15.0, 12.0, 2.5, 900.0
MEMORY_LIMIT_MB = 600.0
WARM_ROUNDS = 5

COMPILE = """
import json, time
from pppca_bench.classifiers import genetic_mlp
from pppca_bench import classifiers, engines
from pppca_bench.compiled import cache

start = time.process_time()
for family in cache.FAMILIES:
    cache.compile_family(family)
print(json.dumps(time.process_time() - start))
"""


def time_row(what: str, limit_s: float, taken_s: float) -> Row:
    """Return the row of a time that has a limit."""
    return Row(what, f"{limit_s:g} s", limit_s / taken_s, time_text(taken_s), 1.0)


def memory_row(what: str, limit_mb: float, peak_mb: float) -> Row:
    """Return the row of a memory that has a limit."""
    return Row(what, f"{limit_mb:g} MB", limit_mb / peak_mb, f"{peak_mb:.0f} MB", 1.0)


def command_rows(data: Path) -> Iterator[Row]:
    """Measure the wait for a config, and processor time of compilation, without and with kept kernels."""
    results, kernels = BUILD / "command", BUILD / "command_kernels"

    def python(*arguments: str) -> Watched:
        return watch(["env", f"NUMBA_CACHE_DIR={kernels}", sys.executable, *arguments])

    def config_s() -> float:
        shutil.rmtree(results, ignore_errors=True)
        config, folders = (
            str(CONFIGS / "cancer1.yaml"),
            ("--data", str(data), "--results", str(results)),
        )
        return python("-m", "pppca_bench", "run", config, *folders).seconds

    shutil.rmtree(kernels, ignore_errors=True)
    cold_s, *warm_s = [config_s() for _ in range(1 + WARM_ROUNDS)]
    yield time_row("`pppca run cancer1`, with kept kernels", WARM_LIMIT_S, median(warm_s))
    yield time_row("`pppca run cancer1`, nothing kept", COLD_LIMIT_S, cold_s)
    shutil.rmtree(kernels)
    yield time_row(
        "Compilation of all kernels", COMPILATION_LIMIT_S, json.loads(python("-c", COMPILE).output)
    )


def tables_rows(data: Path) -> Iterator[Row]:
    """Measure time and memory of `make tables`."""
    results = BUILD / "tables"
    shutil.rmtree(results, ignore_errors=True)
    configs = [
        str(path) for path in sorted(CONFIGS.glob("*.yaml")) if path.stem not in NOT_IN_TABLES
    ]
    program, folder = (sys.executable, "-m", "pppca_bench"), ("--results", str(results))
    run = watch([*program, "run", *configs, "--data", str(data), *folder, "--no-tables", "--quiet"])
    yield time_row("`pppca run`, every config", TABLES_LIMIT_S, run.seconds)
    yield memory_row("Memory of that", MEMORY_LIMIT_MB, run.peak_mb)
    render = watch([*program, "render", *folder])
    yield Row("`pppca render`", "", None, time_text(render.seconds))
    yield memory_row("Memory of that, rendering", MEMORY_LIMIT_MB, render.peak_mb)
