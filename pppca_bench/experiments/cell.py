"""Computation of a cell's runs: reduced features, classifiers trained together, errors."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.classifiers import MLP, fit_together, squared_error_percent
from pppca_bench.classifiers.training_data import TrainingSet
from pppca_bench.compiled.arrays import Floats
from pppca_bench.experiments.build import make_classifier, make_method, seeds
from pppca_bench.experiments.predictions import judge, predictions_of
from pppca_bench.experiments.reconstruction import measure_reconstruction, portray
from pppca_bench.methods.lookup import find_classifier, find_method
from pppca_bench.methods.protocol import Contract, contract_of
from pppca_bench.methods.sections import PORTRAIT, PREDICTIONS
from pppca_bench.problems import Problem
from pppca_bench.runs import RunResult, RunSpec, failed

Job = tuple[RunSpec, Problem]
"""A run and its data."""

HISTORY_NODES = 10
"""Nodes whose variances a stored history keeps: the slides' figures draw at most nine (F3, cancer1)."""


@dataclass(frozen=True)
class Learned:
    """Output of a run's method: features for a classifier, or a fitted classifier.

    Attributes
    ----------
    spec : RunSpec
    problem : Problem
    splits : tuple of three float64 arrays of shape (n_samples, n_components)
        Inputs of the classifier: training, validation and test.
    values : dict of str to float
        Numbers of the run so far.
    history : mapping of str to array
    reducer, classifier : estimator or None
        One of the two, fitted.
    """

    spec: RunSpec
    problem: Problem
    splits: tuple[Floats, Floats, Floats]
    values: dict[str, float]
    history: Mapping[str, NDArray[Any]]
    reducer: Any
    classifier: Any


def run_group(specs: Sequence[RunSpec], problem: Problem | Sequence[Problem]) -> list[RunResult]:
    """Run repeats of a cell, and of cells with the same settings on other data; each result is as if it ran alone.

    Parameters
    ----------
    specs : sequence of RunSpec
        Runs with the same settings, so that their networks train side by side.
    problem : Problem or sequence of Problem
        The same for all runs, or one per run. Methods and classifier learn from the training split, the classifier
        stops by the validation split, and the test split serves only to measure errors.

    Returns
    -------
    list of RunResult
        In the order of ``specs``; a run with numerical errors is failed, with its traceback.
    """
    entry = find_method(specs[0].cell.method)
    together = issubclass(contract_of(entry).estimator, MLP)
    jobs = list(zip(specs, each(problem, specs), strict=True))
    outcomes = [outcome for group in ([jobs] if together else [[job] for job in jobs]) for outcome in learn(group)]
    done = [outcome for outcome in outcomes if isinstance(outcome, RunResult)]
    learned = [outcome for outcome in outcomes if isinstance(outcome, Learned)]
    results = {result.key: result for result in (*done, *_classify(learned))}
    return [_with_plain_numbers(spec, results[spec.key]) for spec in specs]


def each(problem: Problem | Sequence[Problem], specs: Sequence[RunSpec]) -> Sequence[Problem]:
    """Return the problem of each run."""
    return [problem] * len(specs) if isinstance(problem, Problem) else problem


def _with_plain_numbers(spec: RunSpec, result: RunResult) -> RunResult:
    """Return a result with Python's numbers in place of NumPy's, without nan; an infinite number is a failure."""
    values = {name: value.item() if isinstance(value, np.generic) else value for name, value in result.values.items()}
    for name, value in values.items():
        if math.isinf(value):
            return failed(spec, f"{name}: expected a finite number, got {value}. Scale the data, or lower the rate.")
    return replace(result, values={name: value for name, value in values.items() if not math.isnan(value)})


def warm_up(spec: RunSpec, problem: Problem) -> None:
    """Run once on a few random samples with the problem's features and outputs, to compile or load all kernels."""
    rng, n = np.random.default_rng(0), max(24, 2 * problem.n_outputs)
    X = rng.uniform(size=(n, problem.n_features))
    y = rng.uniform(size=(n, problem.n_outputs)) if problem.n_classes is None else np.arange(n) % problem.n_classes
    tiny = replace(problem, X_train=X, y_train=y, X_validation=X, y_validation=y, X_test=X, y_test=y)
    run_group([spec], tiny)


def fit_run(spec: RunSpec, problem: Problem) -> tuple[Any, Any]:
    """Return a run's reducer (None for a method that classifies by itself) and classifier, fitted as `run_group` does.

    Raises
    ------
    ValueError
        A numerical error, with its traceback.
    """
    (outcome,) = learn([(spec, problem)])
    if isinstance(outcome, RunResult):
        raise ValueError(outcome.error or f"{spec.cell.method} makes neither features nor classes")
    return outcome.reducer, outcome.classifier or _train([outcome])[0]


