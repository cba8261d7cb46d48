"""Expansion of a config into ordered runs, with their keys and seeds; no input or output.

The same config gives the same runs in the same order on all machines.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pppca_bench.config.experiment import Config
from pppca_bench.config.sections import MethodRequest, variants
from pppca_bench.methods.lookup import find_classifier, find_method
from pppca_bench.methods.networks import NETWORK_KEYS, VERSION, is_named, published_network
from pppca_bench.problems import OwnData
from pppca_bench.runs import Cell, Label, RunSpec, Settings, flattened


class Identity(NamedTuple):
    """Identity of a problem's data."""

    label: str  # name of the problem in cells and tables
    data_sha256: str
    seeded_as: str  # part of the seeds: name of a known problem or data set, or digest of user-defined data
    task: str = "classification"


Identities = Mapping[str | OwnData, Identity]
"""Identity of the data of each problem in a config."""


def expand(config: Config, problems: Identities, *, repeats: int | None = None) -> list[RunSpec]:
    """Return the runs of a config, by problem, method, settings and repeat; each once, even if several entries have it.

    ``problems`` identifies the data of each entry in ``config.problems``; ``repeats``, at least 1, is in place of the
    config's.
    """
    runs: dict[str, RunSpec] = {}
    cell_indices = itertools.count()
    for problem in config.problems:
        identity = problems[problem]
        for method in config.methods_on(problem, identity.task):
            seeds = [
                derive_seed(
                    config.seed,
                    identity.seeded_as,
                    method.entry.seeded_as or method.entry.name,
                    repeat,
                )
                for repeat in range(repeats or method.repeats)
            ]
            for cell, label in _cells(method, identity.label, identity.data_sha256):
                identity_text, cell_index = _identity_text(cell), next(cell_indices)
                for repeat, seed in enumerate(seeds):
                    text = f"{identity_text} {repeat} {seed}"
                    key = hashlib.sha256(text.encode()).hexdigest()[:32]
                    runs[key] = RunSpec(key, cell, repeat, seed, label, cell_index)
    return list(runs.values())


def count_runs(config: Config, *, repeats: int | None = None) -> int:
    """Return the number of runs that `expand` has to consider at most, without expanding the config."""
    n_runs = 0
    for method in (
        method
        for problem in config.problems
        for method in config.methods_on(problem, "classification")
    ):
        values = [*method.grid.values(), *flattened(method.classifier).values()]
        n_cells = math.prod(map(len, values))
        n_runs += n_cells * (method.repeats if repeats is None else repeats)
    return n_runs


def derive_seed(config_seed: int, problem: str, method: str, repeat: int) -> int:
    """Derive the seed of a run from its identity, not from the order of execution.

    Choice: tau, data fraction and other settings have no influence, so that all cells of a repeat get the same random
    numbers and differ only in the settings to compare. Seeds are in [0, 2**63).
    """
    identity = json.dumps([config_seed, problem, method, repeat], sort_keys=True)
    return int(hashlib.sha256(identity.encode()).hexdigest()[:16], 16) >> 1


def algorithms_of(method: str, classifier: Settings) -> tuple[tuple[str, int | str], ...]:
    """Return the versions of a method and of the classifiers that follow it, by name."""
    versions = {method: find_method(method).version}
    while classifier:
        rule = classifier["rule"]
        versions[rule] = find_classifier(rule).version
        classifier = classifier.get("base", {})
    return tuple(sorted(versions.items()))


def _cells(method: MethodRequest, problem: str, data_sha256: str) -> Iterator[tuple[Cell, Label]]:
    """Yield the cells of a method with their labels."""
    name, labelled = method.entry.name, _labelled(method)
    for classifier in variants(method.classifier):
        algorithms = algorithms_of(name, classifier)
        for parameters in variants(method.grid):
            cell = Cell(
                problem,
                data_sha256,
                name,
                parameters,
                classifier,
                algorithms,
                method.choose,
                method.predictions,
                method.curve,
            )
            settings = tuple((setting, cell.settings[setting]) for setting in labelled)
            yield cell, Label(method.title or method.entry.title, settings)


def _labelled(method: MethodRequest) -> list[str]:
    """Return the names of the settings in a method's labels: those that its section gives, or with a title only lists.

    Lists of values, for separate runs, are named wherever the config gives them.
    """
    values = {**method.grid, **flattened({"classifier": method.classifier})}
    lists = [name for name, each in values.items() if len(each) > 1]
    given = [name for name in method.given if name in lists or not method.title]
    return list(dict.fromkeys((*given, *lists)))


def _identity_text(cell: Cell) -> str:
    """Return a cell and the networks behind names as the text from which the keys of its runs are derived."""
    settings = cell.settings
    names = [name.rpartition(".")[2] for name, value in settings.items() if is_named(value)]
    network = published_network(cell.problem) if names else None
    # Without a published network, the data, whose digest is among the parts, and the version determine it.
    sizes = [
        getattr(network, name) if network else VERSION for name in names if name in NETWORK_KEYS
    ]
    parts = [cell.problem, cell.data_sha256, cell.method, settings, cell.algorithms, sizes]
    return json.dumps(parts, sort_keys=True)
