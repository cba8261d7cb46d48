"""Runs of a cell: use of the splits, measures, failures, approximation, and grouped against single runs."""

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from builders import small, specs_of
from numpy.testing import assert_array_equal

from pppca_bench.classifiers import RpropMLPRegressor
from pppca_bench.experiments import cell as experiment
from pppca_bench.experiments.cell import make_classifier, seeds, warm_up
from pppca_bench.methods import networks
from pppca_bench.methods.networks import NetworkSetting, with_networks
from pppca_bench.methods.protocol import section_of
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.problems import Problem, load_problem
from pppca_bench.runs import RunResult, RunSpec

TIMES = ("fit_time_ms", "classifier_time_ms")
FEW = {"hidden": [3], "max_epochs": 30}
SHORT = {
    "ga_mlp": {"hidden": [3], "max_generations": 100},
    "pruned_mlp": {**FEW, "retrain_epochs": 5},
    "ga_structure": {**FEW, "max_generations": 2, "population_size": 6},
    "flgp": {"n_populations": 2, "population_size": 20, "n_generations": 5},
    "rfe_svm": {"C": [0.1, 1.0]},
    "autoencoder": {"max_iter": 30},
    "rfe": {"n_networks": 2},
}
for names, few in {
    "gha dgha pca_like_dgha dgha_without_removal dgha_speedup": {"n_epochs": 20},
    "ccipca_like_dgha fsm_like_dgha": {"n_epochs": 20},
    "ne_ppca pca_like_ne_ppca": {"n_generations": 5},
    "hebbian_pca notebook_pca": {"n_epochs": 5},
}.items():
    SHORT |= dict.fromkeys(names.split(), few)
PREDICTING = [name for name, entry in METHODS.items() if entry.makes != "measures"]


def planned(method: str, *, repeats: int = 3, tau: float = 20.0, **parameters) -> list[RunSpec]:
    """Return the runs of one cell."""
    classifier = {"hidden": [4], "max_epochs": 30, "initial_weight_range": 0.5}
    section = {"method": method, **SHORT.get(method, {}), **parameters}
    return specs_of(small(section, repeats=repeats, tau=tau, classifier=classifier))


def run_group(specs: Sequence[RunSpec], problem: Problem) -> list[RunResult]:
    """Run repeats of a cell on the data of a problem."""
    return experiment.run_group(specs, [problem] * len(specs))


def without_times(results: Sequence[RunResult]) -> list[dict[str, object]]:
    """Return results without their times; curves as bytes, so that nan is equal to itself."""
    return [
        {
            "key": result.key,
            "status": result.status,
            "error": result.error,
            **{name: value for name, value in result.values.items() if name not in TIMES},
            "history": {name: np.asarray(own).tobytes() for name, own in result.history.items()},
        }
        for result in results
    ]


def taken_out(record: dict[str, object]) -> list[object]:
    """Take the errors of the test split out of a record, and return them."""
    return [record.pop(name) for name in list(record) if name.startswith("test_")]


@pytest.fixture(scope="module")
def iris() -> Problem:
    return load_problem("iris")


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        *((method, {}) for method in PREDICTING),
        ("gha", {"classifier": {"rule": "bagging", "n_estimators": 2, "base": {"hidden": [4]}}}),
    ],
)
def test_grouped_runs_equal_single_runs_bit_for_bit(iris, method, parameters):
    specs = planned(method, **parameters)
    together = without_times(run_group(specs, iris))
    alone = without_times([result for spec in specs for result in run_group([spec], iris)])
    turned = without_times(run_group(specs[::-1], iris))[::-1]
    assert together == alone == turned
    assert all(record["status"] == "done" for record in together), together[0]["error"]


@pytest.mark.parametrize(
    ("method", "n_left_out"), [("dgha", 0), ("all_features", 5), ("pruned_mlp", 5)]
)
def test_grouped_runs_on_other_data_equal_single_runs(iris, method, n_left_out):
    other = replace(
        iris,
        X_train=iris.X_train[n_left_out:][::-1].copy(),
        y_train=iris.y_train[n_left_out:][::-1].copy(),
    )
    specs, problems = planned(method), [iris, other, iris]
    together = without_times(experiment.run_group(specs, problems))
    assert together == without_times(
        [run_group([spec], one)[0] for spec, one in zip(specs, problems, strict=True)]
    )
    assert together[1] != without_times(run_group(specs[1:2], iris))[0]


