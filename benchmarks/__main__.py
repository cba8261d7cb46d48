"""Measure the parts that are named, all without a name, print their tables, and write results/benchmarks.md."""

from __future__ import annotations

import os

# Before NumPy and PyTorch start their threads.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from benchmarks import alternatives, compilation, evolution, hebbian, limits, rprop, scale, scaling, whole_run
from benchmarks.measuring import Row
from benchmarks.report import load, machine, save, table

RESULT = Path(__file__).parents[1] / "results" / "benchmarks.md"
PARTS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "rprop": rprop.rows,
    "shortcuts": rprop.shortcut_rows,
    "gha": hebbian.gha_rows,
    "evolution": evolution.rows,
    "removal": hebbian.removal_rows,
    "compilation": compilation.rows,
    "plan": whole_run.rows,
    "report": whole_run.report_rows,
    "workers": whole_run.worker_rows,
    "limits": limits.rows,
    "alternatives": alternatives.rows,
    "scaling": scaling.rows,
    "scale": scale.rows,
    "tables": whole_run.tables_rows,
}
ON_DEMAND = frozenset({"tables"})
"""Parts that are measured only when they are named: they take long."""

TITLES = {
    "rprop": "RPROP, 30 nets of a cell together",
    "shortcuts": "RPROP with shortcuts",
    "gha": "GHA, fast kernel",
    "evolution": "NE-pPCA",
    "removal": "DGHA's projection variances and removal",
    "compilation": "Compilation",
    "plan": "The whole reproduction",
    "report": "The Proben1 report",
    "workers": "Workers",
    "limits": "The machine's limit",
    "alternatives": "Tried and lost",
    "scaling": "Memory",
    "scale": "A million runs",
    "tables": "`make tables`",
}
INTRODUCTION = """\
# Benchmarks

What `make bench` measured last: one thread, float64, the same work, compilation apart; each ratio is the median over
rounds in which the contestants took turns in one process. How and why: [benchmarks](../benchmarks/README.md).
"""
SCALING = """\
## Scaling

![Time and memory against sizes, repeats and workers](figures/scaling.png)

[SVG](figures/scaling.svg) · [numbers as CSV](figures/scaling.csv)

![Time and memory of planning, looking up and tables against the number of runs](figures/scale.png)

[SVG](figures/scale.svg) · [numbers as CSV](figures/scale.csv)
"""


def write_report() -> None:
    """Write what all parts measured last, with the machine's description."""
    sections = [INTRODUCTION, *(f"- {line}" for line in machine()), ""]
    for part, title in TITLES.items():
        origin, rows = load(part)
        if part in ON_DEMAND and not rows:
            continue
        sections += [f"## {title}", "", table(rows, "github") if rows else "", "", f"Measured: {origin}.", ""]
    RESULT.write_text("\n".join([*sections, SCALING]))


def main() -> None:
    """Run the parts; each is kept as soon as it is done, so that a stopped run goes on with the names that are left."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], metavar="PART", help=" ".join(PARTS))
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the Proben1 files")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for part in options.parts or [part for part in PARTS if part not in ON_DEMAND]:
        start = time.perf_counter()
        rows = list(PARTS[part](options.data))
        save(part, rows)
        print(f"\n{TITLES[part]} ({time.perf_counter() - start:.0f} s)\n\n{table(rows)}", flush=True)
        write_report()
    short = [row for part in PARTS for row in load(part)[1] if row.verdict in ("short", "not run")]
    print(
        "\nShort of their targets, or not run:",
        *(f"  {row.what}, {row.peer}: {row.verdict}" for row in short),
        sep="\n",
    )


if __name__ == "__main__":
    main()
