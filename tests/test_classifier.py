"""RPROP classifier: training, training of several networks together, errors, and the report's test errors."""

import numpy as np
import pytest
from networks import weights_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from pppca_bench.classifiers import RpropMLPClassifier, fit_together
from pppca_bench.paper.networks import pivot_of
from pppca_bench.problems import load_problem
from pppca_bench.references.reference import PROBEN1_REPORT, own_references


def test_fitting_together_gives_the_same_bits_as_fitting_alone(iris):
    """Different seeds, widths, projections and sizes, and sets without validation data; nothing gives nothing."""
    X, y, X_val, y_val = iris
    given = {"shortcuts": True, "max_epochs": 40}
    classifiers = [RpropMLPClassifier((4, 2), **given, random_state=seed) for seed in range(12)]
    sets = []
    for seed in range(12):
        W, n = np.random.default_rng(seed).normal(size=(4, 1 + seed % 4)), 90 - seed % 2
        sets.append((X[:n] @ W, y[:n], *((X_val @ W, y_val) if seed % 3 else (None, None))))
    alone = [clone(one).fit(*data) for one, data in zip(classifiers, sets, strict=True)]
    together = fit_together(classifiers, sets)
    assert all(one is other for one, other in zip(together, classifiers, strict=True))
    for one, other in zip(alone, together, strict=True):
        assert_array_equal(weights_of(one), weights_of(other))
        assert_array_equal(one.training_curve_, other.training_curve_)
        assert_array_equal(one.validation_curve_, other.validation_curve_)
    assert fit_together([], []) == []


def test_class_that_only_the_validation_data_have_gets_an_output(iris):
    X, y, X_val, y_val = iris
    few = y != 2
    classifier = RpropMLPClassifier((3,), max_epochs=20, random_state=0).fit(
        X[few], y[few], X_val, y_val
    )
    assert_array_equal(classifier.classes_, [0, 1, 2])
    assert classifier.decision_function(X).shape == (90, 3)


def test_probabilities_are_the_nearest_to_the_outputs(iris):
    classifier = RpropMLPClassifier((), max_epochs=1, random_state=0).fit(*iris)
    classifier._weights = [np.array([[0.9, 0, 0, 0, 0], [0.5, 0, 0, 0, 0], [-0.3, 0, 0, 0, 0]])]
    assert_allclose(classifier.predict_proba(np.zeros((1, 4))), [[0.7, 0.3, 0.0]])
    assert_allclose(
        classifier.predict_log_proba(np.zeros((1, 4))), [[np.log(0.7), np.log(0.3), -np.inf]]
    )


@pytest.mark.parametrize(
    ("given", "sizes"), [([3, 2], (3, 2)), (np.array([3, 2]), (3, 2)), (np.int64(3), (3,))]
)
def test_layer_sizes_may_be_a_list_an_array_or_an_integer(iris, given, sizes):
    networks = [RpropMLPClassifier(one, max_epochs=2, random_state=0) for one in (sizes, given)]
    alone = clone(networks[1]).fit(*iris)
    for other in (alone, fit_together(networks, [iris, iris])[1]):
        assert_array_equal(other.decision_function(iris[0]), networks[0].decision_function(iris[0]))


# Means and standard deviations of the test errors as printed.
PUBLISHED = next(one.numbers for one in own_references() if one.name == PROBEN1_REPORT)
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


def test_inputs_divided_by_their_root_mean_square_do_not_depend_on_origin_and_scale():
    X, y = np.random.default_rng(3).normal(size=(60, 4)), np.arange(60) % 3
    unfitted = RpropMLPClassifier((3,), input_scaling="rms", max_epochs=20, random_state=0)
    network, moved = clone(unfitted).fit(X, y), clone(unfitted).fit(8.0 * X + 64.0, y)
    assert_allclose(network.scale_, np.sqrt(np.mean((X - network.mean_) ** 2)), rtol=0.1)
    assert_allclose(
        moved.decision_function(8.0 * X + 64.0), network.decision_function(X), atol=1e-9
    )
    assert unfitted.fit(np.ones((9, 2)), y[:9]).scale_ == 1.0
