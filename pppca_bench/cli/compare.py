"""Command ``pppca compare``: our results against the published numbers and a recorded baseline."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pppca_bench.cli._shared import examples, read_snapshot, references_option, results_option

if TYPE_CHECKING:
    from pppca_bench.reporting.table import Table


@click.command(epilog=examples("pppca compare cancer1", "pppca compare --scores", "pppca compare --strict"))
@click.argument("configs", nargs=-1)
@results_option
@references_option
@click.option("--format", "form", type=click.Choice(("terminal", "json", "markdown")), default="terminal")
@click.option("--all", "show_all", is_flag=True, help="List the numbers that were not run, too.")
@click.option("--scores", is_flag=True, help="Print the scores of whole tables instead of every cell.")
@click.option("--strict", is_flag=True, help="Exit 1 if a cell is worse than recorded in the baseline, or not run.")
@click.option("--baseline", type=click.Path(dir_okay=False, path_type=Path), help="[default: RESULTS/baseline.json]")
@click.option("--record", is_flag=True, help="Write the baseline from these results.")
@click.option("--force", is_flag=True, help="Record fewer cells than the baseline has.")
def compare(
    configs: tuple[str, ...],
    results: Path,
    references: tuple[Path, ...],
    form: str,
    show_all: bool,
    scores: bool,
    strict: bool,
    baseline: Path | None,
    record: bool,
    force: bool,
) -> None:
    """Compare the published numbers with ours, as far as they were run.

    Each line has our mean, standard deviation, 95 % interval, the difference and a verdict.

    CONFIGS are names of configs that were run (all by default). With --reference, the package's own tables are left
    out where nothing of them was run.
    """
    from pppca_bench.reporting import baseline as recorded
    from pppca_bench.reporting import comparison

    snapshot = read_snapshot(results, configs, references=references)
    built = [table for table in snapshot.of_means if not references or table.was_run or _is_added(table, references)]
    compared = comparison.compare(built)
    click.echo(
        comparison.render_scores(built, form, snapshot.of_texts)
        if scores
        else comparison.render(compared, form, show_all=show_all)
    )
    path = baseline or results / "baseline.json"
    if record:
        recorded.write_baseline(recorded.record(built), path, force=force)
        click.echo(f"Wrote {path}.", err=True)
    if strict:
        worse = recorded.regressions(built, recorded.read_baseline(path))
        for regression in worse:
            click.echo(f"Worse than recorded: {', '.join(regression.place)} {regression.reason}.", err=True)
        if worse:
            sys.exit(1)


def _is_added(table: Table, references: Sequence[Path]) -> bool:
    return table.reference is not None and table.reference.name in {folder.resolve().name for folder in references}
