"""Computation of a cell's runs: estimators from settings, reduced features, classifiers trained together, errors."""

from __future__ import annotations

import os
import random
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pppca_bench.classifiers import MLP, fit_together
from pppca_bench.classifiers.training_data import uses_validation
from pppca_bench.compiled.arrays import Array, Floats, Indices
from pppca_bench.compiled.linear_algebra import rounded
from pppca_bench.experiments.measures import (
    as_matrix,
    class_scores,
    error_percent,
    measure_reconstruction,
    predictions_of,
    rank_scores,
    score_predictions,
    validated_result,
)
from pppca_bench.methods.lookup import find_classifier, find_method
from pppca_bench.methods.networks import with_networks
from pppca_bench.methods.protocol import Contract, constructor_arguments, contract_of
from pppca_bench.methods.third_party import output_aside
from pppca_bench.problems import Problem
from pppca_bench.quantities import BALANCED_SCORES
from pppca_bench.runs import RunResult, RunSpec, Settings, failed_result, grouped
from pppca_bench.store.columns import CURVES

HISTORY_NODES = 10
"""Largest number of nodes whose variances are stored, and a figure can draw."""

NO_VARIANCE = 1e-15
"""Share of the largest variance below which a feature has none. Choice: a few roundings of the largest eigenvalue."""

Splits = tuple[Floats, Floats, Floats]
"""Training, validation and test inputs, each of shape (n_samples, n_features)."""


@dataclass
class _Run:
    """A run that is being computed, and what is known of it so far; each step of `run_group` adds to it."""

    spec: RunSpec
    problem: Problem
    splits: Splits  # inputs of the method, which are replaced by its features, the inputs of the classifier
    values: dict[str, float] = field(default_factory=dict)
    history: dict[str, Array] = field(default_factory=dict)
    reducer: Any = None  # a fitted method that makes features
    classifier: Any = None  # a fitted method that classifies, or the classifier after a method

    def given(self, array: Array) -> Array:
        """Return an array for a call: a copy if it calls third-party code, which may change the array."""
        return array.copy() if self.spec.cell.is_third_party else array

    def resolved(self, settings: Settings) -> dict[str, Any]:
        """Return settings of this run `with_networks`."""
        return with_networks(settings, self.spec.cell.problem, self.problem.n_outputs)


def run_group(
    specs: Sequence[RunSpec], problems: Sequence[Problem], *, only_method: bool = False
) -> list[RunResult]:
    """Run repeats of a cell, or of cells with the same settings on different data; each result is as if it ran alone.

    Networks train side by side. Methods and classifier learn from the training split of the run's problem, the
    classifier stops by the validation split, as do methods whose `fit` takes it, and the test split serves only to
    measure errors. With ``only_method``, the methods alone are fitted and measured, on the training split. A run with
    a numerical error has failed, and has its traceback.
    """
    runs = list(map(_new_run, specs, problems))
    try:
        _fit_methods(runs)
        if not only_method:
            _classify(runs)
    except (ValueError, ArithmeticError):
        if len(specs) == 1:
            return [failed_result(specs[0], traceback.format_exc())]
        return [
            result
            for spec, problem in zip(specs, problems, strict=True)
            for result in run_group([spec], [problem], only_method=only_method)
        ]
    return [validated_result(run.spec, run.values, run.history) for run in runs]


def warm_up(spec: RunSpec, problem: Problem) -> None:
    """Run once on a few random samples with the problem's features and outputs, to compile or load all kernels.

    Third-party code, which may never return, is not called: its features are the inputs, and with a third-party
    classifier nothing is computed.
    """
    rng, n = np.random.default_rng(0), max(24, 2 * problem.n_outputs)
    X = rng.uniform(size=(n, problem.n_features))
    y = (
        rng.uniform(size=(n, problem.n_outputs))
        if problem.n_classes is None
        else np.arange(n) % problem.n_classes
    )
    tiny = replace(
        problem, X_train=X, y_train=y, X_validation=X, y_validation=y, X_test=X, y_test=y
    )
    third_party = {name for name, version in spec.cell.algorithms if isinstance(version, str)}
    if third_party <= {spec.cell.method}:
        run = _new_run(spec, tiny)
        if not third_party:
            _fit_methods([run])
        _classify([run])


