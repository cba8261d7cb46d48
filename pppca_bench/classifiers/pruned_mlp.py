"""Pruning of networks by Optimal Brain Damage: the estimator `PrunedMLPClassifier`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pppca_bench.classifiers.gradient_mlp import RpropTraining
from pppca_bench.classifiers.mlp import MLPClassifier
from pppca_bench.classifiers.network import Architecture, connected_inputs
from pppca_bench.classifiers.training import RpropLanes, Task, TrainedNet
from pppca_bench.compiled.arrays import Flags, Floats
from pppca_bench.parameters import Count, NotNegative, OpenShare

Masks = list[Flags]
"""Which weights are left: a (n_units, n_sources) matrix for each layer; its first column, the biases, is all true."""


@dataclass(eq=False, repr=False, kw_only=True)
class PrunedMLPClassifier(RpropTraining, MLPClassifier):
    """Classify with a network that is trained by RPROP, pruned by saliency and retrained, round after round.

    Optimal Brain Damage (LeCun, Denker & Solla 1990): train, delete the weights of least saliency, train again, repeat.
    Slide 'Comparison', column "Prunning"; training as in the Proben1 report, section 3.3. A deleted weight and its step
    size are 0, where RPROP leaves them.

    Choice: the pruning ends when there are no more weights than outputs, and the result is the network of least
    validation error in all rounds, so the size is chosen on the validation data; the sources give no rule. A round
    starts from the weights of the previous round's validation minimum, with the initial step sizes. Biases are not
    pruned, since they connect no units.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(16, 8)
        Units of each hidden layer before the pruning.
    prune_fraction : float, default=0.2
        Share of the remaining weights deleted in a round, at least one weight; in (0, 1). Choice: LeCun et al.
        delete "some".
    retrain_epochs : int, default=100
        Most epochs of a round after the first, >= 1; early stopping may end it sooner.
    max_epochs : int, default=3000
        Most epochs of the first round, >= 1.
    shortcuts, initial_step_range, initial_weight_range, strip_length, generalisation_loss, training_progress
        Training and early stopping of every round, as in `RpropMLPClassifier`.
    random_state : int, RandomState, Generator or None, default=None
        As in `RpropMLPClassifier`.

    Attributes
    ----------
    n_features_ : int
        Inputs from which a path of weights leads to an output.
    n_weights_ : int
        Weights that are left, biases not counted.
    measures_ : dict of float
        ``n_weights``, for the results.
    coefs_, intercepts_ : list of float64 ndarrays
        As in `RpropMLPClassifier`; deleted weights are 0.
    n_epochs_, best_epoch_ : int
        Epochs of all rounds, and the epoch of the result's validation minimum, counted over all rounds.
    training_curve_, validation_curve_ : float64 ndarrays
        Of all rounds.
    history_ : dict of ndarrays of shape (n_rounds,)
        ``n_weights`` and ``validation_error``, the least squared error percentage of each round.
    stop_reason_ : str
        Of the last round.
    """

    prune_fraction: OpenShare = 0.2
    retrain_epochs: Count = 100
    training_progress: NotNegative = 0.1

    def _train(self, tasks: Sequence[Task]) -> list[TrainedNet]:
        masks = [[np.ones(matrix.shape, dtype=bool) for matrix in task.weights] for task in tasks]
        rounds: list[list[TrainedNet]] = [[] for _ in tasks]
        rule, active = self._stopping_rule(), list(range(len(tasks)))
        while active:
            starts = [replace(tasks[k], weights=rounds[k][-1].weights) if rounds[k] else tasks[k] for k in active]
            masked = [start.masked(masks[k]) for k, start in zip(active, starts, strict=True)]
            for k, net in zip(active, RpropLanes(masked, self._rprop_rule(), rule).train(), strict=True):
                rounds[k].append(replace(net, kept=masks[k]))
            last = {k: rounds[k][-1] for k in active if rounds[k][-1].stop_reason != "not_finite"}
            active = [k for k, net in last.items() if n_connections(net.kept) > len(net.weights[-1])]
            for k in active:
                saliencies = optimal_brain_damage(tasks[k].architecture, last[k].weights, tasks[k].X, tasks[k].targets)
                masks[k] = pruned(masks[k], saliencies, self.prune_fraction)
            rule = rule._replace(max_epochs=int(self.retrain_epochs))
        return [_best(nets) for nets in rounds]

    def _set_fitted(self, net: TrainedNet, task: Task) -> None:
        super()._set_fitted(net, task)
        self.n_weights_ = n_connections(net.kept)
        self.measures_["n_weights"] = self.n_weights_
        self.n_features_ = int(connected_inputs(task.architecture, net.kept).sum())


def _best(rounds: Sequence[TrainedNet]) -> TrainedNet:
    """Return the network of least validation error, the smallest of equals, with the curves of all rounds."""
    errors = np.array([net.validation_curve.min() for net in rounds])
    chosen = len(errors) - 1 - int(np.argmin(errors[::-1]))
    return replace(
        rounds[chosen],
        best_epoch=sum(len(net.training_curve) for net in rounds[:chosen]) + rounds[chosen].best_epoch,
        training_curve=np.concatenate([net.training_curve for net in rounds]),
        validation_curve=np.concatenate([net.validation_curve for net in rounds]),
        stop_reason=rounds[-1].stop_reason,
        history={"n_weights": np.array([n_connections(net.kept) for net in rounds]), "validation_error": errors},
    )


def pruned(masks: Masks, saliencies: Sequence[Floats], fraction: float) -> Masks:
    """Return the masks without the fraction, in (0, 1), of the remaining weights with the least saliency.

    At least a single weight is deleted, and no bias. Saliencies and masks have the same shapes.
    """
    left = np.concatenate([mask[:, 1:].ravel() for mask in masks])
    values = np.concatenate([matrix[:, 1:].ravel() for matrix in saliencies])
    candidates = np.flatnonzero(left)
    n_deleted = max(round(fraction * len(candidates)), 1)
    left[candidates[np.argsort(values[candidates], kind="stable")[:n_deleted]]] = False
    parts = np.split(left, np.cumsum([mask[:, 1:].size for mask in masks])[:-1])
    return [
        np.column_stack([mask[:, 0], part.reshape(mask[:, 1:].shape)]) for mask, part in zip(masks, parts, strict=True)
    ]


def n_connections(masks: Masks) -> int:
    """Return the number of weights that are left, biases not counted."""
    return sum(int(np.count_nonzero(mask[:, 1:])) for mask in masks)


class _Layer(NamedTuple):
    """The values that feed a layer, its own values, and f′ and f″ of its activation, each (n_units, n_samples)."""

    sources: Floats
    values: Floats
    slope: Floats
    bend: Floats


def optimal_brain_damage(
    architecture: Architecture, matrices: Sequence[Floats], X: Floats, targets: Floats
) -> list[Floats]:
    """Return the saliency h w² / 2 of each weight w: the increase of the error, to second order, when w is deleted.

    LeCun, Denker & Solla 1990, eq. 4. E is half the squared error over all samples, h = ∂²E / ∂w² for each weight by
    itself: Σ s² ∂²E / ∂a² for a weight of source s into a unit, with the sum a of the unit's inputs.

    Choice: h is exact. LeCun, Denker & Solla 1990 pass ∂²E / ∂a² back from layer to layer without the coupling of the
    units of a layer; here each unit's effect is followed forward to the outputs, which costs little with so few units.

    ``matrices``, biases first, and the saliencies are a float64 (n_units, n_sources) for each layer; ``X`` and
    ``targets`` have shapes (n_samples, n_inputs) and (n_samples, n_outputs).
    """
    layers = list(_forward(architecture, matrices, X.T))
    errors = layers[-1].values - targets.T
    saliencies = []
    for k, (layer, matrix) in enumerate(zip(layers, matrices, strict=True)):
        curvature = _unit_curvatures(architecture, matrices, layers, k, errors)
        h = np.column_stack([curvature.sum(axis=1), curvature @ (layer.sources**2).T])
        saliencies.append(0.5 * h * matrix**2)
    return saliencies


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
    with respect to a unit's sum a.
    """
    slope, bend = layers[k].slope, layers[k].bend
    if layers[k] is layers[-1]:
        # E = Σ (f(a) − t)² / 2, so ∂²E / ∂a² = f′² + (f − t) f″.
        return slope**2 + errors * bend
    # A unit changes no other value of its layer: the derivatives are diagonal matrices.
    first, second = (derivative[:, None] * np.eye(len(slope))[..., None] for derivative in (slope, bend))
    for matrix, layer in zip(matrices[k + 1 :], layers[k + 1 :], strict=True):
        # Chain rule for a value v = f(s): v′ = f′ s′ and v″ = f″ s′² + f′ s″.
        W = matrix[:, -first.shape[1] :]
        sum_first = W @ first
        new_first = layer.slope * sum_first
        new_second = layer.bend * sum_first**2 + layer.slope * (W @ second)
        keeps = architecture.shortcuts and layer is not layers[-1]
        first = np.concatenate([first, new_first], axis=1) if keeps else new_first
        second = np.concatenate([second, new_second], axis=1) if keeps else new_second
    # ∂²E / ∂a² = Σ over outputs v: v′² + (v − t) v″.
    curvature: Floats = (first**2 + errors * second).sum(axis=1)
    return curvature
