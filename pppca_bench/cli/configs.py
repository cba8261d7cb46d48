"""``pppca init``, ``schema`` and ``methods``: the shipped configs, schemas of configs, and parameters of methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pppca_bench.cli._shared import FOLDER, examples, format_option
from pppca_bench.errors import ConfigError, UnknownNameError, nearest

if TYPE_CHECKING:
    from pppca_bench.methods.entry import Entry

_SCHEMA = "schema.json"
_MODELINE = f"# yaml-language-server: $schema={_SCHEMA}"


@click.command(epilog=examples("pppca init", "pppca init my_configs"))
@click.argument("folder", type=FOLDER, default="configs")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def init(folder: Path, force: bool) -> None:
    """Copy the shipped configs and studies, so that you can edit them.

    The files are written to FOLDER, by default ./configs, with the JSON schemas that editors use to check them (`pppca
    schema`). Existing files are kept.
    """
    n_written, n_kept = 0, 0
    for path, text in _files(folder):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("w" if force else "x", encoding="utf-8") as file:
                file.write(text)
            n_written += 1
        except FileExistsError:
            n_kept += 1
    kept = f", {n_kept} existing files kept (--force overwrites them)" if n_kept else ""
    click.echo(f"{folder}: {n_written} files written{kept}.")
    click.echo(f"Next: `pppca run {folder / 'demo.yaml'}` (half a minute).")
    click.echo(
        "Or copy a config, change its `name`, edit it and run it. Results go to ./results, or to --results FOLDER."
    )


def _files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of each file to write."""
    from pppca_bench.config.schema import experiment_schema, schema_text
    from pppca_bench.config.shipped import STUDIES, shipped_experiments, shipped_folder, shipped_studies
    from pppca_bench.studies.config import study_schema

    if folder.resolve() == shipped_folder():
        raise ConfigError(f"{folder}: expected a folder to copy the shipped configs to, got theirs. Name another.")
    for target, files, schema in (
        (folder, shipped_experiments(), experiment_schema()),
        (folder / STUDIES, shipped_studies(), study_schema()),
    ):
        yield target / _SCHEMA, schema_text(schema)
        for file in files.values():
            yield target / file.name, f"{_MODELINE}\n{file.read_text(encoding='utf-8')}"


@click.command(epilog=examples("pppca schema > schema.json", "pppca schema --study > study_schema.json"))
@click.option("--study", is_flag=True, help="Print the schema of a study's config instead of an experiment's.")
def schema(study: bool) -> None:
    """Print the JSON schema of a config.

    Editors with yaml-language-server check and complete a file whose first line is
    `# yaml-language-server: $schema=PATH`. `pppca init` writes such files, with the schemas beside them.
    """
    from pppca_bench.config.schema import experiment_schema, schema_text
    from pppca_bench.studies.config import study_schema

    click.echo(schema_text(study_schema() if study else experiment_schema()), nl=False)


@click.command(epilog=examples("pppca methods", "pppca methods dgha", "pppca methods sklearn.svm:SVC --format json"))
@click.argument("name", required=False)
@format_option("terminal", "markdown", "json")
def methods(name: str | None, form: str) -> None:
    """List the methods and classifiers that a config can name.

    With NAME, list its parameters and their defaults. NAME may also be the module:Class of another package.
    """
    from pppca_bench.methods.lookup import classifier_names, extend_sys_path, find_classifier, find_method, method_names

    extend_sys_path([Path.cwd()])
    known = {"method": (find_method, method_names()), "classifier": (find_classifier, classifier_names())}
    entries: list[tuple[str, Entry]] = []
    refusals: list[ConfigError] = []
    for kind, (find, names) in known.items():
        for asked in names if name is None else [name]:
            try:
                entries.append((kind, find(asked)))
            except UnknownNameError:
                continue
            except ConfigError as error:  # such as a broken entry point; other entries are listed
                refusals.append(error)
    if name is None:
        for refusal in refusals:
            click.echo(refusal, err=True)
        _print([_described(kind, entry) for kind, entry in entries], form)
    elif entries:
        _print_parameters(entries, form)
    elif refusals:
        raise refusals[0]
    else:
        hint = nearest(name, [known_name for _, names in known.values() for known_name in names])
        raise UnknownNameError(f"expected a name that `pppca methods` prints, or module:Class, got {name!r}{hint}.")


def _described(kind: str, entry: Entry) -> dict[str, Any]:
    return {"kind": kind, "name": entry.name, "title": entry.title, "does": entry.does, "source": entry.source}


def _print_parameters(entries: Sequence[tuple[str, Entry]], form: str) -> None:
    """Print the description of entries and their parameters in a config."""
    from pppca_bench.methods.protocol import describe_parameters

    if form == "json":
        rows = [
            _described(kind, entry) | {"estimator": entry.estimator, "parameters": describe_parameters(entry)}
            for kind, entry in entries
        ]
        _print(rows, form)
        return
    for kind, entry in entries:
        click.echo(f"{kind} {entry.name}: {entry.title}. {entry.does} ({entry.source}).")
        click.echo(f"{entry.estimator}, version {entry.version}\n")
        _print(describe_parameters(entry), form)
        if entry.foreign:
            click.echo("\nIn a config, its parameters are listed under `parameters:`.")
        click.echo()


def _print(rows: Sequence[Mapping[str, Any]], form: str) -> None:
    if form == "json":
        import json

        click.echo(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        from tabulate import tabulate

        click.echo(tabulate(rows, headers="keys", tablefmt="pipe" if form == "markdown" else "simple"))
