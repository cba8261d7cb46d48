"""Genetic algorithms on strings: selection, crossover, survival and islands."""

from collections import Counter
from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import chisquare

from pppca_bench.base.genetic import (
    GeneticAlgorithm,
    Selection,
    count_copies,
    exchange,
    flip_bits,
    migrate,
    select,
)

FITNESS = np.array([1.0, 3.0, 4.0, 2.0])
SEEDS = st.integers(0, 99)


def rng(seed=0):
    return np.random.default_rng(seed)


def counts(selection, fitness=FITNESS, n=8000, **others):
    return np.bincount(select(selection, fitness, n, rng(), **others), minlength=len(fitness))


def unchanged(strings, _):
    return strings


def ones(strings):
    """Return the number of ones of each string."""
    return strings.sum(axis=1).astype(float)


def evolved(n_generations, strings, evaluate=ones, mutate=flip_bits, seed=0, **parameters):
    """Return the strings and fitness of each generation."""
    algorithm = GeneticAlgorithm(population_size=len(strings), **parameters)
    generations = algorithm.generations(strings, evaluate, mutate, rng(seed))
    return list(islice(generations, n_generations))


def random_strings(n, length, seed=1):
    return rng(seed).random((n, length)) < 0.5


def assert_shares(found, expected=1.0):
    """Check counts by a chi-squared test against expected shares, equal ones by default."""
    shares = np.broadcast_to(expected, found.shape) / np.broadcast_to(expected, found.shape).sum()
    assert chisquare(found, found.sum() * shares).pvalue > 0.01


class TestSelection:
    def test_winner_of_a_tournament_is_the_fittest_of_those_drawn(self):
        drawn = rng(7).integers(4, size=(50, 3))
        winners = select(Selection(tournament_size=3), FITNESS, 50, rng(7))
        assert_array_equal(FITNESS[winners], FITNESS[drawn].max(axis=1))

    def test_roulette_selects_in_proportion_to_fitness(self):
        assert_shares(counts(Selection(selection="roulette")), FITNESS)

    def test_strength_selects_by_the_exponential_of_fitness_also_if_negative(self):
        selection = Selection(selection="roulette", selection_strength=0.5)
        assert_shares(counts(selection), np.exp(0.5 * FITNESS))
        assert_array_equal(counts(selection, FITNESS - 1e4), counts(selection))

    @pytest.mark.parametrize(("fitness", "strength"), [(0.0, None), (-np.inf, 1.0), (np.nan, 1.0)])
    def test_without_finite_fitness_every_string_is_as_likely(self, fitness, strength):
        selection = Selection(selection="roulette", selection_strength=strength)
        assert_shares(counts(selection, np.full(4, fitness)))

    def test_a_string_that_diverged_is_not_selected(self):
        selection = Selection(selection="roulette", selection_strength=2.0)
        assert counts(selection, np.array([-1.0, -np.inf, np.nan, -1.5]))[1:3].sum() == 0

    @pytest.mark.parametrize(
        ("share", "n", "expected"), [(0.5, 5, {1: 2, 2: 3}), (0.25, 3, {2: 3}), (0.01, 2, {2: 2})]
    )
    def test_truncation_selects_each_of_the_fittest_equally_often(self, share, n, expected):
        selection = Selection(selection="truncation", truncation_share=share)
        assert Counter(select(selection, FITNESS, n, rng()).tolist()) == expected

    def test_truncation_pairs_at_random(self):
        selection = Selection(selection="truncation")
        orders = {tuple(select(selection, FITNESS, 4, rng(seed)).tolist()) for seed in range(50)}
        assert len(orders) == 6

    def test_negative_fitness_needs_a_strength(self):
        with pytest.raises(ValueError, match=r">= 0 for roulette .* got -1. Give a selection_str"):
            select(Selection(selection="roulette"), FITNESS - 2.0, 3, rng())

    def test_sharing_lowers_the_chances_of_a_crowded_niche(self):
        copies = count_copies(np.array([[0, 1], [1, 1], [1, 1], [1, 0]], dtype=bool))
        assert_array_equal(copies, [1, 2, 2, 1])
        assert_shares(counts(Selection(selection="roulette"), copies=copies), [1.0, 1.5, 2.0, 2.0])


class TestCrossover:
    @settings(max_examples=50)
    @given(st.integers(1, 30), st.integers(1, 6), st.none() | st.integers(1, 40), SEEDS)
    def test_children_are_of_both_parents_in_turn(self, length, n_children, n_points, seed):
        from_second = exchange(n_children, length, n_points, rng(seed))
        assert from_second.shape == (n_children, length)
        if n_points is not None:
            assert not from_second[:, 0].any()
            changes = np.diff(from_second.astype(int), axis=1)
            assert_array_equal(np.abs(changes).sum(axis=1), min(n_points, length - 1))

    def test_a_single_point_lies_anywhere_between_two_genes(self):
        lengths = (~exchange(6000, 4, 1, rng())).sum(axis=1)
        assert_shares(np.bincount(lengths, minlength=4)[1:])

    @pytest.mark.parametrize(
        ("points", "child"), [(1, "10011010110"), (2, "10011010101"), (None, "10111010111")]
    )
    def test_the_parents_of_the_lecture_notes_figure_have_its_children(self, points, child):
        parents = np.array([[*"10011000101"], [*"01111010110"]] * 500) == "1"
        given = {"crossover_points": points, "crossover_probability": 1.0, "mutate": unchanged}
        _, (children, _) = evolved(2, parents, tournament_size=1, n_elite=0, **given)
        assert child in {"".join(map(str, row)) for row in children.astype(int)}

    def test_uniform_crossover_takes_half_of_the_genes_from_either_parent(self):
        assert exchange(4000, 9, None, rng()).mean() == pytest.approx(0.5, abs=0.02)

    @pytest.mark.parametrize("points", [None, 2])
    def test_a_pair_that_is_not_crossed_gives_a_copy_of_the_first_parent(self, points):
        strings = np.eye(40, dtype=bool)
        given = {"crossover_points": points, "mutate": unchanged, "n_elite": 0, "seed": 3}
        _, (copies, _) = evolved(2, strings, crossover_probability=0.0, **given)
        assert_array_equal(copies.sum(axis=1), 1)
        _, (children, _) = evolved(2, strings, crossover_probability=1.0, **given)
        assert set(children.sum(axis=1).tolist()) >= {0, 1, 2}


