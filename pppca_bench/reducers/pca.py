"""Exact principal component analysis, by the covariance matrix and by singular values."""

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from pppca_bench.compiled.arrays import Floats
from pppca_bench.parameters import Count, Share, Tau, check_parameters
from pppca_bench.reducers.linear_projection import (
    CountedByEigenvalues,
    LinearProjection,
    count_components,
    covariance,
    with_fixed_signs,
)
from pppca_bench.samples import validated_samples


class _ExactPCA(CountedByEigenvalues, LinearProjection):
    """Keep the leading eigenvectors of the covariance matrix; a subclass says how they are computed."""

    def __init__(
        self, n_components: Count | None = None, *, variance_ratio: Share | None = None, tau: Tau | None = None
    ) -> None:
        self.n_components = n_components
        self.variance_ratio = variance_ratio
        self.tau = tau

    def fit(self, X: ArrayLike, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Learn the components.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features), n_samples >= 2
        y : None
            Ignored.

        Raises
        ------
        ValueError
            When not exactly one rule for the number of components is given, or it or X is out of its range.
        """
        check_parameters(self)
        samples = validated_samples(self, X, reset=True, min_samples=2)
        self.eigenvalues_, rows = self._spectrum(samples)
        self._publish(with_fixed_signs(rows[: count_components(self, self.eigenvalues_)]), samples)
        return self

    @abstractmethod
    def _spectrum(self, X: Floats) -> tuple[Floats, Floats]:
        """Return all eigenvalues of C in descending order and the eigenvectors as rows."""


class CovariancePCA(_ExactPCA):
    """Keep the leading eigenvectors of the covariance matrix (Bishop 1995, section 8.6; Mitchell's algorithm 1).

    Give exactly one of the three parameters.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, from 1 to n_features.
    variance_ratio : float or None, default=None
        Keep the fewest components that hold this share of the variance; in (0, 1].
    tau : float or None, default=None
        Keep component i while λ1 / λi <= tau, the slides' criterion (1); >= 1.

    Attributes
    ----------
    eigenvalues_ : float64 array, shape (n_features,)
        Of C = (X − mean)ᵀ (X − mean) / N, the largest first. N / 2 times the sum of the discarded ones is the
        reconstruction error E_M (Bishop 1995, eq. 8.23, whose Σ is N C).
    components_, mean_, n_components_, explained_variance_, explained_variance_ratio_, history_
        See `LinearProjection`.
    """

    def _spectrum(self, X: Floats) -> tuple[Floats, Floats]:
        eigenvalues, vectors = np.linalg.eigh(covariance(X))
        return np.maximum(eigenvalues[::-1], 0.0), vectors.T[::-1]


class SingularValuePCA(_ExactPCA):
    """Keep the leading right singular vectors of the centred samples (Mitchell 2006, slide "SVD").

    Give exactly one of the three parameters, as `CovariancePCA` has them; n_components is at most
    min(n_samples, n_features).

    Attributes
    ----------
    eigenvalues_ : float64 array, shape (min(n_samples, n_features),)
        s² / N of the singular values s.
    components_, mean_, n_components_, explained_variance_, explained_variance_ratio_, history_
        See `LinearProjection`.
    """

    def _spectrum(self, X: Floats) -> tuple[Floats, Floats]:
        singular, rows = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[1:]
        return singular**2 / len(X), rows
