"""Pruning of networks by Optimal Brain Damage: the estimator `PrunedMLPClassifier`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pppca_bench.base.parameters import Count, NotNegative, OpenShare
from pppca_bench.classifiers.gradient_mlp import RpropTraining, train_by_rprop
from pppca_bench.classifiers.mlp import MLPClassifier
from pppca_bench.classifiers.network import Architecture, connected_inputs
from pppca_bench.classifiers.training import TrainedNet, TrainingTask
from pppca_bench.compiled.arrays import Flags, Floats

Masks = list[Flags]
"""Masks of remaining weights: (n_units, n_sources) for each layer; the first column, for biases, is all true."""


@dataclass(eq=False, repr=False, kw_only=True)
class PrunedMLPClassifier(RpropTraining, MLPClassifier):
    """Classify with a network that is trained by RPROP, pruned by saliency and retrained, round after round.

    Optimal Brain Damage (LeCun, Denker & Solla 1990): train, delete the weights of least saliency, retrain, repeat.
    Slide 'Comparison', column "Prunning"; training as in the Proben1 report, section 3.3. Deleted weights and their
    step sizes are 0, which RPROP does not change.

    Choice: the pruning ends when at most as many weights as outputs remain, and the result has the least validation
    error of all rounds, so the validation data choose the size; the sources give no rule. A round starts from the
    weights at the validation minimum of the previous round, with the initial step sizes. Biases are not pruned, since
    they connect no units.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(16, 8)
        Number of units in each hidden layer before pruning.
    prune_fraction : float, default=0.2
        Share of the remaining weights to delete in a round, at least a single weight; in (0, 1). Choice: LeCun et al.
        delete "some".
    retrain_epochs : int, default=100
        Largest number of epochs in each later round, >= 1; early stopping may end a round sooner.
    max_epochs : int, default=3000
        Largest number of epochs in the first round, >= 1.
    shortcuts, initial_step_range, initial_weight_range, strip_length, generalisation_loss, training_progress
        Training and early stopping of every round, as in `RpropMLPClassifier`.
    random_state : int, RandomState, Generator or None, default=None
        As in `RpropMLPClassifier`.

    Attributes
    ----------
    n_features_ : int
        Number of inputs from which a path of weights leads to an output.
    n_weights_ : int
        Number of remaining weights, without biases.
    measures_ : dict of float
        ``n_weights``, for the store.
    coefs_, intercepts_ : list of float64 ndarrays
        As in `RpropMLPClassifier`; deleted weights are 0.
    n_epochs_, best_epoch_ : int
        Number of epochs of all rounds, and epoch of the validation minimum of the result, counted over all rounds.
    training_curve_, validation_curve_ : float64 ndarrays
        Curves of all rounds.
    history_ : dict of ndarrays of shape (n_rounds,)
        ``n_weights`` and ``validation_error``, the least squared error percentage of each round.
    stop_reason_ : str
        Reason in the last round.
    """

    prune_fraction: OpenShare = 0.2
    retrain_epochs: Count = 100
    training_progress: NotNegative = 0.1

    def _train(self, tasks: Sequence[TrainingTask]) -> list[TrainedNet]:
        unpruned = (
            [np.ones(matrix.shape, dtype=bool) for matrix in task.weights] for task in tasks
        )
        pending = dict(enumerate(zip(tasks, unpruned, strict=True)))
        rounds: list[list[TrainedNet]] = [[] for _ in tasks]
        max_epochs = int(self.max_epochs)
        while pending:
            nets = train_by_rprop(
                [task.masked(masks) for task, masks in pending.values()],
                self,
                max_epochs=max_epochs,
            )
            for (k, (task, masks)), net in zip([*pending.items()], nets, strict=True):
                rounds[k].append(replace(net, kept=masks))
                if net.stop_reason == "not_finite" or n_remaining(masks) <= len(net.weights[-1]):
                    del pending[k]
                    continue
                saliencies = optimal_brain_damage(
                    task.architecture, net.weights, task.X, task.targets
                )
                pending[k] = (
                    replace(task, weights=net.weights),
                    prune_masks(masks, saliencies, self.prune_fraction),
                )
            max_epochs = int(self.retrain_epochs)
        return [_best(nets) for nets in rounds]

    def _set_fitted(self, net: TrainedNet, task: TrainingTask) -> None:
        super()._set_fitted(net, task)
        self.n_weights_ = n_remaining(net.kept)
        self.measures_["n_weights"] = self.n_weights_
        self.n_features_ = int(connected_inputs(task.architecture, net.kept).sum())


def _best(rounds: Sequence[TrainedNet]) -> TrainedNet:
    """Return the network of least validation error (with equal errors the smallest), with the curves of all rounds."""
    errors = np.array([net.validation_curve.min() for net in rounds])
    chosen = len(errors) - 1 - int(np.argmin(errors[::-1]))
    return replace(
        rounds[chosen],
        best_epoch=sum(len(net.training_curve) for net in rounds[:chosen])
        + rounds[chosen].best_epoch,
        training_curve=np.concatenate([net.training_curve for net in rounds]),
        validation_curve=np.concatenate([net.validation_curve for net in rounds]),
        stop_reason=rounds[-1].stop_reason,
        history={
            "n_weights": np.array([n_remaining(net.kept) for net in rounds]),
            "validation_error": errors,
        },
    )


def prune_masks(masks: Masks, saliencies: Sequence[Floats], fraction: float) -> Masks:
    """Return masks without the fraction, in (0, 1), of remaining weights that has the least saliency.

    At least a single weight is deleted, but no bias. Saliencies and masks have the same shapes.
    """
    left = np.concatenate([mask[:, 1:].ravel() for mask in masks])
    values = np.concatenate([matrix[:, 1:].ravel() for matrix in saliencies])
    candidates = np.flatnonzero(left)
    n_deleted = max(round(fraction * len(candidates)), 1)
    left[candidates[np.argsort(values[candidates], kind="stable")[:n_deleted]]] = False
    parts = np.split(left, np.cumsum([mask[:, 1:].size for mask in masks])[:-1])
    return [
        np.column_stack([mask[:, 0], part.reshape(mask[:, 1:].shape)])
        for mask, part in zip(masks, parts, strict=True)
    ]


def n_remaining(masks: Masks) -> int:
    """Return the number of remaining weights, without biases."""
    return sum(int(np.count_nonzero(mask[:, 1:])) for mask in masks)


class _Layer(NamedTuple):
    """Values that feed a layer, values of the layer, and f′ and f″ of its activation, each (n_units, n_samples)."""

    sources: Floats
    values: Floats
    slope: Floats
    bend: Floats


def optimal_brain_damage(
    architecture: Architecture, matrices: Sequence[Floats], X: Floats, targets: Floats
) -> list[Floats]:
    """Return the saliency h w² / 2 of each weight w: the second-order increase of the error if w is deleted.

    LeCun, Denker & Solla 1990, eq. 4. E is half the squared error over all samples, h = ∂²E / ∂w² of each weight:
    Σ s² ∂²E / ∂a² for a weight from source s to a unit with the weighted sum a of inputs.

    Choice: h is exact. LeCun, Denker & Solla 1990 pass ∂²E / ∂a² back from layer to layer without the coupling of the
    units of a layer; here each unit's effect is followed forward to the outputs, which costs little with so few units.

    ``matrices`` and the saliencies are float64 (n_units, n_sources) for each layer, biases first; ``X`` and
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


