"""The compiled steps of the evolution against values worked out by hand and plain-loop twins."""

import numpy as np
import pytest
import reference_evolution as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from pppca_bench.engines import _evaluation_kernels as evaluation
from pppca_bench.engines import _evolution_kernels as kernels
from pppca_bench.engines._fast_kernels import quadratic_variances


def random_samples(seed, n_samples=40, n_features=6):
    rng = np.random.default_rng(seed)
    return rng.random((n_samples, n_features)) * rng.uniform(0.2, 2.0, n_features)


def covariance(samples):
    return np.cov(samples, rowvar=False, bias=True)


def run_gram_schmidt(W):
    Q = np.full([-(-n // 8) * 8 for n in W.shape], np.nan)
    n_kept = evaluation.gram_schmidt(W, W.shape[0], Q)
    assert not Q[n_kept:].any()
    assert not Q[:, W.shape[1] :].any()
    return Q[:n_kept, : W.shape[1]]


def limits(tau, min_components=1, max_components=99, min_variance=0.0):
    return evaluation.Limits(tau, min_components, max_components, min_variance)


def run_evaluate(W, C, rule, n_nodes=None):
    """Evaluate a population of one."""
    weights, sizes = W[np.newaxis].copy(), np.array([n_nodes or len(W)])
    variances, fitness = np.full((1, len(W)), np.nan), np.empty(1)
    evaluation.evaluate_networks(evaluation.Networks(weights, variances, sizes, fitness), C, rule)
    return weights[0, : sizes[0]], variances[0, : sizes[0]], fitness[0]


def run_cross(w_i, w_j, v_i, v_j):
    child = np.full((3, len(w_i)), np.nan)
    parents = [np.array([w, w, [9.0] * len(w)], dtype=float) for w in (w_i, w_j)]
    kernels.cross_node(*parents, 1, v_i, v_j, child)
    assert np.isnan(child[::2]).all()
    return child[1]


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
    @pytest.mark.parametrize("n_features", [1, 4, 8, 9, 23])
    def test_rows_are_orthonormal_to_1e_10_even_when_nearly_dependent(self, spread, n_features):
        rng = np.random.default_rng(3)
        W = rng.random(n_features) + spread * rng.standard_normal((n_features, n_features))
        Q = run_gram_schmidt(W)
        assert Q.shape == W.shape
        np.testing.assert_allclose(Q @ Q.T, np.eye(n_features), atol=1e-10)

    @pytest.mark.parametrize("shape", [(5, 7), (8, 8), (9, 16), (17, 17), (20, 33)])
    def test_agrees_with_its_plain_loop_twin(self, shape):
        W = np.random.default_rng(4).random(shape)
        np.testing.assert_allclose(run_gram_schmidt(W), reference.orthonormal_rows(W), atol=1e-12)

    def test_a_dependent_row_and_a_zero_row_are_dropped(self):
        W = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [-3.0, -3.0, 0.0], [0.0, 0.0, 2.0]])
        Q = run_gram_schmidt(W)
        np.testing.assert_allclose(Q, [[0.5**0.5, 0.5**0.5, 0.0], [0.0, 0.0, 1.0]], atol=1e-15)

    def test_a_dependent_row_is_dropped_whichever_block_of_rows_it_depends_on(self):
        W = np.random.default_rng(9).standard_normal((19, 23))
        W[6], W[11], W[18] = W[2] - W[3], W[8] + W[1], W[11]
        Q = run_gram_schmidt(W)
        np.testing.assert_allclose(Q, run_gram_schmidt(np.delete(W, [6, 11, 18], axis=0)), atol=1e-12)

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
        quadratic_variances(np.ascontiguousarray(Q), C, variances)
        np.testing.assert_allclose(variances.sum(), np.trace(C), rtol=1e-12)

    def test_agree_with_the_responses_of_all_samples(self):
        samples = random_samples(5)
        Q = run_gram_schmidt(np.random.default_rng(5).random((4, 6)))
        variances = np.empty(4)
        quadratic_variances(np.ascontiguousarray(Q), covariance(samples), variances)
        np.testing.assert_allclose(variances, reference.response_variances(Q, samples), rtol=1e-12)


class TestEvaluation:
    C = np.diag([4.0, 1.0])

    def test_fitness_by_hand(self):
        # q0 = (0.8, 0.6): C q0 = (3.2, 0.6) and q0' C q0 = 2.92, so alpha = 2.92^2 / 10.6; the sum is 5
        _, variances, fitness = run_evaluate(np.array([[1.6, 1.2], [0.0, 1.0]]), self.C, limits(10.0))
        np.testing.assert_allclose(variances, [2.92, 2.08], rtol=1e-14)
        np.testing.assert_allclose(fitness, 2.92**2 / 10.6 * 5.0, rtol=1e-14)

    def test_an_eigenvector_has_alignment_one(self):
        assert evaluation.alignment(np.array([[0.0, 1.0]]), self.C) == pytest.approx(1.0, abs=1e-15)

    def test_a_direction_without_variance_has_alignment_zero(self):
        assert evaluation.alignment(np.array([[0.0, 1.0]]), np.diag([4.0, 0.0])) == 0.0

    def test_rows_come_back_orthonormal_and_by_decreasing_variance(self):
        W, variances, _ = run_evaluate(np.array([[0.0, -3.0], [2.0, 7.0]]), self.C, limits(10.0))
        np.testing.assert_allclose(W, [[1.0, 0.0], [0.0, -1.0]], atol=1e-15)
        np.testing.assert_allclose(variances, [4.0, 1.0], rtol=1e-15)

    def test_the_sum_counts_the_nodes_that_this_evaluation_removes(self):
        W, variances, fitness = run_evaluate(np.eye(2), self.C, limits(3.0))
        assert (len(W), len(variances)) == (1, 1)
        assert fitness == pytest.approx(5.0)

    def test_rows_beyond_the_size_have_no_influence(self):
        kept, _, fitness = run_evaluate(np.array([[0.0, 1.0], [np.nan, np.nan]]), self.C, limits(10.0), 1)
        assert len(kept) == 1
        assert fitness == pytest.approx(1.0)

    @pytest.mark.parametrize("tau", [2.0, 5.0, 1e6])
    def test_agrees_with_its_plain_loop_twin(self, tau):
        samples = random_samples(6)
        W = np.random.default_rng(6).random((6, 6))
        ours = run_evaluate(W, covariance(samples), limits(tau))
        for value, expected in zip(ours, reference.evaluated(W, samples, tau), strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)

    def test_a_population_is_evaluated_as_its_networks_one_by_one(self):
        C = covariance(random_samples(7))
        weights = np.random.default_rng(7).random((3, 6, 6))
        alone = [run_evaluate(W, C, limits(4.0)) for W in weights]
        sizes, variances, fitness = np.full(3, 6), np.empty((3, 6)), np.empty(3)
        evaluation.evaluate_networks(evaluation.Networks(weights, variances, sizes, fitness), C, limits(4.0))
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
        assert evaluation.count_kept(np.array(variances), limits(tau)) == kept

    @pytest.mark.parametrize(
        ("rule", "kept"),
        [
            (limits(2.0), 2),
            (limits(2.0, min_components=3), 3),
            (limits(2.0, min_components=9), 5),
            (limits(2.0, max_components=1), 1),
            (limits(2.0, min_variance=12.0), 2),
            (limits(2.0, min_variance=12.1), 3),
            (limits(2.0, min_variance=99.0), 5),
            (limits(2.0, min_components=3, max_components=4, min_variance=99.0), 4),
        ],
    )
    def test_constraints_move_the_limit_between_nodes_that_stay_and_go(self, rule, kept):
        assert evaluation.count_kept(np.array([8.0, 4.0, 2.0, 1.0, 0.5]), rule) == kept


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


class TestReproduction:
    def test_it_is_breeding_mutation_and_evaluation_one_after_the_other(self):
        rng = np.random.default_rng(12)
        C, rule = covariance(random_samples(12)), limits(4.0)
        parents = evaluation.Networks(rng.random((3, 6, 6)), np.zeros((3, 6)), np.array([6, 6, 6]), np.zeros(3))
        evaluation.evaluate_networks(parents, C, rule)
        pairs, crossed, uniforms = np.array([[1, 1], [0, 2], [2, 1]]), np.array([True, False]), rng.random((2, 6, 6))
        expected, ours = (
            evaluation.Networks(np.zeros((3, 6, 6)), np.zeros((3, 6)), np.zeros(3, dtype=np.int64), np.zeros(3))
            for _ in range(2)
        )
        kernels.breed(
            parents.weights, parents.variances, parents.sizes, pairs, crossed, expected.weights, expected.sizes
        )
        kernels.mutate(expected.weights[1:], expected.sizes[1:], uniforms, 0.5, 0.1)
        evaluation.evaluate_networks(expected, C, rule)
        kernels.reproduce(parents, pairs, crossed, uniforms, kernels.Mutation(0.5, 0.1), C, rule, ours)
        for values, wanted in zip(ours, expected, strict=True):
            np.testing.assert_array_equal(values, wanted)


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
    UNIFORMS = np.random.default_rng(10).random((2, 3, 5))
    SIZES = np.array([1, 3])

    def mutated(self, probability, scale=0.5):
        weights = np.ones((2, 3, 5))
        kernels.mutate(weights, self.SIZES, self.UNIFORMS, probability, scale)
        return weights

    def test_every_gene_of_a_present_node_moves_by_its_quantile(self):
        expected = 1.0 + 0.5 * ndtri(self.UNIFORMS)
        expected[0, 1:] = 1.0
        np.testing.assert_allclose(self.mutated(1.0), expected, rtol=1e-13)

    def test_a_probability_chooses_genes_and_spreads_their_numbers_over_the_whole_distribution(self):
        chosen = self.UNIFORMS < 0.3
        chosen[0, 1:] = False
        assert 0 < chosen.sum() < 20
        expected = np.where(chosen, 1.0 + 0.5 * ndtri(np.minimum(self.UNIFORMS / 0.3, 0.999)), 1.0)
        np.testing.assert_allclose(self.mutated(0.3), expected, rtol=1e-13)

    def test_no_probability_and_no_scale_change_nothing(self):
        np.testing.assert_array_equal(self.mutated(0.0), np.ones((2, 3, 5)))
        np.testing.assert_array_equal(self.mutated(1.0, 0.0), np.ones((2, 3, 5)))


class TestNormalQuantiles:
    def test_agree_with_scipys(self):
        near_ends = 2.0 ** -np.arange(2, 53, 5.0)
        p = np.concatenate([np.random.default_rng(11).random(2000), near_ends, 1.0 - near_ends, [0.5, 0.075, 0.925]])
        expected = np.where(p < 0.5, ndtri(p + 2.0**-54), -ndtri(1.0 - p - 2.0**-54))
        np.testing.assert_allclose(kernels.normal_quantiles(p), expected, atol=1e-14)

    def test_the_ends_of_the_range_are_finite(self):
        np.testing.assert_allclose(
            kernels.normal_quantiles(np.array([0.0, 1.0 - 2.0**-53])), [-8.2924, 8.2924], atol=1e-4
        )
