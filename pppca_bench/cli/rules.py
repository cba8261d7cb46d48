"""Command ``pppca rules``: how a config was run, by the checklist for authors of the Proben1 report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from pppca_bench.cli._shared import DATABASE, examples, results_option
from pppca_bench.cli.completion import complete_experiments
from pppca_bench.errors import ConfigError

if TYPE_CHECKING:
    from pppca_bench.reporting.report_card import CardFormat


@click.command(epilog=examples("pppca rules cancer1", "pppca rules cancer1 --format latex > setup.tex"))
@click.argument("config", shell_complete=complete_experiments)
@results_option
@click.option("--format", "form", type=click.Choice(("markdown", "latex")), default="markdown", show_default=True)
def rules(config: str, results: Path, form: str) -> None:
    """Describe how CONFIG was run, for a methods section.

    The text follows the eight points of the Proben1 report's checklist for authors. CONFIG is the name of a config that
    was run, or the path of its file.
    """
    from pppca_bench.reporting.report_card import build_card, render_card
    from pppca_bench.reporting.summary import Results
    from pppca_bench.store.database import Store

    name = _name_of(config)
    with Store(results / DATABASE, read_only=True) as store:
        found = Results(store.runs_by_cell([name]), [name])
        card = build_card(name, found, store.problems(), addresses(), store.origins([name]))
    click.echo(render_card(card, cast("CardFormat", form)), nl=False)


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


def addresses() -> dict[str, str]:
    """Return where the known problems' data come from."""
    from pppca_bench.problems.registry import PROBEN1_URL, registered

    of_source = {
        "proben1": f"Proben1 ({PROBEN1_URL}, for example cancer/cancer1.dt; the last digit is the variant)",
        "bundled": "the data sets that come with scikit-learn (sklearn.datasets)",
    }
    return {name: of_source[info.source] for name, info in registered().items()}
