"""Multi Expression Programming with the closest-centre rule (MEP CC).

Sections and tables are those of M. Oltean, "Multi Expression Programming for solving classification problems",
arXiv 2203.13202. A chromosome is a list of genes. Each gene has a value for every row: an input, a constant or a
function of earlier genes. Each gene classifies by its values, and the best gene gives the fitness.
"""

import numba
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

compiled = numba.njit(cache=True, error_model="numpy")

# A gene is five symbols: its code, and four pointers to earlier genes, of which its function reads the first ones.
# Codes from N_FUNCTIONS on are the constants, then the inputs.
ADD, SUBTRACT, MULTIPLY, DIVIDE, IF_LESS, SIN, EXP, LN, N_FUNCTIONS = range(9)
N_ARGUMENTS = (2, 2, 2, 2, 4, 1, 1, 1, 0)

# Table 2. Choice: the printed probabilities of the kinds of genes sum to 0.91, and are weights.
N_CONSTANTS, DELTA, CROSSOVER, MUTATION = 10, 0.1, 0.9, 0.005
FUNCTIONS, INPUTS, CONSTANTS = 0.5, 0.4, 0.01


@compiled
def apply(code, a, b, c, d):
    """Return the values of a function for all rows; the arguments are values of earlier genes."""
    if code == ADD:
        return a + b
    if code == SUBTRACT:
        return a - b
    if code == MULTIPLY:
        return a * b
    if code == DIVIDE:
        return a / b
    if code == IF_LESS:
        return np.where(a < b, c, d)
    if code == SIN:
        return np.sin(a)
    return np.exp(a) if code == EXP else np.log(a)


@compiled
def nearest(values, centres):
    """Return the class of the nearest centre of each row (section 4.4); of equal distances, the lowest class counts."""
    classes, smallest = np.zeros(len(values), np.int64), np.abs(values - centres[0])
    for k in range(1, len(centres)):
        distances = np.abs(values - centres[k])
        classes = np.where(distances < smallest, k, classes)
        smallest = np.minimum(distances, smallest)
    return classes


@compiled
def count_errors(values, y):
    """Return the number of rows that are not in the class of the nearest centre, the mean value of a class.

    Choice: no function is protected, such as 1 / 0. A gene that is not finite in a training row is wrong on all rows.
    """
    centres = np.bincount(y, values) / np.bincount(y)
    return np.sum(nearest(values, centres) != y) if np.all(np.isfinite(centres)) else len(y)


@compiled
def evaluate(genes, constants, X, y, values, errors, known):
    """Return the errors of the best gene, its index (choice: the lowest of equal ones) and the values of the last gene.

    An expression of an earlier chromosome is looked up, not computed again: ``known`` has its place in ``values`` and
    ``errors``. When there is no more room, all are forgotten.
    """
    if len(known) + len(genes) > len(values):
        known.clear()
    bits, places = constants.view(np.int64), np.zeros(len(genes), np.int64)
    arguments = np.zeros(4, np.int64)
    for gene in range(len(genes)):
        code = genes[gene, 0]
        number = code - N_FUNCTIONS  # of a constant or, behind them, of an input
        for i in range(4):
            is_read = i < N_ARGUMENTS[min(code, N_FUNCTIONS)]
            arguments[i] = places[genes[gene, 1 + i]] if is_read else 0
        if 0 <= number < N_CONSTANTS:
            code, arguments[0] = N_FUNCTIONS, bits[number]
        a, b, c, d = arguments
        place = int(known.get((code, a, b, c, d), -1))
        if place < 0:
            place = known[code, a, b, c, d] = len(known)
            if number < 0:
                values[place] = apply(code, values[a], values[b], values[c], values[d])
            elif number < N_CONSTANTS:
                values[place] = constants[number]
            else:
                values[place] = X[:, number - N_CONSTANTS]
            errors[place] = count_errors(values[place], y)
        places[gene] = place
    best = np.argmin(errors[places])
    return errors[places[best]], best, values[places[-1]]


@compiled
def mutate(rng, genes, probability, n_inputs):
    """Draw each symbol again with a probability ("some symbols are changed", section 2.5); the first is a terminal."""
    for gene in range(len(genes)):
        functions = FUNCTIONS if gene > 0 else 0.0
        for symbol in range(5):
            if rng.random() < probability:
                kind = rng.random() * (functions + CONSTANTS + INPUTS)
                if symbol > 0:
                    genes[gene, symbol] = int(rng.random() * gene)
                elif kind < functions:
                    genes[gene, 0] = int(rng.random() * N_FUNCTIONS)
                elif kind < functions + CONSTANTS:
                    genes[gene, 0] = N_FUNCTIONS + int(rng.random() * N_CONSTANTS)
                else:
                    genes[gene, 0] = N_FUNCTIONS + N_CONSTANTS + int(rng.random() * n_inputs)


