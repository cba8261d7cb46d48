"""Contract of every classifier, reducer and engine: scikit-learn's checks, seeds, refusals and classes."""

import re
from doctest import DocTestFinder, DocTestRunner
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
import yaml
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from pppca_bench import classifiers
from pppca_bench.classifiers import BackpropMLPClassifier, RpropMLPClassifier, RpropMLPRegressor
from pppca_bench.classifiers.bagging import (
    BaggingClassifier,
    CommitteeClassifier,
    PartitionClassifier,
)
from pppca_bench.classifiers.boosting import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    SamplingAdaBoostClassifier,
    ThreePartBoostingClassifier,
)
from pppca_bench.classifiers.flgp import FLGPClassifier
from pppca_bench.classifiers.genetic_mlp import GAMLPClassifier, StructureGAClassifier
from pppca_bench.classifiers.pruned_mlp import PrunedMLPClassifier
from pppca_bench.classifiers.sklearn_classifiers import (
    ArcingClassifier,
    RFESVMClassifier,
    StumpClassifier,
)
from pppca_bench.engines import DGHA, GHA, NEpPCA, counterparts
from pppca_bench.engines.counterparts import (
    CCIPCALikeDGHA,
    DGHAWithoutRemoval,
    FSMLikeDGHA,
    PCALikeDGHA,
    PCALikeNEpPCA,
)
from pppca_bench.engines.streaming import CCIPCA, AdaOja, EigenGame, FastSimilarityMatching
from pppca_bench.methods.protocol import contract_of
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.reducers.filter_selection import FilterSelector
from pppca_bench.reducers.linear_projection import (
    ICA,
    LDA,
    AllFeatures,
    CovariancePCA,
    SingularValuePCA,
)
from pppca_bench.reducers.nonlinear_projection import Autoencoder, GaussianKernelPCA, HiddenLayer
from pppca_bench.reducers.wrapper_selection import (
    BackwardSelector,
    ExhaustiveSelector,
    ForwardSelector,
    NetworkRFE,
)

SMALL = RpropMLPClassifier((3,), max_epochs=100)
TINY = RpropMLPClassifier((1,), max_epochs=5, random_state=0)

BY_SPLIT = [
    RpropMLPClassifier(max_epochs=300, random_state=0),
    BackpropMLPClassifier(standardise=True, keep="best", random_state=0),
    BaggingClassifier(SMALL, 3, random_state=0),
    AdaBoostClassifier(SMALL, 3, random_state=0),
    SamplingAdaBoostClassifier(SMALL, 3, random_state=0),
    PartitionClassifier(SMALL, 2, random_state=0),
    CommitteeClassifier(SMALL, 2, random_state=0),
    ThreePartBoostingClassifier(SMALL, random_state=0),
    FLGPClassifier(
        random_state=0, n_layers=2, n_populations=2, population_size=30, n_generations=6
    ),
    GAMLPClassifier((3,), max_generations=60, mutation_scale=0.3, random_state=0),
    StructureGAClassifier((3,), population_size=8, max_generations=3, random_state=0),
    PrunedMLPClassifier((3,), max_epochs=100, retrain_epochs=20, random_state=0),
    RFESVMClassifier([1.0], random_state=0),
    GaussianKernelPCA(1, width_factors=[1.0, 2.0], estimator=TINY, random_state=0),
    HiddenLayer(1, layers_before=(2,), hidden_activation="logistic", random_state=0),
    FilterSelector(1, estimator=TINY, random_state=0),
    ForwardSelector(1, estimator=TINY, random_state=0),
    BackwardSelector(patience=1, estimator=TINY, random_state=0),
    ExhaustiveSelector(1, estimator=TINY, random_state=0),
    NetworkRFE(n_networks=1, estimator=TINY, random_state=0),
]
"""Estimators that take validation data and classes."""

OTHERS = [
    BackpropMLPClassifier(random_state=0),
    StumpClassifier(random_state=0),
    ArcingClassifier(2, random_state=0),
    RpropMLPRegressor((4,), max_epochs=300, random_state=0),
    AdaBoostRegressor(RpropMLPRegressor((4,), max_epochs=100), 3, random_state=0),
    AllFeatures(),
    CovariancePCA(1),
    SingularValuePCA(1),
    LDA(),
    ICA(1, random_state=0),
    Autoencoder(1, max_iter=20, random_state=0),
    Autoencoder(1, kind="nonlinear", n_hidden=3, max_iter=20, random_state=0),
]

ENGINES = [
    make(n_components=2) for make in (GHA, DGHA, CCIPCA, FastSimilarityMatching, AdaOja, EigenGame)
]
ENGINES += [NEpPCA(n_generations=5, random_state=0)]
BY_DEFAULT = [NEpPCA(), CCIPCA(), CCIPCA(tau=10.0), FastSimilarityMatching(), AdaOja(), EigenGame()]
BY_DEFAULT += [GHA(n_epochs=3), PCALikeNEpPCA(n_generations=3)]
LIKE_DGHA = [PCALikeDGHA, CCIPCALikeDGHA, FSMLikeDGHA, DGHAWithoutRemoval]
BY_DEFAULT += [make(n_epochs=5, learning_rate=0.1) for make in (DGHA, *LIKE_DGHA)]
"""Engines that keep as many components as their rules say."""


def expected_failures(estimator):
    """Return the checks that fail by choice, with the reason."""
    if "class_weight" not in estimator.get_params():
        return {}
    return {
        "check_class_weight_classifiers": "weights of a dict need not be ratios of numbers of rows"
    }


