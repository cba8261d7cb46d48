"""Requests of commands: validated configs, open problems and plans from config files."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from pppca_bench.config.experiment import Config, parse_config
from pppca_bench.config.overrides import (
    apply_changes,
    as_options,
    changed_name,
    parse_changes,
    parse_filter,
    with_seed,
)
from pppca_bench.config.plan import Identity, count_runs, expand
from pppca_bench.errors import ConfigError
from pppca_bench.experiments.queue import shard
from pppca_bench.methods.lookup import forget
from pppca_bench.methods.third_party import extend_sys_path
from pppca_bench.problems import (
    OwnData,
    Problem,
    ProblemSource,
    find_user_file,
    open_problem,
    registered,
)
from pppca_bench.problems.problem import ProblemInfo
from pppca_bench.quantities import BALANCED_SCORES
from pppca_bench.runs import Plan, RunSpec, by_cell
from pppca_bench.yaml_files.source import YamlSource, read_yaml

OpenProblem = tuple[ProblemSource, Problem]
Requested = str | OwnData

MAX_RUNS = 200_000
"""Largest number of runs of a command. Choice: ten times the runs of all configs of this repository."""


class Request(NamedTuple):
    """Plans of the configs of a command, in order, and open problems by name and digest.

    Problems with several splits are open at the first split.
    """

    plans: tuple[Plan, ...]
    problems: Mapping[tuple[str, str], OpenProblem]

    @property
    def notices(self) -> list[str]:
        """Return what was inferred from tables, and possible leaks."""
        return [
            f"{name}: {text}"
            for (name, _), (source, _) in self.problems.items()
            for text in source.notices
        ]

    @property
    def specs(self) -> list[RunSpec]:
        """Return every run of this shard once, in the order of the configs."""
        return list(
            {
                spec.key: spec
                for plan in self.plans
                for spec in plan.specs
                if spec.key not in plan.elsewhere
            }.values()
        )

    def part(self, number: int, n_shards: int) -> Request:
        """Return the request for a shard of the runs."""
        keys = frozenset(spec.key for spec in self.specs)
        elsewhere = keys - shard(self.specs, number, n_shards)
        return self._replace(plans=tuple(replace(plan, elsewhere=elsewhere) for plan in self.plans))


def read_request(
    documents: Sequence[Path | YamlSource],
    *,
    data_dir: Path | None = None,
    repeats: int | None = None,
    seed: int | None = None,
    only: Sequence[str] = (),
    changes: Sequence[str] = (),
    only_plan: bool = False,
    force: bool = False,
    given: Mapping[str, OwnData] | None = None,
) -> Request:
    """Read configs, YAML files or parsed documents, and open their problems.

    ``repeats`` and ``seed`` replace the configs' own; ``only`` are filters of runs, see `parse_filter`, and ``changes``
    those of config values, see `parse_changes`; a config without matching runs has no plan. ``only_plan`` opens only
    user-defined data, since the registry has the digests of known problems. ``force`` allows more than `MAX_RUNS` runs.
    ``given`` are saved tables of the caller, by name in configs; ``data_dir`` is the first folder to look for Proben1
    files.

    Raises
    ------
    ConfigError, UnknownNameError, DataError
        If a config is invalid, two configs have the same name, there are too many runs, no run matches the filters, or
        data are missing or damaged.
    """
    filters = parse_filter(only)
    new, configs = _read_configs(documents, *parse_changes(changes), given or {}, seed)
    _check_names(configs)
    if not force:
        # A config is also expanded at its own repeats, since completed runs stay in its tables.
        counts = {
            source.path: max(count_runs(parsed), count_runs(parsed, repeats=repeats))
            for source, parsed in configs
        }
        _check_run_count(counts)
    plans, problems = list[Plan](), dict[tuple[str, str], OpenProblem]()
    opened = cache(partial(open_problem, data_dir=data_dir, only_local=only_plan))
    for source, config in configs:
        identities = dict[Requested, Identity]()
        labels = _labels(source, config.problems)
        for index, entry in enumerate(config.problems):
            label = labels[entry]
            file = _located(source, entry)
            data: Problem | ProblemInfo | None = registered().get(str(entry))
            if data is None or (not only_plan and filters.matches_problem(label)):
                found = opened(file)
                data = found[1]
                problems[label, data.sha256] = found
            _check_fit(source.where(("problems", index)), entry, data, config)
            identities[entry] = _identity(label, entry, data)
        plan = _plan(changed_name(config.name, new), source, config, identities, repeats)
        plans.append(replace(plan, text=_text_with_options(plan.text, repeats, only)))
    if filters.wanted:
        filters.check(by_cell(spec for plan in plans for spec in plan.specs))
        plans = [filters.apply(plan) for plan in plans]
    return Request(tuple(plan for plan in plans if plan.specs), problems)


def _check_names(configs: Iterable[tuple[YamlSource, Config]]) -> None:
    """Raise ConfigError if two files have configs of one name."""
    first: dict[str, Path] = {}
    for source, config in configs:
        other = first.setdefault(config.name, source.path)
        if other != source.path:
            raise ConfigError(
                f"{source.path}: expected a unique name, got {config.name!r}, as in {other}."
            )


def _identity(label: str, entry: Requested, data: Problem | ProblemInfo) -> Identity:
    """Return the identity of a problem, whose seeds follow from its name or, for a file, from its data."""
    is_named = label in registered() or (isinstance(entry, OwnData) and entry.is_named)
    return Identity(label, data.sha256, label if is_named else data.sha256, data.task)


def _plan(
    name: str,
    source: YamlSource,
    config: Config,
    identities: Mapping[Requested, Identity],
    repeats: int | None,
) -> Plan:
    """Return the plan of a config, at its own repeats or at others."""
    all_repeats = tuple(expand(config, identities))
    specs = all_repeats
    if repeats is not None:
        specs = tuple(expand(config, identities, repeats=repeats))
    return Plan(name, source.sha256, source.text, specs, all_repeats)


def _text_with_options(text: str, repeats: int | None, only: Sequence[str]) -> str:
    """Return the text of a config after a comment with the options that its values do not show, if any were given."""
    words = ["--repeats", str(repeats)] if repeats is not None else []
    for condition in only:
        words += ["--only", condition]
    return f"# Run with {shlex.join(words)}\n{text}" if words else text


def problems_of(path: Path) -> list[Requested]:
    """Return the problems of a config, with paths relative to the working directory."""
    _, ((source, config),) = _read_configs([path], {}, {}, {})
    return [_located(source, entry) for entry in config.problems]


def _read_configs(
    documents: Sequence[Path | YamlSource],
    changes: Mapping[str, Any],
    texts: Mapping[str, str],
    given: Mapping[str, OwnData],
    seed: int | None = None,
) -> tuple[Mapping[str, Any], list[tuple[YamlSource, Config]]]:
    """Read and validate configs, each once, and add their folders to the module search path.

    Returns also the changes, with ``texts`` in place of numbers that their keys refuse and whose texts they take.
    """
    once = {item if isinstance(item, Path) else item.path: item for item in documents}
    sources = [read_yaml(item) if isinstance(item, Path) else item for item in once.values()]
    if seed is not None:
        sources = [with_seed(source, seed) for source in sources]
    extend_sys_path([*(source.path.parent for source in sources), Path.cwd()])
    forget()
    refused: ConfigError | None = None
    for text in ({}, *({key: text} for key, text in texts.items())):
        tried = {**changes, **text}
        changed = [apply_changes(source, tried) for source in sources]
        try:
            read = partial(parse_config, given=given, has_files=True)
            return tried, [(source, read(source)) for source in changed]
        except ConfigError as error:
            if refused is None or str(error).count("\n") < str(refused).count("\n"):
                changes, refused = tried, error
    raise ConfigError(f"with {as_options(changes)}: {refused}" if changes else str(refused))


def _check_run_count(counts: Mapping[Path, int]) -> None:
    """Raise ConfigError for more than `MAX_RUNS` runs in all files."""
    n_all = sum(counts.values())
    if n_all > MAX_RUNS:
        path, n_most = max(counts.items(), key=lambda pair: pair[1])
        others = f" of {n_all}" if len(counts) > 1 else ""
        raise ConfigError(
            f"{path}: expected at most {MAX_RUNS} runs in one command, got {n_most}{others}."
            " Use fewer values or repeats, or plan all runs with --force."
        )


def _located(source: YamlSource, entry: Requested) -> Requested:
    """Return a problem of a config; the path of a file is resolved against the config's folder."""
    if isinstance(entry, str) and entry.endswith(".dt"):
        return str(find_user_file(entry, source.path.parent))
    if isinstance(entry, OwnData) and entry.is_file:
        return replace(entry, place=str(find_user_file(entry.place, source.path.parent)))
    return entry


