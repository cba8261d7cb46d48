"""``pppca predict``: predictions of a run's final model for new rows."""

from __future__ import annotations

from pathlib import Path

import click

from pppca_bench.cli._shared import FILE, FOLDER, cli, data_option, results_option
from pppca_bench.errors import OwnDataError
from pppca_bench.files import atomic_write


@cli.command()
@click.argument("run")
@click.argument("table", type=FILE)
@click.option("--out", type=FILE, help="CSV file to write instead of printing.")
@click.option(
    "--folder",
    type=FOLDER,
    default=".",
    show_default=True,
    help="Folder of the run's config, to which its paths are relative.",
)
@click.option(
    "--unseen",
    type=click.Choice(("refuse", "ignore")),
    default="refuse",
    show_default=True,
    help="What to do with a category that the run's table does not have.",
)
@results_option
@data_option
def predict(
    run: str,
    table: Path,
    out: Path | None,
    folder: Path,
    unseen: str,
    results: Path,
    data_dir: Path | None,
) -> None:
    """Predict the rows of TABLE by the method of RUN, fitted to all rows of its own table.

    RUN is CONFIG/PROBLEM/METHOD/REPEAT or a key, as `pppca run` prints below its tables. TABLE is a CSV, Parquet or
    ARFF file with the columns of the run's table; it is read as that was. Its rows are written as CSV, with a column
    predicted and, of classes, the probability of each.

    Examples:
      pppca predict pages/page_blocks.csv.xz/pca/0 new.csv
      pppca predict 6fb0c086a4 new.csv --out predicted.csv
    """
    from pppca_bench.experiments.prediction import predict_table
    from pppca_bench.pages.document import ten_digits
    from pppca_bench.pages.escapes import to_csv

    try:
        rows = predict_table(run, table, results, folder=folder, unseen=unseen, data_dir=data_dir)
    except ValueError as error:
        raise OwnDataError(f"{table}: {error}") from None
    text = to_csv(rows.map(ten_digits))
    if out is None:
        click.echo(text, nl=False)
        return
    atomic_write(out, text)
    click.echo(f"Wrote {len(rows)} rows to {out}.")
