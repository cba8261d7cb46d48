"""Synthetic runs of the Proben1 report's experiments."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from stored_runs import run_of

from pppca_bench.paper.networks import published_searches
from pppca_bench.problems import problem_info
from pppca_bench.runs import Cell, ProblemFacts, StoredRun

ONE_LAYER = [(size,) for size in (2, 4, 8, 16, 24, 32)]
TOPOLOGIES = (*ONE_LAYER, (2, 2), (4, 2), (4, 4), (8, 4), (8, 8), (16, 8))


def facts_of(problem: str) -> ProblemFacts:
    """Return a problem's facts; the sizes of its splits are made up."""
    info = problem_info(problem)
    sizes = info.n_features, info.n_outputs, 100, 50, 50
    return ProblemFacts(problem, "a" * 64, info.task, problem[:-1], *sizes)


FACTS = {problem: facts_of(problem) for problem in published_searches()}


def cell_of(
    problem: str, hidden: object, output: str = "linear", *, shortcuts: bool = True
) -> Cell:
    """Return a cell of one network on all features."""
    classifier = {
        "generalisation_loss": 2.0,
        "hidden": hidden,
        "initial_weight_range": 0.1,
        "output_activation": output,
        "rule": "rprop",
        "shortcuts": shortcuts,
        "training_progress": 0.1,
    }
    algorithms = (("all_features", 1), ("rprop", 1))
    return Cell(problem, "a" * 64, "all_features", {}, classifier, algorithms)


def search_runs(problems: Sequence[str]) -> Iterator[StoredRun]:
    """Yield the runs of a search: twelve topologies, two with linear outputs and one with the others."""
    rng = np.random.default_rng(0)
    outputs = (("linear", 0), ("linear", 1), ("softsign", 0))
    for problem, hidden, (output, repeat) in product(problems, TOPOLOGIES, outputs):
        yield run_of(cell_of(problem, hidden, output), repeat, **_values(problem, rng))


def network_runs(config: str, problems: Sequence[str], n_repeats: int = 12) -> Iterator[StoredRun]:
    """Yield the runs of one of the configs that train a network for each problem."""
    rng = np.random.default_rng(0)
    for problem in problems:
        hidden = () if config == "proben1_linear" else "pivot"
        cell = cell_of(problem, hidden, "pivot", shortcuts=config != "proben1_no_shortcuts")
        for repeat in range(n_repeats):
            yield run_of(cell, repeat, **_values(problem, rng))


def _values(problem: str, rng: np.random.Generator) -> dict[str, float]:
    names = ["relevant_epochs", "validation_squared_error_percent", "test_squared_error_percent"]
    if FACTS[problem].task == "classification":
        names += ["validation_error_percent", "test_error_percent"]
    drawn = [5 * rng.integers(20, 200), rng.uniform(10, 12), np.exp(rng.normal(2.3, 0.05))]
    return {
        name: float(value)
        for name, value in zip(names, [*drawn, *rng.uniform(10, 20, 2)], strict=False)
    }
