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

from pppca_bench.base.parameters import Parameter
from pppca_bench.config.experiment import Config
from pppca_bench.config.sections import MethodRequest, variants
from pppca_bench.methods.lookup import find_classifier, find_method
from pppca_bench.methods.networks import NETWORK_KEYS, rule_named
from pppca_bench.methods.protocol import STORAGE_FLAGS, section_of
from pppca_bench.methods.registry import DEFAULT_RULE
from pppca_bench.problems import OwnData
from pppca_bench.runs import ABSENT, CHOOSE, Cell, Names, Parameters, RunSpec, Scalar


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
            for cell, changed in _cells(method, identity.label, identity.data_sha256):
                identity_text, cell_index = _identity_text(cell), next(cell_indices)
                for repeat, seed in enumerate(seeds):
                    text = f"{identity_text} {repeat} {seed}"
                    key = hashlib.sha256(text.encode()).hexdigest()[:32]
                    runs[key] = RunSpec(key, cell, repeat, seed, changed, cell_index)
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


def _cells(method: MethodRequest, problem: str, data_sha256: str) -> Iterator[tuple[Cell, Names]]:
    """Yield the cells of a method, each with the names of the settings that differ from their defaults."""
    known = _parameters(method)
    defaults = {name: parameter.default for name, parameter in known.items()}
    unnamed = {name: defaults[name] for name, parameter in known.items() if parameter.is_later}
    for settings in variants(method.classifier):
        classifier = tuple(
            (name, value)
            for name, value in settings
            if not _takes_inputs_as_given((name, value), problem)
            and unnamed.get(f"classifier.{name}", ABSENT) != value
        )
        for values in variants(method.grid):
            parameters = tuple(item for item in values if unnamed.get(item[0], ABSENT) != item[1])
            algorithms = algorithms_of(method.entry.name, classifier)
            cell = Cell(problem, data_sha256, method.entry.name, parameters, classifier, algorithms)
            changed = [name for name, value in cell.settings.items() if defaults.get(name) != value]
            yield (
                cell,
                tuple(
                    name
                    for name in changed
                    if name not in STORAGE_FLAGS and not name.startswith(CHOOSE)
                ),
            )


def _parameters(method: MethodRequest) -> dict[str, Parameter]:
    """Return the parameters of a method and its classifiers by their names in `Cell.settings`."""
    known: dict[str, Parameter] = {}
    for prefix, entry in zip(("", "classifier.", "classifier.base."), method.entries, strict=False):
        known |= {f"{prefix}{name}": parameter for name, parameter in section_of(entry).items()}
        known |= {f"{prefix}rule": Parameter("rule", str, DEFAULT_RULE)} if prefix else {}
    return known


def _takes_inputs_as_given(item: tuple[str, Scalar], problem: str) -> bool:
    """Return whether a classifier setting is ``input_scaling: given``, the default, which cells do not name."""
    name, value = item
    rule = rule_named(value)
    is_published = rule is not None and rule.published(problem) is not None
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
    named = [(name.rpartition(".")[2], rule_named(value)) for name, value in cell.settings.items()]
    rules = [
        (name, rule, rule.published(cell.problem))
        for name, rule in named
        if rule and name in NETWORK_KEYS
    ]
    # Without a published network, the data, whose digest is among the parts, and the rule's version determine it.
    sizes = [getattr(network, name) if network else rule.version for name, rule, network in rules]
    return json.dumps([*parts, sizes], sort_keys=True)
