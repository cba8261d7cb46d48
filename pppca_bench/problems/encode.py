"""Encoding of table columns as network inputs: imputation, one-hot encoding and scaling to [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import MinMaxScaler

from pppca_bench.problems.problem import FloatArray
from pppca_bench.problems.table import Column, Table, is_number, to_table, typed_text

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.compose import ColumnTransformer

ENCODING_VERSION = 1
"""To be increased whenever a change of code changes the inputs; part of the problem's digest."""


class TrainingRange(MinMaxScaler):  # type: ignore[misc]
    """Scale each column to [0, 1] by the range of the training rows, without clipping.

    A column that is constant in the training rows becomes 0 everywhere.
    """

    def transform(self, X: FloatArray) -> FloatArray:
        """Return scaled float64 values of shape (n_rows, n_columns)."""
        scaled: FloatArray = super().transform(X)
        scaled[:, self.data_range_ == 0.0] = 0.0
        return scaled


def make_encoder(columns: Sequence[Column], has_gaps: Sequence[bool]) -> tuple[ColumnTransformer, tuple[str, ...]]:
    """Return an unfitted encoder of table values, to be fitted on the training rows only, and its output names.

    Numbers and booleans: missing values are replaced by the training mean, as Proben1 does, then scaled by
    `TrainingRange`; an indicator column marks the missing values of each column that has any. Categories: one-hot, with
    a column for missing values if there are any.

    Choice: the columns follow from the whole table, so that all splits have the same columns; means and ranges are
    those of the training rows.

    Parameters
    ----------
    columns : sequence of Column
        The inputs.
    has_gaps : sequence of bool
        Whether each input has missing values.

    Returns
    -------
    ColumnTransformer
    tuple of str
        Such as ``"age"``, ``"age missing"`` and ``"colour = red"``.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

    numbers = [place for place, column in enumerate(columns) if column.kind != "category"]
    gaps = [place for place in numbers if has_gaps[place]]
    texts = [place for place, column in enumerate(columns) if column.kind == "category"]
    names = [columns[place].name for place in numbers] + [f"{columns[place].name} missing" for place in gaps]
    codes = []
    for place in texts:
        name, labels = columns[place].name, columns[place].labels
        names += [f"{name} = {label}" for label in labels] + [f"{name} missing"] * has_gaps[place]
        codes.append(np.array([*range(len(labels)), *[np.nan] * has_gaps[place]], dtype=np.float64))
    fill_and_scale = make_pipeline(SimpleImputer(strategy="mean", keep_empty_features=True), TrainingRange())
    steps: list[tuple[str, Any, list[int]]] = [
        ("numbers", fill_and_scale, numbers),
        ("gaps", FunctionTransformer(np.isnan), gaps),
        ("categories", OneHotEncoder(categories=codes, sparse_output=False, handle_unknown="ignore"), texts),
    ]
    return ColumnTransformer([step for step in steps if step[2]]), tuple(names)


class FittedByARun(BaseEstimator):  # type: ignore[misc]
    """Base of estimators that a run has fitted; calling fit raises TypeError."""

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, *_: object, **__: object) -> NoReturn:
        """Raise TypeError."""
        raise TypeError(f"{type(self).__name__}: expected to be used as a run fitted it, got fit. Run a config again.")


class RowEncoder(TransformerMixin, FittedByARun):  # type: ignore[misc]
    """Encode raw rows like the rows of the problem, without fitting anything to them.

    Parameters
    ----------
    columns : sequence of Column
        Input columns of the table.
    encoder : ColumnTransformer
        Fitted on the training rows.
    unseen : {"refuse", "ignore"}, default "refuse"
        Whether a category that the table does not have raises ValueError, or is encoded as none of the categories.
    """

    def __init__(
        self, columns: Sequence[Column], encoder: ColumnTransformer, unseen: Literal["refuse", "ignore"] = "refuse"
    ) -> None:
        self.columns, self.encoder, self.unseen = columns, encoder, unseen

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
            If a column is missing, has text that is no number in place of numbers, or an unknown category.
        """
        if not hasattr(X, "columns"):
            raise TypeError(f"X of RowEncoder: expected a data frame with the table's columns, got {type(X).__name__}")
        wanted = [column.name for column in self.columns]
        frame = X.rename(columns=str)
        if missing := [name for name in wanted if name not in frame.columns]:
            raise ValueError(f"X of RowEncoder: expected the columns {', '.join(wanted)}, got no {', '.join(missing)}")
        table = to_table(frame[wanted].reset_index(drop=True), "X")
        values = [self._values(column, *self._typed(column, table, frame)) for column in self.columns]
        encoded: FloatArray = self.encoder.transform(np.column_stack(values))
        return encoded

    def _typed(self, column: Column, table: Table, frame: pd.DataFrame) -> tuple[Column, FloatArray]:
        """Return a new column; texts in place of numbers or truth values are read as in a CSV file."""
        new, values = table.column(column.name)
        if new.kind == "category" and column.kind != "category":
            kind, labels, values = typed_text(frame[column.name])
            new = Column(column.name, kind, labels)
        return new, values

    def _values(self, column: Column, new: Column, values: FloatArray) -> FloatArray:
        """Return the numbers of a new column, or the indices of its labels among those of the known column."""
        is_text, is_there = column.kind == "category", ~np.isnan(values)
        if new.kind == "other" or (new.kind == "category" and not is_text and is_there.any()):
            expected = "text" if is_text else "numbers"
            raise ValueError(f"column {column.name!r} of X: expected {expected}, got {new.kind} {_shown(new.labels)}")
        if not is_text:
            return values
        places = {label: place for place, label in enumerate(column.labels)}
        for row in np.flatnonzero(is_there):
            text = new.text(values[row])
            # A number that was declared a category has a label such as "1", whether it was written 1 or 1.0.
            place = places.get(text, places.get(new.text(float(text)), -1) if is_number(text) else -1)
            if place < 0 and self.unseen == "refuse":
                raise ValueError(
                    f"column {column.name!r} of X: expected one of the table's {_shown(column.labels)}, got {text!r}"
                )
            values[row] = place
        return values


def _shown(labels: Sequence[str]) -> str:
    return ", ".join(map(repr, labels[:10])) + (" …" if len(labels) > 10 else "")
