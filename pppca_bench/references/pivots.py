"""The Proben1 report's pivot architectures (its table 7)."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_ACTIVATIONS = {"linear": "linear", "sigmoid": "softsign"}
"""The report's names of the output activations to the networks' own: its sigmoid is x / (1 + |x|)."""


@dataclass(frozen=True, slots=True)
class Pivot:
    """Hold a problem's pivot architecture, by the keys that configs have for it.

    Attributes
    ----------
    hidden : tuple of int
        Nodes of each hidden layer.
    output_activation : {"linear", "softsign"}
    """

    hidden: tuple[int, ...]
    output_activation: str


def pivot_of(problem: str) -> Pivot | None:
    """Return a problem's pivot architecture, or None where the report has none."""
    return _pivots().get(problem)


@cache
def _pivots() -> Mapping[str, Pivot]:
    with (files(__package__) / "proben1_report" / "architectures.csv").open(encoding="utf-8") as file:
        return {
            row["problem"]: Pivot(tuple(map(int, row["pivot_hidden"].split("+"))), _ACTIVATIONS[row["pivot_output"]])
            for row in csv.DictReader(file)
        }
