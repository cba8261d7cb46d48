"""Measures of a training: hand-worked quantities of the Proben1 report."""

import numpy as np
import pytest

from pppca_bench.classifiers import (
    BackpropMLPClassifier,
    RpropMLPClassifier,
    RpropMLPRegressor,
    squared_error_percent,
)
from pppca_bench.classifiers.genetic_mlp import GAMLPClassifier
from pppca_bench.experiments.measures import class_scores, rank_scores
from pppca_bench.problems import Problem

# A linear network of one input, y = b + w x, on the points (0, 0) and (1, 1), validated on (1, 0.5), from b = w = 0
# with steps of 0.1, which grow by 1.2 as long as no gradient changes its sign:
#
# epoch   b = w at its start   training error                     b = w at its end   validation error
# 1       0                    100 (0 + 1) / 2 = 50               0.1                100 (0.2 - 0.5)² = 9
# 2       0.1                  100 (0.01 + 0.64) / 2 = 32.5       0.22               100 (0.44 - 0.5)² = 0.36
# 3       0.22                 100 (0.0484 + 0.3136) / 2 = 18.1   0.364              100 (0.728 - 0.5)² = 5.1984
X, Y, X_VAL, Y_VAL = [[0.0], [1.0]], [0.0, 1.0], [[1.0]], [0.5]
BY_HAND = {
    "initial_weight_range": 1e-300,
    "initial_step_range": (0.1, 0.1),
    "generalisation_loss": np.inf,
    "training_progress": 0.0,
    "max_epochs": 3,
}


def trained(strip_length=1):
    return RpropMLPRegressor((), strip_length=strip_length, **BY_HAND).fit(X, Y, X_VAL, Y_VAL)


def test_a_tiny_training_follows_hand_worked_numbers():
    network = trained()
    np.testing.assert_allclose(network.training_curve_, [50.0, 32.5, 18.1], rtol=1e-12)
    np.testing.assert_allclose(network.validation_curve_, [9.0, 0.36, 5.1984], rtol=1e-12)
    assert (network.coefs_[0].item(), network.intercepts_[0].item()) == pytest.approx((0.22, 0.22))


def test_measures_are_least_errors_the_loss_at_the_end_epochs_and_traversals():
    # 2 connections: 3 epochs with 2 samples forward and backward and an update, and 3 validations of a sample.
    assert trained().measures_ == {
        "train_squared_error_percent": pytest.approx(18.1),
        "validation_squared_error_percent": pytest.approx(0.36),
        "overfit_percent": pytest.approx(100 * (5.1984 / 0.36 - 1)),
        "total_epochs": 3,
        "relevant_epochs": 2,
        "connection_traversals": 2 * (3 * (2 * 2 + 1) + 3 * 1),
    }


def test_a_training_validated_once_has_no_loss_at_its_end():
    measures = trained(strip_length=3).measures_
    assert measures["validation_squared_error_percent"] == pytest.approx(5.1984)
    assert (measures["overfit_percent"], measures["relevant_epochs"]) == (0.0, 3)
    assert measures["connection_traversals"] == 2 * (3 * 5 + 1)


INPUTS, CLASSES = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 2


def test_shortcuts_and_biases_are_connections_too():
    endless = {"training_progress": 0.0, "generalisation_loss": np.inf}
    network = RpropMLPClassifier((4, 2), shortcuts=True, max_epochs=7, **endless)
    measures = network.fit(INPUTS, CLASSES, INPUTS[:5], CLASSES[:5]).measures_
    n_connections = 4 * (1 + 3) + 2 * (1 + 3 + 4) + 2 * (1 + 3 + 4 + 2)
    assert measures["connection_traversals"] == n_connections * (7 * (2 * 12 + 1) + 2 * 5)


def test_online_training_updates_every_weight_after_every_sample():
    network = BackpropMLPClassifier((4,), max_epochs=4, strip_length=2, keep="best", random_state=0)
    measures = network.fit(INPUTS, CLASSES, INPUTS[:5], CLASSES[:5]).measures_
    n_epochs, n_validations = measures["total_epochs"], len(network.validation_curve_)
    assert measures["connection_traversals"] == (16 + 10) * (n_epochs * 3 * 12 + n_validations * 5)


def test_genetic_algorithms_have_no_connection_traversals():
    network = GAMLPClassifier((2,), max_generations=5, random_state=0)
    measures = network.fit(INPUTS, CLASSES, INPUTS, CLASSES).measures_
    assert "connection_traversals" not in measures
    assert measures["total_epochs"] == network.n_epochs_


def test_squared_error_percentage_follows_hand_worked_numbers():
    outputs, targets = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    assert squared_error_percent(outputs, targets) == 12.5, (
        "100 / (2 outputs, 2 samples) (0.25 + 0.25)"
    )
    assert squared_error_percent(outputs, outputs) == 0.0


