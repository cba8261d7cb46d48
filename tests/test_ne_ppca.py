"""NE-pPCA as an estimator: the contract, the evolution's invariants, exact PCA, published dimensions."""

import numpy as np
import pytest
import reference_evolution as reference
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import parametrize_with_checks

from pppca_bench.engines import NEpPCA

PUBLISHED = {
    "cancer1": [1, 1.2, 4.6, 6.3],
    "card1": [28.5, 50.7, 51, 51],
    "diabetes1": [7.6, 8, 8, 8],
    "glass1": [5.5, 6.7, 7.9, 8.4],
    "heart1": [22.3, 31.5, 34.2, 35],
    "horse1": [35.3, 57.7, 58, 58],
    "soybean1": [3.3, 11.7, 26.1, 37.3],
    "thyroid1": [8.9, 16.3, 18, 19.8],
}
TAUS = [5.0, 10.0, 15.0, 20.0]


@parametrize_with_checks([NEpPCA()])
def test_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def wine():
    X = load_wine().data
    return (X - X.min(axis=0)) / np.ptp(X, axis=0)


@pytest.fixture(scope="module")
def fitted(wine):
    return NEpPCA(tau=10.0, random_state=0).fit(wine)


class TestResult:
    def test_components_are_orthonormal(self, fitted):
        gram = fitted.components_ @ fitted.components_.T
        np.testing.assert_allclose(gram, np.eye(fitted.n_components_), atol=1e-10)

    def test_variances_are_those_of_the_projections_and_decrease(self, fitted, wine):
        np.testing.assert_allclose(fitted.transform(wine).var(axis=0), fitted.explained_variance_, rtol=1e-10)
        assert np.all(np.diff(fitted.explained_variance_) <= 0.0)

    def test_no_variance_left_is_more_than_tau_times_smaller_than_the_largest(self, fitted):
        assert 1 < fitted.n_components_ < 13
        assert fitted.explained_variance_[0] <= 10.0 * fitted.explained_variance_[-1]

    def test_ratios_share_out_the_total_variance(self, wine):
        everything = NEpPCA(tau=1e9, n_generations=3, random_state=0).fit(wine)
        assert everything.n_components_ == 13
        assert everything.explained_variance_ratio_.sum() == pytest.approx(1.0, rel=1e-12)

    def test_all_nodes_invert_exactly_and_fewer_project(self, wine, fitted):
        everything = NEpPCA(tau=1e9, n_generations=1, random_state=0).fit(wine)
        np.testing.assert_allclose(everything.inverse_transform(everything.transform(wine)), wine, atol=1e-12)
        once = fitted.inverse_transform(fitted.transform(wine))
        np.testing.assert_allclose(fitted.inverse_transform(fitted.transform(once)), once, atol=1e-12)

    def test_the_first_component_turns_towards_the_first_eigenvector(self):
        X = load_iris().data
        ours = NEpPCA(tau=20.0, n_generations=300, random_state=0).fit(X).components_[0]
        assert abs(ours @ PCA(1).fit(X).components_[0]) > 0.99

    def test_not_centred_means_second_moments(self, wine):
        model = NEpPCA(centre=False, random_state=0).fit(wine)
        np.testing.assert_array_equal(model.mean_, np.zeros(13))
        second_moments = np.mean(model.transform(wine) ** 2, axis=0)
        np.testing.assert_allclose(model.explained_variance_, second_moments, rtol=1e-10)

    def test_the_start_may_have_fewer_nodes(self, wine):
        model = NEpPCA(tau=1e9, n_components=3, n_generations=2, random_state=0).fit(wine)
        assert model.components_.shape == (3, 13)


