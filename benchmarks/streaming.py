"""Streaming components: CCIPCA against a C loop and scikit-learn's IncrementalPCA."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.decomposition import IncrementalPCA

from benchmarks.compiled import PeerMissingError, address, load_c
from benchmarks.measuring import Contestant, Row, compare
from pppca_bench.compiled.arrays import Floats
from pppca_bench.engines.streaming import CCIPCA

N_ROWS, AMNESIA = 10, 0.5
SIZES = {58: 60_000, 200: 20_000, 1000: 8_000}
"""Features: samples of a pass, so many that the checks of the estimator's parameters do not count."""


def samples(n_features: int, n_samples: int) -> Floats:
    """Return samples whose variances fall from feature to feature."""
    rng = np.random.default_rng(n_features)
    return rng.standard_normal((n_samples, n_features)) * 0.98 ** np.arange(n_features)


def ours(X: Floats) -> Floats:
    """Return the components of one pass."""
    return CCIPCA(N_ROWS, amnesia=AMNESIA).partial_fit(X).components_


def by_c(X: Floats) -> Floats:
    """Return the rows of the C loop; raises PeerMissingError without a C compiler."""
    rows, mean = np.zeros((N_ROWS, X.shape[1])), np.zeros(X.shape[1])
    sizes = (ctypes.c_long(size) for size in (len(X), *rows.shape))
    load_c("ccipca_loop").learn(*(address(array) for array in (rows, mean, X)), *sizes, ctypes.c_double(AMNESIA))
    return rows


def rows(_data: Path) -> Iterator[Row]:
    """Measure one pass over samples of all sizes."""
    for n_features, n_samples in SIZES.items():
        what, X = f"CCIPCA, ten of m = {n_features}", samples(n_features, n_samples)
        peers = {"IncrementalPCA": (Contestant(partial(IncrementalPCA(N_ROWS).fit, X), n_samples), 1.0)}
        try:
            by_c(X)
            peers["C loop"] = Contestant(partial(by_c, X), n_samples), 1.0
        except PeerMissingError as missing:
            yield Row(what, "C loop", "sample", 1.0, None, note=str(missing))
        yield from compare(what, "sample", Contestant(partial(ours, X), n_samples), peers)
