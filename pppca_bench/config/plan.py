"""Expansion of a config into ordered runs, with their keys and seeds; no input or output.

The same config gives the same runs in the same order on all machines.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pppca_bench.config.experiment import Config
from pppca_bench.config.sections import MethodRequest, variants
from pppca_bench.methods.lookup import find_classifier, find_method
from pppca_bench.methods.networks import NETWORK_KEYS, VERSION, is_named, published_network
from pppca_bench.methods.protocol import section_of
from pppca_bench.problems import OwnData
from pppca_bench.runs import Cell, Label, Parameters, RunSpec, Scalar


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
        n_cells = math.prod(map(len, [*method.grid.values(), *method.classifier.values()]))
        n_runs += n_cells * (method.repeats if repeats is None else repeats)
    return n_runs


def derive_seed(config_seed: int, problem: str, method: str, repeat: int) -> int:
    """Derive the seed of a run from its identity, not from the order of execution.

    Choice: tau, data fraction and other settings have no influence, so that all cells of a repeat get the same random
    numbers and differ only in the settings to compare. Seeds are in [0, 2**63).
    """
    identity = json.dumps([config_seed, problem, method, repeat], sort_keys=True)
    return int(hashlib.sha256(identity.encode()).hexdigest()[:16], 16) >> 1


def algorithms_of(method: str, classifier: Parameters) -> tuple[tuple[str, int | str], ...]:
    """Return the versions of a method and of the classifiers that follow it, by name."""
    rules = [str(value) for name, value in classifier if name in ("rule", "base.rule")]
    versions = {method: find_method(method).version} | {
        rule: find_classifier(rule).version for rule in rules
    }
    return tuple(sorted(versions.items()))


def _cells(method: MethodRequest, problem: str, data_sha256: str) -> Iterator[tuple[Cell, Label]]:
    """Yield the cells of a method with their labels."""
    unnamed, labelled = _defaults_of_later_parameters(method), _labelled(method)
    for settings in variants(method.classifier):
        classifier = tuple(
            (name, value)
            for name, value in settings
            if not _takes_inputs_as_given((name, value), problem)
            and (f"classifier.{name}", value) not in unnamed.items()
        )
        algorithms = algorithms_of(method.entry.name, classifier)
        for values in variants(method.grid):
            parameters = tuple(item for item in values if item not in unnamed.items())
            every = dict(values) | {f"classifier.{name}": value for name, value in settings}
            label = Label(
                method.title or method.entry.title, tuple((name, every[name]) for name in labelled)
            )
            cell = Cell(problem, data_sha256, method.entry.name, parameters, classifier, algorithms)
            yield cell, label


def _labelled(method: MethodRequest) -> list[str]:
    """Return the names of the settings in a method's labels: those that its section gives, or with a title only lists.

    Lists of values, for separate runs, are named wherever the config gives them.
    """
    networks = {f"classifier.{name}": each for name, each in method.classifier.items()}
    lists = [name for name, each in (*method.grid.items(), *networks.items()) if len(each) > 1]
    given = [name for name in method.given if name in lists or not method.title]
    return list(dict.fromkeys((*given, *lists)))


def _defaults_of_later_parameters(method: MethodRequest) -> dict[str, Any]:
    """Return the values that cells do not name, of the method and its classifiers, by name in `Cell.settings`."""
    prefixes = ("", "classifier.", "classifier.base.")
    return {
        f"{prefix}{name}": parameter.default
        for prefix, entry in zip(prefixes, method.entries, strict=False)
        for name, parameter in section_of(entry).items()
        if parameter.is_later
    }


def _takes_inputs_as_given(item: tuple[str, Scalar], problem: str) -> bool:
    """Return whether a classifier setting is ``input_scaling: given``, the default, which cells do not name."""
    name, value = item
    is_published = is_named(value) and published_network(problem) is not None
    return name.rpartition(".")[2] == "input_scaling" and (value == "given" or is_published)


def _identity_text(cell: Cell) -> str:
    """Return a cell and the networks behind names as the text from which the keys of its runs are derived."""
    parts = [
        cell.problem,
        cell.data_sha256,
        cell.method,
        cell.parameters,
        cell.classifier,
        cell.algorithms,
    ]
    names = [name.rpartition(".")[2] for name, value in cell.settings.items() if is_named(value)]
    network = published_network(cell.problem) if names else None
    # Without a published network, the data, whose digest is among the parts, and the version determine it.
    sizes = [
        getattr(network, name) if network else VERSION for name in names if name in NETWORK_KEYS
    ]
    return json.dumps([*parts, sizes], sort_keys=True)
