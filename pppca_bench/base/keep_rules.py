"""Rules for the number of principal components to keep, >= 1, from their m variances or from the samples (N, m)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from pppca_bench.compiled.arrays import Flags, Floats, Indices

KeepRule = Literal[
    "tau",
    "variance",
    "eigenvalue",
    "broken_stick",
    "gavish_donoho",
    "mle",
    "parallel",
    "cross_validation",
]

_N_PERMUTATIONS, _SEED, _N_FOLDS = 20, 1965, 5
_NO_VARIANCE = 1e-12
"""Share of the largest variance below which a variance is rounding error."""


def count_by_tau(eigenvalues: Floats, tau: float) -> int:
    """Count the components with λ1 <= τ λi, criterion (1) of the slides; 1 if none varies.

    Source: Fukunaga and Olsen 1971, "An algorithm for finding intrinsic dimensionality of data": λi > α λ1, α = 1 / τ.
    """
    return max(1, int(np.sum((eigenvalues > 0.0) & (eigenvalues[0] <= tau * eigenvalues))))


def count_by_variance(eigenvalues: Floats, share: float) -> int:
    """Return the smallest number of components with at least a share of the variance."""
    cumulative = np.cumsum(eigenvalues)
    # With the tolerance, sums equal to the share reach it in spite of rounding.
    return int(np.searchsorted(cumulative, share * cumulative[-1] * (1.0 - 1e-12))) + 1


def count_by_eigenvalue(eigenvalues: Floats, least: float) -> int:
    """Count the components whose variance is at least a number, in squared units of the data; 1 if there are none.

    Source: lecture notes, "The Principal Components Analysis Algorithm": reject those with eigenvalue less than some η.
    """
    return max(1, int(np.sum(eigenvalues >= least)))


def count_by_broken_stick(eigenvalues: Floats) -> int:
    """Count the leading components whose shares exceed the pieces of a randomly broken stick, (1/m) Σ_{k>=i} 1/k.

    Source: Frontier 1976; Jackson 1993, "Stopping rules in principal components analysis".
    """
    m = len(eigenvalues)
    stick = np.cumsum(1.0 / np.arange(m, 0, -1))[::-1] / m
    return _count_leading(eigenvalues > stick * eigenvalues.sum())


def count_by_hard_threshold(eigenvalues: Floats, n_samples: int) -> int:
    """Count the singular values above ω(β) times the median, where β = min(m / N, N / m).

    Source: Gavish and Donoho 2014, "The optimal hard threshold for singular values is 4/√3", equation (5), by which
    ω(β) = 0.56 β³ − 0.95 β² + 1.82 β + 1.43 for unknown noise.
    """
    sizes = sorted((len(eigenvalues), n_samples))
    singular = np.sqrt(eigenvalues[: sizes[0]])
    omega = np.polyval([0.56, -0.95, 1.82, 1.43], sizes[0] / sizes[1])
    return max(1, int(np.sum(singular > omega * np.median(singular))))


def count_by_likelihood(X: Floats) -> int:
    """Count components by the evidence of Minka 2000, "Automatic choice of dimensionality for PCA" (scikit-learn).

    ``X`` has shape (n_samples, n_features), n_samples >= n_features.
    """
    from sklearn.decomposition import PCA

    return max(1, int(PCA(n_components="mle", svd_solver="full").fit(X).n_components_))


def count_by_permutations(X: Floats, eigenvalues: Floats) -> int:
    """Count the leading of m components whose variances exceed mean variances of components of uncorrelated data.

    Source: Horn 1965; Buja and Eyuboglu 1992: each column is permuted separately, which preserves its variance.
    Choice: 20 permutations with a fixed seed.
    """
    rng = np.random.default_rng(_SEED)
    deviations = X - X.mean(axis=0)
    means = np.zeros(len(eigenvalues))
    for _ in range(_N_PERMUTATIONS):
        permuted = rng.permuted(deviations, axis=0)
        means += np.linalg.eigvalsh(permuted.T @ permuted / len(X))[::-1] / _N_PERMUTATIONS
    return _count_leading(eigenvalues > means)


def count_by_cross_validation(X: Floats) -> int:
    """Count components by the mean log-likelihood of probabilistic PCA over five folds, as PCA.score of scikit-learn.

    Source: Tipping and Bishop 1999. A fold decomposes its covariance matrix once for all numbers of components.
    """
    scores = sum(
        _log_likelihoods(X, fold)
        for fold in np.array_split(np.arange(len(X)), min(_N_FOLDS, len(X)))
    )
    return int(np.argmax(scores)) + 1


def _log_likelihoods(X: Floats, held_out: Indices) -> Floats:
    """Return the mean log-likelihood of held-out samples by probabilistic PCA with 1, …, m − 1 components.

    The log-likelihood is −inf if the noise has no variance.
    """
    train, test = np.delete(X, held_out, axis=0), X[held_out]
    m, mean = X.shape[1], train.mean(axis=0)
    eigenvalues, vectors = np.linalg.eigh((train - mean).T @ (train - mean) / (len(train) - 1))
    eigenvalues = eigenvalues[::-1]
    squares = np.square((test - mean) @ vectors[:, ::-1]).mean(axis=0)
    known = eigenvalues > _NO_VARIANCE * eigenvalues[0]
    safe = np.where(known, eigenvalues, 1.0)
    k = np.arange(1, m)
    noise = (eigenvalues.sum() - np.cumsum(eigenvalues))[:-1] / (m - k)
    usable = known[:-1] & (noise > _NO_VARIANCE * eigenvalues[0])
    noise = np.where(usable, noise, 1.0)
    fitted = np.cumsum(np.log(safe) + squares / safe)[:-1]
    rest = (m - k) * np.log(noise) + (squares.sum() - np.cumsum(squares))[:-1] / noise
    scores: Floats = np.where(usable, -0.5 * (m * np.log(2.0 * np.pi) + fitted + rest), -np.inf)
    return scores if m > 1 else np.zeros(1)


def _count_leading(exceeds: Flags) -> int:
    """Count the components before the first False, at least 1."""
    return max(1, int(np.argmin(np.append(exceeds, False))))