def learn(jobs: Sequence[Job]) -> list[Learned | RunResult]:
    """Fit the methods of runs with the same settings, networks side by side.

    Runs that failed or that only measure give their result.
    """
    try:
        methods = [make_method(spec, problem.task, n_outputs=problem.n_outputs) for spec, problem in jobs]
        start = time.perf_counter()
        _fit(jobs, methods)
        share_ms = 1e3 * (time.perf_counter() - start) / len(jobs)
        return [_learned(*job, method, share_ms) for job, method in zip(jobs, methods, strict=True)]
    except (ValueError, ArithmeticError):
        if len(jobs) > 1:
            return [outcome for job in jobs for outcome in learn([job])]
        return [failed(jobs[0][0], traceback.format_exc())]


def _fit(jobs: Sequence[Job], methods: Sequence[Any]) -> None:
    """Fit on the training split, and on the validation split where the protocol says so; never on the test split."""
    spec, problem = jobs[0]
    if len(methods) > 1:
        _fit_networks(methods, [_learning_data(own) for _, own in jobs], _classes(problem))
        return
    _fit_alone(methods[0], contract_of(find_method(spec.cell.method)), problem.X_train, problem.X_validation, problem)


def _fit_networks(
    networks: Sequence[MLP], data: Sequence[TrainingSet], classes: NDArray[np.int64] | None
) -> Sequence[MLP]:
    """Fit networks with equal settings side by side; problems may have different pivot architectures."""
    groups: dict[str, list[int]] = {}
    for index, network in enumerate(networks):
        settings = vars(network) | {"random_state": None}  # an unfitted estimator has no other attributes
        groups.setdefault(repr(sorted(settings.items())), []).append(index)
    fitted: dict[int, MLP] = {}
    for group in groups.values():
        some = fit_together([networks[i] for i in group], [data[i] for i in group], classes=classes)
        fitted |= zip(group, some, strict=True)
    return [fitted[index] for index in range(len(networks))]


def _fit_alone(estimator: Any, contract: Contract, train: Floats, validation: Floats, problem: Problem) -> None:
    """Fit an estimator on the training and validation inputs of a problem, original or reduced."""
    given: dict[str, Any] = {}
    if contract.takes_validation:
        given |= {"X_val": validation, "y_val": problem.y_validation}
    if contract.takes_classes:
        given["classes"] = _classes(problem)
    if not contract.takes_targets:
        estimator.fit(train)
        return
    y = problem.y_train
    # One target is a vector to scikit-learn's regressors, a column to this package's.
    estimator.fit(train, y[:, 0] if contract.is_foreign and y.ndim == 2 and y.shape[1] == 1 else y, **given)


def _learned(spec: RunSpec, problem: Problem, method: Any, fit_time_ms: float) -> Learned | RunResult:
    values = dict(getattr(method, "measures_", {}))
    n_epochs = getattr(method, "n_epochs_", getattr(method, "n_generations_", None))
    if n_epochs is not None:
        values["n_epochs"] = n_epochs
    history = {
        name: curve[:, :HISTORY_NODES] if curve.ndim == 2 else curve
        for name, curve in getattr(method, "history_", {}).items()
    }
    makes = find_method(spec.cell.method).makes
    if makes == "measures":
        return RunResult(spec.key, "done", values=values, history=history)
    values["fit_time_ms"] = fit_time_ms
    train, validation, test = problem.X_train, problem.X_validation, problem.X_test
    if makes == "classes":
        values["dimensionality"] = getattr(method, "n_features_", problem.n_features)
        return Learned(spec, problem, (train, validation, test), values, history, None, method)
    reduced = _features(method, (train, validation, test))
    values["dimensionality"] = reduced[0].shape[1]
    values |= measure_reconstruction(method, train, reduced[0])
    if dict(spec.cell.parameters).get(PORTRAIT):
        history |= portray(method, problem, reduced[0])
    return Learned(spec, problem, (reduced[0], reduced[1], reduced[2]), values, history, method, None)


