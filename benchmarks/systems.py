"""Systems that train or evolve many networks, against NumPy and scikit-learn.

Early stopping is off, so that both sides make the same epochs; a network that ours trains beside seven others, the
peer trains alone. The rows "at most" say what ratio would remain if ours took no time but for the operations that its
training epochs cannot do without, at the rate that registers allow.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE, SequentialFeatureSelector
from sklearn.model_selection import PredefinedSplit
from sklearn.neural_network import MLPClassifier as SklearnMLP

from benchmarks import numpy_systems as peers
from benchmarks.measuring import Contestant, Row, compare
from benchmarks.operations import Machine, measure_machine
from pppca_bench.classifiers import RpropMLPClassifier, fit_together
from pppca_bench.classifiers.genetic_mlp import GAMLPClassifier
from pppca_bench.classifiers.network import Architecture
from pppca_bench.classifiers.pruned_mlp import PrunedMLPClassifier
from pppca_bench.parameters import make_generator
from pppca_bench.problems import load_problem
from pppca_bench.reducers.wrapper_selection import BackwardSelector, ForwardSelector, NetworkRFE

PROBLEMS = {"cancer1": ((4, 2), 200), "horse1": ((16, 8), 30)}
"""The hidden layers of the report's pivot networks; the epochs that rate a candidate: about those that early stopping
makes on horse1, a third of them on cancer1."""

N_NETS = 30
N_STEPS = 2
"""Features that the sequential searches add or remove."""

HIDDEN = (16,)
"""The hidden layer of the networks that rate the candidates of a selection, the selectors' default."""

FIXED: dict[str, Any] = {"generalisation_loss": math.inf, "training_progress": 0.0}
NUMPY, SKLEARN = "NumPy, one net at a time", "scikit-learn, Adam on the full batch"
Timed = tuple[Callable[[], object], float]
"""A call and its units of work."""


def selected_network(n_epochs: int) -> RpropMLPClassifier:
    """Return the network that rates the candidates of a selection: the selectors' default."""
    return RpropMLPClassifier(HIDDEN, max_epochs=n_epochs, random_state=0, **FIXED)


def pruned_network(hidden: tuple[int, ...], seed: int) -> PrunedMLPClassifier:
    """Return a network to prune, with short rounds."""
    return PrunedMLPClassifier(hidden, max_epochs=100, retrain_epochs=50, random_state=seed, **FIXED)


def evolved_network(hidden: tuple[int, ...], n_generations: int = 100) -> GAMLPClassifier:
    """Return a network to evolve for all generations."""
    return GAMLPClassifier(hidden, max_generations=n_generations, patience=n_generations, random_state=0)


@dataclass(frozen=True)
class Case:
    """A problem's data, the hidden layers of its systems, and the epochs that rate a candidate."""

    problem: str
    hidden: tuple[int, ...]
    n_epochs: int
    data: peers.Data

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.data[0].shape[1])


def rows(data: Path) -> Iterator[Row]:
    """Measure all systems on each problem."""
    machine = measure_machine()
    for problem, (hidden, n_epochs) in PROBLEMS.items():
        loaded = load_problem(problem, data)
        case = Case(
            problem, hidden, n_epochs, (loaded.X_train, loaded.y_train, loaded.X_validation, loaded.y_validation)
        )
        yield from _evolution(case)
        yield from _pruning(case, machine)
        yield from _sequential(case, machine)
        yield from _elimination(case, machine)


