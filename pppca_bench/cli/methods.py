"""``pppca methods`` and ``pppca rank``: methods, classifiers and their comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from pppca_bench.cli._shared import DATABASE, examples, results_option
from pppca_bench.errors import ConfigError, UnknownNameError, nearest

if TYPE_CHECKING:
    from pppca_bench.methods.entry import Entry
    from pppca_bench.reporting.pairs import Pairs
    from pppca_bench.runs import Cell, ProblemFacts
    from pppca_bench.store.columns import CellRuns


@click.command(epilog=examples("pppca methods", "pppca methods dgha", "pppca methods sklearn.svm:SVC --format json"))
@click.argument("name", required=False)
@click.option("--format", "form", type=click.Choice(("terminal", "markdown", "json")), default="terminal")
def methods(name: str | None, form: str) -> None:
    """List the methods and classifiers that a config can name.

    With NAME, list its parameters and their defaults. NAME may also be the module:Class of another package.
    """
    from pppca_bench.methods.lookup import classifier_names, find_classifier, find_method, method_names, search_also

    search_also([Path.cwd()])
    finders = {"method": (find_method, method_names()), "classifier": (find_classifier, classifier_names())}
    if name is not None:
        _print_parameters(_entries(name, finders), form)
        return
    rows = []
    for kind, (find, names) in finders.items():
        for listed in names:
            try:
                rows.append({"kind": kind, **_described(find(listed))})
            except ConfigError as error:  # a broken entry point; the others are listed
                click.echo(str(error), err=True)
    _print(rows, form)


def _entries(name: str, finders: Mapping[str, tuple[Callable[[str], Entry], list[str]]]) -> dict[str, Entry]:
    """Return the entries of a name, which may be that of a method, a classifier, or both."""
    entries, refusals = dict[str, Any](), list[ConfigError]()
    for kind, (find, _) in finders.items():
        try:
            entries[kind] = find(name)
        except UnknownNameError:
            continue
        except ConfigError as error:
            refusals.append(error)
    if not entries and refusals:
        raise refusals[0]
    if not entries:
        hint = nearest(name, [known for _, names in finders.values() for known in names])
        raise UnknownNameError(f"expected a name that `pppca methods` prints, or module:Class, got {name!r}{hint}.")
    return entries


def _described(entry: Entry) -> dict[str, str]:
    return {"name": entry.name, "title": entry.title, "does": entry.does, "source": entry.source}


def _print_parameters(entries: Mapping[str, Entry], form: str) -> None:
    """Print the description of entries and their parameters in a config."""
    from pppca_bench.methods.sections import describe_parameters

    if form == "json":
        rows = [
            {"kind": kind, **_described(entry), "estimator": entry.estimator, "parameters": describe_parameters(entry)}
            for kind, entry in entries.items()
        ]
        _print(rows, form)
        return
    for kind, entry in entries.items():
        click.echo(f"{kind} {entry.name}: {entry.title}. {entry.does} ({entry.source}).")
        click.echo(f"{entry.estimator}, version {entry.version}\n")
        _print(describe_parameters(entry), form)
        if entry.foreign:
            click.echo("\nIn a config its parameters stand under `parameters:`.")
        click.echo()


def _print(rows: Sequence[Mapping[str, Any]], form: str) -> None:
    if form == "json":
        import json

        click.echo(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        from tabulate import tabulate

        click.echo(tabulate(rows, headers="keys", tablefmt="pipe" if form == "markdown" else "simple"))


@click.command(
    epilog=examples(
        "pppca rank",
        "pppca rank proben1_pivot proben1_no_shortcuts proben1_linear",
        "pppca rank cancer1 --only data_fraction=100",
        "pppca rank --within heart1 --matters 2",
    )
)
@click.argument("configs", nargs=-1)
@results_option
@click.option("--within", metavar="PROBLEM", help="Compare methods on this problem alone [default: the only problem].")
@click.option("--matters", type=click.FloatRange(min=0), help="Difference that matters [default: 1 point of percent].")
@click.option("--quantity", default="test_error_percent", show_default=True, help="Quantity to compare on one problem.")
@click.option("--only", multiple=True, metavar="KEY=VALUE,…", help="Take only these runs, as in `pppca run`.")
@click.option("--format", "form", type=click.Choice(("terminal", "markdown", "json")), default="terminal")
def rank(
    configs: tuple[str, ...],
    results: Path,
    within: str | None,
    matters: float | None,
    quantity: str,
    only: tuple[str, ...],
    form: Literal["terminal", "markdown", "json"],
) -> None:
    """Rank methods by test error, or compare them on one problem.

    Over several problems, it prints Friedman's test, the critical difference, and paired Wilcoxon tests with Holm's
    correction. The ranking uses the largest set of problems that two or more methods share, and all methods that were
    run on each of them. A method with other parameters, or before another classifier, counts as another method.
    CONFIGS are names of configs that were run (all by default).

    On one problem, methods are compared in pairs, at equal tau and at equal dimensionality. Each line has the
    difference, its 95 % interval, p with Holm's correction, and whether it exceeds the difference that matters. The
    test is the corrected resampled t-test over several splits, and Wilcoxon's over the seeds of one split.
    """
    from pppca_bench.config.overrides import parse_only
    from pppca_bench.reporting import ranking
    from pppca_bench.reporting.pairs import render_pairs
    from pppca_bench.store.database import Store

    with Store(results / DATABASE, read_only=True) as store:
        every, facts = store.runs_by_cell(configs or None), store.problems()
    asked = parse_only(only)
    if only:
        asked.check(every)
    cells = {cell: runs for cell, runs in every.items() if asked.takes(cell)}
    problems = list(dict.fromkeys(cell.problem for cell in cells))
    if within is None and len(problems) != 1:
        if matters is not None or quantity != "test_error_percent":
            raise click.UsageError("--matters and --quantity compare methods on one problem: name it with --within.")
        click.echo(ranking.render(ranking.rank(cells, facts), form))
        return
    click.echo(render_pairs(_compared(cells, facts, within or problems[0], quantity, matters), form))


def _compared(
    cells: Mapping[Cell, CellRuns],
    facts: Mapping[str, ProblemFacts],
    problem: str,
    quantity: str,
    matters: float | None,
) -> Pairs:
    """Compare methods on one problem; only percents have a difference that matters by default."""
    from pppca_bench.reporting.pairs import compare_pairs
    from pppca_bench.runs import SCORES

    known = ["test_error_percent", "test_squared_error_percent", *SCORES]
    if quantity not in known:
        expected = f"expected one of {', '.join(known)}, got {quantity!r}{nearest(quantity, known)}."
        raise click.UsageError(f"--quantity: {expected}")
    if matters is None and not quantity.endswith("_percent"):
        raise click.UsageError(f"{quantity} has no difference that matters by default: give it with --matters.")
    return compare_pairs(cells, facts, problem, quantity=quantity, matters=1.0 if matters is None else matters)
