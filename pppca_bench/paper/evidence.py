"""Evidence for claims: results by role, reading and data set, and the comparisons of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pppca_bench.methods.lookup import title_of
from pppca_bench.pages.document import Document
from pppca_bench.pages.figure_data import Figure
from pppca_bench.paper.experiment import (
    NO_MARGIN,
    Experiment,
    cells_of_method,
    experiment_figure,
    table_of,
)
from pppca_bench.paper.losses import LossComparison
from pppca_bench.results.frames import Runs
from pppca_bench.runs import Facts, Names, Scalar
from pppca_bench.verdicts.pairs import MARGIN

ClaimReading = Literal["as written", "fitted"]
READINGS: tuple[ClaimReading, ...] = get_args(ClaimReading)
"""The slides followed in all that they say, and the settings that come nearest to their tables.

The claims of references also have the reading "today".
"""

Role = Mapping[str, Scalar]
"""Method, under ``method``, and the settings that select its runs."""

COMPARED = ("permutations", "as_written", "as_written_speedup")
"""Configs that run all methods at a single threshold on all permutations, with the same classifier."""


class Evidence(NamedTuple):
    """Results by which claims are judged.

    ``numbers`` are the printed numbers of the references' tables; ``claims`` methods by reading and role
    (`Reference.roles`); ``compared`` the comparisons of the registered experiments, in their order.
    """

    runs: Runs
    facts: Facts
    numbers: pd.DataFrame
    figures: Mapping[str, Figure]
    claims: Mapping[str, Mapping[str, Role]]
    compared: Sequence[LossComparison] = ()

    def lines(self, claim: str) -> list[LossComparison]:
        """Return the experiments' comparisons of a claim."""
        return [line for line in self.compared if line.claim == claim]

    def role(self, role: str, reading: str) -> Role:
        """Return the method and settings of a role; empty if the reading does not have it."""
        return self.claims.get(reading, {}).get(role, {})

    def title(self, role: str, reading: str) -> str:
        """Return the title of the method that has a role."""
        return title_of(str(self.role(role, reading).get("method")))

    def by_data_set(
        self,
        role: str,
        reading: str,
        quantity: str = "test_error_percent",
        configs: Names = COMPARED,
    ) -> dict[str, float]:
        """Return the mean of a quantity for the method of a role by data set, the average of its permutations."""
        runs = self.runs.of_configs(configs)
        cells = cells_of_method(runs, self.role(role, reading))
        measured = {problem: runs.mean(cell, quantity) for problem, cell in cells.items()}
        means = pd.Series(measured, dtype=float)
        families = {name: known.family for name, known in self.facts.items()}
        grouped = means.groupby(lambda name: families.get(name, name), sort=False)
        return {str(family): float(mean) for family, mean in grouped.mean().dropna().items()}


def read_experiment(experiment: Experiment, folder: Path) -> tuple[Document, Figure] | None:
    """Return the tests and the matrix of an experiment from its tables in a folder; None without tables."""
    if not (read := _read_tables(experiment, folder)):
        return None
    tests, losses = read
    records = tests.to_dict("records")
    table = table_of(experiment, "_tests", records, groups={}, page=experiment.page)
    return table, experiment_figure(experiment, losses)


def _read_tables(experiment: Experiment, folder: Path) -> list[pd.DataFrame]:
    """Return the tests and the losses of an experiment; nothing without both."""
    paths = [folder / f"{experiment.id}_{name}.csv" for name in ("tests", "losses")]
    return [pd.read_csv(path) for path in paths] if all(path.is_file() for path in paths) else []


def read_comparisons(experiment: Experiment, folder: Path) -> list[LossComparison]:
    """Return the comparisons of an experiment from its tables in a folder; none without tables."""
    if not (read := _read_tables(experiment, folder)):
        return []
    tests, losses = read
    by_row, gains, lines = tests.set_index("row"), _read_gains(experiment, folder), []
    for name, pair in experiment.comparisons().items():
        if name not in by_row.index:
            continue
        cut = losses[(losses["row"] == name) & ~losses["is_apart"]]
        cut = cut.assign(p_of_more=_p_of_more(cut))
        row: Any = by_row.loc[name]
        line = LossComparison(
            pair.first,
            pair.second,
            row.n,
            row.low,
            row.typical,
            row.high,
            row.p_holm,
            row.verdict,
            claim=pair.group.claim,
            experiment=experiment.id,
            **gains.get(name, {}),
            features_percent=cut["features_percent"].mean(),
            losses=cut.to_dict("records"),
        )
        lines.append(line)
    return lines


def _read_gains(experiment: Experiment, folder: Path) -> dict[str, dict[str, Any]]:
    """Return by comparison the verdict and p at a margin of 0; none without such tests or their table."""
    path = folder / f"{experiment.id}_margins.csv"
    if not experiment.is_gain_tested or not path.is_file():
        return {}
    margins = pd.read_csv(path)
    of_gains = margins[margins["variant"] == NO_MARGIN]
    return {
        str(row["row"]): {"gain": row["verdict"], "p_gain": row["p_holm"]}
        for row in of_gains.to_dict("records")
    }


def _p_of_more(losses: pd.DataFrame) -> NDArray[np.float64]:
    """Return the one-sided p of a loss of `MARGIN` or more on each data set; nan without an interval."""
    from scipy.special import stdtr, stdtrit

    degrees, beyond = losses["n"] - 1, losses["loss"] - MARGIN
    errors = (losses["high"] - losses["low"]) / 2.0 / stdtrit(degrees, 0.975)
    return np.where(errors == 0.0, beyond >= 0.0, stdtr(degrees, beyond / errors))
