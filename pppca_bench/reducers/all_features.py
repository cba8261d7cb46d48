"""No reduction: every feature as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

Floats = NDArray[np.float64]


class AllFeatures(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Hand on every feature as it is, for a classifier without any reduction (Proben1 report)."""

    def fit(self, X: ArrayLike, y: Any = None) -> AllFeatures:  # noqa: ARG002
        """Learn nothing but the number of features."""
        validate_data(self, X, dtype=np.float64)
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Return the samples, float64 of shape (n_samples, n_features)."""
        check_is_fitted(self, "n_features_in_")
        samples: Floats = validate_data(self, X, dtype=np.float64, reset=False)
        return samples

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return the samples, float64 of shape (n_samples, n_features)."""
        return np.asarray(X, dtype=np.float64)