def _labels(source: YamlSource, entries: Iterable[Requested]) -> dict[Requested, str]:
    """Return the label of each problem: the file name, or the path if files of a config have the same name.

    Raises ConfigError for a table with the label of another problem.
    """
    labels = {
        entry: entry.label if isinstance(entry, OwnData) else Path(entry).name for entry in entries
    }
    counts = Counter(labels.values())
    for entry, label in labels.items():
        is_file = isinstance(entry, str) or (entry.is_file and not entry.name)
        if is_file and counts[label] > 1:
            labels[entry] = entry if isinstance(entry, str) else entry.place
    counts = Counter([*labels.values(), *registered()])
    for index, (entry, label) in enumerate(labels.items()):
        if isinstance(entry, OwnData) and counts[label] > 1:
            location = source.where(("problems", index))
            raise ConfigError(
                f"{location}: expected a unique name, got {label!r} again. Add the key `name`."
            )
    return labels


def _check_fit(
    location: str, entry: Requested, data: Problem | ProblemInfo, config: Config
) -> None:
    """Raise ConfigError unless a problem has the targets and examples that the methods of a config need.

    ``location`` begins the message. Methods without a classifier just need training examples. Problems of the
    registry have examples in all splits.
    """
    label = entry.label if isinstance(entry, OwnData) else entry
    remedy = "Take another problem, or another method or classifier (`pppca methods`)."
    if isinstance(entry, OwnData) or label.endswith(".dt"):
        remedy = f"If its targets are classes, set `task: classification`, or bool_out in a .dt file. {remedy}"
    methods = config.methods_on(entry, data.task)
    for used in (used for method in methods for used in method.entries):
        is_needed = used.needs_numbers or used.needs_classes
        kind = "an approximation" if used.needs_numbers else "a classification"
        if is_needed and not kind.endswith(data.task):
            expected = f"expected {kind} problem, which {used.name} needs"
            raise ConfigError(
                f"{location}: {expected}, got {label}, which is {data.task}. {remedy}"
            )
    if data.task != "classification":
        of_classes = {name: "null" for method in methods for name in method.of_classes}
        if f"{config.by}_percent" in BALANCED_SCORES:
            of_classes["by"] = "validation_error"
        for name, other in of_classes.items():
            expected = f"expected a classification problem, since the config sets `{name}`"
            raise ConfigError(
                f"{location}: {expected}, got {label}, which is {data.task}. Set `{name}: {other}`."
            )
    if not isinstance(data, Problem):
        return
    sizes = len(data.X_train), len(data.X_validation), len(data.X_test)
    classifies = any(method.entry.makes == "classes" or method.classifier for method in methods)
    if 0 in (sizes if classifies else sizes[:1]):
        got = f"{' / '.join(map(str, sizes))} in {label}"
        raise ConfigError(
            f"{location}: expected training, validation and test examples, got {got}."
            " Split its examples again, or take it out."
        )
