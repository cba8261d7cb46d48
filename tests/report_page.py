"""A small results database whose report has every part."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from full_results import full_runs, plans_of, published_sizes
from stored_runs import store_runs

from pppca_bench.runs import Cell, Plan, RunResult, RunSpec
from pppca_bench.store.database import Store

ODD = "<script>alert('&own#data')</script>.dt"
"""Name of a problem that HTML would run."""


def write_store(folder: Path) -> Path:
    """Write a database: every published cell of nine problems, the last one not run yet, with curves and odd names."""
    runs = [
        (s, r) for s, r in full_runs(3) if s.cell.problem[:-1] in ("cancer", "diabetes", "heart")
    ]
    runs = [(s, None if s.cell.problem == "heart3" else r) for s, r in runs]
    curves = {
        "mean_dimensionality": np.array([9.0, 2.0]),
        "variances": np.array([[0.5, 0.1], [0.6, np.nan]]),
    }
    runs = [
        (s, replace(r, history=curves) if r and s.cell.method == "ne_ppca" else r) for s, r in runs
    ]
    own = Cell(ODD, "a", "pca", (("tau", 15.0),), (("hidden", (4,)), ("rule", "rprop")))
    odd = [RunSpec(f"odd{n}", own, n, n) for n in range(2)]
    with Store(folder / "results.sqlite") as store:
        sizes = [
            published_sizes(problem) for problem in dict.fromkeys(s.cell.problem for s, _ in runs)
        ]
        store.describe_problems([*sizes, replace(sizes[0], name=ODD)])
        store_runs(store, plans_of(runs))
        store.plan(Plan("my & own", "", "name: my & own  # <b>", tuple(odd)))
        store.record(
            [RunResult(spec.key, "done", values={"test_error_percent": 3.0}) for spec in odd], "{}"
        )
    return folder
