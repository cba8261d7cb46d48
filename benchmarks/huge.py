"""GHA and DGHA on data larger than memory: chunks and a memory map, a pass each, in a process of its own."""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.compiled import BUILD
from pppca_bench.engines import DGHA, GHA

N_FEATURES = 200
N_NODES = 10
CHUNK = 10_000


def _chunks(n_samples: int) -> Iterator[NDArray[np.float64]]:
    """Draw samples whose variances fall from feature to feature, chunk by chunk."""
    rng = np.random.default_rng(0)
    scale = 0.98 ** np.arange(N_FEATURES) / np.sqrt(N_FEATURES)
    for _ in range(0, n_samples, CHUNK):
        yield scale * rng.standard_normal((CHUNK, N_FEATURES))


def _write(n_samples: int) -> Path:
    """Write the samples to disk."""
    BUILD.mkdir(parents=True, exist_ok=True)
    path = BUILD / "huge.npy"
    samples = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n_samples, N_FEATURES))
    for start, chunk in zip(range(0, n_samples, CHUNK), _chunks(n_samples), strict=True):
        samples[start : start + CHUNK] = chunk
    samples.flush()
    return path


def _own_mb() -> float:
    """Return the memory that is this process's own: the mapped file's pages are the system's to take back."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024.0
    raise OSError("/proc/self/status: expected a line RssAnon, got none. Run on Linux.")


def _learn(path: Path) -> None:
    samples = np.load(path, mmap_mode="r")
    GHA(N_NODES, n_epochs=1, learning_rate=0.01, random_state=0).fit(samples)
    DGHA(n_components=N_NODES, n_epochs=1, learning_rate=10.0, head_start=0, random_state=0).fit(samples)
    by_chunks = GHA(N_NODES, learning_rate=0.01, random_state=0)
    for start in range(0, len(samples), CHUNK):
        by_chunks.partial_fit(np.array(samples[start : start + CHUNK]))


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n_samples", type=int)
    path = _write(parser.parse_args().n_samples)
    peak, done = [0.0], threading.Event()

    def sample() -> None:
        while not done.wait(0.02):
            peak[0] = max(peak[0], _own_mb())

    sampler = threading.Thread(target=sample)
    sampler.start()
    start = time.perf_counter()
    _learn(path)
    elapsed = time.perf_counter() - start
    done.set()
    sampler.join()
    path.unlink()
    print(json.dumps({"seconds": elapsed, "peak_mb": peak[0]}))


if __name__ == "__main__":
    _main()
