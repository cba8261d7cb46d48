"""Numbers of the figure of a table of means: our means with intervals beside the published numbers."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from pppca_bench.pages.figure_data import Figure, Panel
from pppca_bench.pages.means import label_of
from pppca_bench.quantities import SIZES
from pppca_bench.references.layout import Layout, Line
from pppca_bench.references.reference import Reference
from pppca_bench.runs import Facts
from pppca_bench.verdicts.judge import margin_ends

_POINT = ["place", "row", "column", "quantity", "published"]
_OURS = ["mean", "low", "high", "n", "margin_low", "margin_high"]
"""Columns of a panel of means, see `Panel`."""


def drawn_numbers(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of a table of means that a figure of it shows: those of done runs, without sizes of data."""
    of_runs = (numbers["n_planned"] > 0) & (numbers["n"] > 0) & numbers["mean"].notna()
    is_size = numbers["quantity"].isin(SIZES)
    return numbers[of_runs & ~is_size & (numbers["shown"] == "cell")]


def table_figure(
    layout: Layout, numbers: pd.DataFrame, reference: Reference | None, facts: Facts
) -> Figure:
    """Return the figure of a table of means, without panels if it has no means of runs.

    A panel has a row of the table and a quantity, and a place for each column. If the columns are problems, a panel has
    a column of the table, and a place for each row, so that a panel is about a single problem. A quantity of a single
    column has a single panel, with a place for each row.

    Parameters
    ----------
    layout : Layout
    numbers : DataFrame
        The printed numbers of the table, see `verdicts.numbers`.
    reference : Reference or None
        Source of the table.
    facts : mapping of str to ProblemFacts
        Sizes of problems, for labels.
    """
    rows = _labels(layout.rows, reference, facts)
    columns = _labels(layout.columns, reference, facts)
    shown = drawn_numbers(numbers)
    shown = shown.join(margin_ends(shown))
    group, place, groups, places = "row", "column", rows, columns
    if any("problem" in line.runs for line in layout.columns):
        group, place, groups, places = "column", "row", columns, rows
    is_alone = shown.groupby("quantity")["column"].transform("nunique") == 1
    panels = list[Panel]()
    for key, label in groups.items():
        of_group = shown[~is_alone & (shown[group] == key)]
        for _, data in of_group.groupby("quantity", sort=False):
            panels.append(_panel(label, data, place, places))
    for _, data in shown[is_alone].groupby("quantity", sort=False):
        panels.append(_panel("", data, "row", rows))
    note = ""
    if shown["published"].notna().any():
        note = "Published: the numbers as printed, with the margin of the verdicts in grey."
    missing = [label for key, label in rows.items() if _was_not_run(numbers, key)]
    texts = layout.id, layout.title, layout.place, "", ""
    source = reference.title if reference else ""
    return Figure(*texts, panels, note, tuple(missing), source=source)


def _labels(lines: tuple[Line, ...], reference: Reference | None, facts: Facts) -> dict[str, str]:
    return {line.key: label_of(line, reference, facts) for line in lines}


def _panel(title: str, numbers: pd.DataFrame, side: str, labels: Mapping[str, str]) -> Panel:
    """Return a panel with a place for each of the lines on a ``side`` of the table, in their order."""
    places = numbers[side].map(labels)
    return Panel("means", title, numbers.assign(place=places)[[*_POINT, *_OURS]])


def _was_not_run(numbers: pd.DataFrame, row: str) -> bool:
    """Return whether a row has published numbers that runs can fill, and no run."""
    of_row = numbers[numbers["row"] == row]
    return bool((of_row["published"].notna() & of_row["fillable"]).any() and not of_row["n"].any())
