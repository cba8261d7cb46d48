"""Pseudo-PCA among the methods of today: the registered experiments, and times of NE-pPCA's steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import fmean

from pppca_bench.paper.experiment import (
    ENDINGS,
    data_set_losses,
    experiment_documents,
    experiment_figure,
    experiments,
)
from pppca_bench.paper.significance import runs_by_problem
from pppca_bench.paper.texts import builders_of, fill
from pppca_bench.reporting.document import Document
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.reporting.snapshot import Snapshot
from pppca_bench.reporting.summary import Results
from pppca_bench.runs import Cell
from pppca_bench.store.database import Store

CONFIG = "fitness_time"
MEAN = "mean of the problems"

_QUANTITIES = (
    "fitness_time_percent",
    "gram_schmidt_time_percent",
    "responses_time_percent",
    "breeding_time_percent",
    "evolution_time_ms",
    "fitness_operations_percent",
)


def tables(snapshot: Snapshot) -> dict[str, Callable[[], Document]]:
    """Return the builders of the times of NE-pPCA's steps, and of the tables of the experiments."""
    builders: dict[str, Callable[[], Document]] = {
        "fitness_times": partial(fitness_times_document, snapshot.results)
    }
    for experiment in experiments():
        names = [f"{experiment.id}{ending}" for ending in ENDINGS]
        build = partial(experiment_documents, experiment, snapshot.results, snapshot.facts)
        builders |= builders_of(names, build)
    return builders


def shown(snapshot: Snapshot) -> dict[Cell, str]:
    """Return the table that shows the runs of a cell."""
    return dict.fromkeys(snapshot.results.of_config(CONFIG), "fitness_times")


def figures(snapshot: Snapshot, _: Store) -> list[Figure]:
    """Return the matrices of the experiments that were run."""
    results, facts = snapshot.results, snapshot.facts
    matrices = (
        experiment_figure(experiment, data_set_losses(experiment, results, facts))
        for experiment in experiments()
    )
    return [figure for figure in matrices if figure.panels]


def mean_shares(results: Results) -> dict[str, dict[str, float]]:
    """Return the means of shares and times by problem, and under `MEAN` their means over the problems; {} if not run.

    Problems with several settings are left out.
    """
    means = {
        problem: {name: fmean(runs.values(name).values()) for name in _QUANTITIES}
        for problem, runs in runs_by_problem(results, CONFIG).items()
        if runs.values("fitness_time_percent")
    }
    if means:
        means[MEAN] = {name: fmean(row[name] for row in means.values()) for name in _QUANTITIES}
    return means


def fitness_times_document(results: Results) -> Document:
    """Return the shares of the steps in the time of the literal algorithm, with a row for each problem."""
    runs = runs_by_problem(results, CONFIG).values()
    return fill(
        "fitness_times",
        [{"row": problem, **shares} for problem, shares in mean_shares(results).items()],
        has_runs=bool(runs),
        n_missing=sum(item.n_planned - len(item.values("fitness_time_percent")) for item in runs),
    )
