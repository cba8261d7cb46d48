"""Whole plan without this package: NumPy methods and PyTorch nets, run after run.

That takes hours, so a stated sample is timed and scaled. Runs that agree in problem, method and classifier form a
stratum; of each, runs drawn at random are timed. The method is carried out in full; of the net a few epochs are
timed and multiplied by the epochs that the plan's nets trained, which are known from our own run of the same plan.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.numpy_dgha import learn
from benchmarks.numpy_ne_ppca import SETTINGS, evolve
from benchmarks.torch_backprop import train as train_by_backprop
from benchmarks.torch_rprop import train as train_by_rprop
from pppca_bench.classifiers.network import Architecture, uniform_per_weight
from pppca_bench.methods.protocol import PIVOT
from pppca_bench.problems import Problem, load_problem
from pppca_bench.references.proben1_tables import pivot_of
from pppca_bench.runs import RunSpec

Floats = NDArray[np.float64]
Result = TypeVar("Result")
Stratum = tuple[str, str, tuple[object, ...]]

LEAST_SECONDS = 1.0
"""Runs of a stratum are timed until this time is used up, at least one."""

NET_EPOCHS = {"rprop": 40, "slides_mlp": 2}
"""Epochs of a net that are timed."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cost of a stratum: runs in the plan, timed runs, seconds of the methods and of the nets."""

    stratum: Stratum
    n_runs: int
    n_timed: int
    method_s: float
    net_s: float


def reduce(spec: RunSpec, X: Floats) -> Floats:
    """Carry out a run's method; return its rows, float64 (n_components, n_features)."""
    parameters: dict[str, Any] = {"tau": None, "data_fraction": None} | dict(spec.cell.parameters)
    if spec.cell.method == "all_features":
        return np.eye(X.shape[1])
    if spec.cell.method == "ne_ppca":
        return evolve(X, seed=spec.seed, **{name: parameters[name] for name in ("tau", *SETTINGS)})[0]
    return learn(X, seed=spec.seed, **parameters)


def train_net(spec: RunSpec, X: Floats, targets: Floats) -> int:
    """Train a run's net for some epochs; return how many."""
    classifier: dict[str, Any] = dict(spec.cell.classifier)
    n_epochs = NET_EPOCHS[classifier["rule"]]
    pivot = pivot_of(spec.cell.problem)
    hidden = pivot.hidden if pivot and classifier["hidden"] == PIVOT else classifier["hidden"]
    if classifier["rule"] == "slides_mlp":
        rates = {name: classifier[name] for name in ("learning_rate", "decay_epochs")}
        train_by_backprop(X, targets, hidden=hidden, n_epochs=n_epochs, **rates)
        return n_epochs
    shortcuts = bool(classifier["shortcuts"])
    architecture = Architecture(X.shape[1], hidden, targets.shape[1], shortcuts, "linear")
    weights = uniform_per_weight(architecture, -0.01, 0.01, np.random.default_rng(spec.seed))
    train_by_rprop(weights, X, targets, shortcuts=shortcuts, first_step=0.0125, n_epochs=n_epochs)
    return n_epochs


def estimate(specs: Sequence[RunSpec], n_epochs: Mapping[str, int], data: Path) -> list[Estimate]:
    """Time a sample of every stratum and scale it to the plan.

    Parameters
    ----------
    specs : sequence of RunSpec
        The plan.
    n_epochs : mapping of str to int
        Epochs that each run's net trains, by the run's key.
    data : Path
        Folder of the Proben1 files.
    """
    strata: dict[Stratum, list[RunSpec]] = {}
    for spec in specs:
        strata.setdefault((spec.cell.problem, spec.cell.method, spec.cell.classifier), []).append(spec)
    rng = np.random.default_rng(0)
    problems = {name: load_problem(name, data) for name in dict.fromkeys(spec.cell.problem for spec in specs)}
    return [
        _estimate(stratum, runs, sum(n_epochs[run.key] for run in runs), problems[stratum[0]], rng)
        for stratum, runs in strata.items()
    ]


def _estimate(
    stratum: Stratum, runs: Sequence[RunSpec], total_epochs: int, problem: Problem, rng: np.random.Generator
) -> Estimate:
    timed = [_time(runs[index], problem) for index in _until_used_up(rng.permutation(len(runs)))]
    method_s, epoch_s = np.mean(timed, axis=0)
    return Estimate(stratum, len(runs), len(timed), len(runs) * method_s, total_epochs * epoch_s)


def _until_used_up(items: Iterable[int]) -> Iterable[int]:
    """Yield items until the time for a stratum is used up."""
    end = time.perf_counter() + LEAST_SECONDS
    for item in items:
        yield item
        if time.perf_counter() > end:
            return


def _time(spec: RunSpec, problem: Problem) -> tuple[float, float]:
    """Return the seconds of a run's method and of an epoch of its net."""
    X = problem.X_train
    targets = (problem.y_train[:, None] == np.arange(problem.n_outputs)).astype(np.float64)
    method_s, rows = _timed(lambda: reduce(spec, X))
    inputs = np.ascontiguousarray((X - X.mean(axis=0)) @ rows.T)
    net_s, n_epochs = _timed(lambda: train_net(spec, inputs, targets))
    return method_s, net_s / n_epochs


def _timed(call: Callable[[], Result]) -> tuple[float, Result]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result
