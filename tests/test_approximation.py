"""Runs on approximation problems: errors, networks and methods."""

import numpy as np
import pytest
from builders import small, specs_of
from test_cell import SHORT

from pppca_bench.classifiers import RpropMLPRegressor
from pppca_bench.experiments.cell import make_classifier, run_group, seeds
from pppca_bench.methods.registry import METHODS
from pppca_bench.problems import load_problem

LINEAR = {"hidden": [], "max_epochs": 20}
APPROXIMATING = [
    name for name, entry in METHODS.items() if entry.makes == "features" and not entry.needs_classes
]


def test_errors_of_an_approximation_problem_are_squared_errors_in_percent():
    specs = specs_of(small({"method": "all_features"}, problems=["building1"], classifier=LINEAR))
    problem = load_problem("building1")
    splits = problem.X_train, problem.y_train, problem.X_validation, problem.y_validation
    results = run_group(specs, problem)
    for spec, result in zip(specs, results, strict=True):
        network = RpropMLPRegressor((), max_epochs=20, random_state=seeds(spec)[1]).fit(*splits)
        pairs = (problem.X_validation, problem.y_validation), (problem.X_test, problem.y_test)
        errors = [100 * np.mean((network.predict(X) - y) ** 2) for X, y in pairs]
        values = [result.values[f"{name}_squared_error_percent"] for name in ("validation", "test")]
        assert values == pytest.approx(errors)
        assert network.measures_.items() <= result.values.items()
        assert not [
            name
            for name in result.values
            if name.endswith("_error_percent") and "squared" not in name
        ]
    assert (
        results[0].values["test_squared_error_percent"]
        != results[1].values["test_squared_error_percent"]
    )


def test_its_pivot_architecture_has_the_outputs_of_the_report():
    settings = {"rule": "rprop", "hidden": "pivot", "output_activation": "pivot"}
    network = make_classifier(tuple(settings.items()), "building3", 0, "approximation")
    assert type(network) is RpropMLPRegressor
    assert (network.hidden_layer_sizes, network.output_activation) == ((16, 8), "softsign")


@pytest.mark.parametrize("method", APPROXIMATING)
def test_every_method_that_needs_no_classes_reduces_the_inputs(method):
    section = {"method": method, **SHORT[method]}
    specs = specs_of(small(section, problems=["heartac1"], repeats=1, tau=20, classifier=LINEAR))
    (result,) = run_group(specs, load_problem("heartac1"))
    assert result.status == "done", result.error
    assert 0 < result.values["test_squared_error_percent"] < 100
