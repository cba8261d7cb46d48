"""Command that measures the named parts, or all, prints their tables and writes results/benchmarks.md."""

from __future__ import annotations

import os

# Before NumPy, PyTorch and JAX start their threads.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from benchmarks import (
    alternatives,
    backprop,
    compilation,
    evolution,
    hebbian,
    large_pca,
    limits,
    processor,
    rprop,
    scale,
    scaling,
    streaming,
    systems,
    whole_run,
)
from benchmarks.measuring import Row
from benchmarks.report import load, machine, merged, save, section, table

RESULT = Path(__file__).parents[1] / "results" / "benchmarks.md"
PARTS: dict[str, Callable[[Path], Iterator[Row | str]]] = {
    "rprop": rprop.rows,
    "shortcuts": rprop.shortcut_rows,
    "backprop": backprop.rows,
    "systems": systems.rows,
    "gha": hebbian.gha_rows,
    "evolution": evolution.rows,
    "fitness": evolution.fitness_rows,
    "threads": evolution.thread_rows,
    "removal": hebbian.removal_rows,
    "streaming": streaming.rows,
    "pca": large_pca.rows,
    "compilation": compilation.rows,
    "plan": whole_run.rows,
    "kept": whole_run.kept_rows,
    "report": whole_run.report_rows,
    "workers": whole_run.worker_rows,
    "command": whole_run.command_rows,
    "limits": limits.rows,
    "alternatives": alternatives.rows,
    "scaling": scaling.rows,
    "scale": scale.rows,
    "tables": whole_run.tables_rows,
}
ON_DEMAND = frozenset({"tables"})
"""Slow parts, which are measured only when they are named."""

TITLES = {
    "rprop": "RPROP, 30 nets of a cell together",
    "shortcuts": "RPROP with shortcuts",
    "backprop": "Online backpropagation, 30 nets of a cell together",
    "systems": "Systems that train or evolve many nets",
    "gha": "GHA, fast kernel",
    "evolution": "NE-pPCA",
    "fitness": "NE-pPCA's time in the fitness",
    "threads": "NE-pPCA in two threads",
    "removal": "DGHA's projection variances and removal",
    "streaming": "Streaming components",
    "pca": "Twenty directions of large data",
    "compilation": "Compilation",
    "plan": "The whole reproduction",
    "kept": "The kept plan",
    "report": "The Proben1 report",
    "workers": "Workers",
    "command": "One config from the command line",
    "limits": "The machine's limit",
    "alternatives": "Slower alternatives",
    "scaling": "Memory",
    "scale": "A million runs",
    "tables": "`make tables`",
}
INTRODUCTION = """\
# Benchmarks

Last measurements of `make bench`: one thread, float64, the same work, no compilation; each ratio is the median over
rounds in which the contestants took turns in a process. Numbers of different processors stand apart, under their
names. [Method and design](../benchmarks/README.md).
"""
FIGURES = {
    "pca": "![Angle and variance missed against time](figures/large_pca.png)\n\n"
    "[SVG](figures/large_pca.svg) · [numbers as CSV](figures/large_pca.csv)",
    "scaling": "![Time and memory against sizes, repeats and workers](figures/scaling.png)\n\n"
    "[SVG](figures/scaling.svg) · [numbers as CSV](figures/scaling.csv)",
    "scale": "![Time and memory of planning, looking up and tables against the number of runs](figures/scale.png)\n\n"
    "[SVG](figures/scale.svg) · [numbers as CSV](figures/scale.csv)",
}


def write_report() -> None:
    """Write the last measurements of all parts on this processor; measurements of other processors stay unchanged."""
    before = RESULT.read_text() if RESULT.exists() else ""
    loaded = {part: load(part) for part in TITLES}
    new = {TITLES[part]: section(TITLES[part], kept, FIGURES.get(part, "")) for part, kept in loaded.items() if kept}
    described = "\n".join(f"- {line}" for line in machine())
    chapters = merged(before, processor.name(), described, new, list(TITLES.values()))
    RESULT.write_text("\n".join([INTRODUCTION, *chapters]))


def main() -> None:
    """Measure the parts and save each at once, so that a stopped command can be repeated with the remaining names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], metavar="PART", help=" ".join(PARTS))
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the Proben1 files")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for part in options.parts or [part for part in PARTS if part not in ON_DEMAND]:
        start = time.perf_counter()
        results = list(PARTS[part](options.data))
        rows = [result for result in results if isinstance(result, Row)]
        text = [result for result in results if isinstance(result, str)]
        save(part, rows, "\n\n".join(text))
        print(f"\n{TITLES[part]} ({time.perf_counter() - start:.0f} s)\n\n{table(rows)}", flush=True)
        write_report()
    measured = [kept for part in PARTS if (kept := load(part)) is not None]
    short = [row for part in measured for row in part.rows if row.verdict in ("short", "not run")]
    print(
        "\nShort of their targets, or not run:",
        *(f"  {row.what}, {row.peer}: {row.verdict}" for row in short),
        sep="\n",
    )


if __name__ == "__main__":
    main()
