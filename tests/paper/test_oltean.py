"""Multi Expression Programming in the folder examples/oltean_2022."""

import importlib
import math
import sys
from pathlib import Path

import numba.typed
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pppca_bench.references.reference import installed_references, read_reference

FOLDER = Path(__file__).parents[2] / "examples" / "oltean_2022"
FUNCTIONS = "add", "subtract", "multiply", "divide", "if_less", "sin", "exp", "ln"
N_CONSTANTS = 10


@pytest.fixture(scope="module", params=["python", pytest.param("compiled", marks=pytest.mark.slow)])
def mep(request):
    """Import the module of the folder; run its kernels as plain Python, since to compile them takes ten seconds."""
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.syspath_prepend(str(FOLDER))
        module = importlib.import_module("mep")
        if request.param == "python":
            patch.setattr(numba.typed.Dict, "empty", lambda *_: {})
            for name, kernel in vars(module).copy().items():
                if hasattr(kernel, "py_func"):
                    patch.setattr(module, name, kernel.py_func)
        yield module
        del sys.modules["mep"]


def value(genes, gene, constants, row):
    """Return the value of a gene for a row, by recursion."""
    code, *pointers = (int(symbol) for symbol in genes[gene])
    if code >= len(FUNCTIONS):
        number = code - len(FUNCTIONS)
        return constants[number] if number < N_CONSTANTS else row[number - N_CONSTANTS]
    name = FUNCTIONS[code]
    n = {"if_less": 4, "sin": 1, "exp": 1, "ln": 1}.get(name, 2)
    arguments = [value(genes, pointer, constants, row) for pointer in pointers[:n]]
    if name == "add":
        return arguments[0] + arguments[1]
    if name == "subtract":
        return arguments[0] - arguments[1]
    if name == "multiply":
        return arguments[0] * arguments[1]
    if name == "divide":
        return np.float64(arguments[0]) / np.float64(arguments[1])
    if name == "if_less":
        return arguments[2] if arguments[0] < arguments[1] else arguments[3]
    return {"sin": np.sin, "exp": np.exp, "ln": np.log}[name](arguments[0])


def wrong_rows(values, y):
    """Return the number of values whose nearest mean value of a class is another class's."""
    if not all(math.isfinite(number) for number in values):
        return len(y)
    centres = []
    for label in range(max(y) + 1):
        members = [number for number, own in zip(values, y, strict=True) if own == label]
        centres.append(sum(members) / len(members))
    n_wrong = 0
    for number, label in zip(values, y, strict=True):
        distances = [abs(number - centre) for centre in centres]
        n_wrong += distances.index(min(distances)) != label
    return n_wrong


def evaluate(genes, constants, X, y):
    """Return the errors of all genes of a chromosome."""
    return [
        wrong_rows([value(genes, gene, constants, row) for row in X], y)
        for gene in range(len(genes))
    ]