@compiled
def run_generation(rng, genes, constants, fitness, best_gene, X, y, values, errors, known):
    """Build a generation of a subpopulation, by the steady state of section 2.6.

    Choice: parents exchange the genes behind one cut, and no constants; of equal ones, the first wins a tournament.
    Constants move as thresholds do (section 3.1), choice: uniformly by up to DELTA.
    """
    parents = np.zeros(2, np.int64)
    for _ in range(len(fitness) // 2):
        for i in range(2):
            first, second = int(rng.random() * len(fitness)), int(rng.random() * len(fitness))
            parents[i] = second if fitness[second] < fitness[first] else first
        pair, numbers = genes[parents], constants[parents]
        if rng.random() < CROSSOVER:
            cut = 1 + int(rng.random() * (genes.shape[1] - 1))
            pair[:, cut:] = pair[::-1, cut:].copy()
        for i in range(2):
            mutate(rng, pair[i], MUTATION, X.shape[1])
            for k in range(N_CONSTANTS):
                if rng.random() < MUTATION:
                    numbers[i, k] += DELTA * (2.0 * rng.random() - 1.0)
            wrong, gene, _ = evaluate(pair[i], numbers[i], X, y, values, errors, known)
            worst = np.argmax(fitness)
            if wrong < fitness[worst]:
                genes[worst], constants[worst] = pair[i], numbers[i]
                fitness[worst], best_gene[worst] = wrong, gene


def migrate(fitness, *others):
    """Copy the best of each subpopulation over the worst of the next in the ring (choice: if it is better)."""
    source = np.arange(len(fitness))
    target = np.roll(source, -1)
    best, worst = fitness.argmin(axis=1), fitness.argmax(axis=1)[target]
    better = fitness[source, best] < fitness[target, worst]
    for array in (*others, fitness):
        array[target[better], worst[better]] = array[source[better], best[better]]


def tables(n_expressions, n_rows):
    """Return empty tables of values, errors and known expressions."""
    known = numba.typed.Dict.empty(numba.types.UniTuple(numba.int64, 5), numba.int64)
    return np.zeros((n_expressions, n_rows)), np.zeros(n_expressions, np.int64), known


class MEPClosestCentre(ClassifierMixin, BaseEstimator):
    """Classes by a formula that Multi Expression Programming finds; the defaults are those of table 2."""

    def __init__(self, islands=10, size=500, generations=250, length=256, random_state=None):
        self.islands, self.size, self.generations = islands, size, generations
        self.length, self.random_state = length, random_state

    def fit(self, X, y, X_val, y_val):
        """Evolve formulas on the training split; keep the one with the fewest errors in the validation split.

        Choice, since the paper does not say what its validation split is for: as in the LGP with which it compares, it
        chooses among the best formulas of the generations, the first of equal ones.
        """
        rng, shape = np.random.default_rng(self.random_state), (self.islands, self.size)
        self.classes_, y = np.unique(y, return_inverse=True)
        data = (X, y, *tables(max(2**24 // len(X), 4 * self.length), len(X)))  # 128 MB
        genes = np.zeros((*shape, self.length, 5), np.int64)
        constants = rng.random((*shape, N_CONSTANTS))
        fitness, best_gene = np.zeros((2, *shape), int)
        for at in np.ndindex(shape):
            mutate(rng, genes[at], 1.0, X.shape[1])
            fitness[at], best_gene[at], _ = evaluate(genes[at], constants[at], *data)
        candidates = []
        for _ in range(self.generations):
            for part in zip(genes, constants, fitness, best_gene, strict=True):
                run_generation(rng, *part, *data)
            migrate(fitness, genes, constants, best_gene)
            best = np.unravel_index(fitness.argmin(), shape)
            self.formula_ = genes[best][: best_gene[best] + 1].copy(), constants[best].copy()
            values = evaluate(*self.formula_, *data)[2]
            self.centres_ = np.bincount(y, values) / np.bincount(y)
            wrong = np.sum(self.predict(X_val) != y_val)
            candidates.append((wrong, self.formula_, self.centres_))
        _, self.formula_, self.centres_ = min(candidates, key=lambda candidate: candidate[0])
        return self

    def predict(self, X):
        """Return the class of each row."""
        y = np.zeros(len(X), np.int64)
        values = evaluate(*self.formula_, X, y, *tables(len(self.formula_[0]), len(X)))[2]
        return self.classes_[nearest(values, self.centres_)]
