"""The rows that GHA and DGHA start from."""

import numpy as np

from pppca_bench.compiled.arrays import Floats


def draw_directions(rng: np.random.Generator, n_rows: int, n_features: int, *, kind: str) -> Floats:
    """Draw rows of unit norm.

    Parameters
    ----------
    rng : numpy Generator
        Source of randomness.
    n_rows, n_features : int
        Shape of the result; n_rows <= n_features where kind is "orthonormal".
    kind : {"direction", "orthonormal"}
        Uniformly distributed directions, or an orthonormal set.

    Returns
    -------
    float64 array, shape (n_rows, n_features)
        The rows.
    """
    rows = rng.standard_normal((n_rows, n_features))
    if kind == "orthonormal":
        return np.ascontiguousarray(np.linalg.qr(rows.T)[0].T)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def principal_directions(rng: np.random.Generator, block: Floats, n_rows: int, *, centre: bool) -> Floats:
    """Return the leading principal components of a small block of samples, as rows of unit norm.

    Source: "Hebbian-Based Principal Component Analysis", summary: classical PCA on a few samples instead of random
    weights. Choice: where the block has fewer components than rows are wanted, random directions orthogonal to them
    and to each other follow; a component's largest weight is positive, for its sign is open.

    Parameters
    ----------
    rng : numpy Generator
        Source of randomness.
    block : float64 array, shape (n, n_features), n >= 1
        Samples.
    n_rows : int
        Number of rows, in [1, n_features].
    centre : bool
        Subtract the block's own mean.

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
    others -= others @ components.T @ components
    return np.ascontiguousarray(np.vstack([components, np.linalg.qr(others.T)[0].T]))
