"""``pppca methods`` and ``pppca rank``: what can be run, and how it compares over problems."""

from __future__ import annotations

from pathlib import Path

import click

from pppca_bench.cli._shared import DATABASE, examples, results_option
from pppca_bench.methods.registry import CLASSIFIERS, METHODS


@click.command(epilog=examples("pppca methods", "pppca methods --format json"))
@click.option("--format", "form", type=click.Choice(("terminal", "markdown", "json")), default="terminal")
def methods(form: str) -> None:
    """List every method and classifier that a config can name, with its source."""
    from tabulate import tabulate

    entries = [*(("method", entry) for entry in METHODS.values()), *(("classifier", e) for e in CLASSIFIERS.values())]
    rows = [
        {"kind": kind, "name": entry.name, "title": entry.title, "does": entry.does, "source": entry.source}
        for kind, entry in entries
    ]
    if form == "json":
        import json

        click.echo(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
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
