"""Peers in JAX: all nets of a cell at once, vmapped, the epochs in a scan, jitted as a whole."""

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


def rprop(
    layers: Sequence[Floats],
    X: Floats,
    targets: Floats,
    *,
    shortcuts: bool,
    first_step: float,
    n_epochs: int,
) -> Callable[[], list[Floats]]:
    """Return a call that trains nets by RPROP, see `rprop.together`."""
    train = partial(_train_rprop, shortcuts=shortcuts, first_step=first_step, n_epochs=n_epochs)
    return _together(train, layers, X, targets)


def backprop(
    layers: Sequence[Floats],
    X: Floats,
    targets: Floats,
    orders: Floats,
    *,
    learning_rate: float,
    decay_epochs: float | None,
) -> Callable[[], list[Floats]]:
    """Return a call that trains nets with logistic outputs by online backpropagation, in the orders (n_nets, n_epochs,
    n_samples).
    """
    epochs = np.arange(orders.shape[1])
    rates = learning_rate / (1.0 + (epochs / decay_epochs if decay_epochs else 0.0 * epochs))
    return _together(partial(_train_online, rates=jnp.asarray(rates)), layers, X, targets, orders)


def _together(
    train: Callable[..., Matrices], layers: Sequence[Floats], *arrays: Floats
) -> Callable[[], list[Floats]]:
    given = [jnp.asarray(matrices) for matrices in layers], *map(jnp.asarray, arrays)
    compiled = jax.jit(jax.vmap(train))
    return lambda: [np.asarray(matrices) for matrices in compiled(*given)]


def _outputs(weights: Matrices, X: Any, shortcuts: bool) -> Any:
    """Return the sums of the output units; with shortcuts a layer takes the inputs and all layers before it."""
    *hidden, last = weights
    for matrix in hidden:
        sums = X @ matrix[:, 1:].T + matrix[:, 0]
        values = sums / (1.0 + jnp.abs(sums))
        X = jnp.concatenate([X, values], axis=1) if shortcuts else values
    return X @ last[:, 1:].T + last[:, 0]


def _rprop_error(weights: Matrices, X: Any, targets: Any, shortcuts: bool) -> Any:
    return 0.5 * jnp.sum((_outputs(weights, X, shortcuts) - targets) ** 2)


def _train_rprop(
    weights: Matrices, X: Any, targets: Any, *, shortcuts: bool, first_step: float, n_epochs: int
) -> Matrices:
    """Train one net with weight backtracking, as ours."""

    def learn(state: Any, _: None) -> tuple[Any, None]:
        weights, steps, previous = state
        gradients = jax.grad(_rprop_error)(weights, X, targets, shortcuts)
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


def _online_error(weights: Matrices, x: Any, target: Any) -> Any:
    return 0.5 * jnp.sum((jax.nn.sigmoid(_outputs(weights, x[None], False)[0]) - target) ** 2)


def _train_online(weights: Matrices, X: Any, targets: Any, orders: Any, *, rates: Any) -> Matrices:
    """Update one net after each sample."""

    def learn(weights: Matrices, sample: tuple[Any, Any]) -> tuple[Matrices, None]:
        place, rate = sample
        gradients = jax.grad(_online_error)(weights, X[place], targets[place])
        return [
            matrix - rate * gradient for matrix, gradient in zip(weights, gradients, strict=True)
        ], None

    places = orders.ravel(), jnp.repeat(rates, orders.shape[1])
    trained, _ = jax.lax.scan(learn, weights, places)
    return list(trained)
