"""Streaming principal components in NumPy, formula by formula, all rows started from the given directions."""

import numpy as np


def deviations(X):
    """Return each sample minus the mean of the samples so far, but for the first."""
    means = np.cumsum(X, axis=0) / np.arange(1, len(X) + 1)[:, np.newaxis]
    return (X - means)[1:]


def start(residual, rows, n_rows):
    """Return whether another row starts from what the rows leave of a sample."""
    return len(rows) < n_rows and np.linalg.norm(residual) > 1e-6


def ccipca(X, n_rows, amnesia):
    """Return the rows v and their norms."""
    V = []
    for t, x in enumerate(deviations(X), 1):
        weight = min(1.0, (1.0 + amnesia) / t)
        for j, v in enumerate(V):
            V[j] = (1.0 - weight) * v + weight * (x @ v) / np.linalg.norm(v) * x
            unit = V[j] / np.linalg.norm(V[j])
            x = x - (x @ unit) * unit
        if start(x, V, n_rows):
            V.append(weight * np.linalg.norm(x) * x)
    return np.array(V), np.linalg.norm(V, axis=1)


def eigengame(X, n_rows, rate, decay):
    """Return the rows and the means of what is left of y²."""
    V, variances, total = [], [], 0.0
    for t, x in enumerate(deviations(X), 1):
        total += (x @ x - total) / t
        y = [v @ x for v in V]
        old = list(V)
        for i, v in enumerate(old):
            left = x - sum((y[j] * old[j] for j in range(i)), np.zeros_like(x))
            gradient = y[i] * left
            moved = v + rate * decay / (t + decay) / total * (gradient - (gradient @ v) * v)
            V[i] = moved / np.linalg.norm(moved)
            variances[i] += min(1.0, 2.0 / t) * ((left @ v) ** 2 - variances[i])
        residual = x - sum((y[j] * v for j, v in enumerate(old)), np.zeros_like(x))
        if start(residual, V, n_rows):
            V.append(residual / np.linalg.norm(residual))
            variances.append(min(1.0, 2.0 / t) * residual @ residual)
    return np.array(V), np.array(variances)


def similarity(X, n_rows):
    """Return the eigenvectors of M in the rows M⁻¹ W, of unit norm, and its eigenvalues."""
    W, M = np.zeros((0, X.shape[1])), np.zeros((0, 0))
    for t, x in enumerate(deviations(X), 1):
        F = np.linalg.solve(M, W) if len(M) else W
        y, step = F @ x, 2.0 / (t + 5.0)
        W, M = W + step * (np.outer(y, x) - W), M + step * (np.outer(y, y) - M)
        residual = x - F.T @ y
        if start(residual, W, n_rows) and 2 * len(W) <= t:
            square = residual @ residual
            W = np.vstack([W, square / t * residual / np.sqrt(square)])
            M = np.block([[M, np.zeros((len(M), 1))], [np.zeros((1, len(M))), np.full((1, 1), square / t)]])
    return turned(np.linalg.solve(M, W), M)


def adaoja(X, n_rows, batch):
    """Return the eigenvectors of M in the rows, and its eigenvalues."""
    Q, M = np.zeros((0, X.shape[1])), np.zeros((0, 0))
    G, squares = np.zeros((0, X.shape[1])), np.zeros(0)
    for t, x in enumerate(deviations(X), 1):
        y, weight = Q @ x, min(1.0, 2.0 / t)
        M, G, residual = M + weight * (np.outer(y, y) - M), G + np.outer(y, x), x - Q.T @ y
        if (t + 1) % batch == 0:
            squares = squares + (G**2).sum(axis=1)
            moved = Q + G / np.where(squares > 0.0, np.sqrt(squares), 1.0)[:, np.newaxis]
            directions, factors = np.linalg.qr(moved.T)
            Q, G = directions.T * np.sign(np.diagonal(factors))[:, np.newaxis], np.zeros_like(G)
        if start(residual, Q, n_rows) and 2 * len(Q) <= t:
            square = residual @ residual
            Q, G = np.vstack([Q, residual / np.sqrt(square)]), np.vstack([G, np.zeros_like(x)])
            squares = np.append(squares, 0.0)
            M = np.block([[M, np.zeros((len(M), 1))], [np.zeros((1, len(M))), np.full((1, 1), weight * square)]])
    return turned(Q, M)


def turned(F, M):
    """Return the rows in the basis in which M is diagonal, of unit norm, and its diagonal."""
    variances, vectors = np.linalg.eigh(M)
    rows = vectors.T @ F
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), variances
