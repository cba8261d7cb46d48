"""A network that loses weights by saliency and is trained again: the estimator `PrunedMLPClassifier`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.classifiers.batch_training import Task, TrainedNet, train_nets
from pppca_bench.classifiers.early_stopping import StoppingRule
from pppca_bench.classifiers.rprop_mlp import RpropMLPClassifier
from pppca_bench.classifiers.saliency import connected_inputs, optimal_brain_damage
from pppca_bench.compiled.arrays import Flags, Floats
from pppca_bench.parameters import (
    Count,
    LayerSizes,
    NotNegative,
    NotNegativeOrInfinite,
    OpenShare,
    Positive,
    PositivePair,
)

PAIRS_TOGETHER = 2**17
"""Pairs of units, times samples, of the networks whose saliencies are computed together: as many as a cache holds."""

Masks = list[Flags]
"""Which weights are left: one (n_units, n_sources) matrix a layer; the first column, the biases, always is."""


@dataclass(frozen=True)
class PrunedNet(TrainedNet):
    """Hold the chosen network, the weights that it has left, and the path of the pruning."""

    masks: Masks
    history: dict[str, NDArray[Any]]


@dataclass
class _Path:
    """Hold one network's way from all its weights to few: what each round trained and gave."""

    task: Task
    masks: Masks
    rounds: list[TrainedNet] = field(default_factory=list)
    round_masks: list[Masks] = field(default_factory=list)

    @property
    def goes_on(self) -> bool:
        """Tell whether another round may delete weights."""
        return (
            self.rounds[-1].stop_reason != "not_finite" and n_connections(self.masks) > self.task.architecture.n_outputs
        )

    def masked_task(self) -> Task:
        """Return the task of the next round: deleted weights and their step sizes are 0, where RPROP leaves them."""
        weights = self.rounds[-1].weights if self.rounds else self.task.weights
        return replace(self.task, weights=_masked(weights, self.masks), steps=_masked(self.task.steps, self.masks))

    def enter(self, net: TrainedNet) -> None:
        """Enter what a round gave."""
        self.rounds.append(net)
        self.round_masks.append(self.masks)

    def result(self) -> PrunedNet:
        """Return the network of the least validation error, the smallest of equals."""
        errors = np.array([net.validation_curve.min() for net in self.rounds])
        chosen = len(errors) - 1 - int(np.argmin(errors[::-1]))
        epochs = np.cumsum([0] + [len(net.training_curve) for net in self.rounds])
        sizes = np.array([n_connections(masks) for masks in self.round_masks])
        return PrunedNet(
            weights=self.rounds[chosen].weights,
            best_epoch=int(epochs[chosen]) + self.rounds[chosen].best_epoch,
            training_curve=np.concatenate([net.training_curve for net in self.rounds]),
            validation_curve=np.concatenate([net.validation_curve for net in self.rounds]),
            stop_reason=self.rounds[-1].stop_reason,
            masks=self.round_masks[chosen],
            history={"n_weights": sizes, "validation_error": errors},
        )


def _masked(matrices: Sequence[Floats], masks: Masks) -> list[Floats]:
    """Return the matrices with 0 where a weight is deleted."""
    return [np.where(mask, matrix, 0.0) for matrix, mask in zip(matrices, masks, strict=True)]


