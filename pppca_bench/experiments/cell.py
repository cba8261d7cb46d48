"""Computation of a cell's runs: estimators from settings, reduced features, classifiers trained together, errors."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.classifiers import MLP, fit_together
from pppca_bench.compiled.arrays import Floats
from pppca_bench.compiled.linear_algebra import rounded
from pppca_bench.experiments.measures import (
    as_matrix,
    class_scores,
    error_percent,
    figure_arrays,
    measure_reconstruction,
    predictions_of,
    score_predictions,
    validated_result,
)
from pppca_bench.methods.isolation import isolated
from pppca_bench.methods.lookup import find_classifier, find_method
from pppca_bench.methods.networks import NETWORK_KEYS, rule_named
from pppca_bench.methods.protocol import (
    PORTRAIT,
    PREDICTIONS,
    STORAGE_FLAGS,
    Contract,
    constructor_arguments,
    contract_of,
)
from pppca_bench.problems import Problem
from pppca_bench.quantities import BALANCED_SCORES
from pppca_bench.runs import Cell, Parameters, RunResult, RunSpec, failed_result, grouped

HISTORY_NODES = 10
"""Number of nodes whose variances are stored: the slides' figures draw at most nine (F3, cancer1)."""

NO_VARIANCE = 1e-15
"""Share of the largest variance below which a feature has none. Choice: a few roundings of the largest eigenvalue."""

_BASE = "base."
"""Prefix of the settings of an ensemble's members."""

Splits = tuple[Floats, Floats, Floats]
"""Training, validation and test inputs, each of shape (n_samples, n_features)."""


@dataclass(frozen=True)
class FittedMethod:
    """A run's fitted method: features for a classifier, a classifier, or measures alone.

    Attributes
    ----------
    spec : RunSpec
    problem : Problem
    splits : tuple of three float64 arrays of shape (n_samples, n_components)
        Inputs of the classifier.
    values : mapping of str to float
        Numbers of the run so far.
    history : mapping of str to array
    reducer, classifier : estimator or None
        Methods that classify have no reducer; with other methods, the classifier is None until it is trained.
    """

    spec: RunSpec
    problem: Problem
    splits: Splits
    values: Mapping[str, float]
    history: Mapping[str, NDArray[Any]]
    reducer: Any = None
    classifier: Any = None


def run_group(
    specs: Sequence[RunSpec], problem: Problem | Sequence[Problem], *, only_method: bool = False
) -> list[RunResult]:
    """Run repeats of a cell, or of cells with the same settings on different data; each result is as if it ran alone.

    Parameters
    ----------
    specs : sequence of RunSpec
        Runs with the same settings, so that their networks train side by side.
    problem : Problem or sequence of Problem
        A problem for all runs, or a problem for each run. Methods and classifier learn from the training split, the
        classifier stops by the validation split, and the test split serves only to measure errors.
    only_method : bool, default False
        Fit the methods alone, and return the numbers that they measure on the training split.

    Returns
    -------
    list of RunResult
        In the order of ``specs``; a run with a numerical error has failed, and has its traceback.
    """
    problems = problems_of(problem, specs)
    try:
        methods = fit_methods(specs, problems)
        results = [_result(own) for own in methods] if only_method else _tested(methods)
    except (ValueError, ArithmeticError):
        if len(specs) == 1:
            return [failed_result(specs[0], traceback.format_exc())]
        half = len(specs) // 2
        parts = slice(half), slice(half, None)
        return [
            made
            for own in parts
            for made in run_group(specs[own], problems[own], only_method=only_method)
        ]
    return list(map(validated_result, specs, results))


def problems_of(
    problem: Problem | Sequence[Problem], specs: Sequence[RunSpec]
) -> Sequence[Problem]:
    """Return the problem of each run."""
    return [problem] * len(specs) if isinstance(problem, Problem) else problem


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
        _tested(
            [FittedMethod(spec, tiny, _inputs(tiny), {}, {})]
            if third_party
            else fit_methods([spec], [tiny])
        )


def fit_run(spec: RunSpec, problem: Problem) -> tuple[Any, Any]:
    """Return a run's reducer (None for a method that classifies by itself) and classifier, fitted as `run_group` does.

    Raises
    ------
    ValueError, ArithmeticError
        A numerical error.
    """
    (method,) = fit_methods([spec], [problem])
    return method.reducer, method.classifier or _train([method])[0]


