"""RPROP in PyTorch, with all samples in a batch: all nets of a cell by batched products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn

Floats = NDArray[Any]


def rprop(
    layers: Sequence[Floats],
    X: Floats,
    targets: Floats,
    *,
    shortcuts: bool,
    first_step: float,
    n_epochs: int,
) -> Callable[[], list[Floats]]:
    """Return a call that trains nets at once, see `rprop.together`."""
    start = [torch.from_numpy(matrices) for matrices in layers]
    inputs, wanted = torch.from_numpy(X), torch.from_numpy(targets)

    def train() -> list[Floats]:
        biases = [matrix[:, None, :, 0].clone().requires_grad_() for matrix in start]
        weights = [
            matrix[:, :, 1:].transpose(1, 2).contiguous().requires_grad_() for matrix in start
        ]
        optimiser = torch.optim.Rprop(
            biases + weights, lr=first_step, etas=(0.5, 1.2), step_sizes=(0.0, 50.0)
        )
        for _ in range(n_epochs):
            optimiser.zero_grad()
            sources = inputs
            for bias, weight in zip(biases[:-1], weights[:-1], strict=True):
                values = nn.functional.softsign(torch.baddbmm(bias, sources, weight))
                sources = torch.cat([sources, values], dim=2) if shortcuts else values
            outputs = torch.baddbmm(biases[-1], sources, weights[-1])
            (0.5 * nn.functional.mse_loss(outputs, wanted, reduction="sum")).backward()
            optimiser.step()
        pairs = zip(biases, weights, strict=True)
        return [torch.cat([b, w], dim=1).transpose(1, 2).detach().numpy() for b, w in pairs]

    return train
