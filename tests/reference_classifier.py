"""Plain-loop transcriptions of the classifier's training: one net, one sample, one weight at a time."""

import itertools
import math
from dataclasses import dataclass


def softsign(x):
    return x / (1.0 + abs(x))


def forward(matrices, x, shortcuts, output_activation):
    """Return the sources and the values of each layer; a unit's weights are its bias, then those of its sources."""
    sources, layers = list(x), []
    for k, matrix in enumerate(matrices):
        sums = [row[0] + sum(w * s for w, s in zip(row[1:], sources, strict=True)) for row in matrix]
        squashed = k < len(matrices) - 1 or output_activation == "softsign"
        values = [softsign(a) if squashed else a for a in sums]
        layers.append((sources, values))
        sources = sources + values if shortcuts else values
    return layers


def squared_error(matrices, X, targets, shortcuts, output_activation):
    total = 0.0
    for x, target in zip(X, targets, strict=True):
        outputs = forward(matrices, x, shortcuts, output_activation)[-1][1]
        total += sum((o - t) ** 2 for o, t in zip(outputs, target, strict=True))
    return total


def gradient(matrices, X, targets, shortcuts, output_activation):
    """Return the gradient of half the squared error by backpropagation."""
    result = [[[0.0] * len(row) for row in matrix] for matrix in matrices]
    for x, target in zip(X, targets, strict=True):
        layers = forward(matrices, x, shortcuts, output_activation)
        errors = [[0.0] * len(matrix) for matrix in matrices]
        errors[-1] = [o - t for o, t in zip(layers[-1][1], target, strict=True)]
        for k in range(len(matrices) - 1, -1, -1):
            sources, values = layers[k]
            if k < len(matrices) - 1 or output_activation == "softsign":
                errors[k] = [e * (1.0 - abs(v)) ** 2 for e, v in zip(errors[k], values, strict=True)]
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
    """Say of each source of layer k which hidden unit it is, or None for an input."""
    owners = [None] * n_inputs if shortcuts or k == 0 else []
    first = 0 if shortcuts else max(k - 1, 0)
    for layer in range(first, k):
        owners += [(layer, unit) for unit in range(len(matrices[layer]))]
    return owners


def rprop_step(w, step, g, g_before, eta_plus=1.2, eta_minus=0.5, step_min=0.0, step_max=50.0):
    """Return the next weight, step size and remembered gradient (Riedmiller & Braun 1993)."""

    def sign(number):
        return (number > 0) - (number < 0)

    if g * g_before > 0:
        step = min(step * eta_plus, step_max)
        return w - sign(g) * step, step, g
    if g * g_before < 0:
        return w + sign(g_before) * step, max(step * eta_minus, step_min), 0.0
    return w - sign(g) * step, step, g


def rprop_step_by_sign(w, step, g, g_before, eta_plus=1.2, eta_minus=0.5, step_min=0.0, step_max=50.0):
    """Return the same without weight backtracking (Igel & Huesken 2003): no move back, no gradient forgotten."""
    if g * g_before > 0:
        step = min(step * eta_plus, step_max)
    if g * g_before < 0:
        step = max(step * eta_minus, step_min)
    if g > 0:
        return w - step, step, g
    if g < 0:
        return w + step, step, g
    return w, step, g


@dataclass
class Training:
    weights: list
    best_epoch: int
    training_curve: list
    validation_curve: list
    stop_reason: str


def train(
    matrices,
    steps,
    data,
    validation,
    *,
    shortcuts,
    output_activation,
    max_epochs,
    strip_length=5,
    loss_limit=5.0,
    progress_limit=0.1,
    n_increases=0,
    quotient_limit=None,
    weight_backtracking=True,
):
    """Train until the Proben1 report's rule stops it (section 3.3), or that of its search (section 3.3.2)."""
    network = {"shortcuts": shortcuts, "output_activation": output_activation}
    W = [[list(row) for row in matrix] for matrix in matrices]
    steps = [[list(row) for row in matrix] for matrix in steps]
    before = [[[0.0] * len(row) for row in matrix] for matrix in matrices]
    run = Training([], 0, [], [], "max_epochs")
    has_lost = has_risen = has_slowed = False
    rule = rprop_step if weight_backtracking else rprop_step_by_sign
    for epoch in range(1, max_epochs + 1):
        run.training_curve.append(_percentage(W, data, network))
        G = gradient(W, *data, **network)
        for k, matrix in enumerate(W):
            for j, row in enumerate(matrix):
                for i in range(len(row)):
                    row[i], steps[k][j][i], before[k][j][i] = rule(row[i], steps[k][j][i], G[k][j][i], before[k][j][i])
        if epoch % strip_length and epoch < max_epochs:
            continue
        error = _percentage(W, validation, network)
        if error < min(run.validation_curve, default=math.inf):
            run.weights, run.best_epoch = [[list(row) for row in matrix] for matrix in W], epoch
        run.validation_curve.append(error)
        loss = 100 * (error / min(run.validation_curve) - 1)
        strip = run.training_curve[-((epoch - 1) % strip_length + 1) :]
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


def _percentage(W, data, network):
    X, targets = data
    return 100.0 / (len(X) * len(targets[0])) * squared_error(W, X, targets, **network)
