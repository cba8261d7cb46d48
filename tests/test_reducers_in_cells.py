"""Textbook methods in experiments: sizes in configs, and classifiers of selectors."""

import numpy as np
import pytest
from planning import config_of, expanded
from test_cell import BASELINES, planned

from pppca_bench.errors import ConfigError
from pppca_bench.experiments.cell import make_classifier, run_group, seeds
from pppca_bench.methods.protocol import contract_of
from pppca_bench.methods.registry import METHODS
from pppca_bench.problems import load_problem
from pppca_bench.reducers.wrapper_selection import ForwardSelector

SPECTRAL = ("pca", "pca_svd", "kernel_pca", "ica", "autoencoder")
CHOOSING = ("kernel_pca", "filter", "forward", "backward", "rfe")


@pytest.fixture(scope="module")
def iris():
    return load_problem("iris")


def taus_of(*methods, tau=(5, 15)):
    document = {"name": "a", "problems": ["iris"], "repeats": 1, "seed": 1, "tau": list(tau), "methods": list(methods)}
    specs = expanded(config_of(document | {"classifier": {"hidden": [4]}}))
    return [spec.cell.settings.get("tau") for spec in specs]


@pytest.mark.parametrize("method", SPECTRAL)
def test_spectral_methods_run_for_each_threshold_by_default(method):
    assert taus_of({"method": method}) == [5, 15]
    assert taus_of({"method": method, "n_components": 2}) == [None]
    assert taus_of({"method": method, "variance_ratio": 0.9}) == [None]


@pytest.mark.parametrize("method", [method for method in BASELINES if method not in SPECTRAL])
def test_methods_that_choose_by_validation_run_once(method):
    assert taus_of({"method": method}) == [None]


def test_two_rules_for_one_size_are_refused():
    with pytest.raises(ConfigError, match=r"methods\[0\]\.tau: expected null where n_components is given, got 5\.0\.$"):
        taus_of({"method": "pca", "n_components": 2, "tau": 5.0})


@pytest.mark.parametrize("method", CHOOSING)
def test_selectors_use_the_classifier_of_the_config(iris, method, stand_in):
    make, asked = contract_of(METHODS[method]).estimator, []

    class Recorded(make):
        def fit(self, X, y, X_val=None, y_val=None):
            asked.append((self.estimator, X_val, y_val))
            return super().fit(X, y, X_val, y_val)

    Recorded.__init__ = make.__init__
    stand_in(method, Recorded)
    run_group(planned(method, repeats=1), iris)
    ((estimator, X_val, y_val),) = asked
    assert estimator.hidden_layer_sizes == (4,)
    assert isinstance(estimator.random_state, int)
    np.testing.assert_array_equal(X_val, iris.X_validation)
    np.testing.assert_array_equal(y_val, iris.y_validation)


def test_a_search_in_a_run_is_the_search_of_the_estimator(iris):
    (spec,) = planned("forward", repeats=1)
    (result,) = run_group([spec], iris)
    method_seed, _, asked_seed = seeds(spec)
    estimator = make_classifier(spec.cell.classifier, "iris", asked_seed)
    selector = ForwardSelector(estimator=estimator, random_state=method_seed)
    selector.fit(iris.X_train, iris.y_train, iris.X_validation, iris.y_validation)
    assert result.values["dimensionality"] == selector.n_features_
    for name, curve in selector.history_.items():
        np.testing.assert_array_equal(result.history[name], curve)
