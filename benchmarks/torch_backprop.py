"""The slides' classifier in PyTorch: one net, one sample at a time."""

from __future__ import annotations

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
) -> nn.Module:
    """Train a net with softsign hidden and logistic output units by online backpropagation; return it."""
    sizes = (X.shape[1], *hidden)
    layers: list[nn.Module] = []
    for n_sources, n_units in pairwise(sizes):
        layers += [nn.Linear(n_sources, n_units, dtype=torch.float64), nn.Softsign()]
    net = nn.Sequential(*layers, nn.Linear(sizes[-1], targets.shape[1], dtype=torch.float64), nn.Sigmoid())
    optimiser = torch.optim.SGD(net.parameters(), lr=learning_rate)
    scale = np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)
    inputs, wanted = torch.from_numpy((X - X.mean(axis=0)) / scale), torch.from_numpy(targets)
    for epoch in range(n_epochs):
        for group in optimiser.param_groups:
            group["lr"] = learning_rate / (1.0 + (epoch / decay_epochs if decay_epochs else 0.0))
        for sample in torch.randperm(len(X)):
            optimiser.zero_grad()
            loss = 0.5 * (net(inputs[sample]) - wanted[sample]).square().sum()
            loss.backward()
            optimiser.step()
    return net
