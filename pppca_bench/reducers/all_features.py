"""No reduction: every feature as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pppca_bench.compiled.arrays import Floats
from pppca_bench.samples import validated_samples


class AllFeatures(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Hand on every feature as it is, for a classifier without any reduction (Proben1 report)."""

    def fit(self, X: ArrayLike, y: Any = None) -> AllFeatures:  # noqa: ARG002
        """Learn nothing but the number of features."""
        validated_samples(self, X, reset=True)
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Return the samples, float64 of shape (n_samples, n_features)."""
        check_is_fitted(self, "n_features_in_")
        return validated_samples(self, X)

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return the samples, float64 of shape (n_samples, n_features)."""
        return np.asarray(X, dtype=np.float64)
