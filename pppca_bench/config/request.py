"""Request of a command: config files to validated configs, open problems and plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pppca_bench.config.experiment import Config, parse_config
from pppca_bench.config.overrides import as_options, changed, changed_name, parse_changes, parse_only
from pppca_bench.config.plan import Identity, count_runs, expand
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
"""Entries of a config's problems with their files as seen from the config's folder, by the entries as written."""

MOST_RUNS = 200_000
"""Largest number of runs of a command: some ten times those of all configs of this repository."""

_OTHER_NETWORK = "or take another method or classifier."


@dataclass(frozen=True)
class Request:
    """The configs of one command.

    Attributes
    ----------
    plans : tuple of Plan
        A plan for each config, in the order of the command line.
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
        YAML files, or documents that are read already; each file is read once.
    data_dir : Path, optional
        First folder to look for Proben1 files.
    repeats : int, optional
        Number of repeats in place of the configs' own.
    only : sequence of str, optional
        Filters of the runs, as `parse_only` reads them; a config without matching runs has no plan.
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
        No run matches the filters.
    DataError
        Data are missing or damaged.
    """
    asked, new, given = parse_only(only), parse_changes(changes), given or {}
    once = {one if isinstance(one, Path) else one.path: one for one in documents}
    sources = [changed(read_yaml(one) if isinstance(one, Path) else one, new) for one in once.values()]
    search_also([*(source.path.parent for source in sources), Path.cwd()])
    try:
        configs = [parse_config(source, problems=known_problems(), given=given) for source in sources]
    except ConfigError as error:
        raise ConfigError(f"with {as_options(new)}: {error}" if new else str(error)) from None
    _refuse_namesakes(sources, configs)
    if not force:
        # A config is expanded at its own repeats, too, for those that are done stay in its tables.
        counts = (max(count_runs(config), count_runs(config, repeats=repeats)) for config in configs)
        refuse_too_many({source.path: count for source, count in zip(sources, counts, strict=True)})
    files = [_find_files(source, config, given) for source, config in zip(sources, configs, strict=True)]
    opened: dict[Entry, OpenProblem] = {}
    for entry in dict.fromkeys(entry for found in files for entry in found.values()):
        if entry not in registered() or (not only_plan and asked.takes_problem(str(entry))):
            opened[entry] = open_problem(entry, data_dir, only_local=only_plan)
    plans, problems = [], dict[tuple[str, str], OpenProblem]()
    for source, config, found in zip(sources, configs, files, strict=True):
        identities = _identities(source, config, found, opened)
        for entry, identity in identities.items():
            if found[entry] in opened:
                problems[identity.label, identity.data_sha256] = opened[found[entry]]
        all_repeats = tuple(expand(config, identities))
        specs = all_repeats if repeats is None else tuple(expand(config, identities, repeats=repeats))
        plans.append(Plan(changed_name(config.name, new), source.sha256, source.text, specs, all_repeats))
    if asked.wanted:
        asked.check(by_cell(spec for plan in plans for spec in plan.specs))
        plans = [asked.restricted(plan) for plan in plans]
    return Request(tuple(plan for plan in plans if plan.specs), problems)


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
        The settings that the remedy names.
    """
    n_all = sum(counts.values())
    if n_all > MOST_RUNS:
        path, n_most = max(counts.items(), key=lambda pair: pair[1])
        others = f" of {n_all}" if len(counts) > 1 else ""
        raise ConfigError(
            f"{path}: expected at most {MOST_RUNS} runs in one command, got {n_most}{others}."
            f" Take fewer {fewer}, or plan them all the same with --force."
        )


