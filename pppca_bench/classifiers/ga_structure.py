"""A network whose inputs and hidden nodes a genetic algorithm picks: the estimator `StructureGAClassifier`."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le

from pppca_bench.classifiers.ga_mlp import cross, select
from pppca_bench.classifiers.gradient_mlp import RpropTraining
from pppca_bench.classifiers.mlp import MLPClassifier
from pppca_bench.classifiers.network import Architecture, connected_inputs
from pppca_bench.classifiers.training import Task, TrainedNet
from pppca_bench.classifiers.training_data import Split, hold_out
from pppca_bench.compiled.arrays import Flags, Floats
from pppca_bench.parameters import Count, LayerSizes, NotNegativeOrInfinite, Positive, PositivePair, Probability


@dataclass(eq=False, repr=False)
class StructureGAClassifier(RpropTraining, MLPClassifier):
    """Classify with a network whose inputs and hidden nodes a genetic algorithm picks and that RPROP trains.

    Another reading of the slides' column "GA" than `GAMLPClassifier`: the string has a bit for each input and each
    hidden node of the architecture, as the textbooks' strings are of 0 and 1; parents by tournament, uniform crossover,
    bits flipped with the probability 1 / length of the string, elitism. A node that is left out has weights and step
    sizes of 0, where RPROP leaves them. Training is the Proben1 report's, section 3.3.

    Choice: a string's network is trained on two thirds of the training data, and its fitness is the least error on the
    other third, since the training error is least with all inputs and nodes. The fittest string's network is then
    trained on all training data, and the validation data only stop that training, as for every other network. All
    networks of an evolution start from the same weights and step sizes, so that the fitness of a string is unique.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(16, 8)
        Most units of each hidden layer, >= 1.
    shortcuts : bool, default=False
        Whether each layer takes the inputs and all earlier layers, or only the layer before it.
    output_activation : {"linear", "softsign"}, default="linear"
    population_size : int, default=12
        Strings of a generation, >= 2.
    tournament_size : int, default=3
        Strings drawn, with replacement, to choose each parent, >= 1.
    crossover_probability : float, default=0.9
        Probability that a child has two parents instead of being a copy of the first; in [0, 1].
    max_generations : int, default=8
        >= 1.
    patience : int, default=4
        Generations without a smaller error that end the evolution; >= 1.
    initial_step_range : (float, float), default=(0.005, 0.02)
    initial_weight_range : float, default=0.01
    max_epochs : int, default=500
        Most epochs of a training; >= 1. Choice: strings and epochs few enough for a minute on the largest problem.
    strip_length : int, default=5
    generalisation_loss : float, default=5.0
        Training and early stopping as in `RpropMLPClassifier`.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out shares, the initial state and all draws of the evolution.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_, n_features_ : int
        Inputs, and those from which a path leads to an output.
    kept_ : bool ndarray of shape (n_features_in_ + number of hidden nodes,)
        The fittest string: inputs first, then hidden nodes layer by layer.
    coefs_, intercepts_ : list of float64 ndarrays
        As in `RpropMLPClassifier`; 0 where a node is left out.
    n_epochs_, best_epoch_, training_curve_, validation_curve_, stop_reason_
        Of the result's training.
    history_ : dict of float64 ndarrays of shape (n_generations_,)
        ``best_error`` and ``mean_error`` on the held-out third, squared error percentages.
    """

    hidden_layer_sizes: LayerSizes = (16, 8)
    _: KW_ONLY
    shortcuts: bool = False
    output_activation: Literal["linear", "softsign"] = "linear"
    population_size: Annotated[int, Ge(2), Le(100_000)] = 12
    tournament_size: Count = 3
    crossover_probability: Probability = 0.9
    max_generations: Count = 8
    patience: Count = 4
    initial_step_range: PositivePair = (0.005, 0.02)
    initial_weight_range: Positive = 0.01
    max_epochs: Count = 500
    strip_length: Count = 5
    generalisation_loss: NotNegativeOrInfinite = 5.0
    random_state: Any = None

    def _started(self, split: Split, rng: np.random.Generator) -> Task:
        inner = hold_out(split, rng)
        whole = super()._started(split, rng)
        targets, targets_val = self._targets(inner.y), self._targets(inner.y_val)
        selection = replace(whole, X=inner.X, targets=targets, X_val=inner.X_val, targets_val=targets_val)
        return replace(whole, selection=selection)

    def _train(self, tasks: Sequence[Task]) -> list[TrainedNet]:
        """Evolve one network after the other; the lanes are for the networks of a generation."""
        return [self._evolve(task) for task in tasks]

    def _evolve(self, task: Task) -> TrainedNet:
        """Evolve strings until the least error has not fallen for `patience` generations; train the fittest."""
        architecture = task.architecture
        length = architecture.n_inputs + sum(architecture.hidden_layer_sizes)
        population = task.rng.random((self.population_size, length)) < 0.5
        population[0] = True
        known: dict[bytes, float] = {}
        best: list[float] = []
        mean: list[float] = []
        while True:
            errors = self._errors(population, task.selection, known)
            best.append(float(errors.min()))
            mean.append(float(errors.mean()))
            has_stalled = len(best) - 1 - int(np.argmin(best)) >= self.patience
            if has_stalled or len(best) == self.max_generations:
                break
            population = self._breed(population, errors, task.rng)
        kept = population[errors.argmin()].copy()
        (net,) = super()._train([task.masked(masks_of(architecture, kept))])
        return replace(net, kept=kept, history={"best_error": np.array(best), "mean_error": np.array(mean)})

    def _errors(self, population: Flags, task: Task, known: dict[bytes, float]) -> Floats:
        """Train the networks of strings not yet in ``known`` side by side; return every string's error."""
        new = {string.tobytes(): string for string in population if string.tobytes() not in known}
        if new:
            nets = super()._train([task.masked(masks_of(task.architecture, string)) for string in new.values()])
            known.update(zip(new, map(least_error, nets), strict=True))
        return np.array([known[string.tobytes()] for string in population])

    def _breed(self, population: Flags, errors: Floats, rng: np.random.Generator) -> Flags:
        """Return the next generation, the fittest string first."""
        n_children = len(population) - 1
        first, second = (population[select(errors, n_children, self.tournament_size, rng)] for _ in range(2))
        children = cross(first, second, "uniform", self.crossover_probability, rng)
        is_flipped = rng.random(children.shape) < 1.0 / population.shape[1]
        return np.concatenate([population[[errors.argmin()]], children ^ is_flipped])

    def _store(self, net: TrainedNet, task: Task) -> None:
        super()._store(net, task)
        self.kept_ = net.kept
        self.n_features_ = int(connected_inputs(task.architecture, masks_of(task.architecture, net.kept)).sum())
        self.measures_["n_hidden_nodes"] = int(net.kept[task.architecture.n_inputs :].sum())


def least_error(net: TrainedNet) -> float:
    """Return the least validation error of a training, infinite where it diverged."""
    return np.inf if net.stop_reason == "not_finite" else float(net.validation_curve.min())


def masks_of(architecture: Architecture, kept: Flags) -> list[Flags]:
    """Return which weights a network has without some of its inputs and hidden nodes.

    Parameters
    ----------
    architecture : Architecture
        With all inputs and nodes.
    kept : bool ndarray of shape (n_inputs + number of hidden nodes,)

    Returns
    -------
    list of bool ndarrays of shape (n_units, n_sources)
        A matrix for each layer, the biases' column first.
    """
    sizes = (architecture.n_inputs, *architecture.hidden_layer_sizes)
    layers = np.split(kept, np.cumsum(sizes)[:-1])
    units = [*layers[1:], np.ones(architecture.n_outputs, dtype=bool)]
    masks = []
    for number, unit in enumerate(units):
        sources = layers[: number + 1] if architecture.shortcuts else [layers[number]]
        masks.append(np.outer(unit, np.concatenate([[True], *sources])))
    return masks