@parametrize_with_checks(
    [*BY_SPLIT, *OTHERS, *BY_DEFAULT], expected_failed_checks=expected_failures
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


REGISTERED = {contract_of(entry).estimator for entry in (*METHODS.values(), *CLASSIFIERS.values())}


@pytest.mark.slow
@pytest.mark.parametrize("make", sorted(REGISTERED, key=str), ids=lambda make: make.__name__)
def test_every_registered_class_keeps_scikit_learns_contract_by_default(make):
    known = expected_failures(make())
    checks = check_estimator(make(), on_fail=None, on_skip=None, expected_failed_checks=known)
    failed = {
        check["check_name"]: check["exception"] for check in checks if check["status"] == "failed"
    }
    if issubclass(make, counterparts.NotebookGHA):
        # The notebook's rate does not depend on the scale of the samples.
        failed = {name: error for name, error in failed.items() if "diverged" not in str(error)}
    assert failed == {}


@pytest.mark.parametrize(
    "estimator", [GHA, DGHA, NEpPCA, RpropMLPClassifier, RpropMLPRegressor, BackpropMLPClassifier]
)
def test_examples_of_docstrings_run(estimator):
    (example,) = DocTestFinder(recurse=False).find(estimator)
    assert example.examples
    assert DocTestRunner().run(example).failed == 0


def named(estimator):
    return type(estimator).__name__


REFUSED = yaml.safe_load(
    Path(__file__).parents[1].joinpath("refusals_estimators.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[call[:70] for call, _ in REFUSED])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_refusal_names_what_is_refused_what_is_expected_and_what_was_given(iris, call, message):
    names = dict(zip(("X", "y", "X_val", "y_val"), iris, strict=True), iris=iris)
    with pytest.raises(ValueError, match=r"expected|contains") as caught:
        eval(call, {**vars(classifiers), **vars(counterparts), **globals(), **names})
    said = str(caught.value)
    assert re.fullmatch(".*".join(map(re.escape, message.split("…"))), said), said


LIMITS = [
    GHA(1, decay_epochs=0.001, n_epochs=1),
    DGHA(tau=1.0, first_check=1_000_000, n_epochs=2),
    NEpPCA(population_size=2, tournament_size=1000, n_generations=2),
    NEpPCA(mutation_scale=0.0, crossover_probability=1.0, n_jobs=-1, n_generations=2),
    RpropMLPClassifier((2,), step_min=0.0, eta_plus=10.0, max_epochs=1),
    RpropMLPClassifier((2,), generalisation_loss=np.inf, training_progress=0.0, max_epochs=2),
    RpropMLPClassifier((2,), generalisation_loss=0.0, strip_length=1_000_000, max_epochs=2),
    RpropMLPClassifier((2,), initial_step_range=(0.1, 0.1), max_epochs=2),
    StructureGAClassifier((2,), population_size=5, n_elite=4, max_generations=2),
    GAMLPClassifier((2,), population_size=6, n_islands=3, max_generations=2),
]


@pytest.mark.parametrize("estimator", LIMITS, ids=str)
def test_values_at_the_limits_of_their_ranges_are_fitted(estimator):
    X = [[0.0, 0.1], [1.0, 0.4], [0.5, 0.9], [0.2, 0.3]]
    clone(estimator).set_params(random_state=0).fit(X, [0, 1, 0, 1])


def outcome(estimator, data, seed):
    """Return what a fit with this seed gives for the validation data."""
    fitted = clone(estimator).set_params(random_state=seed)
    if "estimator" in fitted.get_params(deep=False):
        fitted.set_params(estimator=SMALL)
    fitted.fit(*data[: 4 if "X_val" in signature(fitted.fit).parameters else 2])
    if hasattr(fitted, "history_"):
        return np.concatenate([np.ravel(curve) for _, curve in sorted(fitted.history_.items())])
    return fitted.decision_function(data[2]) if is_classifier(fitted) else fitted.transform(data[2])


NOT_RANDOM = (
    RFESVMClassifier | FilterSelector | ForwardSelector | ExhaustiveSelector | GaussianKernelPCA
)
RANDOM = [one for one in BY_SPLIT if not isinstance(one, NOT_RANDOM)]
RANDOM += [Autoencoder(2, kind="nonlinear", max_iter=20), ICA(3)]


@pytest.mark.parametrize("estimator", RANDOM, ids=named)
def test_the_same_seed_gives_the_same_bits_and_another_does_not(iris, estimator):
    one, same, other = (outcome(estimator, iris, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


CLASSIFIERS = [one for one in BY_SPLIT if is_classifier(one)]


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
def test_iris_is_learnt_from_a_share_and_classes_without_samples_have_outputs_too(iris, estimator):
    assert clone(estimator).fit(*iris[:2]).score(*iris[2:]) > 0.75
    fitted = clone(estimator).fit(*iris, classes=range(5))
    np.testing.assert_array_equal(fitted.classes_, range(5))
    if hasattr(fitted, "decision_function"):
        assert fitted.decision_function(iris[2]).shape == (60, 5)


REDUCERS = [one for one in (*BY_SPLIT, *OTHERS, *ENGINES) if hasattr(one, "inverse_transform")]


@pytest.mark.parametrize("estimator", REDUCERS, ids=named)
def test_inverse_transform_takes_what_transform_returns_alone(iris, estimator):
    fitted = clone(estimator).fit(*iris[:2])
    outputs = fitted.transform(iris[2])
    assert fitted.inverse_transform(outputs).shape == iris[2].shape
    with pytest.raises(NotFittedError):
        clone(estimator).inverse_transform(outputs)
    expected = rf"expected {outputs.shape[1]} column\(s\), as `transform` returns, got"
    for wrong, message in (
        (np.hstack([outputs, outputs]), rf"^X in \w+\.inverse_transform: {expected} \d\.$"),
        (np.full_like(outputs, np.nan), "contains NaN"),
        (outputs[0], "Expected 2D array"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.inverse_transform(wrong)
