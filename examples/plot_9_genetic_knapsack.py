"""
A genetic algorithm packs a knapsack
====================================

The knapsack problem is the textbook example of genetic algorithms: which things fill a bag best? This example compares
the greedy rule, a genetic algorithm with several schemes, and the optimum.
"""

# %%
# The bag holds about a quarter of 40 things. The greedy rule takes the largest thing that still fits, again and again.
# Since sizes are whole numbers, dynamic programming finds the optimum: bit s of a number states whether some of the
# things have the total size s. Each thing shifts the bits by its size.
from itertools import islice

import matplotlib.pyplot as plt
import numpy as np

from pppca_bench import GeneticAlgorithm

sizes = np.random.default_rng(1).integers(1_000, 20_000, size=40)
capacity = 100_000

greedy = 0
for size in np.sort(sizes)[::-1]:
    if greedy + size <= capacity:
        greedy += size

reachable = 1
for size in sizes.tolist():
    reachable |= reachable << size
optimum = (reachable % (1 << (capacity + 1))).bit_length() - 1
print(f"sizes of all things {sizes.sum()}, capacity {capacity}, greedy {greedy}, optimum {optimum}")


# %%
# A string has a bit for each thing. Its fitness is the total size if the things fit. Otherwise twice the excess is
# subtracted from the capacity, so that nearly possible strings can still improve. Mutation flips a bit of each string
# on average.
def fitness(strings):
    """Return the fitness of strings, bool of shape (n_strings, n_things)."""
    total = strings @ sizes
    return np.where(total <= capacity, total, capacity - 2.0 * (total - capacity))


def mutate(strings, rng):
    """Flip each bit with the probability 1 / length."""
    return strings ^ (rng.random(strings.shape) < 1 / strings.shape[1])


def evolve(seed, n_generations=150, **scheme):
    """Return the best fitness so far, and the number of different strings, in each generation."""
    rng = np.random.default_rng(seed)
    algorithm = GeneticAlgorithm(population_size=60, **scheme)
    first = rng.random((60, len(sizes))) < 0.5
    generations = islice(algorithm.generations(first, fitness, mutate, rng), n_generations)
    records = [(values.max(), len(np.unique(strings, axis=0))) for strings, values in generations]
    best, n_different = np.transpose(records)
    return np.maximum.accumulate(best), n_different


# %%
# *Exploitation* improves the best strings so far, *exploration* tries other strings. Selection decides how much there
# is of each: truncation to the best tenth exploits, tournaments of two explore. If two children compete with their
# parents, no good string is lost, but soon all strings are equal: premature convergence. Two remedies keep strings
# different. Islands evolve apart, and rarely exchange their best strings. Fitness sharing divides the fitness by the
# number of copies of a string. Fitness may be negative, so it is scaled by exp(s F) before it is divided.
families = {"family_tournament": True, "tournament_size": 2}
schemes = {
    "tournament of two": {"tournament_size": 2},
    "best tenth": {"selection": "truncation", "truncation_share": 0.1},
    "families": families,
    "families, 6 islands": families | {"n_islands": 6, "migration_interval": 20},
    "families, sharing": families
    | {"selection": "roulette", "selection_strength": 1e-3, "fitness_sharing": True},
}
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.axhline(optimum - greedy, color="grey", label="greedy")
print("shortfall from the optimum, mean of 10 evolutions")
for name, scheme in schemes.items():
    best, n_different = np.mean([evolve(seed, **scheme) for seed in range(10)], axis=0)
    left.plot(optimum - best, label=name)
    right.plot(n_different, label=name)
    print(f"{name:20s} {optimum - best[-1]:6.1f}")
left.set(xlabel="generation", ylabel="shortfall from the optimum", yscale="log")
right.set(xlabel="generation", ylabel="different strings")
left.legend()
plt.show()

# %%
# Every scheme comes nearer to the optimum than the greedy rule. Families alone end with copies of a single string.
# Islands and sharing bring families nearer to the optimum. The tournament of two and sharing come nearest.
