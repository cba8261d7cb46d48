"""Layered genetic programming: expressions, evolution, layers and selected features."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pppca_bench.classifiers.flgp import (
    FLGPClassifier,
    cross,
    evaluate,
    features_of,
    layer_outputs,
    mutate,
    random_expression,
    replace_subtree,
    share_correct,
    subtree,
    used_features,
)

TINY = {"n_populations": 2, "population_size": 12, "n_generations": 4, "tournament_size": 3}
TREE = ("-", "*", 0, 2, "/", 1.5, 1)  # x0 x2 − 1.5 / x1


def test_values_of_an_expression_by_hand():
    columns = np.array([[2.0, 0.5], [3.0, -1.0], [4.0, 8.0]])
    assert_allclose(evaluate(TREE, columns), [2 * 4 - 1.5 / 3, 0.5 * 8 + 1.5])
    assert_array_equal(evaluate((0.25,), columns), [0.25, 0.25])


def test_outputs_of_layers_are_finite_and_division_by_nearly_nothing_is_one():
    columns = np.array([[1e200, -1e200, 0.0]])
    assert_array_equal(layer_outputs([[("*", 0, 0)]], columns), [[1.0, 1.0, 0.0]])
    assert_array_equal(layer_outputs([[("-", "*", 0, 0, "*", 0, 0)]], columns), [[0.0, 0.0, 0.0]])
    columns = np.array([[5.0, 5.0, 5.0], [0.0, 1e-7, 2.0]])
    assert_array_equal(evaluate(("/", 0, 1), columns), [1.0, 1.0, 2.5])


def test_a_subtree_ends_with_its_last_operand_and_is_replaced_by_another():
    for root, end in ((0, 7), (1, 4), (2, 3), (4, 7), (6, 7)):
        assert subtree(TREE, root) == slice(root, end)
    assert replace_subtree(TREE, 1, (2,)) == ("-", 2, "/", 1.5, 1)
    assert replace_subtree(TREE, 0, (7,)) == (7,)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(0, 5))
def test_random_crossed_and_mutated_trees_are_trees(seed, n_features, depth):
    rng = np.random.default_rng(seed)
    first, second = (random_expression(n_features, depth, rng) for _ in range(2))
    columns = rng.uniform(-1.0, 1.0, size=(n_features, 5))
    for tree in (first, second, cross(first, second, rng), mutate(first, n_features, rng)):
        assert subtree(tree, 0) == slice(0, len(tree))
        assert features_of(tree) <= set(range(n_features))
        assert np.isfinite(layer_outputs([[tree]], columns)).all()
    assert len(first) < 2 ** (depth + 1)


def test_the_fittest_of_a_generation_never_gets_worse():
    def fitness(expression):
        return (float(-np.abs(evaluate(expression, np.array([[0.3], [0.7]]))[0] - 2.0)),)

    classifier = FLGPClassifier(
        population_size=30, n_generations=15, tournament_size=3, max_nodes=15
    )
    found = list(classifier._generations(fitness, 2, np.random.default_rng(0)))
    assert len(found) == 15
    assert all(before[1] <= after[1] for before, after in itertools.pairwise(found))
    assert found[-1][1][0] > -0.05
    assert all(worth == fitness(expression) for expression, worth in found)


def test_no_child_is_larger_than_its_parents_or_the_limit():
    def fitness(expression):
        return (float(len(expression)),)

    settings = {"population_size": 60, "n_generations": 6, "tournament_size": 2}
    for limit in (31, 3):
        classifier = FLGPClassifier(max_nodes=limit, mutation_probability=0.5, **settings)
        evolved = classifier._generations(fitness, 3, np.random.default_rng(0))
        sizes = [len(tree) for tree, _ in evolved]
        assert max(sizes) == max(limit, sizes[0]), "the first generation is not bounded"


def test_balanced_accuracy_of_the_sign_equals_the_hand_worked_value():
    columns = np.array([[-1.0, 2.0, 3.0, 0.0]])
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    # The signs give no, yes, yes, no: the second and the fourth are wrong.
    got = share_correct((0,), columns, np.array([False, False, True, True]), weights)
    assert got == pytest.approx(0.4)


def test_features_are_traced_through_the_layers():
    layers = [[(4,), ("+", 1, 2), ("*", 0, 0.5)], [("-", 0, 2), (1,)], [(0,)]]
    assert used_features(layers) == {4, 0}
    assert used_features([[(0.5,)]]) == set()


@pytest.fixture(scope="module")
def product():
    """Five features; the class is whether the product of two is positive, and independent of each alone."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(300, 5))
    y = np.where(X[:, 0] * X[:, 3] > 0.0, "yes", "no")
    return X[:200], y[:200], X[200:], y[200:]


def test_a_product_of_two_features_is_learnt_and_the_others_are_dropped(product):
    given = {"n_layers": 2, "population_size": 100, "tournament_size": 5, "random_state": 1}
    found = FLGPClassifier(**given).fit(*product)
    assert found.score(*product[2:]) == 1.0
    assert_array_equal(found.selected_, [0, 3])
    assert found.n_features_ == 2


def test_layers_feed_each_other_and_the_sign_decides(product):
    found = FLGPClassifier(n_layers=3, random_state=2, **TINY).fit(*product)
    (layers,) = found.layers_
    assert [len(layer) for layer in layers] == [2, 2, 1]
    columns = product[2].T
    for layer in layers:
        values = np.nan_to_num([evaluate(expression, columns) for expression in layer])
        columns = values / (1.0 + np.abs(values))
    assert_array_equal(found.decision_function(product[2]), columns[0])
    assert_array_equal(found.predict(product[2]), np.where(columns[0] > 0.0, "yes", "no"))
    assert found.n_generations_ == 12
    assert found.history_["correct_percent"].shape == (12,)


def test_history_of_one_layer_ends_with_the_score_of_the_fittest(product):
    X, y = product[:2]
    found = FLGPClassifier(n_layers=1, random_state=0, **TINY).fit(X, y, X, y)
    assert found.history_["correct_percent"][-1] == pytest.approx(100.0 * found.score(X, y))


def test_rare_classes_weigh_as_much_as_all_others():
    classifier = FLGPClassifier()
    classifier.classes_ = np.arange(3)
    weights = classifier._weights(np.array([True, False, False, False, False]))
    assert_allclose(weights, [0.5, 0.125, 0.125, 0.125, 0.125])
