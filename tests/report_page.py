"""A small results database whose report has every part."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from full_results import full_runs, plans_of, published_sizes
from stored_runs import run_of, store_runs

from pppca_bench.runs import Cell, Plan, StoredRun
from pppca_bench.store.database import Store

ODD = "<script>alert('&own#data')</script>.dt"
"""Name of a problem that HTML would run."""


def write_store(folder: Path) -> Path:
    """Write a database: every published cell of nine problems, the last one not run yet, with curves and odd names."""
    curves = {
        "mean_dimensionality": np.array([9.0, 2.0]),
        "variances": np.array([[0.5, 0.1], [0.6, np.nan]]),
    }
    runs: list[StoredRun] = []
    for spec, result in full_runs(3):
        cell = spec.cell
        if cell.problem[:-1] in ("cancer", "diabetes", "heart"):
            drawn = replace(result, history=curves if cell.method == "ne_ppca" else {})
            runs.append((spec, None if cell.problem == "heart3" else drawn))
    own = Cell(ODD, "a", "pca", (("tau", 15.0),), (("hidden", (4,)), ("rule", "rprop")))
    odd = [run_of(own, repeat, test_error_percent=3.0) for repeat in range(2)]
    sizes = {spec.cell.problem: published_sizes(spec.cell.problem) for spec, _ in runs}
    with Store(folder / "results.sqlite") as store:
        store.describe_problems([*sizes.values(), published_sizes(ODD)])
        store_runs(store, plans_of(runs))
        store.plan(Plan("my & own", "", "name: my & own  # <b>", tuple(spec for spec, _ in odd)))
        store.record([result for _, result in odd], "{}")
    return folder
