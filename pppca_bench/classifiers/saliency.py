"""Saliency of a network's weights by second derivatives of the error, and the inputs that are still connected."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pppca_bench.classifiers.network import Architecture, network_outputs
from pppca_bench.compiled.arrays import Flags, Floats


class _Layer(NamedTuple):
    """The values that feed a layer, its own values, and the derivatives f′ and f″ of its activation there.

    Each has a row a unit and a column a sample: NumPy is fast along a long last axis.
    """

    sources: Floats
    values: Floats
    slope: Floats
    bend: Floats


def optimal_brain_damage(
    architecture: Architecture, matrices: Sequence[Floats], X: Floats, targets: Floats
) -> list[Floats]:
    """Return the saliency h w² / 2 of each weight w: the increase of the error, to second order, when w is deleted.

    LeCun, Denker & Solla 1990, eq. 4; see `second_derivatives`, which also describes the parameters.

    Returns
    -------
    list of float64 ndarrays of shape (n_units, n_sources)
    """
    curvatures = second_derivatives(architecture, matrices, X, targets)
    return [0.5 * h * matrix**2 for h, matrix in zip(curvatures, matrices, strict=True)]


def second_derivatives(
    architecture: Architecture, matrices: Sequence[Floats], X: Floats, targets: Floats
) -> list[Floats]:
    """Return h = ∂²E / ∂w² of half the squared error E over all samples, for each weight w by itself.

    For a weight w of source s into unit u, ∂²E / ∂w² = Σ s² ∂²E / ∂a² with the sum a of the unit's inputs.

    Choice: exact. LeCun, Denker & Solla 1990 pass ∂²E / ∂a² back from layer to layer without the coupling of the
    units of a layer; here each unit's effect is followed forward to the outputs, which costs little with so few units.

    Parameters
    ----------
    architecture : Architecture
    matrices : sequence of float64 ndarrays of shape (n_units, n_sources)
        The weights of each layer, biases first.
    X, targets : float64 ndarrays of shape (n_samples, n_inputs) and (n_samples, n_outputs)

    Returns
    -------
    list of float64 ndarrays of shape (n_units, n_sources)
    """
    layers = list(_forward(architecture, matrices, X.T))
    errors = layers[-1].values - targets.T
    curvatures = (_unit_curvatures(architecture, matrices, layers, k, errors) for k in range(len(layers)))
    return [
        np.column_stack([curvature.sum(axis=1), curvature @ (layer.sources**2).T])
        for curvature, layer in zip(curvatures, layers, strict=True)
    ]


def connected_inputs(architecture: Architecture, masks: Sequence[Flags]) -> Flags:
    """Return whether a path of weights leads from each input to an output.

    Parameters
    ----------
    architecture : Architecture
    masks : sequence of bool ndarrays of shape (n_units, n_sources)
        Which weights exist, the biases' column first.

    Returns
    -------
    bool ndarray of shape (n_inputs,)
    """
    # With weights of 1 and no biases nothing cancels: an output is positive exactly where a path leads to it.
    paths = [np.insert(mask[:, 1:].astype(np.float64), 0, 0.0, axis=1) for mask in masks]
    reached: Flags = network_outputs(architecture, paths, np.eye(architecture.n_inputs)) > 0.0
    return np.any(reached, axis=1)


def _forward(architecture: Architecture, matrices: Sequence[Floats], inputs: Floats) -> Iterator[_Layer]:
    """Compute every layer's values, (n_units, n_samples), and the derivatives of x / (1 + |x|) or of x there."""
    sources = inputs
    for k, matrix in enumerate(matrices):
        values = matrix[:, 1:] @ sources + matrix[:, :1]
        slope, bend = np.ones_like(values), np.zeros_like(values)
        if k < len(matrices) - 1 or architecture.output_activation == "softsign":
            values = values / (1.0 + np.abs(values))
            # With the value v, f′ = (1 − |v|)² and f″ = −2 sign(v) (1 − |v|)³.
            root = 1.0 - np.abs(values)
            slope = root**2
            bend = -2.0 * np.sign(values) * slope * root
        yield _Layer(sources, values, slope, bend)
        sources = np.concatenate([sources, values]) if architecture.shortcuts else values


def _unit_curvatures(
    architecture: Architecture, matrices: Sequence[Floats], layers: Sequence[_Layer], k: int, errors: Floats
) -> Floats:
    """Return ∂²E / ∂a² of each unit of layer k and each sample, (n_units, n_samples).

    ``first`` and ``second``, (n_units, n_values, n_samples), are the derivatives of the values that feed the next layer
    with respect to the sum a of one unit's inputs.
    """
    slope, bend = layers[k].slope, layers[k].bend
    if layers[k] is layers[-1]:
        # E = Σ (f(a) − t)² / 2, so ∂²E / ∂a² = f′² + (f − t) f″.
        return slope**2 + errors * bend
    # In its own layer a unit changes its own value alone: the derivatives are diagonal matrices.
    n_units, n_samples = slope.shape
    diagonals = slope[:, None, :], bend[:, None, :]
    first = second = np.empty((n_units, 0, n_samples))
    for matrix, layer in zip(matrices[k + 1 :], layers[k + 1 :], strict=True):
        keeps = architecture.shortcuts and layer is not layers[-1]
        if layer is layers[k + 1]:
            W = matrix[:, -n_units:].T[..., None]
            sum_first, sum_second = (diagonal * W for diagonal in diagonals)
            if keeps:
                first, second = (diagonal * np.eye(n_units)[:, :, None] for diagonal in diagonals)
        else:
            W = matrix[:, -first.shape[1] :]
            sum_first, sum_second = W @ first, W @ second
        # Chain rule for a value v = f(s): v′ = f′ s′ and v″ = f″ s′² + f′ s″.
        new_first = layer.slope * sum_first
        new_second = layer.bend * sum_first**2 + layer.slope * sum_second
        first = np.concatenate([first, new_first], axis=1) if keeps else new_first
        second = np.concatenate([second, new_second], axis=1) if keeps else new_second
    # ∂²E / ∂a² = Σ over outputs v: v′² + (v − t) v″.
    curvature: Floats = (first**2 + errors * second).sum(axis=1)
    return curvature
