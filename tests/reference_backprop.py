"""Plain-loop transcription of online backpropagation: one net, one sample, one weight at a time."""

import math


def activate(name, x):
    if name == "logistic":
        return 1.0 / (1.0 + math.exp(-x))
    return x / (1.0 + abs(x)) if name == "softsign" else x


def slope(name, value):
    if name == "logistic":
        return value * (1.0 - value)
    return (1.0 - abs(value)) ** 2 if name == "softsign" else 1.0


def forward(matrices, x, hidden, output):
    """Return the values of each layer, the inputs first, each led by the constant of the bias."""
    layers = [[1.0, *x]]
    for k, matrix in enumerate(matrices):
        name = output if k == len(matrices) - 1 else hidden
        sums = [sum(w * v for w, v in zip(row, layers[-1], strict=True)) for row in matrix]
        layers.append([1.0, *(activate(name, a) for a in sums)])
    return layers


def gradients(matrices, x, target, hidden, output):
    """Return the gradient of half the squared error of one sample, and the squared error."""
    layers = forward(matrices, x, hidden, output)
    differences = [o - t for o, t in zip(layers[-1][1:], target, strict=True)]
    errors = [d * slope(output, o) for d, o in zip(differences, layers[-1][1:], strict=True)]
    result = []
    for k in range(len(matrices) - 1, -1, -1):
        result.insert(0, [[e * v for v in layers[k]] for e in errors])
        errors = [
            slope(hidden, value) * sum(e * row[i] for e, row in zip(errors, matrices[k], strict=True))
            for i, value in enumerate(layers[k])
        ][1:]
    return result, sum(d * d for d in differences)


def train(matrices, data, orders, hidden, output, *, rate, decay_epochs=math.inf, momentum=0.0):
    """Return the weights after an epoch for each of the given orders, and each epoch's squared error percentage."""
    X, targets = data
    W = [[list(row) for row in matrix] for matrix in matrices]
    steps = [[[0.0] * len(row) for row in matrix] for matrix in matrices]
    curve = []
    for epoch, order in enumerate(orders):
        eta, total = rate / (1.0 + epoch / decay_epochs), 0.0
        for s in order:
            G, error = gradients(W, X[s], targets[s], hidden, output)
            total += error
            for k, matrix in enumerate(W):
                for j, row in enumerate(matrix):
                    for i in range(len(row)):
                        steps[k][j][i] = momentum * steps[k][j][i] - eta * G[k][j][i]
                        row[i] += steps[k][j][i]
        curve.append(100.0 * total / (len(X) * len(targets[0])))
    return W, curve


def squared_error_percentage(matrices, data, hidden, output):
    X, targets = data
    total = 0.0
    for x, target in zip(X, targets, strict=True):
        outputs = forward(matrices, x, hidden, output)[-1][1:]
        total += sum((o - t) ** 2 for o, t in zip(outputs, target, strict=True))
    return 100.0 * total / (len(X) * len(targets[0]))
