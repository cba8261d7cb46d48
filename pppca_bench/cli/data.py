"""The ``pppca data`` commands: list and describe problems, export the Proben1 files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from pppca_bench.cli._shared import FOLDER, cli, completion, data_option
from pppca_bench.errors import OwnDataError


@cli.group()
def data() -> None:
    """List and describe problems, export the Proben1 files.

    Examples:
      pppca data list
      pppca data export proben1
    """


@data.command("list")
@data_option
def data_list(data_dir: Path | None) -> None:
    """List every problem: its task, sizes and the source of its data.

    Examples:
      pppca data list
    """
    from tabulate import tabulate

    from pppca_bench import problems
    from pppca_bench.problems.uci import uci_sets

    rows = []
    for info in problems.registered().values():
        user_file = problems.find_file(info.name, data_dir) if info.source == "proben1" else None
        source = user_file or ("packaged" if info.source == "proben1" else "scikit-learn")
        sizes = f"{info.n_train} / {info.n_validation} / {info.n_test}"
        rows.append([info.name, info.task, info.n_features, info.n_outputs, sizes, source])
    for uci in uci_sets().values():
        sizes = f"{uci.n_rows}, split by the config"
        rows.append(
            [f"uci:{uci.name}", "classification", uci.n_inputs, uci.n_classes, sizes, "packaged"]
        )
    headers = ["problem", "task", "features", "outputs", "train / validation / test", "data"]
    click.echo(tabulate(rows, headers, tablefmt="simple"))


def _proben1() -> Iterable[str]:
    from pppca_bench.problems import known_problems

    return known_problems("proben1")


@data.command("export")
@click.argument("folder", type=FOLDER)
@click.argument("names", nargs=-1, shell_complete=completion(_proben1))
def data_export(folder: Path, names: tuple[str, ...]) -> None:
    """Write the packaged Proben1 files (all by default) into FOLDER, as they were published.

    Examples:
      pppca data export proben1
      pppca data export proben1 cancer1 card1
    """
    from pppca_bench import problems

    written = problems.export_files(names or None, folder)
    click.echo(f"{folder}: {len(written)} files written.")


@data.command("describe")
@click.argument("problem")
@click.option(
    "--target", multiple=True, help="Target column, for a table that does not name its target."
)
@click.option(
    "--task", type=click.Choice(("classification", "approximation")), help="Task of the target."
)
@click.option("--drop", multiple=True, help="Column of a table to leave out (repeatable).")
@click.option("--categorical", multiple=True, help="Column of categories (repeatable).")
@click.option(
    "--read",
    "read_keys",
    multiple=True,
    metavar="KEY=VALUE",
    help="Key of pandas.read_csv, such as sep=';' (repeatable).",
)
@data_option
def data_describe(problem: str, data_dir: Path | None, **declared: Any) -> None:
    """Describe PROBLEM: types, gaps, classes, sizes and split, and the reasons why a table cannot be used.

    PROBLEM is a known problem's name, a .csv, .parquet, .arff or .dt file, sklearn:NAME, proben1:FAMILY, uci:NAME or
    openml:NUMBER, which is downloaded if necessary. If PROBLEM is a config, all of its problems are described.

    Examples:
      pppca data describe my.csv --target y
      pppca data describe own.yaml
    """
    from tabulate import tabulate

    from pppca_bench.config.experiment import parse_read_keys
    from pppca_bench.experiments.request import problems_of
    from pppca_bench.problems import OwnData
    from pppca_bench.problems.describe import describe_problem, own_data_of

    declared["read_keys"] = parse_read_keys(declared["read_keys"])
    is_config = problem.endswith((".yaml", ".yml"))
    argument_data = None if is_config else own_data_of(problem, **declared)
    if any(declared.values()) and not isinstance(argument_data, OwnData):
        expected = "--target, --task, --drop, --categorical and --read with a table alone"
        raise click.UsageError(f"expected {expected}, got them with {problem}.")
    mistakes = []
    for number, requested in enumerate(
        problems_of(Path(problem)) if argument_data is None else [argument_data]
    ):
        facts, columns, notices, unusable = describe_problem(requested, data_dir)
        click.echo("\n" * bool(number) + tabulate(facts, tablefmt="plain", disable_numparse=True))
        if columns:
            headers = ["column", "type", "gaps", "values"]
            click.echo("\n" + tabulate(columns, headers, tablefmt="simple", disable_numparse=True))
        click.echo(
            "".join(f"\nNote: {notice}" for notice in notices) + "\n" * bool(notices), nl=False
        )
        mistakes += [unusable] if unusable else []
    if mistakes:
        raise OwnDataError("\n".join(mistakes))


@data.command("path")
@data_option
def data_path(data_dir: Path | None) -> None:
    """Print the folder for downloads from openml.org.

    Examples:
      pppca data path
    """
    from pppca_bench.problems.data_sets import download_folders

    click.echo(download_folders(data_dir)[0])