class TestSurvival:
    @pytest.mark.parametrize("n_elite", [1, 3])
    def test_the_elite_passes_unchanged_so_that_the_fittest_is_never_lost(self, n_elite):
        def scramble(strings, rng):
            return rng.random(strings.shape) < 0.5

        generations = evolved(8, random_strings(10, 30), mutate=scramble, n_elite=n_elite)
        for (before, fitness), (after, _) in pairwise(generations):
            best = np.argsort(-fitness, kind="stable")[:n_elite]
            assert_array_equal(after[:n_elite], before[best])

    @pytest.mark.parametrize("children", [False, True])
    def test_two_of_a_family_of_four_survive_so_that_no_pair_gets_worse(self, children):
        # Children without ones lose against parents, children of ones win.
        def mutate(strings, _):
            return np.full_like(strings, children)

        strings = random_strings(8, 12)
        given = {"n_elite": 0, "tournament_size": 1, "family_tournament": True}
        _, (survivors, _) = evolved(2, strings, mutate=mutate, **given)
        winners = np.ones((1, 12), dtype=bool) if children else strings
        assert {row.tobytes() for row in survivors} <= {row.tobytes() for row in winners}

    def test_both_children_of_a_family_have_complementary_genes(self):
        # Parents 10 and 01 differ in both genes: of 11 and 00, which a single point gives, the fitter survives.
        strings = np.array([[1, 0], [0, 1]] * 8, dtype=bool)
        given = {"n_elite": 0, "family_tournament": True, "crossover_points": 1}
        given |= {"mutate": unchanged, "crossover_probability": 1.0, "tournament_size": 1}
        _, (_, fitness) = evolved(2, strings, **given)
        assert set(fitness.tolist()) == {1.0, 2.0}

    def test_an_odd_number_of_strings_stays(self):
        for parameters in ({"family_tournament": True}, {"n_islands": 2}):
            for strings, _ in evolved(3, random_strings(7, 5), **parameters):
                assert strings.shape == (7, 5)


class TestIslands:
    def test_copies_of_the_fittest_replace_the_least_fit_of_the_next_island(self):
        islands = [np.array([0, 1, 2]), np.array([3, 4, 5]), np.array([6, 7])]
        fitness = np.array([5.0, 9.0, 1.0, 4.0, 2.0, 3.0, 8.0, 7.0])
        assert_array_equal(migrate(fitness, islands, 1), [0, 1, 6, 3, 1, 5, 6, 3])
        assert_array_equal(migrate(fitness, islands, 0), np.arange(8))

    def test_islands_are_separate_until_the_migration(self):
        strings = np.repeat([[True, True, False], [False, True, True]], 4, axis=0)
        given = {"n_islands": 2, "migration_interval": 3, "n_migrants": 3, "tournament_size": 1}
        generations = evolved(4, strings, mutate=unchanged, **given)
        for before, _ in generations[:3]:
            assert_array_equal(before, strings)
        after = generations[3][0]
        assert (after[:4] != strings[:4]).any()
        assert (after[4:] != strings[4:]).any()


def test_families_converge_to_copies_of_a_string_unless_fitness_is_shared():
    sizes = rng(1).uniform(1.0, 20.0, size=40)

    def evaluate(strings):
        return -np.abs(strings @ sizes - 100.0)

    sharing = {"selection": "roulette", "selection_strength": 1.0, "fitness_sharing": True}
    alone, shared = (
        evolved(100, random_strings(30, 40), evaluate, family_tournament=True, **own)[-1][0]
        for own in ({"tournament_size": 2}, sharing)
    )
    assert len(np.unique(alone, axis=0)) == 1
    assert len(np.unique(shared, axis=0)) > 4


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"selection": "roulette"},
        {"selection": "roulette", "selection_strength": 0.5, "fitness_sharing": True},
        {"selection": "truncation", "crossover_points": 1},
        {"crossover_points": 3, "family_tournament": True},
        {"n_islands": 3, "n_elite": 2},
    ],
    ids=str,
)
def test_the_string_of_ones_is_found(parameters):
    generations = evolved(80, random_strings(30, 16), **parameters)
    assert max(fitness.max() for _, fitness in generations) == 16.0


def test_a_bit_is_flipped_with_the_probability_of_one_in_a_string():
    flipped = flip_bits(np.zeros((4000, 20), dtype=bool), rng())
    assert flipped.mean() == pytest.approx(0.05, abs=0.003)
