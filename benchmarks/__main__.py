"""Command that measures the named parts, or all, prints their tables and writes results/benchmarks.md."""

from __future__ import annotations

import os

# Before NumPy, PyTorch and JAX start their threads.
os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from benchmarks import (
    backprop,
    evolution,
    hebbian,
    large_pca,
    limits,
    processor,
    rprop,
    scale,
    whole_run,
)
from benchmarks.measuring import Row
from benchmarks.report import RESULTS, Kept, Topic, load, render, rows_of, save, table

PARTS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "rprop": rprop.rows,
    "backprop": backprop.rows,
    "gha": hebbian.gha_rows,
    "streaming": hebbian.streaming_rows,
    "speedup": hebbian.speedup_rows,
    "evolution": evolution.rows,
    "threads": evolution.thread_rows,
    "fitness": evolution.fitness_rows,
    "limits": limits.rows,
    "pca": large_pca.rows,
    "command": whole_run.command_rows,
    "scale": scale.rows,
    "tables": whole_run.tables_rows,
}
ON_DEMAND = frozenset({"tables"})
"""Slow parts, which are measured only when they are named."""


def topics(kept: Kept) -> list[Topic]:
    """Return the tables of the page."""
    pca = [row for name in kept for row in rows_of(kept, name, ["pca"])]
    return [
        Topic(
            "Training the 30 nets of a cell",
            ("rprop", "backprop"),
            "All nets at once on both sides; in brackets our time for a net and epoch.",
        ),
        Topic(
            "Share of the processor's peak",
            ("limits",),
            "The peak is of multiply-adds in registers; best rounds of processor time. In brackets the bound of other\n"
            "operations and of lanes without a net. The targets are for AVX2: where a core begins two multiply-adds\n"
            "of AVX-512 a cycle, the peak doubles, and loads and stores do not.",
        ),
        Topic(
            "Learning projections",
            ("gha", "streaming", "speedup", "evolution", "threads", "fitness"),
            "DGHA's rows are whole fits: its speed-up over GHA at τ = 10, where both compute the slides' formulas\n"
            "as they are written, and with the fast kernel, whose cost is linear in the number of rows.\n"
            "NE-pPCA's rows are whole evolutions. The last rows are the share of the fitness in the time of the\n"
            "slides' evolution: in NumPy (responses, variances, removal), and in compiled loops (with the\n"
            "Gram–Schmidt process, too); the slides say 0.75 to 0.80.",
        ),
        Topic(
            "Twenty directions of large data",
            ("pca",),
            f"Processor time to {large_pca.ANGLE:g}° from exact PCA of {large_pca.N_SAMPLES} samples of "
            f"{large_pca.N_FEATURES} features.\n\n{large_pca.advice(pca)}",
        ),
        Topic(
            "The whole program",
            ("command", "tables", "scale"),
            "Limits by what was measured: processes, with two cores at their disposal; memory of all of them, shared\n"
            "pages counted once.",
        ),
    ]


def main() -> None:
    """Measure the parts and save each at once, so that a stopped command can be repeated with the remaining names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", choices=[[], *PARTS], metavar="PART", help=" ".join(PARTS)
    )
    parser.add_argument(
        "--data", type=Path, default=Path("data"), help="folder of the Proben1 files"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    for part in options.parts or [part for part in PARTS if part not in ON_DEMAND]:
        start = time.perf_counter()
        rows = list(PARTS[part](options.data))
        kept = save(part, rows)
        (RESULTS / "benchmarks.md").write_text(render(kept, topics(kept)), encoding="utf-8")
        print(
            f"\n{part} ({time.perf_counter() - start:.0f} s)\n\n{table({'': rows}, 'simple')}",
            flush=True,
        )
    short = [row for row in rows_of(load(), processor.name(), list(PARTS)) if row.is_short]
    print("\nShort of their targets:", *(f"  {row.what}, {row.peer}" for row in short), sep="\n")


if __name__ == "__main__":
    main()
