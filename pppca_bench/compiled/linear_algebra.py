"""Covariance, eigenvectors, orthonormal rows and projections, the same to the last bit on every processor.

BLAS and LAPACK choose the order of their sums by the processor. The sums here have one order, and multiply-adds are
rounded once.
"""

from typing import Any

import numpy as np

from pppca_bench.compiled.arrays import Floats, Floats2D, Samples2D, aligned_zeros
from pppca_bench.compiled.jit import kernel, part
from pppca_bench.compiled.operation import HOLDS_32_VECTORS, WIDTH
from pppca_bench.compiled.simd import (
    broadcast,
    fma,
    load,
    load_tile,
    masked_load,
    splat,
    store,
    store_tile,
    subtract,
    zeros,
)

_BLOCK = 128
"""Samples whose products are summed while they stay in the second-level cache."""

LARGEST_BY_ROTATIONS = 256
"""Largest matrix of which `principal_components` is the same on every processor."""
_MOST_SWEEPS = 60
_NEGLIGIBLE = 1e-20
_TIED = 1.0 - 1e-6
_MEANINGFUL_BITS = 30
Tile = tuple[Any, Any, Any, Any, Any, Any, Any, Any]


def padded(n: int) -> int:
    """Return n rounded up to a multiple of eight."""
    return -(-n // WIDTH) * WIDTH


def second_moments(X: Floats, mean: Floats) -> Floats:
    """Return C = (X − mean)ᵀ (X − mean) / N, shape (m, m), of C-contiguous samples (N, m) and their mean (m,)."""
    n_features = X.shape[1]
    depth = padded(n_features)
    upper = aligned_zeros(depth, depth)
    sum_products(X, np.ascontiguousarray(mean)[np.newaxis], aligned_zeros(_BLOCK, depth), upper)
    upper = upper[:n_features, :n_features]
    return np.where(np.tri(n_features, dtype=bool), upper.T, upper) / len(X)


@kernel
def sum_products(X: Samples2D, mean: Samples2D, block: Floats2D, sums: Floats2D) -> None:
    """Add Σ_n (x_n − mean)ᵀ (x_n − mean) to ``sums`` above the diagonal, tile by tile, in the order of the samples.

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features)
    mean : float64 array of shape (1, n_features)
    block : float64 array of shape (128, depth), overwritten
    sums : float64 array of shape (depth, depth), ``n_features`` rounded up to a multiple of eight
        Changed in place, but for the tiles below the diagonal.
    """
    n_samples, n_features = X.shape
    depth = len(sums)
    # X_B, 128 centred samples, stays in the second-level cache while every tile adds its products.
    for first in range(0, n_samples, _BLOCK):
        n = _BLOCK if first + _BLOCK <= n_samples else n_samples - first
        for i in range(n):
            for k in range(0, depth, WIDTH):
                present = n_features - k
                centred = subtract(masked_load(X, first + i, k, present), masked_load(mean, 0, k, present))
                store(block, i, k, centred)
        # X_Bᵀ X_B by tiles of eight by eight, on and above the diagonal: C is symmetric.
        for row in range(0, depth, WIDTH):
            for column in range(row, depth, WIDTH):
                total = plus_products(load_tile(sums, row, column), block, 0, row, block, 0, column, n)
                store_tile(sums, row, column, total)


@part
def plus_products(x: Tile, A: Floats2D, row: int, column: int, B: Floats2D, other: int, place: int, n: int) -> Tile:
    """Return a tile plus Aᵀ B of eight columns each, from ``column`` and ``place`` on, and n rows.

    The rows begin at ``row`` in A and at ``other`` in B; vector i of the result belongs to column i of A.
    """
    # Σ_k A_kᵀ B_k, an outer product per row k: sums stay in their lanes, in the order of the rows. Fewer registers
    # hold half a tile at a time.
    t0, t1, t2, t3, t4, t5, t6, t7 = x
    if HOLDS_32_VECTORS:
        for k in range(n):
            b = load(B, other + k, place)
            t0, t1, t2, t3 = _plus_four(t0, t1, t2, t3, A, row + k, column, b)
            t4, t5, t6, t7 = _plus_four(t4, t5, t6, t7, A, row + k, column + 4, b)
    else:
        for k in range(n):
            t0, t1, t2, t3 = _plus_four(t0, t1, t2, t3, A, row + k, column, load(B, other + k, place))
        for k in range(n):
            t4, t5, t6, t7 = _plus_four(t4, t5, t6, t7, A, row + k, column + 4, load(B, other + k, place))
    return t0, t1, t2, t3, t4, t5, t6, t7


@part
def _plus_four(a: Any, b: Any, c: Any, d: Any, A: Floats2D, i: int, j: int, x: Any) -> tuple[Any, Any, Any, Any]:
    """Return four vectors plus A_ij x, …, A_i(j+3) x."""
    return (
        fma(broadcast(A, i, j), x, a),
        fma(broadcast(A, i, j + 1), x, b),
        fma(broadcast(A, i, j + 2), x, c),
        fma(broadcast(A, i, j + 3), x, d),
    )


def project(X: Floats, mean: Floats, rows: Floats) -> Floats:
    """Return (X − mean) Wᵀ, shape (n_samples, n_rows), of samples (n_samples, m), their mean (m,) and rows W."""
    columns = aligned_zeros(X.shape[1], padded(len(rows)))
    columns[:, : len(rows)] = rows.T
    outputs = aligned_zeros(len(X), columns.shape[1])
    project_samples(np.ascontiguousarray(X), np.ascontiguousarray(mean)[np.newaxis], columns, outputs)
    return np.ascontiguousarray(outputs[:, : len(rows)])


@kernel
def project_samples(X: Samples2D, mean: Samples2D, columns: Floats2D, outputs: Floats2D) -> None:
    """Set ``outputs`` (n_samples, depth) to X − mean times ``columns`` (n_features, depth), depth a multiple of eight.

    X has the shape (n_samples, n_features), ``mean`` (1, n_features).
    """
    for n in range(len(X)):
        for j in range(0, columns.shape[1], WIDTH):
            total = zeros()
            for i in range(X.shape[1]):
                total = fma(splat(X[n, i] - mean[0, i]), load(columns, i, j), total)
            store(outputs, n, j, total)


def product(A: Floats, B: Floats) -> Floats:
    """Return A B, of matrices of shapes (n, m) and (m, k)."""
    return project(A, np.zeros(len(B)), B.T)


def principal_components(C: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues of a covariance matrix C (m, m), >= 0, the largest first, and its eigenvectors as rows.

    Choice: by Jacobi's rotations up to 256 features; beyond, where these take seconds, by LAPACK, so that the last
    digits depend on the processor. Signs are those of `signed`.
    """
    if len(C) > LARGEST_BY_ROTATIONS:
        eigenvalues, vectors = np.linalg.eigh(C)
        return np.maximum(eigenvalues[::-1], 0.0), signed(vectors.T[::-1])
    diagonal, rows = np.array(C, order="C"), np.eye(len(C))
    diagonalise(diagonal, rows)
    eigenvalues = np.diagonal(diagonal)
    order = np.argsort(-eigenvalues, kind="stable")
    return np.maximum(eigenvalues[order], 0.0), signed(rows[order])


@kernel
def diagonalise(A: Floats2D, rows: Floats2D) -> None:
    """Turn a symmetric A (m, m) into its eigenvalues on the diagonal, and rows of the identity into eigenvectors.

    Cyclic Jacobi rotations (Golub and Van Loan 2013, section 8.5), until no other entry exceeds 1e-20 of the largest.
    """
    m = len(A)
    largest = 0.0
    for p in range(m):
        largest = max(largest, abs(A[p, p]))
    for _ in range(_MOST_SWEEPS):
        n_rotations = 0
        for p in range(m - 1):
            for q in range(p + 1, m):
                if abs(A[p, q]) <= _NEGLIGIBLE * largest:
                    continue
                n_rotations += 1
                # t = tan φ of the angle for which the rotated A_pq vanishes, |φ| <= π / 4
                theta = 0.5 * (A[q, q] - A[p, p]) / A[p, q]
                t = 1.0 / (abs(theta) + np.sqrt(1.0 + theta * theta))
                t = -t if theta < 0.0 else t
                c = 1.0 / np.sqrt(1.0 + t * t)
                s = t * c
                A[p, p] -= t * A[p, q]
                A[q, q] += t * A[p, q]
                A[p, q] = A[q, p] = 0.0
                for k in range(m):
                    if k not in (p, q):
                        first, second = A[p, k], A[q, k]
                        A[p, k] = A[k, p] = c * first - s * second
                        A[q, k] = A[k, q] = s * first + c * second
                    first, second = rows[p, k], rows[q, k]
                    rows[p, k] = c * first - s * second
                    rows[q, k] = s * first + c * second
        if n_rotations == 0:
            return


def signed(rows: Floats) -> Floats:
    """Return rows (n_rows, m) with the signs for which the largest weight of each is positive.

    Choice: of weights whose magnitudes differ by less than a millionth the first decides, so that rounding does not.
    """
    magnitudes = np.abs(rows)
    deciding = (magnitudes >= _TIED * magnitudes.max(axis=1, keepdims=True)).argmax(axis=1)[:, np.newaxis]
    return np.ascontiguousarray(rows * np.where(np.take_along_axis(rows, deciding, axis=1) < 0.0, -1.0, 1.0))


def orthonormal(rows: Floats) -> Floats:
    """Return rows (n_rows, m), independent, orthonormalised in their order by Gram and Schmidt, twice."""
    result = rows.copy()
    for _ in range(2):
        for i, row in enumerate(result):
            row /= np.sqrt(np.square(row).sum())
            # Sums along the last axis have one order in NumPy; a product by BLAS has not.
            result[i + 1 :] -= (result[i + 1 :] * row).sum(axis=1, keepdims=True) * row
    return result


def rounded(values: Floats) -> Floats:
    """Return numbers that BLAS or LAPACK computed, finite and not empty, rounded to 2⁻³⁰ of the largest magnitude.

    Their last digits depend on the processor, and training on them would amplify the difference (docs/choices.md).
    """
    step = 2.0 ** (np.frexp(np.abs(values).max())[1] - _MEANINGFUL_BITS)
    return np.rint(values / step) * step
