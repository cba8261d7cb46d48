"""GHA's and CCIPCA's updates against C loops and scikit-learn's IncrementalPCA, and DGHA against GHA."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.decomposition import IncrementalPCA

from benchmarks.compiled import address, load_c
from benchmarks.measuring import Contestant, Row, compare
from pppca_bench.compiled.arrays import Floats, Indices
from pppca_bench.engines import DGHA
from pppca_bench.engines.counterparts import LiteralDGHA
from pppca_bench.engines.gha_blocked import fast_epoch
from pppca_bench.engines.gha_epochs import make_epoch_workspace
from pppca_bench.engines.streaming import CCIPCA
from pppca_bench.problems import load_problem

Learn = Callable[[Floats, Floats, Floats, Indices, float], object]

SIZES = {9: (350, 1.5), 58: (182, 1.0), 200: (200, 2.0), 512: (200, 2.0)}
"""l = m: samples, and ratio to reach against C."""

STREAMED = {58: 60_000, 200: 20_000, 1000: 8_000}
"""Features: samples of a pass, so many that the checks of the estimator's parameters do not count."""

LEARNING_RATE = 1e-3
N_ROWS, AMNESIA = 10, 0.5

TAU = 10.0
PROGRAMS = {"literal": LiteralDGHA, "fast": DGHA}
NEVER = 1_000_000
"""Epoch of the first check of DGHA without checks, which is GHA."""


@dataclass(frozen=True, slots=True)
class Case:
    """Initial rows, samples, their mean and the order in which they are learnt."""

    W: Floats
    X: Floats
    mean: Floats
    order: Indices


def random_case(size: int, n_samples: int) -> Case:
    """Return a case with l = m = size."""
    rng = np.random.default_rng(size)
    W = rng.standard_normal((size, size)) / size
    X = rng.uniform(size=(n_samples, size))
    X.flags.writeable = False
    return Case(W, X, X.mean(axis=0), rng.permutation(n_samples))


def c_epoch(W: Floats, X: Floats, mean: Floats, order: Indices, learning_rate: float) -> None:
    """Update W in place by the C loop."""
    arrays = (address(array) for array in (W, X, mean, order))
    sizes = (ctypes.c_long(size) for size in (len(order), *W.shape))
    load_c("gha_loop").learn(*arrays, *sizes, ctypes.c_double(learning_rate))


def our_epoch(W: Floats, X: Floats, mean: Floats, order: Indices, learning_rate: float) -> None:
    """Update W in place by the fast kernel."""
    work = make_epoch_workspace(*W.shape).panels
    fast_epoch(W, len(W), X, mean[np.newaxis], order, learning_rate, 0.0, work)


def learn_passes(learn: Learn, case: Case, n_passes: int) -> Floats:
    """Make passes over the samples, each from the same start; return the rows of the last."""
    for _ in range(n_passes):
        W = case.W.copy()
        learn(W, case.X, case.mean, case.order, LEARNING_RATE)
    return W


def gha_rows(_data: Path) -> Iterator[Row]:
    """Measure GHA's updates of all sizes."""
    for size, (n_samples, target) in SIZES.items():
        case = random_case(size, n_samples)
        n_passes = max(1, 1_000_000 // (n_samples * size**2))
        ours, peer = (
            Contestant(partial(learn_passes, learn, case, n_passes), n_passes * n_samples)
            for learn in (our_epoch, c_epoch)
        )
        yield from compare(f"GHA, l = m = {size}, a sample", ours, {"C loop": (peer, target)})


def c_components(X: Floats) -> Floats:
    """Return the rows of CCIPCA's C loop."""
    rows, mean = np.zeros((N_ROWS, X.shape[1])), np.zeros(X.shape[1])
    sizes = (ctypes.c_long(size) for size in (len(X), *rows.shape))
    load_c("ccipca_loop").learn(
        *(address(array) for array in (rows, mean, X)), *sizes, ctypes.c_double(AMNESIA)
    )
    return rows


def our_components(X: Floats) -> Floats:
    """Return CCIPCA's components of one pass."""
    return CCIPCA(N_ROWS, amnesia=AMNESIA).partial_fit(X).components_


def streaming_rows(_data: Path) -> Iterator[Row]:
    """Measure CCIPCA's pass over samples whose variances fall from feature to feature."""
    for n_features, n_samples in STREAMED.items():
        rng = np.random.default_rng(n_features)
        X = rng.standard_normal((n_samples, n_features)) * 0.98 ** np.arange(n_features)
        peers: dict[str, tuple[Contestant, float | None]] = {
            "C loop": (Contestant(partial(c_components, X), n_samples), 1.0),
            "IncrementalPCA": (Contestant(partial(IncrementalPCA(N_ROWS).fit, X), n_samples), 1.0),
        }
        what = f"CCIPCA, ten of m = {n_features}, a sample"
        yield from compare(what, Contestant(partial(our_components, X), n_samples), peers)


def speedup_rows(data: Path) -> Iterator[Row]:
    """Measure whole fits of DGHA against GHA, both by the literal formula and by the fast kernel."""
    for name, data_fraction in itertools.product(("cancer1", "horse1"), (100.0, 10.0)):
        X = load_problem(name, data).X_train
        for program, kind in PROGRAMS.items():
            dgha = kind(TAU, data_fraction=data_fraction, random_state=0)
            gha = kind(head_start=0, first_check=NEVER, random_state=0)
            # GHA's time depends on the sizes alone; at DGHA's rate it could diverge with larger inputs
            peer = Contestant(partial(gha.fit, 1e-6 * X), 1)
            what = f"DGHA, {name}, {data_fraction:g} % of the data, {program}"
            yield from compare(what, Contestant(partial(dgha.fit, X), 1), {"GHA": (peer, None)})
