"""Textbook methods in experiments: sizes in configs, and classifiers of selectors."""

import numpy as np
import pytest
from planning import config_of, expanded, small
from test_cell import BASELINES, planned

from pppca_bench.experiments.cell import make_classifier, run_group, seeds
from pppca_bench.problems import load_problem
from pppca_bench.reducers.wrapper_selection import ForwardSelector

SPECTRAL = ("pca", "pca_svd", "kernel_pca", "ica", "autoencoder")


def taus_of(method):
    specs = expanded(config_of(small(method, repeats=1, tau=[5, 15])))
    return [spec.cell.settings.get("tau") for spec in specs]


@pytest.mark.parametrize("method", SPECTRAL)
def test_spectral_methods_run_for_each_threshold_by_default(method):
    assert taus_of({"method": method}) == [5, 15]
    assert taus_of({"method": method, "n_components": 2}) == [None]
    assert taus_of({"method": method, "variance_ratio": 0.9}) == [None]


@pytest.mark.parametrize("method", [method for method in BASELINES if method not in SPECTRAL])
def test_methods_that_choose_by_validation_run_once(method):
    assert taus_of({"method": method}) == [None]


def test_a_search_in_a_run_is_the_search_of_the_estimator():
    iris = load_problem("iris")
    (spec,) = planned("forward", repeats=1)
    (result,) = run_group([spec], iris)
    method_seed, _, asked_seed = seeds(spec)
    estimator = make_classifier(spec.cell.classifier, "iris", asked_seed)
    selector = ForwardSelector(estimator=estimator, random_state=method_seed)
    selector.fit(iris.X_train, iris.y_train, iris.X_validation, iris.y_validation)
    assert result.values["dimensionality"] == selector.n_features_
    for name, curve in selector.history_.items():
        np.testing.assert_array_equal(result.history[name], curve)
