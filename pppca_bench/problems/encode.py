"""Encoding of table columns as network inputs: imputation, one-hot encoding and scaling to [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.preprocessing import MinMaxScaler

from pppca_bench.problems.problem import FloatArray
from pppca_bench.problems.table import Column

if TYPE_CHECKING:
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


def make_encoder(columns: Sequence[Column], has_gaps: Sequence[bool]) -> ColumnTransformer:
    """Return an unfitted encoder of table values, to be fitted on the training rows only.

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
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

    numbers, gaps, texts = _groups(columns, has_gaps)
    labels = [_codes(columns[place], has_gaps[place]) for place in texts]
    fill_and_scale = make_pipeline(SimpleImputer(strategy="mean", keep_empty_features=True), TrainingRange())
    steps: list[tuple[str, Any, list[int]]] = [
        ("numbers", fill_and_scale, numbers),
        ("gaps", FunctionTransformer(is_gap), gaps),
        ("categories", OneHotEncoder(categories=labels, sparse_output=False), texts),
    ]
    return ColumnTransformer([step for step in steps if step[2]])


def feature_names(columns: Sequence[Column], has_gaps: Sequence[bool]) -> tuple[str, ...]:
    """Return the names of the encoder's outputs, such as ``"age"``, ``"age missing"`` and ``"colour = red"``."""
    numbers, gaps, texts = _groups(columns, has_gaps)
    names = [columns[place].name for place in numbers]
    names += [f"{columns[place].name} missing" for place in gaps]
    for place in texts:
        names += [f"{columns[place].name} = {label}" for label in columns[place].labels]
        names += [f"{columns[place].name} missing"] if has_gaps[place] else []
    return tuple(names)


def is_gap(X: FloatArray) -> FloatArray:
    """Return 1 where a value is missing and 0 elsewhere, float64 of the same shape."""
    return np.isnan(X).astype(np.float64)


def _groups(columns: Sequence[Column], has_gaps: Sequence[bool]) -> tuple[list[int], list[int], list[int]]:
    """Return the indices of numeric columns, of numeric columns with gaps, and of categories."""
    numbers = [place for place, column in enumerate(columns) if column.kind != "category"]
    texts = [place for place, column in enumerate(columns) if column.kind == "category"]
    return numbers, [place for place in numbers if has_gaps[place]], texts


def _codes(column: Column, has_gaps: bool) -> FloatArray:
    codes = np.arange(len(column.labels), dtype=np.float64)
    return np.append(codes, np.nan) if has_gaps else codes
