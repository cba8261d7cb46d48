"""Linear projections: base of the estimators, exact PCA, and the share of its variance that directions retain."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pppca_bench.compiled.arrays import Floats
from pppca_bench.samples import validated_samples


class LinearProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of transformers that project on the rows of ``components_``, after centring by ``mean_``."""

    n_components: int | None
    components_: Floats
    mean_: Floats

    def transform(self, X: ArrayLike) -> Floats:
        """Project samples on the rows.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Samples; the training mean is subtracted.

        Returns
        -------
        float64 array, shape (n_samples, n_components_)
            Outputs y = W (x − mean).
        """
        check_is_fitted(self)
        return (validated_samples(self, X) - self.mean_) @ self.components_.T

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _n_rows_at_start(self, n_features: int) -> int:
        """Return `n_components`, or n_features in place of None."""
        if self.n_components is not None and self.n_components > n_features:
            raise ValueError(
                f"n_components in {type(self).__name__}: expected at most n_features = {n_features}, "
                f"got {self.n_components}. Give fewer, or None for all."
            )
        return int(self.n_components or n_features)


def most_variance(C: Floats) -> Floats:
    """Return the largest variances of 1, 2, …, m orthogonal directions: sums of the largest eigenvalues of C (m, m)."""
    eigenvalues = np.linalg.eigvalsh(C)[::-1]
    return np.cumsum(np.maximum(eigenvalues, 0.0))


def variance_of_span(rows: Floats, C: Floats) -> float:
    """Return the variance of the orthogonal projection on the span of rows (n_rows, m), of any norms and angles.

    Rows of zeros, and rows in the span of others up to rounding, add nothing. C has shape (m, m).
    """
    rows = rows[rows.any(axis=1)]
    if not len(rows):
        return 0.0
    # Without the scaling, squares of norms could overflow or vanish.
    scaled = rows / np.abs(rows).max(axis=1, keepdims=True)
    # Σ q C qᵀ over an orthonormal basis q of the span
    directions = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    _, singular, basis = np.linalg.svd(directions, full_matrices=False)
    basis = basis[singular > singular[0] * max(directions.shape) * np.finfo(np.float64).eps]
    return float(np.einsum("ij,jk,ik->", basis, C, basis))


def optimality(variance: NDArray[np.float64], n_directions: NDArray[np.int64], most: Floats) -> Floats:
    """Return the retained variance over the largest of as many directions: 1 is exact PCA, nan if there is no variance.

    Variance and number of directions have shape (n_steps,); ``most`` is that of `most_variance`.
    """
    held = most[np.minimum(n_directions, len(most)) - 1]
    return np.divide(variance, held, out=np.full(len(held), np.nan), where=held > 0.0)


def principal_directions(rng: np.random.Generator, X: Floats, n_samples: int, n_rows: int, *, centre: bool) -> Floats:
    """Draw a block of samples without replacement, and return its leading principal components as rows of unit norm.

    Source: "Hebbian-Based Principal Component Analysis", summary: classical PCA on a few samples instead of random
    weights. Choice: if the block has fewer components than n_rows, random directions follow, orthogonal to them and to
    each other; a component's largest weight is positive, since its sign is arbitrary.

    Parameters
    ----------
    rng : numpy Generator
    X : float64 array, shape (n, n_features), n >= 1
    n_samples : int
        Size of the block; all samples if there are fewer.
    n_rows : int
        Number of rows, in [1, n_features].
    centre : bool
        Whether to subtract the block's own mean.

    Returns
    -------
    float64 array, shape (n_rows, n_features)
        Orthonormal rows, the principal components by decreasing variance.
    """
    block = X[np.sort(rng.permutation(len(X))[:n_samples])]
    deviations = block - block.mean(axis=0) if centre else block
    _, scales, directions = np.linalg.svd(deviations, full_matrices=False)
    components = directions[scales > scales[0] * max(block.shape) * np.finfo(float).eps][:n_rows]
    largest = np.abs(components).argmax(axis=1, keepdims=True)
    components = components * np.sign(np.take_along_axis(components, largest, axis=1))
    others = rng.standard_normal((n_rows - len(components), block.shape[1]))
    # B − (B Pᵀ) P, orthogonal to the components P
    others -= others @ components.T @ components
    return np.ascontiguousarray(np.vstack([components, np.linalg.qr(others.T)[0].T]))
