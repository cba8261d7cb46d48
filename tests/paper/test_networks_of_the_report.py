"""The networks of the Proben1 report: their errors, and where `hidden: pivot` names them."""

import numpy as np
import pytest

from pppca_bench.classifiers import RpropMLPClassifier, fit_together
from pppca_bench.methods.networks import with_networks
from pppca_bench.paper.networks import pivot_of
from pppca_bench.problems import load_problem
from pppca_bench.references.reference import installed_references

# Means and standard deviations of the test errors as printed.
PUBLISHED = next(one.numbers for one in installed_references() if one.name == "proben1_report")
PROBLEMS = ["cancer1", "card1", "diabetes1", "glass1", "heart1", "horse1", "soybean1", "thyroid1"]


# Of the linear networks half a point is allowed, since the deviations of some are almost zero.
@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(("table", "least"), [("P3", 0.5), ("P8", 0.0), ("P10", 0.0)])
def test_the_error_is_within_one_published_standard_deviation(name, table, least):
    problem, hidden = load_problem(name), () if table == "P3" else pivot_of(name).hidden
    data = problem.X_train, problem.y_train, problem.X_validation, problem.y_validation
    networks = [
        RpropMLPClassifier(hidden, shortcuts=table == "P8", random_state=seed) for seed in range(60)
    ]
    fit_together(networks, [data] * 60, classes=range(problem.n_classes))
    error = 100 * np.mean(
        [1 - network.score(problem.X_test, problem.y_test) for network in networks]
    )
    published = PUBLISHED[table, name, "classification"]["test_error_percent"]
    assert error == pytest.approx(published.value, abs=max(published.sd, least))


@pytest.mark.parametrize(
    ("problem", "n_outputs", "hidden", "activation"),
    [("building3", 1, (16, 8), "softsign"), ("cancer1", 2, (4, 2), "linear")],
)
def test_a_pivot_network_is_that_of_the_report(problem, n_outputs, hidden, activation):
    named = {"rule": "rprop", "hidden": "pivot", "output_activation": "pivot"}
    of_base = {"rule": "bagging", "base": named}
    own = {"hidden": hidden, "output_activation": activation}
    assert with_networks(named, problem, n_outputs) == named | own
    expected = {"rule": "bagging", "base": {**named, **own}}
    assert with_networks(of_base, problem, n_outputs) == expected
