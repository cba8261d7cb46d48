"""``pppca methods`` and ``pppca rank``: what can be run, and how it compares over problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pppca_bench.cli._shared import DATABASE, examples, results_option
from pppca_bench.errors import ConfigError, UnknownNameError, nearest

if TYPE_CHECKING:
    from pppca_bench.methods.entry import Entry


@click.command(epilog=examples("pppca methods", "pppca methods dgha", "pppca methods sklearn.svm:SVC --format json"))
@click.argument("name", required=False)
@click.option("--format", "form", type=click.Choice(("terminal", "markdown", "json")), default="terminal")
def methods(name: str | None, form: str) -> None:
    """List every method and classifier that a config can name, with its source.

    With NAME, which may be the module:Class of another package, list its parameters and their defaults.
    """
    from pppca_bench.methods.foreign import search_also
    from pppca_bench.methods.lookup import classifier_names, find_classifier, find_method, method_names

    search_also([Path.cwd()])
    if name is not None:
        _print_parameters(_found(name, {"method": find_method, "classifier": find_classifier}), form)
        return
    named = [("method", find_method, method_names()), ("classifier", find_classifier, classifier_names())]
    rows = []
    for kind, find, names in named:
        for one in names:
            try:
                rows.append({"kind": kind, **_described(find(one))})
            except ConfigError as error:  # of an entry point, which takes nothing from the others
                click.echo(str(error), err=True)
    _print(rows, form)


def _found(name: str, finders: Mapping[str, Callable[[str], Entry]]) -> dict[str, Entry]:
    """Return what a name stands for, as a method, as a classifier, or as both."""
    from pppca_bench.methods.lookup import classifier_names, method_names

    found, refusals = dict[str, Any](), list[ConfigError]()
    for kind, find in finders.items():
        try:
            found[kind] = find(name)
        except UnknownNameError:
            continue
        except ConfigError as error:
            refusals.append(error)
    if not found and refusals:
        raise refusals[0]
    if not found:
        hint = nearest(name, [*method_names(), *classifier_names()])
        raise UnknownNameError(f"expected a name that `pppca methods` prints, or module:Class, got {name!r}{hint}.")
    return found


def _described(entry: Entry) -> dict[str, str]:
    return {"name": entry.name, "title": entry.title, "does": entry.does, "source": entry.source}


def _print_parameters(found: Mapping[str, Entry], form: str) -> None:
    """Print what an entry is and what a config may set of it."""
    from pppca_bench.methods.sections import parameters_told

    told = {kind: parameters_told(entry) for kind, entry in found.items()}
    if form == "json":
        facts = {kind: {**_described(entry), "estimator": entry.estimator} for kind, entry in found.items()}
        _print([{"kind": kind, **facts[kind], "parameters": rows} for kind, rows in told.items()], form)
        return
    for kind, entry in found.items():
        click.echo(f"{kind} {entry.name}: {entry.title}. {entry.does} ({entry.source}).")
        click.echo(f"{entry.estimator}, version {entry.version}\n")
        _print(told[kind], form)
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


@click.command(epilog=examples("pppca rank", "pppca rank proben1_pivot proben1_no_shortcuts proben1_linear"))
@click.argument("configs", nargs=-1)
@results_option
@click.option("--format", "form", type=click.Choice(("terminal", "markdown", "json")), default="terminal")
def rank(configs: tuple[str, ...], results: Path, form: str) -> None:
    """Rank methods by test error: Friedman's test, critical difference, paired Wilcoxon tests with Holm's correction.

    Ranked are the methods that were run on all of the most problems that two or more were run on; one with other
    parameters, or before another classifier, is another method. CONFIGS are names of configs that were run (all by
    default).
    """
    from pppca_bench.reporting import ranking
    from pppca_bench.store.database import Store

    with Store(results / DATABASE, read_only=True) as store:
        runs, facts = store.runs(configs or None), store.problems()
    click.echo(ranking.render(ranking.rank(runs, facts), form))
