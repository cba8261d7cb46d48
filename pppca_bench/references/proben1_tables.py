"""Tables of the Proben1 report without means: 5 and 6 (search), 7 (pivots), 12 (t-tests) and appendix D."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Literal, cast

LINEAR, SIGMOID = "linear", "softsign"
"""Output activations; the report's sigmoid is x / (1 + |x|)."""

_OUTPUTS = {"linear": LINEAR, "sigmoid": SIGMOID, "l": LINEAR, "s": SIGMOID}

Better = Literal["pivot", "no_shortcut", "none"]


@dataclass(frozen=True, slots=True)
class Network:
    """A network of the report's search, by the keys of configs.

    Attributes
    ----------
    hidden : tuple of int
        Nodes of each hidden layer; () for a linear network.
    output_activation : str
        Activation of the output nodes, `LINEAR` or `SIGMOID`.
    """

    hidden: tuple[int, ...]
    output_activation: str

    def __str__(self) -> str:
        """Return it as the report writes it, such as ``"16+8 l"``; one hidden layer as ``"4+0 l"``."""
        layers = self.hidden if len(self.hidden) != 1 else (*self.hidden, 0)
        return f"{'+'.join(map(str, layers)) or '0'} {'s' if self.output_activation == SIGMOID else 'l'}"


@dataclass(frozen=True, slots=True)
class PublishedSearch:
    """Entries of a problem in tables 5, 6 and 7 and in appendix D.

    Attributes
    ----------
    best : Network
        The network of the run with the least validation error.
    validation_error, test_error : str
        Squared error percentages of that run, as printed.
    validation_class_error, test_class_error : str
        Its classification errors in percent, as printed; "" where none are.
    n_within_5, n_within_10 : int
        Other runs whose validation error is at most so many percent above its.
    epochs, test_range : str
        Ranges, as printed, of the epochs of the runs within 10 %, and of their test errors without the best run's.
    pivot : Network
        The pivot architecture.
    n_connections : int
        Its number of connections, biases among them.
    candidates : tuple of Network
        The runs within 5 %, the least validation error first.
    """

    best: Network
    validation_error: str
    validation_class_error: str
    test_error: str
    test_class_error: str
    n_within_5: int
    n_within_10: int
    epochs: str
    test_range: str
    pivot: Network
    n_connections: int
    candidates: tuple[Network, ...]

    @property
    def is_classification(self) -> bool:
        """Return whether the problem is in table 5, not 6."""
        return bool(self.test_class_error)


@dataclass(frozen=True, slots=True)
class PublishedTest:
    """An entry of table 12.

    Attributes
    ----------
    better : {"pivot", "no_shortcut", "none"}
        The networks whose test errors are significantly smaller.
    p_percent : str
        As printed, in percent; "" where the difference is not significant.
    is_reliable : bool
        False where it is printed in parentheses.
    """

    better: Better
    p_percent: str
    is_reliable: bool


@cache
def published_searches() -> Mapping[str, PublishedSearch]:
    """Return tables 5, 6 and 7 with appendix D, by problem, in alphabetical order."""
    return MappingProxyType({row["problem"]: _search(row) for row in _rows("architectures.csv")})


def pivot_of(problem: str) -> Network | None:
    """Return a problem's pivot architecture (table 7), or None where the report has none."""
    search = published_searches().get(problem)
    return search.pivot if search else None


SIZE_RULE_VERSION = 1
"""Version of `rule_network`, a part of the keys of runs that follow it: raised by hand with every change."""


def rule_network(n_outputs: int) -> Network:
    """Return the network of a problem that has no pivot architecture in the report.

    Choice: two hidden layers of 16 and 8 nodes and linear outputs, the pivot that the report found for more problems
    than any other; with more than 8 outputs as many nodes in the second layer as outputs, at most 64, and twice as many
    in the first, so that no layer has fewer nodes than there are classes. The report takes the largest network of those
    that validate well, since training stops early; for that reason the number of samples has no influence.

    Parameters
    ----------
    n_outputs : int
        Classes, or targets of an approximation, at least 1.
    """
    second = min(max(8, n_outputs), 64)
    return Network((2 * second, second), LINEAR)


@cache
def published_tests() -> Mapping[str, PublishedTest]:
    """Return table 12 by problem, in alphabetical order."""
    return MappingProxyType(
        {
            row["problem"]: PublishedTest(cast("Better", row["better"]), row["p_percent"], row["reliable"] == "yes")
            for row in _rows("ttests.csv")
        }
    )


def _search(row: Mapping[str, str]) -> PublishedSearch:
    return PublishedSearch(
        _network(row["best_hidden"], row["best_output"]),
        row["best_validation_error"],
        row["best_validation_class_error"],
        row["best_test_error"],
        row["best_test_class_error"],
        int(row["n_other_runs_within_5_percent"]),
        int(row["n_other_runs_within_10_percent"]),
        row["epochs_range"],
        row["other_test_error_range"],
        _network(row["pivot_hidden"], row["pivot_output"]),
        int(row["pivot_connections"]),
        tuple(_network(word[:-1], word[-1]) for word in row["within_5_percent_in_order"].split()),
    )


def _network(hidden: str, output: str) -> Network:
    return Network(tuple(size for size in map(int, hidden.split("+")) if size), _OUTPUTS[output])


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (files(__package__) / "proben1_report" / name).open(encoding="utf-8") as file:
        yield from csv.DictReader(file)