@pytest.mark.parametrize(("other_size", "expected"), [([2], [2]), ([3, 2], [1, 1])])
def test_networks_train_together_if_their_sizes_are_equal(iris, monkeypatch, other_size, expected):
    """As the pivot networks of a problem's permutations may be."""
    one, other = (
        planned("all_features", repeats=1, classifier={"hidden": hidden})[0]
        for hidden in ([2], other_size)
    )
    alone = without_times([run_group([spec], iris)[0] for spec in (one, other)])
    sizes = []

    def fit_together(networks, data, classes):
        sizes.append(len(networks))
        original(networks, data, classes=classes)

    original = experiment.fit_together
    monkeypatch.setattr(experiment, "fit_together", fit_together)
    wanted = {**alone[1], "key": "another"}
    assert without_times(run_group([one, replace(other, key="another")], iris))[1] == wanted
    assert sizes == expected


def test_repeats_differ_by_their_seeds_alone(iris):
    first, second = planned("ne_ppca", repeats=2)
    same = replace(second, key="another", seed=first.seed)
    results = without_times(run_group([first, second, same], iris))
    one, other, again = ({**record, "key": None} for record in results)
    assert again == one != other


@pytest.mark.parametrize("method", [name for name in PREDICTING if name != "majority_class"])
def test_the_test_split_changes_test_errors_alone(iris, method):
    rng = np.random.default_rng(0)
    other = replace(
        iris, X_test=rng.uniform(size=iris.X_test.shape), y_test=rng.permutation(iris.y_test)
    )
    before, after = (
        without_times(run_group(planned(method, repeats=1), problem))[0]
        for problem in (iris, other)
    )
    assert taken_out(before) != taken_out(after)
    assert before == after


def test_a_failed_network_does_not_change_other_runs_of_the_group(iris, monkeypatch):
    specs = planned("all_features")
    expected = without_times(run_group(specs, iris))
    failing, original = seeds(specs[1])[1], experiment.fit_together

    def fit_together(networks, data, classes):
        if any(network.random_state == failing for network in networks):
            raise ValueError("this network fails")
        original(networks, data, classes=classes)

    monkeypatch.setattr(experiment, "fit_together", fit_together)
    first, failed, last = run_group(specs, iris)
    assert failed.error.rstrip().endswith("ValueError: this network fails")
    assert without_times([first, last]) == [expected[0], expected[2]]


class _Spy:
    """A selector that remembers what it is given, and keeps the first two features."""

    given: ClassVar[dict] = {}
    n_epochs_, measures_ = 7, MappingProxyType({"n_tried": 3.0})
    history_ = MappingProxyType(
        {"variances": np.arange(36.0).reshape(3, 12), "dimensionality": np.arange(12)}
    )

    def __init__(self, estimator, random_state: int) -> None:
        self.given.update(seed=random_state, inner_seed=estimator.random_state)

    def fit(self, X, y, X_val, y_val):
        self.given.update(splits=(X, y, X_val, y_val))

    def transform(self, X):
        return X[:, :2]


class _Threshold:
    """A classifier that remembers what it is given, and finds class 1 where the first feature is large."""

    given: ClassVar[dict] = {}
    n_epochs_, best_epoch_ = 20, 15

    def __init__(self, threshold: float = 0.0, random_state: int = 0) -> None:
        self.threshold, self.random_state = threshold, random_state

    def fit(self, X, y, X_val, y_val, *, classes):
        self.given.update(splits=(X, y, X_val, y_val), classes=classes, seed=self.random_state)

    def predict(self, X):
        return (X[:, 0] > self.threshold).astype(int)


class _LeastClassifier:
    """A classifier with nothing but what it must have, which always finds class 0."""

    random_state = None

    def fit(self, X, y):
        pass

    def predict(self, X):
        return np.zeros(len(X), int)


@pytest.fixture
def tiny() -> Problem:
    X = np.array([[0.0, 5.0, 1.0], [1.0, 6.0, 2.0], [0.2, 7.0, 3.0], [0.9, 8.0, 4.0]])
    wrong = [np.array(classes) for classes in ([0, 1, 0, 1], [0, 1, 0, 0], [1, 1, 1, 1])]
    splits = [array for y in wrong for array in (X, y)]
    return Problem("tiny", "classification", *splits, n_classes=2, sha256="c" * 64)


@pytest.fixture
def run_spied(register, tiny):
    """Return a function that runs spies in place of method and classifier once."""

    def run(classifier: str, **settings: object) -> tuple[RunSpec, RunResult]:
        register(replace(METHODS["all_features"], estimator=f"{__name__}:_Spy"))
        estimator = f"{__name__}:{classifier}"
        register(replace(CLASSIFIERS["bagging"], estimator=estimator, is_ensemble=False))
        section = {"rule": "bagging", **settings}
        (spec,) = planned("all_features", repeats=1, classifier=section)
        return spec, run_group([spec], tiny)[0]

    return run


