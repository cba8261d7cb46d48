"""Pseudo-PCA among the methods of today: the registered experiments, times of NE-pPCA's steps, and figure F9."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pppca_bench.methods.lookup import title_of
from pppca_bench.paper.experiment import (
    ENDINGS,
    data_set_losses,
    experiment_documents,
    experiment_figure,
    experiments,
)
from pppca_bench.paper.significance import runs_by_problem
from pppca_bench.reporting.document import Document
from pppca_bench.reporting.figure_data import Figure, Panel
from pppca_bench.reporting.snapshot import Snapshot
from pppca_bench.reporting.summary import Results
from pppca_bench.runs import Cell, Facts
from pppca_bench.store.database import Store

CONFIG = "fitness_time"
MEAN = "mean of the problems"

_COLUMNS: Mapping[str, str] = {
    "Fitness, %": "fitness_time_percent",
    "Gram–Schmidt, %": "gram_schmidt_time_percent",
    "Responses, %": "responses_time_percent",
    "Breeding, %": "breeding_time_percent",
    "Time, ms": "evolution_time_ms",
    "Fitness, % of multiply-adds": "fitness_operations_percent",
}


def tables(snapshot: Snapshot) -> dict[str, Callable[[], Document]]:
    """Return the builders of the times of NE-pPCA's steps, and of the tables of the experiments."""
    builders: dict[str, Callable[[], Document]] = {
        "fitness_times": partial(fitness_times_document, snapshot.results)
    }
    for experiment in experiments():
        documents = cache(
            partial(experiment_documents, experiment, snapshot.results, snapshot.facts)
        )
        for index, ending in enumerate(ENDINGS):
            builders[f"{experiment.id}{ending}"] = partial(_item, documents, index)
    return builders


def _item(documents: Callable[[], Sequence[Document]], index: int) -> Document:
    return documents()[index]


def shown(snapshot: Snapshot) -> dict[Cell, str]:
    """Return the table that shows the runs of a cell."""
    return dict.fromkeys(snapshot.results.of_config(CONFIG), "fitness_times")


def figures(snapshot: Snapshot, store: Store) -> list[Figure]:
    """Return F9, and the matrices of the experiments that were run."""
    results, facts = snapshot.results, snapshot.facts
    matrices = (
        experiment_figure(experiment, data_set_losses(experiment, results, facts))
        for experiment in experiments()
    )
    return [
        streaming_figure(results, store, facts),
        *(figure for figure in matrices if figure.panels),
    ]


def mean_shares(results: Results) -> dict[str, dict[str, float]]:
    """Return the means of shares and times by problem, and under `MEAN` their means over the problems; {} if not run.

    Problems with several settings are left out.
    """
    means = {
        problem: {name: fmean(runs.values(name).values()) for name in _COLUMNS.values()}
        for problem, runs in runs_by_problem(results, CONFIG).items()
        if runs.values("fitness_time_percent")
    }
    if means:
        means[MEAN] = {
            name: fmean(own[name] for own in means.values()) for name in _COLUMNS.values()
        }
    return means


def fitness_times_document(results: Results) -> Document:
    """Return the shares of the steps in the time of the literal algorithm, with a row for each problem."""
    runs = runs_by_problem(results, CONFIG).values()
    return Document.of_records(
        "fitness_times",
        "Shares of the time of NE-pPCA's steps",
        [("Problem", "{row}"), *((header, f"{{{name}:.1f}}") for header, name in _COLUMNS.items())],
        [{"row": problem, **own} for problem, own in mean_shares(results).items()],
        notes=(
            "The slides' literal algorithm in plain compiled loops; means over the repeats, which run one at a time."
            ' Fitness: all of slide "Fitness evaluation", hence Gram–Schmidt process and responses. Responses: of all'
            " training samples, with variances, sorting and removal. Breeding: selection, crossing and mutation.",
            "Other programs have other shares. This program's own NE-pPCA computes the variances from the covariance"
            " matrix, so that its cost does not depend on the number of samples.",
        ),
        has_runs=bool(runs),
        n_missing=sum(own.n_planned - len(own.values("fitness_time_percent")) for own in runs),
    )


_STREAMING = ("streaming", "streaming_curves")
"""Configs of the runs of figure F9."""

_LARGEST_POWER = 20
_STREAMING_NOTE = (
    "Retained variance as a share of the variance that exact PCA retains with the same number of dimensions. τ = 15,"
    " except for GHA, which learns three nodes. A curve ends with its shortest run. DGHA and NE-pPCA start from all"
    " dimensions; each epoch or generation counts as all training samples."
)


def streaming_figure(results: Results, store: Store, facts: Facts) -> Figure:
    """Return F9: the median and the worst of all data sets at powers of two of the samples seen, by method."""
    curves = _streaming_curves(results, store, facts)
    panels = []
    for title, over_problems in (
        ("a) median of the data sets", np.median),
        ("b) worst data set", np.min),
    ):
        lines = []
        for method, shares in curves.items():
            known = ~np.isnan(shares).any(axis=0)
            mean = over_problems(np.array(shares)[:, known], axis=0).astype(np.float32)
            values = {
                "step": np.flatnonzero(known),
                "mean": mean,
                "low": np.nan,
                "high": np.nan,
                "n": len(shares),
            }
            lines.append(pd.DataFrame({"curve": title_of(method), **values}))
        if lines:
            panels.append(Panel("curves", title, pd.concat(lines)))
    x_label, y_label = "samples seen, as a power of two", "share of the best variance"
    basis = "One run per data set, measured at powers of two of the number of samples."
    title = "Retained variance against the number of samples"
    return Figure(
        "F9",
        title,
        "",
        x_label,
        y_label,
        panels,
        _STREAMING_NOTE,
        () if panels else _STREAMING,
        basis=basis,
    )


def _streaming_curves(
    results: Results, store: Store, facts: Facts
) -> dict[str, list[NDArray[np.float64]]]:
    """Return the curve of the first run on each data set, at powers of two of the number of samples, by method."""
    curves: dict[str, list[NDArray[np.float64]]] = {}
    for cell, runs in (item for config in _STREAMING for item in results.of_config(config).items()):
        for history in store.histories(runs.of_done("key")[:1].tolist()).values():
            if "optimality" in history:
                optimality = np.asarray(history["optimality"], dtype=np.float64)
                # The first entry of an epoch's history is the start.
                per_step = facts[cell.problem].n_train if cell.problem in facts else 1
                samples = history.get("samples", per_step * np.arange(len(optimality)))
                curves.setdefault(cell.method, []).append(
                    at_powers(np.asarray(samples), optimality)
                )
    return curves


def at_powers(samples: NDArray[Any], optimality: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the last optimality measured up to 1, 2, 4, … samples; nan before the first and after the last sample."""
    powers = 2.0 ** np.arange(_LARGEST_POWER)
    places = np.searchsorted(samples, powers, side="right") - 1
    known = (places >= 0) & (powers <= samples[-1])
    return np.where(known, optimality[np.maximum(places, 0)], np.nan)
