"""
Genetic algorithms on tours and on trees
========================================

Strings of bits are not all that evolves (Marsland 2009, chapter 10). A tour of the travelling salesman needs a
crossover of its own, and genetic programming evolves arithmetic trees.
"""

# %%
# A tour visits 24 towns, each once. If a single-point crossover joins the first part of one tour and the last part of
# another, some towns come twice and others never. *Order crossover* keeps a part of the first tour, and fills the rest
# with the missing towns in the order of the second tour. ``GeneticAlgorithm`` crosses strings by genes; this loop uses
# the selection of the package, and keeps the shortest tour.
import matplotlib.pyplot as plt
import numpy as np
from gplearn.genetic import SymbolicRegressor
from sklearn.linear_model import LinearRegression

from pppca_bench import load_problem
from pppca_bench.base.genetic import Selection, exchange, select

TOWNS = np.random.default_rng(4).uniform(size=(24, 2))
DISTANCES = np.linalg.norm(TOWNS[:, None] - TOWNS, axis=2)


def length(tours):
    """Return the length of each closed tour."""
    return DISTANCES[tours, np.roll(tours, -1, axis=-1)].sum(axis=-1)


def order_crossover(first, second, rng):
    """Return a tour with a part of the first, and the other towns in the order of the second."""
    start, end = np.sort(rng.choice(len(first) + 1, size=2, replace=False))
    kept = first[start:end]
    others = second[~np.isin(second, kept)]
    return np.concatenate([others[:start], kept, others[start:]])


def reverse_part(tour, rng):
    """Mutate: reverse a part of the tour."""
    start, end = np.sort(rng.choice(len(tour) + 1, size=2, replace=False))
    return np.concatenate([tour[:start], tour[start:end][::-1], tour[end:]])


def evolve(seed, n_generations=150, size=100):
    """Return the shortest tour, and the least length in each generation."""
    rng = np.random.default_rng(seed)
    tours = np.array([rng.permutation(len(TOWNS)) for _ in range(size)])
    course = []
    for _ in range(n_generations):
        lengths = length(tours)
        course.append(lengths.min())
        mothers, fathers = (select(Selection(), -lengths, size - 1, rng) for _ in range(2))
        children = [
            order_crossover(tours[i], tours[j], rng) for i, j in zip(mothers, fathers, strict=True)
        ]
        mutated = [reverse_part(child, rng) if rng.random() < 0.5 else child for child in children]
        tours = np.array([tours[lengths.argmin()], *mutated])
    return tours[length(tours).argmin()], course


# How often does a single-point crossover make a valid tour?
rng = np.random.default_rng(0)
pairs = np.array([[rng.permutation(24), rng.permutation(24)] for _ in range(1000)])
joined = np.where(exchange(1000, 24, 1, rng), pairs[:, 1], pairs[:, 0])
n_valid = sum(len(set(tour)) == 24 for tour in joined.tolist())
print(f"single-point crossover: {n_valid} valid tours of 1000")

runs = [evolve(seed) for seed in range(5)]
tour, _ = min(runs, key=lambda run: length(run[0]))
nearest = [0]
while len(nearest) < len(TOWNS):
    left = np.setdiff1d(np.arange(len(TOWNS)), nearest)
    nearest.append(left[DISTANCES[nearest[-1], left].argmin()])
greedy = length(np.array(nearest))
figure, (left_panel, right_panel) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
closed = TOWNS[np.append(tour, tour[0])]
left_panel.plot(*closed.T, marker="o")
left_panel.set(title=f"length {length(tour):.2f}", aspect="equal")
for _, course in runs:
    right_panel.plot(course, color="C0")
right_panel.axhline(greedy, color="grey", linestyle=":", label="always to the nearest town")
right_panel.set(xlabel="generation", ylabel="shortest tour")
right_panel.legend()
plt.show()

# %%
# Genetic programming by gplearn: trees of sums, differences and products evolve towards y = x₁² − x₁ x₂ + 0.5.
# Crossover swaps subtrees, mutation replaces a subtree by a random one. The method ``flgp`` evolves trees as
# classifiers.
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(100, 2))
y = X[:, 0] ** 2 - X[:, 0] * X[:, 1] + 0.5
program = SymbolicRegressor(
    population_size=500,
    generations=20,
    function_set=("add", "sub", "mul"),
    parsimony_coefficient=0.002,
    feature_names=["x1", "x2"],
    random_state=0,
).fit(X, y)
print("arithmetic:", program._program, f"mean error {np.abs(program.predict(X) - y).mean():.4f}")

# %%
# The same on real data: the petal width of iris by its other measurements. The tree is short enough to be read, and
# nearly as good as linear regression on all of them.
iris = load_problem("iris")
X, y = iris.X_train[:, :3], iris.X_train[:, 3]
petals = SymbolicRegressor(
    population_size=500,
    generations=15,
    function_set=("add", "sub", "mul"),
    parsimony_coefficient=0.0002,
    feature_names=["sepal_length", "sepal_width", "petal_length"],
    random_state=0,
).fit(X, y)
linear = LinearRegression().fit(X, y)
print("petal width:", petals._program)
for name, model in (("the tree", petals), ("linear regression", linear)):
    error = np.abs(model.predict(iris.X_test[:, :3]) - iris.X_test[:, 3]).mean()
    print(f"{name}: mean error on the test samples {error:.3f} of the range")
