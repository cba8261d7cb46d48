"""The ``pppca run`` command: configs to results, with what was done already left as it is."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pppca_bench.cli.data import data_option
from pppca_bench.cli.progress import progress_bar
from pppca_bench.cli.running import DATABASE, results_option, stoppable, tell_emptied, workers_option
from pppca_bench.errors import ConfigError, DataError

if TYPE_CHECKING:
    from pppca_bench.config.experiment import Config
    from pppca_bench.config.yaml_source import YamlSource
    from pppca_bench.experiments.runner import Outcome
    from pppca_bench.runs import RunSpec
    from pppca_bench.store.database import Store


@dataclass(frozen=True)
class _Asked:
    """Hold what the configs of one call ask for: their digests, their plans, and the files that they name."""

    digests: Mapping[str, str]
    plans: Mapping[str, Sequence[RunSpec]]
    all_repeats: Mapping[str, Sequence[RunSpec]]
    own_files: Mapping[str, Path]

    @property
    def specs(self) -> list[RunSpec]:
        """Every run once, in the order of the configs."""
        return list({spec.key: spec for plan in self.plans.values() for spec in plan}.values())


@click.command()
@click.argument("configs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--repeats", type=click.IntRange(1, 10_000), help="Repeats in place of the config's own.")
@workers_option
@results_option
@data_option
@click.option(
    "--retry", "retries", type=click.IntRange(0, 100), default=0, help="Try failed runs again, so many times."
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first failed run.")
@click.option("--fresh", is_flag=True, help="Compute again what the results already hold.")
@click.option("--dry-run", is_flag=True, help="Say what would be run, and run nothing.")
@click.option("--quiet", is_flag=True, help="No progress bar and no summary.")
def run(
    configs: tuple[Path, ...],
    repeats: int | None,
    workers: int | None,
    results: Path,
    data_dir: Path | None,
    retries: int,
    fail_fast: bool,
    fresh: bool,
    dry_run: bool,
    quiet: bool,
) -> None:
    """Run the experiments that CONFIGS (YAML files) describe, except what the results already hold."""
    with stoppable(results):
        from pppca_bench import problems
        from pppca_bench.experiments import runner
        from pppca_bench.store.database import Store

        asked = _read(configs, repeats)
        if dry_run:
            _print_dry_run(asked.specs, results, fresh)
            return
        names = dict.fromkeys(spec.problem for spec in asked.specs)
        with progress_bar("file", quiet=quiet) as progress:
            problems.ensure(names, data_dir, progress=progress)
        runner.load_problems(names, data_dir, asked.own_files)  # before a plan of theirs is kept
        with Store(results / DATABASE) as store:
            if store.was_emptied:
                tell_emptied(store.path)
            if not quiet:
                _print_superseded(store, asked.specs)
            for name, plan in asked.plans.items():
                store.plan(name, plan, all_repeats=asked.all_repeats[name])
            with progress_bar("run", quiet=quiet) as progress:
                outcome = runner.run(
                    asked.specs,
                    store,
                    data_dir=data_dir,
                    own_files=asked.own_files,
                    configs=asked.digests,
                    workers=runner.available_cores() if workers is None else workers,
                    fresh=fresh,
                    retries=retries,
                    fail_fast=fail_fast,
                    progress=progress,
                )
    _print_outcome(outcome, results, quiet)
    if outcome.n_failed:
        sys.exit(1)


def _read(paths: Sequence[Path], repeats: int | None) -> _Asked:
    from pppca_bench.config.plan import expand

    digests: dict[str, str] = {}
    loaded: dict[str, tuple[Path, Config]] = {}
    own_files: dict[str, tuple[Path, Path]] = {}
    for path in paths:
        config, files = _read_one(path)
        other = loaded.get(config.name, (path,))[0]
        if other != path:
            raise ConfigError(f"{path}: expected a name of its own, got {config.name!r}, which {other} has.")
        for name, file in files.items():
            theirs, elsewhere = own_files.setdefault(name, (path, file))
            if not elsewhere.samefile(file):
                raise ConfigError(
                    f"{path}: expected one file for each name, got {name!r}, which is {file} here and {elsewhere} in"
                    f" {theirs}. Rename one, or run the configs one after another into folders of their own."
                )
        loaded[config.name] = (path, config)
        digests[config.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return _Asked(
        digests,
        {name: expand(config, repeats=repeats) for name, (_, config) in loaded.items()},
        {name: expand(config) for name, (_, config) in loaded.items()},
        {name: file for name, (_, file) in own_files.items()},
    )


def _read_one(path: Path) -> tuple[Config, dict[str, Path]]:
    """Return a config and where the .dt files that it names are, seen from its own folder."""
    from pppca_bench.config.experiment import parse_config
    from pppca_bench.config.yaml_source import read_yaml
    from pppca_bench.problems import known_problems

    source = read_yaml(path)
    files = _own_files(source)  # first: of a mistyped name the config would say that it has no pivot architecture
    return parse_config(source, problems=known_problems()), files


def _own_files(source: YamlSource) -> dict[str, Path]:
    """Return where the .dt files are that a document names; refuse those that are missing, and problems of numbers."""
    from pppca_bench.problems import find_own_file, read_dt_task, registered

    named = source.value.get("problems") if isinstance(source.value, dict) else None
    files: dict[str, Path] = {}
    for position, name in enumerate(named if isinstance(named, list) else [named]):
        where = f"{source.path}:{source.line(('problems', position))}: problems[{position}]"
        if isinstance(name, str) and name.endswith(".dt"):
            try:
                files[name] = find_own_file(name, source.path.parent)
            except DataError as error:
                raise ConfigError(f"{where}: {error}") from None
            if read_dt_task(files[name]) != "classification":
                raise ConfigError(
                    f"{where}: expected a classification problem, got {name}, which is approximation. Declare its"
                    " outputs as classes (bool_out, two or more), with `classifier: {hidden: [16, 8]}` or other layers"
                    " here."
                )
        elif isinstance(name, str) and (info := registered().get(name)) and info.task != "classification":
            raise ConfigError(f"{where}: expected a classification problem, got {name}, which is {info.task}.")
    return files


def _print_superseded(store: Store, specs: Sequence[RunSpec]) -> None:
    from pppca_bench.experiments.provenance import superseded_lines

    done = store.done(spec.key for spec in specs)
    for line in superseded_lines(store.superseded([spec for spec in specs if spec.key not in done])):
        click.echo(line, err=True)


def _print_dry_run(specs: Sequence[RunSpec], results: Path, fresh: bool) -> None:
    from pppca_bench.store.database import Store

    missing: Sequence[RunSpec] = specs
    if (results / DATABASE).exists() and not fresh:
        with Store(results / DATABASE, read_only=True) as store:
            done = store.done(spec.key for spec in specs)
            _print_superseded(store, specs)
        missing = [spec for spec in specs if spec.key not in done]
    cells = {spec.cell for spec in missing}
    click.echo(
        f"{len(specs)} runs planned, {len(specs) - len(missing)} done, {len(missing)} to run in {len(cells)} cells."
    )


def _print_outcome(outcome: Outcome, results: Path, quiet: bool) -> None:
    if outcome.n_failed:
        click.echo(
            f"{outcome.n_failed} of {outcome.n_planned} runs failed, the first: {outcome.first_error}",
            err=True,
        )
        if outcome.n_left:
            click.echo(f"Stopped there (--fail-fast), with {outcome.n_left} runs left.", err=True)
        click.echo(f"The tracebacks are in {results / DATABASE}; the next `pppca run` tries them again.", err=True)
    if quiet:
        return
    if outcome.n_reused == outcome.n_planned:
        click.echo(f"Nothing to do: all {outcome.n_planned} runs are in {results}. See `pppca tables`.")
        return
    outdated = f" ({outcome.n_outdated} of them from other data before)" if outcome.n_outdated else ""
    click.echo(f"{outcome.n_done} runs done{outdated}, {outcome.n_reused} were there already. See `pppca tables`.")
