"""RPROP in JAX: all nets of a cell at once, vmapped, the epochs in a scan, jitted as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

jax.config.update("jax_enable_x64", True)

Floats = NDArray[Any]
Matrices = list[Any]


def trainer(
    layers: Sequence[Floats], X: Floats, targets: Floats, *, first_step: float, n_epochs: int
) -> Callable[[], list[Floats]]:
    """Return a call that trains nets, see `rprop.together`."""
    arrays = [jnp.asarray(matrices) for matrices in layers], jnp.asarray(X), jnp.asarray(targets)
    compiled = jax.jit(jax.vmap(partial(_train, first_step=first_step, n_epochs=n_epochs)))
    return lambda: [np.asarray(matrices) for matrices in compiled(*arrays)]


def _error(weights: Matrices, X: Any, targets: Any) -> Any:
    """Return half the squared error of a net."""
    *hidden, last = weights
    for matrix in hidden:
        sums = X @ matrix[:, 1:].T + matrix[:, 0]
        X = sums / (1.0 + jnp.abs(sums))
    return 0.5 * jnp.sum((X @ last[:, 1:].T + last[:, 0] - targets) ** 2)


def _train(weights: Matrices, X: Any, targets: Any, *, first_step: float, n_epochs: int) -> Matrices:
    """Train one net with weight backtracking, as ours."""

    def learn(state: Any, _: None) -> tuple[Any, None]:
        weights, steps, previous = state
        gradients = jax.grad(_error)(weights, X, targets)
        moved = [_step(*arrays) for arrays in zip(weights, steps, previous, gradients, strict=True)]
        return tuple(map(list, zip(*moved, strict=True))), None

    steps = [jnp.full_like(matrix, first_step) for matrix in weights]
    state = weights, steps, [jnp.zeros_like(matrix) for matrix in weights]
    (trained, *_), _ = jax.lax.scan(learn, state, None, length=n_epochs)
    return list(trained)


def _step(weight: Any, step: Any, previous: Any, gradient: Any) -> tuple[Any, Any, Any]:
    agreement = gradient * previous
    grown, shrunk = jnp.minimum(1.2 * step, 50.0), 0.5 * step
    new_step = jnp.where(agreement > 0, grown, jnp.where(agreement < 0, shrunk, step))
    # Where the sign changes the last move is undone, and the gradient forgotten.
    move = jnp.where(agreement < 0, -jnp.sign(previous) * step, jnp.sign(gradient) * new_step)
    return weight - move, new_step, jnp.where(agreement < 0, 0.0, gradient)
