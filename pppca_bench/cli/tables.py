"""``pppca tables``, ``figures`` and ``render``: what was run, beside the published numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pppca_bench.cli._shared import DATABASE, FILE, FOLDER, read_snapshot, results_option
from pppca_bench.errors import StoreError

if TYPE_CHECKING:
    from pppca_bench.reporting.figure_data import Figure
    from pppca_bench.reporting.ranking import Contest, Ranking
    from pppca_bench.reporting.sheet import Sheet
    from pppca_bench.reporting.snapshot import Snapshot
    from pppca_bench.reporting.table import Table
    from pppca_bench.reporting.table_text import Format

FORMATS = ("terminal", "markdown", "latex", "csv", "json")


@click.command()
@click.argument("configs", nargs=-1)
@results_option
@click.option("--format", "form", type=click.Choice(FORMATS), default="terminal", show_default=True)
@click.option("--out", type=FOLDER, help="Write one file a table into this folder instead of printing.")
def tables(configs: tuple[str, ...], results: Path, form: Format, out: Path | None) -> None:
    """Print the slides' and the report's tables from the results, beside the published numbers.

    CONFIGS are names of configs that were run (all by default).
    """
    from pppca_bench.reporting.document import records_of, rendered, together_as_csv

    built = read_snapshot(results, configs).filled
    if not built:
        raise StoreError(f"no runs in {results / DATABASE}: run `pppca run CONFIG` first.")
    if out is not None:
        _write_tables(built, form, out)
        click.echo(f"Wrote {len(built)} tables to {out}.")
    elif form == "json":
        import json

        click.echo(json.dumps([record for table in built for record in records_of(table)], indent=1))
    elif form == "csv":
        click.echo(together_as_csv(built), nl=False)
    else:
        click.echo("\n\n".join(rendered(table, form) for table in built), nl=False)


@click.command()
@results_option
@click.option("--out", type=FOLDER, help="Folder to write to [default: RESULTS/figures].")
def figures(results: Path, out: Path | None) -> None:
    """Draw the slides' figures from the results: SVG, PNG, and the plotted numbers as CSV."""
    from pppca_bench.reporting.figure_drawing import write_figures, write_ranking
    from pppca_bench.reporting.ranking import CONTESTS

    _, built, rankings = _with_figures(results)
    folder = out or results / "figures"
    paths = write_figures(built, folder)
    for contest, ranking in rankings:
        paths += write_ranking(contest, ranking, folder)
    click.echo(f"Wrote {len(paths)} files to {folder}.")
    for figure in built:
        if figure.missing:
            click.echo(f"{figure.figure}: not run: {'; '.join(figure.missing)}.", err=True)
    for contest in CONTESTS:
        if contest.missing and contest not in [one for one, _ in rankings]:
            click.echo(f"{contest.id}: not run: {contest.missing} (configs/{contest.configs[0]}.yaml).", err=True)


@click.command()
@results_option
@click.option("--findings", type=FILE, help="What holds of the slides' claims [default: RESULTS/findings.md].")
def render(results: Path, findings: Path | None) -> None:
    """Write every table and figure, an index of them, README.md, and findings.md into the results folder."""
    from pppca_bench.reporting.figure_drawing import write_figures, write_ranking
    from pppca_bench.reporting.index_page import render_index

    snapshot, drawn, rankings = _with_figures(results)
    built = snapshot.filled
    for form in ("markdown", "latex", "csv"):
        _write_tables(built, form, results / "tables")
    n_figures = len(write_figures(drawn, results / "figures")) // 3
    for contest, ranking in rankings:
        n_figures += len(write_ranking(contest, ranking, results / "figures")) // 3
    (results / "README.md").write_text(
        render_index(snapshot.tables, drawn, rankings, snapshot.sheets), encoding="utf-8"
    )
    page = findings or results / "findings.md"
    _write_findings(snapshot, drawn, rankings, results, page)
    click.echo(f"Wrote {len(built)} tables, {n_figures} figures and their index to {results}, and {page}.")


def _write_findings(
    snapshot: Snapshot,
    figures: Sequence[Figure],
    rankings: Sequence[tuple[Contest, Ranking]],
    results: Path,
    page: Path,
) -> None:
    import os

    from pppca_bench.reporting.findings import Evidence, find, render_findings

    tables = {table.id: table for table in snapshot.tables}
    claims = {part: method for one in snapshot.references for part, method in one.claims.items()}
    evidence = Evidence(snapshot.results, snapshot.facts, tables, {one.figure: one for one in figures}, claims)
    files = {one.id: results / "tables" / f"{one.id}.md" for one in snapshot.filled}
    files |= {one.figure: results / "figures" / f"{one.figure}.svg" for one in figures if one.panels}
    files |= {contest.id: results / "figures" / f"{contest.id}.svg" for contest, _ in rankings}
    links = {name: Path(os.path.relpath(file, page.parent)).as_posix() for name, file in files.items()}
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(render_findings(find(evidence), links), encoding="utf-8")


def _with_figures(results: Path) -> tuple[Snapshot, list[Figure], list[tuple[Contest, Ranking]]]:
    from pppca_bench.references.reference import own_references
    from pppca_bench.reporting.snapshot import take_snapshot
    from pppca_bench.store.database import Store

    with Store(results / DATABASE, read_only=True) as store:
        snapshot = take_snapshot(store, own_references())
        return snapshot, snapshot.figures(store), snapshot.rankings()


def _write_tables(tables: Sequence[Table | Sheet], form: Format, folder: Path) -> None:
    from pppca_bench.reporting.document import rendered
    from pppca_bench.reporting.table_text import EXTENSIONS

    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        (folder / f"{table.id}.{EXTENSIONS[form]}").write_text(rendered(table, form), encoding="utf-8")
