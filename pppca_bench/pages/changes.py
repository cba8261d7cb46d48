"""Verdicts that differ from those on recorded repeats, as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from pppca_bench.errors import StoreError
from pppca_bench.pages.comparison import text_grid
from pppca_bench.pages.document import Document, in_json, plain_records
from pppca_bench.pages.means import mean_difference
from pppca_bench.references.reference import Reference
from pppca_bench.verdicts.numbers import parts_of, record_frame

_CHANGED = {
    "table": "{table}",
    "row": "{row}",
    "column": "{column}",
    "quantity": "{quantity}",
    "published": "{published:g}",
    "recorded": "{recorded_mean:.2f}",
    "ours": "{mean:.2f}",
    "verdict": "{recorded_verdict}",
    "verdict now": "{verdict}",
}
_COUNTED = {
    "table": "{table}",
    "quantity": "{quantity}",
    "numbers": "{n}",
    "fell": "{fell}",
    "rose": "{rose}",
    "unchanged": "{unchanged}",
    "mean of ours − published": "{mean:+.2f}",
    "ours below": "{n_below}",
}
_TOTALS = {
    "source": "{source}",
    "numbers": "{n}",
    "reproduced": "{recorded_reproduced}",
    "reproduced now": "{reproduced}",
    "differ": "{recorded_differs}",
    "differ now": "{differs}",
    "fell": "{fell}",
    "rose": "{rose}",
}
"""Columns of grids, as in `comparison.text_grid`."""

_OF_SEEDS = ("reproduced", "recorded_reproduced", "differs", "recorded_differs")


def render_changes(changes: pd.DataFrame, form: str, references: Iterable[Reference] = ()) -> str:
    """Render the changed verdicts, and counts by table and quantity, as ``terminal`` or ``markdown`` text.

    A last table has the totals of the verdicts before and now, by source and part of the ``references``.

    ``json`` has every number that can be compared. Raise StoreError if there is none.
    """
    found, left = changes[changes["obstacle"] == ""], changes[changes["obstacle"] != ""]
    others = []
    for why, rows in left.groupby("obstacle", sort=False):
        first = ", ".join(rows.iloc[0][["table", "row", "column", "quantity"]])
        others.append(f"Not compared: {len(rows)} numbers {why}, such as {first}.")
    if found.empty:
        raise StoreError(f"expected recorded numbers of our runs, got none. {' '.join(others)}")
    if form == "json":
        recorded = found[["recorded_mean", "recorded_verdict"]].reset_index(drop=True)
        return in_json(plain_records(record_frame(found).join(recorded)))
    changed = found[found["direction"] != "unchanged"].to_dict("records")
    counts = []
    for (table, quantity), rows in found.groupby(["table", "quantity"], sort=False):
        mean, n_below = mean_difference(rows)
        counts.append(
            {"table": table, "quantity": quantity, **_directions(rows), "mean": mean}
            | {"n": len(rows), "n_below": n_below}
        )
    totals = _directions(found)
    n_changed = f"{totals['fell'] + totals['rose']} of {len(found)} verdicts change"
    said = f"{n_changed}: {totals['fell']} fell, {totals['rose']} rose."
    grids = [
        text_grid(_CHANGED.items(), changed, form),
        text_grid(_COUNTED.items(), counts, form),
        text_grid(_TOTALS.items(), _totals(found, references), form),
    ]
    return "\n\n".join((*grids, "\n".join((said, *others))))


def seeds_document(changes: pd.DataFrame, references: Iterable[Reference]) -> Document:
    """Return the totals of the verdicts with our seed, and with another, of `Snapshot.reseeded`, by source and part."""
    rows = []
    for record in _totals(changes, references):
        row = [record[name] for name in ("source", "n", *_OF_SEEDS)]
        rows.append([*map(str, row), str(record["fell"] + record["rose"])])
    headers = [
        *("Source", "Numbers", "Reproduced", "with another seed", "Differ", "with that seed"),
        "Verdicts that change",
    ]
    return Document("seeds", "Verdicts with another seed", "", headers, rows)


def _totals(changes: pd.DataFrame, references: Iterable[Reference]) -> list[dict[str, Any]]:
    """Return the counts of the recorded verdicts and of those now, for each source and each of its parts."""
    by_title = {reference.title: reference for reference in references}
    records = []
    for source, of_source in changes.groupby("source", sort=False):
        groups = {str(source): of_source}
        reference = by_title.get(str(source))
        parts = reference.parts if reference else ()
        for name, own in parts_of(of_source, parts).items():
            if len(own) and len(parts) > 1:
                groups[f"– {name}"] = own
        for name, own in groups.items():
            record: dict[str, Any] = {"source": name, "n": len(own)}
            for verdict in ("reproduced", "differs"):
                record[f"recorded_{verdict}"] = int((own["recorded_verdict"] == verdict).sum())
                record[verdict] = int((own["verdict"] == verdict).sum())
            records.append(record | _directions(own))
    return records


def _directions(changes: pd.DataFrame) -> dict[str, Any]:
    counts = changes["direction"].value_counts()
    return {name: int(counts.get(name, 0)) for name in ("fell", "rose", "unchanged")}
