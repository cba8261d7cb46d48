"""GHA updates against a C loop and NumPy; DGHA's variances from C against recomputed responses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.compiled import PeerMissingError, address, load_c
from benchmarks.measuring import Contestant, Row, compare
from pppca_bench.compiled.arrays import Floats, Indices
from pppca_bench.engines.gha_blocked import fast_epoch, quadratic_variances
from pppca_bench.engines.gha_epochs import make_workspace
from pppca_bench.problems import load_problem

Learn = Callable[[Floats, Floats, Floats, Indices, float], object]

SIZES = {9: (350, 1.5, 200.0), 58: (182, 1.0, 25.0), 200: (200, 2.0, 30.0), 512: (200, 2.0, None)}
"""l = m: samples, ratio to reach against C and against NumPy."""

LEARNING_RATE = 1e-3
TAU = 10.0
N_CHECKS = 33
"""Checks of a DGHA run with the estimator's defaults."""


def c_epoch(W: Floats, X: Floats, mean: Floats, order: Indices, learning_rate: float) -> None:
    """Update W in place by the C loop.

    Raises
    ------
    PeerMissingError
        A C compiler is missing.
    """
    arrays = (address(array) for array in (W, X, mean, order))
    sizes = (ctypes.c_long(size) for size in (len(order), *W.shape))
    load_c("gha_loop").learn(*arrays, *sizes, ctypes.c_double(learning_rate))


def our_epoch(W: Floats, X: Floats, mean: Floats, order: Indices, learning_rate: float) -> None:
    """Update W in place by the fast kernel."""
    work = make_workspace(*W.shape).panels
    fast_epoch(W, len(W), X, mean[np.newaxis], order, learning_rate, 0.0, work)


def numpy_epoch(W: Floats, X: Floats, mean: Floats, order: Indices, learning_rate: float) -> None:
    """Update W in place, ΔW = η (y xᵀ − LT(y yᵀ) W), as the formula reads in NumPy."""
    for sample in order:
        x = X[sample] - mean
        y = W @ x
        W += learning_rate * (np.outer(y, x) - np.tril(np.outer(y, y)) @ W)


@dataclass(frozen=True, slots=True)
class Case:
    """Initial rows, samples, their mean and the order in which they are learnt."""

    W: Floats
    X: Floats
    mean: Floats
    order: Indices


def random_case(size: int, n_samples: int, n_rows: int | None = None) -> Case:
    """Return a case with l rows, l = m = size where n_rows is not given."""
    rng = np.random.default_rng(size)
    W = rng.standard_normal((n_rows or size, size)) / size
    X = rng.uniform(size=(n_samples, size))
    X.flags.writeable = False
    return Case(W, X, X.mean(axis=0), rng.permutation(n_samples))


def learn_passes(learn: Learn, case: Case, n_passes: int) -> Floats:
    """Make passes over the samples, each from the same start; return the rows of the last."""
    for _ in range(n_passes):
        W = case.W.copy()
        learn(W, case.X, case.mean, case.order, LEARNING_RATE)
    return W


def gha_rows(_data: Path) -> Iterator[Row]:
    """Measure updates of all sizes."""
    for size, (n_samples, c_target, numpy_target) in SIZES.items():
        what, case = f"GHA, l = m = {size}", random_case(size, n_samples)
        peers: dict[str, tuple[Learn, float]] = {"C loop": (c_epoch, c_target)}
        if numpy_target is not None:
            peers["NumPy"] = numpy_epoch, numpy_target
        try:
            learn_passes(c_epoch, case, 1)
        except PeerMissingError as missing:
            yield Row(what, "C loop", "sample", peers.pop("C loop")[1], None, note=str(missing))
        timed = {name: (_contestant(learn, case), target) for name, (learn, target) in peers.items()}
        yield from compare(what, "sample", _contestant(our_epoch, case), timed)


def _contestant(learn: Learn, case: Case) -> Contestant:
    """Return the number of passes that takes a few milliseconds."""
    n_passes = 1 if learn is numpy_epoch else max(1, 1_000_000 // (len(case.order) * case.W.size))
    return Contestant(partial(learn_passes, learn, case, n_passes), n_passes * len(case.order))


def variances_from_responses(W: Floats, X: Floats) -> Floats:
    """Compute each row's projection variance from its responses to all samples, by matrix products."""
    responses = X @ W.T
    variances: Floats = np.einsum("nj,nj->j", responses, responses) / len(X)
    return variances


def rows_left(variances: Floats) -> Indices:
    """Return the rows that formula (1) keeps."""
    return np.flatnonzero(variances.max() <= TAU * variances)


def check_from_responses(W: Floats, X: Floats, n_checks: int) -> Indices:
    """Make the checks of a run as the slides do: on centred data, with all responses computed again each time."""
    centred = X - X.mean(axis=0)
    for _ in range(n_checks):
        kept = rows_left(variances_from_responses(W, centred))
    return kept


def check_from_moments(W: Floats, X: Floats, n_checks: int) -> Indices:
    """Make the checks of a run from C, which is computed once."""
    centred = X - X.mean(axis=0)
    C, variances, work = centred.T @ centred / len(X), np.empty(len(W)), make_workspace(*W.shape)
    for _ in range(n_checks):
        quadratic_variances(W, len(W), C, variances, work.strip)
        kept = rows_left(variances)
    return kept


def removal_rows(data: Path) -> Iterator[Row]:
    """Measure the checks of a DGHA run, C included, with all rows."""
    for name in ("cancer1", "horse1", "soybean1", "thyroid1"):
        X = load_problem(name, data).X_train
        W = np.linalg.qr(np.random.default_rng(0).standard_normal((X.shape[1],) * 2))[0]
        ours = Contestant(partial(check_from_moments, W, X, N_CHECKS), N_CHECKS)
        peer = Contestant(partial(check_from_responses, W, X, N_CHECKS), N_CHECKS)
        peers = {"responses of all samples": (peer, 1.0)}
        yield from compare(f"DGHA's removal, {name}", "check", ours, peers, budget_s=1.0)
