"""Expansion of a config into ordered runs, with their keys and seeds; no input or output.

The same config gives the same runs in the same order, whatever the machine.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from pppca_bench.config.experiment import Config
from pppca_bench.methods.classifier_sections import MethodSection, SystemSection
from pppca_bench.references.published import pivot_hidden
from pppca_bench.runs import Parameters, RunSpec

ALGORITHM_VERSIONS = {
    "gha": 2,
    "dgha": 2,
    "dgha_speedup": 2,
    "ne_ppca": 3,
    "all_features": 1,
    "pca": 1,
    "pca_svd": 1,
    "kernel_pca": 1,
    "ica": 1,
    "lda": 1,
    "autoencoder": 1,
    "flgp": 1,
    "mutual_info": 1,
    "chi2": 1,
    "forward": 1,
    "backward": 1,
    "rfe": 1,
    "ga_mlp": 1,
    "pruned_mlp": 1,
    "rfe_svm": 1,
    "classifier": 1,
}
"""Raised by hand whenever a change of code changes a method's numbers: results of older versions are not reused."""

_SEEDED_AS = {"dgha_speedup": "dgha"}
"""A timed run learns what the run of its method learns, from the same random numbers."""

_NOT_PARAMETERS = {"method", "tau", "data_fraction", "classifier"}


def expand(config: Config, *, repeats: int | None = None) -> list[RunSpec]:
    """List the runs that a config asks for.

    Parameters
    ----------
    config : Config
        A validated config.
    repeats : int, optional
        Number of repeats in place of the config's own.

    Returns
    -------
    list of RunSpec
        Ordered by problem, method, tau, data fraction and repeat; each run once, even where two entries
        of the config ask for it.
    """
    n_repeats = config.repeats if repeats is None else repeats
    runs = itertools.chain.from_iterable(
        _method_runs(config, problem, method, n_repeats) for problem in config.problems for method in config.methods
    )
    return list({run.key: run for run in runs}.values())


def derive_seed(config_seed: int, problem: str, method: str, repeat: int) -> int:
    """Derive a run's seed from its identity, never from the order of execution.

    Choice: tau, data fraction and the parameters stay out of it, so that all cells of a repeat meet the same
    random numbers and differ by what is compared alone.

    Returns
    -------
    int
        In [0, 2**63).
    """
    return int(_digest([config_seed, problem, method, repeat])[:16], 16) >> 1


def _method_runs(config: Config, problem: str, method: MethodSection, n_repeats: int) -> Iterator[RunSpec]:
    name = method.method
    given = {key: value for key, value in method.model_dump().items() if key not in _NOT_PARAMETERS}
    parameters = _resolved(given, problem)
    classifier = _classifier(config, method, problem)
    for tau, fraction, repeat in itertools.product(_taus(config, method), _fractions(method), range(n_repeats)):
        seed = derive_seed(config.seed, problem, _SEEDED_AS.get(name, name), repeat)
        identity = (problem, name, parameters, tau, fraction, repeat, seed, classifier)
        versions = (ALGORITHM_VERSIONS[name], ALGORITHM_VERSIONS["classifier"])
        yield RunSpec(_digest([*identity, *versions])[:32], *identity)


def _taus(config: Config, method: MethodSection) -> Sequence[float | None]:
    return (getattr(method, "tau", None) or config.tau or [None]) if method.takes_tau else [None]


def _fractions(method: MethodSection) -> Sequence[float | None]:
    return getattr(method, "data_fraction", [None])


def _classifier(config: Config, method: MethodSection, problem: str) -> Parameters:
    """Return the classifier of a run; a system that classifies by itself has none."""
    if isinstance(method, SystemSection):
        return ()
    return _resolved((method.classifier or config.classifier).model_dump(), problem)


def _resolved(section: dict[str, Any], problem: str) -> Parameters:
    """Return a section's values, with the problem's own architecture for ``hidden: pivot``."""
    values = _flat(section)
    for name, value in values.items():
        if name.rpartition(".")[2] == "hidden" and value == "pivot":
            values[name] = pivot_hidden(problem)
    return _frozen(values)


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """Put the values of a section within a section beside the others, named ``base.rule`` for one."""
    parts = {name: value for name, value in values.items() if isinstance(value, dict)}
    nested = {f"{part}.{name}": value for part, section in parts.items() for name, value in section.items()}
    return {name: value for name, value in values.items() if name not in parts} | nested


def _frozen(values: dict[str, Any]) -> Parameters:
    return tuple(sorted(values.items()))


def _digest(identity: object) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
