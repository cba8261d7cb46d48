"""Evidence for claims: results by role, reading and data set, and the comparisons of the last experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple, get_args

import pandas as pd

from pppca_bench.methods.registry import METHODS
from pppca_bench.paper.experiment import (
    TEST_COLUMNS,
    TESTED,
    Experiment,
    experiment_figure,
    experiments,
    runs_of_method,
)
from pppca_bench.paper.losses import Line
from pppca_bench.reporting.document import Document
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.reporting.pairs import MARGIN
from pppca_bench.reporting.statistics import student_t
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.table import Table
from pppca_bench.runs import Facts, Names, Scalar, grouped

Reading = Literal["as written", "fitted"]
READINGS: tuple[Reading, ...] = get_args(Reading)
"""The slides followed in all that they say, and the settings that come nearest to their tables."""

Role = Mapping[str, Scalar]
"""Method, under ``method``, and the settings that select its runs."""

COMPARED = ("permutations", "as_written", "as_written_speedup")
"""Configs that run all methods at a single threshold on all permutations, with the same classifier."""


class Evidence(NamedTuple):
    """Results by which claims are judged.

    ``claims`` are methods by reading and role (`Reference.claims`); ``configs`` compare these methods; ``compared`` are
    comparisons of the last registered experiment.
    """

    results: Results
    facts: Facts
    tables: Mapping[str, Table]
    figures: Mapping[str, Figure]
    claims: Mapping[str, Mapping[str, Role]]
    compared: Sequence[Line] = ()
    configs: Names = COMPARED

    def lines(self, claim: str, reading: Reading) -> list[Line]:
        """Return the experiment's comparisons of a claim that are about a reading."""
        return [
            line for line in self.compared if line.claim == claim and f"({reading})" in line.name
        ]

    def role(self, role: str, reading: Reading) -> Role:
        """Return the method and settings of a role; empty if the reading does not have it."""
        return self.claims.get(reading, {}).get(role, {})

    def title(self, role: str, reading: Reading) -> str:
        """Return the title of the method that has a role."""
        entry = METHODS.get(str(self.role(role, reading).get("method")))
        return entry.title if entry else role

    def by_data_set(
        self, role: str, reading: Reading, quantity: str = "test_error_percent"
    ) -> dict[str, float]:
        """Return a role's means in the comparison of methods by data set, the average of its permutations."""
        runs = runs_of_method(self.results, self.role(role, reading), self.configs)
        means = {
            problem: mean
            for problem, own in runs.items()
            if (mean := own.mean(quantity)) is not None
        }
        families = grouped(
            means, lambda problem: self.facts[problem].family if problem in self.facts else problem
        )
        return {
            family: fmean(means[problem] for problem in problems)
            for family, problems in families.items()
        }


def read_experiment(experiment: Experiment, folder: Path) -> tuple[Document, Figure] | None:
    """Return the tests and the matrix of an experiment from its tables in a folder; None without tables."""
    tests, losses = (folder / f"{experiment.id}_{name}.csv" for name in ("tests", "losses"))
    if not (tests.is_file() and losses.is_file()):
        return None
    of_row = {
        f"{first} − {second}": {"_group": group, "_label": group.label(first, second)}
        for group, first, second in experiment.comparisons()
    }
    known = [own | of_row[own["row"]] for own in _records(losses) if own["row"] in of_row]
    title = f"{experiment.title}: tests over data sets"
    notes = (TESTED.format(experiment.test), f"Registration and conclusions: {experiment.page}.")
    return (
        Document.of_records(tests.stem, title, TEST_COLUMNS, _records(tests), notes=notes),
        experiment_figure(experiment, known),
    )


def _records(file: Path) -> list[dict[str, Any]]:
    """Return the records of a table's file, with None for missing values."""
    table = pd.read_csv(file).astype(object)
    return [
        {str(name): value for name, value in record.items()}
        for record in table.where(table.notna(), None).to_dict("records")
    ]


def read_lines(folder: Path) -> list[Line]:
    """Return the comparisons of the claims from the last experiment's tables in a folder; none without tables."""
    experiment, lines = experiments()[-1], list[Line]()
    tests, losses = (folder / f"{experiment.id}_{name}.csv" for name in ("tests", "losses"))
    if not (tests.is_file() and losses.is_file()):
        return []
    tested, within = pd.read_csv(tests), pd.read_csv(losses)
    by_row: dict[str, Any] = {str(record.row): record for record in tested.itertuples()}
    for group, first, second in experiment.comparisons():
        own = by_row.get(f"{first} − {second}")
        if group.claim and own is not None:
            cut = within[(within["row"] == own.row) & ~within["is_apart"]]
            p_values = {record.data_set: _p_of_more(record) for record in cut.itertuples()}
            numbers = own.n, own.low, own.typical, own.high, own.p_holm, own.verdict
            lines.append(Line(first, second, *numbers, group.claim, p_values))
    return lines


def _p_of_more(record: Any) -> float:
    """Return the one-sided p of a loss of `MARGIN` or more on a data set; nan without an interval."""
    from scipy.special import stdtr

    degrees = record.n - 1
    error = (record.high - record.low) / 2.0 / student_t(0.975, degrees)
    return float(stdtr(degrees, (record.loss - MARGIN) / error) if error else record.loss >= MARGIN)