def fit_run(spec: RunSpec, problem: Problem) -> tuple[Any, Any]:
    """Return a run's reducer and classifier, fitted as `run_group` does.

    The reducer is None for a method that classifies by itself, the classifier for data without splits.
    Raises ValueError or ArithmeticError for a numerical error.
    """
    run = _new_run(spec, problem)
    _fit_methods([run])
    if run.classifier is None and spec.cell.classifier:
        _train([run])
    return run.reducer, run.classifier


def learns_from_validation(spec: RunSpec, problem: Problem) -> bool:
    """Return whether a run's method or classifier learns from the validation split."""
    run = _new_run(spec, problem)
    estimators = [_make_method(run)]
    if find_method(spec.cell.method).makes == "features" and spec.cell.classifier:
        settings = run.resolved(spec.cell.classifier)
        estimators.append(make_classifier(settings, seeds(spec)[1], problem.task))
    return any(map(uses_validation, estimators))


@contextmanager
def contained(spec: RunSpec, stage: int) -> Iterator[None]:
    """Seed the global generators of Python and NumPy for a stage of a run of third-party code.

    Its output goes to standard error, and a child process that it forks ends where it would leave the block.
    """
    if not spec.cell.is_third_party:
        yield
        return
    seed, process = seeds(spec)[stage], os.getpid()
    random.seed(seed)
    np.random.seed(seed)
    try:
        with output_aside():
            yield
    finally:
        if os.getpid() != process:
            os._exit(1)


def _new_run(spec: RunSpec, problem: Problem) -> _Run:
    return _Run(spec, problem, (problem.X_train, problem.X_validation, problem.X_test))


def _fit_methods(runs: Sequence[_Run]) -> None:
    """Fit the methods of runs with the same settings, networks side by side, and measure them."""
    contract = contract_of(find_method(runs[0].spec.cell.method))
    for batch in _batches(runs, contract):
        with contained(batch[0].spec, 0):
            methods = list(map(_make_method, batch))
            time_ms = _fit(methods, contract, batch)
            for run, method in zip(batch, methods, strict=True):
                _measure_method(run, method, time_ms)


def _train(runs: Sequence[_Run]) -> None:
    """Train the classifiers that follow the methods of runs, networks side by side."""
    rule, task = runs[0].spec.cell.classifier["rule"], runs[0].problem.task
    contract = contract_of(find_classifier(rule), task)
    for batch in _batches(runs, contract):
        with contained(batch[0].spec, 1):
            classifiers = [
                make_classifier(run.resolved(run.spec.cell.classifier), seeds(run.spec)[1], task)
                for run in batch
            ]
            for run, classifier in zip(batch, classifiers, strict=True):
                if run.spec.cell.curve:
                    classifier.records_curve = True
            time_ms = _fit(classifiers, contract, batch)
        for run, classifier in zip(batch, classifiers, strict=True):
            run.classifier = classifier
            run.values["classifier_time_ms"] = time_ms


def _batches(runs: Sequence[_Run], contract: Contract) -> list[Sequence[_Run]]:
    """Return the runs whose estimators are fitted together: all runs of networks, any other run alone."""
    return [runs] if issubclass(contract.estimator, MLP) else [[run] for run in runs]


def _fit(estimators: Sequence[Any], contract: Contract, batch: Sequence[_Run]) -> float:
    """Fit the estimators of a batch to its training and validation splits; return the time of each in ms.

    Problems may have different pivot architectures: networks with equal settings learn side by side. Times are of
    `time.perf_counter`, which stands still while the machine is suspended (CLOCK_MONOTONIC of Linux).
    """
    start = time.perf_counter()
    if not issubclass(contract.estimator, MLP):
        _fit_alone(estimators[0], contract, batch[0])
    else:

        def settings(pair: tuple[MLP, _Run]) -> str:  # an unfitted network has no other attributes
            return repr(sorted((vars(pair[0]) | {"random_state": None}).items()))

        for alike in grouped(zip(estimators, batch, strict=True), settings).values():
            fit_together(
                [network for network, _ in alike],
                [
                    (run.splits[0], run.problem.y_train, run.splits[1], run.problem.y_validation)
                    for _, run in alike
                ],
                classes=_classes(batch[0].problem),
            )
    return 1e3 * (time.perf_counter() - start) / len(batch)


