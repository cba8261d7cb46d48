"""Counterparts of the pseudo-PCAs with the same number of components: exact PCA, and learning without removal."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pppca_bench.engines.dgha import DGHA
from pppca_bench.engines.ne_ppca import NEpPCA


class PCALikeDGHA(DGHA):
    """Exact principal components, as many as `DGHA` keeps with the same parameters and random numbers.

    The parameters and other attributes are those of DGHA.

    Attributes
    ----------
    components_ : float64 array, shape (n_components_, n_features)
        Eigenvectors of the covariance matrix by decreasing eigenvalue, of unit norm, the largest weight positive.
    """

    def fit(self, X: ArrayLike, y: None = None) -> PCALikeDGHA:
        """Fit DGHA on X, shape (n_samples, n_features), and replace its rows; raises as `DGHA.fit` does."""
        super().fit(X, y)
        return _with_exact_components(self, X)


class PCALikeNEpPCA(NEpPCA):
    """Exact principal components, as many as `NEpPCA` keeps with the same parameters and random numbers.

    The parameters and other attributes are those of NEpPCA.

    Attributes
    ----------
    components_ : float64 array, shape (n_components_, n_features)
        Eigenvectors of the covariance matrix by decreasing eigenvalue, of unit norm, the largest weight positive.
    """

    def fit(self, X: ArrayLike, y: object = None) -> PCALikeNEpPCA:
        """Fit NEpPCA on X, shape (n_samples, n_features), and replace its rows; raises as `NEpPCA.fit` does."""
        super().fit(X, y)
        return _with_exact_components(self, X)


class DGHAWithoutRemoval(DGHA):
    """GHA by the schedule of `DGHA`, with as many rows from the start as DGHA keeps, so that none is removed.

    The counterfactual of the claim that removed variance is regained. Parameters and attributes are those of DGHA.
    """

    def fit(self, X: ArrayLike, y: None = None) -> DGHAWithoutRemoval:
        """Fit DGHA on X, shape (n_samples, n_features), then learn again; raises as `DGHA.fit` does."""
        kept = DGHA(**self.get_params()).fit(X, y).n_components_
        learnt = DGHA(**(self.get_params() | {"n_components": kept, "min_components": kept})).fit(X, y)
        for name in vars(learnt).keys() - self.get_params().keys():
            setattr(self, name, getattr(learnt, name))
        return self


_Fitted = TypeVar("_Fitted", DGHA, NEpPCA)


def _with_exact_components(fitted: _Fitted, X: ArrayLike) -> _Fitted:
    deviations = np.asarray(X, dtype=np.float64) - fitted.mean_
    C = deviations.T @ deviations / len(deviations)
    eigenvalues, vectors = np.linalg.eigh(C)
    kept = slice(None, fitted.n_components_)
    rows = vectors.T[::-1][kept]
    # An eigenvector's sign is arbitrary.
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1, keepdims=True), axis=1)
    fitted.components_ = np.ascontiguousarray(rows * np.where(largest < 0.0, -1.0, 1.0))
    fitted.explained_variance_ = np.maximum(eigenvalues[::-1][kept], 0.0)
    # Constant features have no variance.
    fitted.explained_variance_ratio_ = fitted.explained_variance_ / (np.trace(C) or 1.0)
    return fitted
