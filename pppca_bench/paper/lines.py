"""Comparisons of the second registered experiment, as its tables have them."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Self

from pppca_bench.paper.experiment import experiments
from pppca_bench.paper.losses import VERDICTS, Verdict, size_text
from pppca_bench.reporting.pairs import MARGIN
from pppca_bench.reporting.statistics import student_t


class Line(NamedTuple):
    """Comparison of two methods over n data sets.

    ``within`` has, by data set, the one-sided p of the corrected resampled t-test of a loss of `MARGIN` or more.
    """

    claim: str
    method: str
    other: str
    within: Mapping[str, float]
    n: int
    typical: float
    low: float
    high: float
    p: float
    verdict: Verdict

    @classmethod
    def of_record(
        cls, claim: str, method: str, other: str, within: Mapping[str, float], record: Mapping[str, str]
    ) -> Self:
        """Return the comparison of a record of the tests."""
        typical, low, high, p = (float(record[name] or "nan") for name in ("typical", "low", "high", "p_holm"))
        verdict = next(verdict for verdict in VERDICTS if verdict == record["verdict"])
        return cls(claim, method, other, within, int(record["n"]), typical, low, high, p, verdict)

    @property
    def name(self) -> str:
        """Return both methods."""
        return f"{self.method} − {self.other}"

    @property
    def size(self) -> str:
        """Return the typical loss with its 95 % interval."""
        return size_text(self.low, self.typical, self.high)

    @property
    def text(self) -> str:
        """Return the comparison as a sentence."""
        return f"{self.name}: typical loss {self.size} on {self.n} data sets; p (Holm) {self.p:.2g}: {self.verdict}."


def read_lines(folder: Path) -> tuple[Line, ...]:
    """Return the comparisons of the claims from the tables in a folder; none if it has no tables."""
    experiment = experiments()[-1]
    tests = {record["row"]: record for record in _records(folder / f"{experiment.id}_tests.csv")}
    losses = _records(folder / f"{experiment.id}_losses.csv")
    lines = []
    for group in experiment.groups:
        for first, second in group.pairs():
            name = f"{first} − {second}"
            if group.claim and name in tests:
                own = [record for record in losses if record["row"] == name]
                cut = [record for record in own if float(record["features_percent"]) < experiment.most_features]
                p_values = {record["data_set"]: _p_of_more(record) for record in cut}
                lines.append(Line.of_record(group.claim, first, second, p_values, tests[name]))
    return tuple(lines)


def _p_of_more(record: Mapping[str, str]) -> float:
    """Return the one-sided p of a loss of `MARGIN` or more on a data set; nan without an interval."""
    from scipy.special import stdtr

    if not record["low"]:
        return math.nan
    degrees, loss = int(record["n"]) - 1, float(record["loss"])
    error = (float(record["high"]) - float(record["low"])) / 2.0 / student_t(0.975, degrees)
    return float(stdtr(degrees, (loss - MARGIN) / error)) if error else float(loss >= MARGIN)


def _records(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
