"""The ``pppca`` command: parse, call, print, exit code (0 done, 1 something failed, 2 usage or config error).

Heavy imports stand inside the commands, so that ``pppca --help`` answers at once.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pppca_bench import __version__
from pppca_bench.cli.data import data
from pppca_bench.cli.doctor import doctor
from pppca_bench.cli.methods import methods, rank
from pppca_bench.cli.run import run
from pppca_bench.cli.running import DATABASE, results_option
from pppca_bench.cli.study import study
from pppca_bench.errors import ConfigError, PppcaError, StoreError, UnknownNameError

if TYPE_CHECKING:
    from pppca_bench.reporting.figure_data import Figure
    from pppca_bench.reporting.ranking import Ranking
    from pppca_bench.reporting.summary import Results
    from pppca_bench.reporting.table import Table
    from pppca_bench.reporting.table_text import Format
    from pppca_bench.store.database import Store

FORMATS = ("terminal", "markdown", "latex", "csv", "json")

_Folder = click.Path(file_okay=False, path_type=Path)


class _Commands(click.Group):
    """Turn the package's errors into one line and an exit code, whichever command raises them."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PppcaError as error:
            click.echo(f"Error: {error}", err=True)
            ctx.exit(2 if isinstance(error, ConfigError | UnknownNameError) else 1)
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader, such as `head`, has enough: click ends in silence
                raise
            where = f"{error.filename}: " if error.filename else ""
            click.echo(f"Error: {where}{error.strerror}.", err=True)
            ctx.exit(1)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pppca")
def cli() -> None:
    """Reproduce the Proben1 tables of pseudo-PCA: GHA, DGHA and NE-pPCA."""


cli.add_command(run)
cli.add_command(data)
cli.add_command(study)
cli.add_command(doctor)
cli.add_command(methods)
cli.add_command(rank)


def main() -> None:
    """Run the command line."""
    cli(prog_name="pppca")


@cli.command()
@click.argument("configs", nargs=-1)
@results_option
@click.option("--format", "form", type=click.Choice(FORMATS), default="terminal", show_default=True)
@click.option("--out", type=_Folder, help="Write one file a table into this folder instead of printing.")
def tables(configs: tuple[str, ...], results: Path, form: Format, out: Path | None) -> None:
    """Print the slides' tables from the results, beside the published numbers.

    CONFIGS are names of configs that were run (all by default).
    """
    from pppca_bench.reporting.table_text import records
    from pppca_bench.reporting.table_text import render as rendered

    built = _filled(_tables(results, configs))
    if not built:
        raise StoreError(f"no runs in {results / DATABASE}: run `pppca run CONFIG` first.")
    if out is not None:
        _write_tables(built, form, out)
        click.echo(f"Wrote {len(built)} tables to {out}.")
    elif form == "json":
        import json

        click.echo(json.dumps([record for table in built for record in records(table)], indent=1))
    elif form == "csv":
        header, *_ = rendered(built[0], form).splitlines()
        click.echo("\n".join([header, *(line for table in built for line in rendered(table, form).splitlines()[1:])]))
    else:
        click.echo("\n\n".join(rendered(table, form) for table in built), nl=False)


@cli.command()
@results_option
@click.option("--out", type=_Folder, help="Folder to write to [default: RESULTS/figures].")
def figures(results: Path, out: Path | None) -> None:
    """Draw the slides' figures from the results: SVG, PNG, and the plotted numbers as CSV."""
    from pppca_bench.reporting.figure_drawing import write_figures, write_ranking

    _, built, ranking = _everything(results)
    folder = out or results / "figures"
    paths = write_figures(built, folder)
    if ranking is not None:
        paths += write_ranking(ranking, folder)
    click.echo(f"Wrote {len(paths)} files to {folder}.")
    for figure in built:
        if figure.missing:
            click.echo(f"{figure.figure}: not run: {'; '.join(figure.missing)}.", err=True)
    if ranking is None:
        click.echo("F6: not run: no two methods share two data sets (configs/permutations.yaml).", err=True)


