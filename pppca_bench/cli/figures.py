"""``pppca figures``: drawings of the figures and of tables of means."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pppca_bench.cli._shared import (
    DATABASE,
    FOLDER,
    Command,
    cli,
    notify,
    read_snapshot,
    read_store,
    references_option,
    results_option,
)
from pppca_bench.cli.filling import check_filled, configs_filling
from pppca_bench.errors import StoreError, UnknownNameError
from pppca_bench.runs import Names

if TYPE_CHECKING:
    from pppca_bench.pages.snapshot import Snapshot


class FiguresCommand(Command):
    """Command whose help lists the figures of the installed references."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the figures, then the examples."""
        from pppca_bench.references.reference import installed_references

        titles = dict[str, str]()
        for reference in installed_references():
            titles |= {layout.id: layout.title for layout in reference.figures}
            titles |= {spec.id: spec.title for spec in reference.rankings}
            if reference.parts:
                titles[reference.parts_figure] = "Published against ours"
        if titles:
            with formatter.section(
                "Figures of the installed references, beside those of their modules"
            ):
                formatter.write_dl(sorted(titles.items()))
        super().format_epilog(ctx, formatter)


@cli.command(cls=FiguresCommand)
@click.argument("names", nargs=-1, metavar="[FIGURES]...")
@results_option
@references_option
@click.option("--out", type=FOLDER, help="Folder to write to [default: RESULTS/figures].")
def figures(results: Path, references: tuple[Path, ...], names: Names, out: Path | None) -> None:
    """Draw the figures: SVG, PNG, and the plotted numbers as CSV.

    FIGURES are identifiers of figures, or of tables of means: T5 draws our means with their intervals beside the
    published numbers. By default, all figures and the tables of --reference are drawn. Of own data, scores are drawn
    by method, scores by number of features, and the confusion matrix of the best method.

    Examples:
      pppca figures
      pppca figures F5 T5
      pppca figures scores
      pppca figures --out manuscript/figures
    """
    from pppca_bench.pages.figure_drawing import write_drawings, write_figures
    from pppca_bench.pages.own_data import own_results, snapshots_by_config

    folder = out or results / "figures"
    if not (results / DATABASE).exists():
        check_filled("figure", filter(configs_filling, names), (), results)
    with read_store(results) as store:
        snapshot = read_snapshot(store, references=references)
        drawn, rankings = snapshot.figures(store), snapshot.rankings()
        by_config = snapshots_by_config(snapshot, store) if snapshot.is_own else {}
        of_problems = own_results(by_config, store)
    own = [figure for result in of_problems for figure in result.figures]
    known = [figure.figure for figure in drawn if figure.panels]
    known += [spec.id for spec, _ in rankings] + [figure.id for figure in own]
    of_references = [] if names else _tables_of_references(snapshot)
    drawn += [snapshot.figure_of(name) for name in of_references]
    if names:
        tables_ = _drawable_tables(snapshot, [name for name in names if name not in known])
        check_filled("figure", names, [*known, *tables_], results, snapshot.references)
        own = [figure for figure in own if figure.id in names]
        drawn = [figure for figure in drawn if figure.figure in names]
        drawn += [snapshot.figure_of(name) for name in tables_]
        rankings = [(spec, ranking) for spec, ranking in rankings if spec.id in names]
    paths = write_figures(drawn, rankings, folder)
    paths += write_drawings([(one.id, one.images(), one.numbers) for one in own], folder)
    if paths:
        click.echo(f"Wrote {len(paths)} files to {folder}.")
    if own and not references:
        return
    lacking = {figure.figure: "; ".join(figure.missing) for figure in drawn}
    ranked = [spec for spec, _ in rankings]
    for spec in snapshot.ranking_specs:
        if spec.missing and spec not in ranked and not names:
            lacking[spec.id] = f"{spec.missing} (configs/{spec.configs[0]}.yaml)"
    wanted = set[str]()
    for reference in snapshot.references:
        if reference.is_added:
            wanted |= {figure.id for figure in reference.figures}
            wanted |= {spec.id for spec in reference.rankings}
            wanted.add(reference.parts_figure)
    for name, missing in lacking.items():
        if missing and (name in names or not references or name in wanted):
            notify(f"{name}: not run: {missing}.")
    if not paths:
        raise StoreError(f"{results}: expected runs that a figure shows, got none.")


def _tables_of_references(snapshot: Snapshot) -> list[str]:
    """Return the tables of user-defined references that can be drawn."""
    found = []
    for name, source in snapshot.sources.items():
        if source.is_added and snapshot.has_runs(name) and snapshot.can_be_drawn(name):
            found.append(name)
    return found


def _drawable_tables(snapshot: Snapshot, names: Sequence[str]) -> list[str]:
    """Return the tables with runs among some names; raise UnknownNameError for a table without means of runs."""
    tables = [name for name in snapshot.names if name in names and snapshot.has_runs(name)]
    for name in tables:
        if not snapshot.can_be_drawn(name):
            drawable = [other for other in snapshot.with_runs if snapshot.can_be_drawn(other)]
            raise UnknownNameError(
                f"table {name} has no means of runs to draw: expected one of {', '.join(drawable) or 'none yet'}, or a"
                " figure that `pppca figures --help` lists."
            )
    return tables
