"""How much faster DGHA learns than GHA: times of the pair measured alternately, and their operation counts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from inspect import Parameter, Signature, signature
from statistics import median
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pppca_bench.engines import DGHA, GHA
from pppca_bench.experiments.quiet import watched

N_ROUNDS = 3
"""Times that each of the pair learns; the median counts, so that a disturbance of one round does not."""

MOST_ROUNDS = 9
"""Times that it learns where rounds were disturbed, before disturbed ones are taken."""

_NOT_COMPARED = ("kernel", "random_state")
_COMPARED = [one for one in signature(DGHA, eval_str=True).parameters.values() if one.name not in _NOT_COMPARED]


class Speedup:
    """Measure GHA against DGHA with the same settings, from the same random numbers.

    The time is that of the compiled learning alone, without validation of input and drawing of random numbers. Fit it
    in a process that has nothing beside it, after both have been compiled.

    Parameters
    ----------
    timed : bool, default True
        False counts the operations and measures no time; it needs no process of its own.
    random_state : int or None, default None
        Seed of every learner.
    **dgha
        Parameters of `DGHA`; those that GHA has too are given to both.

    Attributes
    ----------
    measures_ : dict of str to float
        ``speedup_operations``: multiply-adds of GHA over those of DGHA, exact on any machine; ``dimensionality``:
        nodes that DGHA keeps. Where it is timed also ``speedup``: time of GHA over time of DGHA, both with the literal
        kernel, as the slides measure it; ``speedup_fast``: the same with the fast kernel; ``gha_time_ms``,
        ``dgha_time_ms``: times with the literal kernel, in ms; ``disturbed_rounds``, where there are some: rounds
        behind these medians that other processes disturbed, though they were repeated.
    """

    __signature__ = Signature(
        [
            *(one.replace(kind=Parameter.KEYWORD_ONLY) for one in _COMPARED),
            Parameter("timed", Parameter.KEYWORD_ONLY, default=True, annotation=bool),
            Parameter("random_state", Parameter.KEYWORD_ONLY, default=None, annotation=Any),
        ]
    )

    def __init__(self, *, timed: bool = True, random_state: Any = None, **dgha: Any) -> None:
        self.timed = timed
        self.random_state = random_state
        self._dgha = dgha

    def check_agreement(self) -> None:
        """Raise ParameterError unless DGHA's parameters agree with each other."""
        DGHA(**self._dgha).check_agreement()

    def fit(self, X: NDArray[np.float64], y: Any = None) -> Speedup:  # noqa: ARG002
        """Let both learn.

        Parameters
        ----------
        X : float64 array of shape (n_samples, n_features)
            Training inputs.
        y : ignored
        """
        seed, common = self.random_state, _of_gha(self._dgha)
        if not self.timed:
            # The fast kernel knows what the literal one counts, and its rows agree to rounding.
            dgha = DGHA(**self._dgha, random_state=seed).fit(X)
            n_operations = _count_operations(tuple(sorted(common.items())), X.shape)
            self.measures_ = _counts(n_operations, dgha)
            return self
        literal, n_disturbed_literal = _alternate(common, self._dgha, seed, X, "literal")
        fast, n_disturbed_fast = _alternate(common, self._dgha, seed, X, "fast")
        literal_ms, fast_ms = (
            [median(learner.learning_time_ms_ for learner in learners) for learners in pair] for pair in (literal, fast)
        )
        self.measures_ = _counts(literal[0][-1].n_operations_, literal[1][-1]) | {
            "speedup": literal_ms[0] / literal_ms[1],
            "speedup_fast": fast_ms[0] / fast_ms[1],
            "gha_time_ms": literal_ms[0],
            "dgha_time_ms": literal_ms[1],
        }
        if n_disturbed := n_disturbed_literal + n_disturbed_fast:
            self.measures_["disturbed_rounds"] = n_disturbed
        return self


def _of_gha(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name in signature(GHA).parameters}


def _counts(n_gha: int, dgha: DGHA) -> dict[str, float]:
    return {"speedup_operations": n_gha / dgha.n_operations_, "dimensionality": dgha.n_components_}


@cache
def _count_operations(gha: tuple[tuple[str, Any], ...], shape: tuple[int, ...]) -> int:
    """Count GHA's operations, which depend on the sizes alone, on inputs too small to diverge."""
    X = 1e-6 * np.random.default_rng(0).uniform(size=shape)
    return int(GHA(**dict(gha), random_state=0).fit(X).n_operations_)


def _alternate(
    gha: Mapping[str, Any],
    dgha: Mapping[str, Any],
    seed: Any,
    X: NDArray[np.float64],
    kernel: Literal["fast", "literal"],
) -> tuple[tuple[list[GHA], list[DGHA]], int]:
    """Let the pair learn in turns; return the learners of N_ROUNDS rounds, and how many of these were disturbed."""

    def learn() -> tuple[GHA, DGHA]:
        one = GHA(**gha, kernel=kernel, random_state=seed).fit(X)
        return one, DGHA(**dgha, kernel=kernel, random_state=seed).fit(X)

    calm: list[tuple[GHA, DGHA]] = []
    disturbed: list[tuple[GHA, DGHA]] = []
    while len(calm) < N_ROUNDS and len(calm) + len(disturbed) < MOST_ROUNDS:
        pair, was_disturbed = watched(learn)
        (disturbed if was_disturbed else calm).append(pair)
    taken = [*calm, *disturbed][:N_ROUNDS]
    return ([pair[0] for pair in taken], [pair[1] for pair in taken]), N_ROUNDS - len(calm)
