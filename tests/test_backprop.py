"""Backpropagation classifier: standardisation, learning rate, validation data and errors."""

import numpy as np
import pytest
from networks import weights_of
from numpy.testing import assert_allclose

from pppca_bench.classifiers import BackpropMLPClassifier


@pytest.mark.parametrize("activations", [("logistic", "linear"), ("softsign", "logistic")])
def test_outputs_after_training_are_those_that_the_training_measured(iris, activations):
    X, y, X_val, y_val = iris
    X, X_val = (inputs * [1, 10, 100, 1000] + 5 for inputs in (X, X_val))
    names = dict(zip(("hidden_activation", "output_activation"), activations, strict=True))
    given = {"standardise": True, "max_epochs": 12, "random_state": 3} | names
    classifier = BackpropMLPClassifier((4, 3), **given).fit(X, y, X_val, y_val)
    error = np.mean((classifier.decision_function(X_val) - np.eye(3)[y_val]) ** 2)
    assert 100 * error == pytest.approx(classifier.validation_curve_[-1], rel=1e-10)
    assert all(np.all(intercepts != 0) for intercepts in classifier.intercepts_)


def test_standardised_features_make_the_scale_of_the_data_indifferent(iris):
    X, y, X_val, y_val = iris
    shift, factor = np.array([3.0, -1.0, 0.0, 10.0]), np.array([0.1, 5.0, 2.0, 30.0])
    one, other = (
        BackpropMLPClassifier((4,), standardise=True, max_epochs=5, random_state=0)
        for _ in range(2)
    )
    one.fit(X, y, X_val, y_val)
    other.fit(X * factor + shift, y, X_val * factor + shift, y_val)
    assert_allclose(weights_of(one), weights_of(other), rtol=1e-9, atol=1e-12)
    assert_allclose(other.mean_, shift + X.mean(axis=0) * factor, atol=1e-12)


def test_constant_feature_is_only_shifted():
    X = np.column_stack([np.full(20, 0.1), np.arange(20.0)])
    classifier = BackpropMLPClassifier((), standardise=True, max_epochs=2, random_state=0).fit(
        X, np.arange(20) > 9
    )
    assert_allclose(classifier.scale_, [1.0, X[:, 1].std()])


def test_learning_rate_falls_to_half_after_the_decay_epochs():
    """One weight, one sample: the step is rate times error, the error shrinks by 1 - rate."""
    X, y = np.zeros((2, 1)), [0, 0]
    parameters = {"decay_epochs": 1.0, "learning_rate": 0.4, "max_epochs": 2, "random_state": 0}
    classifier = BackpropMLPClassifier((), **parameters).fit(X, y, classes=[0, 1])
    one = BackpropMLPClassifier((), **parameters | {"max_epochs": 1}).fit(X, y, classes=[0, 1])
    shrinkage = (1 - classifier.intercepts_[0][0]) / (1 - one.intercepts_[0][0])
    assert shrinkage == pytest.approx((1 - 0.2) ** 2)


@pytest.mark.parametrize(
    ("rule", "decides"),
    [({}, False), ({"keep": "best"}, True), ({"generalisation_loss": 5.0}, True)],
)
def test_a_share_is_held_out_where_the_validation_error_decides(iris, rule, decides):
    X, y = iris[:2]
    classifier, given = (
        BackpropMLPClassifier((4,), **rule, max_epochs=5, random_state=0).fit(X, y, *validation)
        for validation in ((), (X, y))
    )
    assert np.array_equal(weights_of(classifier), weights_of(given)) != decides
