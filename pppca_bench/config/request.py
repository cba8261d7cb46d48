"""What one command asks for: config files to validated configs, open problems and plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pppca_bench.config.experiment import Config, parse_config
from pppca_bench.config.overrides import Only, changed, changed_name, explained, parse_changes, parse_only
from pppca_bench.config.plan import Identities, Identity, count_runs, expand
from pppca_bench.documents import YamlSource, read_yaml
from pppca_bench.errors import ConfigError, DataError
from pppca_bench.methods.lookup import search_also
from pppca_bench.problems import (
    OwnData,
    Problem,
    ProblemSource,
    find_own_file,
    known_problems,
    open_problem,
    registered,
)
from pppca_bench.runs import Plan, RunSpec, by_cell

OpenProblem = tuple[ProblemSource, Problem]
Entry = str | OwnData
Files = Mapping[Entry, Entry]
"""By what each entry of a config's problems is opened."""
Opened = Mapping[Entry, OpenProblem]

MOST_RUNS = 200_000
"""Runs of one command: some ten times as many as all configs of this repository ask for."""

_TO_CLASSES = " Declare its outputs as classes (bool_out, two or more), or take another method or classifier."
_TABLE_TO_CLASSES = " Say `task: classification` if its target is classes, or take another method or classifier."
_TO_NUMBERS = " Take another method, or a classifier that approximates too (`pppca methods`)."


@dataclass(frozen=True)
class Request:
    """Hold what the configs of one command ask for.

    Attributes
    ----------
    plans : tuple of Plan
        One a config, in the order of the command line.
    problems : mapping of (str, str) to (ProblemSource, Problem)
        Every problem that they name, by name and digest; of those with several splits the first.
    """

    plans: tuple[Plan, ...]
    problems: Mapping[tuple[str, str], OpenProblem]

    @property
    def specs(self) -> list[RunSpec]:
        """Return every run once, in the order of the configs."""
        return list({spec.key: spec for plan in self.plans for spec in plan.specs}.values())


def read_request(
    documents: Sequence[Path | YamlSource],
    *,
    data_dir: Path | None = None,
    repeats: int | None = None,
    only: Sequence[str] = (),
    changes: Sequence[str] = (),
    only_plan: bool = False,
    force: bool = False,
    given: Mapping[str, Path] | None = None,
) -> Request:
    """Read configs and open their problems.

    Parameters
    ----------
    documents : sequence of Path or YamlSource
        YAML files, or documents that are read already.
    data_dir : Path, optional
        First folder to look for Proben1 files.
    repeats : int, optional
        Number of repeats in place of the configs' own.
    only : sequence of str, optional
        Which of the runs are taken, as `parse_only` reads it; a config of which none is taken has no plan.
    changes : sequence of str, optional
        Values in place of the configs' own, as `parse_changes` reads them.
    only_plan : bool, default False
        Open the user's own data alone: the registry has the digests of known problems.
    force : bool, default False
        Plan more than `MOST_RUNS` runs, too.
    given : mapping of str to Path, optional
        Saved tables of the caller's, by the names that configs have for them.

    Raises
    ------
    ConfigError
        A config is wrong, two have the same name, or there are too many runs.
    UnknownNameError
        No run is taken.
    DataError
        Data are missing or damaged.
    """
    asked, new = parse_only(only), parse_changes(changes)
    sources = [changed(source, new) for source in _sources(documents)]
    search_also([*(source.path.parent for source in sources), Path.cwd()])
    configs = [_validated(source, new, given or {}) for source in sources]
    _refuse_namesakes(sources, configs)
    if not force:
        # A config is expanded at its own repeats, too, for those that are done stay in its tables.
        counts = (max(count_runs(config), count_runs(config, repeats=repeats)) for config in configs)
        refuse_too_many({source.path: count for source, count in zip(sources, counts, strict=True)})
    found = [_found(source, config, given or {}) for source, config in zip(sources, configs, strict=True)]
    entries = list(dict.fromkeys(entry for files in found for entry in files.values()))
    opened = {one: open_problem(one, data_dir, only_local=only_plan) for one in entries if one not in registered()}
    for source, config, files in zip(sources, configs, found, strict=True):
        _check_tasks(source, config, files, opened)
    if not only_plan:  # the digest of a known problem's data is known without them
        known = [one for one in entries if isinstance(one, str) and one in registered()]
        opened |= {name: open_problem(name, data_dir) for name in known if asked.takes_problem(name)}
    plans, problems = [], dict[tuple[str, str], OpenProblem]()
    for source, config, files in zip(sources, configs, found, strict=True):
        identities = _identities(source, config, files, opened)
        problems |= {_key(identities[entry]): opened[file] for entry, file in files.items() if file in opened}
        plans.append(_plan(source, config, identities, repeats, changed_name(config.name, new)))
    if asked.wanted:
        asked.check(by_cell(spec for plan in plans for spec in plan.specs))
    return Request(tuple(plan for plan in (_taken(plan, asked) for plan in plans) if plan.specs), problems)


