"""A whole NE-pPCA evolution against NumPy that computes the responses of all samples, and two threads against one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import numpy as np

from benchmarks import numpy_ne_ppca
from benchmarks.literal_ne_ppca import evolve_literally
from benchmarks.measuring import Contestant, Row, compare, seconds, time_text
from benchmarks.numpy_ne_ppca import SETTINGS, evolve
from pppca_bench.engines import NEpPCA
from pppca_bench.problems import load_problem

TARGETS = {"horse1": 20.0, "thyroid1": 100.0}
TAU = 10.0
FITNESS = ("cancer1", "diabetes1", "heart1", "horse1", "thyroid1")
"""Problems on which the share of time in the fitness is measured."""
ROUNDS = 5
THREADS = {35: 0.97, 200: 1.7}
"""Features, and the ratio to reach; small generations are not shared, so that times differ by noise alone."""


def defaults() -> dict[str, Any]:
    """Return the estimator's defaults, by which both sides evolve."""
    parameters = NEpPCA().get_params()
    return {name: parameters[name] for name in SETTINGS}


def rows(data: Path) -> Iterator[Row]:
    """Measure evolutions with the estimator's defaults."""
    for name, target in TARGETS.items():
        X = load_problem(name, data).X_train
        ours = Contestant(partial(NEpPCA(tau=TAU, random_state=0).fit, X), 1)
        peer = Contestant(partial(evolve, X, tau=TAU, seed=0, **defaults()), 1)
        yield from compare(
            f"NE-pPCA, {name}", ours, {"NumPy, responses of all samples": (peer, target)}
        )


def thread_rows(_data: Path) -> Iterator[Row]:
    """Measure two threads against one without removal of nodes."""
    for n_features, target in THREADS.items():
        X = np.random.default_rng(0).standard_normal((300, n_features)) * 0.99 ** np.arange(
            n_features
        )
        one, two = (
            Contestant(
                partial(NEpPCA(tau=1e9, n_generations=20, n_jobs=n_jobs, random_state=0).fit, X), 1
            )
            for n_jobs in (1, 2)
        )
        yield from compare(
            f"NE-pPCA, m = {n_features}, two threads", two, {"one thread": (one, target)}
        )


def fitness_rows(data: Path) -> Iterator[Row]:
    """Measure the share of the fitness in the literal evolution's time, in NumPy and in compiled loops."""
    programs = {"NumPy": _fitness_share, "compiled loops": _compiled_fitness_share}
    for program, measure in programs.items():
        for name in FITNESS:
            X = load_problem(name, data).X_train
            measure(X)  # compiles the loops
            shares, totals_s = zip(*(measure(X) for _ in range(ROUNDS)), strict=True)
            yield Row(
                f"Fitness in {program}, {name}",
                f"evolution in {program}",
                median(shares),
                time_text(median(totals_s)),
            )


def _compiled_fitness_share(X: np.ndarray) -> tuple[float, float]:
    """Return the share of Gram–Schmidt process, responses, variances and removal, and the evolution's seconds."""
    _, times_s = evolve_literally(X, tau=TAU, n_generations=NEpPCA().n_generations, seed=0)
    return float(times_s[1:].sum() / times_s.sum()), float(times_s.sum())


def _fitness_share(X: np.ndarray) -> tuple[float, float]:
    """Return the share of responses, variances, sum and removal in an evolution's time, and the evolution's seconds."""
    spent_s = 0.0
    measure = numpy_ne_ppca.measure

    def watched(*arguments: Any) -> numpy_ne_ppca.Network:
        nonlocal spent_s
        start = time.perf_counter()
        network = measure(*arguments)
        spent_s += time.perf_counter() - start
        return network

    with mock.patch.object(numpy_ne_ppca, "measure", watched):
        total_s = seconds(partial(evolve, X, tau=TAU, seed=0, **defaults()))
    return spent_s / total_s, total_s
