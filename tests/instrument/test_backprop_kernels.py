"""Compiled online backpropagation against hand-worked numbers and plain loops."""

import math
from dataclasses import replace

import naive
import numpy as np
import pytest
from networks import make_task, same
from numpy.testing import assert_allclose, assert_array_equal

from pppca_bench.classifiers import learning_rules as kernels
from pppca_bench.classifiers.early_stopping import StoppingRule
from pppca_bench.classifiers.lanes import LANES
from pppca_bench.classifiers.network import Architecture
from pppca_bench.classifiers.passes import LOGISTIC, TANH, activate
from pppca_bench.classifiers.training import BackpropLanes
from pppca_bench.compiled.arrays import aligned_zeros

HIDDEN = [(), (3,), (4, 2), (2, 3, 2)]
NAMES = [
    ("logistic", "linear"),
    ("logistic", "logistic"),
    ("softsign", "linear"),
    ("softsign", "logistic"),
    ("tanh", "linear"),
]


def online_task(hidden, seed, n_inputs=3, names=("logistic", "linear")):
    return make_task(Architecture(n_inputs, hidden, 2, False, *names[::-1]), seed, 6)


def train(*tasks, max_epochs=7, keeps_best=False, loss=math.inf, **rule):
    constants = {"learning_rate": 0.2, "decay_epochs": math.inf} | rule
    stopping = StoppingRule(3, loss, 0.0, max_epochs)
    return BackpropLanes(
        tasks, kernels.BackpropRule(**constants), stopping, keeps_best=keeps_best
    ).train()


def draw_orders(seed, n_epochs):
    rng = np.random.default_rng(seed)
    return [rng.permutation(6).tolist() for _ in range(n_epochs)]


def logistic(x, activation=LOGISTIC):
    values = aligned_zeros(2, LANES)
    values[1] = x
    activate(activation, values, 1, 1)
    assert not values[0].any()
    assert len(np.unique(values[1])) == 1
    return values[1, 0]


@pytest.mark.parametrize("x", [0.0, 1e-9, 0.3, 1.0, 7.0, 39.0])
def test_logistic_is_right_to_fourteen_digits_on_both_sides(x):
    exact = 1.0 / (1.0 + math.exp(-x))
    assert logistic(x) == pytest.approx(exact, rel=2e-14)
    assert logistic(-x) == pytest.approx(math.exp(-x) * exact, rel=2e-12)


@pytest.mark.parametrize("x", [-20.0, -1.0, -1e-9, 0.0, 0.3, 7.0, math.inf])
def test_tanh_is_right_to_fourteen_decimals(x):
    assert logistic(x, TANH) == pytest.approx(math.tanh(x), rel=0.0, abs=1e-14)


def test_logistic_of_the_unbounded_is_its_limit_and_of_what_is_no_number_none():
    assert logistic(math.inf) == 1.0
    assert logistic(-math.inf) < 1e-17
    assert math.isnan(logistic(math.nan))


@pytest.mark.parametrize("hidden", HIDDEN, ids=str)
@pytest.mark.parametrize("names", NAMES, ids="-".join)
@pytest.mark.parametrize("rule", [{}, {"decay_epochs": 2.0}], ids=str)
def test_training_agrees_with_plain_loops(hidden, names, rule):
    task = online_task(hidden, 2, names=names)
    (net,) = train(task, **rule)
    data, orders = (task.X, task.targets), draw_orders(2, 7)
    weights, curve = naive.train_online(task.weights, data, orders, *names, **rule)
    assert_allclose(net.training_curve, curve, rtol=1e-10)
    for computed, matrix in zip(net.weights, weights, strict=True):
        assert_allclose(computed, matrix, rtol=1e-10, atol=1e-12)


def test_validation_curve_has_the_error_after_each_strip_and_after_the_last_epoch():
    task = online_task((3,), 3)
    (net,) = train(task)
    names = ("logistic", "linear")
    data, held_out = (task.X, task.targets), (task.X_val, task.targets_val)
    expected = []
    for n_epochs in (3, 6, 7):
        weights, _ = naive.train_online(task.weights, data, draw_orders(3, n_epochs), *names)
        expected.append(naive.percentage(weights, held_out, False, *names[::-1]))
    assert_allclose(net.validation_curve, expected, rtol=1e-10)
    assert net.best_epoch == (3, 6, 7)[np.argmin(expected)]


def test_best_weights_belong_to_the_validation_minimum_and_last_weights_to_the_end():
    def trained(n_epochs, seed, keeps_best=False):
        task = replace(online_task((3,), seed), rng=np.random.default_rng(0))
        return train(task, max_epochs=n_epochs, keeps_best=keeps_best)[0]

    overfitting = next(seed for seed in range(50) if trained(30, seed).best_epoch < 30)
    best, last = trained(30, overfitting, keeps_best=True), trained(30, overfitting)
    assert_array_equal(best.weights[0], trained(best.best_epoch, overfitting).weights[0])
    assert not np.array_equal(best.weights[0], last.weights[0])
    assert_array_equal(best.validation_curve, last.validation_curve)


WIDTHS = [3, 1, 5, 2, 4, 5, 1, 3, 2, 4, 3]


@pytest.mark.parametrize("names", NAMES, ids="-".join)
def test_networks_trained_together_equal_single_ones_bit_for_bit(names):
    """More nets than lanes, with different inputs, numbers of inputs and orders, stopping at different times."""
    settings = {"max_epochs": 14, "loss": 0.5, "keeps_best": True}

    def tasks():
        return [online_task((3, 2), seed, n_inputs=m, names=names) for seed, m in enumerate(WIDTHS)]

    together = train(*tasks(), **settings)
    assert len({len(net.training_curve) for net in together}) > 1
    for task, net in zip(tasks(), together, strict=True):
        assert same(net, train(task, **settings)[0])
