"""``pppca compare`` and ``rank``: comparison with published numbers and a baseline, comparison of methods."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from pppca_bench.cli._shared import (
    FILE,
    cli,
    configs_argument,
    format_option,
    named_argument,
    notify,
    own_command,
    read_snapshot,
    read_store,
    references_option,
    results_option,
)
from pppca_bench.cli.filling import check_filled, read_named
from pppca_bench.quantities import ERRORS, SCORES
from pppca_bench.runs import Names


@cli.command()
@named_argument
@results_option
@references_option
@format_option("terminal", "json", "markdown")
@click.option("--all", "show_all", is_flag=True, help="List also the numbers that were not run.")
@click.option(
    "--scores", is_flag=True, help="Print the scores of whole tables instead of every cell."
)
@click.option(
    "--against", type=FILE, help="Print the verdicts that differ from those on this baseline."
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit 1 if a repeat of a cell differs from the baseline, or was not run.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1),
    help="Compare so many repeats with the baseline [default: all].",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    default=1e-9,
    show_default=True,
    help="Relative difference from the baseline, or absolute below 1, that counts as rounding.",
)
@click.option("--baseline", type=FILE, help="[default: RESULTS/baseline.json]")
@click.option("--record", is_flag=True, help="Write the baseline from these results.")
@click.option("--force", is_flag=True, help="Record fewer cells than the baseline has.")
def compare(
    named: Names,
    results: Path,
    references: tuple[Path, ...],
    form: str,
    show_all: bool,
    scores: bool,
    against: Path | None,
    strict: bool,
    repeats: int | None,
    tolerance: float,
    baseline: Path | None,
    record: bool,
    force: bool,
) -> None:
    """Compare the published numbers with our results.

    Each line has our mean, standard deviation, 95 % interval, the difference and a verdict.

    NAMES are configs that were run and tables, such as T5 (all by default). With --reference, the package's own tables
    are left out if they have no runs.

    Examples:
      pppca compare cancer1
      pppca compare T5
      pppca compare --scores
    """
    from pppca_bench.reporting import baseline as recorded
    from pppca_bench.reporting import comparison

    configs, tables = read_named(results, named)
    with read_store(results) as store:
        snapshot = read_snapshot(store, configs, references=references)
    names = {folder.resolve().name for folder in references}
    added = [each for each in snapshot.of_means if each.reference and each.reference.name in names]
    packaged = [table for table in snapshot.of_means if not references or table.has_runs]
    packaged = [each for each in packaged if not each.reference or each.reference.name not in names]
    if tables:
        filled = [table.id for table in (*packaged, *added) if table.has_runs]
        check_filled("table", tables, filled, results, snapshot.references)
        packaged, added = (
            [each for each in built if each.id in tables] for built in (packaged, added)
        )
    built = [*packaged, *added]
    # A number of an added reference counts, although the package's print it for the same runs.
    compared = comparison.compare(packaged) + comparison.compare(added)
    if against:
        click.echo(
            recorded.render_changes(
                recorded.changes(built, recorded.read_baseline(against), repeats), form
            )
        )
    elif scores:
        counts = "" if form == "json" else f"\n\n{comparison.tally(compared)}"
        click.echo(comparison.render_scores(built, form, snapshot.of_texts) + counts)
    else:
        click.echo(comparison.render_comparisons(compared, form, show_all=show_all))
    path = baseline or results / "baseline.json"
    if record:
        recorded.write_baseline(recorded.record(built), path, force=force)
        notify(f"Wrote {path}.")
    if strict:
        cells = recorded.read_baseline(path, own_command("--strict", "--record"))
        differing = recorded.differences(built, cells, repeats, tolerance)
        for location, reason in differing.items():
            notify(f"Differs from the baseline: {', '.join(location)} {reason}.")
        if differing:
            sys.exit(1)


@cli.command()
@configs_argument
@results_option
@click.option(
    "--within",
    metavar="PROBLEM",
    help="Compare methods on this problem alone [default: the only problem].",
)
@click.option(
    "--matters",
    type=click.FloatRange(min=0),
    help="Difference that matters [default: 1 percentage point, or 0.01 of log_loss and r2].",
)
@click.option(
    "--quantity",
    type=click.Choice((*ERRORS, *SCORES)),
    help="Error or score to compare [default: the error of the problems' task or, on one problem, the score that runs"
    " choose by].",
)
@click.option(
    "--only", multiple=True, metavar="KEY=VALUE,…", help="Take only these runs, as in `pppca run`."
)
@format_option("terminal", "markdown", "json")
def rank(
    configs: Names,
    results: Path,
    within: str | None,
    matters: float | None,
    quantity: str | None,
    only: Names,
    form: Literal["terminal", "markdown", "json"],
) -> None:
    """Rank methods by test error or a score, or compare them on one problem.

    Over several problems, it prints Friedman's test, the critical difference, and paired Wilcoxon tests with Holm's
    correction. The ranking uses the largest set of problems that two or more methods share, and all methods that were
    run on each of them. A method with other parameters, or before another classifier, counts as another method.
    CONFIGS are names of configs that were run (all by default).

    On one problem, methods are compared in pairs, at equal tau and at equal dimensionality. Each line has the
    difference, its 95 % interval, p with Holm's correction, and whether it exceeds the difference that matters. The
    test is the corrected resampled t-test over several splits, and Wilcoxon's over the seeds of one split.

    Examples:
      pppca rank
      pppca rank proben1_pivot proben1_no_shortcuts proben1_linear
      pppca rank cancer1 --only data_fraction=100
      pppca rank --within heart1 --matters 2
    """
    from pppca_bench.config.overrides import parse_filter
    from pppca_bench.reporting import pairs, ranking
    from pppca_bench.reporting.summary import split_by_cell

    with read_store(results) as store:
        every, facts = split_by_cell(*store.read(configs or None)), store.problems()
    filters = parse_filter(only)
    if only:
        filters.check(every)
    cells = {cell: runs for cell, runs in every.items() if filters.matches(cell)}
    if within is None and len(problems := {cell.problem for cell in cells}) == 1:
        (within,) = problems
    if within is None:
        if matters is not None:
            raise click.UsageError(
                "--matters compares methods on one problem: name it with --within."
            )
        click.echo(ranking.render_ranking(ranking.rank(cells, facts, quantity), form))
        return
    compared = pairs.compare_pairs(cells, facts, within, quantity=quantity, matters=matters)
    click.echo(pairs.render_pairs(compared, form))
