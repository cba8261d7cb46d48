"""Exact PCA, ICA, linear discriminants and kernel PCA: hand-worked values and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import subspace_angles
from sklearn.datasets import load_iris, make_circles
from sklearn.decomposition import PCA, FastICA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from pppca_bench.classifiers import RpropMLPClassifier
from pppca_bench.experiments.measures import measure_reconstruction
from pppca_bench.reducers.linear_projection import ICA, LDA, CovariancePCA, SingularValuePCA
from pppca_bench.reducers.nonlinear_projection import (
    GaussianKernelPCA,
    HiddenLayer,
    median_distance,
)

EXACT = [CovariancePCA, SingularValuePCA]


def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize("make", EXACT)
def test_components_are_those_of_scikit_learn(make):
    X = iris()[0]
    pca, expected = make(n_components=3).fit(X), PCA(3).fit(X)
    assert_allclose(np.abs(np.sum(pca.components_ * expected.components_, axis=1)), 1.0)
    assert_allclose(pca.explained_variance_, expected.explained_variance_ * (len(X) - 1) / len(X))
    assert_allclose(pca.explained_variance_ratio_, expected.explained_variance_ratio_)
    assert_allclose(pca.singular_values_, expected.singular_values_)


@pytest.mark.parametrize("make", EXACT)
def test_reconstruction_error_is_half_the_sum_of_the_discarded_eigenvalues(make):
    X = np.random.default_rng(0).normal(size=(30, 5)) @ np.diag([5.0, 3.0, 2.0, 1.0, 0.5]) + 7.0
    scatter = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0))
    for n_kept in range(1, 5):
        pca = make(n_components=n_kept).fit(X)
        lost = 0.5 * np.sum((X - pca.inverse_transform(pca.transform(X))) ** 2)
        assert lost == pytest.approx(0.5 * np.linalg.eigvalsh(scatter)[: 5 - n_kept].sum())
        assert lost == pytest.approx(0.5 * len(X) * pca.eigenvalues_[n_kept:].sum())


@pytest.mark.parametrize("make", EXACT)
@pytest.mark.parametrize(
    ("rule", "n_kept"),
    [({"n_components": 2}, 2), ({"variance_ratio": 0.8}, 1), ({"variance_ratio": 0.81}, 2), ({"tau": 4.0}, 2),
     ({"tau": 3.9}, 1), ({"tau": 1e9}, 2), ({"variance_ratio": 1.0}, 2)],
)  # fmt: skip
def test_number_of_components_by_each_rule(make, rule, n_kept):
    # Variances 4 and 1 (over N), and a feature that is constant: shares 0.8 and 0.2, ratio exactly 4.
    X = [[2.0, 1.0, 5.0], [2.0, -1.0, 5.0], [-2.0, 1.0, 5.0], [-2.0, -1.0, 5.0]]
    assert make(**rule).fit(X).n_components_ == n_kept


def test_few_samples_of_many_features_have_the_components_of_scikit_learn():
    X = np.random.default_rng(3).normal(size=(10, 300)) * np.linspace(1.0, 4.0, 300)
    ours, expected = CovariancePCA(variance_ratio=1.0).fit(X), PCA(9).fit(X)
    assert ours.n_components_ == 9
    assert_allclose(ours.eigenvalues_, [*expected.explained_variance_ * 0.9, 0.0], atol=1e-12)
    assert_allclose(
        ours.components_, aligned(expected.components_.T, ours.components_.T).T, atol=1e-9
    )
    measures = measure_reconstruction(ours, X, ours.transform(X))
    assert measures["optimality_percent"] == pytest.approx(100.0)


@pytest.mark.parametrize("make", EXACT)
@pytest.mark.parametrize("n_features", [256, 257, 300])
@pytest.mark.parametrize("rule", [{"tau": 10.0}, {"variance_ratio": 0.9}, {"n_components": 1}])
def test_constants_have_a_single_component_without_variance(make, n_features, rule):
    pca = make(**rule).fit(np.full((20, n_features), 0.5))
    assert pca.components_.shape == (1, n_features)
    assert_array_equal(pca.explained_variance_ratio_, [0.0])
    assert_array_equal(pca.transform(np.full((3, n_features), 0.5)), np.zeros((3, 1)))


def mixtures(n_samples=400):
    """Return mixtures of a square wave, a saw tooth and a uniform source, and the sources."""
    t = np.arange(n_samples)
    uniform = np.random.default_rng(0).uniform(-1.0, 1.0, n_samples)
    sources = np.column_stack([np.sign(np.sin(0.1 * t)), (t % 37) / 18.0 - 1.0, uniform])
    return sources @ [[1.0, 0.5, 0.2], [0.3, 1.0, -0.5], [-0.2, 0.4, 1.0]], sources


def test_ica_spans_the_space_of_the_principal_components():
    X = iris()[0]
    ica = ICA(tau=60, random_state=0).fit(X)
    assert ica.n_components_ == 3
    angles = subspace_angles(ica.components_.T, PCA(3).fit(X).components_.T)
    assert_allclose(angles, 0.0, atol=1e-6)
    assert_allclose(np.cov(ica.transform(X).T, bias=True), np.eye(3), atol=1e-8)
    doubled = ICA(n_components=8, random_state=0).fit(np.hstack([X, X]))
    assert doubled.n_components_ == 4, "the rank of the samples"


def aligned(features, others):
    """Return features with the signs for which they agree with others."""
    return features * np.sign((features * others).sum(axis=0))


def test_ica_finds_the_sources_as_scikit_learns_does():
    X, sources = mixtures()
    ours = ICA(n_components=3, random_state=0).fit_transform(X)
    expected = FastICA(whiten="unit-variance", random_state=0).fit_transform(X)
    for found in (ours, expected):
        correlations = np.abs(np.corrcoef(found.T, sources.T)[:3, 3:])
        assert_allclose(correlations.max(axis=0), 1.0, atol=0.02)
    agreement = np.abs(np.corrcoef(ours.T, expected.T)[:3, 3:])
    assert_allclose(agreement.max(axis=0), 1.0, atol=1e-4)


def test_unconverged_ica_is_reported_without_a_warning():
    X = np.random.default_rng(0).normal(size=(60, 6))
    assert not ICA(n_components=6, max_iter=1, random_state=0).fit(X).converged_
    assert ICA(n_components=3, random_state=0).fit(mixtures()[0]).converged_


def within_class_covariance(outputs, y):
    return sum(
        np.cov(outputs[y == label].T, bias=True) * np.mean(y == label) for label in np.unique(y)
    )


def wide_samples(n):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 300)) * rng.uniform(1e-3, 1e3, 300), np.arange(n) % 4


@pytest.mark.parametrize(
    ("samples", "atol"), [(iris(), 1e-12), (wide_samples(60), 1e-6), (wide_samples(400), 1e-6)]
)
def test_discriminants_are_those_of_scikit_learn_of_unit_variance_within_classes(samples, atol):
    X, y = samples
    expected = LinearDiscriminantAnalysis().fit(X, y).transform(X)
    # its divisor depends on its version
    expected /= np.sqrt(np.diag(within_class_covariance(expected, y)))
    ours = LDA().fit(X, y).transform(X)
    assert_allclose(ours, aligned(expected, ours), atol=atol)
    assert_allclose(within_class_covariance(ours, y), np.eye(ours.shape[1]), atol=atol)
    assert_array_equal(LDA(1).fit(X, y).transform(X), ours[:, :1])


@given(powers=st.lists(st.integers(-130, 130), min_size=4, max_size=4), offset=st.floats(-1e3, 1e3))
@settings(max_examples=10)
def test_units_of_features_leave_the_outputs_of_discriminants(powers, offset):
    X, y = iris()
    units = np.power(10.0, powers)
    outputs = LDA().fit((X + offset) * units, y).transform((X + offset) * units)
    assert_allclose(outputs, LDA().fit(X, y).transform(X), atol=1e-8)


def test_a_feature_of_the_smallest_unit_does_not_make_the_norms_overflow():
    X, y = iris()
    lda = LDA().fit(X * [1.0, 1e-300, 1.0, 1.0], y)
    assert_allclose(
        within_class_covariance(lda.transform(X * [1.0, 1e-300, 1.0, 1.0]), y),
        np.eye(2),
        atol=1e-12,
    )
    assert np.isfinite(lda.explained_variance_ratio_).all()


def test_classes_count_by_their_samples_within_and_between():
    # Choice of `discriminants`: S_W = diag(1, 4), S_B = 0.25 · 0.75 · d dᵀ for means that differ by d = (2, 2), so that
    # w is in the direction of S_W⁻¹ d = (2, 0.5).
    square = np.array([[1.0, 2.0], [1.0, -2.0], [-1.0, 2.0], [-1.0, -2.0]])
    X = np.vstack([square, *[square + 2.0] * 3])
    lda = LDA().fit(X, [0] * 4 + [1] * 12)
    assert_allclose(lda.components_ / lda.components_[0, 0], [[1.0, 0.25]])


def test_features_that_are_constant_within_classes_have_no_weight():
    X, y = iris()
    lda = LDA().fit(np.column_stack([X, np.full(len(X), 0.1), 0.1 * y]), y)
    assert_array_equal(lda.components_, np.pad(LDA().fit(X, y).components_, ((0, 0), (0, 2))))


SMALL = RpropMLPClassifier((2,), max_epochs=10, random_state=0)


def test_median_distance_leaves_equal_samples_out():
    # Distances 0, 3, 3, 4, 4, 5: of those above 0 the median is 4.
    assert median_distance(np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])) == 4.0
    assert median_distance(np.ones((3, 2))) == 1.0


def test_components_are_scikit_learns_at_the_width_of_least_validation_error(iris):
    X, y, X_val, y_val = iris
    factors = (0.1, 1.0, 10.0)
    ours = GaussianKernelPCA(2, width_factors=factors, estimator=LogisticRegression()).fit(*iris)
    errors, projections = [], []
    for factor in factors:
        gamma = 0.5 / (factor * median_distance(X)) ** 2
        pca = KernelPCA(2, kernel="rbf", gamma=gamma, eigen_solver="dense").fit(X)
        machine = LogisticRegression().fit(pca.transform(X), y)
        projections.append(pca.transform(X_val))
        errors.append(100 * np.mean(machine.predict(projections[-1]) != y_val))
    best = np.argmin(errors)
    assert_allclose(ours.history_["validation_error_percent"], errors)
    assert ours.width_ == ours.history_["width"][best]
    assert_allclose(np.abs(ours.transform(X_val)), np.abs(projections[best]), atol=1e-8)


def test_criterion_1_counts_by_the_kernels_eigenvalues_but_never_more_than_features(iris):
    kernel_pca = GaussianKernelPCA(tau=10.0, width_factors=[1.0], estimator=SMALL).fit(*iris)
    eigenvalues = kernel_pca.eigenvalues_
    assert kernel_pca.n_components_ == np.sum(eigenvalues[0] / eigenvalues <= 10.0) > 1
    narrow = GaussianKernelPCA(tau=1e9, width_factors=[0.01], estimator=SMALL).fit(*iris)
    assert narrow.n_components_ == 4


def test_circles_are_separated_by_one_component():
    # Marsland, figure 6.10: linear PCA does not separate concentric circles, a Gaussian kernel does by one component.
    X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    halves = X[:100], y[:100], X[100:], y[100:]
    kernel_pca = GaussianKernelPCA(1, estimator=LogisticRegression()).fit(*halves)
    assert kernel_pca.history_["validation_error_percent"].min() == 0.0


@pytest.mark.parametrize(
    "settings",
    [{}, {"hidden_activation": "logistic"}, {"layers_before": (4, 3), "hidden_activation": "tanh"}],
)
def test_outputs_of_the_trained_network_are_linear_in_the_activations_of_its_last_hidden_layer(
    iris, settings
):
    X, y, X_val, y_val = iris
    hidden = HiddenLayer(2, random_state=0, **settings).fit(*iris)
    network = hidden.network_
    outputs = hidden.transform(X_val) @ network.coefs_[-1] + network.intercepts_[-1]
    assert_allclose(outputs, network.decision_function(X_val))
    if settings:
        return
    assert np.mean(outputs.argmax(axis=1) == y_val) > 0.9
    # Early stopping uses the validation data that `fit` gets.
    other = HiddenLayer(2, random_state=0).fit(X, y, X_val, np.roll(y_val, 7))
    assert other.network_.validation_curve_[0] != network.validation_curve_[0]
