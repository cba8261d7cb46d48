"""Speed-up of DGHA over GHA: times measured in turn, and operation counts."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from inspect import Parameter, Signature, signature
from statistics import median
from typing import Any

import numpy as np

from pppca_bench.compiled.arrays import Floats
from pppca_bench.engines import DGHA, GHA
from pppca_bench.engines.counterparts import LiteralDGHA

N_ROUNDS = 3
"""Number of rounds of DGHA, and of GHA's first rounds; the median is robust against a disturbed round."""

N_SHARED = 9
"""Number of GHA's last rounds, whose median is its time."""

_Settings = tuple[tuple[str, Any], ...]
# GHA at DGHA's learning rate is DGHA whose rows all learn from the start and are never checked.
_AS_GHA = {"head_start": 0, "first_check": 1_000_000, "tau": DGHA.tau}
_COMPARED = signature(DGHA, eval_str=True).parameters.values()


class Speedup:
    """Measure GHA against DGHA with the same settings, from the same random numbers.

    Only the compiled learning is timed, without validation of input and drawing of random numbers. Fit it in a process
    on an idle machine, after both kernels have been compiled. Choice: fits of a process on data of the same size share
    GHA's times, which depend only on the settings and the size: GHA learns again after DGHA has learnt for as long. So
    successive estimates have up to nine rounds of GHA in common.

    Parameters
    ----------
    timed : bool, default True
        If False, operations are counted and no time is measured; other processes may run at the same time.
    random_state : int or None, default None
        Seed of every learner.
    **dgha
        Parameters of `DGHA`; parameters that GHA also has are given to both.

    Attributes
    ----------
    measures_ : dict of str to float
        ``speedup_operations``: multiply-adds of GHA over those of DGHA, exact on any machine; ``dimensionality``:
        nodes that DGHA keeps. If timed also ``speedup``: time of GHA over time of DGHA, both with the literal kernel,
        as the slides measure it; ``speedup_fast``: the same with the fast kernel; ``gha_time_ms``, ``dgha_time_ms``:
        times with the literal kernel.
    """

    __signature__ = Signature(
        [
            *(given.replace(kind=Parameter.KEYWORD_ONLY) for given in _COMPARED),
            Parameter("timed", Parameter.KEYWORD_ONLY, default=True, annotation=bool),
        ]
    )

    def __init__(self, *, timed: bool = True, random_state: Any = None, **dgha: Any) -> None:
        self.timed = timed
        self.random_state = random_state
        self._dgha = dgha

    def check_agreement(self) -> None:
        """Raise ParameterError unless DGHA's parameters agree with each other."""
        DGHA(**self._dgha).check_agreement()

    def fit(self, X: Floats, y: Any = None) -> Speedup:  # noqa: ARG002
        """Fit both on training inputs of shape (n_samples, n_features); ``y`` is ignored."""
        seed, of_gha = self.random_state, signature(GHA).parameters
        common = {name: value for name, value in self._dgha.items() if name in of_gha}
        gha = tuple(sorted((common | _AS_GHA).items()))
        times: dict[str, float] = {}
        if self.timed:
            # GHA may diverge in some runs; its time is the same in all.
            n_operations = DGHA(**dict(gha), random_state=seed).fit(X).n_operations_
            gha_ms, dgha_ms, dgha = _compare(LiteralDGHA, gha, self._dgha, seed, X)
            gha_fast_ms, dgha_fast_ms, _ = _compare(DGHA, gha, self._dgha, seed, X)
            times = {
                "speedup": gha_ms / dgha_ms,
                "speedup_fast": gha_fast_ms / dgha_fast_ms,
                "gha_time_ms": gha_ms,
                "dgha_time_ms": dgha_ms,
            }
        else:
            # The fast kernel counts the operations of the literal kernel, and its rows agree to rounding.
            n_operations = _count_operations(gha, X.shape)
            dgha = DGHA(**self._dgha, random_state=seed).fit(X)
        self.measures_ = {
            "speedup_operations": n_operations / dgha.n_operations_,
            "dimensionality": dgha.n_components_,
            **times,
        }
        return self


@cache
def _count_operations(gha: _Settings, shape: tuple[int, ...]) -> int:
    """Count GHA's operations, which depend on the sizes alone, with inputs so small that GHA cannot diverge."""
    X = 1e-6 * np.random.default_rng(0).uniform(size=shape)
    return int(DGHA(**dict(gha), random_state=0).fit(X).n_operations_)


def _compare(
    estimator: type[DGHA], gha: _Settings, dgha: Mapping[str, Any], seed: Any, X: Floats
) -> tuple[float, float, DGHA]:
    """Return the median times of GHA and of DGHA in ms, and a fitted DGHA."""
    shared = _times_of_gha(estimator.__name__, gha, X.shape)
    # GHA learns for as long as DGHA has learnt, and its last rounds count: a slower machine then slows both.
    while len(shared.times_ms) < N_ROUNDS or shared.owed_ms > 0.0:
        learner = estimator(**dict(gha), random_state=seed).fit(X)
        shared.times_ms.append(learner.learning_time_ms_)
        shared.owed_ms -= learner.learning_time_ms_
    rounds = [estimator(**dgha, random_state=seed).fit(X) for _ in range(N_ROUNDS)]
    times = [learner.learning_time_ms_ for learner in rounds]
    shared.owed_ms += sum(times)
    return median(shared.times_ms), median(times), rounds[-1]


@dataclass
class _TimesOfGHA:
    """Times of GHA with given settings on data of one size, and the time that GHA lags behind DGHA; shared by runs."""

    times_ms: deque[float] = field(default_factory=lambda: deque(maxlen=N_SHARED))
    owed_ms: float = 0.0


@lru_cache(maxsize=2)  # for the two kernels
def _times_of_gha(_estimator: str, _settings: _Settings, _shape: tuple[int, ...]) -> _TimesOfGHA:
    return _TimesOfGHA()
