"""Encoding of table columns as network inputs: imputation, one-hot encoding and scaling to [0, 1]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import MinMaxScaler

from pppca_bench.problems.columns import Column, ColumnError, convert
from pppca_bench.problems.problem import FloatArray
from pppca_bench.problems.read_files import as_frame

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.compose import ColumnTransformer

ENCODING_VERSION = 2
"""Part of the problem's digest; must be increased if a change of code changes the inputs."""


class TrainingRange(MinMaxScaler):  # type: ignore[misc]
    """Scale each column to [0, 1] by the range of the training rows, without clipping.

    A column that is constant in the training rows becomes 0 everywhere.
    """

    def transform(self, X: FloatArray) -> FloatArray:
        """Return scaled float64 values of shape (n_rows, n_columns)."""
        # a data frame, if scikit-learn is set so
        scaled = np.array(super().transform(X), dtype=np.float64)
        scaled[:, self.data_range_ == 0.0] = 0.0
        return scaled


def make_encoder(
    columns: Sequence[Column], *, scaled: bool = True
) -> tuple[ColumnTransformer, tuple[str, ...]]:
    """Return an unfitted encoder of converted values, to be fitted on the training rows only, and names of its outputs.

    Numbers and booleans: missing values are replaced by the training mean, as in Proben1, then scaled by
    `TrainingRange`, if ``scaled``; an indicator column marks the missing values of each column with gaps. Categories:
    one-hot, with a column for missing values if the column has gaps.

    Choice: the whole table determines the outputs, so that all splits have the same outputs; the training rows
    determine means and ranges. Names of outputs are, for example, ``"age"``, ``"age missing"``, ``"colour = red"``.
    """
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

    categories = [column for column in columns if column.kind == "category"]
    others = [column for column in columns if column.kind != "category"]
    numbers = [column.name for column in others]
    gaps = [column.name for column in others if column.has_gaps]
    names = [*numbers, *(f"{name} missing" for name in gaps)]
    codes = list[FloatArray]()
    for column in categories:
        known = np.arange(len(column.labels), dtype=np.float64)
        names += [f"{column.name} = {label}" for label in column.labels]
        if column.has_gaps:
            names.append(f"{column.name} missing")
            known = np.append(known, np.nan)
        codes.append(known)
    impute = SimpleImputer(strategy="mean", keep_empty_features=True)
    one_hot = OneHotEncoder(categories=codes, handle_unknown="ignore", sparse_output=False)
    steps: list[tuple[str, Any, list[str]]] = [
        ("numbers", make_pipeline(impute, TrainingRange()) if scaled else impute, numbers),
        ("gaps", FunctionTransformer(pd.isna), gaps),
        ("categories", one_hot, [column.name for column in categories]),
    ]
    return ColumnTransformer([step for step in steps if step[2]]), tuple(names)


class FrozenEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of estimators that a run has fitted; `fit` raises TypeError."""

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, *_: object, **__: object) -> NoReturn:
        """Raise TypeError."""
        raise TypeError(
            f"{type(self).__name__}: expected use as fitted by a run, got fit. Run a config again."
        )


class RowEncoder(TransformerMixin, FrozenEstimator):  # type: ignore[misc]
    """Encode raw rows like the rows of the problem, by an encoder that was fitted on the training rows.

    ``read`` are the keys of `pandas.read_csv` of the table. A category that is not in the table is refused or, if
    ``unseen`` is ``"ignore"``, encoded as 0 in all columns of the categories.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        encoder: ColumnTransformer,
        read: Mapping[str, Any],
        *,
        unseen: str,
    ) -> None:
        self.columns, self.encoder, self.read, self.unseen = columns, encoder, read, unseen

    def transform(self, X: Any) -> FloatArray:
        """Return float64 inputs of shape (n_rows, n_features) for raw rows.

        X is anything that `pppca_bench.run` takes: a data frame of pandas, polars or pyarrow, such as from
        `read_table`, a series or an array, whose columns are named x1, x2, …. Columns may be in any order; columns that
        are not inputs are ignored. Raises ValueError if a column is missing or repeated, has text in place of numbers,
        or an unknown category.
        """
        import pandas as pd

        frame = as_frame(X, "x")
        wanted = [column.name for column in self.columns]
        for name in wanted:
            n_columns = list(frame.columns).count(name)
            if n_columns != 1:
                got = "several" if n_columns else "no"
                raise ValueError(
                    f"X of RowEncoder: expected the columns {', '.join(wanted)}, got {got} {name}"
                )
        values = {
            column.name: self._converted(column, frame[column.name]) for column in self.columns
        }
        encoded = self.encoder.transform(pd.DataFrame(values))
        return np.asarray(encoded, dtype=np.float64)

    def _converted(self, column: Column, series: pd.Series[Any]) -> pd.Series[Any]:
        """Return new values in the type of a column; raise ValueError for other values."""
        try:
            return convert(column, series, self.read, unseen=self.unseen)
        except ColumnError as error:
            where = f"{error.at}, column {column.name!r} of X".removeprefix(", ")
            text = f"{where}: expected {error.expected}, got {error.got}."
            if error.remedies and column.kind == "category":
                text += f" {error.remedies[0]}."
            raise ValueError(text) from None
