"""Approximation problems: from config to tables, errors, and methods that need classes."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from command_line import pppca
from planning import write_dt

from pppca_bench.classifiers import RpropMLPRegressor
from pppca_bench.config.request import read_request
from pppca_bench.experiments.cell import make_classifier, run_group, seeds
from pppca_bench.methods.registry import METHODS
from pppca_bench.problems import load_problem
from pppca_bench.runs import StoredRun
from pppca_bench.store.database import Store

pytestmark = pytest.mark.usefixtures("nowhere_else")

# A name that the report's table 4 knows.
CONFIG = """\
name: proben1_linear
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


def stored() -> list[StoredRun]:
    with Store(Path("results") / "results.sqlite", read_only=True) as store:
        return list(store.runs())


def test_an_approximation_problem_goes_from_config_to_tables(proben1_dir):
    done = pppca("run", written("building1"), "--data", proben1_dir, "--workers", 0, "--quiet")
    assert (done.exit_code, done.stderr) == (0, "")
    runs, problem = stored(), load_problem("building1", proben1_dir)
    splits = problem.X_train, problem.y_train, problem.X_validation, problem.y_validation
    expected = []
    for spec, result in runs:
        network = RpropMLPRegressor((), max_epochs=20, random_state=seeds(spec)[1]).fit(*splits)
        errors = [
            100 * np.mean((network.predict(X) - y) ** 2)
            for X, y in [(problem.X_train, problem.y_train), (problem.X_test, problem.y_test)]
        ]
        assert [result.values[f"{name}_error_percent"] for name in ("train", "test")] == pytest.approx(errors)
        assert result.values["test_squared_error_percent"] == pytest.approx(errors[1])
        assert (
            result.values["validation_squared_error_percent"] == network.measures_["validation_squared_error_percent"]
        )
        expected.append(errors[1])
    assert len(set(expected)) == 4
    rows = list(csv.DictReader(io.StringIO(pppca("tables", "--format", "csv").stdout)))
    found = {row["column"]: row for row in rows if (row["table"], row["row"]) == ("P4", "building1")}
    assert float(found["test"]["mean"]) == pytest.approx(np.mean(expected))
    assert float(found["test"]["sd"]) == pytest.approx(np.std(expected, ddof=1))
    assert [found["test"][name] for name in ("published", "n")] == ["0.78", "4"]
    assert float(found["total epochs"]["mean"]) == 20


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
    specs = request.specs
    together = run_group(specs, problem)
    assert [result.status for result in together] == ["done"] * 4, together[0].error
    for spec, result in zip(specs, together, strict=True):
        (alone,) = run_group([spec], problem)
        numbers = {name: value for name, value in alone.values.items() if not name.endswith("_ms")}
        assert numbers.items() <= result.values.items()
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


@pytest.mark.parametrize("classifier", ["{rule: backprop}", "{rule: adaboost, base: {hidden: [2]}}"])
def test_classifiers_that_need_classes_are_refused(classifier):
    write_dt(Path("own.dt"), task="real")
    path = written("own.dt", f"[{{method: all_features, classifier: {classifier}}}]")
    result = pppca("run", path, "--workers", 0)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "expected a classification problem, which " in result.stderr
    assert not Path("results").exists()
