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


def dgha(X, W, *, tau, learning_rate, orders, joined, checked):
    """Return the rows left by DGHA and their places at the start.

    Before the epochs that are checked the direction variances over all of X are compared by formula (1), and the
    rows sorted by them; then the first `joined[epoch]` rows learn the samples `orders[epoch]`.
    """
    centred = X - X.mean(axis=0)
    left = list(enumerate(W))
    for order, n_started, check in zip(orders, joined, checked, strict=True):
        if check:
            variances = {place: np.var(centred @ (row / np.linalg.norm(row))) for place, row in left}
            largest = max(variances.values())
            left = [(place, row) for place, row in left if not largest / variances[place] > tau]
            left.sort(key=lambda pair: -variances[pair[0]])
        learnt = gha_epoch([row for _, row in left[:n_started]], centred[order], learning_rate)
        left[:n_started] = [(place, row) for (place, _), row in zip(left[:n_started], learnt, strict=True)]
    return np.array([row for _, row in left]), [place for place, _ in left]
