"""The fitted scikit-learn Pipeline of a stored run, to save and to predict with."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.metaestimators import available_if

from pppca_bench.compiled.arrays import Array, Floats
from pppca_bench.config.plan import algorithms_of
from pppca_bench.errors import ConfigError, DataError, StoreError
from pppca_bench.experiments.cell import fit_run, learns_from_validation
from pppca_bench.experiments.choosing import with_choice, with_settings
from pppca_bench.experiments.given_data import GivenData, saved, with_given
from pppca_bench.experiments.measures import (
    as_matrix,
    error_percent,
    predictions_of,
    probabilities_of,
)
from pppca_bench.experiments.request import read_request
from pppca_bench.methods.lookup import find_method
from pppca_bench.methods.third_party import extend_sys_path
from pppca_bench.problems import (
    DataSet,
    OwnData,
    Problem,
    load_data_set,
    load_problem,
    load_source,
    registered,
)
from pppca_bench.problems.encode import FrozenEstimator, RowEncoder, TrainingRange
from pppca_bench.quantities import error_of
from pppca_bench.runs import RunResult, RunSpec
from pppca_bench.store import DATABASE, RESULTS
from pppca_bench.store.choices import recommended
from pppca_bench.store.database import Store
from pppca_bench.store.export import find_run
from pppca_bench.yaml_files.source import parse_yaml


def pipeline(
    run: str,
    results: str | Path = RESULTS,
    *,
    folder: str | Path = ".",
    problems: GivenData | None = None,
    data_dir: str | Path | None = None,
    unseen: Literal["refuse", "ignore"] = "refuse",
    final: bool = False,
) -> Pipeline:
    """Fit the reducer and classifier of a stored run again, with the same seed, settings, training and validation rows.

    With ``final``, they are fitted to all rows, to predict new rows: the validation rows of the run's split stop
    networks and choose candidates, and all other rows are training rows. If nothing learns from them, all rows are
    training rows. Settings that runs choose are those that are the best over all runs with the same candidates. No row
    is left to test this model: the test errors of the runs, on all splits, estimate its error.

    The method is imported from the module that the run names: use only results that you trust.

    Parameters
    ----------
    run : str
        A key, its beginning, or ``config/problem/method/repeat``.
    results : path, default "pppca-results"
        Folder of ``results.sqlite``.
    folder : path, default "."
        Folder of the config, to which its paths of files and modules are relative.
    problems : mapping of str to (X, y), optional
        Data that were passed to `pppca_bench.run`.
    data_dir : path, optional
        First folder to look for Proben1 files.
    unseen : {"refuse", "ignore"}, default "refuse"
        Whether `predict` raises ValueError for a category that is not in the table, or encodes it as no category.
    final : bool, default False
        Whether to fit all rows, with the recommended settings.

    Returns
    -------
    sklearn.pipeline.Pipeline
        The steps ``encode`` (of tables), ``reduce`` (of methods that make features) and ``classify``. For a table,
        `predict` takes a data frame of raw rows, such as `pppca_bench.read_table` returns, and returns values of the
        target's column; for other problems it takes scaled inputs, and returns numbers of classes, or scaled numbers.
        The steps cannot be fitted again.

    Raises
    ------
    ValueError
        ``unseen`` has another value.
    UnknownNameError
        No run, or several runs, have that name.
    StoreError
        The run is not done, only measures, or was computed by other versions of its algorithms.
    DataError
        The run's data are missing or have changed.

    Warns
    -----
    UserWarning
        The test error differs from the stored error, because of another processor or other libraries.
    """
    if unseen not in ("refuse", "ignore"):
        raise ValueError(f"unseen in pipeline: expected 'refuse' or 'ignore', got {unseen!r}.")
    folder = Path(folder)
    extend_sys_path([folder, Path.cwd()])
    spec, result, asking = _read_run(run, Path(results) / DATABASE, final=final)
    with saved(problems or {}) as given:
        first = Path(data_dir) if data_dir else None
        problem, data, split = _opened(spec, asking, folder, given, first)
    return _of_run(spec, result, problem, data, split, unseen)


def _of_run(
    spec: RunSpec,
    result: RunResult | None,
    problem: Problem,
    data: DataSet | None,
    split: int,
    unseen: Literal["refuse", "ignore"],
) -> Pipeline:
    """Return the pipeline of a run, fitted to all rows if there is no result."""
    if data is None:
        if result is None:
            problem = _with_all_rows(spec, problem)
        return Pipeline(_fitted(spec, problem, result))
    train, validation, test = data.rows(split)
    if result is None:
        stops = learns_from_validation(spec, problem)
        train = _all_rows(train, validation, test, stops=stops)
        problem = data.problem((train, validation, test))
    *steps, (name, classifier) = _fitted(spec, problem, result)
    if data.classes:
        named: Any = NamedClasses(classifier, data.class_values)
    else:
        named = ScaledBack(classifier, data.target_range(train))
    encode = RowEncoder(data.inputs, data.encoder(train), data.own.read_keys, unseen=unseen)
    return Pipeline([("encode", encode), *steps, (name, named)])


def _read_run(
    run: str, database: Path, *, final: bool
) -> tuple[RunSpec, RunResult | None, Mapping[str, str]]:
    """Return a stored run with the settings to fit, its result, and the texts of the configs that ask for it, by name.

    With ``final``, the settings are those that are the best over all repeats, which the result does not belong to: it
    is None.
    """
    with Store(database, read_only=True) as store:
        key = find_run(store, run)
        spec, stored = store.runs_by_key([key])[key]
        texts = store.config_texts()
        asking = {name: texts[name] for name in store.configs_of(key)}
        repeats = store.runs_of_cell(key) if final else []
    result = _checked(spec, stored)
    choices = [other.choice for _, other in repeats if other and other.choice]
    best = recommended(spec.cell, choices)
    spec = with_settings(spec, best[0]) if best else with_choice(spec, result)
    return spec, None if final else result, asking


def _with_all_rows(spec: RunSpec, problem: Problem) -> Problem:
    """Return a problem whose training rows are `_all_rows`."""
    stops = learns_from_validation(spec, problem)
    X = _all_rows(problem.X_train, problem.X_validation, problem.X_test, stops=stops)
    y = _all_rows(problem.y_train, problem.y_validation, problem.y_test, stops=stops)
    return replace(problem, X_train=X, y_train=y)


def _checked(spec: RunSpec, result: RunResult | None) -> RunResult:
    """Return a run's result; raise StoreError if the run cannot be fitted, or not with this version of the code."""
    cell = spec.cell
    if result is None or result.status != "done":
        raise StoreError(
            f"run {spec.key}: expected a completed run, got {'planned' if result is None else 'failed'}."
        )
    if find_method(cell.method).makes != "classes" and not cell.classifier:
        raise StoreError(
            f"run {spec.key}: expected a method that predicts, got {cell.method}, which only measures."
        )
    if (now := algorithms_of(cell.method, cell.classifier)) != cell.algorithms:
        then, today = (
            ", ".join(f"{name} {version}" for name, version in some)
            for some in (cell.algorithms, now)
        )
        raise StoreError(
            f"run {spec.key}: expected the versions {then}, got {today}. Run its config again."
        )
    return result


