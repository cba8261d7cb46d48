"""What one command asks for: config files to validated configs, open problems and plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pppca_bench.config.experiment import Config, parse_config
from pppca_bench.config.messages import where
from pppca_bench.config.plan import Identity, expand
from pppca_bench.config.yaml_source import YamlSource, read_yaml
from pppca_bench.errors import ConfigError, DataError
from pppca_bench.problems import Problem, ProblemSource, ensure, find_own_file, known_problems, open_problem
from pppca_bench.runs import Plan, RunSpec

OpenProblem = tuple[ProblemSource, Problem]


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
    progress : callable(n_finished, n_total), optional
        Called with every downloaded file.

    Raises
    ------
    ConfigError
        A config is wrong, or two have the same name.
    DataError
        Data are missing or damaged.
    """
    sources = [read_yaml(path) for path in dict.fromkeys(paths)]
    configs = [parse_config(source, problems=known_problems()) for source in sources]
    _refuse_namesakes(sources, configs)
    named = [_names_and_files(source, config) for source, config in zip(sources, configs, strict=True)]
    ensure({name for files in named for name in files.values()}, data_dir, progress=progress)
    opened = {name: open_problem(name, data_dir) for files in named for name in files.values()}
    plans, problems = [], dict[tuple[str, str], OpenProblem]()
    for source, config, files in zip(sources, configs, named, strict=True):
        own = {name: opened[file] for name, file in files.items()}
        for name in files:
            _check_fit(source, config, name, own[name][1])
        labels = _labels(files)
        problems |= {(labels[name], problem[1].sha256): problem for name, problem in own.items()}
        plans.append(_plan(source, config, {name: (labels[name], own[name][0]) for name in files}, repeats))
    return Request(tuple(plans), problems)


def _refuse_namesakes(sources: Sequence[YamlSource], configs: Sequence[Config]) -> None:
    first: dict[str, Path] = {}
    for source, config in zip(sources, configs, strict=True):
        other = first.setdefault(config.name, source.path)
        if other != source.path:
            raise ConfigError(f"{source.path}: expected a name of its own, got {config.name!r}, which {other} has.")


def _names_and_files(source: YamlSource, config: Config) -> dict[str, str]:
    """Return by what each problem is loaded: its name, or the path of a file, seen from the config's folder."""
    found = {}
    for index, name in enumerate(config.problems):
        try:
            found[name] = str(find_own_file(name, source.path.parent)) if name.endswith(".dt") else name
        except DataError as error:
            raise ConfigError(f"{where(source, ('problems', index))}: {error}") from None
    return found


def _check_fit(source: YamlSource, config: Config, name: str, problem: Problem) -> None:
    """Raise ConfigError unless a problem can be run."""
    place = where(source, ("problems", config.problems.index(name)))
    if problem.task != "classification":
        raise ConfigError(f"{place}: expected a classification problem, got {name}, which is {problem.task}.")
    sizes = len(problem.X_train), len(problem.X_validation), len(problem.X_test)
    if 0 in sizes:
        raise ConfigError(
            f"{place}: expected training, validation and test examples, got {' / '.join(map(str, sizes))} in {name}."
            " Split its examples anew, or take it out."
        )


def _labels(files: Mapping[str, str]) -> dict[str, str]:
    """Return what tables call each problem: a file by its own name, where no other of the config has the same."""
    short = {name: Path(name).name for name in files}
    return {name: label if list(short.values()).count(label) == 1 else name for name, label in short.items()}


def _plan(
    source: YamlSource, config: Config, opened: Mapping[str, tuple[str, ProblemSource]], repeats: int | None
) -> Plan:
    identities = {
        name: Identity(label, found.sha256, found.sha256 if found.is_own else name)
        for name, (label, found) in opened.items()
    }
    all_repeats = tuple(expand(config, identities))
    specs = all_repeats if repeats is None else tuple(expand(config, identities, repeats=repeats))
    return Plan(config.name, source.sha256, source.text, specs, all_repeats)
