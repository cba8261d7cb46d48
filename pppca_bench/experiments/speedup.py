"""How much faster DGHA learns than GHA: times of the pair measured alternately, and their operation counts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from inspect import signature
from statistics import median
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pppca_bench.engines import DGHA, GHA

N_ROUNDS = 3
"""Times that each of the pair learns; the median counts, so that a disturbance of one round does not."""


def measure_speedup(
    parameters: Mapping[str, Any], seed: int, X: NDArray[np.float64], *, timed: bool = True
) -> tuple[dict[str, float], int]:
    """Measure GHA against DGHA with the same settings, from the same random numbers.

    The time is that of the compiled learning alone, without validation of input and drawing of random numbers.
    Call it in a process that has nothing beside it, after both have been compiled.

    Parameters
    ----------
    parameters : mapping of str to value
        Parameters of `DGHA`; those that GHA has too are given to both.
    seed : int
        Seed of every learner.
    X : float64 array of shape (n_samples, n_features)
        Training inputs.
    timed : bool, default True
        False counts the operations and measures no time; it needs no process of its own.

    Returns
    -------
    measures : dict of str to float
        Without times ``speedup_operations`` alone.
        ``speedup``: time of GHA over time of DGHA, both with the literal kernel, as the slides measure it;
        ``speedup_operations``: the same of their multiply-adds, exact on any machine;
        ``speedup_fast``: the same of the times with the fast kernel;
        ``gha_time_ms``, ``dgha_time_ms``: times with the literal kernel, in ms.
    dimensionality : int
        Nodes that DGHA keeps.
    """
    common = {name: value for name, value in parameters.items() if name in signature(GHA).parameters}
    if not timed:
        counted = DGHA(**parameters, kernel="literal", random_state=seed).fit(X)
        n_gha = _count_operations(tuple(sorted(common.items())), X.shape)
        return {"speedup_operations": n_gha / counted.n_operations_}, counted.n_components_
    literal = _alternate(common, parameters, seed, X, "literal")
    fast = _alternate(common, parameters, seed, X, "fast")
    gha, dgha = literal[0][-1], literal[1][-1]
    literal_ms, fast_ms = (
        [median(learner.learning_time_ms_ for learner in learners) for learners in pair] for pair in (literal, fast)
    )
    measures = {
        "speedup": literal_ms[0] / literal_ms[1],
        "speedup_operations": gha.n_operations_ / dgha.n_operations_,
        "speedup_fast": fast_ms[0] / fast_ms[1],
        "gha_time_ms": literal_ms[0],
        "dgha_time_ms": literal_ms[1],
    }
    return measures, dgha.n_components_


@cache
def _count_operations(gha: tuple[tuple[str, Any], ...], shape: tuple[int, ...]) -> int:
    """Count GHA's operations, which depend on the sizes alone, on inputs too small to diverge."""
    X = 1e-6 * np.random.default_rng(0).uniform(size=shape)
    return int(GHA(**dict(gha), kernel="literal", random_state=0).fit(X).n_operations_)


def _alternate(
    gha: Mapping[str, Any],
    dgha: Mapping[str, Any],
    seed: int,
    X: NDArray[np.float64],
    kernel: Literal["fast", "literal"],
) -> tuple[list[GHA], list[DGHA]]:
    pairs = [
        (
            GHA(**gha, kernel=kernel, random_state=seed).fit(X),
            DGHA(**dgha, kernel=kernel, random_state=seed).fit(X),
        )
        for _ in range(N_ROUNDS)
    ]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
