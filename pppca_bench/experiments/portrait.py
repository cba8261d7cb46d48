"""What a figure of one run is drawn from: its training samples, what a method makes of them, and what is rebuilt."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.experiments.reconstruction import rebuilt
from pppca_bench.problems import Problem


def portray(reducer: Any, problem: Problem, reduced: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """Gather what a run with ``portrait: true`` stores beside its numbers, in single precision.

    Parameters
    ----------
    reducer : estimator
        A fitted transformer.
    problem : Problem
        What it was fitted on; of the training split alone is anything kept.
    reduced : float64 array of shape (n_train, n_components)
        What the method makes of the training inputs.

    Returns
    -------
    dict of str to float32 array
        ``"portrait_inputs"`` and ``"portrait_rebuilt"`` (n_train, n_features); ``"portrait_features"`` (n_train,
        n_components); ``"portrait_targets"`` (n_train,) or (n_train, n_outputs); where the method has them
        ``"portrait_components"`` (n_components, n_features) and ``"portrait_eigenvalues"``, the largest first.
    """
    found = {
        "inputs": problem.X_train,
        "targets": problem.y_train,
        "features": reduced,
        "rebuilt": rebuilt(reducer, problem.X_train, reduced),
        "components": getattr(reducer, "components_", None),
        "eigenvalues": getattr(reducer, "eigenvalues_", None),
    }
    return {f"portrait_{name}": np.asarray(one, np.float32) for name, one in found.items() if one is not None}