def _find_files(source: YamlSource, config: Config, given: Mapping[str, Path]) -> dict[Entry, Entry]:
    """Return a config's problems with the paths of their files; raise ConfigError for a file that is missing."""
    found: dict[Entry, Entry] = {}
    for index, entry in enumerate(config.problems):
        try:
            if isinstance(entry, str):
                found[entry] = str(find_own_file(entry, source.path.parent)) if entry.endswith(".dt") else entry
            elif entry.source == "given":
                found[entry] = replace(entry, place=str(given[entry.place]))
            else:
                place = str(find_own_file(entry.place, source.path.parent)) if entry.is_file else entry.place
                found[entry] = replace(entry, place=place)
        except DataError as error:
            raise ConfigError(f"{source.where(('problems', index))}: {error}") from None
    return found


def _identities(
    source: YamlSource, config: Config, files: Files, opened: Mapping[Entry, OpenProblem]
) -> dict[Entry, Identity]:
    """Return the data behind each problem of a config; they have to fit its methods."""
    labels, identities = _labels(source, files), dict[Entry, Identity]()
    for index, (entry, file) in enumerate(files.items()):
        label, place = labels[entry], source.where(("problems", index))
        if file in opened:
            found, problem = opened[file]
            check_task(place, entry, problem.task, config)
            check_fit(place, label, problem, config)
            identities[entry] = Identity(label, found.sha256, found.sha256 if found.is_own else label)
        else:
            check_task(place, entry, registered()[label].task, config)
            identities[entry] = Identity(label, registered()[label].sha256, label)
    return identities


def _labels(source: YamlSource, files: Files) -> dict[Entry, str]:
    """Return the label of each problem: of a file its own name, or its path where two of a config share a name.

    Raises
    ------
    ConfigError
        A table would have the label of another problem.
    """
    short = {one: one.label if isinstance(one, OwnData) else Path(one).name for one in files}
    names, labels = list(short.values()), dict[Entry, str]()
    for one, label in short.items():
        is_named = isinstance(one, OwnData) and (one.name or not one.is_file)
        path = one.place if isinstance(one, OwnData) else one
        labels[one] = label if is_named or names.count(label) == 1 else path
    for index, (one, label) in enumerate(labels.items()):
        if isinstance(one, OwnData) and (label in registered() or list(labels.values()).count(label) > 1):
            place = source.where(("problems", index))
            raise ConfigError(f"{place}: expected a name of its own, got {label!r} again. Add the key `name`.")
    return labels


def check_fit(place: str, name: str, problem: Problem, config: Config) -> None:
    """Raise ConfigError unless a problem has examples of each split; ``place`` begins the message.

    Methods that only measure need training examples alone.
    """
    sizes = len(problem.X_train), len(problem.X_validation), len(problem.X_test)
    only_measures = all(method.entry.makes == "measures" for method in config.methods)
    if 0 in (sizes[:1] if only_measures else sizes):
        raise ConfigError(
            f"{place}: expected training, validation and test examples, got {' / '.join(map(str, sizes))} in {name}."
            " Split its examples again, or take it out."
        )


def check_task(place: str, entry: Entry, task: str, config: Config) -> None:
    """Raise ConfigError where a method or classifier needs targets of the other kind."""
    label = entry.label if isinstance(entry, OwnData) else entry
    entries = [one for method in config.methods for one in method.entries]
    regressor = next((one.name for one in entries if one.needs_numbers), "")
    if regressor and task != "approximation":
        raise ConfigError(
            f"{place}: expected an approximation problem, which {regressor} needs, got {label}, which is {task}."
            " Take another problem, or a classifier."
        )
    classifier = next((one.name for one in entries if one.needs_classes), "")
    if not classifier or task == "classification":
        return
    remedy = "Take another method, or a classifier that approximates too (`pppca methods`)."
    if isinstance(entry, OwnData):
        remedy = f"Say `task: classification` if its target is classes, {_OTHER_NETWORK}"
    elif label.endswith(".dt"):
        remedy = f"Declare its outputs as classes (bool_out, two or more), {_OTHER_NETWORK}"
    raise ConfigError(
        f"{place}: expected a classification problem, which {classifier} needs, got {label}, which is {task}. {remedy}"
    )