class Plain:
    """The evolution in plain Python, a subpopulation as a list of individuals; it draws the same random numbers."""

    def __init__(self, rng, X, y, *, islands, size, length):
        self.rng, self.X, self.y = rng, X, y
        constants = rng.random((islands, size, N_CONSTANTS))
        self.islands = []
        for island in range(islands):
            self.islands.append([])
            for individual in range(size):
                genes = [[0] * 5 for _ in range(length)]
                self.mutate(genes, 1.0)
                self.islands[-1].append(self.individual(genes, list(constants[island, individual])))

    def individual(self, genes, constants):
        """Return genes, constants, errors and best gene."""
        errors = evaluate(genes, constants, self.X, self.y)
        return genes, constants, min(errors), errors.index(min(errors))

    def below(self, n):
        """Return a random number from 0 to n - 1."""
        return int(self.rng.random() * n)

    def mutate(self, genes, probability):
        """Draw symbols again."""
        for index, gene in enumerate(genes):
            functions = 0.5 if index else 0.0
            for symbol in range(5):
                if self.rng.random() >= probability:
                    continue
                kind = self.rng.random() * (functions + 0.01 + 0.4)
                if symbol:
                    gene[symbol] = self.below(index)
                elif kind < functions:
                    gene[0] = self.below(8)
                elif kind < functions + 0.01:
                    gene[0] = 8 + self.below(N_CONSTANTS)
                else:
                    gene[0] = 8 + N_CONSTANTS + self.below(self.X.shape[1])

    def parent(self, island):
        """Return the winner of a tournament."""
        first, second = (island[self.below(len(island))] for _ in range(2))
        return second if second[2] < first[2] else first

    def build_generation(self, island):
        """Replace the worst individuals by better offspring."""
        for _ in range(len(island) // 2):
            parents = [self.parent(island) for _ in range(2)]
            genes = [[list(gene) for gene in parent[0]] for parent in parents]
            if self.rng.random() < 0.9:
                cut = 1 + self.below(len(genes[0]) - 1)
                genes = [genes[0][:cut] + genes[1][cut:], genes[1][:cut] + genes[0][cut:]]
            for own, parent in zip(genes, parents, strict=True):
                self.mutate(own, 0.005)
                constants = list(parent[1])
                for k in range(N_CONSTANTS):
                    if self.rng.random() < 0.005:
                        constants[k] += 0.1 * (2.0 * self.rng.random() - 1.0)
                self.replace_worst(island, self.individual(own, constants))

    def replace_worst(self, island, offspring):
        """Put a better individual in the place of the first of the worst."""
        errors = [individual[2] for individual in island]
        if offspring[2] < max(errors):
            island[errors.index(max(errors))] = offspring

    def best(self, island):
        """Return the first of the best individuals."""
        return min(island, key=lambda individual: individual[2])

    def migrate(self):
        """Copy the best of each subpopulation to the next."""
        migrants = [self.best(island) for island in self.islands]
        for index, migrant in enumerate(migrants):
            self.replace_worst(self.islands[(index + 1) % len(migrants)], migrant)


def small_problem(n_classes, seed, n_rows=40):
    """Return three inputs and classes that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 3))
    y = np.digitize(X[:, 0] * X[:, 1] + 0.1 * X[:, 2], np.linspace(0.1, 0.5, n_classes - 1))
    return X, y


def plain_fit(X, y, X_val, y_val, seed, *, generations, **sizes):
    """Return the errors of the individuals, and the formula with the fewest validation errors."""
    plain = Plain(np.random.default_rng(seed), X, y, **sizes)
    fewest, formula = math.inf, None
    for _ in range(generations):
        for island in plain.islands:
            plain.build_generation(island)
        plain.migrate()
        genes, constants, _, gene = plain.best(
            [individual for island in plain.islands for individual in island]
        )
        train = np.array([value(genes, gene, constants, row) for row in X])
        centres = [sum(train[y == label]) / sum(y == label) for label in range(max(y) + 1)]
        wrong = 0
        for row, label in zip(X_val, y_val, strict=True):
            distances = [abs(value(genes, gene, constants, row) - centre) for centre in centres]
            wrong += distances.index(min(distances)) != label
        if wrong < fewest:
            fewest, formula = wrong, (genes[: gene + 1], constants)
    return formula


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("room", [1000, 20])
def test_a_chromosome_has_the_errors_of_the_plain_evaluation(mep, n_classes, room):
    X, y = small_problem(n_classes, seed=n_classes)
    tables = mep.tables(room, len(X))  # of 20 expressions, which is soon full
    rng = np.random.default_rng(5)
    for _ in range(12):
        genes, constants = np.zeros((14, 5), np.int64), rng.random(N_CONSTANTS)
        mep.mutate(rng, genes, 1.0, X.shape[1])
        genes[rng.random(14) < 0.2, 0] = 8 + rng.integers(N_CONSTANTS)
        errors = evaluate(genes, constants, X, y)
        last = [value(genes, 13, constants, row) for row in X]
        wrong, best, values = mep.evaluate(genes, constants, X, y, *tables)
        assert (wrong, best) == (min(errors), errors.index(min(errors)))
        np.testing.assert_allclose(values, last, rtol=1e-13, equal_nan=True)


@pytest.mark.parametrize("seed", [2])
def test_the_evolution_is_that_of_the_plain_program(mep, seed):
    (X, y), (X_val, y_val) = small_problem(3, seed), small_problem(3, seed + 10, n_rows=20)
    sizes = {"islands": 3, "size": 6, "length": 12, "generations": 5}
    model = mep.MEPClosestCentre(random_state=seed, **sizes).fit(X, y, X_val, y_val)
    genes, constants = plain_fit(X, y, X_val, y_val, seed, **sizes)
    assert model.formula_[0].tolist() == genes
    assert model.formula_[1].tolist() == constants


def test_rows_belong_to_the_class_of_the_nearest_mean_and_to_the_lowest_if_two_are_as_near(mep):
    values, y = np.array([0.0, 2.0, 5.0, 7.0, 3.5]), np.array([0, 0, 1, 1, 1])
    centres = np.array([1.0, 31.0 / 6.0])
    assert mep.nearest(values, centres).tolist() == [0, 0, 1, 1, 1]
    assert mep.nearest(np.array([2.0, 3.0]), np.array([1.0, 3.0])).tolist() == [0, 1]
    assert mep.count_errors(values, y) == 0
    assert (
        mep.count_errors(np.array([0.0, 6.0, 5.0, 7.0, 3.5]), y) == 2
    )  # means 3 and 31 / 6: 6 and 3.5
    assert mep.count_errors(np.array([0.0, 2.0, 5.0, 7.0, np.inf]), y) == 5


def test_the_best_of_a_subpopulation_moves_to_the_next_in_the_ring(mep):
    fitness = np.array([[3, 9, 4], [2, 2, 2], [8, 7, 5]])
    label = np.array([["a0", "a1", "a2"], ["b0", "b1", "b2"], ["c0", "c1", "c2"]])
    mep.migrate(fitness, label)
    assert fitness.tolist() == [[3, 5, 4], [2, 2, 2], [2, 7, 5]]
    assert label.tolist() == [["a0", "c2", "a2"], ["b0", "b1", "b2"], ["b0", "c1", "c2"]]


def test_the_networks_are_those_of_the_proben1_report_and_only_cited():
    ours = read_reference(FOLDER)
    (report,) = (other for other in installed_references() if other.name == "proben1_report")
    (layout,) = ours.layouts
    methods, networks = layout.columns
    for row in layout.rows:
        assert layout.selector(row, methods).problem == row.key
        assert layout.selector(row, networks) is None
        quoted = ours.published("MEP3", row.key, "ANNs")["test_error_percent"]
        printed = report.published("P10", row.key, "classification")["test_error_percent"]
        assert quoted.value == printed.value
        assert (quoted.sd == printed.sd) == (row.key != "thyroid2")


def test_the_folder_is_short():
    lines = {file.name: len(file.read_text().splitlines()) for file in FOLDER.glob("*.*")}
    assert lines["config.yaml"] + lines["reference.yaml"] <= 60
    assert lines["mep.py"] <= 200


def test_the_verdicts_on_the_rendered_means_follow_from_welchs_test():
    table = FOLDER.parents[1] / "results" / "oltean_2022" / "tables" / "MEP3.csv"
    every = pd.read_csv(table)
    run = every[every["n"] > 0]
    assert run["n"].tolist() == [10] * 4
    published = pd.read_csv(FOLDER / "numbers.csv", dtype={"value": str})
    for number in run.itertuples():
        own = published[(published["row"] == number.row) & (published["column"] == number.column)]
        text, sd = own["value"].item(), own["sd"].item()
        half_unit = 0.5 * 10.0 ** -len(text.partition(".")[2])
        apart = max(abs(number.mean - float(text)) - half_unit, 0.0)
        parts = number.sd**2 / 10, sd**2 / 30
        degrees = sum(parts) ** 2 / (parts[0] ** 2 / 9 + parts[1] ** 2 / 29)
        h = stats.t.ppf(0.95, degrees) * math.sqrt(sum(parts))
        assert 2.0 * stats.t.sf(apart / math.sqrt(sum(parts)), degrees) > 0.05
        expected = "cannot tell" if h > 0.5 * sd else "consistent"
        assert number.verdict == ("reproduced" if apart + h <= 0.5 * sd else expected)
