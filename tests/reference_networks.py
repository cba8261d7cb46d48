"""Plain-loop transcriptions of networks, their training and pruning: one net, one sample, one weight at a time."""

import itertools
import math
from dataclasses import dataclass


def activate(name, x):
    if name == "logistic":
        return 1.0 / (1.0 + math.exp(-x))
    return x / (1.0 + abs(x)) if name == "softsign" else x


def slope(name, value):
    if name == "logistic":
        return value * (1.0 - value)
    return (1.0 - abs(value)) ** 2 if name == "softsign" else 1.0


def forward(matrices, x, shortcuts, output, hidden="softsign"):
    """Return the sources and the values of each layer; a unit's weights are its bias, then those of its sources."""
    sources, layers = list(x), []
    for k, matrix in enumerate(matrices):
        sums = [row[0] + sum(w * s for w, s in zip(row[1:], sources, strict=True)) for row in matrix]
        values = [activate(hidden if k < len(matrices) - 1 else output, a) for a in sums]
        layers.append((sources, values))
        sources = sources + values if shortcuts else values
    return layers


def squared_error(matrices, X, targets, *network):
    total = 0.0
    for x, target in zip(X, targets, strict=True):
        outputs = forward(matrices, x, *network)[-1][1]
        total += sum((o - t) ** 2 for o, t in zip(outputs, target, strict=True))
    return total


def percentage(matrices, data, *network):
    X, targets = data
    return 100.0 / (len(X) * len(targets[0])) * squared_error(matrices, X, targets, *network)


def gradient(matrices, X, targets, shortcuts, output, hidden="softsign"):
    """Return the gradient of half the squared error by backpropagation."""
    result = [[[0.0] * len(row) for row in matrix] for matrix in matrices]
    for x, target in zip(X, targets, strict=True):
        layers = forward(matrices, x, shortcuts, output, hidden)
        errors = [[0.0] * len(matrix) for matrix in matrices]
        errors[-1] = [o - t for o, t in zip(layers[-1][1], target, strict=True)]
        for k in range(len(matrices) - 1, -1, -1):
            sources, values = layers[k]
            name = hidden if k < len(matrices) - 1 else output
            errors[k] = [e * slope(name, v) for e, v in zip(errors[k], values, strict=True)]
            owners = _owners(matrices, k, len(x), shortcuts)
            for j, error in enumerate(errors[k]):
                result[k][j][0] += error
                for i, source in enumerate(sources):
                    result[k][j][1 + i] += error * source
                    if owners[i] is not None:
                        layer, unit = owners[i]
                        errors[layer][unit] += error * matrices[k][j][1 + i]
    return result


def _owners(matrices, k, n_inputs, shortcuts):
    """Return layer and number of the hidden unit that is each source of layer k, None for an input."""
    owners = [None] * n_inputs if shortcuts or k == 0 else []
    first = 0 if shortcuts else max(k - 1, 0)
    for layer in range(first, k):
        owners += [(layer, unit) for unit in range(len(matrices[layer]))]
    return owners


def rprop_step(w, step, g, g_before, weight_backtracking):
    """Return the next weight, step size and remembered gradient (Riedmiller & Braun 1993).

    Without weight backtracking (Igel & Huesken 2003) no move is undone and no gradient forgotten.
    """

    def sign(number):
        return (number > 0) - (number < 0)

    if g * g_before > 0:
        step = min(step * 1.2, 50.0)
    if g * g_before < 0 and weight_backtracking:
        return w + sign(g_before) * step, step * 0.5, 0.0
    if g * g_before < 0:
        step = step * 0.5
    return w - sign(g) * step, step, g


def _copied(matrices):
    return [[list(map(float, row)) for row in matrix] for matrix in matrices]


@dataclass
class Training:
    weights: list
    best_epoch: int
    training_curve: list
    validation_curve: list
    stop_reason: str


def train_by_rprop(
    task,
    max_epochs,
    *,
    loss_limit=5.0,
    progress_limit=0.1,
    n_increases=0,
    quotient_limit=None,
    weight_backtracking=True,
):
    """Train until the Proben1 report's rule stops it (section 3.3), or that of its search (section 3.3.2)."""
    network = task.architecture.shortcuts, task.architecture.output_activation
    data, validation = ((X.tolist(), t.tolist()) for X, t in ((task.X, task.targets), (task.X_val, task.targets_val)))
    W, steps = _copied(task.weights), _copied(task.steps)
    before = [[[0.0] * len(row) for row in matrix] for matrix in W]
    run = Training([], 0, [], [], "max_epochs")
    has_lost = has_risen = has_slowed = False
    for epoch in range(1, max_epochs + 1):
        run.training_curve.append(percentage(W, data, *network))
        G = gradient(W, *data, *network)
        for k, j in ((k, j) for k, matrix in enumerate(W) for j in range(len(matrix))):
            for i, w in enumerate(W[k][j]):
                now = rprop_step(w, steps[k][j][i], G[k][j][i], before[k][j][i], weight_backtracking)
                W[k][j][i], steps[k][j][i], before[k][j][i] = now
        if epoch % 5 and epoch < max_epochs:
            continue
        error = percentage(W, validation, *network)
        if error < min(run.validation_curve, default=math.inf):
            run.weights, run.best_epoch = _copied(W), epoch
        run.validation_curve.append(error)
        loss = 100 * (error / min(run.validation_curve) - 1)
        strip = run.training_curve[-((epoch - 1) % 5 + 1) :]
        progress = 1000 * (sum(strip) / len(strip) / min(strip) - 1)
        latest = run.validation_curve[-n_increases - 1 :]
        has_lost |= loss > loss_limit
        has_risen |= len(latest) == n_increases + 1 and all(a < b for a, b in itertools.pairwise(latest))
        has_slowed |= quotient_limit is None or loss / progress > quotient_limit
        if has_lost and has_risen and has_slowed:
            run.stop_reason = "generalisation_loss"
            break
        if progress < progress_limit:
            run.stop_reason = "training_progress"
            break
    return run


def train_online(matrices, data, orders, hidden, output, *, rate=0.2, decay_epochs=math.inf):
    """Return the weights after an epoch for each of the given orders, and each epoch's squared error percentage."""
    X, targets = data
    network = False, output, hidden
    W = _copied(matrices)
    curve = []
    for epoch, order in enumerate(orders):
        eta, total = rate / (1.0 + epoch / decay_epochs), 0.0
        for s in order:
            G = gradient(W, [X[s]], [targets[s]], *network)
            total += squared_error(W, [X[s]], [targets[s]], *network)
            for k, j in ((k, j) for k, matrix in enumerate(W) for j in range(len(matrix))):
                for i in range(len(W[k][j])):
                    W[k][j][i] -= eta * G[k][j][i]
        curve.append(100.0 * total / (len(X) * len(targets[0])))
    return W, curve


def with_weight(matrices, layer, unit, source, value):
    """Return a copy in which a weight has another value."""
    copies = _copied(matrices)
    copies[layer][unit][source] = value
    return copies


def paths_to_outputs(masks, n_inputs, shortcuts):
    """Return for each input whether a chain of weights leads from it to an output."""

    def inputs_of(layer, unit):
        owners = _owners(masks, layer, n_inputs, shortcuts)
        sources = [source for source, exists in enumerate(masks[layer][unit][1:]) if exists]
        return set().union(*({s} if owners[s] is None else inputs_of(*owners[s]) for s in sources))

    connected = set().union(*(inputs_of(len(masks) - 1, unit) for unit in range(len(masks[-1]))))
    return [i in connected for i in range(n_inputs)]
