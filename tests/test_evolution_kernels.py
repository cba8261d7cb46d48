"""The compiled steps of the evolution against values worked out by hand and plain-loop twins."""

import numpy as np
import pytest
import reference_evolution as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from pppca_bench.engines import _evolution_kernels as kernels


def random_samples(seed, n_samples=40, n_features=6):
    rng = np.random.default_rng(seed)
    return rng.random((n_samples, n_features)) * rng.uniform(0.2, 2.0, n_features)


def covariance(samples):
    return np.cov(samples, rowvar=False, bias=True)


def run_gram_schmidt(W):
    Q, scratch = np.full_like(W, np.nan), np.empty(max(W.shape))
    n_kept = kernels.gram_schmidt(W, W.shape[0], Q, scratch)
    return Q[:n_kept]


def run_evaluate(W, C, tau):
    W, Q = W.copy(), np.empty_like(W)
    variances, scratch = np.full(W.shape[0], np.nan), np.empty(W.shape[1])
    n_kept, fitness = kernels.evaluate(W, W.shape[0], C, tau, variances, Q, scratch)
    return W[:n_kept], variances[:n_kept], fitness


def run_cross(w_i, w_j, v_i, v_j):
    child = np.full(len(w_i), np.nan)
    kernels.cross_node(np.array(w_i, dtype=float), np.array(w_j, dtype=float), v_i, v_j, child)
    return child


class TestCrossing:
    def test_formula_2_by_hand(self):
        # distance 5, normalised weights 0.75 and 0.25, so the step is 0.5 / 5 of (3, -4)
        np.testing.assert_allclose(run_cross([3.0, 0.0], [0.0, 4.0], 3.0, 1.0), [3.3, -0.4], rtol=1e-15)

    def test_the_parent_of_larger_variance_leads_whatever_its_place(self):
        np.testing.assert_allclose(run_cross([0.0, 4.0], [3.0, 0.0], 1.0, 3.0), [3.3, -0.4], rtol=1e-15)

    def test_equal_nodes_give_that_node(self):
        np.testing.assert_array_equal(run_cross([0.6, 0.8], [0.6, 0.8], 3.0, 1.0), [0.6, 0.8])

    def test_equal_variances_give_the_first_parent(self):
        np.testing.assert_array_equal(run_cross([0.6, 0.8], [1.0, 0.0], 2.0, 2.0), [0.6, 0.8])

    def test_nodes_without_variance_give_the_first_parent(self):
        np.testing.assert_array_equal(run_cross([0.6, 0.8], [1.0, 0.0], 0.0, 0.0), [0.6, 0.8])

    @given(st.integers(0, 2**32 - 1), st.integers(1, 9))
    @settings(max_examples=30, deadline=None)
    def test_agrees_with_its_plain_loop_twin(self, seed, n_features):
        rng = np.random.default_rng(seed)
        w_i, w_j = rng.standard_normal((2, n_features))
        v_i, v_j = rng.random(2)
        np.testing.assert_allclose(
            run_cross(w_i, w_j, v_i, v_j), reference.crossed_node(w_i, w_j, v_i, v_j), rtol=1e-12, atol=1e-14
        )


class TestGramSchmidt:
    def test_three_rows_by_hand(self):
        W = np.array([[2.0, 0.0, 0.0], [5.0, 3.0, 0.0], [1.0, 1.0, -4.0]])
        np.testing.assert_allclose(run_gram_schmidt(W), np.diag([1.0, 1.0, -1.0]), atol=1e-15)

    @pytest.mark.parametrize("spread", [1.0, 1e-4, 1e-8])
    @pytest.mark.parametrize("n_features", [1, 4, 9, 23])
    def test_rows_are_orthonormal_to_1e_10_even_when_nearly_dependent(self, spread, n_features):
        rng = np.random.default_rng(3)
        W = rng.random(n_features) + spread * rng.standard_normal((n_features, n_features))
        Q = run_gram_schmidt(W)
        assert Q.shape == W.shape
        np.testing.assert_allclose(Q @ Q.T, np.eye(n_features), atol=1e-10)

    def test_agrees_with_its_plain_loop_twin(self):
        W = np.random.default_rng(4).random((5, 7))
        np.testing.assert_allclose(run_gram_schmidt(W), reference.orthonormal_rows(W), atol=1e-12)

    def test_a_dependent_row_and_a_zero_row_are_dropped(self):
        W = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [-3.0, -3.0, 0.0], [0.0, 0.0, 2.0]])
        Q = run_gram_schmidt(W)
        np.testing.assert_allclose(Q, [[0.5**0.5, 0.5**0.5, 0.0], [0.0, 0.0, 1.0]], atol=1e-15)

    def test_zero_rows_only_leave_one_unit_row(self):
        np.testing.assert_array_equal(run_gram_schmidt(np.zeros((2, 3))), [[1.0, 0.0, 0.0]])


