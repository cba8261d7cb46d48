"""Genetic algorithms for networks: evolution of weights, or selection of inputs and hidden nodes."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np

from pppca_bench.base.genetic import GeneticAlgorithm, flip_bits
from pppca_bench.base.parameters import Count, LayerSizes, ParameterError, PopulationSize, Positive
from pppca_bench.classifiers.gradient_mlp import RpropMLPClassifier, RpropTraining, train_by_rprop
from pppca_bench.classifiers.mlp import MLPClassifier
from pppca_bench.classifiers.network import (
    Activation,
    connected_inputs,
    pack,
    uniform_per_weight,
    unpack,
    weight_masks,
)
from pppca_bench.classifiers.training import TrainedNet, TrainingTask, population_errors
from pppca_bench.classifiers.training_data import Split, hold_out
from pppca_bench.compiled.arrays import Flags, Floats


class _GeneticClassifier(GeneticAlgorithm, MLPClassifier):
    """Base of networks that a genetic algorithm evolves; the fitness of a string is minus its error."""

    def check_agreement(self) -> None:
        """Raise ParameterError if selection needs positive fitness, or islands are too small."""
        super().check_agreement()
        needs_ratios = self.selection == "roulette" or self.fitness_sharing
        if needs_ratios and self.selection_strength is None:
            expected = "a number > 0 where selection is roulette or fitness is shared"
            raise ParameterError("selection_strength", expected, None)

    def _train(self, tasks: Sequence[TrainingTask]) -> list[TrainedNet]:
        """Evolve each network separately; the networks of a generation share the lanes."""
        return [self._evolve(task) for task in tasks]

    @abstractmethod
    def _evolve(self, task: TrainingTask) -> TrainedNet:
        """Evolve a population until the least error has not fallen for `patience` generations."""


@dataclass(eq=False, repr=False)
class GAMLPClassifier(_GeneticClassifier):
    """Classify with a multi-layer perceptron whose weights a genetic algorithm evolves.

    The textbooks' basic genetic algorithm on a string of real numbers, the weights of a network: a random population;
    parents by tournament; uniform crossover; mutation by additive noise, with the probability 1 / length of the
    string; the fittest survives. Fitness is the squared error on the training data. Slide 'Comparison', column "GA".
    The network is the Proben1 report's: hidden activation x / (1 + |x|), targets 0 and 1; the class is the largest
    output.

    Choice: among the fittest networks of all generations, the result has the least validation error. The evolution ends
    when this error has not fallen for `patience` generations; the report's rule would end it at the first rise. The
    textbooks leave the numbers open: of about twenty settings, the defaults have the least mean logarithm of the
    validation error over seven Proben1 problems (T2 without thyroid1, which takes too long).

    Parameters
    ----------
    hidden_layer_sizes, shortcuts, output_activation
        Network, as in `RpropMLPClassifier`.
    population_size, selection, tournament_size, selection_strength, truncation_share
    crossover_probability, crossover_points, n_elite, family_tournament
    n_islands, migration_interval, n_migrants, fitness_sharing
        As in `GeneticAlgorithm`, with the same defaults. Fitness is minus the squared error percentage, so that
        selection by ratios needs a selection_strength.
    mutation_scale : float, default=0.1
        Standard deviation of the Gaussian noise of a mutation; > 0.
    start : {"random", "trained"}, default="random"
        Whether the first generation has random weights, or the weights after RPROP training from random weights
        (Proben1 report, section 3.3).
    initial_weight_range : float, default=0.1
        Half-width of the uniform distribution of random weights around 0; > 0.
    max_generations : int, default=2000
        >= 1.
    strip_length : int, default=5
        Generations between two validations; >= 1.
    patience : int, default=100
        Number of generations without a new least validation error after which the evolution ends; >= 1.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out share, the first population and all draws of the evolution.

    Attributes
    ----------
    coefs_, intercepts_ : list of float64 ndarrays
        As in `RpropMLPClassifier`.
    n_epochs_ : int
        Number of evaluated generations.
    best_epoch_ : int
        Generation of the result.
    training_curve_, validation_curve_ : float64 ndarrays
        Squared error percentage of the fittest network in each generation, and on the validation data at each strip.
    history_ : dict of float64 ndarrays of shape (n_epochs_,)
        ``best_error`` and ``mean_error`` of each generation, squared error percentages on the training data.
    stop_reason_ : {"patience", "max_generations"}
    """

    hidden_layer_sizes: LayerSizes = (16, 8)
    _: KW_ONLY
    shortcuts: bool = False
    output_activation: Activation = "linear"
    mutation_scale: Positive = 0.1
    start: Literal["random", "trained"] = "random"
    initial_weight_range: Positive = 0.1
    max_generations: Count = 2000
    strip_length: Count = 5
    patience: Count = 100
    random_state: Any = None

    def _initial_state(self, rng: np.random.Generator) -> tuple[list[Floats], list[Floats]]:  # noqa: ARG002
        """Draw nothing: the evolution draws the first generation."""
        return [], []

    def _evolve(self, task: TrainingTask) -> TrainedNet:
        architecture = task.architecture
        training_errors = population_errors(architecture, task.X, task.targets)
        validation_errors = population_errors(architecture, task.X_val, task.targets_val)
        curve, validation = list[Floats](), list[float]()
        least_error, best_generation, best_weights = np.inf, 0, list[Floats]()
        generations = self.generations(
            self._first_generation(task),
            lambda strings: -training_errors(strings),
            self._mutate,
            task.rng,
        )
        for generation, (population, fitness) in enumerate(generations, start=1):
            curve.append(-fitness)
            fittest = population[fitness.argmax()]
            is_last = generation == self.max_generations
            if is_last or generation % self.strip_length == 0:
                validation.append(float(validation_errors(fittest[None])[0]))
                if validation[-1] < least_error:
                    least_error, best_generation = validation[-1], generation
                    best_weights = unpack(fittest, architecture, architecture)
                if is_last or generation - best_generation >= self.patience:
                    break
        reason = "max_generations" if is_last else "patience"
        history = _history(curve)
        return TrainedNet(
            best_weights,
            best_generation,
            history["best_error"],
            np.array(validation),
            reason if best_weights else "not_finite",
            history=history,
        )

    def _first_generation(self, task: TrainingTask) -> Floats:
        """Return random weights, trained by RPROP if `start` says so, float64 (population_size, n_weights)."""
        limit, architecture = self.initial_weight_range, task.architecture
        population = task.rng.uniform(
            -limit, limit, size=(self.population_size, architecture.n_weights)
        )
        if self.start == "random":
            return population
        trainer = RpropMLPClassifier()
        tasks = [
            replace(
                task,
                weights=unpack(weights, architecture, architecture),
                steps=uniform_per_weight(architecture, *trainer.initial_step_range, task.rng),
            )
            for weights in population
        ]
        nets = train_by_rprop(tasks, trainer)
        return np.array([pack(net.weights, architecture, architecture) for net in nets])

    def _mutate(self, children: Floats, rng: np.random.Generator) -> Floats:
        return mutate(children, 1.0 / children.shape[1], self.mutation_scale, rng)


@dataclass(eq=False, repr=False, kw_only=True)
class StructureGAClassifier(_GeneticClassifier, RpropTraining):
    """Classify with a network trained by RPROP, whose inputs and hidden nodes a genetic algorithm selects.

    A second reading of the slides' column "GA", besides `GAMLPClassifier`: the string has a bit for each input and each
    hidden node of the architecture, as in the textbooks; parents by tournament, uniform crossover, bits flipped with
    the probability 1 / length of the string, elitism. An omitted node has weights and step sizes of 0, which RPROP does
    not change. The networks are trained as in the Proben1 report, section 3.3.

    Choice: the network of a string is trained on two thirds of the training data, and its fitness is the least error on
    the other third, since the training error is least with all inputs and nodes. The network of the fittest string is
    then trained on all training data; validation data only stop this training, as for all networks. All networks of an
    evolution start from the same weights and step sizes, so that a string always has the same fitness.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(16, 8)
        Largest number of units in each hidden layer.
    population_size, tournament_size, max_generations : int, default=12, 3, 8
    selection, selection_strength, truncation_share
    crossover_probability, crossover_points, n_elite, family_tournament
    n_islands, migration_interval, n_migrants, fitness_sharing
        As in `GAMLPClassifier`, for strings.
    patience : int, default=4
        Number of generations without a smaller error after which the evolution ends; >= 1.
    max_epochs : int, default=500
        Largest number of epochs of a training; >= 1. Choice: the largest problem then takes a minute.
    shortcuts, output_activation, initial_step_range, initial_weight_range, strip_length, generalisation_loss
        Training and early stopping as in `RpropMLPClassifier`.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out shares, the initial state and all draws of the evolution.

    Attributes
    ----------
    n_features_ : int
        Number of inputs from which a path leads to an output.
    kept_ : bool ndarray of shape (n_features_in_ + number of hidden nodes,)
        Fittest string: inputs, then hidden nodes layer by layer.
    coefs_, intercepts_, n_epochs_, best_epoch_, training_curve_, validation_curve_, stop_reason_
        Last training, as in `RpropMLPClassifier`; weights of omitted nodes are 0.
    history_ : dict of float64 ndarrays of shape (n_generations_,)
        ``best_error`` and ``mean_error`` on the held-out third, squared error percentages.
    """

    output_activation: Activation = "linear"
    population_size: PopulationSize = 12
    tournament_size: Count = 3
    max_generations: Count = 8
    patience: Count = 4
    max_epochs: Count = 500

    def check_agreement(self) -> None:
        """Raise ParameterError as the genetic algorithm and the training do."""
        super().check_agreement()
        RpropTraining.check_agreement(self)

    def _make_task(self, split: Split, rng: np.random.Generator) -> TrainingTask:
        inner = hold_out(split, rng)
        task = super()._make_task(split, rng)
        targets, targets_val = self._targets(inner.y), self._targets(inner.y_val)
        selection = replace(
            task, X=inner.X, targets=targets, X_val=inner.X_val, targets_val=targets_val
        )
        return replace(task, selection=selection)

    def _evolve(self, task: TrainingTask) -> TrainedNet:
        """Evolve strings, and train the network of the fittest string."""
        architecture = task.architecture
        length = architecture.n_inputs + sum(architecture.hidden_layer_sizes)
        first = task.rng.random((self.population_size, length)) < 0.5
        first[0] = True
        known: dict[bytes, float] = {}
        curve = list[Floats]()

        def evaluate(strings: Flags) -> Floats:
            """Return minus the held-out error of each string, after training a network for each new string."""
            new = {key: string for string in strings if (key := string.tobytes()) not in known}
            if new:
                masks = [weight_masks(architecture, string) for string in new.values()]
                nets = train_by_rprop([task.selection.masked(mask) for mask in masks], self)
                known.update(zip(new, map(least_error, nets), strict=True))
            return -np.array([known[string.tobytes()] for string in strings])

        for population, fitness in self.generations(first, evaluate, flip_bits, task.rng):
            curve.append(-fitness)
            best = _history(curve)["best_error"]
            has_stalled = len(best) - 1 - int(best.argmin()) >= self.patience
            if has_stalled or len(best) == self.max_generations:
                kept = population[fitness.argmax()].copy()
                break
        (net,) = train_by_rprop([task.masked(weight_masks(architecture, kept))], self)
        return replace(net, kept=kept, history=_history(curve))

    def _set_fitted(self, net: TrainedNet, task: TrainingTask) -> None:
        super()._set_fitted(net, task)
        self.kept_ = net.kept
        self.n_features_ = int(
            connected_inputs(task.architecture, weight_masks(task.architecture, net.kept)).sum()
        )
        self.measures_["n_hidden_nodes"] = int(net.kept[task.architecture.n_inputs :].sum())


def _history(errors_by_generation: Sequence[Floats]) -> Mapping[str, Floats]:
    """Return the least and the mean error of the population in each generation."""
    return {
        "best_error": np.array([errors.min() for errors in errors_by_generation]),
        "mean_error": np.array([errors.mean() for errors in errors_by_generation]),
    }


def least_error(net: TrainedNet) -> float:
    """Return the least validation error of a training, or infinity if it diverged."""
    return np.inf if net.stop_reason == "not_finite" else float(net.validation_curve.min())


def mutate(children: Floats, probability: float, scale: float, rng: np.random.Generator) -> Floats:
    """Add Gaussian noise of standard deviation ``scale`` to each weight with ``probability``, in place."""
    # Draw the number of mutations, then their indices: a draw for each weight would cost more than the evaluation of
    # the network.
    n_mutations = rng.binomial(children.size, probability)
    mutated = rng.choice(children.size, size=n_mutations, replace=False, shuffle=False)
    children.ravel()[mutated] += rng.normal(scale=scale, size=n_mutations)
    return children
