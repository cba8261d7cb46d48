"""Contract of every classifier, reducer and engine: scikit-learn's checks, seeds, validation data and classes."""

import re
from doctest import DocTestFinder, DocTestRunner
from inspect import signature

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from pppca_bench.base.parameters import ParameterError
from pppca_bench.classifiers import BackpropMLPClassifier, RpropMLPClassifier, RpropMLPRegressor
from pppca_bench.classifiers.ensembles import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    PartitionClassifier,
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
from pppca_bench.engines import DGHA, GHA, NEpPCA
from pppca_bench.engines.counterparts import (
    DGHAWithoutRemoval,
    NotebookGHA,
    NotebookPCA,
    PCALikeDGHA,
    PCALikeNEpPCA,
)
from pppca_bench.engines.streaming import CCIPCA, AdaOja, EigenGame, FastSimilarityMatching
from pppca_bench.reducers.filter_selection import FilterSelector
from pppca_bench.reducers.linear_projection import (
    ICA,
    LDA,
    AllFeatures,
    CovariancePCA,
    SingularValuePCA,
)
from pppca_bench.reducers.nonlinear_projection import Autoencoder, GaussianKernelPCA, HiddenLayer
from pppca_bench.reducers.wrapper_selection import BackwardSelector, ForwardSelector, NetworkRFE

SMALL = RpropMLPClassifier((3,), max_epochs=100)
TINY = RpropMLPClassifier((1,), max_epochs=5, random_state=0)

BY_SPLIT = [
    RpropMLPClassifier(max_epochs=300, random_state=0),
    BackpropMLPClassifier(standardise=True, keep="best", random_state=0),
    BaggingClassifier(SMALL, 3, random_state=0),
    AdaBoostClassifier(SMALL, 3, random_state=0),
    SamplingAdaBoostClassifier(SMALL, 3, random_state=0),
    PartitionClassifier(SMALL, 2, random_state=0),
    ThreePartBoostingClassifier(SMALL, random_state=0),
    FLGPClassifier(
        random_state=0, n_layers=2, n_populations=2, population_size=30, n_generations=6
    ),
    GAMLPClassifier((3,), max_generations=150, mutation_scale=0.3, random_state=0),
    StructureGAClassifier((3,), population_size=8, max_generations=3, random_state=0),
    PrunedMLPClassifier((3,), max_epochs=100, retrain_epochs=20, random_state=0),
    RFESVMClassifier(random_state=0),
    GaussianKernelPCA(1, width_factors=[1.0, 2.0], estimator=TINY, random_state=0),
    HiddenLayer(1, random_state=0),
    FilterSelector(1, estimator=TINY, random_state=0),
    ForwardSelector(1, estimator=TINY, random_state=0),
    BackwardSelector(patience=1, estimator=TINY, random_state=0),
    NetworkRFE(n_networks=1, estimator=TINY, random_state=0),
]
"""Estimators that take validation data and classes."""

OTHERS = [
    BackpropMLPClassifier(random_state=0),
    StumpClassifier(random_state=0),
    ArcingClassifier(5, random_state=0),
    RpropMLPRegressor((4,), max_epochs=300, random_state=0),
    AdaBoostRegressor(RpropMLPRegressor((4,), max_epochs=100), 3, random_state=0),
    AllFeatures(),
    CovariancePCA(1),
    SingularValuePCA(1),
    LDA(),
    ICA(1, random_state=0),
    Autoencoder(1, random_state=0),
    Autoencoder(1, kind="nonlinear", n_hidden=3, max_iter=20, random_state=0),
]

ENGINES = [
    make(n_components=2) for make in (GHA, DGHA, CCIPCA, FastSimilarityMatching, AdaOja, EigenGame)
]
ENGINES += [NEpPCA(n_generations=5, random_state=0)]
BY_DEFAULT = [NEpPCA(), CCIPCA(), CCIPCA(tau=10.0), FastSimilarityMatching(), AdaOja(), EigenGame()]
BY_DEFAULT += [GHA(n_epochs=3), PCALikeNEpPCA(n_generations=3)]
BY_DEFAULT += [
    make(n_epochs=5, learning_rate=0.1) for make in (DGHA, PCALikeDGHA, DGHAWithoutRemoval)
]
"""Engines that keep as many components as their rules say."""


@parametrize_with_checks([*BY_SPLIT, *OTHERS, *BY_DEFAULT])
def test_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "estimator", [GHA, DGHA, NEpPCA, RpropMLPClassifier, RpropMLPRegressor, BackpropMLPClassifier]
)
def test_examples_of_docstrings_run(estimator):
    (example,) = DocTestFinder(recurse=False).find(estimator)
    assert example.examples
    assert DocTestRunner().run(example).failed == 0


def named(estimator):
    return type(estimator).__name__


