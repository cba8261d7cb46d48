"""Processor time of compiling every kernel with an empty cache, in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measuring import Row
from pppca_bench.compiled.cache import FAMILIES

LIMIT_S = 15.0
"""Processor seconds that all kernels may take together."""

PROGRAM = """
import json, sys, time
from pppca_bench.classifiers import genetic_mlp
from pppca_bench import classifiers, engines
from pppca_bench.compiled import cache

taken = {}
for family in sys.argv[1:]:
    start = time.process_time()
    cache.compile_family(family)
    taken[family] = time.process_time() - start
print(json.dumps(taken))
"""


def seconds_of(families: Sequence[str]) -> dict[str, float]:
    """Compile families of kernels one after another; return the processor seconds of each.

    The first includes the start of Numba and LLVM, about half a second; imports are excluded.
    """
    with tempfile.TemporaryDirectory() as empty:
        settings = {**os.environ, "NUMBA_CACHE_DIR": empty}
        command = [sys.executable, "-c", PROGRAM, *families]
        done = subprocess.run(command, env=settings, stdout=subprocess.PIPE, text=True, check=True)
    taken: dict[str, float] = json.loads(done.stdout)
    return taken


def rows(_data: Path) -> Iterator[Row]:
    """Measure all families together."""
    taken = seconds_of(list(FAMILIES))
    total = sum(taken.values())
    shares = ", ".join(f"{family} {seconds:.1f} s" for family, seconds in taken.items())
    what, peer = "Compilation, nothing kept, all kernels", f"{LIMIT_S:.0f} s of processor time"
    yield Row(what, peer, "all", 1.0, LIMIT_S / total, 1e6 * total, note=shares)
