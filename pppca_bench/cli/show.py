"""Commands ``pppca show`` and ``pppca export``: a run in detail, all runs for other programs."""

from __future__ import annotations

import textwrap
from pathlib import Path

import click

from pppca_bench.cli._shared import DATABASE, FILE, examples, results_option
from pppca_bench.errors import PppcaError
from pppca_bench.files import atomic_write


@click.command(epilog=examples("pppca show 3f2a", "pppca show cancer1/cancer1/gha/0", "pppca list --failed"))
@click.argument("run")
@results_option
def show(run: str, results: Path) -> None:
    """Print everything that is known about RUN, as YAML.

    That is its settings, seed, data, numbers and provenance, and its traceback if it failed. RUN is a key, the
    beginning of a key, or CONFIG/PROBLEM/METHOD/REPEAT if that names only one run.
    """
    import yaml

    from pppca_bench.store.database import Store
    from pppca_bench.store.export import find_run, run_details

    with Store(results / DATABASE, read_only=True) as store:
        details = run_details(store, find_run(store, run))
    error = details.pop("error")
    click.echo(yaml.safe_dump(details, sort_keys=False, allow_unicode=True, width=110), nl=False)
    if error:
        click.echo("error: |\n" + textwrap.indent(error.rstrip(), "  "))


@click.command(
    epilog=examples("pppca export --out runs.csv", "pppca export cancer1 --format parquet --out cancer1.parquet")
)
@click.argument("configs", nargs=-1)
@results_option
@click.option("--format", "form", type=click.Choice(("csv", "parquet")), default="csv", show_default=True)
@click.option("--out", type=FILE, help="File to write to [default: print the CSV].")
def export(configs: tuple[str, ...], results: Path, form: str, out: Path | None) -> None:
    """Write all runs as one table, with a row for each run.

    Settings, numbers, seed, status and provenance have a column each. CONFIGS are names of configs that were run (all
    by default). In Python, `pppca_bench.load_results` returns the same table.
    """
    from importlib.util import find_spec

    from pppca_bench.store.export import load_results

    if form == "parquet" and out is None:
        raise click.UsageError("Parquet cannot be printed: name a file with --out.")
    if form == "parquet" and find_spec("pyarrow") is None:
        raise PppcaError("Parquet needs pyarrow, which is not installed: `pip install 'pppca-bench[parquet]'`.")
    runs = load_results(results, configs or None)
    if out is None:
        click.echo(runs.to_csv(index=False), nl=False)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(out, runs.to_parquet(index=False) if form == "parquet" else runs.to_csv(index=False))
    click.echo(f"Wrote {len(runs)} runs to {out}.", err=True)
