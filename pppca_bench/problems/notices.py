"""Notices on a table: doubtful labels, copies of rows, possible leaks and imbalanced classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.errors import printable
from pppca_bench.problems.columns import MARKERS, Column, similar_labels

if TYPE_CHECKING:
    import pandas as pd

    from pppca_bench.problems.declaration import OwnData

_SHOWN_CLASSES = 5
"""Largest number of classes whose shares a notice names."""


def of_labels(column: Column, frame: pd.DataFrame, own: OwnData) -> Iterator[str]:
    """Yield notices on labels of a category that usually mark gaps, and on labels that are hard to distinguish.

    ``frame`` has the values of all columns, in which the key for gaps must not change another column.
    """
    words = [label for label in column.labels if label in MARKERS]
    if words:
        key = own.key("na_values", {column.name: words})
        is_elsewhere = bool(frame.drop(columns=column.name).isin(words).any(axis=None))
        if is_elsewhere and "na_values" not in own.read_keys:
            key = own.key("read", {**own.read_keys, "na_values": {column.name: words}})
        shown = ", ".join(map(repr, words))
        yield f"{shown} of {column.name!r} {_are(words)}. {key} takes {_them(words)} for gaps."
    for other, label in similar_labels(column.labels):
        yield (
            f"two categories of {column.name!r} differ only in case, width, spaces or invisible characters: {other!a}"
            f" and {label!a}."
        )


def _are(words: Sequence[str]) -> str:
    return "is a category" if len(words) == 1 else "are categories"


def _them(words: Sequence[str]) -> str:
    return "it" if len(words) == 1 else "them"


def of_copies(is_copy: NDArray[np.bool_], own: OwnData) -> Iterator[str]:
    """Yield a notice on copies of rows."""
    if is_copy.any():
        ways = " or ".join(own.key("duplicates", way) for way in ("drop", "group", "keep"))
        yield (
            f"{is_copy.sum()} of {len(is_copy)} rows are copies of other rows, so that test rows may be training"
            f" rows. Set {ways}."
        )


def of_leaks(
    column: Column, values: pd.Series[Any], own: OwnData, *, is_random: bool
) -> Iterator[str]:
    """Yield a notice on an identifier, or on rows that are sorted by an input; ``is_random`` are splits of rows."""
    is_number = column.kind == "number"
    # Whole numbers that differ may be measurements; identifiers have no holes.
    is_whole = is_number and bool((values == np.round(values)).all())
    is_name = is_whole and values.max() - values.min() == len(values) - 1
    if (is_name or column.kind == "category") and values.is_unique and len(values) > 1:
        advice = own.key("drop", [column.name])
        yield f"{column.name!r} differs in every row: an identifier? {advice} leaves it out."
    elif is_random and is_number and values.is_monotonic_increasing and values.nunique() > 2:
        yield (
            f"rows are sorted by {column.name!r}: random splits put neighbours into training and test. A split"
            " column or `group` keeps them apart."
        )


def of_imbalance(classes: Sequence[str], counts: NDArray[np.int64]) -> str:
    """Return the notice on imbalanced classes of these sizes."""
    order = np.argsort(-counts, kind="stable")[:_SHOWN_CLASSES]
    shares = []
    for index in order:
        shares.append(f"{printable(classes[index])} {100 * counts[index] / counts.sum():.3g} %")
    more = ", …" if len(counts) > len(order) else ""
    error = 100 - 100 * counts.max() / counts.sum()
    return (
        f"the classes are imbalanced ({', '.join(shares)}{more}): always {printable(classes[order[0]])!r}"
        f" has an error of {error:.3g} %. Set `class_weight: balanced` in `classifier`, choose settings"
        " `by: balanced_accuracy`, macro_f1, roc_auc or average_precision, and read these scores and recall."
    )
