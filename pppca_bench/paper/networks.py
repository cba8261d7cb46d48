"""Tables of the Proben1 report without means: 5 and 6 (search), 7 (pivots), 12 (t-tests) and appendix D."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, cast

from pppca_bench.methods.networks import NetworkSetting

_REPORT = Path(__file__).with_name("references") / "proben1_report"

LINEAR, SIGMOID = "linear", "softsign"
"""Output activations; the report's sigmoid is x / (1 + |x|)."""

Better = Literal["pivot", "no_shortcut", "none"]


class PublishedSearch(NamedTuple):
    """Entries of a problem in tables 5, 6 and 7 and in appendix D; texts are as printed."""

    pivot: NetworkSetting
    n_connections: int  # of the pivot architecture, biases included
    best: NetworkSetting  # of the run with the least validation error, as the errors are
    validation_error: str  # squared error percentage
    validation_class_error: str  # in percent; "" for approximation
    test_error: str
    test_class_error: str
    n_within_5: int  # other runs whose validation error is at most 5 % above the least
    n_within_10: int
    epochs: str  # range, of the runs within 10 %
    test_range: str  # of the runs within 10 % but the best
    candidates: tuple[NetworkSetting, ...]  # the runs within 5 %, by increasing validation error

    @property
    def is_classification(self) -> bool:
        """Return whether the problem is in table 5, not 6."""
        return bool(self.test_class_error)


class PublishedTest(NamedTuple):
    """Entry of table 12: the networks with significantly smaller test errors."""

    better: Better
    p_percent: str  # as printed, or ""
    is_reliable: bool  # not if printed in parentheses


@cache
def published_searches() -> Mapping[str, PublishedSearch]:
    """Return tables 5, 6 and 7 with appendix D, by problem, in alphabetical order."""
    searches = {}
    for problem, *row in _rows("architectures.csv"):
        networks = _network(*row[0:2]), int(row[2]), _network(*row[3:5])
        n_within = map(int, row[9:11])
        candidates = tuple(_network(word[:-1], word[-1]) for word in row[13].split())
        searches[problem] = PublishedSearch._make(
            (*networks, *row[5:9], *n_within, *row[11:13], candidates)
        )
    return searches


def pivot_of(problem: str) -> NetworkSetting | None:
    """Return a problem's pivot architecture (table 7), or None if the report has none."""
    search = published_searches().get(problem)
    return search.pivot if search else None


@cache
def published_tests() -> Mapping[str, PublishedTest]:
    """Return table 12 by problem, in alphabetical order."""
    return {
        problem: PublishedTest(cast("Better", better), p_percent, is_reliable == "yes")
        for problem, better, p_percent, is_reliable in _rows("ttests.csv")
    }


def _network(hidden: str, output: str) -> NetworkSetting:
    """Return a network, given nodes such as ``"16+8"``, and its outputs: linear, sigmoid, or their first letter."""
    layers = tuple(size for size in map(int, hidden.split("+")) if size)
    return NetworkSetting(layers, LINEAR if output[0] == "l" else SIGMOID)


def _rows(name: str) -> list[list[str]]:
    """Return the rows of a table below its header."""
    with (_REPORT / name).open(encoding="utf-8") as file:
        return list(csv.reader(file))[1:]