def _fit_alone(estimator: Any, contract: Contract, run: _Run) -> None:
    """Fit an estimator to a run's training and validation splits, original or reduced."""
    train, validation = map(run.given, run.splits[:2])
    if not contract.takes_targets:
        estimator.fit(train)
        return
    given: dict[str, Any] = {}
    if contract.takes_validation:
        given |= {"X_val": validation, "y_val": run.given(run.problem.y_validation)}
    if contract.takes_classes:
        given["classes"] = _classes(run.problem)
    y = run.given(run.problem.y_train)
    # One target is a vector to scikit-learn's regressors, a column to this package's.
    is_column = y.ndim == 2 and y.shape[1] == 1
    estimator.fit(train, y[:, 0] if contract.is_foreign and is_column else y, **given)


def _classes(problem: Problem) -> Indices | None:
    """Return all classes of a problem; None for approximation."""
    return None if problem.n_classes is None else np.arange(problem.n_classes)


def _measure_method(run: _Run, method: Any, fit_time_ms: float) -> None:
    """Add a fitted method to its run, with its measures and, if it makes features, with these."""
    entry, problem, values = find_method(run.spec.cell.method), run.problem, run.values
    values |= getattr(method, "measures_", {})
    n_epochs = getattr(method, "n_epochs_", getattr(method, "n_generations_", None))
    if n_epochs is not None:
        values["n_epochs"] = n_epochs
    for name, steps in getattr(method, "history_", {}).items():
        curve = np.asarray(steps)
        run.history[name] = curve[:, :HISTORY_NODES] if curve.ndim == 2 else curve
    if entry.makes == "measures":
        return
    values["fit_time_ms"] = fit_time_ms
    if entry.makes == "classes":
        run.classifier = method
        values["dimensionality"] = getattr(method, "n_features_", problem.n_features)
        return
    run.reducer, run.splits = method, _features(method, run)
    features = run.given(run.splits[0])
    values["dimensionality"] = features.shape[1]
    values |= measure_reconstruction(method, problem.X_train, features)


def _features(method: Any, run: _Run) -> Splits:
    """Return the features of each split.

    Third-party features are `rounded`. Features without variance (`explained_variance_`) become 0: they are rounding
    errors, which a classifier that standardises its inputs would scale up.

    Raises ValueError unless they are finite, of shape (n_samples, n_components), with the same n_components >= 1.
    """
    features: list[Floats] = []
    for name, X in zip(("training", "validation", "test"), run.splits, strict=True):
        n_columns = features[0].shape[1] if features else None
        if n_columns is not None and not len(X):  # data without splits
            features.append(np.empty((0, n_columns)))
            continue
        expected = f"({len(X)}, {n_columns or 'at least 1'})"
        where = f"transform of {type(method).__name__}, {name} split: expected finite numbers of shape {expected}"
        reduced = as_matrix(method.transform(run.given(X)), where)
        if (
            reduced.ndim != 2
            or len(reduced) != len(X)
            or n_columns not in (None, reduced.shape[1])
            or not reduced.size
        ):
            raise ValueError(f"{where}, got the shape {reduced.shape}.")
        if not np.isfinite(reduced).all():
            raise ValueError(
                f"{where}, got {np.count_nonzero(~np.isfinite(reduced))} that are not finite."
            )
        features.append(rounded(reduced) if find_method(run.spec.cell.method).foreign else reduced)
    variances = getattr(method, "explained_variance_", None)
    if isinstance(variances, np.ndarray) and variances.shape == features[0].shape[1:]:
        for reduced in features:
            reduced[:, variances < NO_VARIANCE * variances.max()] = 0.0
    return features[0], features[1], features[2]


