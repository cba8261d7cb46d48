"""Naive references of the kernels: loops over samples and rows, written from the sources and not from the kernels."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
from scipy.linalg import block_diag

# ---- GHA and DGHA


def gha_epoch(W, samples, learning_rate, *, in_place=False):
    """Return W after a pass: Δw_j = η [y_j x − y_j Σ_{k≤j} y_k w_k].

    Each row reads the old W, or, in place, as in the iris notebook, the updated rows k < j.
    """
    W = np.array(W)
    for x in samples:
        old, y = W if in_place else W.copy(), np.zeros(len(W))
        for j in range(len(W)):
            y[j] = old[j] @ x
            W[j] = old[j] + learning_rate * (y[j] * x - y[j] * (y[: j + 1] @ old[: j + 1]))
    return W


def dgha(X, W, *, tau, learning_rate, orders, n_started, checked):
    """Return the rows that DGHA keeps, and their indices among the initial rows.

    Before checked epochs, formula (1) compares the variances along the rows over X, and the rows are sorted by them;
    then the first ``n_started`` rows learn the samples in ``orders``.
    """
    W, centred, indices = W.copy(), X - X.mean(axis=0), np.arange(len(W))
    for order, n, check in zip(orders, n_started, checked, strict=True):
        if check:
            variances = np.var(centred @ (W / np.linalg.norm(W, axis=1, keepdims=True)).T, axis=0)
            kept = [i for i in np.argsort(-variances) if not variances.max() / variances[i] > tau]
            W, indices = W[kept], indices[kept]
        W[:n] = gha_epoch(W[:n], centred[order], learning_rate)
    return W, indices


# ---- NE-pPCA


def orthonormal_rows(rows):
    """Return the rows after the modified Gram–Schmidt process, twice for each row, without rows that vanish."""
    kept = []
    for row in rows:
        vector = np.array(row, dtype=float)
        for q in 2 * kept:
            vector = vector - (vector @ q) * q
        if np.linalg.norm(vector) > 1e-10 * np.linalg.norm(row):
            kept.append(vector / np.linalg.norm(vector))
    return np.array(kept)


def evaluated(rows, samples, tau):
    """Return the rows that criterion (1) keeps, their variances, and the fitness, from the responses to all samples."""
    rows = orthonormal_rows(rows)
    variances = np.var(samples @ rows.T, axis=0)
    order = np.argsort(-variances)
    rows, variances = rows[order], variances[order]
    centred = samples - samples.mean(axis=0)
    r = centred.T @ (centred @ rows[0])
    fitness = (rows[0] @ r) ** 2 / (r @ r) * variances.sum()
    kept = ~(variances[0] / variances > tau)
    return rows[kept], variances[kept], fitness


def crossed_node(w_i, w_j, v_i, v_j):
    """Return a node by formula (2), where i is the parent of larger variance."""
    if v_j > v_i:
        w_i, w_j, v_i, v_j = w_j, w_i, v_j, v_i
    distance = np.linalg.norm(w_i - w_j)
    return w_i if distance == 0.0 else w_i + abs(v_i - v_j) / (v_i + v_j) / distance * (w_i - w_j)


def child_of(first, second):
    """Return the child of two (rows, variances) parents, as long as the longer parent."""
    (rows, variances), (others, other_variances) = sorted(
        (first, second), key=lambda parent: -len(parent[0])
    )
    n = len(others)
    crossed = [
        crossed_node(*pair)
        for pair in zip(rows[:n], others, variances[:n], other_variances, strict=True)
    ]
    return np.vstack([*crossed, *rows[n:]])


def split_mix(seed, i):
    """Return number i of SplitMix64, from its published C code."""
    z = (seed + (i + 1) * 0x9E3779B97F4A7C15) % 2**64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


def normal_pair(seed, i):
    """Return Box and Muller's pair from a number: u from its upper 38 bits, the angle from its lower 26 bits."""
    bits = split_mix(seed, i)
    u, turn = ((bits >> 26) + 0.5) / 2**38, ((bits & (2**26 - 1)) + 0.5) / 2**26 - 0.5
    radius = math.sqrt(-2.0 * math.log(u))
    return radius * math.cos(2.0 * math.pi * turn), radius * math.sin(2.0 * math.pi * turn)


# ---- Networks: a matrix (n_units, 1 + n_sources) for each layer, biases first

