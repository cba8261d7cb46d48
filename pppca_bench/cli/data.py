"""The ``pppca data`` commands: list, fetch, verify and locate the Proben1 files, describe any problem."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pppca_bench.cli._shared import examples, progress_bar, stoppable
from pppca_bench.cli.completion import complete_proben1

if TYPE_CHECKING:
    from pppca_bench.problems import Task

_Folder = click.Path(file_okay=False, path_type=Path)
data_option = click.option("--data", "data_dir", type=_Folder, help="First folder to look for Proben1 files.")


@click.group(epilog=examples("pppca data list", "pppca data fetch"))
def data() -> None:
    """List, fetch and verify the Proben1 files; describe a problem."""


@data.command("list", epilog=examples("pppca data list"))
@data_option
def data_list(data_dir: Path | None) -> None:
    """List every problem: its task, sizes and where its file is."""
    from tabulate import tabulate

    from pppca_bench import problems

    rows = []
    for info in problems.registered().values():
        found = problems.find_file(info.name, data_dir) if info.source == "proben1" else "bundled"
        sizes = f"{info.n_train} / {info.n_validation} / {info.n_test}"
        rows.append([info.name, info.task, info.n_features, info.n_outputs, sizes, found or "not fetched"])
    headers = ["problem", "task", "features", "outputs", "train / validation / test", "file"]
    click.echo(tabulate(rows, headers, tablefmt="simple"))


@data.command("fetch", epilog=examples("pppca data fetch cancer1 card1", "pppca data fetch --from proben1"))
@click.argument("names", nargs=-1, shell_complete=complete_proben1)
@click.option("--from", "source_dir", type=_Folder, help="Take the files from this folder instead of the network.")
@click.option("--force", is_flag=True, help="Fetch again what is there.")
@data_option
def data_fetch(names: tuple[str, ...], source_dir: Path | None, force: bool, data_dir: Path | None) -> None:
    """Fetch Proben1 files (all by default), verified by SHA-256."""
    from pppca_bench import problems

    target = problems.fetch_dir(data_dir)
    with stoppable(target), progress_bar("file", quiet=source_dir is not None) as progress:
        fetched = problems.fetch(names or None, target, source_dir=source_dir, force=force, progress=progress)
    n_new = sum(file.action != "kept" for file in fetched)
    click.echo(f"{target}: {n_new} files fetched, {len(fetched) - n_new} already there; all verified.")


@data.command("verify", epilog=examples("pppca data verify", "pppca data verify cancer1"))
@click.argument("names", nargs=-1, shell_complete=complete_proben1)
@data_option
def data_verify(names: tuple[str, ...], data_dir: Path | None) -> None:
    """Check the files (all by default) against their SHA-256."""
    from pppca_bench import problems

    folder = problems.fetch_dir(data_dir)
    statuses = problems.verify(names or None, folder)
    wrong = [status for status in statuses if status.status != "ok"]
    option = f" --data {data_dir}" if data_dir is not None else ""
    if len(statuses) > 1 and all(status.status == "missing" for status in statuses):
        click.echo(f"{folder}: none of the {len(statuses)} files is there. Run `pppca data fetch{option}`.", err=True)
        sys.exit(1)
    for status in wrong:
        remedy = f"pppca data fetch --force {status.name}{option}"
        click.echo(f"{status.path}: {status.status}. Run `{remedy}`.", err=True)
    click.echo(f"{folder}: {len(statuses) - len(wrong)} of {len(statuses)} files are as registered.")
    if wrong:
        sys.exit(1)


@data.command(
    "describe", epilog=examples("pppca data describe my.csv --target y", "pppca data describe sklearn:digits")
)
@click.argument("problem")
@click.option("--target", "targets", multiple=True, help="Column of the target, of a table that names none.")
@click.option("--task", type=click.Choice(("classification", "approximation")), help="What the target is.")
@data_option
def data_describe(problem: str, targets: tuple[str, ...], task: Task | None, data_dir: Path | None) -> None:
    """Describe PROBLEM: types, gaps, classes, sizes and split.

    PROBLEM is a known problem's name, a .csv, .parquet or .dt file, sklearn:NAME or openml:NUMBER, which is downloaded
    where it is not there yet.
    """
    from tabulate import tabulate

    from pppca_bench.problems.describe import describe_problem, own_data_of

    asked = own_data_of(problem, target=targets, task=task)
    if isinstance(asked, str) and (targets or task):
        raise click.UsageError(f"expected --target and --task with a table alone, got them with {problem}.")
    told = describe_problem(asked, data_dir)
    click.echo(tabulate(told.facts, tablefmt="plain", disable_numparse=True))
    if told.columns:
        headers = ["column", "type", "gaps", "values"]
        click.echo("\n" + tabulate(told.columns, headers, tablefmt="simple", disable_numparse=True))


@data.command("path", epilog=examples("pppca data path"))
@data_option
def data_path(data_dir: Path | None) -> None:
    """Print the folder that new files go to."""
    from pppca_bench import problems

    click.echo(problems.fetch_dir(data_dir))
