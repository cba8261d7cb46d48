"""Predictions of a run's final model for the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pppca_bench.experiments.pipeline import pipeline
from pppca_bench.problems.declaration import format_of, inapplicable, read_table
from pppca_bench.problems.encode import RowEncoder


def predict_table(run: str, table: Path, results: Path, **options: Any) -> pd.DataFrame:
    """Return the rows of a file with the predictions of a run's method, fitted to all rows of the run's table.

    Parameters
    ----------
    run : str
        As in `pipeline`.
    table : Path
        File with the columns of the run's table, which is read with the same keys of `pandas.read_csv`; of a known
        problem, with columns of its scaled inputs, in their order.
    results : Path
        Folder of ``results.sqlite``.
    **options
        Of `pipeline`: ``folder``, ``unseen``, ``data_dir``.

    Returns
    -------
    DataFrame
        The columns of the file, then ``predicted``, or ``predicted_1`` and so on for several targets, and for each
        class ``probability_CLASS``, if the method knows probabilities.

    Raises
    ------
    StoreError
        For any reason of `pipeline`.
    ValueError
        A column is missing or has other values than that of the run's table, or has the name of a new column.
    """
    fitted = pipeline(run, results, final=True, **options)
    encode = fitted[0]
    if isinstance(encode, RowEncoder):
        left_out = inapplicable(format_of(table) or "csv", encode.read)
        keys = {key: encode.read[key] for key in encode.read if key not in left_out}
        rows = read_table(table, **keys)
        X: Any = rows
    else:
        rows = read_table(table)
        X = rows.to_numpy().astype(np.float64)
    predicted = np.asarray(fitted.predict(X)).reshape(len(rows), -1)
    names = ["predicted"]
    if predicted.shape[1] > 1:
        names = [f"predicted_{number}" for number in range(1, predicted.shape[1] + 1)]
    new = pd.DataFrame(predicted, rows.index, names)
    if hasattr(fitted, "predict_proba"):
        columns = [f"probability_{label}" for label in fitted.classes_]
        new = new.join(pd.DataFrame(fitted.predict_proba(X), rows.index, columns))
    taken = [name for name in new if name in rows]
    if taken:
        raise ValueError(
            f"expected no column named {taken[0]!r}, which is added, got one. Rename it."
        )
    return rows.join(new)