def _compare(what: str, unit: str, ours: Timed, others: Mapping[str, Timed]) -> Iterator[Row]:
    timed = {name: (Contestant(*other), None) for name, other in others.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield from compare(what, unit, Contestant(*ours), timed, budget_s=1.0)


def _evolution(case: Case) -> Iterator[Row]:
    """Measure the genetic algorithm, whose networks are evaluated and not trained: no ratio is asked for."""
    network = evolved_network(case.hidden)
    n = network.max_generations
    ours = partial(network.fit, *case.data), n
    ways = {NUMPY: peers.one_by_one, "NumPy, the population stacked": peers.stacked}
    others = {name: (partial(peers.evolve, network, case.data, way), n) for name, way in ways.items()}
    yield from _compare(f"GA-evolved net, {_layers(case)}", "generation", ours, others)


def _at_most(rows: Sequence[Row], epoch_us: float, n_epochs: float = 1.0) -> Iterator[Row]:
    """Return the rows, and for each peer the ratio that would remain at the least time of our epochs."""
    yield from rows
    least_us = n_epochs * epoch_us
    for row in rows:
        if row.peer_us is not None:
            what, ratio = f"{row.what}, at most", row.peer_us / least_us
            yield Row(what, row.peer, row.unit, None, ratio, least_us, row.peer_us)


def _least_us(case: Case, machine: Machine, hidden: tuple[int, ...], sizes: Sequence[int], n_nets: int) -> float:
    """Return the mean of the least times of an epoch over networks with so many inputs, in µs."""
    X, y = case.data[:2]
    n_classes = len(np.unique(y))
    nets = (Architecture(size, hidden, n_classes, shortcuts=False, output_activation="linear") for size in sizes)
    return fmean(machine.epoch_us(net, len(X), n_nets) for net in nets)


def _pruning(case: Case, machine: Machine) -> Iterator[Row]:
    """Measure networks that lose weights in rounds: those deleted are zeros, which take the time of others."""
    networks = [pruned_network(case.hidden, seed) for seed in range(N_NETS)]
    ours = partial(fit_together, networks, [case.data] * N_NETS), N_NETS
    others = {NUMPY: (partial(peers.prune, networks[0], case.data), 1)}
    rows = list(_compare(f"Pruned net, {_layers(case)}", "net", ours, others))
    epoch_us = _least_us(case, machine, case.hidden, [case.n_features], N_NETS)
    yield from _at_most(rows, epoch_us, fmean(network.n_epochs_ for network in networks))


def _sequential(case: Case, machine: Machine) -> Iterator[Row]:
    """Measure steps forward and backward; scikit-learn's backward search does not rate all features first."""
    network, m = selected_network(case.n_epochs), case.n_features
    forward, backward = m + m - 1, 1 + m + m - 1
    left = m - N_STEPS
    rows = _compare(
        f"Forward selection, {case.problem}, {N_STEPS} steps",
        "net and epoch",
        (partial(ForwardSelector(N_STEPS, estimator=network).fit, *case.data), forward * network.max_epochs),
        {
            NUMPY: (partial(peers.select_forward, network, case.data, N_STEPS), forward * network.max_epochs),
            SKLEARN: (_sklearn_search(case, N_STEPS, "forward"), forward * network.max_epochs),
        },
    )
    yield from _at_most(list(rows), _least_us(case, machine, HIDDEN, [1] * m + [2] * (m - 1), m))
    rows = _compare(
        f"Backward selection, {case.problem}, {N_STEPS} steps",
        "net and epoch",
        (partial(BackwardSelector(left, estimator=network).fit, *case.data), backward * network.max_epochs),
        {
            NUMPY: (partial(peers.select_backward, network, case.data, left), backward * network.max_epochs),
            SKLEARN: (_sklearn_search(case, left, "backward"), forward * network.max_epochs),
        },
    )
    sizes = [m] + [m - 1] * m + [m - 2] * (m - 1)
    yield from _at_most(list(rows), _least_us(case, machine, HIDDEN, sizes, m))


def _elimination(case: Case, machine: Machine) -> Iterator[Row]:
    """Measure the elimination down to one feature; scikit-learn's trains one network at a size, and one in the end."""
    network = selected_network(case.n_epochs)
    ours = NetworkRFE(1, estimator=network, random_state=0)
    trained = case.n_features * ours.n_networks * network.max_epochs
    seeds = elimination_seeds(ours)
    sklearn = RFE(_sklearn_network(case), n_features_to_select=1, importance_getter=_saliency)
    rows = _compare(
        f"RFE by networks, {case.problem}",
        "net and epoch",
        (partial(ours.fit, *case.data), trained),
        {
            NUMPY: (partial(peers.eliminate, network, case.data, seeds), trained),
            SKLEARN: (partial(sklearn.fit, *case.data[:2]), case.n_features * network.max_epochs),
        },
    )
    sizes = range(1, case.n_features + 1)
    yield from _at_most(list(rows), _least_us(case, machine, HIDDEN, sizes, ours.n_networks))


def elimination_seeds(selector: NetworkRFE) -> list[int]:
    """Return the seeds of the selector's networks: those that follow the seed of its estimator."""
    rng = make_generator(selector.random_state)
    rng.integers(2**31)
    return [int(seed) for seed in rng.integers(2**31, size=selector.n_networks)]


def _sklearn_network(case: Case) -> SklearnMLP:
    size, n_epochs = len(case.data[0]), case.n_epochs
    fixed = {"n_iter_no_change": n_epochs + 1, "tol": 0.0, "random_state": 0}
    return SklearnMLP((16,), activation="tanh", batch_size=size, shuffle=False, max_iter=n_epochs, **fixed)


def _sklearn_search(case: Case, n_features: int, direction: str) -> Callable[[], object]:
    X, y, X_val, y_val = case.data
    validated = PredefinedSplit([-1] * len(X) + [0] * len(X_val))
    network = _sklearn_network(case)
    search = SequentialFeatureSelector(network, n_features_to_select=n_features, direction=direction, cv=validated)
    return partial(search.fit, np.vstack([X, X_val]), np.concatenate([y, y_val]))


def _saliency(network: Any) -> Any:
    return np.abs(network.coefs_[0]).sum(axis=1)


def _layers(case: Case) -> str:
    return f"{case.problem}, {'+'.join(map(str, case.hidden))}"