class TestEvolution:
    def test_the_first_generation_is_the_best_of_the_random_start(self, wine):
        model = NEpPCA(tau=10.0, population_size=4, n_generations=0, random_state=5).fit(wine)
        weights = np.random.default_rng(5).random((4, 13, 13))
        rows, variances, fitness = max((reference.evaluated(W, wine, 10.0) for W in weights), key=lambda r: r[2])
        np.testing.assert_allclose(model.components_, rows, atol=1e-9)
        np.testing.assert_allclose(model.explained_variance_, variances, rtol=1e-9)
        assert model.fitness_ == pytest.approx(fitness, rel=1e-9)

    def test_history_has_one_entry_per_evaluation_and_ends_with_the_result(self, fitted):
        history = fitted.history_
        assert {key: value.shape for key, value in history.items()} == {
            "dimensionality": (54,),
            "mean_dimensionality": (54,),
            "fitness": (54,),
            "variances": (54, 13),
        }
        last = history["variances"][-1]
        np.testing.assert_array_equal(last[: fitted.n_components_], fitted.explained_variance_)
        assert np.all(np.isnan(last[fitted.n_components_ :]))
        assert history["dimensionality"][-1] == fitted.n_components_
        assert history["fitness"][-1] == fitted.fitness_

    def test_nodes_are_never_added_to_a_population(self, wine):
        model = NEpPCA(tau=3.0, population_size=1, n_elite=0, random_state=0).fit(wine)
        assert np.all(np.diff(model.history_["dimensionality"]) <= 0)

    def test_the_elite_keeps_the_best_fitness_where_nothing_is_removed(self, wine):
        disturbed = {"tau": 1e9, "mutation_scale": 0.5, "mutation_probability": 1.0, "random_state": 0}
        with_elite = NEpPCA(n_elite=1, **disturbed).fit(wine).history_["fitness"]
        without = NEpPCA(n_elite=0, **disturbed).fit(wine).history_["fitness"]
        assert np.all(np.diff(with_elite) >= -1e-12)
        assert np.any(np.diff(without) < -1e-3)

    def test_a_population_of_elite_alone_repeats_itself(self, wine):
        model = NEpPCA(tau=1e9, population_size=3, n_elite=3, n_generations=4, random_state=0).fit(wine)
        np.testing.assert_allclose(model.history_["fitness"], model.fitness_, rtol=1e-12)

    def test_two_taus_that_remove_nothing_share_their_evolution(self, wine):
        one, other = (NEpPCA(tau=tau, random_state=1).fit(wine) for tau in (1e6, 1e9))
        np.testing.assert_array_equal(one.components_, other.components_)

    def test_numbers_drawn_do_not_depend_on_tau(self, wine):
        after = []
        for tau in (1.5, 10.0, 1e9):
            generator = np.random.default_rng(2)
            NEpPCA(tau=tau, n_generations=5, random_state=generator).fit(wine)
            after.append(generator.random())
        assert after[0] == after[1] == after[2]

    def test_the_same_seed_gives_the_same_result_and_another_does_not(self, wine):
        first, again, other = (NEpPCA(random_state=seed).fit(wine) for seed in (3, 3, 4))
        np.testing.assert_array_equal(first.components_, again.components_)
        assert not np.array_equal(first.components_[0], other.components_[0])

    def test_a_random_state_object_is_advanced(self, wine):
        source = np.random.RandomState(0)
        first, second = (NEpPCA(random_state=source, n_generations=1).fit(wine) for _ in range(2))
        assert not np.array_equal(first.components_[0], second.components_[0])

    def test_the_scale_of_the_data_does_not_matter(self, wine):
        small, large = (NEpPCA(random_state=0).fit(wine * scale) for scale in (1.0, 2.0**20))
        np.testing.assert_array_equal(small.components_, large.components_)


class TestRefusal:
    @pytest.mark.parametrize(
        ("parameter", "value", "kind"),
        [
            ("tau", 0.5, ValueError),
            ("tau", np.nan, ValueError),
            ("tau", np.inf, ValueError),
            ("tau", "10", TypeError),
            ("population_size", 0, ValueError),
            ("population_size", 2.0, TypeError),
            ("n_generations", -1, ValueError),
            ("n_generations", True, TypeError),
            ("n_components", 14, ValueError),
            ("tournament_size", 0, ValueError),
            ("n_elite", -1, ValueError),
            ("n_elite", 21, ValueError),
            ("crossover_probability", 1.1, ValueError),
            ("mutation_probability", -0.1, ValueError),
            ("mutation_scale", np.inf, ValueError),
        ],
    )
    def test_a_wrong_parameter_is_named_with_its_rule_and_value(self, wine, parameter, value, kind):
        with pytest.raises(kind, match=rf"^{parameter} in NEpPCA: expected .*, got {value!r}\. \w"):
            NEpPCA(**{parameter: value}).fit(wine)

    @pytest.mark.parametrize("value", [0.1, 3.0])
    def test_constant_features_are_refused(self, value):
        with pytest.raises(ValueError, match=r"expected a feature that varies, got 4 constant feature\(s\)"):
            NEpPCA().fit(np.full((7, 4), value))

    def test_zeros_are_refused_when_not_centred(self):
        with pytest.raises(ValueError, match="expected a feature that is not all zero"):
            NEpPCA(centre=False).fit(np.zeros((7, 4)))

    def test_one_sample_is_refused(self):
        with pytest.raises(ValueError, match="1 sample"):
            NEpPCA().fit(np.ones((1, 4)))


def training_inputs(path):
    """Read the training inputs of a Proben1 file without the package's own parser."""
    lines = path.read_text().split("\n")
    header = dict(line.split("=") for line in lines if "=" in line)
    n_inputs = int(header["bool_in"]) + int(header["real_in"])
    rows = [line.split()[:n_inputs] for line in lines if line and "=" not in line]
    return np.array(rows[: int(header["training_examples"])], dtype=float)


@pytest.mark.slow
@pytest.mark.data
def test_dimensionalities_are_close_to_the_published_ones(proben1_dir):
    distances = []
    for problem, published in PUBLISHED.items():
        X = training_inputs(proben1_dir / f"{problem}.dt")
        for tau, expected in zip(TAUS, published, strict=True):
            found = np.mean([NEpPCA(tau, random_state=seed).fit(X).n_components_ for seed in range(10)])
            distances.append(abs(np.log(found / expected)))
    assert len(distances) == 32
    assert np.mean(distances) < 0.08