class TestVariances:
    @given(st.integers(0, 2**32 - 1), st.integers(1, 7))
    @settings(max_examples=30, deadline=None)
    def test_their_sum_over_any_orthonormal_basis_is_the_trace(self, seed, n_features):
        rng = np.random.default_rng(seed)
        C = covariance(random_samples(seed, n_features=n_features)).reshape(n_features, n_features)
        Q = run_gram_schmidt(rng.standard_normal((n_features, n_features)))
        variances = np.empty(n_features)
        kernels.projection_variances(Q, n_features, C, variances, np.empty(n_features))
        np.testing.assert_allclose(variances.sum(), np.trace(C), rtol=1e-12)

    def test_agree_with_the_responses_of_all_samples(self):
        samples = random_samples(5)
        Q = run_gram_schmidt(np.random.default_rng(5).random((4, 6)))
        variances = np.empty(4)
        kernels.projection_variances(Q, 4, covariance(samples), variances, np.empty(6))
        np.testing.assert_allclose(variances, reference.response_variances(Q, samples), rtol=1e-12)


class TestEvaluation:
    C = np.diag([4.0, 1.0])

    def test_fitness_by_hand(self):
        # q0 = (0.8, 0.6): C q0 = (3.2, 0.6) and q0' C q0 = 2.92, so alpha = 2.92^2 / 10.6; the sum is 5
        _, variances, fitness = run_evaluate(np.array([[1.6, 1.2], [0.0, 1.0]]), self.C, 10.0)
        np.testing.assert_allclose(variances, [2.92, 2.08], rtol=1e-14)
        np.testing.assert_allclose(fitness, 2.92**2 / 10.6 * 5.0, rtol=1e-14)

    def test_an_eigenvector_has_alignment_one(self):
        assert kernels.alignment(np.array([0.0, 1.0]), self.C, np.empty(2)) == pytest.approx(1.0, abs=1e-15)

    def test_a_direction_without_variance_has_alignment_zero(self):
        assert kernels.alignment(np.array([0.0, 1.0]), np.diag([4.0, 0.0]), np.empty(2)) == 0.0

    def test_rows_come_back_orthonormal_and_by_decreasing_variance(self):
        W, variances, _ = run_evaluate(np.array([[0.0, -3.0], [2.0, 7.0]]), self.C, 10.0)
        np.testing.assert_allclose(W, [[1.0, 0.0], [0.0, -1.0]], atol=1e-15)
        np.testing.assert_allclose(variances, [4.0, 1.0], rtol=1e-15)

    def test_the_sum_counts_the_nodes_that_this_evaluation_removes(self):
        W, variances, fitness = run_evaluate(np.eye(2), self.C, 3.0)
        assert (len(W), len(variances)) == (1, 1)
        assert fitness == pytest.approx(5.0)

    def test_rows_beyond_the_size_have_no_influence(self):
        W = np.array([[0.0, 1.0], [np.nan, np.nan]])
        Q, variances, scratch = np.empty((2, 2)), np.empty(2), np.empty(2)
        n_kept, fitness = kernels.evaluate(W, 1, self.C, 10.0, variances, Q, scratch)
        assert n_kept == 1
        assert fitness == pytest.approx(1.0)

    @pytest.mark.parametrize("tau", [2.0, 5.0, 1e6])
    def test_agrees_with_its_plain_loop_twin(self, tau):
        samples = random_samples(6)
        W = np.random.default_rng(6).random((6, 6))
        ours = run_evaluate(W, covariance(samples), tau)
        for value, expected in zip(ours, reference.evaluated(W, samples, tau), strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)

    def test_a_population_is_evaluated_as_its_networks_one_by_one(self):
        C = covariance(random_samples(7))
        weights = np.random.default_rng(7).random((3, 6, 6))
        alone = [run_evaluate(W, C, 4.0) for W in weights]
        sizes, variances, fitness = np.full(3, 6), np.empty((3, 6)), np.empty(3)
        kernels.evaluate_population(weights, sizes, C, 4.0, variances, fitness)
        for p, (W, v, f) in enumerate(alone):
            np.testing.assert_array_equal(weights[p, : sizes[p]], W)
            np.testing.assert_array_equal(variances[p, : sizes[p]], v)
            assert fitness[p] == f


