"""``pppca compare`` and ``rank``: comparison with published numbers and other results, comparison of methods."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from pppca_bench.cli._shared import (
    DATABASE,
    cli,
    configs_argument,
    format_option,
    named_argument,
    notify,
    read_snapshot,
    read_store,
    references_option,
    results_option,
)
from pppca_bench.cli.filling import check_filled, read_named
from pppca_bench.quantities import ERRORS, SCORES
from pppca_bench.runs import Names

if TYPE_CHECKING:
    import pandas as pd

    from pppca_bench.pages.snapshot import Snapshot


@cli.command()
@named_argument
@results_option
@references_option
@format_option("terminal", "json", "csv", "markdown", "latex")
@click.option(
    "--wide", is_flag=True, help="Print all columns, in lines of more than 80 characters."
)
@click.option("--all", "show_all", is_flag=True, help="List also the numbers that were not run.")
@click.option(
    "--scores", is_flag=True, help="Print the scores of whole tables instead of every cell."
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    help="Print the verdicts that differ from those on other results: a results folder, or a file that --record wrote.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit 1 if a repeat of a number differs from the results of --against, or was not run.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1),
    help="Compare so many repeats with the other results [default: all].",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    default=1e-9,
    show_default=True,
    help="Relative difference from the other results, or absolute below 1, that counts as rounding.",
)
@click.option(
    "--record",
    is_flag=True,
    help="Write the repeats of all compared numbers to RESULTS/recorded.csv.xz.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Check each --reference without results: the runs that its configs plan fill its cells, each number has a"
    " rule, and there are placebos.",
)
def compare(
    named: Names,
    results: Path,
    references: tuple[Path, ...],
    form: str,
    wide: bool,
    show_all: bool,
    scores: bool,
    against: Path | None,
    strict: bool,
    repeats: int | None,
    tolerance: float,
    record: bool,
    check: bool,
) -> None:
    """Compare the published numbers with our results.

    The counts of the verdicts come first. Each line has the published number, our mean, the difference and a verdict;
    with --wide also our standard deviation, the 95 % interval of the difference, the margin and notes. CSV and JSON
    have all of these, and the verdicts on the published standard deviations.

    NAMES are configs that were run and identifiers of tables (all by default). With --reference, the package's own
    tables are left out if they have no runs.

    Examples:
      pppca compare cancer1
      pppca compare --scores
      pppca compare --against elsewhere
      pppca compare --reference my_paper --check
    """
    if check:
        _check(references)
        return
    from pppca_bench.pages.changes import render_changes
    from pppca_bench.pages.comparison import (
        render_comparison,
        render_scores,
        render_tally,
        score_frame,
    )
    from pppca_bench.verdicts import recorded

    if strict and against is None:
        raise click.UsageError("--strict needs other results: name them with --against.")
    configs, tables = read_named(results, named)
    with read_store(results) as store:
        snapshot = read_snapshot(store, configs, references=references)
    numbers = _compared(snapshot, tables, results)
    other = _recorded_repeats(against, references) if against else None
    if form in ("csv", "latex") and (scores or against):
        raise click.UsageError(f"--format {form} lists numbers: leave out --scores and --against.")
    if other is not None and not strict:
        changed = recorded.changes(numbers, snapshot.runs, other, repeats)
        click.echo(render_changes(changed, form, snapshot.references))
    elif scores:
        scored = score_frame(numbers, snapshot.references, snapshot.documents)
        counts = "" if form == "json" else f"{render_tally(numbers, form)}\n\n"
        click.echo(counts + render_scores(scored, form))
    else:
        click.echo(render_comparison(numbers, form, show_all=show_all, wide=wide))
        if form in ("terminal", "markdown"):
            _print_claims(snapshot, tables)
    if record:
        path, found = results / recorded.RECORDED, recorded.repeats(numbers, snapshot.runs)
        recorded.write_recorded(found, path)
        notify(f"Wrote {path}.")
    if other is not None and strict:
        differing = recorded.differences(numbers, snapshot.runs, other, repeats, tolerance)
        for location, reason in differing.items():
            notify(f"Differs from {against}: {', '.join(location)} {reason}.")
        if differing:
            sys.exit(1)


def _check(references: tuple[Path, ...]) -> None:
    """Print a line for each reference that works with the runs that its configs plan; raise OwnDataError else."""
    from pppca_bench.cli.references import check_alone
    from pppca_bench.methods.third_party import extend_sys_path
    from pppca_bench.references.reference import read_reference

    if not references:
        raise click.UsageError("--check needs references: name them with --reference.")
    extend_sys_path(references)
    for folder in references:
        click.echo(check_alone(read_reference(folder)))


def _print_claims(snapshot: Snapshot, tables: Names) -> None:
    """Print the answers to the claims that references declare of the named tables, by default of all."""
    from pppca_bench.pages.claim_texts import declared_findings

    for reference in snapshot.references:
        for finding in declared_findings(reference, snapshot.numbers) if reference.claims else ():
            if finding.answer and (not tables or not set(tables).isdisjoint(finding.sources)):
                click.echo(f"\n{finding.claim} ({finding.place})\n{finding.answer}")


def _compared(snapshot: Snapshot, tables: Names, results: Path) -> pd.DataFrame:
    """Return the printed numbers of the named tables, by default of all; with added references only of those run.

    Each number counts once in these tables, whatever the others print.
    """
    from pppca_bench.verdicts.numbers import with_first_places

    numbers = snapshot.numbers
    run = {name for name in snapshot.layouts if snapshot.has_runs(name)}
    if any(reference.is_added for reference in snapshot.references):
        numbers = numbers[numbers["is_added"] | numbers["table"].isin(run)]
    if tables:
        check_filled("table", tables, run, results, snapshot.references)
        numbers = numbers[numbers["table"].isin(tables)]
    return with_first_places(numbers)


def _recorded_repeats(path: Path, references: tuple[Path, ...]) -> pd.DataFrame:
    """Return the repeats of the compared numbers in a results folder, or in a file that ``--record`` wrote."""
    from pppca_bench.verdicts.recorded import RECORDED, read_recorded, repeats

    if (path / DATABASE).exists():
        with read_store(path) as store:
            snapshot = read_snapshot(store, references=references)
        return repeats(snapshot.numbers, snapshot.runs)
    return read_recorded(path / RECORDED if path.is_dir() else path)


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
    from pppca_bench.pages.pair_tables import render_pairs
    from pppca_bench.pages.ranks import render_ranking
    from pppca_bench.results.frames import problems_of, read_runs
    from pppca_bench.verdicts.pairs import compare_pairs
    from pppca_bench.verdicts.ranking import rank as rank_methods

    with read_store(results) as store:
        runs, facts = read_runs(store, configs), store.problems()
    filters = parse_filter(only)
    if only:
        filters.check(runs.cells.values())
        runs = runs.of_cells([n for n, cell in runs.cells.items() if filters.matches(cell)])
    problems = problems_of(runs)
    if within is None and len(problems) == 1:
        (within,) = problems
    if within is None:
        if matters is not None:
            raise click.UsageError(
                "--matters compares methods on one problem: name it with --within."
            )
        click.echo(render_ranking(rank_methods(runs, facts, quantity), form))
        return
    compared = compare_pairs(runs, facts, within, quantity=quantity, matters=matters)
    click.echo(render_pairs(compared, form))
