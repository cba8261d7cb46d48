"""Slides' classifier in PyTorch: a net at a time, sample by sample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

Floats = NDArray[np.float64]


def train(
    X: Floats,
    targets: Floats,
    *,
    hidden: tuple[int, ...],
    learning_rate: float,
    decay_epochs: float | None,
    n_epochs: int,
) -> nn.Sequential:
    """Train a net with softsign hidden and logistic output units by online backpropagation; return it."""
    net = build((X.shape[1], *hidden, targets.shape[1]))
    scale = np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)
    orders = (torch.randperm(len(X)).numpy() for _ in range(n_epochs))
    learn(net, (X - X.mean(axis=0)) / scale, targets, orders, learning_rate=learning_rate, decay_epochs=decay_epochs)
    return net


def build(sizes: Sequence[int]) -> nn.Sequential:
    """Return a net with these numbers of units in its layers, the inputs first."""
    *hidden, last = [nn.Linear(n_sources, n_units, dtype=torch.float64) for n_sources, n_units in pairwise(sizes)]
    return nn.Sequential(*(part for layer in hidden for part in (layer, nn.Softsign())), last, nn.Sigmoid())


def learn(
    net: nn.Sequential,
    X: Floats,
    targets: Floats,
    orders: Iterable[NDArray[np.int64]],
    *,
    learning_rate: float,
    decay_epochs: float | None,
) -> None:
    """Update the net after each sample, in the order that is given for each epoch, on half the squared error."""
    optimiser = torch.optim.SGD(net.parameters(), lr=learning_rate)
    inputs, wanted = torch.from_numpy(X), torch.from_numpy(targets)
    for epoch, order in enumerate(orders):
        for group in optimiser.param_groups:
            group["lr"] = learning_rate / (1.0 + (epoch / decay_epochs if decay_epochs else 0.0))
        for sample in order:
            optimiser.zero_grad()
            loss = 0.5 * (net(inputs[sample]) - wanted[sample]).square().sum()
            loss.backward()
            optimiser.step()


def matrices(net: nn.Sequential) -> list[Floats]:
    """Return a copy of each layer's weights, the bias in the first column."""
    layers = [layer for layer in net if isinstance(layer, nn.Linear)]
    return [np.hstack([layer.bias.detach().numpy()[:, None], layer.weight.detach().numpy()]) for layer in layers]
