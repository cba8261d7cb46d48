"""Figure F9: the share of the best variance that streaming components retain, against the samples that they saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pppca_bench.methods.lookup import title_of
from pppca_bench.reporting.figure_data import Figure, Panel
from pppca_bench.reporting.summary import Results
from pppca_bench.runs import ProblemFacts
from pppca_bench.store.database import Store

CONFIGS = ("streaming", "streaming_curves")
"""Configs of the figure's runs."""

_LARGEST_POWER = 20
_NOTE = (
    "Retained variance over the most that as many dimensions can hold; 1 is exact PCA. τ = 15, but GHA, which learns"
    " three nodes. A curve ends with its shortest run. For DGHA and NE-pPCA, which start from all dimensions, an epoch"
    " and a generation count as all training samples once more."
)


class _Curve(NamedTuple):
    """Optimality after numbers of samples, increasing."""

    samples: NDArray[Any]
    optimality: NDArray[Any]


def streaming_figure(results: Results, store: Store, facts: Mapping[str, ProblemFacts]) -> Figure:
    """Return F9: the median and the worst of all data sets at powers of two of the samples seen, by method."""
    curves = _curves(results, store, facts)
    panels = []
    for title, over_problems in (("a) median of the data sets", np.median), ("b) worst data set", np.min)):
        lines = []
        for method, own in curves.items():
            shares = np.array([_at_powers(curve) for curve in own])
            known = ~np.isnan(shares).any(axis=0)
            mean = over_problems(shares[:, known], axis=0).astype(np.float32)
            values = {"step": np.flatnonzero(known), "mean": mean, "low": np.nan, "high": np.nan, "n": len(own)}
            lines.append(pd.DataFrame({"curve": title_of(method), **values}))
        if lines:
            panels.append(Panel("curves", title, pd.concat(lines)))
    missing = () if panels else CONFIGS
    x_label, y_label = "samples seen, as a power of two", "share of the best variance"
    basis = "One run per data set, at powers of two of the samples."
    title = "Retained variance against the number of samples"
    return Figure("F9", title, "", x_label, y_label, panels, _NOTE, missing, basis=basis)


def _curves(results: Results, store: Store, facts: Mapping[str, ProblemFacts]) -> dict[str, list[_Curve]]:
    """Return the curve of the first run of each data set, by method."""
    curves: dict[str, list[_Curve]] = {}
    for cell, runs in (item for config in CONFIGS for item in results.of_config(config).items()):
        done = [spec.key for spec, result in runs if result is not None and result.status == "done"]
        for history in store.histories(done[:1]).values():
            if "optimality" in history:
                optimality = np.asarray(history["optimality"], dtype=np.float64)
                # The first entry of an epoch's history is the start.
                per_step = facts[cell.problem].n_train if cell.problem in facts else 1
                samples = history.get("samples", per_step * np.arange(len(optimality)))
                curves.setdefault(cell.method, []).append(_Curve(np.asarray(samples), optimality))
    return curves


def _at_powers(curve: _Curve) -> NDArray[np.float64]:
    """Return the optimality at 1, 2, 4, …: the last that was measured, nan before the first and after the end."""
    powers = 2.0 ** np.arange(_LARGEST_POWER)
    places = np.searchsorted(curve.samples, powers, side="right") - 1
    known = (places >= 0) & (powers <= curve.samples[-1])
    return np.where(known, curve.optimality[np.maximum(places, 0)], np.nan)