def _sources(documents: Sequence[Path | YamlSource]) -> list[YamlSource]:
    """Return documents, each file read once."""
    once = {one if isinstance(one, Path) else one.path: one for one in documents}
    return [read_yaml(one) if isinstance(one, Path) else one for one in once.values()]


def _identities(source: YamlSource, config: Config, files: Files, opened: Opened) -> dict[Entry, Identity]:
    """Return which data each problem of a config stands for; those that are open have to fit its methods."""
    labels, identities = _labels(source, files), dict[Entry, Identity]()
    for index, (entry, file) in enumerate(files.items()):
        label = labels[entry]
        if file in opened:
            found, problem = opened[file]
            check_fit(source.where(("problems", index)), label, problem, config)
            identities[entry] = Identity(label, found.sha256, found.sha256 if found.is_own else label)
        else:
            identities[entry] = Identity(label, registered()[label].sha256, label)
    return identities


def _key(identity: Identity) -> tuple[str, str]:
    return identity.label, identity.data_sha256


def _check_tasks(source: YamlSource, config: Config, files: Files, opened: Opened) -> None:
    for index, (entry, file) in enumerate(files.items()):
        task = opened[file][1].task if file in opened else registered()[str(file)].task
        check_task(source.where(("problems", index)), entry, task, config)


def _validated(source: YamlSource, changes: Mapping[str, Any], given: Mapping[str, Path]) -> Config:
    try:
        return parse_config(source, problems=known_problems(), given=given)
    except ConfigError as error:
        raise explained(error, changes) from None


def _taken(plan: Plan, only: Only) -> Plan:
    """Return a plan of the runs that are taken."""
    if not only.wanted:
        return plan
    specs = tuple(spec for spec in plan.specs if only.takes(spec.cell))
    left = tuple(spec for spec in (*plan.specs, *plan.all_repeats) if not only.takes(spec.cell))
    return replace(plan, specs=specs, left_out=left)


def _refuse_namesakes(sources: Sequence[YamlSource], configs: Sequence[Config]) -> None:
    first: dict[str, Path] = {}
    for source, config in zip(sources, configs, strict=True):
        other = first.setdefault(config.name, source.path)
        if other != source.path:
            raise ConfigError(f"{source.path}: expected a name of its own, got {config.name!r}, which {other} has.")


def refuse_too_many(counts: Mapping[Path, int], fewer: str = "values or repeats") -> None:
    """Raise ConfigError for more than `MOST_RUNS` runs in one command.

    Parameters
    ----------
    counts : mapping of Path to int
        The runs that each config or study asks for.
    fewer : str, default "values or repeats"
        What the remedy says to take fewer of.
    """
    n_all = sum(counts.values())
    if n_all > MOST_RUNS:
        path, n_most = max(counts.items(), key=lambda pair: pair[1])
        others = f" of {n_all}" if len(counts) > 1 else ""
        raise ConfigError(
            f"{path}: expected at most {MOST_RUNS} runs in one command, got {n_most}{others}."
            f" Take fewer {fewer}, or plan them all the same with --force."
        )