def test_a_result_has_the_errors_epochs_and_curves_of_method_and_classifier(run_spied):
    _, result = run_spied("_Threshold", threshold=0.5)
    errors = [result.values[f"{split}_error_percent"] for split in ("train", "validation", "test")]
    assert errors == [0.0, 25.0, 50.0], "the share of misclassified examples"
    counts = ("dimensionality", "n_epochs", "total_epochs", "relevant_epochs", "n_tried")
    assert [result.values[name] for name in counts] == [2, 7, 20, 15, 3.0]
    assert_array_equal(result.history["variances"], np.arange(36.0).reshape(3, 12)[:, :10])
    assert_array_equal(result.history["dimensionality"], np.arange(12))


def test_method_and_classifier_get_training_and_validation_data_and_seeds_of_their_own(
    run_spied, tiny
):
    spec, _ = run_spied("_Threshold")
    for n_features, spy in ((3, _Spy), (2, _Threshold)):
        X, X_val = tiny.X_train[:, :n_features], tiny.X_validation[:, :n_features]
        expected = (X, tiny.y_train, X_val, tiny.y_validation)
        for given, own in zip(spy.given["splits"], expected, strict=True):
            assert_array_equal(given, own)
    assert_array_equal(_Threshold.given["classes"], [0, 1])
    given = _Spy.given["seed"], _Threshold.given["seed"], _Spy.given["inner_seed"]
    assert given == seeds(spec)
    assert len(set(given)) == 3


def test_a_classifier_gets_no_splits_but_those_that_its_fit_names(run_spied):
    _, result = run_spied("_LeastClassifier")
    assert result.values["test_error_percent"] == 100.0
    assert "total_epochs" not in result.values


def test_a_run_whose_method_fails_is_recorded_with_its_traceback(iris):
    results = run_group(planned("dgha", repeats=2, n_components=5), iris)
    assert [result.status for result in results] == ["failed", "failed"]
    assert results[0].error.startswith("Traceback (most recent call last):")
    said = "n_components in DGHA: expected an integer from 1 to 4 or null, got 5."
    assert said in results[0].error
    assert results[0].values == {}


class _Broken(_LeastClassifier):
    def fit(self, X, y):  # noqa: ARG002
        raise TypeError("no such parameter")


def test_a_type_error_is_not_recorded_as_a_failed_run(iris, register):
    register(replace(METHODS["all_features"], estimator=f"{__name__}:_Broken", makes="classes"))
    with pytest.raises(TypeError, match="no such parameter"):
        run_group(planned("all_features"), iris)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_warmed_up_by_random_samples(method, iris):
    warm_up(planned(method, repeats=1)[0], iris)  # of which workers hide the errors


class _Majority(_LeastClassifier):
    n_features_, n_epochs_, best_epoch_ = 2, 9, 4


def test_a_method_that_classifies_by_itself_needs_no_classifier(tiny, register):
    register(replace(METHODS["all_features"], estimator=f"{__name__}:_Majority", makes="classes"))
    (spec,) = planned("all_features", repeats=1)
    assert spec.cell.classifier == {}
    (result,) = run_group([spec], tiny)
    counts = ("test_error_percent", "dimensionality", "total_epochs", "relevant_epochs")
    assert [result.values[name] for name in counts] == [100.0, 2, 9, 4]
    assert "classifier_time_ms" not in result.values


class _Counts:
    """A method that makes numbers of its own alone."""

    def fit(self, X, y):  # noqa: ARG002
        self.measures_ = {"n_seen": np.int64(4), "share": np.float32(0.5), "mean": y.mean()}
        self.measures_["undefined"] = np.float64(np.nan)
        self.history_ = {"curve": np.arange(3)}
        self.n_epochs_ = y.sum()


def test_numbers_of_numpy_become_plain_ones_and_undefined_ones_are_left_out(tiny, register):
    register(replace(METHODS["all_features"], estimator=f"{__name__}:_Counts", makes="measures"))
    (result,) = run_group(planned("all_features", repeats=1), tiny)
    assert result.values == {"n_seen": 4, "share": 0.5, "mean": 0.5, "n_epochs": 2}
    assert_array_equal(result.history["curve"], [0, 1, 2])
    assert [type(value) for value in result.values.values()] == [int, float, float, int]


CLASSIFYING = [name for name, entry in CLASSIFIERS.items() if not entry.needs_numbers]


