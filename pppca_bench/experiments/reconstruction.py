"""How well the reduced features tell the inputs: reconstruction error and retained variance."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from pppca_bench.compiled.arrays import Floats
from pppca_bench.engines.exact_pca import most_variance


def measure_reconstruction(reducer: Any, X: Floats, reduced: Floats) -> dict[str, float]:
    """Measure what a fitted method's features lose of the inputs.

    Choice: the inputs are rebuilt by the method's own `inverse_transform`; where it has none, by the linear map from
    the features that fits these inputs best, so that every method, one that selects or bends features too, has a
    figure on the same scale.

    Parameters
    ----------
    reducer : estimator
        A fitted transformer.
    X : float64 array of shape (n_samples, n_features)
        Training inputs.
    reduced : float64 array of shape (n_samples, n_components)
        What the method makes of them.

    Returns
    -------
    dict of str to float
        ``reconstruction_error``: E_M, half the mean squared distance of the inputs to what is rebuilt of them; for
        exact PCA half the sum of the discarded eigenvalues (Bishop 1995, section 8.6).
        ``retained_variance_percent``: the share of the total variance that is not lost so; negative where the mean
        alone would lose less. ``optimality_percent``: that over the most that so many linear features can retain, 100
        for exact PCA. A figure that no number can hold is left out.
    """
    deviations = X - X.mean(axis=0)
    scale = float(np.abs(deviations).max()) or 1.0
    variance = _mean_square(deviations / scale)
    lost = _mean_square((X - rebuilt(reducer, X, reduced)) / scale)
    measures = {}
    if variance > 0.0:
        measures["retained_variance_percent"] = 100.0 * (1.0 - lost / variance)
        if n_features := min(reduced.shape[1], X.shape[1]):
            most = most_variance(np.cov(deviations / scale, rowvar=False, ddof=0).reshape(X.shape[1], -1))
            best = float(most[n_features - 1]) / variance
            measures["optimality_percent"] = measures["retained_variance_percent"] / best
    with np.errstate(over="ignore"):
        measures["reconstruction_error"] = float(0.5 * lost * np.square(scale))
    return {name: value for name, value in measures.items() if np.isfinite(value)}


def rebuilt(reducer: Any, X: Floats, reduced: Floats) -> Floats:
    """Return the inputs that a method's features tell, as in `measure_reconstruction`; (n_samples, n_features)."""
    with suppress(NotFittedError):  # an inverse that the method has, but was not asked to learn
        if hasattr(reducer, "inverse_transform"):
            return np.asarray(reducer.inverse_transform(reduced))
    mean, centre = X.mean(axis=0), reduced.mean(axis=0)
    weights = np.linalg.lstsq(reduced - centre, X - mean, rcond=None)[0]
    return np.asarray(mean + (reduced - centre) @ weights)


def _mean_square(deviations: Floats) -> float:
    with np.errstate(over="ignore"):
        return float(np.mean(np.einsum("ij,ij->i", deviations, deviations)))
