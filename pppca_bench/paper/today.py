"""Pseudo-PCA among the methods of today: tables and matrices of the registered experiments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pppca_bench.pages.document import Document
from pppca_bench.pages.figure_data import Figure
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.paper.experiment import (
    ENDINGS,
    data_set_losses,
    experiment_documents,
    experiment_figure,
    experiments,
)
from pppca_bench.paper.texts import builders_of
from pppca_bench.store.database import Store


def tables(snapshot: Snapshot) -> dict[str, Callable[[], Document]]:
    """Return the builders of the tables of the experiments."""
    builders: dict[str, Callable[[], Document]] = {}
    for experiment in experiments():
        names = [f"{experiment.id}{ending}" for ending in ENDINGS]
        build = partial(experiment_documents, experiment, snapshot.runs, snapshot.facts)
        builders |= builders_of(names, build)
    return builders


def figures(snapshot: Snapshot, _: Store) -> list[Figure]:
    """Return the matrices of the experiments that were run."""
    runs, facts = snapshot.runs, snapshot.facts
    matrices = (
        experiment_figure(experiment, data_set_losses(experiment, runs, facts))
        for experiment in experiments()
    )
    return [figure for figure in matrices if figure.panels]
