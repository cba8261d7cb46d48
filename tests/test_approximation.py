"""Runs on approximation problems: errors, networks and methods."""

from pathlib import Path

import numpy as np
import pytest
from planning import write_dt

from pppca_bench.classifiers import RpropMLPRegressor
from pppca_bench.config.request import read_request
from pppca_bench.experiments.cell import make_classifier, run_group, seeds
from pppca_bench.methods.registry import METHODS

pytestmark = pytest.mark.usefixtures("nowhere_else")

CONFIG = """\
name: a
problems: [{problem}]
repeats: 4
seed: 1
methods: {methods}
classifier: {{hidden: [], max_epochs: 20}}
"""
APPROXIMATING = [name for name, entry in METHODS.items() if entry.makes == "features" and not entry.needs_classes]
SHORT = {
    "gha": {"n_epochs": 5},
    "dgha": {"n_epochs": 5, "tau": 20},
    "ne_ppca": {"n_generations": 3, "tau": 20},
    "pca_like_dgha": {"n_epochs": 5, "tau": 20},
    "pca_like_ne_ppca": {"n_generations": 3, "tau": 20},
    "dgha_without_removal": {"n_epochs": 5, "tau": 20},
    "autoencoder": {"max_iter": 10, "tau": 20},
    **{name: {"tau": 20} for name in ("pca", "pca_svd", "ica", "ccipca", "fsm", "adaoja", "eigengame")},
}


def written(problem: str, methods: str = "[{method: all_features}]") -> Path:
    path = Path("config.yaml")
    path.write_text(CONFIG.format(problem=problem, methods=methods))
    return path


def test_errors_of_an_approximation_problem_are_squared_errors_in_percent(proben1_dir):
    request = read_request([written("building1")], data_dir=proben1_dir)
    ((_, problem),) = request.problems.values()
    splits = problem.X_train, problem.y_train, problem.X_validation, problem.y_validation
    results = run_group(request.specs, problem)
    for spec, result in zip(request.specs, results, strict=True):
        network = RpropMLPRegressor((), max_epochs=20, random_state=seeds(spec)[1]).fit(*splits)
        errors = [
            100 * np.mean((network.predict(X) - y) ** 2)
            for X, y in [(problem.X_train, problem.y_train), (problem.X_test, problem.y_test)]
        ]
        assert [result.values[f"{name}_error_percent"] for name in ("train", "test")] == pytest.approx(errors)
        assert result.values["test_squared_error_percent"] == pytest.approx(errors[1])
        assert network.measures_.items() <= result.values.items()
    assert len({result.values["test_error_percent"] for result in results}) == 4


def test_its_pivot_architecture_has_the_outputs_of_the_report(proben1_dir):
    path = written("building3")
    path.write_text(path.read_text().replace("hidden: []", "hidden: pivot, output_activation: pivot"))
    (plan,) = read_request([path], data_dir=proben1_dir).plans
    cell = plan.specs[0].cell
    network = make_classifier(cell.classifier, cell.problem, 0, "approximation")
    assert type(network) is RpropMLPRegressor
    assert (network.hidden_layer_sizes, network.output_activation) == ((16, 8), "softsign")


@pytest.mark.parametrize("method", APPROXIMATING)
def test_every_method_that_needs_no_classes_reduces_the_inputs(method):
    write_dt(Path("own.dt"), task="real")
    parameters = ", ".join(f"{name}: {value}" for name, value in SHORT.get(method, {}).items())
    request = read_request([written("own.dt", f"[{{method: {method}{parameters and ', '}{parameters}}}]")])
    ((_, problem),) = request.problems.values()
    for result in run_group(request.specs, problem):
        assert result.status == "done", result.error
        assert result.values["test_error_percent"] == pytest.approx(result.values["test_squared_error_percent"])
        assert 0 < result.values["test_error_percent"] < 100


def test_a_single_output_is_approximated_too():
    lines = ["bool_in=0", "real_in=1", "bool_out=0", "real_out=1"]
    lines += ["training_examples=8", "validation_examples=4", "test_examples=4"]
    lines += [f"{k / 16:.4f} {0.2 + 0.5 * k / 16:.4f}" for k in range(16)]
    Path("own.dt").write_text("\n".join(lines) + "\n")
    request = read_request([written("own.dt")])
    ((_, problem),) = request.problems.values()
    for result in run_group(request.specs, problem):
        assert result.status == "done", result.error
        assert result.values["test_error_percent"] == pytest.approx(result.values["test_squared_error_percent"])
        assert result.values["train_error_percent"] < 1