def takes_validation(cell: Cell, task: str) -> bool:
    """Return whether a cell's method, or a classifier after or within it, takes the validation split."""
    rules = [str(value) for name, value in cell.classifier if name in ("rule", "base.rule")]
    contracts = [contract_of(find_method(cell.method))]
    contracts += [contract_of(find_classifier(rule), task) for rule in rules]
    return any(contract.takes_validation for contract in contracts)


def fit_methods(specs: Sequence[RunSpec], problems: Sequence[Problem]) -> list[FittedMethod]:
    """Fit the methods of runs with the same settings, networks side by side.

    Methods learn from the training split, and from the validation split where the protocol includes it. Times are of
    `time.perf_counter`, which stands still while the machine is suspended (CLOCK_MONOTONIC of Linux).
    """
    contract = contract_of(find_method(specs[0].cell.method))
    jobs = list(zip(specs, problems, strict=True))
    fitted = list[FittedMethod]()
    for batch in [jobs] if issubclass(contract.estimator, MLP) else [[job] for job in jobs]:
        with contained(batch[0][0], 0):
            methods = [make_method(spec, own.task, n_outputs=own.n_outputs) for spec, own in batch]
            start = time.perf_counter()
            if isinstance(methods[0], MLP):
                _fit_networks(methods, [(own, _inputs(own)) for _, own in batch])
            else:
                _fit_alone(methods[0], contract, *batch[0], _inputs(batch[0][1]))
            share_ms = 1e3 * (time.perf_counter() - start) / len(batch)
            fitted += [
                _reduced(*job, method, share_ms) for job, method in zip(batch, methods, strict=True)
            ]
    return fitted


def _inputs(problem: Problem) -> Splits:
    return problem.X_train, problem.X_validation, problem.X_test


def copy_for_third_party(array: NDArray[Any], spec: RunSpec) -> NDArray[Any]:
    """Return a copy of an array if a run calls third-party code, which may change it; otherwise return the array."""
    return array.copy() if spec.cell.is_third_party else array


@contextmanager
def contained(spec: RunSpec, stage: int) -> Iterator[None]:
    """Isolate a stage of a run of third-party code, with the global generators of Python and NumPy seeded."""
    if not spec.cell.is_third_party:
        yield
        return
    with isolated():
        seed = seeds(spec)[stage]
        random.seed(seed)
        np.random.seed(seed)
        yield


def _fit_networks(networks: Sequence[MLP], data: Sequence[tuple[Problem, Splits]]) -> None:
    """Fit networks with equal settings side by side; problems may have different pivot architectures."""

    def settings_of(index: int) -> str:  # an unfitted estimator has no other attributes
        return repr(sorted((vars(networks[index]) | {"random_state": None}).items()))

    sets = [
        (train, problem.y_train, validation, problem.y_validation)
        for problem, (train, validation, _) in data
    ]
    for alike in grouped(range(len(networks)), settings_of).values():
        fit_together(
            [networks[i] for i in alike], [sets[i] for i in alike], classes=_classes(data[0][0])
        )


def _fit_alone(
    estimator: Any, contract: Contract, spec: RunSpec, problem: Problem, splits: Splits
) -> None:
    """Fit an estimator on the training and validation inputs of a problem, original or reduced."""
    train, validation = (copy_for_third_party(X, spec) for X in splits[:2])
    if not contract.takes_targets:
        estimator.fit(train)
        return
    given: dict[str, Any] = {}
    if contract.takes_validation:
        given |= {"X_val": validation, "y_val": copy_for_third_party(problem.y_validation, spec)}
    if contract.takes_classes:
        given["classes"] = _classes(problem)
    y = copy_for_third_party(problem.y_train, spec)
    # One target is a vector to scikit-learn's regressors, a column to this package's.
    estimator.fit(
        train, y[:, 0] if contract.is_foreign and y.ndim == 2 and y.shape[1] == 1 else y, **given
    )


def _classes(problem: Problem) -> NDArray[np.int64] | None:
    """Return all classes of a problem; None for approximation."""
    return None if problem.n_classes is None else np.arange(problem.n_classes)


