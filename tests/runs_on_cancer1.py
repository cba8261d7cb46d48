"""Runs on a problem, made by hand, and what their tables show."""

from collections.abc import Mapping, Sequence
from typing import Any

from stored_runs import PIVOT, cell_of, results_by_config, run_of

from pppca_bench.methods.lookup import title_of
from pppca_bench.pages.document import render_documents
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.references.reference import Reference
from pppca_bench.runs import Label, ProblemFacts, StoredRun

FACTS = {"cancer1": ProblemFacts("cancer1", "a", "classification", "cancer", 9, 2, 350, 175, 174)}
MEASURED = {
    "retained_variance_percent": 91.5,
    "optimality_percent": 97.2,
    "reconstruction_error": 0.0123,
}


def run(
    method: str,
    repeat: int = 0,
    *,
    tau: float | str | None = 15.0,
    error: float = 2.0,
    size: int = 3,
    network: Mapping[str, object] = PIVOT,
    **parameters: object,
) -> StoredRun:
    """Return a run on cancer1."""
    given = parameters | ({} if tau is None else {"tau": tau})
    fixed = {"data_fraction": 100.0, "centre": True} if method == "dgha" else {"centre": True}
    own = cell_of("cancer1", method, fixed | given, network)
    label = Label(title_of(method), tuple(given.items()))
    values = MEASURED | {"dimensionality": size, "test_error_percent": error}
    return run_of(own, repeat, label, **values)


def snapshot_of(references: Sequence[Reference] = (), **runs: list[StoredRun]) -> Snapshot:
    """Return the tables of runs by config."""
    return Snapshot(results_by_config(runs), FACTS, references)


def text(found: Snapshot, table: str, **options: Any) -> str:
    """Return a table as text in the terminal."""
    return render_documents([found.table(table, **options)], "terminal")


def ours(found: Snapshot, table: str) -> list[str]:
    """Return the lines of a table's first grid in the terminal."""
    return text(found, table).split("\n\n")[1].splitlines()


def labels_of(found: Snapshot, table: str) -> list[str]:
    """Return the labels of a table's rows."""
    return [row.label for row in found.means(table)[0].rows]


def columns_of(found: Snapshot, table: str) -> dict[str, str]:
    """Return the labels of a table's columns by key."""
    return {column.key: column.label for column in found.means(table)[0].columns}


def mean_errors(found: Snapshot, table: str) -> dict[tuple[str, str], float]:
    """Return our mean of each error that a table prints, by row and column."""
    numbers = found.means(table)[1].query("quantity.str.endswith('error_percent') and n > 0")
    means: dict[tuple[str, str], float] = numbers.set_index(["row", "column"])["mean"].to_dict()
    return means


def rows_of(found: Snapshot, table: str) -> list[str]:
    """Return the labels of a table's rows after the problem."""
    return [label.partition(", ")[2] for label in labels_of(found, table)]
