"""Initial rows of GHA, DGHA and NE-pPCA: principal components of a few samples."""

import numpy as np

from pppca_bench.compiled.arrays import Floats


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
    others -= others @ components.T @ components
    return np.ascontiguousarray(np.vstack([components, np.linalg.qr(others.T)[0].T]))