def _features(method: Any, splits: Sequence[Floats]) -> list[Floats]:
    """Return the features of each split.

    Raises
    ------
    ValueError
        They are no finite matrix with a row per sample and, in each split, the same columns, at least one.
    """
    features: list[Floats] = []
    for name, X in zip(("training", "validation", "test"), splits, strict=True):
        reduced = as_matrix(method.transform(X))
        n_columns = features[0].shape[1] if features else None
        expected = f"({len(X)}, {n_columns or 'at least 1'})"
        where = f"transform of {type(method).__name__}, {name} split: expected finite numbers of shape {expected}"
        if reduced.ndim != 2 or len(reduced) != len(X) or n_columns not in (None, reduced.shape[1]) or not reduced.size:
            raise ValueError(f"{where}, got the shape {reduced.shape}.")
        if not np.isfinite(reduced).all():
            raise ValueError(f"{where}, got {np.count_nonzero(~np.isfinite(reduced))} that are not finite.")
        features.append(reduced)
    return features


def as_matrix(made: Any) -> Floats:
    """Return a dense or sparse matrix as a C-contiguous float64 array."""
    return np.ascontiguousarray(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float64)


def _classify(learned: Sequence[Learned]) -> list[RunResult]:
    """Train the missing classifiers together, and measure all errors."""
    results = [_measured(output, output.classifier) for output in learned if output.classifier is not None]
    waiting = [output for output in learned if output.classifier is None]
    start = time.perf_counter()
    try:
        classifiers = _train(waiting)
    except (ValueError, ArithmeticError):
        if len(waiting) > 1:
            return results + [result for output in waiting for result in _classify([output])]
        return [*results, failed(waiting[0].spec, traceback.format_exc())]
    elapsed_ms = 1e3 * (time.perf_counter() - start)
    for output in waiting:
        output.values["classifier_time_ms"] = elapsed_ms / len(waiting)
    return results + [_measured(output, fitted) for output, fitted in zip(waiting, classifiers, strict=True)]


def _train(learned: Sequence[Learned]) -> Sequence[Any]:
    classifiers = []
    for output in learned:
        cell, problem = output.spec.cell, output.problem
        seed = seeds(output.spec)[1]
        classifiers.append(
            make_classifier(cell.classifier, cell.problem, seed, problem.task, n_outputs=problem.n_outputs)
        )
    if classifiers and all(isinstance(classifier, MLP) for classifier in classifiers):
        data = [_learning_data(output.problem, output.splits) for output in learned]
        return _fit_networks(classifiers, data, _classes(learned[0].problem))
    for output, classifier in zip(learned, classifiers, strict=True):
        problem, (train, validation, _) = output.problem, output.splits
        rule = str(dict(output.spec.cell.classifier)["rule"])
        _fit_alone(classifier, contract_of(find_classifier(rule), problem.task), train, validation, problem)
    return classifiers


def _learning_data(problem: Problem, splits: tuple[Floats, Floats, Floats] | None = None) -> TrainingSet:
    """Return a problem's inputs, original or reduced, with the targets, of the splits that networks learn from."""
    train, validation, _ = splits or (problem.X_train, problem.X_validation, problem.X_test)
    return train, problem.y_train, validation, problem.y_validation


def _classes(problem: Problem) -> NDArray[np.int64] | None:
    """Return all classes of a problem; None for approximation."""
    return None if problem.n_classes is None else np.arange(problem.n_classes)


def _measured(output: Learned, classifier: Any) -> RunResult:
    """Return a run's result; invalid predictions are a failure."""
    try:
        return _result(output, classifier)
    except ValueError:
        return failed(output.spec, traceback.format_exc())


def _result(output: Learned, classifier: Any) -> RunResult:
    epochs = {
        "total_epochs": getattr(classifier, "n_epochs_", None),
        "relevant_epochs": getattr(classifier, "best_epoch_", None),
    }
    values = output.values | {name: number for name, number in epochs.items() if number is not None}
    values |= dict(getattr(classifier, "measures_", {}))
    problem, test = output.problem, output.splits[-1]
    targets = (problem.y_train, problem.y_validation, problem.y_test)
    for split, X, y in zip(("train", "validation", "test"), output.splits, targets, strict=True):
        values[f"{split}_error_percent"] = error_percent(classifier, X, y, problem.n_classes)
    if hasattr(classifier, "squared_error_percent"):
        values["test_squared_error_percent"] = classifier.squared_error_percent(test, problem.y_test)
    history = dict(output.history)
    if dict(output.spec.cell.parameters).get(PREDICTIONS):
        scores, predictions = judge(classifier, test, problem)
        values, history = values | scores, history | predictions
    return RunResult(output.spec.key, "done", values=values, history=history)


def error_percent(estimator: Any, X: Floats, y: NDArray[Any], n_classes: int | None) -> float:
    """Return the share of wrong classes, or the squared error percentage of numbers (Proben1 report, section 2.7)."""
    predicted = predictions_of(estimator, X, y, n_classes)
    return squared_error_percent(predicted, y) if n_classes is None else 100.0 * float(np.mean(predicted != y))
