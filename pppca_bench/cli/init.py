"""The ``pppca init`` command: the shipped configs as files to edit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from pppca_bench.cli._shared import FOLDER, examples

_SCHEMA = "schema.json"
_MODELINE = f"# yaml-language-server: $schema={_SCHEMA}"


@click.command(epilog=examples("pppca init", "pppca init my_configs"))
@click.argument("folder", type=FOLDER, default="configs")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def init(folder: Path, force: bool) -> None:
    """Copy the shipped configs and studies, to edit them.

    They go to FOLDER, by default ./configs, with the JSON schemas that editors check them by (`pppca schema`). Existing
    files are kept.
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
    kept = f", {n_kept} existing ones kept (--force overwrites them)" if n_kept else ""
    click.echo(f"{folder}: {n_written} files written{kept}.")
    click.echo(f"Next: `pppca run {folder / 'demo.yaml'}` (a minute).")
    click.echo(
        "Or copy a config, change its `name`, edit it and run it. Results go to ./results, or to --results FOLDER."
    )


def _files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield path and text of every file to be written."""
    from pppca_bench.config.schema import experiment_schema, schema_text
    from pppca_bench.config.shipped import STUDIES, shipped_experiments, shipped_folder, shipped_studies
    from pppca_bench.errors import ConfigError
    from pppca_bench.studies.config import study_schema

    if folder.resolve() == shipped_folder():
        raise ConfigError(f"{folder}: expected a folder to copy the shipped configs to, got their own. Name another.")
    for target, files, schema in (
        (folder, shipped_experiments(), experiment_schema()),
        (folder / STUDIES, shipped_studies(), study_schema()),
    ):
        yield target / _SCHEMA, schema_text(schema)
        for file in files.values():
            yield target / file.name, f"{_MODELINE}\n{file.read_text(encoding='utf-8')}"
