"""The textbook methods in experiments: how configs name their size, whom they ask, and what they never see."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.decomposition import PCA
from test_experiment import BASELINES, planned, timeless

from pppca_bench.config.experiment import METHODS, Config
from pppca_bench.config.plan import expand
from pppca_bench.experiments import cell as experiment
from pppca_bench.experiments.cell import run_group
from pppca_bench.problems import load_problem
from pppca_bench.reducers.sequential_selection import ForwardSelector

SPECTRAL = ("pca", "pca_svd", "kernel_pca", "ica", "autoencoder")
CHOOSING = ("kernel_pca", "mutual_info", "chi2", "forward", "backward", "rfe", "flgp")


@pytest.fixture(scope="module")
def iris():
    return load_problem("iris")


def expanded(*methods, tau=(5, 15)):
    values = {"name": "a", "problems": ["iris"], "repeats": 1, "seed": 1, "tau": tau, "methods": list(methods)}
    context = {"problems": ["iris"]}
    return expand(Config.model_validate(values | {"classifier": {"hidden": [4]}}, context=context))


@pytest.mark.parametrize("method", BASELINES)
def test_keys_and_defaults_are_the_estimators(method):
    parameters = inspect.signature(experiment.METHODS[method]).parameters
    theirs = {name: one.default for name, one in parameters.items() if name not in ("estimator", "random_state")}
    fields = METHODS[method].model_fields
    assert {name: field.default for name, field in fields.items() if name not in ("method", "classifier")} == theirs


@pytest.mark.parametrize("method", SPECTRAL)
def test_methods_that_count_eigenvalues_run_for_each_threshold_unless_told_otherwise(method):
    assert [spec.tau for spec in expanded({"method": method})] == [5, 15]
    assert [spec.tau for spec in expanded({"method": method, "n_components": 2})] == [None]
    assert [spec.tau for spec in expanded({"method": method, "variance_ratio": 0.9})] == [None]


@pytest.mark.parametrize("method", [method for method in BASELINES if method not in SPECTRAL])
def test_methods_that_choose_by_validation_run_once(method):
    assert [spec.tau for spec in expanded({"method": method})] == [None]


def test_two_rules_for_one_size_are_refused():
    with pytest.raises(ValidationError, match=r"expected one of n_components, variance_ratio and tau, got .* and tau"):
        expanded({"method": "pca", "n_components": 2, "tau": 5.0})


@pytest.mark.parametrize(
    ("given", "message"),
    [({"layer_width": 300}, "expected layer_width at most population_size .200., got 300"),
     ({"n_components": 21}, "expected n_components at most layer_width .20., got 21")],
)  # fmt: skip
def test_layers_that_do_not_fit_are_refused(given, message):
    with pytest.raises(ValidationError, match=message):
        expanded({"method": "flgp", **given})


@pytest.mark.parametrize("method", BASELINES)
def test_a_run_is_done_and_the_same_alone_and_in_company(iris, method):
    specs = planned(method, repeats=2)
    results = run_group(specs, iris)
    assert [result.status for result in results] == ["done", "done"], results[0].error
    assert all(1 <= result.dimensionality <= 4 for result in results)
    assert timeless(results) == timeless([result for spec in specs for result in run_group([spec], iris)])


@pytest.mark.parametrize("method", BASELINES)
def test_shuffled_test_labels_change_no_fitted_model(iris, method):
    """Neither do other test inputs: all that a run tells of its models stays the same, to the last bit."""
    rng = np.random.default_rng(0)
    shuffled = replace(iris, y_test=rng.permutation(iris.y_test))
    other = replace(shuffled, X_test=rng.uniform(size=iris.X_test.shape))
    records = [timeless(run_group(planned(method, repeats=1), problem))[0] for problem in (iris, shuffled, other)]
    errors = [record.pop("test_error_percent") for record in records]
    assert records[0] == records[1] == records[2]
    assert errors[0] != errors[1]


@pytest.mark.parametrize("method", CHOOSING)
def test_what_chooses_by_validation_asks_the_configs_classifier(iris, method, monkeypatch):
    make, asked = experiment.METHODS[method], []

    class Recorded(make):
        def fit(self, X, y, X_val=None, y_val=None):
            asked.append((self.estimator, X_val, y_val))
            return super().fit(X, y, X_val, y_val)

    Recorded.__init__ = make.__init__
    monkeypatch.setitem(experiment.METHODS, method, Recorded)
    run_group(planned(method, repeats=1), iris)
    ((estimator, X_val, y_val),) = asked
    assert estimator.hidden_layer_sizes == (4,)
    assert isinstance(estimator.random_state, int)
    np.testing.assert_array_equal(X_val, iris.X_validation)
    np.testing.assert_array_equal(y_val, iris.y_validation)


def test_a_search_in_a_run_is_the_search_of_the_estimator(iris):
    (spec,) = planned("forward", repeats=1)
    (result,) = run_group([spec], iris)
    method_seed, _, asked_seed = experiment._seeds(spec)
    estimator = experiment.make_classifier(spec.classifier, asked_seed)
    selector = ForwardSelector(estimator=estimator, random_state=method_seed)
    selector.fit(iris.X_train, iris.y_train, iris.X_validation, iris.y_validation)
    assert result.dimensionality == selector.n_features_
    for name, curve in selector.history_.items():
        np.testing.assert_array_equal(result.history[name], curve)


@pytest.mark.parametrize("method", ["pca", "pca_svd"])
def test_reconstruction_of_exact_pca_is_half_the_discarded_variance(iris, method):
    (spec,) = planned(method, repeats=1, n_components=2)
    (result,) = run_group([spec], iris)
    n = len(iris.X_train)
    eigenvalues = PCA().fit(iris.X_train).explained_variance_ * (n - 1) / n
    assert result.measures["reconstruction_error"] == pytest.approx(0.5 * eigenvalues[2:].sum())
    assert result.measures["retained_variance_percent"] == pytest.approx(
        100 * eigenvalues[:2].sum() / eigenvalues.sum()
    )


def test_linear_autoencoder_retains_as_much_as_exact_pca(iris):
    settings = {"autoencoder": {"max_iter": 1000}, "pca": {}}
    runs = [run_group(planned(name, repeats=1, n_components=2, **more), iris)[0] for name, more in settings.items()]
    network, pca = (run.measures["retained_variance_percent"] for run in runs)
    assert network == pytest.approx(pca, abs=0.01)
