"""The Proben1 report's pivot architectures (its table 7)."""

from __future__ import annotations

import csv
import re
from functools import cache
from importlib.resources import files


def pivot_hidden(problem: str) -> tuple[int, ...] | None:
    """Return the hidden nodes of a problem's pivot architecture, or None where the report has none.

    Choice: permutations 2 and 3 of a problem take the architecture of permutation 1, the only one that the slides use.
    """
    return _pivots().get(re.sub(r"[123]$", "1", problem))


@cache
def _pivots() -> dict[str, tuple[int, ...]]:
    with (files(__package__) / "proben1_report" / "architectures.csv").open(encoding="utf-8") as file:
        return {row["problem"]: tuple(map(int, row["pivot_hidden"].split("+"))) for row in csv.DictReader(file)}
