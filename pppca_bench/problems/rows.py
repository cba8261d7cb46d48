"""Encoding of new rows of a user-defined table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from pppca_bench.problems.problem import FloatArray
from pppca_bench.problems.table import Column, Table, to_table

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.compose import ColumnTransformer


class FittedByARun(BaseEstimator):  # type: ignore[misc]
    """Base of estimators that a run has fitted; calling fit raises TypeError."""

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, *_: object, **__: object) -> NoReturn:
        """Raise TypeError."""
        raise TypeError(f"{type(self).__name__}: expected to be used as a run fitted it, got fit. Run a config anew.")


class RowEncoder(TransformerMixin, FittedByARun):  # type: ignore[misc]
    """Encode raw rows like the rows of the problem, without fitting anything to them.

    Parameters
    ----------
    columns : sequence of Column
        Input columns of the table.
    encoder : ColumnTransformer
        Fitted on the training rows.
    """

    def __init__(self, columns: Sequence[Column], encoder: ColumnTransformer) -> None:
        self.columns, self.encoder = columns, encoder

    def transform(self, X: pd.DataFrame) -> FloatArray:
        """Return float64 inputs of shape (n_rows, n_features).

        Parameters
        ----------
        X : DataFrame
            Rows of the table, with columns in any order; columns that are not inputs are ignored.

        Raises
        ------
        TypeError
            If X is not a data frame.
        ValueError
            If a column is missing, has text instead of numbers, or an unknown category.
        """
        if not hasattr(X, "columns"):
            raise TypeError(f"X of RowEncoder: expected a data frame with the table's columns, got {type(X).__name__}")
        wanted = [column.name for column in self.columns]
        frame = X.rename(columns=str)
        if missing := [name for name in wanted if name not in frame.columns]:
            raise ValueError(f"X of RowEncoder: expected the columns {', '.join(wanted)}, got no {', '.join(missing)}")
        table = to_table(frame[wanted].reset_index(drop=True), "X")
        values = [_values(column, table, place) for place, column in enumerate(self.columns)]
        encoded: FloatArray = self.encoder.transform(np.column_stack(values))
        return encoded


def _values(column: Column, table: Table, place: int) -> FloatArray:
    """Return the numbers of a column, or the indices of its labels among those of the known column."""
    new, values = table.columns[place], table.values[:, place]
    gaps = np.isnan(values)
    if gaps.all() and new.kind != "other":
        return values
    if column.kind != "category":
        if new.kind not in ("real", "integer", "boolean"):
            raise ValueError(f"column {column.name!r} of X: expected numbers, got {new.kind} {_shown(new.labels)}")
        return values
    if new.kind == "other":
        raise ValueError(f"column {column.name!r} of X: expected text, got {_shown(new.labels)}")
    texts = [new.labels[int(value)] if new.labels else f"{value:g}" for value in values[~gaps]]
    unknown = [text for text in texts if text not in column.labels]
    if unknown:
        raise ValueError(
            f"column {column.name!r} of X: expected one of the table's {_shown(column.labels)}, got {unknown[0]!r}"
        )
    codes = np.full(len(values), np.nan)
    codes[~gaps] = [column.labels.index(text) for text in texts]
    return codes


def _shown(labels: Sequence[str]) -> str:
    return ", ".join(map(repr, labels[:10])) + (" …" if len(labels) > 10 else "")