ACTIVATIONS = {
    "linear": lambda x: x,
    "softsign": lambda x: x / (1.0 + np.abs(x)),
    "logistic": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "tanh": np.tanh,
}
SLOPES = {
    "linear": np.ones_like,
    "softsign": lambda value: (1.0 - np.abs(value)) ** 2,
    "logistic": lambda value: value * (1.0 - value),
    "tanh": lambda value: 1.0 - value**2,
}


def forward(matrices, x, shortcuts, output, hidden="softsign"):
    """Return sources, values and activation of each layer for a sample."""
    sources, layers = x, []
    for k, matrix in enumerate(matrices):
        name = hidden if k < len(matrices) - 1 else output
        values = ACTIVATIONS[name](matrix[:, 0] + matrix[:, 1:] @ sources)
        layers.append((sources, values, name))
        sources = np.append(sources, values) if shortcuts else values
    return layers


def squared_error(matrices, X, targets, *network):
    """Return Σ (o − t)² over samples and outputs."""
    return sum(
        ((forward(matrices, x, *network)[-1][1] - t) ** 2).sum()
        for x, t in zip(X, targets, strict=True)
    )


def percentage(matrices, data, *network):
    """Return the squared error in percent (Proben1 report, section 2.5)."""
    return 100.0 / data[1].size * squared_error(matrices, *data, *network)


def gradient(matrices, X, targets, shortcuts, output, hidden="softsign"):
    """Return the gradient of half the squared error by backpropagation."""
    result = [np.zeros_like(matrix) for matrix in matrices]
    for x, target in zip(X, targets, strict=True):
        layers = forward(matrices, x, shortcuts, output, hidden)
        errors = [np.zeros(len(matrix)) for matrix in matrices]
        errors[-1] = layers[-1][1] - target
        for k, (sources, values, name) in reversed(list(enumerate(layers))):
            delta = errors[k] * SLOPES[name](values)
            result[k] += np.outer(delta, [1.0, *sources])
            # Hidden layers are the last sources, in their order; inputs have no errors.
            back, end = delta @ matrices[k][:, 1:], len(sources)
            for layer in range(k - 1, -1 if shortcuts else max(k - 2, -1), -1):
                errors[layer] += back[end - len(errors[layer]) : end]
                end -= len(errors[layer])
    return result


def rprop_step(w, step, g, before, rises, weight_backtracking=True, improved=False):
    """Return weights, step sizes and remembered gradients after a step (Riedmiller & Braun 1993).

    Without weight backtracking (Igel & Hüsken 2003) no move is undone and no gradient forgotten. The improved variants
    (Igel & Hüsken 2000) undo moves only if the error rises, and forget every gradient that changes its sign.
    """
    turns = g * before < 0
    step = np.where(g * before > 0, np.minimum(step * 1.2, 50.0), step)
    if weight_backtracking:
        undone = w + np.sign(before) * step if rises or not improved else w
        moved = np.where(turns, undone, w - np.sign(g) * step)
        return moved, np.where(turns, step * 0.5, step), np.where(turns, 0.0, g)
    step = np.where(turns, step * 0.5, step)
    g = np.where(turns, 0.0, g) if improved else g
    return w - np.sign(g) * step, step, g


def train_by_rprop(
    task, max_epochs, *, loss_limit=5.0, n_increases=0, quotient_limit=None, **variant
):
    """Train until the Proben1 report's rule stops it (section 3.3), or that of its search (section 3.3.2)."""
    architecture = task.architecture
    network = architecture.shortcuts, architecture.output_activation, architecture.hidden_activation
    data, validation = (task.X, task.targets), (task.X_val, task.targets_val)
    W, steps, before = task.weights, task.steps, [np.zeros_like(matrix) for matrix in task.weights]
    run = SimpleNamespace(weights=[], best_epoch=0, stop_reason="max_epochs")
    run.training_curve, run.validation_curve = [], []
    has_lost = has_risen = has_slowed = False
    for epoch in range(1, max_epochs + 1):
        run.training_curve.append(percentage(W, data, *network))
        rises = len(run.training_curve) > 1 and run.training_curve[-1] > run.training_curve[-2]
        stepped = zip(W, steps, gradient(W, *data, *network), before, strict=True)
        moved = [rprop_step(*layer, rises, **variant) for layer in stepped]
        W, steps, before = zip(*moved, strict=True)
        if epoch % 5 and epoch < max_epochs:
            continue
        error = percentage(W, validation, *network)
        if error < min(run.validation_curve, default=math.inf):
            run.weights, run.best_epoch = W, epoch
        run.validation_curve.append(error)
        loss = 100 * (error / min(run.validation_curve) - 1)
        strip = run.training_curve[-((epoch - 1) % 5 + 1) :]
        progress = 1000 * (sum(strip) / len(strip) / min(strip) - 1)
        latest = run.validation_curve[-n_increases - 1 :]
        has_lost |= loss > loss_limit
        has_risen |= len(latest) == n_increases + 1 and all(
            a < b for a, b in itertools.pairwise(latest)
        )
        has_slowed |= quotient_limit is None or loss / progress > quotient_limit
        if has_lost and has_risen and has_slowed:
            run.stop_reason = "generalisation_loss"
            break
        if progress < 0.1:
            run.stop_reason = "training_progress"
            break
    return run


