"""Scores: the distance of groups of cells from the published numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pppca_bench.references.layout import Scored
from pppca_bench.references.reference import Reference
from pppca_bench.verdicts.numbers import in_part

COLUMNS = ["name", "n_cells", "n_run", "score", "worst", "unit", "target", "share", "share_target"]
"""Columns of scores, see `score_group`; ``met`` follows."""


def scores(numbers: pd.DataFrame, references: Iterable[Reference]) -> pd.DataFrame:
    """Return the score of every group of cells that the references of the numbers name, run or not."""
    by_source = dict(iter(numbers.groupby("source")))
    rows = []
    for reference in references:
        if reference.title in by_source:
            of_source = by_source[reference.title]
            rows += [score_group(of_source, group) for group in reference.scored]
    return with_targets(rows)


def with_targets(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return scores with ``met``: whether the targets are reached, None without targets, or if nothing was run."""
    frame = pd.DataFrame(list(rows), columns=COLUMNS).astype({"n_cells": int, "n_run": int})
    met = []
    for row in frame.to_dict("records"):
        reached = []
        if pd.notna(row["target"]) and pd.notna(row["score"]):
            reached.append(row["score"] <= row["target"])
        if pd.notna(row["share_target"]) and pd.notna(row["share"]):
            reached.append(row["share"] >= row["share_target"] - 1e-9)
        met.append(all(reached) if reached else None)
    return frame.assign(met=pd.Series(met, dtype=object))


def score_group(numbers: pd.DataFrame, group: Scored) -> dict[str, Any]:
    """Score a group of cells.

    ``n_cells`` are the informative cells: numbers whose standard deviation exceeds them have no informative ratio. Of
    the ``n_run`` that were run, ``score`` is the mean distance, ``worst`` the largest, and ``share`` the share within a
    published standard deviation. The ``unit`` is "points" of |ours − published|, or "|ln ratio|".
    """
    cells = in_part(numbers[numbers["quantity"] == group.quantity], group)
    cells = cells[cells["selection"].notna() & cells["published"].notna()]
    too_wide = cells["published_sd"] > cells["published"].abs()
    informative = cells[~too_wide]
    run = informative[informative["n"] > 0]
    known = _distances(run, group.unit).dropna()
    with_sd = run[run["published_sd"].notna()]
    # an sd of 0.00 may be half a unit of its last digit
    within = with_sd["published_sd"].where(with_sd["published_sd"] > 0.0, with_sd["half_unit"])
    inside = (with_sd["mean"] - with_sd["published"]).abs() <= within + 1e-9
    return {
        "name": group.name,
        "n_cells": len(informative),
        "n_run": len(run),
        "score": math.fsum(known) / len(known) if len(known) else None,
        "worst": known.max() if len(known) else None,
        "unit": group.unit,
        "target": group.target,
        "share": inside.mean() if len(inside) and group.share is not None else None,
        "share_target": group.share,
    }


def _distances(numbers: pd.DataFrame, unit: str) -> pd.Series[float]:
    """Return the distances of our means: inf without a positive ratio, nan for a printed 0 with a deviation."""
    ours, published = numbers["mean"], numbers["published"]
    if unit == "points":
        return (ours - published).abs()
    ratio = (ours / published.where(published != 0.0)).fillna(0.0)
    distance = ratio.where(ratio > 0.0).transform(np.log).abs()
    distance = distance.fillna(math.inf).where(ours != published, 0.0)
    return distance.mask((published == 0.0) & numbers["published_sd"].notna())
