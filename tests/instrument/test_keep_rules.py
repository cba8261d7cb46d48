"""Rules for the number of components: published numbers, scikit-learn, and data of known dimensionality."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import scale

from pppca_bench.base import keep_rules
from pppca_bench.reducers.linear_projection import CovariancePCA, SingularValuePCA


def factors(n=400, m=12, k=3, seed=0):
    """Return samples of k factors and noise of standard deviation 0.3, in other units by column."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, k)) @ np.linalg.qr(rng.standard_normal((m, k)))[0].T * 3.0
    return X + 0.3 * rng.standard_normal((n, m))


# `lPCA` of scikit-dimension 0.5.0, versions FO (alphaFO = 1/15), ratio (0.95), broken_stick, GD, Minka and parallel,
# of standardized features.
SCIKIT_DIMENSION = {
    "iris": (load_iris, [2, 2, 1, 1, 3, 1]),
    "wine": (load_wine, [8, 10, 2, 3, 12, 3]),
    "breast cancer": (load_breast_cancer, [6, 10, 3, 13, 29, 5]),
}


@pytest.mark.parametrize("name", SCIKIT_DIMENSION)
def test_rules_count_as_scikit_dimension_does(name):
    load, expected = SCIKIT_DIMENSION[name]
    X = scale(load().data)
    rules = ["tau", "variance", "broken_stick", "gavish_donoho", "mle", "parallel"]
    given = [
        {"keep": rule, "tau": 15.0} if rule != "variance" else {"variance_ratio": 0.95}
        for rule in rules
    ]
    assert [CovariancePCA(**own).fit(X).n_components_ for own in given] == expected


def test_an_absolute_limit_of_eigenvalues_depends_on_the_units():
    # Variances of iris, divided by N: 4.20, 0.24, 0.078, 0.024
    X = load_iris().data
    for least, unit, n in (
        (9.0, 1.0, 1),
        (0.25, 1.0, 1),
        (0.1, 1.0, 2),
        (0.02, 1.0, 4),
        (9.0, 10.0, 2),
    ):
        pca = CovariancePCA(keep="eigenvalue", least_eigenvalue=least).fit(unit * X)
        assert pca.n_components_ == n
    assert keep_rules.count_by_eigenvalue(np.array([2.0, 1.0, 0.5]), 1.0) == 2


def test_cross_validation_finds_the_factors():
    assert CovariancePCA(keep="cross_validation").fit(factors()).n_components_ == 3


def test_broken_stick_has_the_published_shares():
    # Legendre and Legendre 1998, section 9.1.6, of five pieces: 45.67, 25.67, 15.67, 9.00 and 4.00 %.
    shares = np.array([0.4567, 0.2567, 0.1567, 0.09, 0.04])
    for changes, n in (([0.001, 0.001, -0.001], 2), ([0.001, -0.001, 0.001], 1)):
        own = shares + np.array([*changes, -0.0005, -0.0005])
        assert keep_rules.count_by_broken_stick(own) == n


def test_hard_threshold_of_a_square_matrix_is_the_published_multiple_of_the_median():
    # Gavish and Donoho 2014: 2.858 for square matrices, of which equation (5) gives 2.86.
    singular = np.array([2.87, 2.85, 1.0, 1.0, 0.5])
    assert keep_rules.count_by_hard_threshold(singular**2, 5) == 1


def test_cross_validation_scores_as_scikit_learn_does():
    X = factors(n=60, m=6)
    ours = keep_rules._log_likelihoods(X, np.arange(12))
    expected = [PCA(k).fit(X[12:]).score(X[:12]) for k in range(1, 6)]
    np.testing.assert_allclose(ours, expected, rtol=1e-9)


def test_permuted_columns_keep_their_variances():
    # Columns without correlation, one of a large unit: only chance exceeds chance.
    X = np.random.default_rng(0).standard_normal((500, 8)) * [100.0, 1, 1, 1, 1, 1, 1, 1]
    assert CovariancePCA(keep="parallel").fit(X).n_components_ <= 2


RULES = ["tau", "variance", "broken_stick", "gavish_donoho", "parallel", "cross_validation", "mle"]


@pytest.mark.parametrize("keep", RULES)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(8, 60),
    m=st.integers(2, 40),
    n_constant=st.sampled_from([0, 1, 230]),
)
@settings(max_examples=10)
def test_constant_features_and_how_spectra_are_made_leave_the_count(keep, seed, n, m, n_constant):
    assume(keep != "mle" or n >= m)
    X = factors(n=n, m=m, k=2, seed=seed)
    wide = np.hstack([X, np.full((n, n_constant), 0.1)])
    given = {"keep": keep, "tau": 15.0, "variance_ratio": 0.9}
    counts = [
        pca(**given).fit(own).n_components_
        for pca in (CovariancePCA, SingularValuePCA)
        for own in (X, wide)
    ]
    assert len(set(counts)) == 1


@pytest.mark.parametrize(("make", "n_constant"), [(CovariancePCA, 1), (SingularValuePCA, 0)])
def test_few_samples_of_many_features_have_the_threshold_of_both_sides(make, n_constant):
    # 8 factors of 40 samples and 256 features, β = 40 / 256: 8 singular values exceed ω(β) times the median of 40.
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((size, 8)))[0] for size in (40, 256))
    X = U @ np.diag([90, 70, 55, 45, 38, 32, 28, 26.0]) @ V.T + rng.standard_normal((40, 256))
    X = np.hstack([X, np.zeros((40, n_constant))])
    assert make(keep="gavish_donoho").fit(X).n_components_ == 8
    assert make(keep="broken_stick").fit(X).n_components_ == 10  # of 256 pieces


@pytest.mark.parametrize("make", [CovariancePCA, SingularValuePCA])
@pytest.mark.parametrize("keep", [None, *RULES])
@pytest.mark.parametrize("n_features", [3, 257])
def test_constant_samples_keep_one_component(make, keep, n_features):
    number = {"tau": 15.0} if keep != "variance" else {"variance_ratio": 0.9}
    pca = make(keep=keep, **number).fit(np.full((2, n_features), 0.1))
    assert len(pca.components_) == pca.n_components_ == 1
