"""The ``pppca doctor`` command: environment checks and their remedies."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pppca_bench.cli._shared import DATABASE, STUDIES, examples, results_option
from pppca_bench.cli.data import data_option


@click.command(epilog=examples("pppca doctor", "pppca doctor --results elsewhere"))
@data_option
@results_option
@click.option("--mend", is_flag=True, help="Remove the rows of results that are damaged, to be computed again.")
def doctor(data_dir: Path | None, results: Path, mend: bool) -> None:
    """Check the installation, the data and the results.

    Each finding comes with its remedy. The exit code is 1 if there is anything to do.
    """
    from pppca_bench.experiments import doctor as checks

    n_wrong = 0
    studies = sorted(results.glob(f"{STUDIES}/*/{DATABASE}"))
    for database in (results / DATABASE, *studies) if mend else ():
        if database.exists() and (n := checks.mend(database)):
            click.echo(f"Removed {n} damaged rows from {database}: the next `pppca run` computes them again.")
    for finding in checks.examine(data_dir, results / DATABASE, studies):
        n_wrong += finding.remedy is not None
        mark = "ok" if finding.remedy is None else "!!"
        click.echo(f"{mark}  {finding.subject}: {finding.text} {finding.remedy or ''}".rstrip())
    if n_wrong:
        click.echo(f"{n_wrong} finding{'s' if n_wrong > 1 else ''} to do something about.")
        sys.exit(1)
    click.echo("All is well.")
