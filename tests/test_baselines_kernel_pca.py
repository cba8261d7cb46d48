"""Kernel PCA: scikit-learn's components, a width chosen on validation data, and circles told apart."""

import numpy as np
from sklearn.datasets import make_circles
from sklearn.decomposition import KernelPCA
from sklearn.linear_model import LogisticRegression

from pppca_bench.classifiers import RpropMLPClassifier
from pppca_bench.reducers.sklearn_projections import GaussianKernelPCA, median_distance

SMALL = RpropMLPClassifier((2,), max_epochs=10, random_state=0)


def test_median_distance_leaves_equal_samples_out():
    # Distances 0, 3, 3, 4, 4, 5: of those above 0 the median is 4.
    assert median_distance(np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])) == 4.0
    assert median_distance(np.ones((3, 2))) == 1.0


def test_components_are_those_of_scikit_learn_at_the_chosen_width(iris):
    X, _, X_val, _ = iris
    kernel_pca = GaussianKernelPCA(3, estimator=SMALL, random_state=0).fit(*iris)
    expected = KernelPCA(3, kernel="rbf", gamma=1 / (2 * kernel_pca.width_**2)).fit(X).transform(X_val)
    np.testing.assert_allclose(np.abs(kernel_pca.transform(X_val)), np.abs(expected), atol=1e-8)


def test_width_has_the_least_validation_error_of_the_grid(iris):
    factors = (0.1, 1.0, 10.0)
    kernel_pca = GaussianKernelPCA(2, width_factors=factors, estimator=LogisticRegression()).fit(*iris)
    errors = []
    for factor in factors:
        width = factor * median_distance(iris[0])
        pca = KernelPCA(2, kernel="rbf", gamma=0.5 / width**2, eigen_solver="dense").fit(iris[0])
        machine = LogisticRegression().fit(pca.transform(iris[0]), iris[1])
        errors.append(100 * np.mean(machine.predict(pca.transform(iris[2])) != iris[3]))
    np.testing.assert_allclose(kernel_pca.history_["validation_error_percent"], errors)
    assert kernel_pca.width_ == kernel_pca.history_["width"][np.argmin(errors)]


def test_criterion_1_counts_by_the_kernels_eigenvalues(iris):
    kernel_pca = GaussianKernelPCA(tau=10.0, width_factors=[1.0], estimator=SMALL).fit(*iris)
    eigenvalues = kernel_pca.eigenvalues_
    assert kernel_pca.n_components_ == np.sum(eigenvalues[0] / eigenvalues <= 10.0) > 1


def test_never_more_components_than_features(iris):
    kernel_pca = GaussianKernelPCA(tau=1e9, width_factors=[0.01], estimator=SMALL).fit(*iris)
    assert kernel_pca.n_components_ == 4


def test_circles_are_told_apart_by_one_component():
    # Marsland, figure 6.10: linear PCA does not separate concentric circles, a Gaussian kernel does by one component.
    X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    kernel_pca = GaussianKernelPCA(1, estimator=LogisticRegression()).fit(X[:100], y[:100], X[100:], y[100:])
    assert kernel_pca.history_["validation_error_percent"].min() == 0.0
