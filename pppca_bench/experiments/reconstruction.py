"""Reconstruction of inputs from reduced features: error, retained variance, and arrays for figures."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from pppca_bench.compiled.arrays import Floats
from pppca_bench.engines.exact_pca import most_variance
from pppca_bench.problems import Problem


def measure_reconstruction(reducer: Any, X: Floats, reduced: Floats) -> dict[str, float]:
    """Measure the loss of a fitted method's features.

    Choice: the inputs are reconstructed by the method's own `inverse_transform`; where it has none, by the linear map
    from the features that fits these inputs best. So every method, also a selection or a nonlinear one, has a figure on
    the same scale.

    Parameters
    ----------
    reducer : estimator
        A fitted transformer.
    X : float64 array of shape (n_samples, n_features)
        Training inputs.
    reduced : float64 array of shape (n_samples, n_components)
        Their features.

    Returns
    -------
    dict of str to float
        ``reconstruction_error``: E_M, half the mean squared distance of the inputs to their reconstruction; for exact
        PCA half the sum of the discarded eigenvalues (Bishop 1995, section 8.6). ``retained_variance_percent``: the
        share of the total variance that is not lost; negative where the mean alone would lose less.
        ``optimality_percent``: that over the most that as many linear features can retain, 100 for exact PCA. Figures
        that overflow float64 are left out.
    """
    deviations = X - X.mean(axis=0)
    scale = float(np.abs(deviations).max()) or 1.0
    variance = _mean_square(deviations / scale)
    lost = _mean_square((X - _reconstructed(reducer, X, reduced)) / scale)
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


def portray(reducer: Any, problem: Problem, reduced: Floats) -> dict[str, NDArray[Any]]:
    """Return the arrays that a run with ``portrait: true`` stores for figures, in single precision.

    Parameters
    ----------
    reducer : estimator
        A fitted transformer.
    problem : Problem
        Its training split is stored.
    reduced : float64 array of shape (n_train, n_components)
        Features of the training inputs.

    Returns
    -------
    dict of str to float32 array
        ``"portrait_inputs"`` and ``"portrait_rebuilt"`` (n_train, n_features); ``"portrait_features"`` (n_train,
        n_components); ``"portrait_targets"`` (n_train,) or (n_train, n_outputs); where the method has them
        ``"portrait_components"`` (n_components, n_features) and ``"portrait_eigenvalues"``, the largest first.
    """
    arrays = {
        "inputs": problem.X_train,
        "targets": problem.y_train,
        "features": reduced,
        "rebuilt": _reconstructed(reducer, problem.X_train, reduced),
        "components": getattr(reducer, "components_", None),
        "eigenvalues": getattr(reducer, "eigenvalues_", None),
    }
    return {f"portrait_{name}": np.asarray(array, np.float32) for name, array in arrays.items() if array is not None}


def _reconstructed(reducer: Any, X: Floats, reduced: Floats) -> Floats:
    with suppress(NotFittedError):  # an inverse that the method has, but was not asked to learn
        if hasattr(reducer, "inverse_transform"):
            return np.asarray(reducer.inverse_transform(reduced))
    mean, centre = X.mean(axis=0), reduced.mean(axis=0)
    weights = np.linalg.lstsq(reduced - centre, X - mean, rcond=None)[0]
    return np.asarray(mean + (reduced - centre) @ weights)


def _mean_square(deviations: Floats) -> float:
    with np.errstate(over="ignore"):
        return float(np.mean(np.einsum("ij,ij->i", deviations, deviations)))