def _reduced(spec: RunSpec, problem: Problem, method: Any, fit_time_ms: float) -> FittedMethod:
    """Return a fitted method with its measures and, if it makes features, with these."""
    values = dict(getattr(method, "measures_", {}))
    n_epochs = getattr(method, "n_epochs_", getattr(method, "n_generations_", None))
    if n_epochs is not None:
        values["n_epochs"] = n_epochs
    curves = {name: np.asarray(curve) for name, curve in getattr(method, "history_", {}).items()}
    history = {
        name: curve[:, :HISTORY_NODES] if curve.ndim == 2 else curve
        for name, curve in curves.items()
    }
    makes, splits = find_method(spec.cell.method).makes, _inputs(problem)
    if makes == "measures":
        return FittedMethod(spec, problem, splits, values, history)
    values["fit_time_ms"] = fit_time_ms
    if makes == "classes":
        values["dimensionality"] = getattr(method, "n_features_", problem.n_features)
        return FittedMethod(spec, problem, splits, values, history, classifier=method)
    reduced = _features(method, spec, splits)
    values["dimensionality"] = reduced[0].shape[1]
    values |= measure_reconstruction(
        method, problem.X_train, copy_for_third_party(reduced[0], spec)
    )
    if dict(spec.cell.parameters).get(PORTRAIT):
        history |= figure_arrays(method, problem, copy_for_third_party(reduced[0], spec))
    return FittedMethod(spec, problem, reduced, values, history, reducer=method)


def _features(method: Any, spec: RunSpec, splits: Splits) -> Splits:
    """Return the features of each split.

    Third-party features are `rounded`. Features without variance (`explained_variance_`) become 0: they are rounding
    errors, which a classifier that standardises its inputs would scale up.

    Raises
    ------
    ValueError
        The features are not finite numbers of shape (n_samples, n_components), with the same n_components >= 1.
    """
    features: list[Floats] = []
    for name, X in zip(("training", "validation", "test"), splits, strict=True):
        n_columns = features[0].shape[1] if features else None
        expected = f"({len(X)}, {n_columns or 'at least 1'})"
        where = f"transform of {type(method).__name__}, {name} split: expected finite numbers of shape {expected}"
        reduced = as_matrix(method.transform(copy_for_third_party(X, spec)), where)
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
        features.append(rounded(reduced) if find_method(spec.cell.method).foreign else reduced)
    variances = getattr(method, "explained_variance_", None)
    if isinstance(variances, np.ndarray) and variances.shape == features[0].shape[1:]:
        for reduced in features:
            reduced[:, variances < NO_VARIANCE * variances.max()] = 0.0
    return features[0], features[1], features[2]


def _tested(methods: Sequence[FittedMethod]) -> list[RunResult]:
    """Train the classifiers of methods that make features, networks side by side, and measure errors."""
    if find_method(methods[0].spec.cell.method).makes == "measures":
        return list(map(_result, methods))
    if methods[0].classifier is None:
        start = time.perf_counter()
        classifiers = _train(methods)
        time_ms = 1e3 * (time.perf_counter() - start) / len(methods)
        methods = [
            replace(
                own, values={**own.values, "classifier_time_ms": time_ms}, classifier=classifier
            )
            for own, classifier in zip(methods, classifiers, strict=True)
        ]
    return list(map(_with_errors, methods))


def _result(method: FittedMethod) -> RunResult:
    return RunResult(method.spec.key, "done", values=method.values, history=method.history)


def _train(methods: Sequence[FittedMethod]) -> Sequence[Any]:
    """Return trained classifiers, networks trained side by side."""
    classifiers = []
    for own in methods:
        problem, settings = own.problem, own.spec.cell.classifier
        with contained(own.spec, 1):
            classifier = make_classifier(
                settings,
                own.spec.cell.problem,
                seeds(own.spec)[1],
                problem.task,
                n_outputs=problem.n_outputs,
            )
            classifiers.append(classifier)
            if not isinstance(classifier, MLP):
                contract = contract_of(find_classifier(str(dict(settings)["rule"])), problem.task)
                _fit_alone(classifier, contract, own.spec, problem, own.splits)
    if isinstance(classifiers[0], MLP):
        _fit_networks(classifiers, [(own.problem, own.splits) for own in methods])
    return classifiers


