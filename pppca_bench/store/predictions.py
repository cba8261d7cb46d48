"""Stored predictions: what a run with ``predictions: true`` predicted for each example of the test split."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pppca_bench.errors import StoreError
from pppca_bench.store import DATABASE
from pppca_bench.store.database import Store
from pppca_bench.store.export import find_run

if TYPE_CHECKING:
    import pandas as pd

TARGETS, PREDICTED, PROBABILITIES = "test_targets", "test_predicted", "test_probabilities"
"""Names under which a run's arrays stand beside its learning curves, in single precision."""


def load_predictions(run: str, results: str | Path = "results") -> pd.DataFrame:
    """Load what a stored run predicted for the test split.

    Parameters
    ----------
    run : str
        A key, its beginning, or ``config/problem/method/repeat``.
    results : path, default "results"
        Where ``results.sqlite`` is.

    Returns
    -------
    pandas.DataFrame
        A row for each test example, in the split's order: ``target`` and ``predicted``, of classes their numbers, and
        ``probability_0`` and so on where there are class probabilities. Of several targets ``target_0``,
        ``predicted_0`` and so on.

    Raises
    ------
    UnknownNameError
        There is no such run, or there are several.
    StoreError
        There are no results, or the run stores no predictions.
    """
    import numpy as np
    import pandas as pd

    with Store(Path(results) / DATABASE, read_only=True) as store:
        key = find_run(store, run)
        kept = store.histories([key]).get(key, {})
    if TARGETS not in kept:
        raise StoreError(
            f"run {key}: expected predictions, got none. A config whose runs store them says `predictions: true`."
        )
    columns = {}
    for name, array in (("target", kept[TARGETS]), ("predicted", kept[PREDICTED])):
        if array.ndim == 1:
            columns[name] = array.astype(np.int64)
        elif array.shape[1] == 1:
            columns[name] = array[:, 0]
        else:
            columns |= {f"{name}_{place}": array[:, place] for place in range(array.shape[1])}
    if PROBABILITIES in kept:
        columns |= {f"probability_{place}": column for place, column in enumerate(kept[PROBABILITIES].T)}
    return pd.DataFrame(columns)
