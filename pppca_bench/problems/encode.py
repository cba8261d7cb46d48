"""Encoding of table columns as network inputs: imputation, one-hot encoding and scaling to [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import MinMaxScaler

from pppca_bench.problems.problem import FloatArray
from pppca_bench.problems.table import Column, to_numbers, type_texts, type_values

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.compose import ColumnTransformer

ENCODING_VERSION = 1
"""Part of the problem's digest; must be increased if a change of code changes the inputs."""

_UNSEEN = -1.0
"""Index of categories that are not in the table, as in pandas."""


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
    """Return an unfitted encoder of table values, to be fitted on the training rows only, and names of its outputs.

    Numbers and booleans: missing values are replaced by the training mean, as in Proben1, then scaled by
    `TrainingRange`; an indicator column marks the missing values of each column with gaps. Categories: one-hot, with a
    column for missing values if the column has gaps.

    Choice: the whole table determines the outputs, so that all splits have the same outputs; the training rows
    determine means and ranges. Names of outputs are, for example, ``"age"``, ``"age missing"``, ``"colour = red"``.
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
        ("categories", OneHotEncoder(categories=codes, handle_unknown="ignore", sparse_output=False), texts),
    ]
    return ColumnTransformer([step for step in steps if step[2]]), tuple(names)


class FrozenEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of estimators that a run has fitted; `fit` raises TypeError."""

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, *_: object, **__: object) -> NoReturn:
        """Raise TypeError."""
        raise TypeError(f"{type(self).__name__}: expected use as fitted by a run, got fit. Run a config again.")


class RowEncoder(TransformerMixin, FrozenEstimator):  # type: ignore[misc]
    """Encode raw rows like the rows of the problem, without fitting.

    Parameters
    ----------
    columns : sequence of Column
        Input columns of the table.
    has_gaps : sequence of bool
        Whether each column has gaps in the table.
    encoder : ColumnTransformer
        Fitted on the training rows.
    decimal : {".", ","}
        Decimal mark of numbers in texts.
    unseen : {"refuse", "ignore"}
        Whether a category that is not in the table is refused, or encoded as 0 in all columns of the categories.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        has_gaps: Sequence[bool],
        encoder: ColumnTransformer,
        *,
        decimal: str = ".",
        unseen: str = "refuse",
    ) -> None:
        self.columns, self.has_gaps, self.encoder = columns, has_gaps, encoder
        self.decimal, self.unseen = decimal, unseen

    def transform(self, X: pd.DataFrame) -> FloatArray:
        """Return float64 inputs of shape (n_rows, n_features) for raw rows, such as from `read_table`.

        Columns may be in any order; columns that are not inputs are ignored. Raises TypeError if X is not a data
        frame, ValueError if a column is missing, has text in place of numbers, or an unknown category.
        """
        if not hasattr(X, "columns"):
            raise TypeError(f"X of RowEncoder: expected a data frame with the table's columns, got {type(X).__name__}")
        wanted = [column.name for column in self.columns]
        frame = X.rename(columns=str)
        if missing := [name for name in wanted if name not in frame.columns]:
            raise ValueError(f"X of RowEncoder: expected the columns {', '.join(wanted)}, got no {', '.join(missing)}")
        values = [self._values(place, frame[name]) for place, name in enumerate(wanted)]
        encoded: FloatArray = self.encoder.transform(np.column_stack(values))
        return encoded

    def _values(self, place: int, series: pd.Series[Any]) -> FloatArray:
        """Return the numbers of a new column, or the indices of its texts among the labels of the table's column."""
        import pandas as pd

        column, there = self.columns[place], series.notna().to_numpy()
        is_text = pd.api.types.infer_dtype(series, skipna=True) == "string"
        kind, labels, values = type_texts(series, self.decimal) if is_text else type_values(series)
        is_number = kind not in ("category", "other")
        if column.kind != "category":
            if there.any() and not (is_number and (kind == "boolean") == (column.kind == "boolean")):
                expected = "true/false" if column.kind == "boolean" else "numbers"
                raise ValueError(
                    f"column {column.name!r} of X: expected {expected}, got {kind} {_shown(labels)}".strip()
                )
            return values
        if kind == "other" and not is_text:
            raise ValueError(f"column {column.name!r} of X: expected text, got {_shown(labels)}")
        new = Column(column.name, kind, labels)
        texts = series[there].astype(object) if is_text else pd.Series(list(map(new.text, values[there])), dtype=object)
        known = pd.Index(column.labels)
        indices = known.get_indexer(pd.Index(texts))
        unknown, number = indices == _UNSEEN, Column(column.name, "real")
        # A number may be written differently in the table.
        numbers = to_numbers(texts[unknown].astype(str), self.decimal)
        written = ["" if np.isnan(value) else number.text(value) for value in numbers]
        indices[unknown] = known.get_indexer(pd.Index(written, dtype=object))
        values = np.full(len(series), np.nan if self.has_gaps[place] else _UNSEEN)
        values[there] = indices
        if self.unseen == "refuse" and (values == _UNSEEN).any():
            row = int(np.argmax(values == _UNSEEN))
            where = f"{series.index.name or 'row'} {series.index[row]}, column {column.name!r} of X"
            got = repr(series.iloc[row]) if there[row] else "a gap"
            remedy = "Set `unseen: ignore` to encode them as 0."
            raise ValueError(f"{where}: expected one of the table's {_shown(column.labels)}, got {got}. {remedy}")
        return values


def _shown(labels: Sequence[str]) -> str:
    return ", ".join(map(repr, labels[:10])) + (" …" if len(labels) > 10 else "")