def train_online(matrices, data, orders, hidden, output, *, rate=0.2, decay_epochs=math.inf):
    """Return the weights after an epoch for each of the given orders, and each epoch's squared error percentage."""
    X, targets = data
    network, W, curve = (False, output, hidden), matrices, []
    for epoch, order in enumerate(orders):
        eta, total = rate / (1.0 + epoch / decay_epochs), 0.0
        for s in order:
            total += squared_error(W, X[[s]], targets[[s]], *network)
            G = gradient(W, X[[s]], targets[[s]], *network)
            W = [matrix - eta * g for matrix, g in zip(W, G, strict=True)]
        curve.append(100.0 * total / targets.size)
    return W, curve


def paths_to_outputs(masks, n_inputs, shortcuts):
    """Return for each input whether a chain of weights leads from it to an output."""
    connected = []
    for i in range(n_inputs):
        sources = np.arange(n_inputs) == i
        for mask in masks:
            reached = np.array([any(unit[1:] & sources) for unit in mask])
            sources = np.append(sources, reached) if shortcuts else reached
        connected.append(bool(reached.any()))
    return connected


# ---- Streaming principal components; rows start along residuals


def deviations(X):
    """Return each sample minus the mean of the samples so far, except the first."""
    return (X - np.cumsum(X, axis=0) / np.arange(1, len(X) + 1)[:, np.newaxis])[1:]


def starts(residual, rows, n_rows):
    """Return whether another row starts from the residual of a sample."""
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
        if starts(x, V, n_rows):
            V.append(weight * np.linalg.norm(x) * x)
    return np.array(V), np.linalg.norm(V, axis=1)


def eigengame(X, n_rows, rate, decay):
    """Return the rows and the means of their squared residual outputs."""
    V, variances, total = [], [], 0.0
    for t, x in enumerate(deviations(X), 1):
        total += (x @ x - total) / t
        residual = x
        for i, v in enumerate(V):
            y, direction = v @ x, (v @ x) * residual
            moved = v + rate * decay / (t + decay) / total * (direction - (direction @ v) * v)
            V[i] = moved / np.linalg.norm(moved)
            variances[i] += min(1.0, 2.0 / t) * ((residual @ v) ** 2 - variances[i])
            residual = residual - y * v
        if starts(residual, V, n_rows):
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
        if starts(residual, W, n_rows) and 2 * len(W) <= t:
            norm = np.linalg.norm(residual)
            W, M = np.vstack([W, norm / t * residual]), block_diag(M, norm**2 / t)
    return turned(np.linalg.solve(M, W), M)


def adaoja(X, n_rows, batch):
    """Return the eigenvectors of M in the rows, and its eigenvalues."""
    Q, M = np.zeros((0, X.shape[1])), np.zeros((0, 0))
    G, squares = np.zeros_like(Q), np.zeros(0)
    for t, x in enumerate(deviations(X), 1):
        y, weight = Q @ x, min(1.0, 2.0 / t)
        M, G, residual = M + weight * (np.outer(y, y) - M), G + np.outer(y, x), x - Q.T @ y
        if (t + 1) % batch == 0:
            squares = squares + (G**2).sum(axis=1)
            moved = Q + G / np.where(squares > 0.0, np.sqrt(squares), 1.0)[:, np.newaxis]
            directions, factors = np.linalg.qr(moved.T)
            Q, G = directions.T * np.sign(np.diagonal(factors))[:, np.newaxis], np.zeros_like(G)
        if starts(residual, Q, n_rows) and 2 * len(Q) <= t:
            norm = np.linalg.norm(residual)
            Q, G = np.vstack([Q, residual / norm]), np.vstack([G, np.zeros_like(x)])
            squares = np.append(squares, 0.0)
            M = block_diag(M, weight * norm**2)
    return turned(Q, M)


def turned(F, M):
    """Return the rows in the basis in which M is diagonal, of unit norm, and its diagonal."""
    variances, vectors = np.linalg.eigh(M)
    rows = vectors.T @ F
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), variances
