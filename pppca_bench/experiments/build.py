"""Construction of a run's estimators from its settings."""

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
    """Return a run's method, unfitted, with its seed and, where it takes one, the config's classifier.

    Parameters
    ----------
    spec : RunSpec
        The run.
    task : {"classification", "approximation"}
    n_outputs : int, default 1
        Classes or targets, which set the size of a network for a problem without a published one.
    """
    contract = contract_of(find_method(spec.cell.method))
    seed, _, inner_seed = seeds(spec)
    settings = {name: value for name, value in spec.cell.parameters if name not in STORED_BESIDE}
    arguments = _arguments(contract.estimator, settings, spec.cell.problem, n_outputs)
    if contract.takes_seed:
        arguments["random_state"] = seed
    if contract.takes_classifier and spec.cell.classifier:
        arguments["estimator"] = make_classifier(
            spec.cell.classifier, spec.cell.problem, inner_seed, task, n_outputs=n_outputs
        )
    return contract.estimator(**arguments)


def make_classifier(
    settings: Parameters, problem: str, seed: int, task: str = "classification", *, n_outputs: int = 1
) -> Any:
    """Return a classifier, or for an approximation problem the regressor of the same rule, unfitted.

    Parameters
    ----------
    settings : tuple of (str, scalar)
        As in `Cell.classifier`; names that begin with ``base.`` belong to an ensemble's members.
    problem : str
        Name of the problem, for ``hidden: pivot``.
    seed : int
        Its ``random_state``.
    task : {"classification", "approximation"}
    n_outputs : int, default 1
        Classes or targets, which set the size of a network for a problem without a published one.
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
    """Return constructor arguments; ``pivot`` becomes the problem's pivot architecture, or that of the rule of size."""
    pivot = pivot_of(problem) or rule_network(n_outputs)
    resolved = {
        name: getattr(pivot, name) if value == PIVOT and name in PIVOTAL else value for name, value in settings.items()
    }
    return constructor_arguments(estimator, resolved)


def seeds(spec: RunSpec) -> tuple[int, int, int]:
    """Return the seeds of the method, of the classifier, and of a classifier within the method."""
    streams = np.random.SeedSequence(spec.seed).spawn(3)
    method, classifier, inner = (int(stream.generate_state(1)[0]) for stream in streams)
    return method, classifier, inner
