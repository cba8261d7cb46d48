"""The ``pppca schema`` command: the JSON schema of configs, for editors that check and complete YAML."""

from __future__ import annotations

import click

from pppca_bench.cli._shared import examples


@click.command(epilog=examples("pppca schema > schema.json", "pppca schema --study > study_schema.json"))
@click.option("--study", is_flag=True, help="Of a study's config in place of an experiment's.")
def schema(study: bool) -> None:
    """Print the JSON schema of a config.

    Editors with yaml-language-server check and complete a file whose first line is
    `# yaml-language-server: $schema=PATH`. `pppca init` writes such files, with the schemas beside them.
    """
    from pppca_bench.config.schema import experiment_schema, schema_text
    from pppca_bench.studies.config import study_schema

    click.echo(schema_text(study_schema() if study else experiment_schema()), nl=False)