def _found(source: YamlSource, config: Config, given: Mapping[str, Path]) -> dict[Entry, Entry]:
    """Return by what each problem is opened: its name, or its file's path, seen from the config's folder.

    Raises
    ------
    ConfigError
        A file is not there.
    """
    found: dict[Entry, Entry] = {}
    for index, entry in enumerate(config.problems):
        try:
            if isinstance(entry, OwnData):
                found[entry] = _with_place(entry, source.path.parent, given)
            else:
                is_file = entry.endswith(".dt")
                found[entry] = str(find_own_file(entry, source.path.parent)) if is_file else entry
        except DataError as error:
            raise ConfigError(f"{source.where(('problems', index))}: {error}") from None
    return found


def _with_place(own: OwnData, folder: Path, given: Mapping[str, Path]) -> OwnData:
    if own.source == "given":
        return replace(own, place=str(given[own.place]))
    return replace(own, place=str(find_own_file(own.place, folder))) if own.is_file else own


def check_fit(place: str, name: str, problem: Problem, config: Config) -> None:
    """Raise ConfigError unless a problem has examples of each split; ``place`` says where it is named.

    Methods that only measure need training examples alone.
    """
    sizes = len(problem.X_train), len(problem.X_validation), len(problem.X_test)
    only_measures = all(method.entry.makes == "measures" for method in config.methods)
    if 0 in (sizes[:1] if only_measures else sizes):
        raise ConfigError(
            f"{place}: expected training, validation and test examples, got {' / '.join(map(str, sizes))} in {name}."
            " Split its examples anew, or take it out."
        )


def check_task(place: str, entry: Entry, task: str, config: Config) -> None:
    """Raise ConfigError where a method or classifier would meet targets of the other kind than it needs."""
    label = entry.label if isinstance(entry, OwnData) else entry
    regressor = next(filter(None, (method.needs_numbers for method in config.methods)), "")
    if regressor and task != "approximation":
        raise ConfigError(
            f"{place}: expected an approximation problem, which {regressor} needs, got {label}, which is {task}."
            " Take another problem, or a classifier."
        )
    picky = next(filter(None, (method.needs_classes for method in config.methods)), "")
    if not picky or task == "classification":
        return
    remedy = _TO_CLASSES if label.endswith(".dt") else _TO_NUMBERS
    if isinstance(entry, OwnData):
        remedy = _TABLE_TO_CLASSES
    raise ConfigError(
        f"{place}: expected a classification problem, which {picky} needs, got {label}, which is {task}.{remedy}"
    )


def _labels(source: YamlSource, files: Files) -> dict[Entry, str]:
    """Return what tables call each problem: a file by its own name, where no other of the config has the same.

    Raises
    ------
    ConfigError
        A table would be called as another problem is.
    """
    short = {one: one.label if isinstance(one, OwnData) else Path(one).name for one in files}
    labels = {}
    for one, label in short.items():
        labels[one] = label
        if list(short.values()).count(label) > 1:
            path = one.place if isinstance(one, OwnData) else one
            labels[one] = label if isinstance(one, OwnData) and (one.name or not one.is_file) else path
    for index, (one, label) in enumerate(labels.items()):
        if isinstance(one, OwnData) and (label in registered() or list(labels.values()).count(label) > 1):
            place = source.where(("problems", index))
            raise ConfigError(f"{place}: expected a name of its own, got {label!r} again. Add the key `name`.")
    return labels


def _plan(source: YamlSource, config: Config, identities: Identities, repeats: int | None, name: str) -> Plan:
    all_repeats = tuple(expand(config, identities))
    specs = all_repeats if repeats is None else tuple(expand(config, identities, repeats=repeats))
    return Plan(name, source.sha256, source.text, specs, all_repeats)
