"""``pppca report`` and ``rules``: all results on a single HTML page, and how a config was run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pppca_bench.cli._shared import (
    DATABASE,
    FILE,
    complete_experiments,
    examples,
    read_snapshot,
    read_store,
    results_option,
)
from pppca_bench.errors import ConfigError, StoreError
from pppca_bench.files import atomic_write

if TYPE_CHECKING:
    from pppca_bench.reporting.report_card import CardFormat


@click.command(epilog=examples("pppca report", "pppca report --results results/demo --out demo.html"))
@results_option
@click.option("--out", type=FILE, help="File to write [default: RESULTS/report.html].")
def report(results: Path, out: Path | None) -> None:
    """Write all results on a single HTML page.

    The page has findings, tables, figures, ranks, rules and provenance. It needs no other file and no network, and can
    be read without scripts.
    """
    from pppca_bench.reporting.html import render_report

    with read_store(results) as store:
        snapshot = read_snapshot(store)
        if not snapshot.results.cells:
            raise StoreError(f"no runs in {results / DATABASE}: run `pppca run CONFIG` first.")
        page = render_report(snapshot, store, _addresses())
    path = out or results / "report.html"
    atomic_write(path, page)
    click.echo(f"Wrote {path} ({len(page.encode()) / 1e6:.1f} MB).")


@click.command(epilog=examples("pppca rules cancer1", "pppca rules cancer1 --format latex > setup.tex"))
@click.argument("config", shell_complete=complete_experiments)
@results_option
@click.option("--format", "form", type=click.Choice(("markdown", "latex")), default="markdown", show_default=True)
def rules(config: str, results: Path, form: CardFormat) -> None:
    """Describe how CONFIG was run, for a methods section.

    The text follows the eight points of the Proben1 report's checklist for authors. CONFIG is the name of a config that
    was run, or the path of its file.
    """
    from pppca_bench.reporting.report_card import build_card, render_card
    from pppca_bench.reporting.summary import Results

    name = _name_of(config)
    with read_store(results) as store:
        runs = Results(store.runs_by_cell([name]), [name])
        card = build_card(name, runs, store.problems(), _addresses(), store.origins([name]))
    click.echo(render_card(card, form), nl=False)


def _name_of(config: str) -> str:
    """Return a config's name, read from its file where a path is given."""
    if not config.endswith((".yaml", ".yml")):
        return config
    from pppca_bench.documents import read_yaml

    value = read_yaml(Path(config)).value
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(name, str):
        raise ConfigError(f"{config}: expected a config with a name, got none.")
    return name


def _addresses() -> dict[str, str]:
    """Return the sources of the known problems' data."""
    from pppca_bench.problems.registry import PROBEN1_URL, registered

    of_source = {
        "proben1": f"Proben1 ({PROBEN1_URL}, for example cancer/cancer1.dt; the last digit is the variant)",
        "bundled": "the data sets that come with scikit-learn (sklearn.datasets)",
    }
    return {name: of_source[info.source] for name, info in registered().items()}
