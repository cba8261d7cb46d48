"""Evidence for claims: results by role, reading and data set, and the test of losses over data sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, geometric_mean
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from pppca_bench.methods.registry import METHODS
from pppca_bench.reporting.document import SIGNED, printed
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.reporting.pairs import ALPHA, MARGIN, holm
from pppca_bench.reporting.summary import CellSummary, Results, Summary, summarise
from pppca_bench.reporting.table import Table
from pppca_bench.runs import Facts, Names, Scalar, Selector, grouped

Verdict = Literal["holds", "holds in part", "does not hold", "undecided", "not run"]
Reading = Literal["as written", "fitted"]
READINGS: tuple[Reading, ...] = get_args(Reading)
"""The slides followed in all that they say, and the settings that come nearest to their tables."""

Role = Mapping[str, Scalar]
"""Method, under ``method``, and the settings that select its runs."""

COMPARED = ("permutations", "as_written", "as_written_speedup")
"""Configs that run all methods at a single threshold on all permutations, with the same classifier."""

MIN_DATA_SETS = 6
"""Smallest number of data sets for a sign test, which cannot be significant with fewer."""


class Evidence(NamedTuple):
    """Results by which claims are judged.

    ``claims`` are methods by reading and role (`Reference.claims`); ``configs`` compare these methods.
    """

    results: Results
    facts: Facts
    tables: Mapping[str, Table]
    figures: Mapping[str, Figure]
    claims: Mapping[str, Mapping[str, Role]]
    configs: Names = COMPARED

    def role(self, role: str, reading: Reading) -> Role:
        """Return the method and settings of a role; empty if the reading does not have it."""
        return self.claims.get(reading, {}).get(role, {})

    def title(self, role: str, reading: Reading) -> str:
        """Return the title of the method that has a role."""
        entry = METHODS.get(str(self.role(role, reading).get("method")))
        return entry.title if entry else role

    def summaries(self, role: str, reading: Reading) -> dict[str, CellSummary]:
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

    def ratio(self, role: str, other: str, reading: Reading, quantity: str) -> float | None:
        """Return the geometric mean over data sets of the ratio of a quantity of two roles."""
        ours, theirs = (self.by_data_set(name, reading, quantity) for name in (role, other))
        ratios = [ours[name] / theirs[name] for name in ours if theirs.get(name, 0.0) > 0.0]
        return geometric_mean(ratios) if ratios else None

    def line(
        self, table: str, *, row: str = "", column: str = "", quantity: str = "test_error_percent"
    ) -> dict[str, float]:
        """Return our means in a row of a table, by column, or in a column, by row. Give either of the two."""
        cells = self.tables[table].cells.values() if table in self.tables else ()
        return {
            cell.column if row else cell.row: cell.ours[quantity].mean
            for cell in cells
            if quantity in cell.ours and (cell.row == row or cell.column == column)
        }

    def over_repeats(self, table: str, row: str, quantity: str) -> Summary | None:
        """Summarise the geometric means along a row of a table over repeats; None for fewer than two repeats."""
        cells = self.tables[table].cells.values() if table in self.tables else ()
        values = [cell.values(quantity) for cell in cells if cell.row == row]
        repeats = set(values[0]).intersection(*values[1:]) if values else ()
        means = [geometric_mean(own[repeat] for own in values) for repeat in sorted(repeats)]
        return summarise(means) if len(means) > 1 else None

    def curves(self, figure: str) -> Iterator[tuple[str, str, pd.Series[float]]]:
        """Yield a figure's curves: title of the panel, label and means."""
        for panel in self.figures[figure].panels if figure in self.figures else ():
            yield from ((panel.title, label, curve["mean"]) for label, curve in panel.series.items())


