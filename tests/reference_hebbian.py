"""Plain transcriptions of the Hebbian updates and of criterion (1), one loop per index."""

import numpy as np


def gha_epoch(W, samples, learning_rate):
    """Return W after one pass: Δw_ji = η [y_j x_i − y_j Σ_{k≤j} w_ki y_k], every row from the old W."""
    W = [list(row) for row in W]
    for x in samples:
        y = [sum(w_i * x_i for w_i, x_i in zip(row, x, strict=True)) for row in W]
        old = [list(row) for row in W]
        for j in range(len(W)):
            for i in range(len(x)):
                total = sum(old[k][i] * y[k] for k in range(j + 1))
                W[j][i] = old[j][i] + learning_rate * (y[j] * x[i] - y[j] * total)
    return np.array(W)


def in_place_epoch(W, samples, learning_rate):
    """Return W and the outputs of one pass of the iris notebook: row j reads rows k < j already updated."""
    W = W.copy()
    outputs = np.zeros((len(samples), len(W)))
    for n, x in enumerate(samples):
        for j in range(len(W)):
            outputs[n, j] = W[j] @ x
            total = outputs[n, : j + 1] @ W[: j + 1]
            W[j] = W[j] + learning_rate * (outputs[n, j] * x - outputs[n, j] * total)
    return W, outputs


def dgha(X, W, *, tau, learning_rate, orders, joined):
    """Return the rows left by DGHA and their places at the start.

    Before each epoch the direction variances over all of X are compared by formula (1); then the rows whose
    place is below `joined[epoch]` learn the samples `orders[epoch]`.
    """
    centred = X - X.mean(axis=0)
    left = dict(enumerate(W))
    for order, n_joined in zip(orders, joined, strict=True):
        variances = {p: np.var(centred @ (row / np.linalg.norm(row))) for p, row in left.items()}
        largest = max(variances.values())
        left = {p: row for p, row in left.items() if not largest / variances[p] > tau}
        learning = [p for p in left if p < n_joined]
        for place, row in zip(
            learning, gha_epoch([left[p] for p in learning], centred[order], learning_rate), strict=True
        ):
            left[place] = row
    return np.array(list(left.values())), list(left)
