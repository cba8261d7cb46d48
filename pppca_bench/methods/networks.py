"""Networks behind a name: the registry names rules that choose a network for a problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pppca_bench.methods.protocol import import_object
from pppca_bench.methods.registry import NETWORKS

NETWORK_KEYS = ("hidden", "output_activation", "input_scaling")
"""Keys of classifiers that take the name of a rule."""


class NetworkSetting(NamedTuple):
    """Nodes of each hidden layer, activation of the outputs, scaling of the inputs."""

    hidden: tuple[int, ...]
    output_activation: str
    input_scaling: str = "given"

    def __str__(self) -> str:
        """Return the network as the Proben1 report writes it: ``"16+8 l"``, or ``"4+0 l"`` for a single layer."""
        layers = self.hidden if len(self.hidden) != 1 else (*self.hidden, 0)
        return f"{'+'.join(map(str, layers)) or '0'} {'l' if self.output_activation == 'linear' else 's'}"


class NetworkRule(NamedTuple):
    """Rule that chooses the network of a problem: the published network, or else a network for its number of outputs.

    ``version`` is part of the keys of runs with networks of ``by_size``: it is raised with every change.
    """

    published: Callable[[str], NetworkSetting | None]
    by_size: Callable[[int], NetworkSetting]
    version: int

    def network(self, problem: str, n_outputs: int) -> NetworkSetting:
        """Return the network of a problem."""
        return self.published(problem) or self.by_size(n_outputs)


def rule_named(value: object) -> NetworkRule | None:
    """Return the rule with a name; None for another value."""
    rule: NetworkRule | None = (
        import_object(NETWORKS[value]) if isinstance(value, str) and value in NETWORKS else None
    )
    return rule


def has_published_network(problem: str) -> bool:
    """Return whether a rule has a published network for a problem."""
    return any(
        rule is not None and rule.published(problem) is not None
        for rule in map(rule_named, NETWORKS)
    )
