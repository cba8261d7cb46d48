"""A cell's runs to their results: reduce the features, train the downstream networks together, measure errors."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pppca_bench.classifier import BackpropMLPClassifier, RpropMLPClassifier, fit_together
from pppca_bench.engines import DGHA, GHA, NEpPCA
from pppca_bench.problems import Problem
from pppca_bench.records import RunResult, RunSpec, failed
from pppca_bench.timing import measure_speedup

FloatArray = NDArray[np.float64]

HISTORY_NODES = 10
"""Nodes whose variances a stored history keeps: the slides' figures draw at most nine (F3, cancer1)."""


class Reducer(Protocol):
    """What the experiment asks of a method: scikit-learn's transformer interface and a learning history."""

    history_: Mapping[str, NDArray[Any]]

    def fit(self, X: FloatArray) -> Any:
        """Learn from the training inputs."""

    def transform(self, X: FloatArray) -> FloatArray:
        """Project inputs on the learned components."""


class AllFeatures:
    """Hand on every feature as it is, for the classifier without any reduction."""

    history_: Mapping[str, NDArray[Any]] = {}

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: FloatArray) -> AllFeatures:  # noqa: ARG002
        """Learn nothing."""
        return self

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the inputs."""
        return X


METHODS: dict[str, Callable[..., Reducer]] = {
    "gha": GHA,
    "dgha": DGHA,
    "ne_ppca": NEpPCA,
    "all_features": AllFeatures,
}
"""Method names of the configs to estimators; a method's parameters are its estimator's."""

Network = RpropMLPClassifier | BackpropMLPClassifier
CLASSIFIERS: dict[str, Callable[..., Network]] = {"rprop": RpropMLPClassifier, "backprop": BackpropMLPClassifier}
"""Learning rules of the configs to classifiers."""


@dataclass(frozen=True)
class _Reduced:
    """One run's reduced inputs, before its network is trained."""

    spec: RunSpec
    classifier_seed: int
    train: FloatArray
    validation: FloatArray
    test: FloatArray
    fit_time_ms: float
    n_epochs: int | None
    history: Mapping[str, NDArray[Any]]


def run_group(specs: Sequence[RunSpec], problem: Problem) -> list[RunResult]:
    """Run repeats of one table cell; the result of each is the same as if it ran alone.

    Parameters
    ----------
    specs : sequence of RunSpec
        Runs that agree in all but repeat, seed and key.
    problem : Problem
        A classification problem; methods and classifier learn from its training split, the classifier stops by
        its validation split, and its test split serves only to count errors.

    Returns
    -------
    list of RunResult
        In the order of ``specs``; a run whose numbers broke down is failed, with its traceback.
    """
    if specs[0].method == "dgha_speedup":
        return [_timed(spec, problem) for spec in specs]
    results: dict[str, RunResult] = {}
    reduced: list[_Reduced] = []
    for spec in specs:
        try:
            reduced.append(_reduce(spec, problem))
        except (ValueError, ArithmeticError):
            results[spec.key] = failed(spec, problem.sha256, traceback.format_exc())
    for result in _classify(reduced, problem):
        results[result.key] = result
    return [results[spec.key] for spec in specs]


def warm_up(spec: RunSpec) -> None:
    """Compile, or load from the cache, all that such a run calls, so that measured times are free of it."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(24, 3)), np.arange(24) % 2
    tiny = Problem("warm-up", "classification", X, y, X, y, X, y, n_classes=2, sha256="")
    run_group([spec], tiny)


def _timed(spec: RunSpec, problem: Problem) -> RunResult:
    parameters = _parameters(spec)
    timed = parameters.pop("timed", True)
    try:
        measures, dimensionality = measure_speedup(parameters, _seeds(spec)[0], problem.X_train, timed=timed)
    except (ValueError, ArithmeticError):
        return failed(spec, problem.sha256, traceback.format_exc())
    return RunResult(spec.key, "done", problem.sha256, dimensionality=dimensionality, measures=measures)


def _seeds(spec: RunSpec) -> tuple[int, int]:
    """Return the seeds of the method and of the classifier."""
    engine, classifier = np.random.SeedSequence(spec.seed).spawn(2)
    return int(engine.generate_state(1)[0]), int(classifier.generate_state(1)[0])


def _reduce(spec: RunSpec, problem: Problem) -> _Reduced:
    engine_seed, classifier_seed = _seeds(spec)
    reducer = METHODS[spec.method](**_parameters(spec), random_state=engine_seed)
    start = time.perf_counter()
    reducer.fit(problem.X_train)
    fit_time_ms = 1e3 * (time.perf_counter() - start)
    train, validation, test = (
        np.ascontiguousarray(reducer.transform(X)) for X in (problem.X_train, problem.X_validation, problem.X_test)
    )
    n_epochs = getattr(reducer, "n_epochs_", getattr(reducer, "n_generations", None))
    history = {name: _leading(curve) for name, curve in reducer.history_.items()}
    return _Reduced(spec, classifier_seed, train, validation, test, fit_time_ms, n_epochs, history)


def _parameters(spec: RunSpec) -> dict[str, Any]:
    grid = {"tau": spec.tau, "data_fraction": spec.data_fraction}
    return dict(spec.parameters) | {name: value for name, value in grid.items() if value is not None}


def _leading(curve: NDArray[Any]) -> NDArray[Any]:
    return curve[:, :HISTORY_NODES] if curve.ndim == 2 else curve


def _classify(reduced: Sequence[_Reduced], problem: Problem) -> list[RunResult]:
    if not reduced:
        return []
    start = time.perf_counter()
    try:
        networks = _train(reduced, problem)
    except (ValueError, ArithmeticError):
        if len(reduced) > 1:
            return [result for one in reduced for result in _classify([one], problem)]
        return [failed(reduced[0].spec, problem.sha256, traceback.format_exc())]
    share_ms = 1e3 * (time.perf_counter() - start) / len(reduced)
    return [_result(one, network, problem, share_ms) for one, network in zip(reduced, networks, strict=True)]


def _train(reduced: Sequence[_Reduced], problem: Problem) -> Sequence[Network]:
    parameters: dict[str, Any] = dict(reduced[0].spec.classifier)
    make, hidden = CLASSIFIERS[parameters.pop("rule")], parameters.pop("hidden")
    networks = [make(hidden_layer_sizes=hidden, **parameters, random_state=one.classifier_seed) for one in reduced]
    data = [(one.train, problem.y_train, one.validation, problem.y_validation) for one in reduced]
    return fit_together(networks, data, classes=np.arange(problem.n_outputs))


def _result(one: _Reduced, network: Network, problem: Problem, share_ms: float) -> RunResult:
    return RunResult(
        one.spec.key,
        "done",
        problem.sha256,
        dimensionality=one.train.shape[1],
        fit_time_ms=one.fit_time_ms,
        classifier_time_ms=share_ms,
        n_epochs=one.n_epochs,
        total_epochs=network.n_epochs_,
        relevant_epochs=network.best_epoch_,
        train_error_percent=_error_percent(network, one.train, problem.y_train),
        validation_error_percent=_error_percent(network, one.validation, problem.y_validation),
        test_error_percent=_error_percent(network, one.test, problem.y_test),
        history=one.history,
    )


def _error_percent(network: Network, X: FloatArray, y: NDArray[Any]) -> float:
    return 100.0 * float(np.mean(network.predict(X) != y))
