"""Layered genetic programming: what it finds, how its layers are evaluated, and what it leaves alone."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from pppca_bench.classifiers import RpropMLPClassifier
from pppca_bench.reducers.layered_gp import Layer, LayeredGP

TINY = {"layer_width": 4, "population_size": 12, "n_generations": 2, "tournament_size": 3}
SMALL = RpropMLPClassifier((2,), max_epochs=10, random_state=0)


@parametrize_with_checks(
    [LayeredGP(1, layer_width=1, population_size=4, n_generations=1, estimator=SMALL, random_state=0)]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def product():
    """The class is whether a product is large: no feature tells it alone."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(300, 4))
    y = (X[:, 0] * X[:, 2] > 0.0).astype(int)
    return X[:200], y[:200], X[200:], y[200:]


def test_product_of_features_is_found(product):
    X, y = product[:2]
    gp = LayeredGP(1, n_layers=1, layer_width=4, population_size=100, estimator=SMALL, random_state=0).fit(*product)
    assert np.max(np.abs([np.corrcoef(column, y)[0, 1] for column in X.T])) < 0.2
    assert abs(np.corrcoef(gp.transform(X)[:, 0], y)[0, 1]) > 0.7
    assert "mul" in gp.expressions_[0]


def test_number_of_features_is_the_smallest_of_the_least_validation_error(product):
    gp = LayeredGP(estimator=SMALL, random_state=1, **TINY).fit(*product)
    errors = gp.history_["validation_error_percent"]
    assert gp.n_components_ == gp.history_["n_features"][np.flatnonzero(errors == errors.min())[0]]
    assert gp.transform(product[2]).shape == (100, gp.n_components_)
    assert len(gp.expressions_) == gp.n_components_


def test_layers_feed_each_other(product):
    X = product[0]
    gp = LayeredGP(n_layers=3, estimator=SMALL, random_state=1, **TINY).fit(*product)
    values = X
    for layer in gp.layers_:
        values = layer.outputs(values)
        np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=1e-9)
        np.testing.assert_allclose(values.std(axis=0), 1.0)
    np.testing.assert_array_equal(gp.transform(X), values[:, : gp.n_components_])
    assert len(gp.history_["best_fitness"]) == 3 * 2


def test_best_fitness_of_a_layer_is_the_correlation_with_the_class():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    gp = LayeredGP(n_layers=1, estimator=SMALL, random_state=0, **TINY).fit(X, y, X, y)
    correlations = np.abs(np.corrcoef(gp.layers_[0].outputs(X).T, y)[-1, :-1])
    assert correlations[0] == pytest.approx(gp.history_["best_fitness"][-1], rel=1e-6)


def test_more_classes_take_turns():
    X, y = load_iris(return_X_y=True)
    gp = LayeredGP(3, n_layers=1, layer_width=6, population_size=60, n_generations=3, estimator=SMALL, random_state=0)
    outputs = gp.fit(X, y, X, y).transform(X)
    for label, column in enumerate(outputs.T):
        assert abs(np.corrcoef(column, y == label)[0, 1]) > 0.6


class _Reciprocal:
    def execute(self, X):
        return 1.0 / X[:, 0]


def test_values_beyond_the_training_range_are_cut_off():
    layer = Layer(
        [_Reciprocal()], low=np.array([1.0]), high=np.array([3.0]), mean=np.array([2.0]), scale=np.array([0.5])
    )
    inputs = np.array([[0.5], [1e-300], [0.0], [-1.0], [np.nan]])
    np.testing.assert_array_equal(layer.outputs(inputs), [[0.0], [2.0], [2.0], [-2.0], [0.0]])


def test_global_random_state_is_left_alone(product):
    np.random.seed(3)
    before = np.random.get_state()[1].copy()
    LayeredGP(estimator=SMALL, random_state=1, **TINY).fit(*product)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_same_seed_gives_the_same_bits_and_another_does_not(product):
    outputs = [
        LayeredGP(2, estimator=SMALL, random_state=s, **TINY).fit(*product).transform(product[2]) for s in (0, 0, 1)
    ]
    np.testing.assert_array_equal(outputs[0], outputs[1])
    assert not np.array_equal(outputs[0], outputs[2])


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [({"n_layers": 0}, "n_layers in LayeredGP: expected an integer from 1 to 1000000, got 0"),
     ({"population_size": 3}, r"layer_width in LayeredGP: expected at most population_size \(3\), got 4\."),
     ({"n_components": 5}, r"n_components in LayeredGP: expected at most layer_width \(4\), got 5\.")],
)  # fmt: skip
def test_values_out_of_range_are_refused_by_name(product, parameters, expected):
    with pytest.raises(ValueError, match=expected):
        LayeredGP(estimator=SMALL, **TINY | parameters).fit(*product)