@pytest.mark.parametrize(
    ("name", "container"),
    [("pca", "polars"), *((name, "pandas") for name in (*PREDICTING, *CLASSIFYING))],
)
def test_scikit_learns_output_container_changes_no_number(iris, name, container):
    pytest.importorskip(container)
    if name in METHODS:
        (spec,) = planned(name, repeats=1)
    else:
        ensemble = {"base": FEW} if CLASSIFIERS[name].is_ensemble else {}
        few = {"n_estimators": 2} if "n_estimators" in section_of(CLASSIFIERS[name]) else {}
        classifier = {"rule": name, **few, **ensemble}
        (spec,) = specs_of(small("all_features", repeats=1, classifier=classifier))
    with sklearn.config_context(transform_output=container):
        (in_containers,) = without_times(run_group([spec], iris))
    assert in_containers["status"] == "done", in_containers["error"]
    assert [in_containers] == without_times(run_group([spec], iris))


LINEAR = {"hidden": [], "max_epochs": 20}
APPROXIMATING = [
    name for name, entry in METHODS.items() if entry.makes == "features" and not entry.needs_classes
]


def test_errors_of_an_approximation_problem_are_squared_errors_in_percent():
    given = LINEAR | {"input_scaling": "given"}
    specs = specs_of(small({"method": "all_features"}, problems=["building1"], classifier=given))
    problem = load_problem("building1")
    splits = problem.X_train, problem.y_train, problem.X_validation, problem.y_validation
    results = run_group(specs, problem)
    for spec, result in zip(specs, results, strict=True):
        network = RpropMLPRegressor((), max_epochs=20, random_state=seeds(spec)[1]).fit(*splits)
        pairs = (problem.X_validation, problem.y_validation), (problem.X_test, problem.y_test)
        errors = [100 * np.mean((network.predict(X) - y) ** 2) for X, y in pairs]
        values = [result.values[f"{name}_squared_error_percent"] for name in ("validation", "test")]
        assert values == pytest.approx(errors)
        assert network.measures_.items() <= result.values.items()
        assert all("squared" in name for name in result.values if name.endswith("error_percent"))
    first, second = (result.values["test_squared_error_percent"] for result in results)
    assert first != second


@pytest.mark.parametrize(
    "base", [LINEAR, {"rule": "sklearn.tree:DecisionTreeRegressor"}], ids=["RPROP", "third-party"]
)
@pytest.mark.parametrize("name", ["building1", "hearta1"])
def test_regressors_are_boosted_for_one_and_for_several_targets(name, base):
    classifier = {"rule": "adaboost_r", "n_estimators": 2, "base": base}
    specs = specs_of(small("all_features", problems=[name], repeats=1, classifier=classifier))
    (result,) = run_group(specs, load_problem(name))
    assert result.status == "done", result.error
    assert 0 < result.values["test_squared_error_percent"] < 15
    assert ("total_epochs" in result.values) == (base is LINEAR)


def printed_network(problem: str) -> NetworkSetting | None:
    """Return the network that a package publishes for one problem."""
    return NetworkSetting((5,), "softsign") if problem == "printed.csv" else None


@pytest.mark.parametrize(
    ("problem", "n_outputs", "hidden", "activation"),
    [
        *(("printed.csv", 1, (5,), "softsign"), ("own.csv", 1, (16, 8), "linear")),
        *(("own.csv", 8, (16, 8), "linear"), ("own.csv", 10, (20, 10), "linear")),
        ("own.csv", 200, (128, 64), "linear"),
    ],
)
def test_a_named_network_is_that_of_an_installed_package_or_of_the_problems_size(
    monkeypatch, problem, n_outputs, hidden, activation
):
    monkeypatch.setattr(networks, "network_paths", lambda: (f"{__name__}:printed_network",))
    settings = {"rule": "rprop", "hidden": "pivot", "output_activation": "pivot"}
    of_base = {"rule": "bagging", "base": settings}
    network, ensemble = (
        make_classifier(with_networks(own, problem, n_outputs), 0, "classification")
        for own in (settings, of_base)
    )
    for one in (network, ensemble.estimator):
        assert (one.hidden_layer_sizes, one.output_activation) == (hidden, activation)


@pytest.mark.parametrize("method", APPROXIMATING)
def test_every_method_that_needs_no_classes_reduces_the_inputs(method):
    section = {"method": method, **SHORT.get(method, {})}
    specs = specs_of(small(section, problems=["heartac1"], repeats=1, tau=20, classifier=LINEAR))
    (result,) = run_group(specs, load_problem("heartac1"))
    assert result.status == "done", result.error
    assert 0 < result.values["test_squared_error_percent"] < 100
