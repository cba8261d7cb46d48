"""Validation of samples, with a fast path for plain arrays."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data


def validated_samples(estimator: Any, X: Any, *, reset: bool = False, min_samples: int = 1) -> NDArray[np.float64]:
    """Return samples as a C-contiguous float64 array, validated as in scikit-learn.

    Plain arrays skip scikit-learn's ``validate_data``, whose search for data frames and feature names takes ten times
    as long as the projection of a few hundred samples.

    Parameters
    ----------
    estimator : estimator
        With ``reset``, ``n_features_in_`` is set, otherwise compared.
    X : array-like of shape (n_samples, n_features)
    reset : bool, default False
        Whether the estimator is being fitted to X.
    min_samples : int, default 1
        Smallest number of rows.

    Raises
    ------
    ValueError
        If X is not two-dimensional or not finite, has too few rows, or differs from the features in `fit`.
    """
    if is_plain(X) and len(X) >= min_samples and not hasattr(estimator, "feature_names_in_"):
        if reset:
            estimator.n_features_in_ = X.shape[1]
        if getattr(estimator, "n_features_in_", None) == X.shape[1]:
            return np.asarray(X)
    samples: NDArray[np.float64] = validate_data(
        estimator, X, dtype=np.float64, order="C", ensure_min_samples=min_samples, reset=reset
    )
    return samples


def is_plain(X: Any) -> TypeGuard[NDArray[np.float64]]:
    """Return whether X is a non-empty C-contiguous float64 matrix of finite numbers with a finite sum."""
    if type(X) not in (np.ndarray, np.memmap) or X.dtype != np.float64 or X.ndim != 2:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return X.size > 0 and X.flags.c_contiguous and bool(np.isfinite(X.sum()))  # needs no temporary array