def _forward(
    architecture: Architecture, matrices: Sequence[Floats], inputs: Floats
) -> Iterator[_Layer]:
    """Compute the values of each layer, (n_units, n_samples), and derivatives of its activation, softsign or linear."""
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
    architecture: Architecture,
    matrices: Sequence[Floats],
    layers: Sequence[_Layer],
    k: int,
    errors: Floats,
) -> Floats:
    """Return ∂²E / ∂a² of each unit of layer k and each sample, (n_units, n_samples).

    ``derivatives``, (2, n_units, n_values, n_samples), are the first and second derivatives, by the sum a of a unit, of
    the values that feed the next layer.
    """
    slope, bend = layers[k].slope, layers[k].bend
    if layers[k] is layers[-1]:
        # E = Σ (f(a) − t)² / 2, so ∂²E / ∂a² = f′² + (f − t) f″.
        return slope**2 + errors * bend
    # A unit changes no other value of its layer: the derivatives are diagonal matrices.
    derivatives = np.stack([slope, bend])[:, :, None] * np.eye(len(slope))[..., None]
    for matrix, layer in zip(matrices[k + 1 :], layers[k + 1 :], strict=True):
        # Chain rule for a value v = f(s): v′ = f′ s′ and v″ = f″ s′² + f′ s″.
        first, second = matrix[:, -derivatives.shape[2] :] @ derivatives
        new = np.stack([layer.slope * first, layer.bend * first**2 + layer.slope * second])
        keeps = architecture.shortcuts and layer is not layers[-1]
        derivatives = np.concatenate([derivatives, new], axis=2) if keeps else new
    # ∂²E / ∂a² = Σ over outputs v: v′² + (v − t) v″.
    first, second = derivatives
    curvature: Floats = (first**2 + errors * second).sum(axis=1)
    return curvature
