"""Compiled steps of the evolution against hand-worked values and plain loops."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pppca_bench.compiled.arrays import aligned_zeros
from pppca_bench.compiled.linear_algebra import padded
from pppca_bench.engines import evolution as kernels
from pppca_bench.engines import fitness as evaluation
from pppca_bench.engines import gram_schmidt as orthonormalisation
from pppca_bench.engines import removal


def random_samples(seed, n_samples=40, n_features=6):
    rng = np.random.default_rng(seed)
    return rng.random((n_samples, n_features)) * rng.uniform(0.2, 2.0, n_features)


def covariance(samples):
    return np.atleast_2d(np.cov(samples, rowvar=False, bias=True))


def in_panels(*networks):
    """Lay networks of the same shape into panels."""
    return orthonormalisation.in_panels(np.array(networks, dtype=float))


def rows_of(panels, n_nodes, n_features):
    depth = padded(n_features)
    nodes = panels.reshape(-1, depth, 8).swapaxes(1, 2).reshape(-1, depth)
    assert not nodes[:, n_features:].any()
    return nodes[:n_nodes, :n_features]


def population(networks, variances=None, sizes=None):
    n_nodes = len(networks[0])
    every = np.zeros((len(networks), padded(n_nodes)))
    if variances is not None:
        every[:, :n_nodes] = variances
    sizes = np.full(len(networks), n_nodes) if sizes is None else np.array(sizes)
    return evaluation.Networks(in_panels(*networks), every, sizes, np.zeros(len(networks)))


def run_gram_schmidt(W):
    """Return the rows that are not lost."""
    n_nodes, n_features = np.shape(W)
    panels = in_panels(W)[0]
    work = orthonormalisation.make_workspace(padded(n_nodes) // 8, padded(n_features))
    panels.reshape(-1, padded(n_features), 8)[-1, :n_features, (n_nodes - 1) % 8 + 1 :] = 7.0
    work.lost[:] = True
    orthonormalisation.orthonormalise(panels, n_nodes, padded(n_features), n_features, work)
    lost = work.lost[:n_nodes]
    rows = rows_of(panels, padded(n_nodes), n_features)
    assert not rows[n_nodes:].any()
    assert not rows[:n_nodes][lost].any()
    return rows[:n_nodes][~lost]


def run_evaluate(W, C, tau, min_components=1, n_nodes=None):
    """Return the nodes, variances and fitness of an evaluated population of one."""
    networks, moments = population([W], sizes=[n_nodes or len(W)]), evaluation.moments_of(C)
    panels, depth = networks.weights[0].copy(), len(moments.full)
    work = orthonormalisation.make_workspace(len(panels) // depth, depth)
    rule = removal.Limits(tau, min_components, 99, 0.0)
    evaluation.evaluate(panels, networks.sizes[0], moments, rule, work, networks, 0)
    size = networks.sizes[0]
    nodes = rows_of(networks.weights[0], size, len(C))
    return nodes, networks.variances[0, :size], networks.fitness[0]


def run_breed(networks, first, second, n_features):
    panels = aligned_zeros(networks.weights.shape[1], 8)
    steps = aligned_zeros(2, 8)
    n_nodes = kernels.breed(networks, first, second, padded(n_features), panels, steps)
    return rows_of(panels, n_nodes, n_features)


def run_cross(w_i, w_j, v_i, v_j):
    """Cross two networks of a single node."""
    return run_breed(population([[w_i], [w_j]], [[v_i], [v_j]]), 0, 1, 2)[0]


class TestCrossing:
    def test_formula_2_by_hand_whichever_parent_has_the_larger_variance(self):
        # distance 5, normalised variances 0.75 and 0.25, so the step is 0.5 / 5 of (3, -4)
        assert_allclose(run_cross([3.0, 0.0], [0.0, 4.0], 3.0, 1.0), [3.3, -0.4], rtol=1e-15)
        assert_allclose(run_cross([0.0, 4.0], [3.0, 0.0], 1.0, 3.0), [3.3, -0.4], rtol=1e-15)

    def test_equal_nodes_and_equal_or_no_variances_give_the_first_parent(self):
        for other, v_i, v_j in (
            ([0.6, 0.8], 3.0, 1.0),
            ([1.0, 0.0], 2.0, 2.0),
            ([1.0, 0.0], 0.0, 0.0),
        ):
            assert_array_equal(run_cross([0.6, 0.8], other, v_i, v_j), [0.6, 0.8])


class TestGramSchmidt:
    @pytest.mark.parametrize("share", [0.3, 0.1, 0.035, 1e-2, 1e-3, 1e-4, 1e-5, 2e-6])
    @pytest.mark.parametrize("n_nodes", [3, 5, 8, 11])
    def test_nodes_nearly_parallel_to_their_predecessors_become_orthonormal(self, n_nodes, share):
        # Each share is harmless alone: rounding grows with their product, to any size.
        directions = np.linalg.qr(np.random.default_rng(10).standard_normal((12, 12)))[0][:n_nodes]
        W = directions.copy()
        W[1:] = share * directions[1:] + np.sqrt(1.0 - share**2) * directions[:-1]
        Q = run_gram_schmidt(W)
        assert Q.shape == W.shape
        assert_allclose(Q @ Q.T, np.eye(n_nodes), atol=1e-10)

    @pytest.mark.parametrize("spread", [1.0, 1e-2, 1e-4, 1e-6, 1e-8])
    @pytest.mark.parametrize("n_features", [1, 4, 8, 9, 23])
    def test_rows_nearly_parallel_to_one_become_orthonormal(self, spread, n_features):
        rng = np.random.default_rng(3)
        W = rng.random(n_features) + spread * rng.standard_normal((n_features, n_features))
        Q = run_gram_schmidt(W)
        assert Q.shape == W.shape
        assert_allclose(Q @ Q.T, np.eye(n_features), atol=1e-10)

    @pytest.mark.parametrize("shape", [(5, 7), (8, 8), (9, 16), (17, 17), (20, 33)])
    def test_agrees_with_its_plain_loop_twin(self, shape):
        W = np.random.default_rng(4).random(shape)
        assert_allclose(run_gram_schmidt(W), naive.orthonormal_rows(W), atol=1e-12)

    def test_a_dependent_row_is_lost_whichever_panel_it_depends_on(self):
        W = np.random.default_rng(9).standard_normal((19, 23))
        W[6], W[11], W[18] = W[2] - W[3], W[8] + W[1], W[11]
        Q = run_gram_schmidt(W)
        assert_allclose(Q, run_gram_schmidt(np.delete(W, [6, 11, 18], axis=0)), atol=1e-12)

    def test_only_zero_rows_leave_a_unit_row(self):
        assert_array_equal(run_gram_schmidt(np.zeros((2, 3))), [[1.0, 0.0, 0.0]])


class TestEvaluation:
    C = np.diag([4.0, 1.0])

    def test_a_direction_without_variance_has_alignment_zero(self):
        full = evaluation.moments_of(np.diag([4.0, 0.0])).full
        assert evaluation.alignment(in_panels([[0.0, 1.0]])[0], full, aligned_zeros(1, 8)) == 0.0

    def test_rows_beyond_the_size_have_no_influence(self):
        kept, _, fitness = run_evaluate([[0.0, 1.0], [3.0, 4.0]], self.C, 10.0, n_nodes=1)
        assert len(kept) == 1
        assert fitness == pytest.approx(1.0)

    def test_a_lost_node_is_removed_at_any_limit(self):
        W, variances, _ = run_evaluate([[1.0, 0.0], [2.0, 0.0]], self.C, 1e9, min_components=2)
        assert_array_equal(W, [[1.0, 0.0]])
        assert_allclose(variances, [4.0])

    @pytest.mark.parametrize("seed", range(5))
    def test_no_variance_is_below_zero(self, seed):
        rng = np.random.default_rng(seed)
        samples = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 9))
        W, C = np.linalg.svd(samples)[2], covariance(samples)
        _, variances, _ = run_evaluate(W, C, 10.0, min_components=9)
        assert len(variances) == 9
        assert variances.min() >= 0.0

    @pytest.mark.parametrize("tau", [2.0, 5.0, 1e6])
    @pytest.mark.parametrize("n_features", [6, 11])
    def test_agrees_with_its_plain_loop_twin(self, tau, n_features):
        samples = random_samples(6, n_features=n_features)
        W = np.random.default_rng(6).random((n_features, n_features))
        ours = run_evaluate(W, covariance(samples), tau)
        for value, expected in zip(ours, naive.evaluated(W, samples, tau), strict=True):
            assert_allclose(value, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("n_nodes", "sizes"), [(4, (4, 2, 3)), (20, (20, 3, 17)), (20, (16, 9, 8))]
)
def test_children_agree_with_the_plain_loop_twin(n_nodes, sizes):
    rng = np.random.default_rng(8)
    weights = rng.standard_normal((3, n_nodes, n_nodes + 1))
    variances = -np.sort(-rng.random((3, n_nodes)), axis=1)
    everyone = population(weights, variances, sizes)
    networks = [(w[:n], v[:n]) for w, v, n in zip(weights, variances, sizes, strict=True)]
    for i, j in [(1, 2), (0, 2), (2, 0)]:
        child = run_breed(everyone, i, j, n_nodes + 1)
        assert_allclose(child, naive.child_of(networks[i], networks[j]), rtol=1e-10, atol=1e-13)


class TestSelection:
    FITNESS = np.array([0.3, 0.9, 0.1, 0.7])

    def parents(self, *drawn, crossing=0.2):
        """Return the parents of a child each, given what is drawn for both tournaments."""
        uniforms = [[*((np.ravel(own) + 0.5) / 4), crossing] for own in drawn]
        parents = np.zeros((len(drawn), 2), dtype=np.int64)
        kernels.select_parents(self.FITNESS, np.array(uniforms), 0.3, parents)
        return parents

    def test_each_tournament_is_won_by_its_fittest(self):
        found = self.parents([[0, 2], [3, 0]], [[1, 3], [2, 2]], [[2, 0], [0, 2]], [[3, 3], [1, 2]])
        assert_array_equal(found, [[0, 3], [1, 2], [0, 0], [3, 1]])

    def test_without_crossing_the_fitter_winner_is_both(self):
        assert_array_equal(self.parents([0, 3], [1, 2], crossing=0.3), [[3, 3], [1, 1]])

    def test_the_largest_uniform_number_chooses_the_last_network(self):
        assert self.parents([4 * (1.0 - 2.0**-53) - 0.5, 0])[0, 0] == 3


class TestMutation:
    SEED = np.uint64(1234567)

    def noise(self, n_rows=16, n_features=5, depth=8, start=0, scale=1.0):
        panels = aligned_zeros(n_rows, 8)
        kernels.mutate(panels, n_rows, n_features, depth, self.SEED, start, scale)
        return panels

    def test_split_mix_begins_with_its_published_numbers(self):
        # the numbers with which it is usually shown
        expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
        assert [naive.split_mix(1234567, i) for i in range(3)] == expected

    @pytest.mark.parametrize("start", [0, 3, 10**12])
    def test_noise_agrees_with_its_plain_loop_twin(self, start):
        noise = self.noise(start=start)
        for panel in (0, 8):
            for row in range(panel, panel + 5, 2):
                numbers = range(start + 16 * row, start + 16 * row + 8)
                pairs = np.transpose([naive.normal_pair(1234567, number) for number in numbers])
                # The last row of an odd number of rows takes the first number of each pair.
                rows = noise[row : min(row + 2, panel + 5)]
                assert_allclose(rows, pairs[: len(rows)], rtol=1e-9, atol=1e-10)
        assert not noise.reshape(2, 8, 8)[:, 5:].any()

    def test_two_children_share_no_random_numbers(self):
        one = self.noise(n_features=8)
        other = self.noise(n_features=8, start=kernels.n_draws(16))
        assert not np.intersect1d(one, other).size

    def test_the_scale_is_the_standard_deviation(self):
        assert_allclose(self.noise(scale=0.25), 0.25 * self.noise(), rtol=1e-15)