class TestRemoval:
    @pytest.mark.parametrize(
        ("variances", "tau", "kept"),
        [
            ([8.0, 4.0, 2.0, 1.0], 4.0, 3),
            ([8.0, 4.0, 2.0, 1.0], 3.9, 2),
            ([8.0, 4.0, 2.0, 1.0], 1.0, 1),
            ([8.0, 8.0], 1.0, 2),
            ([8.0, 0.0], 1e9, 1),
            ([0.0, 0.0], 5.0, 2),
        ],
    )
    def test_criterion_1_removes_what_is_more_than_tau_times_smaller(self, variances, tau, kept):
        assert kernels.count_kept(np.array(variances), len(variances), tau) == kept


class TestBreeding:
    @staticmethod
    def breed(parents, crossed):
        rng = np.random.default_rng(8)
        weights = rng.standard_normal((3, 4, 5))
        variances = -np.sort(-rng.random((3, 4)), axis=1)
        sizes = np.array([4, 2, 3])
        children, child_sizes = np.zeros((len(parents), 4, 5)), np.zeros(len(parents), dtype=np.int64)
        kernels.breed(weights, variances, sizes, np.array(parents), np.array(crossed), children, child_sizes)
        networks = [(w[:n], v[:n]) for w, v, n in zip(weights, variances, sizes, strict=True)]
        return networks, [child[:n] for child, n in zip(children, child_sizes, strict=True)]

    def test_a_child_has_the_nodes_of_its_longer_parent_and_copies_the_surplus(self):
        networks, children = self.breed([[1, 2], [2, 1], [0, 1]], [True, True, True])
        assert [len(child) for child in children] == [3, 3, 4]
        np.testing.assert_array_equal(children[0][2], networks[2][0][2])

    def test_children_agree_with_the_plain_loop_twin(self):
        parents = [[1, 2], [0, 2], [2, 0]]
        networks, children = self.breed(parents, [True, True, True])
        for (i, j), child in zip(parents, children, strict=True):
            np.testing.assert_allclose(child, reference.child_of(networks[i], networks[j]), rtol=1e-12)

    def test_a_child_that_is_not_crossed_copies_its_first_parent(self):
        networks, children = self.breed([[1, 0]], [False])
        np.testing.assert_array_equal(children[0], networks[1][0])

    def test_a_network_crossed_with_itself_is_itself(self):
        networks, children = self.breed([[2, 2]], [True])
        np.testing.assert_array_equal(children[0], networks[2][0])

    def test_pairs_before_the_drawn_ones_are_copied(self):
        networks, children = self.breed([[1, 1], [0, 0], [2, 0]], [True])
        np.testing.assert_array_equal(children[0], networks[1][0])
        np.testing.assert_array_equal(children[1], networks[0][0])
        np.testing.assert_allclose(children[2], reference.child_of(networks[2], networks[0]), rtol=1e-12)


class TestSelection:
    FITNESS = np.array([0.3, 0.9, 0.1, 0.7])

    def test_the_elite_comes_first_by_decreasing_fitness(self):
        parents = kernels.select_parents(self.FITNESS, np.zeros((1, 2, 1), dtype=np.int64))
        np.testing.assert_array_equal(parents[:3], [[1, 1], [3, 3], [0, 0]])

    def test_each_tournament_is_won_by_its_fittest_and_the_fitter_winner_leads(self):
        contestants = np.array([[[0, 2], [3, 0]], [[1, 3], [2, 2]], [[2, 0], [0, 2]], [[3, 3], [1, 2]]])
        parents = kernels.select_parents(self.FITNESS, contestants)
        np.testing.assert_array_equal(parents, [[3, 0], [1, 2], [0, 0], [1, 3]])


class TestMutation:
    def test_adds_the_noise_to_the_chosen_genes_of_present_nodes(self):
        weights, sizes = np.zeros((2, 2, 3)), np.array([1, 2])
        # genes 1 (network 0, node 0), 4 (network 0, node 1: removed), 6 and 11 (network 1, nodes 0 and 1)
        kernels.mutate(weights, sizes, np.array([1, 4, 6, 11]), np.array([0.1, 0.2, 0.3, 0.4]))
        expected = [[[0, 0.1, 0], [0, 0, 0]], [[0.3, 0, 0], [0, 0, 0.4]]]
        np.testing.assert_array_equal(weights, expected)

    def test_nothing_chosen_changes_nothing(self):
        weights = np.ones((1, 2, 2))
        kernels.mutate(weights, np.array([2]), np.empty(0, dtype=np.int64), np.empty(0))
        np.testing.assert_array_equal(weights, np.ones((1, 2, 2)))
