"""Samples as estimators are given them: checked, and quickly where nothing can be wrong with them."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data


def validated_samples(estimator: Any, X: Any, *, reset: bool = False, min_samples: int = 1) -> NDArray[np.float64]:
    """Return samples as a C-contiguous float64 array, checked as scikit-learn's estimators do.

    An array that would pass through ``validate_data`` as it is does so without the call, which takes ten times as long
    as to project a few hundred samples: it looks for data frames of every library, and for names of features.

    Parameters
    ----------
    estimator : estimator
        Its ``n_features_in_`` is set, or compared.
    X : array-like of shape (n_samples, n_features)
    reset : bool, default False
        Whether the estimator is fitted to X; else X must have the features that it was fitted to.
    min_samples : int, default 1
        Rows that X must have.

    Returns
    -------
    float64 array of shape (n_samples, n_features)

    Raises
    ------
    ValueError
        X has another shape, too few rows, other features, or numbers that are not finite.
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
    """Tell whether X is a C-contiguous float64 array of finite numbers, with rows and columns.

    Of one whose sum overflows it says no.
    """
    if type(X) not in (np.ndarray, np.memmap) or X.dtype != np.float64 or X.ndim != 2:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return X.size > 0 and X.flags.c_contiguous and bool(np.isfinite(X.sum()))  # no flag for each number
