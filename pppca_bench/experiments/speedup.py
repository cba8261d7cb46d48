"""How much faster DGHA learns than GHA: times of the two, measured beside each other, and their operation counts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from inspect import Parameter, Signature, signature
from statistics import median
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pppca_bench.engines import DGHA, GHA
from pppca_bench.experiments.timing import watched

N_ROUNDS = 3
"""Times that DGHA learns, and GHA at first; the median counts, so that a disturbance of one round does not."""

MOST_ATTEMPTS = 3
"""How often a round is made at most where it was disturbed, before a disturbed one is taken."""

N_SHARED = 9
"""GHA's rounds that its median is of, the last ones."""

Learner = TypeVar("Learner", GHA, DGHA)
_Settings = tuple[tuple[str, Any], ...]
_NOT_COMPARED = ("kernel", "random_state")
_COMPARED = [one for one in signature(DGHA, eval_str=True).parameters.values() if one.name not in _NOT_COMPARED]


class Speedup:
    """Measure GHA against DGHA with the same settings, from the same random numbers.

    The time is that of the compiled learning alone, without validation of input and drawing of random numbers. Fit it
    in a process that has nothing beside it, after both have been compiled. Choice: fits of one process on data of one
    size share GHA's times, which depend on the settings and the size alone: it learns again when DGHA has learnt as
    long. So an estimate has the last nine rounds of GHA in common with those before it.

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
        seed, common = self.random_state, tuple(sorted(_of_gha(self._dgha).items()))
        # The fast kernel knows what the literal one counts, and its rows agree to rounding.
        if not self.timed:
            dgha = DGHA(**self._dgha, random_state=seed).fit(X)
            self.measures_ = _counts(_count_operations(common, X.shape), dgha)
            return self
        # Whether GHA diverges depends on the run, its time does not.
        n_operations = GHA(**dict(common), random_state=seed).fit(X).n_operations_
        literal, fast = (_compare(common, self._dgha, seed, X, kernel) for kernel in ("literal", "fast"))
        self.measures_ = _counts(n_operations, literal.dgha) | {
            "speedup": literal.gha_ms / literal.dgha_ms,
            "speedup_fast": fast.gha_ms / fast.dgha_ms,
            "gha_time_ms": literal.gha_ms,
            "dgha_time_ms": literal.dgha_ms,
        }
        if n_disturbed := literal.n_disturbed + fast.n_disturbed:
            self.measures_["disturbed_rounds"] = n_disturbed
        return self


def _of_gha(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name in signature(GHA).parameters}


def _counts(n_gha: int, dgha: DGHA) -> dict[str, float]:
    return {"speedup_operations": n_gha / dgha.n_operations_, "dimensionality": dgha.n_components_}


@cache
def _count_operations(gha: _Settings, shape: tuple[int, ...]) -> int:
    """Count GHA's operations, which depend on the sizes alone, on inputs too small to diverge."""
    X = 1e-6 * np.random.default_rng(0).uniform(size=shape)
    return int(GHA(**dict(gha), random_state=0).fit(X).n_operations_)


class _Compared(NamedTuple):
    """Median times in ms, a DGHA that has learnt, and how many rounds behind the medians were disturbed."""

    gha_ms: float
    dgha_ms: float
    dgha: DGHA
    n_disturbed: int


def _compare(
    gha: _Settings, dgha: Mapping[str, Any], seed: Any, X: NDArray[np.float64], kernel: Literal["fast", "literal"]
) -> _Compared:
    """Let GHA learn, then DGHA."""
    shared = _times_of_gha(gha, X.shape, kernel)
    shared.renew(lambda: GHA(**dict(gha), kernel=kernel, random_state=seed).fit(X))
    rounds = [_watched_round(lambda: DGHA(**dgha, kernel=kernel, random_state=seed).fit(X)) for _ in range(N_ROUNDS)]
    times = [learner.learning_time_ms_ for learner, _ in rounds]
    shared.owed_ms += sum(times)
    n_disturbed = sum(was_disturbed for _, was_disturbed in (*shared.rounds, *rounds))
    return _Compared(median(ms for ms, _ in shared.rounds), median(times), rounds[-1][0], n_disturbed)


class _TimesOfGHA:
    """GHA's times with some settings on data of one size, which depend on nothing else, so that runs share them.

    It learns as long as DGHA does, and its last rounds count: a machine that becomes slower slows both.
    """

    def __init__(self) -> None:
        self.rounds = deque[tuple[float, bool]](maxlen=N_SHARED)
        self.owed_ms = 0.0

    def renew(self, learn: Callable[[], GHA]) -> None:
        """Add rounds until it has learnt as long as DGHA: the time of each in ms, and whether it was disturbed."""
        while len(self.rounds) < N_ROUNDS or self.owed_ms > 0.0:
            learner, was_disturbed = _watched_round(learn)
            self.rounds.append((learner.learning_time_ms_, was_disturbed))
            self.owed_ms -= learner.learning_time_ms_


@lru_cache(maxsize=2)  # of both kernels
def _times_of_gha(_settings: _Settings, _shape: tuple[int, ...], _kernel: str) -> _TimesOfGHA:
    return _TimesOfGHA()


def _watched_round(learn: Callable[[], Learner]) -> tuple[Learner, bool]:
    """Let one learn, again where it was disturbed, and return it with whether it still was."""
    for _ in range(MOST_ATTEMPTS):
        learner, was_disturbed = watched(learn)
        if not was_disturbed:
            break
    return learner, was_disturbed
