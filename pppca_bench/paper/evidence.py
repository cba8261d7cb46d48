"""Evidence for claims: results by role, reading and data set, and the comparisons of the last experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Literal, NamedTuple, get_args

import pandas as pd

from pppca_bench.methods.registry import METHODS
from pppca_bench.paper.lines import Line
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.reporting.summary import CellRuns, Results
from pppca_bench.reporting.table import Table
from pppca_bench.runs import Facts, Names, Scalar, Selector, grouped

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
        return [line for line in self.compared if line.claim == claim and f"({reading})" in line.name]

    def role(self, role: str, reading: Reading) -> Role:
        """Return the method and settings of a role; empty if the reading does not have it."""
        return self.claims.get(reading, {}).get(role, {})

    def title(self, role: str, reading: Reading) -> str:
        """Return the title of the method that has a role."""
        entry = METHODS.get(str(self.role(role, reading).get("method")))
        return entry.title if entry else role

    def summaries(self, role: str, reading: Reading) -> dict[str, CellRuns]:
        """Return a role's runs in the comparison of methods, by problem."""
        wanted = dict(self.role(role, reading))
        method = wanted.pop("method", None)
        if method is None:
            return {}
        problems = dict.fromkeys(cell.problem for cell in self.results.cells if cell.method == method)
        selectors = {name: Selector(name, str(method), tuple(wanted.items())) for name in problems}
        known = {name: self.results.summary(selector, self.configs) for name, selector in selectors.items()}
        return {name: own for name, own in known.items() if own.n_planned}

    def by_problem(self, role: str, reading: Reading, quantity: str = "test_error_percent") -> dict[str, float]:
        """Return a role's means in the comparison of methods, by problem."""
        means = {problem: own.mean(quantity) for problem, own in self.summaries(role, reading).items()}
        return {problem: mean for problem, mean in means.items() if mean is not None}

    def by_data_set(self, role: str, reading: Reading, quantity: str = "test_error_percent") -> dict[str, float]:
        """Return a role's means by data set, the average of its permutations."""
        means = self.by_problem(role, reading, quantity)
        families = grouped(means, lambda problem: self.facts[problem].family if problem in self.facts else problem)
        return {family: fmean(means[problem] for problem in problems) for family, problems in families.items()}

    def line(self, table: str, row: str, quantity: str) -> dict[str, float]:
        """Return our means in a row of a table, by column."""
        cells = self.tables[table].cells.values() if table in self.tables else ()
        return {cell.column: cell.ours[quantity].mean for cell in cells if cell.row == row and quantity in cell.ours}

    def curves(self, figure: str) -> Iterator[tuple[str, str, pd.Series[float]]]:
        """Yield a figure's curves: title of the panel, label and means."""
        for panel in self.figures[figure].panels if figure in self.figures else ():
            yield from ((panel.title, label, curve["mean"]) for label, curve in panel.series.items())