def _opened(
    spec: RunSpec,
    texts: Mapping[str, str],
    folder: Path,
    given: Mapping[str, OwnData],
    data_dir: Path | None,
) -> tuple[Problem, DataSet | None, int]:
    """Return a run's problem, the user-defined table or None, and the number of the run's split."""
    wanted = spec.cell.problem, spec.cell.data_sha256
    causes = list[str]()
    if spec.cell.problem in registered():
        problem = load_problem(spec.cell.problem, data_dir)
        if problem.sha256 == spec.cell.data_sha256:
            return problem, None, 0
        texts = {}  # configs have no other data for it
    for name, text in texts.items():
        # Names of changed configs (--set) are not names of configs.
        document = with_given(
            parse_yaml(folder / f"{name}.yaml", text), given, name=name.partition("+")[0]
        )
        try:
            opened = read_request([document], data_dir=data_dir, given=given, force=True).problems
        except (ConfigError, DataError) as error:
            causes.append(str(error).splitlines()[-1])
            continue
        if wanted in opened:
            source = opened[wanted][0]
            of_run = source.of_repeat(spec.repeat)
            return load_source(of_run), load_data_set(source), of_run.split
    got = f" ({causes[0]})" if causes else ""
    raise DataError(
        f"{spec.cell.problem}: expected the data of run {spec.key} (SHA-256 {spec.cell.data_sha256[:12]}...), got none,"
        f" or other data, in {folder}{got}. Name the config's folder, or give the data as `problems`."
    )