def _with_errors(method: FittedMethod) -> RunResult:
    """Return the result of a run, with the errors of its classifier."""
    classifier, problem, spec = method.classifier, method.problem, method.spec
    values, history = dict(method.values), dict(method.history)
    for name, attribute in (("total_epochs", "n_epochs_"), ("relevant_epochs", "best_epoch_")):
        if (n_epochs := getattr(classifier, attribute, None)) is not None:
            values[name] = n_epochs
    values |= getattr(classifier, "measures_", {})
    targets = (problem.y_train, problem.y_validation, problem.y_test)
    is_network = hasattr(classifier, "squared_error_percent")
    keeps = bool(dict(spec.cell.parameters).get(PREDICTIONS))
    is_scored = keeps or problem.has_imbalanced_labels
    with contained(spec, 2):
        for split, X, y in zip(
            ("train", "validation", "test"), method.splits, targets, strict=True
        ):
            predicted = predictions_of(
                classifier, copy_for_third_party(X, spec), y, problem.n_classes
            )
            name, error = error_percent(predicted, y, problem.n_classes)
            # A network's own squared errors stand: the least training error, and the same validation error.
            stands = is_network and problem.n_classes is None
            values[f"{split}_{name}"] = values.get(f"{split}_{name}", error) if stands else error
            if split == "validation" and is_scored and problem.n_classes is not None:
                own = class_scores(predicted, y, range(problem.n_classes))
                values |= {f"{split}_{score}": own[score] for score in BALANCED_SCORES}
        if is_network:
            given = copy_for_third_party(X, spec), copy_for_third_party(y, spec)
            values["test_squared_error_percent"] = classifier.squared_error_percent(*given)
        if hasattr(classifier, "test_measures"):
            given = copy_for_third_party(X, spec), copy_for_third_party(y, spec)
            values |= classifier.test_measures(*given)
        if is_scored:
            scores, kept = score_predictions(
                classifier, copy_for_third_party(X, spec), predicted, problem
            )
            values, history = values | scores, history | (kept if keeps else {})
    return RunResult(spec.key, "done", values=values, history=history)


def make_method(spec: RunSpec, task: str = "classification", *, n_outputs: int = 1) -> Any:
    """Return a run's unfitted method with its seed and, if the method takes a classifier, the config's.

    ``task`` is "classification" or "approximation"; ``n_outputs``, the number of classes or targets, sets the size of
    a network for a problem without a published network.
    """
    contract = contract_of(find_method(spec.cell.method))
    seed, _, inner_seed = seeds(spec)
    settings = {name: value for name, value in spec.cell.parameters if name not in STORAGE_FLAGS}
    inner = None
    if contract.takes_classifier and spec.cell.classifier:
        inner = make_classifier(
            spec.cell.classifier, spec.cell.problem, inner_seed, task, n_outputs=n_outputs
        )
    return _make(contract, settings, spec.cell.problem, n_outputs, seed, inner)


def make_classifier(
    settings: Parameters,
    problem: str,
    seed: int,
    task: str = "classification",
    *,
    n_outputs: int = 1,
) -> Any:
    """Return an unfitted classifier or, for an approximation problem, the regressor of the same rule.

    ``settings`` are those of `Cell.classifier`: names that begin with ``base.`` belong to an ensemble's members.
    """
    own = {name: value for name, value in settings if not name.startswith(_BASE)}
    base = tuple(
        (name.removeprefix(_BASE), value) for name, value in settings if name.startswith(_BASE)
    )
    contract = contract_of(find_classifier(str(own.pop("rule"))), task)
    inner = make_classifier(base, problem, seed, task, n_outputs=n_outputs) if base else None
    return _make(contract, own, problem, n_outputs, seed, inner)


def _make(
    contract: Contract,
    settings: Mapping[str, Any],
    problem: str,
    n_outputs: int,
    seed: int,
    inner: Any,
) -> Any:
    """Return an unfitted estimator, with the problem's network in place of the name of a rule."""
    resolved = dict(settings)
    for name in settings.keys() & NETWORK_KEYS:
        if rule := rule_named(settings[name]):
            resolved[name] = getattr(rule.network(problem, n_outputs), name)
    given = {"random_state": seed} if contract.takes_seed else {}
    if inner is not None:
        given["estimator"] = inner
    return contract.estimator(**constructor_arguments(contract.estimator, resolved), **given)


def seeds(spec: RunSpec) -> tuple[int, int, int]:
    """Return the seeds of the method, of the classifier, and of a classifier within the method."""
    streams = np.random.SeedSequence(spec.seed).spawn(3)
    method, classifier, inner = (int(stream.generate_state(1)[0]) for stream in streams)
    return method, classifier, inner
