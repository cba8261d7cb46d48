"""A small results database whose report has every part."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import report_page
from full_results import full_runs, plans_of, published_sizes

from pppca_bench.runs import StoredRun


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
    sizes = {spec.cell.problem: published_sizes(spec.cell.problem) for spec, _ in runs}
    return report_page.write_store(folder, plans_of(runs), list(sizes.values()))
