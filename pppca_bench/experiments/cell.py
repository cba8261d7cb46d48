"""A cell's runs to their results: reduce the features, train the downstream networks together, measure errors."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.classifiers import MLPClassifier, fit_together
from pppca_bench.experiments.build import METHODS, estimator_parameters, make_classifier
from pppca_bench.experiments.reconstruction import measure_reconstruction
from pppca_bench.experiments.speedup import measure_speedup
from pppca_bench.problems import Problem
from pppca_bench.runs import RunResult, RunSpec, failed

FloatArray = NDArray[np.float64]

HISTORY_NODES = 10
"""Nodes whose variances a stored history keeps: the slides' figures draw at most nine (F3, cancer1)."""


@dataclass(frozen=True)
class _Learned:
    """What a run's method has learned: features for a classifier, or, of a method that classifies, itself."""

    spec: RunSpec
    classifier_seed: int
    splits: tuple[FloatArray, FloatArray, FloatArray]
    fit_time_ms: float
    n_epochs: int | None
    dimensionality: int
    history: Mapping[str, NDArray[Any]]
    measures: Mapping[str, float]
    system: Any


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
    made = METHODS[specs[0].method]
    together = isinstance(made, type) and issubclass(made, MLPClassifier)
    outcomes = [
        one for group in ([specs] if together else [[spec] for spec in specs]) for one in _learn(group, problem)
    ]
    results = {one.key: one for one in outcomes if isinstance(one, RunResult)}
    for result in _classify([one for one in outcomes if isinstance(one, _Learned)], problem):
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


def _seeds(spec: RunSpec) -> tuple[int, int, int]:
    """Return the seeds of the method, of the classifier, and of the classifier that the method asks."""
    streams = np.random.SeedSequence(spec.seed).spawn(3)
    engine, classifier, asked = (int(stream.generate_state(1)[0]) for stream in streams)
    return engine, classifier, asked


def _learn(specs: Sequence[RunSpec], problem: Problem) -> list[_Learned | RunResult]:
    """Fit the runs' methods, several networks side by side; a run whose numbers broke down gives its failure."""
    try:
        made = [_make(spec) for spec in specs]
        start = time.perf_counter()
        _fit([method for method, _ in made], problem)
        share_ms = 1e3 * (time.perf_counter() - start) / len(specs)
        return [_learned(spec, *one, share_ms, problem) for spec, one in zip(specs, made, strict=True)]
    except (ValueError, ArithmeticError):
        if len(specs) > 1:
            return [outcome for spec in specs for outcome in _learn([spec], problem)]
        return [failed(specs[0], problem.sha256, traceback.format_exc())]


def _learned(spec: RunSpec, method: Any, classifier_seed: int, fit_time_ms: float, problem: Problem) -> _Learned:
    splits = (problem.X_train, problem.X_validation, problem.X_test)
    measures: dict[str, float] = dict(getattr(method, "measures_", {}))
    if classifies := hasattr(method, "predict"):
        dimensionality: int = getattr(method, "n_features_", problem.n_features)
    else:
        train, validation, test = (np.ascontiguousarray(method.transform(X)) for X in splits)
        splits = (train, validation, test)
        dimensionality = splits[0].shape[1]
        measures |= measure_reconstruction(method, problem.X_train, splits[0])
    n_epochs = getattr(method, "n_epochs_", getattr(method, "n_generations_", getattr(method, "n_generations", None)))
    history = {name: _leading(curve) for name, curve in getattr(method, "history_", {}).items()}
    system = method if classifies else None
    return _Learned(spec, classifier_seed, splits, fit_time_ms, n_epochs, dimensionality, history, measures, system)


