"""Projections on components: base classes, retained variance, initial directions from samples."""

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pppca_bench.base.parameters import check_limit, check_parameters
from pppca_bench.base.samples import validated_projections, validated_samples
from pppca_bench.compiled.arrays import Floats, Indices
from pppca_bench.compiled.linear_algebra import (
    orthonormal,
    principal_components,
    project,
    second_moments,
)


class UnsupervisedMixin:
    """Mixin for estimators that learn from samples alone, all at once."""

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Learn from samples.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features), n_samples >= 2
            Training samples.
        y : object
            Ignored.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If a parameter is out of its range, or X has fewer than two samples, values that are not finite or not from
            1e-140 to 1e140, or no variance where the estimator needs some.
        """
        check_parameters(self)
        self._learn(validated_samples(self, X, reset=True, min_samples=2))
        return self

    @abstractmethod
    def _learn(self, X: Floats) -> None:
        """Set the learned attributes from validated samples."""


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of projections on ``n_components_`` components."""

    n_components_: int

    def transform(self, X: ArrayLike) -> Floats:
        """Project samples on the components.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Samples.

        Returns
        -------
        float64 array, shape (n_samples, n_components_)
            Projections.
        """
        check_is_fitted(self)
        return self._projected(validated_samples(self, X))

    @abstractmethod
    def _projected(self, X: Floats) -> Floats:
        """Return the projections of validated samples."""

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


class LinearProjection(Projection):
    """Base of linear projections y = W (x − mean) with the training mean.

    Attributes
    ----------
    components_ : float64 array, shape (n_components_, n_features)
    mean_ : float64 array, shape (n_features,)
    n_samples_seen_ : int
        Number of samples in the mean and the variances.
    """

    n_components: int | None
    components_: Floats
    mean_: Floats
    explained_variance_: Floats
    n_samples_seen_: int

    _relative_cut: ClassVar[float] = 1e-15
    """Share of the largest singular value below which `inverse_transform` ignores a direction."""

    def _projected(self, X: Floats) -> Floats:
        return project(X, self.mean_, self.components_)

    @property
    def singular_values_(self) -> Floats:
        """Norms of the centred samples' projections on the directions of the rows, √(n_samples_seen_ variance)."""
        return np.sqrt(self.n_samples_seen_) * np.sqrt(self.explained_variance_)

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Map projections back to points in the span of the rows.

        By the pseudo-inverse, the points are orthogonal projections of samples on the span, for any norms and angles of
        the rows. Half the sum of squared distances is E_M (Bishop 1995, eq. 8.17).

        Parameters
        ----------
        X : array-like, shape (n_samples, n_components_)
            Projections.

        Returns
        -------
        float64 array, shape (n_samples, n_features)
            Points, with the training mean.
        """
        check_is_fitted(self)
        projections = validated_projections(self, X, len(self.components_))
        inverse = np.linalg.pinv(self.components_, rcond=self._relative_cut)
        return projections @ inverse.T + self.mean_

    def _n_rows_at_start(self, n_features: int) -> int:
        """Return `n_components`, or n_features if it is None."""
        check_limit(self, "n_components", n_features)
        return int(self.n_components or n_features)


def max_variances(C: Floats) -> Floats:
    """Return the largest variances of 1, 2, …, m orthogonal directions: cumulative eigenvalues of C (m, m)."""
    eigenvalues = np.linalg.eigvalsh(C)[::-1]
    return np.cumsum(np.maximum(eigenvalues, 0.0))


def variance_of_span(rows: Floats, C: Floats) -> float:
    """Return the variance of the orthogonal projection on the span of rows (n_rows, m), of any norms and angles.

    Zero rows and rows that are dependent up to rounding add nothing. C has shape (m, m).
    """
    rows = rows[rows.any(axis=1)]
    if not len(rows):
        return 0.0
    # Without scaling, squares of norms could overflow or underflow.
    scaled = rows / np.abs(rows).max(axis=1, keepdims=True)
    directions = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    basis, triangle, _ = qr(directions.T, mode="economic", pivoting=True, check_finite=False)
    lengths = np.abs(np.diag(triangle))
    basis = basis[:, lengths > lengths[0] * max(directions.shape) * np.finfo(np.float64).eps]
    # Σ qᵀ C q over an orthonormal basis q of the span
    return float(np.vdot(C @ basis, basis))


def optimality(variance: Floats | float, n_directions: Indices | int, maxima: Floats) -> Floats:
    """Return the retained variance, divided by the largest of as many directions: 1 for exact PCA, nan for 0 / 0.

    Variance and number of directions are numbers or arrays of equal shape; ``maxima`` are `max_variances`.
    """
    largest = np.asarray(maxima[np.minimum(n_directions, len(maxima)) - 1])
    return np.divide(variance, largest, out=np.full(largest.shape, np.nan), where=largest > 0.0)


def principal_directions(
    rng: np.random.Generator, X: Floats, n_samples: int, n_rows: int, *, centre: bool
) -> Floats:
    """Draw samples without replacement, and return the leading principal components as rows of unit norm.

    Source: "Hebbian-Based Principal Component Analysis", summary: classical PCA on a few samples instead of random
    weights. Choice: if fewer than n_rows components have variance, random orthonormal directions follow, orthogonal
    to the components; the weight of largest magnitude of a component is positive, since signs are arbitrary.

    Parameters
    ----------
    rng : numpy Generator
    X : float64 array, shape (n, n_features), n >= 1
    n_samples : int
        Number of samples to draw; all samples if there are fewer.
    n_rows : int
        Number of rows, in [1, n_features].
    centre : bool
        Whether to subtract the mean of the drawn samples.

    Returns
    -------
    float64 array, shape (n_rows, n_features)
        Orthonormal rows; principal components by decreasing variance.
    """
    block = X[np.sort(rng.permutation(len(X))[:n_samples])]
    mean = block.mean(axis=0) if centre else np.zeros(block.shape[1])
    eigenvalues, directions = principal_components(second_moments(block, mean))
    least = eigenvalues[0] * max(block.shape) * np.finfo(float).eps
    components = directions[eigenvalues > least][:n_rows]
    others = rng.standard_normal((n_rows - len(components), block.shape[1]))
    return orthonormal(np.vstack([components, others]))
