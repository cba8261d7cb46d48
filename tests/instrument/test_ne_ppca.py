"""NE-pPCA as an estimator: the evolution's invariants, exact PCA, published dimensions."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA

from pppca_bench.engines import NEpPCA, population
from pppca_bench.problems import load_problem
from pppca_bench.references.reference import installed_references


@pytest.fixture(scope="module")
def wine():
    X = load_wine().data
    return (X - X.min(axis=0)) / np.ptp(X, axis=0)


@pytest.fixture(scope="module")
def fitted(wine):
    return NEpPCA(tau=10.0, random_state=0).fit(wine)


class TestResult:
    def test_components_are_orthonormal_with_decreasing_variances_within_tau(self, fitted, wine):
        gram = fitted.components_ @ fitted.components_.T
        assert_allclose(gram, np.eye(fitted.n_components_), atol=1e-10)
        assert_allclose(fitted.transform(wine).var(axis=0), fitted.explained_variance_, rtol=1e-10)
        assert np.all(np.diff(fitted.explained_variance_) <= 0.0)
        assert 1 < fitted.n_components_ < 13
        assert fitted.explained_variance_[0] <= 10.0 * fitted.explained_variance_[-1]

    def test_the_first_component_turns_towards_the_first_eigenvector(self):
        X = load_iris().data
        ours = NEpPCA(tau=20.0, n_generations=300, random_state=0).fit(X).components_[0]
        assert abs(ours @ PCA(1).fit(X).components_[0]) > 0.99

    def test_not_centred_means_second_moments(self, wine):
        model = NEpPCA(centre=False, random_state=0).fit(wine)
        assert_array_equal(model.mean_, np.zeros(13))
        second_moments = np.mean(model.transform(wine) ** 2, axis=0)
        assert_allclose(model.explained_variance_, second_moments, rtol=1e-10)


class TestSelection:
    def test_the_selected_networks_are_the_parents_of_the_next_generation(self, wine):
        # Without crossing and noise, the children of the only selected network are its copies.
        given = {"tau": 4.0, "mutation_scale": 0.0, "random_state": 2}
        fittest = NEpPCA(n_generations=0, **given).fit(wine)
        alone = {"selection": "truncation", "truncation_share": 1e-3, "crossover_probability": 0.0}
        copies = NEpPCA(n_generations=1, **alone, **given).fit(wine)
        assert_allclose(copies.components_, fittest.components_, atol=1e-12)
        mean = copies.history_["mean_dimensionality"]
        assert mean[1] == fittest.n_components_ != mean[0]

    def test_roulette_depends_on_the_strength_and_not_on_the_units(self, wine):
        given = {"selection": "roulette", "n_generations": 20, "random_state": 1}
        plain = NEpPCA(**given).fit(wine)
        strong, thousand = (
            NEpPCA(**given, selection_strength=30.0).fit(X) for X in (wine, 1000.0 * wine)
        )
        assert plain.fitness_ != strong.fitness_
        assert_allclose(thousand.components_, strong.components_, atol=1e-9)


class TestEvolution:
    def test_the_first_generation_is_the_best_of_the_random_start(self, wine):
        model = NEpPCA(tau=10.0, population_size=4, n_generations=0, random_state=5).fit(wine)
        weights = np.random.default_rng(5).random((4, 13, 13))
        rows, variances, fitness = max(
            (naive.evaluated(W, wine, 10.0) for W in weights), key=lambda r: r[2]
        )
        assert_allclose(model.components_, rows, atol=1e-9)
        assert_allclose(model.explained_variance_, variances, rtol=1e-9)
        assert model.fitness_ == pytest.approx(fitness, rel=1e-9)

    def test_history_has_an_entry_per_evaluation_and_ends_with_the_result(self, fitted):
        history, n = fitted.history_, fitted.n_components_
        names = ("dimensionality", "mean_dimensionality", "fitness", "optimality")
        shapes = dict.fromkeys(names, (91,)) | {"variances": (91, 13)}
        assert {name: values.shape for name, values in history.items()} == shapes
        assert_array_equal(history["variances"][-1, :n], fitted.explained_variance_)
        assert np.all(np.isnan(history["variances"][-1, n:]))
        assert (history["dimensionality"][-1], history["fitness"][-1]) == (n, fitted.fitness_)

    def test_numbers_drawn_do_not_depend_on_tau(self, wine):
        after = []
        for tau in (1.5, 10.0, 1e9):
            generator = np.random.default_rng(2)
            NEpPCA(tau=tau, n_generations=5, random_state=generator).fit(wine)
            after.append(generator.random())
        assert after[0] == after[1] == after[2]


class TestConstraints:
    def test_limits_of_the_number_of_nodes_apply_from_the_first_evaluation_on(self, wine):
        free, held, bound, few = (
            NEpPCA(**given, random_state=0).fit(wine)
            for given in (
                {"tau": 2.0},
                {"tau": 2.0, "min_components": 6},
                {"tau": 1e9, "max_components": 3},
                {"tau": 1e9, "n_components": 3},
            )
        )
        assert free.n_components_ < 6 == held.n_components_
        assert held.history_["dimensionality"].min() == 6
        assert np.all(bound.history_["dimensionality"] == 3)
        assert np.all(few.history_["dimensionality"] == 3)

    @pytest.mark.parametrize("ratio", [0.5, 0.9, 1.0])
    def test_a_share_of_the_variance_stays(self, wine, ratio):
        free = NEpPCA(tau=2.0, random_state=0).fit(wine)
        held = NEpPCA(tau=2.0, min_variance_ratio=ratio, random_state=0).fit(wine)
        assert held.n_components_ >= free.n_components_
        variances, shares = held.explained_variance_, np.cumsum(held.explained_variance_ratio_)
        assert shares[-1] >= ratio - 1e-12
        no_more_than_the_share_takes = shares[-2] < ratio
        assert variances[0] <= 2.0 * variances[-1] or no_more_than_the_share_takes


class TestWarmStart:
    def test_the_first_network_starts_as_the_components_of_a_block(self, wine):
        given = {"tau": 1e9, "population_size": 1, "n_generations": 0, "initial_samples": 178}
        ratios = NEpPCA(**given, random_state=0).fit(wine).explained_variance_ratio_
        assert_allclose(ratios, PCA().fit(wine).explained_variance_ratio_, rtol=1e-9)

    def test_networks_differ_at_the_start(self, wine):
        given = {"tau": 1.2, "initial_samples": 60, "n_generations": 0, "mutation_scale": 0.3}
        history = NEpPCA(random_state=0, **given).fit(wine).history_
        assert history["mean_dimensionality"][0] != history["dimensionality"][0]


class TestStagnation:
    def test_an_evolution_that_does_not_move_stops(self, wine):
        still = {"tau": 1e9, "mutation_scale": 0.0, "crossover_probability": 0.0}
        model = NEpPCA(n_iter_no_change=4, **still, random_state=0).fit(wine)
        assert model.n_generations_ == 4
        assert {len(values) for values in model.history_.values()} == {5}

    def test_early_stopping_gives_the_start_of_the_full_evolution(self, wine):
        given = {"tau": 3.0, "n_generations": 200, "random_state": 0}
        full = NEpPCA(**given).fit(wine).history_
        model = NEpPCA(**given, n_iter_no_change=3, tol=0.01).fit(wine)
        n = model.n_generations_ + 1
        assert 3 < n < 201
        for name, values in model.history_.items():
            assert_array_equal(values, full[name][:n])
        last, fitness = model.history_["dimensionality"][-4:], model.history_["fitness"][-4:]
        assert np.all(last == last[0])
        assert fitness.max() <= 1.01 * fitness[0]


# Generations are shared all, until networks have lost nodes, or not at all.
@pytest.mark.parametrize(("n_jobs", "least_work"), [(3, 0.0), (-1, 1e4), (3, 1e12)])
def test_threads_do_not_change_the_result(wine, n_jobs, least_work, monkeypatch):
    monkeypatch.setattr(population, "MIN_SHARED_OPERATIONS", least_work)
    monkeypatch.setattr("os.cpu_count", lambda: 20)
    given = {"tau": 5.0, "n_generations": 10, "random_state": 0}
    alone, together = (NEpPCA(**given, n_jobs=n).fit(wine) for n in (1, n_jobs))
    assert_array_equal(together.components_, alone.components_)
    for name, values in alone.history_.items():
        assert_array_equal(together.history_[name], values)


@pytest.mark.slow
def test_dimensionalities_are_close_to_the_published_dimensionalities():
    numbers = next(one.numbers for one in installed_references() if one.name == "slides")
    published = {
        key: cell["dimensionality"].value for key, cell in numbers.items() if key[0] == "T1"
    }
    distances = []
    for (_, problem, column), expected in published.items():
        X, tau = load_problem(problem).X_train, float(column.removeprefix("tau="))
        mean = np.mean([NEpPCA(tau, random_state=seed).fit(X).n_components_ for seed in range(10)])
        distances.append(abs(np.log(mean / expected)))
    assert len(distances) == 32
    assert np.mean(distances) < 0.08
