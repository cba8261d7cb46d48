"""A run's estimators, made from its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pppca_bench.methods.lookup import find_classifier, find_method
from pppca_bench.methods.protocol import contract_of
from pppca_bench.methods.sections import PIVOT, PIVOTAL, STORED_BESIDE, constructor_arguments
from pppca_bench.references.proben1_tables import pivot_of, rule_network
from pppca_bench.runs import Parameters, RunSpec

_BASE = "base."


def make_method(spec: RunSpec, task: str = "classification", *, n_outputs: int = 1) -> Any:
    """Return a run's method, unfitted, with its seed and, where it asks one, the config's classifier.

    Parameters
    ----------
    spec : RunSpec
        The run.
    task : {"classification", "approximation"}
        What the problem's targets are.
    n_outputs : int, default 1
        Classes or targets, for the size of a network that no publication names.
    """
    contract = contract_of(find_method(spec.cell.method))
    seed, _, asked_seed = seeds(spec)
    settings = {name: value for name, value in spec.cell.parameters if name not in STORED_BESIDE}
    arguments = _arguments(contract.estimator, settings, spec.cell.problem, n_outputs)
    if contract.takes_seed:
        arguments["random_state"] = seed
    if contract.takes_classifier and spec.cell.classifier:
        arguments["estimator"] = make_classifier(
            spec.cell.classifier, spec.cell.problem, asked_seed, task, n_outputs=n_outputs
        )
    return contract.estimator(**arguments)


def make_classifier(
    settings: Parameters, problem: str, seed: int, task: str = "classification", *, n_outputs: int = 1
) -> Any:
    """Return a classifier, or for an approximation problem the regressor of the same rule, unfitted.

    Parameters
    ----------
    settings : tuple of (str, scalar)
        As in `Cell.classifier`; names that begin with ``base.`` are of the classifier that an ensemble is made of.
    problem : str
        Name of the problem, for ``hidden: pivot``.
    seed : int
        Its ``random_state``.
    task : {"classification", "approximation"}
        What the problem's targets are.
    n_outputs : int, default 1
        Classes or targets, for the size of a network that no publication names.
    """
    own = {name: value for name, value in settings if not name.startswith(_BASE)}
    base = tuple((name.removeprefix(_BASE), value) for name, value in settings if name.startswith(_BASE))
    contract = contract_of(find_classifier(str(own.pop("rule"))), task)
    arguments = _arguments(contract.estimator, own, problem, n_outputs)
    if contract.takes_seed:
        arguments["random_state"] = seed
    if base:
        arguments["estimator"] = make_classifier(base, problem, seed, task, n_outputs=n_outputs)
    return contract.estimator(**arguments)


def _arguments(estimator: type, settings: Mapping[str, Any], problem: str, n_outputs: int) -> dict[str, Any]:
    """Return settings by the constructor's names, with those of the problem's pivot architecture for ``pivot``.

    A problem that has none gets the network of the rule of size.
    """
    pivot = pivot_of(problem) or rule_network(n_outputs)
    asks = {name for name, value in settings.items() if value == PIVOT and name in PIVOTAL}
    resolved = {name: getattr(pivot, name) if name in asks else value for name, value in settings.items()}
    return constructor_arguments(estimator, resolved)


def seeds(spec: RunSpec) -> tuple[int, int, int]:
    """Return the seeds of the method, of the classifier, and of the classifier that the method asks."""
    streams = np.random.SeedSequence(spec.seed).spawn(3)
    method, classifier, asked = (int(stream.generate_state(1)[0]) for stream in streams)
    return method, classifier, asked
