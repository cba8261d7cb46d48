"""Counterparts of the pseudo-PCAs with the same number of components: exact PCA, and learning without removal."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pppca_bench.compiled.arrays import Floats
from pppca_bench.compiled.linear_algebra import principal_components, second_moments
from pppca_bench.engines.dgha import DGHA
from pppca_bench.engines.ne_ppca import NEpPCA


class _ExactComponents:
    """Mixin that replaces the rows of a fitted pseudo-PCA by as many exact principal components.

    Attributes
    ----------
    components_ : float64 array, shape (n_components_, n_features)
        Eigenvectors of the covariance matrix by decreasing eigenvalue, of unit norm, the largest weight positive.
    """

    n_components_: int
    mean_: Floats

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Fit the pseudo-PCA on X, shape (n_samples, n_features), and replace its rows; raises as its `fit` does."""
        super().fit(X, y)  # type: ignore[misc]
        C = second_moments(np.ascontiguousarray(X, dtype=np.float64), self.mean_)
        eigenvalues, rows = principal_components(C)
        self.components_, self.explained_variance_ = rows[: self.n_components_], eigenvalues[: self.n_components_]
        # Constant features have no variance.
        self.explained_variance_ratio_ = self.explained_variance_ / (np.trace(C) or 1.0)
        return self


class PCALikeDGHA(_ExactComponents, DGHA):
    """Exact principal components, as many as `DGHA` keeps with the same parameters and random numbers.

    The parameters and other attributes are those of DGHA.
    """


class PCALikeNEpPCA(_ExactComponents, NEpPCA):
    """Exact principal components, as many as `NEpPCA` keeps with the same parameters and random numbers.

    The parameters and other attributes are those of NEpPCA.
    """


class DGHAWithoutRemoval(DGHA):
    """GHA by the schedule of `DGHA`, with as many rows from the start as DGHA keeps, so that none is removed.

    The counterfactual of the claim that removed variance is regained. Parameters and attributes are those of DGHA.
    """

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Fit DGHA on X, shape (n_samples, n_features), then learn again; raises as `DGHA.fit` does."""
        kept = DGHA(**self.get_params()).fit(X, y).n_components_
        learnt = DGHA(**(self.get_params() | {"n_components": kept, "min_components": kept})).fit(X, y)
        for name in vars(learnt).keys() - self.get_params().keys():
            setattr(self, name, getattr(learnt, name))
        return self
