"""RPROP in PyTorch, with all samples in a batch: a net at a time, or all nets of a cell by batched products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Floats = NDArray[np.float64]


class Perceptron(nn.Module):
    """Feed softsign layers and a linear output layer; with shortcuts each takes the inputs and all layers before it."""

    def __init__(self, matrices: Sequence[Floats], shortcuts: bool) -> None:
        super().__init__()
        self.shortcuts = shortcuts
        self.layers = nn.ModuleList(_linear(matrix) for matrix in matrices)

    def forward(self, X: Tensor) -> Tensor:
        """Compute the outputs."""
        *hidden, last = self.layers
        for layer in hidden:
            values = nn.functional.softsign(layer(X))
            X = torch.cat([X, values], dim=1) if self.shortcuts else values
        return last(X)


def _linear(matrix: Floats) -> nn.Linear:
    """Return a layer with the weights of a matrix whose first column is the bias."""
    layer = nn.Linear(matrix.shape[1] - 1, matrix.shape[0], dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(matrix[:, 1:]))
        layer.bias.copy_(torch.from_numpy(matrix[:, 0]))
    return layer


def train(
    matrices: Sequence[Floats], X: Floats, targets: Floats, *, shortcuts: bool, first_step: float, n_epochs: int
) -> list[Floats]:
    """Train one net on half the squared error; return its matrices, the bias in the first column."""
    net = Perceptron(matrices, shortcuts)
    optimiser = torch.optim.Rprop(net.parameters(), lr=first_step, etas=(0.5, 1.2), step_sizes=(0.0, 50.0))
    inputs, wanted = torch.from_numpy(X), torch.from_numpy(targets)
    for _ in range(n_epochs):
        optimiser.zero_grad()
        loss = 0.5 * nn.functional.mse_loss(net(inputs), wanted, reduction="sum")
        loss.backward()
        optimiser.step()
    return [
        np.hstack([layer.bias.detach().numpy()[:, None], layer.weight.detach().numpy()])  # type: ignore[union-attr]
        for layer in net.layers
    ]


def trainer(
    layers: Sequence[NDArray[Any]], X: NDArray[Any], targets: NDArray[Any], *, first_step: float, n_epochs: int
) -> Callable[[], list[NDArray[Any]]]:
    """Return a call that trains nets at once, see `rprop.together`."""
    start = [torch.from_numpy(matrices) for matrices in layers]
    inputs, wanted = torch.from_numpy(X), torch.from_numpy(targets)

    def train() -> list[NDArray[Any]]:
        biases = [matrix[:, None, :, 0].clone().requires_grad_() for matrix in start]
        weights = [matrix[:, :, 1:].transpose(1, 2).contiguous().requires_grad_() for matrix in start]
        optimiser = torch.optim.Rprop(biases + weights, lr=first_step, etas=(0.5, 1.2), step_sizes=(0.0, 50.0))
        for _ in range(n_epochs):
            optimiser.zero_grad()
            values = inputs
            for layer, (bias, weight) in enumerate(zip(biases, weights, strict=True)):
                values = torch.baddbmm(bias, values, weight)
                if layer < len(weights) - 1:
                    values = nn.functional.softsign(values)
            (0.5 * nn.functional.mse_loss(values, wanted, reduction="sum")).backward()
            optimiser.step()
        pairs = zip(biases, weights, strict=True)
        return [torch.cat([b, w], dim=1).transpose(1, 2).detach().numpy() for b, w in pairs]

    return train