def _all_rows(train: Array, validation: Array, test: Array, *, stops: bool) -> Array:
    """Return all rows of three splits or, if something learns from the validation rows, all others."""
    return np.concatenate([train, test, *([] if stops else [validation])])


def _fitted(spec: RunSpec, problem: Problem, result: RunResult | None) -> list[tuple[str, Any]]:
    """Return the fitted steps of a run: the reducer, if there is one, and the classifier.

    Warn if the test error differs from that of a stored result.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # as in the run
        reducer, classifier = fit_run(spec, problem)
    steps: list[tuple[str, Any]] = [] if reducer is None else [("reduce", reducer)]
    if reducer is not None and find_method(spec.cell.method).foreign:
        steps.append(("matrix", FunctionTransformer(as_matrix)))
    steps.append(("classify", classifier))
    if result is not None:
        n_classes, y = problem.n_classes, problem.y_test
        predicted = predictions_of(Pipeline(steps), problem.X_test, y, n_classes)
        _, error = error_percent(predicted, y, n_classes)
        stored = result.values[error_of(result.values)]
        if not np.isclose(stored, error, rtol=1e-9, atol=1e-12):
            warnings.warn(
                f"run {spec.key}: its test error is {stored:.6g} %, the pipeline's {error:.6g} %. The run was computed"
                " by another processor, or by other versions of the libraries.",
                stacklevel=4,
            )
    return steps


class NamedClasses(ClassifierMixin, FrozenEstimator):  # type: ignore[misc]
    """Classifier of a table's classes by a fitted classifier of their numbers; ``values`` has the classes in order."""

    def __init__(self, estimator: Any, values: Array) -> None:
        self.estimator, self.values = estimator, values

    @property
    def classes_(self) -> Array:
        """The classes."""
        return self.values

    def predict(self, X: Floats) -> Array:
        """Return classes, of shape (n_samples,)."""
        named: Array = self.values[np.asarray(self.estimator.predict(X), dtype=np.int64)]
        return named

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Floats) -> Floats:
        """Return class probabilities, of shape (n_samples, n_classes)."""
        return probabilities_of(self.estimator, X, len(self.values))


class ScaledBack(RegressorMixin, FrozenEstimator):  # type: ignore[misc]
    """Regressor of a table's targets, in their own scale, by a fitted regressor of targets scaled by ``scaler``."""

    def __init__(self, estimator: Any, scaler: TrainingRange) -> None:
        self.estimator, self.scaler = estimator, scaler

    def predict(self, X: Floats) -> Floats:
        """Return targets of shape (n_samples, n_targets), or (n_samples,) for a single target."""
        scaled = np.asarray(self.estimator.predict(X), dtype=np.float64).reshape(len(X), -1)
        targets: Floats = self.scaler.inverse_transform(scaled)
        return targets[:, 0] if targets.shape[1] == 1 else targets
