"""Degenerate data: finite numbers, or a failure that names its cause, for every method."""

import math
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from builders import small, write_config
from command_line import printed
from test_cell import planned

from pppca_bench.experiments.cell import run_group
from pppca_bench.methods.registry import METHODS
from pppca_bench.problems import Problem, load_problem

Change = Callable[[np.ndarray], np.ndarray]


def changed(problem: Problem, prefix: str, change: Change) -> Problem:
    """Return a problem whose inputs (X) or targets (y) are changed in all splits."""
    names = [f"{prefix}_{split}" for split in ("train", "validation", "test")]
    return replace(problem, **{name: change(getattr(problem, name)) for name in names})


def inputs(change: Change) -> Callable[[Problem], Problem]:
    return lambda problem: changed(problem, "X", change)


def training(problem: Problem, rows: object) -> Problem:
    return replace(problem, X_train=problem.X_train[rows], y_train=problem.y_train[rows])


def few_samples_of_many_features(problem: Problem) -> Problem:
    return training(inputs(lambda X: np.hstack([X, X**2, X**3]))(problem), slice(None, None, 13))


KINDS = {
    "a constant feature": inputs(lambda X: np.hstack([np.full((len(X), 1), 0.5), X])),
    "constant features alone": inputs(np.ones_like),
    "duplicated features": inputs(lambda X: np.hstack([X, X[:, :2]])),
    "fewer samples than features": few_samples_of_many_features,
    "one sample": lambda problem: training(problem, slice(1)),
    "one class": lambda problem: changed(problem, "y", np.zeros_like),
    "a class missing from training": lambda problem: training(problem, problem.y_train != 2),
    "inputs times 1e150": inputs(lambda X: X * 1e150),
    "inputs times 1e-150": inputs(lambda X: X * 1e-150),
}
CAUSES = {
    "constant features alone": "constant|alike",
    "one sample": "1 sample|one; got 1 class",
    "one class": "1 class|one mean for all",
    "inputs times 1e150": "expected a largest magnitude from 1e-140 to 1e\\+140, got 1e\\+150",
    "inputs times 1e-150": "expected a largest magnitude from 1e-140 to 1e\\+140, got 1e-150",
}


MAIN_RESULTS = {"test_error_percent", "speedup_operations", "residual_norm"}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_odd_data_give_finite_numbers_or_a_failure_that_names_its_cause(kind, method):
    (result,) = run_group(planned(method, repeats=1), [KINDS[kind](load_problem("iris"))])
    if result.status == "failed":
        *_, cause = result.error.strip().splitlines()
        assert cause.startswith("ValueError: ")
        assert re.search(CAUSES[kind], cause), cause
        return
    assert result.values.keys() & MAIN_RESULTS
    assert all(math.isfinite(number) for number in result.values.values())
    if method in ("hebbian_pca", "notebook_pca"):  # which keeps all components
        return
    # A method that classifies by itself may select no feature.
    assert result.values["dimensionality"] >= (0 if METHODS[method].makes == "classes" else 1)


@pytest.mark.slow
def test_no_table_has_a_number_of_a_run_that_diverged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    diverging = {"method": "gha", "learning_rate": 1000, "n_epochs": 20}
    path = write_config(tmp_path, small(diverging, {"method": "all_features"}, repeats=1))
    error = "GHA diverged in epoch 1: learning_rate 1000.0 is too large for "
    assert printed("run", path, "--workers", "0", "--quiet", code=1).startswith(
        f"1 of 2 runs failed, the first: iris, gha, repeat 0: ValueError: {error}"
    )
    for form in ("csv", "markdown", "json"):
        shown = printed("tables", "--format", form)
        assert not re.search(r"\b(nan|inf|infinity)\b", shown, re.IGNORECASE)
