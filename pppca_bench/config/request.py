"""What one command asks for: config files to validated configs, open problems and plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pppca_bench.config.experiment import Config, parse_config
from pppca_bench.config.messages import where
from pppca_bench.config.overrides import Only, changed, changed_name, explained, parse_changes, parse_only
from pppca_bench.config.plan import Identity, expand
from pppca_bench.config.yaml_source import YamlSource, read_yaml
from pppca_bench.errors import ConfigError, DataError
from pppca_bench.methods.foreign import search_also
from pppca_bench.problems import (
    Problem,
    ProblemSource,
    ensure,
    find_own_file,
    known_problems,
    open_problem,
    read_dt_task,
    registered,
)
from pppca_bench.runs import Plan, RunSpec

OpenProblem = tuple[ProblemSource, Problem]

_TO_CLASSES = " Declare its outputs as classes (bool_out, two or more), or take another method or classifier."
_TO_NUMBERS = " Take another method, or a classifier that approximates too (`pppca methods`)."


@dataclass(frozen=True)
class Request:
    """Hold what the configs of one command ask for.

    Attributes
    ----------
    plans : tuple of Plan
        One a config, in the order of the command line.
    problems : mapping of (str, str) to (ProblemSource, Problem)
        Every problem that they name, by name and digest.
    """

    plans: tuple[Plan, ...]
    problems: Mapping[tuple[str, str], OpenProblem]

    @property
    def specs(self) -> list[RunSpec]:
        """Return every run once, in the order of the configs."""
        return list({spec.key: spec for plan in self.plans for spec in plan.specs}.values())


def read_request(
    paths: Sequence[Path],
    *,
    data_dir: Path | None = None,
    repeats: int | None = None,
    only: Sequence[str] = (),
    changes: Sequence[str] = (),
    only_plan: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Request:
    """Read configs and open their problems; files that are missing are downloaded first.

    Parameters
    ----------
    paths : sequence of Path
        YAML files.
    data_dir : Path, optional
        First folder to look for a Proben1 file.
    repeats : int, optional
        Number of repeats in place of the configs' own.
    only : sequence of str, optional
        Which of the runs are taken, as `parse_only` reads it; a config of which none is taken has no plan.
    changes : sequence of str, optional
        Values in place of the configs' own, as `parse_changes` reads them.
    only_plan : bool, default False
        Open the user's own files alone, and download nothing: the data of known problems are known by their digest.
    progress : callable(n_finished, n_total), optional
        Called with every downloaded file.

    Raises
    ------
    ConfigError
        A config is wrong, or two have the same name.
    UnknownNameError
        No run is taken.
    DataError
        Data are missing or damaged.
    """
    asked, new = parse_only(only), parse_changes(changes)
    sources = [changed(read_yaml(path), new) for path in dict.fromkeys(paths)]
    search_also([*(source.path.parent for source in sources), Path.cwd()])
    # First, for of a mistyped file the config would say that it has no pivot architecture.
    named = [_names_and_files(source) for source in sources]
    configs = [_validated(source, new) for source in sources]
    _refuse_namesakes(sources, configs)
    for source, config, files in zip(sources, configs, named, strict=True):
        _check_tasks(source, config, files)
    names = list(dict.fromkeys(name for files in named for name in files.values()))
    # The digest of a known problem's data is known without them.
    names = [name for name in names if name not in registered() or (asked.takes_problem(name) and not only_plan)]
    if not only_plan:
        ensure(names, data_dir, progress=progress)
    opened = {name: open_problem(name, data_dir) for name in names}
    plans, problems = [], dict[tuple[str, str], OpenProblem]()
    for source, config, files in zip(sources, configs, named, strict=True):
        identities = _identities(source, config, files, opened)
        problems |= {_key(identities[name]): opened[file] for name, file in files.items() if file in opened}
        plans.append(_plan(source, config, identities, repeats, changed_name(config.name, new)))
    asked.check([spec for plan in plans for spec in plan.specs])
    return Request(tuple(plan for plan in (_taken(plan, asked) for plan in plans) if plan.specs), problems)


def _identities(
    source: YamlSource, config: Config, files: Mapping[str, str], opened: Mapping[str, OpenProblem]
) -> dict[str, Identity]:
    """Return which data each problem of a config stands for; those that are open have to fit its methods."""
    labels, identities = _labels(files), {}
    for index, (name, file) in enumerate(files.items()):
        if file in opened:
            found, problem = opened[file]
            check_fit(where(source, ("problems", index)), name, problem, config)
            identities[name] = Identity(labels[name], found.sha256, found.sha256 if found.is_own else name)
        else:
            identities[name] = Identity(name, registered()[name].sha256, name)
    return identities


def _key(identity: Identity) -> tuple[str, str]:
    return identity.label, identity.data_sha256


def _check_tasks(source: YamlSource, config: Config, files: Mapping[str, str]) -> None:
    for index, (name, file) in enumerate(files.items()):
        task = read_dt_task(file) if name.endswith(".dt") else registered()[name].task
        check_task(where(source, ("problems", index)), name, task, config)


def _validated(source: YamlSource, changes: Mapping[str, Any]) -> Config:
    try:
        return parse_config(source, problems=known_problems())
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


def _names_and_files(source: YamlSource) -> dict[str, str]:
    """Return by what each problem is loaded: its name, or the path of a file, seen from the config's folder.

    Raises
    ------
    ConfigError
        A file is not there; what is no name is left to `parse_config`.
    """
    named = source.value.get("problems") if isinstance(source.value, dict) else None
    found = {}
    for index, name in enumerate(named if isinstance(named, list) else [named]):
        place = where(source, ("problems", index))
        if isinstance(name, str) and name.endswith(".dt"):
            try:
                found[name] = str(find_own_file(name, source.path.parent))
            except DataError as error:
                raise ConfigError(f"{place}: {error}") from None
        elif isinstance(name, str) and name in registered():
            found[name] = name
    return found


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


def check_task(place: str, name: str, task: str, config: Config) -> None:
    """Raise ConfigError where a method or classifier would meet targets of the other kind than it needs."""
    regressor = next(filter(None, (method.needs_numbers for method in config.methods)), "")
    if regressor and task != "approximation":
        raise ConfigError(
            f"{place}: expected an approximation problem, which {regressor} needs, got {name}, which is {task}."
            " Take another problem, or a classifier."
        )
    picky = next(filter(None, (method.needs_classes for method in config.methods)), "")
    if picky and task != "classification":
        raise ConfigError(
            f"{place}: expected a classification problem, which {picky} needs, got {name}, which is {task}."
            f"{_TO_CLASSES if name.endswith('.dt') else _TO_NUMBERS}"
        )


def _labels(files: Mapping[str, str]) -> dict[str, str]:
    """Return what tables call each problem: a file by its own name, where no other of the config has the same."""
    short = {name: Path(name).name for name in files}
    return {name: label if list(short.values()).count(label) == 1 else name for name, label in short.items()}


def _plan(
    source: YamlSource, config: Config, identities: Mapping[str, Identity], repeats: int | None, name: str
) -> Plan:
    all_repeats = tuple(expand(config, identities))
    specs = all_repeats if repeats is None else tuple(expand(config, identities, repeats=repeats))
    return Plan(name, source.sha256, source.text, specs, all_repeats)