def _classify(runs: Sequence[_Run]) -> None:
    """Train the classifiers that follow the methods of runs, if any, and measure the errors of all that classify."""
    if runs[0].classifier is None:
        if not runs[0].spec.cell.classifier:
            return
        _train(runs)
    for run in runs:
        with contained(run.spec, 2):
            _measure_errors(run)


def _measure_errors(run: _Run) -> None:
    """Add the epochs of a run's classifier, its errors on all splits, and its scores on the test split."""
    classifier, problem, values = run.classifier, run.problem, run.values
    for name, attribute in (("total_epochs", "n_epochs_"), ("relevant_epochs", "best_epoch_")):
        if (n_epochs := getattr(classifier, attribute, None)) is not None:
            values[name] = n_epochs
    values |= getattr(classifier, "measures_", {})
    targets = (problem.y_train, problem.y_validation, problem.y_test)
    is_network = hasattr(classifier, "squared_error_percent")
    keeps = run.spec.cell.predictions
    is_scored = keeps or problem.has_imbalanced_labels
    for split, X, y in zip(("train", "validation", "test"), run.splits, targets, strict=True):
        predicted = predictions_of(classifier, run.given(X), y, problem.n_classes)
        name, error = error_percent(predicted, y, problem.n_classes)
        # A network's own squared errors stand: the least training error, and the same validation error.
        if not (is_network and problem.n_classes is None and f"{split}_{name}" in values):
            values[f"{split}_{name}"] = error
        if split == "validation" and is_scored and problem.n_classes is not None:
            scored = class_scores(predicted, y, range(problem.n_classes))
            scored |= rank_scores(classifier, run.given(X), y, problem)
            for score in BALANCED_SCORES:
                if score in scored:
                    values[f"{split}_{score}"] = scored[score]
    if is_network:
        values["test_squared_error_percent"] = classifier.squared_error_percent(
            run.given(X), run.given(y)
        )
    if run.spec.cell.curve:
        curves = (
            classifier.training_curve_,
            classifier.validation_curve_,
            classifier.error_curve(X, y),
        )
        run.history |= zip(CURVES, curves, strict=True)
    if hasattr(classifier, "test_measures"):
        values |= classifier.test_measures(run.given(X), run.given(y))
    if is_scored:
        scores, kept = score_predictions(classifier, run.given(X), predicted, problem)
        values |= scores
        run.history |= kept if keeps else {}


def _make_method(run: _Run) -> Any:
    """Return a run's unfitted method with its seed and, if the method takes a classifier, the config's."""
    cell, (seed, _, inner_seed) = run.spec.cell, seeds(run.spec)
    contract = contract_of(find_method(cell.method))
    settings = run.resolved(cell.parameters)
    inner = None
    if contract.takes_classifier and cell.classifier:
        inner = make_classifier(run.resolved(cell.classifier), inner_seed, run.problem.task)
    return _make(contract, settings, seed, inner)


def make_classifier(settings: Mapping[str, Any], seed: int, task: str) -> Any:
    """Return an unfitted classifier or, for an approximation problem, the regressor of the same rule.

    ``settings`` are those of `Cell.classifier`, with `with_networks`.
    """
    own = dict(settings)
    contract = contract_of(find_classifier(own.pop("rule")), task)
    base = own.pop("base", None)
    member = make_classifier(base, seed, task) if base else None
    return _make(contract, own, seed, member)


def _make(contract: Contract, settings: Mapping[str, Any], seed: int, inner: Any) -> Any:
    """Return an unfitted estimator of an entry, with a classifier within it unless that is None."""
    given = {"random_state": seed} if contract.takes_seed else {}
    if inner is not None:
        given["estimator"] = inner
    return contract.estimator(**constructor_arguments(contract.estimator, settings), **given)


def seeds(spec: RunSpec) -> tuple[int, int, int]:
    """Return the seeds of the method, of the classifier, and of a classifier within the method."""
    streams = np.random.SeedSequence(spec.seed).spawn(3)
    method, classifier, inner = (int(stream.generate_state(1)[0]) for stream in streams)
    return method, classifier, inner
