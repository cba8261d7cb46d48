"""Counts of the claims that a reference declares: in how many rows one of two numbers is the smaller."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from pppca_bench.references.claims import Claim
from pppca_bench.references.layout import Layout
from pppca_bench.verdicts.numbers import PLACE


class Count(NamedTuple):
    """Count of a claim: of ``n`` rows or columns, both numbers of ``n_known`` are known.

    In ``counted``, the first number is less (or more) than the second. In ``clearly`` of these, and in ``clearly_not``
    of the others, the 95 % intervals of the two means do not overlap.
    """

    n: int
    n_known: int
    n_run: int  # with at least one number of runs
    counted: int
    clearly: int
    clearly_not: int

    def verdict(self, expected: int) -> str:
        """Return whether the claim holds: "Yes", "No", "Cannot tell", or "" without runs.

        It holds if the count is the expected one. It cannot be decided if rows are missing, or if the expected count is
        possible with the rows whose intervals overlap.
        """
        if not self.n_run:
            return ""
        if self.n_known == self.n and self.counted == expected:
            return "Yes"
        n_open = self.n - self.n_known
        is_possible = self.clearly <= expected <= self.n_known - self.clearly_not + n_open
        return "Cannot tell" if is_possible else "No"


def count_claim(claim: Claim, layout: Layout, numbers: pd.DataFrame) -> Count:
    """Count the rows or columns of a claim, given the printed numbers of its table, with its identifier there."""
    places = numbers[numbers["table"] == layout.id]
    by_place: Mapping[Any, Any] = dict(
        zip(
            places[PLACE[1:]].itertuples(index=False, name=None),
            places.itertuples(index=False),
            strict=True,
        )
    )
    n_run = counted = clearly = clearly_not = n_known = 0
    pairs = claim.cells(layout)
    for *cells, quantity in pairs:
        first, second = (by_place[(*cell, quantity)] for cell in cells)
        if claim.count == "more":
            first, second = second, first
        (value, low, high), (other, other_low, other_high) = map(_number, (first, second))
        if math.isnan(value) or math.isnan(other):
            continue
        n_known += 1
        n_run += bool(first.n or second.n)
        counted += value < other
        clearly += high < other_low
        clearly_not += other_high < low
    return Count(len(pairs), n_known, n_run, counted, clearly, clearly_not)


def _number(number: Any) -> tuple[float, float, float]:
    """Return a number with the ends of its interval: ours, or a published number that no run can fill."""
    if number.fillable:
        return number.mean, number.low, number.high
    return number.published, number.published, number.published