def _make(spec: RunSpec) -> tuple[Any, int]:
    make = METHODS[spec.method]
    method_seed, classifier_seed, asked_seed = _seeds(spec)
    parameters = estimator_parameters(_parameters(spec))
    taken = signature(make).parameters
    if "random_state" in taken or any(parameter.kind is Parameter.VAR_KEYWORD for parameter in taken.values()):
        parameters["random_state"] = method_seed
    if "estimator" in taken:
        parameters["estimator"] = make_classifier(spec.classifier, asked_seed)
    return make(**parameters), classifier_seed


def _fit(methods: Sequence[Any], problem: Problem) -> None:
    """Fit on the training split, and on the validation split where it is chosen by; never on the test split."""
    if len(methods) > 1:
        splits = (problem.X_train, problem.y_train, problem.X_validation, problem.y_validation)
        fit_together(methods, [splits] * len(methods), classes=np.arange(problem.n_outputs))
        return
    method = methods[0]
    given = {"X_val": problem.X_validation, "y_val": problem.y_validation, "classes": np.arange(problem.n_outputs)}
    taken = {name: value for name, value in given.items() if name in signature(method.fit).parameters}
    method.fit(problem.X_train, problem.y_train, **taken)


def _parameters(spec: RunSpec) -> dict[str, Any]:
    grid = {"tau": spec.tau, "data_fraction": spec.data_fraction}
    return dict(spec.parameters) | {name: value for name, value in grid.items() if value is not None}


def _leading(curve: NDArray[Any]) -> NDArray[Any]:
    return curve[:, :HISTORY_NODES] if curve.ndim == 2 else curve


def _classify(learned: Sequence[_Learned], problem: Problem) -> list[RunResult]:
    """Train the classifiers that are still missing, together, and measure all errors."""
    systems = [one for one in learned if one.system is not None]
    results = [_result(one, one.system, problem, None) for one in systems]
    return results + _classify_features([one for one in learned if one.system is None], problem)


def _classify_features(learned: Sequence[_Learned], problem: Problem) -> list[RunResult]:
    if not learned:
        return []
    start = time.perf_counter()
    try:
        classifiers = _train(learned, problem)
    except (ValueError, ArithmeticError):
        if len(learned) > 1:
            return [result for one in learned for result in _classify_features([one], problem)]
        return [failed(learned[0].spec, problem.sha256, traceback.format_exc())]
    share_ms = 1e3 * (time.perf_counter() - start) / len(learned)
    return [_result(one, fitted, problem, share_ms) for one, fitted in zip(learned, classifiers, strict=True)]


def _train(learned: Sequence[_Learned], problem: Problem) -> Sequence[Any]:
    classifiers = [make_classifier(one.spec.classifier, one.classifier_seed) for one in learned]
    data = [(one.splits[0], problem.y_train, one.splits[1], problem.y_validation) for one in learned]
    classes = np.arange(problem.n_outputs)
    if all(isinstance(classifier, MLPClassifier) for classifier in classifiers):
        return fit_together(classifiers, data, classes=classes)
    return [classifier.fit(*splits, classes=classes) for classifier, splits in zip(classifiers, data, strict=True)]


def _result(one: _Learned, classifier: Any, problem: Problem, share_ms: float | None) -> RunResult:
    train, validation, test = one.splits
    return RunResult(
        one.spec.key,
        "done",
        problem.sha256,
        dimensionality=one.dimensionality,
        fit_time_ms=one.fit_time_ms,
        classifier_time_ms=share_ms,
        n_epochs=one.n_epochs,
        total_epochs=getattr(classifier, "n_epochs_", None),
        relevant_epochs=getattr(classifier, "best_epoch_", None),
        train_error_percent=_error_percent(classifier, train, problem.y_train),
        validation_error_percent=_error_percent(classifier, validation, problem.y_validation),
        test_error_percent=_error_percent(classifier, test, problem.y_test),
        measures=one.measures,
        history=one.history,
    )


def _error_percent(classifier: Any, X: FloatArray, y: NDArray[Any]) -> float:
    return 100.0 * float(np.mean(classifier.predict(X) != y))
