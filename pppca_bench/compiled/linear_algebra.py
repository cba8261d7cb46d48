"""Covariance, eigenvectors, orthonormal rows and projections, bitwise equal on all processors.

In BLAS and LAPACK the order of summation depends on the processor. Here the order is fixed, and multiply-adds are
rounded once.
"""

from typing import Any

import numpy as np

from pppca_bench.compiled.arrays import Floats, Floats2D, Samples2D, aligned_zeros
from pppca_bench.compiled.jit import kernel, subroutine
from pppca_bench.compiled.operation import FITS_32_VECTORS, WIDTH
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
"""Number of samples in a block, which fits into the second-level cache."""

MAX_JACOBI_FEATURES = 256
"""Size of the largest matrix whose `principal_components` do not depend on the processor."""
_MAX_SWEEPS = 60
_NEGLIGIBLE = 1e-20
_TIE_RATIO = 1.0 - 1e-6
_ROUNDED_BITS = 30

Tile = tuple[Any, Any, Any, Any, Any, Any, Any, Any]


def padded(n: int) -> int:
    """Return n rounded up to a multiple of eight."""
    return -(-n // WIDTH) * WIDTH


def second_moments(X: Floats, mean: Floats) -> Floats:
    """Return C = (X − mean)ᵀ (X − mean) / N, shape (m, m), for C-contiguous samples (N, m) and a mean (m,)."""
    n_features = X.shape[1]
    depth = padded(n_features)
    upper = aligned_zeros(depth, depth)
    sum_products(X, np.ascontiguousarray(mean)[np.newaxis], aligned_zeros(_BLOCK, depth), upper)
    # C = Cᵀ: the lower triangle mirrors the upper triangle.
    upper = upper[:n_features, :n_features]
    return np.where(np.tri(n_features, dtype=bool), upper.T, upper) / len(X)


@kernel
def sum_products(X: Samples2D, mean: Samples2D, block: Floats2D, sums: Floats2D) -> None:
    """Add Σ_n (x_n − mean)ᵀ (x_n − mean) to the upper triangle of ``sums``, in the order of the samples.

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features)
    mean : float64 array of shape (1, n_features)
    block : float64 array of shape (128, depth), overwritten
    sums : float64 array of shape (depth, depth), depth = ``n_features`` rounded up to a multiple of eight
        Changed in place, except for the tiles below the diagonal.
    """
    n_samples, n_features = X.shape
    depth = len(sums)
    for first in range(0, n_samples, _BLOCK):
        n = _BLOCK if first + _BLOCK <= n_samples else n_samples - first
        # X_B = X − mean for a block B of 128 samples, padded by zeros
        for i in range(n):
            for k in range(0, depth, WIDTH):
                present = n_features - k
                centred = subtract(
                    masked_load(X, first + i, k, present), masked_load(mean, 0, k, present)
                )
                store(block, i, k, centred)
        # sums += X_Bᵀ X_B by tiles of eight by eight, on and above the diagonal only, since C is symmetric.
        for row in range(0, depth, WIDTH):
            for column in range(row, depth, WIDTH):
                total = add_products(
                    load_tile(sums, row, column), block, 0, row, block, 0, column, n
                )
                store_tile(sums, row, column, total)


@subroutine
def add_products(
    x: Tile, A: Floats2D, row: int, column: int, B: Floats2D, b_row: int, b_column: int, n: int
) -> Tile:
    """Return the tile x + A'ᵀ B' for blocks A' and B' of n rows and eight columns.

    A' starts at (row, column) of A, B' at (b_row, b_column) of B. Vector i of the tile belongs to column i of A'.
    """
    # t_i = x_i + Σ_k A'_ki B'_k: each lane adds its terms in the order of the rows k.
    t0, t1, t2, t3, t4, t5, t6, t7 = x
    if FITS_32_VECTORS:
        for k in range(n):
            b = load(B, b_row + k, b_column)
            t0, t1, t2, t3 = _add_four(t0, t1, t2, t3, A, row + k, column, b)
            t4, t5, t6, t7 = _add_four(t4, t5, t6, t7, A, row + k, column + 4, b)
    else:
        # Half a tile at a time, which fits into fewer registers.
        for k in range(n):
            t0, t1, t2, t3 = _add_four(
                t0, t1, t2, t3, A, row + k, column, load(B, b_row + k, b_column)
            )
        for k in range(n):
            t4, t5, t6, t7 = _add_four(
                t4, t5, t6, t7, A, row + k, column + 4, load(B, b_row + k, b_column)
            )
    return t0, t1, t2, t3, t4, t5, t6, t7


@subroutine
def _add_four(
    a: Any, b: Any, c: Any, d: Any, A: Floats2D, i: int, j: int, x: Any
) -> tuple[Any, Any, Any, Any]:
    """Return a + A_ij x, b + A_i(j+1) x, c + A_i(j+2) x and d + A_i(j+3) x."""
    return (
        fma(broadcast(A, i, j), x, a),
        fma(broadcast(A, i, j + 1), x, b),
        fma(broadcast(A, i, j + 2), x, c),
        fma(broadcast(A, i, j + 3), x, d),
    )


def project(X: Floats, mean: Floats, rows: Floats) -> Floats:
    """Return (X − mean) Wᵀ, shape (n_samples, n_rows), for samples (n_samples, m), their mean (m,) and rows W."""
    columns = aligned_zeros(X.shape[1], padded(len(rows)))
    columns[:, : len(rows)] = rows.T
    outputs = aligned_zeros(len(X), columns.shape[1])
    project_samples(
        np.ascontiguousarray(X), np.ascontiguousarray(mean)[np.newaxis], columns, outputs
    )
    return np.ascontiguousarray(outputs[:, : len(rows)])


@kernel
def project_samples(X: Samples2D, mean: Samples2D, columns: Floats2D, outputs: Floats2D) -> None:
    """Set ``outputs`` (n_samples, depth) to (X − mean) ``columns``, where depth is a multiple of eight.

    Shapes: X (n_samples, n_features), ``mean`` (1, n_features), ``columns`` (n_features, depth).
    """
    for n in range(len(X)):
        for j in range(0, columns.shape[1], WIDTH):
            # y_nj = Σ_i (x_ni − mean_i) w_ji for eight rows w_j
            total = zeros()
            for i in range(X.shape[1]):
                total = fma(splat(X[n, i] - mean[0, i]), load(columns, i, j), total)
            store(outputs, n, j, total)


def product(A: Floats, B: Floats) -> Floats:
    """Return A B for matrices of shapes (n, m) and (m, k)."""
    return project(A, np.zeros(len(B)), B.T)


def principal_components(C: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues of a covariance matrix C (m, m), >= 0 and decreasing, and the eigenvectors as rows.

    Choice: Jacobi rotations up to 256 features. Larger matrices would take seconds; LAPACK decomposes them, with last
    digits that depend on the processor. `flip_signs` sets the signs.
    """
    if len(C) > MAX_JACOBI_FEATURES:
        eigenvalues, vectors = np.linalg.eigh(C)
        return np.maximum(eigenvalues[::-1], 0.0), flip_signs(vectors.T[::-1])
    diagonal, rows = np.array(C, order="C"), np.eye(len(C))
    diagonalise(diagonal, rows)
    eigenvalues = np.diagonal(diagonal)
    order = np.argsort(-eigenvalues, kind="stable")
    return np.maximum(eigenvalues[order], 0.0), flip_signs(rows[order])


@kernel
def diagonalise(A: Floats2D, rows: Floats2D) -> None:
    """Diagonalise a symmetric A (m, m) in place: its diagonal receives the eigenvalues, ``rows`` the eigenvectors.

    Source: cyclic Jacobi rotations (Golub and Van Loan 2013, section 8.5), until all off-diagonal entries are at most
    1e-20 times the largest diagonal entry. ``rows`` must be the identity.
    """
    m = len(A)
    largest = 0.0
    for p in range(m):
        largest = max(largest, abs(A[p, p]))
    for _ in range(_MAX_SWEEPS):
        n_rotations = 0
        for p in range(m - 1):
            for q in range(p + 1, m):
                if abs(A[p, q]) <= _NEGLIGIBLE * largest:
                    continue
                n_rotations += 1
                # t = tan φ, c = cos φ, s = sin φ of the angle |φ| <= π / 4 for which the rotated A_pq vanishes
                theta = 0.5 * (A[q, q] - A[p, p]) / A[p, q]
                t = 1.0 / (abs(theta) + np.sqrt(1.0 + theta * theta))
                t = -t if theta < 0.0 else t
                c = 1.0 / np.sqrt(1.0 + t * t)
                s = t * c
                A[p, p] -= t * A[p, q]
                A[q, q] += t * A[p, q]
                A[p, q] = A[q, p] = 0.0
                # A ← Jᵀ A J and rows ← Jᵀ rows, where J rotates the coordinates p and q by φ
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


def flip_signs(rows: Floats) -> Floats:
    """Flip the signs of rows (n_rows, m) so that the largest weight of each row is positive.

    Choice: among weights of equal magnitude, up to a millionth, the first decides, so that rounding has no influence.
    """
    magnitudes = np.abs(rows)
    are_largest = magnitudes >= _TIE_RATIO * magnitudes.max(axis=1, keepdims=True)
    deciding = np.take_along_axis(rows, are_largest.argmax(axis=1)[:, np.newaxis], axis=1)
    return np.ascontiguousarray(rows * np.where(deciding < 0.0, -1.0, 1.0))


def orthonormal(rows: Floats) -> Floats:
    """Orthonormalise independent rows (n_rows, m) in their order, by two passes of Gram–Schmidt."""
    result = rows.copy()
    for _ in range(2):
        for i, row in enumerate(result):
            # w_i ← w_i / ‖w_i‖, then w_k ← w_k − (w_k·w_i) w_i for all k > i
            row /= np.sqrt(np.square(row).sum())
            # NumPy sums along the last axis in a fixed order, unlike a product by BLAS.
            result[i + 1 :] -= (result[i + 1 :] * row).sum(axis=1, keepdims=True) * row
    return result


def rounded(values: Floats) -> Floats:
    """Round finite numbers, a non-empty array, to 2⁻³⁰ of the largest magnitude.

    The last digits of BLAS and LAPACK results depend on the processor, and training would amplify the differences
    (docs/choices.md).
    """
    step = 2.0 ** (np.frexp(np.abs(values).max())[1] - _ROUNDED_BITS)
    return np.rint(values / step) * step
