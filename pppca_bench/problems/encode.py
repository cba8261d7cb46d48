"""Encoding of table columns as network inputs: imputation, one-hot encoding, text, dates and scaling to [0, 1]."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import MinMaxScaler

from pppca_bench.errors import DataError
from pppca_bench.problems.columns import Column, ColumnError, Reading, convert
from pppca_bench.problems.problem import FloatArray

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.compose import ColumnTransformer

ENCODING_VERSION = 2
"""Part of the problem's digest; must be increased if a change of code changes the inputs."""

N_TEXT_INPUTS = 30
"""Most inputs for a column of text, the default of skrub's StringEncoder; a quarter of the rows if they are few."""


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


class SkrubInputs(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode a column of text by skrub's StringEncoder, or of dates by its DatetimeEncoder.

    Of ``width`` outputs, those that the training rows do not yield are 0.
    """

    def __init__(self, encoder: Any, width: int) -> None:
        self.encoder, self.width = encoder, width

    def fit(self, X: pd.DataFrame, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Fit the encoder to a frame of one column."""
        from sklearn.base import clone

        values = X.iloc[:, 0]
        with warnings.catch_warnings(action="ignore"):  # of texts with fewer n-grams than outputs
            self.encoder_ = clone(self.encoder).fit(values) if values.astype(bool).any() else None
        return self

    def transform(self, X: pd.DataFrame) -> FloatArray:
        """Return float64 outputs of shape (n_rows, width)."""
        if self.encoder_ is None:  # no training row has a text
            return np.zeros((len(X), self.width))
        made = np.asarray(self.encoder_.transform(X.iloc[:, 0]), dtype=np.float64)[:, : self.width]
        return np.pad(made, ((0, 0), (0, self.width - made.shape[1])))


def make_encoder(
    columns: Sequence[Column], frame: pd.DataFrame
) -> tuple[ColumnTransformer, tuple[str, ...]]:
    """Return an unfitted encoder of converted values, to be fitted on the training rows only, and names of its outputs.

    Numbers, booleans and dates: missing values are replaced by the training mean, as in Proben1, then scaled by
    `TrainingRange`; an indicator column marks the missing values of each column with gaps. Categories: one-hot, with a
    column for missing values if the column has gaps. Text: `N_TEXT_INPUTS` components of its n-grams, scaled.

    Choice: the whole table determines the outputs, so that all splits have the same outputs; the training rows
    determine means, ranges and components. Names of outputs are, for example, ``"age"``, ``"age missing"``,
    ``"colour = red"``, ``"comment 1"``, ``"when year"``. Raises DataError if skrub is needed and not installed.
    """
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

    impute = SimpleImputer(strategy="mean", keep_empty_features=True)
    numbers = [column.name for column in columns if column.kind in ("number", "boolean")]
    gaps = [
        column.name
        for column in columns
        if column.has_gaps and column.kind in ("number", "boolean", "date")
    ]
    categories = [column for column in columns if column.kind == "category"]
    names = [*numbers, *(f"{name} missing" for name in gaps)]
    codes, skrub_steps = list[FloatArray](), list[tuple[str, Any, list[str]]]()
    for column in categories:
        names += [f"{column.name} = {label}" for label in column.labels] + [
            f"{column.name} missing"
        ] * column.has_gaps
        codes.append(
            np.array([*range(len(column.labels)), *[np.nan] * column.has_gaps], dtype=np.float64)
        )
    one_hot = OneHotEncoder(categories=codes, handle_unknown="ignore", sparse_output=False)
    for column in (column for column in columns if column.kind in ("text", "date")):
        encoder, outputs = _skrub_encoder(column, frame[column.name])
        names += outputs
        inputs = SkrubInputs(encoder, len(outputs))
        skrub_steps.append(
            (column.name, make_pipeline(inputs, impute, TrainingRange()), [column.name])
        )
    steps: list[tuple[str, Any, list[str]]] = [
        ("numbers", make_pipeline(impute, TrainingRange()), numbers),
        ("gaps", FunctionTransformer(pd.isna), gaps),
        ("categories", one_hot, [column.name for column in categories]),
    ]
    return ColumnTransformer([step for step in steps if step[2]] + skrub_steps), tuple(names)


def _skrub_encoder(column: Column, values: pd.Series[Any]) -> tuple[Any, list[str]]:
    """Return an unfitted encoder of a column of text or dates, and the names of its outputs."""
    try:
        from skrub import DatetimeEncoder, StringEncoder
    except ImportError as error:
        raise DataError(
            f"column {column.name!r}: expected skrub, which encodes text and dates, got {error}. Install it: `pip"
            " install skrub`."
        ) from None
    if column.kind == "text":
        # half as many as training rows, at most
        width = max(1, min(N_TEXT_INPUTS, len(values) // 4))
        encoder = StringEncoder(n_components=width, random_state=0)
        return encoder, [f"{column.name} {index + 1}" for index in range(width)]
    encoder = DatetimeEncoder(
        resolution="second" if (values.dropna() != values.dropna().dt.normalize()).any() else "day"
    )
    outputs = encoder.fit(values).get_feature_names_out()
    return encoder, [
        f"{column.name} {str(output).removeprefix(f'{column.name}_')}" for output in outputs
    ]


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

    A category that is not in the table is refused or, if ``unseen`` is ``"ignore"``, encoded as 0 in all columns of the
    categories.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        encoder: ColumnTransformer,
        reading: Reading,
        *,
        unseen: str,
    ) -> None:
        self.columns, self.encoder, self.reading, self.unseen = columns, encoder, reading, unseen

    def transform(self, X: pd.DataFrame) -> FloatArray:
        """Return float64 inputs of shape (n_rows, n_features) for raw rows, such as from `read_table`.

        Columns may be in any order; columns that are not inputs are ignored. Raises TypeError if X is not a data
        frame, ValueError if a column is missing or repeated, has text in place of numbers, or an unknown category.
        """
        import pandas as pd

        if not hasattr(X, "columns"):
            raise TypeError(
                f"X of RowEncoder: expected a data frame with the table's columns, got {type(X).__name__}"
            )
        wanted, frame = [column.name for column in self.columns], X.rename(columns=str)
        if wrong := [name for name in wanted if list(frame.columns).count(name) != 1]:
            got = "no" if wrong[0] not in frame.columns else "several"
            raise ValueError(
                f"X of RowEncoder: expected the columns {', '.join(wanted)}, got {got} {wrong[0]}"
            )
        values = dict[str, Any]()
        for column in self.columns:
            try:
                values[column.name] = convert(
                    column, frame[column.name], self.reading, unseen=self.unseen
                )
            except ColumnError as error:
                where = f"{error.at}, column {column.name!r} of X".removeprefix(", ")
                remedy = (
                    f" {error.remedies[0]}." if error.remedies and column.kind == "category" else ""
                )
                raise ValueError(
                    f"{where}: expected {error.expected}, got {error.got}.{remedy}"
                ) from None
        encoded: FloatArray = np.asarray(
            self.encoder.transform(pd.DataFrame(values)), dtype=np.float64
        )
        return encoded