BY_SPECTRUM = [CovariancePCA, SingularValuePCA, ICA, Autoencoder, GaussianKernelPCA]
SIZED = [RFESVMClassifier, FilterSelector, ForwardSelector, BackwardSelector, NetworkRFE]
A_RULE = "an integer where variance_ratio and tau are null, got None."
TOO_MANY = "an integer from 1 to 4 or null, got 5."
ORDERED = "two numbers, the first at most the second, got (0.2, 0.1)."
NO_TAU = "null where n_components is given, got 5.0."
DECAYING_TWICE = GHA(decay_epochs=2.0, decay_samples=3.0)
CROSSED = NEpPCA(min_components=3, max_components=2), RpropMLPClassifier(step_min=2.0, step_max=1.0)
REFUSED = [
    *((make(n_components=5), "n_components", TOO_MANY) for make in (GHA, NEpPCA, CovariancePCA)),
    *((make(n_features=5), "n_features", TOO_MANY) for make in SIZED),
    *((make(), "n_components", A_RULE) for make in BY_SPECTRUM),
    *((make(1, tau=5.0), "tau", NO_TAU) for make in BY_SPECTRUM),
    (ICA(variance_ratio=0.5, tau=5.0), "tau", "null where variance_ratio is given, got 5.0."),
    (LDA(3), "n_components", "an integer from 1 to 2 or null, got 3."),
    (NotebookGHA(5), "component", "an integer from 1 to 4, got 5."),
    (NEpPCA(n_jobs=0), "n_jobs", "a number of threads, or -1 for all processors, got 0."),
    (DECAYING_TWICE, "decay_samples", "null where decay_epochs is given, got 3.0."),
    (CROSSED[0], "min_components", "at most max_components (2), got 3."),
    (CROSSED[1], "step_min", "at most step_max (1.0), got 2.0."),
    (RpropMLPClassifier(initial_step_range=(0.2, 0.1)), "initial_step_range", ORDERED),
    (NotebookPCA(opposite=(2, 5)), "opposite", "rows from 1 to 4, got 5."),
]


@pytest.mark.parametrize(("estimator", "name", "message"), REFUSED, ids=str)
def test_values_out_of_range_or_in_conflict_are_refused_by_name(iris, estimator, name, message):
    said = f"^{re.escape(f'{name} in {named(estimator)}: expected {message}')}$"
    with pytest.raises(ParameterError, match=said):
        estimator.fit(*iris[:2])


LIMITS = [
    GHA(1, decay_epochs=0.001, n_epochs=1),
    DGHA(tau=1.0, first_check=1_000_000, n_epochs=2),
    NEpPCA(population_size=2, tournament_size=1000, n_generations=2),
    NEpPCA(mutation_scale=0.0, crossover_probability=1.0, n_jobs=-1, n_generations=2),
    RpropMLPClassifier((2,), step_min=0.0, eta_plus=10.0, max_epochs=1),
    RpropMLPClassifier((2,), generalisation_loss=np.inf, training_progress=0.0, max_epochs=2),
    RpropMLPClassifier((2,), generalisation_loss=0.0, strip_length=1_000_000, max_epochs=2),
    RpropMLPClassifier((2,), initial_step_range=(0.1, 0.1), max_epochs=2),
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


NOT_RANDOM = RFESVMClassifier | FilterSelector | ForwardSelector | GaussianKernelPCA
RANDOM = [one for one in BY_SPLIT if not isinstance(one, NOT_RANDOM)]
RANDOM += [Autoencoder(2, kind="nonlinear", max_iter=20), ICA(3)]


@pytest.mark.parametrize("estimator", RANDOM, ids=named)
def test_the_same_seed_gives_the_same_bits_and_another_does_not(iris, estimator):
    one, same, other = (outcome(estimator, iris, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("estimator", BY_SPLIT, ids=named)
def test_validation_inputs_need_their_labels(iris, estimator):
    with pytest.raises(ValueError, match="expected both X_val and y_val, or neither, got one"):
        clone(estimator).fit(*iris[:3])


@pytest.mark.parametrize("estimator", BY_SPLIT, ids=named)
def test_labels_outside_the_given_classes_are_refused(iris, estimator):
    with pytest.raises(ValueError, match=r"(?s)labels of .* expected members of classes, got"):
        clone(estimator).fit(*iris, classes=[0, 1])


@pytest.mark.parametrize("estimator", [one for one in BY_SPLIT if is_classifier(one)], ids=named)
def test_classes_without_samples_have_outputs_too(iris, estimator):
    fitted = clone(estimator).fit(*iris, classes=range(5))
    np.testing.assert_array_equal(fitted.classes_, range(5))
    if hasattr(fitted, "decision_function"):
        assert fitted.decision_function(iris[2]).shape == (60, 5)


@pytest.mark.parametrize("estimator", [one for one in BY_SPLIT if is_classifier(one)], ids=named)
def test_iris_is_learnt_from_a_share_of_the_training_data(iris, estimator):
    assert clone(estimator).fit(*iris[:2]).score(*iris[2:]) > 0.75


REDUCERS = [one for one in (*BY_SPLIT, *OTHERS, *ENGINES) if hasattr(one, "inverse_transform")]


@pytest.mark.parametrize("estimator", REDUCERS, ids=named)
def test_inverse_transform_takes_what_transform_returns_alone(iris, estimator):
    fitted = clone(estimator).fit(*iris[:2])
    outputs = fitted.transform(iris[2])
    assert fitted.inverse_transform(outputs).shape == iris[2].shape
    with pytest.raises(NotFittedError):
        clone(estimator).inverse_transform(outputs)
    n = outputs.shape[1]
    for wrong in (outputs[:, :-1], np.hstack([outputs, outputs])):
        if wrong.shape[1]:
            expected = rf"expected {n} column\(s\), as `transform` returns, got {wrong.shape[1]}\."
            said = rf"^X in {named(estimator)}\.inverse_transform: {expected}$"
            with pytest.raises(ValueError, match=said):
                fitted.inverse_transform(wrong)
    for wrong, message in (
        (np.full_like(outputs, np.nan), "contains NaN"),
        (outputs[0], "Expected 2D array"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.inverse_transform(wrong)
