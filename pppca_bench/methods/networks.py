"""The network of a problem, behind a name: a published network, or one by the number of outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pppca_bench.methods.protocol import import_object
from pppca_bench.methods.registry import NETWORK_RULE, network_paths

NETWORK_KEYS = ("hidden", "output_activation", "input_scaling")
"""Keys of classifiers that take the name."""


class NetworkSetting(NamedTuple):
    """Nodes of each hidden layer, activation of the outputs, scaling of the inputs."""

    hidden: tuple[int, ...]
    output_activation: str
    input_scaling: str = "given"

    def __str__(self) -> str:
        """Return the network as the Proben1 report writes it: ``"16+8 l"``, or ``"4+0 l"`` for a single layer."""
        layers = self.hidden if len(self.hidden) != 1 else (*self.hidden, 0)
        return f"{'+'.join(map(str, layers)) or '0'} {'l' if self.output_activation == 'linear' else 's'}"

    def n_connections(self, n_inputs: int, n_outputs: int, *, shortcuts: bool = True) -> int:
        """Count the connections of the network, with a bias in each node (Proben1 report, table 7).

        With shortcuts each layer takes the inputs and all earlier layers, otherwise only the layer before it.
        """
        count, n_sources = 0, 1 + n_inputs
        for size in (*self.hidden, n_outputs):
            count += size * n_sources
            n_sources = n_sources + size if shortcuts else 1 + size
        return count


def is_named(value: object) -> bool:
    """Return whether a setting's value names the network of the problem."""
    return value == NETWORK_RULE


def published_network(problem: str) -> NetworkSetting | None:
    """Return the network that an installed reference publishes for a problem, or None."""
    for path in network_paths():
        network: NetworkSetting | None = import_object(path)(problem)
        if network is not None:
            return network
    return None


VERSION = 1
"""Version of `network_by_size`, part of the keys of runs with its networks: it is raised with every change."""


def network_by_size(n_outputs: int) -> NetworkSetting:
    """Return the network of a problem for which no reference publishes one.

    Outputs are classes, or targets of an approximation, at least 1. Choice: two hidden layers of 16 and 8 nodes and
    linear outputs, the most frequent pivot of the Proben1 report; with more than 8 outputs, the second layer has as
    many nodes as there are outputs, at most 64, and the first layer twice as many, so that no layer has fewer nodes
    than there are classes. The report takes the largest network that validates well, since training stops early;
    therefore the number of samples has no influence. The inputs are centred and divided by their root mean square, so
    that given features and projections have the same origin and scale. This was the best of seven preparations, by the
    validation errors on scikit-learn's wine, breast cancer and digits.
    """
    second = min(max(8, n_outputs), 64)
    return NetworkSetting((2 * second, second), "linear", "rms")


def with_networks(settings: Mapping[str, Any], problem: str, n_outputs: int) -> dict[str, Any]:
    """Return settings, and those nested in them, with the network of a problem in place of the name of a rule.

    The number of outputs, classes or targets, sets the size of the network for a problem without a published network.
    """
    resolved = dict(settings)
    for name, value in settings.items():
        if isinstance(value, Mapping):
            resolved[name] = with_networks(value, problem, n_outputs)
        elif name in NETWORK_KEYS and is_named(value):
            network = published_network(problem) or network_by_size(n_outputs)
            resolved[name] = getattr(network, name)
    return resolved
