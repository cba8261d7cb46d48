"""Validation of samples, with a fast path for plain arrays, and their scale."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, validate_data

_LEAST, _LARGEST = 1e-140, 1e140
"""Magnitudes whose squares float64 can sum, and multiply by the share of a small variance, without loss."""


def validated_samples(
    estimator: Any, X: Any, *, reset: bool = False, min_samples: int = 1
) -> NDArray[np.float64]:
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
        If X is not two-dimensional or not finite, has too few rows, or differs from the features in `fit`; with
        ``reset``, if the squares of its values could overflow or vanish.
    """
    if is_plain(X) and len(X) >= min_samples and not hasattr(estimator, "feature_names_in_"):
        if reset:
            check_scale(estimator, X)
            estimator.n_features_in_ = X.shape[1]
        if getattr(estimator, "n_features_in_", None) == X.shape[1]:
            return np.asarray(X)
    samples: NDArray[np.float64] = validate_data(
        estimator, X, dtype=np.float64, order="C", ensure_min_samples=min_samples, reset=reset
    )
    if reset:
        check_scale(estimator, samples)
    return samples


def validated_projections(estimator: Any, X: Any, n_columns: int) -> NDArray[np.float64]:
    """Return the argument of `inverse_transform` as a C-contiguous float64 array.

    Raises ValueError if X is not two-dimensional or not finite, or has other columns than `transform` returns.
    """
    projections: NDArray[np.float64] = check_array(X, dtype=np.float64, order="C", input_name="X")
    if projections.shape[1] != n_columns:
        raise ValueError(
            f"X in {type(estimator).__name__}.inverse_transform: expected {n_columns} column(s), as `transform`"
            f" returns, got {projections.shape[1]}."
        )
    return projections


def check_scale(estimator: Any, X: NDArray[np.float64]) -> None:
    """Raise ValueError unless the largest magnitude of training samples is 0 or from 1e-140 to 1e140."""
    largest = max(-X.min(), X.max())
    if largest and not _LEAST <= largest <= _LARGEST:
        raise ValueError(
            f"X in {type(estimator).__name__}: expected a largest magnitude from {_LEAST:g} to {_LARGEST:g}, got"
            f" {largest:.3g}. Scale the features."
        )


def unit_of(X: NDArray[np.float64]) -> float:
    """Return the power of ten by which to divide samples for training that depends on their scale.

    Choice: the largest range of a feature is then from 0.8 to 8, so that standardised inputs and Proben1's stay as they
    are. 1 if all features are constant.
    """
    largest = np.ptp(X, axis=0).max()
    return float(10.0 ** np.floor(np.log10(largest / 0.8))) if largest else 1.0


def power_of_two_above(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Return the least power of two above the magnitudes along an axis; 1 if all are 0.

    Division by it is exact, and then squares neither overflow nor vanish.
    """
    largest = np.abs(values).max(axis=axis)
    return np.ldexp(1.0, np.frexp(largest)[1])


def is_plain(X: Any) -> TypeGuard[NDArray[np.float64]]:
    """Return whether X is a non-empty C-contiguous float64 matrix of finite numbers with a finite sum."""
    if type(X) not in (np.ndarray, np.memmap) or X.dtype != np.float64 or X.ndim != 2:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        # needs no temporary array
        return X.size > 0 and X.flags.c_contiguous and bool(np.isfinite(X.sum()))