def test_squared_error_percentage_of_a_classifier_is_of_its_outputs_against_0_and_1():
    network = RpropMLPClassifier((), max_epochs=1, random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    network._weights = [np.array([[0.9, 0.0], [0.3, 0.2]])]
    # Outputs 0.9, 0.3 at x = 0 and 0.9, 0.5 at x = 1.
    assert network.squared_error_percent([[0.0]], ["a"]) == pytest.approx(100 * (0.01 + 0.09) / 2)
    found = network.squared_error_percent([[0.0], [1.0]], ["a", "b"])
    assert found == pytest.approx(100 * (0.01 + 0.09 + 0.81 + 0.25) / 4)


def test_squared_error_percentage_of_a_regressor_is_of_its_outputs_against_the_targets():
    network = trained()  # y = 0.22 + 0.22 x
    found = network.squared_error_percent([[1.0], [2.0]], [0.44, 0.76])
    assert found == pytest.approx(100 * 0.01 / 2)
    targets = np.array([[0.0, 1.0], [1.0, 0.0]])
    two = RpropMLPRegressor((), max_epochs=1).fit(X, targets, X, targets)
    two._weights = [np.array([[0.5, 0.0], [0.0, 1.0]])]
    assert two.squared_error_percent([[0.2]], [[0.1, 0.2]]) == pytest.approx(100 * 0.16 / 2)


def test_class_scores_are_means_over_the_classes_that_are_there():
    # Of class 0 three of four are right, of class 2 one of two; class 1, of which there is none, is predicted once.
    y, predicted = np.array([0, 0, 0, 0, 2, 2]), np.array([0, 0, 0, 1, 2, 0])
    assert class_scores(predicted, y, ["a", "b", "rare\u200b"]) == pytest.approx(
        {
            "accuracy_percent": 100 * 4 / 6,
            "balanced_accuracy_percent": (75 + 50) / 2,
            "macro_f1_percent": (200 * 3 / 8 + 200 * 1 / 3) / 2,
            "recall_a_percent": 75,
            "recall_'rare\\u200b'_percent": 50,
        }
    )


class Scored:
    """Classifier whose decision function, or probabilities, are its inputs."""

    def __init__(self, classes, name="decision_function"):
        self.classes_ = np.array(classes)
        setattr(self, name, lambda X: X[:, 0] if X.shape[1] == 1 else X)


def problem_of(y_train, n_classes):
    X, y = np.zeros((len(y_train), 1)), np.array(y_train)
    return Problem.of_splits(
        [X, X, X], [y, y, y], name="", task="classification", n_classes=n_classes, sha256=""
    )


def test_rank_scores_of_two_classes_are_the_area_of_either_and_the_precision_of_the_rarer():
    # Descending by score for class 1: 1, 0, 1, 0. Of the four pairs of a 1 and a 0, three are in order; the precision
    # is 1 at the first 1 and 2/3 at the second. Descending for class 0: 0, 1, 0, 1, with the same precisions.
    X, y = np.array([[0.9], [0.8], [0.3], [-2.0]]), np.array([1, 0, 1, 0])
    expected = {"roc_auc_percent": 75.0, "average_precision_percent": 100 * (1 + 2 / 3) / 2}
    for y_train in ([0, 0, 1], [0, 1, 1]):
        assert rank_scores(Scored([0, 1]), X, y, problem_of(y_train, 2)) == pytest.approx(expected)
    # With another 1 at the end, the precision of class 1 has the term 3/5, that of class 0 begins with 1/2.
    X, y = np.vstack([X, [[-3.0]]]), np.append(y, 1)
    rare_1, rare_0 = (
        rank_scores(Scored([0, 1]), X, y, problem_of(rows, 2)) for rows in ([0, 0, 1], [0, 1, 1])
    )
    assert rare_1["average_precision_percent"] == pytest.approx(100 * (1 + 2 / 3 + 3 / 5) / 3)
    assert rare_0["average_precision_percent"] == pytest.approx(100 * (1 / 2 + 2 / 4) / 2)


def test_rank_scores_of_several_classes_are_means_and_an_unknown_class_is_not_ranked():
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.6, 0.4]])
    y, known = np.array([0, 2, 1, 0]), Scored([0, 2], "predict_proba")
    scores = rank_scores(known, probabilities, y, problem_of([0, 1, 2, 2], 3))
    # Classes 0 and 2 are in order; class 1, which is unknown, has equal scores.
    assert scores["roc_auc_percent"] == pytest.approx(100 * (1 + 0.5 + 1) / 3)
    assert scores["average_precision_percent"] == pytest.approx(100 * (1 + 1 / 4 + 1) / 3)
    assert rank_scores(known, probabilities[:1], y[:1], problem_of([0, 1, 2], 3)) == {}
    assert rank_scores(object(), probabilities, y, problem_of([0, 1, 2], 3)) == {}