class Losses(NamedTuple):
    """Losses of a method against another by data set, in points: its error minus the other's."""

    by_data_set: Mapping[str, float]

    @property
    def n_small(self) -> int:
        """Return the number of data sets with a loss of at most `MARGIN`."""
        return sum(loss <= MARGIN for loss in self.by_data_set.values())

    @property
    def p(self) -> float:
        """Return p of the two-sided sign test; nan for fewer data sets than `MIN_DATA_SETS`.

        Null hypothesis: half of all data sets lose at most `MARGIN`.
        """
        from scipy.stats import binomtest

        n = len(self.by_data_set)
        return float(binomtest(self.n_small, n).pvalue) if n >= MIN_DATA_SETS else np.nan

    def verdict(self, p: float) -> Verdict:
        """Return the verdict on "most data sets lose at most `MARGIN`", given p after correction."""
        if not p < ALPHA:
            return "undecided"
        return "holds" if 2 * self.n_small > len(self.by_data_set) else "does not hold"

    def text(self, p: float) -> str:
        """Describe the losses: number of data sets that lose at most `MARGIN`, larger losses, p, mean."""
        n, mean = len(self.by_data_set), summarise(list(self.by_data_set.values()))
        more = [f"{name} {printed(loss, SIGNED)}" for name, loss in self.by_data_set.items() if loss > MARGIN]
        others = f" (larger losses: {', '.join(more)})" if more else ""
        test = f"sign test p = {p:.2g}" if p == p else f"no test with fewer than {MIN_DATA_SETS} data sets"
        low, average, high = (printed(value, SIGNED) for value in (mean.low, mean.mean, mean.high))
        return (
            f"a loss of at most {MARGIN:g} point on {self.n_small} of {n} data sets{others}; {test}; mean {average}"
            f" points (95 % interval {low} to {high})"
        )


def losses(ours: Mapping[str, float], theirs: Mapping[str, float]) -> Losses | None:
    """Return ours − theirs over the data sets that both have; None if they share fewer than two."""
    shared = {name: ours[name] - theirs[name] for name in ours if name in theirs}
    return Losses(shared) if len(shared) > 1 else None


class Part(NamedTuple):
    """Part of a claim: a sentence of evidence, and its verdict or losses.

    ``verdict`` applies if ``losses`` is None; "not run" marks a sentence that only explains. Otherwise the losses
    are tested, ``{}`` in the sentence stands for them, and ``inverted`` exchanges "holds" and "does not hold".
    """

    sentence: str
    verdict: Verdict = "not run"
    losses: Losses | None = None
    inverted: bool = False


_INVERSE: Mapping[Verdict, Verdict] = {"holds": "does not hold", "does not hold": "holds"}


def judge(parts: Sequence[Part]) -> tuple[Verdict, list[str]]:
    """Return the verdict on a claim and the sentences of its parts; Holm's correction is over all of its tests."""
    p_values = iter(holm([part.losses.p for part in parts if part.losses]))
    verdicts: list[Verdict] = []
    sentences = []
    for part in parts:
        verdict, sentence = part.verdict, part.sentence
        if part.losses is not None:
            p = next(p_values)
            verdict = part.losses.verdict(p)
            verdict = _INVERSE.get(verdict, verdict) if part.inverted else verdict
            clause = f"the claim is {verdict} here" if verdict == "undecided" else f"the claim {verdict} here"
            sentence = sentence.format(f"{part.losses.text(p)}: {clause}")
        verdicts.append(verdict)
        sentences.append(sentence)
    return overall_verdict(verdicts), sentences


def overall_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict on a claim, given the verdicts on its parts; parts that were not run do not count.

    If all parts have the same verdict, this is the claim's verdict. Otherwise the claim does not hold if more than half
    of the parts do not hold; it holds in part if at least half of the parts hold or hold in part; else it is undecided.
    """
    run = [verdict for verdict in verdicts if verdict != "not run"]
    if len(set(run)) <= 1:
        return run[0] if run else "not run"
    if 2 * run.count("does not hold") > len(run):
        return "does not hold"
    return "holds in part" if 2 * (run.count("holds") + run.count("holds in part")) >= len(run) else "undecided"
