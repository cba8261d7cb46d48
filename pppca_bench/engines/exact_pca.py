"""Exact PCA, and the optimality of directions: the share of its variance that they retain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pppca_bench.compiled.arrays import Floats


def most_variance(C: Floats) -> Floats:
    """Return the largest variances of 1, 2, …, m orthogonal directions: sums of the largest eigenvalues.

    Parameters
    ----------
    C : float64 array of shape (m, m)
        Covariance or autocorrelation matrix.
    """
    eigenvalues = np.linalg.eigvalsh(C)[::-1]
    return np.cumsum(np.maximum(eigenvalues, 0.0))


def variance_of_span(rows: Floats, C: Floats) -> float:
    """Return the variance of the orthogonal projection on the rows' span, for any norms and angles of the rows.

    Parameters
    ----------
    rows : float64 array of shape (n_rows, m)
        Rows of zeros, and rows in the span of others up to rounding, add nothing.
    C : float64 array of shape (m, m)
    """
    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows[largest[:, 0] > 0.0] / largest[largest[:, 0] > 0.0]
    if not len(scaled):
        return 0.0
    # Σ q C qᵀ over an orthonormal basis q of the span
    directions = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    _, singular, basis = np.linalg.svd(directions, full_matrices=False)
    basis = basis[singular > singular[0] * max(directions.shape) * np.finfo(np.float64).eps]
    return float(np.einsum("ij,jk,ik->", basis, C, basis))


def optimality(variance: NDArray[np.float64], n_directions: NDArray[np.int64], most: Floats) -> Floats:
    """Return the retained variance over the largest of as many directions: 1 is exact PCA, nan if there is no variance.

    Parameters
    ----------
    variance, n_directions : arrays of shape (n_steps,)
        Retained variance and number of directions, step by step.
    most : float64 array of shape (m,)
        See `most_variance`.
    """
    held = most[np.minimum(n_directions, len(most)) - 1]
    return np.divide(variance, held, out=np.full(len(held), np.nan), where=held > 0.0)


def principal_directions(rng: np.random.Generator, block: Floats, n_rows: int, *, centre: bool) -> Floats:
    """Return the leading principal components of a small block of samples, as rows of unit norm.

    Source: "Hebbian-Based Principal Component Analysis", summary: classical PCA on a few samples instead of random
    weights. Choice: if the block has fewer components than n_rows, random directions follow, orthogonal to them and to
    each other; a component's largest weight is positive, since its sign is arbitrary.

    Parameters
    ----------
    rng : numpy Generator
    block : float64 array, shape (n, n_features), n >= 1
        Samples.
    n_rows : int
        Number of rows, in [1, n_features].
    centre : bool
        Whether to subtract the block's own mean.

    Returns
    -------
    float64 array, shape (n_rows, n_features)
        Orthonormal rows, the principal components by decreasing variance.
    """
    deviations = block - block.mean(axis=0) if centre else block
    _, scales, directions = np.linalg.svd(deviations, full_matrices=False)
    components = directions[scales > scales[0] * max(block.shape) * np.finfo(float).eps][:n_rows]
    largest = np.abs(components).argmax(axis=1, keepdims=True)
    components = components * np.sign(np.take_along_axis(components, largest, axis=1))
    others = rng.standard_normal((n_rows - len(components), block.shape[1]))
    # B − (B Pᵀ) P, orthogonal to the components P
    others -= others @ components.T @ components
    return np.ascontiguousarray(np.vstack([components, np.linalg.qr(others.T)[0].T]))
