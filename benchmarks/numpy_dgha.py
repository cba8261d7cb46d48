"""GHA and DGHA in NumPy, as the slides define them: sample by sample, variances from all responses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.hebbian import numpy_epoch, variances_from_responses

Floats = NDArray[np.float64]


def learn(
    X: Floats,
    *,
    tau: float | None,
    data_fraction: float | None,
    n_epochs: int,
    learning_rate: float,
    initial_norm: float,
    seed: int,
    head_start: int = 0,
    first_check: int = 0,
    **_others: Any,
) -> Floats:
    """Return the rows that are left, float64 (n_components, n_features).

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features)
    tau, data_fraction : float or None
        None for GHA, which removes nothing, takes all samples, and has the learning rate of a sample, not of an epoch.
    **_others
        Parameters of the estimators that change the start of the computation alone.
    """
    rng = np.random.default_rng(seed)
    mean = X.mean(axis=0)
    centred = X - mean
    W = initial_norm * np.linalg.qr(rng.standard_normal((X.shape[1],) * 2))[0]
    n_drawn = max(1, int(len(X) * (data_fraction or 100.0) / 100.0 + 0.5))
    rate = learning_rate / (1 if tau is None else n_drawn)
    for epoch in range(n_epochs):
        if tau is not None and epoch >= first_check:
            W = remove(W, centred, tau)
        learning = W[:1] if epoch < head_start else W
        numpy_epoch(learning, X, mean, rng.permutation(len(X))[:n_drawn], rate)
    return W


def remove(W: Floats, centred: Floats, tau: float = math.inf) -> Floats:
    """Sort the rows by the variance along their directions and remove those that satisfy formula (1)."""
    variances = variances_from_responses(W, centred) / np.square(W).sum(axis=1)
    order = np.argsort(-variances, kind="stable")
    kept = order[variances[order[0]] <= tau * variances[order]]
    left: Floats = W[kept].copy()
    return left