@cli.command()
@results_option
def render(results: Path) -> None:
    """Write every table and figure and an index of them, README.md, into the results folder."""
    from pppca_bench.reporting.figure_drawing import write_figures, write_ranking
    from pppca_bench.reporting.index_page import render_index

    all_tables, drawn, ranking = _everything(results)
    built = _filled(all_tables)
    for form in ("markdown", "latex", "csv"):
        _write_tables(built, form, results / "tables")
    n_figures = len(write_figures(drawn, results / "figures")) // 3
    if ranking is not None:
        n_figures += len(write_ranking(ranking, results / "figures")) // 3
    (results / "README.md").write_text(render_index(all_tables, drawn, ranking), encoding="utf-8")
    click.echo(f"Wrote {len(built)} tables, {n_figures} figures and their index to {results}.")


@cli.command()
@click.argument("configs", nargs=-1)
@results_option
@click.option("--format", "form", type=click.Choice(("terminal", "json", "markdown")), default="terminal")
@click.option("--scores", is_flag=True, help="Print the scores of whole tables instead of every cell.")
@click.option("--strict", is_flag=True, help="Exit 1 if a cell is worse than recorded in the baseline, or not run.")
@click.option("--baseline", type=click.Path(dir_okay=False, path_type=Path), help="[default: RESULTS/baseline.json]")
@click.option("--record", is_flag=True, help="Write the baseline from these results.")
def compare(
    configs: tuple[str, ...],
    results: Path,
    form: str,
    scores: bool,
    strict: bool,
    baseline: Path | None,
    record: bool,
) -> None:
    """Compare every published number with ours: mean, sd, 95 % interval, difference and verdict.

    CONFIGS are names of configs that were run (all by default).
    """
    from pppca_bench.reporting import comparison
    from pppca_bench.reporting import regression as recorded

    built = _tables(results, configs)
    compared = comparison.compare(built)
    click.echo(comparison.render_scores(built, form) if scores else comparison.render(compared, form))
    path = baseline or results / "baseline.json"
    if record:
        recorded.write_baseline(recorded.record(built), path)
        click.echo(f"Wrote {path}.", err=True)
    if strict:
        worse = recorded.regressions(built, recorded.read_baseline(path))
        for regression in worse:
            click.echo(f"Worse than recorded: {', '.join(regression.place)} {regression.reason}.", err=True)
        if worse:
            sys.exit(1)


def _tables(results: Path, configs: Sequence[str]) -> list[Table]:
    from pppca_bench.store.database import Store

    with Store(results / DATABASE, read_only=True) as store:
        return _built(store, configs)[0]


def _everything(results: Path) -> tuple[list[Table], list[Figure], Ranking | None]:
    from pppca_bench.references.reference import own_references
    from pppca_bench.reporting.figure_data import build_figures
    from pppca_bench.reporting.ranking import rank
    from pppca_bench.store.database import Store

    with Store(results / DATABASE, read_only=True) as store:
        tables, found = _built(store, ())
        figures = build_figures(found, store, tables, own_references())
        runs, facts = store.runs(), store.problems()
    try:
        return tables, figures, rank(runs, facts)
    except StoreError:  # nothing that could be ranked was run
        return tables, figures, None


def _built(store: Store, configs: Sequence[str]) -> tuple[list[Table], Results]:
    from pppca_bench.references.reference import own_references
    from pppca_bench.reporting.summary import Results
    from pppca_bench.reporting.tables import build_tables

    found = Results(store.runs(configs or None), store.plans(configs or None))
    named = {cell.problem for cell in found.cells}
    facts = {name: fact for name, fact in store.problems().items() if name in named}
    return build_tables(found, facts, own_references()), found


def _filled(tables: Sequence[Table]) -> list[Table]:
    return [table for table in tables if table.was_run]


def _write_tables(tables: Sequence[Table], form: Format, folder: Path) -> None:
    from pppca_bench.reporting.table_text import EXTENSIONS
    from pppca_bench.reporting.table_text import render as rendered

    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        (folder / f"{table.id}.{EXTENSIONS[form]}").write_text(rendered(table, form), encoding="utf-8")
