"""Saliency of a network's weights: diagonal second derivatives of the error, and which inputs are still connected."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pppca_bench.classifiers.network import Architecture, network_outputs
from pppca_bench.compiled.arrays import Flags, Floats


class _Layer(NamedTuple):
    """Hold what feeds a layer, its values, and the derivatives of its activation function at these.

    Each has a row a unit and a column a sample: NumPy is fast along a long last axis.
    """

    sources: Floats
    values: Floats
    slope: Floats
    bend: Floats


def optimal_brain_damage(
    architecture: Architecture, matrices: Sequence[Floats], X: Floats, targets: Floats
) -> list[Floats]:
    """Return the saliency h w² / 2 of each weight w: what the error gains, to second order, when w is deleted alone.

    LeCun, Denker & Solla 1990, eq. 4; see `second_derivatives`, which also describes the parameters.

    Returns
    -------
    list of float64 ndarrays of shape (..., n_units, n_sources)
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
    matrices : sequence of float64 ndarrays of shape (..., n_units, n_sources)
        The weights of each layer, biases first; a leading axis stands for several networks.
    X, targets : float64 ndarrays of shape (..., n_samples, n_inputs) and (..., n_samples, n_outputs)

    Returns
    -------
    list of float64 ndarrays of shape (..., n_units, n_sources)
    """
    layers = list(_forward(architecture, matrices, _transposed(X)))
    errors = layers[-1].values - _transposed(targets)
    curvatures = (_unit_curvatures(architecture, matrices, layers, k, errors) for k in range(len(layers)))
    return [
        np.concatenate([curvature.sum(axis=-1)[..., None], curvature @ _transposed(layer.sources**2)], axis=-1)
        for curvature, layer in zip(curvatures, layers, strict=True)
    ]


def connected_inputs(architecture: Architecture, masks: Sequence[Flags]) -> Flags:
    """Tell from which inputs a path of weights leads to an output.

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


def _transposed(matrices: Floats) -> Floats:
    return np.swapaxes(matrices, -1, -2)


def _forward(architecture: Architecture, matrices: Sequence[Floats], inputs: Floats) -> Iterator[_Layer]:
    """Compute every layer's values, (..., n_units, n_samples), and the derivatives of x / (1 + |x|) or of x there."""
    sources = inputs
    for k, matrix in enumerate(matrices):
        values = matrix[..., 1:] @ sources + matrix[..., :1]
        slope, bend = np.ones_like(values), np.zeros_like(values)
        if k < len(matrices) - 1 or architecture.output_activation == "softsign":
            values = values / (1.0 + np.abs(values))
            root = 1.0 - np.abs(values)
            slope = root**2
            bend = -2.0 * np.sign(values) * slope * root
        yield _Layer(sources, values, slope, bend)
        sources = np.concatenate([sources, values], axis=-2) if architecture.shortcuts else values


def _unit_curvatures(
    architecture: Architecture, matrices: Sequence[Floats], layers: Sequence[_Layer], k: int, errors: Floats
) -> Floats:
    """Return ∂²E / ∂a² of each unit of layer k and each sample, (..., n_units, n_samples).

    ``first`` and ``second``, (..., n_units, n_values, n_samples), are the derivatives of the values that feed the next
    layer with respect to the input sum a of one unit at a time.
    """
    slope, bend = layers[k].slope, layers[k].bend
    if layers[k] is layers[-1]:
        return slope**2 + errors * bend
    # A unit moves its own value alone: a diagonal, by which to multiply is to scale.
    *networks, n_units, n_samples = slope.shape
    diagonals = slope[..., None, :], bend[..., None, :]
    first = second = np.empty((*networks, n_units, 0, n_samples))
    for matrix, layer in zip(matrices[k + 1 :], layers[k + 1 :], strict=True):
        keeps = architecture.shortcuts and layer is not layers[-1]
        if layer is layers[k + 1]:
            W = _transposed(matrix[..., -n_units:])[..., None]
            sum_first, sum_second = (diagonal * W for diagonal in diagonals)
            if keeps:
                alone = np.eye(n_units)[:, :, None]
                first, second = (diagonal * alone for diagonal in diagonals)
        else:
            W = matrix[..., None, :, -first.shape[-2] :]
            sum_first, sum_second = W @ first, W @ second
        layer_slope, layer_bend = layer.slope[..., None, :, :], layer.bend[..., None, :, :]
        new_first = layer_slope * sum_first
        new_second = layer_bend * sum_first**2 + layer_slope * sum_second
        first = np.concatenate([first, new_first], axis=-2) if keeps else new_first
        second = np.concatenate([second, new_second], axis=-2) if keeps else new_second
    curvature: Floats = (first**2 + errors[..., None, :, :] * second).sum(axis=-2)
    return curvature