class PrunedMLPClassifier(RpropMLPClassifier):
    """Classify with a network that is trained by RPROP, pruned by saliency and trained again, round after round.

    Optimal Brain Damage (LeCun, Denker & Solla 1990): train, delete the weights of least saliency, train again, repeat.
    Slide 'Comparison', column "Prunning"; training as in the Proben1 report, section 3.3.

    A deleted weight and its step size are 0, so RPROP leaves it at 0.

    Choice: the pruning goes on until no more weights are left than there are outputs, and the network of the least
    validation error in all rounds is the result, so the size is chosen on the validation data; the sources give no
    rule. A round starts from the weights of the validation minimum of the round before it, with the first step sizes.
    Biases are not pruned: they connect nothing.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(16, 8)
        Units of each hidden layer before the pruning, >= 1; () is the linear network.
    shortcuts : bool, default=False
        Whether each layer takes the inputs and all earlier layers, or only the layer before it.
    prune_fraction : float, default=0.2
        Share of the remaining weights that a round deletes, at least one; in (0, 1). Choice: LeCun et al. delete
        "some".
    retrain_epochs : int, default=100
        Most epochs of a round after the first, >= 1; early stopping may end it sooner.
    initial_step_range : (float, float), default=(0.005, 0.02)
        Each weight's first step size is uniform in this range; > 0.
    initial_weight_range : float, default=0.01
        Initial weights are uniform in plus or minus this; > 0.
    max_epochs : int, default=3000
        Most epochs of the first round, >= 1.
    strip_length : int, default=5
    generalisation_loss : float, default=5.0
    training_progress : float, default=0.1
        Early stopping of every round, as in `RpropMLPClassifier`.
    validation_fraction : float, default=1/3
        Share of the training data held out, stratified, where `fit` gets no validation data; in (0, 1).
    random_state : int, RandomState, Generator or None, default=None
        Source of the initial weights, the initial steps and the held-out share.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    n_features_ : int
        Inputs from which a path of weights leads to an output.
    n_weights_ : int
        Weights that are left, biases not counted.
    measures_ : dict of float
        ``n_weights``, for the results.
    coefs_, intercepts_ : list of float64 ndarrays
        As in `RpropMLPClassifier`; deleted weights are 0.
    n_epochs_, best_epoch_ : int
        Epochs of all rounds, and that of the result's validation minimum counted through.
    training_curve_, validation_curve_ : float64 ndarrays
        Of all rounds.
    history_ : dict of ndarrays of shape (n_rounds,)
        ``n_weights`` and ``validation_error``, the least squared error percentage of each round.
    stop_reason_ : str
        Of the last round.
    """

    def __init__(
        self,
        hidden_layer_sizes: LayerSizes = (16, 8),
        *,
        shortcuts: bool = False,
        prune_fraction: OpenShare = 0.2,
        retrain_epochs: Count = 100,
        initial_step_range: PositivePair = (0.005, 0.02),
        initial_weight_range: Positive = 0.01,
        max_epochs: Count = 3000,
        strip_length: Count = 5,
        generalisation_loss: NotNegativeOrInfinite = 5.0,
        training_progress: NotNegative = 0.1,
        validation_fraction: OpenShare = 1 / 3,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            hidden_layer_sizes,
            shortcuts=shortcuts,
            initial_step_range=initial_step_range,
            initial_weight_range=initial_weight_range,
            max_epochs=max_epochs,
            strip_length=strip_length,
            generalisation_loss=generalisation_loss,
            training_progress=training_progress,
            validation_fraction=validation_fraction,
            random_state=random_state,
        )
        self.prune_fraction = prune_fraction
        self.retrain_epochs = retrain_epochs

    def _train(self, tasks: Sequence[Task]) -> list[TrainedNet]:
        """Train and prune nets of one `Task.shape` together."""
        paths = [_Path(task, [np.ones(matrix.shape, dtype=bool) for matrix in task.weights]) for task in tasks]
        self._train_round(paths, self._stopping_rule())
        retraining = self._stopping_rule()._replace(max_epochs=int(self.retrain_epochs))
        while active := [path for path in paths if path.goes_on]:
            for path, saliencies in zip(active, _saliencies(active), strict=True):
                path.masks = pruned(path.masks, saliencies, self.prune_fraction)
            self._train_round(active, retraining)
        return [path.result() for path in paths]

    def _train_round(self, paths: Sequence[_Path], stopping_rule: StoppingRule) -> None:
        """Train the weights that are left, from where the round before ended."""
        rprop_rule = self._rprop_rule()
        nets = train_nets([path.masked_task() for path in paths], rprop_rule, stopping_rule)
        for path, net in zip(paths, nets, strict=True):
            path.enter(net)

    def _updates_per_epoch(self, n_samples: int) -> int | None:  # noqa: ARG002
        """Return None: of its connections some are pruned, so that traversals cannot be counted by epochs."""
        return None

    def _store(self, net: TrainedNet, task: Task) -> None:
        """Take over the result of the training."""
        super()._store(net, task)
        if isinstance(net, PrunedNet):
            self.history_ = net.history
            self.n_weights_ = n_connections(net.masks)
            self.measures_["n_weights"] = self.n_weights_
            self.n_features_ = int(connected_inputs(self._architecture, net.masks).sum())


def _saliencies(paths: Sequence[_Path]) -> Iterator[list[Floats]]:
    """Return the saliency of every weight, deleted ones included, of each path's last network."""
    for architecture, alike in groupby(paths, key=lambda path: path.task.architecture):
        n_pairs = len(paths[0].task.X) * sum(architecture.layer_sizes) ** 2
        while some := list(islice(alike, max(PAIRS_TOGETHER // n_pairs, 1))):
            matrices = [np.stack(layer) for layer in zip(*(path.rounds[-1].weights for path in some), strict=True)]
            X, targets = np.stack([path.task.X for path in some]), np.stack([path.task.targets for path in some])
            yield from map(list, zip(*optimal_brain_damage(architecture, matrices, X, targets), strict=True))


def pruned(masks: Masks, saliencies: Sequence[Floats], fraction: float) -> Masks:
    """Return the masks without the share of the remaining weights that has the least saliency, at least one weight.

    Parameters
    ----------
    masks : list of bool ndarrays of shape (n_units, n_sources)
        Which weights are left, the biases' column first; biases are never deleted.
    saliencies : sequence of float64 ndarrays of the same shapes
    fraction : float
        In (0, 1).
    """
    left = np.concatenate([mask[:, 1:].ravel() for mask in masks])
    values = np.concatenate([matrix[:, 1:].ravel() for matrix in saliencies])
    candidates = np.flatnonzero(left)
    n_deleted = max(round(fraction * len(candidates)), 1)
    left[candidates[np.argsort(values[candidates], kind="stable")[:n_deleted]]] = False
    result, start = [mask.copy() for mask in masks], 0
    for mask in result:
        connections = mask[:, 1:]
        connections[...] = left[start : start + connections.size].reshape(connections.shape)
        start += connections.size
    return result


def n_connections(masks: Masks) -> int:
    """Return the number of weights that are left, biases not counted."""
    return sum(int(np.count_nonzero(mask[:, 1:])) for mask in masks)
