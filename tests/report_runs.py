"""Synthetic runs of the Proben1 report's experiments."""

from collections.abc import Iterator, Sequence

import numpy as np
from stored_runs import run_of

from pppca_bench.paper.networks import published_searches
from pppca_bench.runs import Cell, ProblemFacts, StoredRun

TOPOLOGIES = (
    (2,),
    (4,),
    (8,),
    (16,),
    (24,),
    (32,),
    (2, 2),
    (4, 2),
    (4, 4),
    (8, 4),
    (8, 8),
    (16, 8),
)
SIZES = {
    "building": (14, 3),
    "cancer": (9, 2),
    "card": (51, 2),
    "diabetes": (8, 2),
    "flare": (24, 3),
    "gene": (120, 3),
    "glass": (9, 6),
    "heart": (35, 2),
    "hearta": (35, 1),
    "heartac": (35, 1),
    "heartc": (35, 2),
    "horse": (58, 3),
    "soybean": (82, 19),
    "thyroid": (21, 3),
}
"""Inputs and outputs of the problems, by family (Proben1 report, table 1)."""


def facts_of(problem: str) -> ProblemFacts:
    """Return a problem's facts; the sizes of its splits are made up."""
    task = "classification" if published_searches()[problem].is_classification else "approximation"
    return ProblemFacts(problem, "a" * 64, task, problem[:-1], *SIZES[problem[:-1]], 100, 50, 50)


FACTS = {problem: facts_of(problem) for problem in published_searches()}


def cell_of(
    problem: str, hidden: object, output: str = "linear", *, shortcuts: bool = True
) -> Cell:
    """Return a cell of one network on all features."""
    classifier = {
        "rule": "rprop",
        "hidden": hidden,
        "output_activation": output,
        "shortcuts": shortcuts,
    }
    classifier |= {
        "initial_weight_range": 0.1,
        "generalisation_loss": 2.0,
        "training_progress": 0.1,
    }
    parameters = tuple(sorted(classifier.items()))
    return Cell(
        problem, "a" * 64, "all_features", (), parameters, (("all_features", 1), ("rprop", 1))
    )


def search_runs(problems: Sequence[str]) -> Iterator[StoredRun]:
    """Yield the runs of a search: twelve topologies, two with linear outputs and one with the others."""
    rng = np.random.default_rng(0)
    for problem in problems:
        for hidden in TOPOLOGIES:
            for output, repeats in (("linear", 2), ("softsign", 1)):
                cell = cell_of(problem, hidden, output)
                for repeat in range(repeats):
                    yield run_of(cell, repeat, **_values(problem, rng))


def network_runs(config: str, problems: Sequence[str], n_repeats: int = 12) -> Iterator[StoredRun]:
    """Yield the runs of one of the configs that train a network for each problem."""
    rng = np.random.default_rng(0)
    for problem in problems:
        hidden = () if config == "proben1_linear" else "pivot"
        cell = cell_of(problem, hidden, "pivot", shortcuts=config != "proben1_no_shortcuts")
        for repeat in range(n_repeats):
            yield run_of(cell, repeat, **_values(problem, rng))


def _values(problem: str, rng: np.random.Generator) -> dict[str, float]:
    values = {
        "validation_squared_error_percent": float(rng.uniform(10, 12)),
        "test_squared_error_percent": float(np.exp(rng.normal(2.3, 0.05))),
        "relevant_epochs": int(rng.integers(20, 200)) * 5,
    }
    if FACTS[problem].task == "classification":
        values |= {
            "validation_error_percent": float(rng.uniform(10, 20)),
            "test_error_percent": float(rng.uniform(10, 20)),
        }
    return values
